"""gelu is the same in every mode and at every order."""

import pytest

import penlight as torch

F = torch.nn.functional


@pytest.fixture
def x():
    return torch.linspace(-3, 3, 24).reshape(4, 6).requires_grad_()


def test_value_and_gradients(x):
    y = F.gelu(x)
    assert y.grad_fn.name() == "GeluBackward0"
    assert y.grad_fn._saved_approximate == "none"
    assert y.grad_fn._saved_self is x
    (first,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    z = x.detach().double().requires_grad_()
    (wanted,) = torch.autograd.grad(F.gelu(z).sum(), z, create_graph=True)
    torch.testing.assert_close(first, wanted.float())
    (second,) = torch.autograd.grad(first.sum(), x)
    torch.testing.assert_close(second, torch.autograd.grad(wanted.sum(), z)[0].float())


def test_plain_backward(x):
    F.gelu(x).sum().backward()
    z = x.detach().double().requires_grad_()
    F.gelu(z).sum().backward()
    torch.testing.assert_close(x.grad, z.grad.float())
    F.gelu(x.t())[1:].sum().backward()


def test_the_result_may_be_written_to(x):
    F.gelu(x).mul_(2).sum().backward()
    once = x.grad
    x.grad = None
    (2 * F.gelu(x)).sum().backward()
    torch.testing.assert_close(x.grad, once)


def test_modes(x):
    plain = F.gelu(x.detach())
    assert torch.equal(F.gelu(x), plain)
    with torch.no_grad():
        assert F.gelu(x).grad_fn is None
    assert torch.equal(torch.vmap(F.gelu)(x), plain)
    value, slope = torch.func.jvp(F.gelu, (x.detach(),), (torch.ones(4, 6),))
    torch.testing.assert_close(slope, torch.autograd.grad(F.gelu(x).sum(), x)[0])
    assert torch.equal(value, plain)
    with pytest.raises(RuntimeError, match="second time"):
        y = F.gelu(x).sum()
        y.backward()
        y.backward()
