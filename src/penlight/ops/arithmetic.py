"""Sums, products, quotients and powers: a table of derivatives, one row an op."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import dtypes
from ..tensor import Tensor
from . import _dispatch
from ._compile import stub
from ._declare import OPS, inplace_function, install_method, method, pointwise
from ._raw import both

if TYPE_CHECKING:
    from ._types import Number

__all__ = [
    "add",
    "div",
    "divide",
    "floor_divide",
    "fmod",
    "mul",
    "multiply",
    "neg",
    "negative",
    "pow",
    "remainder",
    "rsub",
    "square",
    "square_",
    "sub",
    "subtract",
    "true_divide",
]

# ----- Sums and products --------------------------------------------------------------------------------------------


@pointwise(np.add, "+", node="AddBackward0",
           input=lambda grad: grad,
           other=lambda grad: grad)  # fmt: skip
def _add(input: Tensor, other: Tensor | Number) -> Tensor: ...


def _times(other: Any, alpha: Any) -> Any:
    """`alpha * other` in the dtype of `other`."""
    if not isinstance(other, np.ndarray):
        return other * alpha
    return np.multiply(other, _dispatch.cast_number(alpha, dtypes.from_np(other.dtype)))


@pointwise(lambda input, other, alpha: np.add(input, _times(other, alpha)),
           node="AddBackward0",
           input=lambda grad: grad,
           other=lambda grad, alpha: grad * alpha)  # fmt: skip
def _add_scaled(input: Tensor, other: Tensor | Number, alpha: Number) -> Tensor: ...


_TWO_BOOLS = "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` operator instead."


def _no_bools(env: dict[str, Any]) -> None:
    """PyTorch does not subtract bools, not even from numbers."""
    bools = [isinstance(v, bool) or getattr(v, "dtype", None) is dtypes.bool_ for v in (env["input"], env["other"])]
    if bools[0] and bools[1]:
        raise RuntimeError(_TWO_BOOLS)
    if bools[0] or bools[1]:
        raise RuntimeError(
            "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, use the "
            "`~` or `logical_not()` operator instead."
        )


@pointwise(np.subtract, "-", node="SubBackward0", check=_no_bools,
           input=lambda grad: grad,
           other=lambda grad: -grad)  # fmt: skip
def _sub(input: Tensor, other: Tensor | Number) -> Tensor: ...


@pointwise(lambda input, other, alpha: np.subtract(input, _times(other, alpha)),
           node="SubBackward0", check=_no_bools,
           input=lambda grad: grad,
           other=lambda grad, alpha: grad * -alpha)  # fmt: skip
def _sub_scaled(input: Tensor, other: Tensor | Number, alpha: Number) -> Tensor: ...


def _subtract_from(input: Any, other: Any) -> Any:
    return np.subtract(other, input)


_subtract_from.takes_arrays = True  # type: ignore[attr-defined]


@pointwise(_subtract_from, node="RsubBackward1", inplace=False, check=_no_bools,
           input=lambda grad: -grad)  # fmt: skip
def _rsub(input: Tensor, other: Tensor | Number) -> Tensor: ...


@pointwise(np.multiply, "*",
           input=lambda grad, other: grad * other,
           other=lambda grad, input: grad * input)  # fmt: skip
def mul(input: Tensor, other: Tensor | Number) -> Tensor:
    """The product, element by element, broadcasting.

    >>> import penlight as torch
    >>> torch.mul(torch.tensor([1.0, 2.0]), 3)
    tensor([3., 6.])
    """


@pointwise(np.true_divide, "/", node="DivBackward0", floating=True,
           input=lambda grad, other: grad / other,
           other=lambda grad, input, other: -grad * ((input / other) / other))  # fmt: skip
def _div(input: Tensor, other: Tensor | Number) -> Tensor: ...


def _no_bool(env: dict[str, Any]) -> None:
    if env["input"].dtype is dtypes.bool_:
        raise RuntimeError(
            "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use the "
            "`~` or `logical_not()` operator instead."
        )


@pointwise(np.negative, "neg", check=_no_bool,
           input=lambda grad: -grad)  # fmt: skip
def neg(input: Tensor) -> Tensor:
    """Each element with the other sign.

    >>> import penlight as torch
    >>> torch.neg(torch.tensor([1.0, -2.0]))
    tensor([-1.,  2.])
    """


def _scaled(op: str, input: Any, other: Any, alpha: Any, in_place: bool = False, out: Any = None) -> Any:
    """`input + alpha * other` and the like: without a factor the plain op, which is faster."""
    if alpha == 1:
        arguments: tuple[Any, ...] = (input, other)
    else:
        op, arguments = op + "_scaled", (input, other, alpha)
        _check_alpha(input, other, alpha)
    if in_place:
        return IN_PLACE[op](*arguments) if op in IN_PLACE else _dispatch.inplace(OPS[op], arguments)
    return OPS[op].function(*arguments, out=out)


# The generated in-place forms: `x.add_(y)` without a factor.
IN_PLACE = {name: inplace_function(OPS[name]) for name in ("_add", "_sub", "_div")}


def _check_alpha(input: Any, other: Any, alpha: Any) -> None:
    operands = [t for t in (input, other) if isinstance(t, Tensor)]
    if (
        isinstance(alpha, float)
        and all(t.dtype.category < dtypes.FLOATING for t in operands)
        and not isinstance(other, float)
    ):
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")


@method
def add(
    input: Tensor, other: Tensor | Number, legacy: Any = None, *, alpha: Number = 1, out: Tensor | None = None
) -> Tensor:
    """`input + alpha * other`, broadcasting. The old order `add(input, alpha, other)` works too.

    >>> import penlight as torch
    >>> torch.add(torch.tensor([1.0, 2.0]), 10, alpha=2)
    tensor([21., 22.])
    """
    if legacy is not None:
        other, alpha = legacy, other
    return _scaled("_add", input, other, alpha, out=out)


@method
def add_(input: Tensor, other: Tensor | Number, legacy: Any = None, *, alpha: Number = 1) -> Tensor:
    """In-place version of `add`.

    >>> import penlight as torch
    >>> torch.tensor([1.0, 2.0]).add_(torch.tensor([1.0, 1.0]), alpha=10)
    tensor([11., 12.])
    """
    if legacy is not None:
        other, alpha = legacy, other
    return _scaled("_add", input, other, alpha, in_place=True)


@method
def sub(
    input: Tensor, other: Tensor | Number, legacy: Any = None, *, alpha: Number = 1, out: Tensor | None = None
) -> Tensor:
    """`input - alpha * other`, broadcasting. The old order `sub(input, alpha, other)` works too.

    >>> import penlight as torch
    >>> torch.sub(torch.tensor([1.0, 2.0]), 1)
    tensor([0., 1.])
    """
    if legacy is not None:
        other, alpha = legacy, other
    return _scaled("_sub", input, other, alpha, out=out)


@method
def sub_(input: Tensor, other: Tensor | Number, legacy: Any = None, *, alpha: Number = 1) -> Tensor:
    """In-place version of `sub`.

    >>> import penlight as torch
    >>> torch.tensor([1.0, 2.0]).sub_(1)
    tensor([0., 1.])
    """
    if legacy is not None:
        other, alpha = legacy, other
    return _scaled("_sub", input, other, alpha, in_place=True)


@method
def rsub(input: Tensor, other: Tensor | Number, *, alpha: Number = 1) -> Tensor:
    """`other - alpha * input`.

    >>> import penlight as torch
    >>> torch.rsub(torch.tensor([1.0]), 5)
    tensor([4.])
    """
    if isinstance(other, Tensor):
        return sub(other, input, alpha=alpha)
    return _rsub(input if alpha == 1 else input * alpha, other)


# ----- Quotients ----------------------------------------------------------------------------------------------------


def _floor_quotient(input: Any, other: Any) -> Any:
    _refuse_zero(input, other)
    return np.floor_divide(input, other)


def _trunc_quotient(input: Any, other: Any) -> Any:
    _refuse_zero(input, other)
    if input.dtype.kind in "iu":
        quotient = np.floor_divide(input, other)
        return quotient + ((np.remainder(input, other) != 0) & ((input < 0) != (np.asarray(other) < 0)))
    return np.trunc(np.true_divide(input, other))


def _refuse_zero(input: Any, other: Any) -> None:
    if input.dtype.kind in "iub" and not np.all(other):
        raise RuntimeError("ZeroDivisionError")


def _remainder(input: Any, other: Any) -> Any:
    _refuse_zero(input, other)
    return np.remainder(input, other)


def _c_remainder(input: Any, other: Any) -> Any:
    _refuse_zero(input, other)
    return np.fmod(input, other)


def _no_derivative(name: str) -> Any:
    def rule(grad: Any) -> Any:
        raise RuntimeError(f"derivative for aten::{name} is not implemented")

    return rule


@pointwise(_floor_quotient, node="NotImplemented",
           input=_no_derivative("floor_divide"),
           other=_no_derivative("floor_divide"))  # fmt: skip
def _floor_divide(input: Tensor, other: Tensor) -> Tensor: ...


@pointwise(_floor_quotient, node="NotImplemented", input=_no_derivative("floor_divide"))
def _floor_divide_number(input: Tensor, other: Number) -> Tensor: ...


@pointwise(
    _floor_quotient,
    node="DivBackward2",
    input=lambda grad, xp: xp.zeros_like(grad),
    other=lambda grad, xp: xp.zeros_like(grad),
)
def _div_floor(input: Tensor, other: Tensor | Number) -> Tensor: ...


@pointwise(
    _trunc_quotient,
    node="DivBackward2",
    input=lambda grad, xp: xp.zeros_like(grad),
    other=lambda grad, xp: xp.zeros_like(grad),
)
def _div_trunc(input: Tensor, other: Tensor | Number) -> Tensor: ...


@pointwise(_remainder, node="RemainderBackward1",
           input=lambda grad: grad,
           other=lambda grad, input, other, xp: -grad * xp._div_floor(input, other))  # fmt: skip
def _remainder_of(input: Tensor, other: Tensor) -> Tensor: ...


@pointwise(_remainder, node="RemainderBackward0", input=lambda grad: grad)
def _remainder_number(input: Tensor, other: Number) -> Tensor: ...


@pointwise(_c_remainder, node="FmodBackward1",
           input=lambda grad: grad,
           other=lambda grad, input, other, xp: -grad * xp._div_trunc(input, other))  # fmt: skip
def _fmod(input: Tensor, other: Tensor) -> Tensor: ...


@pointwise(_c_remainder, node="FmodBackward0", input=lambda grad: grad)
def _fmod_number(input: Tensor, other: Number) -> Tensor: ...


def _divided(tensor_op: str, input: Any, other: Any, in_place: bool = False, out: Any = None) -> Any:
    """An op whose form for a number has one input in the graph, for a tensor two."""
    number_op = tensor_op.removesuffix("_of") + "_number"
    if isinstance(other, np.generic):
        other = other.item()
    if isinstance(other, (bool, int, float)) and isinstance(input, Tensor):
        if isinstance(other, float) and input.dtype.category < dtypes.FLOATING and not in_place:
            input = input.to(dtypes.get_default_dtype())
        op = OPS[number_op]
    elif not isinstance(input, Tensor):
        return OPS[tensor_op].function(scalar_like(input), other, out=out)
    else:
        op = OPS[tensor_op]
    return _dispatch.inplace(op, (input, other)) if in_place else op.function(input, other, out=out)


def scalar_like(number: Any) -> Tensor:
    """A number as a 0-d tensor of the dtype that Python's kind of number has."""
    from ..creation import scalar_tensor

    return scalar_tensor(number, dtype=dtypes.of_number(number))


