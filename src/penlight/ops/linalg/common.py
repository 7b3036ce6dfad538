"""Shared by linear algebra: checks with PyTorch's errors, helpers for rules, named results, `out=`."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ... import dtypes
from ...autograd import modes
from ...autograd.modes import is_grad_enabled
from ...tensor import Tensor
from ..machinery.arguments import values_of
from ..machinery.array_namespace import both
from ..machinery.guards import not_implemented
from ..machinery.in_place import fill_outs, outs_of, refuse_graph
from ..reduce.sums import named_result

__all__ = ["LinAlgError"]


class _LinAlgError(RuntimeError):
    """A matrix that the algorithm cannot handle: singular, or not positive definite.

    >>> torch.linalg.inv(torch.zeros(2, 2))
    Traceback (most recent call last):
    torch._C._LinAlgError: linalg.inv: The diagonal element 1 is zero, the inversion could not be completed because the input matrix is singular.
    """


_LinAlgError.__module__ = "torch._C"
LinAlgError = _LinAlgError

# ----- Layout ---------------------------------------------------------------------------------------------------------


def columns(x: Any) -> Any:
    """The same matrices in column-major order, as LAPACK and PyTorch return them; a vector is returned unchanged."""
    if x.ndim < 2:
        return x
    size, shape = x.itemsize, x.shape
    if x.strides == ((size, size * shape[0]) if len(shape) == 2 else _column_strides(shape, size)):
        return x
    if 1 in x.shape[-2:]:  # with a single row or column any stride is contiguous; a copy has the usual strides
        return np.array(x.swapaxes(-1, -2), order="C").swapaxes(-1, -2)
    return np.ascontiguousarray(x.T).T if x.ndim == 2 else np.ascontiguousarray(x.swapaxes(-1, -2)).swapaxes(-1, -2)


@lru_cache(64)
def _column_strides(shape: tuple[int, ...], size: int) -> tuple[int, ...]:
    *batch, m, n = shape
    strides = [size * m, size]
    step = size * m * n
    for count in reversed(batch):
        strides.append(step)
        step *= count
    return (*strides[:1:-1], strides[1], strides[0])


def by_columns(kernel: Any, *positions: int) -> Any:
    """A kernel whose result, or whose results at `positions`, are column-major."""

    def run(*args: Any) -> Any:
        if not positions:
            return columns(kernel(*args))
        results = list(kernel(*args))
        for position in positions:
            results[position] = columns(results[position])
        return tuple(results)

    return run


# ----- For rules in both namespaces ---------------------------------------------------------------------------------------


def _as_diagonal(x: Any) -> Any:
    out = np.zeros((*x.shape, x.shape[-1]), x.dtype)
    diagonal = np.arange(x.shape[-1])
    out[..., diagonal, diagonal] = x
    return out


both("diagonal_of", lambda x: np.diagonal(x, 0, -2, -1), lambda x: x.diagonal(0, -2, -1))
both("as_diagonal", _as_diagonal, lambda x: x.diag_embed())
both("by_columns", columns, lambda x: x.mT.contiguous().mT)
both("array_of", lambda x: x, values_of)


def identity_like(x: Any, n: int, xp: Any) -> Any:
    """The identity in the dtype of x."""
    return xp.constant(np.eye(n, dtype=xp.np_dtype(x)))


def hermitian_twice(x: Any, xp: Any) -> Any:
    """x plus its adjoint."""
    return x + xp.adjoint(x)


# ----- Checks ---------------------------------------------------------------------------------------------------------
#
# Most arguments are valid. One quick test shows it; only if that fails do the individual checks run, to find the error.

_LAPACK = frozenset(map(np.dtype, "fdFD"))


def are_matrices(*tensors: Any) -> bool:
    """Whether these are tensors of matrices in one common LAPACK dtype."""
    dtype = None
    for x in tensors:
        if type(x) is not Tensor:
            return False
        array = x._array
        if dtype is None:
            dtype = array.dtype
        if array.ndim < 2 or array.dtype is not dtype:
            return False
    return dtype in _LAPACK


def is_square(x: Any) -> bool:
    """Whether this is a tensor of square matrices in a LAPACK dtype."""
    if type(x) is not Tensor:
        return False
    shape = x._array.shape
    return len(shape) >= 2 and shape[-1] == shape[-2] and x._array.dtype in _LAPACK


def make_system(A: Any, B: Any) -> bool:
    """Whether A X = B is a valid system: square matrices A and matching B, in one LAPACK dtype."""
    if type(B) is not Tensor or not is_square(A):
        return False
    a, b = A._array, B._array
    return b.ndim == a.ndim and b.dtype is a.dtype and a.shape[:-1] == b.shape[:-1]


def need_matrix(x: Tensor, function: str, name: str = "A") -> None:
    if x.dim() < 2:
        raise RuntimeError(f"{function}: The input tensor {name} must have at least 2 dimensions.")


def need_square(x: Tensor, function: str, name: str = "A") -> None:
    shape = x.shape
    if len(shape) < 2:
        need_matrix(x, function, name)
    m, n = shape[-2], shape[-1]
    if m != n:
        raise RuntimeError(f"{function}: {name} must be batches of square matrices, but they are {m} by {n} matrices")


def need_floating(x: Tensor, function: str, low: bool = True) -> None:
    """Refuse integers and, unless `low`, 16-bit floats."""
    if x.dtype.category < dtypes.FLOATING:
        raise RuntimeError(
            f"{function}: Expected a floating point or complex tensor as input. Got {dtypes.LEGACY[x.dtype]}"
        )
    if not low and x.dtype.itemsize == 2:
        raise RuntimeError(f"{function}: Low precision dtypes not supported. Got {dtypes.LEGACY[x.dtype]}")


def need_lapack(x: Tensor, kernel: str) -> None:
    """Refuse dtypes that LAPACK does not support; `kernel` is PyTorch's name for its own."""
    if x.dtype.category < dtypes.FLOATING or x.dtype.itemsize == 2:
        raise not_implemented(kernel, x._array.dtype)


