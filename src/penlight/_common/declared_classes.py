"""Classes that are declared in tables, or written in several files."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any


def declared_init(declared: Any, use: Callable[[Any, dict[str, Any]], Any]) -> Any:
    """A method with the declared signature, such as an `__init__`, that calls `use(self, arguments)` with all arguments by name.

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
        declared(self, *args, **kwargs)  # only checks the arguments
        return use(self, {**blank, **dict(zip(positional, args)), **kwargs})

    return made


def argument_names(declared: Any) -> tuple[str, ...]:
    """The names of the arguments of an `__init__`, without `self`."""
    code = declared.__code__
    return code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]


# ----- A class that is written in several files -----------------------------------------------------------------------

_NOT_COPIED = {
    "__module__",
    "__qualname__",
    "__doc__",
    "__dict__",
    "__weakref__",
    "__slots__",
    "__annotations__",
    "__annotate_func__",
    "__annotations_cache__",
    "__firstlineno__",
    "__static_attributes__",
}


def copy_members(cls: type, *parts: type) -> None:
    """Copy the members of these classes into `cls`, under its name, so that it need not inherit from them.

    >>> class Speaking:
    ...     def speak(self):
    ...         return "woof"
    >>> class Dog: ...
    >>> from penlight._common.declared_classes import copy_members
    >>> copy_members(Dog, Speaking)
    >>> Dog().speak(), Dog.speak.__qualname__, Dog.__mro__[1:]
    ('woof', 'Dog.speak', (<class 'object'>,))
    """
    for part in parts:
        for name, value in vars(part).items():
            if name in _NOT_COPIED:
                continue
            for function in (value.fget, value.fset) if isinstance(value, property) else (value,):
                if isinstance(function, FunctionType):
                    function.__qualname__, function.__module__ = f"{cls.__name__}.{name}", cls.__module__
            setattr(cls, name, value)
