"""Shared helpers of the families: parameter broadcasting, probabilities and logits, triangular matrices, lazy properties."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

import penlight

from .._common.arguments import explain as _explain
from .._common.docstrings import example
from ..tensor import Tensor

__all__ = [
    "broadcast_all", "clamp_probs", "lazy_property", "logits_to_probs", "probs_to_logits", "tril_matrix_to_vec",
    "vec_to_tril_matrix",
]  # fmt: skip

euler_constant: Final[float] = 0.57721566490153286060

_Number = (int, float, bool)


def _is_tensor_like(value: Any) -> bool:
    return isinstance(value, Tensor) or hasattr(type(value), "__torch_function__")


@example("torch.distributions.utils.broadcast_all(1, 2.5)", "(tensor(1.), tensor(2.5000))")
def broadcast_all(*values: Any) -> tuple[Tensor, ...]:
    """Broadcast scalars and tensors to one shape; scalars take the dtype of the first tensor."""
    tensors = [_is_tensor_like(value) for value in values]
    if not all(known or isinstance(value, _Number) for known, value in zip(tensors, values, strict=True)):
        raise ValueError(
            "Input arguments must all be instances of Number, torch.Tensor or objects implementing __torch_function__."
        )
    if not all(tensors):
        first = next((value for value in values if isinstance(value, Tensor)), None)
        dtype = penlight.get_default_dtype() if first is None else first.dtype
        values = tuple(
            value if known else penlight.tensor(value, dtype=dtype)
            for known, value in zip(tensors, values, strict=True)
        )
    return tuple(penlight.broadcast_tensors(*values))


def _standard_normal(shape: Sequence[int], dtype: Any, device: Any = None) -> Tensor:
    return penlight.empty(shape, dtype=dtype).normal_()


def _sum_rightmost(value: Tensor, dim: int) -> Tensor:
    """Sum over the last `dim` dimensions."""
    if dim == 0:
        return value
    return value.reshape(value.shape[:-dim] + (-1,)).sum(-1)


@example("torch.distributions.utils.logits_to_probs(torch.zeros(2))", "tensor([0.5000, 0.5000])")
def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Probabilities from log odds (binary), or from log probabilities along the last dimension."""
    return logits.sigmoid() if is_binary else logits.softmax(-1)


@example("torch.distributions.utils.clamp_probs(torch.tensor([0.0, 0.5]))", "tensor([1.1921e-07, 5.0000e-01])")
def clamp_probs(probs: Tensor) -> Tensor:
    """Moves probabilities into the open interval (0, 1), by the machine epsilon of their dtype."""
    eps = penlight.finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


@example("torch.distributions.utils.probs_to_logits(torch.tensor([0.5]), is_binary=True)", "tensor([0.])")
def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """The inverse of `logits_to_probs`."""
    inside = clamp_probs(probs)
    log = inside.log()
    return log - (-inside).log1p() if is_binary else log


class formula(property):
    """Declare a property as an expression in the distribution's parameters.

    >>> class Square:
    ...     side = 3
    ...     area = formula(lambda square: square.side**2)
    >>> Square().area
    9
    """

    if TYPE_CHECKING:

        def __get__(self, instance: Any, owner: type | None = None) -> Tensor: ...  # type: ignore[override]


class _Method:
    """The result of `method` and `checked`; the class replaces it by a function with the signature of its base class's method."""

    def __init__(self, function: Any) -> None:
        self.function = function

    def __set_name__(self, owner: type, name: str) -> None:
        function = self.function
        function.__module__, function.__name__ = owner.__module__, name
        function.__qualname__ = f"{owner.__qualname__}.{name}"
        if (above := getattr(super(owner, owner), name, None)) is not None:
            function.__wrapped__ = above
        setattr(owner, name, function)


def method(expression: Callable[..., Any]) -> Any:
    """Declare a method as an expression.

    >>> class Square:
    ...     side = 3
    ...     scaled = method(lambda square, factor: square.side * factor)
    >>> Square().scaled(2)
    6
    """
    return _Method(expression)


def checked(expression: Callable[[Any, Any], Any]) -> Any:
    """Declare a method of a value that must lie in the support if the distribution validates its arguments."""

    def of_checked(self: Any, value: Any) -> Any:
        self._check(value)
        return expression(self, value)

    return _Method(of_checked)


class lazy_property:
    """A property that is computed once, with gradients enabled, and then stored in the instance.

    >>> class Circle:
    ...     @torch.distributions.utils.lazy_property
    ...     def area(self):
    ...         print("computing")
    ...         return 3.14
    >>> circle = Circle()
    >>> circle.area, circle.area
    computing
    (3.14, 3.14)
    """

    def __init__(self, wrapped: Callable[[Any], Any]) -> None:
        self.wrapped = wrapped
        functools.update_wrapper(self, wrapped)  # type: ignore[arg-type]

    def __get__(self, instance: Any, obj_type: Any = None) -> Any:
        if instance is None:
            return _lazy_property_and_property(self.wrapped)
        with penlight.enable_grad():
            return instance.__dict__.setdefault(self.wrapped.__name__, self.wrapped(instance))


class _lazy_property_and_property(lazy_property, property):
    """What the class attribute returns: documentation tools expect a property, the base class a lazy one."""

    __init__ = property.__init__


def _lower_mask(n: int, diag: int) -> Tensor:
    """True on and below the given diagonal of an n x n matrix."""
    return penlight.ones(n, n, dtype=penlight.bool).tril(diag)


@example("torch.distributions.utils.tril_matrix_to_vec(torch.tensor([[1, 2], [3, 4]]))", "tensor([1, 3, 4])")
def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """The elements on and below a diagonal, row by row."""
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    return mat[..., _lower_mask(n, diag)]


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """The inverse of `tril_matrix_to_vec`, with zeros elsewhere.

    >>> torch.distributions.utils.vec_to_tril_matrix(torch.tensor([1.0, 3.0, 4.0]))
    tensor([[1., 0.],
            [3., 4.]])
    """
    count, odd = vec.shape[-1], 1 + 2 * diag
    side = (-odd + (odd**2 + 8 * count + 4 * abs(diag) * (diag + 1)) ** 0.5) / 2
    if round(side) - side > penlight.finfo(vec.dtype).eps:
        raise ValueError(
            f"The size of last dimension is {count} which cannot be expressed as "
            "the lower triangular part of a square D x D matrix."
        )
    n = round(side)
    mat = vec.new_zeros(vec.shape[:-1] + (n, n))
    mat[..., _lower_mask(n, diag)] = vec
    return mat


_explain(globals())
