"""torch._foreach_*: one op on each tensor of a list, as PyTorch answers."""

from __future__ import annotations

import pytest

import penlight

CALLS = {
    "_foreach_add number": lambda lib, a, b: lib._foreach_add(a, 2),
    "_foreach_add list": lambda lib, a, b: lib._foreach_add(a, b, alpha=2),
    "_foreach_mul numbers": lambda lib, a, b: lib._foreach_mul(a, [2.0, 3.0]),
    "_foreach_mul_": lambda lib, a, b: lib._foreach_mul_(a, b),
    "_foreach_div_": lambda lib, a, b: lib._foreach_div_(a, 2.0),
    "_foreach_sqrt": lambda lib, a, b: lib._foreach_sqrt(b),
    "_foreach_addcmul_": lambda lib, a, b: lib._foreach_addcmul_(a, b, b, 0.5),
    "_foreach_addcdiv": lambda lib, a, b: lib._foreach_addcdiv(a, b, b, [1.0, 2.0]),
    "_foreach_lerp_": lambda lib, a, b: lib._foreach_lerp_(a, b, 0.5),
    "_foreach_norm": lambda lib, a, b: lib._foreach_norm(a, 1),
    "_foreach_copy_": lambda lib, a, b: lib._foreach_copy_(a, b),
    "_foreach_zero_": lambda lib, a, b: lib._foreach_zero_(a),
    "_foreach_maximum": lambda lib, a, b: lib._foreach_maximum(a, b),
    "_foreach_maximum number": lambda lib, a, b: lib._foreach_maximum(a, 0.5),
    "_foreach_pow": lambda lib, a, b: lib._foreach_pow(2.0, a),
    "_foreach_neg_": lambda lib, a, b: lib._foreach_neg_(a),
    "unequal": lambda lib, a, b: lib._foreach_add(a, b[:1]),
}


def outcome(lib, call):
    a, b = [lib.tensor([1.0, -2.0]), lib.tensor([3.0])], [lib.tensor([4.0, 5.0]), lib.tensor([6.0])]
    try:
        result = call(lib, a, b)
    except RuntimeError as error:
        return str(error)
    return type(result).__name__, [t.tolist() for t in result], [t.tolist() for t in a]


def test_in_place_and_not():
    a = [penlight.ones(2), penlight.ones(1)]
    assert penlight._foreach_add_(a, 1) is a and a[0].tolist() == [2.0, 2.0]
    assert [t.tolist() for t in penlight._foreach_exp([penlight.zeros(1)])] == [[1.0]]
    with pytest.raises(AttributeError, match="has no attribute '_foreach_nonsense'"):
        _ = penlight._foreach_nonsense


@pytest.mark.parity
@pytest.mark.parametrize("name", CALLS)
def test_same_as_pytorch(name):
    torch = pytest.importorskip("torch")
    assert outcome(penlight, CALLS[name]) == outcome(torch, CALLS[name])
