"""Penlight beside PyTorch and its peers on the same work: `python -m benchmarks`. See `docs/performance.md`."""
