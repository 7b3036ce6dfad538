"""torch.overrides: functions overridden by other types. See Note [Overridden functions] in _torch_function.py."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

from . import _torch_function
from .tensor import Tensor

__all__ = [
    "BaseTorchFunctionMode", "TorchFunctionMode", "enable_reentrant_dispatch", "get_default_nowrap_functions",
    "get_ignored_functions", "get_overridable_functions", "handle_torch_function", "has_torch_function",
    "is_tensor_like", "is_tensor_method_or_property", "resolve_name", "wrap_torch_function",
]  # fmt: skip


class DisableTorchFunctionSubclass:
    """A region in which subclasses of Tensor do not override functions.

    >>> class Named(torch.Tensor): pass
    >>> with torch._C.DisableTorchFunctionSubclass():
    ...     type(torch.ones(1).as_subclass(Named) + 1).__name__
    'Tensor'
    """

    __module__ = "penlight._C"  # where PyTorch has it
    _flag = "subclasses_off"

    def __enter__(self) -> None:
        self._var = getattr(_torch_function, self._flag)
        self._outer = self._var.get()
        self._var.set(True)

    def __exit__(self, *exc: object) -> None:
        self._var.set(self._outer)


class DisableTorchFunction(DisableTorchFunctionSubclass):
    """A region in which neither subclasses of Tensor nor modes override functions.

    >>> with torch.device("meta"), torch._C.DisableTorchFunction():
    ...     torch.ones(1).device
    device(type='cpu')
    """

    __module__ = "penlight._C"
    _flag = "all_off"


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether a mode is open in this thread, or the class of one of the arguments overrides functions.

    Args:
        relevant_args: the arguments to check.

    Returns:
        True or False.

    >>> torch.overrides.has_torch_function((torch.ones(1), 2))
    False
    """
    if _torch_function.all_off.get():
        return False
    if _torch_function.modes.get():
        return True
    kinds = map(type, relevant_args)
    return not _torch_function.subclasses_off.get() and any(map(_torch_function.overrides_functions, kinds))


def has_torch_function_unary(arg: Any) -> bool:
    """`has_torch_function` for one argument."""
    return has_torch_function((arg,))


def has_torch_function_variadic(*args: Any) -> bool:
    """`has_torch_function` with the arguments as separate parameters."""
    return has_torch_function(args)


def handle_torch_function(
    public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any, **kwargs: Any
) -> Any:
    """Call the `__torch_function__` of the first argument whose class has one; subclasses come before their bases.

    Args:
        public_api: the function.
        relevant_args: the arguments to check.
        args, kwargs: the arguments of the function.

    Returns:
        what that class's `__torch_function__` returns.

    >>> class Loud(torch.Tensor):
    ...     @classmethod
    ...     def __torch_function__(cls, func, types, args=(), kwargs=None):
    ...         return f"{func.__name__} of {len(args)}"
    >>> x = torch.ones(1).as_subclass(Loud)
    >>> torch.overrides.handle_torch_function(torch.add, (x,), x, 1)
    'add of 2'
    """
    return _torch_function.handle(public_api, _torch_function.overriding(relevant_args), args, kwargs)


def _get_current_function_mode() -> Any:
    """The innermost mode that is open, or None."""
    return (_torch_function.modes.get() or (None,))[-1]


def _get_current_function_mode_stack() -> list[Any]:
    """The modes that are open, outermost first."""
    return list(_torch_function.modes.get())


def wrap_torch_function(dispatcher: Callable[..., Iterable[Any]]) -> Callable[[Any], Any]:
    """A decorator that makes a function overridable.

    Args:
        dispatcher: a function of the same arguments that returns those to check for overrides.

    Returns:
        the decorator.

    >>> class Loud(torch.Tensor):
    ...     @classmethod
    ...     def __torch_function__(cls, func, types, args=(), kwargs=None):
    ...         return f"{func.__name__} of {len(args)}"
    >>> @torch.overrides.wrap_torch_function(lambda x: (x,))
    ... def double(x):
    ...     return 2 * x
    >>> double(3), double(torch.ones(1).as_subclass(Loud))
    (6, 'double of 1')
    """

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
    """Whether an object is a tensor, or its class overrides functions.

    Args:
        inp: anything.

    Returns:
        True or False.

    >>> torch.overrides.is_tensor_like(torch.ones(1)), torch.overrides.is_tensor_like(3)
    (True, False)
    """
    return isinstance(inp, Tensor) or hasattr(inp, "__torch_function__")


