"""The classes and functions that the user has allowed for `weights_only=True`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penlight._serialization.names import torch_name

from .._common.arguments import explain as _explain

_added: set[Any] = set()


def add_safe_globals(safe_globals: Iterable[Any]) -> None:
    """Allow files with these classes and functions to be loaded with `weights_only=True`.

    An item is a class or function, or a pair of it and its full name in files. Loading a file can then call these functions, and make
    objects of these classes and set their state: add only those that you trust.

    >>> class Settings:
    ...     pass
    >>> torch.serialization.add_safe_globals([Settings])
    >>> torch.serialization.get_safe_globals() == [Settings]
    True
    >>> torch.serialization.clear_safe_globals()
    """
    _added.update(safe_globals)


def get_safe_globals() -> list[Any]:
    """The classes and functions that were added.

    >>> torch.serialization.get_safe_globals()
    []
    """
    return list(_added)


def clear_safe_globals() -> None:
    """Remove all classes and functions that were added.

    >>> torch.serialization.clear_safe_globals()
    """
    _added.clear()


class safe_globals:
    """`add_safe_globals` inside a `with` block.

    >>> class Settings:
    ...     pass
    >>> with torch.serialization.safe_globals([Settings]):
    ...     print(len(torch.serialization.get_safe_globals()))
    1
    """

    def __init__(self, safe_globals: Iterable[Any]) -> None:
        self.safe_globals = list(safe_globals)

    def __enter__(self) -> None:
        add_safe_globals(self.safe_globals)

    def __exit__(self, *exc: object) -> None:
        _added.difference_update(self.safe_globals)


def user_globals() -> dict[str, Any]:
    """The classes and functions that were added, by their names in files."""
    named: dict[str, Any] = {}
    for item in _added:
        if not isinstance(item, tuple):
            named[f"{item.__module__}.{item.__qualname__}"] = item
            translated = torch_name(item)
            if translated is not None:
                named[".".join(translated)] = item
            continue
        if len(item) != 2:
            raise ValueError(
                f"Expected tuple of length 2 (global, str of callable full path), but got tuple of length: {len(item)}"
            )
        if type(item[1]) is not str:
            raise TypeError(f"Expected second item in tuple to be str of callable full path, but got: {type(item[1])}")
        named[item[1]] = item[0]
    return named


_explain(globals())
