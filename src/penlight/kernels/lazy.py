"""Modules that are imported when something of them is first asked for.

An `import` inside a function takes a microsecond or two at each call, as much as a kernel on some thousand numbers. At the top of a module it would
make `import penlight` slower, or go in circles. A lazy import stands at the top, where a reader looks for it, and costs nothing after its first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


class _Unloaded:
    """Stands for a module in a namespace until it is asked for an attribute; then the module replaces it, there and in copies that `copied` knows."""

    _found: Any = None

    def __init__(self, namespace: dict[str, Any], name: str, module: str) -> None:
        self._target = namespace, name, module

    def __getattr__(self, attribute: str) -> Any:
        if self._found is None:
            namespace, name, module = self._target
            namespace[name] = self._found = import_module(module, namespace["__package__"])
            for copy in _copies.get(id(namespace), ()):
                copy[name] = self._found
        return getattr(self._found, attribute)


_copies: dict[int, list[dict[str, Any]]] = {}  # of namespaces, by their ids


def copied(namespace: dict[str, Any], copy: dict[str, Any]) -> None:
    """Let lazily imported modules of a namespace replace their stand-ins in a copy of it, too."""
    _copies.setdefault(id(namespace), []).append(copy)


def lazy_import(namespace: dict[str, Any], name: str, module: str) -> Any:
    """A module under `name` in `namespace`, the globals of the module that uses it; `module` is absolute or begins with dots.

    Nobody else should import `name` from there: they would keep the object that stands for the module.

    >>> words = lazy_import({"__package__": "penlight.kernels"}, "words", ".numpy_warnings")
    >>> words.silent.__name__
    'silent'
    """
    return _Unloaded(namespace, name, module)
