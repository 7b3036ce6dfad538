"""Reduction and scan kernels against plain formulas, finite differences and pinned values from torch."""

from __future__ import annotations

import math

import numpy as np
import pytest

import penlight as torch
from penlight.kernels import reduce as K, scan

rng = np.random.default_rng(0)
INF, NAN = float("inf"), float("nan")


# ---------------------------------------------------------------- running reductions


def test_cummax_and_cummin_take_the_last_of_equals():
    x = np.float32([1, 3, 3, 2, NAN, 4, NAN, 5])
    values, indices = scan.cummax(x, 0)
    np.testing.assert_array_equal(values, np.float32([1, 3, 3, 3, NAN, NAN, NAN, NAN]))
    assert indices.tolist() == [0, 1, 2, 2, 4, 4, 6, 6]
    assert scan.cummin(x, 0)[1].tolist() == [0, 0, 0, 0, 4, 4, 6, 6]
    values, indices = scan.cummin(np.array([[3, 1, 1, 2, 0]]), 1)
    assert (values.tolist(), indices.tolist()) == ([[3, 1, 1, 1, 0]], [[0, 1, 2, 2, 4]])
    assert scan.cummax(np.array([[1, 5], [1, 4]]), 0)[1].tolist() == [[0, 0], [1, 0]]
    assert [part.shape for part in scan.cummax(np.zeros((0, 2)), 0)] == [(0, 2), (0, 2)]
    assert [part.shape for part in scan.cummax(np.array(1.0), 0)] == [(), ()]
    assert scan.cummax(np.array([False, True]), 0)[0].dtype == bool
    assert all(part.flags.c_contiguous for part in scan.cummax(np.zeros((3, 4)).T, 0))


@pytest.mark.filterwarnings("error")
def test_logcumsumexp():
    x = np.float32([-INF, -INF, 1, INF, 2, NAN])
    np.testing.assert_array_equal(scan.logcumsumexp(x, 0), np.float32([-INF, -INF, 1, INF, INF, NAN]))
    np.testing.assert_allclose(scan.logcumsumexp(np.float32([1000, 1000, -1000]), 0), [1000, 1000.6931, 1000.6931])
    np.testing.assert_allclose(
        scan.logcumsumexp(np.array([1 + 2j, 0.5j, -1]), 0), [1 + 2j, 1.0859 + 1.6565j, 1.0829 + 1.5321j], atol=5e-5
    )
    x, grad = rng.standard_normal((3, 5)), rng.standard_normal((3, 5))
    for dim in (0, 1):
        result = scan.logcumsumexp(x, dim)
        np.testing.assert_allclose(result, np.log(np.cumsum(np.exp(x), dim)))
        dx = scan.logcumsumexp_backward(grad, x, result, dim)
        np.testing.assert_allclose(
            dx, numerical_grad(lambda v, d=dim: (scan.logcumsumexp(v, d) * grad).sum(), x), atol=1e-7
        )
    assert scan.logcumsumexp(np.zeros((0, 2)), 0).shape == (0, 2)
    assert scan.logcumsumexp(np.float16([1, 2]), 0).dtype == np.float16


def numerical_grad(f, x, eps=1e-6):
    out = np.empty_like(x)
    for i in np.ndindex(x.shape):
        d = np.zeros_like(x)
        d[i] = eps
        out[i] = (f(x + d) - f(x - d)) / (2 * eps)
    return out


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("zeros", [(), (2,), (0, 3), (1, 2, 4)])
def test_product_gradients_with_zeros(zeros):
    x = rng.standard_normal((3, 5))
    x[1, list(zeros)] = 0
    grad = rng.standard_normal(x.shape)
    for dim in (0, 1):
        dx = scan.cumprod_backward(grad, x, x.cumprod(dim), dim)
        np.testing.assert_allclose(dx, numerical_grad(lambda v, d=dim: (v.cumprod(d) * grad).sum(), x), atol=1e-8)


