"""torch.library: functions as operators with a derivative (`custom_op`); the rest is refused when it is used.

There is no dispatcher. An operator is an autograd.Function: its function runs outside of the graph, and its derivative is the one that was
registered with `register_autograd`.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any

from ._common.arguments import explain as _explain
from ._refused import refuse
from .autograd import Function

REGISTERED: dict[str, CustomOpDef] = {}


class CustomOpDef:
    """An operator made by `torch.library.custom_op`: a function and its registered derivative.

    >>> @torch.library.custom_op("doc::twice", mutates_args=())
    ... def twice(x: torch.Tensor) -> torch.Tensor:
    ...     return x * 2
    >>> twice.register_autograd(lambda ctx, grad: grad * 2)
    >>> x = torch.ones(1, requires_grad=True)
    >>> twice(x).backward(); x.grad
    tensor([2.])
    """

    def __init__(self, name: str, fn: Callable[..., Any]) -> None:
        if name.count("::") != 1:
            raise ValueError(f"Expected name to be of the form 'namespace::name', got {name!r}")
        self._qualname, self._init_fn = name, fn
        self._namespace, self._name = name.split("::")
        self.__name__, self.__doc__ = fn.__name__, fn.__doc__
        self._backward: Any = None
        self._setup: Any = None
        self._function: Any = None
        REGISTERED[name] = self

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        bound = signature(self._init_fn).bind(*args, **kwargs)
        bound.apply_defaults()
        if self._function is None:
            self._function = self._differentiable()
        return self._function.apply(*bound.args, **bound.kwargs)

    default = property(lambda self: self)

    def _differentiable(self) -> Any:
        op = self

        def forward(*args: Any) -> Any:
            return op._init_fn(*args)

        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            if op._setup is not None:
                op._setup(ctx=ctx, inputs=inputs, output=output)

        def backward(ctx: Any, *grads: Any) -> Any:
            if op._backward is None:
                raise RuntimeError(
                    f"Trying to backward through {op._namespace}.{op._name}.default but no autograd formula was registered. Please use "
                    "register_autograd to add one."
                )
            return op._backward(ctx, *grads)

        body = {
            n: staticmethod(f)
            for n, f in (("forward", forward), ("setup_context", setup_context), ("backward", backward))
        }
        return type(f"GeneratedBackwardFor_{self._namespace}_{self._name}_default", (Function,), body)

    def register_autograd(
        self, backward: Callable[..., Any], /, *, setup_context: Callable[..., Any] | None = None
    ) -> None:
        """Give the operator a derivative."""
        self._backward, self._setup = backward, setup_context

    def register_fake(self, fn: Any = None, /) -> Any:
        """Accepted: shapes are known from running the operator itself."""
        return fn if fn is not None else lambda f: f

    def register_kernel(self, device_types: Any, fn: Any = None, /) -> Any:
        """Replace the function for the CPU; functions for other devices are accepted and not used."""

        def register(f: Any) -> Any:
            if device_types is None or "cpu" in ([device_types] if isinstance(device_types, str) else device_types):
                self._init_fn = f
            return f

        return register if fn is None else register(fn)

    def register_vmap(self, func: Any = None) -> Any:
        """Accepted and not used: vmap needs operators that are written with torch's functions."""
        return func if func is not None else lambda f: f


def custom_op(
    name: str, fn: Any = None, /, *, mutates_args: Any = (), device_types: Any = None, schema: Any = None,
    tags: Any = None,
) -> Any:  # fmt: skip
    """Make a function a named operator, for which a derivative can be registered. Also a decorator.

    >>> @torch.library.custom_op("doc::plus_one", mutates_args=())
    ... def plus_one(x: torch.Tensor) -> torch.Tensor:
    ...     return torch.from_numpy(x.numpy() + 1)
    >>> plus_one(torch.ones(2)), torch.ops.doc.plus_one(torch.ones(1))
    (tensor([2., 2.]), tensor([2.]))
    """
    if mutates_args:
        raise NotImplementedError("torch.library.custom_op with mutates_args: call the function itself")
    return CustomOpDef(name, fn) if fn is not None else lambda f: CustomOpDef(name, f)


def _found(op: Any) -> CustomOpDef:
    made = REGISTERED.get(op) if isinstance(op, str) else op
    if not isinstance(made, CustomOpDef):
        raise NotImplementedError(f"{op}: Penlight supports only operators made by torch.library.custom_op")
    return made


def register_fake(op: Any, func: Any = None, /, **_: Any) -> Any:
    """Accepted, also for operators of C++ libraries that are not here: shapes are known from running the operator itself.

    >>> op = torch.library.custom_op("doc::same", lambda x: x.clone())
    >>> _ = torch.library.register_fake("doc::same", lambda x: x)
    """
    if isinstance(op, str) and "::" in op and op not in REGISTERED:
        return func if func is not None else lambda f: f
    return _found(op).register_fake(func)


def register_autograd(op: Any, backward: Any, /, *, setup_context: Any = None, **_: Any) -> None:
    """Give an operator a derivative.

    >>> op = torch.library.custom_op("doc::negated", lambda x: -x)
    >>> torch.library.register_autograd("doc::negated", lambda ctx, grad: -grad)
    """
    _found(op).register_autograd(backward, setup_context=setup_context)


def register_kernel(op: Any, device_types: Any, func: Any = None, /, **_: Any) -> Any:
    """Replace the function of an operator on the CPU.

    >>> op = torch.library.custom_op("doc::one", lambda x: x + 1)
    >>> _ = torch.library.register_kernel("doc::one", "cpu", lambda x: x * 0 + 1)
    >>> op(torch.ones(1))
    tensor([1.])
    """
    return _found(op).register_kernel(device_types, func)


__getattr__ = refuse(
    __name__,
    "Penlight has no dispatcher to register operators with.",
    "Use torch.library.custom_op, call the function itself, or write a torch.autograd.Function for one with a derivative of its own.",
)


_explain(globals())