@method
def floor_divide(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The quotient rounded down.

    >>> import penlight as torch
    >>> torch.floor_divide(torch.tensor([7, -7]), 2)
    tensor([ 3, -4])
    """
    return _divided("_floor_divide", input, other, out=out)


@method
def remainder(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The remainder of the division rounded down: it has the divisor's sign.

    >>> import penlight as torch
    >>> torch.remainder(torch.tensor([-3.0, 3.0]), 2)
    tensor([1., 1.])
    """
    return _divided("_remainder_of", input, other, out=out)


@method
def fmod(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The remainder of the division rounded toward zero: it has the dividend's sign.

    >>> import penlight as torch
    >>> torch.fmod(torch.tensor([-3.0, 3.0]), 2)
    tensor([-1.,  1.])
    """
    return _divided("_fmod", input, other, out=out)


@method
def floor_divide_(input: Tensor, other: Tensor | Number) -> Tensor:
    """In-place version of `floor_divide`.

    >>> import penlight as torch
    >>> torch.tensor([7.0, -7.0]).floor_divide_(2)
    tensor([ 3., -4.])
    """
    return _divided("_floor_divide", input, other, in_place=True)


@method
def remainder_(input: Tensor, other: Tensor | Number) -> Tensor:
    """In-place version of `remainder`.

    >>> import penlight as torch
    >>> torch.tensor([7.0, -7.0]).remainder_(4)
    tensor([3., 1.])
    """
    return _divided("_remainder_of", input, other, in_place=True)


@method
def fmod_(input: Tensor, other: Tensor | Number) -> Tensor:
    """In-place version of `fmod`.

    >>> import penlight as torch
    >>> torch.tensor([7.0, -7.0]).fmod_(4)
    tensor([ 3., -3.])
    """
    return _divided("_fmod", input, other, in_place=True)


def _binary(function: Any) -> Any:
    """A function as an operator: operands that are no tensors or numbers are somebody else's."""

    def operate(input: Any, other: Any) -> Any:
        if isinstance(other, (Tensor, bool, int, float, np.generic)):
            return function(input, other)
        return NotImplemented

    return operate


_ROUNDED = {None: "_div", "floor": "_div_floor", "trunc": "_div_trunc"}


def _rounded(rounding_mode: Any) -> Any:
    if rounding_mode not in _ROUNDED:
        raise RuntimeError(
            "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '" + str(rounding_mode) + "'"
        )
    return OPS[_ROUNDED[rounding_mode]]


@method
def div(
    input: Tensor, other: Tensor | Number, *, rounding_mode: str | None = None, out: Tensor | None = None
) -> Tensor:
    """The quotient; `rounding_mode` "floor" or "trunc" rounds it.

    >>> import penlight as torch
    >>> torch.div(torch.tensor([7.0]), 2, rounding_mode="floor")
    tensor([3.])
    """
    return _rounded(rounding_mode).function(input, other, out=out)


@method
def div_(input: Tensor, other: Tensor | Number, *, rounding_mode: str | None = None) -> Tensor:
    """In-place version of `div`.

    >>> import penlight as torch
    >>> torch.tensor([7.0, 9.0]).div_(2, rounding_mode="floor")
    tensor([3., 4.])
    """
    if rounding_mode is None:
        return IN_PLACE["_div"](input, other)
    return _dispatch.inplace(_rounded(rounding_mode), (input, other))


# ----- Powers -------------------------------------------------------------------------------------------------------


def _power(input: Any, exponent: Any) -> Any:
    if input.dtype.kind in "fc":
        if exponent == 2:
            return np.square(input)
        if exponent == 1:
            return input.copy() if input.ndim else input
        if exponent == 0.5:
            return np.sqrt(input)
        if exponent == -0.5:
            return np.reciprocal(np.sqrt(input))
        if exponent == -1:
            return np.reciprocal(input)
    elif isinstance(exponent, int) and exponent < 0 and input.dtype.kind in "iub":
        raise RuntimeError("Integers to negative integer powers are not allowed.")
    return np.power(input, exponent)


def _slope_array(input: Any, exponent: Any) -> Any:
    """The derivative of a power."""
    if not input.ndim:
        input = input[()]  # a scalar: see `_on_scalars` in _compile.py
    elif exponent == 2 and input.dtype is dtypes.float32.np:
        return np.multiply(input, _TWO)
    return exponent * _power(input, exponent - 1)


_TWO = np.asarray(2.0, np.float32)
both("power_slope", _slope_array, lambda input, exponent: exponent * _pow(input, exponent - 1))


@pointwise(_power, node="PowBackward0",
           input=lambda grad, input, exponent, xp: grad * xp.power_slope(input, exponent) if exponent != 0
           else xp.zeros_like(grad))  # fmt: skip
def _pow(input: Tensor, exponent: Number) -> Tensor: ...


def _power_of(input: Any, exponent: Any) -> Any:
    """x**y; integers to negative powers are 0, but for 1 and -1."""
    if input.dtype.kind == "b":
        raise NotImplementedError("\"pow\" not implemented for 'Bool'")
    if input.dtype.kind in "iu" and np.any(exponent < 0):
        negative = np.where(input == 1, 1, np.where(input == -1, 1 - 2 * (exponent & 1), 0)).astype(input.dtype)
        return np.where(exponent < 0, negative, np.power(input, np.maximum(exponent, 0)))
    return np.power(input, exponent)


@pointwise(_power_of, node="PowBackward1", inplace=True,
           input=lambda grad, input, exponent, xp:
               xp.where(exponent == 0, 0.0, grad * (exponent * xp._pow_tensor(input, exponent - 1))),
           exponent=lambda grad, input, exponent, result, xp:
               grad * xp.where((input == 0) & (xp.real_part(exponent) >= 0), 0.0, result * xp.log(input)))  # fmt: skip
def _pow_tensor(input: Tensor, exponent: Tensor) -> Tensor: ...


def _base_rule(grad: Any, base: Any, exponent: Any, result: Any, xp: Any) -> Any:
    """d/dx base**x = base**x * log(base), and 0 for base 0 where the exponent is not negative."""
    if base == 0:
        return grad * xp.where(xp.real_part(exponent) >= 0, 0.0, result * -math.inf)
    if isinstance(base, complex) or base < 0:
        return grad * (result * (np.log(complex(base)) if isinstance(base, complex) else math.nan))
    return grad * (result * math.log(base))


@pointwise(lambda exponent, base: np.power(np.asarray(base).astype(exponent.dtype), exponent), node="PowBackward2", inplace=False,
           exponent=_base_rule)  # fmt: skip
def _pow_base(exponent: Tensor, base: Number) -> Tensor: ...


def _power_operands(input: Any, exponent: Any) -> Any:
    """The op and arguments that compute a power of these operands."""
    if isinstance(exponent, Tensor):
        if isinstance(input, Tensor):
            return "_pow_tensor", (input, exponent)
        common = dtypes.result_dtype([exponent._array], [input])
        return "_pow_base", (exponent if exponent.dtype is common else exponent.to(common), input)
    if not isinstance(input, Tensor):
        raise TypeError(f"pow(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
    if isinstance(exponent, np.generic):
        exponent = exponent.item()
    if not isinstance(exponent, (bool, int, float, complex)):
        return None, ()
    common = dtypes.result_dtype([input._array], [exponent]) if not isinstance(exponent, int) else input.dtype
    return "_pow", (input if input.dtype is common else input.to(common), exponent)


@method
def pow(input: Tensor | Number, exponent: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """Each element to a power; either side may be a number.

    >>> import penlight as torch
    >>> torch.pow(torch.tensor([1.0, 2.0, 3.0]), 2), torch.pow(2, torch.tensor([3.0]))
    (tensor([1., 4., 9.]), tensor([8.]))
    """
    name, arguments = _power_operands(input, exponent)
    if name is None:
        raise TypeError(f"pow(): argument 'exponent' (position 2) must be Tensor, not {type(exponent).__name__}")
    return OPS[name].function(*arguments, out=out)


@method
def pow_(input: Tensor, exponent: Tensor | Number) -> Tensor:
    """In-place version of `pow`.

    >>> import penlight as torch
    >>> torch.tensor([2.0, 3.0]).pow_(2)
    tensor([4., 9.])
    """
    if not isinstance(exponent, Tensor) and not isinstance(exponent, int):
        dtypes_ok = dtypes.result_dtype([input._array], [exponent])
        if not dtypes.can_cast(dtypes_ok, input.dtype):
            raise RuntimeError(
                f"result type {dtypes.LEGACY[dtypes_ok]} can't be cast to the desired output type {dtypes.LEGACY[input.dtype]}"
            )
    return _dispatch.inplace(OPS["_pow_tensor" if isinstance(exponent, Tensor) else "_pow"], (input, exponent))


@method
def square(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Each element times itself.

    >>> import penlight as torch
    >>> torch.square(torch.tensor([3.0]))
    tensor([9.])
    """
    return pow(input, 2, out=out)


@method
def square_(input: Tensor) -> Tensor:
    """In-place version of `square`.

    >>> import penlight as torch
    >>> torch.tensor([3.0]).square_()
    tensor([9.])
    """
    return pow_(input, 2)


def _pow_operator(input: Any, exponent: Any) -> Any:
    if type(exponent) is int or (type(exponent) is float and input.dtype.category >= dtypes.FLOATING):
        return _pow(input, exponent)
    name, arguments = _power_operands(input, exponent)
    return NotImplemented if name is None else OPS[name].function(*arguments)


def _rpow_operator(input: Any, base: Any) -> Any:
    return pow(base, input) if isinstance(base, (bool, int, float, complex)) else NotImplemented


def _rdiv_operator(input: Any, other: Any) -> Any:
    return input.reciprocal() * other if isinstance(other, (bool, int, float, complex)) else NotImplemented


def _reflected(function: Any) -> Any:
    """`5 // x` and the like: the number becomes a 0-d tensor."""
    return lambda input, other: (
        function(scalar_like(other), input) if isinstance(other, (bool, int, float)) else NotImplemented
    )


for _name, _function in {
    "__rsub__": stub(OPS["_rsub"], "__rsub__"), "__pow__": _pow_operator, "__rpow__": _rpow_operator, "__rtruediv__": _rdiv_operator,
    "__rfloordiv__": _reflected(floor_divide), "__rmod__": _reflected(remainder), "__ipow__": pow_,
    "__floordiv__": _binary(floor_divide), "__mod__": _binary(remainder), "__ifloordiv__": floor_divide_, "__imod__": remainder_,
}.items():  # fmt: skip
    setattr(Tensor, _name, _function)

true_divide, divide, multiply, subtract, negative = div, div, mul, sub, neg
for _name in ("true_divide", "divide", "multiply", "subtract", "negative"):
    install_method(_name, globals()[_name])
for _name, _target in {
    "multiply_": "mul_",
    "subtract_": "sub_",
    "divide_": "div_",
    "true_divide_": "div_",
    "negative_": "neg_",
}.items():
    install_method(_name, getattr(Tensor, _target))
