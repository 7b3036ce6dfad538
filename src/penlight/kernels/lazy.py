"""Lazy imports that cost nothing after the first use.

An `import` inside a function takes a microsecond or two at each call, as much as a kernel on about a thousand elements. At the
top of a module it would make `import penlight` slower, or create a cycle. A lazy import is at the top of the file, where a reader
looks for it, and costs nothing after its first use.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any


class _Unloaded:
    """A placeholder for a module in a namespace. At the first attribute access the module replaces it, there and in the copies
    that `copied` registered."""

    _found: Any = None

    def __init__(self, namespace: dict[str, Any], name: str, module: str) -> None:
        self._target = namespace, name, module
        _unloaded.append(self)

    def __getattr__(self, attribute: str) -> Any:
        return getattr(self._load() if self._found is None else self._found, attribute)

    def _load(self) -> Any:
        namespace, name, module = self._target
        namespace[name] = self._found = import_module(module, namespace["__package__"])
        for copy in _copies.get(id(namespace), ()):
            copy[name] = self._found
        return self._found

    def _is_imported(self) -> bool:
        """Whether something else has imported the module."""
        namespace, _, module = self._target
        relative = module.lstrip(".")
        above = namespace["__package__"].split(".")[: 1 - (len(module) - len(relative)) or None]
        return (module if relative == module else ".".join([*above, relative])) in sys.modules


_unloaded: list[_Unloaded] = []


def replace_placeholders() -> None:
    """Put modules that are imported by now where their placeholders stand, so that no debugger steps into an import."""
    for each in _unloaded:
        if each._found is None and each._is_imported():
            each._load()
    _unloaded.clear()


_copies: dict[int, list[dict[str, Any]]] = {}  # of namespaces, by id


def copied(namespace: dict[str, Any], copy: dict[str, Any]) -> None:
    """Register a copy of a namespace: lazily imported modules replace their placeholders there, too."""
    _copies.setdefault(id(namespace), []).append(copy)


def lazy_import(namespace: dict[str, Any], name: str, module: str) -> Any:
    """Import `module` lazily as `name` into `namespace`, the globals of the importing module; `module` is absolute or begins with dots.

    No other module should import `name` from there: it would keep the placeholder.

    >>> words = lazy_import({"__package__": "penlight.kernels"}, "words", ".numpy_warnings")
    >>> words.silent.__name__
    'silent'
    """
    return _Unloaded(namespace, name, module)
