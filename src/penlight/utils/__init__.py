"""Helpers around tensors and modules; each part is imported when it is first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import benchmark as benchmark
    from . import checkpoint as checkpoint
    from . import data as data
    from . import hooks as hooks


def __getattr__(name: str) -> Any:
    from importlib.util import find_spec

    if not name.startswith("__") and find_spec(f"{__name__}.{name}") is not None:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
