"""Further elementwise arithmetic: hypotenuses, remainders, exponents, logarithms, replacing NaN."""

from __future__ import annotations

import builtins
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import dtypes
from ...kernels import executable
from ...kernels.elementwise import Elementwise, one_pass
from ...kernels.lazy import lazy_import
from ...tensor import Tensor
from ..machinery.declare import OPS, OpCall, differentiable, install_method, method, op_forms, plain, pointwise
from ..machinery.guards import need_number, no_derivative, no_tensor, without_numpy_warnings
from ..machinery.op import traits
from ..machinery.rules import zero_gradient
from ..reduce.sums import named_result

if TYPE_CHECKING:
    from ..machinery.op import Number

__all__ = [
    "copysign", "float_power", "fmax", "fmin", "frexp", "gcd", "heaviside", "hypot", "lcm", "ldexp", "logaddexp",
    "logaddexp2", "nan_to_num", "nextafter", "positive"
]  # fmt: skip

_powers = lazy_import(globals(), "_powers", ".powers")
_faster_ufuncs = lazy_import(globals(), "_faster_ufuncs", "...kernels.faster_ufuncs")


# ----- Two numbers --------------------------------------------------------------------------------------------------


@pointwise(one_pass(lambda input, other: _faster_ufuncs.run(np.hypot, input, other)),
           input=lambda grad, input, result: grad * input / result,
           other=lambda grad, other, result: grad * other / result)  # fmt: skip
@traits(refuses={"biuc": "hypot_cpu"})
def hypot(input: Tensor, other: Tensor) -> Tensor:
    """The hypotenuse: sqrt(input**2 + other**2).

    >>> torch.hypot(torch.tensor([3.0]), torch.tensor([4.0]))
    tensor([5.])
    """


def _copysign_rule(grad: Any, input: Any, result: Any, xp: Any) -> Any:
    return grad * xp.cleared(result / input, input == 0)


@pointwise(np.copysign, node="CopysignBackward0", floating=True,
           input=_copysign_rule,
           other=zero_gradient)  # fmt: skip
@traits(refuses={"c": "copysign_cpu"})
def _copysign(input: Tensor, other: Tensor) -> Tensor: ...


@pointwise(np.copysign, node="CopysignBackward1", floating=True, input=_copysign_rule)
@traits(refuses={"c": "copysign_cpu"})
def _copysign_number(input: Tensor, other: Number) -> Tensor: ...


@op_forms()
def copysign(input: Tensor, other: Tensor | Number) -> OpCall:
    """The absolute value of `input` with the sign of `other`.

    >>> torch.tensor([1.0, -2.0]).copysign(-0.0)
    tensor([-1., -2.])
    """
    other = need_number(other)
    return OPS["_copysign" if isinstance(other, Tensor) else "_copysign_number"], (input, other)


def _same_dtype(env: dict[str, Any]) -> None:
    if env["input"].dtype is not env["values"].dtype:
        raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.")


@pointwise(lambda input, values: np.where(input == 0, values, (input > 0).astype(input.dtype)), node="NotImplemented", check=_same_dtype,
           input=no_derivative("heaviside"),
           values=no_derivative("heaviside"))  # fmt: skip
@traits(refuses={"c": RuntimeError("heaviside is not yet implemented for complex tensors.")})
def heaviside(input: Tensor, values: Tensor) -> Tensor:
    """The step function: 0 for negative elements, 1 for positive ones, and `values` where an element is 0.

    >>> torch.heaviside(torch.tensor([-2.0, 0.0, 3.0]), torch.tensor(0.5))
    tensor([0.0000, 0.5000, 1.0000])
    """


@pointwise(lambda input, other: _faster_ufuncs.run(np.nextafter, input, other),
           input=lambda grad, input, other, xp: xp.where(input == other, 0.0, grad),
           other=zero_gradient)  # fmt: skip
@traits(refuses={"biuc": "nextafter_cpu"})
def nextafter(input: Tensor, other: Tensor) -> Tensor:
    """The next representable value after each element, towards `other`.

    >>> bool(torch.nextafter(torch.tensor(1.0), torch.tensor(2.0)) > 1)
    True
    """


def _first_wins(grad: Any, wins: Any, other: Any, xp: Any) -> Any:
    return xp.cleared(grad, ~(wins | xp.isnan(other)))


def _first_loses(grad: Any, wins: Any, other: Any, xp: Any) -> Any:
    return xp.cleared(grad, wins | xp.isnan(other))


def _not_nan(first: Any, input: Any, other: Any) -> Any:
    """The elements of the first where they win or the second is NaN. Of two equal ones, 0 and -0, PyTorch takes the first, but in
    bfloat16 the second; NumPy's fmax and fmin return either."""
    if input.dtype.kind == "V":
        first = first & (input != other)
    return np.where(first | (other != other), input, other)


@pointwise(without_numpy_warnings(lambda input, other: _not_nan(input >= other, input, other)),
           input=lambda grad, input, other, xp: _first_wins(grad, input >= other, other, xp),
           other=lambda grad, input, other, xp: _first_loses(grad, input >= other, other, xp))  # fmt: skip
