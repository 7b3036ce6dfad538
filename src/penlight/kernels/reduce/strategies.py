"""Which implementation of a reduction runs when: every threshold, with its reason.

From `LEAST_REDUCED` elements on, compiled kernels do it (compiled.py): 1.5 to 3 times as fast as NumPy. Else it is NumPy, with the precautions of
__init__.py for large arrays.
"""

from __future__ import annotations

LEAST_REDUCED = 1 << 14  # elements: for fewer, NumPy's own reductions take no longer
# Columns of a row that NumPy sums as fast as BLAS, and more accurately: Note [Row sums] in __init__.py
LONG_ROW = 1 << 12
MOST_PLAIN = 1 << 12  # elements of which NumPy's reductions are the fastest, and accurate enough
MOST_ROWS, MOST_ELEMENTS = 1 << 10, 1 << 15  # in a unit of work, so that threads have several
MOST_SHORT, MOST_SMALL = (
    8,
    24,
)  # elements: shorter rows and smaller matrices are transposed first, which is 1.5 to 4 times as fast
FEW_COLUMNS = 64  # fewer make loops that are too short, so that several rows are taken together
