"""Running sums and products: in float64 whatever the way, and rounded once."""

import numpy as np
import pytest

import penlight as torch
from penlight.kernels import executable, scan
from penlight.kernels.scan import running

SHAPES = [
    ((5,), 0),
    ((5001,), 0),
    ((7, 1003), 1),
    ((3, 8), 1),
    ((30, 401), 0),
    ((3, 50, 100), 1),
    ((500, 9), 0),
    ((9, 500, 3), 1),
]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape, dim", SHAPES)
def test_like_long_doubles(shape, dim, dtype, either_way):
    x = np.random.default_rng(0).standard_normal(shape).astype(dtype)
    factors = (1 + x / 100).astype(dtype)
    sums, products = running(x, dim, np.add), running(factors, dim, np.multiply)
    exact = np.cumsum(x.astype(np.longdouble), dim), np.cumprod(factors.astype(np.longdouble), dim)
    assert sums.dtype == products.dtype == dtype and sums.shape == shape
    if dtype == np.float32:
        np.testing.assert_array_equal(sums, exact[0].astype(dtype))
        np.testing.assert_allclose(products, exact[1].astype(dtype), rtol=7e-8)
    else:
        np.testing.assert_allclose(sums, exact[0].astype(dtype), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(products, exact[1].astype(dtype), rtol=1e-13)


def test_infinity_and_nan_stay_behind(either_way):
    for place in (0, 1, 2, 3, 4, 7, 2500, 2999):
        x = np.ones((2, 3000), np.float32)
        x[1, place] = np.inf
        for ufunc in (np.add, np.multiply):
            out = running(x, 1, ufunc)
            assert np.isfinite(out[0]).all() and np.isfinite(out[1, :place]).all() and (out[1, place:] == np.inf).all()
        x[1, place] = np.nan
        out = running(np.ascontiguousarray(x.T), 0, np.add).T
        assert np.isfinite(out[0]).all() and np.isfinite(out[1, :place]).all() and np.isnan(out[1, place:]).all()


def test_ops(either_way):
    torch.manual_seed(0)
    x = torch.randn(60, 70)
    for f in (
        lambda v: v.cumsum(0), lambda v: v.cumsum(1), lambda v: v.t().cumsum(0), lambda v: v[:, ::2].cumsum(1),
        lambda v: (v / 10 + 1).cumprod(0), lambda v: (v / 10 + 1).cumprod(1),
    ):  # fmt: skip
        a, b = x.clone().requires_grad_(), x.double().requires_grad_()
        torch.testing.assert_close(f(a).double(), f(b), rtol=1e-6, atol=1e-6)
        torch.testing.assert_close(
            torch.autograd.grad(f(a).sum(), a)[0].double(), torch.autograd.grad(f(b).sum(), b)[0], rtol=1e-5, atol=1e-5
        )
    assert torch.full((1000,), 0.1).cumsum(0)[-1].item() == 100.0  # not 99.99905, as sums in float32 are


def extrema_one_by_one(x, dim, largest):
    """Running extrema as a loop: equal ones and NaN take the place of what was before, nothing but NaN that of NaN."""
    values, indices = x.copy(), np.zeros(x.shape, np.int64)
    rows, places = np.moveaxis(values, dim, -1), np.moveaxis(indices, dim, -1)
    for row in np.ndindex(rows.shape[:-1]):
        best, at = rows[row][0], 0
        for i, value in enumerate(rows[row]):
            if value != value or (value >= best if largest else value <= best):
                best, at = value, i
            rows[row][i], places[row][i] = best, at
    return values, indices


EXTREMA = [((5, 7), 1), ((1, 9), 1), ((8, 33), 0), ((7, 16), 0), ((3, 17, 8), 1), ((4, 5, 9), 0), ((6, 2), 0), ((101,), 0), ((3, 100, 3), 1), ((33, 19), 1)]  # fmt: skip


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i8", "i4", "u1", "?"])
@pytest.mark.parametrize("shape, dim", EXTREMA)
def test_running_extrema_with_ties_and_nan(shape, dim, dtype, monkeypatch):
    monkeypatch.setattr(scan, "_LEAST_COMPILED", 1)
    monkeypatch.setattr(scan, "_LEAST_EXTREMA", 1)
    random = np.random.default_rng(0)
    x = np.round(random.standard_normal(shape) * 2).astype(dtype)
    layouts = [x, np.ascontiguousarray(x.T).T]
    if x.dtype.kind == "f":
        special = np.where(random.random(shape) < 0.5, x, -0.0).astype(dtype)
        special[random.random(shape) < 0.1], special[random.random(shape) < 0.1] = np.inf, -np.inf
        special[random.random(shape) < 0.05] = np.nan
        layouts.append(special)
    for y in layouts:
        for kernel, largest in ((scan.cummax, True), (scan.cummin, False)):
            values, indices = kernel(y, dim)
            wanted_values, wanted_indices = extrema_one_by_one(y, dim, largest)
            assert values.dtype == y.dtype and indices.dtype == np.int64
            assert values.flags.c_contiguous and indices.flags.c_contiguous
            np.testing.assert_array_equal(indices, wanted_indices)
            np.testing.assert_array_equal(values, wanted_values)
            if executable.available() and y.dtype.kind == "f":
                known = ~np.isnan(values)
                np.testing.assert_array_equal(np.signbit(values)[known], np.signbit(wanted_values)[known])


@pytest.mark.parametrize("size", [128, 129, 1000, 1024])
@pytest.mark.parametrize("ufunc", [np.maximum, np.minimum])
def test_running_extrema_in_blocks_are_those_one_by_one(size, ufunc):
    x = np.random.default_rng(size).standard_normal(size).cumsum().astype("f4")
    for y in (x, -x, np.zeros(size), np.arange(size), np.where(x > x[-200:].max(), np.nan, x)):
        np.testing.assert_array_equal(scan._extrema_in_blocks(y, ufunc), ufunc.accumulate(y))


@pytest.mark.parametrize("ufunc", [np.add, np.multiply])
def test_running_sums_in_blocks_are_those_of_the_whole(ufunc, either_way, monkeypatch):
    x = (1 + np.random.default_rng(0).standard_normal(1000) / 30).astype("f4")
    whole = scan.running(x, 0, ufunc)
    monkeypatch.setattr(scan, "_BLOCK", 90)
    np.testing.assert_array_equal(scan.running(x, 0, ufunc), whole)
    assert not np.signbit(scan.running(np.full(100, -0.0, "f4"), 0, np.add)).any()
