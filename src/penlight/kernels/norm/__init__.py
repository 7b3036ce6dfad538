"""Layer, RMS, group and batch normalisation: forward with its statistics, and backward. Which implementation runs when: see kernels/strategy.py.

Every variance is the biased one. Backward functions take `needs = (dx, dweight, dbias)` and give None for what is not needed. Statistics are float32
for 16-bit inputs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import native
from ..strategy import Strategy, apply
from . import channels, compiled, layer
from .layer import Grads, Needs

_MOST_LAYER = 1 << 11  # elements of float32: row kernels do more of them at a time, but their calls take longer
_MOST_CHANNELS = 1 << 15  # the same for kernels of channels, which take several calls


# Compiled loops compute in float64, so for arrays of float64 nothing is faster. They refuse parameters that are not contiguous or of another dtype.
# fmt: off
LAYER = (
    Strategy(lambda x, *_: x.size <= _MOST_LAYER or x.itemsize == 8, compiled.layer_norm,
             "up to 3 times row kernels, 2.5 to 5 times NumPy"),
    Strategy(lambda x, dims, weight, bias, eps, centred: x.size and type(eps) is float and native.suits(x, weight, bias), layer.row_kernel,
             "3 to 5 times NumPy, and 1.1 to 1.5 times the next, which takes any array"),
    Strategy(lambda *_: True, layer.layer_norm, "every dtype and machine"),
)
LAYER_GRADIENTS = (
    Strategy(lambda grad, x, *_: x.size <= _MOST_LAYER or x.itemsize == 8, compiled.layer_norm_backward,
             "up to 3 times row kernels, 2 to 5 times NumPy"),
    Strategy(lambda grad, x, dims, mean, rstd, weight, needs: x.size and native.suits(x, grad, mean, rstd, weight), layer.row_kernel_backward,
             "3 to 5 times NumPy"),
    Strategy(lambda *_: True, layer.layer_norm_backward, "every dtype and machine"),
)
GROUP = (
    Strategy(lambda x, *_: x.size <= _MOST_CHANNELS or x.itemsize == 8, compiled.group_norm,
             "up to 4 times row kernels, 2.5 times NumPy"),
    Strategy(lambda x, groups, weight, bias, eps: x.size and type(eps) is float and native.suits(x, weight, bias), channels.group_norm_by_row_kernels,
             "4 times NumPy"),
    Strategy(lambda *_: True, channels.group_norm, "every dtype and machine"),
)
GROUP_GRADIENTS = (
    Strategy(lambda grad, x, *_: x.size <= _MOST_CHANNELS or x.itemsize == 8, compiled.group_norm_backward,
             "2 to 6 times the next, 3 times in float64"),
    Strategy(lambda *_: True, channels.group_norm_backward, "vectors of float32, and NumPy for every dtype and machine"),
)
BATCH = (
    Strategy(lambda x, *_: x.size <= _MOST_CHANNELS or x.itemsize == 8, compiled.batch_norm,
             "1.5 to 9 times the next, 2 to 3 times in float64"),
    Strategy(lambda *_: True, channels.batch_norm, "vectors of float32, and NumPy for every dtype and machine"),
)
BATCH_EVAL = (
    Strategy(lambda x, *_: x.size <= _MOST_CHANNELS or x.itemsize == 8,
             compiled.batch_norm_eval, "2 to 3 times the next"),
    Strategy(lambda *_: True, channels.batch_norm_eval, "vectors of float32, and NumPy for every dtype and machine"),
)
BATCH_GRADIENTS = (
    Strategy(lambda grad, x, *_: x.size <= _MOST_CHANNELS or x.itemsize == 8, compiled.batch_norm_backward,
             "1.1 to 7 times the next, 2 to 3 times in float64"),
    Strategy(lambda *_: True, channels.batch_norm_backward, "vectors of float32, and NumPy for every dtype and machine"),
)
# fmt: on


def layer_norm(
    x: np.ndarray, dims: int, weight: np.ndarray | None, bias: np.ndarray | None, eps: float, centred: bool = True
) -> tuple[np.ndarray, Any, np.ndarray]:
    """(out, mean, rstd) of normalising over the last `dims` dimensions; without `centred`, of RMS normalisation, and the mean is None."""
    return apply(LAYER, x, dims, weight, bias, eps, centred)  # type: ignore[no-any-return]


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
    return apply(LAYER_GRADIENTS, grad, x, dims, mean, rstd, weight, needs)  # type: ignore[no-any-return]


def group_norm(
    x: np.ndarray, groups: int, weight: np.ndarray | None, bias: np.ndarray | None, eps: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(out, mean, rstd) of normalising each group of channels (dim 1) of each sample; statistics are (N, groups)."""
    return apply(GROUP, x, groups, weight, bias, eps)  # type: ignore[no-any-return]


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
    return apply(GROUP_GRADIENTS, grad, x, groups, mean, rstd, weight, needs)  # type: ignore[no-any-return]


def batch_norm(
    x: np.ndarray, weight: np.ndarray | None, bias: np.ndarray | None, eps: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """(out, mean, rstd, biased variance) of a batch, as in training; the running statistics are the caller's."""
    return apply(BATCH, x, weight, bias, eps)  # type: ignore[no-any-return]


def batch_norm_eval(
    x: np.ndarray, mean: np.ndarray, var: np.ndarray, weight: np.ndarray | None, bias: np.ndarray | None, eps: float
) -> np.ndarray:
    """The batch normalised by given statistics of its channels."""
    return apply(BATCH_EVAL, x, mean, var, weight, bias, eps)  # type: ignore[no-any-return]


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
    return apply(BATCH_GRADIENTS, grad, x, mean, rstd, weight, training, needs)  # type: ignore[no-any-return]
