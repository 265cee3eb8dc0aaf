"""A live view of a running Triton in the terminal, and the same figures once for scripts."""
