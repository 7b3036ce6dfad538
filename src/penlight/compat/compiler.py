"""torch.compile and torch.compiler: nothing is compiled, and the program runs unchanged.

>>> import penlight as torch
>>> torch.compiler.is_compiling()
False
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import Any

import numpy as np

from penlight import creation
from penlight._common.docstrings import example
from penlight._common.user_warnings import warn_once
from penlight.nn import Module
from penlight.tensor import Tensor

__path__: list[str] = []  # `compiler.config` is a row of the table


def compile(
    model: Callable[..., Any] | None = None, *, fullgraph: bool = False, dynamic: bool | None = None,
    backend: str | Callable[..., Any] = "inductor", mode: str | None = None, options: dict[str, Any] | None = None,
    disable: bool = False, **more: Any,
) -> Any:  # fmt: skip
    """Return the function itself, or a wrapper of the module, as in PyTorch: Penlight does not compile. Also a decorator, with and without
    arguments.

    >>> @torch.compile(disable=True)
    ... def double(x):
    ...     return 2 * x
    >>> double(torch.ones(1))
    tensor([2.])

    Args:
        model: the function or module; None makes a decorator.
        fullgraph, dynamic, backend: accepted.
        mode, options: accepted, but not both.
        disable: return a module unchanged too, without a warning.

    Returns:
        a function or module that does the same.
    """
    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but both can't be specified at the same time.")
    if not disable:
        warn_once("torch.compile: Penlight does not compile, and runs the function as it is written")
    if model is None:
        return lambda function: _compiled(function, disable)
    return _compiled(model, disable)


def _compiled(model: Any, disable: bool) -> Any:
    if not callable(model):
        raise AssertionError(f"A callable function is expected, but {type(model)} is provided.")
    return OptimizedModule(model) if isinstance(model, Module) and not disable else model


@example("torch.compiler.OptimizedModule(torch.nn.ReLU())(torch.tensor([-1.0, 1.0]))", "tensor([0., 1.])")
class OptimizedModule(Module):
    """The result of `torch.compile` for a module. It forwards attributes to `_orig_mod`, which prefixes its names in a state dict.

    Args:
        mod: the module.
    """

    __module__ = "penlight._dynamo.eval_frame"  # PyTorch's module of this class

    def __init__(self, mod: Module) -> None:
        super().__init__()
        self._orig_mod = mod

    def __getattr__(self, name: str) -> Any:
        own = self.__dict__["_modules"].get("_orig_mod")
        return own if name == "_orig_mod" or own is None else getattr(own, name)

    def __setattr__(self, name: str, value: Any) -> None:
        known = self.__dict__.get("_modules", ())
        if name == "_orig_mod" or name in self.__dict__ or "_orig_mod" not in known:
            super().__setattr__(name, value)
        else:
            setattr(self._orig_mod, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._orig_mod, name)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self._orig_mod(*args, **kwargs)


def cond(pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: Any = ()) -> Any:
    """Call one of two functions by a condition: `true_fn(*operands) if pred else false_fn(*operands)`.

    >>> torch.cond(torch.tensor(True), lambda x: x + 1, lambda x: x - 1, (torch.ones(1),))
    tensor([2.])

    Returns:
        the result of that function.
    """
    return (true_fn if pred else false_fn)(*operands)


@example("torch.compiler.is_compiling()", "False")
def is_compiling() -> bool:
    """False: nothing is compiled.

    Returns:
        False
    """
    return False


@example("torch.compiler.is_dynamo_compiling()", "False")
def is_dynamo_compiling() -> bool:
    """False: nothing is compiled.

    Returns:
        False
    """
    return False


@example("torch.compiler.is_exporting()", "False")
def is_exporting() -> bool:
    """False: nothing is exported.

    Returns:
        False
    """
    return False


@example("torch.compiler.reset()")
def reset() -> None:
    """Without effect: nothing was compiled.

    Returns:
        None
    """


@example("torch.compiler.list_backends()", "[]")
def list_backends(exclude_tags: Any = ("debug", "experimental")) -> list[str]:
    """The available compilers: none.

    Args:
        exclude_tags: accepted and ignored.

    Returns:
        an empty list.
    """
    return []


@example("torch.compiler.disable(abs)(-1)", "1")
def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """The function itself: nothing is compiled anyway. Also a decorator, with and without arguments.

    Args:
        fn: the function; None makes a decorator.
        recursive, reason: accepted and ignored.

    Returns:
        the function, or a decorator that returns its function.
    """
    return (lambda function: function) if fn is None else fn


@example("torch.compiler.allow_in_graph(abs)(-1)", "1")
def allow_in_graph(fn: Any) -> Any:
    """The function itself.

    Args:
        fn: the function.

    Returns:
        the function.
    """
    return fn


@example("torch.compiler.assume_constant_result(abs)(-1)", "1")
def assume_constant_result(fn: Any) -> Any:
    """The function itself.

    Args:
        fn: the function.

    Returns:
        the function.
    """
    return fn


@example('torch.compiler.substitute_in_graph(abs)(len)("ab")', "2")
def substitute_in_graph(original_fn: Any, **options: Any) -> Any:
    """A decorator that returns its function.

    Args:
        original_fn: accepted and ignored, as are all options.

    Returns:
        the decorator.
    """
    return lambda function: function


@example("torch.compiler.nested_compile_region(abs)(-1)", "1")
def nested_compile_region(fn: Any = None, **options: Any) -> Any:
    """The function itself.

    Args:
        fn: the function; None makes a decorator.

    Returns:
        the function, or a decorator that returns its function.
    """
    return (lambda function: function) if fn is None else fn


@example("torch.compiler.wrap_numpy(lambda array: array + 1)(torch.ones(1))", "tensor([2.])")
def wrap_numpy(fn: Any) -> Any:
    """Wrap a function of ndarrays as one of tensors, outside of the graph.

    Args:
        fn: the function.

    Returns:
        a function of tensors.
    """

    @wraps(fn)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        arrays = [a.numpy(force=True) if isinstance(a, Tensor) else a for a in args]
        result = fn(*arrays, **kwargs)
        return creation.from_numpy(result) if isinstance(result, np.ndarray) else result

    return wrapped


@example("torch.compiler.cudagraph_mark_step_begin()")
def cudagraph_mark_step_begin() -> None:
    """Without effect.

    Returns:
        None
    """


class set_stance:
    """Set how compiled functions behave, as a call, a context or a decorator: without effect.

    Args:
        stance, skip_guard_eval_unsafe, force_backend: accepted and ignored.

    >>> with torch.compiler.set_stance("force_eager"):
    ...     pass
    """

    def __init__(
        self, stance: str = "default", *, skip_guard_eval_unsafe: bool = False, force_backend: Any = None
    ) -> None:
        self.stance = stance

    def __enter__(self) -> set_stance:
        return self

    def __exit__(self, *exc: object) -> None:
        pass

    def __call__(self, fn: Any) -> Any:
        return fn


def __getattr__(name: str) -> Any:
    if name != "config":
        raise AttributeError(f"module 'torch.compiler' has no attribute '{name}'")
    return import_module(f"{__name__}.config")
