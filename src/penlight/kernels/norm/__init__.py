"""Layer, RMS, group and batch normalisation, forward with statistics, and backward: the strategy tables. See kernels/strategy.py.

Every variance is the biased one. Backward functions take `needs = (dx, dweight, dbias)` and return None for gradients that are
not needed. Statistics are float32 for 16-bit inputs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..rows import is_half, narrow, widen
from ..strategy import Strategy, apply, by_table
from . import in_numpy, kernels


def _table(
    compiled: Callable[..., Any], gain: str, numpy: Callable[..., Any], is_gradient: bool
) -> tuple[Strategy, ...]:
    """Compiled loops return None or refuse unsupported arguments: other dtypes, non-contiguous parameters, and empty arrays."""

    def in_float32(x: np.ndarray, *rest: Any) -> Any:
        found = apply(table, widen(x), *[widen(a) if isinstance(a, np.ndarray) else a for a in rest])
        if isinstance(found, np.ndarray):
            return narrow(found, x.dtype)
        if not is_gradient:
            return narrow(found[0], x.dtype), *found[1:]  # statistics stay float32
        *_, weight = [a for a in rest if a is None or isinstance(a, np.ndarray)]
        dtypes = x.dtype, *(x.dtype if weight is None else weight.dtype,) * 2
        return tuple([a if a is None else narrow(a, dtype) for a, dtype in zip(found, dtypes, strict=True)])

    table = (
        Strategy(None, compiled, gain),
        Strategy(lambda x, *_: is_half(x.dtype), in_float32, "16-bit floats are computed in float32"),
        Strategy(None, numpy, "every dtype and machine"),
    )
    return table


LAYER = _table(kernels.layer_norm, "3 to 5 times NumPy", in_numpy.layer_norm, False)
LAYER_GRADIENTS = _table(kernels.layer_norm_backward, "3 to 5 times NumPy", in_numpy.layer_norm_backward, True)
GROUP = _table(kernels.group_norm, "4 to 8 times NumPy", in_numpy.group_norm, False)
GROUP_GRADIENTS = _table(kernels.group_norm_backward, "4 to 8 times NumPy", in_numpy.group_norm_backward, True)
BATCH = _table(kernels.batch_norm, "3 to 9 times NumPy", in_numpy.batch_norm, False)
BATCH_EVAL = _table(kernels.batch_norm_eval, "2 to 4 times NumPy", in_numpy.batch_norm_eval, False)
BATCH_GRADIENTS = _table(kernels.batch_norm_backward, "3 to 7 times NumPy", in_numpy.batch_norm_backward, True)


layer_norm = by_table(LAYER)
layer_norm_backward = by_table(LAYER_GRADIENTS)
group_norm = by_table(GROUP)
group_norm_backward = by_table(GROUP_GRADIENTS)
batch_norm = by_table(BATCH)
batch_norm_eval = by_table(BATCH_EVAL)
batch_norm_backward = by_table(BATCH_GRADIENTS)
