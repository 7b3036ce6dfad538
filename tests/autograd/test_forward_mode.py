"""Forward mode against PyTorch, against reverse mode, and over and under it."""

# The lambdas run where they are made.
# ruff: noqa: B023
from __future__ import annotations

import importlib
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import penlight
import penlight.autograd.forward_ad as fwAD


def functions(t: Any) -> dict[str, Callable[[Any], Any]]:
    """Functions of a 3 x 4 matrix, between them every kind of op."""

    def in_place(x: Any) -> Any:
        y = x * 1
        y.mul_(x)
        y[0] = x[1]
        y[1].add_(y[2])
        y[2, 0] = 1.5
        return y * y

    return {
        "exp": lambda x: x.exp() * x,
        "sin_sum": lambda x: x.sin().sum(1),
        "matmul": lambda x: (x @ x.t()).tanh(),
        "softmax": lambda x: x.softmax(1),
        "prod": lambda x: x.prod(1),
        "var": lambda x: x.var(),
        "max": lambda x: x.max(1)[0],
        "cat": lambda x: t.cat([x, x * 2]),
        "slices": lambda x: x[0] * x[1:],
        "norm": lambda x: x.norm(),
        "std": lambda x: x.std(0),
        "logsumexp": lambda x: x.logsumexp(1),
        "where": lambda x: t.where(x > 0, x, x * 2),
        "cumsum": lambda x: x.cumsum(0),
        "einsum": lambda x: t.einsum("ij,kj->ik", x, x),
        "clamp": lambda x: x.clamp(-0.5, 0.5),
        "powers": lambda x: x**3 + 2**x,
        "reshape": lambda x: x.t().reshape(-1) * 3,
        "unbind": lambda x: x.unbind(0)[1],
        "split": lambda x: x.split(2, 1)[0].sum(),
        "expand": lambda x: x.expand(2, 3, 4),
        "addmm": lambda x: t.addmm(x[:, :3], x, x.t()),
        "amax": lambda x: x.amax(0),
        "quotient": lambda x: x / (x * x + 1),
        "gather": lambda x: x.gather(1, t.zeros(3, 1, dtype=t.int64)),
        "flip": lambda x: x.flip(0).roll(1, 0),
        "in_place": in_place,
    }


def arrays() -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(0)
    return draw.standard_normal((3, 4)), draw.standard_normal((3, 4))


def tangent_of(t: Any, name: str) -> np.ndarray:
    """The tangent by forward mode."""
    forward = importlib.import_module(t.__name__ + ".autograd.forward_ad")
    x, v = (t.from_numpy(a.copy()) for a in arrays())
    with forward.dual_level():
        return forward.unpack_dual(functions(t)[name](forward.make_dual(x, v))).tangent.detach().numpy().copy()


def hessian_product(t: Any, name: str) -> tuple[np.ndarray, np.ndarray]:
    """The gradient of the sum of squares, and its tangent: forward over reverse."""
    forward = importlib.import_module(t.__name__ + ".autograd.forward_ad")
    x, v = (t.from_numpy(a.copy()) for a in arrays())
    x.requires_grad_()
    with forward.dual_level():
        dual = forward.make_dual(x, v)
        y = functions(t)[name](dual)
        (g,) = t.autograd.grad((y * y).sum(), dual, create_graph=True)
        primal, tangent = forward.unpack_dual(g)
        return primal.detach().numpy().copy(), tangent.detach().numpy().copy()


@pytest.mark.parametrize("name", functions(penlight))
def test_agrees_with_reverse_mode(name: str) -> None:
    """u·(J v), by forward mode, equals (u·J)·v, by reverse mode; and so one order up."""
    x, v = (penlight.from_numpy(a) for a in arrays())
    x.requires_grad_()
    y = functions(penlight)[name](x)
    u = penlight.from_numpy(np.random.default_rng(1).standard_normal(tuple(y.shape)))
    (back,) = penlight.autograd.grad(y, x, u, create_graph=True)
    np.testing.assert_allclose(
        (u.numpy() * tangent_of(penlight, name)).sum(), (back * v).sum().item(), rtol=1e-9, atol=1e-12
    )
    z = functions(penlight)[name](x)
    (g,) = penlight.autograd.grad((z * z).sum(), x, create_graph=True)
    (hv,) = penlight.autograd.grad(g, x, v)
    primal, tangent = hessian_product(penlight, name)
    np.testing.assert_allclose(primal, g.detach().numpy(), atol=1e-10)
    np.testing.assert_allclose(tangent, hv.numpy(), atol=1e-9)


@pytest.mark.parity
@pytest.mark.parametrize("name", functions(penlight))
def test_agrees_with_pytorch(name: str) -> None:
    torch = pytest.importorskip("torch")
    np.testing.assert_allclose(tangent_of(penlight, name), tangent_of(torch, name), atol=1e-10)
    for ours, theirs in zip(hessian_product(penlight, name), hessian_product(torch, name)):
        np.testing.assert_allclose(ours, theirs, atol=1e-10)


