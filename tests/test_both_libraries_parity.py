"""A process that has both libraries: their tensors are foreign to each other, and errors say so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import penlight

pytestmark = pytest.mark.parity
torch = pytest.importorskip("torch")


@pytest.mark.parametrize(
    "mixed",
    [
        lambda a, b: a - b,
        lambda a, b: b - a,
        lambda a, b: torch.add(a, b),
        lambda a, b: penlight.add(b, a),
        lambda a, b: torch.stack([a, b]),
        lambda a, b: penlight.stack([b, a]),
    ],
)
def test_mixing_is_a_type_error(mixed: Callable[[Any, Any], Any]) -> None:
    with pytest.raises(TypeError):
        mixed(torch.ones(3), penlight.ones(3))


def test_each_can_copy_the_other() -> None:
    assert penlight.tensor(torch.ones(3)).tolist() == [1.0, 1.0, 1.0]
    assert torch.tensor(penlight.ones(3)).tolist() == [1.0, 1.0, 1.0]
