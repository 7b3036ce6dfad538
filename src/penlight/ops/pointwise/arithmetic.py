"""Sums, products and quotients: a table of derivatives, one row per op."""

from __future__ import annotations

import operator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import dtypes
from ...autograd.modes import NAMESPACE
from ...creation import scalar_tensor
from ...kernels.elementwise import apply, attempt, one_pass
from ...kernels.lazy import lazy_import
from ...tensor import Tensor
from ..machinery import dispatch
from ..machinery.array_namespace import both
from ..machinery.declare import OPS, OpCall, install_method, method, op_forms, pointwise, rounded_once, warning_free
from ..machinery.generate import stub
from ..machinery.guards import cannot_cast, no_derivative, no_tensor, number_of
from ..machinery.op import traits
from ..machinery.rules import zero_gradient

if TYPE_CHECKING:
    from ..machinery.op import Number

__all__ = [
    "add", "div", "divide", "floor_divide", "fmod", "mul", "multiply", "neg", "negative", "remainder", "rsub", "sub",
    "subtract", "true_divide"
]  # fmt: skip

_faster_ufuncs = lazy_import(globals(), "_faster_ufuncs", "...kernels.faster_ufuncs")
_IN_ONE_PASS = 1 << 12  # elements
_PLAIN = frozenset((int, float))

# ----- Sums and products --------------------------------------------------------------------------------------------


@pointwise(np.add, "+", node="AddBackward0",
           input=lambda grad: grad,
           other=lambda grad: grad)  # fmt: skip
@traits(scalar_first=True, shows={"alpha": 1})
def _add(input: Tensor, other: Tensor | Number) -> Tensor: ...


def _times(other: Any, alpha: Any) -> Any:
    """`alpha * other` in the dtype of `other`."""
    if not isinstance(other, np.ndarray):
        return other * alpha
    return np.multiply(other, dispatch.cast_number(alpha, dtypes.from_np(other.dtype)))


def _with_multiple(ufunc: Any) -> tuple[Any, Any]:
    """`ufunc(input, alpha * other)`, for large arrays in one pass, and the same into `input`; alpha is a scalar argument of the kernel,
    so it may change from call to call."""

    @rounded_once
    def in_one_pass(input: Any, other: Any, alpha: Any) -> Any:
        return ufunc(input, np.multiply(other, alpha))

    def into(input: Any, other: Any, alpha: Any) -> None:
        if input.size >= _IN_ONE_PASS and isinstance(other, np.ndarray):
            factor = dispatch.cast_number(alpha, dtypes.from_np(other.dtype))
            if attempt(in_one_pass, (input, other, factor), input) is not None:
                return
        dispatch.store(input, np.asarray(run(input, other, alpha)))

    def run(input: Any, other: Any, alpha: Any) -> Any:
        if isinstance(other, np.ndarray) and (input.size >= _IN_ONE_PASS or other.dtype.itemsize == 2):
            return apply(in_one_pass, input, other, dispatch.cast_number(alpha, dtypes.from_np(other.dtype)))
        return ufunc(input, _times(other, alpha))

    return run, warning_free(into)


_add_multiple, _add_multiple_into = _with_multiple(np.add)
_subtract_multiple, _subtract_multiple_into = _with_multiple(np.subtract)


@pointwise(_add_multiple,
           node="AddBackward0",
           input=lambda grad: grad,
           other=lambda grad, alpha, xp: xp._mul_number(grad, alpha))  # fmt: skip
@traits(scalar_first=True, shows={"alpha": 1})
def _add_scaled(input: Tensor, other: Tensor | Number, alpha: Number) -> Tensor: ...


OPS["_add_scaled"].into = _add_multiple_into


_TWO_BOOLS = "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` operator instead."


def no_bools(env: dict[str, Any]) -> None:
    """PyTorch refuses to subtract bools, even from scalars."""
    bools = [isinstance(v, bool) or getattr(v, "dtype", None) is dtypes.bool_ for v in (env["input"], env["other"])]
    if bools[0] and bools[1]:
        raise RuntimeError(_TWO_BOOLS)
    if bools[0] or bools[1]:
        raise RuntimeError(
            "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, use the "
            "`~` or `logical_not()` operator instead."
        )


