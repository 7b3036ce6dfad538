"""Transforms from unconstrained real numbers into a constrained region: `biject_to` and `transform_to`."""

from __future__ import annotations

from typing import Any

from . import constraints, transforms
from .utils import _Number

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]


class ConstraintRegistry:
    """Knows for kinds of constraints how to make a transform.

    >>> import penlight as torch
    >>> torch.distributions.transform_to(torch.distributions.constraints.positive)
    ComposeTransform(
        ExpTransform(),
        AffineTransform()
    )
    """

    def __init__(self) -> None:
        self._registry: dict[type, Any] = {}
        super().__init__()

    def register(self, constraint: Any, factory: Any = None) -> Any:
        """Sets the function that makes the transform for a constraint class; also a decorator."""
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        if isinstance(constraint, constraints.Constraint):
            constraint = type(constraint)
        if not isinstance(constraint, type) or not issubclass(constraint, constraints.Constraint):
            raise TypeError(f"Expected constraint to be either a Constraint subclass or instance, but got {constraint}")
        self._registry[constraint] = factory
        return factory

    def __call__(self, constraint: Any) -> Any:
        """The transform into the region of a constraint."""
        factory = self._registry.get(type(constraint))
        if factory is None:
            raise NotImplementedError(f"Cannot transform {type(constraint).__name__} constraints")
        return factory(constraint)


biject_to = ConstraintRegistry()
transform_to = ConstraintRegistry()


def _half_line(bound: str, direction: int) -> Any:
    def factory(constraint: Any) -> Any:
        shift = transforms.AffineTransform(getattr(constraint, bound), direction)
        return transforms.ComposeTransform([transforms.ExpTransform(), shift])

    return factory


def _interval(constraint: Any) -> Any:
    low, high = constraint.lower_bound, constraint.upper_bound
    if isinstance(low, _Number) and low == 0 and isinstance(high, _Number) and high == 1:
        return transforms.SigmoidTransform()
    return transforms.ComposeTransform([transforms.SigmoidTransform(), transforms.AffineTransform(low, high - low)])


def _register_both() -> None:
    """What does not depend on whether a bijection is wanted, and what is made from parts."""
    for registry in (biject_to, transform_to):
        registry.register(constraints.real, lambda c: transforms.identity_transform)
        for kind in (constraints.greater_than, constraints.greater_than_eq):
            registry.register(kind, _half_line("lower_bound", 1))
        registry.register(constraints.less_than, _half_line("upper_bound", -1))
        registry.register(constraints.interval, _interval)
        registry.register(constraints.half_open_interval, _interval)
        registry.register(constraints.corr_cholesky, lambda c: transforms.CorrCholeskyTransform())
        registry.register(
            constraints.independent,
            lambda c, to=registry: transforms.IndependentTransform(to(c.base_constraint), c.reinterpreted_batch_ndims),
        )
        registry.register(
            constraints.cat, lambda c, to=registry: transforms.CatTransform([to(k) for k in c.cseq], c.dim, c.lengths)
        )
        registry.register(
            constraints.stack, lambda c, to=registry: transforms.StackTransform([to(k) for k in c.cseq], c.dim)
        )


_register_both()
biject_to.register(constraints.simplex, lambda c: transforms.StickBreakingTransform())
transform_to.register(constraints.simplex, lambda c: transforms.SoftmaxTransform())
transform_to.register(constraints.lower_cholesky, lambda c: transforms.LowerCholeskyTransform())
for _kind in (constraints.positive_definite, constraints.positive_semidefinite):
    transform_to.register(_kind, lambda c: transforms.PositiveDefiniteTransform())
