"""Univariate continuous distributions, and the Dirichlet distribution, whose first component is beta-distributed."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import penlight

from ..ops.nn.embedding import one_hot
from ..size import Size
from ..tensor import Tensor
from . import constraints
from ._grads import _sample_dirichlet, _standard_gamma
from .distribution import Distribution, ExponentialFamily
from .transformed_distribution import TransformedDistribution
from .transforms import AbsTransform, AffineTransform, ExpTransform, PowerTransform
from .utils import _Number, broadcast_all, checked, euler_constant, formula, lazy_property, method

__all__ = [
    "Beta", "Cauchy", "Chi2", "Dirichlet", "Exponential", "FisherSnedecor", "Gamma", "GeneralizedPareto", "Gumbel",
    "HalfCauchy", "HalfNormal", "InverseGamma", "Kumaraswamy", "Laplace", "LogNormal", "Normal", "Pareto", "StudentT",
    "Uniform", "VonMises", "Weibull",
]  # fmt: skip


class Normal(ExponentialFamily, example=("(0.0, 1.0).log_prob(torch.tensor(0.0))", "tensor(-0.9189)")):
    """Normal distributions with means `loc` and standard deviations `scale`."""

    arg_constraints = _batched = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.size(), validate_args=validate_args)

    mean = mode = formula(lambda d: d.loc)
    stddev = formula(lambda d: d.scale)
    variance = formula(lambda d: d.stddev.pow(2))

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with penlight.no_grad():
            return penlight.normal(self.loc.expand(shape), self.scale.expand(shape))

    rsample = method(lambda d, sample_shape=Size(): d.loc + d._unfilled(sample_shape, d.loc.dtype).normal_() * d.scale)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        distance = (value - self.loc) ** 2 / (2 * self.scale**2)
        return -distance - self.scale.log() - math.log(math.sqrt(2 * math.pi))

    cdf = checked(lambda d, value: 0.5 * (1 + ((value - d.loc) * d.scale.reciprocal() / math.sqrt(2)).erf()))
    icdf = method(lambda d, value: d.loc + d.scale * (2 * value - 1).erfinv() * math.sqrt(2))
    entropy = method(lambda d: 0.5 + 0.5 * math.log(2 * math.pi) + d.scale.log())

    _mean_carrier_measure = 0

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        variance = self.scale.pow(2)
        return self.loc / variance, -0.5 * variance.reciprocal()

    _log_normalizer = method(lambda d, x, y: -0.25 * x.pow(2) / y + 0.5 * (-math.pi / y).log())


class Cauchy(Distribution, example=("(0.0, 1.0).mean", "tensor(nan)")):
    """Cauchy distributions: ratios of independent normal variables, without a mean."""

    arg_constraints = _batched = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.size(), validate_args=validate_args)

    mean = formula(lambda d: penlight.full(d._extended_shape(), math.nan, dtype=d.loc.dtype))
    mode = formula(lambda d: d.loc)
    variance = formula(lambda d: penlight.full(d._extended_shape(), math.inf, dtype=d.loc.dtype))
    rsample = method(lambda d, sample_shape=Size(): d.loc + d._unfilled(sample_shape, d.loc.dtype).cauchy_() * d.scale)
    log_prob = checked(lambda d, value: -math.log(math.pi) - d.scale.log() - (((value - d.loc) / d.scale) ** 2).log1p())
    cdf = checked(lambda d, value: ((value - d.loc) / d.scale).atan() / math.pi + 0.5)
    icdf = method(lambda d, value: (math.pi * (value - 0.5)).tan() * d.scale + d.loc)
    entropy = method(lambda d: math.log(4 * math.pi) + d.scale.log())


class Laplace(Distribution, example=("(0.0, 1.0).entropy()", "tensor(1.6931)")):
    """Laplace distributions around `loc`."""

    arg_constraints = _batched = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.size(), validate_args=validate_args)

    mean = mode = formula(lambda d: d.loc)
    variance = formula(lambda d: 2 * d.scale.pow(2))
    stddev = formula(lambda d: 2**0.5 * d.scale)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        dtype = self.loc.dtype
        u = self._unfilled(sample_shape, dtype).uniform_(penlight.finfo(dtype).eps - 1, 1)
        return self.loc - self.scale * u.sign() * (-u.abs()).log1p()

    log_prob = checked(lambda d, value: -(2 * d.scale).log() - (value - d.loc).abs() / d.scale)

    def cdf(self, value: Tensor) -> Tensor:
        self._check(value)
        distance = value - self.loc
        return 0.5 - 0.5 * distance.sign() * (-distance.abs() / self.scale).expm1()

    def icdf(self, value: Tensor) -> Tensor:
        centred = value - 0.5
        return self.loc - self.scale * centred.sign() * (-2 * centred.abs()).log1p()

    entropy = method(lambda d: 1 + (2 * d.scale).log())


class Uniform(Distribution, example=("(0.0, 4.0).mean", "tensor(2.)")):
    """Uniform distributions over [low, high)."""

    has_rsample = True
    _batched = ("low", "high")

    def __init__(self, low: Tensor | float, high: Tensor | float, validate_args: bool | None = None) -> None:
        self.low, self.high = broadcast_all(low, high)
        super().__init__(self.low.size(), validate_args=validate_args)

    @property
    def arg_constraints(self) -> Any:
        return {"low": constraints.less_than(self.high), "high": constraints.greater_than(self.low)}

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        return constraints.interval(self.low, self.high)

    mean = formula(lambda d: (d.high + d.low) / 2)
    mode = formula(lambda d: math.nan * d.high)
    stddev = formula(lambda d: (d.high - d.low) / 12**0.5)
    variance = formula(lambda d: (d.high - d.low).pow(2) / 12)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        share = penlight.rand(self._extended_shape(sample_shape), dtype=self.low.dtype)
        return self.low + share * (self.high - self.low)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        inside = (self.low.le(value) & self.high.gt(value)).type_as(self.low)
        return inside.log() - (self.high - self.low).log()

    cdf = checked(lambda d, value: ((value - d.low) / (d.high - d.low)).clamp(min=0, max=1))
    icdf = method(lambda d, value: value * (d.high - d.low) + d.low)
    entropy = method(lambda d: (d.high - d.low).log())


class Exponential(ExponentialFamily, example=("(2.0).mean", "tensor(0.5000)")):
    """Waiting times until the next event, when events come at a constant `rate`."""

    arg_constraints = _batched = {"rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True

    def __init__(self, rate: Tensor | float, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_all(rate)
        super().__init__(self.rate.size(), validate_args=validate_args)

    mean = stddev = formula(lambda d: d.rate.reciprocal())
    mode = formula(lambda d: penlight.zeros_like(d.rate))
    variance = formula(lambda d: d.rate.pow(-2))
    rsample = method(lambda d, sample_shape=Size(): d._unfilled(sample_shape, d.rate.dtype).exponential_() / d.rate)
    log_prob = checked(lambda d, value: d.rate.log() - d.rate * value)
    cdf = checked(lambda d, value: 1 - (-d.rate * value).exp())
    icdf = method(lambda d, value: -(-value).log1p() / d.rate)
    entropy = method(lambda d: 1.0 - d.rate.log())

    _mean_carrier_measure = 0
    _natural_params = property(lambda d: (-d.rate,))
    _log_normalizer = method(lambda d, x: -(-x).log())


class Gamma(ExponentialFamily, example=("(2.0, 4.0).mean", "tensor(0.5000)")):
    """Gamma distributions, by `concentration` (shape) and `rate`."""

    arg_constraints = _batched = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True

    def __init__(self, concentration: Tensor | float, rate: Tensor | float, validate_args: bool | None = None) -> None:
        self.concentration, self.rate = broadcast_all(concentration, rate)
        super().__init__(self.concentration.size(), validate_args=validate_args)

    mean = formula(lambda d: d.concentration / d.rate)
    mode = formula(lambda d: ((d.concentration - 1) / d.rate).clamp(min=0))
    variance = formula(lambda d: d.concentration / d.rate.pow(2))

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        value = _standard_gamma(self.concentration.expand(shape)) / self.rate.expand(shape)
        value.detach().clamp_(min=penlight.finfo(value.dtype).tiny)  # outside of autograd
        return value

    def log_prob(self, value: Tensor) -> Tensor:
        value = penlight.as_tensor(value, dtype=self.rate.dtype)
        self._check(value)
        shape, rate = self.concentration, self.rate
        return penlight.xlogy(shape, rate) + penlight.xlogy(shape - 1, value) - rate * value - shape.lgamma()

    cdf = checked(lambda d, value: penlight.special.gammainc(d.concentration, d.rate * value))

    def entropy(self) -> Tensor:
        shape = self.concentration
        return shape - self.rate.log() + shape.lgamma() + (1.0 - shape) * shape.digamma()

    _mean_carrier_measure = 0
    _natural_params = property(lambda d: (d.concentration - 1, -d.rate))
    _log_normalizer = method(lambda d, x, y: (x + 1).lgamma() + (x + 1) * (-y.reciprocal()).log())


class Chi2(Gamma, example=("(3.0).mean", "tensor(3.)")):
    """Sums of `df` squared standard normal variables."""

    arg_constraints = {"df": constraints.positive}
    _batched = Gamma._batched

    def __init__(self, df: Tensor | float, validate_args: bool | None = None) -> None:
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)

    df = formula(lambda d: d.concentration * 2)


class Dirichlet(ExponentialFamily, example=("(torch.tensor([1.0, 3.0])).mean", "tensor([0.2500, 0.7500])")):
    """Distributions over the simplex, with one concentration per corner."""

    arg_constraints = _batched = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, concentration: Tensor, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args=validate_args)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return _sample_dirichlet(self.concentration.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        alpha = self.concentration
        return penlight.xlogy(alpha - 1.0, value).sum(-1) + alpha.sum(-1).lgamma() - alpha.lgamma().sum(-1)

    mean = formula(lambda d: d.concentration / d.concentration.sum(-1, True))

    @property
    def mode(self) -> Tensor:
        excess = (self.concentration - 1).clamp(min=0.0)
        mode = excess / excess.sum(-1, True)
        mask = (self.concentration < 1).all(dim=-1)
        mode[mask] = one_hot(mode[mask].argmax(dim=-1), excess.shape[-1]).to(mode)
        return mode

    @property
    def variance(self) -> Tensor:
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def entropy(self) -> Tensor:
        alpha = self.concentration
        total = alpha.sum(-1)
        spread = alpha.lgamma().sum(-1) - total.lgamma() - (alpha.size(-1) - total) * total.digamma()
        return spread - ((alpha - 1.0) * alpha.digamma()).sum(-1)

    _natural_params = property(lambda d: (d.concentration,))
    _log_normalizer = method(lambda d, x: x.lgamma().sum(-1) - x.sum(-1).lgamma())


class Beta(ExponentialFamily, example=("(1.0, 3.0).mean", "tensor(0.2500)")):
    """Beta distributions over [0, 1]: the first component of a two-dimensional Dirichlet distribution."""

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True
    _batched = ("_dirichlet",)

    def __init__(
        self, concentration1: Tensor | float, concentration0: Tensor | float, validate_args: bool | None = None
    ) -> None:
        if isinstance(concentration1, _Number) and isinstance(concentration0, _Number):
            both = penlight.tensor([float(concentration1), float(concentration0)])
        else:
            both = penlight.stack(broadcast_all(concentration1, concentration0), -1)
        self._dirichlet = Dirichlet(both, validate_args=validate_args)
        super().__init__(self._dirichlet._batch_shape, validate_args=validate_args)

    concentration1 = formula(lambda d: d._dirichlet.concentration[..., 0])
    concentration0 = formula(lambda d: d._dirichlet.concentration[..., 1])
    mean = formula(lambda d: d.concentration1 / (d.concentration1 + d.concentration0))
    mode = formula(lambda d: d._dirichlet.mode[..., 0])

    @property
    def variance(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        return a * b / ((a + b).pow(2) * (a + b + 1))

    rsample = method(lambda d, sample_shape=(): d._dirichlet.rsample(sample_shape).select(-1, 0))
    log_prob = checked(lambda d, value: d._dirichlet.log_prob(penlight.stack([value, 1.0 - value], -1)))
    entropy = method(lambda d: d._dirichlet.entropy())

    _natural_params = property(lambda d: (d.concentration1, d.concentration0))
    _log_normalizer = method(lambda d, x, y: x.lgamma() + y.lgamma() - (x + y).lgamma())


def _where(defined: Tensor, value: Tensor) -> Tensor:
    return value.masked_fill(~defined, math.nan)


class FisherSnedecor(Distribution, example=("(1.0, 4.0).mean", "tensor(2.)")):
    """Ratios of two scaled chi-squared variables, with `df1` and `df2` degrees of freedom."""

    arg_constraints = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    has_rsample = True
    _batched = (*arg_constraints, "_gamma1", "_gamma2")

    def __init__(self, df1: Tensor | float, df2: Tensor | float, validate_args: bool | None = None) -> None:
        self.df1, self.df2 = broadcast_all(df1, df2)
        self._gamma1 = Gamma(self.df1 * 0.5, self.df1)
        self._gamma2 = Gamma(self.df2 * 0.5, self.df2)
        super().__init__(self.df1.size(), validate_args=validate_args)

    mean = formula(lambda d: _where(d.df2 > 2, d.df2 / (d.df2 - 2)))
    mode = formula(lambda d: _where(d.df1 > 2, (d.df1 - 2) / d.df1 * d.df2 / (d.df2 + 2)))

    @property
    def variance(self) -> Tensor:
        above = 2 * self.df2.pow(2) * (self.df1 + self.df2 - 2)
        return _where(self.df2 > 4, above / (self.df1 * (self.df2 - 2).pow(2) * (self.df2 - 4)))

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        above, below = self._gamma1.rsample(sample_shape), self._gamma2.rsample(sample_shape)
        tiny = penlight.finfo(below.dtype).tiny
        return (above / below.clamp_(min=tiny)).clamp_(min=tiny)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        half1, half2, quotient = self.df1 * 0.5, self.df2 * 0.5, self.df1 / self.df2
        total = half1 + half2
        scale = total.lgamma() - half1.lgamma() - half2.lgamma()
        power = half1 * quotient.log() + (half1 - 1) * value.log()
        return scale + power - total * (quotient * value).log1p()


class StudentT(Distribution, example=("(4.0).variance", "tensor(2.)")):
    """Student's t distributions with `df` degrees of freedom."""

    arg_constraints = {"df": constraints.positive, "loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _batched = (*arg_constraints, "_chi2")

    def __init__(self, df: Tensor | float, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool | None = None) -> None:
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        self._chi2 = Chi2(self.df)
        super().__init__(self.df.size(), validate_args=validate_args)

    mean = formula(lambda d: d.loc.masked_fill(d.df <= 1, math.nan))
    mode = formula(lambda d: d.loc)

    @property
    def variance(self) -> Tensor:
        finite = self.df > 2
        df = self.df.masked_fill(~finite, 4.0)
        variance = (self.scale.pow(2) * df / (df - 2)).masked_fill(~finite, math.inf)
        return variance.masked_fill(self.df <= 1, math.nan)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        noise = self._unfilled(sample_shape, self.df.dtype).normal_()
        spread = self._chi2.rsample(sample_shape)
        return self.loc + self.scale * (noise * (spread / self.df).rsqrt())

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        df, y = self.df, (value - self.loc) / self.scale
        norm = self.scale.log() + 0.5 * df.log() + 0.5 * math.log(math.pi)
        norm = norm + (0.5 * df).lgamma() - (0.5 * (df + 1.0)).lgamma()
        return -0.5 * (df + 1.0) * (y**2.0 / df).log1p() - norm

    def entropy(self) -> Tensor:
        half, more = 0.5 * self.df, 0.5 * (self.df + 1)
        beta = half.lgamma() + math.lgamma(0.5) - more.lgamma()
        return self.scale.log() + more * (more.digamma() - half.digamma()) + 0.5 * self.df.log() + beta


class InverseGamma(TransformedDistribution, example=("(3.0, 2.0).mean", "tensor(1.)")):
    """The distribution of 1 / x for gamma-distributed x."""

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.positive
    has_rsample = True
    base_dist: Any
    _batched = ()

    def __init__(self, concentration: Tensor | float, rate: Tensor | float, validate_args: bool | None = None) -> None:
        base = Gamma(concentration, rate, validate_args=validate_args)
        super().__init__(base, PowerTransform(-base.rate.new_ones(())), validate_args=validate_args)

    concentration = formula(lambda d: d.base_dist.concentration)
    rate = formula(lambda d: d.base_dist.rate)
    mean = formula(lambda d: penlight.where(d.concentration > 1, d.rate / (d.concentration - 1), math.inf))
    mode = formula(lambda d: d.rate / (d.concentration + 1))

    @property
    def variance(self) -> Tensor:
        value = self.rate.square() / ((self.concentration - 1).square() * (self.concentration - 2))
        return penlight.where(self.concentration > 2, value, math.inf)

    def entropy(self) -> Tensor:
        shape = self.concentration
        return shape + self.rate.log() + shape.lgamma() - (1 + shape) * shape.digamma()


class Gumbel(TransformedDistribution, example=("(0.0, 1.0).mean", "tensor(0.5772)")):
    """Gumbel distributions: the limit distributions of maxima."""

    arg_constraints = _batched = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real

    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        finfo = penlight.finfo(self.loc.dtype)
        low, high = (penlight.full_like(self.loc, bound) for bound in (finfo.tiny, 1 - finfo.eps))
        negated = AffineTransform(0, -penlight.ones_like(self.scale))
        steps = [ExpTransform().inv, negated, ExpTransform().inv, AffineTransform(loc, -self.scale)]
        super().__init__(Uniform(low, high, validate_args=validate_args), steps, validate_args=validate_args)

    mean = formula(lambda d: d.loc + d.scale * euler_constant)
    mode = formula(lambda d: d.loc)
    stddev = formula(lambda d: (math.pi / math.sqrt(6)) * d.scale)
    variance = formula(lambda d: d.stddev.pow(2))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        y = (self.loc - value) / self.scale
        return (y - y.exp()) - self.scale.log()

    entropy = method(lambda d: d.scale.log() + (1 + euler_constant))


def _moment(a: Tensor, b: Tensor, n: int) -> Tensor:
    first = 1 + n / a
    return b * (first.lgamma() + b.lgamma() - (first + b).lgamma()).exp()


class Kumaraswamy(TransformedDistribution, example=("(1.0, 1.0).mean", "tensor(0.5000)")):
    """Kumaraswamy distributions over [0, 1]: like beta distributions, with a simple distribution function."""

    arg_constraints = _batched = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(
        self, concentration1: Tensor | float, concentration0: Tensor | float, validate_args: bool | None = None
    ) -> None:
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        zeros = penlight.zeros_like(self.concentration0)
        base = Uniform(zeros, zeros + 1, validate_args=validate_args)
        inner, outer = (PowerTransform(c.reciprocal()) for c in (self.concentration0, self.concentration1))
        super().__init__(base, [inner, AffineTransform(1.0, -1.0), outer], validate_args=validate_args)

    mean = formula(lambda d: _moment(d.concentration1, d.concentration0, 1))

    @property
    def mode(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        log_mode = b.reciprocal() * (-b).log1p() - (-b * a).log1p()
        return log_mode.masked_fill((b < 1) | (a < 1), math.nan).exp()

    variance = formula(lambda d: _moment(d.concentration1, d.concentration0, 2) - d.mean.pow(2))

    def entropy(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        harmonic = (b + 1).digamma() + euler_constant
        return (1 - b.reciprocal()) + (1 - a.reciprocal()) * harmonic - a.log() - b.log()


class LogNormal(TransformedDistribution, example=("(0.0, 1.0).mean", "tensor(1.6487)")):
    """The distribution of exp(x) for normal x."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.positive
    has_rsample = True
    base_dist: Any
    _batched = ()

    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None) -> None:
        super().__init__(Normal(loc, scale, validate_args=validate_args), ExpTransform(), validate_args=validate_args)

    loc = formula(lambda d: d.base_dist.loc)
    scale = formula(lambda d: d.base_dist.scale)
    mean = formula(lambda d: (d.loc + d.scale.pow(2) / 2).exp())
    mode = formula(lambda d: (d.loc - d.scale.square()).exp())

    @property
    def variance(self) -> Tensor:
        square = self.scale.pow(2)
        return square.expm1() * (2 * self.loc + square).exp()

    entropy = method(lambda d: d.base_dist.entropy() + d.loc)


class _Folded(TransformedDistribution):
    """The distribution of |x| for x symmetric about 0."""

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    base_dist: Any

    scale = formula(lambda d: d.base_dist.scale)
    mode = formula(lambda d: penlight.zeros_like(d.scale))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        return penlight.where(value >= 0, self.base_dist.log_prob(value) + math.log(2), -math.inf)

    cdf = checked(lambda d, value: 2 * d.base_dist.cdf(value) - 1)

    def icdf(self, prob: Tensor) -> Tensor:
        return self.base_dist.icdf((prob + 1) / 2)

    entropy = method(lambda d: d.base_dist.entropy() - math.log(2))


class HalfNormal(_Folded, example=("(1.0).mean", "tensor(0.7979)")):
    """The distribution of |x| for normal x with mean 0."""

    _batched = ()

    def __init__(self, scale: Tensor | float, validate_args: bool | None = None) -> None:
        super().__init__(Normal(0, scale, validate_args=False), AbsTransform(), validate_args=validate_args)

    mean = formula(lambda d: d.scale * math.sqrt(2 / math.pi))
    variance = formula(lambda d: d.scale.pow(2) * (1 - 2 / math.pi))


class HalfCauchy(_Folded, example=("(1.0).mean", "tensor(inf)")):
    """The distribution of |x| for Cauchy-distributed x centred at 0."""

    _batched = ()

    def __init__(self, scale: Tensor | float, validate_args: bool | None = None) -> None:
        super().__init__(Cauchy(0, scale, validate_args=False), AbsTransform(), validate_args=validate_args)

    mean = formula(lambda d: penlight.full(d._extended_shape(), math.inf, dtype=d.scale.dtype))
    variance = formula(lambda d: d.base_dist.variance)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        return super().log_prob(penlight.as_tensor(value, dtype=self.scale.dtype))


class Pareto(TransformedDistribution, example=("(1.0, 2.0).mean", "tensor(2.)")):
    """Pareto distributions of type 1: power laws above `scale`."""

    arg_constraints = {"alpha": constraints.positive, "scale": constraints.positive}
    _batched = ("scale", "alpha")

    def __init__(self, scale: Tensor | float, alpha: Tensor | float, validate_args: bool | None = None) -> None:
        self.scale, self.alpha = broadcast_all(scale, alpha)
        base = Exponential(self.alpha, validate_args=validate_args)
        transforms = [ExpTransform(), AffineTransform(loc=0, scale=self.scale)]
        super().__init__(base, transforms, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        return constraints.greater_than_eq(self.scale)

    mode = formula(lambda d: d.scale)

    @property
    def mean(self) -> Tensor:
        a = self.alpha.clamp(min=1)  # the mean is infinite for alpha <= 1
        return a * self.scale / (a - 1)

    @property
    def variance(self) -> Tensor:
        a = self.alpha.clamp(min=2)
        return self.scale.pow(2) * a / ((a - 1).pow(2) * (a - 2))

    entropy = method(lambda d: (d.scale / d.alpha).log() + (1 + d.alpha.reciprocal()))


class GeneralizedPareto(Distribution, example=("(0.0, 1.0, 0.5).mean", "tensor(2.)")):
    """Generalized Pareto distributions: the limit distributions of excesses over a high threshold."""

    arg_constraints = _batched = {
        "loc": constraints.real,
        "scale": constraints.positive,
        "concentration": constraints.real,
    }
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        super().__init__(self.loc.size(), validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        end = penlight.where(self.concentration < 0, self.loc - self.scale / self.concentration, math.inf)
        return constraints.interval(self.loc, end)

    def _split(self) -> tuple[Tensor, Tensor]:
        """A mask of (nearly) zero concentrations, and the concentration with these replaced."""
        zero = penlight.isclose(self.concentration, penlight.zeros_like(self.concentration))
        return zero, penlight.where(zero, 1.0, self.concentration)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        return self.icdf(penlight.rand(self._extended_shape(sample_shape), dtype=self.loc.dtype))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        z = (value - self.loc) / self.scale
        zero, shape = self._split()
        factor = 1 / shape + penlight.ones_like(z)
        power = penlight.where(factor == 0, factor, factor * (shape * z).log1p())
        return -self.scale.log() - penlight.where(zero, z, power)

    def log_survival_function(self, value: Tensor) -> Tensor:
        """The log of the probability that a sample exceeds a value."""
        self._check(value)
        z = (value - self.loc) / self.scale
        zero, shape = self._split()
        return penlight.where(zero, -z, -(shape * z).log1p() / shape)

    def log_cdf(self, value: Tensor) -> Tensor:
        """The logarithm of the distribution function."""
        return (-self.log_survival_function(value).exp()).log1p()

    cdf = method(lambda d, value: d.log_cdf(value).exp())

    def icdf(self, value: Tensor) -> Tensor:
        zero, shape = self._split()
        log = (-value).log1p()
        power = self.loc + self.scale / shape * (-shape * log).expm1()
        return penlight.where(zero, self.loc - self.scale * log, power)

    @property
    def mean(self) -> Tensor:
        valid = self.concentration < 1
        shape = penlight.where(valid, self.concentration, 0.5)
        return penlight.where(valid, self.loc + self.scale / (1 - shape), math.nan)

    mode = formula(lambda d: d.loc)

    @property
    def variance(self) -> Tensor:
        valid = self.concentration < 0.5
        shape = penlight.where(valid, self.concentration, 0.25)
        return penlight.where(valid, self.scale**2 / ((1 - shape) ** 2 * (1 - 2 * shape)), math.nan)

    entropy = method(lambda d: d.scale.log() + d.concentration + 1)


class Weibull(TransformedDistribution, example=("(2.0, 1.0).mean", "tensor(2.)")):
    """Weibull distributions: powers of exponential variables."""

    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive
    _batched = ("scale", "concentration", "concentration_reciprocal")

    def __init__(self, scale: Tensor | float, concentration: Tensor | float, validate_args: bool | None = None) -> None:
        self.scale, self.concentration = broadcast_all(scale, concentration)
        self.concentration_reciprocal = self.concentration.reciprocal()
        base = Exponential(penlight.ones_like(self.scale), validate_args=validate_args)
        super().__init__(base, self._steps(), validate_args=validate_args)

    def _steps(self) -> list[Any]:
        return [PowerTransform(exponent=self.concentration_reciprocal), AffineTransform(loc=0, scale=self.scale)]

    def _expand_into(self, new: Any, batched: Iterable[str]) -> None:
        super()._expand_into(new, batched)
        new.transforms = new._steps()

    mean = formula(lambda d: d.scale * (1 + d.concentration_reciprocal).lgamma().exp())
    mode = formula(lambda d: d.scale * ((d.concentration - 1) / d.concentration) ** d.concentration.reciprocal())

    @property
    def variance(self) -> Tensor:
        inverse = self.concentration_reciprocal
        return self.scale.pow(2) * ((1 + 2 * inverse).lgamma().exp() - (2 * (1 + inverse).lgamma()).exp())

    def entropy(self) -> Tensor:
        inverse = self.concentration_reciprocal
        return euler_constant * (1 - inverse) + (self.scale * inverse).log() + 1


# Polynomials of Abramowitz and Stegun, 9.8.1 to 9.8.4, for the modified Bessel functions of order 0 and 1.
_SMALL = (
    (1.0, 3.5156229, 3.0899424, 1.2067492, 0.2659732, 0.360768e-1, 0.45813e-2),
    (0.5, 0.87890594, 0.51498869, 0.15084934, 0.2658733e-1, 0.301532e-2, 0.32411e-3),
)
_LARGE = (
    (0.39894228, 0.1328592e-1, 0.225319e-2, -0.157565e-2, 0.916281e-2, -0.2057706e-1, 0.2635537e-1, -0.1647633e-1, 0.392377e-2),
    (0.39894228, -0.3988024e-1, -0.362018e-2, 0.163801e-2, -0.1031555e-1, 0.2282967e-1, -0.2895312e-1, 0.1787654e-1, -0.420059e-2),
)  # fmt: skip


def _polynomial(x: Tensor, coefficients: tuple[float, ...]) -> Any:
    result: Any = coefficients[-1]
    for coefficient in coefficients[-2::-1]:
        result = coefficient + x * result
    return result


def _log_bessel(x: Tensor, order: int = 0) -> Tensor:
    small = _polynomial((x / 3.75) * (x / 3.75), _SMALL[order])
    if order == 1:
        small = x.abs() * small
    large = x - 0.5 * x.log() + _polynomial(3.75 / x, _LARGE[order]).log()
    return penlight.where(x < 3.75, small.log(), large)


class VonMises(Distribution, example=("(torch.tensor(1.0), torch.tensor(4.0)).mean", "tensor(1.)")):
    """Von Mises distributions of angles around `loc`: a normal distribution on the circle."""

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    has_rsample = False

    def __init__(self, loc: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, Size(), validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        validate_args = self.__dict__.get("_validate_args")
        return type(self)(
            self.loc.expand(batch_shape), self.concentration.expand(batch_shape), validate_args=validate_args
        )

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        return self.concentration * (value - self.loc).cos() - math.log(2 * math.pi) - _log_bessel(self.concentration)

    @lazy_property
    def _loc(self) -> Any:
        return self.loc.to(penlight.double)

    @lazy_property
    def _concentration(self) -> Any:
        return self.concentration.to(penlight.double)

    @lazy_property
    def _proposal_r(self) -> Any:
        kappa = self._concentration
        tau = 1 + (1 + 4 * kappa**2).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * kappa)
        return penlight.where(kappa < 1e-5, 1 / kappa + kappa, (1 + rho**2) / (2 * rho))

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        """Draw samples by Best and Fisher's rejection method from a wrapped Cauchy distribution, in float64."""
        with penlight.no_grad():
            shape = self._extended_shape(sample_shape)
            r, loc = self._proposal_r, self._loc
            angle = penlight.zeros(shape, dtype=loc.dtype)
            done = penlight.zeros(shape, dtype=penlight.bool)
            while not done.all():
                u1, u2, u3 = penlight.rand((3,) + tuple(shape), dtype=loc.dtype).unbind()
                z = (math.pi * u1).cos()
                f = (1 + r * z) / (r + z)
                c = self._concentration * (r - f)
                accept = ((c * (2 - c) - u2) > 0) | ((c / u2).log() + 1 - c >= 0)
                angle = penlight.where(accept, (u3 - 0.5).sign() * f.acos(), angle)
                done = done | accept
            return ((angle + math.pi + loc) % (2 * math.pi) - math.pi).to(self.loc.dtype)

    mean = mode = formula(lambda d: d.loc)

    @lazy_property
    def variance(self) -> Any:
        return 1 - (_log_bessel(self.concentration, order=1) - _log_bessel(self.concentration, order=0)).exp()
