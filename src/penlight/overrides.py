"""torch.overrides: functions taken over by other types. Penlight's functions are not taken over; the helpers answer so.

A class with `__torch_function__` can still use these helpers for functions of its own.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

from .tensor import Tensor

__all__ = [
    "BaseTorchFunctionMode",
    "TorchFunctionMode",
    "handle_torch_function",
    "has_torch_function",
    "is_tensor_like",
    "is_tensor_method_or_property",
    "resolve_name",
    "wrap_torch_function",
]


def _overrides(value: Any) -> bool:
    return type(value) is not Tensor and hasattr(type(value), "__torch_function__")


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether one of the arguments has a class that takes over functions."""
    return any(map(_overrides, relevant_args))


def has_torch_function_unary(arg: Any) -> bool:
    """`has_torch_function` for one argument."""
    return _overrides(arg)


def has_torch_function_variadic(*args: Any) -> bool:
    """`has_torch_function` for arguments one by one."""
    return any(map(_overrides, args))


def handle_torch_function(
    public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any, **kwargs: Any
) -> Any:
    """Let the first class among the arguments that takes over functions do so; subclasses before their bases."""
    ordered: list[Any] = []
    for value in relevant_args:
        if _overrides(value) and not any(type(value) is type(other) for other in ordered):
            place = next((i for i, o in enumerate(ordered) if issubclass(type(value), type(o))), len(ordered))
            ordered.insert(place, value)
    types = tuple(type(value) for value in ordered)
    for value in ordered:
        result = type(value).__torch_function__(public_api, types, args, kwargs)
        if result is not NotImplemented:
            return result
    name = f"{public_api.__module__}.{public_api.__name__}"
    raise TypeError(f"no implementation found for '{name}' on types that implement __torch_function__: {list(types)}")


def wrap_torch_function(dispatcher: Callable[..., Iterable[Any]]) -> Callable[[Any], Any]:
    """A decorator that lets a function be taken over; the dispatcher picks the arguments that decide."""

    def decorate(function: Any) -> Any:
        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            relevant = dispatcher(*args, **kwargs)
            if has_torch_function(relevant):
                return handle_torch_function(wrapped, relevant, *args, **kwargs)
            return function(*args, **kwargs)

        return wrapped

    return decorate


def is_tensor_like(inp: Any) -> bool:
    """Whether this is a tensor, or of a class that takes over functions."""
    return isinstance(inp, Tensor) or hasattr(inp, "__torch_function__")


def is_tensor_method_or_property(func: Callable[..., Any]) -> bool:
    """Whether this is a method or property of Tensor."""
    name = getattr(func, "__name__", None)
    return name == "__get__" or (name is not None and getattr(Tensor, name, None) is func)


def resolve_name(f: Callable[..., Any]) -> str | None:
    """The public name of a function."""
    name = getattr(f, "__name__", None)
    if name is None:
        return None
    return f"torch.Tensor.{name}" if is_tensor_method_or_property(f) else f"torch.{name}"


class TorchFunctionMode:
    """A region in which a class takes over all functions; entering one is refused."""

    def __enter__(self) -> Any:
        raise NotImplementedError(
            "torch.overrides.TorchFunctionMode is not available: Penlight's functions cannot be taken over. "
            "torch.autograd.profiler and penlight.inspect see every op that runs"
        )

    def __exit__(self, *exc: object) -> None:
        pass


class BaseTorchFunctionMode(TorchFunctionMode):
    """A `TorchFunctionMode` that changes nothing; entering one is refused as well."""
