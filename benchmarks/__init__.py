"""Benchmarks: ours beside the limit of the machine and beside peers, in one process and run."""
