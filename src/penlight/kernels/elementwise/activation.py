"""Activation functions and their gradients, where composing NumPy calls would be slow or inexact.

Trivially NumPy, so not here:
    tanh, tanhshrink (x - tanh x; gradient g tanh^2 x), softsign (x / (1 + |x|); g / (1 + |x|)^2),
    rrelu in training (x * noise; g * noise, with noise 1 where x > 0), rrelu in evaluation (leaky_relu),
    selu and celu (`elu` with scale and input_scale), relu6 (`hardtanh` with 0, 6).

Gradients at kinks are PyTorch's. Each kernel takes arrays of any float dtype and shape and returns a new array.

Note [Selecting without branches]
`np.where`, `copyto(where=)` and `putmask` branch on every element: 4 ns each when the mask is random, as activations' masks are.
Here a mask becomes integers with all bits 0 or all bits 1, and selecting is a bitwise AND: 0.4 ns. Unlike a product with 0 and 1,
it gives exactly 0 even where the gradient is inf or NaN. `clip` is also preferred to `maximum` with a scalar, which has no
vectorised loop.
"""

from __future__ import annotations

import numpy as np

from ..lazy import lazy_import
from ..rows import narrow, widen
from . import Elementwise
from .strategies import COMPILED, FEW_SELECTED

error_functions = lazy_import(globals(), "error_functions", "..special.error_functions")

_INTEGERS: dict[int, np.dtype] = {4: np.dtype(np.int32), 8: np.dtype(np.int64)}
_SQRT_HALF = 0.7071067811865476
_INV_SQRT_2PI = 0.3989422804014327
_GELU_SLOPE = 0.7978845608028654  # sqrt(2 / pi)
_GELU_CUBE = 0.044715
_SIXTH = float(np.float32(1 / 6))


def drop(values: np.ndarray, dropped: np.ndarray, out: np.ndarray) -> None:
    """out = 0 where `dropped`, `values` elsewhere; see Note [Selecting without branches]."""
    if isinstance(values, np.generic):  # a 0-d gradient
        values = np.asarray(values)
    elif type(values) is not np.ndarray:
        values.drop(dropped, out)  # type: ignore[attr-defined]  # see Note [Bodies as machine code]
        return
    if values.size < FEW_SELECTED:
        np.copyto(out, values)
        np.copyto(out, 0.0, where=dropped)
        return
    kind = _INTEGERS[values.dtype.itemsize]
    bits = (dropped.view(np.int8) - 1).astype(kind)
    np.bitwise_and(values.view(kind), bits, out=out.view(kind))


def blend(other: np.ndarray, chosen: np.ndarray, out: np.ndarray) -> None:
    """out = `other` where `chosen`, unchanged elsewhere; see Note [Selecting without branches]."""
    if type(out) is not np.ndarray:
        out.blend(other, chosen)  # type: ignore[attr-defined]
        return
    if out.size < FEW_SELECTED:
        np.copyto(out, other, where=chosen)
        return
    kind = _INTEGERS[out.dtype.itemsize]
    bits = np.negative(chosen.view(np.int8)).astype(kind)
    target, source = out.view(kind), other.view(kind)
    bits &= target ^ source
    target ^= bits


def write_sigmoid(x: np.ndarray, out: np.ndarray) -> None:
    np.negative(x, out)
    np.exp(out, out)
    out += 1.0
    np.reciprocal(out, out)


def log1p_exp(x: np.ndarray) -> np.ndarray:
    """log(1 + e^x) for x <= 0, in place and accurate however small e^x is.

    With u = 1 + e rounded, log(u) + (e - (u - 1)) / u corrects the rounding of u to first order; NumPy's own log1p
    is five times slower.
    """
    e = np.exp(x, x)
    u = e + 1.0
    e -= u - 1.0
    e /= u
    e += np.log(u, u)
    return e


def _expm1(x: np.ndarray) -> np.ndarray:
    """e^x - 1 for x <= 0, in place: 2 t / (1 - t) with t = tanh(x / 2), which is vectorised for float32."""
    if x.dtype != np.float32:
        return np.expm1(x, x)
    x *= 0.5
    t = np.tanh(x, x)
    below = 1.0 - t
    t += t
    t /= below
    return t


