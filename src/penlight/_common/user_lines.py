"""Lines of the user's program: where in it an op, a write or an error happened."""

from __future__ import annotations

import linecache
import sys
from os.path import basename
from types import CodeType, FrameType
from typing import NamedTuple

from .user_warnings import is_ours


class Line(NamedTuple):
    """A line of a program. Printed it looks as in a traceback; its text is read when it is asked for.

    >>> from penlight._common.user_lines import Line
    >>> Line("train.py", 31, "step").short
    'train.py:31'
    """

    file: str
    number: int
    function: str

    @property
    def text(self) -> str:
        """The line itself, or nothing if its file can't be read."""
        return linecache.getline(self.file, self.number).strip()

    @property
    def short(self) -> str:
        """The name of the file, or of the cell of a notebook, and the number of the line."""
        cell = _cell(self.file)
        return f"{basename(self.file) if cell is None else cell[1]}:{self.number}"

    def __str__(self) -> str:
        text = f"    {self.text}\n" if self.text else ""
        cell = _cell(self.file)
        where = f'File "{self.file}"' if cell is None else " ".join(cell)
        return f"  {where}, line {self.number}, in {self.function}\n{text}"


def _cell(file: str) -> tuple[str, str] | None:
    """What IPython's tracebacks call a file that it made of a cell: `("Cell", "In[3]")`."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return None if shell is None else shell.compile.format_code_name(file)


def user_frame() -> FrameType | None:
    """The innermost frame that is not Penlight's own."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and is_ours(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def user_line() -> Line | None:
    """The innermost line that is not Penlight's own."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and is_ours(frame.f_code.co_filename):  # `watch` asks at every op: not by `user_frame`
        frame = frame.f_back
    return None if frame is None else line_of(frame)


# What stands between a program and a function that it calls: see function_code.py and _takeover.py.
_BETWEEN = {"_first_call", "__call__", "hand_over", "handle", "__torch_function__"}


def entered() -> str:
    """The name of the function of Penlight's that the program has called."""
    frame: FrameType | None = sys._getframe(1)
    name = ""
    while frame is not None and is_ours(frame.f_code.co_filename):
        if frame.f_code.co_name not in _BETWEEN:
            name = frame.f_code.co_name
        frame = frame.f_back
    return name


_MOST = 4096
_lines: dict[tuple[int, int], tuple[CodeType, Line]] = {}  # of what runs again and again, by code and instruction


def line_of(frame: FrameType) -> Line:
    """The line that a frame is at."""
    code = frame.f_code
    key = id(code), frame.f_lasti  # the hash of a code object and the number of a line take much longer
    known = _lines.get(key)
    if known is None:
        if len(_lines) >= _MOST:
            _lines.clear()
        known = _lines[key] = code, Line(code.co_filename, frame.f_lineno, code.co_name)
    return known[1]
