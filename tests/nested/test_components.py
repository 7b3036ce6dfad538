"""A function of a nested tensor is that function of each component, wherever the ragged dimension is, and with gaps between components."""

from __future__ import annotations

import math
import random

import pytest

import penlight as torch
from penlight import _torch_function
from penlight.nn import functional as F

REFUSALS = (RuntimeError, NotImplementedError, ValueError)


@pytest.fixture(autouse=True)
def _asleep():
    yield
    _torch_function.deactivate()


def drawn(seed):
    """Components, the nested tensor of them, and a generator of random choices."""
    choose = random.Random(seed)
    torch.manual_seed(seed)
    sizes = [choose.randint(1, 4) for _ in range(choose.randint(1, 3))]
    dim = choose.randrange(len(sizes))
    lengths = [choose.randint(1, 5) for _ in range(choose.randint(1, 4))]
    parts = [draw(sizes, dim, n) for n in lengths]
    gaps = [choose.randint(0, 2) if seed % 3 == 0 else 0 for _ in lengths]
    pieces = [piece for part, gap in zip(parts, gaps, strict=True) for piece in (part, draw(sizes, dim, gap))]
    ends = torch.tensor([part.shape[dim] + gap for part, gap in zip(parts, gaps, strict=True)]).cumsum(0)
    offsets = torch.cat([torch.zeros(1, dtype=torch.int64), ends])
    given = torch.tensor(lengths) if any(gaps) else None
    return parts, torch.nested.nested_tensor_from_jagged(torch.cat(pieces, dim), offsets, given, dim + 1), choose


def draw(sizes, dim, length):
    return torch.randn([length if d == dim else n for d, n in enumerate(sizes)], dtype=torch.float64)


# A function of a tensor, of dimensions that it may use, and of how many come before those: the batch, or nothing.
FUNCTIONS = {
    **{name: lambda x, d, e, more, name=name: getattr(x, name)(d + more) for name in ("sum", "mean", "prod", "amax", "amin", "argmax", "softmax", "log_softmax")},
    "sum_keepdim": lambda x, d, e, more: x.sum(d + more, keepdim=True),
    "max": lambda x, d, e, more: x.max(d + more)[0],
    "all": lambda x, d, e, more: (x > -1).all(d + more),
    "transpose": lambda x, d, e, more: x.transpose(d + more, e + more),
    "unsqueeze": lambda x, d, e, more: x.unsqueeze(d + more),
    "squeeze": lambda x, d, e, more: x.unsqueeze(d + more).squeeze(d + more),
    "select": lambda x, d, e, more: x.select(d + more, 0),
    "narrow": lambda x, d, e, more: x.narrow(d + more, 0, 1),
    "chunk": lambda x, d, e, more: x.chunk(2, d + more)[-1],
    "flatten": lambda x, d, e, more: x.flatten(min(d, e) + more, max(d, e) + more),
    "unflatten": lambda x, d, e, more: x.unflatten(d + more, (1, -1)),
    "cat": lambda x, d, e, more: torch.cat([x, x * 2], d + more),
    "stack": lambda x, d, e, more: torch.stack([x, x * 2], d + more),
    "expand": lambda x, d, e, more: x.unsqueeze(-1).expand(*[-1] * x.dim(), 3),
    "linear": lambda x, d, e, more: F.linear(x, torch.arange(2.0 * x.size(-1), dtype=x.dtype).view(2, -1)),
    "layer_norm": lambda x, d, e, more: F.layer_norm(x, (x.size(-1),)),
    "gram": lambda x, d, e, more: x.transpose(-1, -2) @ x,
    "attention": lambda x, d, e, more: F.scaled_dot_product_attention(x, x, x * 2),
    "last": lambda x, d, e, more: x[..., 0],
    "contiguous": lambda x, d, e, more: x.contiguous(),
    "gelu": lambda x, d, e, more: F.gelu(x) * x,
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_as_of_the_components(name):
    agreed = 0
    for seed in range(60):
        parts, x, choose = drawn(seed)
        d, e = choose.randrange(x.dim() - 1), choose.randrange(x.dim() - 1)
        try:
            result = FUNCTIONS[name](x, d, e, 1)
        except (*REFUSALS, TypeError):
            continue
        for mine, part in zip(result.unbind(), parts, strict=True):
            expected = FUNCTIONS[name](part, d, e, 0)
            assert mine.shape == expected.shape and torch.allclose(mine.double(), expected.double()), (seed, x.shape)
        agreed += 1
    assert agreed >= 10


def test_dense_operands_broadcast_as_beside_a_padded_tensor():
    agreed = 0
    for seed in range(150):
        parts, x, choose = drawn(seed)
        padded = x.to_padded_tensor(0.0)
        sizes = [n if choose.random() < 0.6 else 1 for n in padded.shape]
        dense = torch.randn(sizes[choose.randint(0, x.dim()) :], dtype=torch.float64)
        expected, dim = padded * dense, x._ragged_idx - 1
        try:
            result = x * dense
        except REFUSALS:
            continue
        for mine, whole, part in zip(result.unbind(), expected, parts, strict=True):
            assert torch.equal(mine, whole.narrow(dim, 0, part.shape[dim]))
        agreed += 1
    assert agreed >= 80


def test_views_of_other_sizes():
    for seed in range(60):
        parts, x, _ = drawn(seed)
        dim = x._ragged_idx - 1
        before, after = math.prod(parts[0].shape[:dim]), math.prod(parts[0].shape[dim + 1 :])
        for mine, part in zip(x.reshape(len(x), before, -1, after).unbind(), parts, strict=True):
            assert torch.equal(mine, part.reshape(before, part.shape[dim], after))
        for mine, part in zip(x.view(*x.shape, 1).unbind(), parts, strict=True):
            assert torch.equal(mine, part.unsqueeze(-1))


def test_gradients_reach_the_components_and_nothing_between():
    for seed in range(60):
        parts, x, choose = drawn(seed)
        values, dim = x.values().detach().requires_grad_(), choose.randrange(1, x.dim())
        y = torch.nested.nested_tensor_from_jagged(values, x.offsets(), x.lengths(), x._ragged_idx)
        y.softmax(dim).pow(2).sum().backward()
        leaves = [part.clone().requires_grad_() for part in parts]
        sum(leaf.softmax(dim - 1).pow(2).sum() for leaf in leaves).backward()
        grads = torch.nested.nested_tensor_from_jagged(values.grad, x.offsets(), x.lengths(), x._ragged_idx)
        for mine, leaf in zip(grads.unbind(), leaves, strict=True):
            assert torch.allclose(mine, leaf.grad)
        assert math.isclose(values.grad.abs().sum(), sum(leaf.grad.abs().sum() for leaf in leaves), abs_tol=1e-12)
