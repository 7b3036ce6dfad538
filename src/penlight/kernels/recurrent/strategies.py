"""Thresholds of recurrent layers: every one, with its reason. The table: machine code for whole sequences (compiled.py), else NumPy step by step."""

from __future__ import annotations

MOST_OWN_PRODUCT = 1 << 20  # multiplications in a step: from here on BLAS is faster, with several threads
LEAST_ROWS = 4  # of a batch that a thread takes: fewer make slow products
LEAST_SHARED = 1 << 20  # multiplications in all steps that threads share: for fewer, waking them costs more
