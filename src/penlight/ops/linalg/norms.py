"""Norms of matrices, and condition numbers."""

from __future__ import annotations

import math
from typing import Any

from ... import dtypes
from ...tensor import Tensor
from ..machinery.arguments import values_of, wrap_dim
from ..machinery.array_namespace import graph
from ..reduce.norms import check_norm_dtype, vector_norm
from .common import are_matrices, identity_like, into, need_floating, need_matrix, need_square
from .solve import _linalg_inv_ex
from .spectral import svdvals

__all__ = ["cond", "matrix_norm", "norm"]

# ----- Norms ----------------------------------------------------------------------------------------------------------


_ORDERS = ("fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf)


def _matrix_dims(input: Tensor, dim: Any) -> tuple[int, int]:
    if len(dim) != 2:
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {' '.join(map(str, dim))}")
    first, second = (wrap_dim(d, input.dim()) for d in dim)
    if first == second:
        raise RuntimeError(f"linalg.matrix_norm: dims must be different. Got ({first}, {second})")
    return first, second


def matrix_norm(
    input: Tensor, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False, *, dtype: Any = None, out: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """A matrix norm: "fro", "nuc", 1, 2, inf; -1, -2 and -inf take the smallest value instead of the largest.

    >>> torch.linalg.matrix_norm(torch.tensor([[3.0, 0.0], [0.0, 4.0]]), "nuc")
    tensor(7.)
    """
    if dtype is not None:
        dtype = dtypes.given(dtype)
    elif out is None and dim == (-2, -1) and are_matrices(input) and ord in _ORDERS:
        last = input._array.ndim - 1
        return _matrix_norm(input, ord, (last - 1, last), keepdim)
    if ord not in _ORDERS:
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    need_matrix(input, "linalg.matrix_norm")
    need_floating(input, "linalg.matrix_norm")
    dims = _matrix_dims(input, dim)
    A = input
    if dtype is not None:
        check_norm_dtype("linalg.matrix_norm", input, dtype)
        A = input.to(dtype)
    return into("linalg_matrix_norm", out, _matrix_norm(A, ord, dims, keepdim), input)


def _matrix_norm(A: Tensor, ord: Any, dims: tuple[int, int], keepdim: bool) -> Tensor:
    if ord == "fro":
        return vector_norm(A, 2, dims, keepdim)
    if ord in ("nuc", 2, -2):
        return _spectral_norm(A, ord, dims, keepdim)
    summed, compared = dims if abs(ord) == 1 else dims[::-1]
    sums = vector_norm(A, 1, summed, keepdim)
    position = compared - (not keepdim and summed < compared)
    if ord > 0 and sums.shape[position] == 0:
        return sums.detach().sum(position, keepdim)
    return sums.amax(position, keepdim) if ord > 0 else sums.amin(position, keepdim)


def _spectral_norm(A: Tensor, ord: Any, dims: tuple[int, int], keepdim: bool) -> Tensor:
    """The norm by the singular values."""
    if A.dtype.itemsize == 2:
        raise RuntimeError(f"linalg.matrix_norm: Low precision dtypes not supported. Got {dtypes.LEGACY[A.dtype]}")
    last = A.movedim(dims, (-2, -1)) if dims != (A.dim() - 2, A.dim() - 1) else A
    S = svdvals(last)
    if ord == "nuc":
        result = S.sum(-1, keepdim)
    elif S.shape[-1] == 0 and ord > 0:
        result = S.detach().sum(-1, keepdim)
    else:
        result = S.amax(-1, keepdim) if ord > 0 else S.amin(-1, keepdim)
    if not keepdim:
        return result
    return result.unsqueeze(-1).movedim((-2, -1), dims)


def norm(
    input: Tensor, ord: Any = None, dim: Any = None, keepdim: bool = False, *, out: Tensor | None = None, dtype: Any = None,
) -> Tensor:  # fmt: skip
    """A vector norm or a matrix norm, depending on the dimensions.

    >>> torch.linalg.norm(torch.tensor([3.0, 4.0]))
    tensor(5.)
    """
    dtype = dtypes.given(dtype)
    if isinstance(dim, int):
        dim = (dim,)
    if dim is not None and len(dim) not in (1, 2):
        raise RuntimeError(f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(dim)}")
    if dim is None and ord is not None and input.dim() not in (1, 2):
        raise RuntimeError(
            f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {input.dim()}D."
        )
    as_matrix = isinstance(ord, str) or (ord is not None and (len(dim) == 2 if dim is not None else input.dim() == 2))
    if out is not None:
        return into("linalg_norm", out, norm(input, ord, dim, keepdim, dtype=dtype), input)
    if not as_matrix:
        return vector_norm(input, 2 if ord is None else ord, dim, keepdim, dtype=dtype)
    dims = dim if dim is not None else tuple(range(input.dim())) if input.dim() == 2 else (-2, -1)
    return matrix_norm(input, ord, dims, keepdim, dtype=dtype)


def cond(input: Tensor, p: Any = None, *, out: Tensor | None = None) -> Tensor:
    """The condition number: for None and 2 the ratio of the largest to the smallest singular value, otherwise by the norm p.

    >>> torch.linalg.cond(torch.tensor([[4.0, 0.0], [0.0, 2.0]]))
    tensor(2.)
    """
    if input.dim() < 2:
        raise RuntimeError("linalg.cond: The input tensor must have at least 2 dimensions.")
    if p not in (None, "fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf):
        raise RuntimeError(f"linalg.cond got an invalid norm type: {p}")
    if p in ("nuc", "fro"):
        need_square(input, f"linalg.cond(ord={p})")
    if not input.numel():
        return into("linalg_cond", out, input.new_zeros(input.shape[:-2], dtype=input.dtype.to_real()), input)
    if p in (None, 2, -2):
        S = svdvals(input)
        largest, smallest = S.narrow(-1, 0, 1), S.narrow(-1, S.shape[-1] - 1, 1)
        result = (smallest / largest if p == -2 else largest / smallest).squeeze(-1)
        return into("linalg_cond", out, result, input)
    need_square(input, f"linalg.cond(ord={p})")
    need_floating(input, "linalg.cond", low=False)
    inverse, info = _linalg_inv_ex(input)
    singular = info != 0
    if values_of(info).any():
        inverse = graph.where(singular[..., None, None], math.inf, inverse)
    size = _infinite_nuc(inverse, singular) if p == "nuc" else matrix_norm(inverse, p)
    result = matrix_norm(input, p) * size
    if p != "nuc":  # a singular matrix has an infinite condition number, even if its norm is zero
        result = result.nan_to_num(nan=math.inf, posinf=math.inf, neginf=math.inf)
    return into("linalg_cond", out, result, input)


def _infinite_nuc(inverse: Tensor, singular: Tensor) -> Tensor:
    """The nuclear norm of an inverse; matrices with infinities have no singular values."""
    if not values_of(singular).any():
        return matrix_norm(inverse, "nuc")
    eye = identity_like(inverse, inverse.shape[-1], graph)
    regular = matrix_norm(graph.where(singular[..., None, None], eye, inverse), "nuc")
    return graph.where(singular, math.inf, regular)
