"""Switches NumPy's floating-point warnings off and on, at a fraction of the cost of `np.errstate`.

`token = hush()` stops them in this thread until `unhush(token)`: it sets the context variable that holds NumPy's error state.
`with silent():` does the same for a block, at twice the cost.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np


def _find() -> tuple[Any, Any]:
    try:
        from numpy._core.umath import _extobj_contextvar, _make_extobj

        silent = _make_extobj(all="ignore")
        _extobj_contextvar.reset(_extobj_contextvar.set(silent))
        return partial(_extobj_contextvar.set, silent), _extobj_contextvar.reset
    except (ImportError, TypeError):  # this NumPy keeps its error state elsewhere

        def hush() -> Any:
            state = np.errstate(all="ignore")
            state.__enter__()
            return state

        return hush, lambda state: state.__exit__(None, None, None)


hush, unhush = _find()


class silent:
    """A block without NumPy's floating-point warnings.

    >>> import numpy as np
    >>> with silent():
    ...     np.ones(1) / 0
    array([inf])
    """

    __slots__ = ("token",)

    def __enter__(self) -> None:
        self.token = hush()

    def __exit__(self, *exc: object) -> None:
        unhush(self.token)
