"""torch.return_types: the classes of the named tuples that functions such as `max` with a `dim` return.

>>> import penlight as torch
>>> isinstance(torch.ones(2, 2).max(1), torch.return_types.max)
True
"""

from __future__ import annotations

from operator import itemgetter
from typing import Any

from ._common.docstrings import documented

_CLASSES: dict[str, Any] = {}


class NamedResult(tuple):
    """A tuple whose elements have names."""

    __slots__ = ()
    _fields: tuple[str, ...] = ()

    def __new__(cls, *values: Any) -> Any:
        if len(values) == 1:
            values = tuple(values[0])
        if len(values) != len(cls._fields):
            raise TypeError(
                f"torch.return_types.{cls.__name__}() takes a {len(cls._fields)}-sequence ({len(values)}-sequence given)"
            )
        return tuple.__new__(cls, values)

    def __repr__(self) -> str:
        body = ",\n".join(f"{f}={v!r}" for f, v in zip(self._fields, self))
        return f"torch.return_types.{type(self).__name__}(\n{body})"

    def __reduce__(self) -> Any:
        return (_rebuild, (type(self).__name__, tuple(self)))


def named_result(name: str, fields: str) -> Any:
    """Make the class for the results of a function, with these names for the elements."""
    names = tuple(fields.split())
    body: dict[str, Any] = {n: property(itemgetter(index), doc=f"Element {index}.") for index, n in enumerate(names)}
    body |= {"__slots__": (), "_fields": names, "__match_args__": names, "__module__": "torch.return_types"}
    body["__doc__"] = documented(
        f"The result of `{name}`: a tuple ({', '.join(names)}).", f">>> torch.return_types.{name}._fields", repr(names)
    )
    body |= {"n_fields": len(names), "n_sequence_fields": len(names), "n_unnamed_fields": 0}
    _CLASSES[name] = cls = type(name, (NamedResult,), body)
    return cls


def _rebuild(name: str, values: Any) -> Any:
    return __getattr__(name)(values)


def __getattr__(name: str) -> Any:
    try:
        return _CLASSES[name]
    except KeyError:
        raise AttributeError(f"module 'torch.return_types' has no attribute '{name}'") from None


def __dir__() -> list[str]:
    return sorted(_CLASSES)
