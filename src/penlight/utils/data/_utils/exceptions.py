"""Carries an exception from a worker to the main process."""

from __future__ import annotations

import contextlib
import sys
import traceback
from typing import Any, NoReturn


class KeyErrorMessage(str):
    """A string whose repr is itself: KeyError shows the repr of its argument, which would escape the lines of a traceback."""

    def __repr__(self) -> str:
        return str(self)


class ExceptionWrapper:
    """The type and the formatted traceback of the current exception.

    >>> from penlight.utils.data._utils import ExceptionWrapper
    >>> try:
    ...     {}["missing"]
    ... except KeyError:
    ...     caught = ExceptionWrapper(where="in a worker")
    >>> caught.exc_type
    <class 'KeyError'>
    """

    def __init__(self, exc_info: Any = None, where: str = "in background") -> None:
        kind, error, trace = exc_info or sys.exc_info()
        self.exc_type: Any = kind
        self.exc_msg, self.where = "".join(traceback.format_exception(kind, error, trace)), where

    def reraise(self) -> NoReturn:
        """Raise the exception here, with the worker's traceback in its message."""
        raise self._made_again(f"Caught {self.exc_type.__name__} {self.where}.\nOriginal {self.exc_msg}")

    def _made_again(self, message: str) -> BaseException:
        if getattr(self.exc_type, "message", None):
            return self.exc_type(message=message)
        with contextlib.suppress(Exception):
            return self.exc_type(KeyErrorMessage(message) if self.exc_type is KeyError else message)
        return RuntimeError(message)  # the type needs other arguments: only its text arrives
