"""Pooling kernels: pinned values from torch, slow references, and transposes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from penlight.kernels import pool

INF, NAN = np.inf, np.nan

# (sizes, kernel, stride, padding, dilation, ceil_mode)
CASES = [
    ((8,), (2,), (2,), (0,), (1,), False),
    ((9,), (3,), (2,), (1,), (2,), True),
    ((6, 6), (2, 2), (2, 2), (0, 0), (1, 1), False),
    ((7, 5), (2, 2), (2, 2), (0, 0), (1, 1), True),
    ((7, 8), (3, 3), (2, 2), (1, 1), (1, 1), False),
    ((7, 8), (3, 2), (1, 3), (1, 1), (2, 1), True),
    ((9, 9), (2, 3), (4, 5), (1, 0), (1, 1), True),
    ((5, 20), (5, 1), (1, 1), (2, 0), (1, 1), False),
    ((4, 5, 6), (2, 3, 2), (2, 1, 2), (1, 1, 0), (1, 1, 2), True),
]


def reference_max(x, kernel, stride, padding, dilation, out):
    """Window by window, with PyTorch's rules for ties and NaN."""
    values, indices = np.empty((*x.shape[:2], *out)), np.empty((*x.shape[:2], *out), np.int64)
    for at in np.ndindex(*x.shape[:2], *out):
        best, where = -INF, None
        for tap in itertools.product(*map(range, kernel)):
            place = tuple(o * s - p + t * d for o, s, p, t, d in zip(at[2:], stride, padding, tap, dilation))
            if not all(0 <= i < n for i, n in zip(place, x.shape[2:])):
                continue
            value = x[(*at[:2], *place)]
            if where is None or value > best or np.isnan(value):
                best, where = value, np.ravel_multi_index(place, x.shape[2:])
        values[at], indices[at] = best, where
    return values, indices


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("kind", ["normal", "ties", "special"])
def test_max_pool_takes_the_first_of_the_largest(case, kind):
    sizes, kernel, stride, padding, dilation, ceil_mode = case
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, 3, *sizes))
    if kind == "ties":
        x = rng.integers(0, 3, x.shape).astype(np.float32)
    elif kind == "special":
        x.reshape(-1)[::5] = NAN
        x.reshape(-1)[1::3] = -INF
    values, indices = pool.max_pool(x, kernel, stride, padding, dilation, ceil_mode)
    expected = reference_max(x, kernel, stride, padding, dilation, values.shape[2:])
    np.testing.assert_array_equal(values, expected[0])
    np.testing.assert_array_equal(indices, expected[1])
    assert values.dtype == x.dtype and indices.dtype == np.int64


@pytest.mark.parametrize(
    ("sizes", "args", "expected"),
    [
        ((5, 5), ((2, 2), (2, 2), (0, 0), (1, 1), True), (3, 3)),
        ((5, 5), ((2, 2), (2, 2), (0, 0), (1, 1), False), (2, 2)),
        ((4, 4), ((1, 1), (3, 3), (0, 0), (1, 1), True), (2, 2)),
        # The last window would begin in the padding.
        ((4,), ((2,), (3,), (1,), (1,), True), (2,)),
        ((10,), ((3,), (2,), (1,), (3,), False), (3,)),
    ],
)
def test_output_sizes(sizes, args, expected):
    assert pool.output_sizes(sizes, *args) == expected


def test_max_pool_integers_and_halves():
    x = np.array([[[-(2**62), 5, 2**62, 7]]])
    values, indices = pool.max_pool(x, (2,), (2,), (1,), (1,), False)
    np.testing.assert_array_equal(values, [[[-(2**62), 2**62, 7]]])
    np.testing.assert_array_equal(indices, [[[0, 2, 3]]])
    values, _ = pool.max_pool(np.ones((1, 1, 4), np.float16), (2,), (2,), (0,), (1,), False)
    assert values.dtype == np.float16


@pytest.mark.parametrize("width", [60, 200, 70000])
def test_codes_of_every_width(width):
    """The place of the best tap is kept in 8, 16 or 32 bits, as the width of a row asks for."""
    x = np.zeros((1, 1, 3, width), np.float32)
    x[0, 0, 2, 2] = 1
    values, indices = pool.max_pool(x, (3, 3), (3, 3), (0, 0), (1, 1), False)
    assert values[0, 0, 0, 0] == 1 and indices[0, 0, 0, 0] == 2 * width + 2


@pytest.mark.parametrize("case", CASES, ids=str)
def test_max_pool_backward_adds_up_overlaps(case):
    sizes, kernel, stride, padding, dilation, ceil_mode = case
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, 3, *sizes))
    values, indices = pool.max_pool(x, kernel, stride, padding, dilation, ceil_mode)
    grad = rng.standard_normal(values.shape)
    expected = np.zeros((6, np.prod(sizes)))
    for plane, at, g in zip(expected, indices.reshape(6, -1), grad.reshape(6, -1)):
        np.add.at(plane, at, g)
    result = pool.max_pool_backward(grad, indices, x.shape, len(sizes))
    np.testing.assert_allclose(result, expected.reshape(x.shape), atol=1e-12)
    np.testing.assert_array_equal(pool.pick(x, indices, len(sizes)), values)


def test_max_unpool():
    x, indices = np.array([[[[5.0, 7.0], [13.0, 15.0]]]]), np.array([[[[5, 7], [13, 15]]]])
    out = pool.max_unpool(x, indices, (4, 4))
    assert out.sum() == 40 and out[0, 0, 3, 3] == 15
    with pytest.raises(RuntimeError, match=r"Found an invalid max index: 13 \(output volumes are of size 3x4\)"):
        pool.max_unpool(x, indices, (3, 4))


