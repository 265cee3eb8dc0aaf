"""A client of a running Triton: where images come from, how they travel, how answers are shown."""
