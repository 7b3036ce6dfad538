"""The short ways of `cat`, `stack`, indexing, `gather` and `log_softmax` for plain tensors agree with the long ones."""

from __future__ import annotations

import numpy as np
import pytest

import penlight as torch


def test_cat_of_views_whose_base_was_written_to() -> None:
    a = torch.ones(4, requires_grad=True)
    b = a * 1
    view = b[:2]
    b.mul_(3)
    torch.cat([view, view]).sum().backward()
    assert a.grad.tolist() == [6.0, 6.0, 0.0, 0.0]


def test_cat_and_stack_with_what_needs_no_gradient() -> None:
    a, b = torch.ones(2, 3, requires_grad=True), torch.full((2, 3), 2.0)
    for joined in (torch.cat([b, a], 1), torch.cat((a, b), -2), torch.stack([b, a]), torch.stack([a, b], -1)):
        a.grad = None
        (joined * joined).sum().backward()
        assert a.grad.tolist() == [[2.0] * 3] * 2
        assert len(joined.grad_fn.next_functions) == 2
    with torch.no_grad():
        assert not torch.cat([a, a]).requires_grad
    assert torch.autograd.grad(torch.stack([a, b]).sum(), a)[0].tolist() == [[1.0] * 3] * 2


def test_stack_of_numbers() -> None:
    parts = [torch.tensor(float(i), requires_grad=True) for i in range(3)]
    stacked = torch.stack(parts)
    (stacked * stacked).sum().backward()
    assert stacked.tolist() == [0.0, 1.0, 2.0] and [p.grad.item() for p in parts] == [0.0, 2.0, 4.0]
    assert torch.stack([torch.tensor(True), torch.tensor(False)]).dtype is torch.bool
    assert torch.stack([torch.empty(0, 3)] * 2).shape == (2, 0, 3)


def test_refusals_of_lists() -> None:
    with pytest.raises(
        RuntimeError, match=r"Sizes of tensors must match except in dimension 0\. Expected size 3 but got size 4"
    ):
        torch.cat([torch.ones(2, 3), torch.ones(2, 4)])
    with pytest.raises(RuntimeError, match=r"got \[2\] at entry 0 and \[3\] at entry 1"):
        torch.stack([torch.ones(2), torch.ones(3)])
    with pytest.raises(RuntimeError, match="zero-dimensional tensor"):
        torch.cat([torch.tensor(1.0), torch.ones(1)])
    assert torch.cat([torch.empty(0), torch.ones(2, 2)]).shape == (2, 2)


INDICES = [
    (0, 1),
    (slice(1, None), 2),
    (-1, slice(None, None, 2)),
    (slice(None),),
    (1, 0, slice(0, 1)),
    (slice(None), -1, 0),
]


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_windows(index: tuple[object, ...]) -> None:
    x = torch.arange(24.0).view(2, 3, 4).requires_grad_()
    part = x[index]
    assert np.array_equal(part.detach().numpy(), x.detach().numpy()[index])
    part.sum().backward()
    expected = np.zeros((2, 3, 4), np.float32)
    expected[index] = 1
    assert np.array_equal(x.grad.numpy(), expected)


def test_rows_by_a_tensor() -> None:
    x, rows = torch.arange(6.0).view(3, 2).requires_grad_(), torch.tensor([[2, -1], [0, 0]])
    x[rows].sum().backward()
    assert x[rows].tolist() == [[[4.0, 5.0], [4.0, 5.0]], [[0.0, 1.0], [0.0, 1.0]]]
    assert x.grad.tolist() == [[2.0, 2.0], [0.0, 0.0], [2.0, 2.0]]
    with pytest.raises(IndexError, match="index 3 is out of bounds for dimension 0 with size 3"):
        x[torch.tensor([3])]


@pytest.mark.parametrize("dim", [0, 1])
def test_gather(dim: int) -> None:
    x = torch.arange(12.0).view(3, 4)
    index = torch.tensor([[0, 2], [1, 0]])
    expected = np.take_along_axis(x.numpy()[:2] if dim else x.numpy()[:, :2], index.numpy(), dim)
    assert np.array_equal(x.gather(dim, index).numpy(), expected)
    assert np.array_equal(x.t().contiguous().t().gather(dim, index).numpy(), expected)
    with pytest.raises(RuntimeError, match=f"index -1 is out of bounds for dimension {dim}"):
        x.gather(dim, torch.tensor([[-1, 0]]))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_log_softmax_of_rows(dtype: torch.dtype) -> None:
    x = torch.tensor([[1.0, 2.0, 50.0], [-1000.0, 0.0, 1000.0], [0.0, -float("inf"), 0.0]], dtype=dtype)
    wide = x.double().numpy()
    shifted = wide - wide.max(1, keepdims=True)
    expected = shifted - np.log(np.exp(shifted).sum(1, keepdims=True))
    assert np.allclose(x.log_softmax(1).numpy(), expected, rtol=1e-6)
    assert x.t().log_softmax(1).is_contiguous()


def test_nodes_have_no_attributes_of_the_users() -> None:
    node = torch.ones(1, requires_grad=True).exp().grad_fn
    with pytest.raises(AttributeError, match="'ExpBackward0' object has no attribute 'mine'"):
        node.mine = 1  # type: ignore[union-attr]
    node.metadata["mine"] = 1
    assert node.metadata == {"mine": 1}


def test_out_of_the_right_shape_and_dtype() -> None:
    a, b, out = torch.full((2, 3), 3.0), torch.full((2, 3), 2.0), torch.zeros(2, 3)
    view = out[0]
    assert torch.mul(a, b, out=out) is out and out._version == view._version == 1 and view.tolist() == [6.0] * 3
    assert torch.add(a, b, out=a) is a and a.tolist() == [[5.0] * 3] * 2
    assert torch.sum(b, 1, keepdim=True, out=(total := torch.zeros(2, 1))) is total and total.tolist() == [[6.0], [6.0]]
    assert torch.lt(b, 3, out=(less := torch.zeros(2, 3, dtype=torch.bool))) is less and less.all()
    assert torch.norm(b, 2, dim=0, out=(norms := torch.zeros(3))) is norms and torch.equal(norms, b.norm(dim=0))


def test_out_that_needs_a_closer_look() -> None:
    a, w = torch.arange(6.0), torch.ones(5, requires_grad=True)
    with pytest.raises(RuntimeError, match="some elements of the input tensor and the written-to tensor"):
        torch.exp(a[:5], out=a[1:])
    for write in (
        lambda: torch.mul(w, 2, out=torch.zeros(5)),
        lambda: torch.lt(w, 2, out=torch.zeros(5, dtype=torch.bool)),
        lambda: torch.exp(a[:5], out=w),
    ):
        with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
            write()
    with torch.no_grad():
        assert torch.mul(w, 2, out=torch.zeros(5)).tolist() == torch.exp(torch.full((5,), np.log(2.0)), out=w).tolist()
    assert w._version == 1 and w.is_leaf and w.requires_grad
    assert torch.exp(torch.zeros(2, 3), out=torch.zeros(3, 2).t()).stride() == (1, 2)
    assert torch.mul(a, 2, out=torch.zeros(6, dtype=torch.float64)).dtype is torch.float64
    with pytest.warns(UserWarning, match="An output with one or more elements was resized"):
        assert torch.neg(a, out=torch.zeros(2)).shape == (6,)
