"""Distributions of vectors and matrices."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import penlight
from penlight._common.user_warnings import warn_user

from ..size import Size
from ..tensor import Tensor
from . import constraints
from ._continuous import Beta, Chi2, Normal
from .distribution import Distribution, ExponentialFamily
from .transformed_distribution import TransformedDistribution
from .transforms import StickBreakingTransform
from .utils import _Number, _standard_normal, broadcast_all, formula, lazy_property

__all__ = ["LKJCholesky", "LogisticNormal", "LowRankMultivariateNormal", "MultivariateNormal", "Wishart"]


def _batch_mv(matrix: Tensor, vector: Tensor) -> Tensor:
    return (matrix @ vector.unsqueeze(-1)).squeeze(-1)


def _solve_lower(tril: Tensor, matrix: Tensor) -> Tensor:
    """tril^-1 @ matrix, with broadcast batch dimensions."""
    batch = tuple(penlight.broadcast_shapes(tril.shape[:-2], matrix.shape[:-2]))
    tril, matrix = (m.expand(batch + tuple(m.shape[-2:])) for m in (tril, matrix))
    return penlight.linalg.solve_triangular(tril, matrix, upper=False)


def _batch_mahalanobis(factor: Tensor, x: Tensor) -> Tensor:
    """The squared norm of factor^-1 x, with broadcast batch dimensions."""
    if factor.dim() == 2:  # one shared factor: one solve with many right-hand sides
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
    """The Cholesky factor of the covariance from the precision: flip the precision, factor, flip back to an upper factor, and invert it."""
    flipped = penlight.linalg.cholesky(P.flip((-2, -1)))
    return _inverse(flipped.flip((-2, -1)).transpose(-2, -1))


# The parameters that can specify a covariance, and how to compute its Cholesky factor from each.
_WAYS = {
    "scale_tril": lambda matrix: matrix,
    "covariance_matrix": lambda matrix: penlight.linalg.cholesky(matrix),
    "precision_matrix": _precision_to_scale_tril,
}


class _ByCovariance(Distribution):
    """Families with a covariance matrix, specified directly, by its inverse or by its Cholesky factor."""

    _unbroadcasted_scale_tril: Tensor

    def _given_way(self, error: type[Exception], *matrices: Tensor | None) -> tuple[str, Any]:
        """The one matrix that is given, of those in the order of `_WAYS`, and its name."""
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


class MultivariateNormal(_ByCovariance,
        example=("(torch.zeros(2), torch.eye(2)).log_prob(torch.zeros(2))", "tensor(-1.8379)")):  # fmt: skip
    """Multivariate normal distributions, by a mean and the covariance, its inverse (precision) or its Cholesky factor."""

    arg_constraints = _batched = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    _shared = ("_unbroadcasted_scale_tril",)
    support = constraints.real_vector
    has_rsample = True

    def __init__(self, loc: Tensor, covariance_matrix: Tensor | None = None, precision_matrix: Tensor | None = None,
                 scale_tril: Tensor | None = None, validate_args: bool | None = None) -> None:  # fmt: skip
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
    variance = formula(lambda d: d._unbroadcasted_scale_tril.pow(2).sum(-1).expand(d._batch_shape + d._event_shape))

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
    """Multivariate normal distributions with covariance cov_factor @ cov_factor.T + diag(cov_diag).

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


def _mvdigamma(x: Tensor, p: int) -> Tensor:
    return (x.unsqueeze(-1) - penlight.arange(p, dtype=x.dtype) / 2).digamma().sum(-1)


class Wishart(_ByCovariance, ExponentialFamily):
    """Random positive definite matrices: sums of outer products of `df` normal vectors.

    >>> torch.distributions.Wishart(3.0, torch.eye(2)).mean
    tensor([[3., 0.],
            [0., 3.]])
    """

    support = constraints.positive_definite
    has_rsample = True
    _batched = ("df", "covariance_matrix", "scale_tril", "precision_matrix")

    def __init__(self, df: Any, covariance_matrix: Tensor | None = None, precision_matrix: Tensor | None = None,
                 scale_tril: Tensor | None = None, validate_args: bool | None = None) -> None:  # fmt: skip
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
            warn_user("Low df values detected. Singular samples are highly likely to occur for ndim - 1 < df < ndim.")
        super().__init__(batch, event, validate_args=validate_args)
        self._unbroadcasted_scale_tril = _WAYS[way](matrix)
        self._dist_chi2 = self._chi2()

    def _chi2(self) -> Chi2:
        n = self._event_shape[-1]
        steps = penlight.arange(n, dtype=self._unbroadcasted_scale_tril.dtype)
        return Chi2(df=self.df.unsqueeze(-1) - steps.expand(tuple(self._batch_shape) + (n,)))

    def _expand_into(self, new: Any, batched: Iterable[str]) -> None:
        super()._expand_into(new, batched)
        if not self.df.dim() and self._batch_shape:  # a scalar for a batch of matrices
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
        # PyTorch draws again whenever the first check *succeeds*; we do the same, so that the random stream agrees.
        again = self._over_batch(self.support.check(sample))
        if again.any():
            warn_user("Singular sample detected.")
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


class LKJCholesky(Distribution, example=("(3).event_shape", "torch.Size([3, 3])")):
    """Cholesky factors of random correlation matrices; uniform over the matrices for a concentration of 1."""

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky
    _batched = ("concentration", "_beta")
    _shared = ("dim",)

    def __init__(self, dim: int, concentration: Any = 1.0, validate_args: bool | None = None) -> None:
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        marginal = self.concentration + 0.5 * (dim - 2)
        offset = (penlight.arange(dim, dtype=self.concentration.dtype) - 1).clamp(min=0)  # 0, 0, 1, 2, ...
        self._beta = Beta(offset + 0.5, marginal.unsqueeze(-1) - 0.5 * offset)
        super().__init__(self.concentration.size(), Size((dim, dim)), validate_args)

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        """Draw samples by the onion method: each row is a point in a ball with a beta-distributed squared radius."""
        with penlight.no_grad():
            radius = self._beta.sample(sample_shape).unsqueeze(-1)
            below = penlight.randn(self._extended_shape(sample_shape), dtype=radius.dtype).tril(-1)
            direction = below / below.norm(dim=-1, keepdim=True)
            direction[..., 0, :].fill_(0.0)  # the first row has no entries below the diagonal
            factor = radius.sqrt() * direction
            rest = (1 - (factor**2).sum(dim=-1)).clamp(min=penlight.finfo(factor.dtype).tiny)
            return factor + rest.sqrt().diag_embed()

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        order = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - penlight.arange(2, self.dim + 1)
        steps = self.dim - 1
        alpha = self.concentration + 0.5 * steps
        norm = 0.5 * steps * math.log(math.pi) + penlight.mvlgamma(alpha - 0.5, steps) - alpha.lgamma() * steps
        return (order * diagonal.log()).sum(dim=-1) - norm


class LogisticNormal(TransformedDistribution,
                     example=("(torch.zeros(2), torch.ones(2)).event_shape", "torch.Size([3])")):  # fmt: skip
    """Distributions over the simplex: stick breaking of a normal vector."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.simplex
    has_rsample = True
    base_dist: Any
    _batched = ()

    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        if not base.batch_shape:
            base = base.expand([1])
        super().__init__(base, StickBreakingTransform(), validate_args=validate_args)

    loc = formula(lambda d: d.base_dist.base_dist.loc)
    scale = formula(lambda d: d.base_dist.base_dist.scale)
