"""The multivariate normal distribution."""

from __future__ import annotations

import math
from typing import Any

import penlight

from ..size import Size
from ..tensor import Tensor
from . import constraints
from .distribution import Distribution
from .utils import _standard_normal, lazy_property

__all__ = ["MultivariateNormal"]


_KINDS = ("scale_tril", "covariance_matrix", "precision_matrix")


def _batch_mv(matrix: Tensor, vector: Tensor) -> Tensor:
    return (matrix @ vector.unsqueeze(-1)).squeeze(-1)


def _batch_mahalanobis(factor: Tensor, x: Tensor) -> Tensor:
    """The squared length of factor^-1 x, over all batches of both."""
    if factor.dim() == 2:  # one factor for all: one system with many right sides
        rows = x.reshape(-1, x.shape[-1])
        return penlight.linalg.solve_triangular(factor, rows.mT, upper=False).pow(2).sum(-2).reshape(x.shape[:-1])
    batch = penlight.broadcast_shapes(factor.shape[:-2], x.shape[:-1])
    factor = factor.expand(tuple(batch) + tuple(factor.shape[-2:]))
    column = x.expand(tuple(batch) + (x.shape[-1],)).unsqueeze(-1)
    return penlight.linalg.solve_triangular(factor, column, upper=False).squeeze(-1).pow(2).sum(-1)


def _half_log_det(factor: Tensor) -> Tensor:
    return factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)


def _inverse_of_gram(factor: Tensor) -> Tensor:
    """(L L^T)^-1 for a lower triangular L."""
    identity = penlight.eye(factor.shape[-1], dtype=factor.dtype).expand(factor.shape)
    inverse = penlight.linalg.solve_triangular(factor, identity, upper=False)
    return inverse.mT @ inverse  # type: ignore[no-any-return]


def _scale_tril_of(kind: str, matrix: Tensor) -> Tensor:
    """The Cholesky factor of the covariance, from any of the three ways to give it."""
    if kind == "scale_tril":
        return matrix
    if kind == "covariance_matrix":
        return penlight.linalg.cholesky(matrix)  # type: ignore[no-any-return]
    # Flipped both ways, the Cholesky factor of the precision becomes an upper one, whose inverse is lower.
    flipped = penlight.linalg.cholesky(matrix.flip((-2, -1)))
    inverse = flipped.flip((-2, -1)).transpose(-2, -1)
    identity = penlight.eye(matrix.shape[-1], dtype=matrix.dtype).expand(matrix.shape)
    return penlight.linalg.solve_triangular(inverse, identity, upper=False)  # type: ignore[no-any-return]


def _precision_to_scale_tril(P: Tensor) -> Tensor:
    return _scale_tril_of("precision_matrix", P)


class MultivariateNormal(Distribution):
    """Normal vectors, by their mean and one of covariance, precision or Cholesky factor of the covariance.

    >>> import penlight as torch
    >>> torch.distributions.MultivariateNormal(torch.zeros(2), torch.eye(2)).log_prob(torch.zeros(2))
    tensor(-1.8379)
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    has_rsample = True
    _parameters = ("loc", "covariance_matrix", "scale_tril", "precision_matrix")
    _kept = ("_unbroadcasted_scale_tril",)

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
        given = dict(zip(_KINDS, (scale_tril, covariance_matrix, precision_matrix), strict=True))
        kinds = [kind for kind, matrix in given.items() if matrix is not None]
        if len(kinds) != 1:
            raise ValueError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        kind = kinds[0]
        matrix: Any = given[kind]
        if matrix.dim() < 2:
            what = "scale_tril matrix" if kind == "scale_tril" else kind
            raise ValueError(f"{what} must be at least two-dimensional, with optional leading batch dimensions")
        batch = penlight.broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        setattr(self, kind, matrix.expand(tuple(batch) + (-1, -1)))
        self.loc = loc.expand(tuple(batch) + (-1,))
        super().__init__(batch, self.loc.shape[-1:], validate_args=validate_args)
        self._unbroadcasted_scale_tril = _scale_tril_of(kind, matrix)

    def _whole(self, matrix: Tensor) -> Tensor:
        return matrix.expand(self._batch_shape + self._event_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Any:
        return self._whole(self._unbroadcasted_scale_tril)

    @lazy_property
    def covariance_matrix(self) -> Any:
        return self._whole(self._unbroadcasted_scale_tril @ self._unbroadcasted_scale_tril.mT)

    @lazy_property
    def precision_matrix(self) -> Any:
        return self._whole(_inverse_of_gram(self._unbroadcasted_scale_tril))

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return self._unbroadcasted_scale_tril.pow(2).sum(-1).expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        noise = _standard_normal(self._extended_shape(sample_shape), self.loc.dtype)
        return self.loc + _batch_mv(self._unbroadcasted_scale_tril, noise)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        distance = _batch_mahalanobis(self._unbroadcasted_scale_tril, value - self.loc)
        constant = self._event_shape[0] * math.log(2 * math.pi)
        return -0.5 * (constant + distance) - _half_log_det(self._unbroadcasted_scale_tril)

    def entropy(self) -> Tensor:
        constant = 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi))
        return (constant + _half_log_det(self._unbroadcasted_scale_tril)).expand(self._batch_shape)