@Elementwise
def relu(x: np.ndarray, out: np.ndarray) -> None:
    """max(x, 0). For x = 0 or -0 the result is x: NumPy returns the second operand."""
    if type(x) is np.ndarray and x.size >= FEW_SELECTED and x.dtype.kind == "f":
        x.clip(0, np.inf, out=out)
    else:
        np.maximum(x.dtype.type(0), x, out=out)


@Elementwise
def threshold_backward(grad: np.ndarray, x: np.ndarray, out: np.ndarray, threshold: float) -> None:
    """grad where x > threshold, 0 where x <= threshold. With relu's result and 0 this is relu's gradient."""
    drop(grad, x <= threshold, out)


@Elementwise
def threshold(x: np.ndarray, out: np.ndarray, threshold: float, value: float) -> None:
    """x where x > threshold, else `value`."""
    out[...] = x
    blend(np.full(1, value, out.dtype), x <= threshold, out)


@Elementwise
def sigmoid(x: np.ndarray, out: np.ndarray) -> None:
    """1 / (1 + e^-x)."""
    write_sigmoid(x, out)


@Elementwise
def silu(x: np.ndarray, out: np.ndarray) -> None:
    """x * sigmoid(x)."""
    np.negative(x, out)
    np.exp(out, out)
    out += 1.0
    np.divide(x, out, out)


@Elementwise
def silu_backward(grad: np.ndarray, x: np.ndarray, out: np.ndarray) -> None:
    """grad * s * (1 + x * (1 - s)) with s = sigmoid(x)."""
    write_sigmoid(x, out)
    rest = 1.0 - out
    rest *= x
    rest += 1.0
    out *= rest
    out *= grad


def _normal_cdf(x: np.ndarray, out: np.ndarray) -> None:
    if x.dtype == np.float32:
        error_functions.normal_cdf32(x, out)
        return
    np.multiply(x, _SQRT_HALF, out)
    np.add(error_functions.erf(out), 1.0, out)
    out *= 0.5


def _tanh_cdf(x: np.ndarray, out: np.ndarray) -> None:
    """(1 + tanh(u)) / 2 = sigmoid(2 u) with u = sqrt(2 / pi) * (x + 0.044715 x^3)."""
    np.multiply(x, x, out)
    out *= -2.0 * _GELU_SLOPE * _GELU_CUBE
    out -= 2.0 * _GELU_SLOPE
    out *= x
    np.exp(out, out)
    out += 1.0
    np.reciprocal(out, out)


@Elementwise
def gelu(x: np.ndarray, out: np.ndarray, approximate: str = "none") -> None:
    """x times the normal distribution function, exact or (`approximate="tanh"`) by tanh."""
    (_tanh_cdf if approximate == "tanh" else _normal_cdf)(x, out)
    out *= x


def _gelu_slope(x: np.ndarray, out: np.ndarray) -> None:
    """The normal distribution function, and x times the density."""
    _normal_cdf(x, out)
    density = x * x
    density *= -0.5
    np.exp(density, density)
    density *= _INV_SQRT_2PI
    density *= x
    out += density


@Elementwise
def gelu_backward(grad: np.ndarray, x: np.ndarray, out: np.ndarray, approximate: str = "none") -> None:
    """Gradient of `gelu`."""
    if approximate == "tanh":
        _tanh_cdf(x, out)
        slope = x * x
        slope *= 6.0 * _GELU_SLOPE * _GELU_CUBE
        slope += 2.0 * _GELU_SLOPE
        slope *= x
        slope *= 1.0 - out
        slope += 1.0
        out *= slope
    elif x.dtype != np.float32:
        _gelu_slope(x, out)
    elif type(x) is not np.ndarray:
        _gelu_slope_everywhere(x, out)
    elif x.size and x.min() >= -error_functions.SLOPE32_END and x.max() <= error_functions.SLOPE32_END:
        error_functions.gelu_slope32(x, out)
    else:
        _gelu_slope(x, out)
    out *= grad


