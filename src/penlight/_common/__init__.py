"""Helpers for every layer: dims and sizes, docstrings, generated functions, warnings, PyTorch's names and signatures."""