@pytest.mark.filterwarnings("error")
def test_product_gradients_pinned():
    for values, running in (
        ([2, 3, 4], [16, 10, 6]),
        ([0, 3, 4], [16, 0, 0]),
        ([0, 0, 4], [1, 0, 0]),
        ([INF, 0], [NAN, INF]),
        ([], []),
    ):
        x = np.float32(values)
        with np.errstate(invalid="ignore"):
            result = x.cumprod()
        np.testing.assert_array_equal(scan.cumprod_backward(np.ones_like(x), x, result, 0), np.float32(running))
    x = np.array([2 + 1j, 0, 3j])
    np.testing.assert_allclose(scan.cumprod_backward(np.array([1, 1j, 2]), x, x.cumprod(), 0), [1, -5 - 10j, 0])


# ---------------------------------------------------------------- sums and variance


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("dims", [(0,), (1,), (2,), (0, 2), (1, 2), (0, 1, 2), ()])
@pytest.mark.parametrize("layout", ["C", "F"])
def test_sum_and_variance(dims, layout):
    x = np.asarray(rng.standard_normal((5, 600, 4)) + 3, order=layout)
    np.testing.assert_allclose(K.reduce_sum(x, dims), x.sum(dims))
    np.testing.assert_allclose(K.reduce_sum(x, dims, True), x.sum(dims, keepdims=True))
    for correction in (0, 1, 2):
        if x.size // max(1, x.sum(dims).size) > correction:
            spread, mean = K.var_mean(x, dims, correction)
            np.testing.assert_allclose(spread, x.var(dims, ddof=correction), atol=1e-12)
            np.testing.assert_allclose(mean, x.mean(dims))
    assert K.var_mean(x, dims, 0, True)[0].shape == x.sum(dims, keepdims=True).shape


def test_float32_accuracy_along_every_axis():
    x = rng.random((100_000, 3)).astype(np.float32) + 1000
    exact = x.astype(np.float64)
    np.testing.assert_allclose(K.reduce_sum(x, (0,)), exact.sum(0), rtol=2e-6)
    np.testing.assert_allclose(K.var_mean(x, (0,))[0], exact.var(0, ddof=1), rtol=1e-4)
    turned = np.ascontiguousarray(x.T)
    np.testing.assert_allclose(K.reduce_sum(turned, (1,)), exact.sum(0), rtol=2e-7)
    np.testing.assert_allclose(K.var_mean(turned, (1,))[0], exact.var(0, ddof=1), rtol=1e-4)
    np.testing.assert_allclose(norm(x, 2, (0, 1)), np.linalg.norm(exact), rtol=3e-7)


@pytest.mark.filterwarnings("error")
def test_variance_pinned():
    x = np.float32([1, 2, 4, 8])
    for correction, expected in ((0, 7.1875), (1, 9.583333), (2, 14.375), (1.5, 11.5), (4, INF), (5, INF)):
        assert K.var_mean(x, (0,), correction)[0] == pytest.approx(expected)
    assert np.isnan(K.var_mean(np.float32([1]), (0,))[0])
    assert np.isnan(K.var_mean(np.zeros(0, "f4"), (0,))[0])
    assert np.isnan(K.var_mean(np.zeros((0, 2), "f4"), (0,))[0]).tolist() == [True, True]
    assert np.isnan(K.var_mean(np.float32([INF, 1]), (0,))[0])
    assert K.var_mean(np.array(3.0), (), 0)[0] == 0
    assert K.var_mean(np.array([1 + 1j, 2, 3j]), (0,))[0] == pytest.approx(10 / 3)
    assert K.var_mean(np.array([1 + 1j]), (0,), 0)[0].dtype == np.float64
    assert K.var_mean(np.float16([1, 2]), (0,))[0].dtype == np.float16