@pointwise(np.subtract, "-", node="SubBackward0", check=no_bools,
           input=lambda grad: grad,
           other=lambda grad: -grad)  # fmt: skip
@traits(scalar_first=True, shows={"alpha": 1})
def _sub(input: Tensor, other: Tensor | Number) -> Tensor: ...


@pointwise(_subtract_multiple,
           node="SubBackward0", check=no_bools,
           input=lambda grad: grad,
           other=lambda grad, alpha, xp: xp._mul_number(grad, -alpha))  # fmt: skip
@traits(scalar_first=True, shows={"alpha": 1})
def _sub_scaled(input: Tensor, other: Tensor | Number, alpha: Number) -> Tensor: ...


OPS["_sub_scaled"].into = _subtract_multiple_into


def _subtract_from(input: Any, other: Any) -> Any:
    return np.subtract(other, input)


_subtract_from.takes_arrays = True  # type: ignore[attr-defined]


@pointwise(_subtract_from, node="RsubBackward1", inplace=False, check=no_bools,
           input=lambda grad: -grad)  # fmt: skip
@traits(with_tensor="rsub", shows={"alpha": 1})
def _rsub(input: Tensor, other: Tensor | Number) -> Tensor: ...


@pointwise(lambda input, other, alpha: _subtract_multiple(other, input, alpha), node="RsubBackward0", inplace=False, check=no_bools,
           input=lambda grad, alpha, xp: -grad if alpha == 1 else xp._mul_number(grad, -alpha),
           other=lambda grad: grad)  # fmt: skip
def _rsub_tensor(input: Tensor, other: Tensor, alpha: Number) -> Tensor: ...


@pointwise(np.multiply, "*",
           input=lambda grad, other: grad * other,
           other=lambda grad, input: grad * input)  # fmt: skip
@traits(scalar_first=True, full_scalars=True)
def mul(input: Tensor, other: Tensor | Number) -> Tensor:
    """The elementwise product, broadcasting.

    >>> torch.mul(torch.tensor([1.0, 2.0]), 3)
    tensor([3., 6.])
    """


@pointwise(np.add, node="AddBackward1", inplace=False, input=lambda grad: grad)
def _add_number(input: Tensor, other: Tensor | Number) -> Tensor:
    """The sum with a scalar inside PyTorch's own functions and derivatives: a different node than the operator's."""


@pointwise(np.subtract, node="SubBackward1", inplace=False, input=lambda grad: grad)
def _sub_number(input: Tensor, other: Tensor | Number) -> Tensor:
    """The difference from a scalar inside PyTorch's own functions."""


@pointwise(np.multiply, node="MulBackward1", inplace=False, input=lambda grad, other, xp: xp.times(grad, other))
def _mul_number(input: Tensor, other: Tensor | Number) -> Tensor:
    """The product with a scalar inside PyTorch's own functions."""


# For rules that run on NumPy scalars, where the operator is much faster than the ufunc.
both("times", operator.mul, _mul_number)


@pointwise(
    np.true_divide,
    node="DivBackward1",
    inplace=False,
    floating=True,
    input=lambda grad, other, xp: xp.over(grad, other),
)
@traits(full_scalars=True)
def _div_number(input: Tensor, other: Tensor | Number) -> Tensor:
    """The quotient by a scalar inside PyTorch's own functions."""


both("over", operator.truediv, _div_number)


@pointwise(np.true_divide, "/", node="DivBackward0", floating=True,
           input=lambda grad, other: grad / other,
           other=lambda grad, input, other: -grad * ((input / other) / other))  # fmt: skip
@traits(scalar_first=True, full_scalars=True)
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
    """The negative of each element.

    >>> torch.neg(torch.tensor([1.0, -2.0]))
    tensor([-1.,  2.])
    """


def _has_fractions(operand: Any) -> bool:
    return isinstance(operand, Tensor) and operand.dtype.category >= dtypes.FLOATING


