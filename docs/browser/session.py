"""What the page asks of Python: run a program, and draw the graph of one of its tensors."""

from __future__ import annotations

import contextlib
import io
import linecache
import sys
import traceback
from typing import Any

import penlight

PROGRAM = "program"  # its name in tracebacks
names: dict[str, Any] = {}


def run(source: str) -> tuple[str, list[str]]:
    """What a program prints, with its traceback if it fails, and the names of its tensors that have a graph, the latest first."""
    sys.modules["torch"] = penlight  # programs say `import torch`
    names.clear()
    names["__name__"] = "__main__"
    linecache.cache[PROGRAM] = len(source), None, source.splitlines(keepends=True), PROGRAM
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        try:
            exec(compile(source, PROGRAM, "exec"), names)
        except BaseException as error:
            frames = error.__traceback__ and error.__traceback__.tb_next  # without this function's own
            traceback.print_exception(type(error), error, frames)
    return printed.getvalue(), [name for name, value in reversed(names.items()) if _tensor(value) and value.grad_fn]


def draw(name: str) -> str:
    """The graph of a tensor as SVG, with the names of the program's tensors and of its modules' parameters."""
    known = {key: value for key, value in names.items() if _tensor(value)}
    for key, value in names.items():
        if isinstance(value, penlight.nn.Module):
            known |= {f"{key}.{path}": parameter for path, parameter in value.named_parameters()}
    return penlight.inspect.draw(names[name], params=known).svg()


def _tensor(value: Any) -> bool:
    return isinstance(value, penlight.Tensor)
