"""gradcheck and gradgradcheck: what they accept, and PyTorch's words about what they don't."""

# The lambdas run where they are made.
# ruff: noqa: B023
from __future__ import annotations

import pytest

import penlight
from penlight.autograd import gradcheck
from penlight.autograd.gradcheck import GradcheckError


def inputs(torch):
    x = torch.tensor([0.5, 2.0, 1.5], requires_grad=True)
    w = torch.tensor([[1.0, 2.0, 3.0], [0.5, 0.2, 0.1]], requires_grad=True)
    return x, w


def function(torch, forward, backward):
    body = dict(forward=staticmethod(forward), backward=staticmethod(backward))
    return type("MyFn", (torch.autograd.Function,), body).apply


@pytest.mark.parametrize("fast", [False, True])
def test_right_gradients(same, fast):
    @same
    def program(torch, say):
        check, again = torch.autograd.gradcheck, torch.autograd.gradgradcheck
        x, w = inputs(torch)
        z = torch.tensor([1 + 2j, 0.5 - 1j], requires_grad=True)
        zero = torch.tensor(1.5, requires_grad=True)
        transposed = torch.rand(2, 3).t().requires_grad_()
        say(check(lambda x: x.exp(), (x,), fast_mode=fast), check(lambda x: x.exp(), x, fast_mode=fast))
        say(check(lambda x, w: (w @ x, x * 2), (x, w), fast_mode=fast), check(lambda a: a**2, zero, fast_mode=fast))
        say(
            again(lambda x, w: (w @ x).sin(), (x, w), fast_mode=fast),
            check(lambda a: a.exp(), transposed, fast_mode=fast),
        )
        say(check(lambda z: z * z, z, fast_mode=fast), check(lambda z: z.abs(), z, fast_mode=fast))
        say(again(lambda z: z * z, z, fast_mode=fast), check(lambda a, k: a * k, (x, 3.0), fast_mode=fast))
        say(
            check(lambda a: [a * 2, a], (x,), fast_mode=fast),
            check(torch.exp, x, check_batched_grad=True, fast_mode=fast),
        )
        say(again(lambda x: x**3, x, gen_non_contig_grad_outputs=True, fast_mode=fast))
        say(check(lambda x, w: ((w @ x).sin(), x * 2), (x, w), check_forward_ad=True, fast_mode=fast))
        say(again(lambda x: x.exp() * x, (x,), check_fwd_over_rev=True, fast_mode=fast))
        say(check(lambda z: z * z, z, check_forward_ad=True))


def test_wrong_gradients(same):
    @same
    def program(torch, say):
        check = torch.autograd.gradcheck
        x, w = inputs(torch)
        bad = function(torch, lambda ctx, a: a * a, lambda ctx, g: g * 3)
        say.attempt(lambda: check(bad, x))
        say(check(bad, x, raise_exception=False))
        say.attempt(lambda: check(lambda a, b: (a + b[0], bad(a) * b[1]), (x, w)))
        say.attempt(lambda: check(bad, x, fast_mode=True))
        detached = function(
            torch,
            lambda ctx, a: (ctx.save_for_backward(a), a * a)[1],
            lambda ctx, g: g * 2 * ctx.saved_tensors[0].detach(),
        )
        grads = torch.ones(3, requires_grad=True)
        say.attempt(lambda: torch.autograd.gradgradcheck(detached, x, grad_outputs=grads))


def test_wrong_complex_gradients(same):
    @same
    def program(torch, say):
        check = torch.autograd.gradcheck
        z = torch.tensor([1 + 2j, 0.5 - 1j], requires_grad=True)
        bad = function(torch, lambda ctx, a: a * a, lambda ctx, g: g * 3)
        say.attempt(lambda: check(bad, z))
        say.attempt(lambda: check(lambda z: bad(z).real, z))


