"""Discrete Fourier transforms: three linear ops (complex to complex, real to complex, complex to real), and the functions of
torch.fft over them."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ... import dtypes
from ...kernels import fourier as kernels
from ...tensor import Tensor
from ..linalg.common import into
from ..machinery.arguments import as_int, wrap_dim
from ..machinery.declare import linear
from ..machinery.guards import not_implemented

__all__ = ["fft", "fftn", "fftshift", "hfft", "ifft", "ifftn", "ifftshift", "ihfft", "irfft", "irfftn", "rfft", "rfftn"]

# ----- The arguments of Fourier transforms ----------------------------------------------------------------------------

Ints = tuple[int, ...]

# The scaling of a transform, as PyTorch numbers it: none, by the square root of the number of points, by that number.
NONE, BY_ROOT_N, BY_N = range(3)

# Note [Plans of transforms]
# The shape of the input and the other arguments determine everything about a transform. So argument checks and derived values are cached
# for the next call with the same arguments; otherwise they take longer than a short transform.


class Plan(NamedTuple):
    """The dimensions, how the input is cut or padded (None if it fits), the scaling, and the number of points in the last dimension."""

    dims: Ints
    sizes: Ints | None
    scaling: int
    points: int


def _scaling(norm: str | None, forward: bool) -> int:
    """`norm` as PyTorch's number for it; "backward" scales only the inverse transform, "forward" only the forward one."""
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
    """The input cut or zero-padded at the end of each dimension."""
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
    plan = _kept_line if type(dim) is int else _line_of  # other types may equal an int and must be refused
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
    """The sizes and dimensions of a transform over several dimensions."""
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


# ----- Discrete Fourier transforms ------------------------------------------------------------------------------------


_COMPLEX = frozenset(map(np.dtype, "FD"))
_FLOATING = _COMPLEX | frozenset(map(np.dtype, "fd"))
_NUMPY_FORWARD: Any = ("backward", "ortho", "forward")
_NUMPY_INVERSE: Any = ("forward", "ortho", "backward")

# ----- The three ops --------------------------------------------------------------------------------------------------


def _ordered(strides: Ints, dims: Any) -> list[int]:
    return sorted(dims, key=lambda d: -strides[d])


def _c2c_order(strides: Ints, dim: Ints) -> list[int]:
    """The memory order of a transform's result: transformed dimensions last, the others as before."""
    return _ordered(strides, (d for d in range(len(strides)) if d not in dim)) + _ordered(strides, dim)


def _c2r_order(strides: Ints, dim: Ints) -> list[int]:
    if len(dim) == 1:
        return _c2c_order(strides, dim)
    return [d for d in _c2c_order(strides, dim[:-1]) if d != dim[-1]] + [dim[-1]]


@lru_cache(256)
def _are_last(dim: Ints, ndim: int) -> bool:
    return dim == tuple(range(ndim - len(dim), ndim))


def _laid_out(order_of: Any) -> Any:
    """A transform whose result has PyTorch's memory layout: NumPy keeps the layout of the input, so the input is rearranged first."""

    def decorate(kernel: Any) -> Any:
        def run(input: Any, dim: Ints, *more: Any) -> Any:
            if not dim or input.ndim < 2:
                return kernel(input, dim, *more)
            if input.flags.c_contiguous and _are_last(dim, input.ndim):
                return kernel(input, dim, *more)  # the usual case: the last dimensions
            order = order_of(input.strides, dim)
            if order == sorted(order):
                return kernel(np.ascontiguousarray(input), dim, *more)
            back = [order.index(d) for d in range(input.ndim)]
            moved = np.ascontiguousarray(input.transpose(order))
            return kernel(moved, tuple(back[d] for d in dim), *more).transpose(back)

        return run

    return decorate


@_laid_out(_c2c_order)
def _c2c_array(input: Any, dim: Ints, normalization: int, forward: bool) -> Any:
    if not dim:
        return input.copy()
    return kernels.transform(input, dim, forward, (_NUMPY_FORWARD if forward else _NUMPY_INVERSE)[normalization])


@linear(_c2c_array, node="FftC2CBackward0",
        input=lambda grad, dim, normalization, forward, xp: xp._fft_c2c(grad, dim, normalization, not forward))  # fmt: skip