def need_same_dtype(function: str, a: Tensor, b: Tensor, names: tuple[str, str]) -> None:
    if a.dtype is not b.dtype:
        kinds = dtypes.LEGACY[a.dtype], dtypes.LEGACY[b.dtype]
        raise RuntimeError(
            f"{function}: Expected {names[0]} and {names[1]} to have the same dtype, but found {names[0]} of type {kinds[0]} and "
            f"{names[1]} of type {kinds[1]} instead"
        )


def refuse_info(function: str, info: Tensor, words: str, error: type[RuntimeError] = _LinAlgError) -> None:
    """Raise for the first matrix of a batch that failed; `{}` in the message is its index."""
    array = values_of(info)
    if array.ndim == 0:
        if array.item():
            raise error(f"{function}: {words.format(int(array))}")
        return
    if not array.any():
        return
    position = int(np.flatnonzero(array)[0])
    raise error(f"{function}: (Batch element {position}): {words.format(int(array.flat[position]))}")


NOT_POSITIVE = (
    "The factorization could not be completed because the input is not positive-definite (the leading minor of order {} is not "
    "positive-definite)."
)
NOT_INVERTIBLE = (
    "The diagonal element {} is zero, the inversion could not be completed because the input matrix is singular."
)
NOT_SOLVABLE = "The solver failed because the input matrix is singular."


def tracked(*tensors: Tensor) -> bool:
    """Whether derivatives of these may be needed: otherwise values that only derivatives use are not computed."""
    return modes.slow() or (is_grad_enabled() and any(t.requires_grad for t in tensors))


# ----- Results --------------------------------------------------------------------------------------------------------

_NAMED: dict[str, Any] = {}


def named(name: str, fields: str, values: Any) -> Any:
    """Results as `torch.return_types.<name>`."""
    if name not in _NAMED:
        _NAMED[name] = named_result(name, fields)
    return _NAMED[name](*values)


def into(function: str, out: Any, results: Any, *inputs: Any) -> Any:
    """The return value of a function: its results, or `out` filled with them. Never in a graph."""
    if out is None:
        return results
    single = isinstance(results, Tensor)
    outs = tuple(outs_of(function, out, None if single else len(results)))
    refuse_graph(function, inputs, outs)
    fill_outs(function, outs, [r._array for r in ((results,) if single else results)])
    return out if single else type(results)(*outs) if hasattr(results, "_fields") else outs
