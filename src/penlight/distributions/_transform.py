"""The base of all transforms, and transforms made from others: inverses, chains, reinterpreted dimensions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import penlight

from ..ops.nonlinear import softplus
from ..tensor import Tensor
from . import constraints
from .utils import _sum_rightmost, lazy_property


class Transform:
    """An invertible map with a known log determinant of its Jacobian.

    With `cache_size=1` the latest pair of input and output is kept, so that inverting what was just computed is free.

    >>> import penlight as torch
    >>> t = torch.distributions.ExpTransform()
    >>> t.inv(t(torch.tensor(2.0)))
    tensor(2.)
    """

    bijective: Any = False
    domain: Any
    codomain: Any

    def __init__(self, cache_size: int = 0) -> None:
        if cache_size not in (0, 1):
            raise ValueError("cache_size must be 0 or 1")
        self._cache_size = cache_size
        self._inv: Transform | None = None
        if cache_size:
            self._cached_x_y: tuple[Any, Any] = (None, None)
        super().__init__()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_inv": None}

    @property
    def event_dim(self) -> int:
        """How many of the last dimensions belong together."""
        if self.domain.event_dim == self.codomain.event_dim:
            return int(self.domain.event_dim)
        raise ValueError("Please use either .domain.event_dim or .codomain.event_dim")

    @property
    def inv(self) -> Transform:
        """The inverse transform; its inverse is this one."""
        if self._inv is None:
            self._inv = _InverseTransform(self)
        return self._inv

    @property
    def sign(self) -> Any:
        """+1 if increasing, -1 if decreasing (of univariate bijections)."""
        raise NotImplementedError

    def with_cache(self, cache_size: int = 1) -> Any:
        """This transform with another cache size."""
        if self._cache_size == cache_size:
            return self
        if type(self).__init__ is Transform.__init__:
            return type(self)(cache_size=cache_size)
        return self._rebuilt(cache_size)

    def _rebuilt(self, cache_size: int) -> Any:
        raise NotImplementedError(f"{type(self)}.with_cache is not implemented")

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = None  # type: ignore[assignment]

    def __call__(self, x: Any) -> Any:
        if not self._cache_size:
            return self._call(x)
        x_old, y_old = self._cached_x_y
        if x is x_old:
            return y_old
        y = self._call(x)
        self._cached_x_y = x, y
        return y

    def _inv_call(self, y: Any) -> Any:
        if not self._cache_size:
            return self._inverse(y)
        x_old, y_old = self._cached_x_y
        if y is y_old:
            return x_old
        x = self._inverse(y)
        self._cached_x_y = x, y
        return x

    def _call(self, x: Any) -> Any:
        raise NotImplementedError

    def _inverse(self, y: Any) -> Any:
        raise NotImplementedError

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """log |det dy/dx|, given both input and output."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return self.__class__.__name__ + "()"

    def forward_shape(self, shape: Any) -> Any:
        """The shape of the output for an input of this shape."""
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        """The shape of the input for an output of this shape."""
        return shape


class _InverseTransform(Transform):
    """Runs another transform backwards."""

    _inv: Any

    def __init__(self, transform: Transform) -> None:
        super().__init__(cache_size=transform._cache_size)
        self._inv = transform

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        return self._inv.codomain

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        return self._inv.domain

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        return bool(self._inv.bijective)

    @property
    def sign(self) -> Any:
        return self._inv.sign

    @property
    def inv(self) -> Transform:
        return self._inv  # type: ignore[no-any-return]

    def with_cache(self, cache_size: int = 1) -> Any:
        return self.inv.with_cache(cache_size).inv

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _InverseTransform) and bool(self._inv == other._inv)

    def __repr__(self) -> str:
        return f"{self.__class__.__name__}({self._inv!r})"

    def __call__(self, x: Any) -> Any:
        return self._inv._inv_call(x)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -self._inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: Any) -> Any:
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self._inv.forward_shape(shape)


def _widened(constraint: Any, event_dim: int) -> Any:
    """A constraint over at least so many event dimensions."""
    if event_dim < constraint.event_dim:
        raise AssertionError(f"event_dim {event_dim} must be >= event_dim {constraint.event_dim}")
    return (
        constraints.independent(constraint, event_dim - constraint.event_dim)
        if (event_dim > constraint.event_dim)
        else constraint
    )


