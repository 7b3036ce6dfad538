"""16-bit floats in kernels that add up: sums in their own precision would stand still, 256 + 1 is 256 in bfloat16."""

from __future__ import annotations

from functools import wraps
from typing import Any

import numpy as np

from ..kernels.convert import cast, is_half
from ..kernels.silence import silent
from ._declare import quiet

_FLOAT = np.dtype(np.float32)


def in_float32(kernel: Any) -> Any:
    """A kernel that computes with 16-bit floats in its first argument as float32, and rounds the result once."""
    inner = quiet(kernel)

    @wraps(kernel)
    def run(x: Any, *args: Any) -> Any:
        if is_half(x.dtype):
            with silent():
                return cast(inner(cast(x, _FLOAT), *args), x.dtype)
        return inner(x, *args)

    return run
