"""Differences, integrals by the trapezoid rule, and numerical derivatives of samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import dtypes
from ...tensor import Tensor, wrap
from ..machinery import dispatch
from ..machinery.arguments import wrap_dim
from ..machinery.declare import method
from ..machinery.guards import unrecorded
from ..pointwise.arithmetic import _div_number, _mul_number
from ..shape.joining import cat

__all__ = ["cumulative_trapezoid", "diff", "gradient", "trapezoid", "trapz"]

# ----- Differences --------------------------------------------------------------------------------------------------


def _neighbours(input: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    """All elements along a dimension but the last, and all but the first."""
    ahead = (slice(None),) * dim
    first, rest = (*ahead, slice(None, -1)), (*ahead, slice(1, None))
    if unrecorded((input,)):
        return wrap(input._array[first]), wrap(input._array[rest])
    return input[first], input[rest]


def _diff_once(input: Tensor, dim: int) -> Tensor:
    before, after = _neighbours(input, dim)
    return after.logical_xor(before) if input.dtype is dtypes.bool_ else after - before


def _check_end(input: Tensor, end: Tensor, dim: int) -> None:
    if end.dim() != input.dim():
        raise RuntimeError("diff expects prepend or append to be the same dimension as input")
    for d, (n, m) in enumerate(zip(input.shape, end.shape)):
        if d != dim and n != m:
            raise RuntimeError(
                f"diff expects the shape of tensor to prepend or append to match that of input except along the differencing "
                f"dimension; input.size({d}) = {n}, but got tensor.size({d}) = {m}"
            )


@method
def diff(
    input: Tensor, n: int = 1, dim: int = -1, prepend: Tensor | None = None, append: Tensor | None = None, *, out: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Differences of neighbours along a dimension, applied n times.

    >>> torch.diff(torch.tensor([1, 4, 9]))
    tensor([3, 5])
    """
    if input.dim() == 0:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    axis = wrap_dim(dim, input.dim()) if n else 0
    ends = [e for e in (prepend, append) if e is not None and n]
    for end in ends:
        _check_end(input, end, axis)
    if ends:
        input = cat([t for t in (prepend, input, append) if t is not None], axis)
    result = input if n else input.new_zeros(tuple(input.shape)).copy_(input)
    for _ in range(min(n, input.shape[axis])):
        result = _diff_once(result, axis)
    return dispatch.given("diff", result, out)


# ----- The trapezoid rule -------------------------------------------------------------------------------------------


def _doubled_means(y: Tensor, dim: int) -> Tensor:
    """The sum of each sample and the next."""
    before, after = _neighbours(y, dim)
    return before + after


def _steps(name: str, y: Tensor, x: Tensor, dim: int) -> Tensor:
    """The distances between sample points, shaped to broadcast with `y`."""
    if x.dim() == 1:
        if x.shape[0] != y.shape[dim]:
            raise RuntimeError(f"{name}: There must be one `x` value for each sample point")
        return _diff_once(x, 0).view([-1 if d == dim else 1 for d in range(y.dim())])
    x = x.view((1,) * (y.dim() - x.dim()) + tuple(x.shape))
    return _diff_once(x, dim)


def _samples(name: str, y: Tensor, x: Tensor | None, dim: int) -> int:
    if y.dtype is dtypes.bool_ or (x is not None and x.dtype is dtypes.bool_):
        which = "`y`" if x is None else "`x` or `y`"
        raise RuntimeError(f"{name}: received a bool input for {which}, but bool is not supported")
    return wrap_dim(dim, y.dim())


def trapezoid(y: Tensor, x: Tensor | None = None, *, dx: float | None = None, dim: int = -1) -> Tensor:
    """The integral of samples along a dimension by the trapezoid rule; `x` or `dx` gives their distances.

    >>> torch.trapezoid(torch.tensor([1.0, 2.0, 3.0]))
    tensor(4.)
    """
    axis = wrap_dim(dim, y.dim())
    if y.shape[axis] == 0:
        return y.new_zeros([n for d, n in enumerate(y.shape) if d != axis])
    _samples("trapezoid", y, x, dim)
    if x is None:
        ends = _mul_number(y.select(axis, 0) + y.select(axis, -1), 0.5)
        return _mul_number(y.sum(axis) - ends, 1 if dx is None else dx)
    return _div_number((_doubled_means(y, axis) * _steps("trapezoid", y, x, axis)).sum(axis), 2.0)


def trapz(y: Tensor, x: Tensor | None = None, *, dx: float | None = None, dim: int = -1) -> Tensor:
    """Another name of `trapezoid`.

    >>> torch.trapz(torch.tensor([1.0, 2.0, 3.0]))
    tensor(4.)
    """
    return trapezoid(y, x, dx=dx, dim=dim)


def cumulative_trapezoid(y: Tensor, x: Tensor | None = None, *, dx: float | None = None, dim: int = -1) -> Tensor:
    """Running integrals by the trapezoid rule.

    >>> torch.cumulative_trapezoid(torch.tensor([1.0, 2.0, 3.0]))
    tensor([1.5000, 4.0000])
    """
    axis = _samples("cumulative_trapezoid", y, x, dim)
    if x is None:
        return _mul_number(_doubled_means(y, axis), (1 if dx is None else dx) / 2.0).cumsum(axis)
    return _div_number((_doubled_means(y, axis) * _steps("cumulative_trapezoid", y, x, axis)).cumsum(axis), 2.0)


