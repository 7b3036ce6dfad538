"""Discrete distributions (Bernoulli, categorical, counts) and their continuous relaxations."""

from __future__ import annotations

import math
from typing import Any

import penlight

from ..ops.nn.embedding import one_hot
from ..ops.nn.loss import binary_cross_entropy_with_logits
from ..ops.nn.smooth_activation import logsigmoid
from ..size import Size
from ..tensor import Tensor
from . import constraints
from ._continuous import Gamma
from .distribution import Distribution, ExponentialFamily
from .transformed_distribution import TransformedDistribution
from .transforms import ExpTransform, SigmoidTransform
from .utils import broadcast_all, checked, clamp_probs, formula, lazy_property, logits_to_probs, method, probs_to_logits

__all__ = [
    "Bernoulli", "Binomial", "Categorical", "ContinuousBernoulli", "Geometric",
    "Multinomial", "NegativeBinomial", "OneHotCategorical",
    "OneHotCategoricalStraightThrough", "Poisson", "RelaxedBernoulli", "RelaxedOneHotCategorical",
]  # fmt: skip


class _ProbsOrLogits(Distribution):
    """Stores `probs` or `logits`, whichever is given, and computes the other on first use."""

    _is_binary = False
    _from_logits: bool

    def _given(self, probs: Any, logits: Any) -> tuple[str, Any]:
        """The name and the value of the given one."""
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        self._from_logits = probs is None
        return ("logits", logits) if self._from_logits else ("probs", probs)

    @lazy_property
    def logits(self) -> Any:
        return probs_to_logits(self.probs, self._is_binary)

    @lazy_property
    def probs(self) -> Any:
        return logits_to_probs(self.logits, self._is_binary)

    _param: Any = property(lambda self: self.__dict__["logits" if self._from_logits else "probs"])
    param_shape: Any = property(lambda self: self._param.size())

    def _new(self, *args: Any, **kwargs: Any) -> Tensor:
        return self._param.new(*args, **kwargs)


class _Binary(_ProbsOrLogits):
    """Families with one success probability (or its log odds) per batch member."""

    _is_binary = True

    def _broadcast_probs(self, probs: Any, logits: Any, **others: Any) -> Any:
        """Store the given one, broadcast with the other parameters, which take its dtype. Returns the batch shape."""
        name, given = self._given(probs, logits)
        *rest, value = broadcast_all(*others.values(), given)
        setattr(self, name, value)
        for other, tensor in zip(others, rest, strict=True):
            setattr(self, other, tensor.type_as(value))
        return value.size()


class Bernoulli(_Binary, ExponentialFamily, example=("(0.25).variance", "tensor(0.1875)")):
    """Bernoulli distributions: 1 with probability `probs`, else 0."""

    arg_constraints = _batched = {"probs": constraints.unit_interval, "logits": constraints.real}
    _shared = ("_from_logits",)
    support = constraints.boolean
    has_enumerate_support = True

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        super().__init__(self._broadcast_probs(probs, logits), validate_args=validate_args)

    mean = formula(lambda d: d.probs)
    mode = formula(lambda d: (d.probs >= 0.5).to(d.probs).masked_fill(d.probs == 0.5, math.nan))
    variance = formula(lambda d: d.probs * (1 - d.probs))

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        with penlight.no_grad():
            return penlight.bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        logits, value = broadcast_all(self.logits, value)
        return -binary_cross_entropy_with_logits(logits, value, reduction="none")

    entropy = method(lambda d: binary_cross_entropy_with_logits(d.logits, d.probs, reduction="none"))
    enumerate_support = method(lambda d, expand=True: d._enumerated(penlight.arange(2, dtype=d._param.dtype), expand))

    _mean_carrier_measure = 0
    _natural_params = property(lambda d: (d.probs.logit(),))
    _log_normalizer = method(lambda d, x: x.exp().log1p())


