"""Transforms of vectors and matrices, part of `transforms`."""

from __future__ import annotations

from typing import Any

import penlight

from ..ops.nonlinear import logsigmoid
from ..ops.padding import pad
from ..size import Size
from ..tensor import Tensor
from . import constraints
from ._transform import Plain, Transform, inside_unit, log_tanh_slope
from .utils import tril_matrix_to_vec, vec_to_tril_matrix


def _at_least(shape: Any, dims: int) -> None:
    if len(shape) < dims:
        raise ValueError("Too few dimensions on input")


def _swap_tail(shape: Any, old: Any, new: Any) -> Any:
    _at_least(shape, len(old))
    cut = len(shape) - len(old)
    if shape[cut:] != old:
        raise ValueError(f"Shape mismatch: expected {shape[cut:]} but got {old}")
    return shape[:cut] + new


class ReshapeTransform(Transform):
    """Reshapes the last dimensions.

    >>> import penlight as torch
    >>> torch.distributions.ReshapeTransform((4,), (2, 2)).forward_shape(torch.Size((3, 4)))
    torch.Size([3, 2, 2])
    """

    bijective = True

    def __init__(self, in_shape: Any, out_shape: Any, cache_size: int = 0) -> None:
        self.in_shape, self.out_shape = Size(in_shape), Size(out_shape)
        if self.in_shape.numel() != self.out_shape.numel():
            raise ValueError("in_shape, out_shape have different numbers of elements")
        super().__init__(cache_size=cache_size)

    @constraints.dependent_property
    def domain(self) -> Any:
        return constraints.independent(constraints.real, len(self.in_shape))

    @constraints.dependent_property
    def codomain(self) -> Any:
        return constraints.independent(constraints.real, len(self.out_shape))

    def _rebuilt(self, cache_size: int) -> Any:
        return ReshapeTransform(self.in_shape, self.out_shape, cache_size=cache_size)

    def _call(self, x: Tensor) -> Tensor:
        return x.reshape(x.shape[: x.dim() - len(self.in_shape)] + self.out_shape)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.reshape(y.shape[: y.dim() - len(self.out_shape)] + self.in_shape)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x.new_zeros(x.shape[: x.dim() - len(self.in_shape)])

    def forward_shape(self, shape: Any) -> Any:
        return _swap_tail(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape: Any) -> Any:
        return _swap_tail(shape, self.out_shape, self.in_shape)


class CorrCholeskyTransform(Transform):
    """From D (D - 1) / 2 real numbers to the Cholesky factor of a D x D correlation matrix.

    Row by row, tanh of the numbers gives what share of the remaining length each entry takes.

    >>> import penlight as torch
    >>> torch.distributions.CorrCholeskyTransform()(torch.zeros(1))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x: Tensor) -> Tensor:
        eps = penlight.finfo(x.dtype).eps
        share = vec_to_tril_matrix(x.tanh().clamp(min=-1 + eps, max=1 - eps), diag=-1)
        remaining = (1 - share**2).sqrt().cumprod(-1)
        share = share + penlight.eye(share.shape[-1], dtype=share.dtype)
        return share * pad(remaining[..., :-1], [1, 0], value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        remaining = pad((1 - (y * y).cumsum(dim=-1))[..., :-1], [1, 0], value=1)
        share = tril_matrix_to_vec(y, diag=-1) / tril_matrix_to_vec(remaining, diag=-1).sqrt()
        return (share.log1p() - share.neg().log1p()) / 2

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor, intermediates: Any = None) -> Tensor:
        remaining = tril_matrix_to_vec(1 - (y * y).cumsum(dim=-1), diag=-2)
        return 0.5 * remaining.log().sum(-1) + log_tanh_slope(x).sum(dim=-1)

    def forward_shape(self, shape: Any) -> Any:
        _at_least(shape, 1)
        count = shape[-1]
        side = round((0.25 + 2 * count) ** 0.5 + 0.5)
        if side * (side - 1) // 2 != count:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return shape[:-1] + (side, side)

    def inverse_shape(self, shape: Any) -> Any:
        _at_least(shape, 2)
        if shape[-2] != shape[-1]:
            raise ValueError("Input is not square")
        return shape[:-2] + (shape[-1] * (shape[-1] - 1) // 2,)


class SoftmaxTransform(Plain):
    """y = exp(x) / sum(exp(x)), along the last dimension; not a bijection.

    >>> import penlight as torch
    >>> torch.distributions.SoftmaxTransform()(torch.zeros(2))
    tensor([0.5000, 0.5000])
    """

    domain = constraints.real_vector
    codomain = constraints.simplex

    def _call(self, x: Tensor) -> Tensor:
        weights = (x - x.max(-1, True)[0]).exp()
        return weights / weights.sum(-1, True)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def forward_shape(self, shape: Any) -> Any:
        _at_least(shape, 1)
        return shape

    inverse_shape = forward_shape


class StickBreakingTransform(Plain):
    """From n real numbers to n + 1 shares of a stick: each number says how much of the rest to break off.

    >>> import penlight as torch
    >>> torch.distributions.StickBreakingTransform()(torch.zeros(1))
    tensor([0.5000, 0.5000])
    """

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True

    @staticmethod
    def _log_offset(x: Tensor) -> Tensor:
        """log(n), ..., log(1): makes zeros break the stick into equal parts."""
        n = x.shape[-1]
        return (n + 1 - x.new_ones(n).cumsum(-1)).log()

    def _call(self, x: Tensor) -> Tensor:
        share = inside_unit((x - self._log_offset(x)).sigmoid())
        rest = (1 - share).cumprod(-1)
        return pad(share, [0, 1], value=1) * pad(rest, [1, 0], value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        front = y[..., :-1]
        rest = (1 - front.cumsum(-1)).clamp(min=penlight.finfo(y.dtype).tiny)
        return front.log() - rest.log() + self._log_offset(front)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        x = x - self._log_offset(x)
        return (-x + logsigmoid(x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        _at_least(shape, 1)
        return shape[:-1] + (shape[-1] + 1,)

    def inverse_shape(self, shape: Any) -> Any:
        _at_least(shape, 1)
        return shape[:-1] + (shape[-1] - 1,)


class LowerCholeskyTransform(Plain):
    """The lower triangle of a matrix, with the exponential of its diagonal.

    >>> import penlight as torch
    >>> torch.distributions.LowerCholeskyTransform()(torch.zeros(1, 1))
    tensor([[1.]])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def _call(self, x: Tensor) -> Tensor:
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(Plain):
    """L @ L.T, with L from `LowerCholeskyTransform`.

    >>> import penlight as torch
    >>> torch.distributions.PositiveDefiniteTransform()(torch.zeros(1, 1))
    tensor([[1.]])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def _call(self, x: Tensor) -> Tensor:
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT  # type: ignore[no-any-return]

    def _inverse(self, y: Tensor) -> Any:
        return LowerCholeskyTransform().inv(penlight.linalg.cholesky(y))
