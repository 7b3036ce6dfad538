"""Public functions that have their mistaken calls explained, at no cost to the others.

# Note [A try without a price]
A function of ours that is given a list instead of a tensor would fail with an AttributeError somewhere inside. Wrapping it in another
function that catches this costs a twentieth of a small op, for each call. But a `try` around a body costs nothing until something is
raised: since Python 3.11 it is an entry in a table beside the code. So that entry, and the few instructions of an `except:` branch, are
added to the code of public functions, as the compiler would have written them:

    try:
        <body>
    except:
        if explain(): return explain()
        raise

`explain` raises a better error, or says yes when it has a result all the same: where an argument is of a class that takes over functions,
the first that this process has met (Note [Functions taken over] in `_takeover.py`). The instructions are copied from a function that the compiler has made. Whether this Python's code is laid out as assumed is tested once,
by doing it to a function of which the compiler knows the result; if it is not, functions stay as they are.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable
from functools import cache
from opcode import opmap
from types import CodeType, FrameType, FunctionType
from typing import Any, NamedTuple

from ..autograd.modes import NAMESPACE

_RESUME = opmap["RESUME"]
_PLAIN = "def f(a): return a.b\n"
_TRIED = "def f(a):\n try: return a.b\n except:\n  if 'EXPLAIN'(): return 'EXPLAIN'()\n  raise\n"


class Explainer:
    """What the added branch calls: raises a better error than the one that is being handled, if there is one.

    It gives True where the call has a result, which the next call from the same frame gives."""

    __slots__ = ("function", "name")

    def __init__(self, function: FunctionType, name: str) -> None:
        self.function, self.name = function, name

    def __call__(self) -> Any:
        error = sys.exception()
        frame = sys._getframe(1)
        if frame in _results:
            return _results.pop(frame)
        caller = caller_of(frame)
        inside = caller is not None and _ours(caller.f_globals.get("__name__"))
        if not isinstance(error, _MISTAKES if inside else Exception):
            return False
        from ._mistakes import explained, taken_over

        if not inside and taken_over(frame, self.function, _results):
            return True
        better = explained(frame, self.function, self.name, error)  # type: ignore[arg-type]
        if better is not None:
            raise better from None
        return False


_results: dict[FrameType, Any] = {}
_MISTAKES = (AttributeError, TypeError)


def caller_of(frame: FrameType) -> FrameType | None:
    """The frame that called a function, without those between: see Note [Compiled at first use] in _compile.py and
    Note [Functions taken over] in _takeover.py."""
    caller = frame.f_back
    while caller is not None and (
        caller.f_code.co_filename.endswith(_BETWEEN) or caller.f_code.co_name == "__torch_function__"
    ):
        caller = caller.f_back
    return caller


_BETWEEN = ("_compile.py", "_takeover.py", "<penlight overrides>")


def _ours(module: str | None) -> bool:
    return module is None or module == "penlight" or module.startswith("penlight.")


# ----- The tables of a code object --------------------------------------------------------------------------------------


class Entry(NamedTuple):
    """A range of instructions and where to go when something is raised there: offsets, in units of two bytes."""

    start: int
    end: int
    target: int
    depth: int  # of the stack, and whether the place is pushed


def _numbers(table: bytes) -> Iterable[int]:
    value = 0
    for byte in table:
        value = value << 6 | byte & 63
        if not byte & 64:
            yield value
            value = 0


def _read(table: bytes) -> list[Entry]:
    numbers = iter(_numbers(table))
    return [Entry(start, start + next(numbers), next(numbers), next(numbers)) for start in numbers]


@cache
def _number(value: int, mark: int = 0) -> bytes:
    out = [value & 63]
    while value := value >> 6:
        out.append(value & 63 | 64)
    out[-1] |= mark
    return bytes(reversed(out))


def _write(start: int, end: int, target: int, depth: int) -> bytes:
    return _number(start, 128) + _number(end - start) + _number(target) + _number(depth)


def _compiled(source: str) -> CodeType:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)  # a string is not callable; what comes in its place is
        module = compile(source, "<penlight boundary>", "exec")
    return next(c for c in module.co_consts if isinstance(c, CodeType))


class _Branch:
    """The `except:` branch, out of a function that has one."""

    def __init__(self) -> None:
        made = _compiled(_TRIED)
        entries = _read(made.co_exceptiontable)
        body, *self.own = entries
        self.start = body.target
        self.code = made.co_code[2 * self.start :]
        self.stack = made.co_stacksize
        place = made.co_consts.index("EXPLAIN")
        load = opmap["LOAD_CONST"]
        self.loads = [i for i in range(0, len(self.code), 2) if self.code[i] == load and self.code[i + 1] == place]
        units = len(self.code) // 2
        # Where it is in the source: at the line before it.
        self.lines = b"".join(bytes((0x80 | 13 << 3 | min(8, units - at) - 1, 0)) for at in range(0, units, 8))

    def added_to(self, code: CodeType, explain: Any) -> CodeType | None:
        """This code in a `try` with this branch; None if it has too many constants for it."""
        place = len(code.co_consts)
        if place > 255:
            return None
        instructions = code.co_code
        end = len(instructions) // 2
        start = 1 if instructions[0] == _RESUME else instructions[::2].index(_RESUME) + 1
        table = b""
        for entry in _read(code.co_exceptiontable) if code.co_exceptiontable else ():
            if entry.start > start:
                table += _write(start, entry.start, end, 0)
            table += _write(*entry)
            start = entry.end
        if start < end:
            table += _write(start, end, end, 0)
        shift = end - self.start
        own = bytearray(self.code)
        for load in self.loads:
            own[load + 1] = place
        for entry in self.own:
            table += _write(entry.start + shift, entry.end + shift, entry.target + shift, entry.depth)
        return code.replace(
            co_code=instructions + bytes(own),
            co_consts=(*code.co_consts, explain),
            co_exceptiontable=table,
            co_linetable=code.co_linetable + self.lines,
            co_stacksize=max(code.co_stacksize, self.stack),
        )


def _works(branch: _Branch) -> bool:
    """Whether adding the branch to a function gives what the compiler makes of the same in source."""
    mine, theirs = branch.added_to(_compiled(_PLAIN), "EXPLAIN"), _compiled(_TRIED)
    if mine is None or mine.co_code != theirs.co_code or mine.co_consts != theirs.co_consts:
        return False
    (first, *rest), (body, *own) = _read(mine.co_exceptiontable), _read(theirs.co_exceptiontable)
    return rest == own and first._replace(end=body.end) == body  # it leaves out the `return` itself


def _branch() -> _Branch | None:
    try:
        found = _Branch()
        return found if _works(found) else None
    except (IndexError, LookupError, ValueError):
        return None


_BRANCH = _branch()


# ----- Public functions -------------------------------------------------------------------------------------------------

_GENERATOR = 0x20
_done: dict[FunctionType, str] = {}


def guard(function: FunctionType, name: str) -> None:
    """Have mistaken calls of a function explained under this name. See Note [A try without a price]."""
    if _BRANCH is None or function in _done or function.__code__.co_flags & _GENERATOR:
        return
    _done[function] = name
    function.__code__ = guarded(function.__code__, function, name)


def guarded(code: CodeType, function: FunctionType, name: str) -> CodeType:
    """The code of a function with the branch."""
    return (_BRANCH and _BRANCH.added_to(code, Explainer(function, name))) or code


def guard_all(space: Any, prefix: str = "") -> None:
    """Guard the public functions of a namespace. Ops are guarded when they are compiled, at their first call."""
    if _BRANCH is None:
        return
    for name, value in list(space.items()):
        if (
            type(value) is FunctionType
            and name[0] != "_"
            and value.__globals__ is not NAMESPACE
            and _ours(value.__module__)
        ):
            own = value.__name__
            guard(value, prefix + (own if space.get(own) is value else name))
