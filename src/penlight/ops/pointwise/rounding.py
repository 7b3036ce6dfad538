"""Rounding and signs: pointwise functions whose gradient is zero or a sign."""

from __future__ import annotations

from operator import index
from typing import Any

import numpy as np

from ...kernels.elementwise import one_pass
from ...kernels.elementwise.strategies import HALVES
from ...kernels.numpy_warnings import silent
from ...kernels.rows import narrow, widen
from ...tensor import Tensor
from ..machinery.declare import OPS, OpCall, op_forms, pointwise
from ..machinery.guards import not_implemented
from ..machinery.op import traits
from ..machinery.rules import zero_gradient

__all__ = ["abs", "ceil", "floor", "frac", "round", "sgn", "sign", "trunc"]


def _integers_stay(kernel: Any) -> Any:
    """Returns integers unchanged, which NumPy would convert to floats."""

    def run(input: Any) -> Any:
        if input.dtype.kind in "iu":
            return input.copy()
        if type(input) is np.ndarray and input.dtype == np.float16 and input.size >= HALVES:
            return narrow(kernel(widen(input)), input.dtype)  # NumPy rounds them one by one
        return kernel(input)

    return one_pass(run)


@pointwise(_integers_stay(np.floor), input=zero_gradient)
@traits(refuses={"c": NotImplementedError("floor is not supported for complex inputs"), "b": "floor_vml_cpu"})
def floor(input: Tensor) -> Tensor:
    """The largest integer not greater than each element.

    >>> torch.floor(torch.tensor([1.7, -1.2]))
    tensor([ 1., -2.])
    """


@pointwise(_integers_stay(np.ceil), input=zero_gradient)
@traits(refuses={"c": NotImplementedError("ceil is not supported for complex inputs"), "b": "ceil_vml_cpu"})
def ceil(input: Tensor) -> Tensor:
    """The smallest integer not less than each element.

    >>> torch.ceil(torch.tensor([1.2, -1.7]))
    tensor([ 2., -1.])
    """


@pointwise(_integers_stay(np.trunc), input=zero_gradient)
@traits(refuses={"c": NotImplementedError("trunc is not supported for complex inputs"), "b": "trunc_vml_cpu"})
def trunc(input: Tensor) -> Tensor:
    """The integer part of each element.

    >>> torch.trunc(torch.tensor([1.7, -1.7]))
    tensor([ 1., -1.])
    """


@one_pass
def _round_array(input: Any) -> Any:
    return np.rint(input) if input.dtype.kind not in "iu" else input.copy()


def _round_at(input: Any, decimals: int) -> Any:
    """Scale, round and scale back, as PyTorch does."""
    if input.dtype.kind in "biuc":
        raise not_implemented("round_vml_cpu" if decimals == 0 else "round_cpu", input.dtype)
    if decimals == 0:
        return np.rint(input)
    with silent():
        scale = 10.0 ** max(decimals, -decimals)
        return np.rint(input * scale) / scale if decimals > 0 else np.rint(input / scale) * scale


@pointwise(_round_array, node="RoundBackward0", input=zero_gradient)
@traits(refuses={"bc": "round_vml_cpu"})
def _round(input: Tensor) -> Tensor: ...


@pointwise(_round_at, node="RoundBackward1", input=zero_gradient)
def _round_decimals(input: Tensor, decimals: int) -> Tensor: ...


@op_forms()
def round(input: Tensor, *, decimals: int | None = None) -> OpCall:
    """The nearest integer, halves to even; with `decimals`, rounded to that many digits.

    >>> torch.tensor([1.26, 2.5]).round(decimals=1)
    tensor([1.3000, 2.5000])
    """
    return (OPS["_round"], (input,)) if decimals is None else (OPS["_round_decimals"], (input, index(decimals)))


@pointwise(one_pass(lambda input: input - np.trunc(input)), input=lambda grad: grad)
@traits(refuses={"biuc": "frac_cpu"})
def frac(input: Tensor) -> Tensor:
    """The fractional part of each element.

    >>> torch.frac(torch.tensor([1.5, -2.25]))
    tensor([ 0.5000, -0.2500])
    """


@one_pass
def _sign_array(input: Any) -> Any:
    """np.sign, but 0 for NaN."""
    if not isinstance(input, (np.ndarray, np.generic)):  # see Note [Bodies as machine code]
        return (input > 0) * 1.0 - (input < 0) * 1.0
    if input.dtype.kind in "fV":
        above, below = np.asarray(input > 0), np.asarray(input < 0)  # type: ignore[operator]
        return np.asarray(above.view(np.int8) - below.view(np.int8)).astype(input.dtype)
    return np.sign(input) if input.dtype.kind != "b" else input.copy()


@pointwise(_sign_array, input=zero_gradient)
@traits(
    refuses={
        "c": NotImplementedError(
            "Unlike NumPy, torch.sign is not intended to support complex numbers. Please use torch.sgn instead."
        )
    }
)
def sign(input: Tensor) -> Tensor:
    """The sign of each element: -1, 0 or 1.

    >>> torch.sign(torch.tensor([-3.0, 0.0, 2.0]))
    tensor([-1.,  0.,  1.])
    """


@pointwise(np.absolute, complex_rule=True, input=lambda grad, input, xp: grad * xp.sgn(input))
@traits(refuses={"b": "abs_cpu"})
def abs(input: Tensor) -> Tensor:
    """The absolute value of each element.

    >>> torch.abs(torch.tensor([-1.0, 2.0]))
    tensor([1., 2.])
    """


@one_pass
def _unit(input: Any) -> Any:
    """The complex number of absolute value 1 in the same direction, and 0 for 0."""
    if input.dtype.kind != "c":
        return _sign_array(input)
    size = np.absolute(input)
    return np.divide(input, size, out=np.zeros_like(input), where=size != 0)


def _sgn_rule(grad: Any, input: Any, xp: Any) -> Any:
    """Real numbers: zero. Complex numbers: only the component of grad perpendicular to the direction counts."""
    if not xp.is_complex(input):
        return xp.zeros_like(grad)
    size = xp.abs(input)
    unit = xp.sgn(input)
    across = (grad - xp.conj(grad) * unit * unit) / (2 * size)
    return xp.where(size == 0, 0.0, across)


@pointwise(_unit, complex_rule=True, input=_sgn_rule)
def sgn(input: Tensor) -> Tensor:
    """The sign of each element; for complex numbers the direction.

    >>> torch.sgn(torch.tensor([3 + 4j]))
    tensor([0.6000+0.8000j])
    """
