"""The Wishart distribution."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from typing import Any

import penlight

from ..size import Size
from ..tensor import Tensor
from . import constraints
from .chi2 import Chi2
from .exp_family import ExponentialFamily
from .multivariate_normal import _WAYS, _ByCovariance, _half_log_det, _inverse_of_gram
from .utils import _Number, formula

__all__ = ["Wishart"]


def _mvdigamma(x: Tensor, p: int) -> Tensor:
    return (x.unsqueeze(-1) - penlight.arange(p, dtype=x.dtype) / 2).digamma().sum(-1)


class Wishart(_ByCovariance, ExponentialFamily):
    """Random positive definite matrices: sums of outer products of `df` normal vectors.

    >>> import penlight as torch
    >>> torch.distributions.Wishart(3.0, torch.eye(2)).mean
    tensor([[3., 0.],
            [0., 3.]])
    """

    support = constraints.positive_definite
    has_rsample = True
    _batched = ("df", "covariance_matrix", "scale_tril", "precision_matrix")

    def __init__(
        self,
        df: Any,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        way, matrix = self._given_way(AssertionError, scale_tril, covariance_matrix, precision_matrix)
        if matrix.dim() < 2:
            raise ValueError("scale_tril must be at least two-dimensional, with optional leading batch dimensions")
        if isinstance(df, _Number):
            batch = matrix.shape[:-2]
            self.df = penlight.tensor(df, dtype=matrix.dtype)
        else:
            batch = penlight.broadcast_shapes(matrix.shape[:-2], df.shape)
            self.df = df.expand(batch)
        event = matrix.shape[-2:]
        if self.df.le(event[-1] - 1).any():
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {event[-1] - 1}.")
        setattr(self, way, matrix.expand(tuple(batch) + (-1, -1)))
        if self.df.lt(event[-1]).any():
            warnings.warn(
                "Low df values detected. Singular samples are highly likely to occur for ndim - 1 < df < ndim.",
                stacklevel=2,
            )
        super().__init__(batch, event, validate_args=validate_args)
        self._unbroadcasted_scale_tril = _WAYS[way](matrix)
        self._dist_chi2 = self._chi2()

    def _chi2(self) -> Chi2:
        n = self._event_shape[-1]
        steps = penlight.arange(n, dtype=self._unbroadcasted_scale_tril.dtype)
        return Chi2(df=self.df.unsqueeze(-1) - steps.expand(tuple(self._batch_shape) + (n,)))

    def _expand_into(self, new: Any, batched: Iterable[str]) -> None:
        super()._expand_into(new, batched)
        if not self.df.dim() and self._batch_shape:  # a number for a batch of matrices
            new.df = self.df.expand(new._batch_shape)
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril.expand(new._batch_shape + self._event_shape)
        new._dist_chi2 = new._chi2()

    @property
    def arg_constraints(self) -> Any:
        return {
            "covariance_matrix": constraints.positive_definite,
            "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky,
            "df": constraints.greater_than(self.event_shape[-1] - 1),
        }

    def _times_covariance(self, factor: Tensor) -> Tensor:
        return factor.view(tuple(self._batch_shape) + (1, 1)) * self.covariance_matrix

    mean = formula(lambda d: d._times_covariance(d.df))

    @property
    def mode(self) -> Tensor:
        factor = self.df - self._event_shape[-1] - 1
        return self._times_covariance(factor.masked_fill(factor <= 0, math.nan))

    @property
    def variance(self) -> Tensor:
        cov = self.covariance_matrix
        diag = cov.diagonal(dim1=-2, dim2=-1)
        spread = cov.pow(2) + diag.unsqueeze(-1) * diag.unsqueeze(-2)
        return self.df.view(tuple(self._batch_shape) + (1, 1)) * spread

    def _bartlett(self, sample_shape: Any) -> Tensor:
        """Bartlett's decomposition: chi variables on the diagonal, normal ones below it."""
        n = self._event_shape[-1]
        root = self._dist_chi2.rsample(sample_shape).sqrt()
        noise = root.clamp(min=penlight.finfo(root.dtype).eps).diag_embed(dim1=-2, dim2=-1)
        row, column = penlight.tril_indices(n, n, offset=-1)
        below = tuple(sample_shape) + tuple(self._batch_shape) + (n * (n - 1) // 2,)
        noise[..., row, column] = penlight.randn(below, dtype=noise.dtype)
        factor = self._unbroadcasted_scale_tril @ noise
        return factor @ factor.mT

    def rsample(self, sample_shape: Any = Size(), max_try_correction: int | None = None) -> Tensor:
        sample_shape = Size(sample_shape)
        sample = self._bartlett(sample_shape)
        # PyTorch draws again whenever the first check *succeeds*; the stream follows it.
        again = self._over_batch(self.support.check(sample))
        if again.any():
            warnings.warn("Singular sample detected.", stacklevel=2)
            for _ in range(10 if max_try_correction is None else max_try_correction):
                fresh = self._bartlett(again[again].shape)
                sample[again] = fresh
                again[again.clone()] = self._over_batch(~self.support.check(fresh))
                if not again.any():
                    break
        return sample

    def _over_batch(self, flags: Tensor) -> Tensor:
        return flags.amax([-1 - d for d in range(len(self._batch_shape))]) if self._batch_shape else flags

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        nu, n, tril = self.df, self._event_shape[-1], self._unbroadcasted_scale_tril
        norm = nu * (n * math.log(2) / 2 + _half_log_det(tril)) + penlight.mvlgamma(nu / 2, p=n)
        trace = (_inverse_of_gram(tril) @ value).diagonal(dim1=-2, dim2=-1).sum(dim=-1)
        return -norm + (nu - n - 1) / 2 * penlight.linalg.slogdet(value).logabsdet - trace / 2

    def entropy(self) -> Tensor:
        nu, n = self.df, self._event_shape[-1]
        size = (n + 1) * (n * math.log(2) / 2 + _half_log_det(self._unbroadcasted_scale_tril))
        return size + penlight.mvlgamma(nu / 2, p=n) - (nu - n - 1) / 2 * _mvdigamma(nu / 2, n) + nu * n / 2

    _mean_carrier_measure = 0
    _natural_params = property(lambda d: (-d.precision_matrix / 2, (d.df - d._event_shape[-1] - 1) / 2))

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:
        n = self._event_shape[-1]
        half = y + (n + 1) / 2
        log_det = penlight.linalg.slogdet(-2 * x).logabsdet
        return half * (-log_det + math.log(2) * n) + penlight.mvlgamma(half, p=n)
