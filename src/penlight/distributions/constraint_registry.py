"""Transforms from unconstrained values to a constrained region: `biject_to` and `transform_to`."""

from __future__ import annotations

from functools import partial
from typing import Any

from .._common.arguments import explain as _explain
from . import constraints, transforms

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]


class ConstraintRegistry:
    """Maps constraints to transforms: calling it with a `constraint` returns a transform from unconstrained values to that region.

    >>> torch.distributions.transform_to(torch.distributions.constraints.positive)
    ComposeTransform(
        ExpTransform(),
        AffineTransform()
    )
    """

    def __init__(self) -> None:
        self._registry: dict[type, Any] = {}

    def register(self, constraint: Any, factory: Any = None) -> Any:
        """Register the function that creates the transform for a constraint class; also a decorator."""
        if factory is None:
            return partial(self.register, constraint)
        kind = type(constraint) if isinstance(constraint, constraints.Constraint) else constraint
        if not (isinstance(kind, type) and issubclass(kind, constraints.Constraint)):
            raise TypeError(f"Expected constraint to be either a Constraint subclass or instance, but got {kind}")
        self._registry[kind] = factory
        return factory

    def __call__(self, constraint: Any) -> Any:
        """The transform into the region of a constraint."""
        if type(constraint) not in self._registry:
            raise NotImplementedError(f"Cannot transform {type(constraint).__name__} constraints")
        return self._registry[type(constraint)](constraint)


def _half_line(bound: Any, direction: int) -> Any:
    return transforms.ComposeTransform([transforms.ExpTransform(), transforms.AffineTransform(bound, direction)])


def _interval(low: Any, high: Any) -> Any:
    sigmoid = transforms.SigmoidTransform()
    if all(isinstance(bound, (int, float)) for bound in (low, high)) and (low, high) == (0, 1):
        return sigmoid
    return transforms.ComposeTransform([sigmoid, transforms.AffineTransform(low, high - low)])


def _independent(to: Any, c: Any) -> Any:
    return transforms.IndependentTransform(to(c.base_constraint), c.reinterpreted_batch_ndims)


biject_to = ConstraintRegistry()
transform_to = ConstraintRegistry()

# Constraint classes, and the function of a registry (`to`) and a constraint (`c`) that creates the transform; it may look up others.
_BOTH: tuple[tuple[tuple[Any, ...], Any], ...] = (
    ((constraints.real,), lambda to, c: transforms.identity_transform),
    ((constraints.greater_than, constraints.greater_than_eq), lambda to, c: _half_line(c.lower_bound, 1)),
    ((constraints.less_than,), lambda to, c: _half_line(c.upper_bound, -1)),
    ((constraints.interval, constraints.half_open_interval), lambda to, c: _interval(c.lower_bound, c.upper_bound)),
    ((constraints.corr_cholesky,), lambda to, c: transforms.CorrCholeskyTransform()),
    ((constraints.independent,), _independent),
    ((constraints.cat,), lambda to, c: transforms.CatTransform([to(k) for k in c.cseq], c.dim, c.lengths)),
    ((constraints.stack,), lambda to, c: transforms.StackTransform([to(k) for k in c.cseq], c.dim)),
)
_DEFINITE = (constraints.positive_definite, constraints.positive_semidefinite)
_BIJECT = (((constraints.simplex,), lambda to, c: transforms.StickBreakingTransform()),)
_TRANSFORM = (
    ((constraints.simplex,), lambda to, c: transforms.SoftmaxTransform()),
    ((constraints.lower_cholesky,), lambda to, c: transforms.LowerCholeskyTransform()),
    (_DEFINITE, lambda to, c: transforms.PositiveDefiniteTransform()),
)

for _registry, _table in ((biject_to, _BOTH + _BIJECT), (transform_to, _BOTH + _TRANSFORM)):
    for _kinds, _make in _table:
        for _kind in _kinds:
            _registry.register(_kind, partial(_make, _registry))


_explain(globals())
