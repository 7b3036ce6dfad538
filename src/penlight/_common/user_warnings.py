"""Warnings that point to the line of the user's program, however deep in the package they are issued."""

from __future__ import annotations

import os
import sys
import warnings
from functools import lru_cache

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


@lru_cache(4096)
def is_ours(filename: str) -> bool:
    """Whether code belongs to Penlight, judged by its file name: in the package, or generated."""
    return filename.startswith((_PACKAGE, "<penlight "))


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the innermost line that is not in this package.

    >>> from penlight._common.user_warnings import warn_user
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warn_user("mind the gap")
    >>> str(caught[0].message)
    'mind the gap'
    """
    level, frame = 1, sys._getframe(0)
    while frame.f_back is not None and is_ours(frame.f_code.co_filename):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


_warned: set[str] = set()


always = False  # torch.set_warn_always


def warn_once(message: str) -> None:
    """Warn only the first time, unless `torch.set_warn_always` was set."""
    if always or message not in _warned:
        _warned.add(message)
        warn_user(message)
