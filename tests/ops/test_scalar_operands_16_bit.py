"""16-bit floats beside numbers: Note [Numbers beside 16-bit floats] in ops/machinery/scalars.py. The values are PyTorch's."""

import numpy as np
import pytest

import penlight as torch
from penlight.nn import functional as F


def test_a_number_is_not_rounded_to_16_bits():
    h = torch.tensor([1.0, -3.0], dtype=torch.float16)
    assert (h / 70000).tolist() == [1.430511474609375e-05, -4.2855739593505859e-05]
    assert (h * 1e-8).tolist() == [0.0, -5.9604644775390625e-08]
    assert ((h * 1e5) / 1e5).tolist() == [np.inf, -np.inf]
    assert (h / torch.tensor(70000.0)).tolist() == (h / 70000).tolist()
    assert h.clone().div_(70000).tolist() == (h / 70000).tolist()
    assert (h + 1e5).tolist() == [np.inf, np.inf]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("size", [5, 1000, 3000, 70000])
def test_products_with_a_number_round_once(dtype, size):
    if dtype is torch.bfloat16:
        pytest.importorskip("ml_dtypes")
    torch.manual_seed(0)
    h = torch.randn(size).to(dtype)
    for number in (0.1, 3, 1e-3):
        exact = h.float()
        assert torch.equal(h * number, (exact * number).to(dtype))
        assert torch.equal(number * h, (exact * number).to(dtype))
        assert torch.equal(h / number, (exact / number).to(dtype))
        x = h.clone().requires_grad_()
        (slope,) = torch.autograd.grad((x * number * x).sum(), x)
        assert slope.dtype is dtype
        (slope,) = torch.autograd.grad((x * number).sum(), x)
        assert torch.equal(slope, torch.full((size,), number).to(dtype))


def test_means_of_many_halves_have_gradients():
    x = torch.ones(70000, dtype=torch.float16, requires_grad=True)
    one = torch.ones(1, dtype=torch.float16)
    shares = [
        *torch.autograd.grad(x.mean(), x),
        *torch.autograd.grad(x.mean(0, keepdim=True), x, one),
        *torch.autograd.grad(torch.var_mean(x)[1], x),
    ]
    for share in shares:
        assert set(share.tolist()) == {1.430511474609375e-05}
    assert set(torch.autograd.grad(F.l1_loss(x, x.detach() * 2), x)[0].tolist()) == {-1.430511474609375e-05}
    assert F.l1_loss(x, x.detach() * 2) == 1


@pytest.mark.parametrize(
    "name, limits", [("clamp", (-0.1, 2.5)), ("clamp", (-0.0, 0.0)), ("floor", ()), ("ceil", ()), ("trunc", ())]
)
def test_many_halves_are_as_few(name: str, limits: tuple[float, ...]) -> None:
    """Each float16 comes out the same in a large array, which is done in float32, as in small ones; so do transposed ones."""
    every = torch.arange(-(2**15), 2**15, dtype=torch.int16).view(torch.float16)
    function = getattr(torch, name)
    many = function(every, *limits)
    few = torch.cat([function(part, *limits) for part in every.split(512)])
    assert torch.equal(many.view(torch.int16)[~every.isnan()], few.view(torch.int16)[~every.isnan()])
    assert many.isnan().equal(every.isnan())
    transposed = function(every.view(256, 256).t(), *limits)
    assert transposed.stride() == (1, 256) and transposed.t().reshape(-1).nan_to_num().equal(many.nan_to_num())
