"""Context managers that also decorate functions, like `no_grad`, for user classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..autograd.grad_mode import _Decorator


class _DecoratorContextManager(_Decorator):
    """A class with `__enter__` and `__exit__` that inherits from this can decorate functions and generators.

    >>> from penlight.utils._contextlib import _DecoratorContextManager
    >>> class loud(_DecoratorContextManager):
    ...     def __enter__(self): print("in")
    ...     def __exit__(self, *exc): print("out")
    >>> @loud()
    ... def f(): return 1
    >>> f()
    in
    out
    1
    """

    def clone(self) -> Any:
        """A copy of this context manager: one for each call of the function."""
        return type(self)()


class _NoParamDecoratorContextManager(_DecoratorContextManager):
    """A context manager that also decorates without parentheses: `@loud`."""

    def __new__(cls, orig_func: Callable[..., Any] | None = None) -> Any:
        return super().__new__(cls) if orig_func is None else cls()(orig_func)


def context_decorator(ctx: Any, func: Callable[..., Any]) -> Callable[..., Any]:
    """A function that runs inside a context: `ctx` is a context manager, or a function that makes one for each call."""
    if callable(ctx) and hasattr(ctx, "__enter__"):
        raise AssertionError(
            f"Passed in {ctx} is both callable and also a valid context manager (has __enter__), making it ambiguous which "
            "interface to use.  If you intended to pass a context manager factory, rewrite your call as "
            "context_decorator(lambda: ctx()); if you intended to pass a context manager directly, rewrite your call as "
            "context_decorator(lambda: ctx)"
        )

    class Made(_DecoratorContextManager):
        def clone(self) -> Any:
            return ctx() if callable(ctx) else ctx

    return Made()(func)