def test_reverse_over_forward() -> None:
    x = penlight.tensor([0.5, 2.0], dtype=penlight.float64, requires_grad=True)
    with fwAD.dual_level():
        y = fwAD.make_dual(x, penlight.ones(2, dtype=penlight.float64)) ** 3
        (g,) = penlight.autograd.grad(fwAD.unpack_dual(y).tangent.sum(), x)
    np.testing.assert_allclose(g.numpy(), 6 * x.detach().numpy())


def test_tangents_end_with_their_level() -> None:
    x = penlight.ones(2)
    with fwAD.dual_level():
        y = fwAD.make_dual(x, penlight.ones(2)) * 2
        assert fwAD.unpack_dual(y).tangent is not None
    with fwAD.dual_level():
        assert fwAD.unpack_dual(y).tangent is None
    assert repr(y) == "tensor([2., 2.])"


def test_misuse() -> None:
    with pytest.raises(RuntimeError, match="no level exists"):
        fwAD.make_dual(penlight.ones(1), penlight.ones(1))
    with fwAD.dual_level():
        with pytest.raises(RuntimeError, match="different size"):
            fwAD.make_dual(penlight.ones(2), penlight.ones(3))
        with pytest.raises(ValueError, match="floating point"):
            fwAD.make_dual(penlight.ones(2, dtype=penlight.int64), penlight.ones(2))
        with pytest.raises(RuntimeError, match="Nested forward mode"):
            fwAD.enter_dual_level()


def test_levels_are_checked():
    x = penlight.ones(2)
    with pytest.raises(RuntimeError, match="Dual level must be a positive number"):
        fwAD.exit_dual_level()
    with fwAD.dual_level():
        dual = fwAD.make_dual(x, x)
        with pytest.raises(RuntimeError, match="already has a forward gradient at the same level 0"):
            fwAD.make_dual(dual, x)
        with pytest.raises(RuntimeError, match="Invalid level given to _make_dual"):
            fwAD.make_dual(x, x, level=3)
        assert fwAD.make_dual(x, x.double()).shape == (2,)


def test_forward_mode_can_be_switched_off():
    x = penlight.ones(2)
    with fwAD.dual_level():
        dual = fwAD.make_dual(x, x)
        with fwAD._set_fwd_grad_enabled(False):
            assert fwAD.unpack_dual(dual * 2).tangent is None
        with penlight.inference_mode():
            assert fwAD.unpack_dual(dual * 2).tangent is None
        assert fwAD.unpack_dual(dual * 2).tangent.tolist() == [2, 2]


# ----- Misuse ----------------------------------------------------------------------------------------------------------------


def _custom(torch, jvp, forward=lambda ctx, x: x * 2):
    class Custom(torch.autograd.Function):
        pass

    Custom.forward, Custom.jvp = staticmethod(forward), staticmethod(jvp)
    return Custom


def test_out_is_refused(same):
    @same
    def program(torch, say):
        forward_ad = torch.autograd.forward_ad
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(torch.ones(2), torch.ones(2))
            say.attempt(lambda: torch.add(dual, 1, out=torch.empty(2)))
            say.attempt(lambda: torch.exp(torch.ones(2), out=dual))
            say.attempt(lambda: torch.exp(torch.ones(2), out=torch.empty(2)))


def test_a_custom_jvp_must_alias_as_forward_does(same):
    def written(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    def view(ctx, x):
        return x.view_as(x)

    @same
    def program(torch, say):
        forward_ad = torch.autograd.forward_ad

        def run(jvp, *forward):
            with forward_ad.dual_level():
                dual = forward_ad.make_dual(torch.ones(2), torch.full((2,), 3.0))
                return forward_ad.unpack_dual(_custom(torch, jvp, *forward).apply(dual)).tangent

        for jvp in (lambda ctx, t: t * 2, lambda ctx, t: t.view_as(t), lambda ctx, t: t, lambda ctx, t: t.mul_(2)):
            for forward in (written, view, lambda ctx, x: x, lambda ctx, x: x * 2, lambda ctx, x: (x * 2).view(-1)):
                say.attempt(lambda: run(jvp, forward))
        say.attempt(lambda: run(lambda ctx, t: torch.ones(2).view(-1), view))
        say.attempt(lambda: run(lambda ctx, t: 2.0))


def test_what_was_saved_for_forward_is_let_go(same):
    @same
    def program(torch, say):
        forward_ad, held = torch.autograd.forward_ad, []

        def forward(ctx, x):
            twice = x * 2
            held.append(weakref.ref(twice))
            ctx.save_for_forward(twice)
            return twice + 1

        function = _custom(torch, lambda ctx, t: t * ctx.saved_tensors[0], forward)
        with forward_ad.dual_level():
            out = function.apply(forward_ad.make_dual(torch.ones(2), torch.ones(2)))
            say(forward_ad.unpack_dual(out).tangent, held[0]() is None)
        kept = function.apply(torch.ones(2, requires_grad=True))
        say(held[1]() is None, kept.grad_fn is not None)


def test_what_is_no_tensor_has_no_tangent(same):
    @same
    def program(torch, say):
        with torch.autograd.forward_ad.dual_level():
            say.attempt(lambda: torch.autograd.forward_ad.unpack_dual(3))
