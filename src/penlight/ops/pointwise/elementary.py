"""Elementwise functions of one argument: a table of derivatives, one row per op."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import dtypes
from ..._common.user_warnings import warn_once
from ...kernels.elementwise import one_pass
from ...tensor import Tensor, wrap
from ..machinery import dispatch
from ..machinery.array_namespace import both
from ..machinery.declare import install_method, pointwise
from ..machinery.guards import need_number
from ..machinery.op import traits
from ..machinery.ufunc_calls import arithmetic

__all__ = [
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cos", "cosh", "exp", "exp2", "expm1", "log", "log10",
    "log1p", "log2", "maximum", "minimum", "reciprocal", "rsqrt", "sin", "sinh", "sqrt", "tan", "tanh", "where"
]  # fmt: skip

# ----- Exponentials and logarithms ----------------------------------------------------------------------------------


@pointwise(np.exp, floating=True, input=lambda grad, result: grad * result)
def exp(input: Tensor) -> Tensor:
    """e raised to each element.

    >>> torch.exp(torch.tensor([0.0, 1.0]))
    tensor([1.0000, 2.7183])
    """


@pointwise(np.exp2, floating=True, input=lambda grad, result, xp: xp._mul_number(grad * result, math.log(2)))
def exp2(input: Tensor) -> Tensor:
    """2 raised to each element.

    >>> torch.exp2(torch.tensor([3.0]))
    tensor([8.])
    """


@pointwise(np.expm1, floating=True, input=lambda grad, result, xp: grad * xp._add_number(result, 1))
def expm1(input: Tensor) -> Tensor:
    """exp(x) - 1, accurate near 0.

    >>> torch.expm1(torch.tensor([0.0]))
    tensor([0.])
    """


@pointwise(np.log, floating=True, input=lambda grad, input: grad / input)
def log(input: Tensor) -> Tensor:
    """The natural logarithm of each element.

    >>> torch.log(torch.tensor([1.0, 10.0]))
    tensor([0.0000, 2.3026])
    """


@pointwise(np.log2, floating=True, input=lambda grad, input, xp: grad / xp._mul_number(input, math.log(2)))
def log2(input: Tensor) -> Tensor:
    """The logarithm to base 2.

    >>> torch.log2(torch.tensor([8.0]))
    tensor([3.])
    """


@pointwise(np.log10, floating=True, input=lambda grad, input, xp: grad / xp._mul_number(input, math.log(10)))
def log10(input: Tensor) -> Tensor:
    """The logarithm to base 10.

    >>> torch.log10(torch.tensor([20.0]))
    tensor([1.3010])
    """


@pointwise(np.log1p, floating=True, input=lambda grad, input, xp: grad / xp._add_number(input, 1))
def log1p(input: Tensor) -> Tensor:
    """log(1 + x), accurate near 0.

    >>> torch.log1p(torch.tensor([0.0]))
    tensor([0.])
    """


# ----- Roots and reciprocals ----------------------------------------------------------------------------------------


@pointwise(np.sqrt, floating=True, input=lambda grad, result, xp: grad / xp._mul_number(result, 2))
def sqrt(input: Tensor) -> Tensor:
    """The square root of each element.

    >>> torch.sqrt(torch.tensor([4.0, 9.0]))
    tensor([2., 3.])
    """


@pointwise(
    one_pass(lambda input: np.reciprocal(np.sqrt(input))),
    floating=True,
    input=lambda grad, result, xp: xp.times(grad, -0.5) * xp.cubed(result),
)
def rsqrt(input: Tensor) -> Tensor:
    """One over the square root of each element.

    >>> torch.rsqrt(torch.tensor([4.0]))
    tensor([0.5000])
    """


@pointwise(np.reciprocal, floating=True, input=lambda grad, result: -grad * (result * result))
def reciprocal(input: Tensor) -> Tensor:
    """One over each element.

    >>> torch.reciprocal(torch.tensor([4.0]))
    tensor([0.2500])
    """


# ----- Trigonometric and hyperbolic ---------------------------------------------------------------------------------


@pointwise(np.sin, floating=True, input=lambda grad, input, xp: grad * xp.cos(input))
def sin(input: Tensor) -> Tensor:
    """The sine of each element.

    >>> torch.sin(torch.tensor([0.0]))
    tensor([0.])
    """


@pointwise(np.cos, floating=True, input=lambda grad, input, xp: grad * -xp.sin(input))
def cos(input: Tensor) -> Tensor:
    """The cosine of each element.

    >>> torch.cos(torch.tensor([0.0]))
    tensor([1.])
    """


@pointwise(np.tan, floating=True, input=lambda grad, result, xp: grad * xp._add_number(xp.squared(result), 1))
def tan(input: Tensor) -> Tensor:
    """The tangent of each element.

    >>> torch.tan(torch.tensor([0.0]))
    tensor([0.])
    """


@pointwise(np.arcsin, floating=True, input=lambda grad, input, xp: grad * xp.rsqrt(xp._add_number(-input * input, 1)))
def asin(input: Tensor) -> Tensor:
    """The arc sine of each element.

    >>> torch.asin(torch.tensor([1.0]))
    tensor([1.5708])
    """


@pointwise(np.arccos, floating=True, input=lambda grad, input, xp: grad * -xp.rsqrt(xp._add_number(-input * input, 1)))
def acos(input: Tensor) -> Tensor:
    """The arc cosine of each element.

    >>> torch.acos(torch.tensor([1.0]))
    tensor([0.])
    """


@pointwise(np.arctan, floating=True, input=lambda grad, input, xp: grad / xp._add_number(input * input, 1))
def atan(input: Tensor) -> Tensor:
    """The arc tangent of each element.

    >>> torch.atan(torch.tensor([1.0]))
    tensor([0.7854])
    """


@pointwise(np.sinh, floating=True, input=lambda grad, input, xp: grad * xp.cosh(input))
def sinh(input: Tensor) -> Tensor:
    """The hyperbolic sine of each element.

    >>> torch.sinh(torch.tensor([0.0]))
    tensor([0.])
    """


@pointwise(np.cosh, floating=True, input=lambda grad, input, xp: grad * xp.sinh(input))
def cosh(input: Tensor) -> Tensor:
    """The hyperbolic cosine of each element.

    >>> torch.cosh(torch.tensor([0.0]))
    tensor([1.])
    """


@pointwise(arithmetic(lambda upstream, output: upstream * (1 - output * output)), inplace=False,
           upstream=lambda grad, output, xp: xp._tanh_backward(grad, output),
           output=lambda grad, upstream, output: -2 * output * upstream * grad)  # fmt: skip
def _tanh_backward(upstream: Tensor, output: Tensor) -> Tensor: ...


@pointwise(np.tanh, floating=True, input=lambda grad, result, xp: xp._tanh_backward(grad, result))
def tanh(input: Tensor) -> Tensor:
    """The hyperbolic tangent of each element.

    >>> torch.tanh(torch.tensor([0.0, 1.0]))
    tensor([0.0000, 0.7616])
    """


@pointwise(
    np.arcsinh, floating=True, input=lambda grad, input, xp: grad * xp.rsqrt(xp._add_number(xp.squared(input), 1))
)
def asinh(input: Tensor) -> Tensor:
    """The inverse hyperbolic sine of each element.

    >>> torch.asinh(torch.tensor([0.0]))
    tensor([0.])
    """


def _acosh_rule(grad: Any, input: Any, xp: Any) -> Any:
    if xp.np_dtype(input).kind == "c":  # where the root of the product is on another branch
        return grad * (xp.rsqrt(input - 1) * xp.rsqrt(input + 1))
    return grad * xp.rsqrt(xp._sub_number(input * input, 1))


@pointwise(np.arccosh, floating=True, input=_acosh_rule)
def acosh(input: Tensor) -> Tensor:
    """The inverse hyperbolic cosine of each element.

    >>> torch.acosh(torch.tensor([1.0]))
    tensor([0.])
    """


@pointwise(np.arctanh, floating=True, input=lambda grad, input, xp: grad / xp._sub(1, xp.squared(input)))
def atanh(input: Tensor) -> Tensor:
    """The inverse hyperbolic tangent of each element.

    >>> torch.atanh(torch.tensor([0.0]))
    tensor([0.])
    """


# ----- Two arguments ------------------------------------------------------------------------------------------------


@pointwise(np.maximum,
           input=lambda grad, input, other, xp: _extreme(grad, input < other, input == other, xp),
           other=lambda grad, input, other, xp: _extreme(grad, input > other, input == other, xp))  # fmt: skip
@traits(refuses={"c": RuntimeError("maximum not implemented for complex tensors.")})
def maximum(input: Tensor, other: Tensor) -> Tensor:
    """The larger of two elements; equal elements share the gradient.

    >>> torch.maximum(torch.tensor([1.0, 4.0]), torch.tensor([3.0, 2.0]))
    tensor([3., 4.])
    """


@pointwise(np.minimum,
           input=lambda grad, input, other, xp: _extreme(grad, input > other, input == other, xp),
           other=lambda grad, input, other, xp: _extreme(grad, input < other, input == other, xp))  # fmt: skip
@traits(refuses={"c": RuntimeError("minimum not implemented for complex tensors.")})
def minimum(input: Tensor, other: Tensor) -> Tensor:
    """The smaller of two elements; equal elements share the gradient.

    >>> torch.minimum(torch.tensor([1.0, 4.0]), torch.tensor([3.0, 2.0]))
    tensor([1., 2.])
    """


def _extreme(grad: Any, loses: Any, ties: Any, xp: Any) -> Any:
    return xp.cleared(xp.where(ties, xp.over(grad, 2), grad), loses)


def _atan2_rule(grad: Any, numerator: Any, square: Any, xp: Any) -> Any:
    return grad * numerator * xp.cleared(xp.reciprocal(square), square == 0)


@pointwise(np.arctan2, floating=True,
           input=lambda grad, input, other, xp: _atan2_rule(grad, other, input * input + other * other, xp),
           other=lambda grad, input, other, xp: _atan2_rule(-grad, input, input * input + other * other, xp))  # fmt: skip
@traits(refuses={"c": "atan2_cpu"})
def atan2(input: Tensor, other: Tensor) -> Tensor:
    """The angle of the point (other, input).

    >>> torch.atan2(torch.tensor([1.0]), torch.tensor([1.0]))
    tensor([0.7854])
    """


@pointwise(one_pass(lambda condition, input, other: np.where(condition, input, other)), inplace=False, exempt=("condition",), node="WhereBackward0",
           input=lambda grad, condition, xp: xp.where(condition, grad, 0.0),
           other=lambda grad, condition, xp: xp.where(condition, 0.0, grad))  # fmt: skip
def _where(condition: Tensor, input: Tensor, other: Tensor) -> Tensor: ...


def where(condition: Tensor, input: Any = None, other: Any = None, *, out: Tensor | None = None) -> Any:
    """`input` where the condition is True, `other` elsewhere; with only a condition, the indices where it is True.

    >>> x = torch.tensor([-1.0, 2.0])
    >>> torch.where(x > 0, x, 0.0)
    tensor([0., 2.])
    """
    if input is None and other is None:
        return condition.nonzero(as_tuple=True)
    if condition._array.dtype.kind != "b":
        if condition._array.dtype != np.uint8:
            name = dtypes.LEGACY[condition.dtype]
            raise RuntimeError(f"where expected condition to be a boolean tensor, but got a tensor with dtype {name}")
        warn_once(
            "where received a uint8 condition tensor. This behavior is deprecated and will be removed in a future version of PyTorch. "
            "Use a boolean condition instead."
        )
        condition = condition.bool()
    if not isinstance(input, Tensor) or not isinstance(other, Tensor):
        input, other = _as_operands(input, other)
    return _where(condition, input, other, out=out)


def _as_operands(*values: Any) -> list[Tensor]:
    """Scalar operands as 0-d tensors that do not widen the others. See Note [Dimension categories]."""
    operands = [need_number(value) for value in values]
    arrays = [v._array for v in operands if isinstance(v, Tensor)]
    common = dtypes.result_dtype(arrays, [v for v in operands if not isinstance(v, Tensor)])
    return [v if isinstance(v, Tensor) else wrap(dispatch.cast_number(v, common)) for v in operands]


both("where", np.where, where)
both("cleared", lambda grad, mask: np.where(mask, 0.0, grad), lambda grad, mask: grad.masked_fill(mask, 0))


def _where_method(self: Tensor, condition: Tensor, other: Any) -> Tensor:
    """This tensor's elements where the condition is True, the other's elsewhere.

    >>> torch.tensor([1, 2]).where(torch.tensor([True, False]), torch.tensor([8, 9]))
    tensor([1, 9])
    """
    return where(condition, self, other)


_where_method.__name__ = _where_method.__qualname__ = "where"
install_method("where", _where_method)
