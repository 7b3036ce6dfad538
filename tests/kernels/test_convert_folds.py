"""Conversions of 16-bit floats, and folds of large arrays, in machine code and in NumPy."""

import numpy as np
import pytest

import penlight as torch
from penlight.kernels import native
from penlight.kernels.convert import cast
from penlight.kernels.folds import FROM, fold

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
@pytest.mark.parametrize("size", [FROM, FROM + 3, 3 * FROM + 8, 100_001])
def test_folds_of_all_elements(dtype, size, either_way):
    x = np.random.default_rng(1).standard_normal(size).astype(dtype)
    exact = x.astype(np.float64)
    if not native.available():
        assert fold(x, "sum") is None
        return
    np.testing.assert_allclose(fold(x, "sum"), exact.sum(), rtol=0, atol=1e-7 * np.abs(exact).sum())
    np.testing.assert_allclose(fold(x, "sum", of="squares"), (exact**2).sum(), rtol=3e-7)
    np.testing.assert_allclose(fold(x, "sum", of="size"), np.abs(exact).sum(), rtol=3e-7)
    holes = x.copy()
    holes[::7] = np.nan
    np.testing.assert_allclose(
        fold(holes, "sum", of="numbers"), np.nansum(holes.astype(np.float64)), rtol=0, atol=1e-7 * np.abs(exact).sum()
    )
    assert fold(x, "largest") == exact.max() and fold(x, "smallest") == exact.min()
    assert fold(x, "largest", of="size") == np.abs(exact).max()
    ones = (1 + x.astype(np.float32) / 1000).astype(dtype)
    np.testing.assert_allclose(fold(ones, "product"), ones.astype(np.float64).prod(), rtol=2e-4)
    for place in (0, size // 2, size - 1):
        y = x.copy()
        y[place] = np.nan
        assert np.isnan(fold(y, "largest")) and np.isnan(fold(y, "smallest")) and np.isnan(fold(y, "sum"))
    y = np.full(size, -np.inf, dtype)
    assert fold(y, "largest") == -np.inf


@pytest.mark.parametrize(
    "shape, dims", [((64, 300), (1,)), ((3, 8192), (1,)), ((40, 30, 24), (1, 2)), ((2049, 8), (1,))]
)
def test_folds_along_rows(shape, dims):
    x = np.random.default_rng(2).standard_normal(shape).astype(np.float32)
    for how, exact in (("sum", np.sum), ("largest", np.max), ("smallest", np.min), ("product", np.prod)):
        for keep in (True, False):
            result = fold(x, how, dims, keep)
            if result is not None:
                wanted = exact(x.astype(np.float64), axis=dims, keepdims=keep)
                assert result.shape == wanted.shape
                np.testing.assert_allclose(result, wanted, rtol=1e-5, atol=1e-5)


def test_what_is_not_folded():
    x = np.ones((FROM, 4), np.float32)
    assert fold(x[:, ::2], "sum") is None and fold(x, "sum", (0,)) is None and fold(x, "sum", (1,)) is None
    assert fold(x.astype(np.float64), "sum") is None and fold(x.astype(np.int32), "sum") is None


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