class ComposeTransform(Transform):
    """Transforms one after the other.

    >>> import penlight as torch
    >>> D = torch.distributions
    >>> D.ComposeTransform([D.AffineTransform(1.0, 2.0), D.ExpTransform()])(torch.tensor(-0.5))
    tensor(1.)
    """

    def __init__(self, parts: list[Any], cache_size: int = 0) -> None:
        if cache_size:
            parts = [part.with_cache(cache_size) for part in parts]
        super().__init__(cache_size=cache_size)
        self.parts = parts

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        if not self.parts:
            return constraints.real
        dim = self.parts[-1].codomain.event_dim
        for part in reversed(self.parts):
            inside = part.domain.event_dim
            dim = max(dim + inside - part.codomain.event_dim, inside)
        return _widened(self.parts[0].domain, dim)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        if not self.parts:
            return constraints.real
        dim = self.parts[0].domain.event_dim
        for part in self.parts:
            outside = part.codomain.event_dim
            dim = max(dim + outside - part.domain.event_dim, outside)
        return _widened(self.parts[-1].codomain, dim)

    @lazy_property
    def bijective(self) -> Any:
        return all(part.bijective for part in self.parts)

    @lazy_property
    def sign(self) -> Any:
        sign = 1
        for part in self.parts:
            sign = sign * part.sign
        return sign

    @property
    def inv(self) -> Transform:
        if self._inv is None:
            self._inv = ComposeTransform([part.inv for part in reversed(self.parts)])
            self._inv._inv = self
        return self._inv

    def _rebuilt(self, cache_size: int) -> Any:
        return ComposeTransform(self.parts, cache_size=cache_size)

    def __call__(self, x: Any) -> Any:
        for part in self.parts:
            x = part(x)
        return x

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        if not self.parts:
            return penlight.zeros_like(x)
        total: Any = 0
        event_dim = self.domain.event_dim
        for number, part in enumerate(self.parts, 1):
            after = y if number == len(self.parts) else part(x)
            term = part.log_abs_det_jacobian(x, after)
            term = _sum_rightmost(term, event_dim - part.domain.event_dim)
            total = term if number == 1 else total + term
            event_dim += part.codomain.event_dim - part.domain.event_dim
            x = after
        return total

    def forward_shape(self, shape: Any) -> Any:
        for part in self.parts:
            shape = part.forward_shape(shape)
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return shape

    def __repr__(self) -> str:
        inner = ",\n    ".join(repr(part) for part in self.parts)
        return f"{self.__class__.__name__}(\n    {inner}\n)"


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """Treats more of the last dimensions as belonging together: their log determinants are summed.

    >>> import penlight as torch
    >>> D = torch.distributions
    >>> D.IndependentTransform(D.ExpTransform(), 1).event_dim
    1
    """

    def __init__(self, base_transform: Transform, reinterpreted_batch_ndims: int, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    def _rebuilt(self, cache_size: int) -> Any:
        return IndependentTransform(self.base_transform, self.reinterpreted_batch_ndims, cache_size=cache_size)

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        return constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        return constraints.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims)

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        return bool(self.base_transform.bijective)

    @property
    def sign(self) -> Any:
        return self.base_transform.sign

    def _call(self, x: Tensor) -> Any:
        if x.dim() < self.domain.event_dim:
            raise ValueError("Too few dimensions on input")
        return self.base_transform(x)

    def _inverse(self, y: Tensor) -> Any:
        if y.dim() < self.codomain.event_dim:
            raise ValueError("Too few dimensions on input")
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return _sum_rightmost(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)

    def __repr__(self) -> str:
        return f"{self.__class__.__name__}({self.base_transform!r}, {self.reinterpreted_batch_ndims})"

    def forward_shape(self, shape: Any) -> Any:
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape: Any) -> Any:
        return self.base_transform.inverse_shape(shape)


class _SeveralTransforms(Transform):
    """Transforms side by side along one dimension."""

    def __init__(self, tseq: Sequence[Any], dim: int, cache_size: int) -> None:
        if not all(isinstance(t, Transform) for t in tseq):
            raise AssertionError("All elements of tseq must be Transform instances")
        if cache_size:
            tseq = [t.with_cache(cache_size) for t in tseq]
        super().__init__(cache_size=cache_size)
        self.transforms = list(tseq)
        self.dim = dim

    def _check_size(self, value: Tensor, name: str, size: int, what: str) -> None:
        if not -value.dim() <= self.dim < value.dim():
            raise AssertionError(f"dim {self.dim} out of range for tensor with {value.dim()} dimensions")
        if value.size(self.dim) != size:
            raise AssertionError(f"{name}.size({self.dim}) = {value.size(self.dim)} must equal {what} {size}")

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        return all(t.bijective for t in self.transforms)


