"""Will this model and this configuration really batch? Offline, before any deployment."""
