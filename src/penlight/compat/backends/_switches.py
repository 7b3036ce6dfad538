"""What the modules of `torch.backends` share: switches that are remembered, and regions that change them for a while."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Switches:
    """An object whose attributes can be set, and no others: a misspelt switch would go unnoticed."""

    def __init__(self, **switches: Any) -> None:
        self.__dict__.update(switches)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"Unknown attribute {name}")

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self.__dict__:
            raise AttributeError(f"Unknown attribute {name}")
        self.__dict__[name] = value


@contextmanager
def changed(module: dict[str, Any], **values: Any) -> Iterator[None]:
    """A region in which some globals of a module have other values; None leaves one as it is."""
    before = {name: module[name] for name in values}
    module.update({name: value for name, value in values.items() if value is not None})
    try:
        yield
    finally:
        module.update(before)