def _fft_c2c(input: Tensor, dim: Ints, normalization: int, forward: bool) -> Tensor: ...


@_laid_out(lambda strides, dim: [d for d in _c2c_order(strides, dim) if d != dim[-1]] + [dim[-1]])
def _r2c_array(input: Any, dim: Ints, normalization: int, onesided: bool) -> Any:
    name = _NUMPY_FORWARD[normalization]
    return kernels.from_real(input, dim, name) if onesided else kernels.both_halves(input, dim, name)


@lru_cache(64)
def _factors(points: int, behind: int, weight: float, single: bool) -> Any:
    factors = np.full((points // 2 + 1, *(1,) * behind), weight, np.float32 if single else np.float64)
    factors[0] = 1
    if points % 2 == 0:
        factors[-1] = 1
    return factors


def _weights(like: Any, points: int, dim: int, weight: float, xp: Any) -> Any:
    """Factor 2 for the frequencies that represent two, themselves and their mirror image: all but 0 and the highest."""
    return xp.constant(_factors(points, len(like.shape) - dim - 1, weight, xp.np_dtype(like).char in "fF"))


def _r2c_rule(grad: Any, input_shape: Ints, dim: Ints, normalization: int, onesided: bool, xp: Any) -> Any:
    """The real part of the inverse transform, for which half of the frequencies suffices: see `_weights`."""
    if not onesided:
        return xp.real_part(xp._fft_c2c(grad, dim, normalization, False))
    points = input_shape[dim[-1]]
    return xp._fft_c2r(grad * _weights(grad, points, dim[-1], 0.5, xp), dim, normalization, points)


@linear(_r2c_array, node="FftR2CBackward0", input=_r2c_rule)
def _fft_r2c(input: Tensor, dim: Ints, normalization: int, onesided: bool) -> Tensor: ...


@_laid_out(_c2r_order)
def _c2r_array(input: Any, dim: Ints, normalization: int, last_dim_size: int) -> Any:
    return kernels.to_real(input, dim, last_dim_size, _NUMPY_INVERSE[normalization])


def _c2r_rule(grad: Any, dim: Ints, normalization: int, last_dim_size: int, xp: Any) -> Any:
    back = xp._fft_r2c(grad, dim, normalization, True)
    return back * _weights(back, last_dim_size, dim[-1], 2.0, xp)


@linear(_c2r_array, node="FftC2RBackward0", input=_c2r_rule)
def _fft_c2r(input: Tensor, dim: Ints, normalization: int, last_dim_size: int) -> Tensor: ...


# ----- What goes in and what comes out -----------------------------------------------------------------------------


def _promoted(function: str, input: Tensor, complex_: bool = False) -> Tensor:
    """Integers as floats, and floats as complex numbers if needed; there are no 16-bit transforms."""
    if type(input) is Tensor and input._array.dtype in (_COMPLEX if complex_ else _FLOATING):
        return input
    dtype = input.dtype
    if dtype.category < dtypes.FLOATING:
        dtype = dtypes.get_default_dtype()
    if dtype.itemsize == 2:
        raise RuntimeError(f"Unsupported dtype {dtypes.LEGACY[dtype]}")
    if complex_ and dtype.category == dtypes.FLOATING:
        dtype = dtype.to_complex()
    return input if dtype is input.dtype else input.to(dtype)


def _given(function: str, out: Tensor | None, result: Tensor, input: Tensor) -> Tensor:
    if out is None:
        return result
    if not (out.is_complex() if result.is_complex() else out.is_floating_point()):
        kind, said = "complex" if result.is_complex() else "floating point", "fftn" if function == "ifftn" else function
        raise RuntimeError(f"{said} expects a {kind} output tensor, but got {dtypes.LEGACY[out.dtype]}")
    return into("fft_" + function, out, result.contiguous(), input)


# ----- One dimension --------------------------------------------------------------------------------------------------


def _one(function: str, input: Tensor, n: Any, dim: int, norm: str | None, forward: bool) -> Tensor:
    x = _promoted(function, input)
    plan = line(function, x, n, dim, norm, forward)
    x = fitted(x, plan)
    if x.is_complex():
        return _fft_c2c(x, plan.dims, plan.scaling, forward)
    result = _fft_r2c(x, plan.dims, plan.scaling, False)
    return result if forward else result.conj()


def _from_real(function: str, input: Tensor, n: Any, dim: int, norm: str | None, forward: bool) -> Tensor:
    x = _promoted(function, input)
    if x.is_complex():
        raise RuntimeError(f"{function} expects a real input tensor, but got {dtypes.LEGACY[input.dtype]}")
    plan = line(function, x, n, dim, norm, forward)
    result = _fft_r2c(fitted(x, plan), plan.dims, plan.scaling, True)
    return result if forward else result.conj()


def _to_real(function: str, input: Tensor, n: Any, dim: int, norm: str | None, forward: bool) -> Tensor:
    x = _promoted(function, input, complex_=True)
    plan = line(function, x, n, dim, norm, forward, to_real=True)
    x = fitted(x, plan)
    return _fft_c2r(x.conj() if forward else x, plan.dims, plan.scaling, plan.points)


def fft(
    input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """The discrete Fourier transform along a dimension, of `n` points (cut or zero-padded).

    >>> torch.fft.fft(torch.tensor([1.0, 2.0]))
    tensor([ 3.+0.j, -1.+0.j])
    """
    return _given("fft", out, _one("fft", input, n, dim, norm, True), input)


def ifft(
    input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """The inverse of `fft`.

    >>> torch.fft.ifft(torch.tensor([4.0, 0.0, 0.0, 0.0]))
    tensor([1.-0.j, 1.-0.j, 1.-0.j, 1.-0.j])
    """
    return _given("ifft", out, _one("ifft", input, n, dim, norm, False), input)


def rfft(
    input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """The Fourier transform of real input: the first half of the frequencies, which determines the others.

    >>> torch.fft.rfft(torch.tensor([1.0, 0.0, -1.0, 0.0]))
    tensor([0.+0.j, 2.+0.j, 0.+0.j])
    """
    return _given("rfft", out, _from_real("rfft", input, n, dim, norm, True), input)


def irfft(
    input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """The inverse of `rfft`; `n` is the number of real points, an even one by default.

    >>> torch.fft.irfft(torch.tensor([0.0, 2.0, 0.0]))
    tensor([ 1.,  0., -1.,  0.])
    """
    return _given("irfft", out, _to_real("irfft", input, n, dim, norm, False), input)


def hfft(
    input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """The real Fourier transform of a Hermitian-symmetric signal, given by its first half.

    >>> torch.fft.hfft(torch.tensor([1.0, 2.0, 1.0]))
    tensor([ 6.,  0., -2.,  0.])
    """
    return _given("hfft", out, _to_real("hfft", input, n, dim, norm, True), input)


def ihfft(
    input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """The inverse of `hfft`.

    >>> torch.fft.ihfft(torch.fft.hfft(torch.tensor([1.0, 2.0, 1.0]))).real
    tensor([1., 2., 1.])
    """
    return _given("ihfft", out, _from_real("ihfft", input, n, dim, norm, False), input)


# ----- Several dimensions ---------------------------------------------------------------------------------------------


def _several(function: str, input: Tensor, s: Any, dim: Any, norm: str | None, forward: bool) -> Tensor:
    plan = space(function, input, s, dim, norm, forward)
    return _fft_c2c(fitted(_promoted(function, input, complex_=True), plan), plan.dims, plan.scaling, forward)


def fftn(
    input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """The Fourier transform along several dimensions, by default all, with sizes `s`.

    >>> torch.fft.fftn(torch.eye(2))
    tensor([[2.+0.j, 0.+0.j],
            [0.+0.j, 2.+0.j]])
    """
    return _given("fftn", out, _several("fftn", input, s, dim, norm, True), input)


def ifftn(
    input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """The inverse of `fftn`.

    >>> torch.fft.ifftn(torch.fft.fftn(torch.tensor([1.0, 2.0]))).real
    tensor([1., 2.])
    """
    return _given("ifftn", out, _several("ifftn", input, s, dim, norm, False), input)


def rfftn(
    input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """The Fourier transform of real input along several dimensions; the last has half of the frequencies.

    >>> torch.fft.rfftn(torch.ones(2, 4)).shape
    torch.Size([2, 3])
    """
    if input.is_complex():
        raise RuntimeError(f"rfftn expects a real-valued input tensor, but got {dtypes.LEGACY[input.dtype]}")
    plan = space("rfftn", input, s, dim, norm, True)
    x = fitted(_promoted("rfftn", input), plan)
    return _given("rfftn", out, _fft_r2c(x, plan.dims, plan.scaling, True), input)


def irfftn(
    input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """The inverse of `rfftn`.

    >>> torch.fft.irfftn(torch.fft.rfftn(torch.tensor([1.0, 2.0, 3.0, 4.0])))
    tensor([1., 2., 3., 4.])
    """
    plan = space("irfftn", input, s, dim, norm, False, to_real=True)
    x = fitted(_promoted("irfftn", input, complex_=True), plan)
    return _given("irfftn", out, _fft_c2r(x, plan.dims, plan.scaling, plan.points), input)


def hfftn(
    input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """`hfft` along the last of several dimensions, after `fft` along the others.

    >>> torch.fft.hfftn(torch.ones(2, 3)).shape
    torch.Size([2, 4])
    """
    plan = space("hfftn", input, s, dim, norm, True, to_real=True)
    x, dims = fitted(_promoted("hfftn", input, complex_=True), plan), plan.dims
    if len(dims) > 1:
        x = _fft_c2c(x, dims[:-1], plan.scaling, True)
    return _given("hfftn", out, _fft_c2r(x.conj(), dims[-1:], plan.scaling, plan.points), input)


def ihfftn(
    input: Tensor, s: Any = None, dim: Any = None, norm: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """The inverse of `hfftn`.

    >>> torch.fft.ihfftn(torch.ones(2, 2)).shape
    torch.Size([2, 2])
    """
    if input.is_complex():
        raise RuntimeError(f"Only supports floating-point dtypes, but found: {dtypes.LEGACY[input.dtype]}")
    plan = space("ihfftn", input, s, dim, norm, False)
    dims = plan.dims
    x = _fft_r2c(fitted(_promoted("ihfftn", input), plan), dims[-1:], plan.scaling, True)
    if len(dims) == 1:
        return _given("ihfftn", out, x.conj(), input)
    return _given("ihfftn", out, _fft_c2c(x.conj_physical(), dims[:-1], plan.scaling, False), input)


# ----- Orders and frequencies -----------------------------------------------------------------------------------------


def _shifted(input: Tensor, dim: Any, forward: bool) -> Tensor:
    dims = range(input.dim()) if dim is None else (dim,) if isinstance(dim, int) else dim
    axes = [wrap_dim(d, input.dim()) for d in dims]
    if not axes:
        raise RuntimeError("`shifts` required")
    return input.roll([(input.shape[d] + (not forward)) // 2 for d in axes], axes)


def fftshift(input: Tensor, dim: Any = None) -> Tensor:
    """Frequencies in increasing order, with zero in the middle.

    >>> torch.fft.fftshift(torch.fft.fftfreq(4))
    tensor([-0.5000, -0.2500,  0.0000,  0.2500])
    """
    return _shifted(input, dim, True)


def ifftshift(input: Tensor, dim: Any = None) -> Tensor:
    """The inverse of `fftshift`.

    >>> torch.fft.ifftshift(torch.fft.fftshift(torch.arange(5)))
    tensor([0, 1, 2, 3, 4])
    """
    return _shifted(input, dim, False)


def frequencies(function: str, n: Any, d: float, half: bool, dtype: Any) -> Any:
    """The frequencies of a transform of n points with spacing d, as an array."""
    dtype = dtypes.get_default_dtype() if dtype is None else dtype
    if dtype.category < dtypes.FLOATING:
        raise RuntimeError(f"{function} requires a floating point or complex dtype")
    if dtype.category == dtypes.COMPLEX:
        raise not_implemented("arange_cpu", dtype.np)
    n = as_int(n)
    if n < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {n}: [{n}]")
    count = np.arange(n // 2 + 1 if half else n).astype(np.float64)
    if not half:
        count[(n + 1) // 2 :] -= n
    scale = 1.0 / (n * d) if n * d else math.inf
    return (count.astype(dtype.np) * np.asarray(scale, dtype.np)).astype(dtype.np)
