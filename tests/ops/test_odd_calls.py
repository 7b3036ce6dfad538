"""Calls at the edge of what functions take, and beyond it: what PyTorch 2.13.0 gave or said."""

from __future__ import annotations

import math

import pytest

import penlight as torch

F = torch.nn.functional
X = torch.arange(6.0).reshape(2, 3)

REFUSED = [
    (lambda: F.layer_norm(X, (3,), eps="a"), TypeError, "layer_norm(): argument 'eps' (position 5) must be float, not str"),
    (lambda: F.group_norm(X[None], 1, eps=1j), TypeError, "group_norm(): argument 'eps' (position 5) must be float, not complex"),
    (lambda: F.rms_norm(X, (3,), eps="a"), TypeError, "rms_norm(): argument 'eps' (position 4) must be float, not str"),
    (lambda: torch.softmax(X, 0, dtype=1), TypeError, "softmax(): argument 'dtype' must be torch.dtype, not int"),
    (lambda: torch.tensor([1], dtype="a"), TypeError, "tensor(): argument 'dtype' must be torch.dtype, not str"),
    (lambda: torch.as_tensor([1], dtype="a"), TypeError, "as_tensor(): argument 'dtype' must be torch.dtype, not str"),
    (lambda: torch.linalg.multi_dot([None, X]), TypeError, "expected Tensor as element 0 in argument 0, but got NoneType"),
    (lambda: torch.mean(X.to(torch.complex64), out=torch.empty(())), RuntimeError, "mean.dtype_out(): input types can't be cast to the desired output type Float"),
    (lambda: torch.cov(X, aweights=torch.zeros(3)), RuntimeError, "cov(): weights sum to zero, can't be normalized"),
    (lambda: torch.cov(X, aweights=torch.tensor([math.nan, 1.0, 1.0])), RuntimeError, "cov(): aweights cannot be negative"),
    (lambda: torch.zeros(2, device=1), RuntimeError, "Cannot access accelerator device when none is available."),
    (lambda: F.rrelu(X, 0.1, math.nan, training=True), RuntimeError, "rrelu: upper bound must be finite, got nan"),
    (lambda: F.pdist(X, math.nan), RuntimeError, "pdist only supports non-negative p values"),
    (lambda: torch.ormqr(torch.eye(3), torch.ones(2), torch.eye(3)), RuntimeError, "torch.ormqr: tau.shape[-1] must be equal to min(other.shape[-2], input.shape[-1])"),
    (lambda: torch.linalg.vector_norm(torch.ones(5, 0), -1, dim=1), RuntimeError, "linalg.vector_norm cannot compute the -1 norm on the dimension 1because this dimension is empty"),
]  # fmt: skip


@pytest.mark.parametrize("call, kind, words", REFUSED, ids=[words[:40] for _, _, words in REFUSED])
def test_refused(call, kind, words):
    with pytest.raises(kind) as caught:
        call()
    assert str(caught.value).startswith(words)


def test_a_number_is_its_own_norm():
    """Of any order: its hundredth power would be no number any more."""
    x = torch.tensor([[-8.0], [3.0]])
    for order in (100, -100, 3.5, 2, 1, math.inf, math.nan):
        assert torch.linalg.vector_norm(x, order, dim=1).tolist() == [8.0, 3.0]
    assert torch.linalg.vector_norm(x, 0, dim=1).tolist() == [1.0, 1.0]
    assert torch.linalg.vector_norm(torch.ones(0, 5), math.inf, dim=1).shape == (0,)


def test_dimensions_that_do_not_matter():
    assert torch.roll(torch.empty(0, 3), 1, 7).shape == (0, 3)
    assert torch.diff(torch.ones(1), 0, 5).tolist() == [1.0]


def test_real_complex_numbers_fill_masks():
    assert X.masked_fill(X > 2, torch.tensor(1 + 0j)).tolist() == [[0.0, 1.0, 2.0], [1.0, 1.0, 1.0]]
    with pytest.raises(RuntimeError, match="without overflow"):
        X.masked_fill(X > 2, torch.tensor(1 + 2j))


def test_nodes_of_fill():
    """In place and not, by a number and by a tensor: four nodes."""
    x, value = X.clone().requires_grad_(), torch.tensor(2.0, requires_grad=True)
    results = torch.fill(x, 2), torch.fill(x, value), x.clone().fill_(2), x.clone().fill_(value)
    assert [r.grad_fn.name() for r in results] == [f"FillBackward{n}" for n in range(4)]
    for result in results:
        assert torch.autograd.grad(result.sum(), x)[0].tolist() == [[0.0] * 3] * 2
    assert torch.autograd.grad(results[3].sum() + results[1].sum(), value)[0].item() == 12.0


def test_the_slope_of_acosh_where_it_has_no_value():
    x = torch.tensor([-2.0, 2.0], requires_grad=True)
    torch.acosh(x).sum().backward()
    torch.testing.assert_close(x.grad, torch.tensor([3.0, 3.0]).rsqrt())
