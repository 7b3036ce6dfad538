"""Layer, RMS, group and batch normalisation: forward with its statistics, and backward. Which implementation runs when: see kernels/strategy.py.

Every variance is the biased one. Backward functions take `needs = (dx, dweight, dbias)` and give None for what is not needed. Statistics are float32
for 16-bit inputs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..rows import is_half, narrow, widen
from ..strategy import Strategy, apply
from . import in_numpy, kernels
from .in_numpy import Grads, Needs


def _table(
    compiled: Callable[..., Any], gain: str, numpy: Callable[..., Any], is_gradient: bool
) -> tuple[Strategy, ...]:
    """Compiled loops return None or refuse what they are not made for: other dtypes, parameters that are not contiguous, and empty arrays."""

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
        Strategy(lambda x, *_: is_half(x.dtype), in_float32, "16-bit floats are computed in float32"),
        Strategy(lambda *_: True, compiled, gain),
        Strategy(lambda *_: True, numpy, "every dtype and machine"),
    )
    return table


LAYER = _table(kernels.layer_norm, "3 to 5 times NumPy", in_numpy.layer_norm, False)
LAYER_GRADIENTS = _table(kernels.layer_norm_backward, "3 to 5 times NumPy", in_numpy.layer_norm_backward, True)
GROUP = _table(kernels.group_norm, "4 to 8 times NumPy", in_numpy.group_norm, False)
GROUP_GRADIENTS = _table(kernels.group_norm_backward, "4 to 8 times NumPy", in_numpy.group_norm_backward, True)
BATCH = _table(kernels.batch_norm, "3 to 9 times NumPy", in_numpy.batch_norm, False)
BATCH_EVAL = _table(kernels.batch_norm_eval, "2 to 4 times NumPy", in_numpy.batch_norm_eval, False)
BATCH_GRADIENTS = _table(kernels.batch_norm_backward, "3 to 7 times NumPy", in_numpy.batch_norm_backward, True)


def layer_norm(
    x: np.ndarray, dims: int, weight: np.ndarray | None, bias: np.ndarray | None, eps: float, centred: bool = True
) -> tuple[np.ndarray, Any, np.ndarray]:
    """(out, mean, rstd) of normalising over the last `dims` dimensions; without `centred`, of RMS normalisation, and the mean is None."""
    return apply(LAYER, x, dims, weight, bias, eps, centred)


def layer_norm_backward(
    grad: np.ndarray,
    x: np.ndarray,
    dims: int,
    mean: np.ndarray | None,
    rstd: np.ndarray,
    weight: np.ndarray | None,
    needs: Needs = (True, True, True),
) -> Grads:
    """Gradients (dx, dweight, dbias) of `layer_norm`."""
    return apply(LAYER_GRADIENTS, grad, x, dims, mean, rstd, weight, needs)


def group_norm(
    x: np.ndarray, groups: int, weight: np.ndarray | None, bias: np.ndarray | None, eps: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(out, mean, rstd) of normalising each group of channels (dim 1) of each sample; statistics are (N, groups)."""
    return apply(GROUP, x, groups, weight, bias, eps)


def group_norm_backward(
    grad: np.ndarray,
    x: np.ndarray,
    groups: int,
    mean: np.ndarray,
    rstd: np.ndarray,
    weight: np.ndarray | None,
    needs: Needs = (True, True, True),
) -> Grads:
    """Gradients (dx, dweight, dbias) of `group_norm`."""
    return apply(GROUP_GRADIENTS, grad, x, groups, mean, rstd, weight, needs)


def batch_norm(
    x: np.ndarray, weight: np.ndarray | None, bias: np.ndarray | None, eps: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """(out, mean, rstd, biased variance) of a batch, as in training; the running statistics are the caller's."""
    return apply(BATCH, x, weight, bias, eps)


def batch_norm_eval(
    x: np.ndarray, mean: np.ndarray, var: np.ndarray, weight: np.ndarray | None, bias: np.ndarray | None, eps: float
) -> np.ndarray:
    """The batch normalised by given statistics of its channels."""
    return apply(BATCH_EVAL, x, mean, var, weight, bias, eps)


def batch_norm_backward(
    grad: np.ndarray,
    x: np.ndarray,
    mean: np.ndarray,
    rstd: np.ndarray,
    weight: np.ndarray | None,
    training: bool = True,
    needs: Needs = (True, True, True),
) -> Grads:
    """Gradients (dx, dweight, dbias). With `training` the statistics are those of x and depend on it."""
    return apply(BATCH_GRADIENTS, grad, x, mean, rstd, weight, training, needs)
