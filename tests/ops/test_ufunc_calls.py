"""Rules written out as ufuncs give what the rules give, bit for bit: Note [Rules written out] in ops/machinery/ufunc_calls.py."""

from __future__ import annotations

import numpy as np
import pytest

import penlight as torch
from penlight.autograd.modes import NAMESPACE
from penlight.ops.machinery.declare import OPS
from penlight.ops.machinery.ufunc_calls import written_out

CASES = [(op.name, i) for op in OPS.values() for i in op.rules if written_out(op, i) is not None]


def test_the_common_ones_are() -> None:
    assert {("mul", "input"), ("mul", "other"), ("_add", "input"), ("exp", "input"), ("tanh", "input")} <= set(CASES)
    assert written_out(OPS["tanh"], "input").startswith("multiply(grad, subtract(number_1, multiply(result, result)))")


@pytest.mark.parametrize(("name", "i"), CASES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
@pytest.mark.parametrize("shape", [(5,), (), (2, 3)])
def test_like_the_rule(name: str, i: str, dtype: type, shape: tuple[int, ...]) -> None:
    op = OPS[name]
    generator = np.random.default_rng(0)
    values = {w: np.asarray(generator.uniform(0.1, 0.9, shape), dtype) for w in op.wants[i] if w != "xp"}
    values["xp"] = NAMESPACE["raw"]
    expected = op.rules[i](*[values[w] for w in op.wants[i]])
    space = {**NAMESPACE, **values, "raw": NAMESPACE["raw"], f"rule_{name}_{i}": op.rules[i]}
    found = eval(written_out(op, i), space)  # type: ignore[arg-type]
    assert found.dtype == expected.dtype and found.tobytes() == expected.tobytes()


def test_no_subexpression_is_computed_twice() -> None:
    for name, i in CASES:
        text = written_out(OPS[name], i).partition(" if ")[0]  # type: ignore[union-attr]
        assert text.count("exp(") <= 1, (name, text)


@pytest.mark.parametrize("shape", [(3,), ()])
def test_numbers_are_freed_too(shape: tuple[int, ...]) -> None:
    y = (torch.ones(shape, requires_grad=True) * 2.0).sum()
    y.backward()
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()


@pytest.mark.parametrize("size", [4, 100_000])
def test_small_and_large(size: int) -> None:
    x = torch.linspace(-2, 2, size, requires_grad=True)
    x.tanh().sum().backward()
    y = x.detach().tanh()
    assert torch.equal(x.grad, 1 - y * y)