@pytest.mark.filterwarnings("error")
def test_skipping_nan():
    x = np.float32([[NAN, 1, 2], [NAN, NAN, NAN]])
    assert K.nansum(x, (1,)).tolist() == [3, 0]
    assert K.nansum(np.float32(NAN).reshape(()), ()) == 0


# ---------------------------------------------------------------- norms


def norm(x, p, dims, keepdim=False):
    return torch.linalg.vector_norm(torch.from_numpy(x), p, dims, keepdim).numpy()


NORMS = {  # p: (of [3, -4, 0], of [3, -4])
    0: (2, 2),
    1: (7, 7),
    2: (5, 5),
    3: (4.497941, 4.497941),
    0.5: (13.928203, 13.928203),
    1.5: (5.584250, 5.584250),
    -1: (0, 1.714286),
    INF: (4, 4),
    -INF: (0, 3),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("p", NORMS)
def test_norm_pinned(p):
    with_zero, without = NORMS[p]
    assert norm(np.array([3.0, -4, 0]), p, (0,)) == pytest.approx(with_zero)
    assert norm(np.array([3.0, -4]), p, (0,)) == pytest.approx(without)
    assert norm(np.array([3 + 4j]), p, (0,)) == pytest.approx(1 if p == 0 else 5)
    if p != 0:
        assert np.isnan(norm(np.array([NAN, INF]), p, (0,)))
    x = rng.standard_normal((3, 4, 5))
    np.testing.assert_allclose(norm(x, p, (1, 2)), norm(x.reshape(3, 20), p, (1,)))
    np.testing.assert_allclose(norm(x, p, (0, 2), True).ravel(), norm(x.transpose(1, 0, 2).reshape(4, 15), p, (1,)))


def test_norm_of_nothing():
    empty = np.zeros((0, 2))
    for p in (0, 1, 2, 0.5):
        assert norm(empty, p, (0,)).tolist() == [0, 0]
    for p, name in ((-1, "-1"), (-0.5, "-0.5"), (INF, "inf"), (-INF, "-inf")):
        with pytest.raises(RuntimeError, match=f"cannot compute the {name} norm on the dimension 0because"):
            norm(empty, p, (0,))
        with pytest.raises(RuntimeError, match=f"cannot compute the {name} norm on an empty tensor"):
            norm(np.zeros(0), p, None)
        assert norm(empty, p, (1,)).shape == (0,)


# ---------------------------------------------------------------- quantiles

QUANTILES = {  # of [3, 1, 4, 1, 5] at 0, .1, .25, .5, .625, .6, .875, 1
    "linear": [1, 1, 1, 3, 3.5, 3.4, 4.5, 5],
    "lower": [1, 1, 1, 3, 3, 3, 4, 5],
    "higher": [1, 1, 1, 3, 4, 4, 5, 5],
    "midpoint": [1, 1, 1, 3, 3.5, 3.5, 4.5, 5],
    "nearest": [1, 1, 1, 3, 3, 3, 5, 5],
}


@pytest.mark.parametrize("interpolation", QUANTILES)
def test_quantile_pinned(interpolation):
    x, q = np.float32([3, 1, 4, 1, 5]), np.float32([0, 0.1, 0.25, 0.5, 0.625, 0.6, 0.875, 1])
    values = K.quantiles(x, q, 0, interpolation, False)
    np.testing.assert_allclose(values, QUANTILES[interpolation], rtol=1e-6)
    assert values.dtype == np.float32


@pytest.mark.filterwarnings("error")
def test_quantile_shapes_and_nan():
    x = np.arange(12.0).reshape(3, 4)
    one, two = np.array(0.3), np.array([0.2, 0.7])
    np.testing.assert_allclose(K.quantiles(x, one, 0, "linear", False), [2.4, 3.4, 4.4, 5.4])
    assert K.quantiles(x, two, 1, "linear", False).shape == (3, 2)
    assert K.quantiles(x, one, None, "lower", False).shape == ()
    assert K.quantiles(np.array(2.0), one, 0, "linear", False).shape == ()
    assert K.quantiles(np.array(2.0), two, 0, "linear", False).tolist() == [2, 2]
    missing = np.array([[1, NAN, 2], [1, 2, 3]])
    np.testing.assert_array_equal(K.quantiles(missing, two, 1, "lower", False), [[NAN, NAN], [1, 2]])
    assert K.quantiles(missing, one, 1, "linear", True) is None
    values = K.quantiles(np.array([-INF, INF, 1]), np.array([0.25, 0.5, 0.75]), 0, "linear", False)
    np.testing.assert_array_equal(values, [-INF, 1, NAN])


# Long and short rows, rows that are cut in pieces, all elements with and without a rest, columns, and both around.
SUMS = [
    ((300, 129), (1,)),
    ((40_000, 3), (1,)),
    ((5, 3 * 4096), (1,)),
    ((5, 9001), (1,)),
    ((40_003,), (0,)),
    ((11, 4096), (0, 1)),
    ((1000, 65), (0,)),
    ((20_000, 5), (0,)),
    ((3, 200, 70), (1,)),
    ((30, 20, 70), (0, 2)),
    ((64, 10, 64), (0, 1)),
    ((40, 10, 90), (1, 2)),
]


@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize(("shape", "dims"), SUMS)
def test_many_in_single_precision(shape, dims, keepdim, either_way):
    x = (np.random.default_rng(0).standard_normal(shape) + 0.5).astype(np.float32)
    wide = x.astype(np.float64)
    total = K.reduce_sum(x, dims, keepdim)
    assert total.dtype == np.float32
    np.testing.assert_allclose(total, wide.sum(dims, keepdims=keepdim), rtol=1e-6, atol=1e-4)
    size = norm(x, 2, dims, keepdim)
    assert size.dtype == np.float32
    np.testing.assert_allclose(size, np.sqrt((wide**2).sum(dims, keepdims=keepdim)), rtol=1e-6)


def test_nan_and_inf_among_many(either_way):
    x = np.ones((400, 100), np.float32)
    x[3, 7], x[5, 99] = np.nan, np.inf
    along, down = K.reduce_sum(x, (1,)), K.reduce_sum(x, (0,))
    assert np.isnan(along).nonzero()[0].tolist() == [3] and np.isinf(along).nonzero()[0].tolist() == [5]
    assert np.isnan(down).nonzero()[0].tolist() == [7] and np.isinf(down).nonzero()[0].tolist() == [99]
    assert np.isnan(K.reduce_sum(x, (0, 1)))


@pytest.mark.parametrize(
    ("shape", "dim"), [((1, 20000), 0), ((20000, 1), 1), ((100, 1, 200), 1), ((1, 1, 20000), (0, 1))]
)
@pytest.mark.parametrize("name", ["sum", "prod", "amax", "mean"])
def test_dimensions_of_one_element(name, shape, dim):
    x = torch.arange(20000.0).reshape(shape)
    if name == "prod" and isinstance(dim, tuple):
        dim = 0
    for given in (x, torch.tensor(2.0).expand(shape)):
        for keepdim in (False, True):
            result = getattr(given, name)(dim, keepdim=keepdim)
            assert torch.equal(result.flatten(), given.flatten())
            assert result.shape == np.sum(given.numpy(), dim, keepdims=keepdim).shape


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("size", [5, 20_000])
@pytest.mark.parametrize("name", ["amax", "amin", "cummax", "cummin"])
def test_extrema_of_nan_do_not_warn(name, size):
    pytest.importorskip("ml_dtypes")
    for dtype in (torch.bfloat16, torch.float16, torch.float32, torch.float64):
        x = torch.ones(1, size, dtype=dtype)
        x[0, 2] = NAN
        found = getattr(torch, name)(x, 1)
        getattr(torch, name)(x[0], 0)
        assert math.isnan(found.item() if name.startswith("a") else found.values[0, -1].item())
