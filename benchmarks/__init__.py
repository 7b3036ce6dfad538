"""Penlight beside PyTorch on the same work: `python -m benchmarks`."""
