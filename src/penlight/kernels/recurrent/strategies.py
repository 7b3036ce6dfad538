"""The thresholds of recurrent layers, with their reasons. The table: machine code for full sequences (assembly/calls.py), else NumPy step by step."""

from __future__ import annotations

LEAST_ROWS = 4  # of a batch per thread, half of them in each of its two shares: fewer make slow products
LEAST_SHARED = 1 << 20  # multiplications in all steps that threads share: for fewer, waking them costs more
