"""The Box-Muller transform for float32, bitwise equal to PyTorch's AVX2 kernel."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import native
from ..lazy import lazy_import

normal_kernels = lazy_import(globals(), "normal_kernels", ".normal_kernels")


# Note [The same digits]
# For float32 PyTorch evaluates log, sin and cos with the polynomials of the Cephes library, in float32, with fused
# multiply-adds. That is a fixed sequence of correctly rounded operations, so the same sequence gives the same bits
# here, on any processor. `samples` is that sequence, for NumPy arrays (`InNumPy`) and for a kernel's vectors (compiler/values.py).
# In NumPy a fused multiply-add is a product and a sum in float64, where the product is exact, rounded to float32. (The
# sum in float64 is rounded too, so in principle a tie could be rounded the wrong way. In a hundred million samples compared
# with PyTorch none was.) NumPy's log, sin and cos would take half the time, but differ in every seventh number by up to 4
# units in the last place.

_CHUNK = 2048  # blocks of 16 numbers per pass: they fit in the cache, and the calls' overhead is small


def _single(*numbers: float) -> tuple[float, ...]:
    return tuple([float(np.float32(number)) for number in numbers])


_HALF_ROOT = 0x3F3504F3  # the bits of sqrt(1/2) as a float32
# Coefficients of polynomials, from the constant term on.
_LOG = _single(
    3.3333331174e-1, -2.4999993993e-1, 2.0000714765e-1, -1.6668057665e-1, 1.4249322787e-1, -1.2420140846e-1,
    1.1676998740e-1, -1.1514610310e-1, 7.0376836292e-2,
)  # fmt: skip
_COSINE = _single(4.166664568298827e-2, -1.388731625493765e-3, 2.443315711809948e-5)
_SINE = _single(-1.6666654611e-1, 8.3321608736e-3, -1.9515295891e-4)
_LN2_HIGH, _LN2_LOW = _single(0.693359375, -2.12194440e-4)  # products of exponents with the first are exact
(_TWO_PI,) = _single(6.283185307179586)
# pi/2 as a sum of three; products of the first two with 0 to 4 are exact
_HALF_PI = _single(1.5703125, 4.837512969970703125e-4, 7.54978995489188216e-8)


def samples(v: Any, u: Any, angle: Any) -> tuple[Any, Any]:
    """sqrt(-2 log(1 - u)) times the cosine and the sine of 2 pi angle. `v` has the operations that Python has no operator for."""
    radius = _radius(v, 1.0 - u)
    turns = v.rounded(angle * 4.0 + 0.5, "floor")  # the nearest multiple of pi / 2, 0 to 4
    t = angle * _TWO_PI
    first, second, third = _HALF_PI
    t = v.fnma(turns, third, t - turns * first - turns * second)
    square = t * t
    cosine = v.fma(v.polynomial(square, _COSINE) * square, square, -(square * 0.5)) + 1.0
    sine = v.fma(v.polynomial(square, _SINE) * square, t, t)
    turns = v.cast(turns, "i32")
    odd = v.is_odd(turns)
    cosine, sine = v.where(odd, sine, cosine), v.where(odd, cosine, sine)
    sine = v.as_float(v.as_integer(sine) ^ ((turns & 2) << 30))
    cosine = v.as_float(v.as_integer(cosine) ^ (((turns + 1) & 2) << 30))
    return cosine * radius + 0.0, sine * radius + 0.0  # -0 becomes 0, as when PyTorch adds the mean


def _radius(v: Any, rest: Any) -> Any:
    """sqrt(-2 log(rest)), where rest = (1 + x) * 2**exponent with 1 + x between sqrt(1/2) and sqrt(2)."""
    bits = v.as_integer(rest)
    steps = (bits - _HALF_ROOT) >> 23
    exponent = v.cast(steps, "f32")
    x = v.as_float(bits - (steps << 23)) - 1.0
    square = x * x
    log = v.fma(v.polynomial(x, _LOG) * x, square, exponent * _LN2_LOW)
    log = log - square * 0.5 + x + exponent * _LN2_HIGH
    return v.sqrt(log * -2.0)


class InNumPy:
    """The functions of compiler/values.py that `samples` needs, on arrays of float32 and int32."""

    sqrt = np.sqrt

    @staticmethod
    def where(bits: np.ndarray, one: np.ndarray, other: np.ndarray) -> np.ndarray:
        """`one` where all bits are 1, `other` where all are 0; faster than `np.where`."""
        first, second = one.view(np.int32), other.view(np.int32)
        return (((first ^ second) & bits) ^ second).view(np.float32)

    @staticmethod
    def as_integer(x: np.ndarray) -> np.ndarray:
        return x.view(np.int32)

    @staticmethod
    def as_float(x: np.ndarray) -> np.ndarray:
        return x.view(np.float32)

    @staticmethod
    def cast(x: np.ndarray, element: str) -> np.ndarray:
        return x.astype(np.int32 if element == "i32" else np.float32)

    @staticmethod
    def rounded(x: np.ndarray, way: str) -> np.ndarray:
        return np.floor(x)

    @staticmethod
    def is_odd(x: np.ndarray) -> np.ndarray:
        return -(x & 1)

    @staticmethod
    def fma(a: np.ndarray, b: np.ndarray | float, c: np.ndarray) -> np.ndarray:
        wide = a.astype(np.float64)
        wide *= b
        wide += c
        return wide.astype(np.float32)

    @staticmethod
    def fnma(a: np.ndarray, b: float, c: np.ndarray) -> np.ndarray:
        return InNumPy.fma(a, -b, c)

    @staticmethod
    def polynomial(x: np.ndarray, coefficients: tuple[float, ...]) -> np.ndarray:
        """Horner's rule, with each step rounded to float32."""
        *rest, last = coefficients
        factor, single = x.astype(np.float64), np.empty_like(x)
        wide = factor * last
        for coefficient in rest[:0:-1]:
            wide += coefficient
            single[...] = wide
            wide[...] = single
            wide *= factor
        wide += rest[0]
        single[...] = wide
        return single


def box_muller32(u: np.ndarray) -> None:
    """Transform uniform to normal samples in place, in groups of 16 (8 radii, then 8 angles) of a flat float32 array."""
    if u.flags.c_contiguous and _natively(u):
        return
    blocks = u.view("V32").reshape(-1, 2)  # eight numbers move as one
    for start in range(0, len(blocks), _CHUNK):
        part = blocks[start : start + _CHUNK].T
        pair = np.ascontiguousarray(part).view(np.float32)
        for column, made in zip(part, samples(InNumPy, *pair), strict=True):
            column[...] = made.view("V32")


def _natively(u: np.ndarray) -> bool:
    """`box_muller32` in machine code; False if there is none. See Note [Native kernels]."""
    if not native.available():
        return False
    kernel = native.kernel(normal_kernels.box_muller)
    if u.size < kernel.grain:
        kernel.run(0, u.size // 16, 8, u)
    else:
        kernel.over(u.size // 16, kernel.grain // 8, 8, u)
    return True
