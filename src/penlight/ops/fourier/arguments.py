"""The arguments of Fourier transforms: checked, and what they say."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

from ...tensor import Tensor
from ..machinery.arguments import as_int, wrap_dim

Ints = tuple[int, ...]

# How a transform is scaled, as PyTorch numbers it: not at all, by the square root of the number of points, by the number.
NONE, BY_ROOT_N, BY_N = range(3)

# Note [Plans of transforms]
# What a transform does follows from the shape of its input and its other arguments alone. So the checks of those, and what comes of
# them, are kept for the next call with the same ones: without that they take longer than a short transform.


class Plan(NamedTuple):
    """The dimensions, how the input is to be cut or filled up (None if it fits), the scaling, the points in the last dimension."""

    dims: Ints
    sizes: Ints | None
    scaling: int
    points: int


def _scaling(norm: str | None, forward: bool) -> int:
    """`norm` as a number; "backward" scales the inverse transform only, "forward" the forward one only."""
    if norm is None or norm == "backward":
        return NONE if forward else BY_N
    if norm == "forward":
        return BY_N if forward else NONE
    if norm == "ortho":
        return BY_ROOT_N
    raise RuntimeError(f'Invalid normalization mode: "{norm}"')


def _wrapped(ndim: int, dim: Any) -> int:
    if ndim == 0:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return wrap_dim(dim, ndim)


def _points(n: int) -> int:
    if n < 1:
        raise RuntimeError(f"Invalid number of data points ({n}) specified")
    return n


def _resized(input: Tensor, dims: Ints, sizes: Ints) -> Tensor:
    """Cut or filled up with zeros at the end of each dimension."""
    padding = [0] * (2 * input.dim())
    for d, n in zip(dims, sizes):
        if input.shape[d] > n:
            input = input.narrow(d, 0, n)
        elif input.shape[d] < n:
            padding[2 * (input.dim() - 1 - d) + 1] = n - input.shape[d]
    if not any(padding):
        return input
    from ..nn.padding import constant_pad_nd

    return constant_pad_nd(input, padding, 0.0)


def _length(function: str, n: Any) -> int | None:
    if isinstance(n, float):
        raise TypeError(f"{function}(): argument 'n' must be int, not float")
    return None if n is None else _points(as_int(n))


def _line_of(shape: Ints, n: int | None, dim: int, norm: str | None, forward: bool, to_real: bool = False) -> Plan:
    """The plan of a transform along one dimension."""
    d = _wrapped(len(shape), dim)
    points = _points(2 * (shape[d] - 1) if to_real else shape[d]) if n is None else n
    scaling = _scaling(norm, forward)
    taken = points // 2 + 1 if to_real else points
    return Plan((d,), None if taken == shape[d] else (taken,), scaling, points)


_kept_line = lru_cache(512)(_line_of)


def line(function: str, x: Tensor, n: Any, dim: Any, norm: str | None, forward: bool, to_real: bool = False) -> Plan:
    count = None if n is None else _length("fft_" + function, n)
    plan = _kept_line if type(dim) is int else _line_of  # others may equal an int and be refused
    return plan(x.shape, count, dim, norm, forward, to_real)


def _space_of(
    function: str, shape: Ints, s: Any, dim: Any, norm: str | None, forward: bool, to_real: bool = False
) -> Plan:
    """The plan of a transform along several dimensions."""
    sizes, dims = _shape_and_dims(shape, s, dim)
    if not dims and function not in ("fftn", "ifftn"):
        raise RuntimeError(f"{function} must transform at least one axis")
    points = sizes[-1] if sizes else 0
    if to_real:
        points = points if s is not None and s[-1] != -1 else _points(2 * (shape[dims[-1]] - 1))
        sizes = (*sizes[:-1], points // 2 + 1)
    fits = all(shape[d] == n for d, n in zip(dims, sizes))
    return Plan(dims, None if fits else sizes, _scaling(norm, forward), points)


_kept_space = lru_cache(512)(_space_of)


def space(function: str, x: Tensor, s: Any, dim: Any, norm: str | None, forward: bool, to_real: bool = False) -> Plan:
    s = (s,) if isinstance(s, int) else tuple(s) if isinstance(s, list) else s
    dim = (dim,) if isinstance(dim, int) else tuple(dim) if isinstance(dim, list) else dim
    usual = (s is None or all(type(n) is int for n in s)) and (dim is None or all(type(d) is int for d in dim))
    return (_kept_space if usual else _space_of)(function, x.shape, s, dim, norm, forward, to_real)


def _shape_and_dims(shape: Ints, s: Any, dim: Any) -> tuple[Ints, Ints]:
    """The sizes to transform to and the dimensions, for transforms of several."""
    ndim = len(shape)
    if dim is not None:
        dims = tuple(_wrapped(ndim, d) for d in dim)
        if len(set(dims)) != len(dims):
            raise RuntimeError("FFT dims must be unique")
    if s is not None:
        if dim is not None and len(s) != len(dims):
            raise RuntimeError("When given, dim and shape arguments must have the same length")
        if len(s) > ndim:
            raise RuntimeError(f"Got shape with {len(s)} values but input tensor only has {ndim} dimensions.")
        if dim is None:
            dims = tuple(range(ndim - len(s), ndim))
        sizes = tuple(shape[d] if n == -1 else as_int(n) for n, d in zip(s, dims))
    else:
        if dim is None:
            dims = tuple(range(ndim))
        sizes = tuple(shape[d] for d in dims)
    for n in sizes:
        _points(n)
    return sizes, dims


def fitted(x: Tensor, plan: Plan) -> Tensor:
    return x if plan.sizes is None else _resized(x, plan.dims, plan.sizes)
