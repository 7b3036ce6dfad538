"""Results of 16-bit floats that are looked up are those that are computed, of every float and in every bit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import penlight as torch
from penlight.kernels import special
from penlight.kernels.elementwise import blocks, tables
from penlight.kernels.elementwise.strategies import LEAST_LOOKED_UP
from penlight.tensor import wrap
from tests.machine_code import without_machine_code

F = torch.nn.functional
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    **{
        name: getattr(torch, name)
        for name in ["floor", "exp", "sin", "tanh", "sqrt", "rsqrt", "log", "reciprocal", "sigmoid", "square"]
    },
    **{
        name: getattr(F, name)
        for name in ["relu", "gelu", "silu", "leaky_relu", "elu", "softplus", "mish", "hardswish"]
    },
    "clamp": lambda x: x.clamp(-1, 1.5),
    "clamp to 0": lambda x: x.clamp(-0.0, 1.0),
    "power": lambda x: x**3,
    # Not torch.erf, which keeps the kernel that it found first: with machine code, if an earlier test has called it.
    "erf": lambda x: wrap(special.erf(x._array)),
}


@pytest.fixture(autouse=True)
def _in_numpy() -> Iterator[None]:
    with without_machine_code():
        tables._tables.clear()
        tables._asked.clear()
        yield


def every(dtype: torch.dtype) -> Any:
    x = torch.arange(1 << 16).sub(1 << 15).to(torch.int16).view(dtype)
    return x.masked_fill(x.isnan(), torch.nan)  # no signalling ones, of which NumPy warns


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_is_computed(name: str, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if dtype == "bfloat16":
        pytest.importorskip("ml_dtypes")
    x = every(getattr(torch, dtype))
    made = FUNCTIONS[name](x)
    assert tables._tables
    tables._tables.clear()
    monkeypatch.setattr(tables, "LEAST_LOOKED_UP", 1 << 17)
    computed = FUNCTIONS[name](x)
    assert not tables._tables
    torch.testing.assert_close(made, computed, rtol=0, atol=0, equal_nan=True)
    assert torch.equal(torch.signbit(made[~made.isnan()]), torch.signbit(computed[~computed.isnan()]))


def test_scalars_have_tables_of_their_own() -> None:
    x = every(torch.float16)
    assert F.leaky_relu(x, 0.5)[0xB000 - (1 << 15)].item() != F.leaky_relu(x, 0.25)[0xB000 - (1 << 15)].item()
    assert F.threshold(x, 0.0, -0.0).signbit().sum() > F.threshold(x, 0.0, 0.0).signbit().sum()


def test_only_elementwise_functions_of_one_array() -> None:
    x = np.ones((64, 128), np.float16)
    assert tables.looked_up(np.add, (x, x)) is None
    assert tables.looked_up(np.exp, (x.T,)) is None
    assert tables.looked_up(np.exp, (x[:2],)) is None  # so few
    assert tables.looked_up(np.exp, (x.astype(np.float32),)) is None
    assert tables.looked_up(lambda x: x.sum(), (x,)) is None
    made = blocks.run(np.exp, (x,))
    assert made.shape == x.shape and made.dtype == np.float16 and made.flags.c_contiguous


def test_a_table_is_made_for_many_calls_of_few() -> None:
    x = torch.linspace(-4, 4, 64, dtype=torch.float16)
    expected = F.silu(x)
    for _ in range(LEAST_LOOKED_UP // 64):
        assert torch.equal(F.silu(x), expected)
    assert len(tables._tables) == 1 and not tables._asked
    assert torch.equal(F.silu(x[0]), expected[0]) and torch.equal(F.silu(x[:0]), expected[:0])


def test_a_bounded_number_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "MOST_TABLES", 2)
    monkeypatch.setattr(tables, "MOST_ASKED", 2)
    x = every(torch.float16)
    for slope in (0.1, 0.2, 0.3):
        F.leaky_relu(x, slope)
        F.leaky_relu(x[:9], -slope)
        assert 0 < len(tables._tables) <= 2 and 0 < len(tables._asked) <= 2
