"""Locates the line of the user's program at which an op, a write or an error happened."""

from __future__ import annotations

import linecache
import sys
from os.path import basename
from types import CodeType, FrameType
from typing import NamedTuple

from .user_warnings import is_ours


class Line(NamedTuple):
    """A line of a program. It prints as in a traceback; its text is read on access.

    >>> from penlight._common.user_lines import Line
    >>> Line("train.py", 31, "step").short
    'train.py:31'
    """

    file: str
    number: int
    function: str

    @property
    def text(self) -> str:
        """The text of the line, or nothing if its file can't be read."""
        return linecache.getline(self.file, self.number).strip()

    @property
    def short(self) -> str:
        """The name of the file or notebook cell, and the line number."""
        cell = _cell(self.file)
        return f"{basename(self.file) if cell is None else cell[1]}:{self.number}"

    def __str__(self) -> str:
        text = f"    {self.text}\n" if self.text else ""
        cell = _cell(self.file)
        where = f'File "{self.file}"' if cell is None else " ".join(cell)
        return f"  {where}, line {self.number}, in {self.function}\n{text}"


def _cell(file: str) -> tuple[str, str] | None:
    """IPython's name for the file of a notebook cell, as in its tracebacks: `("Cell", "In[3]")`."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return None if shell is None else shell.compile.format_code_name(file)


def user_frame() -> FrameType | None:
    """The innermost frame that is not Penlight's own."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and is_ours(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def user_line(skip: int = 1) -> Line | None:
    """The innermost line that is not Penlight's own; the first `skip` callers are Penlight's."""
    frame = sys._getframe(skip).f_back
    while frame is not None:  # `user_frame` and `line_of`, inlined because `watch` calls this at each op
        code = frame.f_code
        if not is_ours(code.co_filename):
            known = _lines.get((id(code), frame.f_lasti))
            return line_of(frame) if known is None else known[1]
        frame = frame.f_back
    return None


# Frames between a program and the function that it calls: see function_code.py and _torch_function.py.
_BETWEEN = {"_first_call", "__call__", "call_handler", "handle", "__torch_function__"}


def entered() -> str:
    """The name of the Penlight function that the program called."""
    frame: FrameType | None = sys._getframe(1)
    name = ""
    while frame is not None and is_ours(frame.f_code.co_filename):
        if frame.f_code.co_name not in _BETWEEN:
            name = frame.f_code.co_name
        frame = frame.f_back
    return name


_MOST = 4096
_lines: dict[tuple[int, int], tuple[CodeType, Line]] = {}  # cached lines, by code and instruction


def line_of(frame: FrameType) -> Line:
    """The line that a frame is executing."""
    code = frame.f_code
    key = id(code), frame.f_lasti  # hashing a code object or computing a line number takes much longer
    known = _lines.get(key)
    if known is None:
        if len(_lines) >= _MOST:
            _lines.clear()
        known = _lines[key] = code, Line(code.co_filename, frame.f_lineno, code.co_name)
    return known[1]
