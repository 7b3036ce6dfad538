"""Sorting kernels against NumPy's stable argsort and pinned values from torch."""

from __future__ import annotations

import numpy as np
import pytest

import penlight
from penlight.kernels import sorting as K

rng = np.random.default_rng(0)
INF, NAN = float("inf"), float("nan")
MIXED = np.float32([3, NAN, 1, 3, -INF, NAN, 1, 0, -0.0])


def arrays():
    """Arrays that take every path: small and packed, with and without ties and NaN, every kind of dtype."""
    for dtype in ("f4", "f8", "f2", "i8", "i4", "i2", "u1", "u4", "?"):
        for shape in ((9,), (60, 50)):
            x = rng.integers(0, 9, shape).astype(dtype)
            yield x
            if dtype[0] == "f":
                x = rng.standard_normal(shape).astype(dtype)
                yield x
                x = x.copy()
                x[rng.random(shape) < 0.2] = NAN
                yield x
    yield rng.integers(-(2**62), 2**62, 3000)


ARRAYS = list(arrays())


@pytest.mark.parametrize("x", ARRAYS, ids=[f"{x.dtype}{x.shape}" for x in ARRAYS])
def test_sort_is_stable(x):
    for dim in range(x.ndim):
        values, indices = K.sort(x, dim)
        expected = np.argsort(x, dim, kind="stable")
        np.testing.assert_array_equal(indices, expected)
        np.testing.assert_array_equal(values, np.take_along_axis(x, expected, dim))
        assert values.dtype == x.dtype
        assert indices.dtype == np.int64
        flipped = x.shape[dim] - 1 - np.flip(np.argsort(np.flip(x, dim), dim, kind="stable"), dim)
        values, indices = K.sort(x, dim, descending=True)
        np.testing.assert_array_equal(indices, flipped)
        np.testing.assert_array_equal(values, np.take_along_axis(x, flipped, dim))
        np.testing.assert_array_equal(K.argsort(x, dim, True), flipped)


