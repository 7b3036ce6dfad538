"""What the options of `penlight run` open around a program."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from penlight import inspect
from penlight.autograd import profiler
from penlight.inspect.draw import draw_edges
from penlight.inspect.log import Listener


class _Drawing(Listener):
    """Draws the graph of the first backward pass."""

    def __init__(self, path: str) -> None:
        self.path: str | None = path

    def on_backward(self, roots: Any) -> None:
        if self.path is not None:
            path, self.path = self.path, None
            draw_edges(roots).save(path)
            print(f"penlight run: the graph of the first backward pass is in {path}", file=sys.stderr)


class _Several(Listener):
    """Tells several listeners what happens."""

    def __init__(self, listeners: list[Listener]) -> None:
        self.listeners, self.sees_nodes = listeners, any(one.sees_nodes for one in listeners)

    @property
    def log(self) -> inspect.Log | None:
        return next((one.log for one in self.listeners if one.log is not None), None)

    def on_op(self, op: Any, arguments: tuple[Any, ...], go: Any, inplace: bool) -> Any:
        for one in self.listeners:
            go = lambda one=one, inner=go: one.on_op(op, arguments, inner, inplace)
        return go()

    def on_node(self, node: Any, grad: Any, run: Any) -> Any:
        for one in self.listeners:
            run = lambda node, grad, one=one, inner=run: one.on_node(node, grad, inner)
        return run(node, grad)


def _told_to_all(name: str) -> Callable[..., None]:
    def tell(self: _Several, *arguments: Any) -> None:
        for one in self.listeners:
            getattr(one, name)(*arguments)

    return tell


for _name in ("on_new_node", "on_backward", "on_cut", "on_write"):
    setattr(_Several, _name, _told_to_all(_name))


@contextmanager
def looking_inside(options: dict[str, str]) -> Iterator[None]:
    """Open what the options ask for; write and say what was found at the end."""
    makers: dict[str, Callable[[str], Any]] = {
        "--watch": lambda _: inspect.Log(nan="note"),
        "--draw": _Drawing,
        "--memory": lambda _: inspect.timeline(),
    }
    listeners = {name: make(options[name]) for name, make in makers.items() if name in options}
    with ExitStack() as open_ones:
        if listeners:
            open_ones.enter_context(inspect.watch(log=_Several(list(listeners.values()))))
        profile = open_ones.enter_context(profiler.profile()) if "--profile" in options else None
        yield
    for event in listeners["--watch"].nans if "--watch" in listeners else ():
        print(f"penlight run --watch: {event}", end="", file=sys.stderr)
    if profile is not None:
        profile.export_chrome_trace(options["--profile"])
    if "--memory" in listeners:
        listeners["--memory"].save(options["--memory"])
    for name in ("--profile", "--memory"):
        if name in options:
            print(f"penlight run: {options[name]} is written", file=sys.stderr)
