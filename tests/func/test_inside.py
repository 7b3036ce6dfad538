"""What code inside a transformed function may do with tensors, and what it is told if not. Texts and results are PyTorch's."""

from __future__ import annotations

import pytest

import penlight as torch
from penlight.func import grad, jacfwd, jacrev, jvp, vjp, vmap

X = torch.arange(6.0).reshape(2, 3) / 5


def pushed(f):
    return lambda x: jvp(f, (x,), (x,))


TRANSFORMS = {"vmap": vmap, "grad": grad, "jvp": pushed, "jacrev": jacrev, "jacfwd": jacfwd}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_the_graph_outside_is_out_of_reach(name):
    w = torch.ones(3, requires_grad=True)
    y = w * 2

    def inside(call):
        def run(x):
            call(x)
            return x.sum()

        return TRANSFORMS[name](run)

    with pytest.raises(RuntimeError, match=r"backward\(\) called inside a functorch transform"):
        inside(lambda x: y.sum().backward())(X)
    with pytest.raises(
        RuntimeError, match=r"call Tensor.requires_grad_\(\) \(or perhaps using torch.autograd.functional"
    ):
        inside(lambda x: w.requires_grad_())(X)
    with pytest.raises(RuntimeError, match=r"call Tensor.retain_grad\(\) inside of a function being transformed"):
        inside(lambda x: y.retain_grad())(X)
    assert w.grad is None and torch.autograd.grad(y.sum(), w)[0].tolist() == [2, 2, 2]


@pytest.mark.parametrize(
    "run",
    [
        lambda f: grad(f)(X),
        lambda f: vjp(f, X)[0],
        lambda f: vjp(f, X)[1](torch.tensor(1.0))[0],
        lambda f: jvp(f, (X,), (X,))[0],
        lambda f: jvp(f, (X,), (X,))[1],
        lambda f: jacrev(f)(X),
        lambda f: jacfwd(f)(X),
    ],
)
def test_leaves_made_inside_are_not_seen_outside(run):
    made = lambda x: (torch.ones(3, requires_grad=True) * x).sum() + torch.nn.Parameter(torch.ones(3)).mul(x).sum()
    assert not run(made).requires_grad
    w = torch.ones(3, requires_grad=True)
    assert run(lambda x: (w * w * x).sum()).requires_grad


def test_inputs_may_be_detached_and_replaced():
    assert grad(lambda x: x.detach_().sum())(X).tolist() == [[0, 0, 0]] * 2
    assert grad(lambda x: (x.data * x).sum())(X).tolist() == X.tolist()
    assert vmap(torch.nn.Parameter)(X).tolist() == X.tolist()

    def replaces(x):
        x.data = x * 2
        return x.sum()

    with pytest.raises(RuntimeError, match=r"mutating directly with `.data` inside functorch transform is not allowed"):
        grad(replaces)(X)


@pytest.mark.parametrize(
    "write, words",
    [
        (lambda y, a: y.add_(a), r"output with shape \[3\] doesn't match the broadcast shape \[2, 3\]"),
        (lambda y, a: y.mul_(a), r"vmap: inplace arithmetic\(self, \*extra_args\) is not possible .* in a vmap\."),
        (lambda y, a: y.fill_(a[0]), r"vmap: fill_\(self, \*extra_args\) is not possible .* in a vmap\."),
        (lambda y, a: y.pow_(a), r"vmap: aten::pow_\(self, \*extra_args\) is not possible .* at level 1\."),
        (lambda y, a: y.clamp_(a), r"vmap: aten::clamp_\(self, \*extra_args\) is not possible .* at level 1\."),
    ],
)
def test_what_is_not_batched_can_not_be_written_to(write, words):
    y = torch.zeros(3)
    with pytest.raises(RuntimeError, match=words):
        vmap(lambda a: write(y, a))(X)
    assert y.tolist() == [0, 0, 0] and y._version == 0


def test_wrong_tangents_of_a_custom_function():
    def function(moved):
        class Doubled(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def jvp(ctx, tangent):
                return moved

        return Doubled.apply

    with torch.autograd.forward_ad.dual_level():
        x = torch.autograd.forward_ad.make_dual(X, X)
        with pytest.raises(RuntimeError, match=r"size \[2, 3\] while the given forward gradient is of size \[4\]"):
            function(torch.ones(4))(x)
        with pytest.raises(RuntimeError, match=r"invalid number of forward gradients \(expected 1 but got 2\)"):
            function((X, X))(x)


def test_a_wrong_batch_of_cotangents_is_described_without_the_batch():
    x = X.clone().requires_grad_()
    with pytest.raises(
        RuntimeError, match=r"grad_output\[0\] has a shape of torch.Size\(\[\]\) and output\[0\] has a shape of"
    ):
        torch.autograd.grad(x.sum(1), x, torch.ones(3), is_grads_batched=True)