@traits(refuses={"c": RuntimeError("fmax not implemented for complex tensors.")})
def fmax(input: Tensor, other: Tensor) -> Tensor:
    """The larger of two elements, ignoring NaN in one of them.

    >>> torch.fmax(torch.tensor([1.0, float("nan")]), torch.tensor([2.0, 0.5]))
    tensor([2.0000, 0.5000])
    """


@pointwise(without_numpy_warnings(lambda input, other: _not_nan(input <= other, input, other)),
           input=lambda grad, input, other, xp: _first_wins(grad, input <= other, other, xp),
           other=lambda grad, input, other, xp: _first_loses(grad, input <= other, other, xp))  # fmt: skip
@traits(refuses={"c": RuntimeError("fmin not implemented for complex tensors.")})
def fmin(input: Tensor, other: Tensor) -> Tensor:
    """The smaller of two elements, ignoring NaN in one of them.

    >>> torch.fmin(torch.tensor([1.0, float("nan")]), torch.tensor([2.0, 0.5]))
    tensor([1.0000, 0.5000])
    """


@plain(np.gcd, broadcast=True, inplace=True)
@traits(refuses={"bfhc": "gcd_cpu"})
def gcd(input: Tensor, other: Tensor) -> Tensor:
    """The greatest common divisor of two integers.

    >>> torch.gcd(torch.tensor([12, -9]), torch.tensor([18, 6]))
    tensor([6, 3])
    """


def _lcm_array(input: Any, other: Any) -> Any:
    """The result has no sign if it overflows, as in PyTorch; shorter integers take the sign of their last bits."""
    multiple = np.lcm(input, other)
    return np.abs(multiple) if multiple.dtype.kind == "i" and multiple.itemsize >= 4 else multiple


@plain(_lcm_array, broadcast=True, inplace=True)
@traits(refuses={"bfhc": "lcm_cpu"})
def lcm(input: Tensor, other: Tensor) -> Tensor:
    """The least common multiple of two integers.

    >>> torch.lcm(torch.tensor([4, -6]), torch.tensor([6, 9]))
    tensor([12, 18])
    """


# ----- Exponents and logarithms -------------------------------------------------------------------------------------


@pointwise(without_numpy_warnings(lambda input, other: input * np.exp2(other)), floating=True,
           input=lambda grad, other, xp: grad * xp.exp2(other),
           other=lambda grad, result: grad * (result * math.log(2)))  # fmt: skip
def ldexp(input: Tensor, other: Tensor) -> Tensor:
    """`input * 2**other`.

    >>> torch.ldexp(torch.tensor([1.0]), torch.tensor([3]))
    tensor([8.])
    """


def _frexp_array(input: Any) -> Any:
    wide = input.astype(np.float32) if input.dtype.kind == "V" else input
    mantissa, exponent = np.frexp(wide)
    return np.asarray(mantissa).astype(input.dtype, copy=False), np.where(np.isfinite(wide), exponent, 0).astype(
        np.int32
    )


def _frexp_rule(grads: Any, exponent: Any, xp: Any) -> Any:
    grad = grads[0]
    return None if grad is None else grad / xp.exp2(xp.cast(exponent, xp.np_dtype(grad)))


@differentiable(_frexp_array, node="FrexpBackward0", results=("mantissa", "exponent"), input=_frexp_rule)
@traits(refuses={"biuc": RuntimeError("torch.frexp() only supports floating-point dtypes")})
def _frexp(input: Tensor) -> tuple[Tensor, Tensor]: ...


_Frexp = named_result("frexp", "mantissa exponent")


@method
def frexp(input: Tensor, *, out: Any = None) -> Any:
    """Mantissas between 0.5 and 1 and integer exponents: `input = mantissa * 2**exponent`.

    >>> torch.frexp(torch.tensor([3.0])).mantissa
    tensor([0.7500])
    """
    return _Frexp(*_frexp(input, out=out))


def _log_sum(input: Any, other: Any) -> Any:
    if input.dtype.kind != "c":
        return _faster_ufuncs.run(np.logaddexp, input, other)
    swap = input.real < other.real
    high, low = np.where(swap, other, input), np.where(swap, input, other)
    return np.where(np.isinf(low.real) & (low.real < 0), high, high + np.log1p(np.exp(low - high)))


@pointwise(one_pass(without_numpy_warnings(_log_sum)),
           input=lambda grad, input, other, xp: grad / xp._add_number(xp.exp(other - input), 1),
           other=lambda grad, input, other, xp: grad / xp._add_number(xp.exp(input - other), 1))  # fmt: skip
@traits(refuses={"biu": "logaddexp_cpu"})
def logaddexp(input: Tensor, other: Tensor) -> Tensor:
    """log(exp(input) + exp(other)), without overflow.

    >>> torch.logaddexp(torch.tensor([1000.0]), torch.tensor([1000.0]))
    tensor([1000.6932])
    """


