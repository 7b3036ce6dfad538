"""In-place ops in a graph: the same values, gradients and complaints as the ops out of place and the readable path give."""

from __future__ import annotations

import pytest

import penlight as torch
from penlight.autograd.graph import saved_tensors_hooks

CALLS = {
    "relu": lambda x, y: x.relu_(),
    "sigmoid": lambda x, y: x.sigmoid_(),
    "add": lambda x, y: x.add_(y, alpha=2),
    "mul": lambda x, y: x.mul_(y),
    "number": lambda x, y: x.mul_(3.0),
    "divide": lambda x, y: x.div_(y),
    "clamp": lambda x, y: x.clamp_(-0.5, 0.5),
    "power": lambda x, y: x.pow_(2),
    "fill": lambda x, y: x.masked_fill_(y > 1, 0.0),
    "put": lambda x, y: x.index_put_((torch.tensor([0, 0]),), y[:2]),
    "added": lambda x, y: x.index_put_((torch.tensor([0, 0]),), y[:2], accumulate=True),
    "scatter": lambda x, y: x.scatter_add_(0, torch.tensor([[0, 1], [1, 1]]), y[:2]),
    "mask": lambda x, y: x.__setitem__(y > 1, 2.0),
    "rows": lambda x, y: x.__setitem__(torch.tensor([2, 0]), y[1:]),
    "last": lambda x, y: x.__setitem__((..., 0), y[:, 1]),
    "iadd": lambda x, y: x.__iadd__(y),
}


def run(call, through_view, readable):
    a = torch.tensor([[0.3, -1.2], [2.0, 0.7], [-0.4, 1.5]], dtype=torch.float64, requires_grad=True)
    b = torch.tensor([[1.5, 0.5], [0.9, 2.5], [1.1, 0.8]], dtype=torch.float64, requires_grad=True)
    x = a * 2
    target = x.view(3, 2) if through_view else x
    if readable:  # the readable path of ops serves where something is watched
        with saved_tensors_hooks(lambda t: t, lambda t: t):
            call(target, b)
    else:
        call(target, b)
    name = x.grad_fn.name()
    (x * x).sum().backward()
    return x.detach(), x._version, name, a.grad, b.grad


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("through_view", [False, True])
def test_both_paths_agree(name, through_view):
    quick, readable = (run(CALLS[name], through_view, way) for way in (False, True))
    assert quick[1:3] == readable[1:3]
    for a, b in zip((quick[0], *quick[3:]), (readable[0], *readable[3:]), strict=True):
        assert (a is None and b is None) or torch.equal(a, b)


def test_a_saved_result_that_is_written_again():
    x = torch.ones(3, requires_grad=True) * 1
    x.sigmoid_()
    x.add_(1)
    with pytest.raises(RuntimeError, match=r"output 0 of Sigmoid, is at version 2; expected version 1"):
        x.sum().backward()


def test_a_tensor_times_itself():
    x = torch.tensor([2.0, 3.0], requires_grad=True) * 1
    x.mul_(x)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        x.sum().backward()


def test_what_was_there_before_is_kept_for_the_other_factor():
    a, b = torch.tensor([2.0, 3.0], requires_grad=True), torch.tensor([5.0, 7.0], requires_grad=True)
    x = a * 1
    x.mul_(b)
    x.sum().backward()
    assert a.grad.tolist() == [5.0, 7.0] and b.grad.tolist() == [2.0, 3.0]


def test_refusals_leave_everything_as_it_was():
    leaf = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        leaf.mul_(2)
    x = leaf * 1
    with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
        x.add_(torch.ones(3, 2))
    with pytest.raises(IndexError, match="index 5 is out of bounds"):
        x[torch.tensor([5])] = 1.0
    assert leaf.tolist() == x.tolist() == [1.0, 1.0] and x._version == 0


def test_retained_gradients_follow():
    a = torch.ones(2, requires_grad=True)
    x = a * 2
    x.retain_grad()
    x.mul_(3)
    (x * x).sum().backward()
    assert x.grad.tolist() == [12.0, 12.0] and a.grad.tolist() == [72.0, 72.0]
