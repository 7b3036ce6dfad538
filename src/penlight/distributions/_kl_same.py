"""Divergences between members of one family, and between the two kinds of multivariate normal distribution."""

from __future__ import annotations

import math
from typing import Any

import penlight

from ..ops.nonlinear import softplus
from ..tensor import Tensor
from .bernoulli import Bernoulli
from .beta import Beta
from .binomial import Binomial
from .categorical import Categorical
from .cauchy import Cauchy
from .continuous_bernoulli import ContinuousBernoulli
from .dirichlet import Dirichlet
from .exp_family import ExponentialFamily
from .exponential import Exponential
from .gamma import Gamma
from .geometric import Geometric
from .gumbel import Gumbel
from .half_normal import HalfNormal
from .independent import Independent
from .kl import kl_divergence, register_kl
from .laplace import Laplace
from .lowrank_multivariate_normal import LowRankMultivariateNormal, _lowrank_logdet, _lowrank_mahalanobis
from .multivariate_normal import MultivariateNormal, _batch_mahalanobis, _half_log_det
from .normal import Normal
from .one_hot_categorical import OneHotCategorical
from .pareto import Pareto
from .poisson import Poisson
from .transformed_distribution import TransformedDistribution
from .uniform import Uniform
from .utils import _sum_rightmost, euler_constant


def _weighted(weight: Tensor, log_ratio: Tensor, none: Tensor) -> Tensor:
    """weight * log_ratio: infinite where the other gives no weight, and 0 where this one gives none."""
    return (weight * log_ratio).masked_fill(none, math.inf).masked_fill(weight == 0, 0)


# ----- Discrete -----------------------------------------------------------------------------------------------------


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p: Any, q: Any) -> Tensor:
    heads = _weighted(p.probs, softplus(-q.logits) - softplus(-p.logits), q.probs == 0)
    return heads + _weighted(1 - p.probs, softplus(q.logits) - softplus(p.logits), q.probs == 1)


@register_kl(Binomial, Binomial)
def _binomial(p: Any, q: Any) -> Tensor:
    if (p.total_count < q.total_count).any():
        raise NotImplementedError("KL between Binomials where q.total_count > p.total_count is not implemented")
    each = p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p()
    return (p.total_count * each).masked_fill(p.total_count > q.total_count, math.inf)  # type: ignore[no-any-return]


@register_kl(Categorical, Categorical)
def _categorical(p: Any, q: Any) -> Tensor:
    return _weighted(p.probs, p.logits - q.logits, q.probs == 0).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hot_categorical(p: Any, q: Any) -> Tensor:
    return _categorical(p._categorical, q._categorical)


@register_kl(Geometric, Geometric)
def _geometric(p: Any, q: Any) -> Tensor:
    return -p.entropy() - (-q.probs).log1p() / p.probs - q.logits  # type: ignore[no-any-return]


@register_kl(Poisson, Poisson)
def _poisson(p: Any, q: Any) -> Tensor:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)  # type: ignore[no-any-return]


# ----- Continuous ---------------------------------------------------------------------------------------------------


@register_kl(Beta, Beta)
def _beta(p: Any, q: Any) -> Tensor:
    return _dirichlet(p._dirichlet, q._dirichlet)


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p: Any, q: Any) -> Tensor:
    a, b = p.concentration, q.concentration
    total = a.sum(-1)
    norms = total.lgamma() - b.sum(-1).lgamma() - (a.lgamma() - b.lgamma()).sum(-1)
    return norms + ((a - b) * (a.digamma() - total.digamma().unsqueeze(-1))).sum(-1)  # type: ignore[no-any-return]


@register_kl(Cauchy, Cauchy)
def _cauchy(p: Any, q: Any) -> Tensor:
    above = (p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)
    return above.log() - (4 * p.scale * q.scale).log()  # type: ignore[no-any-return]


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _continuous_bernoulli(p: Any, q: Any) -> Tensor:
    norm_p = p._cont_bern_log_norm() + (-p.probs).log1p()
    norm_q = q._cont_bern_log_norm() + (-q.probs).log1p()
    return p.mean * (p.logits - q.logits) + norm_p - norm_q  # type: ignore[no-any-return]


@register_kl(Exponential, Exponential)
def _exponential(p: Any, q: Any) -> Tensor:
    ratio = q.rate / p.rate
    return -ratio.log() + ratio - 1  # type: ignore[no-any-return]


@register_kl(ExponentialFamily, ExponentialFamily)
def _exponential_family(p: Any, q: Any) -> Tensor:
    """The Bregman divergence of the log normalizer."""
    if type(p) is not type(q):
        raise NotImplementedError(
            "The cross KL-divergence between different exponential families cannot "
            "be computed using Bregman divergences"
        )
    normalizer, params, slopes = p._normalizer_and_slopes()
    others = q._natural_params
    result = q._log_normalizer(*others) - normalizer
    for param, other, slope in zip(params, others, slopes, strict=True):
        result = result - _sum_rightmost((other - param) * slope, len(q.event_shape))
    return result  # type: ignore[no-any-return]


