"""Why a running server does not batch: what it says over a window, and what that means."""
