"""Hessians four ways (reverse over reverse, forward over reverse, reverse over forward, forward over forward) of non-trivial functions:
they agree with each other, with what is known, and with PyTorch's."""

from __future__ import annotations

import numpy as np
import pytest

import penlight

WAYS = {f"{outer} over {inner}": (outer, inner) for outer in ("jacrev", "jacfwd") for inner in ("jacrev", "jacfwd")}
POINT = [0.3, -0.7, 1.1, 0.4, -0.2, 0.9]


def rosenbrock(t, x):
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def network(t, x):
    hidden = t.tanh(t.outer(x, x) @ x.flip(0) + x.sin())
    return t.logsumexp(hidden, 0) * t.nn.functional.softplus(hidden).prod()


def matrices(t, x):
    square = x[:4].reshape(2, 2)
    definite = square @ square.T + 2 * t.eye(2, dtype=x.dtype)
    return (
        t.linalg.slogdet(definite).logabsdet + t.linalg.solve(definite, x[4:]).norm() + t.linalg.inv(definite).trace()
    )


def picked(t, x):
    order = x.sort().values
    return (
        (order.cumsum(0)[t.tensor([0, 2, 2])] * x.gather(0, t.tensor([1, 0, 3]))).sum()
        + x.amax() ** 3
        + t.where(x > 0, x.exp(), x**2).sum()
    )


def layers(t, x):
    f = t.nn.functional
    image = x.reshape(1, 1, 2, 3)
    made = f.conv2d(image, image.flip(-1)[..., :2], padding=1)
    return f.layer_norm(made.flatten(), (made.numel(),)).pow(3).mean() + f.cross_entropy(
        made.flatten(2).mean(1), t.tensor([1])
    )


def waves(t, x):
    spectrum = t.fft.rfft(x)
    return (spectrum.abs() ** 2).log1p().sum() + t.special.erf(x).mul(t.lgamma(x + 3)).sum()


FUNCTIONS = [rosenbrock, network, matrices, picked, layers, waves]


def hessian(lib, function, way):
    outer, inner = (getattr(lib.func, name) for name in WAYS[way])
    point = lib.tensor(POINT, dtype=lib.float64)
    return outer(inner(lambda x: function(lib, x)))(point).detach().numpy()


@pytest.mark.parametrize("function", FUNCTIONS)
def test_four_ways_agree(function):
    found = {way: hessian(penlight, function, way) for way in WAYS}
    first = found["jacrev over jacrev"]
    assert np.abs(first).max() > 0.1 and np.allclose(first, first.T, rtol=1e-10, atol=1e-10)
    for way, matrix in found.items():
        assert np.allclose(matrix, first, rtol=1e-10, atol=1e-10), way
    point = penlight.tensor(POINT, dtype=penlight.float64)
    for strategy, vectorize in (("reverse-mode", False), ("reverse-mode", True), ("forward-mode", True)):
        made = penlight.autograd.functional.hessian(
            lambda x: function(penlight, x), point, vectorize=vectorize, outer_jacobian_strategy=strategy
        )
        assert np.allclose(made.detach().numpy(), first, rtol=1e-10, atol=1e-10), strategy


def test_what_is_known():
    x = np.array(POINT)
    expected = np.zeros((6, 6))
    for i in range(5):
        expected[i, i] += 1200 * x[i] ** 2 - 400 * x[i + 1] + 2
        expected[i + 1, i + 1] += 200
        expected[i, i + 1] = expected[i + 1, i] = -400 * x[i]
    for way in WAYS:
        assert np.allclose(hessian(penlight, rosenbrock, way), expected, rtol=1e-12, atol=1e-10)


@pytest.mark.parity
@pytest.mark.parametrize("function", FUNCTIONS)
def test_same_as_pytorch(function):
    torch = pytest.importorskip("torch")
    expected = hessian(
        torch, function, "jacrev over jacrev"
    )  # some of its others are not symmetric: jvps that it can't differentiate
    for way in WAYS:
        assert np.allclose(hessian(penlight, function, way), expected, rtol=1e-10, atol=1e-10), way


class Cube(penlight.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x**3

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * 3 * x * x

    @staticmethod
    def jvp(ctx, tangent):
        (x,) = ctx.saved_tensors
        return tangent * 3 * x * x


def test_jvp_of_a_custom_function_at_inner_levels():
    """PyTorch's second derivative is 0 here: its inner tangents do not depend on the input."""
    x = penlight.tensor([1.0, 2.0, 3.0], dtype=penlight.float64)
    value, second = penlight.func.jvp(
        lambda a: penlight.func.jvp(Cube.apply, (a,), (penlight.ones_like(a),))[1], (x,), (x,)
    )
    assert np.allclose(value.numpy(), 3 * x.numpy() ** 2) and np.allclose(second.numpy(), 6 * x.numpy() ** 2)
    for outer, inner in WAYS.values():
        made = getattr(penlight.func, outer)(getattr(penlight.func, inner)(lambda a: (Cube.apply(a) * a.sin()).sum()))(
            x
        )
        n = x.numpy()
        assert np.allclose(made.numpy(), np.diag(6 * n * np.sin(n) + 6 * n**2 * np.cos(n) - n**3 * np.sin(n))), (
            outer,
            inner,
        )
    third = penlight.func.jacfwd(penlight.func.jacfwd(penlight.func.jacfwd(lambda a: Cube.apply(a).sum())))(x)
    assert np.allclose(np.einsum("iii->i", third.numpy()), 6)
