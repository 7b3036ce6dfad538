"""Conversions of floats. Large arrays are converted from and to 16-bit floats, and to int32, by machine code: NumPy takes up to 6
ns per element.

See Note [Narrow arrays].
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..lazy import lazy_import
from ..numpy_warnings import hush, silent, unhush
from . import LEAST_CONVERTED
from .order import astype, in_memory_order, order_of

_FLOAT, _DOUBLE, _INT = np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.int32)
_HALF = np.dtype(np.float16)
elementwise = lazy_import(globals(), "elementwise", "..elementwise")
machine = lazy_import(globals(), "machine", "..native")


def is_half(dtype: np.dtype[Any]) -> bool:
    """Whether `dtype` is float16 or bfloat16, which are computed in float32."""
    return dtype.itemsize == 2 and dtype.kind not in "iu"


def plain_mask(mask: np.ndarray) -> np.ndarray:
    """The mask with bytes 0 and 1 only: a mask read from a file, or a view of another dtype, may hold any bytes, and nonzero means True."""
    return mask.view(np.uint8) != 0


def cast(x: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
    """x.astype(dtype), rounded to nearest; values that are too large become infinite.

    Wider dtypes go through float32 to a 16-bit float, as in PyTorch: a float64 is rounded twice.
    """
    if is_half(dtype):
        kind = x.dtype.kind  # bytes of a bool may differ from 0 and 1, which only NumPy's own conversions handle
        if x.dtype == _DOUBLE or kind == "b" or (x.size >= LEAST_CONVERTED and kind in "iu"):
            x = _cast(x, _FLOAT)
        if x.dtype != _FLOAT:
            return _cast(x, dtype)
    elif dtype != _FLOAT or not is_half(x.dtype):
        return _cast(x, dtype)
    copied = _copied(x, dtype) if x.size >= LEAST_CONVERTED else None
    return _cast(x, dtype) if copied is None else copied


def _copied(x: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray | None:
    """The array in another dtype, by machine code, or `to_single` and `to_half`; None if there is neither."""
    if not x.flags.c_contiguous:
        if not machine.available() or order_of(x) is None:
            return None
        return in_memory_order(_copied, x, dtype)
    copied = elementwise.attempt(elementwise.as_kernel(_copy, 1), (x,), np.empty(x.shape, dtype)) if x.ndim else None
    if copied is not None or dtype == _INT:
        return copied
    return to_half(x) if dtype == _HALF else to_single(x) if x.dtype == _HALF else None


def cast_operand(x: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
    """x.astype(dtype), read-only: elements that are broadcast in `x` are converted once. NumPy's own copy would have another memory order."""
    if 0 not in x.strides or not x.size:
        return cast(x, dtype)
    return np.broadcast_to(cast(once(x), dtype), x.shape)


def once(x: np.ndarray) -> np.ndarray:
    """`x` with broadcast (stride 0) dimensions reduced to size one."""
    return x[tuple([slice(None) if stride else slice(1) for stride in x.strides])]


def _cast(x: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
    token = hush()
    try:
        return astype(x, dtype)
    finally:
        unhush(token)


def truncate(x: np.ndarray) -> np.ndarray | None:
    """x.astype(int32) of floats, rounded towards 0, by machine code; values outside int32 become its minimum. None if there is no
    machine code."""
    if x.size < LEAST_CONVERTED:
        return None
    if is_half(x.dtype):
        x = cast(x, _FLOAT)
    return _copied(x, _INT) if x.dtype == _FLOAT else None


def _copy(x: np.ndarray, out: np.ndarray) -> None:
    out[...] = x


# ----- float16 from and to float32 in a few passes of integer arithmetic, where no machine code runs -------------
# NumPy converts one element at a time, in 2 and 3.5 ns, and in 90 ns if the result is subnormal, for which it sets a flag.


Array = np.ndarray
_BLOCK = 1 << 15  # elements
_SCALE = np.float32(2.0**112)  # a half's bits, read as a float32, are too small by this factor
# Bits of float32: infinity, 2**16, which is larger than every half, and 2**-14, the smallest normal half
_INFINITY, _TOO_LARGE, _SMALLEST = 0x7F800000, 0x47800000, 0x38800000


def to_single(x: Array) -> Array:
    """Convert a contiguous float16 array to float32."""
    result = np.empty(x.shape, np.float32)
    flat, out = x.reshape(-1), result.reshape(-1)
    for start in range(0, flat.size, _BLOCK):
        part, made = flat[start : start + _BLOCK], out[start : start + _BLOCK]
        bits = made.view(_INT)
        bits[...] = part.view(np.int16)  # the sign fills the bits above it
        np.left_shift(bits, 13, bits)
        np.bitwise_and(bits, -0x70002000, bits)
        np.multiply(made, _SCALE, made)
        if not (made.max() < 65536 and made.min() > -65536):  # infinities and NaN
            made[...] = part
    return result


def to_half(x: Array) -> Array:
    """Convert a contiguous float32 array to float16, rounded to nearest even."""
    result = np.empty(x.shape, np.float16)
    flat, out = x.reshape(-1), result.reshape(-1)
    for start in range(0, flat.size, _BLOCK):
        part = flat[start : start + _BLOCK]
        made = out[start : start + _BLOCK]
        signed = part.view(_INT)
        bits = signed & 0x7FFFFFFF
        largest = bits.max()
        if largest > _INFINITY:  # NaN
            with silent():
                made[...] = part
            continue
        small = (bits < _SMALLEST).nonzero()[0] if bits.min() < _SMALLEST else None
        # Normal halves: subtract the difference of the biases from the exponent, and round by the bits that are cut off.
        odd = bits >> 13
        odd &= 1
        bits += 0xFFF - (112 << 23)
        bits += odd
        bits >>= 13
        if largest >= _TOO_LARGE:
            np.minimum(bits, 0x7C00, out=bits)
        if small is not None:  # multiples of 2**-24
            multiple = np.abs(part.take(small))
            multiple *= np.float32(2.0**24)
            bits[small] = np.rint(multiple, multiple)
        np.right_shift(signed, 16, odd)
        odd &= 0x8000
        bits |= odd
        made.view(np.uint16)[...] = bits
    return result
