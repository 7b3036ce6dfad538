"""Divergences between members of different families.

Where q has the larger support, KL(p || q) = -entropy(p) - E_p[log q]: the expectation needs the mean, the variance,
the mean logarithm or the moment generating function of p. Elsewhere it is infinite.
"""

from __future__ import annotations

import math
from typing import Any

import penlight

from ..tensor import Tensor
from .bernoulli import Bernoulli
from .beta import Beta
from .binomial import Binomial
from .continuous_bernoulli import ContinuousBernoulli
from .exponential import Exponential
from .gamma import Gamma
from .gumbel import Gumbel
from .kl import register_kl
from .laplace import Laplace
from .normal import Normal
from .pareto import Pareto
from .poisson import Poisson
from .uniform import Uniform
from .utils import euler_constant


def _mean_log(p: Any) -> Tensor:
    """E[log x]."""
    if isinstance(p, Beta):
        return p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma()
    if isinstance(p, Exponential):
        return -euler_constant - p.rate.log()
    if isinstance(p, Pareto):
        return p.scale.log() + p.alpha.reciprocal()
    return _mean_log_between(p.low, p.high)


def _mean_log_between(low: Tensor, high: Tensor) -> Tensor:
    return (penlight.xlogy(high, high) - penlight.xlogy(low, low)) / (high - low) - 1


def _mean_exp(p: Any, t: Tensor) -> Tensor:
    """E[exp(-t x)]."""
    if isinstance(p, Exponential):
        return p.rate / (p.rate + t)
    if isinstance(p, Gamma):
        return (1 + t / p.rate).pow(-p.concentration)
    if isinstance(p, Normal):
        return (-p.loc * t + 0.5 * (p.scale * t).pow(2)).exp()
    return ((-t * p.low).exp() - (-t * p.high).exp()) / (t * (p.high - p.low))


def _without(result: Tensor, outside: Tensor) -> Tensor:
    """Infinite where p reaches outside of q's support."""
    return result.masked_fill(outside, math.inf)


@register_kl(Beta, Normal)
@register_kl(ContinuousBernoulli, Normal)
@register_kl(Exponential, Normal)
@register_kl(Gamma, Normal)
@register_kl(Gumbel, Normal)
@register_kl(Laplace, Normal)
@register_kl(Pareto, Normal)
@register_kl(Uniform, Normal)
def _to_normal(p: Any, q: Any) -> Tensor:
    spread = (p.variance + (p.mean - q.loc).pow(2)) / (2 * q.scale.pow(2))
    return -p.entropy() + q.scale.log() + 0.5 * math.log(2 * math.pi) + spread  # type: ignore[no-any-return]


@register_kl(Beta, Exponential)
@register_kl(ContinuousBernoulli, Exponential)
@register_kl(Gamma, Exponential)
@register_kl(Pareto, Exponential)
@register_kl(Uniform, Exponential)
def _to_exponential(p: Any, q: Any) -> Tensor:
    result = -p.entropy() - q.rate.log() + q.rate * p.mean
    return _without(result, p.low < 0) if isinstance(p, Uniform) else result  # type: ignore[no-any-return]


@register_kl(Beta, Gamma)
@register_kl(Exponential, Gamma)
@register_kl(Pareto, Gamma)
@register_kl(Uniform, Gamma)
def _to_gamma(p: Any, q: Any) -> Tensor:
    shape, rate = q.concentration, q.rate
    norm = shape.lgamma() - shape * rate.log()
    result = -p.entropy() + norm - (shape - 1) * _mean_log(p) + rate * p.mean
    return _without(result, p.low < 0) if isinstance(p, Uniform) else result  # type: ignore[no-any-return]


@register_kl(Exponential, Gumbel)
@register_kl(Gamma, Gumbel)
@register_kl(Normal, Gumbel)
@register_kl(Uniform, Gumbel)
def _to_gumbel(p: Any, q: Any) -> Tensor:
    shift = (p.mean - q.loc) / q.scale
    tail = (q.loc / q.scale).exp() * _mean_exp(p, q.scale.reciprocal())
    return -p.entropy() + q.scale.log() + shift + tail  # type: ignore[no-any-return]


@register_kl(Beta, ContinuousBernoulli)
@register_kl(Uniform, ContinuousBernoulli)
def _to_continuous_bernoulli(p: Any, q: Any) -> Tensor:
    result = -p.entropy() - p.mean * q.logits - (-q.probs).log1p() - q._cont_bern_log_norm()
    if isinstance(p, Uniform):
        return _without(result, (p.high >= 1) | (p.low <= 0))
    return result  # type: ignore[no-any-return]


@register_kl(Beta, Uniform)
def _beta_uniform(p: Any, q: Any) -> Tensor:
    return _without(-p.entropy() + (q.high - q.low).log(), (q.low > 0) | (q.high < 1))


@register_kl(ContinuousBernoulli, Uniform)
def _continuous_bernoulli_uniform(p: Any, q: Any) -> Tensor:
    # PyTorch's condition, which is infinite for intervals that hold all of [0, 1] from 0 on.
    return _without(-p.entropy() + (q.high - q.low).log(), (q.low >= 0) | (q.high <= 1))


@register_kl(Uniform, Beta)
def _uniform_beta(p: Any, q: Any) -> Tensor:
    a, b = q.concentration1, q.concentration0
    norm = a.lgamma() + b.lgamma() - (a + b).lgamma()
    logs = (a - 1) * _mean_log(p) + (b - 1) * _mean_log_between(1 - p.high, 1 - p.low)
    return _without(-p.entropy() + norm - logs, (p.high > 1) | (p.low < 0))


@register_kl(Uniform, Pareto)
def _uniform_pareto(p: Any, q: Any) -> Tensor:
    log_density = q.alpha.log() + q.alpha * q.scale.log() - (q.alpha + 1) * _mean_log(p)
    return _without(-p.entropy() - log_density, p.low < q.scale)


@register_kl(Normal, Laplace)
def _normal_laplace(p: Any, q: Any) -> Tensor:
    """By the mean of a folded normal variable."""
    shift = p.loc - q.loc
    z = shift / p.scale
    folded = math.sqrt(2 / math.pi) * p.scale * (-0.5 * z.pow(2)).exp() + shift * (math.sqrt(0.5) * z).erf()
    return -p.entropy() + (2 * q.scale).log() + folded / q.scale  # type: ignore[no-any-return]


@register_kl(Bernoulli, Poisson)
def _bernoulli_poisson(p: Any, q: Any) -> Tensor:
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)  # type: ignore[no-any-return]


# p, the parameter that has p's shape, and every q whose support does not hold p's.
_INFINITE: tuple[tuple[type, str, tuple[type, ...]], ...] = (
    (Beta, "concentration1", (Pareto,)),
    (ContinuousBernoulli, "probs", (Pareto,)),
    (Exponential, "rate", (Beta, ContinuousBernoulli, Pareto, Uniform)),
    (Gamma, "concentration", (Beta, ContinuousBernoulli, Pareto, Uniform)),
    (Gumbel, "loc", (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)),
    (Laplace, "loc", (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)),
    (Normal, "loc", (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)),
    (Pareto, "scale", (Beta, ContinuousBernoulli, Uniform)),
    (Poisson, "rate", (Bernoulli, Binomial)),
)


def _infinite(name: str) -> Any:
    return lambda p, q: penlight.full_like(getattr(p, name), math.inf)


for _p, _name, _qs in _INFINITE:
    for _q in _qs:
        register_kl(_p, _q)(_infinite(_name))
