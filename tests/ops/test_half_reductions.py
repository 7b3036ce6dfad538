"""Sums of 16-bit floats run in float32 and are rounded at the end; sums over many rows stay accurate."""

from __future__ import annotations

import pytest

import penlight as torch
import penlight.nn.functional as F

HALVES = [torch.bfloat16, torch.float16]
ROWS = 4000  # far beyond 256, where bfloat16's own sums of ones stand still

REDUCTIONS = {
    "sum": lambda x: x.sum(0),
    "sum of all": lambda x: x.sum(),
    "mean": lambda x: x.mean(0),
    "mean of all": lambda x: x.mean(),
    "norm": lambda x: x.norm(dim=0),
    "norm 1": lambda x: x.norm(1, dim=0),
    "norm 3": lambda x: x.norm(3, dim=0),
    "var": lambda x: x.var(0),
    "std": lambda x: x.std(),
    "cumsum": lambda x: x.cumsum(0),
    "logsumexp": lambda x: x.logsumexp(0),
    "trace": lambda x: x[:3].trace(),
    "mse": lambda x: F.mse_loss(x, torch.zeros_like(x)),
    "l1": lambda x: F.l1_loss(x, torch.zeros_like(x)),
    "kl": lambda x: F.kl_div(x, x, reduction="sum"),
    "adaptive_avg_pool1d": lambda x: F.adaptive_avg_pool1d(x.t(), 1),
}


def numbers(dtype):
    return torch.rand(ROWS, 3, generator=torch.Generator().manual_seed(0)).to(dtype)


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reduction_is_that_of_float32_rounded(name, dtype):
    x = numbers(dtype)
    result, expected = REDUCTIONS[name](x), REDUCTIONS[name](x.float())
    assert result.dtype is dtype
    torch.testing.assert_close(result, expected.to(dtype), rtol=2 * torch.finfo(dtype).eps, atol=0)


@pytest.mark.parametrize("dtype", HALVES)
def test_gradients_summed_by_broadcasting(dtype):
    upstream = numbers(dtype)
    expected = upstream.float().sum(0).to(dtype)
    bias = torch.zeros(3, dtype=dtype, requires_grad=True)
    (bias + torch.zeros(ROWS, 3, dtype=dtype)).backward(upstream)
    assert torch.equal(bias.grad, expected)
    layer = torch.nn.Linear(2, 3).to(dtype)
    layer(torch.zeros(ROWS, 2, dtype=dtype)).backward(upstream)
    assert torch.equal(layer.bias.grad, expected)
    tied = torch.zeros(ROWS, dtype=dtype, requires_grad=True)
    tied.amax().backward()
    assert tied.grad.float().sum() == pytest.approx(1, rel=0.01)


def test_sums_over_many_rows_in_float32():
    x = torch.rand(300_000, 3, generator=torch.Generator().manual_seed(0))
    exact = x.double().sum(0)
    torch.testing.assert_close(x.sum(0).double(), exact, rtol=1e-6, atol=0)
    torch.testing.assert_close(x.mean(0, keepdim=True).double(), exact[None] / len(x), rtol=1e-6, atol=0)
    assert (x > 0.5).sum(0).dtype is x.int().sum(0).dtype is torch.int64


def test_product_that_overflows_is_infinite_without_a_warning():
    assert torch.full((100,), 8.0, dtype=torch.float16).prod().item() == float("inf")
