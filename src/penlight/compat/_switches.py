"""Settings without effect: modules and objects that hold them, and functions that change them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ContextDecorator, contextmanager, nullcontext
from types import ModuleType
from typing import Any


class Settings(ModuleType):
    """A module whose attributes are settings. An unset attribute is a falsy namespace of further settings."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        made = Settings(f"{self.__name__}.{name}")
        setattr(self, name, made)
        return made

    def __bool__(self) -> bool:
        return False

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        """Accepted without effect."""

    def patch(self, *args: Any, **kwargs: Any) -> Any:
        """A context or decorator that changes settings: without effect."""

        class _Region(nullcontext, ContextDecorator):
            pass

        return _Region()


class Switches:
    """An object with settable attributes. Unknown ones raise, because a misspelt setting would go unnoticed."""

    def __init__(self, **settings: Any) -> None:
        self.__dict__.update(settings)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"Unknown attribute {name}")

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self.__dict__:
            raise AttributeError(f"Unknown attribute {name}")
        self.__dict__[name] = value


def set_flags(values: dict[str, Any], **others: Any) -> tuple[Any, ...]:
    """Set some values of a module and return the old ones; None keeps a value."""
    before = tuple(values[name] for name in others)
    values.update({name: other for name, other in others.items() if other is not None})
    return before


@contextmanager
def flags(values: dict[str, Any], **others: Any) -> Iterator[None]:
    """A context that changes some values of a module."""
    before = set_flags(values, **others)
    try:
        yield
    finally:
        values.update(zip(others, before))
