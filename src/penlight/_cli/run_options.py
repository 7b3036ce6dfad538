"""The options of `penlight run` that observe a program: `--watch`, `--draw`, `--profile` and `--memory`."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from penlight import inspect, nn
from penlight.autograd import profiler
from penlight.autograd.views import edge_of
from penlight.inspect.draw import draw_edges
from penlight.inspect.log import Listener


class _Drawing(Listener):
    """Draws the graph of the first backward pass."""

    def __init__(self, path: str) -> None:
        self.path: str | None = path

    def on_backward(self, roots: Any, leaves: Any) -> None:
        if self.path is not None:
            path, self.path = self.path, None
            draw_edges(roots, _model_of(set(leaves))).save(path)
            print(f"penlight run: the graph of the first backward pass is in {path}", file=sys.stderr)


def _model_of(leaves: set[Any]) -> Any:
    """The model that has these leaves, or if there are several, their parameters by class and name. All live objects are searched."""
    modules = [one for one in gc.get_objects() if issubclass(type(one), nn.Module)]
    inner = {id(child) for one in modules for child in one.children()}
    models = [one for one in modules if id(one) not in inner and any(edge_of(p)[0] in leaves for p in one.parameters())]
    if len(models) == 1:
        return models[0]
    return {f"{type(one).__name__}.{name}": p for one in models for name, p in one.named_parameters()}


@contextmanager
def observe(options: dict[str, str]) -> Iterator[None]:
    """Observe a program as the options say; at the end, write the files and print the findings."""
    makers: dict[str, Callable[[str], Any]] = {
        "--watch": lambda _: inspect.Log(nan="note"),
        "--draw": _Drawing,
        "--memory": lambda _: inspect.timeline(),
    }
    listeners = {name: make(options[name]) for name, make in makers.items() if name in options}
    profile: Any = None
    try:
        with ExitStack() as stack:
            for one in listeners.values():
                stack.enter_context(inspect.watch(log=one))
            profile = stack.enter_context(profiler.profile()) if "--profile" in options else None
            yield
    finally:  # also after sys.exit() and Ctrl-C
        _report(options, listeners, profile)


def _report(options: dict[str, str], listeners: dict[str, Any], profile: Any) -> None:
    """Write the files and print the findings."""
    for event in listeners["--watch"].nans if "--watch" in listeners else ():
        print(f"penlight run --watch: {event}", end="", file=sys.stderr)
    if "--draw" in listeners and listeners["--draw"].path is not None:
        print("penlight run: there was no backward pass to draw", file=sys.stderr)
    if profile is not None:
        profile.export_chrome_trace(options["--profile"])
    if "--memory" in listeners:
        listeners["--memory"].save(options["--memory"])
    for name in ("--profile", "--memory"):
        if name in options:
            print(f"penlight run: {options[name]} is written", file=sys.stderr)
