"""Gradients that arrive at one place: added up, in place where the engine owns the sum, never in memory that others hold."""

import warnings

import numpy as np
import pytest

import penlight as torch

SIZES = [3, 10_000]  # below and above the size from which the engine looks for what it may write to


@pytest.mark.parametrize("n", SIZES)
def test_leaves_do_not_share_their_gradients(n):
    a, b = torch.ones(n, requires_grad=True), torch.ones(n, requires_grad=True)
    (a + b).backward(torch.ones(n))
    a.grad.add_(1)
    assert b.grad.eq(1).all()


@pytest.mark.parametrize("n", SIZES)
def test_a_given_gradient_is_not_written_to(n):
    x, g = torch.ones(n, requires_grad=True), torch.ones(n)
    y = x * 2
    (y + y + y + y).backward(g)
    assert g.eq(1).all() and x.grad.eq(8).all()
    x.grad = None
    z = x.clone()
    torch.autograd.backward([z, z, z], [g, g, g])
    assert g.eq(1).all() and x.grad.eq(3).all()


@pytest.mark.parametrize("n", SIZES)
def test_what_hooks_keep_is_not_written_to(n):
    x = torch.ones(n, requires_grad=True)
    kept = []
    y = x * 2
    parts = [y * k for k in range(1, 6)]
    for part in parts:
        part.register_hook(kept.append)
    y.register_hook(kept.append)
    sum(parts).backward(torch.ones(n))
    assert [g[0].item() for g in kept] == [1, 1, 1, 1, 1, 15]
    assert x.grad[0].item() == 30


def test_a_leaf_among_the_roots():
    x = torch.ones(2, requires_grad=True)
    torch.autograd.backward([x, x * 2, x], [torch.ones(2)] * 3)
    assert x.grad.tolist() == [4, 4]
    y = torch.ones(2, requires_grad=True)
    torch.autograd.backward([y, y], [torch.ones(2)] * 2)
    assert y.grad.tolist() == [2, 2]
    assert torch.autograd.grad(y, y, torch.ones(2))[0].tolist() == [1, 1]


def test_a_leaf_used_twice_by_its_last_consumer_runs_its_hooks_once():
    x = torch.ones(2, requires_grad=True)
    seen = []
    x.register_hook(lambda g: seen.append(g.tolist()))
    x.register_post_accumulate_grad_hook(lambda t: seen.append("done"))
    (x * x).sum().backward()
    assert seen == [[2, 2], "done"]


def test_gradients_of_weights_are_their_own_memory_in_their_layout():
    layer = torch.nn.Linear(5, 3)
    layer(torch.ones(4, 5)).sum().backward()
    for p in layer.parameters():
        assert p.grad._array.base is None and p.grad._array.flags.c_contiguous
    w = torch.ones(3, 5, requires_grad=True)
    a = torch.ones(4, 5, requires_grad=True)
    (a @ w.t()).sum().backward()
    assert w.grad.is_contiguous() and a.grad.is_contiguous() and w.grad.eq(4).all()


def test_a_transposed_gradient_that_somebody_keeps_is_copied():
    w = torch.ones(3, 5, requires_grad=True)
    kept = []
    t = w.t()
    t.register_hook(kept.append)
    (torch.ones(4, 5) @ t).sum().backward()
    w.grad.zero_()
    assert kept[0].eq(4).all()


def test_a_node_that_gives_another_dtype_joins_the_sum():
    class Wide(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            return g

    x = torch.ones(3, requires_grad=True)
    y = x * 1
    (y + y + Wide.apply(y) + y.double().float()).backward(torch.ones(3))
    assert x.grad.tolist() == [4, 4, 4]


def test_backward_does_not_warn_about_arithmetic():
    x = torch.tensor([0.0, 1e38, -1.0], requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (x.log() * 1e38 / x).sum().backward()
        assert np.geterr()["divide"] == "warn"
    assert x.grad.isnan().any() or x.grad.isinf().any()


def test_grad_runs_only_what_leads_to_the_inputs():
    x, w = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    ran = []
    side = w * 2
    side.grad_fn.register_hook(lambda *_: ran.append("side"))
    main = x * 3
    main.grad_fn.register_hook(lambda *_: ran.append("main"))
    (g,) = torch.autograd.grad((side + main).sum(), x)
    assert g.tolist() == [3, 3] and ran == ["main"] and w.grad is None
