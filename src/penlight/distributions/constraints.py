"""Constraints: the valid values of a parameter, and the support of samples.

>>> import penlight as torch
>>> torch.distributions.constraints.positive.check(torch.tensor([-1.0, 1.0]))
tensor([False,  True])
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import penlight

from .._common.arguments import explain as _explain
from .._common.docstrings import example
from ..tensor import Tensor
from .utils import method

__all__ = [
    "Constraint", "MixtureSameFamilyConstraint", "boolean", "cat", "corr_cholesky", "dependent", "dependent_property",
    "greater_than", "greater_than_eq", "half_open_interval", "independent", "integer_interval", "interval",
    "is_dependent", "less_than", "lower_cholesky", "lower_triangular", "multinomial", "nonnegative",
    "nonnegative_integer", "one_hot", "positive", "positive_definite", "positive_integer", "positive_semidefinite",
    "real", "real_vector", "simplex", "square", "stack", "symmetric", "unit_interval",
]  # fmt: skip


@example("torch.distributions.constraints.simplex.event_dim", "1")
class Constraint:
    """A region of valid values; the last `event_dim` dimensions are checked together."""

    is_discrete: Any = False
    event_dim: Any = 0

    def check(self, value: Tensor) -> Tensor:
        """A mask, over the batch dimensions, of the values in the region."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__[1:]}()"


# ----- What can only be known of an instance ------------------------------------------------------------------------


def _only_if_known(name: str) -> Any:
    """A property `name` that raises unless its value was given to the constraint."""

    def known(constraint: Any) -> Any:
        if (value := getattr(constraint, "_" + name)) is NotImplemented:
            raise NotImplementedError(f".{name} cannot be determined statically")
        return value

    return property(known)


@example("torch.distributions.constraints.dependent(event_dim=1).event_dim", "1")
class _Dependent(Constraint):
    """A constraint that depends on other variables, so only an instance knows it."""

    is_discrete = _only_if_known("is_discrete")
    event_dim = _only_if_known("event_dim")

    def __init__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> None:
        self._is_discrete, self._event_dim = is_discrete, event_dim

    def __call__(self, **known: Any) -> Any:
        """A copy of this constraint with more known properties."""
        return _Dependent(**{"is_discrete": self._is_discrete, "event_dim": self._event_dim, **known})

    def check(self, x: Tensor) -> Tensor:
        raise ValueError("Cannot determine validity of dependent constraint")


@example("torch.distributions.constraints.is_dependent(torch.distributions.constraints.real)", "False")
def is_dependent(constraint: Any) -> bool:
    """Whether only an instance knows this constraint.

    Returns:
        True or False.
    """
    return isinstance(constraint, _Dependent)


class _DependentProperty(property, _Dependent):
    """A property of instances; on the class it is a dependent constraint.

    Args:
        fn: the function that computes the constraint; without it this is a decorator.
        is_discrete, event_dim: those of the constraint, if they are known for the class.

    >>> from penlight.distributions import constraints
    >>> class Bounded:
    ...     high = 2.0
    ...     @constraints.dependent_property(is_discrete=False, event_dim=0)
    ...     def support(self):
    ...         return constraints.interval(0.0, self.high)
    >>> Bounded().support, Bounded.support.event_dim
    (Interval(lower_bound=0.0, upper_bound=2.0), 0)
    """

    def __init__(self, fn: Callable[..., Any] | None = None, *, is_discrete: Any = NotImplemented,
                 event_dim: Any = NotImplemented) -> None:  # fmt: skip
        property.__init__(self, fn)
        _Dependent.__init__(self, is_discrete=is_discrete, event_dim=event_dim)

    def __call__(self, fn: Callable[..., Any]) -> Any:  # type: ignore[override]
        return _DependentProperty(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


# ----- Constraints around others ------------------------------------------------------------------------------------


def _all_of_last(result: Tensor, dims: int) -> Tensor:
    """Reduces the last `dims` dimensions to one truth value."""
    return result.reshape(tuple(result.shape[: result.dim() - dims]) + (-1,)).all(-1)


class _Around(Constraint):
    """Base class of constraints that wrap another."""

    def __init__(self, base_constraint: Constraint) -> None:
        if not isinstance(base_constraint, Constraint):
            raise AssertionError(f"base_constraint must be a Constraint, got {type(base_constraint).__name__}")
        self.base_constraint = base_constraint

    is_discrete = property(lambda self: self.base_constraint.is_discrete)

    def _need(self, dims: int, wanted: int, value: Tensor) -> None:
        if dims < wanted:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.dim()}")


