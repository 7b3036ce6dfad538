"""Namespaces of switches that may be set and have no effect."""

from __future__ import annotations

from contextlib import ContextDecorator, nullcontext
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


class Settings(ModuleType):
    """A module whose attributes are switches. One that was not set is a namespace of more switches, which is false."""

    def __init__(self, name: str, **values: Any) -> None:
        super().__init__(name, "Switches without effect.")
        self.__spec__ = ModuleSpec(name, None)
        self.__dict__.update(values)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        made = Settings(f"{self.__name__}.{name}")
        setattr(self, name, made)
        return made

    def __bool__(self) -> bool:
        return False

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        """A function of switches: without effect."""

    def patch(self, *args: Any, **kwargs: Any) -> Any:
        """A region or decorator with other switches: without effect."""

        class _Region(nullcontext, ContextDecorator):
            pass

        return _Region()
