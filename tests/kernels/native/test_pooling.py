"""Max pooling by machine code: the same values and places as in NumPy, with NaN, infinities and equal elements."""

import numpy as np
import pytest

from penlight.kernels import native, parallel, pool
from penlight.kernels.pool import compiled

pytestmark = pytest.mark.skipif(not native.available(), reason="this machine cannot run AVX2 code")
CASES = [
    # shape, kernel, stride, padding, dilation, ceil_mode
    ((4, 3, 24, 24), (2, 2), (2, 2), (0, 0), (1, 1), False), ((2, 3, 17, 33), (3, 3), (2, 2), (1, 1), (1, 1), False),
    ((2, 3, 17, 20), (3, 2), (1, 1), (1, 0), (2, 1), False), ((1, 2, 9, 17), (1, 1), (1, 1), (0, 0), (1, 1), False),
    ((2, 2, 10, 20, 24), (2, 2, 2), (2, 1, 2), (0, 1, 1), (1, 1, 2), False), ((3, 4, 31), (3,), (2,), (1,), (1,), True),
    ((2, 2, 19, 23), (3, 3), (2, 2), (0, 0), (1, 1), True), ((2, 2, 16, 16), (2, 2), (3, 2), (1, 1), (1, 1), False),
]  # fmt: skip


@pytest.fixture(autouse=True)
def _any_size(monkeypatch):
    monkeypatch.setattr(compiled, "_LEAST", 0)


@pytest.mark.parametrize("values", ["plain", "equal", "special"])
@pytest.mark.parametrize("shape, kernel, stride, padding, dilation, ceil_mode", CASES)
def test_like_numpy(shape, kernel, stride, padding, dilation, ceil_mode, values, monkeypatch):
    rng = np.random.default_rng(1)
    x = rng.standard_normal(shape, dtype=np.float32)
    if values == "equal":
        x = np.round(x)
    elif values == "special":
        x = rng.choice(np.array([np.nan, np.inf, -np.inf, 0, -0.0, 1], np.float32), shape)
    args = kernel, stride, padding, dilation, ceil_mode
    out = pool.pool_output_sizes(shape[2:], *args)
    assert compiled.suits(x, out, stride)
    best, where = pool.max_pool(x, *args)
    grad = rng.standard_normal(best.shape, dtype=np.float32)
    back = pool.max_pool_backward(grad, where, shape)
    monkeypatch.setattr(native, "available", lambda: False)
    expected, places = pool.max_pool(x, *args)
    np.testing.assert_array_equal(best, expected)
    np.testing.assert_array_equal(where, places)
    np.testing.assert_allclose(back, pool.max_pool_backward(grad, where, shape), rtol=1e-5, atol=1e-6)


def test_only_what_suits():
    x = np.zeros((2, 2, 16, 16), np.float32)
    assert compiled.suits(x, (8, 8), (2, 2))
    assert not compiled.suits(x.astype(float), (8, 8), (2, 2))
    assert not compiled.suits(x, (8, 7), (2, 2))
    assert not compiled.suits(x, (8, 8), (1, 3))
    assert not compiled.suits(x.swapaxes(2, 3), (8, 8), (2, 2))


@pytest.mark.parametrize("place", [-1, 16, 2**40, -(2**62)])
def test_places_outside_are_refused_and_not_written_to(place):
    grad, places = np.ones((1, 1, 2, 4), np.float32), np.arange(8).reshape(1, 1, 2, 4)
    places[0, 0, 1, 1] = place
    assert compiled.place(grad, places, (1, 1, 4, 4)) is None
    if place > 0:
        with pytest.raises(IndexError):
            pool.max_pool_backward(grad, places, (1, 1, 4, 4), distinct=True)


def test_gradients_add_up_at_one_place():
    grad, places = np.arange(24, dtype=np.float32).reshape(2, 3, 4), np.full((2, 3, 4), 3)
    result = pool.max_pool_backward(grad, places, (2, 3, 9))
    np.testing.assert_array_equal(result[..., 3], grad.sum(2))
    assert np.count_nonzero(result) == 6


@pytest.mark.parametrize("stride", [1, 2])
def test_several_threads(stride):
    x = np.random.default_rng(0).standard_normal((16, 32, 24, 26), dtype=np.float32)
    args = (2, 2), (stride, stride), (0, 0), (1, 1), False
    results = []
    before = parallel.thread_limit()
    for threads in (1, 3):
        parallel.set_threads(threads)
        values, places = pool.max_pool(x, *args)
        results.append((values, places, pool.max_pool_backward(values, places, x.shape)))
    parallel.set_threads(before)
    for one, three in zip(*results):
        np.testing.assert_array_equal(three, one)
