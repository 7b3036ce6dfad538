"""Gather, scatter and reduce elements, rows and segments by indices or masks: the strategy table.

| what | compiled loops (kernels.py) | NumPy |
|---|---|---|
| elements along a dimension, columns, masked elements | from LEAST_MOVED on: 3 to 7 times NumPy | fewer elements, other dtypes and layouts |
| rows added to rows | rows of LEAST_COLUMNS or more: 3 to 5 times NumPy | `ufunc.at` on flat positions |
"""

LEAST_MOVED = 1 << 12  # elements: for fewer, NumPy is as fast
LEAST_COLUMNS = 3  # of a row: fewer do not justify their own loop
MOST_KEPT = 1 << 11  # offsets of a cached array
