"""Constructors, and other methods, that are declared: a signature without a body, of which a class makes what its kind needs."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


def declared_init(declared: Any, use: Callable[[Any, dict[str, Any]], Any]) -> Any:
    """A method with the declared signature, such as an `__init__`, that calls `use(self, arguments)`, with all arguments by name.

    >>> class Point:
    ...     def __init__(self, x, y=0): ...
    ...     __init__ = declared_init(__init__, lambda self, arguments: vars(self).update(arguments))
    >>> vars(Point(1))
    {'x': 1, 'y': 0}
    """
    names, code = argument_names(declared), declared.__code__
    positional, given = names[: code.co_argcount - 1], declared.__defaults__ or ()
    defaults = {**dict(zip(positional[len(positional) - len(given) :], given)), **(declared.__kwdefaults__ or {})}
    blank = {name: defaults.get(name) for name in names}

    @functools.wraps(declared)
    def made(self: Any, *args: Any, **kwargs: Any) -> Any:
        declared(self, *args, **kwargs)  # does nothing but check the arguments
        return use(self, {**blank, **dict(zip(positional, args)), **kwargs})

    return made


def argument_names(declared: Any) -> tuple[str, ...]:
    """The names of the arguments of an `__init__`, without `self`."""
    code = declared.__code__
    return code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
