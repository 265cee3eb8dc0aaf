"""How requests came, from a trace, a log or a record: uniform, Poisson-like, bursty or grouped."""
