"""Layer, RMS, group and batch normalisation in NumPy. The compiled version is kernels.py.

Each is `_normalise` of a view in which the elements of one mean span `dims`. The weight and the bias broadcast along `shared`:

    layer norm  (rows, columns)                      dims 1        shared 0
    group norm  (samples, groups, channels, pixels)  dims 2 and 3  shared 0 and 3
    batch norm  (samples, channels, pixels)          dims 0 and 2  shared 0 and 2

Every variance is the biased one. Backward functions take `needs = (dx, dweight, dbias)` and return None for gradients that are not needed.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ..reduce import reduce_sum
from ..rows import narrow, quiet

Needs = tuple[bool, bool, bool]
Grads = tuple[np.ndarray | None, np.ndarray | None, np.ndarray | None]
Dims = tuple[int, ...]
Parameter = np.ndarray | None
_ALL = (True, True, True)


def _mean(x: np.ndarray, dims: Dims) -> np.ndarray:
    """The mean over dimensions, with keepdims."""
    return np.divide(reduce_sum(x, dims, True), prod([x.shape[d] for d in dims]), dtype=x.dtype)


def _parameter(weight: Parameter, x: np.ndarray, shape: tuple[int, ...]) -> Parameter:
    """A weight or a bias in the dtype of x, in a shape that broadcasts."""
    return None if weight is None else weight.astype(x.dtype, copy=False).reshape(shape)


def _scale(x: np.ndarray, weight: Parameter, bias: Parameter) -> None:
    """x * weight + bias, in place."""
    if weight is not None:
        x *= weight
    if bias is not None:
        x += bias


def _normalise(
    x: np.ndarray, dims: Dims, weight: Parameter, bias: Parameter, eps: float, centred: bool = True
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """(out, mean, rstd, variance), the statistics with size 1 along `dims`. Without `centred` the mean is taken to be 0."""
    mean, out = np.zeros((), x.dtype), x
    if centred:
        mean = _mean(x, dims)
        out = x - mean
        off = _mean(out, dims)  # the rounding error of the mean
        mean = mean + off
        out -= off
    var = _mean(out * out, dims)
    rstd = np.reciprocal(np.sqrt(var + x.dtype.type(eps)))
    out = np.multiply(out, rstd, out=out if centred else None)
    _scale(out, weight, bias)
    return out, mean, rstd, var


def _gradients(
    grad: np.ndarray, x: np.ndarray, dims: Dims, shared: Dims, mean: Any, rstd: np.ndarray, weight: Parameter, needs: Needs,
    centred: bool = True, fixed: bool = False,
) -> Grads:  # fmt: skip
    """Gradients of x, of the weight and of the bias. `fixed` statistics do not depend on x."""
    dx = dweight = None
    dbias = reduce_sum(grad, shared, True) if needs[2] or (needs[0] and dims == shared) else None
    if needs[0] or needs[1]:
        normal = x - mean
        normal *= rstd
        if needs[1] or dims == shared:
            dweight = reduce_sum(grad * normal, shared, True)
    if needs[0]:
        dx = grad.copy() if weight is None else grad * weight
        if not fixed:
            if dims == shared:  # the weight is the same for all elements of a mean
                count = prod([x.shape[d] for d in dims])
                along, middle = [s / count if weight is None else s * weight / count for s in (dweight, dbias)]
            else:
                along, middle = _mean(dx * normal, dims), _mean(dx, dims) if centred else 0
            normal *= along
            dx -= middle
            dx -= normal
        dx *= rstd
    return dx, dweight if needs[1] else None, dbias if needs[2] else None


def _views(shape: tuple[int, ...], grad: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.ascontiguousarray(grad).reshape(shape), np.ascontiguousarray(x).reshape(shape)


def _shaped(grads: Grads, x: np.ndarray, weight: Parameter, shape: tuple[int, ...]) -> Grads:
    """Gradients in the shapes and dtypes of x and of the parameters."""
    dx, *others = grads
    dtype = x.dtype if weight is None else weight.dtype
    dweight, dbias = [None if g is None else narrow(g, dtype).reshape(shape) for g in others]
    return None if dx is None else dx.reshape(x.shape), dweight, dbias


# ----- Layer and RMS norm ---------------------------------------------------------------------------------------------


@quiet
def layer_norm(
    x: np.ndarray, dims: int, weight: Parameter, bias: Parameter, eps: float, centred: bool = True
) -> tuple[np.ndarray, np.ndarray | None, np.ndarray]:
    """(out, mean, rstd) of normalising over the last `dims` dimensions; without `centred`, of RMS normalisation, and the mean is None."""
    shape = (*x.shape[: x.ndim - dims], *(1,) * dims)
    if not x.size:
        return x.copy(), np.zeros(shape, x.dtype) if centred else None, np.full(shape, np.nan, x.dtype)
    scale, shift = _parameter(weight, x, (-1,)), _parameter(bias, x, (-1,))
    out, mean, rstd, _ = _normalise(np.ascontiguousarray(x).reshape(prod(shape), -1), (1,), scale, shift, eps, centred)
    return out.reshape(x.shape), mean.reshape(shape) if centred else None, rstd.reshape(shape)


@quiet
def layer_norm_backward(
    grad: np.ndarray, x: np.ndarray, dims: int, mean: np.ndarray | None, rstd: np.ndarray, weight: Parameter,
    needs: Needs = _ALL,
) -> Grads:  # fmt: skip
    """Gradients (dx, dweight, dbias) of `layer_norm`."""
    shape = x.shape[x.ndim - dims :]
    size = rstd.size, prod(shape)
    middle = 0 if mean is None else mean.reshape(-1, 1)
    arguments = (1,), (0,), middle, rstd.reshape(-1, 1), _parameter(weight, x, (-1,)), needs, mean is not None
    grads, rows = _views(size, grad, x)
    return _shaped(_gradients(grads, rows, *arguments), x, weight, shape)


# ----- Group norm -----------------------------------------------------------------------------------------------------


@quiet
def group_norm(
    x: np.ndarray, groups: int, weight: Parameter, bias: Parameter, eps: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(out, mean, rstd) of normalising each group of channels (dim 1) of each sample; statistics are (samples, groups)."""
    n, channels = x.shape[:2]
    shape = groups, channels // groups, 1
    view = np.ascontiguousarray(x).reshape(n, *shape[:2], prod(x.shape[2:]))
    out, mean, rstd, _ = _normalise(view, (2, 3), _parameter(weight, x, shape), _parameter(bias, x, shape), eps)
    return out.reshape(x.shape), mean.reshape(n, groups), rstd.reshape(n, groups)


