"""Functions compiled from generated source, and functions that temporarily run other code.

# Note [Compiled at first use]
Compiling the generated source of one function takes half a millisecond, too much to do for hundreds at import. Such a function starts with
a short body that generates the source, compiles it, and makes the function run the result. All references to the function then run the
compiled code. Python documents that `function.__code__` can be assigned; only this file does so, and it assigns unmodified code objects
from `compile`.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable
from functools import cache
from types import CodeType, FunctionType
from typing import Any, NamedTuple, Protocol, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


class Compiled(NamedTuple):
    """The code of a function and its argument defaults."""

    code: CodeType
    defaults: tuple[Any, ...] | None = None
    kwdefaults: dict[str, Any] | None = None


def compile_function(source: str, filename: str, *enclosing: None) -> CodeType:
    """The code of the function defined by this source; debuggers and tracebacks show the source under the file name.

    `enclosing` has a None for each argument of an enclosing function that returns it; these arguments are its free variables.
    """
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    space: dict[str, Any] = {}
    exec(compile(source, filename, "exec"), space)
    del space["__builtins__"]
    (function,) = space.values()
    return (function(*enclosing) if enclosing else function).__code__


def run_instead(function: FunctionType, new: Compiled) -> None:
    """Make a function run other code from now on, safely even while other threads call it."""
    if new.defaults:
        function.__defaults__ = new.defaults
    function.__kwdefaults__ = {**(function.__kwdefaults__ or {}), **(new.kwdefaults or {})}
    function.__code__ = new.code
    function.__defaults__, function.__kwdefaults__ = new.defaults, new.kwdefaults


def code_without_handler(function: FunctionType) -> Compiled:
    """The code that a function runs, or would run without a handler."""
    while handler := (function.__kwdefaults__ or {}).get("_handler"):
        function = handler.original
    return Compiled(function.__code__, function.__defaults__, function.__kwdefaults__)


def explains_failures(function: F) -> F:
    """Marks a public function that calls `failed` itself, because a generated wrapper would be too slow for it.

    See Note [Failed calls] in ops/machinery/public_functions.py."""
    function.explains_failures = True  # type: ignore[attr-defined]
    return function


def pytorch_names_only(function: F) -> F:
    """Marks a public function that does not accept NumPy's names. See Note [NumPy's names] in ops/machinery/public_functions.py."""
    function.pytorch_names_only = True  # type: ignore[attr-defined]
    return function


def copy_of(function: FunctionType) -> Any:
    """A new function that runs the present code of this one."""
    copy = FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    copy.__kwdefaults__, copy.__doc__, copy.__module__ = function.__kwdefaults__, function.__doc__, function.__module__
    copy.__qualname__, copy.__annotations__ = function.__qualname__, function.__annotations__
    copy.__dict__.update(function.__dict__)
    return copy


# ----- Compiled when first called ----------------------------------------------------------------------------------------


class Pending:
    """The source of a function that has not been generated yet."""

    __slots__ = ("function", "generate")

    def __init__(self, generate: Callable[[], Compiled]) -> None:
        self.generate = generate
        self.function: Any = None  # the function that will run the result

    def compile(self) -> Any:
        run_instead(self.function, self.generate())
        return self.function


def _first_call(*args: Any, _pending: Pending, **kwargs: Any) -> Any:
    return _pending.compile()(*args, **kwargs)


def compiled_when_called(name: str, namespace: dict[str, Any], generate: Callable[[], Compiled]) -> Any:
    """A function with these globals, whose code is generated at its first call. See Note [Compiled at first use]."""
    pending = Pending(generate)
    pending.function = function = FunctionType(_first_call.__code__, namespace, name)
    function.__kwdefaults__ = {"_pending": pending}
    return function


def pending_of(function: FunctionType) -> Pending | None:
    """The pending source of a function that was not called yet."""
    return (function.__kwdefaults__ or {}).get("_pending")


# ----- A handler instead of a function -----------------------------------------------------------------------------------


class Handler(Protocol):
    """An object that is called instead of a function; `original` is a copy of the function with its earlier code."""

    original: Any

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any: ...


def handler_code(function: FunctionType, handler: Handler, filename: str) -> Compiled:
    """The code that makes a function return `handler(args, kwargs)`."""
    return Compiled(_handler_code(function.__code__.co_freevars, filename), None, {"_handler": handler})


@cache
def _handler_code(free: tuple[str, ...], filename: str) -> CodeType:
    """The code for `handler_code`. A function's code must have as many free variables as the function, so this code mentions them."""
    lines = ["def call_handler(*args, _handler, **kwargs):", "    return _handler(args, kwargs)"]
    if free:
        mentioned = [lines[0], f"    if False: ({', '.join(free)},)", lines[1], "return call_handler"]
        lines = [f"def enclosing({', '.join(free)}):", *("    " + line for line in mentioned)]
        filename = f"{filename[:-1]} {' '.join(free)}>"
    return compile_function("\n".join(lines) + "\n", filename, *(None for _ in free))