@pytest.mark.parametrize("x", ARRAYS, ids=[f"{x.dtype}{x.shape}" for x in ARRAYS])
def test_topk_and_kthvalue_are_parts_of_sort(x):
    for dim in range(x.ndim):
        n = x.shape[dim]
        for k in (0, 1, 3, n):
            for largest in (True, False):
                values, indices = K.topk(x, k, dim, largest)
                all_values, all_indices = K.sort(x, dim, descending=largest)
                np.testing.assert_array_equal(values, np.take(all_values, range(k), dim))
                np.testing.assert_array_equal(indices, np.take(all_indices, range(k), dim))
        all_values, all_indices = K.sort(x, dim)
        for k in (1, n // 2, n):
            value, index = K.kthvalue(x, k, dim)
            np.testing.assert_array_equal(value, np.take(all_values, k - 1, dim))
            np.testing.assert_array_equal(index, np.take(all_indices, k - 1, dim))


@pytest.mark.parametrize("dtype", ["f4", "f8", "i8"])
@pytest.mark.parametrize("largest", [True, False])
def test_topk_of_long_rows(dtype, largest):
    x = rng.integers(0, 1000, (2, 20_000)).astype(dtype)
    if dtype[0] == "f":
        x[0, 77] = NAN
        x[1, :19_990] = NAN
    for k in (1, 25, 5000):
        values, indices = K.topk(x, k, 1, largest)
        all_values, all_indices = K.sort(x, 1, descending=largest)
        np.testing.assert_array_equal(values, all_values[:, :k])
        np.testing.assert_array_equal(indices, all_indices[:, :k])


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i8", "u1", "?"])
@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("n", [100, 1000, 9000])
def test_topk_of_one_row(dtype, largest, n):
    few = rng.integers(0, 7, n).astype(dtype)
    many = (100 * rng.standard_normal(2 * n)).astype(dtype)[::2] if dtype != "u1" else few[::-1]
    for x in (few, many):
        rows = [x]
        if dtype[0] == "f":
            for share in (0.01, 0.9):
                rows.append(x.copy())
                rows[-1][rng.random(n) < share] = NAN
            x[rng.random(n) < 0.3] = -0.0
        for row in rows:
            order = K.argsort(row, 0, largest)
            for k in (1, 10, n // 5):
                values, indices = K.topk(row, k, 0, largest)
                np.testing.assert_array_equal(indices, order[:k])
                np.testing.assert_array_equal(values, row[order[:k]])
                assert indices.flags.c_contiguous and indices.dtype == np.int64 and values.dtype == row.dtype


def test_pinned_order_with_nan_and_signed_zero():
    assert K.sort(MIXED, 0)[1].tolist() == [4, 7, 8, 2, 6, 0, 3, 1, 5]
    assert K.sort(MIXED, 0, True)[1].tolist() == [1, 5, 0, 3, 2, 6, 7, 8, 4]
    assert [K.kthvalue(MIXED, k, 0)[1].item() for k in range(1, 10)] == [4, 7, 8, 2, 6, 0, 3, 1, 5]
    repeated = np.tile(MIXED, (300, 1))
    assert (K.argsort(repeated, 1) == [4, 7, 8, 2, 6, 0, 3, 1, 5]).all()
    negative_nan = np.float32([1, -NAN, INF] * 1000)
    assert np.isnan(K.sort(negative_nan, 0)[0][-1000:]).all()


def test_median():
    value, index = K.median(np.float32([1, 2, 2, 2, 1, 1, 0, 2]), 0)
    assert (value, index) == (1, 5)
    value, index = K.median(MIXED, 0)
    assert np.isnan(value)
    assert index == 1
    value, index = K.nanmedian(MIXED, 0)
    assert (value, index) == (1, 2)
    value, index = K.nanmedian(np.float32([NAN, NAN]), 0)
    assert np.isnan(value)
    assert index == 0
    assert K.median(np.array([3, 1, 2, 4]), 0)[0] == 2
    for n in range(1, 9):
        assert K.median(np.ones(n), 0)[1] == (n - 1) // 2
    x = rng.standard_normal((70, 51))
    np.testing.assert_array_equal(K.median(x, 1, True)[0], np.median(x, 1, keepdims=True))
    x[rng.random(x.shape) < 0.3] = NAN
    odd = np.count_nonzero(~np.isnan(x), 1) % 2 == 1
    np.testing.assert_array_equal(K.nanmedian(x, 1)[0][odd], np.nanmedian(x, 1)[odd])


def test_mode():
    for values, expected in (
        ([1, 2, 2, 2, 1, 1, 0, 2], (2, 7)),
        ([1, 1, 2, 2, 3], (1, 1)),
        ([2, 2, 1, 1, 3], (1, 3)),
        ([3, 1, 2], (1, 1)),
    ):
        value, index = K.mode(np.array(values), 0)
        assert (value, index) == expected
    assert K.mode(np.array([[1, 2, 2], [3, 3, 1]]), 1, True)[0].tolist() == [[2], [3]]
    assert K.mode(np.array([[1, 2, 2], [3, 2, 1]]), 0)[0].tolist() == [1, 2, 1]


def test_scalars_and_empty():
    scalar = np.array(3.0)
    for value, index in (
        K.sort(scalar, 0),
        K.topk(scalar, 1, 0),
        K.kthvalue(scalar, 1, 0),
        K.median(scalar, 0),
        K.mode(scalar, 0),
    ):
        assert value.shape == index.shape == ()
        assert (value, index) == (3, 0)
    assert K.sort(np.zeros((0, 3)), 0)[0].shape == (0, 3)
    assert K.sort(np.zeros((0, 3)), 1)[1].shape == (0, 3)
    assert K.topk(np.zeros((0, 3)), 2, 1)[1].shape == (0, 2)
    for name in ("median", "nanmedian", "mode"):
        kernel = getattr(K, name)
        assert kernel(np.zeros((0, 3)), 1)[1].shape == (0,)
        with pytest.raises(IndexError, match=rf"{name}\(\): Expected reduction dim 0 to have non-zero size"):
            kernel(np.zeros((0, 3)), 0)
    with pytest.raises(IndexError, match=r"kthvalue\(\): Expected reduction dim 0"):
        K.kthvalue(np.zeros(0), 1, 0)
    with pytest.raises(RuntimeError, match="selected number k out of range for dimension 0"):
        K.kthvalue(np.zeros(3), 4, 0)
    with pytest.raises(RuntimeError, match="selected index k out of range"):
        penlight.zeros(3).topk(4)


@pytest.mark.parametrize("x", ARRAYS, ids=[f"{x.dtype}{x.shape}" for x in ARRAYS])
def test_unique(x):
    values, inverse, counts = K.unique(x, True, True)
    np.testing.assert_array_equal(values, np.unique(x, equal_nan=False))
    np.testing.assert_array_equal(values[inverse], x)
    np.testing.assert_array_equal(counts, np.bincount(inverse.ravel()))
    alone = K.unique(x, False, True)
    np.testing.assert_array_equal(alone[0], values)
    np.testing.assert_array_equal(alone[2], counts)
    assert alone[1] is None


def test_unique_pinned():
    values, inverse, counts = K.unique(np.float32([3, NAN, 1, 3, NAN, 1]), True, True)
    np.testing.assert_array_equal(values, np.float32([1, 3, NAN, NAN]))
    assert (inverse.tolist(), counts.tolist()) == ([1, 2, 0, 1, 3, 0], [2, 2, 1, 1])
    slices, inverse, counts = K.unique_dim(np.array([[3, 1], [2, 3], [3, 1], [2, 0]]), 0, True, True)
    assert slices.tolist() == [[2, 0], [2, 3], [3, 1]]
    assert (inverse.tolist(), counts.tolist()) == ([2, 1, 2, 0], [1, 1, 2])
    slices, inverse, _ = K.unique_dim(np.array([[3, 1, 3], [2, 3, 2]]), 1, True)
    assert (slices.tolist(), inverse.tolist()) == ([[1, 3], [3, 2]], [1, 0, 1])
    slices, inverse, _ = K.unique_dim(np.array([[NAN, 1], [NAN, 1], [-0.0, 0], [0, 0]]), 0, True)
    assert inverse.tolist() == [1, 2, 0, 0]
    assert K.unique(np.array(3.0), True, True)[1].shape == ()
    assert [part.shape for part in K.unique_dim(np.zeros((0, 3)), 0, True, True)] == [(0, 3), (0,), (0,)]
    with pytest.raises(RuntimeError, match="There are 0 sized dimensions"):
        K.unique_dim(np.zeros((0, 3)), 1)


def test_unique_consecutive_pinned():
    values, inverse, counts = K.unique_consecutive(np.array([1, 1, 2, 2, 1]), None, True, True)
    assert (values.tolist(), inverse.tolist(), counts.tolist()) == ([1, 2, 1], [0, 0, 1, 1, 2], [2, 2, 1])
    values, inverse, _ = K.unique_consecutive(np.array([[1, 1], [1, 2]]), None, True)
    assert (values.tolist(), inverse.tolist()) == ([1, 2], [[0, 0], [0, 1]])
    slices, inverse, counts = K.unique_consecutive(np.array([[1, 1], [1, 1], [2, 1]]), 0, True, True)
    assert (slices.tolist(), inverse.tolist(), counts.tolist()) == ([[1, 1], [2, 1]], [0, 0, 1], [2, 1])
    assert [part.shape for part in K.unique_consecutive(np.zeros(0), None, True, True)] == [(0,), (0,), (0,)]


@pytest.mark.parametrize("rows", [3, 40])
@pytest.mark.parametrize("bounds", [13, 40])
@pytest.mark.parametrize("right", [False, True])
def test_searchsorted_batched(rows, bounds, right):
    sequence = np.sort(rng.integers(0, 20, (rows, 2, bounds)).astype("f4"), -1)
    values = rng.integers(-1, 22, (rows, 2, 9)).astype("f4")
    values[0, 0, 0] = NAN
    found = K.searchsorted(sequence, values, right)
    for i in np.ndindex(rows, 2):
        np.testing.assert_array_equal(found[i], np.searchsorted(sequence[i], values[i], "right" if right else "left"))
    shuffled = rng.permuted(sequence, axis=-1)
    np.testing.assert_array_equal(K.searchsorted(shuffled, values, right, np.argsort(shuffled, -1)), found)


def test_searchsorted_pinned_and_errors():
    sequence, values = np.float32([1, 2, 2, 3]), np.float32([[0, 2], [NAN, 9]])
    assert K.searchsorted(sequence, values).tolist() == [[0, 1], [4, 4]]
    assert K.searchsorted(sequence, values, True).tolist() == [[0, 3], [4, 4]]
    assert K.searchsorted(sequence, np.float32(2)).shape == ()
    assert K.searchsorted(np.float32([]), values).tolist() == [[0, 0], [0, 0]]
    assert K.searchsorted(np.float32([3, 1, 2]), np.float32([1.5]), False, np.array([1, 2, 0])).tolist() == [1]
    assert K.searchsorted(np.zeros((2, 0)), np.zeros((2, 3))).tolist() == [[0] * 3] * 2
    with pytest.raises(RuntimeError, match="boundaries tensor should be 1 dimension"):
        K.searchsorted(np.zeros((2, 2)), np.zeros(1))
    with pytest.raises(RuntimeError, match="sorter index out of range"):
        K.searchsorted(sequence, values, False, np.array([0, 1, 2, 9]))
    with pytest.raises(RuntimeError, match="boundary and sorter must have the same size"):
        K.searchsorted(sequence, values, False, np.array([0, 1]))


def test_histc():
    assert K.histc(np.float32([0, 1, 2, 3, 4, NAN]), 4, 0, 4).tolist() == [1, 1, 1, 2]
    assert K.histc(np.float32([0, 1, 2, 3, 4]), 4).tolist() == [1, 1, 1, 2]
    assert K.histc(np.float32([2, 2, 3, 1]), 4, 2, 2).tolist() == [1, 0, 2, 1]
    assert K.histc(np.float32([2, 2]), 4).tolist() == [0, 0, 2, 0]
    assert K.histc(np.zeros(0, "f4"), 3).tolist() == [0, 0, 0]
    assert K.histc(np.zeros(2), 3).dtype == np.float64
    for call, message in (
        (lambda: K.histc(np.float32([0, INF]), 4), r"range of \[0, inf\] is not finite"),
        (lambda: K.histc(np.float32([0]), 4, 3, 1), "max must be larger than min"),
        (lambda: K.histc(np.float32([0]), 0), "bins must be > 0"),
    ):
        with pytest.raises(RuntimeError, match=message):
            call()


def test_bincount():
    assert K.bincount(np.array([0, 3, 3]), None, 6).tolist() == [1, 0, 0, 2, 0, 0]
    weighted = K.bincount(np.array([0, 3, 3]), np.float32([1, 2, 3]))
    assert weighted.dtype == np.float32
    assert weighted.tolist() == [1, 0, 0, 5]
    assert K.bincount(np.array([0, 3, 3]), np.array([1, 2, 3])).dtype == np.float64
    assert K.bincount(np.zeros(0, int), np.zeros(0), 2).dtype == np.int64
    for call, message in (
        (lambda: K.bincount(np.array([0, -3])), "1-d non-negative integral inputs"),
        (lambda: K.bincount(np.array([[0]])), "1-d non-negative integral inputs"),
        (lambda: K.bincount(np.array([1]), None, -1), "minlength should be >= 0"),
        (lambda: K.bincount(np.array([1]), np.ones(2)), "same length as input"),
    ):
        with pytest.raises(RuntimeError, match=message):
            call()
