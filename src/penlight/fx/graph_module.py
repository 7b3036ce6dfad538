"""A module whose `forward` is the source of a graph."""

from __future__ import annotations

import copy
import itertools
import linecache
from typing import Any

from penlight import Tensor
from penlight.nn import Module, Parameter

from .graph import Graph, PythonCode

__all__ = ["GraphModule"]

_counter = itertools.count()


def _copy_attr(from_module: Any, to_module: Module, target: str) -> None:
    """Copy the attribute at a path of one module to another module; intermediate modules are created."""
    *path, field = target.split(".")
    for part in path:
        from_module = getattr(from_module, part)
        there = getattr(to_module, part, None)
        if there is from_module:
            return
        if there is None:
            there = Module()
            setattr(to_module, part, there)
        to_module = there
    value = getattr(from_module, field)
    if isinstance(value, Tensor) and not isinstance(value, Parameter):
        to_module.register_buffer(field, value, persistent=field not in from_module._non_persistent_buffers_set)
    else:
        setattr(to_module, field, value)


class _CodeOnlyModule(Module):
    """A module with these attributes and without a graph."""

    def __init__(self, body: dict[str, Any]) -> None:
        super().__init__()
        self.__dict__ = body


_USER_PRESERVED_ATTRIBUTES_KEY = "_user_preserved_attributes"  # the key in `meta` for the user's attributes


def _assign_attr(value: Any, to_module: Module, target: str) -> None:
    """Set the attribute at a path of a module; intermediate modules are created."""
    *path, field = target.split(".")
    for part in path:
        if not hasattr(to_module, part):
            setattr(to_module, part, Module())
        to_module = getattr(to_module, part)
    setattr(to_module, field, value)


class GraphModule(Module):
    """A module generated from a graph. After a change of `graph`, `recompile` regenerates `forward`.

    Args:
        root: the module that has the attributes that the graph uses, or a dict of them by path.
        graph: the operations.
        class_name: the name of the module's class.

    >>> traced = torch.fx.symbolic_trace(torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU()))
    >>> [str(node.target) for node in traced.graph.nodes]
    ['input', '0', '1', 'output']
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        # Each instance has a class of its own, for its `forward`.
        own = next(c for c in cls.__mro__ if "_of_one_instance" not in vars(c))
        return super().__new__(type(own.__name__, (own,), {"_of_one_instance": True, "__module__": own.__module__}))

    def __init__(self, root: Module | dict[str, Any], graph: Graph, class_name: str = "GraphModule") -> None:
        super().__init__()
        type(self).__name__ = type(self).__qualname__ = class_name
        named = [str(n.target) for n in graph.nodes if n.op in ("call_module", "get_attr")]
        if isinstance(root, Module):
            if hasattr(root, "training"):
                self.training = root.training
            for target in named:
                _copy_attr(root, self, target)
        else:
            for target in sorted(named, key=lambda t: t.count(".")):
                if target not in root:
                    raise RuntimeError(f"Node target {target} was not provided in ``root``!")
                _assign_attr(root[target], self, target)
        self.meta: dict[str, Any] = {}
        self.graph = graph

    @property
    def graph(self) -> Graph:
        """The operations."""
        return self.__dict__["_graph"]

    @graph.setter
    def graph(self, g: Graph) -> None:
        if not isinstance(g, Graph):
            raise AssertionError(f"Expected a Graph instance, but got {type(g)}")
        self.__dict__["_graph"] = g
        g.owning_module = self
        self.recompile()

    @property
    def code(self) -> str:
        """The source of `forward`."""
        if "_code" not in self.__dict__:
            raise RuntimeError("Code has not been generated! Please report a bug to PyTorch")
        return self.__dict__["_code"]

    def recompile(self) -> PythonCode:
        """Regenerate `forward` from the current graph."""
        made = self.graph.python_code("self")
        self.__dict__["_code"] = made.src
        filename = f"<penlight fx {next(_counter)}>"
        linecache.cache[filename] = (len(made.src), None, made.src.splitlines(True), filename)
        space = dict(made.globals)
        exec(compile(made.src, filename, "exec"), space)
        type(self).forward = space["forward"]
        return made

    def add_submodule(self, target: str, m: Module) -> bool:
        """Add a module at a path. Returns whether the path is valid."""
        *path, field = target.split(".")
        inside: Any = self
        for part in path:
            if not hasattr(inside, part):
                setattr(inside, part, Module())
            inside = getattr(inside, part)
            if not isinstance(inside, Module):
                return False
        inside.add_module(field, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        """Remove the module at a path. Returns whether there was one."""
        path, _, field = target.rpartition(".")
        try:
            inside = self.get_submodule(path)
            found = isinstance(getattr(inside, field), Module)
        except AttributeError:
            return False
        if found:
            delattr(inside, field)
        return found

    def delete_all_unused_submodules(self) -> None:
        """Remove the modules that the graph does not call."""
        used = {str(n.target) for n in self.graph.nodes if n.op in ("call_module", "get_attr")}
        kept = {".".join(path[:i]) for path in (t.split(".") for t in used) for i in range(len(path) + 1)}
        inside = tuple(f"{t}." for t in used)
        for name, _ in list(self.named_modules()):
            if name not in kept and not name.startswith(inside):
                self.delete_submodule(name)

    def print_readable(self, print_output: bool = True, *args: Any, **kwargs: Any) -> str:
        """Print and return the source of `forward` inside its class."""
        body = self.code.strip("\n").rstrip().replace("\n", "\n    ")
        text = f"class {self._get_name()}(torch.nn.Module):\n    {body}\n"
        if print_output:
            print(text)
        return text

    def __deepcopy__(self, memo: Any) -> GraphModule:
        made: Any = GraphModule.__new__(next(c for c in type(self).__mro__ if "_of_one_instance" not in vars(c)))
        memo[id(self)] = made
        state = {key: value for key, value in self.__dict__.items() if key not in ("_graph", "_code")}
        made.__setstate__(copy.deepcopy(state, memo))
        type(made).__name__ = type(made).__qualname__ = type(self).__name__
        made.graph = copy.deepcopy(self.graph)
        return made

    def __copy__(self) -> GraphModule:
        return GraphModule(self, self.graph, type(self).__name__)

    def __reduce__(self) -> tuple[Any, ...]:
        state = {key: value for key, value in self.__getstate__().items() if key not in ("_graph", "_code")}
        own = next(c for c in type(self).__mro__ if "_of_one_instance" not in vars(c))
        return _rebuild, (own, type(self).__name__, state, self.graph)

    def __str__(self) -> str:
        return f"{super().__str__()}\n{self.code}\n# To see more debug info, please use `graph_module.print_readable()`"


def _rebuild(own: Any, name: str, state: dict[str, Any], graph: Graph) -> Any:
    """Recreate a GraphModule from a pickle."""
    made: Any = own.__new__(own)
    made.__setstate__(state)
    type(made).__name__ = type(made).__qualname__ = name
    made.graph = graph
    return made
