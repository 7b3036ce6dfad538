"""What the options of `penlight run` open around a program."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from penlight import inspect
from penlight.autograd import profiler
from penlight.inspect.draw import draw_edges


class _Drawing(inspect.Log):
    """Draws the graph of the first backward pass."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self.path: str | None = path

    def on_op(self, op: Any, arguments: tuple[Any, ...], go: Any, inplace: bool) -> Any:
        return go()

    def on_backward(self, roots: Any) -> None:
        if self.path is not None:
            path, self.path = self.path, None
            draw_edges(roots).save(path)
            print(f"penlight run: the graph of the first backward pass is in {path}", file=sys.stderr)


class _Several(inspect.Log):
    """Tells several logs what happens; errors ask the first."""

    def __init__(self, logs: list[inspect.Log]) -> None:
        super().__init__()
        self.logs, self.checks = logs, any(log.checks for log in logs)

    def on_op(self, op: Any, arguments: tuple[Any, ...], go: Any, inplace: bool) -> Any:
        for log in self.logs:
            go = lambda log=log, inner=go: log.on_op(op, arguments, inner, inplace)
        return go()

    def on_node(self, node: Any, grad: Any, run: Any) -> Any:
        for log in self.logs:
            run = lambda node, grad, log=log, inner=run: log.on_node(node, grad, inner)
        return run(node, grad)


def _told_to_all(name: str) -> Callable[..., Any]:
    def tell(self: _Several, *arguments: Any) -> Any:
        first, *_ = [getattr(log, name)(*arguments) for log in self.logs]
        return first

    return tell


for _name in ("on_new_node", "on_backward", "on_cut", "on_write", "why_no_grad", "who_wrote", "cuts_of"):
    setattr(_Several, _name, _told_to_all(_name))


@contextmanager
def looking_inside(options: dict[str, str]) -> Iterator[None]:
    """Open what the options ask for; write and say what was found at the end."""
    logs: dict[str, inspect.Log] = {}
    makers: dict[str, Callable[[str], inspect.Log]] = {
        "--watch": lambda _: inspect.Log(nan="note"),
        "--draw": _Drawing,
        "--memory": lambda _: inspect.timeline(),
    }
    with ExitStack() as open_ones:
        for name in makers.keys() & options.keys():
            logs[name] = makers[name](options[name])
        if logs:
            open_ones.enter_context(inspect.watch(log=_Several(list(logs.values()))))
        profile = open_ones.enter_context(profiler.profile()) if "--profile" in options else None
        yield
    for event in logs["--watch"].nans if "--watch" in logs else ():
        print(f"penlight run --watch: {event}", end="", file=sys.stderr)
    for name, result in (
        ("--profile", profile and profile.export_chrome_trace),
        ("--memory", getattr(logs.get("--memory"), "save", None)),
    ):
        if result:
            result(options[name])
            print(f"penlight run: {options[name]} is written", file=sys.stderr)
