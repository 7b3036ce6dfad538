"""Matrix powers, the matrix exponential, and products of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import dtypes
from ...kernels.linalg.matrix_exp import matrix_exp as _exp_kernel
from ...kernels.numpy_warnings import hush, unhush
from ...tensor import Tensor, wrap
from ..machinery.arguments import as_int
from ..machinery.declare import differentiable
from ..machinery.guards import c_name, unrecorded
from ..shape.joining import cat
from .common import are_matrices, into, need_floating, need_same_dtype, need_square
from .products import cheapest_product, first_pair, powers_of, vdot
from .solve import inv

__all__ = ["matrix_exp", "matrix_power", "multi_dot", "vander", "vecdot"]

# ----- Powers and exponential -----------------------------------------------------------------------------------------


def _exp_rule(grad: Any, input: Any, xp: Any) -> Any:
    """The upper right block of exp([[X, G], [0, X]]) is the derivative of exp at X in the direction G; here X is the adjoint of A."""
    X = xp.adjoint(input)
    n, last = X.shape[-1], len(X.shape) - 1
    top = xp._cat([X, grad], last)
    bottom = xp._cat([xp.zeros_like(grad), X], last)
    return xp._linalg_matrix_exp(xp._cat([top, bottom], last - 1))[..., :n, n:]


@differentiable(_exp_kernel, node="LinalgMatrixExpBackward0", input=_exp_rule)
def _linalg_matrix_exp(input: Tensor) -> Tensor: ...


def matrix_exp(input: Tensor) -> Tensor:
    """The matrix exponential.

    >>> torch.linalg.matrix_exp(torch.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    need_square(input, "linalg.matrix_exp")
    need_floating(input, "linalg.matrix_exp")
    return _linalg_matrix_exp(input)


def matrix_power(input: Tensor, n: int, *, out: Tensor | None = None) -> Tensor:
    """The n-th power of a square matrix; for negative n, of its inverse.

    >>> torch.linalg.matrix_power(torch.tensor([[1, 1], [0, 1]]), 3)
    tensor([[1, 3],
            [0, 1]])
    """
    need_square(input, "linalg.matrix_power")
    n = as_int(n)
    if n == 0:
        eye = np.broadcast_to(np.eye(input.shape[-1], dtype=input._array.dtype), input.shape)
        return into("linalg_matrix_power", out, input.clone().copy_(wrap(eye)), input)
    if n == -1:
        return inv(input, out=out)
    return into("linalg_matrix_power", out, _powered(inv(input) if n < 0 else input, abs(n)), input)


def _powered(base: Tensor, n: int) -> Tensor:
    """The power by repeated squaring."""
    if n == 1:
        return base.clone()
    result: Tensor | None = None
    while n:
        if n & 1:
            result = base if result is None else result @ base
        n >>= 1
        if n:
            base = base @ base
    assert result is not None
    return result


# ----- Products -------------------------------------------------------------------------------------------------------


def multi_dot(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """The product of several matrices, in the order with the fewest multiplications; the first and last may be vectors.

    >>> torch.linalg.multi_dot([torch.ones(1, 2), torch.ones(2, 3), torch.ones(3)])
    tensor([6.])
    """
    matrices = list(tensors)
    for position, matrix in enumerate(matrices):
        if not isinstance(matrix, Tensor):
            raise TypeError(f"expected Tensor as element {position} in argument 0, but got {type(matrix).__name__}")
    if len(matrices) < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {len(matrices)}")
    if out is None and len(matrices) == 3 and are_matrices(*matrices) and unrecorded(matrices):
        a, b, c = [p._array for p in matrices]
        if a.ndim == b.ndim == c.ndim == 2 and a.shape[1] == b.shape[0] and b.shape[1] == c.shape[0]:
            first = first_pair(*a.shape, *c.shape)
            token = hush()
            try:
                return wrap(np.matmul(np.matmul(a, b), c) if first else np.matmul(a, np.matmul(b, c)))
            finally:
                unhush(token)
    shape = _check_chain(matrices)
    return into("linalg_multi_dot", out, cheapest_product(matrices).view(shape), *matrices)


def _check_chain(matrices: list[Tensor]) -> tuple[int, ...]:
    """Turns vectors at the ends into matrices, in place; returns the shape of the product."""
    first, last = matrices[0], matrices[-1]
    for name, end in (("first", first), ("last", last)):
        if end.dim() not in (1, 2):
            raise RuntimeError(f"multi_dot(): the {name} tensor must be 1D or 2D but got {end.dim()}D")
    for position, matrix in enumerate(matrices[1:-1], 1):
        if matrix.dim() != 2:
            raise RuntimeError(f"multi_dot(): tensor {position} must be 2D but got {matrix.dim()}D")
    for position, matrix in enumerate(matrices[1:], 1):
        if matrix.dtype is not first.dtype:
            raise RuntimeError(
                f"multi_dot(): all tensors must have be the same dtype but tensor 0 is {c_name(first.dtype)} and tensor {position} "
                f"{c_name(matrix.dtype)}"
            )
    shapes = [list(p.shape) for p in matrices]
    matrices[0] = first.unsqueeze(0) if first.dim() == 1 else first
    matrices[-1] = last.unsqueeze(-1) if last.dim() == 1 else last
    for position in range(len(matrices) - 1):
        if matrices[position].shape[-1] != matrices[position + 1].shape[0]:
            raise RuntimeError(
                f"multi_dot(): tensors {position} and {position + 1} with shapes {shapes[position]} and {shapes[position + 1]} cannot be "
                "multiplied"
            )
    return tuple(matrices[0].shape[: first.dim() - 1]) + tuple(matrices[-1].shape[1 : last.dim()])


def vecdot(x: Tensor, y: Tensor, *, dim: int = -1, out: Tensor | None = None) -> Tensor:
    """Dot products along a dimension, with the first factor conjugated.

    >>> torch.linalg.vecdot(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([1.0, 1.0]))
    tensor([3., 7.])
    """
    if out is None and are_matrices(x, y) and unrecorded((x, y)) and dim == -1 and x._array.shape == y._array.shape:
        return wrap(np.vecdot(x._array, y._array))
    need_floating(x, "linalg.vecdot")
    need_same_dtype("linalg.vecdot", x, y, ("x", "y"))
    if x.dim() == 1 and y.dim() == 1:
        return into("linalg_vecdot", out, vdot(x, y), x, y)
    return into("linalg_vecdot", out, (x.conj() * y).sum(dim), x, y)


def vander(x: Tensor, *, N: int | None = None) -> Tensor:
    """The powers 0 to N - 1 of each element, along a new last dimension.

    >>> torch.linalg.vander(torch.tensor([1, 2, 3]))
    tensor([[1, 1, 1],
            [1, 2, 4],
            [1, 3, 9]])
    """
    if x.dtype is dtypes.bool_ or (x.dtype.itemsize == 2 and x.dtype.category == dtypes.FLOATING):
        raise RuntimeError(
            f"linalg.vander supports floating point, complex, and integer tensors, but got {dtypes.LEGACY[x.dtype]}"
        )
    count = (x.shape[-1] if x.dim() else 1) if N is None else as_int(N)
    if count <= 1:
        raise RuntimeError("N must be greater than 1.")
    x = x if x.dim() else x.unsqueeze(-1)
    kind = dtypes.int64 if x.dtype.category < dtypes.FLOATING else x.dtype
    if unrecorded((x,)) and kind.np.char in "fdlq":
        return wrap(powers_of(x._array, count, kind.np))
    powers = x.unsqueeze(-1).expand(*x.shape, count - 1).cumprod(-1)
    return cat([powers.new_ones(powers.shape[:-1]).unsqueeze(-1), powers], -1)
