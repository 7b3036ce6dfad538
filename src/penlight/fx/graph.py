"""A graph: operations in execution order, and their Python source."""

from __future__ import annotations

import builtins
import keyword
import math
import operator
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import penlight

from .._common.arguments import explain as _explain
from .node import Node, Target, _qualified_name, map_arg

__all__ = ["CodeGen", "Graph", "PythonCode"]

# Functions that the source writes as operators.
_SYMBOLS = {
    operator.add: "{} + {}", operator.sub: "{} - {}", operator.mul: "{} * {}", operator.truediv: "{} / {}", operator.floordiv: "{} // {}",
    operator.mod: "{} % {}", operator.pow: "{} ** {}", operator.matmul: "{} @ {}", operator.and_: "{} & {}", operator.or_: "{} | {}",
    operator.xor: "{} ^ {}", operator.lshift: "{} << {}", operator.rshift: "{} >> {}", operator.lt: "{} < {}", operator.le: "{} <= {}",
    operator.gt: "{} > {}", operator.ge: "{} >= {}", operator.eq: "{} == {}", operator.ne: "{} != {}", operator.neg: "-{}",
    operator.pos: "+{}", operator.invert: "~{}", operator.getitem: "{}[{}]",
}  # fmt: skip


class PythonCode(NamedTuple):
    """The source of a graph, and the globals that it needs.

    `src` is the source.

    >>> print(torch.fx.symbolic_trace(lambda x: x + 1).graph.python_code("self").src.strip())
    def forward(self, x):
        add = x + 1;  x = None
        return add
    """

    src: str
    globals: dict[str, Any]


class CodeGen:
    """The code generator of a graph; there is only this one.

    >>> torch.fx.Graph()._codegen is not None
    True
    """


class _Namespace:
    """Unique names that do not clash with Python's."""

    def __init__(self) -> None:
        self._used: dict[str, int] = {}

    def create_name(self, candidate: str, obj: Any = None) -> str:
        """The candidate if it is free, else the candidate with a numeric suffix."""
        candidate = re.sub(r"[^0-9a-zA-Z_]", "_", candidate) or "_unnamed"
        if candidate[0].isdigit():
            candidate = f"_{candidate}"
        head, _, number = candidate.rpartition("_")
        base, count = (head, int(number)) if head and number.isdigit() else (candidate, 0)
        taken = keyword.iskeyword(candidate) or candidate in _RESERVED
        if candidate not in self._used and not taken:
            self._used[candidate] = 0
            self._used.setdefault(base, 0)
            self._used[base] = max(self._used[base], count)
            return candidate
        count = self._used.get(base, 0)
        while (name := f"{base}_{count + 1}") in self._used:
            count += 1
        self._used[base] = count + 1
        self._used[name] = 0
        return name


_RESERVED = {*dir(builtins), "torch", "device", "inf", "nan", "NoneType"}