def _scaled(op: str, input: Any, other: Any, alpha: Any) -> OpCall:
    """The op with a factor; without a factor the plain op is faster."""
    _check_alpha(input, other, alpha)
    return OPS[op], (input, other, alpha)


def _check_alpha(input: Any, other: Any, alpha: Any) -> None:
    if isinstance(alpha, Tensor):
        raise TypeError("alpha is a number")  # `after_failure` converts it
    fractions = isinstance(other, (float, complex)) or _has_fractions(input) or _has_fractions(other)
    if isinstance(alpha, (float, complex)) and not fractions:
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
    if isinstance(alpha, (bool, complex)):
        operands = [t._array for t in (input, other) if isinstance(t, Tensor)]
        kind = dtypes.result_dtype(operands, [v for v in (input, other) if not isinstance(v, Tensor)])
        if isinstance(alpha, bool) and kind is not dtypes.bool_:
            raise RuntimeError("Boolean alpha only supported for Boolean results.")
        if isinstance(alpha, complex) and kind.category < dtypes.COMPLEX:
            raise RuntimeError("For non-complex input tensors, argument alpha must not be a complex number.")


@op_forms()
def add(input: Tensor, other: Tensor | Number, legacy: Any = None, *, alpha: Number = 1) -> OpCall:
    """`input + alpha * other`, broadcasting. The old order `add(input, alpha, other)` works too.

    >>> torch.tensor([1.0, 2.0]).add(10, alpha=2)
    tensor([21., 22.])
    """
    if legacy is not None:
        return _scaled("_add_scaled", input, legacy, other)
    if type(alpha) in _PLAIN and alpha == 1:
        return OPS["_add"], (input, other)
    return _scaled("_add_scaled", input, other, alpha)


@op_forms()
def sub(input: Tensor, other: Tensor | Number, legacy: Any = None, *, alpha: Number = 1) -> OpCall:
    """`input - alpha * other`, broadcasting. The old order `sub(input, alpha, other)` works too.

    >>> torch.tensor([1.0, 2.0]).sub(1)
    tensor([0., 1.])
    """
    if legacy is not None:
        return _scaled("_sub_scaled", input, legacy, other)
    if type(alpha) in _PLAIN and alpha == 1:
        return OPS["_sub"], (input, other)
    return _scaled("_sub_scaled", input, other, alpha)


@method
def rsub(input: Tensor, other: Tensor | Number, *, alpha: Number = 1) -> Tensor:
    """`other - alpha * input`.

    >>> torch.rsub(torch.tensor([1.0]), 5)
    tensor([4.])
    """
    if type(alpha) not in _PLAIN:
        _check_alpha(input, other, alpha)
    if isinstance(other, Tensor):
        return _rsub_tensor(input, other, alpha)
    if isinstance(other, np.generic):
        other = number_of(other)
    if type(other) not in (int, float):  # the generated function handles these types, and leaves the rest to this one
        return dispatch.dispatch(OPS["_rsub"], (input if alpha == 1 else input * alpha, other))
    return _rsub(input if alpha == 1 else input * alpha, other)


# ----- Quotients ----------------------------------------------------------------------------------------------------


@partial(one_pass, least=1 << 9)
def _floor_quotient(input: Any, other: Any) -> Any:
    other = _divisor(input, other)
    return _faster_ufuncs.run(np.floor_divide, input, other)


def _trunc_quotient(input: Any, other: Any) -> Any:
    other = _divisor(input, other)
    if input.dtype.kind in "iu":
        quotient = np.floor_divide(input, other)
        return quotient + ((np.remainder(input, other) != 0) & ((input < 0) != (np.asarray(other) < 0)))
    return np.trunc(np.true_divide(input, other))


def _divisor(input: Any, other: Any) -> Any:
    """The divisor: an integer in the common integer dtype, where it wraps around as in C; none may be 0."""
    if input.dtype.kind not in "iu":
        return other
    if type(other) is int:
        bits = 8 * input.dtype.itemsize
        other &= (1 << bits) - 1
        if input.dtype.kind == "i" and other >> bits - 1:
            other -= 1 << bits
    if not (other if isinstance(other, (int, float)) else other.all()) and input.size:
        raise RuntimeError("ZeroDivisionError")
    return other


