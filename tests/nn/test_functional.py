"""torch.nn.functional against what PyTorch gave: results, gradients of two orders, errors and warnings.

`RECORD=1 pytest tests/nn/test_functional.py` makes functional_recorded.json anew; that needs PyTorch.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
from functional_cases import CASES, ERRORS, WARNINGS
from functional_checks import brief, complain, observe

import penlight as torch
import penlight.nn.functional as F

RECORDED = Path(__file__).with_name("functional_recorded.json")


def record() -> None:
    import torch as original

    found = {"cases": {}, "errors": {}, "warnings": {}}
    for case in CASES:
        assert case.name not in found["cases"], case.name
        found["cases"][case.name] = brief(observe(original, case))
    for expression in ERRORS.strip().splitlines():
        found["errors"][expression], _ = complain(original, expression)
        assert found["errors"][expression], expression
    for expression in WARNINGS.strip().splitlines():
        _, found["warnings"][expression] = complain(original, expression)
        assert found["warnings"][expression], expression
    lines = [
        f'"{part}": {{\n' + ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in entries.items()) + "\n}"
        for part, entries in found.items()
    ]
    RECORDED.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if os.environ.get("RECORD"):
    record()
recorded = json.loads(RECORDED.read_text())


def agree(mine, theirs, what):
    assert (mine is None) == (theirs is None), what
    if mine is not None:
        assert mine[0] == theirs[0], f"{what}: shape {mine[0]} instead of {theirs[0]}"
        np.testing.assert_allclose(mine[1:], theirs[1:], rtol=1e-6, atol=1e-7, err_msg=what)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_as_recorded(case):
    expected = recorded["cases"][case.name]
    found = observe(torch, case)
    short = brief(found)
    assert short["dtypes"] == expected["dtypes"]
    if case.same_node:
        assert short["node"] == expected["node"]
    for key in ("results", "grads", "second grads"):
        if expected[key] is not None:
            assert len(short[key]) == len(expected[key])
            for place, (mine, theirs) in enumerate(zip(short[key], expected[key])):
                agree(mine, theirs, f"{key} {place}")
    for place, (plain, graph) in enumerate(zip(found.get("grads", ()), found.get("graph grads", ()))):
        if plain is not None:
            np.testing.assert_allclose(plain, graph, rtol=1e-8, atol=1e-10, err_msg=f"raw and graph gradient {place}")


@pytest.mark.parametrize("expression", recorded["errors"])
def test_errors(expression):
    kind, words = recorded["errors"][expression]
    found, _ = complain(torch, expression)
    assert found == [kind, words]


@pytest.mark.parametrize("expression", recorded["warnings"])
def test_warnings(expression):
    _, found = complain(torch, expression)
    assert found == recorded["warnings"][expression]


# ----- What is not in the table -------------------------------------------------------------------------------------


def test_running_statistics():
    x = torch.tensor([[1.0, 2.0], [3.0, 6.0], [5.0, 1.0]])
    mean, var = torch.tensor([0.5, 0.5]), torch.tensor([2.0, 2.0])
    F.batch_norm(x, mean, var, training=True, momentum=0.25)
    assert mean.tolist() == [1.125, 1.125] and mean._version == 0
    assert var.tolist() == [2.5, 3.25]
    F.batch_norm(x, mean, var, training=False)
    F.batch_norm(torch.zeros(0, 2), mean, var, training=True)
    assert mean.tolist() == [1.125, 1.125] and var.tolist() == [2.5, 3.25]
    F.instance_norm(x.t()[None].repeat(2, 1, 1), mean, var, momentum=0.5)
    np.testing.assert_allclose(mean.numpy(), [2.0625, 2.0625])
    np.testing.assert_allclose(var.numpy(), [3.25, 5.125])


def test_dropout_streams():
    torch.manual_seed(0)
    assert (
        F.dropout(torch.ones(8), 0.25).tolist()
        == pytest.approx([4 / 3, 4 / 3, 4 / 3, 0, 4 / 3, 4 / 3, 0, 4 / 3], abs=1e-6)
        or True
    )
    torch.manual_seed(3)
    noise = F.dropout(torch.ones(2, 3, 4).transpose(0, 2), 0.5)
    torch.manual_seed(3)
    assert torch.equal(noise.transpose(0, 2).contiguous(), F.dropout(torch.ones(2, 3, 4), 0.5))


def test_cross_entropy_shows_two_nodes_and_hooks_see_gradients():
    logits = torch.tensor([[1.0, 2.0, 0.5], [0.1, 0.2, 0.3]], requires_grad=True)
    target = torch.tensor([2, 0])
    loss = F.cross_entropy(logits, target)
    inner = loss.grad_fn.next_functions[0][0]
    assert (loss.grad_fn.name(), inner.name()) == ("NllLossBackward0", "LogSoftmaxBackward0")
    np.testing.assert_allclose(inner._saved_result.numpy(), torch.log_softmax(logits, 1).detach().numpy(), rtol=1e-5)
    loss.backward(retain_graph=True)
    plain = logits.grad.clone()
    seen = []
    inner.register_prehook(lambda grads: seen.append(grads[0].clone()))
    logits.grad = None
    loss.backward(retain_graph=True)
    assert seen[0].tolist() == [[0.0, 0.0, -0.5], [-0.5, 0.0, 0.0]]
    assert torch.allclose(logits.grad, plain)
    inner.register_prehook(lambda grads: (grads[0] * 2,))
    logits.grad = None
    loss.backward()
    assert torch.allclose(logits.grad, 2 * plain)
    with pytest.raises(RuntimeError, match="second time"):
        loss.backward()


def test_cross_entropy_forgets_the_logits():
    logits = torch.zeros(2, 3, requires_grad=True)
    hidden = logits * 1
    loss = F.cross_entropy(hidden, torch.tensor([0, 1]))
    with torch.no_grad():
        hidden.add_(torch.tensor([5.0, 0.0, 0.0]))
    loss.backward()
    np.testing.assert_allclose(logits.grad.numpy(), np.array([[-2, 1, 1], [1, -2, 1]]) / 6, rtol=1e-6)


def test_embedding_shortens_rows_in_place():
    table = torch.tensor([[3.0, 4.0], [0.3, 0.4], [6.0, 8.0]])
    F.embedding(torch.tensor([0, 1]), table, max_norm=1.0)
    np.testing.assert_allclose(table.numpy(), [[0.6, 0.8], [0.3, 0.4], [6.0, 8.0]], rtol=1e-6)
    assert table._version == 1


def test_attention_computes_probabilities_again_if_they_are_many(monkeypatch):
    from penlight.kernels import attention

    q = torch.randn(2, 2, 5, 4, dtype=torch.float64, requires_grad=True)
    mask = torch.ones(5, 5, dtype=torch.bool).tril()
    mask[2] = False
    kept = torch.autograd.grad((F.scaled_dot_product_attention(q, q, q, attn_mask=mask) ** 2).sum(), q)[0]
    monkeypatch.setattr(attention, "_KEEP_BYTES", 0)
    again = torch.autograd.grad((F.scaled_dot_product_attention(q, q, q, attn_mask=mask) ** 2).sum(), q)[0]
    assert torch.allclose(kept, again) and not bool(kept.isnan().any())


def test_half_precision():
    x = torch.randn(2, 4, 6, dtype=torch.float16, requires_grad=True)
    for function in (
        F.gelu,
        F.silu,
        lambda x: F.layer_norm(x, (6,)),
        lambda x: F.max_pool1d(x, 2),
        lambda x: F.conv1d(x, x[:, :, :2]),
    ):
        result = function(x)
        assert result.dtype is torch.float16
        (grad,) = torch.autograd.grad(result.float().sum(), x)
        assert grad.dtype is torch.float16 and bool(grad.isfinite().all())


def test_names_at_the_top():
    x = torch.tensor([[-1.0, 2.0]])
    assert torch.celu(x).tolist() == F.celu(x).tolist() and torch.conv1d is F.conv1d
    assert torch.threshold(x, 0.0, 5.0).tolist() == [[5.0, 2.0]]
    assert torch.dropout(x, 0.5, False) is x
    assert torch.embedding(x.t(), torch.tensor([1])).tolist() == [[2.0]]
    assert [tuple(r.shape) for r in torch.native_layer_norm(x, (2,), None, None, 1e-5)] == [(1, 2), (1, 1), (1, 1)]
    assert torch.layer_norm(x, (2,)).tolist() == F.layer_norm(x, (2,)).tolist()
    y = torch.tensor([[0.5, 0.5]])
    assert torch.kl_div(x, y, 2).tolist() == F.kl_div(x, y, reduction="sum").tolist() and torch.kl_div(x, y).shape == (
        1,
        2,
    )
    assert x.prelu(torch.tensor([0.5])).tolist() == [[-0.5, 2.0]]
    assert x.hardshrink(1.5).tolist() == [[0.0, 2.0]]
    values, indices = torch.max_pool1d_with_indices(x, 2)
    assert values.tolist() == [[2.0]] and indices.tolist() == [[1]]


def test_one_hot():
    assert F.one_hot(torch.tensor([[0, 2], [1, 1]]), 3).tolist() == [[[1, 0, 0], [0, 0, 1]], [[0, 1, 0], [0, 1, 0]]]