class CatTransform(_SeveralTransforms):
    """Transforms of consecutive pieces of one dimension.

    >>> import penlight as torch
    >>> D = torch.distributions
    >>> D.CatTransform([D.ExpTransform(), D.identity_transform])(torch.zeros(2))
    tensor([1., 0.])
    """

    def __init__(
        self, tseq: Sequence[Any], dim: int = 0, lengths: Sequence[int] | None = None, cache_size: int = 0
    ) -> None:
        super().__init__(tseq, dim, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise AssertionError(f"lengths ({len(self.lengths)}) must match transforms ({len(self.transforms)})")

    @lazy_property
    def event_dim(self) -> Any:
        return max(t.event_dim for t in self.transforms)

    @lazy_property
    def length(self) -> Any:
        return sum(self.lengths)

    def _rebuilt(self, cache_size: int) -> Any:
        return CatTransform(self.transforms, self.dim, self.lengths, cache_size)

    def _pieces(self, value: Tensor, name: str) -> Any:
        self._check_size(value, name, self.length, "length")
        return penlight.split(value, self.lengths, self.dim)

    def _call(self, x: Tensor) -> Tensor:
        pieces = self._pieces(x, "x")
        return penlight.cat([t(piece) for t, piece in zip(self.transforms, pieces, strict=True)], dim=self.dim)

    def _inverse(self, y: Tensor) -> Tensor:
        pieces = self._pieces(y, "y")
        return penlight.cat([t.inv(piece) for t, piece in zip(self.transforms, pieces, strict=True)], dim=self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Any:
        terms = [
            _sum_rightmost(t.log_abs_det_jacobian(a, b), self.event_dim - t.event_dim)
            for t, a, b in zip(self.transforms, self._pieces(x, "x"), self._pieces(y, "y"), strict=True)
        ]
        dim = (self.dim - x.dim() if self.dim >= 0 else self.dim) + self.event_dim
        return penlight.cat(terms, dim=dim) if dim < 0 else sum(terms)

    @constraints.dependent_property
    def domain(self) -> Any:
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property
    def codomain(self) -> Any:
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)


class StackTransform(_SeveralTransforms):
    """Transforms of the slices along one dimension.

    >>> import penlight as torch
    >>> D = torch.distributions
    >>> D.StackTransform([D.ExpTransform(), D.identity_transform])(torch.zeros(2))
    tensor([1., 0.])
    """

    def __init__(self, tseq: Sequence[Any], dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(tseq, dim, cache_size)

    def _rebuilt(self, cache_size: int) -> Any:
        return StackTransform(self.transforms, self.dim, cache_size)

    def _slices(self, value: Tensor, name: str) -> Any:
        self._check_size(value, name, len(self.transforms), "len(transforms)")
        return value.unbind(self.dim)

    def _call(self, x: Tensor) -> Tensor:
        slices = self._slices(x, "x")
        return penlight.stack([t(part) for t, part in zip(self.transforms, slices, strict=True)], dim=self.dim)

    def _inverse(self, y: Tensor) -> Tensor:
        slices = self._slices(y, "y")
        return penlight.stack([t.inv(part) for t, part in zip(self.transforms, slices, strict=True)], dim=self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        both = zip(self.transforms, self._slices(x, "x"), self._slices(y, "y"), strict=True)
        return penlight.stack([t.log_abs_det_jacobian(a, b) for t, a, b in both], dim=self.dim)

    @constraints.dependent_property
    def domain(self) -> Any:
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @constraints.dependent_property
    def codomain(self) -> Any:
        return constraints.stack([t.codomain for t in self.transforms], self.dim)


# ----- What transforms of one tensor share ----------------------------------------------------------------------------


class Plain(Transform):
    """Without parameters: equal to all of its kind."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self))


def inside_unit(x: Tensor) -> Tensor:
    finfo = penlight.finfo(x.dtype)
    return x.clamp(min=finfo.tiny, max=1.0 - finfo.eps)


def log_tanh_slope(x: Tensor) -> Tensor:
    """log(1 - tanh(x)^2), without overflow."""
    return 2.0 * (math.log(2.0) - x - softplus(-2.0 * x))
