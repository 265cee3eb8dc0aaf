"""Measure targets against each other: the same loads on each, interleaved, into one record."""
