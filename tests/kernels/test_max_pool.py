"""Max pooling by machine code: the same values and places as in NumPy, with NaN, infinities and equal elements."""

import numpy as np
import pytest

from penlight.kernels import native, parallel, pool

pytestmark = pytest.mark.skipif(not native.available(), reason="this machine cannot run AVX2 code")
CASES = [
    # shape, kernel, stride, padding, dilation, ceil_mode
    ((4, 3, 24, 24), (2, 2), (2, 2), (0, 0), (1, 1), False), ((2, 3, 17, 33), (3, 3), (2, 2), (1, 1), (1, 1), False),
    ((2, 3, 17, 20), (3, 2), (1, 1), (1, 0), (2, 1), False), ((1, 2, 9, 17), (1, 1), (1, 1), (0, 0), (1, 1), False),
    ((2, 2, 10, 20, 24), (2, 2, 2), (2, 1, 2), (0, 1, 1), (1, 1, 2), False), ((3, 4, 31), (3,), (2,), (1,), (1,), True),
    ((2, 2, 19, 23), (3, 3), (2, 2), (0, 0), (1, 1), True), ((2, 2, 16, 16), (2, 2), (3, 2), (1, 1), (1, 1), False),
]  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("values", ["plain", "equal", "special"])
@pytest.mark.parametrize("shape, kernel, stride, padding, dilation, ceil_mode", CASES)
def test_like_numpy(shape, kernel, stride, padding, dilation, ceil_mode, values, dtype, monkeypatch):
    rng = np.random.default_rng(1)
    x = rng.standard_normal(shape, dtype=dtype)
    if values == "equal":
        x = np.round(x)
    elif values == "special":
        x = rng.choice(np.array([np.nan, np.inf, -np.inf, 0, -0.0, 1], dtype), shape)
    args = kernel, stride, padding, dilation, ceil_mode
    assert pool.compiles()
    best, where = pool.max_pool(x, *args)
    grad = rng.standard_normal(best.shape, dtype=dtype)
    back = pool.max_pool_backward(grad, where, shape, len(kernel))
    means = kernel, stride, padding, ceil_mode, False
    mean = pool.avg_pool(x, *means)
    slopes = rng.standard_normal(mean.shape, dtype=dtype)
    mean_back = pool.avg_pool_backward(slopes, shape, *means)
    monkeypatch.setattr(pool, "compiles", lambda: False)
    pool._sliding.cache_clear()
    expected, places = pool.max_pool(x, *args)
    np.testing.assert_array_equal(best, expected)
    np.testing.assert_array_equal(where, places)
    np.testing.assert_allclose(back, pool.max_pool_backward(grad, where, shape, len(kernel)), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(mean, pool.avg_pool(x, *means), rtol=1e-5, atol=1e-6)
    wanted = pool.avg_pool_backward(slopes, shape, *means)
    np.testing.assert_allclose(mean_back, wanted, rtol=1e-4, atol=1e-5)


@pytest.fixture(autouse=True)
def _small_as_large(monkeypatch):
    """Small arrays take the kernels of large ones."""
    monkeypatch.setattr(pool, "_LEAST_VECTOR_ELEMENTS", 0)
    pool._sliding.cache_clear()
    yield
    pool._sliding.cache_clear()


@pytest.mark.parametrize("most_taps, most_positions", [(1, 1 << 24), (16, 8)])
def test_windows_that_are_done_one_by_one(most_taps, most_positions, monkeypatch):
    """Long windows, and planes with more positions than floats have, take another kernel."""
    x = np.random.default_rng(2).standard_normal((2, 3, 9, 21), dtype=np.float32)
    args = (3, 3), (2, 2), (1, 1), (1, 1), False
    wanted = pool.max_pool(x, *args)
    pool._sliding.cache_clear()
    monkeypatch.setattr(pool, "_MOST_TAPS", most_taps)
    monkeypatch.setattr(pool, "_MOST_POSITIONS", most_positions)
    made = pool.max_pool(x, *args)
    np.testing.assert_array_equal(made[0], wanted[0])
    np.testing.assert_array_equal(made[1], wanted[1])


@pytest.mark.parametrize("place", [-1, 16, 2**40, -(2**62)])
def test_places_outside_are_refused_and_not_written_to(place):
    grad, places = np.ones((1, 1, 2, 4), np.float32), np.arange(8).reshape(1, 1, 2, 4)
    places[0, 0, 1, 1] = place
    assert pool.kernels.at_indices("add", grad, places, (1, 1, 4, 4), 2) is None
    with pytest.raises(RuntimeError, match="invalid max index"):
        pool.max_pool_backward(grad, places, (1, 1, 4, 4), 2)


def test_gradients_add_up_at_one_place():
    grad, places = np.arange(24, dtype=np.float32).reshape(2, 3, 4), np.full((2, 3, 4), 3)
    result = pool.max_pool_backward(grad, places, (2, 3, 9), 1)
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
        results.append((values, places, pool.max_pool_backward(values, places, x.shape, 2)))
    parallel.set_threads(before)
    for one, three in zip(*results):
        np.testing.assert_array_equal(three, one)