def is_tensor_method_or_property(func: Callable[..., Any]) -> bool:
    """Whether a function is a method or property of Tensor.

    Args:
        func: a function.

    Returns:
        True or False.

    >>> torch.overrides.is_tensor_method_or_property(torch.Tensor.add)
    True
    """
    name = getattr(func, "__name__", None)
    return name in ("__get__", "__set__") or (name is not None and getattr(Tensor, name, None) is func)


def resolve_name(f: Callable[..., Any]) -> str | None:
    """The public name of a function.

    Args:
        f: a function.

    Returns:
        the name; None if the function cannot be overridden.

    >>> torch.overrides.resolve_name(torch.Tensor.shape.__get__)
    'torch.Tensor.shape.__get__'
    """
    if isinstance(f, str):
        return f
    _torch_function.activate()
    return _torch_function.NAMES.get(f)


def get_overridable_functions() -> dict[Any, list[Callable[..., Any]]]:
    """The functions that can be overridden, by namespace.

    Returns:
        a dict from modules and classes to lists of functions.

    >>> torch.add in torch.overrides.get_overridable_functions()[torch]
    True
    """
    _torch_function.activate()
    found: dict[Any, list[Callable[..., Any]]] = {}
    for where, functions in _torch_function.OVERRIDABLE.items():
        if where.startswith("torch.Tensor"):
            found.setdefault(Tensor, []).extend(functions)
        else:
            found[import_module(where.replace("torch", "penlight", 1))] = list(functions)
    return found


def get_ignored_functions() -> set[Callable[..., Any]]:
    """Functions of the main namespace that cannot be overridden.

    Returns:
        a set of functions.

    >>> torch.is_tensor in torch.overrides.get_ignored_functions()
    True
    """
    import penlight

    names = (n for n in _torch_function.IGNORED if not n.startswith("_"))
    return {f for n in names if callable(f := getattr(penlight, n, None))}


def get_default_nowrap_functions() -> set[Callable[..., Any]]:
    """Functions that return plain tensors also for instances of a subclass.

    Returns:
        a set of functions.

    >>> torch.Tensor.grad.__get__ in torch.overrides.get_default_nowrap_functions()
    True
    """
    return set(_torch_function._not_wrapped())


class TorchFunctionMode:
    """A region in which the `__torch_function__` of this object overrides all functions.

    >>> class Count(torch.overrides.TorchFunctionMode):
    ...     calls = 0
    ...     def __torch_function__(self, func, types, args=(), kwargs=None):
    ...         self.calls += 1
    ...         return func(*args, **(kwargs or {}))
    >>> with Count() as count:
    ...     y = torch.ones(2) + 1
    >>> count.calls
    2
    """

    inner: Any = None

    def __init__(self) -> None:
        pass

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError

    def __enter__(self) -> Any:
        _torch_function.activate()
        _torch_function.modes.set((*_torch_function.modes.get(), self))
        return self

    def __exit__(self, *exc: object) -> None:
        _torch_function.modes.set(_torch_function.modes.get()[:-1])

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> Any:
        """A new mode; entering it opens the region."""
        return cls(*args, **kwargs)


class BaseTorchFunctionMode(TorchFunctionMode):
    """A `TorchFunctionMode` that changes nothing.

    >>> with torch.overrides.BaseTorchFunctionMode():
    ...     print(torch.ones(1) + 1)
    tensor([2.])
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


class enable_reentrant_dispatch:
    """Accepted and without effect: there is no dispatcher below the functions.

    >>> with torch.overrides.enable_reentrant_dispatch():
    ...     pass
    """

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        pass
