"""Tandem beside other servers: the same model, photographs, cores and service level."""