# ----- Numerical derivatives ----------------------------------------------------------------------------------------


def _slope(input: Tensor, dim: int, step: Any, edge_order: int) -> Tensor:
    """Central differences, and one-sided ones at the ends; `step` is a scalar or the distances between the points."""
    n = input.shape[dim]

    def part(start: int, length: int) -> Tensor:
        return input.narrow(dim, start, length)

    if not isinstance(step, Tensor):
        middle = (part(2, n - 2) - part(0, n - 2)) / (2 * step)
        if edge_order == 1:
            first, last = (part(1, 1) - part(0, 1)) / step, (part(n - 1, 1) - part(n - 2, 1)) / step
        else:
            first = (part(0, 1) * -1.5 + part(1, 1) * 2.0 - part(2, 1) * 0.5) / step
            last = (part(n - 3, 1) * 0.5 - part(n - 2, 1) * 2.0 + part(n - 1, 1) * 1.5) / step
        return cat([first, middle, last], dim)
    h = step.view([-1 if d == dim else 1 for d in range(input.dim())])
    left, right = h.narrow(dim, 0, n - 2), h.narrow(dim, 1, n - 2)
    middle = (
        part(0, n - 2) * (-right / (left * (left + right)))
        + part(1, n - 2) * ((right - left) / (left * right))
        + part(2, n - 2) * (left / (right * (left + right)))
    )
    if edge_order == 1:
        first = (part(1, 1) - part(0, 1)) / h.narrow(dim, 0, 1)
        last = (part(n - 1, 1) - part(n - 2, 1)) / h.narrow(dim, n - 2, 1)
        return cat([first, middle, last], dim)
    a, b = h.narrow(dim, 0, 1), h.narrow(dim, 1, 1)
    first = (
        part(0, 1) * (-(2 * a + b) / (a * (a + b)))
        + part(1, 1) * ((a + b) / (a * b))
        + part(2, 1) * (-a / (b * (a + b)))
    )
    a, b = h.narrow(dim, n - 3, 1), h.narrow(dim, n - 2, 1)
    last = (
        part(n - 3, 1) * (b / (a * (a + b)))
        + part(n - 2, 1) * (-(a + b) / (a * b))
        + part(n - 1, 1) * ((2 * b + a) / (b * (a + b)))
    )
    return cat([first, middle, last], dim)


def _spacings(spacing: Any, dims: Sequence[int], chosen: bool) -> list[Any]:
    if spacing is None or isinstance(spacing, (int, float, complex, np.generic)):
        return [1 if spacing is None else spacing] * len(dims)
    if isinstance(spacing, Tensor):
        spacing = [spacing]
    spacing = list(spacing)
    if len(spacing) != len(dims) and chosen:
        raise RuntimeError(
            f"torch.gradient expected spacing to be unspecified, a scalar or it's spacing and dim arguments to have the same length, but "
            f"got a spacing argument of length {len(spacing)} and a dim argument of length {len(dims)}."
        )
    if len(spacing) != len(dims):
        raise RuntimeError(
            f"torch.gradient expected spacing to be unspecified, a scalar, or a list of length equal to 'self.dim() = "
            f"{len(dims)}', since dim argument was not given, but got a list of length {len(spacing)}"
        )
    return spacing


def gradient(input: Tensor, *, spacing: Any = None, dim: Any = None, edge_order: int = 1) -> tuple[Tensor, ...]:
    """The derivative of samples along each dimension, by central differences.

    >>> torch.gradient(torch.tensor([1.0, 4.0, 9.0]))
    (tensor([3., 4., 5.]),)
    """
    if input.dtype is dtypes.uint8:
        raise RuntimeError("torch.gradient does not support uint8 input.")
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    dims = range(input.dim()) if dim is None else [dim] if isinstance(dim, int) else dim
    axes = [wrap_dim(d, input.dim()) for d in dims]
    if len(set(axes)) != len(axes):
        twice = next(d for d in axes if axes.count(d) > 1)
        raise RuntimeError(f"dim {twice} appears multiple times in the list of dims")
    steps = _spacings(spacing, axes, dim is not None)
    if any(input.shape[d] < edge_order + 1 for d in axes):
        raise RuntimeError("torch.gradient expected each dimension size to be at least edge_order+1")
    slopes = []
    for d, step in zip(axes, steps):
        if isinstance(step, Tensor):
            if step.dim() != 1:
                raise RuntimeError(
                    "torch.gradient expected each element of spacing to have one dimension, but got an element with "
                    f"{step.dim()} dimensions!"
                )
            if step.shape[0] != input.shape[d]:
                raise RuntimeError(f"torch.gradient expected one coordinate for each of the {input.shape[d]} samples")
            step = _diff_once(step, 0)
        slopes.append(_slope(input, d, step, edge_order))
    return tuple(slopes)
