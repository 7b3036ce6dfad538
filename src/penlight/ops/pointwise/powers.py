"""Powers of tensors and scalars with tensor or scalar exponents."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import dtypes
from ...kernels.elementwise import one_pass
from ...tensor import Tensor
from ..machinery.array_namespace import both
from ..machinery.declare import OPS, OpCall, op_forms, pointwise
from ..machinery.guards import cannot_cast, no_tensor, not_implemented, number_of
from ..machinery.op import traits
from .arithmetic import _mul_number

if TYPE_CHECKING:
    from ..machinery.op import Number

__all__ = ["pow", "square"]


@one_pass
def _power(input: Any, exponent: Any) -> Any:
    if input.dtype.kind in "fc":
        if exponent == 2:
            return np.square(input)
        if exponent == 3 and input.dtype.kind == "f":
            return np.square(input) * input
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
    if input.dtype.kind == "b" and type(exponent) is int:
        input = input.astype(np.int64)
    return np.power(input, exponent)


def _slope_array(input: Any, exponent: Any) -> Any:
    """The derivative of a power."""
    if not input.ndim:
        input = input[()]  # a scalar: see `_on_scalars` in generate.py
    elif exponent == 2 and input.dtype is dtypes.float32.np:
        return np.multiply(input, _TWO)
    return exponent * _power(input, exponent - 1)


_TWO = np.asarray(2.0, np.float32)


def _slope(input: Any, exponent: Any) -> Any:
    return _mul_number(_pow(input, exponent - 1), exponent)


both("power_slope", _slope_array, _slope)


@pointwise(_power, node="PowBackward0",
           input=lambda grad, input, exponent, xp: grad * xp.power_slope(input, exponent) if exponent != 0
           else xp.zeros_like(grad))  # fmt: skip
def _pow(input: Tensor, exponent: Number) -> Tensor: ...


both("squared", np.square, lambda input: _pow(input, 2))
both("cubed", lambda input: input * input * input, lambda input: _pow(input, 3))


@one_pass
def _power_of(input: Any, exponent: Any) -> Any:
    """x**y; integers to negative powers give 0, except for 1 and -1."""
    if input.dtype.kind == "b":
        np.broadcast(input, exponent)  # report shape errors first
        raise not_implemented("pow", input.dtype)
    if input.dtype.kind in "iu" and np.any(exponent < 0):
        negative = np.where(input == 1, 1, np.where(input == -1, 1 - 2 * (exponent & 1), 0)).astype(input.dtype)
        return np.where(exponent < 0, negative, np.power(input, np.maximum(exponent, 0)))
    return np.power(input, exponent)


def _log(base: Any, result: Any, xp: Any) -> Any:
    """The logarithm of a base. That of a negative number is complex, if the power is."""
    dtype = xp.np_dtype(result)
    return xp.log(xp.cast(base, dtype) if dtype.kind == "c" else base)


@pointwise(_power_of, node="PowBackward1", inplace=True,
           input=lambda grad, input, exponent, result, xp:  # PyTorch saves the result for this too
               xp.where(exponent == 0, 0.0, grad * (exponent * xp._pow_tensor(input, xp._sub_number(exponent, 1)))),
           exponent=lambda grad, input, exponent, result, xp:
               grad * xp.where((input == 0) & (xp.real_part(exponent) >= 0), 0.0, result * _log(input, result, xp)))  # fmt: skip
def _pow_tensor(input: Tensor, exponent: Tensor) -> Tensor: ...


def _base_rule(grad: Any, base: Any, exponent: Any, result: Any, xp: Any) -> Any:
    """d/dx base**x = base**x * log(base), and 0 for base 0 if the exponent is not negative."""
    if base == 0:
        return grad * xp.where(xp.real_part(exponent) >= 0, 0.0, result * -math.inf)
    if isinstance(base, complex) or base < 0:
        return grad * (result * (np.log(complex(base)) if xp.np_dtype(result).kind == "c" else math.nan))
    return grad * xp._mul_number(result, math.log(base))


@one_pass
def _power_to(exponent: Any, base: Any) -> Any:
    input = np.asarray(base).astype(exponent.dtype)
    return _power_of(input, exponent) if exponent.dtype.kind in "iu" else np.power(input, exponent)


@pointwise(_power_to, node="PowBackward2", inplace=False,
           exponent=_base_rule)  # fmt: skip
@traits(contiguous=True)
def _pow_base(exponent: Tensor, base: Number) -> Tensor: ...


def _power_operands(input: Any, exponent: Any) -> OpCall | None:
    """The op and arguments that compute a power of these operands; None for an exponent that is neither tensor nor scalar."""
    if isinstance(exponent, Tensor):
        if isinstance(input, Tensor):
            return OPS["_pow_tensor"], (input, exponent)
        if not isinstance(input, (bool, int, float, complex, np.generic)):
            raise no_tensor("pow", input, exponent, parameters=("input", "exponent"))
        if isinstance(input, np.generic):
            input = number_of(input)
        common = dtypes.result_dtype([exponent._array], [input])
        return OPS["_pow_base"], (exponent if exponent.dtype is common else exponent.to(common), input)
    if not isinstance(input, Tensor):
        raise no_tensor("pow", input, exponent, parameters=("input", "exponent"))
    if isinstance(exponent, np.generic):
        exponent = number_of(exponent)
    if not isinstance(exponent, (bool, int, float, complex)):
        return None
    common = dtypes.result_dtype([input._array], [exponent]) if not isinstance(exponent, int) else input.dtype
    return OPS["_pow"], (input if input.dtype is common else input.to(common), exponent)


def _in_place(input: Tensor, exponent: Any) -> OpCall:
    if isinstance(exponent, Tensor):
        return OPS["_pow_tensor"], (input, exponent)
    if not isinstance(exponent, int):
        common = dtypes.result_dtype([input._array], [exponent])
        if not dtypes.can_cast(common, input.dtype):
            raise cannot_cast(common, input.dtype)
    return OPS["_pow"], (input, exponent)


@op_forms()
def pow(in_place: bool, input: Tensor | Number, exponent: Tensor | Number) -> OpCall:
    """Each element raised to a power; either operand may be a scalar.

    >>> torch.tensor([1.0, 2.0, 3.0]).pow(2)
    tensor([1., 4., 9.])
    """
    found = _in_place(input, exponent) if in_place else _power_operands(input, exponent)  # type: ignore[arg-type]
    if found is None:
        raise TypeError(f"pow(): argument 'exponent' (position 2) must be Tensor, not {type(exponent).__name__}")
    return found


@op_forms()
def square(input: Tensor) -> OpCall:
    """Each element times itself.

    >>> torch.tensor([3.0]).square()
    tensor([9.])
    """
    return OPS["_pow"], (input, 2)


def _pow_operator(input: Any, exponent: Any) -> Any:
    if type(exponent) is int or (type(exponent) is float and input.dtype.category >= dtypes.FLOATING):
        return _pow(input, exponent)
    found = _power_operands(input, exponent)
    return NotImplemented if found is None else found[0].function(*found[1])


def _rpow_operator(input: Any, base: Any) -> Any:
    known = isinstance(base, (bool, int, float, complex, np.generic, Tensor))
    return pow(base, input) if known else NotImplemented


for _name, _function in {"__pow__": _pow_operator, "__rpow__": _rpow_operator, "__ipow__": Tensor.pow_}.items():
    setattr(Tensor, _name, _function)
