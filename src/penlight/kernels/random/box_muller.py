"""The transform of uniform to normal float32 samples, with the very digits of PyTorch's AVX2 kernel."""

from __future__ import annotations

import numpy as np

from .. import native
from ..lazy import lazy_import

normal_kernels = lazy_import(globals(), "normal_kernels", ".normal_kernels")


# Note [The same digits]
# For float32 PyTorch evaluates log, sin and cos with the polynomials of the Cephes library, in float32, with fused
# multiply-adds. That is a fixed sequence of correctly rounded operations, so the same sequence gives the same bits
# here, on any processor. A fused multiply-add becomes a product and a sum in float64, where the product is exact, and
# an assignment to a float32 array, which rounds. (The sum in float64 is rounded too, so in principle a tie could go the
# wrong way. In a hundred million samples compared with PyTorch none did.) Where a product is exact in float32 already,
# plain float32 does. Calling NumPy's log, sin and cos instead would take half the time, and differ in every seventh
# number by up to 4 units in the last place.
#
# Three polynomials are evaluated side by side, as the rows of one array: the logarithm's, with eight steps after its
# leading coefficient, and those of cosine and sine, with two.

_CHUNK = 4096  # blocks of 16 numbers at a time: few enough for the cache, and enough to make calls cheap

_ZERO, _ONE, _HALF, _FOUR, _MINUS_TWO = (
    np.float32(0.0),
    np.float32(1.0),
    np.float32(0.5),
    np.float32(4.0),
    np.float32(-2.0),
)
_HALF_ROOT = np.int32(0x3F3504F3)  # the bits of sqrt(1/2) as a float32
_LOG_STEPS = [
    float(np.float32(c))
    for c in (
        7.0376836292e-2,
        -1.1514610310e-1,
        1.1676998740e-1,
        -1.2420140846e-1,
        1.4249322787e-1,
        -1.6668057665e-1,
        2.0000714765e-1,
    )
]
_TRIG_LEAD = np.array([[2.443315711809948e-5], [-1.9515295891e-4]], np.float32).astype(np.float64)
_LAST_STEPS = [
    np.array(column, np.float32).astype(np.float64)
    for column in (
        [[-2.4999993993e-1], [-1.388731625493765e-3], [8.3321608736e-3]],
        [[3.3333331174e-1], [4.166664568298827e-2], [-1.6666654611e-1]],
    )
]
_LN2_HIGH = np.float32(0.693359375)  # so few digits that its products with exponents are exact
_LN2_LOW = np.float32(-2.12194440e-4)
_TWO_PI = np.float32(6.283185307179586)
# pi/2 in three parts; the first two have so few digits that their products with 0 to 4 are exact
_HALF_PI = (np.float32(1.5703125), np.float32(4.837512969970703125e-4), np.float64(np.float32(7.54978995489188216e-8)))


def box_muller32(u: np.ndarray) -> None:
    """Turn each 16 uniform samples of a flat float32 array into 16 normal ones, in place: 8 radii, then 8 angles."""
    if u.flags.c_contiguous and _natively(u):
        return
    blocks = u.view("V32").reshape(-1, 2)  # eight numbers move as one
    size = 8 * min(len(blocks), _CHUNK)
    pair, single = np.empty((2, size), np.float32), np.empty((7, size), np.float32)
    double, whole = np.empty((6, size)), np.empty((2, size), np.int32)
    for start in range(0, len(blocks), _CHUNK):
        part = blocks[start : start + _CHUNK].T
        k = 8 * part.shape[1]
        samples = pair if k == size else np.empty((2, k), np.float32)
        samples.view("V32")[...] = part
        _transform(samples, single[:, :k], double[:, :k], whole[:, :k])
        part[...] = samples.view("V32")


