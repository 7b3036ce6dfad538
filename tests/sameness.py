"""Running the same program on PyTorch and on Penlight, and comparing what it says.

A program is a function of the library and of `say`, which takes down what it is given: tensors as they print, exceptions
with their class and message, warnings too.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any


def text(message: str) -> str:
    """A message without what must differ: names of the package, addresses, PyTorch's remarks about its own C++."""
    message = re.sub(r"0x[0-9a-f]+", "0x", message.replace("penlight", "torch"))
    message = re.sub(r" \(Triggered internally at .*\)", "", message)
    return re.sub(r'File "[^"]*", line \d+', 'File "..."', message)


def show(value: Any) -> str:
    if isinstance(value, BaseException):
        return f"{type(value).__name__}: {text(str(value))}"
    if isinstance(value, type):
        return value.__name__
    if type(value) in (list, tuple):
        inner = ", ".join(map(show, value))
        return f"[{inner}]" if isinstance(value, list) else f"({inner},)"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{show(k)}: {show(v)}" for k, v in value.items()) + "}"
    return text(repr(value))


class Say:
    """Takes down what a program says."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def __call__(self, *values: Any) -> None:
        self.lines.append(" ".join(map(show, values)))

    def attempt(self, function: Callable[[], Any]) -> None:
        """What a function returns, or raises."""
        try:
            value = function()
        except Exception as error:
            value = error
        self(value)


def transcript(program: Callable[[Any, Any], None], lib: Any) -> list[str]:
    """All that a program says when it runs with a library, then the warnings that it caused."""
    say = Say()
    before = lib.get_default_dtype()
    lib.set_default_dtype(lib.float64)
    lib.manual_seed(0)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            program(lib, say)
    finally:
        lib.set_default_dtype(before)
    lines = [f"{w.category.__name__}: {text(str(w.message)).rstrip()}" for w in caught]
    return say.lines + [line for line in lines if not line.startswith("DeprecationWarning")]
