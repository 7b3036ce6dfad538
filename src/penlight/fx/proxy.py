"""Proxies represent tensors during tracing. Every operation on a proxy becomes a node."""

from __future__ import annotations

import ast
import inspect
import operator
import sys
import textwrap
from collections.abc import Iterator
from types import FrameType
from typing import Any

import penlight
from penlight import Tensor

from .._common.arguments import explain as _explain
from .graph import Graph
from .node import Node, map_aggregate

__all__ = ["Attribute", "GraphAppendingTracer", "Proxy", "TraceError", "TracerBase"]


class TraceError(ValueError):
    """Raised when a traced program depends on tensor values, which do not exist during tracing.

    >>> torch.fx.symbolic_trace(lambda x: 1 if x > 0 else 0)
    Traceback (most recent call last):
        ...
    penlight.fx.proxy.TraceError: ...
    """


class TracerBase:
    """Makes nodes, and proxies for them.

    >>> issubclass(torch.fx.Tracer, torch.fx.proxy.TracerBase)
    True
    """

    graph: Graph
    record_stack_traces = False
    traced_func_name = "forward"

    def create_node(
        self, kind: str, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any], name: str | None = None, type_expr: Any = None
    ) -> Node:  # fmt: skip
        """A new node of the graph."""
        return self.graph.create_node(kind, target, args, kwargs, name, type_expr)

    def proxy(self, node: Node) -> Proxy:
        """Create the proxy of a node."""
        return Proxy(node, self)

    def create_proxy(
        self, kind: str, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any], name: str | None = None, type_expr: Any = None,
        proxy_factory_fn: Any = None,
    ) -> Any:  # fmt: skip
        """Create a node for arguments that contain proxies, and return its proxy."""
        node = self.create_node(kind, target, self.create_arg(args), self.create_arg(kwargs), name, type_expr)
        return (proxy_factory_fn or self.proxy)(node)

    def create_arg(self, a: Any) -> Any:
        """Convert an argument for a node: proxies are replaced by their nodes."""
        return map_aggregate(a, self._argument)

    def _argument(self, a: Any) -> Any:
        if isinstance(a, Proxy):
            return a.node
        if hasattr(a, "__fx_create_arg__"):
            return a.__fx_create_arg__(self)
        if isinstance(a, range):
            return range(*map(self.create_arg, (a.start, a.stop, a.step)))
        if isinstance(a, (str, int, float, complex, bool, bytes, type(None), type(...), Node)) or callable(a):
            return a
        if isinstance(a, (penlight.dtype, penlight.device, penlight.layout, penlight.memory_format, Tensor)):
            return a
        raise NotImplementedError(f"argument of type: {type(a)}")

    def to_bool(self, obj: Proxy) -> bool:
        """The truth value of a proxy: raises, because it is unknown."""
        raise TraceError("symbolically traced variables cannot be used as inputs to control flow")

    def iter(self, obj: Any) -> Iterator[Any]:
        """The items of a proxy, if the calling line shows how many there are: `a, b = x`."""
        count = _target_count(sys._getframe(2))
        if count:
            return (obj[i] for i in range(count))
        raise TraceError(
            "Proxy object cannot be iterated. This can be attempted when the Proxy is used in a loop or as a *args or **kwargs function "
            "argument. See the torch.fx docs on pytorch.org for a more detailed explanation of what types of control flow can be traced, "
            "and check out the Proxy docstring for help troubleshooting Proxy iteration errors"
        )

    def keys(self, obj: Proxy) -> Any:
        """The keys of a proxy, for `**x`."""
        return Attribute(obj, "keys")()


def _target_count(frame: FrameType) -> int:
    """The number of targets of the assignment that a frame is executing, from its source; 0 if unknown."""
    try:
        lines, first = inspect.getsourcelines(frame.f_code)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, SyntaxError):
        return 0
    line = frame.f_lineno - max(first, 1) + 1
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and node.lineno <= line <= (node.end_lineno or 0):
            for target in node.targets:
                if isinstance(target, (ast.Tuple, ast.List)) and not any(
                    isinstance(e, ast.Starred) for e in target.elts
                ):
                    return len(target.elts)
    return 0