def _natively(u: np.ndarray) -> bool:
    """The same in machine code; whether that is to be had. See Note [Native kernels]."""
    if not native.available():
        return False
    kernel = native.kernel(normal_kernels.box_muller)
    if u.size < kernel.grain:
        kernel.run(0, u.size // 16, 8, u)
    else:
        kernel.over(u.size // 16, kernel.grain // 8, 8, u)
    return True


def _transform(samples: np.ndarray, single: np.ndarray, double: np.ndarray, whole: np.ndarray) -> None:
    """Overwrite rows (u, v) by sqrt(-2 log(1 - u)) times the cosine and the sine of 2 pi v; the rest is work space."""
    x, t = samples
    rounded, (x_squared, t_squared, exponent, work) = single[:3], single[3:]
    factor, total = double[:3], double[3:]
    turns, bits = whole
    _split(x, exponent, bits)
    _reduce(t, work, t_squared, total[0])
    np.copyto(turns, work, casting="unsafe")
    np.multiply(x, x, out=x_squared)
    np.multiply(t, t, out=t_squared)
    factor[0] = x
    factor[1:] = t_squared
    _polynomials(factor, total, rounded)

    # The last fused step: y * x**2 + exponent * ln2_low for log, y * t**2 - t**2 / 2 for cos, y * t + t for sin.
    factor[0] = x_squared
    factor[2] = t
    total *= factor
    np.multiply(exponent, _LN2_LOW, out=work)
    total[0] += work
    t_squared *= _HALF
    total[1] -= t_squared
    total[2] += t
    rounded[...] = total

    radius, both = rounded[0], rounded[1:]
    x_squared *= _HALF
    radius -= x_squared
    radius += x
    exponent *= _LN2_HIGH
    radius += exponent
    radius *= _MINUS_TWO
    np.sqrt(radius, out=radius)
    both[0] += _ONE
    _turn(both.view(np.int32), turns, bits)
    np.multiply(both, radius, out=samples)
    samples += _ZERO  # -0 becomes 0, as where PyTorch adds the mean


def _split(x: np.ndarray, exponent: np.ndarray, steps: np.ndarray) -> None:
    """Overwrite u by the x of 1 - u = (1 + x) * 2**exponent, with 1 + x between sqrt(1/2) and sqrt(2)."""
    np.subtract(_ONE, x, out=x)
    bits = x.view(np.int32)
    np.subtract(bits, _HALF_ROOT, out=steps)
    steps >>= 23
    exponent[...] = steps
    steps <<= 23
    bits -= steps
    x -= _ONE


def _reduce(t: np.ndarray, turns: np.ndarray, work: np.ndarray, wide: np.ndarray) -> None:
    """Overwrite v by the angle 2 pi v less the nearest multiple of pi/2, of which there are `turns` (0 to 4)."""
    np.multiply(t, _FOUR, out=turns)
    turns += _HALF
    np.floor(turns, out=turns)
    t *= _TWO_PI
    for part in _HALF_PI[:2]:
        np.multiply(turns, part, out=work)
        t -= work
    np.multiply(turns, _HALF_PI[2], out=wide)
    np.subtract(t, wide, out=wide)
    t[...] = wide


def _polynomials(factor: np.ndarray, total: np.ndarray, rounded: np.ndarray) -> None:
    """The three polynomials without their last step, times the factor, rounded to float32 but held in `total`."""
    x, total_log, rounded_log = factor[0], total[0], rounded[0]
    np.multiply(x, _LOG_STEPS[0], out=total_log)
    for coefficient in _LOG_STEPS[1:]:
        total_log += coefficient
        rounded_log[...] = total_log
        total_log[...] = rounded_log
        total_log *= x
    np.multiply(factor[1:], _TRIG_LEAD, out=total[1:])
    for column in _LAST_STEPS:
        total += column
        rounded[...] = total
        total[...] = rounded
        total *= factor
    rounded[...] = total
    total[...] = rounded


def _turn(bits: np.ndarray, turns: np.ndarray, work: np.ndarray) -> None:
    """Turn points (cosine, sine) by 0 to 4 right angles: exchange the two and change signs, on their bits."""
    cosine, sine = bits
    np.left_shift(turns, 31, out=work)
    work >>= 31  # all ones where the number is odd
    work &= cosine ^ sine
    bits ^= work
    np.bitwise_and(turns, 2, out=work)  # the sine changes its sign for 2 and 3,
    work <<= 30
    sine ^= work
    turns += 1  # the cosine for 1 and 2
    turns &= 2
    turns <<= 30
    cosine ^= turns
