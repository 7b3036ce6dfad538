"""Rebuilding a collection with other contents, keeping its type where that is possible."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence
from typing import Any


def mapping_like(template: Mapping[Any, Any], make: Callable[[Any], Any]) -> Any:
    """A mapping like `template` with `make(key)` for each of its keys.

    A mutable one is copied and updated, which keeps whatever else it carries; a type that allows neither that nor
    construction from a dict becomes a dict.
    """
    try:
        if isinstance(template, MutableMapping):
            clone = copy.copy(template)
            clone.update({key: make(key) for key in template})
            return clone
        return type(template)({key: make(key) for key in template})  # type: ignore[call-arg]
    except TypeError:
        return {key: make(key) for key in template}


def sequence_like(template: Any, count: int, make: Callable[[int], Any]) -> Any:
    """A sequence like `template` with `make(0) ... make(count - 1)`; a list where its type cannot be made."""
    try:
        if isinstance(template, MutableSequence):
            clone = copy.copy(template)
            for position in range(count):
                clone[position] = make(position)
            return clone
        return type(template)([make(position) for position in range(count)])
    except TypeError:
        return [make(position) for position in range(count)]