@example("torch.distributions.constraints.independent(torch.distributions.constraints.real, 1).event_dim", "1")
class _IndependentConstraint(_Around):
    """Treats some batch dimensions of another constraint as dimensions of the event.

    Args:
        base_constraint: the other constraint.
        reinterpreted_batch_ndims: how many dimensions become part of the event.
    """

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int) -> None:
        super().__init__(base_constraint)
        if not isinstance(reinterpreted_batch_ndims, int):
            raise AssertionError(
                f"reinterpreted_batch_ndims must be an int, got {type(reinterpreted_batch_ndims).__name__}"
            )
        if reinterpreted_batch_ndims < 0:
            raise AssertionError(f"reinterpreted_batch_ndims must be >= 0, got {reinterpreted_batch_ndims}")
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    event_dim = property(lambda self: self.base_constraint.event_dim + self.reinterpreted_batch_ndims)

    def check(self, value: Tensor) -> Tensor:
        result = self.base_constraint.check(value)
        self._need(result.dim(), self.reinterpreted_batch_ndims, value)
        return _all_of_last(result, self.reinterpreted_batch_ndims)

    def __repr__(self) -> str:
        return f"{type(self).__name__[1:]}({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamilyConstraint(_Around):
    """The support of a mixture: the components' constraint, checked with the component dimension restored.

    Args:
        base_constraint: the components' constraint.

    >>> from penlight.distributions import constraints
    >>> constraints.MixtureSameFamilyConstraint(constraints.real)
    MixtureSameFamilyConstraint(Real())
    """

    event_dim = property(lambda self: self.base_constraint.event_dim)

    def check(self, value: Tensor) -> Tensor:
        result = self.base_constraint.check(value.unsqueeze(-1 - self.event_dim))
        self._need(value.dim(), self.event_dim, value)
        return _all_of_last(result, result.dim() - (value.dim() - self.event_dim))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_constraint!r})"


# ----- Bounds: a comparison with each, and integers only where the values are discrete ---------------------------


class _Bounded(Constraint):
    """Values compared with bounds: the class declares the comparisons, and the bounds are attributes, which the repr shows."""

    _bounds: Mapping[str, Callable[[Tensor, Any], Tensor]] = {}

    def check(self, value: Tensor) -> Tensor:
        tests = [compare(value, getattr(self, name)) for name, compare in self._bounds.items()]
        if self.is_discrete:
            tests.insert(0, value % 1 == 0)
        return functools.reduce(operator.and_, tests)

    def __repr__(self) -> str:
        return f"{type(self).__name__[1:]}({', '.join(f'{name}={getattr(self, name)}' for name in self._bounds)})"


class _Lower(_Bounded):
    def __init__(self, lower_bound: Any) -> None:
        self.lower_bound = lower_bound


class _Upper(_Bounded):
    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound


class _Between(_Bounded):
    def __init__(self, lower_bound: Any, upper_bound: Any) -> None:
        self.lower_bound, self.upper_bound = lower_bound, upper_bound


@example("torch.distributions.constraints.greater_than(1.0).check(torch.tensor([1.0, 2.0]))", "tensor([False,  True])")
class _GreaterThan(_Lower):
    """Numbers above a bound.

    Args:
        lower_bound: the bound; a number or a tensor.
    """

    _bounds = {"lower_bound": operator.gt}


@example(
    "torch.distributions.constraints.greater_than_eq(1.0).check(torch.tensor([0.0, 1.0]))", "tensor([False,  True])"
)
class _GreaterThanEq(_Lower):
    """Numbers that are not below a bound.

    Args:
        lower_bound: the bound; a number or a tensor.
    """

    _bounds = {"lower_bound": operator.ge}


@example("torch.distributions.constraints.less_than(1.0).check(torch.tensor([0.0, 1.0]))", "tensor([ True, False])")
class _LessThan(_Upper):
    """Numbers below a bound.

    Args:
        upper_bound: the bound; a number or a tensor.
    """

    _bounds = {"upper_bound": operator.lt}


