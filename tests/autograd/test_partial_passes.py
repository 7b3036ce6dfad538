"""`autograd.grad` runs only the rules that lead to what was asked for; what hooks see of it, pinned from torch."""

import threading

import pytest

import penlight as torch
from penlight.autograd.modes import NAMESPACE

F = torch.nn.functional


def seen(tensor):
    """Which gradients the node of a tensor gives, each time that it runs."""
    found = []
    tensor.grad_fn.register_hook(lambda inputs, outputs: found.append([g is not None for g in inputs]))
    return found


def test_leaves():
    x, w, b = (torch.randn(*s, requires_grad=True) for s in ((2, 3), (3, 4), (4,)))
    y = torch.addmm(b, x, w)
    found = seen(y)
    torch.autograd.grad(y.sum(), x, retain_graph=True)
    torch.autograd.grad(y.sum(), [w, b], retain_graph=True)
    y.sum().backward(inputs=[w], retain_graph=True)
    y.sum().backward(retain_graph=True)
    torch.autograd.grad(y.sum(), x, create_graph=True)
    assert found == [
        [False, True, False],
        [True, False, True],
        [False, False, True],
        [True, True, True],
        [False, True, False],
    ]
    assert NAMESPACE["PARTIAL"] == 0


def test_values_in_between():
    x, w = torch.randn(2, 3, requires_grad=True), torch.randn(3, 4, requires_grad=True)
    z = x * 2
    y = z @ w
    found = seen(y)
    first = torch.autograd.grad(y.sum(), z, retain_graph=True)[0]
    both = torch.autograd.grad(y.sum(), [z, x], retain_graph=True)
    other = torch.autograd.grad(y.sum(), w, retain_graph=True)[0]
    assert found == [[True, False], [True, False], [False, True]]
    assert torch.equal(first, both[0])
    assert torch.equal(2 * first, both[1])
    assert torch.allclose(other, z.detach().sum(0)[:, None].expand(3, 4))


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize(
    "run",
    [
        lambda x, w, b: F.conv2d(x, w.reshape(4, 1, 3, 3), b),
        lambda x, w, b: F.linear(x.reshape(-1, 9), w.reshape(4, 9), b),
        lambda x, w, b: F.layer_norm(x.reshape(-1, 36), (36,), w.reshape(36), w.reshape(36)),
        lambda x, w, b: x.reshape(-1)[:36] * w.reshape(36) + w.reshape(36) / x.reshape(-1)[:36],
        lambda x, w, b: F.scaled_dot_product_attention(x.reshape(2, 3, 6, 2), w.reshape(1, 3, 6, 2).expand(2, 3, 6, 2), x.reshape(2, 3, 6, 2)),
    ],
)  # fmt: skip
def test_same_gradients(run, create_graph):
    x, w, b = (torch.randn(*s, dtype=torch.float64, requires_grad=True) for s in ((2, 1, 6, 6), (36,), (4,)))
    y = run(x, w, b)
    g = torch.randn_like(y)
    wanted = torch.autograd.grad(y, [x, w, b], g, retain_graph=True, allow_unused=True)
    for place, leaf in enumerate((x, w, b)):
        (found,) = torch.autograd.grad(y, leaf, g, retain_graph=True, create_graph=create_graph, allow_unused=True)
        if wanted[place] is None:
            assert found is None
        else:
            torch.testing.assert_close(found, wanted[place], rtol=1e-12, atol=1e-12)


def test_what_was_saved_for_others_is_still_looked_at():
    x, w = torch.randn(2, 3, requires_grad=True), torch.randn(3, 4, requires_grad=True)
    for create_graph in (False, True):
        h = x * 1
        y = h @ w
        h.detach().add_(1)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            torch.autograd.grad(y.sum(), x, create_graph=create_graph)
    assert NAMESPACE["PARTIAL"] == 0


def test_freed_as_ever():
    x, w = torch.randn(2, 3, requires_grad=True), torch.randn(3, 4, requires_grad=True)
    y = (x @ w).sum()
    torch.autograd.grad(y, x)
    with pytest.raises(RuntimeError, match="second time"):
        torch.autograd.grad(y, w)


def test_saved_tensor_hooks_are_asked_for_all():
    x, w = torch.randn(2, 3, requires_grad=True), torch.randn(3, 4, requires_grad=True)
    asked = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: asked.append(tuple(t.shape)) or t):
        y = x @ w
    torch.autograd.grad(y.sum(), x)
    assert sorted(asked) == [(2, 3), (3, 4)]


def test_other_passes_at_the_same_time_get_everything():
    x, w = torch.randn(2, 3, requires_grad=True), torch.randn(3, 4, requires_grad=True)
    y = x @ w
    inside, go_on = threading.Event(), threading.Event()
    z = x * 1

    def wait(grad):
        inside.set()
        go_on.wait(10)

    z.register_hook(wait)
    thread = threading.Thread(target=lambda: torch.autograd.grad((z @ w).sum(), x))
    thread.start()
    assert inside.wait(10)
    assert NAMESPACE["PARTIAL"] == 1
    y.sum().backward()
    go_on.set()
    thread.join()
    assert x.grad is not None
    assert w.grad is not None
    assert NAMESPACE["PARTIAL"] == 0


def test_within_a_backward_pass():
    x, w = torch.randn(3, requires_grad=True), torch.randn(3, requires_grad=True)

    class Inner(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            ctx.save_for_backward(a)
            return a.clone()

        @staticmethod
        def backward(ctx, grad):
            (a,) = ctx.saved_tensors
            with torch.enable_grad():
                u, v = a.detach().requires_grad_(), torch.ones(3, requires_grad=True)
                (g,) = torch.autograd.grad((u * v).sum(), u)
            return grad * g

    (Inner.apply(x) * w).sum().backward()
    assert torch.equal(x.grad, w.detach())
    assert torch.equal(w.grad, x.detach())


def test_writes_into_views():
    x, w = torch.randn(3, 4, requires_grad=True), torch.randn(4, requires_grad=True)

    def run():
        z = x * 1
        z[1].mul_(w)
        z[1].mul_(z[2].clone())
        return (z * z).sum()

    wanted = torch.autograd.grad(run(), [x, w])
    for create_graph in (False, True):
        assert torch.equal(torch.autograd.grad(run(), x, create_graph=create_graph)[0], wanted[0])
        assert torch.equal(torch.autograd.grad(run(), w, create_graph=create_graph)[0], wanted[1])
