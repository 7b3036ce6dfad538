"""float16 from and to float32 in a few passes of whole-number arithmetic, where no machine code runs.

NumPy converts one number after the other, in 2 and 3.5 ns, and in 90 ns where a result is below the normal numbers, for which it sets a flag.
"""

from __future__ import annotations

import numpy as np

Array = np.ndarray
_BLOCK = 1 << 15  # elements
_SCALE = np.float32(2.0**112)  # the bits of a half in those of a float32 are a number that is too small by this
_INT = np.int32
# Bits of float32: infinity, 2**16, which is larger than every half, and 2**-14, the smallest normal half
_INFINITY, _TOO_LARGE, _SMALLEST = 0x7F800000, 0x47800000, 0x38800000


def to_single(x: Array) -> Array:
    """A contiguous array of float16 as float32."""
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
    """A contiguous array of float32 as float16, rounded to the nearest, to even if two are."""
    result = np.empty(x.shape, np.float16)
    flat, out = x.reshape(-1), result.reshape(-1)
    for start in range(0, flat.size, _BLOCK):
        part = flat[start : start + _BLOCK]
        made = out[start : start + _BLOCK]
        signed = part.view(_INT)
        bits = signed & 0x7FFFFFFF
        largest = bits.max()
        if largest > _INFINITY:  # NaN
            made[...] = part
            continue
        small = (bits < _SMALLEST).nonzero()[0] if bits.min() < _SMALLEST else None
        # Normal halves: the exponent less the difference of the biases, and what is cut off rounds the rest.
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