class Graph:
    """A list of operations in execution order.

    >>> graph = torch.fx.Graph()
    >>> x = graph.placeholder("x")
    >>> _ = graph.output(graph.call_function(torch.relu, (x,)))
    >>> print(graph)
    graph():
        %x : [num_users=1] = placeholder[target=x]
        %relu : [num_users=1] = call_function[target=torch.relu](args = (%x,), kwargs = {})
        return relu
    """

    def __init__(
        self, owning_module: Any = None, tracer_cls: Any = None, tracer_extras: dict[str, Any] | None = None
    ) -> None:
        self._root = Node(self, "", "root", "", (), {})
        self._graph_namespace = _Namespace()
        self._insert_before = self._root
        self._codegen = CodeGen()
        self.owning_module, self._tracer_cls, self._tracer_extras = owning_module, tracer_cls, tracer_extras

    @property
    def nodes(self) -> _Nodes:
        """The nodes in their order."""
        return _Nodes(self)

    def _module(self, target: Any) -> Any:
        return self.owning_module.get_submodule(target) if self.owning_module is not None else None

    # ----- Making nodes -----------------------------------------------------------------------------------------------

    def create_node(
        self, op: str, target: Target, args: tuple[Any, ...] | None = None, kwargs: dict[str, Any] | None = None,
        name: str | None = None, type_expr: Any = None,
    ) -> Node:  # fmt: skip
        """Create a node at the insertion point: the end, or where `inserting_before` set it."""
        candidate = name if name is not None else self._target_to_str(target)
        made = Node(self, self._graph_namespace.create_name(candidate), op, target, args or (), kwargs or {}, type_expr)
        self._insert_before.prepend(made)
        return made

    def _target_to_str(self, target: Target) -> str:
        if isinstance(target, str):
            name = target.lstrip("*") if not target.startswith("*") else "_" + target.lstrip("*")
        else:
            name = getattr(target, "__name__", type(target).__name__)
        return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name.replace(".", "_")).lower()

    def placeholder(self, name: str, type_expr: Any = None, default_value: Any = ...) -> Node:
        """An input of the graph."""
        return self.create_node(
            "placeholder", name, () if default_value is ... else (default_value,), type_expr=type_expr
        )

    def get_attr(self, qualified_name: str, type_expr: Any = None) -> Node:
        """A parameter, a buffer or another attribute of the module."""
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_module(self, module_name: str, args: Any = None, kwargs: Any = None, type_expr: Any = None) -> Node:
        """The call of a module inside the module."""
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def call_method(self, method_name: str, args: Any = None, kwargs: Any = None, type_expr: Any = None) -> Node:
        """The call of a method of the first argument."""
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_function(self, the_function: Callable[..., Any], args: Any = None, kwargs: Any = None, type_expr: Any = None, name: str | None = None) -> Node:  # fmt: skip
        """The call of a function."""
        return self.create_node("call_function", the_function, args, kwargs, name=name, type_expr=type_expr)

    def output(self, result: Any, type_expr: Any = None) -> Node:
        """The output of the graph."""
        return self.create_node("output", "output", (result,), type_expr=type_expr)

    def node_copy(self, node: Node, arg_transform: Callable[[Node], Any] = lambda node: node) -> Node:
        """Copy a node of another graph; `arg_transform` maps its arguments."""
        args, kwargs = map_arg(node.args, arg_transform), map_arg(node.kwargs, arg_transform)
        made = self.create_node(node.op, node.target, args, kwargs, node.name, node.type)
        made.meta = dict(node.meta)
        return made

    def graph_copy(self, g: Graph, val_map: dict[Node, Any], return_output_node: bool = False) -> Any:
        """Copy the nodes of another graph, record the mapping in `val_map`, and return the copy of its output."""
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                result = map_arg(node.args[0], lambda n: val_map[n])
                return (result, node) if return_output_node else result
            val_map[node] = self.node_copy(node, lambda n: val_map[n])
        return None

    # ----- Changing the graph -----------------------------------------------------------------------------------------

    @contextmanager
    def inserting_before(self, n: Node | None = None) -> Iterator[None]:
        """A context in which new nodes are inserted before this one; without one, at the beginning."""
        before = self._insert_before
        self._insert_before = self._root._next if n is None else n
        try:
            yield
        finally:
            self._insert_before = before

    @contextmanager
    def inserting_after(self, n: Node | None = None) -> Iterator[None]:
        """A context in which new nodes are inserted after this one; without one, at the end."""
        with self.inserting_before(self._root if n is None else n._next):
            yield

    def erase_node(self, to_erase: Node) -> None:
        """Remove an unused node."""
        if to_erase.users:
            raise RuntimeError(
                f"Tried to erase Node {to_erase} but it still had {len(to_erase.users)} users in the graph: {to_erase.users}!"
            )
        to_erase._detach()
        to_erase._erased = True
        to_erase._apply_to((), {})

    def eliminate_dead_code(self, is_impure_node: Callable[[Node], bool] | None = None) -> bool:
        """Remove the nodes with unused results. Returns whether there were any."""
        dead = False
        for node in reversed(self.nodes):
            if not node.users and not (is_impure_node or Node.is_impure)(node):
                self.erase_node(node)
                dead = True
        return dead

    def find_nodes(self, *, op: str, target: Target | None = None, sort: bool = True) -> list[Node]:
        """The nodes with this op and target."""
        return [node for node in self.nodes if node.op == op and (target is None or node.target == target)]

    def output_node(self) -> Node:
        """The output node."""
        return self._root._prev

    def lint(self) -> None:
        """Raise if a node uses a later one, or names a missing module."""
        seen: set[Node] = set()
        names: set[str] = set()
        for node in self.nodes:
            for used in node.all_input_nodes:
                if used.graph is not self:
                    raise RuntimeError(
                        f"Argument '{used}' of Node '{node}' does not belong to this Graph, but was used as an argument!"
                    )
                if used not in seen:
                    raise RuntimeError(f"Argument '{used}' of Node '{node}' was used before it has been defined! Please check that Nodes in the graph are topologically ordered\n{self}")  # fmt: skip
            if node.name in names:
                raise RuntimeError(f"Node redefined name {node.name}!")
            if node.op in ("call_module", "get_attr") and self.owning_module is not None:
                found: Any = self.owning_module
                for part in str(node.target).split("."):
                    if not hasattr(found, part):
                        raise RuntimeError(
                            f"Node {node} target {node.target} references nonexistent attribute {part} of {type(found).__name__}"
                        )
                    found = getattr(found, part)
            seen.add(node)
            names.add(node.name)

    # ----- Source code ------------------------------------------------------------------------------------------------

    def python_code(self, root_module: str = "self", **options: Any) -> PythonCode:
        """The graph as the source of a function, with `root_module` as the name of the module."""
        return _Source(self, root_module).code()

    def print_tabular(self) -> None:
        """Print the nodes as a table."""
        rows = [("opcode", "name", "target", "args", "kwargs")]
        rows += [(n.op, n.name, str(n.target), str(n.args), str(n.kwargs)) for n in self.nodes]
        widths = [max(len(row[i]) for row in rows) for i in range(5)]
        rows.insert(1, tuple("-" * width for width in widths))  # type: ignore[arg-type]
        print("\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows))

    def process_inputs(self, *args: Any) -> Any:
        """The inputs in the form that the placeholders take."""
        return args

    def process_outputs(self, out: Any) -> Any:
        """The result in the form that the caller gets."""
        return out

    def set_codegen(self, codegen: CodeGen) -> None:
        """Accepted for the one code generator."""
        self._codegen = codegen

    def __str__(self) -> str:
        return "\n    ".join(["graph():", *(str(node.format_node()) for node in self.nodes)])

    # ----- Copies: node by node, since recursion through their references could exceed Python's stack -----------------

    def __deepcopy__(self, memo: Any = None) -> Graph:
        copied = Graph(tracer_cls=self._tracer_cls)
        values: dict[Node, Any] = {}
        result = copied.graph_copy(self, values, return_output_node=True)
        if result is not None:
            copied.output(result[0], result[1].type).meta = dict(result[1].meta)
        if memo is not None:
            memo.update({id(old): new for old, new in values.items()})
        return copied

    def __reduce__(self) -> tuple[Any, ...]:
        index = {node: i for i, node in enumerate(self.nodes)}
        rows = [
            (
                n.op,
                n.name,
                n.target,
                *(map_arg(part, lambda used: _NodeIndex(index[used])) for part in (n.args, n.kwargs)),
                n.type,
            )
            for n in self.nodes
        ]
        return _rebuild, (rows, self._tracer_cls)


class _NodeIndex(NamedTuple):
    """Represents a node in a pickle."""

    at: int


def _rebuild(rows: list[Any], tracer_cls: Any) -> Graph:
    graph = Graph(tracer_cls=tracer_cls)
    made: list[Node] = []

    def put_back(a: Any) -> Any:
        if isinstance(a, _NodeIndex):
            return made[a.at]
        if isinstance(a, (tuple, list)):
            return type(a)(put_back(item) for item in a)
        if isinstance(a, dict):
            return {key: put_back(item) for key, item in a.items()}
        return slice(*map(put_back, (a.start, a.stop, a.step))) if isinstance(a, slice) else a

    for op, name, target, args, kwargs, kind in rows:
        made.append(graph.create_node(op, target, put_back(args), put_back(kwargs), name, kind))
    return graph


class _Nodes(Sequence[Node]):
    """The nodes of a graph, which may change during iteration."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def __iter__(self) -> Iterator[Node]:
        node = self._graph._root._next
        while node is not self._graph._root:
            if not node._erased:
                yield node
            node = node._next

    def __reversed__(self) -> Iterator[Node]:
        node = self._graph._root._prev
        while node is not self._graph._root:
            if not node._erased:
                yield node
            node = node._prev

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __getitem__(self, index: Any) -> Any:
        return list(self)[index]


class _Source:
    """Writes the source of a graph: its lines, and the globals that they use."""

    def __init__(self, graph: Graph, root: str) -> None:
        self.graph, self.root = graph, root
        self.globals: dict[str, Any] = {"torch": penlight, "device": penlight.device, "inf": math.inf, "nan": math.nan}
        self.names = _Namespace()
        self.last_use: dict[Node, list[Node]] = {}

    def code(self) -> PythonCode:
        seen: set[Node] = set()
        for node in reversed(self.graph.nodes):
            for used in node.all_input_nodes:
                if used not in seen:
                    seen.add(used)
                    self.last_use.setdefault(node, []).append(used)
        parameters, body = [self.root], []
        for node in self.graph.nodes:
            if node.op == "placeholder":
                default = f" = {self.value(node.args[0])}" if node.args else ""
                parameters.append(f"{node.target}{default}")
                raw = str(node.target).lstrip("*")
                line = f"{node.name} = {raw}" if raw != node.name else ""
            elif node.op == "output":
                line = f"return {self.value(node.args[0])}"
            else:
                line = f"{node.name} = {self.expression(node)}"
            if line:
                body.append(line + self.released(node))
        lines = "\n    ".join(body or ["pass"])
        return PythonCode(f"\n\n\ndef forward({', '.join(parameters)}):\n    {lines}\n    ", self.globals)

    def released(self, node: Node) -> str:
        """The code that deletes results after their last use."""
        done = [n.name for n in self.last_use.get(node, [])]
        if node.op != "placeholder" and not node.users and node.op != "output":
            done.append(node.name)
        return f";  {' = '.join(done)} = None" if done and node.op != "output" else ""

    def expression(self, node: Node) -> str:
        if node.op == "get_attr":
            return self.member(node.target)
        args = [self.value(a) for a in node.args]
        words = [f"{key} = {self.value(value)}" for key, value in node.kwargs.items()]
        if node.op == "call_module":
            return f"{self.member(node.target)}({', '.join([*args, *words])})"
        if node.op == "call_method":
            first = args[0] if re.fullmatch(r"\w+", args[0]) else f"({args[0]})"
            return f"{first}.{node.target}({', '.join([*args[1:], *words])})"
        form = _SYMBOLS.get(node.target) if not words else None  # type: ignore[arg-type]
        if form is not None and form.count("{}") == len(args):
            return form.format(*args)
        if node.target is getattr and len(args) == 2 and isinstance(node.args[1], str) and node.args[1].isidentifier():
            return f"{args[0]}.{node.args[1]}"
        return f"{self.function(node.target)}({', '.join([*args, *words])})"

    def member(self, target: Any) -> str:
        written = self.root
        for part in str(target).split("."):
            named = part.isidentifier() and not keyword.iskeyword(part)
            written = f"{written}.{part}" if named else f'getattr({written}, "{part}")'
        return written

    def function(self, target: Any) -> str:
        name = _qualified_name(target)
        if name.startswith("builtins.") and getattr(builtins, name[9:], None) is target:
            return name[9:]
        top, _, path = name.partition(".")
        home: Any = penlight if top == "torch" else sys.modules.get(top)
        try:
            if path and operator.attrgetter(path)(home) is target:
                self.globals.setdefault(top, home)
                return name
        except AttributeError:
            pass
        return self.put(getattr(target, "__name__", type(target).__name__), target)

    def put(self, name: str, value: Any) -> str:
        """Add a value to the globals, and return its name."""
        for known, other in self.globals.items():
            if other is value:
                return known
        name = self.names.create_name(name if name.isidentifier() else "value")
        while name in self.globals:
            name = self.names.create_name(name)
        self.globals[name] = value
        return name

    def value(self, a: Any) -> str:
        """An argument as source."""
        if isinstance(a, Node):
            return a.name
        if isinstance(a, penlight.Size):
            return f"torch.Size({self.value(list(a))})"
        if isinstance(a, tuple):
            items = ", ".join(map(self.value, a))
            if hasattr(a, "_fields"):
                return f"{self.put(type(a).__name__, type(a))}({items})"
            return f"({items},)" if len(a) == 1 else f"({items})"
        if isinstance(a, list):
            return f"[{', '.join(map(self.value, a))}]"
        if isinstance(a, dict):
            return "{" + ", ".join(f"{self.value(k)}: {self.value(v)}" for k, v in a.items()) + "}"
        if isinstance(a, slice):
            return f"slice({self.value(a.start)}, {self.value(a.stop)}, {self.value(a.step)})"
        if a is None or a is ... or isinstance(a, (bool, int, float, complex, str, bytes, penlight.device)):
            return repr(a)
        if isinstance(a, (penlight.dtype, penlight.layout, penlight.memory_format)):
            return str(a)
        if callable(a) and hasattr(a, "__name__"):
            return self.function(a)
        return self.put(f"_{type(a).__name__}", a)


_explain(globals())
