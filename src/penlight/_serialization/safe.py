"""The user's additions to what `weights_only=True` accepts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penlight._serialization.names import torch_name

from .._common.arguments import explain as _explain

_added: set[Any] = set()


def add_safe_globals(safe_globals: Iterable[Any]) -> None:
    """Let files with these classes and functions be loaded with `weights_only=True`.

    An item is a class or function, or a pair of one and the full name by which files know it. Functions may then be
    called and objects of these classes made and given state while a file is read: add only what you trust.

    >>> class Settings:
    ...     pass
    >>> torch.serialization.add_safe_globals([Settings])
    >>> torch.serialization.get_safe_globals() == [Settings]
    True
    >>> torch.serialization.clear_safe_globals()
    """
    _added.update(safe_globals)


def get_safe_globals() -> list[Any]:
    """What was added and not taken back.

    >>> torch.serialization.get_safe_globals()
    []
    """
    return list(_added)


def clear_safe_globals() -> None:
    """Take back everything that was added.

    >>> torch.serialization.clear_safe_globals()
    """
    _added.clear()


class safe_globals:
    """`add_safe_globals` for the length of a with block.

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
    """What was added, by the names that files use."""
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
