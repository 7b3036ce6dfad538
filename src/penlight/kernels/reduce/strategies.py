"""Which implementation of a reduction runs when: every threshold, with its reason.

From `LEAST_FOLDED` elements on, native kernels do it (plans.py): 1.5 to 3 times as fast as NumPy. Many short columns are transposed first
(large.py, Note [Many short columns]): 5 to 40 times as fast. Else it is NumPy, with the precautions of in_numpy.py for large arrays.
"""

from __future__ import annotations

LEAST_FOLDED = 1 << 14  # elements: for fewer, NumPy's own reductions take no longer
LEAST_MIDDLE = 1 << 15  # the same for sums over the middle one of three dimensions
# Columns of a row that NumPy sums as fast as BLAS, and more accurately: Note [Row sums] in in_numpy.py
LONG_ROW = 1 << 12
MOST_PLAIN = 1 << 12  # elements of which NumPy's reductions are the fastest, and accurate enough
# Columns from which, up to which length, and of which size that is worth a copy.
LEAST_TRANSPOSED, MOST_SHORT, MOST_BLOCK = 64, 32, 512
MOST_ROWS = 1024  # in a unit of work, so that threads have several
FEW_COLUMNS = 64  # fewer make loops that are too short, so that several rows are taken together
MOST_LEFT = 1 << 12  # partial results: for fewer, NumPy reduces them as fast as a kernel