def test_wrong_arguments(same):
    @same
    def program(torch, say):
        check, again = torch.autograd.gradcheck, torch.autograd.gradgradcheck
        x, _ = inputs(torch)
        say.attempt(lambda: check(lambda a: a, torch.ones(2)))
        say.attempt(lambda: check(lambda a: a.exp(), torch.ones(1, requires_grad=True).expand(3)))
        say.attempt(
            lambda: check(lambda a: a.exp(), x.detach().float().requires_grad_(), eps=1e-2, atol=1e-2, rtol=1e-2)
        )
        for kwargs in (
            dict(check_backward_ad=False),
            dict(check_batched_grad=True, check_backward_ad=False, check_forward_ad=True),
            dict(check_batched_forward_grad=True),
        ):
            say.attempt(lambda: check(torch.exp, x, **kwargs))
        for kwargs in (
            dict(check_rev_over_rev=False),
            dict(check_rev_over_rev=False, check_fwd_over_rev=True),
            dict(
                check_rev_over_rev=False, check_fwd_over_rev=True, check_undefined_grad=False, check_batched_grad=True
            ),
        ):
            say.attempt(lambda: again(torch.exp, x, **kwargs))


def test_outputs_without_gradient(same):
    @same
    def program(torch, say):
        check = torch.autograd.gradcheck
        x, _ = inputs(torch)
        say.attempt(lambda: check(lambda a: a.detach() * 2, x))
        say.attempt(lambda: check(lambda a: a.detach() * 2, x, fast_mode=True))


def test_other_faults(same):
    @same
    def program(torch, say):
        check = torch.autograd.gradcheck
        x, _ = inputs(torch)
        count = [0]

        def shrinking(a):
            count[0] += 1
            return a * 2 if count[0] < 2 else (a * 2)[:1]

        def drifting(ctx, g):
            count[0] += 1
            return g * (2 + count[0] * 1e-9)

        say.attempt(lambda: check(shrinking, x))
        drift = function(torch, lambda ctx, a: a * 2, drifting)
        try:
            check(drift, x)
        except RuntimeError as error:
            say(type(error), str(error).split("NOTE")[0].strip())
        say(check(drift, x, nondet_tol=1e-6))
        say.attempt(lambda: check(function(torch, lambda ctx, a: a * 2, lambda ctx, g: g * 2 + 1e-9), x))


def test_undefined_gradients(same):
    @same
    def program(torch, say):
        check = torch.autograd.gradcheck
        x, _ = inputs(torch)

        class Refuses(torch.autograd.Function):
            @staticmethod
            def forward(ctx, a):
                ctx.set_materialize_grads(False)
                return a * 2

            @staticmethod
            def backward(ctx, g):
                if g is None:
                    raise RuntimeError("nope")
                return g * 2

        class Wrong(torch.autograd.Function):
            @staticmethod
            def forward(ctx, a):
                ctx.set_materialize_grads(False)
                return a * 2, a * 3

            @staticmethod
            def backward(ctx, g, h):
                first = torch.ones(3) if g is None else 2 * g
                return first if h is None else first + 3 * h

        say.attempt(lambda: check(Refuses.apply, x))
        say(check(Refuses.apply, x, check_undefined_grad=False))
        say.attempt(lambda: check(Wrong.apply, x))


def test_deprecated_names(same):
    @same
    def program(torch, say):
        from importlib import import_module

        module = import_module(torch.__name__ + ".autograd.gradcheck")
        x, _ = inputs(torch)
        say(module.get_numerical_jacobian(lambda args: args[0] ** 2, (x,), eps=1e-6)[0].round())
        jacobians, reentrant, sizes, types = module.get_analytical_jacobian((x,), x**2)
        say(jacobians, reentrant, sizes, types)
        say.attempt(lambda: module.get_numerical_jacobian(lambda args: args[0] ** 2, (x,), grad_out=2.0))


def test_module_does_not_hide_the_function():
    import penlight.autograd.gradcheck

    assert callable(penlight.autograd.gradcheck) and issubclass(GradcheckError, RuntimeError)


def test_inputs_are_put_back():
    x = penlight.tensor([1.0, 2.0], dtype=penlight.float64, requires_grad=True)

    def fails_late(a):
        if a._array[1] != 2.0:
            raise ValueError("here")
        return a * 2

    with pytest.raises(ValueError, match="here"):
        gradcheck(fails_late, x)
    assert x.tolist() == [1.0, 2.0] and x._version == 0
