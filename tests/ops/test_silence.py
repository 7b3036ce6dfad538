"""Numbers that overflow become infinite without a word: NumPy's warnings about arithmetic are not PyTorch's."""

from __future__ import annotations

import warnings

import pytest

import penlight as torch
from penlight.nn import functional as F

HUGE = {torch.float16: 3e4, torch.float32: 1e30, torch.float64: 1e200}

FUNCTIONS = {
    "half": lambda x, m, image: x.half(),
    "float": lambda x, m, image: x.float(),
    "median": lambda x, m, image: (x.median(), m.median(0), m.mode(0), x.topk(2), x.sort(), x.kthvalue(1)),
    "products": lambda x, m, image: (torch.einsum("ij,ij->i", m, m), torch.kron(m[:2], m[:2]), x.dot(x), torch.outer(x[:4], x[:4])),
    "sums": lambda x, m, image: (x.sum(), m.mean(0), x.norm(), m.var(0), x.cumsum(0), x.prod(), m.softmax(1), x.logsumexp(0)),
    "arithmetic": lambda x, m, image: (x * x, x + x, x**3, x.exp(), torch.addcmul(x, x, x), torch.lerp(x, -x, 3.0), F.gelu(x)),
    "losses": lambda x, m, image: (F.mse_loss(x, -x), F.binary_cross_entropy_with_logits(x, x), F.l1_loss(x, -x)),
    "scattering": lambda x, m, image: x.scatter_add(0, torch.zeros(len(x), dtype=torch.long), x),
    "layers": lambda x, m, image: (F.conv2d(image, image[:, :, :3, :3]), F.layer_norm(m, (4,)), F.avg_pool2d(image, 2)),
    "data": lambda x, m, image: (torch.tensor(1e30, dtype=torch.float16), torch.tensor([1e30], dtype=torch.float16), torch.matrix_exp(m[:4, :4])),
    "matrices": lambda x, m, image: None if x.dtype is torch.float16 else (
        torch.linalg.multi_dot([m[:4], m[:4].t(), m[:4]]), torch.linalg.solve_triangular(torch.eye(4).to(x), m.t(), upper=False)),
    "sampling": lambda x, m, image: None if x.dtype is torch.float16 else (
        F.grid_sample(image, torch.zeros(1, 4, 4, 2).to(x), align_corners=False), F.interpolate(image, scale_factor=2, mode="bilinear")),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", HUGE)
@pytest.mark.parametrize("size", [16, 5000])
@pytest.mark.parametrize("recorded", [False, True])
def test_no_word_about_overflow(name, dtype, size, recorded):
    x = torch.full((size,), HUGE[dtype], dtype=dtype).requires_grad_(recorded)
    image = torch.full((1, 1, 8, 8), HUGE[dtype], dtype=dtype).requires_grad_(recorded)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        FUNCTIONS[name](x, x.view(-1, 4) * 1, image)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_no_word_about_infinities_that_cancel(dtype):
    x = torch.tensor([[float("inf"), -float("inf"), 1.0]], dtype=dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for made in (x.sum(), x.mean(), x.sum(1), x.var(), x.t().std(0), *torch.var_mean(x), *torch.std_mean(x, 1)):
            assert made.isnan().all()
        x.cumsum(1), x.t().softmax(0), x.cumprod(1)


def test_what_is_too_large_is_infinite():
    assert torch.tensor([1e30, -1e30, 1.0]).half().tolist() == [float("inf"), float("-inf"), 1.0]
