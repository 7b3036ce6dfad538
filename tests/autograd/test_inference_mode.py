"""Inference mode: what is new takes no part in autograd, views of normal tensors stay normal. Values as PyTorch 2.13.0 gives them."""

# The lambdas run where they are made.
# ruff: noqa: B023
from __future__ import annotations

import threading

import pytest

import penlight as torch
from penlight.autograd import forward_ad


def test_what_is_new_is_marked() -> None:
    x, n = torch.ones(3, requires_grad=True), torch.tensor([1, 2, 3])
    with torch.inference_mode():
        made = [x * 2, n * 2.5, x.exp(), torch.ones(2, 2).max(1).values, torch.cat([x, x]), n + 1, -x]
        made += list(made[0].split([1, 2])) + [made[0][:2]]
        for y in made:
            assert y.is_inference() and not y.requires_grad and not y._is_view()
            with pytest.raises(RuntimeError, match="do not track version counter"):
                y._version  # noqa: B018
    with pytest.raises(RuntimeError, match="cannot be saved for backward"):
        x * made[0]


@pytest.mark.parametrize("grad", [False, True])
def test_views_of_normal_tensors_stay_normal(grad: bool) -> None:
    n = torch.ones(3, requires_grad=grad)
    with torch.inference_mode():
        views = [n[:2], n.view(3), n.expand(2, 3), n.reshape(3, 1), *n.split([1, 2])]
        for v in views:
            assert not v.is_inference() and v._is_view() and v._base is n and v.requires_grad == grad and v.is_leaf


def test_writes_through_views_count() -> None:
    """A tensor that a graph saved, written to through a view in inference mode, is refused."""
    x, n = torch.ones(3, requires_grad=True), torch.ones(3)
    y = (x * n).sum()
    with torch.inference_mode():
        n.view(3).mul_(2)
        assert n._version == 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_modes_of_another_thread_leave_ops_alone() -> None:
    """A slow mode is open in another thread; here the same results, the same graph."""
    opened, done = threading.Event(), threading.Event()

    def elsewhere() -> None:
        with forward_ad.dual_level():
            opened.set()
            done.wait()

    thread = threading.Thread(target=elsewhere)
    thread.start()
    try:
        opened.wait()
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        y = (x * x + 1).sin()
        assert y.grad_fn.name() == "SinBackward0"
        y.sum().backward()
        assert torch.allclose(x.grad, 2 * x * (x * x + 1).cos())
        assert (torch.tensor([1, 2]) * x.detach()).tolist() == [1.0, 4.0]
        with pytest.raises(RuntimeError, match="must match the size"):
            x + torch.ones(3)
    finally:
        done.set()
        thread.join()


def test_views_of_inference_tensors_are_inference_tensors():
    with torch.inference_mode():
        x = torch.ones(3)
    for view in (x.view(3), x[0], x.unbind()[0], x.detach(), x.data, x.reshape(3)):
        assert view.is_inference()
        with pytest.raises(RuntimeError, match="Inplace update to inference tensor outside InferenceMode"):
            view.add_(1)
        with pytest.raises(RuntimeError, match="Setting requires_grad=True on inference tensor outside InferenceMode"):
            view.requires_grad_()
    assert x.tolist() == [1, 1, 1]
    for copy in (x.clone(), x * 2):
        assert not copy.is_inference()


def test_nothing_is_recorded_in_inference_mode_whatever_the_grad_mode():
    w = torch.ones(3, requires_grad=True)
    with torch.inference_mode(), torch.enable_grad():
        assert torch.is_grad_enabled()
        for out in (w * 2, w.exp(), torch.cat([w, w]), torch.nn.Linear(3, 1)(w)):
            assert not out.requires_grad and out.is_inference()


def test_views_and_writes_that_mix(same):
    @same
    def program(torch, say):
        def told(tensor):
            node = None if tensor.is_leaf else tensor.grad_fn.name()
            return tensor.is_inference(), tensor.requires_grad, node, tensor._is_view()

        def tensors():
            with torch.inference_mode():
                made = torch.ones(2, 3)
            return made, torch.ones(2, 3, requires_grad=True) * 1

        writes = (
            lambda a, b: a.mul_(2), lambda a, b: b.mul_(2), lambda a, b: b.add_(a), lambda a, b: a.add_(b), lambda a, b: b.mul_(a),
            lambda a, b: a.view(-1).mul_(2), lambda a, b: b.view(-1).mul_(2), lambda a, b: a.t_(), lambda a, b: b.copy_(a),
            lambda a, b: a.copy_(b), lambda a, b: torch.add(b.detach(), 1, out=a), lambda a, b: torch.add(a, 1, out=b.detach()),
            lambda a, b: b.unbind()[0].mul_(2), lambda a, b: a.requires_grad_(),
        )  # fmt: skip
        reads = (
            lambda a, b: a.view(-1), lambda a, b: b.view(-1), lambda a, b: a[0][1:], lambda a, b: b[0][1:], lambda a, b: a.unbind()[1],
            lambda a, b: a + b, lambda a, b: a * b, lambda a, b: a.detach(), lambda a, b: a.clone(),
        )  # fmt: skip
        for function in (*reads, *writes):
            say.attempt(lambda: told(function(*tensors())))
            a, b = tensors()
            with torch.inference_mode():
                say.attempt(lambda: told(function(a, b)))
        _, normal = tensors()
        with torch.inference_mode():
            view = normal.view(-1)
        say.attempt(lambda: view.mul_(2))
        say.attempt(lambda: told(view * 2))
        normal.mul_(2)
        say.attempt(lambda: view.grad_fn)


def test_other_memory_and_parameters(same):
    @same
    def program(torch, say):
        for use in (
            lambda x: x.resize_(3),
            lambda x: x.resize_as_(torch.ones(2)),
            lambda x: x.as_strided_((2,), (1,)),
            lambda x: x.resize_(2, 3),
            lambda x: x.set_(torch.ones(2)),
            torch.nn.Parameter,
            lambda x: torch.nn.Parameter(x, requires_grad=False).is_inference(),
        ):
            with torch.inference_mode():
                made = torch.ones(2, 3)
            say.attempt(lambda: use(made))
            with torch.inference_mode():
                say.attempt(lambda: use(made))


def test_resizing_what_requires_grad(same):
    @same
    def program(torch, say):
        for use in (
            lambda x: x.resize_(2),
            lambda x: x.resize_(9).shape,
            lambda x: x.resize_(2, 3),
            lambda x: x.set_(torch.ones(2)),
        ):
            for inference in (False, True):
                for inside in (False, True):
                    with torch.inference_mode(inference):
                        made = torch.ones(2, 3, requires_grad=True)
                    with torch.inference_mode(inside):
                        say.attempt(lambda: use(made))
