"""Run a real Triton: find it, check the machine, start it, watch it, stop it."""
