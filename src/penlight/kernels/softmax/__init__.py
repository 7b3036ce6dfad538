"""Softmax, log-softmax, logsumexp and the fused cross entropy of class indices.

Note [When the shift can be skipped]
Softmax subtracts each row's maximum so that `exp` cannot overflow. That is two passes, next to one for `exp` itself, and
seldom needed. So the exponentials are taken without it, and the row sums, which are needed anyway, tell whether that was right:
if each lies between 1 and 1e30, nothing has overflowed, and any underflow would also occur with the shift. The quotient e^x /
sum(e^x) has the same relative error either way. Otherwise (also for NaN and infinite sums) the block is recomputed with the
shift. For logarithms the shift matters (the error of x - log sum grows with x), so `log_softmax` never skips it. Cross entropy
takes log(sum / e^x_target) instead, which is accurate at any size and never negative.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ..lazy import lazy_import
from ..numpy_calls import moveaxis
from ..numpy_warnings import hush, silent, unhush
from ..parallel import parallel_for
from ..reduce import reduce_sum, row_max, row_sum
from ..rows import BLOCK_ELEMENTS, each_block, in_float32, narrow, split_shape, widen
from ..strategy import Strategy, apply

definitions = lazy_import(globals(), "definitions", ".kernels")
native = lazy_import(globals(), "native", "..native")

_MOST_COPIED = 1 << 13  # elements: for more, copies with the dimension moved to the end cost more than they save
_LEAST_MATRIX = 1 << 12  # elements of a matrix that is reduced along columns: below, calls cost more than they save
_LEAST_COLUMNS = {4: 32, 8: 256}  # of such a matrix, by the size of an element: for fewer, NumPy is as fast
_MOST_WHOLE = 1 << 10  # elements: for more, NumPy's sums and maxima along a dimension cost more than blocks

# ----- Along a dimension --------------------------------------------------------------------------------------------------
#
# An implementation takes the name of a function, a dimension, and arrays of one shape and dtype. Row kernels refuse non-contiguous arrays.

_kernels: dict[Any, Any] = {}


def _along_rows(name: str, dim: int, *arrays: np.ndarray) -> np.ndarray | None:
    """By a row kernel over the last dimension."""
    first = arrays[0]
    size, shape, dtype = first.size, first.shape, first.dtype
    kernel = _kernels.get((name, dtype))
    if kernel is None:
        if dtype not in native.FLOATS or not native.available():
            return None
        kernel = _kernels[name, dtype] = native.kernel(getattr(definitions, name), double=dtype == native.FLOATS[1])
    if not size:
        return None
    out, columns = np.empty(shape, dtype), shape[-1]
    if size < kernel.grain:
        kernel.run(0, size // columns, columns, *arrays, out)
    else:
        kernel.over(size // columns, -(-kernel.grain // columns), columns, *arrays, out)
    return out


def _along_copied_rows(name: str, dim: int, *arrays: np.ndarray) -> np.ndarray | None:
    """By a row kernel over copies with the dimension moved to the end."""
    last = arrays[0].ndim - 1
    found = _along_rows(name, last, *[np.ascontiguousarray(moveaxis(a, dim, last)) for a in arrays])
    return None if found is None else np.ascontiguousarray(moveaxis(found, last, dim))


def _contiguous(name: str, dim: int, *arrays: np.ndarray) -> np.ndarray:
    return _along(name, dim, *map(np.ascontiguousarray, arrays))


def _along_columns(name: str, dim: int, *arrays: np.ndarray) -> np.ndarray | None:
    """By kernels along the columns of matrices."""
    shape = split_shape(arrays[0].shape, dim)
    out = np.empty(arrays[0].shape, arrays[0].dtype)
    _run_down_columns(name, *[a.reshape(shape) for a in (*arrays, out)])
    return out


def _in_numpy(name: str, dim: int, *arrays: np.ndarray) -> np.ndarray:
    """Block by block: 2-d blocks of contiguous rows, or 3-d blocks with the dimension in the middle."""
    outer, n, inner = split_shape(arrays[0].shape, dim)
    body = partial(_NUMPY[name], 1)
    cut = (outer, n) if inner == 1 else (outer, n, inner)
    out = np.empty(arrays[0].shape, arrays[0].dtype)
    inputs = [a.reshape(cut) for a in (*arrays, out)]
    with silent():  # inf - inf is the NaN that PyTorch gives
        if inner == 1 or n * inner <= BLOCK_ELEMENTS:
            each_block(lambda part: body(*[a[part] for a in inputs]), outer, n * inner)
        else:
            for i in range(outer):
                each_block(partial(_one_of, body, inputs, i), inner, n, 256)  # shorter inner loops are slow
    return out


def _whole(name: str, dim: int, *arrays: np.ndarray) -> np.ndarray:
    """In NumPy, with as few calls as possible."""
    out = np.empty(arrays[0].shape, arrays[0].dtype)
    token = hush()
    try:
        _NUMPY[name](dim, *arrays, out)
        return out
    finally:
        unhush(token)


def _suits_columns(name: str, dim: int, *arrays: np.ndarray) -> bool:
    _, n, inner = split_shape(arrays[0].shape, dim)
    return n * inner >= _LEAST_MATRIX and bool(native.suits(*arrays)) and inner >= _LEAST_COLUMNS[arrays[0].itemsize]


# fmt: off
ALONG = (
    Strategy(lambda name, dim, x, *_: dim == x.ndim - 1, _along_rows, "3 to 4 times NumPy"),
    Strategy(lambda name, dim, x, *_: dim < x.ndim - 1 and x.size <= _MOST_COPIED and native.available(), _along_copied_rows, "up to twice as fast as NumPy"),
    Strategy(lambda name, dim, *arrays: not all([a.flags.c_contiguous for a in arrays]), _contiguous, "what follows needs that"),
    Strategy(lambda name, dim, x, *_: x.ndim > 0 and 0 < x.size <= _MOST_WHOLE, _whole, "half the time of blocks"),
    Strategy(_suits_columns, _along_columns, "1.5 to 3 times NumPy"),
    Strategy(None, _in_numpy, "every size and machine"),
)
# fmt: on


def _along(name: str, dim: int, *arrays: np.ndarray) -> np.ndarray:
    return apply(ALONG, name, dim, *arrays)


def _by_machine(name: str, *arrays: np.ndarray, **options: Any) -> bool:
    """Run a row kernel over the rows of the first array, if possible."""
    if not native.suits(*arrays):
        return False
    native.over_rows(getattr(definitions, name), arrays[0].shape, *arrays, **options)
    return True


def _one_of(columns: Callable[..., None], arrays: list[np.ndarray], i: int, part: slice) -> None:
    """Run `columns` on a part of the columns of element i of 3-d arrays."""
    columns(*[a[i : i + 1, :, part] for a in arrays])


def _sum(axis: int, x: np.ndarray) -> np.ndarray:
    """Sums along an axis, with keepdims."""
    if x.ndim == 2 and axis == 1 and x.size > _MOST_WHOLE:
        return row_sum(x)[:, None]
    return np.add.reduce(x, axis, keepdims=True)


def _largest(axis: int, x: np.ndarray) -> np.ndarray:
    """Maxima along an axis, with keepdims."""
    if x.ndim == 2 and axis == 1 and x.size > _MOST_WHOLE:
        return row_max(x)
    return np.maximum.reduce(x, axis, keepdims=True)


def _shift_exp(axis: int, x: np.ndarray, out: np.ndarray) -> tuple[np.ndarray | None, np.ndarray]:
    """Write e^(x - shift) to `out`; return the shift, or None, and the sums along the axis, with keepdims."""
    np.exp(x, out)
    total = _sum(axis, out)
    if np.minimum.reduce(total, None) >= 1.0 and np.maximum.reduce(total, None) <= 1e30:
        return None, total
    shift = _largest(axis, x)
    np.subtract(x, shift, out)
    np.exp(out, out)
    return shift, _sum(axis, out)


@in_float32
def softmax(x: np.ndarray, dim: int) -> np.ndarray:
    """e^x / sum(e^x) along `dim`."""
    return _along("softmax", dim, x)


def _numpy_softmax(axis: int, x: np.ndarray, out: np.ndarray) -> None:
    _, total = _shift_exp(axis, x, out)
    np.divide(out, total, out)


@in_float32
def log_softmax(x: np.ndarray, dim: int) -> np.ndarray:
    """x - log(sum(e^x)) along `dim`."""
    return _along("log_softmax", dim, x)


def _numpy_log_softmax(axis: int, x: np.ndarray, out: np.ndarray) -> None:
    np.subtract(x, _largest(axis, x), out)
    total = _sum(axis, np.exp(out))
    np.subtract(out, np.log(total, total), out)


@in_float32
def softmax_backward(grad: np.ndarray, y: np.ndarray, dim: int) -> np.ndarray:
    """Gradient of softmax given its result `y`: y * (grad - sum(grad * y))."""
    return _along("softmax_backward", dim, y, grad)


def _numpy_softmax_backward(axis: int, y: np.ndarray, grad: np.ndarray, out: np.ndarray) -> None:
    along = np.vecdot(grad, y)[:, None] if y.ndim == 2 and axis == 1 else _sum(axis, np.multiply(grad, y, out))
    np.subtract(grad, along, out)
    np.multiply(out, y, out)


@in_float32
def log_softmax_backward(grad: np.ndarray, y: np.ndarray, dim: int) -> np.ndarray:
    """Gradient of log_softmax given its result `y`: grad - e^y * sum(grad)."""
    return _along("log_softmax_backward", dim, y, grad)


def _numpy_log_softmax_backward(axis: int, y: np.ndarray, grad: np.ndarray, out: np.ndarray) -> None:
    np.exp(y, out)
    np.multiply(out, _sum(axis, grad), out)
    np.subtract(grad, out, out)


_NUMPY: dict[str, Callable[..., None]] = {
    "softmax": _numpy_softmax,
    "log_softmax": _numpy_log_softmax,
    "softmax_backward": _numpy_softmax_backward,
    "log_softmax_backward": _numpy_log_softmax_backward,
}


def logsumexp(x: np.ndarray, dims: tuple[int, ...], keepdim: bool) -> np.ndarray:
    """log(sum(e^x)) over `dims`, without overflow; an empty sum gives -inf, and an infinite maximum is the result."""
    dtype, shape, x = x.dtype, x.shape, widen(x)
    axes = dims if shape else ()
    kept = tuple(1 if i in axes else size for i, size in enumerate(shape))
    trailing = tuple(range(x.ndim - len(axes), x.ndim)) == tuple(sorted(axes))
    with silent():
        if x.size == 0:
            result = np.full(kept, -np.inf, x.dtype)
        elif trailing and x.dtype.kind == "f":
            result = _logsumexp_rows(np.ascontiguousarray(x).reshape(prod(kept), -1))
        else:
            real = x.real if x.dtype.kind == "c" else x
            shift = _finite(np.maximum.reduce(real, axes, keepdims=True))
            shifted = np.asarray(np.subtract(x, shift))
            result = np.log(np.add.reduce(np.exp(shifted, shifted), axes, keepdims=True))
            result = result + shift
    result = result.reshape(kept if keepdim else tuple(s for i, s in enumerate(shape) if i not in axes))
    return narrow(result, dtype)


def _finite(shift: np.ndarray) -> np.ndarray:
    """The shift, with 0 in place of +-inf, so that x - shift is not inf - inf."""
    shift = np.asarray(shift)  # for a 0-d array NumPy returns a scalar
    shift[np.isinf(shift)] = 0.0
    return shift


def _logsumexp_rows(x: np.ndarray) -> np.ndarray:
    out = np.empty(len(x), x.dtype)
    if _by_machine("logsumexp", x, out):
        return out

    def block(rows: slice) -> None:
        shift = _finite(row_max(x[rows]))
        shifted = np.subtract(x[rows], shift)
        np.log(row_sum(np.exp(shifted, shifted)), out[rows])
        out[rows] += shift[:, 0]

    each_block(block, *x.shape)
    return out


class SavedCrossEntropy(NamedTuple):
    """The saved values for the backward of `nll_from_logits`."""

    exps: np.ndarray  # (N, C), e^(logits - shift)
    totals: np.ndarray  # (N,), the row sums of exps
    picked: np.ndarray  # (N,), flat index of each row's target (of class 0 where ignored)
    pull: np.ndarray | None  # (N,), weight of the target's class in the loss; 0 where ignored, None for all ones
    smoothed: np.ndarray | None  # (N,), weight of every class by label smoothing; None without
    weight: np.ndarray | None  # (C,), the class weights; only kept with label smoothing
    ignored: np.ndarray | None  # (N,) bool; None if no row is
    denominator: float  # the divisor of the sum of the losses
    dtype: np.dtype  # of the logits

    def at_targets(self, grad: Any) -> np.ndarray:
        """The gradient with respect to the log-probabilities."""
        dense = np.zeros(self.exps.shape, self.dtype)
        if dense.size:
            values = np.divide(grad, -self.denominator)
            if self.pull is not None:
                values = values * self.pull
            if self.ignored is not None:
                values[self.ignored] = 0
            dense.reshape(-1)[self.picked] = values
        return dense

    def backward(self, grad: Any) -> np.ndarray:
        """The gradient with respect to the logits."""
        return nll_from_logits_backward(np.asarray(grad), self)


def check_target(target: np.ndarray, classes: int, ignore_index: int) -> tuple[np.ndarray, np.ndarray | None]:
    """The target with ignored entries as class 0, and the mask of the ignored ones (None if there are none)."""
    not_a_class = ignore_index < 0 or ignore_index >= classes
    if not_a_class and target.dtype == np.int64 and target.size and target.view(np.uint64).max() < classes:
        return target, None  # the usual case, checked in one pass: as unsigned, negative ones are huge
    ignored = np.equal(target, ignore_index)
    some = bool(ignored.any())
    if some:
        target = target * ~ignored
    if target.size and (target.min() < 0 or target.max() >= classes):
        bad = target[(target < 0) | (target >= classes)].flat[0]
        raise IndexError(f"Target {bad} is out of bounds.")
    return target, ignored if some else None


def _row_losses(
    logits: np.ndarray, picked: np.ndarray, weight: np.ndarray | None, smoothing: bool, keep_exps: bool
) -> tuple[np.ndarray | None, np.ndarray, np.ndarray, np.ndarray | None]:
    """(exps, totals, loss at the target, loss summed over all classes) of each row; the last only with smoothing."""
    rows, classes = logits.shape
    exps = np.empty_like(logits) if keep_exps else None
    totals, loss = np.empty(rows, logits.dtype), np.empty(rows, logits.dtype)
    if not smoothing:
        tops, kept = np.empty(rows, logits.dtype), () if exps is None else (exps,)
        if _by_machine("exponentials", logits, tops, totals, *kept, keep=keep_exps):
            np.subtract(np.log(totals, loss), np.subtract(logits.take(picked), tops, tops), loss)
            return exps, totals, loss, None
    everywhere = np.empty(rows, logits.dtype) if smoothing else None

    def block(part: slice) -> None:
        x = logits[part]
        out = np.empty_like(x) if exps is None else exps[part]
        at_target = x.take(picked[part] - part.start * classes)
        if everywhere is not None:
            total, log_total, at_target = _smoothed(x, out, at_target, weight, everywhere[part])
            np.subtract(log_total, at_target, loss[part])
        else:
            shift, sums = _shift_exp(1, x, out)
            total = sums[:, 0]
            if shift is None:
                _loss_unshifted(total, at_target, loss[part])
            else:
                np.subtract(np.log(total), np.subtract(at_target, shift[:, 0], at_target), loss[part])
        totals[part] = total

    each_block(block, rows, classes)
    return exps, totals, loss, everywhere


def _loss_unshifted(total: np.ndarray, at_target: np.ndarray, loss: np.ndarray) -> None:
    """log(total / e^at_target); computed as a difference where the quotient would overflow."""
    quotient = np.exp(at_target)
    np.divide(total, quotient, quotient)
    np.log(quotient, loss)
    if not np.maximum.reduce(quotient) < 1e37:
        far = ~(quotient < 1e37)
        loss[far] = np.log(total[far]) - at_target[far]


def _smoothed(
    x: np.ndarray, out: np.ndarray, at_target: np.ndarray, weight: np.ndarray | None, everywhere: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """With label smoothing the shift is never skipped, since the shifted logits are summed, too."""
    shift = row_max(x)
    np.subtract(x, shift, out)
    if weight is None:
        weighted, weights = row_sum(out), float(x.shape[1])
    else:
        weighted, weights = out @ weight, weight.sum()
    total = row_sum(np.exp(out, out))
    log_total = np.log(total)
    np.subtract(log_total * weights, weighted, everywhere)
    return total, log_total, at_target - shift[:, 0]


def nll_from_logits(
    logits: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
    need_backward: bool = True,
) -> tuple[np.ndarray, SavedCrossEntropy | None]:
    """Cross entropy of logits (N, C) and class indices (N,): the loss, and the saved values for `nll_from_logits_backward`.

    The loss is () for "mean" and "sum", (N,) for "none".
    """
    dtype, logits = logits.dtype, np.ascontiguousarray(widen(logits))
    rows, classes = logits.shape
    target, ignored = check_target(target, classes, ignore_index)
    weight = None if weight is None else np.ascontiguousarray(weight, logits.dtype)
    picked = target + np.arange(0, rows * classes, classes) if rows else target.astype(np.int64)
    with silent():
        exps, totals, loss, everywhere = _row_losses(logits, picked, weight, label_smoothing > 0, need_backward)
        pull = None if weight is None else weight.take(target)
        if ignored is not None:
            pull = (~ignored).astype(logits.dtype) if pull is None else pull * ~ignored
        denominator = 1.0
        if reduction == "mean":
            denominator = float(rows if pull is None else pull.sum(dtype=np.float64))
        smoothed = None
        if everywhere is not None:
            pull = (
                np.full(rows, 1.0 - label_smoothing, logits.dtype) if pull is None else pull * (1.0 - label_smoothing)
            )
            smoothed = np.full(rows, label_smoothing / classes, logits.dtype)
            if ignored is not None:
                smoothed *= ~ignored
            loss = loss * pull + everywhere * smoothed
        elif pull is not None:
            loss *= pull
        loss = _quiet(loss, ignored)
        if reduction != "none":
            total = float(np.add.reduce(loss, dtype=np.float64))
            loss = np.array(total / denominator if denominator else total * np.inf)
        result = narrow(loss, dtype)
    if exps is None:
        return result, None
    smooth_weight = weight if smoothed is not None else None
    return result, SavedCrossEntropy(exps, totals, picked, pull, smoothed, smooth_weight, ignored, denominator, dtype)


def nll_from_logits_backward(grad: np.ndarray, saved: SavedCrossEntropy) -> np.ndarray:
    """Gradient of `nll_from_logits` with respect to the logits; `grad` is () or, for reduction "none", (N,)."""
    exps, totals, picked, pull, smoothed, weight, ignored, denominator, dtype = saved
    out = np.empty_like(exps)
    if out.size == 0:
        return narrow(out, dtype)
    with silent():
        unit = np.divide(widen(grad), denominator, dtype=exps.dtype)
        due = unit if pull is None else _quiet(pull * unit, ignored)
        scale = due
        if smoothed is not None:
            smoothed = _quiet(smoothed * unit, ignored)
            scale = due + smoothed * (exps.shape[1] if weight is None else weight.sum())
        scale = np.divide(scale, totals)

        def block(rows: slice) -> None:
            np.multiply(exps[rows], scale[rows, None], out[rows])
            if smoothed is not None:
                out[rows] -= smoothed[rows, None] if weight is None else smoothed[rows, None] * weight

        if smoothed is not None or not _by_machine("scaled", exps, scale, out):
            each_block(block, *exps.shape)
        out.reshape(-1)[picked] -= due
    return narrow(out, dtype)


def _quiet(coefficients: np.ndarray, ignored: np.ndarray | None) -> np.ndarray:
    """The coefficients with 0 for ignored rows, which get no gradient even if the mean over no rows is NaN."""
    if ignored is not None:
        coefficients[ignored] = 0.0
    return coefficients


# ----- Softmax and log-softmax down the columns of large matrices, by native kernels ----------------------------------
# Several passes, each row by row. See Note [Native kernels]. The NumPy versions are the functions whose names begin with `_numpy`.


_GRAIN = 1 << 17  # elements per thread, at least


def _run_down_columns(name: str, *arrays: np.ndarray) -> None:
    """Run `name` along the columns of (count, rows, columns) arrays; the last one is the result."""
    count, rows, columns = arrays[0].shape
    body = _BODIES[name]

    def each(low: int, high: int) -> None:
        for i in range(low, high):
            body(*[a[i] for a in arrays])

    parallel_for(each, count, -(-_GRAIN // (rows * columns)), blas=False)


def _exponentials(x: np.ndarray, *out: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The largest element of each column and the sum of e^(x - largest); these exponentials are written to `out` if it is given."""
    top, total = np.full(x.shape[1], -np.inf, x.dtype), np.zeros(x.shape[1], x.dtype)
    native.in_order(definitions.column_tops, x.shape, x, top)
    native.in_order(definitions.column_exponentials, x.shape, x, top, total, *out, keep=bool(out))
    return top, total


def _softmax(x: np.ndarray, out: np.ndarray) -> None:
    _, total = _exponentials(x, out)
    native.in_order(definitions.column_scaled, x.shape, out, np.reciprocal(total, total))


def _log_softmax(x: np.ndarray, out: np.ndarray) -> None:
    top, total = _exponentials(x)
    native.in_order(definitions.column_shifted, x.shape, x, top, np.log(total, total), out)


def _softmax_backward(y: np.ndarray, grad: np.ndarray, out: np.ndarray) -> None:
    along = np.zeros(y.shape[1], y.dtype)
    native.in_order(definitions.column_products, y.shape, y, grad, along)
    native.in_order(definitions.column_softmax_backward, y.shape, y, grad, along, out)


def _log_softmax_backward(y: np.ndarray, grad: np.ndarray, out: np.ndarray) -> None:
    native.in_order(definitions.column_log_softmax_backward, y.shape, y, grad, reduce_sum(grad, (0,)), out)


_BODIES: dict[str, Callable[..., None]] = {
    "softmax": _softmax,
    "log_softmax": _log_softmax,
    "softmax_backward": _softmax_backward,
    "log_softmax_backward": _log_softmax_backward,
}
