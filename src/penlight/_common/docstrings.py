"""Builds docstrings of generated functions in the form of hand-written ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

_OF_INTEGERS = ("bitwise_", "gcd", "lcm")


def documented(summary: str, *example: str) -> str:
    """A docstring with an example: lines that start with `>>>`, and what they print. `torch` is Penlight in all of them.

    >>> from penlight._common.docstrings import documented
    >>> documented("One.", ">>> 1", "1").splitlines()[2:]
    ['    >>> 1', '    1', '    ']
    """
    margin = indentation(summary)
    return "\n".join((summary, "", *(margin + line for line in example), margin))


def indentation(doc: str) -> str:
    """The indentation of the lines of a docstring after the first. From Python 3.13 on the compiler removes it.

    >>> from penlight._common.docstrings import indentation
    >>> indentation("One.\\n\\n        >>> 1\\n        1\\n        ")
    '        '
    """
    more = [line for line in doc.splitlines()[1:] if line.strip()]
    return min((line[: len(line) - len(line.lstrip())] for line in more), key=len, default="    ")


def example(
    expression: str, result: str = "", before: tuple[str, ...] = (), after: tuple[str, ...] = ()
) -> Callable[[F], F]:
    """Append an example to the docstring of a function or class: an expression, its output, and the lines around them.

    >>> from penlight._common.docstrings import example
    >>> @example("torch.ones(1)", "tensor([1.])")
    ... def f():
    ...     "One."
    >>> f.__doc__.splitlines()[2:4]
    ['    >>> torch.ones(1)', '    tensor([1.])']
    """

    def documents(function: F) -> F:
        if function.__doc__ is not None:
            lines = (*before, f">>> {expression}", *result.splitlines(), *after)
            function.__doc__ = documented(function.__doc__.rstrip(), *lines)
        return function

    return documents


_SAMPLES = {"new_state": "torch.get_rng_state()", "new_states": "[]", "tensor": "torch.ones(1)", "fn": "abs"}


def constant(path: str, function: Any, value: Any = None) -> Any:
    """Complete the docstring of a function that ignores its arguments: it says so, and shows a call that returns `value`.

    >>> from penlight._common.docstrings import constant
    >>> def is_fast(level):
    ...     "Never."
    >>> constant("here", is_fast, False).__doc__.splitlines()[-3:-1]
    ['    >>> torch.here.is_fast(0)', '    False']
    """
    code, summary = function.__code__, function.__doc__.strip()
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    given = names[: code.co_argcount - len(function.__defaults__ or ())]
    lines = ["Args:", *(f"    {name}: accepted and ignored" for name in names), ""] if names else []
    lines += ["Returns:", f"    {value!r}", ""]
    lines.append(f">>> torch.{path}.{function.__name__}({', '.join(_SAMPLES.get(name, '0') for name in given)})")
    function.__doc__ = documented(summary, *lines, *([] if value is None else [repr(value)]))
    return function


def complete(cls: type, template: str, values: tuple[str, ...] | None) -> None:
    """Append an example to a class's docstring from a template shared by many classes, if values for it are given.

    The first placeholder of the template is the name of the class, the others are the values.
    """
    if values is not None and cls.__doc__ is not None:
        cls.__doc__ = documented(cls.__doc__.rstrip(), *template.format(cls.__name__, *values).splitlines())


def in_place(op: Any) -> str:
    """The docstring of an op's in-place form: `exp_` for `exp`."""
    name, values = op.name, "[0.25, 0.5]"
    if name.startswith(_OF_INTEGERS):
        values = "[6, 4]"
    elif "diagonal" in op.parameters:
        values = "[[1, 2], [3, 4]]"
    given = ", ".join("1" if p in ("n", "p") else "x" for p in op.parameters[1:] if p not in op.defaults)
    return documented(
        f"In-place version of `{name}`: writes the result into this tensor and returns it.",
        f">>> x = torch.tensor({values})", f">>> x.{name}_({given}) is x", "True",
    )  # fmt: skip
