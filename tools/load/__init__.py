"""The load generator: requests made once, sent on a schedule or in a closed loop, counted."""
