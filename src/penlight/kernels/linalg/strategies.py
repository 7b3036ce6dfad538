"""Thresholds of matrix products: every one, with its reason. blas.py shares a product between threads, or leaves it to NumPy."""

from __future__ import annotations

# Multiplications of a product: see Note [One set of threads] in blas.py.
BLAS_THREADS_FROM = 1 << 18  # that BLAS wakes its threads for
LEAST_SHARED = 1 << 20  # that are worth sharing between ours, some 20 microseconds
# That BLAS does with its threads where there are more than ours may be: some 10 milliseconds of one thread
LEAST_HUGE = 1 << 29
LEAST_SIZE = 8  # rows, columns and inner size: smaller ones are other functions of BLAS
LEAST_RANGE = 256  # rows or columns for each thread that are worth another range
MOST_PLANS = 4096  # that are kept