@partial(one_pass, least=1 << 9)
def _remainder(input: Any, other: Any) -> Any:
    other = _divisor(input, other)
    if type(other) is int and input.dtype.kind in "iu":
        # NumPy's remainders are slow, but its quotients by one scalar are not.
        return np.subtract(input, np.multiply(np.floor_divide(input, other), other))
    left = _faster_ufuncs.run(np.remainder, input, other)
    if input.dtype.kind in "fV" and isinstance(left, (np.ndarray, np.generic)):
        left = np.asarray(left)  # for 0, NumPy uses the divisor's sign, PyTorch the dividend's
        zero = left == 0
        if zero.any():
            np.copysign(left, input, out=left, where=zero)
    return left


@partial(one_pass, least=1 << 9)
def _c_remainder(input: Any, other: Any) -> Any:
    other = _divisor(input, other)
    return _faster_ufuncs.run(np.fmod, input, other)


@pointwise(_floor_quotient, node="NotImplemented",
           input=no_derivative("floor_divide"),
           other=no_derivative("floor_divide"))  # fmt: skip
@traits(refuses={"bc": "div_floor_cpu"})
def _floor_divide(input: Tensor, other: Tensor) -> Tensor: ...


@pointwise(_floor_quotient, node="NotImplemented", input=no_derivative("floor_divide"))
@traits(refuses={"bc": "div_floor_cpu"})
def _floor_divide_number(input: Tensor, other: Number) -> Tensor: ...


@pointwise(_floor_quotient, node="DivBackward2", input=zero_gradient, other=zero_gradient)
@traits(scalar_first=True, refuses={"bc": "div_floor_cpu"})
def _div_floor(input: Tensor, other: Tensor | Number) -> Tensor: ...


@pointwise(_trunc_quotient, node="DivBackward2", input=zero_gradient, other=zero_gradient)
@traits(scalar_first=True, refuses={"bc": "div_trunc_cpu"})
def _div_trunc(input: Tensor, other: Tensor | Number) -> Tensor: ...


@pointwise(_remainder, node="RemainderBackward1",
           input=lambda grad: grad,
           other=lambda grad, input, other, xp: -grad * xp._div_floor(input, other))  # fmt: skip
@traits(refuses={"bc": "remainder_cpu"})
def _remainder_of(input: Tensor, other: Tensor) -> Tensor: ...


@pointwise(_remainder, node="RemainderBackward0", input=lambda grad: grad)
@traits(refuses={"bc": "remainder_cpu"})
def _remainder_number(input: Tensor, other: Number) -> Tensor: ...


@pointwise(_c_remainder, node="FmodBackward1",
           input=lambda grad: grad,
           other=lambda grad, input, other, xp: -grad * xp._div_trunc(input, other))  # fmt: skip
@traits(refuses={"bc": "fmod_cpu"})
def _fmod(input: Tensor, other: Tensor) -> Tensor: ...


@pointwise(_c_remainder, node="FmodBackward0", input=lambda grad: grad)
@traits(refuses={"bc": "fmod_cpu"})
def _fmod_number(input: Tensor, other: Number) -> Tensor: ...


def _divided(tensor_op: str, in_place: bool, input: Any, other: Any) -> OpCall:
    """An op that has one input in the graph for a scalar divisor, and two for a tensor."""
    number_op = tensor_op.removesuffix("_of") + "_number"
    if isinstance(other, np.generic):
        other = number_of(other)
    if isinstance(other, (bool, int, float)) and isinstance(input, Tensor):
        kind = input.dtype
        if (type(other) is int and kind is dtypes.bool_) or (type(other) is float and kind.category < dtypes.FLOATING):
            common = dtypes.result_dtype([input._array], [other])
            if in_place:
                raise cannot_cast(common, kind)
            input = input.to(common)
        if input.dtype is dtypes.bfloat16 and tensor_op != "_floor_divide":
            other = float(np.asarray(other, input.dtype.np))  # PyTorch rounds the divisor first
        op = OPS[number_op]
    elif not isinstance(input, Tensor):
        if not isinstance(other, Tensor) or not isinstance(input, (bool, int, float, complex, np.generic)):
            raise no_tensor(OPS[tensor_op].public, input, other)
        return OPS[tensor_op], (scalar_like(input), other)
    else:
        op = OPS[tensor_op]
    return op, (input, other)