@example("torch.distributions.constraints.interval(0.0, 1.0).check(torch.tensor([1.0, 2.0]))", "tensor([ True, False])")
class _Interval(_Between):
    """Numbers between two bounds, including both.

    Args:
        lower_bound, upper_bound: the bounds; numbers or tensors.
    """

    _bounds = {"lower_bound": operator.ge, "upper_bound": operator.le}


@example(
    "torch.distributions.constraints.half_open_interval(0.0, 1.0).check(torch.tensor([0.0, 1.0]))",
    "tensor([ True, False])",
)
class _HalfOpenInterval(_Between):
    """Numbers between two bounds, including the lower one.

    Args:
        lower_bound, upper_bound: the bounds; numbers or tensors.
    """

    _bounds = {"lower_bound": operator.ge, "upper_bound": operator.lt}


class _IntegerGreaterThan(_Lower):
    _bounds = {"lower_bound": operator.ge}
    is_discrete = True


class _IntegerLessThan(_Upper):
    _bounds = {"upper_bound": operator.le}
    is_discrete = True


@example(
    "torch.distributions.constraints.integer_interval(0, 2).check(torch.tensor([1.0, 1.5]))", "tensor([ True, False])"
)
class _IntegerInterval(_Between):
    """Integers between two bounds, including both.

    Args:
        lower_bound, upper_bound: the bounds; numbers or tensors.
    """

    _bounds = {"lower_bound": operator.ge, "upper_bound": operator.le}
    is_discrete = True


# ----- Numbers and vectors ------------------------------------------------------------------------------------------


class _Boolean(Constraint):
    is_discrete = True

    check = method(lambda c, value: (value == 0) | (value == 1))


class _OneHot(Constraint):
    is_discrete = True
    event_dim = 1

    check = method(lambda c, value: boolean.check(value).all(-1) & value.sum(-1).eq(1))


@example(
    "torch.distributions.constraints.multinomial(3).check(torch.tensor([[1, 2], [2, 2]]))", "tensor([ True, False])"
)
class _Multinomial(Constraint):
    """Counts that sum to at most the bound.

    Args:
        upper_bound: the largest sum.
    """

    is_discrete = True
    event_dim = 1

    def __init__(self, upper_bound: Any) -> None:
        self.upper_bound = upper_bound

    def check(self, x: Tensor) -> Tensor:
        return (x >= 0).all(dim=-1) & (x.sum(dim=-1) <= self.upper_bound)


class _Real(Constraint):
    def check(self, value: Tensor) -> Tensor:
        return value == value  # false for NaN


class _Simplex(Constraint):
    event_dim = 1

    check = method(lambda c, value: (value >= 0).all(dim=-1) & ((value.sum(-1) - 1).abs() < 1e-6))


# ----- Matrices -----------------------------------------------------------------------------------------------------


_Tests = tuple[Callable[[Tensor], Tensor], ...]


class _Matrices(Constraint):
    """Several tests, from cheap to expensive; each runs only if all values pass the ones before."""

    event_dim = 2
    _tests: _Tests = ()

    def check(self, value: Tensor) -> Tensor:
        for test in self._tests:
            passed = test(value)
            if not passed.all():
                break
        return passed


def _is_lower(value: Tensor) -> Tensor:
    return _all_of_last(value.tril() == value, 2)


