"""Thresholds of special functions: every one, with its reason. What goes element by element, and what as bodies of NumPy, in blocks."""

from __future__ import annotations

MOST_BY_SCIPY = 1 << 11  # elements; more are done as fast by blocks
FEW = 128  # elements that go one by one: a kernel takes dozens of calls of NumPy, each as long as the C library for some ten elements
MOST_DEGREE = 24  # of a polynomial that is a kernel of its own: each degree is compiled
