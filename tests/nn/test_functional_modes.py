"""Functions of nn.functional under forward mode, batching and saved-tensor hooks."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from functional_cases import CASES
from functional_checks import evaluate, tensors, weights

import penlight as torch
import penlight.autograd.forward_ad as forward_ad

# Their gradients leave something out on purpose (rows of an embedding), or have no derivative (ctc_loss).
ONE_WAY = {
    "embedding padding",
    "embedding frequency",
    "embedding_bag sum",
    "ctc_loss",
    "ctc_loss concatenated",
    "ctc_loss single",
}
RANDOM = ("dropout", "rrelu", "gumbel", "fractional", "heads biases")


def run(case, inputs):
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = evaluate(torch, case.expression, inputs)
    return result[0] if isinstance(result, tuple) else result


@pytest.mark.parametrize("case", [c for c in CASES if c.name not in ONE_WAY], ids=lambda case: case.name)
def test_forward_mode_is_the_transpose(case):
    inputs, leaves = tensors(torch, case)
    result = run(case, inputs)
    grad = torch.tensor(weights(tuple(result.shape)), dtype=result.dtype)
    grads = torch.autograd.grad(result, leaves, grad, allow_unused=True)
    moves = [torch.tensor(np.sin(np.arange(t.numel()) * 1.3).reshape(tuple(t.shape))) for t in leaves]
    expected = sum(float((g * v).sum()) for g, v in zip(grads, moves) if g is not None)
    with forward_ad.dual_level():
        duals = {id(t): forward_ad.make_dual(t.detach(), v) for t, v in zip(leaves, moves)}
        primal, tangent = forward_ad.unpack_dual(run(case, [duals.get(id(t), t) for t in inputs]))
        np.testing.assert_allclose(primal.detach().numpy(), result.detach().numpy(), rtol=1e-10, atol=1e-12)
        found = 0.0 if tangent is None else float((tangent * grad).sum())
    assert found == pytest.approx(expected, rel=1e-6, abs=1e-6)


def batched():
    for case in CASES:
        random = any(word in case.name for word in RANDOM)
        if not random and "in place" not in case.name and not case.name.endswith("_") and "float32" not in case.name:
            yield case


@pytest.mark.parametrize("case", list(batched())[::3], ids=lambda case: case.name)
def test_batches_are_loops(case):
    inputs, leaves = tensors(torch, case)
    rest = [t.detach() for t in inputs]
    place = next(k for k, t in enumerate(inputs) if t is leaves[0])
    stack = torch.stack([rest[place], rest[place] * 0.9 + 0.05])

    def function(a):
        return run(case, [a if k == place else t for k, t in enumerate(rest)])

    expected = torch.stack([function(part) for part in stack])
    found = torch.func.vmap(function)(stack)
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize(
    "case", [c for c in CASES if not c.name.startswith(("relu", "heads"))][::4], ids=lambda case: case.name
)
def test_saved_tensors_go_through_hooks(case):
    inputs, leaves = tensors(torch, case)
    grad = torch.tensor(weights(tuple(run(case, inputs).shape)))
    plain = torch.autograd.grad(run(case, inputs), leaves, grad, allow_unused=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
        result = run(case, inputs)
    hooked = torch.autograd.grad(result, leaves, grad, allow_unused=True)
    for mine, theirs in zip(hooked, plain):
        if theirs is not None:
            np.testing.assert_allclose(mine.numpy(), theirs.numpy(), rtol=1e-10, atol=1e-12)


def test_saved_names():
    x = torch.randn(2, 3, 4, requires_grad=True)
    node = torch.nn.functional.layer_norm(x, (4,)).grad_fn
    assert node._saved_input is x and node._saved_result1.shape == (2, 3, 1) and not hasattr(node, "_saved_self")
    node = torch.nn.functional.conv1d(x, torch.ones(1, 3, 2, requires_grad=True)).grad_fn
    assert node._saved_input is x and node._saved_stride == (1,)
    assert torch.nn.functional.gelu(x).grad_fn._saved_approximate == "none"
