"""What containers share: entries that are counted, and entries that have names."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

from .module import Module


class Numbered(Module):
    """A container like a list: its entries are attributes whose names are their positions."""

    def __len__(self) -> int:
        return len(self._modules)

    def _position(self, index: Any) -> int:
        size = len(self)
        index = operator.index(index)
        if not -size <= index < size:
            raise IndexError(f"index {index} is out of range")
        return index % size

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.isdigit()]


class Keyed(Module):
    """A container like a dict: its entries are members, and the keys of one table of the module are their names."""

    _quick_members = False  # keys are data, not attributes
    _table: ClassVar[str]

    def __len__(self) -> int:
        return len(self.__dict__[self._table])

    def __iter__(self) -> Iterator[str]:
        return iter(self.__dict__[self._table])

    def __contains__(self, key: str) -> bool:
        return key in self.__dict__[self._table]

    def __getitem__(self, key: str) -> Any:
        raise NotImplementedError

    def __delitem__(self, key: str) -> None:
        raise NotImplementedError

    def update(self, entries: Any) -> None:
        raise NotImplementedError

    def _fill(self, entries: Any) -> None:
        if entries is not None:
            self.update(entries)

    def clear(self) -> None:
        """Takes everything out.

        >>> import penlight as torch
        >>> layers = torch.nn.ModuleDict({"act": torch.nn.ReLU()})
        >>> layers.clear()
        >>> len(layers)
        0
        """
        for key in list(self):
            del self[key]

    def pop(self, key: str) -> Any:
        """Takes an entry out and returns it.

        >>> import penlight as torch
        >>> torch.nn.ModuleDict({"act": torch.nn.ReLU()}).pop("act")
        ReLU()
        """
        taken = self[key]
        del self[key]
        return taken

    def keys(self) -> Any:
        """The names.

        >>> import penlight as torch
        >>> list(torch.nn.ModuleDict({"act": torch.nn.ReLU()}).keys())
        ['act']
        """
        return self.__dict__[self._table].keys()


def checked_pairs(owner: str, pairs: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
    """The key and value of each pair, or an error that says which one is no pair."""
    for i, pair in enumerate(pairs):
        if not isinstance(pair, Iterable):
            raise TypeError(f"{owner} update sequence element #{i} should be Iterable; is{type(pair).__name__}")
        items: Any = pair
        if len(items) != 2:
            raise ValueError(f"{owner} update sequence element #{i} has length {len(items)}; 2 is required")
        yield items[0], items[1]
