"""Large arrays go ways of their own; whatever the layout, they give what small ones give."""

import numpy as np
import pytest

import penlight as torch

_REDUCTIONS = ["sum", "mean", "amax", "amin", "std", "var", "logsumexp", "nansum", "nanmean"]


@pytest.mark.parametrize("dims", [(2, 0), (3, 0, 1), (-1, 1), (-1, -2), (3, 2, 1, 0)])
@pytest.mark.parametrize("name", _REDUCTIONS)
def test_reductions_over_dimensions_in_any_order(name, dims):
    torch.manual_seed(0)
    ordered = tuple(sorted(d % 4 for d in dims))
    for x in (torch.randn(16, 54, 16, 5), torch.randn(16, 5, 54, 16, dtype=torch.float64).permute(2, 0, 3, 1)):
        for keepdim in (False, True):
            found = getattr(torch, name)(x, dim=dims, keepdim=keepdim)
            wanted = getattr(torch, name)(x, dim=ordered, keepdim=keepdim)
            assert found.shape == wanted.shape
            torch.testing.assert_close(found, wanted)


@pytest.mark.parametrize("name", ["var_mean", "std_mean"])
@pytest.mark.parametrize("shape", [(5000, 2), (100, 50), (3, 2000)])
def test_spread_of_complex_rows(name, shape):
    rng = np.random.default_rng(0)
    x = rng.standard_normal(shape) + 1j * rng.standard_normal(shape)
    spread, mean = getattr(torch, name)(torch.from_numpy(x), dim=1)
    np.testing.assert_allclose(mean.numpy(), x.mean(1))
    np.testing.assert_allclose(spread.numpy(), (x.var if name == "var_mean" else x.std)(1, ddof=1))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("name", ["atan2", "hypot", "copysign", "fmod", "add", "mul", "maximum", "where"])
def test_repeated_operands(name, dtype):
    if dtype is torch.bfloat16:
        pytest.importorskip("ml_dtypes")
    torch.manual_seed(0)
    whole = torch.randn(8, 625).to(dtype)
    for part in (torch.randn(8, 1).to(dtype), torch.randn(1, 625).to(dtype), torch.randn(1).to(dtype)):
        repeated, copied = part.expand(8, 625), part.expand(8, 625).contiguous()
        for first in (True, False):
            operands = [(p, whole) if first else (whole, p) for p in (repeated, copied)]
            if name == "where":
                operands = [(whole > 0, *o) for o in operands]
            found, wanted = [getattr(torch, name)(*o) for o in operands]
            assert found.stride() == wanted.stride()
            if name == "hypot":  # contiguous operands have another way, whose last digits differ
                torch.testing.assert_close(found, wanted)
            else:
                assert torch.equal(found, wanted)


def test_quotients_of_nothing():
    nothing, zero = torch.ones(0, 3, dtype=torch.uint8), torch.zeros(1, 3, dtype=torch.uint8)
    assert torch.floor_divide(nothing, zero).shape == (0, 3)
    assert torch.remainder(nothing, zero).shape == (0, 3)
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        torch.floor_divide(torch.ones(2, 3, dtype=torch.uint8), zero)


def test_the_slope_of_acosh_below_its_domain():
    x = torch.tensor([-2.0, 0.5, 3.0], requires_grad=True)
    torch.acosh(x).sum().backward()
    torch.testing.assert_close(x.grad, torch.tensor([3**-0.5, float("nan"), 8**-0.5]), equal_nan=True)
    z = torch.tensor([-2 + 0.3j], requires_grad=True)
    torch.acosh(z).real.sum().backward()
    torch.testing.assert_close(z.grad, torch.tensor([-0.55290 + 0.10950j]), rtol=1e-4, atol=1e-4)


def test_relu_of_a_number():
    x = torch.tensor(1.5, requires_grad=True)
    y = torch.relu(x)
    (y * (y.detach() + 1)).sum().backward()
    assert x.grad == 2.5


def test_converted_repetitions_are_contiguous():
    mask = torch.ones(4, dtype=torch.bool)[None].expand(3, 4)
    for made in (
        mask.float(),
        mask.long(),
        mask * torch.randn(3, 4),
        torch.arange(4).expand(3, 4) / 2,
        torch.acosh(mask),
    ):
        assert made.stride() == (4, 1)
        made.view(-1)
    changed = torch.ones(()).expand(3).double()
    changed[0] = 5
    assert changed.tolist() == [5.0, 1.0, 1.0]


def test_large_complex_arrays_that_are_not_contiguous():
    z = torch.randn(70000, dtype=torch.complex64).reshape(7, -1).t()
    assert torch.equal(z * 1, z)
    assert torch.equal(z / 2, z.contiguous() / 2)