class Binomial(_Binary, example=("(10, torch.tensor(0.25)).mean", "tensor(2.5000)")):
    """Numbers of successes in `total_count` trials."""

    arg_constraints = _batched = {
        "total_count": constraints.nonnegative_integer,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    _shared = ("_from_logits",)
    has_enumerate_support = True
    total_count: Tensor

    def __init__(
        self, total_count: Any = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        super().__init__(self._broadcast_probs(probs, logits, total_count=total_count), validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self.total_count)

    mean = formula(lambda d: d.total_count * d.probs)
    mode = formula(lambda d: ((d.total_count + 1) * d.probs).floor().clamp(max=d.total_count))
    variance = formula(lambda d: d.total_count * d.probs * (1 - d.probs))

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with penlight.no_grad():
            return penlight.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        n, logits = self.total_count, self.logits
        # The mean of both clamps, so that the gradient at a logit of zero is one half.
        positive = (logits.clamp(min=0) + logits - logits.clamp(max=0)) / 2
        norm = n * positive + n * (-logits.abs()).exp().log1p() - (n + 1).lgamma()
        return value * logits - (value + 1).lgamma() - (n - value + 1).lgamma() - norm

    def _common_count(self, method: str) -> int:
        count = int(self.total_count.max())
        if not self.total_count.min() == count:
            raise NotImplementedError(f"Inhomogeneous total count not supported by `{method}`.")
        return count

    def entropy(self) -> Tensor:
        self._common_count("entropy")
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(log_prob.exp() * log_prob).sum(0)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        count = self._common_count("enumerate_support")
        return self._enumerated(penlight.arange(1 + count, dtype=self._param.dtype), expand)


class Categorical(_ProbsOrLogits, example=("(torch.tensor([1.0, 3.0])).probs", "tensor([0.2500, 0.7500])")):
    """Distributions over 0, 1, ..., n-1, by n weights (`probs`) or log weights (`logits`) along the last dimension."""

    arg_constraints = _batched = {"probs": constraints.simplex, "logits": constraints.real_vector}
    _shared = ("_from_logits", "_num_events")
    has_enumerate_support = True

    def __init__(
        self, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: bool | None = None
    ) -> None:
        name, given = self._given(probs, logits)
        if given.dim() < 1:
            raise ValueError(f"`{name}` parameter must be at least one-dimensional.")
        if self._from_logits:
            self.logits = given - given.logsumexp(dim=-1, keepdim=True)
        else:
            self.probs = given / given.sum(-1, keepdim=True)
        self._num_events = given.size()[-1]
        super().__init__(given.size()[:-1], validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self._num_events - 1)

    mean = variance = formula(lambda d: penlight.full(d._extended_shape(), math.nan, dtype=d.probs.dtype))
    mode = formula(lambda d: d.probs.argmax(dim=-1))

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        sample_shape = Size(sample_shape)
        rows = self.probs.reshape(-1, self._num_events)
        drawn = penlight.multinomial(rows.detach(), sample_shape.numel(), True).T
        return drawn.reshape(self._extended_shape(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        index, log_pmf = penlight.broadcast_tensors(value.long().unsqueeze(-1), self.logits)
        return log_pmf.gather(-1, index[..., :1]).squeeze(-1)

    def entropy(self) -> Tensor:
        finite = self.logits.clamp(min=penlight.finfo(self.logits.dtype).min)  # so that 0 * -inf is 0
        return -(finite * self.probs).sum(-1)

    enumerate_support = method(lambda d, expand=True: d._enumerated(penlight.arange(d._num_events), expand))


class _OverCategories(Distribution):
    """Families that wrap a categorical distribution and take its parameters."""

    arg_constraints: Any = Categorical.arg_constraints
    _categorical: Categorical

    def _hold_categories(self, probs: Any, logits: Any) -> tuple[Any, Any]:
        """Store the categorical distribution. Returns its batch shape and event shape."""
        self._categorical = Categorical(probs, logits)
        return self._categorical.batch_shape, self._categorical.param_shape[-1:]

    probs = formula(lambda d: d._categorical.probs)
    logits = formula(lambda d: d._categorical.logits)
    _param = formula(lambda d: d._categorical._param)
    param_shape: Any = property(lambda d: d._categorical.param_shape)

    def _new(self, *args: Any, **kwargs: Any) -> Tensor:
        return self._categorical._new(*args, **kwargs)


class OneHotCategorical(_OverCategories, example=("(torch.tensor([1.0, 0.0])).sample()", "tensor([1., 0.])")):
    """Categorical distributions whose samples are one-hot vectors."""

    support = constraints.one_hot
    has_enumerate_support = True
    _batched = ("_categorical",)

    def __init__(
        self, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: bool | None = None
    ) -> None:
        super().__init__(*self._hold_categories(probs, logits), validate_args=validate_args)

    def _one_hot(self, category: Tensor) -> Tensor:
        return one_hot(category, self._categorical._num_events).to(self.probs)

    mean = formula(lambda d: d.probs)
    mode = formula(lambda d: d._one_hot(d.probs.argmax(dim=-1)))
    variance = formula(lambda d: d.probs * (1 - d.probs))
    sample = method(lambda d, sample_shape=Size(): d._one_hot(d._categorical.sample(Size(sample_shape))))
    log_prob = checked(lambda d, value: d._categorical.log_prob(value.max(-1)[1]))
    entropy = method(lambda d: d._categorical.entropy())

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return self._enumerated(penlight.eye(self.event_shape[0], dtype=self._param.dtype), expand)


class OneHotCategoricalStraightThrough(OneHotCategorical, example=("(torch.ones(2)).has_rsample", "True")):
    """One-hot samples with straight-through gradients: those of the probabilities."""

    has_rsample = True

    rsample = method(lambda d, sample_shape=Size(): d.sample(sample_shape) + (d.probs - d.probs.detach()))


class Multinomial(_OverCategories, example=("(4, torch.ones(2)).mean", "tensor([2., 2.])")):
    """The counts of each category in `total_count` draws."""

    _batched = ("_categorical",)
    _shared = ("total_count",)

    def __init__(self, total_count: int = 1, probs: Tensor | None = None, logits: Tensor | None = None,
                 validate_args: bool | None = None) -> None:  # fmt: skip
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        super().__init__(*self._hold_categories(probs, logits), validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Any:
        return constraints.multinomial(self.total_count)

    mean = formula(lambda d: d.probs * d.total_count)
    variance = formula(lambda d: d.total_count * d.probs * (1 - d.probs))

    @lazy_property
    def _binomial(self) -> Any:
        return Binomial(total_count=self.total_count, probs=self.probs)

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        sample_shape = Size(sample_shape)
        drawn = self._categorical.sample(Size((self.total_count,)) + sample_shape).movedim(0, -1)
        counts = self._unfilled(sample_shape, penlight.int64).zero_()
        return counts.scatter_add_(-1, drawn, penlight.ones_like(drawn)).type_as(self.probs)

    def entropy(self) -> Tensor:
        n = penlight.tensor(self.total_count)
        counts = self._binomial.enumerate_support(expand=False)[1:]
        expected = (self._binomial.log_prob(counts).exp() * (counts + 1).lgamma()).sum([0, -1])
        return n * self._categorical.entropy() - (n + 1).lgamma() + expected

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        logits, value = broadcast_all(self.logits, value)
        logits = logits.masked_fill((value == 0) & (logits == -math.inf), 0)
        arrangements = (value.sum(-1) + 1).lgamma() - (value + 1).lgamma().sum(-1)
        return arrangements + (logits * value).sum(-1)


class Geometric(_Binary, example=("(0.25).mean", "tensor(3.)")):
    """Numbers of failures before the first success."""

    arg_constraints = _batched = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.nonnegative_integer
    _shared = ("_from_logits",)

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        super().__init__(self._broadcast_probs(probs, logits), validate_args=validate_args)
        if self._validate_args and not self._from_logits:
            value = self.probs
            valid = value > 0
            if not valid.all():
                raise ValueError(
                    f"Expected parameter probs ({type(value).__name__} of shape {tuple(value.shape)}) of distribution "
                    f"{self!r} to be positive but found invalid values:\n{value.data[~valid]}"
                )

    mean = formula(lambda d: 1.0 / d.probs - 1.0)
    mode = formula(lambda d: penlight.zeros_like(d.probs))
    variance = formula(lambda d: (1.0 / d.probs - 1.0) / d.probs)

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        dtype = self.probs.dtype
        with penlight.no_grad():
            u = self._unfilled(sample_shape, dtype).uniform_(penlight.finfo(dtype).tiny, 1)
            return (u.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        value, probs = broadcast_all(value, self.probs)
        probs = probs.masked_fill((probs == 1) & (value == 0), 0)
        return value * (-probs).log1p() + self.probs.log()

    entropy = method(lambda d: binary_cross_entropy_with_logits(d.logits, d.probs, reduction="none") / d.probs)


class Poisson(ExponentialFamily, example=("(3.5).mode", "tensor(3.)")):
    """Poisson distributions: numbers of events that occur at a constant `rate`."""

    arg_constraints = _batched = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer

    def __init__(self, rate: Tensor | float, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_all(rate)
        super().__init__(self.rate.size(), validate_args=validate_args)

    mean = variance = formula(lambda d: d.rate)
    mode = formula(lambda d: d.rate.floor())

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        with penlight.no_grad():
            return penlight.poisson(self.rate.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        rate, value = broadcast_all(self.rate, value)
        return value.xlogy(rate) - rate - (value + 1).lgamma()

    _natural_params = property(lambda d: (d.rate.log(),))
    _log_normalizer = method(lambda d, x: x.exp())


class NegativeBinomial(_Binary, example=("(2.0, torch.tensor(0.5)).mean", "tensor(2.)")):
    """Numbers of successes before `total_count` failures."""

    arg_constraints = _batched = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer
    _shared = ("_from_logits",)
    total_count: Tensor

    def __init__(
        self, total_count: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        super().__init__(self._broadcast_probs(probs, logits, total_count=total_count), validate_args=validate_args)

    mean = formula(lambda d: d.total_count * d.logits.exp())
    mode = formula(lambda d: ((d.total_count - 1) * d.logits.exp()).floor().clamp(min=0.0))
    variance = formula(lambda d: d.mean / (-d.logits).sigmoid())

    @lazy_property
    def _gamma(self) -> Any:
        return Gamma(concentration=self.total_count, rate=(-self.logits).exp(), validate_args=False)

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        with penlight.no_grad():
            return penlight.poisson(self._gamma.sample(sample_shape=sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        total, logits = self.total_count, self.logits
        weight = total * logsigmoid(-logits) + value * logsigmoid(logits)
        norm = -(total + value).lgamma() + (1.0 + value).lgamma() + total.lgamma()
        return weight - norm.masked_fill(total + value == 0.0, 0.0)


class ContinuousBernoulli(_Binary, ExponentialFamily, example=("(0.5).mean", "tensor(0.5000)")):
    """Densities over [0, 1] proportional to probs^x (1 - probs)^(1 - x).

    Around probs = 1/2 (between `lims`) the normalizer and all formulas based on it use Taylor polynomials.
    """

    arg_constraints = _batched = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True
    _shared = ("_from_logits", "_lims")

    def __init__(
        self, probs: Any = None, logits: Any = None, lims: Any = (0.499, 0.501), validate_args: bool | None = None
    ) -> None:
        batch_shape = self._broadcast_probs(probs, logits)
        if not self._from_logits:
            if validate_args is not None and not constraints.unit_interval.check(self.probs).all():
                raise ValueError("The parameter probs has invalid values")
            self.probs = clamp_probs(self.probs)
        self._lims = lims
        super().__init__(batch_shape, validate_args=validate_args)

    @lazy_property
    def probs(self) -> Any:
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    def _outside_unstable_region(self) -> Tensor:
        return (self.probs <= self._lims[0]) | (self.probs > self._lims[1])

    def _cut_probs(self) -> Tensor:
        """The probabilities, with a safe value where the Taylor polynomial is used."""
        return self._stable(self.probs, self._lims[0])

    def _stable(self, exact: Tensor, taylor: Any) -> Tensor:
        return penlight.where(self._outside_unstable_region(), exact, taylor)

    def _cont_bern_log_norm(self) -> Tensor:
        cut = self._cut_probs()
        below = penlight.where(cut <= 0.5, cut, 0.0)
        above = penlight.where(cut >= 0.5, cut, 1.0)
        width = penlight.where(cut <= 0.5, (-2.0 * below).log1p(), (2.0 * above - 1.0).log())
        exact = ((-cut).log1p() - cut.log()).abs().log() - width
        x = (self.probs - 0.5).pow(2)
        taylor = math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * x) * x
        return self._stable(exact, taylor)

    @property
    def mean(self) -> Tensor:
        cut = self._cut_probs()
        exact = cut / (2.0 * cut - 1.0) + 1.0 / ((-cut).log1p() - cut.log())
        x = self.probs - 0.5
        taylor = 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * x.pow(2)) * x
        return self._stable(exact, taylor)

    @property
    def variance(self) -> Tensor:
        cut = self._cut_probs()
        exact = cut * (cut - 1.0) / (1.0 - 2.0 * cut).pow(2) + 1.0 / ((-cut).log1p() - cut.log()).pow(2)
        x = (self.probs - 0.5).pow(2)
        taylor = 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x) * x
        return self._stable(exact, taylor)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        return self.icdf(penlight.rand(self._extended_shape(sample_shape), dtype=self.probs.dtype))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        logits, value = broadcast_all(self.logits, value)
        return -binary_cross_entropy_with_logits(logits, value, reduction="none") + self._cont_bern_log_norm()

    def cdf(self, value: Tensor) -> Tensor:
        self._check(value)
        cut = self._cut_probs()
        exact = (cut.pow(value) * (1.0 - cut).pow(1.0 - value) + cut - 1.0) / (2.0 * cut - 1.0)
        inside = self._stable(exact, value)
        return penlight.where(value <= 0.0, 0.0, penlight.where(value >= 1.0, 1.0, inside))

    def icdf(self, value: Tensor) -> Tensor:
        cut = self._cut_probs()
        moved = (-cut + value * (2.0 * cut - 1.0)).log1p() - (-cut).log1p()
        return self._stable(moved / (cut.log() - (-cut).log1p()), value)

    def entropy(self) -> Tensor:
        failure, success = (-self.probs).log1p(), self.probs.log()
        return self.mean * (failure - success) - self._cont_bern_log_norm() - failure

    _mean_carrier_measure = 0
    _natural_params = property(lambda d: (d.logits,))

    def _log_normalizer(self, x: Tensor) -> Tensor:
        low, high = self._lims[0] - 0.5, self._lims[1] - 0.5
        outside = (x <= low) | (x > high)
        cut = penlight.where(outside, x, low)
        taylor = 0.5 * x + x.pow(2) / 24.0 - x.pow(4) / 2880.0
        return penlight.where(outside, cut.expm1().abs().log() - cut.abs().log(), taylor)


class LogitRelaxedBernoulli(_Binary):
    """The log odds of a relaxed Bernoulli variable: a logistic variable, scaled by the temperature.

    >>> from penlight.distributions.relaxed_bernoulli import LogitRelaxedBernoulli
    >>> LogitRelaxedBernoulli(torch.tensor(1.0), 0.5).log_prob(torch.tensor(0.0))
    tensor(-1.3863)

    Args:
        temperature: how far from 0 and 1 the values are; 0 is a Bernoulli variable
        probs, logits: one of the two
        validate_args: whether to check the parameters
    """

    arg_constraints = _batched = Bernoulli.arg_constraints
    _shared = ("_from_logits", "temperature")
    support = constraints.real

    def __init__(
        self, temperature: Tensor, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self.temperature = temperature
        super().__init__(self._broadcast_probs(probs, logits), validate_args=validate_args)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        probs = clamp_probs(self.probs.expand(shape))
        u = clamp_probs(penlight.rand(shape, dtype=probs.dtype))
        return (u.log() - (-u).log1p() + probs.log() - (-probs).log1p()) / self.temperature

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        logits, value = broadcast_all(self.logits, value)
        diff = logits - value.mul(self.temperature)
        return self.temperature.log() + diff - 2 * diff.exp().log1p()


class _Relaxed(TransformedDistribution):
    """A transformed relaxed distribution with a temperature, which exposes the parameters of its base."""

    has_rsample = True
    base_dist: Any
    temperature = formula(lambda d: d.base_dist.temperature)
    logits = formula(lambda d: d.base_dist.logits)
    probs = formula(lambda d: d.base_dist.probs)


class RelaxedBernoulli(_Relaxed, example=("(torch.tensor(0.5), 0.25).probs", "tensor(0.2500)")):
    """A continuous relaxation of the Bernoulli distribution: its samples have gradients. Exact in the limit of temperature 0."""

    arg_constraints = Bernoulli.arg_constraints
    support = constraints.unit_interval
    _batched = ()

    def __init__(
        self, temperature: Tensor, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        base = LogitRelaxedBernoulli(temperature, probs, logits)
        super().__init__(base, SigmoidTransform(), validate_args=validate_args)


class ExpRelaxedCategorical(_OverCategories):
    """The logarithm of a relaxed one-hot vector.

    >>> from penlight.distributions.relaxed_categorical import ExpRelaxedCategorical
    >>> ExpRelaxedCategorical(torch.tensor(1.0), torch.ones(3)).event_shape
    torch.Size([3])

    Args:
        temperature: how far from one-hot the vectors are
        probs, logits: one of the two
        validate_args: whether to check the parameters
    """

    support = constraints.real_vector
    has_rsample = True
    _batched = ("_categorical",)
    _shared = ("temperature",)

    def __init__(
        self, temperature: Tensor, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self.temperature = temperature
        super().__init__(*self._hold_categories(probs, logits), validate_args=validate_args)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        u = clamp_probs(penlight.rand(self._extended_shape(sample_shape), dtype=self.logits.dtype))
        scores = (self.logits - (-u.log()).log()) / self.temperature
        return scores - scores.logsumexp(dim=-1, keepdim=True)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        n = self._categorical._num_events
        logits, value = broadcast_all(self.logits, value)
        norm = penlight.full_like(self.temperature, float(n)).lgamma() + self.temperature.log().mul(n - 1)
        score = logits - value.mul(self.temperature)
        return (score - score.logsumexp(dim=-1, keepdim=True)).sum(-1) + norm


class RelaxedOneHotCategorical(_Relaxed,
        example=("(torch.tensor(0.5), torch.ones(2)).probs", "tensor([0.5000, 0.5000])")):  # fmt: skip
    """A continuous relaxation of one-hot vectors: its samples have gradients. Exact in the limit of temperature 0."""

    arg_constraints = ExpRelaxedCategorical.arg_constraints
    support = constraints.simplex
    _batched = ()

    def __init__(
        self, temperature: Tensor, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)
