"""Convolution: the forward pass and its two transposes, on raw arrays.

``conv`` is bilinear in its input and its weights, and ``conv_input_grad`` and ``conv_weight_grad`` are its transposes,
so the three are closed under differentiation. None of them conjugates: for complex arrays the caller does.

There are eight ways to do the work, each in a file of its own, and this file chooses:

- `small`: for small images, where every call of NumPy counts.
- `im2col`: copy the windows and multiply. The general way.
- `winograd_numpy`: the same with a third fewer multiplications, for kernels of 3 with enough channels.
- `winograd`: with half the multiplications and more, for kernels of 3 x 3, where machine code can be run.
- `implicit`: like the general way, but with windows where they are, where machine code can be run.
- `col2im`: multiply and then add each tap where it belongs. Cheaper when there are few channels to add to.
- `depthwise`: one channel to a group; shift, scale and add. `depthwise_compiled`: the same where machine code can be run.
- `products`: kernels of one number, and kernels as large as the images, which are matrix products as they are.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from math import gcd, prod

import numpy as np

from ..copies import contiguous
from ..linalg import blas
from ..numpy_warnings import silent
from ..parallel import blas_alone
from ..rows import quiet
from .col2im import scatter
from .depthwise import depthwise, depthwise_weight
from .depthwise_compiled import planes, planes_weight, suits_planes
from .im2col import Ints, gather, gather_weight, is_half
from .implicit import flat, flat_together, flat_weight, suits_flat
from .products import (
    channels_last,
    patches_input,
    points,
    points_input,
    points_last,
    points_weight,
    suits_patches,
    suits_points,
    suits_whole,
    whole,
    whole_input,
    whole_weight,
)
from .small import SMALL, find_small
from .winograd import suits_tiles, tiles, tiles_weight
from .winograd_numpy import suits_winograd, winograd_scatter, winograd_weight
from .winograd_numpy import winograd as winograd_numpy

_MOST_ZEROS = 4  # places for each that holds a number
_FEW_WEIGHTS = 1 << 11  # which BLAS would take longer to arrange than to multiply


def conv_output_shape(input_shape: Ints, weight_shape: Ints, stride: Ints, padding: Ints, dilation: Ints) -> Ints:
    """The shape ``(N, O, *spatial)`` of a convolution's result; a spatial size may come out as zero or less."""
    sizes = zip(input_shape[2:], weight_shape[2:], stride, padding, dilation, strict=True)
    return (input_shape[0], weight_shape[0], *((n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in sizes))


def conv(
    x: np.ndarray, w: np.ndarray, stride: Ints, padding: Ints, dilation: Ints, groups: int,
    bias: np.ndarray | None = None,
) -> np.ndarray:  # fmt: skip
    """Correlate ``x`` ``(N, C, *spatial)`` with ``w`` ``(O, C // groups, *kernel)``, zero padded, and add the bias.

    >>> import numpy as np
    >>> conv(np.arange(4.0).reshape(1, 1, 4), np.ones((1, 1, 2)), (1,), (0,), (1,), 1)
    array([[[1., 3., 5.]]])
    """
    if is_half(x):
        return _in_single(conv, x, w, stride, padding, dilation, groups, bias)
    if x.size <= SMALL:
        small = find_small(x.shape, w.shape, None, stride, padding, dilation, groups)
        if small is not None:
            return small.correlate(x, w, bias)
    if groups == 1 and _is_mixing(w.shape, stride, padding) and x.size and (rows := channels_last(x)) is not None:
        with silent():
            return points_last(rows, w, len(x), x.shape[2:], bias, False)
    y = np.empty(conv_output_shape(x.shape, w.shape, stride, padding, dilation), x.dtype)
    if not x.size or not w.size:
        y[...] = 0 if bias is None else bias.reshape(-1, *(1,) * len(stride))
    elif y.size:
        with silent():
            _correlate(contiguous(x), w, padding, stride, dilation, groups, y, bias)
    return y


def conv_input_grad(
    grad: np.ndarray, w: np.ndarray, input_shape: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int,
    bias: np.ndarray | None = None,
) -> np.ndarray:  # fmt: skip
    """The transpose of `conv` in its input, which is also the forward pass of a transposed convolution (plus bias).

    >>> import numpy as np
    >>> conv_input_grad(np.ones((1, 1, 3)), np.ones((1, 1, 2)), (1, 1, 4), (1,), (0,), (1,), 1)
    array([[[1., 2., 2., 1.]]])
    """
    if is_half(grad):
        return _in_single(conv_input_grad, grad, w, input_shape, stride, padding, dilation, groups, bias)
    if grad.size <= SMALL:
        small = find_small(input_shape, w.shape, grad.shape, stride, padding, dilation, groups)
        if small is not None:
            return small.transpose(grad, w, bias)
    if groups == 1 and _is_mixing(w.shape, stride, padding) and grad.size and (rows := channels_last(grad)) is not None:
        with silent():
            return points_last(rows, w, len(grad), grad.shape[2:], bias, True)
    x = np.empty(input_shape, grad.dtype)
    if not grad.size or not w.size:
        x[...] = 0 if bias is None else bias.reshape(-1, *(1,) * len(stride))
    elif x.size:
        grad = contiguous(grad)
        with silent():
            if w.shape[1] > 1 and suits_points(w.shape, padding):
                points_input(grad, w, stride, groups, x, bias)
                return x
            if w.shape[1] > 1 and suits_whole(padding, grad.shape):
                whole_input(grad, w, dilation, groups, x, bias)
                return x
            if w.shape[1] > 1 and suits_patches(w.shape, stride, padding, dilation):
                patches_input(grad, w, stride, groups, x, bias)
                return x
            strided = prod(stride) > 1
            if (
                strided
                and w.shape[1] == 1
                and groups == len(w)
                and _spread(grad, w, padding, stride, dilation, x, bias)
            ):
                return x
            together = strided and _suits_flat_phases(grad, w.shape, input_shape, stride, groups)
            if strided and not together and _is_few(w.shape[1], w.shape[0] // groups, w.shape[2:]):
                scatter(grad, w, padding, stride, dilation, groups, x, bias)
            else:
                _correlate_phases(grad, _flip(w, groups), padding, stride, dilation, groups, x, bias, together)
    return x


def conv_weight_grad(
    grad: np.ndarray, x: np.ndarray, weight_shape: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> np.ndarray:
    """The transpose of `conv` in its weights.

    >>> import numpy as np
    >>> conv_weight_grad(np.ones((1, 1, 3)), np.arange(4.0).reshape(1, 1, 4), (1, 1, 2), (1,), (0,), (1,), 1)
    array([[[3., 6.]]])
    """
    if is_half(grad):
        return _in_single(conv_weight_grad, grad, x, weight_shape, stride, padding, dilation, groups)
    if x.size <= SMALL:
        small = find_small(x.shape, weight_shape, grad.shape, stride, padding, dilation, groups)
        if small is not None:
            return small.weigh(grad, x)
    if groups == 1 and _is_mixing(weight_shape, stride, padding):
        results, sources = channels_last(grad), channels_last(x)
        if results is not None and sources is not None:
            with silent():
                return blas.multiply(results.T, sources).reshape(weight_shape)
    if not grad.size or not x.size:
        return np.zeros(weight_shape, grad.dtype)
    grad, x, kernel = contiguous(grad), contiguous(x), weight_shape[2:]
    with silent():
        result = _quick_weight(grad, x, weight_shape, stride, padding, dilation, groups)
        # Infinities met with both signs, or zeros, on the way: only the direct sums say which of them stay.
        if result is not None and np.isfinite(result.sum()):
            return result
        return gather_weight(grad, x, padding, kernel, stride, dilation, groups)


def _quick_weight(
    grad: np.ndarray, x: np.ndarray, weight_shape: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> np.ndarray | None:
    """The gradient of the weights in a way that is right for finite numbers; None if no such way suits the sizes."""
    sizes = x, weight_shape, stride, dilation, groups, grad.shape
    kernel = weight_shape[2:]
    if weight_shape[1] == 1 and groups == x.shape[1] and weight_shape[0] <= 2 * groups:
        if weight_shape[0] == groups and suits_planes(x, stride, padding, kernel, dilation, grad.shape[2:]):
            return planes_weight(grad, x, padding, kernel, stride, dilation)
        if suits_flat(*sizes):
            return flat_weight(grad, x, padding, kernel, stride, dilation, groups)
        return depthwise_weight(grad, x, padding, kernel, stride, dilation)
    if suits_points(weight_shape, padding):
        return points_weight(grad, x, weight_shape, stride, groups)
    if suits_whole(padding, grad.shape):
        return whole_weight(grad, x, weight_shape, dilation, groups)
    if suits_tiles(*sizes):
        return tiles_weight(grad, x, padding, groups)
    if suits_flat(*sizes):
        return flat_weight(grad, x, padding, kernel, stride, dilation, groups)
    if suits_winograd(*sizes):
        return winograd_weight(grad, x, padding, kernel, stride, dilation)
    return None


@quiet
def _in_single(function, first: np.ndarray, *rest):  # type: ignore[no-untyped-def]
    """Call with all 16-bit floats as float32, and round the result back."""
    args = [a.astype(np.float32) if isinstance(a, np.ndarray) else a for a in (first, *rest)]
    return function(*args).astype(first.dtype)


def _correlate(
    x: np.ndarray, w: np.ndarray, low: Ints, stride: Ints, dilation: Ints, groups: int, out: np.ndarray,
    bias: np.ndarray | None,
) -> None:  # fmt: skip
    """Correlate contiguous `x` with `w` into `out`, in the way that suits the sizes."""
    kernel, each = w.shape[2:], w.shape[0] // groups
    unit = prod(stride) == 1
    # The same correlation as a transpose: of one with the flipped kernel, under this border.
    turned = tuple(d * (k - 1) - p for k, d, p in zip(kernel, dilation, low, strict=True))
    if w.shape[1] == 1 and groups == x.shape[1] and each <= 2:
        if each == 1 and suits_planes(x, stride, low, kernel, dilation, out.shape[2:]):
            planes(x, w, low, stride, dilation, out, bias)
        elif suits_flat(x, w.shape, stride, dilation, groups, out.shape):
            flat(x, w, low, stride, dilation, groups, out, bias)
        else:
            depthwise(x, w, low, stride, dilation, out, bias)
    elif suits_points(w.shape, low) and out.flags.c_contiguous:
        lines = (*x.shape[:2], prod(x.shape[2:])), (*w.shape[:2], 1), (*out.shape[:2], prod(out.shape[2:]))
        if (
            unit
            and min(each, w.shape[1]) > 1
            and (len(x) > 1 or w.size <= _FEW_WEIGHTS)
            and suits_flat(x, lines[1], (1,), (1,), groups, lines[2])
        ):
            flat(x.reshape(lines[0]), w.reshape(lines[1]), (0,), (1,), (1,), groups, out.reshape(lines[2]), bias)
        else:
            points(x, w, stride, groups, out, bias)
    elif suits_whole(low, out.shape) and out.flags.c_contiguous:
        whole(x, w, dilation, groups, out, bias)
    elif suits_tiles(x, w.shape, stride, dilation, groups, out.shape) and out.flags.c_contiguous and _is_tame(x, w):
        tiles(x, w, low, groups, out, bias)
    elif suits_flat(x, w.shape, stride, dilation, groups, out.shape):
        flat(x, w, low, stride, dilation, groups, out, bias)
    elif suits_winograd(x, w.shape, stride, dilation, groups, out.shape) and _is_tame(x, w):
        if unit and each < w.shape[1]:
            winograd_scatter(x, _flip(w, groups), turned, dilation, out, bias)
        else:
            winograd_numpy(x, w, low, stride, dilation, out, bias)
    elif unit and _is_few(each, w.shape[1], kernel) and prod(x.shape[2:]) <= 2 * prod(out.shape[2:]):
        scatter(x, _flip(w, groups), turned, stride, dilation, groups, out, bias)
    else:
        gather(x, w, low, stride, dilation, groups, out, bias)


def _is_mixing(weight: Ints, stride: Ints, padding: Ints) -> bool:
    """Whether each position is mixed with itself only."""
    return prod(weight[2:]) == prod(stride) == 1 and suits_points(weight, padding)


def _is_few(results: int, sources: int, kernel: Ints) -> bool:
    """Whether adding up `results` channels tap by tap is cheaper than copying the windows of `sources` channels."""
    return prod(kernel) > 1 and 5 * results < 3 * sources


def _flip(w: np.ndarray, groups: int) -> np.ndarray:
    """Weights ``(O, C // groups, *kernel)`` as ``(C, O // groups, *kernel reversed)``, a view if there is one group."""
    flipped = w[(slice(None), slice(None), *(slice(None, None, -1) for _ in w.shape[2:]))]
    if groups == 1:
        return flipped.swapaxes(0, 1)
    each, channels, kernel = w.shape[0] // groups, w.shape[1], w.shape[2:]
    return flipped.reshape(groups, each, channels, *kernel).swapaxes(1, 2).reshape(groups * channels, each, *kernel)


def _is_tame(x: np.ndarray, w: np.ndarray) -> bool:
    """Whether Winograd's sums and differences keep every meaning: finite values, and no weight exactly zero.

    An infinity would turn into NaN, and where a weight is zero a user may rely on a result that does not depend on an
    input at all (masked convolutions), which holds only up to rounding there.
    """
    flat = x.reshape(-1)
    with silent(), blas_alone():  # see Note [One set of threads]
        finite = np.isfinite(np.dot(flat, flat))
    return bool(finite and np.isfinite(w).all() and w.all())


def _suits_flat_phases(grad: np.ndarray, weight: Ints, input_shape: Ints, stride: Ints, groups: int) -> bool:
    """Whether `flat` suits the correlations of `_correlate_phases`, about."""
    ones = (1,) * len(stride)
    kernel = [-(-k // s) for k, s in zip(weight[2:], stride, strict=True)]
    size = [n // s for n, s in zip(input_shape[2:], stride, strict=True)]  # of the smallest
    flipped = (weight[1] * groups, weight[0] // groups, *kernel)
    return suits_flat(grad, flipped, ones, ones, groups, (*input_shape[:2], *size))


def _spread(
    grad: np.ndarray, w: np.ndarray, padding: Ints, stride: Ints, dilation: Ints, x: np.ndarray, bias: np.ndarray | None
) -> bool:
    """The transpose of a strided convolution of single channels: a plain one of the gradient with zeros between. Says whether it could be done.

    More products than with `_correlate_phases`, but all of neighbours, and in one go. An infinite weight must not meet those zeros.
    """
    if grad.dtype != np.float32 or prod(stride) > _MOST_ZEROS or not np.isfinite(w).all():
        return False
    ones, low = (1,) * len(stride), tuple([d * (k - 1) - p for k, d, p in zip(w.shape[2:], dilation, padding)])
    wide = np.zeros((*grad.shape[:2], *[(n - 1) * s + 1 for n, s in zip(grad.shape[2:], stride)]), np.float32)
    if not suits_planes(wide, ones, low, w.shape[2:], dilation, x.shape[2:]):
        return False
    wide[(slice(None), slice(None), *[slice(None, None, s) for s in stride])] = grad
    planes(wide, _flip(w, 1).swapaxes(0, 1), low, ones, dilation, x, bias)
    return True


# Where a phase's weights are in those of the flipped kernel, its border, and where its results are in the input.
_Phase = tuple[tuple[slice, ...], Ints, tuple[slice, ...]]


@lru_cache(128)
def _phases(
    size: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints
) -> tuple[list[_Phase], list[tuple[slice, ...]], Ints]:
    """The correlations of `_correlate_phases`; where the input is that no tap reaches; and by how much taps are apart."""
    places: list[list[tuple[slice, slice | None, int]]] = []
    for n, k, s, p, d in zip(size, kernel, stride, padding, dilation, strict=True):
        places.append([])
        for start in range(min(s, n)):
            taps = [tap for tap in range(k) if (tap * d - start - p) % s == 0]
            # The flipped kernel holds tap k - 1 - m at m.
            pick = slice(k - 1 - taps[-1], None, s // gcd(s, d)) if taps else None
            low = (taps[-1] * d - start - p) // s if taps else 0
            places[-1].append((slice(start, None, s), pick, low))
    every = (slice(None), slice(None))
    parts: list[_Phase] = []
    empty = []
    for phase in product(*places):
        where = (*every, *[where for where, _, _ in phase])
        picks = [pick for _, pick, _ in phase if pick is not None]
        if len(picks) < len(phase):
            empty.append(where)
        else:
            parts.append(((*every, *picks), tuple([low for _, _, low in phase]), where))
    return parts, empty, tuple([d // gcd(s, d) for s, d in zip(stride, dilation, strict=True)])


def _correlate_phases(
    grad: np.ndarray, flip: np.ndarray, padding: Ints, stride: Ints, dilation: Ints, groups: int, x: np.ndarray,
    bias: np.ndarray | None, together: bool,
) -> None:  # fmt: skip
    """The transpose of a strided convolution as one plain correlation for each remainder of the stride: `flat_together`, if that suits.

    In one dim, input ``i`` gets ``grad[t] * w[k]`` from all ``t * s + k * d == i + p``. Inputs with
    ``(i + p) % s == r`` are reached by every ``s / gcd(s, d)``-th tap, each ``d / gcd(s, d)`` positions before the last.
    """
    phases, empty, steps = _phases(x.shape[2:], flip.shape[2:], stride, padding, dilation)
    for where in empty:
        x[where] = 0 if bias is None else bias.reshape(-1, *(1,) * len(stride))
    parts = [(flip[pick], border, x[where]) for pick, border, where in phases]
    if len(parts) > 1 and together:
        flat_together(grad, parts, steps, groups, bias)
        return
    for part, border, out in parts:
        _correlate(grad, part, border, (1,) * len(stride), steps, groups, out, bias)