@quiet
def group_norm_backward(
    grad: np.ndarray, x: np.ndarray, groups: int, mean: np.ndarray, rstd: np.ndarray, weight: Parameter,
    needs: Needs = _ALL,
) -> Grads:  # fmt: skip
    """Gradients (dx, dweight, dbias) of `group_norm`."""
    n, channels = x.shape[:2]
    size, stats = (n, groups, channels // groups, prod(x.shape[2:])), (n, groups, 1, 1)
    scale = _parameter(weight, x, (groups, -1, 1))
    arguments = (2, 3), (0, 3), mean.reshape(stats), rstd.reshape(stats), scale, needs
    grads, rows = _views(size, grad, x)
    return _shaped(_gradients(grads, rows, *arguments), x, weight, (channels,))


# ----- Batch norm -----------------------------------------------------------------------------------------------------


def _batch(x: np.ndarray) -> np.ndarray:
    """A batch as (samples, channels, pixels)."""
    return np.ascontiguousarray(x).reshape(x.shape[0], x.shape[1] if x.ndim > 1 else 1, prod(x.shape[2:]))


@quiet
def batch_norm(
    x: np.ndarray, weight: Parameter, bias: Parameter, eps: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """(out, mean, rstd, variance) of a batch, as in training; the caller updates the running statistics."""
    scale, shift = _parameter(weight, x, (-1, 1)), _parameter(bias, x, (-1, 1))
    out, *statistics = _normalise(_batch(x), (0, 2), scale, shift, eps)
    mean, rstd, var = [s.reshape(-1) for s in statistics]
    return out.reshape(x.shape), mean, rstd, var


@quiet
def batch_norm_eval(
    x: np.ndarray, mean: np.ndarray, var: np.ndarray, weight: Parameter, bias: Parameter, eps: float
) -> np.ndarray:
    """The batch normalised by given statistics."""
    middle, scale, shift = [_parameter(a, x, (-1, 1)) for a in (mean, weight, bias)]
    out = _batch(x) - middle
    out *= np.reciprocal(np.sqrt(var.astype(x.dtype, copy=False) + x.dtype.type(eps))).reshape(-1, 1)
    _scale(out, scale, shift)
    return out.reshape(x.shape)


@quiet
def batch_norm_backward(
    grad: np.ndarray, x: np.ndarray, mean: np.ndarray, rstd: np.ndarray, weight: Parameter, training: bool = True,
    needs: Needs = _ALL,
) -> Grads:  # fmt: skip
    """Gradients (dx, dweight, dbias). With `training` the statistics are those of x and depend on it."""
    middle, deviation, scale = [_parameter(a, x, (-1, 1)) for a in (mean, rstd, weight)]
    arguments = (0, 2), (0, 2), middle, deviation, scale, needs, True, not training
    return _shaped(_gradients(_batch(grad), _batch(x), *arguments), x, weight, mean.shape)  # type: ignore[arg-type]
