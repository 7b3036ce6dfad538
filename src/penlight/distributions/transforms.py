"""Transforms of random variables.

>>> import penlight as torch
>>> torch.distributions.transforms.SigmoidTransform()(torch.tensor(0.0))
tensor(0.5000)
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import penlight

from .._common.docstrings import complete
from ..ops.nn.padding import pad
from ..ops.nn.smooth_activation import logsigmoid, softplus
from ..size import Size
from ..tensor import Tensor
from . import constraints
from .utils import _Number, _sum_rightmost, broadcast_all, lazy_property, method, tril_matrix_to_vec, vec_to_tril_matrix

__all__ = [
    "AbsTransform", "AffineTransform", "CatTransform", "ComposeTransform", "CorrCholeskyTransform",
    "CumulativeDistributionTransform", "ExpTransform", "IndependentTransform", "LowerCholeskyTransform",
    "PositiveDefiniteTransform", "PowerTransform", "ReshapeTransform", "SigmoidTransform", "SoftmaxTransform",
    "SoftplusTransform", "StackTransform", "StickBreakingTransform", "TanhTransform", "Transform", "identity_transform",
]  # fmt: skip


def _declaring(transform: Any, name: str) -> Any:
    """The class that declares `name` for this transform; None if none does."""
    return next((cls for cls in type(transform).__mro__ if name in vars(cls)), None)


class Transform:
    """An invertible map whose log Jacobian determinant is known.

    With `cache_size=1` it caches the latest pair of input and output, so that inverting the latest output is free.

    >>> t = torch.distributions.ExpTransform()
    >>> t.inv(t(torch.tensor(2.0)))
    tensor(2.)
    """

    # Note [What a transform declares]
    # A transform declares `domain`, `codomain` and `bijective`; `_call`, `_inverse` and `log_abs_det_jacobian`; `sign` if it has one, and
    # how it changes shapes. `_arguments` names the attributes to pass to its class (none by default), so that
    # `with_cache` can create a copy. `_compared` names the attributes that equal transforms share; without it a
    # transform equals only itself. A subclass is copied and compared as the class that declares these names.
    bijective: Any = False
    domain: Any
    codomain: Any
    _arguments: tuple[str, ...]
    _compared: tuple[str, ...]

    def __init_subclass__(cls, example: tuple[str, str] | None = None, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        complete(cls, ">>> torch.distributions.{}{}\n{}", example)

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
        """The number of event dimensions."""
        dims = {self.domain.event_dim, self.codomain.event_dim}
        if len(dims) > 1:
            raise ValueError("Please use either .domain.event_dim or .codomain.event_dim")
        return int(dims.pop())

    @property
    def inv(self) -> Transform:
        """The inverse transform; its inverse is this one."""
        if self._inv is None:
            self._inv = self._inverted()
        return self._inv

    def _inverted(self) -> Transform:
        return _InverseTransform(self)

    @property
    def sign(self) -> Any:
        """+1 if increasing, -1 if decreasing (for univariate bijections)."""
        raise NotImplementedError

    def with_cache(self, cache_size: int = 1) -> Any:
        """This transform with another cache size."""
        if cache_size == self._cache_size:
            return self
        if declaring := _declaring(self, "_arguments"):
            return declaring(*(getattr(self, name) for name in declaring._arguments), cache_size=cache_size)
        if type(self).__init__ is not Transform.__init__:
            raise NotImplementedError(f"{type(self)}.with_cache is not implemented")
        return type(self)(cache_size=cache_size)

    def __eq__(self, other: object) -> bool:
        declaring = _declaring(self, "_compared")
        if declaring is None:
            return self is other
        return isinstance(other, declaring) and all(
            _same(getattr(self, name), getattr(other, name)) for name in declaring._compared
        )

    def __call__(self, x: Any) -> Any:
        return self._remembered(0, x, self._call)

    def _inv_call(self, y: Any) -> Any:
        return self._remembered(1, y, self._inverse)

    def _remembered(self, side: int, value: Any, compute: Callable[[Any], Any]) -> Any:
        """Return the cached partner of `value`, or compute and cache it."""
        if not self._cache_size:
            return compute(value)
        if value is not self._cached_x_y[side]:
            other = compute(value)
            self._cached_x_y = (other, value) if side else (value, other)
        return self._cached_x_y[1 - side]

    def _call(self, x: Any) -> Any:
        raise NotImplementedError

    def _inverse(self, y: Any) -> Any:
        raise NotImplementedError

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """log |det dy/dx|, given both input and output."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{self.__class__.__name__}()"

    def forward_shape(self, shape: Any) -> Any:
        """The shape of the output for an input of this shape."""
        return shape

    def inverse_shape(self, shape: Any) -> Any:
        """The shape of the input for an output of this shape."""
        return shape


