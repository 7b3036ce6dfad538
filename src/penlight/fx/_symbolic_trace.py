"""Tracing: runs a module or function on proxies, and records the operations on them as a graph."""

from __future__ import annotations

import builtins
import functools
import inspect
import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from penlight import Tensor, _assert, _torch_function
from penlight.nn import Module, Parameter, Sequential

from .graph import Graph
from .graph_module import GraphModule
from .proxy import Proxy, TracerBase

__all__ = ["Tracer", "symbolic_trace", "wrap"]

_wrapped: dict[tuple[int, str], dict[str, Any]] = {}  # globals with functions passed to `wrap`, by id and name
_lock = threading.RLock()  # tracing patches classes that all threads share
_MISSING = object()


def compatibility(is_backward_compatible: bool) -> Callable[[Any], Any]:
    """A decorator that returns its function. PyTorch marks its stable functions with it."""
    return lambda function: function


def wrap(fn_or_name: str | Callable[..., Any]) -> Any:
    """Make calls of a non-torch function single nodes, instead of tracing into it. Call it at module level, or use it as a decorator.

    >>> @torch.fx.wrap
    ... def scale(x, k):
    ...     return x * k if k else x
    """
    name = fn_or_name if isinstance(fn_or_name, str) else fn_or_name.__name__
    frame = inspect.currentframe()
    space = frame.f_back.f_globals if frame is not None and frame.f_back is not None else {}
    _wrapped[id(space), name] = space
    return fn_or_name


def _assert_is_none(value: Any, msg: str) -> None:
    """Raise if a value is not None."""
    if value is not None:
        raise AssertionError(msg)


