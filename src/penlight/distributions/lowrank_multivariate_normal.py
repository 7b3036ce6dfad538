"""The multivariate normal distribution with a covariance of low rank plus a diagonal."""

from __future__ import annotations

import math
from typing import Any

import penlight

from ..size import Size
from ..tensor import Tensor
from . import constraints
from .distribution import Distribution
from .multivariate_normal import _batch_mahalanobis, _batch_mv, _half_log_det
from .utils import _standard_normal, formula, lazy_property

__all__ = ["LowRankMultivariateNormal"]


def _add_identity(matrix: Tensor) -> Tensor:
    return matrix + penlight.eye(matrix.shape[-1], dtype=matrix.dtype)


def _lowrank_logdet(diag: Tensor, capacitance_tril: Tensor) -> Tensor:
    """The log determinant of W W^T + diag, by the matrix determinant lemma."""
    return 2 * _half_log_det(capacitance_tril) + diag.log().sum(-1)


def _lowrank_mahalanobis(factor: Tensor, diag: Tensor, x: Tensor, capacitance_tril: Tensor) -> Tensor:
    """x^T (W W^T + diag)^-1 x, by the Woodbury identity."""
    projected = _batch_mv(factor.mT / diag.unsqueeze(-2), x)
    return (x.pow(2) / diag).sum(-1) - _batch_mahalanobis(capacitance_tril, projected)


class LowRankMultivariateNormal(Distribution):
    """Normal vectors with covariance cov_factor @ cov_factor.T + diag(cov_diag).

    >>> import penlight as torch
    >>> d = torch.distributions.LowRankMultivariateNormal(torch.zeros(2), torch.tensor([[1.0], [0.0]]), torch.ones(2))
    >>> d.variance
    tensor([2., 1.])
    """

    arg_constraints = _batched = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True
    _shared = ("_unbroadcasted_cov_factor", "_unbroadcasted_cov_diag", "_capacitance_tril")

    def __init__(self, loc: Tensor, cov_factor: Tensor, cov_diag: Tensor, validate_args: bool | None = None) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        event = loc.shape[-1:]
        if cov_factor.dim() < 2:
            raise ValueError("cov_factor must be at least two-dimensional, with optional leading batch dimensions")
        if cov_factor.shape[-2:-1] != event:
            raise ValueError(f"cov_factor must be a batch of matrices with shape {event[0]} x m")
        if cov_diag.shape[-1:] != event:
            raise ValueError(f"cov_diag must be a batch of vectors with shape {event}")
        try:
            mean, self.cov_factor, diag = penlight.broadcast_tensors(
                loc.unsqueeze(-1), cov_factor, cov_diag.unsqueeze(-1)
            )
        except RuntimeError as error:
            raise ValueError(
                f"Incompatible batch shapes: loc {loc.shape}, cov_factor {cov_factor.shape}, cov_diag {cov_diag.shape}"
            ) from error
        self.loc, self.cov_diag = mean[..., 0], diag[..., 0]
        self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag = cov_factor, cov_diag
        weighted = (cov_factor.mT / cov_diag.unsqueeze(-2)) @ cov_factor
        self._capacitance_tril = penlight.linalg.cholesky(_add_identity(weighted))
        super().__init__(self.loc.shape[:-1], event, validate_args=validate_args)

    def _whole(self, matrix: Tensor) -> Tensor:
        return matrix.expand(self._batch_shape + self._event_shape + self._event_shape)

    mean = mode = formula(lambda d: d.loc)

    @lazy_property
    def variance(self) -> Any:
        value = self._unbroadcasted_cov_factor.pow(2).sum(-1) + self._unbroadcasted_cov_diag
        return value.expand(self._batch_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Any:
        root = self._unbroadcasted_cov_diag.sqrt().unsqueeze(-1)
        scaled = self._unbroadcasted_cov_factor / root
        return self._whole(root * penlight.linalg.cholesky(_add_identity(scaled @ scaled.mT)))

    @lazy_property
    def covariance_matrix(self) -> Any:
        factor = self._unbroadcasted_cov_factor
        return self._whole(factor @ factor.mT + self._unbroadcasted_cov_diag.diag_embed())

    @lazy_property
    def precision_matrix(self) -> Any:
        weighted = self._unbroadcasted_cov_factor.mT / self._unbroadcasted_cov_diag.unsqueeze(-2)
        solved = penlight.linalg.solve_triangular(self._capacitance_tril, weighted, upper=False)
        return self._whole(self._unbroadcasted_cov_diag.reciprocal().diag_embed() - solved.mT @ solved)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        inner = _standard_normal(shape[:-1] + self.cov_factor.shape[-1:], self.loc.dtype)
        outer = _standard_normal(shape, self.loc.dtype)
        spread = _batch_mv(self._unbroadcasted_cov_factor, inner)
        return self.loc + spread + self._unbroadcasted_cov_diag.sqrt() * outer

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        factor, diag, tril = self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag, self._capacitance_tril
        distance = _lowrank_mahalanobis(factor, diag, value - self.loc, tril)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + _lowrank_logdet(diag, tril) + distance)

    def entropy(self) -> Tensor:
        log_det = _lowrank_logdet(self._unbroadcasted_cov_diag, self._capacitance_tril)
        return (0.5 * (self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + log_det)).expand(self._batch_shape)
