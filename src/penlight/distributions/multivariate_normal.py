"""The multivariate normal distribution."""

from __future__ import annotations

import math
from typing import Any

import penlight

from ..size import Size
from ..tensor import Tensor
from . import constraints
from .distribution import Distribution
from .utils import formula, lazy_property

__all__ = ["MultivariateNormal"]


def _batch_mv(matrix: Tensor, vector: Tensor) -> Tensor:
    return (matrix @ vector.unsqueeze(-1)).squeeze(-1)


def _solve_lower(tril: Tensor, matrix: Tensor) -> Tensor:
    """tril^-1 matrix, over the batches of both."""
    batch = tuple(penlight.broadcast_shapes(tril.shape[:-2], matrix.shape[:-2]))
    tril, matrix = (m.expand(batch + tuple(m.shape[-2:])) for m in (tril, matrix))
    return penlight.linalg.solve_triangular(tril, matrix, upper=False)


def _batch_mahalanobis(factor: Tensor, x: Tensor) -> Tensor:
    """The squared length of factor^-1 x, over all batches of both."""
    if factor.dim() == 2:  # one factor for all: one system with many right sides
        rows = x.reshape(-1, x.shape[-1])
        return penlight.linalg.solve_triangular(factor, rows.mT, upper=False).pow(2).sum(-2).reshape(x.shape[:-1])
    return _solve_lower(factor, x.unsqueeze(-1)).squeeze(-1).pow(2).sum(-1)


def _half_log_det(factor: Tensor) -> Tensor:
    return factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def _inverse(factor: Tensor) -> Tensor:
    """L^-1 for a lower triangular L."""
    identity = penlight.eye(factor.shape[-1], dtype=factor.dtype).expand(factor.shape)
    return penlight.linalg.solve_triangular(factor, identity, upper=False)


def _inverse_of_gram(factor: Tensor) -> Tensor:
    """(L L^T)^-1 for a lower triangular L."""
    inverse = _inverse(factor)
    return inverse.mT @ inverse


def _precision_to_scale_tril(P: Tensor) -> Tensor:
    """Flipped both ways, the Cholesky factor of the precision becomes an upper one, whose inverse is lower."""
    flipped = penlight.linalg.cholesky(P.flip((-2, -1)))
    return _inverse(flipped.flip((-2, -1)).transpose(-2, -1))


# The ways to give a covariance, and how to get to the Cholesky factor of it.
_WAYS = {
    "scale_tril": lambda matrix: matrix,
    "covariance_matrix": lambda matrix: penlight.linalg.cholesky(matrix),
    "precision_matrix": _precision_to_scale_tril,
}


class _ByCovariance(Distribution):
    """Families with a covariance matrix, given by itself, by its inverse or by its Cholesky factor."""

    _unbroadcasted_scale_tril: Tensor

    def _given_way(self, error: type[Exception], *matrices: Tensor | None) -> tuple[str, Any]:
        """The one matrix that is given, of those in the order of `_WAYS`, and what it is."""
        given = [(way, matrix) for way, matrix in zip(_WAYS, matrices, strict=True) if matrix is not None]
        if len(given) != 1:
            raise error("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        return given[0]

    def _whole(self, matrix: Tensor) -> Tensor:
        n = self._event_shape[-1]
        return matrix.expand(tuple(self._batch_shape) + (n, n))

    @lazy_property
    def scale_tril(self) -> Any:
        return self._whole(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Any:
        return self._whole(self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT)

    @lazy_property
    def precision_matrix(self) -> Any:
        return self._whole(_inverse_of_gram(self._unbroadcasted_scale_tril))


class MultivariateNormal(_ByCovariance):
    """Normal vectors, by their mean and one of covariance, precision or Cholesky factor of the covariance.

    >>> import penlight as torch
    >>> torch.distributions.MultivariateNormal(torch.zeros(2), torch.eye(2)).log_prob(torch.zeros(2))
    tensor(-1.8379)
    """

    arg_constraints = _batched = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    _shared = ("_unbroadcasted_scale_tril",)
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self,
        loc: Tensor,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        way, matrix = self._given_way(ValueError, scale_tril, covariance_matrix, precision_matrix)
        if matrix.dim() < 2:
            what = "scale_tril matrix" if way == "scale_tril" else way
            raise ValueError(f"{what} must be at least two-dimensional, with optional leading batch dimensions")
        batch = penlight.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        setattr(self, way, matrix.expand(tuple(batch) + (-1, -1)))
        self.loc = loc.expand(tuple(batch) + (-1,))
        super().__init__(batch, self.loc.shape[-1:], validate_args=validate_args)
        self._unbroadcasted_scale_tril = _WAYS[way](matrix)

    mean = mode = formula(lambda d: d.loc)
    variance = formula(lambda d: d._unbroadcasted_scale_tril.pow(2).sum(-1).expand(d._extended_shape()))

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        noise = self._unfilled(sample_shape, self.loc.dtype).normal_()
        return self.loc + _batch_mv(self._unbroadcasted_scale_tril, noise)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        distance = _batch_mahalanobis(self._unbroadcasted_scale_tril, value - self.loc)
        constant = self._event_shape[0] * math.log(2 * math.pi)
        return -0.5 * (constant + distance) - _half_log_det(self._unbroadcasted_scale_tril)

    def entropy(self) -> Tensor:
        constant = 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi))
        return (constant + _half_log_det(self._unbroadcasted_scale_tril)).expand(self._batch_shape)
