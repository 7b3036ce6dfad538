"""Thresholds of recurrent layers: every one, with its reason. The table: machine code for whole sequences (compiled.py), else NumPy step by step."""

from __future__ import annotations

LEAST_ROWS = 4  # of a batch that a thread takes, and half of those in each of its two shares: fewer make slow products
LEAST_SHARED = 1 << 20  # multiplications in all steps that threads share: for fewer, waking them costs more
