"""The command line and everything that runs beside Triton rather than inside it."""
