"""NVIDIA's perf_analyzer: the program that fits this machine, what it is told, what it leaves."""
