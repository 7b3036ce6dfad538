"""Memory whose first or last byte touches a page that nobody may touch: reading or writing beyond it ends the process at once.

`fenced` places one array so. `fence_all` places every array that NumPy allocates from then on so, results and scratch memory too, and
fills new memory with bytes that are no sensible numbers. Only for child processes on Linux.
"""

from __future__ import annotations

import ctypes
import mmap
import random
from typing import Any

import numpy as np

PAGE = mmap.PAGESIZE
FILL = 0xA7
_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
_libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_ACCESS = mmap.PROT_READ | mmap.PROT_WRITE


def _map(size: int) -> int:
    """The address of the pages for `size` bytes between two forbidden pages."""
    length = -(-size // PAGE or -1) * PAGE
    start = _libc.mmap(None, length + 2 * PAGE, 0, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
    if start in (None, 2**64 - 1) or _libc.mprotect(start + PAGE, length, _ACCESS):
        raise MemoryError("no memory for fenced pages")
    return int(start) + PAGE


class _Block:
    """Fenced memory as long as this object lives."""

    def __init__(self, size: int, at_end: bool) -> None:
        self.pages, self.length = _map(size), -(-size // PAGE or -1) * PAGE
        self.address = self.pages + (self.length - size if at_end else 0)
        self.memory = (ctypes.c_char * size).from_address(self.address)
        self.memory._block = self  # an array keeps the memory, the memory keeps this

    def __del__(self) -> None:
        _libc.munmap(self.pages - PAGE, self.length + 2 * PAGE)


def empty(shape: Any, dtype: Any = np.float32, at_end: bool = True) -> np.ndarray:
    """A fenced array of zeros."""
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    dtype = np.dtype(dtype)
    block = _Block(int(np.prod(shape)) * dtype.itemsize, at_end)
    return (
        np.frombuffer(block.memory, dtype, int(np.prod(shape))).reshape(shape)
        if np.prod(shape)
        else np.empty(shape, dtype)
    )


def fenced(array: np.ndarray, at_end: bool = True) -> np.ndarray:
    """A copy of an array with its strides, in memory that has nothing else: no element of a base, no gap at its ends."""
    if not array.size:
        return array
    reach = [(n - 1) * s for n, s in zip(array.shape, array.strides)]
    below, above = sum(r for r in reach if r < 0), sum(r for r in reach if r > 0)
    block = _Block(above - below + array.itemsize, at_end)
    made = np.ndarray(array.shape, array.dtype, block.memory, -below, array.strides)
    if 0 in array.strides:
        first = tuple(slice(None) if s else slice(1) for s in array.strides)
        made[first] = array[first]
    else:
        made[...] = array
    made.flags.writeable = array.flags.writeable
    return made


def refuse_overlaps() -> None:
    """From now on, machine code that is loaded refuses to write to an array that shares part of its memory with another operand."""
    from penlight.kernels import call

    checked = call.checked

    def checked_for_overlap(run: Any, signature: Any) -> Any:
        function = checked(run, signature)
        places = [i for i, argument in enumerate(signature.arguments) if argument.is_array]
        written = [i for i in places if "written" in signature.arguments[i].words]

        def called(*given: Any) -> Any:
            for i in written:
                for j in places:
                    if i != j and given[i] is not None and given[j] is not None and _partly_shared(given[i], given[j]):
                        names = [signature.arguments[k].name for k in (i, j)]
                        raise AssertionError(f"machine code got {names[0]!r} partly over {names[1]!r}")
            return function(*given)

        return called

    call.checked = checked_for_overlap


def _partly_shared(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two arrays share memory, but not all of it as the same elements."""
    if not np.may_share_memory(a, b):
        return False
    if a.ctypes.data == b.ctypes.data and a.nbytes == b.nbytes and a.flags.c_contiguous and b.flags.c_contiguous:
        return False
    return np.shares_memory(a, b, max_work=100_000)


_MALLOC = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
_CALLOC = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t)
_REALLOC = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
_FREE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
_SET_HANDLER = 304  # of NumPy's table of C functions: PyDataMem_SetHandler


class _Handler(ctypes.Structure):
    """NumPy's PyDataMem_Handler."""

    _fields_ = [
        ("name", ctypes.c_char * 127), ("version", ctypes.c_uint8), ("context", ctypes.c_void_p),
        ("malloc", _MALLOC), ("calloc", _CALLOC), ("realloc", _REALLOC), ("free", _FREE),
    ]  # fmt: skip


_sizes: dict[int, tuple[int, int, int]] = {}  # of blocks in use, by address: pages, their length, bytes asked for
_random = random.Random(0)
_kept: list[Any] = []


def _malloc(_: Any, size: int, fill: int = FILL) -> int:
    try:
        pages = _map(size)
    except MemoryError:
        return 0
    length = -(-size // PAGE or -1) * PAGE
    ctypes.memset(pages, fill, length)
    # At the end as far as vectors of two doubles allow it in half of the cases: NumPy's own arrays are aligned to 16 bytes.
    place = _random.random()
    address = pages if place < 0.3 else pages + length - size
    _sizes[address] = pages, length, size
    return address


def _free(_: Any, address: int | None, size: int) -> None:
    if address:
        pages, length, _size = _sizes.pop(address)
        _libc.munmap(pages - PAGE, length + 2 * PAGE)


def _realloc(_: Any, address: int | None, size: int) -> int:
    made = _malloc(None, size)
    if address and made:
        ctypes.memmove(made, address, min(size, _sizes[address][2]))
        _free(None, address, 0)
    return made


def fence_all(seed: int = 0) -> None:
    """From now on, all memory of NumPy's arrays that this thread makes is fenced. It stays so until the process ends by os._exit."""
    _random.seed(seed)
    functions = _MALLOC(_malloc), _CALLOC(lambda _, n, size: _malloc(_, n * size, 0)), _REALLOC(_realloc), _FREE(_free)
    handler = _Handler(b"fenced", 1, None, *functions)
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    _kept.append(handler)
    _kept.append(new(ctypes.addressof(handler), b"mem_handler", None))
    table = ctypes.cast(get(np._core._multiarray_umath._ARRAY_API, None), ctypes.POINTER(ctypes.c_void_p))
    set_handler = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(table[_SET_HANDLER])
    set_handler(_kept[-1])
