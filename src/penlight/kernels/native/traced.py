"""Elementwise kernels that are written in NumPy, compiled and run. See Note [Bodies as machine code] in compiler/trace.py."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from types import FunctionType
from typing import Any

import numpy as np

from .. import native
from ..compiler.rows import ELEMENTS
from ..compiler.trace import define_flat, define_total
from . import Kernel

_VARIANTS = 64
_LONG = 40  # operations that are written down; a kernel of fewer waits for memory most of the time
_GRAIN, _CHEAP_GRAIN = 1 << 15, 1 << 16  # elements that are worth waking a thread for: of a long kernel, of a short one
_ROW = 4096  # elements that are summed in float32
_FLOAT, _BOOL = np.dtype(np.float32), np.dtype(np.bool_)


@lru_cache(None)
def kind_of(dtype: np.dtype[Any]) -> str | None:
    """What a kernel calls this dtype; None if it knows none of it."""
    name = dtype.name
    return name if name in ELEMENTS and name[:3] != "int" and dtype.isnative else None


def signature(value: Any) -> Any:
    """What makes a body what it is: its code and all that it holds, which must not change; hashable if that is."""
    if type(value) is FunctionType:
        held = value.__closure__ or ()
        return value.__code__, value.__defaults__, *[signature(cell.cell_contents) for cell in held]
    if type(value) is tuple:
        return tuple([signature(v) for v in value])
    return repr(value) if type(value) is float else value  # NaN is itself, -0.0 is not 0.0


def _without_numbers(signature: Any) -> Any:
    if type(signature) is not tuple:
        return signature
    return tuple([_without_numbers(part) for part in signature if type(part) not in (str, int, float, bool)])


_kernels: dict[Any, Kernel | None] = {}
_variants: Counter[Any] = Counter()


def kernel_of(
    define: Callable[..., None],
    body: Callable[..., Any],
    arrays: Any,
    numbers: int,
    broadcast: tuple[int, ...] = (),
    **options: Any,
) -> Kernel | None:
    """The kernel of a body by one of the definitions above, compiled at the first call; None if it cannot be."""
    key = (signature(body), define, arrays, numbers, broadcast, *options.values())
    try:
        return _kernels[key]
    except KeyError:
        pass
    except TypeError:
        return None  # it holds an array, or the like
    family = _without_numbers(key[0])
    _variants[family] += 1
    if _variants[family] > _VARIANTS:
        return None
    try:
        made = Kernel(define, define is define_flat, broadcast, body=body, arrays=arrays, numbers=numbers, **options)
    except Exception:  # whatever is wrong, NumPy does the work, or says so
        made = None
    _kernels[key] = made
    return made


def run(body: Callable[..., Any], *arrays: np.ndarray, numbers: tuple[float, ...] = ()) -> bool:
    """Do what `body(*arrays, *numbers)` does, in machine code; whether that was possible.

    All arrays have one size; one that is a number everywhere (without strides, as `broadcast_to` makes them) is passed as that. They may
    be written over, but must not overlap unless they are the same elements.
    """
    broadcast = _broadcast_of(arrays)
    if broadcast is None:
        return False
    made = kernel_of(define_flat, body, tuple([kind_of(array.dtype) for array in arrays]), len(numbers), broadcast)
    if made is None or made.partial:
        return False
    run_kernel(made, arrays, numbers, broadcast)
    return True


def grain_of(kernel: Kernel) -> int:
    """How many elements are worth waking a thread for."""
    return _GRAIN if kernel.length > _LONG else _CHEAP_GRAIN


def total(body: Callable[..., Any], *arrays: np.ndarray, numbers: tuple[float, ...] = ()) -> float | None:
    """The sum of what `body(*arrays, out, *numbers)` would write to `out`; None if there is no machine code for it.

    It is a sum in float64 of sums of 4096 in float32, which in turn have eight parts.
    """
    broadcast = _broadcast_of(arrays)
    if broadcast is None or any(array.dtype != _FLOAT for array in arrays):
        return None
    made = kernel_of(define_total, body, len(arrays), len(numbers), broadcast)
    if made is None or made.partial:
        return None
    size = _common_size(arrays)
    flat = [array.reshape(-1) for i, array in enumerate(arrays) if i not in broadcast]
    numbers = (*_numbers_of(arrays, broadcast), *numbers)
    rows, rest = divmod(size, _ROW)
    sums = np.zeros(rows + (rest > 0), np.float32)
    made.over(rows, _GRAIN // _ROW, _ROW, *flat, sums, *numbers)
    if rest:
        ends = [*[array[rows * _ROW :] for array in flat], sums[rows:]]
        made.run(0, 1, rest, *ends, *numbers)
    return float(sums.sum(dtype=np.float64))


def _broadcast_of(arrays: tuple[np.ndarray, ...]) -> tuple[int, ...] | None:
    """Which of the arrays are one number everywhere; None if there are no native kernels for them."""
    if not native.available():
        return None
    broadcast: tuple[int, ...] = ()
    for i, array in enumerate(arrays):
        if array.dtype != _FLOAT and kind_of(array.dtype) is None:
            return None
        if not array.flags.c_contiguous:
            if any(array.strides) or array.dtype == _BOOL:
                return None
            broadcast = (*broadcast, i)
    return broadcast


def _common_size(arrays: tuple[np.ndarray, ...]) -> int:
    size = arrays[0].size
    for array in arrays:
        if array.size != size:
            raise ValueError(f"a native kernel over {size} elements got an array of {array.size}")
    return size


def _numbers_of(arrays: tuple[np.ndarray, ...], broadcast: tuple[int, ...]) -> list[float]:
    return [float(arrays[i][(0,) * arrays[i].ndim]) for i in broadcast]


def run_kernel(
    kernel: Kernel, arrays: tuple[np.ndarray, ...], numbers: tuple[float, ...], broadcast: tuple[int, ...]
) -> None:
    """Run a kernel of `kernel_of`, shared between threads if there is much to do."""
    size = _common_size(arrays)
    if broadcast:
        numbers = (*_numbers_of(arrays, broadcast), *numbers)
        arrays = tuple(array for i, array in enumerate(arrays) if i not in broadcast)
    rest = size % 8 if kernel.narrow else 0
    kernel.over(size - rest, grain_of(kernel), *arrays, *numbers)
    if rest:
        _run_rest(kernel, arrays, rest, numbers)


def _run_rest(kernel: Kernel, arrays: tuple[np.ndarray, ...], rest: int, numbers: tuple[float, ...]) -> None:
    """Run a flat kernel on the last elements, in arrays of eight. See Note [Narrow arrays]."""
    ends = [array.reshape(-1)[-rest:] for array in arrays]
    padded = [np.zeros(8, array.dtype) for array in arrays]
    for whole, end in zip(padded, ends):
        whole[:rest] = end
    kernel.run(0, 8, *padded, *numbers)
    for i in kernel.written:
        ends[i][...] = padded[i][:rest]
