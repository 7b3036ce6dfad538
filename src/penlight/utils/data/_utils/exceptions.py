"""An exception that travels from a worker to the process that waits for its data."""

from __future__ import annotations

import sys
from typing import Any, NoReturn


class KeyErrorMessage(str):
    """A text whose repr is itself: KeyError shows the repr of its argument, which would hide a traceback's lines."""

    def __repr__(self) -> str:
        return str(self)


class ExceptionWrapper:
    """The type and the formatted traceback of the exception that is being handled.

    >>> from penlight.utils.data._utils import ExceptionWrapper
    >>> try:
    ...     {}["missing"]
    ... except KeyError:
    ...     caught = ExceptionWrapper(where="in a worker")
    >>> caught.exc_type
    <class 'KeyError'>
    """

    def __init__(self, exc_info: Any = None, where: str = "in background") -> None:
        import traceback

        exc_info = exc_info or sys.exc_info()
        self.exc_type: Any = exc_info[0]
        self.exc_msg = "".join(traceback.format_exception(*exc_info))
        self.where = where

    def reraise(self) -> NoReturn:
        """Raise the exception here, with the traceback from there in its message."""
        message = f"Caught {self.exc_type.__name__} {self.where}.\nOriginal {self.exc_msg}"
        if self.exc_type is KeyError:
            message = KeyErrorMessage(message)
        elif getattr(self.exc_type, "message", None):
            raise self.exc_type(message=message)
        try:
            error = self.exc_type(message)
        except Exception:
            # An exception that needs other arguments cannot be made again: its text still arrives.
            raise RuntimeError(message) from None
        raise error
