"""The strategies of reductions: every threshold, with its reason.

From `LEAST_REDUCED` elements on, compiled kernels run (compiled.py): 1.5 to 3 times as fast as NumPy. Otherwise NumPy runs, with
the precautions of __init__.py for large arrays.
"""

from __future__ import annotations

LEAST_REDUCED = 1 << 14  # elements: for fewer, NumPy's own reductions are as fast
# Columns from which on NumPy sums a row as fast as BLAS, and more accurately: Note [Row sums] in __init__.py
LONG_ROW = 1 << 12
MOST_PLAIN = 1 << 12  # elements up to which NumPy's reductions are the fastest, and accurate enough
MOST_ROWS, MOST_ELEMENTS = 1 << 10, 1 << 15  # per unit of work, so that threads have several
MOST_SHORT, MOST_SMALL = (
    8,
    24,
)  # elements: shorter rows and smaller matrices are transposed first, which is 1.5 to 4 times as fast
FEW_COLUMNS = 64  # with fewer, loops are too short: several rows are taken together
