"""Adds a note to an error raised inside a model that names the layer, below PyTorch's message.

# Note [The layer of an error]
An error passes through the calls of all enclosing modules, from the innermost out. Each call finds the path from its own module to the
innermost one, and replaces the note of the call inside it. The note of the outermost call remains: the full path, and the line of the
program that called the model.
"""

from __future__ import annotations

from types import FrameType
from typing import Any

from penlight import Tensor
from penlight._common.user_lines import line_of, user_frame


class _Note(str):
    """The note itself; it stores the innermost module and the shapes of its arguments."""

    __slots__ = ("module", "shapes")

    module: Any
    shapes: str


def add_layer(error: Exception, module: Any, args: tuple[Any, ...]) -> None:
    """Add a note to an error that was raised in a call of this module. See Note [The layer of an error]."""
    notes = getattr(error, "__notes__", None) or []
    found = next((note for note in notes if isinstance(note, _Note)), None)
    if found is None:
        inner, shapes = module, _shapes(args)
    else:
        inner, shapes = found.module, found.shapes
        notes.remove(found)
    caller = user_frame()
    path = next((path for path, each in module.named_modules() if each is inner), "")
    path = ".".join(filter(None, (_variable(caller, module), path))) or type(module).__name__
    where = f", called at {line_of(caller).short}" if caller is not None else ""
    note = _Note(f"in `{path}` ({_described(inner)}){shapes}{where}")
    note.module, note.shapes = inner, shapes
    error.add_note(note)


def _variable(frame: FrameType | None, module: Any) -> str:
    """The name of a module in a source line: a variable, or an attribute of `self`."""
    if frame is None:
        return ""
    attributes = getattr(frame.f_locals.get("self"), "__dict__", {})
    for prefix, scope in (("", frame.f_locals), ("self.", attributes), ("", frame.f_globals)):
        for name, value in scope.items():
            if value is module:
                return f"{prefix}{name}"
    return ""


def _described(module: Any) -> str:
    """The printed form of a layer; for a container, its class."""
    return type(module).__name__ if next(module.children(), None) is not None else repr(module)


def _shapes(args: tuple[Any, ...]) -> str:
    shapes = [str(list(value.shape)) for value in args if isinstance(value, Tensor)]
    return f" on input of shape {', '.join(shapes)}" if shapes else ""
