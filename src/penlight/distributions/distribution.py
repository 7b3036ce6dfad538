"""The base class of all distributions: shapes, validation, expansion, sampling without gradients, printing."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ParamSpec, TypeVar

import penlight
from penlight._common.user_warnings import warn_user

from .._common.docstrings import complete, example
from ..size import Size
from ..tensor import Tensor
from . import constraints
from .utils import _sum_rightmost, lazy_property

__all__ = ["Distribution"]

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


def _without_formula(declared: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """A method that every distribution has but not every family implements."""

    @functools.wraps(declared)
    def missing(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
        raise NotImplementedError

    return missing


def _incompatible(sizes: Sequence[int], others: Sequence[int]) -> bool:
    """Whether two shapes cannot be broadcast together."""
    return any(a != b and 1 not in (a, b) for a, b in zip(reversed(sizes), reversed(others), strict=False))


class Distribution:
    """A probability distribution, or a batch of them with one parameter set each.

    >>> normal = torch.distributions.Normal(torch.zeros(3), 1.0)
    >>> normal.batch_shape, normal.event_shape
    (torch.Size([3]), torch.Size([]))
    """

    # Note [What a family declares]
    # A family declares a docstring, `arg_constraints`, a `support` and formulas; this class does the rest. The family's __init__
    # stores the parameters, mostly by `broadcast_all`, and passes the batch shape to this class. `_batched` names the attributes
    # that begin with the batch dimensions (tensors and other distributions), `_shared` those that do not depend on the batch
    # shape: `expand` uses both to create the larger batch. Each family repeats `_batched`, because the names belong to the __init__
    # of the class that has `_batched` in its own namespace.
    has_rsample: bool = False
    has_enumerate_support: bool = False
    _validate_args = __debug__
    _batched: Iterable[str]
    _shared: tuple[str, ...] = ()

    def __init_subclass__(cls, example: tuple[str, str] | None = None, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        complete(cls, ">>> torch.distributions.{}{}\n{}", example)

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Set whether distributions validate their arguments by default.

        >>> torch.distributions.Distribution.set_default_validate_args(True)
        """
        if value not in (True, False):
            raise ValueError
        Distribution._validate_args = value

    def __init__(self, batch_shape: Any = Size(), event_shape: Any = Size(), validate_args: bool | None = None) -> None:
        self._batch_shape, self._event_shape = batch_shape, event_shape
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_parameters()
        super().__init__()

    def _check_parameters(self) -> None:
        try:
            wanted = self.arg_constraints
        except NotImplementedError:
            warn_user(
                f"{self.__class__} does not define `arg_constraints`. "
                "Please set `arg_constraints = {}` or initialize the distribution "
                "with `validate_args=False` to turn off validation."
            )
            return
        for name, constraint in wanted.items():
            # A lazy parameter is computed from another one, which is checked instead.
            lazy = name not in self.__dict__ and isinstance(getattr(type(self), name), lazy_property)
            if lazy or constraints.is_dependent(constraint):
                continue
            value = getattr(self, name)
            if not constraint.check(value).all():
                raise ValueError(
                    f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) "
                    f"of distribution {self!r} to satisfy the constraint {constraint!r}, "
                    f"but found invalid values:\n{value}"
                )

    @example("torch.distributions.Normal(0.0, 1.0).expand([2]).batch_shape", "torch.Size([2])")
    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        """Return the distribution broadcast to a larger batch shape, without copying the parameters."""
        family: Any = next((cls for cls in type(self).__mro__ if "_batched" in vars(cls)), None)
        if family is None:
            raise NotImplementedError
        new = self._get_checked_instance(family, _instance)
        # This instance has validated its parameters: the expanded one need not.
        new._batch_shape, new._event_shape = Size(batch_shape), self._event_shape
        self._expand_into(new, family._batched)
        new._validate_args = self._validate_args  # last: a subclass may pass it on to its base
        return new

    def _expand_into(self, new: Any, batched: Iterable[str]) -> None:
        """Set the attributes of a larger batch, whose shapes are already set."""
        done = len(self._batch_shape)
        for name in batched:
            if name in self.__dict__:
                value = self.__dict__[name]
                shape = value.batch_shape if isinstance(value, Distribution) else value.shape
                setattr(new, name, value.expand(new._batch_shape + shape[done:]))
        for name in self._shared:
            setattr(new, name, getattr(self, name))

    def _get_checked_instance(self, cls: type, _instance: Any = None) -> Any:
        if _instance is None and type(self).__init__ != cls.__init__:  # type: ignore[misc]
            raise NotImplementedError(
                f"Subclass {self.__class__.__name__} of {cls.__name__} that defines a custom __init__ method "
                "must also define a custom .expand() method."
            )
        return self.__new__(type(self)) if _instance is None else _instance

    @property
    @example("torch.distributions.Normal(torch.zeros(3), 1.0).batch_shape", "torch.Size([3])")
    def batch_shape(self) -> Any:
        """The shape of the batch of parameter sets."""
        return self._batch_shape

    @property
    @example("torch.distributions.Dirichlet(torch.ones(2, 3)).event_shape", "torch.Size([3])")
    def event_shape(self) -> Any:
        """The shape of one sample of one member of the batch."""
        return self._event_shape

    @property
    @_without_formula
    @example("sorted(torch.distributions.Normal(0.0, 1.0).arg_constraints)", "['loc', 'scale']")
    def arg_constraints(self) -> dict[str, Any]:
        """The constraint on each parameter, by name."""

    @property
    @_without_formula
    @example("torch.distributions.Bernoulli(0.3).support", "Boolean()")
    def support(self) -> Any:
        """The constraint that every sample satisfies."""

    @property
    @_without_formula
    @example("torch.distributions.Uniform(0.0, 4.0).mean", "tensor(2.)")
    def mean(self) -> Tensor:
        """The expected value."""

    @property
    @example("torch.distributions.Normal(3.0, 1.0).mode", "tensor(3.)")
    def mode(self) -> Tensor:
        """The most probable value."""
        raise NotImplementedError(f"{self.__class__} does not implement mode")

    @property
    @_without_formula
    @example("torch.distributions.Normal(3.0, 2.0).variance", "tensor(4.)")
    def variance(self) -> Tensor:
        """The variance."""

    @property
    @example("torch.distributions.Normal(3.0, 2.0).stddev", "tensor(2.)")
    def stddev(self) -> Tensor:
        """The standard deviation."""
        return self.variance.sqrt()

    @example("torch.distributions.Normal(torch.zeros(3), 1.0).sample((2,)).shape", "torch.Size([2, 3])")
    def sample(self, sample_shape: Any = Size()) -> Tensor:
        """Draws samples, of shape sample_shape + batch_shape + event_shape, without gradients."""
        with penlight.no_grad():
            return self.rsample(sample_shape)

    @_without_formula
    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        """Draws samples as differentiable functions of the parameters.

        >>> mean = torch.tensor(0.0, requires_grad=True)
        >>> torch.distributions.Normal(mean, 1.0).rsample((5,)).sum().backward()
        >>> mean.grad
        tensor(5.)
        """

    @example("torch.distributions.Normal(0.0, 1.0).sample((4,)).shape", "torch.Size([4])")
    def sample_n(self, n: int) -> Tensor:
        """Draws n samples (deprecated: `sample((n,))`)."""
        warn_user("`sample_n(n)` will be deprecated. Use `sample((n,))` instead.", FutureWarning)
        return self.sample(Size((n,)))

    @_without_formula
    @example("torch.distributions.Normal(0.0, 1.0).log_prob(torch.tensor(0.0))", "tensor(-0.9189)")
    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density or mass at a value."""

    @_without_formula
    @example("torch.distributions.Uniform(0.0, 4.0).cdf(torch.tensor(1.0))", "tensor(0.2500)")
    def cdf(self, value: Tensor) -> Tensor:
        """The cumulative distribution function: the probability of a sample up to this value."""

    @_without_formula
    @example("torch.distributions.Uniform(0.0, 4.0).icdf(torch.tensor(0.25))", "tensor(1.)")
    def icdf(self, value: Tensor) -> Tensor:
        """The inverse of `cdf`: the quantile of this probability."""

    @_without_formula
    @example("torch.distributions.Bernoulli(0.3).enumerate_support()", "tensor([0., 1.])")
    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values of a discrete distribution, along a new first dimension."""

    @_without_formula
    @example("torch.distributions.Bernoulli(0.5).entropy()", "tensor(0.6931)")
    def entropy(self) -> Tensor:
        """The entropy in nats."""

    @example("torch.distributions.Categorical(torch.ones(4)).perplexity()", "tensor(4.)")
    def perplexity(self) -> Tensor:
        """The exponential of the entropy."""
        return self.entropy().exp()

    def _extended_shape(self, sample_shape: Any = Size()) -> Any:
        return Size(sample_shape) + self._batch_shape + self._event_shape

    def _unfilled(self, sample_shape: Any, dtype: Any) -> Tensor:
        """An uninitialised tensor with the shape of samples, to be filled with random numbers."""
        return penlight.empty(self._extended_shape(sample_shape), dtype=dtype)

    def _enumerated(self, values: Tensor, expand: bool) -> Tensor:
        """Values along the first dimension, with batch dimensions of size 1 or expanded to the batch shape."""
        event = tuple(values.shape[1:])
        values = values.view((-1,) + (1,) * len(self._batch_shape) + event)
        return values.expand((-1,) + tuple(self._batch_shape) + event) if expand else values

    def _validate_sample(self, value: Tensor) -> None:
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        actual, expected = value.size(), self._batch_shape + self._event_shape
        if actual[len(actual) - len(self._event_shape) :] != self._event_shape:
            raise ValueError(f"The right-most size of value must match event_shape: {actual} vs {self._event_shape}.")
        if _incompatible(actual, expected):
            raise ValueError(f"Value is not broadcastable with batch_shape+event_shape: {actual} vs {expected}.")
        try:
            support = self.support
        except NotImplementedError:
            warn_user(
                f"{self.__class__} does not define `support` to enable sample validation. Please initialize the "
                "distribution with `validate_args=False` to turn off validation."
            )
            return
        if not support.check(value).all():
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(actual)}) to be within the support "
                f"({support!r}) of the distribution {self!r}, but found invalid values:\n{value}"
            )

    def _check(self, value: Tensor) -> None:
        """Validate a sample, if this distribution validates arguments."""
        if self._validate_args:
            self._validate_sample(value)

    def __repr__(self) -> str:
        held = ((name, self.__dict__[name]) for name in self.arg_constraints if name in self.__dict__)
        shown = ", ".join(f"{name}: {value if value.numel() == 1 else value.size()}" for name, value in held)
        return f"{self.__class__.__name__}({shown})"