class Tracer(TracerBase):
    """Turns a module or function into a graph. Subclasses choose which modules are leaves.

    >>> class Deep(torch.fx.Tracer):
    ...     def is_leaf_module(self, m, module_qualified_name):
    ...         return False
    >>> [node.op for node in Deep().trace(torch.nn.ReLU()).nodes]
    ['placeholder', 'call_function', 'output']
    """

    proxy_buffer_attributes = False

    def __init__(
        self, autowrap_modules: tuple[ModuleType, ...] = (), autowrap_functions: tuple[Callable[..., Any], ...] = (),
        param_shapes_constant: bool = False,
    ) -> None:  # fmt: skip
        self.param_shapes_constant = param_shapes_constant
        modules = [m for m in autowrap_modules if m.__name__ not in ("math", "penlight")]
        self._functions = {*autowrap_functions, *(f for m in modules for f in vars(m).values() if inspect.isroutine(f))}
        self.root: Any = None
        self.submodule_paths: dict[Module, str] | None = None
        self.module_stack: dict[str, Any] = {}
        self.tensor_attrs: dict[Any, str] = {}
        self._parameters: dict[int, tuple[str, Any]] = {}
        self._proxies: dict[str, Any] = {}
        self.root_module_name = ""

    # ----- Methods to override ----------------------------------------------------------------------------------------

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """Whether a module becomes one node: modules of torch.nn do, except Sequential."""
        return m.__module__.startswith(("penlight.nn", "penlight.ao.nn", "torch.nn")) and not isinstance(m, Sequential)

    def path_of_module(self, mod: Module) -> str:
        """The path of a module in the root."""
        if self.submodule_paths is not None and mod in self.submodule_paths:
            return self.submodule_paths[mod]
        for name, other in self.root.named_modules():
            if other is mod:
                return str(name)
        raise NameError("module is not installed as a submodule")

    def call_module(self, m: Module, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Trace the call of a module: one node if it is a leaf, else the nodes of its `forward`."""
        name = self.path_of_module(m)
        self.module_stack[name] = (name, type(m))
        try:
            if self.is_leaf_module(m, name):
                return self.create_proxy("call_module", name, args, kwargs)
            return forward(*args, **kwargs)
        finally:
            self.module_stack.pop(name, None)

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Any]) -> Any:
        """Trace the read of a module attribute: a parameter becomes a node."""
        name, found = self._parameters.get(id(attr_val), (None, None))
        if found is not attr_val or name is None:
            return attr_val
        if name not in parameter_proxy_cache:
            parameter_proxy_cache[name] = self.create_proxy("get_attr", name, (), {})
        return parameter_proxy_cache[name]

    # ----- Arguments ----------------------------------------------------------------------------------------------------

    def _argument(self, a: Any) -> Any:
        if isinstance(a, Tensor):
            name, found = self._parameters.get(id(a), (None, None))
            if found is not a or name is None:
                name = next((n for n, b in self.root.named_buffers() if b is a), None) or self._constant(
                    "_tensor_constant", a
                )
            return self.create_node("get_attr", name, (), {})
        if isinstance(a, Module):
            for name, other in self.root.named_modules():
                if other is a:
                    return self.create_node("get_attr", name, (), {})
        try:
            return super()._argument(a)
        except NotImplementedError:
            return self.create_node("get_attr", self._constant(f"_{type(a).__name__}_constant_", a), (), {})

    def _constant(self, prefix: str, value: Any) -> str:
        """The path in the root of a value that the program created; it is added there."""
        if id(value) not in self.tensor_attrs:
            name = next(n for n in (f"{prefix}{count}" for count in itertools.count()) if not hasattr(self.root, n))
            self.tensor_attrs[id(value)] = name
            setattr(self.root, name, value)
        return self.tensor_attrs[id(value)]

    def create_args_for_root(
        self, root_fn: Any, is_module: bool, concrete_args: dict[str, Any] | None = None
    ) -> tuple[Any, list[Any]]:
        """The function to run, and a proxy for each of its parameters."""
        parameters = list(inspect.signature(root_fn).parameters.values())[is_module:]
        for parameter in parameters:
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                raise NotImplementedError(
                    f"Penlight does not trace a function that takes {parameter}: give its parameters names, or trace a wrapper"
                )
        made = [self._placeholder(parameter, concrete_args or {}) for parameter in parameters]
        named = {p.name: a for p, a in zip(parameters, made) if p.kind is p.KEYWORD_ONLY}
        function = functools.partial(root_fn, **named) if named else root_fn
        return function, [*([self.root] if is_module else []), *made[: len(made) - len(named)]]

    def _placeholder(self, parameter: inspect.Parameter, concrete: dict[str, Any]) -> Any:
        name = parameter.name
        if name in concrete:
            return self._checked(name, concrete[name])
        default = () if parameter.default is parameter.empty else (parameter.default,)
        return self.proxy(self.create_node("placeholder", name, default, {}))

    def _checked(self, name: str, value: Any) -> Any:
        """The concrete value of an argument; the graph asserts that it is called with the same value."""
        given = self.proxy(self.create_node("placeholder", f"{name}_1", (), {}))
        if value is None:
            words = f"{name} has been specialized to have value None but got another value"
            self.create_proxy("call_function", _assert_is_none, (given, words), {})
        elif isinstance(value, (bool, int, float, str)):
            words = f"{name} has been specialized to have value {value} but got another value"
            self.create_proxy("call_function", _assert, (given == value, words), {})
        return value

    # ----- Tracing ------------------------------------------------------------------------------------------------------

    def trace(self, root: Module | Callable[..., Any], concrete_args: dict[str, Any] | None = None) -> Graph:
        """Return the graph of a module or function; `concrete_args` are arguments with fixed values during tracing."""
        is_module = isinstance(root, Module)
        self.root = root if is_module else Module()
        function: Any = getattr(type(root), self.traced_func_name) if is_module else root
        self.root_module_name = type(self.root).__name__
        self.submodule_paths = {mod: name for name, mod in self.root.named_modules()}
        self._parameters = {id(p): (name, p) for name, p in self.root.named_parameters()}
        if self.proxy_buffer_attributes:
            self._parameters |= {id(b): (name, b) for name, b in self.root.named_buffers()}
        self.tensor_attrs = {
            id(v): k for k, v in vars(self.root).items() if isinstance(v, Tensor) and id(v) not in self._parameters
        }
        self._proxies = {}
        self.graph = Graph(tracer_cls=type(self))
        run, args = self.create_args_for_root(function, is_module, concrete_args)
        with _lock, _torch_function.active_for(Proxy), self._watching(function):
            result = run(*args)
        self.create_node("output", "output", (self.create_arg(result),), {})
        self.submodule_paths = None
        return self.graph

    @contextmanager
    def _watching(self, function: Any) -> Iterator[None]:
        """A context that routes module calls, parameter reads and calls of wrapped functions to this tracer."""
        tracer, call, read = self, Module.__call__, Module.__getattribute__

        def called(module: Module, *args: Any, **kwargs: Any) -> Any:
            return tracer.call_module(module, lambda *a, **k: call(module, *a, **k), args, kwargs)

        def got(module: Module, attr: str) -> Any:
            value = read(module, attr)
            return tracer.getattr(attr, value, tracer._proxies) if isinstance(value, (Parameter, Tensor)) else value

        changed: list[tuple[Any, str, Any]] = [(Module, "__call__", called), (Module, "__getattribute__", got)]
        for (_, name), space in list(_wrapped.items()):
            changed.append((space, name, self._recorded(space.get(name, getattr(builtins, name, None)))))
        space = getattr(inspect.unwrap(function), "__globals__", {})
        changed += [
            (space, name, self._recorded(f))
            for name, f in space.items()
            if inspect.isroutine(f) and f in self._functions
        ]
        before = [(where, name, _member(where, name)) for where, name, _ in changed]
        try:
            for where, name, value in changed:
                _put(where, name, value)
            yield
        finally:
            for where, name, value in before:
                _put(where, name, value)

    def _recorded(self, function: Any) -> Any:
        """Wrap a function so that a call with a proxy among its arguments becomes a node."""

        def record(*args: Any, **kwargs: Any) -> Any:
            if any(isinstance(a, Proxy) for a in (*args, *kwargs.values())):
                return self.create_proxy("call_function", function, args, kwargs)
            return function(*args, **kwargs)

        record.__name__ = getattr(function, "__name__", "record")
        return record


def _member(where: Any, name: str) -> Any:
    space = where if isinstance(where, dict) else vars(where)
    return space.get(name, _MISSING)


def _put(where: Any, name: str, value: Any) -> None:
    """Set or delete a name in a class or in globals."""
    if isinstance(where, dict):
        if value is _MISSING:
            where.pop(name, None)
        else:
            where[name] = value
    elif value is _MISSING:
        delattr(where, name)
    else:
        setattr(where, name, value)


def symbolic_trace(root: Module | Callable[..., Any], concrete_args: dict[str, Any] | None = None) -> GraphModule:
    """Trace a module or function into a GraphModule, whose operations can be inspected and edited.

    Args:
        root: the module or function.
        concrete_args: arguments with fixed values during tracing, by name.

    >>> traced = torch.fx.symbolic_trace(lambda x: torch.relu(x) + 1)
    >>> print(traced.code.strip())
    def forward(self, x):
        relu = torch.relu(x);  x = None
        add = relu + 1;  relu = None
        return add
    >>> traced(torch.tensor([-1.0, 2.0]))
    tensor([1., 3.])
    """
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = type(root).__name__ if isinstance(root, Module) else getattr(root, "__name__", "GraphModule")
    return GraphModule(tracer.root, graph, name)


def is_fx_tracing() -> bool:
    """Whether this thread is tracing a program."""
    return "__getattribute__" in vars(Module)
