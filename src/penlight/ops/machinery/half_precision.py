"""16-bit floats in kernels that add up: sums in their own precision would stand still, 256 + 1 is 256 in bfloat16."""

from __future__ import annotations

from functools import wraps
from typing import Any

import numpy as np

from ...kernels.copies.convert import cast, is_half
from ...kernels.numpy_warnings import silent
from .declare import warning_free

_FLOAT = np.dtype(np.float32)


def in_float32(kernel: Any) -> Any:
    """A kernel that computes with 16-bit floats in its first argument as float32, and rounds the result once."""
    inner = warning_free(kernel)

    @wraps(kernel)
    def run(x: Any, *args: Any) -> Any:
        if is_half(x.dtype):
            with silent():
                return cast(inner(cast(x, _FLOAT), *args), x.dtype)
        return inner(x, *args)

    return run


def rounded_once(kernel: Any) -> Any:
    """An elementwise kernel that computes with operands of 16 bits as float32, and rounds the result once, as machine code too."""

    def run(*operands: Any) -> Any:
        half = next((o.dtype for o in operands if type(o) is np.ndarray and is_half(o.dtype)), None)
        if half is None:
            return kernel(*operands)
        with silent():
            return cast(np.asarray(kernel(*[cast(o, _FLOAT) if type(o) is np.ndarray else o for o in operands])), half)

    run.rounds_once = True  # type: ignore[attr-defined]
    return run
