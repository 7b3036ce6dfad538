"""Memory that is given back to the system only when there is much of it.

A training step frees what the next one allocates again. By default the C library returns large blocks to the system when
they are freed, and the system hands out fresh ones, page by page as they are first touched: for arrays of a few hundred
kilobytes that costs more than the arithmetic on them. `keep` tells the C library (glibc; others are left alone) to hold
on to freed memory, at the first large piece of work (parallel.py): importing the package changes nothing in the process. Who has set the C library's own switches, or `PENLIGHT_KEEP_MEMORY=0`, is not overruled.
"""

from __future__ import annotations

import os

# Blocks below this come from the heap, where they can be reused; it is the most that glibc takes.
_MAP_BYTES = 32 << 20
# So much free memory at the end of the heap is kept.
_TRIM_BYTES = 256 << 20

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3


def keep() -> bool:
    """Reuse freed memory from now on; whether this C library can be told so."""
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