@register_kl(Gamma, Gamma)
def _gamma(p: Any, q: Any) -> Tensor:
    a, b = p.concentration, q.concentration
    shapes = b.lgamma() - a.lgamma() + (a - b) * a.digamma()
    return b * (p.rate / q.rate).log() + shapes + (q.rate - p.rate) * (a / p.rate)  # type: ignore[no-any-return]


@register_kl(Gumbel, Gumbel)
def _gumbel(p: Any, q: Any) -> Tensor:
    ratio, shift = p.scale / q.scale, (p.loc - q.loc) / q.scale
    tail = ((1 + ratio).lgamma() - shift).exp()
    return -ratio.log() + shift + ratio * euler_constant + tail - (1 + euler_constant)  # type: ignore[no-any-return]


@register_kl(Normal, Normal)
def _normal(p: Any, q: Any) -> Tensor:
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())  # type: ignore[no-any-return]


@register_kl(HalfNormal, HalfNormal)
def _half_normal(p: Any, q: Any) -> Tensor:
    return _normal(p.base_dist, q.base_dist)


@register_kl(Laplace, Laplace)
def _laplace(p: Any, q: Any) -> Tensor:
    ratio, distance = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + distance / q.scale + ratio * (-distance / p.scale).exp() - 1  # type: ignore[no-any-return]


@register_kl(Pareto, Pareto)
def _pareto(p: Any, q: Any) -> Tensor:
    ratio = q.alpha / p.alpha
    result = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return result.masked_fill(p.scale < q.scale, math.inf)  # type: ignore[no-any-return]


@register_kl(Uniform, Uniform)
def _uniform(p: Any, q: Any) -> Tensor:
    result = ((q.high - q.low) / (p.high - p.low)).log()
    return result.masked_fill((q.low > p.low) | (q.high < p.high), math.inf)  # type: ignore[no-any-return]


# ----- Made from others ---------------------------------------------------------------------------------------------


@register_kl(Independent, Independent)
def _independent(p: Any, q: Any) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return _sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p: Any, q: Any) -> Tensor:
    """A bijection changes nothing, if it is the same."""
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError
    return kl_divergence(p.base_dist, q.base_dist)


# ----- Multivariate normal ------------------------------------------------------------------------------------------


def _log_det(d: Any) -> Tensor:
    if isinstance(d, MultivariateNormal):
        return 2 * _half_log_det(d._unbroadcasted_scale_tril)
    return _lowrank_logdet(d._unbroadcasted_cov_diag, d._capacitance_tril)


def _distance(q: Any, x: Tensor) -> Tensor:
    if isinstance(q, MultivariateNormal):
        return _batch_mahalanobis(q._unbroadcasted_scale_tril, x)
    return _lowrank_mahalanobis(q._unbroadcasted_cov_factor, q._unbroadcasted_cov_diag, x, q._capacitance_tril)


def _roots(p: Any) -> list[Tensor]:
    """Matrices R whose R R^T sum to the covariance."""
    if isinstance(p, MultivariateNormal):
        return [p._unbroadcasted_scale_tril]
    return [p._unbroadcasted_cov_factor, p._unbroadcasted_cov_diag.sqrt().diag_embed()]


def _squares(matrix: Tensor) -> Tensor:
    return matrix.pow(2).sum((-2, -1))


def _solve(tril: Tensor, matrix: Tensor) -> Tensor:
    batch = tuple(penlight.broadcast_shapes(tril.shape[:-2], matrix.shape[:-2]))
    tril = tril.expand(batch + tuple(tril.shape[-2:]))
    matrix = matrix.expand(batch + tuple(matrix.shape[-2:]))
    return penlight.linalg.solve_triangular(tril, matrix, upper=False)  # type: ignore[no-any-return]


def _trace(q: Any, root: Tensor) -> Tensor:
    """trace(cov_q^-1 R R^T)."""
    if isinstance(q, MultivariateNormal):
        return _squares(_solve(q._unbroadcasted_scale_tril, root))
    diag = q._unbroadcasted_cov_diag
    inner = _solve(q._capacitance_tril, q._unbroadcasted_cov_factor.mT / diag.unsqueeze(-2))
    return _squares(root * diag.rsqrt().unsqueeze(-1)) - _squares(inner @ root)


@register_kl(MultivariateNormal, MultivariateNormal)
@register_kl(MultivariateNormal, LowRankMultivariateNormal)
@register_kl(LowRankMultivariateNormal, MultivariateNormal)
@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def _multivariate_normal(p: Any, q: Any) -> Tensor:
    if p.event_shape != q.event_shape:
        kinds = {isinstance(d, MultivariateNormal) for d in (p, q)}
        kind = "(Low Rank) " if len(kinds) == 2 else "" if True in kinds else "Low Rank "
        gap = " " * 25  # PyTorch's message has the indentation of its source in it
        raise ValueError(
            f"KL-divergence between two {kind}Multivariate Normals with{gap}different event shapes cannot be computed"
        )
    trace = sum(_trace(q, root) for root in _roots(p))
    return 0.5 * (_log_det(q) - _log_det(p) + trace + _distance(q, q.loc - p.loc) - p.event_shape[0])
