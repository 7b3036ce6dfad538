"""Kullback-Leibler divergences: a registry by pairs of families, its dispatch, and the closed forms.

Between different families, where q has the larger support, KL(p || q) = -entropy(p) - E_p[log q]: the expectation needs
the mean, the variance, the mean logarithm or the moment generating function of p. Elsewhere it is infinite.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import penlight
from penlight._common.user_warnings import warn_user

from ..ops.nn.smooth_activation import softplus
from ..tensor import Tensor
from ._continuous import (
    Beta,
    Cauchy,
    Dirichlet,
    Exponential,
    Gamma,
    Gumbel,
    HalfNormal,
    Laplace,
    Normal,
    Pareto,
    Uniform,
)
from ._discrete import Bernoulli, Binomial, Categorical, ContinuousBernoulli, Geometric, OneHotCategorical, Poisson
from ._multivariate import (
    LowRankMultivariateNormal,
    MultivariateNormal,
    _batch_mahalanobis,
    _half_log_det,
    _lowrank_logdet,
    _lowrank_mahalanobis,
    _solve_lower,
)
from .distribution import Distribution, ExponentialFamily
from .transformed_distribution import Independent, TransformedDistribution
from .utils import _sum_rightmost, euler_constant

__all__ = ["kl_divergence", "register_kl"]

_KL_REGISTRY: dict[tuple[type, type], Callable[..., Any]] = {}
_KL_MEMOIZE: dict[tuple[type, type], Callable[..., Any] | None] = {}


def register_kl(type_p: Any, type_q: Any) -> Callable[[Any], Any]:
    """Registers a function as the divergence between two families (and their subclasses).

    >>> class Mine(torch.distributions.Normal): ...
    >>> @torch.distributions.register_kl(Mine, Mine)
    ... def divergence(p, q):
    ...     return torch.zeros(())
    >>> torch.distributions.kl_divergence(Mine(0.0, 1.0), Mine(1.0, 1.0))
    tensor(0.)
    """
    # Any class is accepted, as in PyTorch: Pyro's base class is not derived from ours.
    for name, kind in (("type_p", type_p), ("type_q", type_q)):
        if not isinstance(kind, type):
            raise TypeError(f"Expected {name} to be a Distribution subclass but got {kind}")

    def registered(formula: Any) -> Any:
        _KL_REGISTRY[type_p, type_q] = formula
        _KL_MEMOIZE.clear()  # another pair may now match better
        return formula

    return registered


def _closest(matches: list[tuple[type, type]], first: int) -> tuple[type, type]:
    """The most specific match, by one argument first and then the other."""

    def closer(best: tuple[type, type], match: tuple[type, type]) -> tuple[type, type]:
        side = first if match[first] is not best[first] else 1 - first
        return match if issubclass(match[side], best[side]) else best

    return functools.reduce(closer, matches)


def _dispatch_kl(type_p: type, type_q: type) -> Callable[..., Any] | None:
    matches = [(p, q) for p, q in _KL_REGISTRY if issubclass(type_p, p) and issubclass(type_q, q)]
    if not matches:
        return None
    left, right = _closest(matches, 0), _closest(matches, 1)
    if _KL_REGISTRY[left] is not _KL_REGISTRY[right]:
        warn_user(
            f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). "
            f"Please register_kl({left[0].__name__}, {right[1].__name__})",
            RuntimeWarning,
        )
    return _KL_REGISTRY[left]


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """The Kullback-Leibler divergence KL(p || q), for each member of the batch.

    >>> D = torch.distributions
    >>> D.kl_divergence(D.Normal(0.0, 1.0), D.Normal(1.0, 1.0))
    tensor(0.5000)
    """
    pair = type(p), type(q)
    if pair not in _KL_MEMOIZE:
        _KL_MEMOIZE[pair] = _dispatch_kl(*pair)
    formula = _KL_MEMOIZE[pair]
    if formula is None:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}"
        )
    return formula(p, q)


# ----- Within a family ----------------------------------------------------------------------------------------------


def _weighted(weight: Tensor, log_ratio: Tensor, none: Tensor) -> Tensor:
    """weight * log_ratio: infinite where the other weight is 0, and 0 where this weight is 0."""
    return (weight * log_ratio).masked_fill(none, math.inf).masked_fill(weight == 0, 0)


def _bernoulli(p: Any, q: Any) -> Tensor:
    heads = _weighted(p.probs, softplus(-q.logits) - softplus(-p.logits), q.probs == 0)
    return heads + _weighted(1 - p.probs, softplus(q.logits) - softplus(p.logits), q.probs == 1)


def _binomial(p: Any, q: Any) -> Tensor:
    if (p.total_count < q.total_count).any():
        raise NotImplementedError("KL between Binomials where q.total_count > p.total_count is not implemented")
    each = p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p()
    return (p.total_count * each).masked_fill(p.total_count > q.total_count, math.inf)


def _dirichlet(p: Any, q: Any) -> Tensor:
    a, b = p.concentration, q.concentration
    total = a.sum(-1)
    norms = total.lgamma() - b.sum(-1).lgamma() - (a.lgamma() - b.lgamma()).sum(-1)
    return norms + ((a - b) * (a.digamma() - total.digamma().unsqueeze(-1))).sum(-1)


def _continuous_bernoulli(p: Any, q: Any) -> Tensor:
    norm_p, norm_q = (d._cont_bern_log_norm() + (-d.probs).log1p() for d in (p, q))
    return p.mean * (p.logits - q.logits) + norm_p - norm_q


def _exponential(p: Any, q: Any) -> Tensor:
    ratio = q.rate / p.rate
    return -ratio.log() + ratio - 1


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
    return result


def _gamma(p: Any, q: Any) -> Tensor:
    a, b = p.concentration, q.concentration
    shapes = b.lgamma() - a.lgamma() + (a - b) * a.digamma()
    return b * (p.rate / q.rate).log() + shapes + (q.rate - p.rate) * (a / p.rate)


def _gumbel(p: Any, q: Any) -> Tensor:
    ratio, shift = p.scale / q.scale, (p.loc - q.loc) / q.scale
    tail = ((1 + ratio).lgamma() - shift).exp()
    return -ratio.log() + shift + ratio * euler_constant + tail - (1 + euler_constant)


def _normal(p: Any, q: Any) -> Tensor:
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


def _laplace(p: Any, q: Any) -> Tensor:
    ratio, distance = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + distance / q.scale + ratio * (-distance / p.scale).exp() - 1


def _pareto(p: Any, q: Any) -> Tensor:
    ratio = q.alpha / p.alpha
    result = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return _infinite_if(p.scale < q.scale, result)


def _uniform(p: Any, q: Any) -> Tensor:
    return _infinite_if((q.low > p.low) | (q.high < p.high), ((q.high - q.low) / (p.high - p.low)).log())


def _independent(p: Any, q: Any) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return _sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


def _transformed(p: Any, q: Any) -> Tensor:
    """The divergence of the bases: applying the same bijection to both does not change it."""
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError
    return kl_divergence(p.base_dist, q.base_dist)


# ----- Multivariate normal, with covariances in full or of low rank -----------------------------------------------------


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


def _trace(q: Any, root: Tensor) -> Tensor:
    """trace(cov_q^-1 R R^T)."""
    if isinstance(q, MultivariateNormal):
        return _squares(_solve_lower(q._unbroadcasted_scale_tril, root))
    diag = q._unbroadcasted_cov_diag
    inner = _solve_lower(q._capacitance_tril, q._unbroadcasted_cov_factor.mT / diag.unsqueeze(-2))
    return _squares(root * diag.rsqrt().unsqueeze(-1)) - _squares(inner @ root)


def _multivariate_normal(p: Any, q: Any) -> Tensor:
    if p.event_shape != q.event_shape:
        kinds = {isinstance(d, MultivariateNormal) for d in (p, q)}
        kind = "(Low Rank) " if len(kinds) == 2 else "" if True in kinds else "Low Rank "
        gap = " " * 25  # PyTorch's message contains the indentation of its source
        raise ValueError(
            f"KL-divergence between two {kind}Multivariate Normals with{gap}different event shapes cannot be computed"
        )
    trace = sum(_trace(q, root) for root in _roots(p))
    return 0.5 * (_log_det(q) - _log_det(p) + trace + _distance(q, q.loc - p.loc) - p.event_shape[0])


# ----- Between families ---------------------------------------------------------------------------------------------


def _infinite_if(outside: Tensor, result: Tensor) -> Tensor:
    """Replace the divergence by infinity where p's support is not within q's."""
    return result.masked_fill(outside, math.inf)


def _mean_log_between(low: Tensor, high: Tensor) -> Tensor:
    """E[log x] of a uniform x."""
    return (penlight.xlogy(high, high) - penlight.xlogy(low, low)) / (high - low) - 1


# E[log x].
_MEAN_LOG: dict[type, Callable[[Any], Tensor]] = {
    Beta: lambda p: p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma(),
    Exponential: lambda p: -euler_constant - p.rate.log(),
    Pareto: lambda p: p.scale.log() + p.alpha.reciprocal(),
    Uniform: lambda p: _mean_log_between(p.low, p.high),
}
# E[exp(-t x)].
_MEAN_EXP: dict[type, Callable[[Any, Tensor], Tensor]] = {
    Exponential: lambda p, t: p.rate / (p.rate + t),
    Gamma: lambda p, t: (1 + t / p.rate).pow(-p.concentration),
    Normal: lambda p, t: (-p.loc * t + 0.5 * (p.scale * t).pow(2)).exp(),
    Uniform: lambda p, t: ((-t * p.low).exp() - (-t * p.high).exp()) / (t * (p.high - p.low)),
}


def _of_family(table: dict[type, Any], p: Any) -> Any:
    return next(formula for family, formula in table.items() if isinstance(p, family))


def _to_normal(p: Any, q: Any) -> Tensor:
    spread = (p.variance + (p.mean - q.loc).pow(2)) / (2 * q.scale.pow(2))
    return -p.entropy() + q.scale.log() + 0.5 * math.log(2 * math.pi) + spread


def _to_exponential(p: Any, q: Any) -> Tensor:
    result = -p.entropy() - q.rate.log() + q.rate * p.mean
    return _infinite_if(p.low < 0, result) if isinstance(p, Uniform) else result


def _to_gamma(p: Any, q: Any) -> Tensor:
    shape, rate = q.concentration, q.rate
    norm = shape.lgamma() - shape * rate.log()
    result = -p.entropy() + norm - (shape - 1) * _of_family(_MEAN_LOG, p)(p) + rate * p.mean
    return _infinite_if(p.low < 0, result) if isinstance(p, Uniform) else result


def _to_gumbel(p: Any, q: Any) -> Tensor:
    shift = (p.mean - q.loc) / q.scale
    tail = (q.loc / q.scale).exp() * _of_family(_MEAN_EXP, p)(p, q.scale.reciprocal())
    return -p.entropy() + q.scale.log() + shift + tail


def _to_continuous_bernoulli(p: Any, q: Any) -> Tensor:
    result = -p.entropy() - p.mean * q.logits - (-q.probs).log1p() - q._cont_bern_log_norm()
    return _infinite_if((p.high >= 1) | (p.low <= 0), result) if isinstance(p, Uniform) else result


def _to_uniform(p: Any, q: Any, outside: Tensor) -> Tensor:
    return _infinite_if(outside, -p.entropy() + (q.high - q.low).log())


def _uniform_beta(p: Any, q: Any) -> Tensor:
    a, b = q.concentration1, q.concentration0
    norm = a.lgamma() + b.lgamma() - (a + b).lgamma()
    logs = (a - 1) * _mean_log_between(p.low, p.high) + (b - 1) * _mean_log_between(1 - p.high, 1 - p.low)
    return _infinite_if((p.high > 1) | (p.low < 0), -p.entropy() + norm - logs)


def _uniform_pareto(p: Any, q: Any) -> Tensor:
    log_density = q.alpha.log() + q.alpha * q.scale.log() - (q.alpha + 1) * _mean_log_between(p.low, p.high)
    return _infinite_if(p.low < q.scale, -p.entropy() - log_density)


def _normal_laplace(p: Any, q: Any) -> Tensor:
    """The divergence, by the mean of a folded normal variable."""
    shift = p.loc - q.loc
    z = shift / p.scale
    folded = math.sqrt(2 / math.pi) * p.scale * (-0.5 * z.pow(2)).exp() + shift * (math.sqrt(0.5) * z).erf()
    return -p.entropy() + (2 * q.scale).log() + folded / q.scale


# ----- The table ----------------------------------------------------------------------------------------------------

_TABLE: dict[tuple[type, type], Callable[[Any, Any], Any]] = {
    (Bernoulli, Bernoulli): _bernoulli,
    (Bernoulli, Poisson): lambda p, q: -p.entropy() - (p.probs * q.rate.log() - q.rate),
    (Beta, Beta): lambda p, q: _dirichlet(p._dirichlet, q._dirichlet),
    (Beta, Uniform): lambda p, q: _to_uniform(p, q, (q.low > 0) | (q.high < 1)),
    (Binomial, Binomial): _binomial,
    (Categorical, Categorical): lambda p, q: _weighted(p.probs, p.logits - q.logits, q.probs == 0).sum(-1),
    (Cauchy, Cauchy): lambda p, q: (
        ((p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)).log() - (4 * p.scale * q.scale).log()
    ),
    (ContinuousBernoulli, ContinuousBernoulli): _continuous_bernoulli,
    # PyTorch's condition: infinite even for an interval that starts at 0 and contains [0, 1].
    (ContinuousBernoulli, Uniform): lambda p, q: _to_uniform(p, q, (q.low >= 0) | (q.high <= 1)),
    (Dirichlet, Dirichlet): _dirichlet,
    (Exponential, Exponential): _exponential,
    (ExponentialFamily, ExponentialFamily): _exponential_family,
    (Gamma, Gamma): _gamma,
    (Geometric, Geometric): lambda p, q: -p.entropy() - (-q.probs).log1p() / p.probs - q.logits,
    (Gumbel, Gumbel): _gumbel,
    (HalfNormal, HalfNormal): lambda p, q: _normal(p.base_dist, q.base_dist),
    (Independent, Independent): _independent,
    (Laplace, Laplace): _laplace,
    (Normal, Laplace): _normal_laplace,
    (Normal, Normal): _normal,
    (OneHotCategorical, OneHotCategorical): lambda p, q: kl_divergence(p._categorical, q._categorical),
    (Pareto, Pareto): _pareto,
    (Poisson, Poisson): lambda p, q: p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate),
    (TransformedDistribution, TransformedDistribution): _transformed,
    (Uniform, Beta): _uniform_beta,
    (Uniform, Pareto): _uniform_pareto,
    (Uniform, Uniform): _uniform,
    **{
        (p, q): formula
        for formula, q, ps in (
            (_to_normal, Normal, (Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Laplace, Pareto, Uniform)),
            (_to_exponential, Exponential, (Beta, ContinuousBernoulli, Gamma, Pareto, Uniform)),
            (_to_gamma, Gamma, (Beta, Exponential, Pareto, Uniform)),
            (_to_gumbel, Gumbel, (Exponential, Gamma, Normal, Uniform)),
            (_to_continuous_bernoulli, ContinuousBernoulli, (Beta, Uniform)),
        )
        for p in ps
    },
    **{
        (p, q): _multivariate_normal
        for p in (MultivariateNormal, LowRankMultivariateNormal)
        for q in (MultivariateNormal, LowRankMultivariateNormal)
    },
}
_KL_REGISTRY.update(_TABLE)


def _infinite(name: str) -> Callable[[Any, Any], Tensor]:
    return lambda p, q: penlight.full_like(getattr(p, name), math.inf)


# p, the parameter with p's shape, and every q whose support does not contain p's.
_BOUNDED = (Beta, ContinuousBernoulli, Pareto, Uniform)
_REAL = (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)
for _p, _name, _qs in (
    (Beta, "concentration1", (Pareto,)),
    (ContinuousBernoulli, "probs", (Pareto,)),
    (Exponential, "rate", _BOUNDED),
    (Gamma, "concentration", _BOUNDED),
    (Gumbel, "loc", _REAL),
    (Laplace, "loc", _REAL),
    (Normal, "loc", _REAL),
    (Pareto, "scale", (Beta, ContinuousBernoulli, Uniform)),
    (Poisson, "rate", (Bernoulli, Binomial)),
):
    _KL_REGISTRY.update({(_p, _q): _infinite(_name) for _q in _qs})
