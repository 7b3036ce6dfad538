"""Conversions of 16-bit floats, and folds of large arrays, in machine code and in NumPy."""

import numpy as np
import pytest

import penlight as torch
from penlight.kernels import executable
from penlight.kernels.copies.convert import cast, truncate
from penlight.kernels.reduce.compiled import reduce_compiled
from penlight.kernels.reduce.strategies import LEAST_REDUCED

ml_dtypes = pytest.importorskip("ml_dtypes")
HALVES = [np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)]
SINGLE = np.dtype(np.float32)


def bits_of_everything(count=1 << 18):
    """Floats of every kind: normal, subnormal, infinite, NaN, halfway between two 16-bit floats, too large for those."""
    random = np.random.default_rng(0).integers(0, 2**32, count, dtype=np.uint32)
    halfway = (np.arange(65536, dtype=np.uint32) << 16) + 0x8000
    return np.concatenate([random, halfway, [0, 0x80000000, 1]]).astype(np.uint32).view(np.float32)


def same(a, b):
    a, b = a.astype(np.float64), b.astype(np.float64)
    np.testing.assert_array_equal(a, b)
    real = ~np.isnan(a)
    np.testing.assert_array_equal(np.signbit(a)[real], np.signbit(b)[real])


@pytest.mark.parametrize("half", HALVES, ids=str)
def test_every_half_and_back(half, either_way):
    with np.errstate(all="ignore"):
        x = bits_of_everything()
        same(cast(x, half), x.astype(half))
        every = np.arange(65536, dtype=np.uint16).view(half)
        same(cast(every, SINGLE), every.astype(np.float32))
        same(cast(every[:-3], SINGLE), every[:-3].astype(np.float32))
        same(cast(x.reshape(-1, 1)[::2], half), x[::2, None].astype(half))


