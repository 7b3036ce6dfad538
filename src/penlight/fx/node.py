"""A node of a graph: one operation, its arguments, and its users."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import TYPE_CHECKING, Any

import penlight
from penlight._common.arguments import explain as _explain

if TYPE_CHECKING:
    from .graph import Graph

__all__ = ["Argument", "Node", "Target", "map_aggregate", "map_arg"]

Target = str | Callable[..., Any]
Argument = Any

OPS = ("placeholder", "get_attr", "call_function", "call_method", "call_module", "output", "root")


def map_aggregate(a: Any, fn: Callable[[Any], Any]) -> Any:
    """Apply a function to every element of nested tuples, lists, dicts and slices.

    >>> from penlight.fx.node import map_aggregate
    >>> map_aggregate((1, [2, {"a": 3}]), lambda x: 10 * x)
    (10, [20, {'a': 30}])

    Args:
        a: the nested values
        fn: a function of one

    Returns:
        the same nesting, with the results
    """
    if isinstance(a, tuple):
        items = [map_aggregate(item, fn) for item in a]
        return type(a)(*items) if hasattr(a, "_fields") else tuple(items)
    if isinstance(a, list):
        return [map_aggregate(item, fn) for item in a]
    if isinstance(a, dict):
        return {key: map_aggregate(item, fn) for key, item in a.items()}
    if isinstance(a, slice):
        return slice(*(map_aggregate(item, fn) for item in (a.start, a.stop, a.step)))
    return fn(a)


def map_arg(a: Any, fn: Callable[[Node], Any]) -> Any:
    """Apply a function to every node in an argument.

    Args:
        a: the argument, of nested tuples, lists and dicts
        fn: a function of a node

    Returns:
        the argument with the results in place of nodes

    >>> graph = torch.fx.symbolic_trace(lambda x: x + 1).graph
    >>> torch.fx.node.map_arg(list(graph.nodes)[1].args, lambda node: node.name)
    ('x', 1)
    """
    return map_aggregate(a, lambda item: fn(item) if isinstance(item, Node) else item)


class Node:
    """An operation of a graph.

    Args:
        graph: the graph that it belongs to.
        name: its name there.
        op: `placeholder` (an input), `get_attr` (a parameter), `call_function`, `call_method`, `call_module`, or `output`.
        target: the function, or the name of the input, the method, the module or the attribute.
        args, kwargs: the arguments; a node among them represents its result.
        return_type: an annotation of the result

    >>> graph = torch.fx.symbolic_trace(lambda x: torch.relu(x) + 1).graph
    >>> [node.name for node in graph.nodes]
    ['x', 'relu', 'add', 'output']
    """

    def __init__(
        self, graph: Graph, name: str, op: str, target: Target, args: tuple[Any, ...], kwargs: dict[str, Any], return_type: Any = None
    ) -> None:  # fmt: skip
        if op not in OPS:
            raise AssertionError(f"op '{op}' is not one of {OPS}")
        if op == "call_function":
            if not callable(target):
                raise ValueError(
                    f"Node [graph = {graph}, name = '{name}'] target {target} has type {type(target).__name__} but a Callable is expected"
                )
        elif not isinstance(target, str):
            raise ValueError(
                f"Node [graph = {graph}, name = '{name}'] target {target} has type {type(target).__name__} but a str is expected"
            )
        self.graph, self.name, self.op, self.target, self.type = graph, name, op, target, return_type
        self.users: dict[Node, None] = {}
        self.meta: dict[str, Any] = {}
        self._prev = self._next = self
        self._erased = False
        self._args: tuple[Any, ...] = ()
        self._kwargs: dict[str, Any] = {}
        self._input_nodes: dict[Node, None] = {}
        self._apply_to(args, kwargs)

    def _apply_to(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        for node in self._input_nodes:
            node.users.pop(self, None)
        self._input_nodes = {}
        self._args = map_arg(tuple(args), self._use)
        self._kwargs = map_arg(dict(kwargs), self._use)

    def _use(self, node: Node) -> Node:
        self._input_nodes[node] = None
        node.users[self] = None
        return node

    @property
    def args(self) -> tuple[Any, ...]:
        """The positional arguments."""
        return self._args

    @args.setter
    def args(self, args: tuple[Any, ...]) -> None:
        self._apply_to(args, self._kwargs)

    @property
    def kwargs(self) -> dict[str, Any]:
        """The keyword arguments."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, kwargs: dict[str, Any]) -> None:
        self._apply_to(self._args, kwargs)

    @property
    def all_input_nodes(self) -> list[Node]:
        """The nodes among its arguments."""
        return list(self._input_nodes)

    @property
    def next(self) -> Node:
        """The node that runs after this one."""
        return self._next

    @property
    def prev(self) -> Node:
        """The node that runs before this one."""
        return self._prev

    def update_arg(self, idx: int, arg: Any) -> None:
        """Replace the argument at a position."""
        self.args = (*self.args[:idx], arg, *self.args[idx + 1 :])

    def insert_arg(self, idx: int, arg: Any) -> None:
        """Insert an argument before a position."""
        self.args = (*self.args[:idx], arg, *self.args[idx:])

    def update_kwarg(self, key: str, arg: Any) -> None:
        """Replace a keyword argument."""
        self.kwargs = {**self.kwargs, key: arg}

    def replace_input_with(self, old_input: Node, new_input: Node) -> None:
        """Replace one input node by another."""

        def replaced(node: Node) -> Node:
            return new_input if node is old_input else node

        self._apply_to(map_arg(self.args, replaced), map_arg(self.kwargs, replaced))

    def replace_all_uses_with(
        self, replace_with: Node, delete_user_cb: Callable[[Node], bool] = lambda user: True, *, propagate_meta: bool = False
    ) -> list[Node]:  # fmt: skip
        """Make the users of this node use another one. Returns these users."""
        if propagate_meta:
            replace_with.meta.update(self.meta)
        users = [user for user in self.users if delete_user_cb(user)]
        for user in users:
            user.replace_input_with(self, replace_with)
        return users

    def _detach(self) -> None:
        self._prev._next, self._next._prev = self._next, self._prev

    def prepend(self, x: Node) -> None:
        """Move a node before this one."""
        if x is self:
            return
        x._detach()
        before = self._prev
        before._next, x._prev = x, before
        x._next, self._prev = self, x

    def append(self, x: Node) -> None:
        """Move a node after this one."""
        self._next.prepend(x)

    def is_impure(self, impure_random: bool = True) -> bool:
        """Whether it has side effects or is an input or the output: such nodes are never dead code."""
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_module":
            return getattr(self.graph._module(self.target), "_is_impure", False)
        name = self.target if isinstance(self.target, str) else getattr(self.target, "__name__", "")
        return self.op != "get_attr" and (
            (name.endswith("_") and not name.endswith("__")) or name in ("_assert", "setitem")
        )

    def format_node(self, placeholder_names: Any = None, maybe_return_typename: Any = None, *, include_tensor_metadata: bool = False) -> str | None:  # fmt: skip
        """The line of this node in `print(graph)`."""
        head = f"%{self.name} : [num_users={len(self.users)}] = {self.op}"
        if self.op == "placeholder":
            return f"{head}[target={self.target}]" + (f"(default={self.args[0]})" if self.args else "")
        if self.op == "get_attr":
            return f"{head}[target={self.target}]"
        if self.op == "output":
            return f"return {self.args[0]}"
        return f"{head}[target={self._pretty_print_target(self.target)}](args = {_format(self.args)}, kwargs = {_format(self.kwargs)})"

    @staticmethod
    def _pretty_print_target(target: Target) -> str:
        return target if isinstance(target, str) else _qualified_name(target)

    def __repr__(self) -> str:
        return self.name

    def __lt__(self, other: Node) -> bool:
        return self in _before(other)