# ----- Exponential families, whose entropy follows from the log normalizer -------------------------------------------


@example("isinstance(torch.distributions.Poisson(1.0), torch.distributions.ExponentialFamily)", "True")
class ExponentialFamily(Distribution):
    """Densities exp(<t(x), theta> - F(theta) + k(x)): natural parameters theta, log normalizer F, carrier measure k."""

    _natural_params: Any = property(_without_formula(lambda self: ()))
    _mean_carrier_measure: Any = property(_without_formula(lambda self: 0.0))

    @_without_formula
    def _log_normalizer(self, *natural_params: Any) -> Any:
        """F of the natural parameters."""

    def _normalizer_and_slopes(self) -> tuple[Tensor, list[Tensor], Any]:
        """F at the natural parameters, these parameters, and F's gradients in them (the expected statistics)."""
        with penlight.enable_grad():
            params = [p.detach().requires_grad_() for p in self._natural_params]
            normalizer = self._log_normalizer(*params)
            slopes = penlight.autograd.grad(normalizer.sum(), params, create_graph=True)
        return normalizer, params, slopes

    def entropy(self) -> Tensor:
        """The entropy, by the Bregman divergence of the log normalizer."""
        carrier = -self._mean_carrier_measure
        normalizer, params, slopes = self._normalizer_and_slopes()
        result = normalizer + carrier
        for param, slope in zip(params, slopes, strict=True):
            result = result - _sum_rightmost(param * slope, param.dim() - len(self._batch_shape))
        return result
