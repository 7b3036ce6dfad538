"""Thresholds of matrix products: every one, with its reason. blas.py shares a product between threads, or leaves it to NumPy."""

from __future__ import annotations

LEAST_SIZE = 8  # rows, columns and inner size: smaller ones are other functions of BLAS
LEAST_RANGE = 256  # rows or columns for each thread that are worth another range
MOST_PLANS = 4096  # that are kept