def scalar_like(number: Any) -> Tensor:
    """A scalar as a 0-d tensor with the default dtype of its Python type."""
    return scalar_tensor(number, dtype=dtypes.of_number(number))


@op_forms()
def floor_divide(in_place: bool, input: Tensor, other: Tensor | Number) -> OpCall:
    """The quotient rounded down.

    >>> torch.tensor([7, -7]).floor_divide(2)
    tensor([ 3, -4])
    """
    return _divided("_floor_divide", in_place, input, other)


@op_forms()
def remainder(in_place: bool, input: Tensor, other: Tensor | Number) -> OpCall:
    """The remainder of the division rounded down: it has the divisor's sign.

    >>> torch.tensor([-3.0, 3.0]).remainder(2)
    tensor([1., 1.])
    """
    return _divided("_remainder_of", in_place, input, other)


@op_forms()
def fmod(in_place: bool, input: Tensor, other: Tensor | Number) -> OpCall:
    """The remainder of the division rounded toward zero: it has the dividend's sign.

    >>> torch.tensor([-3.0, 3.0]).fmod(2)
    tensor([-1.,  1.])
    """
    return _divided("_fmod", in_place, input, other)


def _binary(tensor_op: str) -> Any:
    """A division as an operator: returns NotImplemented for operands that are neither tensors nor scalars."""

    def operate(input: Any, other: Any) -> Any:
        if isinstance(other, (Tensor, bool, int, float, complex, np.generic)):
            op, arguments = _divided(tensor_op, False, input, other)
            return op.function(*arguments)
        return NotImplemented

    return operate


_ROUNDED = {None: OPS["_div"], "floor": OPS["_div_floor"], "trunc": OPS["_div_trunc"]}


@op_forms()
def div(input: Tensor, other: Tensor | Number, *, rounding_mode: str | None = None) -> OpCall:
    """The quotient; `rounding_mode` "floor" or "trunc" rounds it.

    >>> torch.tensor([7.0, 9.0]).div(2, rounding_mode="floor")
    tensor([3., 4.])
    """
    op = _ROUNDED.get(rounding_mode)
    if op is None:
        raise RuntimeError(
            f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'"
        )
    return op, (input, other)


def _rdiv_operator(input: Any, other: Any) -> Any:
    numbers = (bool, int, float, complex, np.generic, np.ndarray, Tensor)
    return input.reciprocal() * other if isinstance(other, numbers) else NotImplemented


def _reflected(function: Any) -> Any:
    """`5 // x` and similar: the scalar becomes a 0-d tensor."""

    def operator(input: Any, other: Any) -> Any:
        if isinstance(other, Tensor):
            return function(other, input)
        if isinstance(other, np.generic):
            other = number_of(other)
        return function(scalar_like(other), input) if isinstance(other, (bool, int, float, complex)) else NotImplemented

    return operator


def _rsub_operator(input: Any, other: Any) -> Any:
    known = isinstance(other, (Tensor, bool, int, float, complex, np.generic))
    return rsub(input, other) if known else NotImplemented


NAMESPACE["rsub"] = _rsub_operator
for _name, _function in {
    "__rsub__": stub(OPS["_rsub"], "__rsub__"), "__rtruediv__": _rdiv_operator,
    "__rfloordiv__": _reflected(floor_divide), "__rmod__": _reflected(remainder),
    "__floordiv__": _binary("_floor_divide"), "__mod__": _binary("_remainder_of"),
    "__ifloordiv__": Tensor.floor_divide_, "__imod__": Tensor.remainder_,
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