def _is_cholesky(value: Tensor) -> Tensor:
    return _is_lower(value) & (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


def _is_correlation(value: Tensor) -> Tensor:
    """Cholesky factors of correlation matrices have rows of length 1."""
    tolerance = penlight.finfo(value.dtype).eps * value.size(-1) * 10
    lengths = value.detach().norm(dim=-1)
    return _is_cholesky(value) & (lengths - 1.0).abs().le(tolerance).all(dim=-1)


def _is_square(value: Tensor) -> Tensor:
    return penlight.full(value.shape[:-2], value.shape[-2] == value.shape[-1], dtype=penlight.bool)


class _LowerTriangular(_Matrices):
    _tests = (_is_lower,)


class _LowerCholesky(_Matrices):
    _tests = (_is_cholesky,)


class _CorrCholesky(_Matrices):
    _tests = (_is_correlation,)


class _Square(_Matrices):
    _tests: _Tests = (_is_square,)


class _Symmetric(_Square):
    _tests: _Tests = (_is_square, lambda value: penlight.isclose(value, value.mT, atol=1e-6).all(-2).all(-1))


class _PositiveSemidefinite(_Symmetric):
    _tests = (*_Symmetric._tests, lambda value: penlight.linalg.eigvalsh(value).ge(0).all(-1))


class _PositiveDefinite(_Symmetric):
    _tests = (*_Symmetric._tests, lambda value: penlight.linalg.cholesky_ex(value).info.eq(0))


# ----- Several constraints side by side -----------------------------------------------------------------------------


class _Several(Constraint):
    """Constraints on the pieces of one dimension."""

    def __init__(self, cseq: Sequence[Constraint], dim: int) -> None:
        if not all(isinstance(c, Constraint) for c in cseq):
            raise AssertionError("All elements of cseq must be Constraint instances")
        self.cseq, self.dim = list(cseq), dim

    is_discrete = property(lambda self: any(c.is_discrete for c in self.cseq))
    event_dim = property(lambda self: max(c.event_dim for c in self.cseq))

    def _checked(self, value: Tensor, split: Callable[[Tensor], Any]) -> list[Tensor]:
        """The result of each constraint for its piece of the value."""
        if not -value.dim() <= self.dim < value.dim():
            raise AssertionError(f"dim {self.dim} out of range for value with {value.dim()} dimensions")
        return [c.check(piece) for c, piece in zip(self.cseq, split(value), strict=False)]


@example(
    "torch.distributions.constraints.cat([torch.distributions.constraints.positive] * 2).check(torch.tensor([-1.0, 1.0]))",
    "tensor([False,  True])",
)
class _Cat(_Several):
    """Constraints on consecutive pieces of one dimension, of the given lengths.

    Args:
        cseq: the constraints.
        dim: the dimension.
        lengths: the lengths of the pieces; 1 each, if not given.
    """

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0, lengths: Sequence[int] | None = None) -> None:
        super().__init__(cseq, dim)
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.cseq):
            raise AssertionError(f"lengths ({len(self.lengths)}) must match cseq ({len(self.cseq)})")

    def check(self, value: Tensor) -> Tensor:
        return penlight.cat(self._checked(value, lambda v: _narrowed(v, self.dim, self.lengths)), self.dim)


def _narrowed(value: Tensor, dim: int, lengths: Sequence[int]) -> Any:
    """Consecutive pieces of the given lengths; the dimension may be longer than their sum."""
    ends = itertools.accumulate(lengths)
    return (value.narrow(dim, end - length, length) for end, length in zip(ends, lengths, strict=True))


@example(
    "torch.distributions.constraints.stack([torch.distributions.constraints.positive] * 2).check(torch.tensor([-1.0, 1.0]))",
    "tensor([False,  True])",
)
class _Stack(_Several):
    """Constraints on the slices along one dimension.

    Args:
        cseq: the constraints.
        dim: the dimension.
    """

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0) -> None:
        super().__init__(cseq, dim)

    @property
    def event_dim(self) -> int:
        inner = max(c.event_dim for c in self.cseq)
        return inner + 1 if self.dim + inner < 0 else inner

    def check(self, value: Tensor) -> Tensor:
        return penlight.stack(self._checked(value, lambda v: v.unbind(self.dim)), self.dim)


boolean: Constraint = _Boolean()
cat = _Cat
corr_cholesky = _CorrCholesky()
dependent = _Dependent()
dependent_property = _DependentProperty
greater_than = _GreaterThan
greater_than_eq = _GreaterThanEq
half_open_interval = _HalfOpenInterval
independent = _IndependentConstraint
integer_interval = _IntegerInterval
interval = _Interval
less_than = _LessThan
lower_cholesky = _LowerCholesky()
lower_triangular = _LowerTriangular()
multinomial = _Multinomial
nonnegative = _GreaterThanEq(0.0)
nonnegative_integer = _IntegerGreaterThan(0)
one_hot = _OneHot()
positive = _GreaterThan(0.0)
positive_definite = _PositiveDefinite()
positive_integer = _IntegerGreaterThan(1)
positive_semidefinite = _PositiveSemidefinite()
real = _Real()
simplex = _Simplex()
square = _Square()
stack = _Stack
symmetric = _Symmetric()
unit_interval = _Interval(0.0, 1.0)
real_vector = independent(real, 1)


_explain(globals())