@pytest.mark.parametrize("dtype", [SINGLE, *HALVES], ids=str)
@pytest.mark.parametrize("size", [LEAST_REDUCED, LEAST_REDUCED + 3, 3 * LEAST_REDUCED + 8, 100_001])
def test_folds_of_all_elements(dtype, size, either_way):
    x = np.random.default_rng(1).standard_normal(size).astype(dtype)
    exact = x.astype(np.float64)
    if not executable.compiles():
        assert reduce_compiled(x, "sum") is None
        return
    np.testing.assert_allclose(reduce_compiled(x, "sum"), exact.sum(), rtol=0, atol=1e-7 * np.abs(exact).sum())
    np.testing.assert_allclose(reduce_compiled(x, "sum", of="squares"), (exact**2).sum(), rtol=3e-7)
    np.testing.assert_allclose(reduce_compiled(x, "sum", of="absolute"), np.abs(exact).sum(), rtol=3e-7)
    holes = x.copy()
    holes[::7] = np.nan
    np.testing.assert_allclose(
        reduce_compiled(holes, "sum", of="not nan"),
        np.nansum(holes.astype(np.float64)),
        rtol=0,
        atol=1e-7 * np.abs(exact).sum(),
    )
    assert reduce_compiled(x, "max") == exact.max() and reduce_compiled(x, "min") == exact.min()
    assert reduce_compiled(x, "max", of="absolute") == np.abs(exact).max()
    ones = (1 + x.astype(np.float32) / 1000).astype(dtype)
    np.testing.assert_allclose(reduce_compiled(ones, "prod"), ones.astype(np.float64).prod(), rtol=2e-4)
    for place in (0, size // 2, size - 1):
        y = x.copy()
        y[place] = np.nan
        assert (
            np.isnan(reduce_compiled(y, "max"))
            and np.isnan(reduce_compiled(y, "min"))
            and np.isnan(reduce_compiled(y, "sum"))
        )
    y = np.full(size, -np.inf, dtype)
    assert reduce_compiled(y, "max") == -np.inf


@pytest.mark.parametrize(
    "shape, dims", [((64, 300), (1,)), ((3, 8192), (1,)), ((40, 30, 24), (1, 2)), ((2049, 8), (1,))]
)
def test_folds_along_rows(shape, dims):
    x = np.random.default_rng(2).standard_normal(shape).astype(np.float32)
    for how, exact in (("sum", np.sum), ("max", np.max), ("min", np.min), ("prod", np.prod)):
        for keep in (True, False):
            result = reduce_compiled(x, how, dims, keep)
            if result is not None:
                wanted = exact(x.astype(np.float64), axis=dims, keepdims=keep)
                assert result.shape == wanted.shape
                np.testing.assert_allclose(result, wanted, rtol=1e-5, atol=1e-5)


WIDE = ["f4", "f8", "i8", "i4", "i2", "i1", "u1", "?"]


@pytest.mark.skipif(not executable.available(), reason="native kernels do not run on this machine")
@pytest.mark.parametrize("dtype", WIDE)
@pytest.mark.parametrize(
    "shape, dims",
    [
        ((100, 300), (0,)), ((7, 50, 60), (1,)), ((7, 50, 61), (0, 2)), ((30, 40, 17), (0, 1)), ((5000, 8), (0,)), ((9000, 40), (0,)),
        ((5000, 4), (0,)), ((9000, 4), (1,)), ((5000, 3, 4), (1,)), ((20, 5, 6, 7, 8), (0, 2, 4)), ((20, 5, 6, 7, 8), (1, 3)), ((200, 1001), (1,)), ((3, 90001), (1,)), ((262145,), (0,)),
    ],
)  # fmt: skip
def test_folds_over_any_dimensions_and_layouts(shape, dims, dtype):
    values = np.random.default_rng(3).standard_normal(shape) * 3
    x = values > 0 if dtype == "?" else np.abs(values).astype(dtype) if dtype == "u1" else values.astype(dtype)
    layouts = [
        x,
        np.ascontiguousarray(x.T).T,
        np.concatenate([x, x], -1)[..., : x.shape[-1]],
        np.repeat(x, 2, -1)[..., ::2],
        x[::-1],
    ]
    for y in layouts:
        wide = y.astype("f8" if y.dtype.kind == "f" else "i8")
        for keep in (False, True):
            got, wanted = reduce_compiled(y, "sum", dims, keep), wide.sum(dims, keepdims=keep)
            assert got.shape == wanted.shape and got.flags.c_contiguous
            np.testing.assert_allclose(got, wanted, rtol=1e-6, atol=2e-3 if dtype == "f4" else 1e-9)
        if y.dtype.kind == "f":
            np.testing.assert_array_equal(reduce_compiled(y, "max", dims), y.max(dims))
            np.testing.assert_array_equal(reduce_compiled(y, "min", dims, of="absolute"), np.abs(y).min(dims))
            np.testing.assert_allclose(
                reduce_compiled(y, "sum", dims, of="squares"), (wide * wide).sum(dims), rtol=1e-5
            )


@pytest.mark.skipif(not executable.available(), reason="native kernels do not run on this machine")
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_nan_in_folds_down_columns(dtype):
    x = np.random.default_rng(4).standard_normal((500, 83)).astype(dtype)
    for row in (0, 63, 64, 499):
        for column in (0, 40, 82):
            y = x.copy()
            y[row, column] = np.nan
            for how, exact in (("max", np.max), ("min", np.min), ("sum", np.sum)):
                np.testing.assert_allclose(reduce_compiled(y, how, (0,)), exact(y, 0), rtol=1e-4, atol=1e-4)
                np.testing.assert_allclose(reduce_compiled(y, how, (1,)), exact(y, 1), rtol=1e-4, atol=1e-4)
            np.testing.assert_allclose(
                reduce_compiled(y, "sum", (0,), of="not nan"), np.nansum(y, 0), rtol=1e-4, atol=1e-4
            )
    extremes = np.full((600, 40), -np.inf, dtype)
    assert (reduce_compiled(extremes, "max", (0,)) == -np.inf).all() and (
        reduce_compiled(-extremes, "min", (0,)) == np.inf
    ).all()


@pytest.mark.skipif(not executable.available(), reason="native kernels do not run on this machine")
def test_long_sums_are_accurate_along_every_dimension():
    x = np.full((100_000, 24), 0.1, np.float32)
    exact = 100_000 * np.float64(np.float32(0.1))
    assert np.abs(reduce_compiled(x, "sum", (0,)) / exact - 1).max() < 2e-6
    assert np.abs(reduce_compiled(np.ascontiguousarray(x.T), "sum", (1,)) / exact - 1).max() < 2e-6
    assert abs(float(reduce_compiled(x, "sum")) / (24 * exact) - 1) < 2e-6


def test_what_is_not_folded():
    x = np.ones((LEAST_REDUCED, 4), np.float32)
    assert reduce_compiled(x, "sum", ()) is None
    assert reduce_compiled(x.astype(np.complex64), "sum") is None and reduce_compiled(x.astype(np.int32), "max") is None
    assert (
        reduce_compiled(x.astype(">f4"), "sum") is None
        and reduce_compiled(x.astype(np.int64), "sum", of="absolute") is None
    )


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_ops_on_large_arrays(dtype, either_way):
    torch.manual_seed(0)
    values = torch.randn(300, 200)
    x = values.to(dtype).requires_grad_()
    exact = x.detach().double().requires_grad_()
    tolerance = {torch.float16: 2e-3, torch.bfloat16: 2e-2, torch.float32: 2e-6}[dtype]
    for f in (
        lambda v: v.sum(1), lambda v: v.mean(), lambda v: v.amax(1), lambda v: v.max(), lambda v: v.min(), lambda v: v.norm(),
        lambda v: v.norm(1), lambda v: torch.linalg.vector_norm(v, float("inf"), 1),
        lambda v: v * v, lambda v: v.exp(), lambda v: v / (v * v + 1), lambda v: v.relu(), lambda v: v.sum((0, 1), keepdim=True),
    ):  # fmt: skip
        out, wanted = f(x), f(exact)
        assert out.dtype == dtype and out.shape == wanted.shape
        torch.testing.assert_close(
            out.double(), wanted, rtol=tolerance, atol=100 * tolerance if out.dim() == 0 else tolerance
        )
        (grad,) = torch.autograd.grad(out.sum(), x)
        (wanted_grad,) = torch.autograd.grad(wanted.sum(), exact)
        torch.testing.assert_close(grad.double(), wanted_grad, rtol=20 * tolerance, atol=20 * tolerance)


def test_a_sum_that_is_too_large_for_half_precision(recwarn):
    assert torch.ones(100_000, dtype=torch.float16).sum() == float("inf")
    assert torch.ones(70_000, dtype=torch.float16)[1:].sum() == float("inf")
    assert not recwarn.list


def test_floats_to_whole_numbers():
    """What has no int32 becomes the least one; smaller integers are the lower bits of that, as in PyTorch."""
    x = np.concatenate(
        [bits_of_everything(1 << 14), np.array([3e9, -3e9, 2.5, -2.5, 70000, -0.0, 2147483520], np.float32)]
    )
    machine = truncate(x)
    assert (machine is not None) == executable.compiles()
    if machine is not None:
        with np.errstate(invalid="ignore"):
            np.testing.assert_array_equal(machine, x.astype(np.int32))
    y = torch.tensor([3e9, -3e9, float("nan"), float("inf"), 70000.0, -2.5])
    least = -(2**31)
    for repeat in (1, 5000):
        for dtype, expected in (
            (torch.int32, [least, least, least, least, 70000, -2]),
            (torch.int16, [0, 0, 0, 0, 4464, -2]),
            (torch.uint8, [0, 0, 0, 0, 112, 254]),
        ):
            assert y.repeat(repeat).to(dtype)[-6:].tolist() == expected
            assert torch.zeros(6 * repeat, dtype=dtype).copy_(y.repeat(repeat))[:6].tolist() == expected
