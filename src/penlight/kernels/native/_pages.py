"""Memory that machine code can be run from, and whether this machine can run ours.

Only Linux on x86-64 with AVX2 and fused multiply-add is served, which is what this was tested on; everywhere else, and with
PENLIGHT_NATIVE=0, the kernels in NumPy do the same work. Code is written to a page first and the page made executable, and no longer
writable, afterwards. Where the system forbids that, the NumPy kernels serve as well.
"""

from __future__ import annotations

import os
import platform
import sys
from functools import lru_cache
from typing import Any

_NEEDED = ("AVX2", "FMA3", "F16C")
DATA_OFFSET = 16  # bytes from an ndarray object to the pointer to its data, behind its reference count and type


@lru_cache(1)
def available() -> bool:
    """Whether native kernels run here; looked at once."""
    if os.environ.get("PENLIGHT_NATIVE", "1") == "0":
        return False
    if sys.platform != "linux" or platform.machine() != "x86_64" or sys.implementation.name != "cpython":
        return False
    if object.__basicsize__ != DATA_OFFSET or sys.maxsize < 2**32:
        return False  # an interpreter with other object headers
    try:
        from numpy._core._multiarray_umath import __cpu_features__  # type: ignore[import-not-found]
    except ImportError:
        return False
    return all(__cpu_features__.get(name, False) for name in _NEEDED) and _trial()


def _trial() -> bool:
    """Whether code can be loaded and run, and finds an array's data: a function that returns the data's address."""
    import ctypes

    import numpy as np

    try:
        fetch = load(
            bytes((0x48, 0x8B, 0x47, DATA_OFFSET, 0xC3)), [ctypes.c_void_p], ctypes.c_void_p
        )  # mov rax, [rdi+16]; ret
    except OSError:
        return False
    probe = np.empty(1, np.float32)
    return bool(fetch(id(probe)) == probe.ctypes.data)


def keep(thing: Any) -> None:
    """Never free an object. When Python ends it frees what modules hold, while threads may still look at it or run it."""
    import ctypes

    ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))


def load(code: bytes, argument_types: list[Any], result_type: Any = None) -> Any:
    """A function that runs `code`. It lives, and so does its memory, until the process ends."""
    import ctypes
    import mmap

    pages = mmap.mmap(-1, len(code), prot=mmap.PROT_READ | mmap.PROT_WRITE)
    pages.write(code)
    keep(pages)
    address = ctypes.addressof(ctypes.c_char.from_buffer(pages))
    libc = ctypes.CDLL(None, use_errno=True)
    size = -len(code) // mmap.PAGESIZE * -mmap.PAGESIZE
    if libc.mprotect(ctypes.c_void_p(address), ctypes.c_size_t(size), mmap.PROT_READ | mmap.PROT_EXEC):
        raise OSError(ctypes.get_errno(), "this system does not let memory become executable")
    function = ctypes.CFUNCTYPE(result_type, *argument_types)(address)
    function.address = address  # type: ignore[attr-defined]  # for machine code that calls it
    return function


def load_kernel(code: bytes, whole: int, numbers: int, double: bool = False) -> Any:
    """A kernel as a function of `whole` whole numbers (bounds, and arrays by their `id`) and `numbers` floats, or doubles."""
    import ctypes

    # As pointers, since ctypes takes half as long for those as for integers; bounds are never negative.
    return load(code, [ctypes.c_void_p] * whole + [ctypes.c_double if double else ctypes.c_float] * numbers)