def _before(node: Node) -> Iterator[Node]:
    while node._prev.op != "root":
        node = node._prev
        yield node


def _format(a: Any) -> str:
    if isinstance(a, tuple) and not hasattr(a, "_fields"):
        items = ", ".join(map(_format, a))
        return f"({items},)" if len(a) == 1 else f"({items})"
    if isinstance(a, list):
        return f"[{', '.join(map(_format, a))}]"
    if isinstance(a, dict):
        return "{" + ", ".join(f"{key}: {_format(value)}" for key, value in a.items()) + "}"
    return f"%{a}" if isinstance(a, Node) else str(a)


def _qualified_name(func: Any) -> str:
    """A function's qualified name in source code: `torch.nn.functional.relu`, `operator.add`."""
    name = getattr(func, "__name__", None)
    if name is None:
        return repr(func)
    module = _module_of(func)
    return f"{module}.{name}".replace("penlight", "torch").replace("_operator", "operator")


def _module_of(func: Any) -> str:
    """The public module of a function, which may be a parent of the defining one."""
    module = getattr(func, "__module__", None) or "builtins"
    if isinstance(func, (FunctionType, BuiltinFunctionType, MethodType)):
        for home in ("penlight", "penlight.nn.functional"):
            if module.startswith("penlight") and getattr(sys.modules.get(home, penlight), func.__name__, None) is func:
                return home
    return str(module)


_explain(globals())
