"""The thresholds of matrix products, with their reasons. blas.py splits a product between threads, or leaves it to NumPy."""

from __future__ import annotations

# Multiplications of a product: see Note [One set of threads] in blas.py.
BLAS_THREADS_FROM = 1 << 18  # for which BLAS wakes its threads
LEAST_SHARED = 1 << 20  # that our threads share, some 20 microseconds
# That BLAS does with its own threads, if it has more than ours may be: some 10 milliseconds of one thread
LEAST_HUGE = 1 << 29
LEAST_SIZE = 8  # rows, columns and inner size: smaller products use other functions of BLAS
LEAST_RANGE = 256  # rows or columns per range from which on each thread gets two ranges
MOST_PLANS = 4096  # cached plans
