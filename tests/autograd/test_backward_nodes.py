"""Gradients that do not depend on the inputs still lead to them, as in PyTorch. See Note [Backward passes as nodes]."""

from __future__ import annotations

import numpy as np
import pytest

import penlight

PLANE, LINE, CUBE = (1, 2, 4, 4), (1, 2, 4), (1, 1, 4, 4, 4)

# By name: the shapes of the inputs, and the function of a library and of them.
CASES = {
    "max_pool1d": ([LINE], lambda t, x: t.nn.functional.max_pool1d(x, 2)),
    "max_pool2d": ([PLANE], lambda t, x: t.nn.functional.max_pool2d(x, 2)),
    "max_pool3d": ([CUBE], lambda t, x: t.nn.functional.max_pool3d(x, 2)),
    "avg_pool1d": ([LINE], lambda t, x: t.nn.functional.avg_pool1d(x, 2)),
    "avg_pool2d": ([PLANE], lambda t, x: t.nn.functional.avg_pool2d(x, 2)),
    "adaptive_avg_pool2d": ([PLANE], lambda t, x: t.nn.functional.adaptive_avg_pool2d(x, 2)),
    "adaptive_max_pool3d": ([CUBE], lambda t, x: t.nn.functional.adaptive_max_pool3d(x, 2)),
    "reflect": ([PLANE], lambda t, x: t.nn.functional.pad(x, (1, 1, 1, 1), mode="reflect")),
    "replicate": ([LINE], lambda t, x: t.nn.functional.pad(x, (1, 1), mode="replicate")),
    "constant": ([LINE], lambda t, x: t.nn.functional.pad(x, (1, 1))),
    "nll_loss": ([(4, 3)], lambda t, x: t.nn.functional.nll_loss(x, t.tensor([1, 0, 2, 1]))),
    "nll_loss2d": ([PLANE], lambda t, x: t.nn.functional.nll_loss(x, t.zeros(1, 4, 4, dtype=t.long))),
    "conv2d": ([PLANE, (3, 2, 3, 3), (3,)], lambda t, x, w, b: t.nn.functional.conv2d(x, w, b)),
    "conv_transpose1d": ([LINE, (2, 3, 3), (3,)], lambda t, x, w, b: t.nn.functional.conv_transpose1d(x, w, b)),
    "layer_norm": ([PLANE, (4,), (4,)], lambda t, x, w, b: t.nn.functional.layer_norm(x, (4,), w, b)),
    "batch_norm": ([PLANE, (2,), (2,)], lambda t, x, w, b: t.nn.functional.batch_norm(x, None, None, w, b, True)),
    "bias alone": ([(3,)], lambda t, b: t.nn.functional.conv2d(t.ones(1, 2, 4, 4), t.ones(3, 2, 3, 3), b)),
}


def derivatives(library, name):
    """Of each gradient: whether it requires grad, and the sums of what its sum's gradients are."""
    shapes, function = CASES[name]
    inputs = [library.arange(float(library.Size(s).numel())).sin().view(s).requires_grad_() for s in shapes]
    grads = library.autograd.grad(function(library, *inputs).sum(), inputs, create_graph=True)
    found = []
    for grad in grads:
        further = [None] * len(inputs)
        if grad.requires_grad:
            further = library.autograd.grad(grad.sum(), inputs, allow_unused=True, retain_graph=True)
        sums = [None if g is None else round(float(g.abs().sum()), 1) for g in further]
        found.append((grad.requires_grad, sums))
    return found


def through(library, name):
    """The sums of the second gradients, in the inputs and in what the first gradient was made from."""
    shapes, function = CASES[name]
    inputs = [library.arange(float(library.Size(s).numel())).sin().view(s).requires_grad_() for s in shapes]
    result = function(library, *inputs)
    weight = library.ones_like(result, requires_grad=True)
    grads = library.autograd.grad(result, inputs, weight, create_graph=True)
    found = library.autograd.grad([(g * g).sum() for g in grads], [*inputs, weight], allow_unused=True)
    return [None if g is None else round(float(g.abs().sum()), 1) for g in found]


@pytest.mark.parity
@pytest.mark.parametrize("name", CASES)
def test_gradients_that_depend_on_more_as_pytorch(name):
    torch = pytest.importorskip("torch")
    np.testing.assert_allclose(
        *[[np.nan if v is None else v for v in through(t, name)] for t in (penlight, torch)], rtol=1e-3
    )


def test_gradients_that_depend_on_more():
    assert through(penlight, "avg_pool1d")[0] == 0.0
    assert through(penlight, "avg_pool1d")[1] > 0
    assert through(penlight, "constant")[0] is None


@pytest.mark.parity
@pytest.mark.parametrize("name", CASES)
def test_as_pytorch(name):
    torch = pytest.importorskip("torch")
    assert derivatives(penlight, name) == derivatives(torch, name)


@pytest.mark.parametrize(
    "name", ["max_pool2d", "avg_pool2d", "adaptive_avg_pool2d", "reflect", "replicate", "nll_loss"]
)
def test_zeros(name):
    assert derivatives(penlight, name) == [(True, [0.0])]


def test_nothing_moves_a_bias():
    assert derivatives(penlight, "conv2d")[2] == (True, [None, None, None])
    assert derivatives(penlight, "layer_norm")[2] == (True, [None, None, None])
    assert derivatives(penlight, "bias alone") == [(False, [None])]


def test_the_node_is_named_after_the_backward_pass():
    x = penlight.ones(1, 1, 4, 4, requires_grad=True)
    (grad,) = penlight.autograd.grad(penlight.nn.functional.max_pool2d(x, 2).sum(), x, create_graph=True)
    assert grad.grad_fn.name() == "MaxPool2DWithIndicesBackwardBackward0"
    assert [edge[0] is None for edge in grad.grad_fn.next_functions] == [True, False]


def test_third_order():
    x = penlight.ones(1, 1, 4, 4, requires_grad=True)
    (grad,) = penlight.autograd.grad(penlight.nn.functional.avg_pool2d(x, 2).sum(), x, create_graph=True)
    (second,) = penlight.autograd.grad(grad.sum(), x, create_graph=True)
    assert second.tolist() == penlight.zeros(1, 1, 4, 4).tolist()


def test_hessian_of_a_pool_in_forward_mode():
    def pooled(x):
        return penlight.nn.functional.avg_pool2d(x, 2).sum()

    x = penlight.ones(1, 1, 2, 2)
    assert penlight.func.hessian(pooled)(x).abs().sum() == 0
    assert penlight.autograd.functional.hessian(pooled, x, outer_jacobian_strategy="forward-mode", vectorize=True).sum() == 0  # fmt: skip
