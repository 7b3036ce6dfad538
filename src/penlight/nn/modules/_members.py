"""Quick reading of parameters, buffers and children as attributes.

Note [Members as descriptors]: a member of a module is in one of its tables, not in its `__dict__`, so that reading
`self.weight` fails first, with an exception made and thrown away, and then asks `__getattr__`: about 0.7 µs, several
times in every forward. A class whose instances have a member is therefore given a descriptor of that name, which
reads the table at once (0.15 µs). It is not a data descriptor, it raises AttributeError for an instance without the
member, and it serves one class only: whatever else defines the attribute (the instance, a subclass, a `__getattr__`
of the user's own) comes first as it would without it.
"""

from __future__ import annotations

from typing import Any


class Member:
    """Reads a name from one table of a module."""

    __slots__ = ("name", "owner", "table")

    def __init__(self, name: str, table: str, owner: type[Any]) -> None:
        self.name = name
        self.table = table
        self.owner = owner

    def __get__(self, instance: Any, owner: type[Any]) -> Any:
        if owner is self.owner and instance is not None:
            try:
                return instance.__dict__[self.table][self.name]
            except KeyError:
                pass
        raise AttributeError(f"type object '{owner.__name__}' has no attribute '{self.name}'")


def make_quick(module: Any, table: str, name: str, plain_getattr: Any) -> None:
    """Gives the class of a module the descriptor for a member, if nothing speaks against it."""
    cls = type(module)
    if name in cls.__dict__ or not cls._quick_members or not name.isidentifier():
        return
    if cls.__getattr__ is not plain_getattr:
        return
    for base in cls.__mro__:
        if name in base.__dict__ and type(base.__dict__[name]) is not Member:
            return
    type.__setattr__(cls, name, Member(name, table, cls))


def member_names(cls: type[Any]) -> set[str]:
    """The names for which a class has descriptors: those of members that some instance has or had."""
    return {name for base in cls.__mro__ for name, value in base.__dict__.items() if type(value) is Member}
