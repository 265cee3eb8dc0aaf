"""The checks that read text only: each a function from a model to findings."""