def _same(a: Any, b: Any) -> bool:
    equal = a == b
    return bool(equal.all()) if isinstance(equal, Tensor) else bool(equal)


# ----- Made from others: inverses, chains, more dimensions, side by side ----------------------------------------------


class _InverseTransform(Transform):
    """Runs another transform backwards."""

    _inv: Any
    _compared = ("_inv",)

    def __init__(self, transform: Transform) -> None:
        super().__init__(cache_size=transform._cache_size)
        self._inv = transform

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__  # here `_inv` is not a cache; PyTorch drops it, which makes its pickles unusable

    domain = constraints.dependent_property(lambda self: self._inv.codomain, is_discrete=False)
    codomain = constraints.dependent_property(lambda self: self._inv.domain, is_discrete=False)
    bijective = property(lambda self: self._inv.bijective)
    sign = property(lambda self: self._inv.sign)

    def with_cache(self, cache_size: int = 1) -> Any:
        return self._inv.with_cache(cache_size).inv

    def __call__(self, x: Any) -> Any:
        return self._inv._inv_call(x)

    log_abs_det_jacobian = method(lambda t, x, y: -t._inv.log_abs_det_jacobian(y, x))

    def __repr__(self) -> str:
        return f"{self.__class__.__name__}({self._inv!r})"

    forward_shape = method(lambda t, shape: t._inv.inverse_shape(shape))
    inverse_shape = method(lambda t, shape: t._inv.forward_shape(shape))


def _end_of_chain(parts: Sequence[Any], entrance: str, exit: str) -> Any:
    """The constraint `exit` of the last part, with the event dimensions that the whole chain has there."""
    if not parts:
        return constraints.real
    dims = getattr(parts[0], entrance).event_dim
    for part in parts:
        outside = getattr(part, exit)
        dims = max(dims + outside.event_dim - getattr(part, entrance).event_dim, outside.event_dim)
    return constraints.independent(outside, dims - outside.event_dim) if dims > outside.event_dim else outside


