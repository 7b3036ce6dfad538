"""Keeps freed memory for reuse instead of returning it to the system.

A training step frees the memory that the next one allocates again. By default the C library returns large blocks to the system
when they are freed, and the system maps fresh pages when they are first touched: for arrays of a few hundred kilobytes that costs
more than the arithmetic on them. `keep` tells the C library (glibc; others are left alone) to keep freed memory. It is called at
the first large piece of work (parallel.py), so importing the package changes nothing in the process. It respects the C library's
own settings and `PENLIGHT_KEEP_MEMORY=0`.
"""

from __future__ import annotations

import os

# Blocks below this size come from the heap, where they can be reused; glibc accepts no larger value.
_MAP_BYTES = 32 << 20
# This much free memory at the end of the heap is kept.
_TRIM_BYTES = 256 << 20

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3


def keep() -> bool:
    """Reuse freed memory from now on; return whether this C library supports it."""
    given = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES")
    if os.environ.get("PENLIGHT_KEEP_MEMORY") == "0" or any(name in os.environ for name in given):
        return False
    import ctypes  # NumPy has imported it already

    try:
        library = ctypes.CDLL(None)
        library.gnu_get_libc_version  # noqa: B018  only glibc has it
        mallopt = library.mallopt
    except (OSError, TypeError, AttributeError):
        return False
    return bool(mallopt(_M_MMAP_THRESHOLD, _MAP_BYTES) and mallopt(_M_TRIM_THRESHOLD, _TRIM_BYTES))
