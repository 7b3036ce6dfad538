"""no_grad, enable_grad, set_grad_enabled and inference_mode: as context managers, as decorators, and on generators."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .._common.arguments import explain as _explain
from .._common.user_warnings import warn_user
from . import modes
from .modes import grad_mode, inference


class _Decorator:
    """A context manager that also decorates functions. For a generator function, the mode is set only while the generator runs, so the
    caller's mode is unchanged while it is suspended."""

    def __call__(self, function: Callable[..., Any]) -> Any:
        if isinstance(function, type):
            warn_user(
                "Decorating classes is deprecated and will be disabled in future versions. You should only decorate functions "
                "or methods. To preserve the current behavior of class decoration, you can directly decorate the `__init__` "
                "method and nothing else.",
                FutureWarning,
            )
            function.__init__ = self(function.__init__)  # type: ignore[misc]
            return function
        if function.__code__.co_flags & 0x20 if hasattr(function, "__code__") else False:
            return self._on_generator(function)

        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            with self.clone():
                return function(*args, **kwargs)

        return wrapper

    def _on_generator(self, function: Callable[..., Any]) -> Any:
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            generator = function(*args, **kwargs)
            send: Any = None
            try:
                with self.clone():
                    item = generator.send(None)
                while True:
                    try:
                        send = yield item
                    except GeneratorExit:
                        with self.clone():
                            generator.close()
                        raise
                    except BaseException as error:
                        with self.clone():
                            item = generator.throw(error)
                    else:
                        with self.clone():
                            item = generator.send(send)
            except StopIteration as stop:
                return stop.value

        return wrapper

    def clone(self) -> Any:
        """Another one with the same settings."""
        return type(self)()

    def __enter__(self) -> Any:
        raise NotImplementedError

    def __exit__(self, kind: Any = None, error: Any = None, trace: Any = None) -> None:
        raise NotImplementedError


_new, _mode, _set_mode = object.__new__, grad_mode.get, grad_mode.set


class _Fixed(_Decorator):
    """`no_grad` and `enable_grad`: context managers for a block, or decorators with or without parentheses."""

    _on: bool
    before: Any = None  # the mode to restore; nested, if this object is entered more than once

    def __new__(cls, orig_func: Any = None) -> Any:  # without __init__, which takes as long as the rest
        return _new(cls) if orig_func is None else _new(cls)(orig_func)

    def __enter__(self) -> None:
        self.before = (_mode(), self.before)
        try:
            _set_mode(self._on)
        except BaseException:  # Ctrl-C after it was set: there will be no __exit__
            self.__exit__()
            raise

    def __exit__(self, kind: Any = None, error: Any = None, trace: Any = None) -> None:
        mode, self.before = self.before
        _set_mode(mode)


class no_grad(_Fixed):
    """Inside this context, ops are not recorded.

    >>> x = torch.ones(1, requires_grad=True)
    >>> with torch.no_grad():
    ...     y = x * 2
    >>> y.requires_grad
    False
    """

    _on = False


class enable_grad(_Fixed):
    """Inside this context, ops are recorded, even within `no_grad`.

    >>> x = torch.ones(1, requires_grad=True)
    >>> with torch.no_grad(), torch.enable_grad():
    ...     y = x * 2
    >>> y.requires_grad
    True
    """

    _on = True


class set_grad_enabled(_Decorator):
    """Turn recording on or off: immediately as a function, or for a `with` block.

    >>> with torch.set_grad_enabled(False):
    ...     print(torch.is_grad_enabled())
    False
    """

    def __init__(self, mode: bool) -> None:
        self.before = grad_mode.get()
        self.mode = mode
        grad_mode.set(mode)

    def __call__(self, function: Callable[..., Any]) -> Any:
        grad_mode.set(self.before)
        return super().__call__(function)

    def __enter__(self) -> None:
        grad_mode.set(self.mode)

    def __exit__(self, kind: Any = None, error: Any = None, trace: Any = None) -> None:
        grad_mode.set(self.before)

    def clone(self) -> set_grad_enabled:
        """Another one with the same settings."""
        return set_grad_enabled(self.mode)

    def __repr__(self) -> str:
        return f"torch.autograd.grad_mode.set_grad_enabled(mode={self.mode})"


class inference_mode(_Decorator):
    """Inside this context, nothing is recorded, and new tensors can never take part in autograd.

    >>> with torch.inference_mode():
    ...     x = torch.ones(1)
    >>> x.is_inference()
    True
    """

    def __new__(cls, mode: Any = True) -> Any:
        made = super().__new__(cls)
        if isinstance(mode, bool):
            return made
        made.mode, made.before = True, []
        return made(mode)

    def __init__(self, mode: bool = True) -> None:
        self.mode = mode
        self.before: list[tuple[bool, bool]] = []

    def __enter__(self) -> None:
        self.before.append((grad_mode.get(), inference.get()))
        if self.mode:
            grad_mode.set(False)
            modes.open_slow_mode()
        else:
            grad_mode.set(True)
        inference.set(self.mode)

    def __exit__(self, kind: Any = None, error: Any = None, trace: Any = None) -> None:
        grad, before = self.before.pop()
        if self.mode:
            modes.close_slow_mode()
        grad_mode.set(grad)
        inference.set(before)

    def clone(self) -> inference_mode:
        """Another one with the same settings."""
        return inference_mode(self.mode)


def is_grad_enabled() -> bool:
    """Whether ops are being recorded in this thread.

    >>> torch.is_grad_enabled()
    True
    """
    return grad_mode.get()


def __getattr__(name: str) -> Any:
    if not name.startswith("__"):
        from . import switches  # PyTorch has them in this module; no_grad does not need them

        if name in vars(switches):
            return vars(switches)[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def is_inference_mode_enabled() -> bool:
    """Whether inference mode is on in this thread.

    >>> with torch.inference_mode():
    ...     print(torch.is_inference_mode_enabled())
    True
    """
    return inference.get()


_explain(globals())