@pointwise(lambda input, other: _faster_ufuncs.run(np.logaddexp2, input, other),
           input=lambda grad, input, other, xp: grad / xp._add_number(xp.exp2(other - input), 1),
           other=lambda grad, input, other, xp: grad / xp._add_number(xp.exp2(input - other), 1))  # fmt: skip
@traits(refuses={"biuc": "logaddexp2_cpu"})
def logaddexp2(input: Tensor, other: Tensor) -> Tensor:
    """log2(2**input + 2**other), without overflow.

    >>> torch.logaddexp2(torch.tensor([1000.0]), torch.tensor([1000.0]))
    tensor([1001.])
    """


def _double(*operands: Any) -> dtypes.dtype:
    """The dtype of `float_power`: complex128 if an operand is complex, else float64."""
    kinds = [v.is_complex() if isinstance(v, Tensor) else isinstance(v, builtins.complex) for v in operands]
    return dtypes.complex128 if any(kinds) else dtypes.float64


def _wide(value: Any, dtype: dtypes.dtype) -> Any:
    if isinstance(value, Tensor):
        return value.to(dtype)
    return builtins.complex(value) if dtype.category == dtypes.COMPLEX else float(value)


@method
def float_power(input: Tensor | Number, exponent: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Powers computed in float64 (or complex128).

    >>> torch.float_power(torch.tensor([2, 3]), -1)
    tensor([0.5000, 0.3333], dtype=torch.float64)
    """
    if not isinstance(input, Tensor) and not isinstance(exponent, Tensor):
        raise no_tensor("float_power", input, exponent, parameters=("input", "exponent"))
    dtype = _double(input, exponent)
    if out is not None and out.dtype is not dtype:
        raise RuntimeError(
            f"the output given to float_power has dtype {dtypes.LEGACY[out.dtype]} but the operation's result requires dtype "
            f"{dtypes.LEGACY[dtype]}"
        )
    return _powers.pow(_wide(input, dtype), _wide(exponent, dtype), out=out)


@method
def float_power_(input: Tensor, exponent: Tensor | Number) -> Tensor:
    """In-place version of `float_power`.

    >>> torch.tensor([2.0], dtype=torch.float64).float_power_(3)
    tensor([8.], dtype=torch.float64)
    """
    dtype = _double(input, exponent)
    if input.dtype is not dtype:
        raise RuntimeError(
            f"the base given to float_power_ has dtype {dtypes.LEGACY[input.dtype]} but the operation's result requires dtype "
            f"{dtypes.LEGACY[dtype]}"
        )
    return input.pow_(_wide(exponent, dtype))


# ----- Clean-up -----------------------------------------------------------------------------------------------------


@Elementwise
def _replaced(input: Any, out: Any, nan: Any, high: Any, low: Any) -> None:
    finite = np.where(input == -np.inf, low, np.where(input == np.inf, high, input))
    out[...] = np.where(np.isnan(input), nan, finite)


_LIMITS = {np.dtype(kind): float(np.finfo(kind).max) for kind in (np.float32, np.float64)}


def _nan_to_num_array(input: Any, nan: Any, posinf: Any, neginf: Any) -> Any:
    if input.dtype.kind in "biu":
        return input.copy()
    limit = _LIMITS.get(input.dtype)
    if limit is not None and input.flags.c_contiguous:
        if not executable.compiles() and np.isfinite(input).all():
            return input.copy()
        values = ((nan, 0.0), (posinf, limit), (neginf, -limit))
        numbers = tuple([default if value is None else float(value) for value, default in values])
        return _replaced(input, *numbers)
    out = np.array(input)
    components = [out.real, out.imag] if out.dtype.kind == "c" else [out]
    limits = np.finfo(out.dtype) if out.dtype.kind != "V" else _bfloat16_limits()
    for component in components:
        missing, high, low = np.isnan(component), component == np.inf, component == -np.inf
        for mask, value, default in ((missing, nan, 0.0), (high, posinf, limits.max), (low, neginf, limits.min)):
            np.copyto(component, np.asarray(default if value is None else value).astype(component.dtype), where=mask)
    return out


def _bfloat16_limits() -> Any:
    import ml_dtypes

    return ml_dtypes.finfo(ml_dtypes.bfloat16)


@pointwise(
    without_numpy_warnings(_nan_to_num_array),
    input=lambda grad, input, xp: grad * xp.cast(xp.isfinite(input), xp.np_dtype(grad)),
)
def nan_to_num(
    input: Tensor, nan: float | None = None, posinf: float | None = None, neginf: float | None = None
) -> Tensor:
    """NaN replaced by 0 and infinities by the largest and smallest values of the dtype, or by given values.

    >>> torch.nan_to_num(torch.tensor([float("nan"), float("inf")]), posinf=9.0)
    tensor([0., 9.])
    """


@method
def positive(input: Tensor) -> Tensor:
    """The tensor itself: `+x`.

    >>> torch.positive(torch.tensor([-1.0]))
    tensor([-1.])
    """
    if input.dtype is dtypes.bool_:
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input


install_method("__pos__", positive)