class ComposeTransform(Transform):
    """The composition of several transforms, applied in order.

    >>> D = torch.distributions
    >>> D.ComposeTransform([D.AffineTransform(1.0, 2.0), D.ExpTransform()])(torch.tensor(-0.5))
    tensor(1.)
    """

    _arguments = _compared = ("parts",)

    def __init__(self, parts: list[Any], cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.parts = [part.with_cache(cache_size) for part in parts] if cache_size else parts

    domain = constraints.dependent_property(
        lambda self: _end_of_chain(self.parts[::-1], "codomain", "domain"), is_discrete=False
    )
    codomain = constraints.dependent_property(
        lambda self: _end_of_chain(self.parts, "domain", "codomain"), is_discrete=False
    )

    @lazy_property
    def bijective(self) -> Any:
        return all(part.bijective for part in self.parts)

    @lazy_property
    def sign(self) -> Any:
        return math.prod(part.sign for part in self.parts)

    def _inverted(self) -> Transform:
        inverse = ComposeTransform([part.inv for part in reversed(self.parts)])
        inverse._inv = self
        return inverse

    def __call__(self, x: Any) -> Any:
        return functools.reduce(lambda value, part: part(value), self.parts, x)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        if not self.parts:
            return penlight.zeros_like(x)
        terms: list[Any] = []
        dims, last = self.domain.event_dim, len(self.parts) - 1
        for number, part in enumerate(self.parts):
            inside, after = part.domain.event_dim, y if number == last else part(x)
            terms.append(_sum_rightmost(part.log_abs_det_jacobian(x, after), dims - inside))
            x, dims = after, dims + part.codomain.event_dim - inside
        return sum(terms[1:], terms[0])

    def forward_shape(self, shape: Any) -> Any:
        return functools.reduce(lambda size, part: part.forward_shape(size), self.parts, shape)

    def inverse_shape(self, shape: Any) -> Any:
        return functools.reduce(lambda size, part: part.inverse_shape(size), reversed(self.parts), shape)

    def __repr__(self) -> str:
        inner = ",\n    ".join(repr(part) for part in self.parts)
        return f"{self.__class__.__name__}(\n    {inner}\n)"


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """Treats more of the last dimensions as event dimensions: their log determinants are summed.

    >>> D = torch.distributions
    >>> D.IndependentTransform(D.ExpTransform(), 1).event_dim
    1
    """

    _arguments = ("base_transform", "reinterpreted_batch_ndims")

    def __init__(self, base_transform: Transform, reinterpreted_batch_ndims: int, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    domain = constraints.dependent_property(lambda self: self._more(self.base_transform.domain), is_discrete=False)
    codomain = constraints.dependent_property(lambda self: self._more(self.base_transform.codomain), is_discrete=False)
    bijective = property(lambda self: self.base_transform.bijective)
    sign = property(lambda self: self.base_transform.sign)

    def _more(self, constraint: Any) -> Any:
        return constraints.independent(constraint, self.reinterpreted_batch_ndims)

    def _call(self, x: Tensor) -> Any:
        _at_least(x.shape, self.domain.event_dim)
        return self.base_transform(x)

    def _inverse(self, y: Tensor) -> Any:
        _at_least(y.shape, self.codomain.event_dim)
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return _sum_rightmost(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)

    def __repr__(self) -> str:
        return f"{self.__class__.__name__}({self.base_transform!r}, {self.reinterpreted_batch_ndims})"

    forward_shape = method(lambda t, shape: t.base_transform.forward_shape(shape))
    inverse_shape = method(lambda t, shape: t.base_transform.inverse_shape(shape))


class _SideBySide(Transform):
    """Transforms of the pieces of one dimension. Subclasses split a value into pieces, and join pieces and constraints."""

    _cut: Callable[[Tensor], Any]
    _joined: Callable[[Any], Tensor]
    _regions: Callable[[list[Any]], Any]

    def __init__(self, tseq: Sequence[Any], dim: int, cache_size: int) -> None:
        if not all(isinstance(t, Transform) for t in tseq):
            raise AssertionError("All elements of tseq must be Transform instances")
        super().__init__(cache_size=cache_size)
        self.transforms = [t.with_cache(cache_size) for t in tseq] if cache_size else list(tseq)
        self.dim = dim

    domain = constraints.dependent_property(lambda self: self._regions([t.domain for t in self.transforms]))
    codomain = constraints.dependent_property(lambda self: self._regions([t.codomain for t in self.transforms]))
    bijective = property(lambda self: all(t.bijective for t in self.transforms))

    def _pieces(self, name: str, value: Tensor) -> Any:
        """The pieces of a value; raises if its dimension has the wrong size."""
        if not -value.dim() <= self.dim < value.dim():
            raise AssertionError(f"dim {self.dim} out of range for tensor with {value.dim()} dimensions")
        attribute, size = self._size()
        if value.size(self.dim) != size:
            raise AssertionError(f"{name}.size({self.dim}) = {value.size(self.dim)} must equal {attribute} {size}")
        return self._cut(value)

    def _size(self) -> tuple[str, int]:
        """The required size of the dimension, and where it comes from."""
        raise NotImplementedError

    def _call(self, x: Tensor) -> Tensor:
        return self._joined([t(piece) for t, piece in zip(self.transforms, self._pieces("x", x), strict=True)])

    def _inverse(self, y: Tensor) -> Tensor:
        return self._joined([t.inv(piece) for t, piece in zip(self.transforms, self._pieces("y", y), strict=True)])

    def _slopes(self, x: Tensor, y: Tensor) -> list[Tensor]:
        pairs = zip(self.transforms, self._pieces("x", x), self._pieces("y", y), strict=True)
        return [t.log_abs_det_jacobian(a, b) for t, a, b in pairs]


class CatTransform(_SideBySide):
    """Transforms of consecutive pieces of one dimension.

    >>> D = torch.distributions
    >>> D.CatTransform([D.ExpTransform(), D.identity_transform])(torch.zeros(2))
    tensor([1., 0.])
    """

    _arguments = ("transforms", "dim", "lengths")

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

    def _size(self) -> tuple[str, int]:
        return "length", self.length

    def _cut(self, value: Tensor) -> Any:
        return penlight.split(value, self.lengths, self.dim)

    def _joined(self, pieces: Any) -> Tensor:
        return penlight.cat(pieces, dim=self.dim)

    def _regions(self, members: list[Any]) -> Any:
        return constraints.cat(members, self.dim, self.lengths)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Any:
        missing = [self.event_dim - t.event_dim for t in self.transforms]
        terms = [_sum_rightmost(slope, dims) for slope, dims in zip(self._slopes(x, y), missing, strict=True)]
        dim = (self.dim - x.dim() if self.dim >= 0 else self.dim) + self.event_dim
        return penlight.cat(terms, dim=dim) if dim < 0 else sum(terms)


class StackTransform(_SideBySide):
    """Transforms of the slices along one dimension.

    >>> D = torch.distributions
    >>> D.StackTransform([D.ExpTransform(), D.identity_transform])(torch.zeros(2))
    tensor([1., 0.])
    """

    _arguments = ("transforms", "dim")

    def __init__(self, tseq: Sequence[Any], dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(tseq, dim, cache_size)

    def _size(self) -> tuple[str, int]:
        return "len(transforms)", len(self.transforms)

    def _cut(self, value: Tensor) -> Any:
        return value.unbind(self.dim)

    def _joined(self, pieces: Any) -> Tensor:
        return penlight.stack(pieces, dim=self.dim)

    def _regions(self, members: list[Any]) -> Any:
        return constraints.stack(members, self.dim)

    log_abs_det_jacobian = method(lambda t, x, y: t._joined(t._slopes(x, y)))


# ----- Of single numbers ------------------------------------------------------------------------------------------------


class _Increasing(Transform):
    """An increasing bijection of real values."""

    domain = constraints.real
    bijective = True
    sign = +1


def _inside_unit(x: Tensor) -> Tensor:
    finfo = penlight.finfo(x.dtype)
    return x.clamp(min=finfo.tiny, max=1.0 - finfo.eps)


def _clipped_sigmoid(x: Tensor) -> Tensor:
    return _inside_unit(x.sigmoid())


def _log_tanh_slope(x: Tensor) -> Tensor:
    """log(1 - tanh(x)^2), without overflow."""
    return 2.0 * (math.log(2.0) - x - softplus(-2.0 * x))


class ExpTransform(_Increasing, example=("().codomain", "GreaterThan(lower_bound=0.0)")):
    """y = exp(x)."""

    codomain = constraints.positive
    _compared = ()

    _call = method(lambda t, x: x.exp())
    _inverse = method(lambda t, y: y.log())
    log_abs_det_jacobian = method(lambda t, x, y: x)


class SigmoidTransform(_Increasing, example=("().inv(torch.tensor(0.5))", "tensor(0.)")):
    """y = 1 / (1 + exp(-x)), clamped away from 0 and 1."""

    codomain = constraints.unit_interval
    _compared = ()

    _call = method(lambda t, x: _clipped_sigmoid(x))

    def _inverse(self, y: Tensor) -> Tensor:
        y = _inside_unit(y)
        return y.log() - (-y).log1p()

    log_abs_det_jacobian = method(lambda t, x, y: -softplus(-x) - softplus(x))


class SoftplusTransform(_Increasing, example=("()(torch.tensor(0.0))", "tensor(0.6931)")):
    """y = log(1 + exp(x))."""

    codomain = constraints.positive
    _compared = ()

    _call = method(lambda t, x: softplus(x))
    _inverse = method(lambda t, y: y + (-(-y).expm1()).log())
    log_abs_det_jacobian = method(lambda t, x, y: -softplus(-x))


class TanhTransform(_Increasing, example=("().codomain", "Interval(lower_bound=-1.0, upper_bound=1.0)")):
    """y = tanh(x)."""

    codomain = constraints.interval(-1.0, 1.0)
    _compared = ()

    _call = method(lambda t, x: x.tanh())
    _inverse = method(lambda t, y: y.atanh())
    log_abs_det_jacobian = method(lambda t, x, y: _log_tanh_slope(x))


class AbsTransform(Transform, example=("()(torch.tensor(-2.0))", "tensor(2.)")):
    """y = |x|; not a bijection."""

    domain = constraints.real
    codomain = constraints.positive
    _compared = ()

    _call = method(lambda t, x: x.abs())
    _inverse = method(lambda t, y: y)


class PowerTransform(Transform, example=("(2.0)(torch.tensor(3.0))", "tensor(9.)")):
    """y = x ** exponent, of positive numbers."""

    domain = codomain = constraints.positive
    bijective = True
    _arguments = _compared = ("exponent",)

    def __init__(self, exponent: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        (self.exponent,) = broadcast_all(exponent)

    @lazy_property
    def sign(self) -> Any:
        return self.exponent.sign()

    _call = method(lambda t, x: x.pow(t.exponent))
    _inverse = method(lambda t, y: y.pow(1 / t.exponent))
    log_abs_det_jacobian = method(lambda t, x, y: (t.exponent * y / x).abs().log())
    forward_shape = method(lambda t, shape: penlight.broadcast_shapes(shape, t.exponent.shape))

    inverse_shape = forward_shape


class AffineTransform(Transform, example=("(1.0, 2.0)(torch.tensor(3.0))", "tensor(7.)")):
    """y = loc + scale * x."""

    bijective = True
    _arguments = ("loc", "scale", "event_dim")
    _compared = ("loc", "scale")

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.loc, self.scale, self._event_dim = loc, scale, event_dim

    event_dim = property(lambda self: self._event_dim)

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        return constraints.independent(constraints.real, self.event_dim) if self.event_dim else constraints.real

    codomain = constraints.dependent_property(lambda self: self.domain, is_discrete=False)

    @property
    def sign(self) -> Any:
        scale = self.scale
        return (scale > 0) - (scale < 0) if isinstance(scale, _Number) else scale.sign()

    _call = method(lambda t, x: t.loc + t.scale * x)
    _inverse = method(lambda t, y: (y - t.loc) / t.scale)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        scale, kept = self.scale, max(0, x.dim() - self.event_dim)
        slope = penlight.full_like(x, math.log(abs(scale))) if isinstance(scale, _Number) else scale.abs().log()
        return _sum_rightmost(slope, self.event_dim).expand(x.shape[:kept])

    def forward_shape(self, shape: Any) -> Any:
        return penlight.broadcast_shapes(shape, getattr(self.loc, "shape", ()), getattr(self.scale, "shape", ()))

    inverse_shape = forward_shape


class CumulativeDistributionTransform(Transform):
    """y = F(x), the cumulative distribution function of a distribution: y is uniform if x has that distribution.

    >>> D = torch.distributions
    >>> D.CumulativeDistributionTransform(D.Normal(0.0, 1.0))(torch.tensor(0.0))
    tensor(0.5000)
    """

    domain = property(lambda self: self.distribution.support)
    codomain = constraints.unit_interval
    bijective = True
    sign = +1
    _arguments = ("distribution",)

    def __init__(self, distribution: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.distribution = distribution

    _call = method(lambda t, x: t.distribution.cdf(x))
    _inverse = method(lambda t, y: t.distribution.icdf(y))
    log_abs_det_jacobian = method(lambda t, x, y: t.distribution.log_prob(x))


# ----- Of vectors and matrices ------------------------------------------------------------------------------------------


def _at_least(shape: Any, dims: int) -> None:
    if len(shape) < dims:
        raise ValueError("Too few dimensions on input")


def _swap_tail(shape: Any, old: Any, new: Any) -> Any:
    _at_least(shape, len(old))
    cut = len(shape) - len(old)
    if shape[cut:] != old:
        raise ValueError(f"Shape mismatch: expected {shape[cut:]} but got {old}")
    return shape[:cut] + new


class ReshapeTransform(Transform,
        example=("((4,), (2, 2)).forward_shape(torch.Size((3, 4)))", "torch.Size([3, 2, 2])")):  # fmt: skip
    """Reshapes the last dimensions."""

    bijective = True
    _arguments = ("in_shape", "out_shape")

    def __init__(self, in_shape: Any, out_shape: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.in_shape, self.out_shape = Size(in_shape), Size(out_shape)
        if self.in_shape.numel() != self.out_shape.numel():
            raise ValueError("in_shape, out_shape have different numbers of elements")

    domain = constraints.dependent_property(lambda self: constraints.independent(constraints.real, len(self.in_shape)))
    codomain = constraints.dependent_property(
        lambda self: constraints.independent(constraints.real, len(self.out_shape))
    )

    _call = method(lambda t, x: x.reshape(x.shape[: x.dim() - len(t.in_shape)] + t.out_shape))
    _inverse = method(lambda t, y: y.reshape(y.shape[: y.dim() - len(t.out_shape)] + t.in_shape))
    log_abs_det_jacobian = method(lambda t, x, y: x.new_zeros(x.shape[: x.dim() - len(t.in_shape)]))
    forward_shape = method(lambda t, shape: _swap_tail(shape, t.in_shape, t.out_shape))
    inverse_shape = method(lambda t, shape: _swap_tail(shape, t.out_shape, t.in_shape))


class CorrCholeskyTransform(Transform):
    """Maps D (D - 1) / 2 real values to the Cholesky factor of a D x D correlation matrix.

    Row by row, the tanh of a value is the fraction of the remaining length that the entry takes.

    >>> torch.distributions.CorrCholeskyTransform()(torch.zeros(1))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x: Tensor) -> Tensor:
        eps = penlight.finfo(x.dtype).eps
        share = vec_to_tril_matrix(x.tanh().clamp(min=-1 + eps, max=1 - eps), diag=-1)
        remaining = (1 - share**2).sqrt().cumprod(-1)
        share = share + penlight.eye(share.shape[-1], dtype=share.dtype)
        return share * pad(remaining[..., :-1], [1, 0], value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        remaining = pad((1 - (y * y).cumsum(dim=-1))[..., :-1], [1, 0], value=1)
        share = tril_matrix_to_vec(y, diag=-1) / tril_matrix_to_vec(remaining, diag=-1).sqrt()
        return (share.log1p() - share.neg().log1p()) / 2

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor, intermediates: Any = None) -> Tensor:
        remaining = tril_matrix_to_vec(1 - (y * y).cumsum(dim=-1), diag=-2)
        return 0.5 * remaining.log().sum(-1) + _log_tanh_slope(x).sum(dim=-1)

    def forward_shape(self, shape: Any) -> Any:
        _at_least(shape, 1)
        count = shape[-1]
        side = round((0.25 + 2 * count) ** 0.5 + 0.5)
        if side * (side - 1) // 2 != count:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return shape[:-1] + (side, side)

    def inverse_shape(self, shape: Any) -> Any:
        _at_least(shape, 2)
        if shape[-2] != shape[-1]:
            raise ValueError("Input is not square")
        return shape[:-2] + (shape[-1] * (shape[-1] - 1) // 2,)


class SoftmaxTransform(Transform, example=("()(torch.zeros(2))", "tensor([0.5000, 0.5000])")):
    """y = exp(x) / sum(exp(x)), along the last dimension; not a bijection."""

    domain = constraints.real_vector
    codomain = constraints.simplex
    _compared = ()

    def _call(self, x: Tensor) -> Tensor:
        weights = (x - x.max(-1, True)[0]).exp()
        return weights / weights.sum(-1, True)

    _inverse = method(lambda t, y: y.log())

    def forward_shape(self, shape: Any) -> Any:
        _at_least(shape, 1)
        return shape

    inverse_shape = forward_shape


class StickBreakingTransform(Transform, example=("()(torch.zeros(1))", "tensor([0.5000, 0.5000])")):
    """Maps n real values to the simplex with n + 1 components, by stick breaking: each value sets the fraction of the rest to break off."""

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True
    _compared = ()

    @staticmethod
    def _log_offset(x: Tensor) -> Tensor:
        """log(n), ..., log(1): with these offsets, zeros break the stick into equal parts."""
        n = x.shape[-1]
        return (n + 1 - x.new_ones(n).cumsum(-1)).log()

    def _call(self, x: Tensor) -> Tensor:
        share = _clipped_sigmoid(x - self._log_offset(x))
        rest = (1 - share).cumprod(-1)
        return pad(share, [0, 1], value=1) * pad(rest, [1, 0], value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        front = y[..., :-1]
        rest = (1 - front.cumsum(-1)).clamp(min=penlight.finfo(y.dtype).tiny)
        return front.log() - rest.log() + self._log_offset(front)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        x = x - self._log_offset(x)
        return (-x + logsigmoid(x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape: Any) -> Any:
        _at_least(shape, 1)
        return shape[:-1] + (shape[-1] + 1,)

    def inverse_shape(self, shape: Any) -> Any:
        _at_least(shape, 1)
        return shape[:-1] + (shape[-1] - 1,)


class LowerCholeskyTransform(Transform, example=("()(torch.zeros(1, 1))", "tensor([[1.]])")):
    """The lower triangle of a matrix, with the exponential of its diagonal."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky
    _compared = ()

    _call = method(lambda t, x: x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed())
    _inverse = method(lambda t, y: y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed())


class PositiveDefiniteTransform(Transform, example=("()(torch.zeros(1, 1))", "tensor([[1.]])")):
    """L @ L.T, with L from `LowerCholeskyTransform`."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite
    _compared = ()

    def _call(self, x: Tensor) -> Tensor:
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    _inverse = method(lambda t, y: LowerCholeskyTransform().inv(penlight.linalg.cholesky(y)))
