"""16-bit floats are computed with as float32 and rounded once, as PyTorch's kernels do, and keep their dtype."""

from __future__ import annotations

import numpy as np
import pytest

import penlight as torch
import penlight.nn.functional as F

HALVES = [torch.bfloat16, torch.float16]


def numbers(*shape: int, dtype, seed: int = 0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


@pytest.mark.parametrize("dtype", HALVES)
def test_products_with_something_added_round_once(dtype):
    x, w, b = numbers(20, 8, dtype=dtype), numbers(32, 8, dtype=dtype, seed=1), numbers(32, dtype=dtype, seed=2)
    wide = x.float() @ w.float().T
    expected = (wide + b.float()).to(dtype)
    assert torch.equal(F.linear(x, w, b), expected)
    assert torch.equal(F.linear(x[None], w, b)[0], expected)
    assert torch.equal(torch.addmm(b, x, w.T), expected)
    assert torch.equal(torch.baddbmm(b.expand(1, 20, 32), x[None], w.T[None])[0], expected)
    assert torch.equal(torch.addmv(b, w, x[3]), expected[3])
    assert torch.equal(torch.addmm(b, x, w.T, alpha=1.5, beta=0.25), (1.5 * wide + 0.25 * b.float()).to(dtype))
    assert not torch.equal(expected, wide.to(dtype) + b)  # what two roundings would give


@pytest.mark.parametrize("dtype", HALVES)
def test_sigmoid_rounds_once(dtype):
    x = numbers(200, dtype=dtype)
    assert torch.equal(torch.sigmoid(x), torch.sigmoid(x.float()).to(dtype))


@pytest.mark.parametrize("dtype", HALVES)
def test_bilinear_keeps_the_dtype(dtype):
    layer = torch.nn.Bilinear(3, 4, 2).to(dtype)
    a, b = numbers(5, 3, dtype=dtype).requires_grad_(), numbers(5, 4, dtype=dtype).requires_grad_()
    out = layer(a, b)
    out.sum().backward()
    assert out.dtype is a.grad.dtype is b.grad.dtype is layer.weight.grad.dtype is dtype


def test_max_pool1d_of_bfloat16_and_of_integers():
    x = torch.tensor([[1.0, 3.0, 2.0, 5.0]])
    assert F.max_pool1d(x.bfloat16(), 2).tolist() == [[3.0, 5.0]]
    values, indices = F.max_pool1d(x.long(), 2, return_indices=True)
    assert values.tolist() == [[3, 5]] and indices.tolist() == [[1, 3]]
    with pytest.raises(NotImplementedError, match="\"max_pool1d_impl\" not implemented for 'Long'"):
        F.max_pool1d(x.long(), 2)


def test_addmm_rounds_once() -> None:
    x = torch.tensor(np.arange(12).reshape(3, 4).astype("f") / 7).bfloat16()
    y = torch.addmm(x[:, :3], x, x.t(), beta=0.3, alpha=0.7)
    assert y[0].tolist() == [0.19921875, 0.5859375, 0.96875]


@pytest.mark.parametrize("dtype", HALVES)
def test_rms_norm_with_a_weight_of_another_dtype_does_not_overflow(dtype) -> None:
    """Squares of 500 are no numbers in float16: they are summed in float32, as PyTorch does."""
    x = torch.tensor([[100.0, 300.0, 500.0]], dtype=dtype)
    out = F.rms_norm(x, (3,), torch.ones(3), 0.5)
    assert out.dtype is dtype and torch.equal(out, F.rms_norm(x, (3,), torch.ones(3, dtype=dtype), 0.5))


ONCE = {
    "lerp": lambda a, b, c: torch.lerp(a, b, 0.3), "lerp by tensors": lambda a, b, c: torch.lerp(a, b, c), "addcmul": lambda a, b, c: torch.addcmul(a, b, c, value=0.7),
    "addcdiv": lambda a, b, c: torch.addcdiv(a, b, c, value=0.7), "add": lambda a, b, c: torch.add(a, b, alpha=0.25), "sub": lambda a, b, c: torch.sub(a, b, alpha=0.25),
    "rsub": lambda a, b, c: torch.rsub(a, b, alpha=0.25), "lerp_": lambda a, b, c: a.clone().lerp_(b, 0.3), "add_": lambda a, b, c: a.clone().add_(b, alpha=0.25),
}  # fmt: skip


@pytest.mark.parametrize("size", [300, 9000])
@pytest.mark.parametrize("name", ONCE)
@pytest.mark.parametrize("dtype", HALVES)
def test_sums_of_products_round_once(dtype, name, size) -> None:
    """As PyTorch does: what is between is float32. Optimisers are made of these."""
    operands = [numbers(size, dtype=dtype, seed=seed) for seed in range(3)]
    exact = ONCE[name](*[x.float() for x in operands])
    found = ONCE[name](*operands)
    assert found.dtype is dtype and (found == exact.to(dtype)).float().mean().item() > 0.99  # a product may be fused


def test_a_mixture_of_large_halves_does_not_overflow() -> None:
    low, high = torch.tensor([-60000.0]).half(), torch.tensor([60000.0]).half()
    assert torch.lerp(low, high, 0.5).item() == 0.0


def test_the_gradient_of_a_small_norm() -> None:
    """A gradient over a norm of 1e-5 is more than float16 has; the element over the norm is not."""
    x = torch.tensor([[1e-5, 2e-5, 3e-5]], dtype=torch.float16, requires_grad=True)
    torch.linalg.vector_norm(x, dim=1).sum().backward()
    torch.testing.assert_close(x.grad.float(), torch.tensor([[0.268, 0.535, 0.801]]), rtol=0, atol=1e-3)
    a = torch.ones(2, 3, dtype=torch.float16, requires_grad=True)
    F.pairwise_distance(a, torch.ones(2, 3).half()).sum().backward()
    assert a.grad.isfinite().all()