def reference_avg(x, kernel, stride, padding, out, include, override):
    result = np.zeros((*x.shape[:2], *out))
    for at in np.ndindex(*out):
        first = [o * s - p for o, s, p in zip(at, stride, padding)]
        last = [min(f + k, n + p) for f, k, n, p in zip(first, kernel, x.shape[2:], padding)]
        count = np.prod([b - a for a, b in zip(first, last)])
        inside = [slice(max(a, 0), min(b, n)) for a, b, n in zip(first, last, x.shape[2:])]
        window = x[(..., *inside)].reshape(*x.shape[:2], -1)
        result[(..., *at)] = window.sum(-1) / (override or (count if include else window.shape[-1]))
    return result


@pytest.mark.parametrize("case", [c for c in CASES if max(c[4]) == 1], ids=str)
@pytest.mark.parametrize(("include", "override"), [(True, None), (False, None), (True, 5)])
def test_avg_pool(case, include, override):
    sizes, kernel, stride, padding, _, ceil_mode = case
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, 3, *sizes))
    y = pool.avg_pool(x, kernel, stride, padding, ceil_mode, include, override)
    expected = reference_avg(x, kernel, stride, padding, y.shape[2:], include, override)
    np.testing.assert_allclose(y, expected, atol=1e-12)
    grad = rng.standard_normal(y.shape)
    back = pool.avg_pool_backward(grad, x.shape, kernel, stride, padding, ceil_mode, include, override)
    np.testing.assert_allclose(np.vdot(back, x), np.vdot(grad, y), rtol=1e-10)
    unit = np.zeros_like(x)
    unit[(1, 2, *(n - 2 for n in sizes))] = 1
    moved = pool.avg_pool(unit, kernel, stride, padding, ceil_mode, include, override)
    np.testing.assert_allclose(back[(1, 2, *(n - 2 for n in sizes))], np.vdot(moved, grad), atol=1e-12)


def test_avg_pool_of_integers_rounds_towards_zero():
    x = -np.array([[[[1, 2], [3, 5]]]])
    np.testing.assert_array_equal(pool.avg_pool(x, (2, 2), (2, 2), (0, 0), False, True), [[[[-2]]]])


def test_infinities_stay_in_their_windows():
    x = np.zeros((1, 1, 6))
    x[..., 1], x[..., 2] = INF, -INF
    np.testing.assert_array_equal(pool.avg_pool(x, (2,), (2,), (0,), False, True), [[[INF, -INF, 0]]])
    np.testing.assert_array_equal(pool.adaptive_avg_pool(x, (4,)), [[[INF, NAN, 0, 0]]])


@pytest.mark.parametrize(("sizes", "out"), [((5,), (3,)), ((6, 8), (3, 2)), ((5, 7), (3, 9)), ((4, 3, 5), (2, 3, 7))])
def test_adaptive_pools(sizes, out):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, 3, *sizes))
    means, largest = np.empty((2, 3, *out)), np.empty((2, 3, *out))
    for at in np.ndindex(*out):
        window = x[(..., *(slice(i * n // o, -(-(i + 1) * n // o)) for i, n, o in zip(at, sizes, out)))]
        means[(..., *at)] = window.reshape(2, 3, -1).mean(-1)
        largest[(..., *at)] = window.reshape(2, 3, -1).max(-1)
    np.testing.assert_allclose(pool.adaptive_avg_pool(x, out), means, atol=1e-12)
    values, indices = pool.adaptive_max_pool(x, out)
    np.testing.assert_array_equal(values, largest)
    np.testing.assert_array_equal(pool.pick(x, indices, len(sizes)), values)
    grad = rng.standard_normal(means.shape)
    back = pool.adaptive_avg_pool_backward(grad, x.shape, len(sizes))
    np.testing.assert_allclose(np.vdot(back, x), np.vdot(grad, means), rtol=1e-10)
    unit = np.zeros_like(x)
    unit.reshape(-1)[7] = 1
    np.testing.assert_allclose(back.reshape(-1)[7], np.vdot(pool.adaptive_avg_pool(unit, out), grad), atol=1e-12)


def test_adaptive_max_pool_of_nan():
    x = np.array([[[NAN, NAN, 1, 2, NAN]]])
    values, indices = pool.adaptive_max_pool(x, (2,))
    assert np.isnan(values).all()
    np.testing.assert_array_equal(indices, [[[1, 4]]])


def test_fractional_max_pool():
    x = np.arange(36.0).reshape(1, 1, 6, 6)
    values, indices = pool.fractional_max_pool(x, (2, 2), (3, 3), np.array([[[0.3, 0.7]]]))
    np.testing.assert_array_equal(values[0, 0], [[7, 9, 11], [19, 21, 23], [31, 33, 35]])
    np.testing.assert_array_equal(indices, values)


def test_empty_batches():
    x = np.empty((0, 3, 4, 4))
    args = (2, 2), (2, 2), (0, 0)
    assert pool.max_pool(x, *args, (1, 1), False)[0].shape == (0, 3, 2, 2)
    assert pool.avg_pool(x, *args, False, True).shape == (0, 3, 2, 2)
    assert pool.adaptive_avg_pool(x, (3, 3)).shape == (0, 3, 3, 3)
    assert pool.adaptive_max_pool(np.ones((1, 1, 3, 3)), (0, 2))[0].shape == (1, 1, 0, 2)
    assert pool.avg_pool_backward(np.empty((0, 3, 2, 2)), x.shape, *args, False, True).shape == x.shape
    assert pool.max_pool_backward(np.empty((0, 3, 2, 2)), np.empty((0, 3, 2, 2), int), x.shape, 2).shape == x.shape