def _gelu_slope_everywhere(x: np.ndarray, out: np.ndarray) -> None:
    """The quotient for gelu's slope without branching on values: x is clamped, then 0 and 1 are set beyond the ends, NaN for infinity."""
    error_functions.gelu_slope32(x.clip(-error_functions.SLOPE32_END, error_functions.SLOPE32_END), out)
    blend(np.zeros(1, out.dtype), x < -error_functions.SLOPE32_END, out)
    blend(np.ones(1, out.dtype), x > error_functions.SLOPE32_END, out)
    out += x * 0.0


@Elementwise
def elu(x: np.ndarray, out: np.ndarray, alpha: float = 1.0, scale: float = 1.0, input_scale: float = 1.0) -> None:
    """scale * x for x > 0, scale * alpha * (e^(input_scale x) - 1) below. celu(x, a) = elu(x, a, 1, 1 / a)."""
    x.clip(-np.inf, 0, out=out)
    if input_scale != 1.0:
        out *= input_scale
    _expm1(out)
    if alpha != 1.0:
        out *= alpha
    out += x.clip(0, np.inf)
    if scale != 1.0:
        out *= scale


@Elementwise
def elu_backward(
    grad: np.ndarray,
    x: np.ndarray,
    out: np.ndarray,
    alpha: float = 1.0,
    scale: float = 1.0,
    input_scale: float = 1.0,
    is_result: bool = False,
) -> None:
    """Gradient of `elu` from its input, or (`is_result`) from its result; at 0 it is the left one."""
    x.clip(-np.inf, 0, out=out)
    if is_result:
        out += scale * alpha
        out *= input_scale
    else:
        out *= input_scale
        np.exp(out, out)
        out *= scale * alpha * input_scale
    if is_result or alpha * input_scale != 1.0:
        blend(np.full(1, scale, out.dtype), x > 0, out)
    out *= grad


@Elementwise
def softplus(x: np.ndarray, out: np.ndarray, beta: float = 1.0, threshold: float = 20.0) -> None:
    """log(1 + e^(beta x)) / beta; x itself where beta x > threshold."""
    z = x if beta == 1.0 else x * beta
    np.abs(z, out)
    np.negative(out, out)
    log1p_exp(out)
    out += z.clip(0, np.inf)
    if beta != 1.0:
        out /= beta
    blend(x, z > threshold, out)


@Elementwise
def softplus_backward(
    grad: np.ndarray, x: np.ndarray, out: np.ndarray, beta: float = 1.0, threshold: float = 20.0
) -> None:
    """grad * sigmoid(beta x); grad itself where beta x > threshold."""
    z = x if beta == 1.0 else x * beta
    write_sigmoid(z, out)
    out *= grad
    blend(grad, z > threshold, out)


@Elementwise
def logsigmoid(x: np.ndarray, out: np.ndarray) -> None:
    """log(sigmoid(x)) without overflow."""
    np.abs(x, out)
    np.negative(out, out)
    log1p_exp(out)
    np.subtract(x.clip(-np.inf, 0), out, out)


@Elementwise
def logsigmoid_backward(grad: np.ndarray, x: np.ndarray, out: np.ndarray) -> None:
    """grad * sigmoid(-x)."""
    np.exp(x, out)
    out += 1.0
    np.divide(grad, out, out)


# Note [Mish without logarithms]
# tanh(log(1 + e)) with e = e^x is n / (n + 2), n = e (e + 2): one exponential, no cancellation. Beyond 22 the quotient and
# the derivative are 1 in every precision, so x is clamped there, before e^2 could overflow.

_MISH_CUT = 22.0


