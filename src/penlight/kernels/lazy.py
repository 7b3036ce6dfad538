"""Modules that are imported when something of them is first asked for, at no price after that.

An `import` inside a function costs a microsecond or two at each call, which is as much as a kernel on some thousand numbers; at the top of a module it
would make `import penlight` slower, or go in circles.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


class _Late:
    """Stands for a module in a namespace until it is asked for an attribute; then the module takes its place.

    In copies of the namespace (see `quiet` in ops/_declare.py) it stays, and hands on what it is asked for.
    """

    _found: Any = None

    def __init__(self, namespace: dict[str, Any], name: str, module: str) -> None:
        self._place = namespace, name, module

    def __getattr__(self, attribute: str) -> Any:
        if self._found is None:
            namespace, name, module = self._place
            namespace[name] = self._found = import_module(module, namespace["__package__"])
        return getattr(self._found, attribute)


def late(namespace: dict[str, Any], name: str, module: str) -> Any:
    """What a module that is imported late is called by in `namespace`, the globals of the one that uses it, which nobody else imports from there.

    >>> words = late({"__package__": "penlight.kernels"}, "words", ".numpy_warnings")
    >>> words.silent.__name__
    'silent'
    """
    return _Late(namespace, name, module)
