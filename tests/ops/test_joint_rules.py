"""Rules of inputs whose gradients one function computes together."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

import penlight as torch
from penlight.ops.machinery.rules import joint_rules
from penlight.ops.nn import normalization


def _counting() -> tuple[list[list[bool]], dict[str, Any]]:
    calls: list[list[bool]] = []

    def gradients(grad: Any, factor: float, needs: list[bool], xp: Any) -> tuple[Any, Any]:
        calls.append(needs)
        return grad * factor, grad * -factor

    return calls, joint_rules(gradients, "a", "b")


def test_a_rule_wants_what_the_function_wants() -> None:
    _, rules = _counting()
    assert rules["a"].wants == rules["b"].wants == ("grad", "factor", "needs", "xp")


def test_the_first_rule_computes_and_the_others_take_theirs() -> None:
    calls, rules = _counting()
    grad, needs = np.ones(2), [True, True]
    assert rules["a"](grad, 2.0, needs, None).tolist() == [2, 2]
    assert rules["b"](grad, 2.0, needs, None).tolist() == [-2, -2]
    assert calls == [needs]


def test_the_next_node_computes_anew_from_the_same_gradient() -> None:
    calls, rules = _counting()
    grad, needs = np.ones(1), [True, True]
    for factor in (2.0, 3.0):
        found = [rules[i](grad, factor, needs, None).item() for i in "ab"]
        assert found == [factor, -factor]
    assert len(calls) == 2


def test_only_one_of_them_is_needed() -> None:
    calls, rules = _counting()
    assert rules["b"](np.ones(1), 5.0, [False, True], None).item() == -5
    assert rules["a"](np.ones(1), 5.0, [True, False], None).item() == 5
    assert len(calls) == 2


def test_threads_do_not_take_from_each_other() -> None:
    _, rules = _counting()
    grad, needs = np.ones(1), [True, True]

    def both(factor: float) -> tuple[float, float]:
        return rules["a"](grad, factor, needs, None).item(), rules["b"](grad, factor, needs, None).item()

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(both, range(200))) == [(k, -k) for k in range(200)]


def test_a_backward_pass_runs_the_kernel_once(monkeypatch: Any) -> None:
    calls = []
    kernel = normalization.kernels.layer_norm_backward
    monkeypatch.setattr(normalization.kernels, "layer_norm_backward", lambda *args: calls.append(1) or kernel(*args))
    x, w, b = torch.rand(3, 4), torch.rand(4), torch.rand(4)
    for t in (x, w, b):
        t.requires_grad_()
    torch.nn.functional.layer_norm(x, (4,), w, b).square().sum().backward()
    assert calls == [1]
    plain = [t.grad for t in (x, w, b)]
    again = torch.autograd.grad(
        torch.nn.functional.layer_norm(x, (4,), w, b).square().sum(), (x, w, b), create_graph=True
    )
    assert calls == [1, 1]  # one node in the gradient's graph, whose values the kernel gives
    for one, other in zip(plain, again):
        torch.testing.assert_close(one, other.detach())