def _mish_parts(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(e, n) of Note [Mish without logarithms]."""
    e = x.clip(-np.inf, _MISH_CUT)
    np.exp(e, e)
    n = e + 2.0
    n *= e
    return e, n


@Elementwise
def mish(x: np.ndarray, out: np.ndarray) -> None:
    """x * tanh(softplus(x))."""
    _, n = _mish_parts(x)
    np.multiply(x, n, out)
    n += 2.0
    out /= n
    blend(x, x > _MISH_CUT, out)


@Elementwise
def mish_backward(grad: np.ndarray, x: np.ndarray, out: np.ndarray) -> None:
    """grad * (n / (n + 2) + 4 x e (1 + e) / (n + 2)^2), see Note [Mish without logarithms]."""
    e, n = _mish_parts(x)
    np.add(e, 1.0, out)
    out *= e
    out *= 4.0
    below = n + 2.0
    out /= below
    out *= x
    out += n
    out /= below
    out *= grad
    blend(grad, x > _MISH_CUT, out)


def hardtanh(x: np.ndarray, low: float = -1.0, high: float = 1.0) -> np.ndarray:
    """x clamped to [low, high]."""
    if x.size >= COMPILED and x.dtype.kind not in "iub":
        return _limited(x, low, high)
    wide = widen(x)
    return narrow(np.asarray(wide.clip(wide.dtype.type(low), wide.dtype.type(high))), x.dtype)


@Elementwise
def _limited(x: np.ndarray, out: np.ndarray, low: float, high: float) -> None:
    x.clip(low, high, out=out)


@Elementwise
def hardtanh_backward(grad: np.ndarray, x: np.ndarray, out: np.ndarray, low: float = -1.0, high: float = 1.0) -> None:
    """grad strictly between low and high, 0 at and beyond them."""
    outside = x <= low
    outside |= x >= high
    drop(grad, outside, out)


@Elementwise
def hardsigmoid(x: np.ndarray, out: np.ndarray) -> None:
    """min(max(x + 3, 0), 6) / 6."""
    np.add(x, 3.0, out)
    out.clip(0, 6, out=out)
    out /= 6.0


@Elementwise
def hardsigmoid_backward(grad: np.ndarray, x: np.ndarray, out: np.ndarray) -> None:
    """grad / 6 strictly between -3 and 3, else 0. As in PyTorch, the factor 1/6 is a float32 for every dtype."""
    inside = x > -3.0
    inside &= x < 3.0
    np.multiply(grad, _SIXTH, out)
    drop(out, ~inside, out)


@Elementwise
def hardswish(x: np.ndarray, out: np.ndarray) -> None:
    """x * min(max(x + 3, 0), 6) / 6."""
    np.add(x, 3.0, out)
    out.clip(0, 6, out=out)
    out *= x
    out /= 6.0


@Elementwise
def hardswish_backward(grad: np.ndarray, x: np.ndarray, out: np.ndarray) -> None:
    """grad * (x / 3 + 1 / 2) strictly between -3 and 3, 0 below, grad above."""
    np.divide(x, 3.0, out)
    out += 0.5
    out *= grad
    inside = x < 3.0
    blend(grad, ~inside, out)
    drop(out, x <= -3.0, out)


@Elementwise
def leaky_relu(x: np.ndarray, out: np.ndarray, slope: float = 0.01) -> None:
    """x for x > 0, slope * x below."""
    np.multiply(x, slope, out)
    if 0.0 < slope <= 1.0:
        np.maximum(x, out, out=out)
    else:
        blend(x, x > 0, out)


@Elementwise
def leaky_relu_backward(grad: np.ndarray, x: np.ndarray, out: np.ndarray, slope: float = 0.01) -> None:
    """grad for x > 0, slope * grad at and below 0."""
    np.multiply(grad, slope, out)
    blend(grad, x > 0, out)


@Elementwise
def softshrink(x: np.ndarray, out: np.ndarray, width: float = 0.5) -> None:
    """x shifted towards 0 by `width`; 0 within +-width."""
    x.clip(-width, width, out=out)
    np.subtract(x, out, out)


def hardshrink(x: np.ndarray, width: float = 0.5) -> np.ndarray:
    """x, but 0 within +-width."""
    return shrink_backward(x, x, width)


@Elementwise
def shrink_backward(grad: np.ndarray, x: np.ndarray, out: np.ndarray, width: float = 0.5) -> None:
    """grad, but 0 where x is within +-width: the gradient of softshrink and hardshrink."""
    drop(grad, np.abs(x) <= width, out)
