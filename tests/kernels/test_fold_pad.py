"""Sliding blocks and padding: values, and every backward as the transpose of its forward."""

from __future__ import annotations

import numpy as np
import pytest

import penlight
from penlight.kernels.conv.fold import block_counts, fold, unfold
from penlight.kernels.pad import pad, pad_backward
from penlight.nn import functional as F

# (sizes, kernel, dilation, padding, stride)
FOLDS = [
    ((6, 6), (2, 2), (1, 1), (0, 0), (2, 2)),
    ((7, 5), (3, 2), (1, 2), (1, 0), (1, 1)),
    ((9, 8), (3, 3), (2, 1), (2, 1), (2, 3)),
    ((9, 8), (2, 2), (1, 1), (1, 1), (4, 3)),
    ((12,), (4,), (2,), (1,), (3,)),
    ((4, 5, 6), (2, 2, 3), (1, 1, 1), (0, 1, 1), (2, 1, 3)),
]


@pytest.mark.usefixtures("any_way")
@pytest.mark.parametrize("case", FOLDS, ids=str)
def test_unfold_and_fold_are_transposes(case):
    sizes, kernel, dilation, padding, stride = case
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, 3, *sizes))
    columns = unfold(x, kernel, dilation, padding, stride)
    counts = block_counts(sizes, kernel, dilation, padding, stride)
    assert columns.shape == (2, 3 * np.prod(kernel), np.prod(counts))
    padded = np.pad(x, [(0, 0), (0, 0), *((p, p) for p in padding)])
    blocks = columns.reshape(2, 3, *kernel, *counts)
    for tap in np.ndindex(*kernel):
        slices = (slice(t * d, t * d + s * n, s) for t, d, s, n in zip(tap, dilation, stride, counts))
        np.testing.assert_array_equal(blocks[(slice(None), slice(None), *tap)], padded[(..., *slices)])
    other = rng.standard_normal(columns.shape)
    back = fold(other, sizes, kernel, dilation, padding, stride)
    assert back.shape == x.shape
    np.testing.assert_allclose(np.vdot(back, x), np.vdot(other, columns), rtol=1e-10)
    unit = np.zeros_like(x)
    unit[1, 2].flat[7] = 1
    np.testing.assert_allclose(back[1, 2].flat[7], np.vdot(unfold(unit, *case[1:]), other), atol=1e-12)


@pytest.mark.usefixtures("any_way")
def test_fold_of_half_and_empty():
    columns = np.ones((1, 4, 9), np.float16)
    assert fold(columns, (4, 4), (2, 2), (1, 1), (0, 0), (1, 1)).dtype == np.float16
    assert unfold(np.empty((0, 2, 4, 4)), (2, 2), (1, 1), (0, 0), (1, 1)).shape == (0, 8, 9)
    assert fold(np.empty((0, 8, 9)), (4, 4), (2, 2), (1, 1), (0, 0), (1, 1)).shape == (0, 2, 4, 4)


@pytest.mark.parametrize(
    ("pads", "mode", "expected"),
    [
        ([(1, 2)], "constant", [9, 0, 1, 2, 9, 9]),
        ([(-1, 2)], "constant", [1, 2, 9, 9]),
        ([(-1, -1)], "constant", [1]),
        ([(2, 1)], "reflect", [2, 1, 0, 1, 2, 1]),
        ([(-1, 2)], "reflect", [1, 2, 1, 0]),
        ([(2, 3)], "replicate", [0, 0, 0, 1, 2, 2, 2, 2]),
        ([(-1, 1)], "replicate", [1, 2, 2]),
        ([(3, 1)], "circular", [0, 1, 2, 0, 1, 2, 0]),
        ([(-1, 1)], "circular", [1, 2, 1]),
        ([(0, 0)], "reflect", [0, 1, 2]),
    ],
)
@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.complex64])
def test_pad_values(pads, mode, expected, dtype):
    result = pad(np.arange(3).astype(dtype), pads, mode, 9)
    np.testing.assert_array_equal(result, np.array(expected, dtype))
    assert result.dtype == dtype and result.flags.c_contiguous and result.flags.owndata


@pytest.mark.parametrize(("mode", "other"), [("reflect", "reflect"), ("replicate", "edge"), ("circular", "wrap")])
@pytest.mark.parametrize("shape", [(1, 1, 70, 71), (3, 1000, 7), (1, 300, 301)], ids=str)
def test_pad_of_more_than_a_few(shape, mode, other):
    x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    pads = [(1, 1), (3, 2)]
    expected = np.pad(x, [(0, 0)] * (x.ndim - 2) + pads, mode=other)
    np.testing.assert_array_equal(pad(x, pads, mode), expected)


def test_pad_of_a_number():
    np.testing.assert_array_equal(pad(np.array(2.0), []), np.array(2.0))


@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate", "circular"])
@pytest.mark.parametrize("pads", [[(1, 2)], [(2, 1), (0, 3)], [(1, 1), (2, 0), (1, 2)], [(-1, 2), (3, -2)]], ids=str)
def test_pad_backward_is_the_transpose(mode, pads):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, 4, 5, 6))
    y = pad(x, pads, mode)
    grad = rng.standard_normal(y.shape)
    kept = grad.copy()
    back = pad_backward(grad, x.shape, pads, mode)
    np.testing.assert_array_equal(grad, kept)
    assert back.shape == x.shape and back.flags.owndata
    for at in [(0, 0, 0, 0), (1, 1, 2, 3), (1, 3, 4, 5), (0, 2, 0, 5)]:
        unit = np.zeros_like(x)
        unit[at] = 1
        np.testing.assert_allclose(back[at], np.vdot(pad(unit, pads, mode), grad), atol=1e-12)


@pytest.mark.parametrize(
    ("pads", "mode", "message"),
    [
        ([(3, 0)], "reflect", r"padding \(3, 0\) at dimension 0 of input \[3\]"),
        ([(4, 0)], "circular", "wrapping around more than once"),
        ([(3, -1)], "circular", "wrapping around more than once"),
        ([(-2, -2)], "constant", "resulted in a negative output size"),
    ],
)
def test_impossible_pads(pads, mode, message):
    with pytest.raises(RuntimeError, match=message):
        pad(np.arange(3.0), pads, mode)


def test_unknown_mode():
    with pytest.raises(NotImplementedError, match="Unrecognised padding mode mirror"):
        pad(np.arange(3.0), [(1, 1)], "mirror")


def test_fold_of_truth_values():
    folded = F.fold(penlight.ones(1, 8, 9, dtype=penlight.bool), (4, 4), (2, 2))
    assert folded.dtype is penlight.bool
    assert folded.all()
