"""Gather, scatter and reduce elements, rows and segments by indices or masks: the strategy table.

| what | compiled loops (kernels.py) | NumPy |
|---|---|---|
| elements along a dimension, columns, masked elements | from LEAST_MOVED on: 1.1 to 5 times NumPy | fewer elements, other dtypes and layouts; extrema |
| rows added to rows | rows of LEAST_COLUMNS or more: 3 to 5 times NumPy | `ufunc.at` on flat positions |
"""

LEAST_MOVED = 1 << 12  # elements: for fewer, NumPy is as fast
LEAST_FILLED = 1 << 15  # elements that a mask sets to a scalar: for fewer, NumPy takes a tenth of the time to all of it
LEAST_COLUMNS = 3  # of a row: fewer do not justify their own loop