class GraphAppendingTracer(TracerBase):
    """Appends nodes to a graph.

    >>> graph = torch.fx.Graph()
    >>> torch.fx.proxy.GraphAppendingTracer(graph).graph is graph
    True
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.scope = None
        self.module_stack: dict[str, Any] = {}


class Proxy:
    """Represents the result of a node during tracing.

    Args:
        node: the node
        tracer: makes the nodes of results; None appends them to the graph

    >>> graph = torch.fx.Graph()
    >>> x = torch.fx.Proxy(graph.placeholder("x"))
    >>> (x.relu() + 1).node.name, [node.name for node in graph.nodes]
    ('add', ['x', 'relu', 'add'])
    """

    def __init__(self, node: Node, tracer: TracerBase | None = None) -> None:
        self.node = node
        self.tracer = GraphAppendingTracer(node.graph) if tracer is None else tracer

    def __repr__(self) -> str:
        return f"Proxy({self.node.name})"

    def __getattr__(self, name: str) -> Attribute:
        if name.startswith("__") and name.endswith("__"):  # protocols of Python and NumPy, such as __array__
            raise AttributeError(name)
        return Attribute(self, name)

    def __deepcopy__(self, memo: Any) -> Proxy:
        return Proxy(self.node, self.tracer)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self) -> Iterator[Any]:
        return self.tracer.iter(self)

    def __bool__(self) -> bool:
        return self.tracer.to_bool(self)

    def __len__(self) -> int:
        raise RuntimeError(
            "'len' is not supported in symbolic tracing by default. If you want this call to be recorded, please call "
            "torch.fx.wrap('len') at module scope"
        )

    def keys(self) -> Any:
        """The keys, for `**x`."""
        return self.tracer.keys(self)

    def __hash__(self) -> int:
        return id(self)

    @classmethod
    def __torch_function__(cls, orig_method: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        found: list[Proxy] = []
        map_aggregate((args, kwargs or {}), lambda a: found.append(a) if isinstance(a, Proxy) else None)
        tracer = found[0].tracer
        name = getattr(orig_method, "__name__", "")
        if getattr(Tensor, name, None) is orig_method:
            return tracer.create_proxy("call_method", name, args, kwargs or {})
        return tracer.create_proxy("call_function", orig_method, args, kwargs or {})


class Attribute(Proxy):
    """An attribute of a proxy's value. It becomes a node when it is used other than by a call.

    Args:
        root: the proxy
        attr: the name of the attribute

    >>> graph = torch.fx.Graph()
    >>> x = torch.fx.Proxy(graph.placeholder("x"))
    >>> x.shape.node.name
    'getattr_1'
    """

    def __init__(self, root: Proxy, attr: str) -> None:
        self.root, self.attr, self.tracer = root, attr, root.tracer
        self._node: Node | None = None

    @property
    def node(self) -> Node:  # type: ignore[override]
        """The node that reads the attribute."""
        if self._node is None:
            self._node = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {}).node
        return self._node

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


def _operator(function: Any, reflected: bool = False) -> Any:
    def run(self: Proxy, *args: Any) -> Any:
        given = (*args, self) if reflected else (self, *args)
        return self.tracer.create_proxy("call_function", function, given, {})

    return run


for _name in "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift".split():  # noqa: SIM905
    _function = getattr(operator, f"__{_name}__")
    setattr(Proxy, f"__{_name}__", _operator(_function))
    setattr(Proxy, f"__r{_name}__", _operator(_function, reflected=True))
for _name in "eq ne lt le gt ge neg pos invert abs getitem".split():  # noqa: SIM905
    setattr(Proxy, f"__{_name}__", _operator(getattr(operator, f"__{_name}__")))


_explain(globals())
