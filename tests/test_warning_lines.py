"""Warnings point at the line of the user's program, however deep in the package they are given."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import penlight as torch
from penlight import nn


def leaf() -> torch.Tensor:
    return torch.ones(1, requires_grad=True)


WARNED: list[Callable[[], Any]] = [
    lambda: nn.MSELoss(reduce=False),
    lambda: nn.functional.softmax(torch.ones(2, 2)),
    lambda: nn.functional.mse_loss(torch.ones(3), torch.ones(3, 1)),
    lambda: nn.init.xavier_uniform(torch.ones(2, 2)),
    lambda: nn.LSTM(2, 2, dropout=0.5),
    lambda: nn.utils.weight_norm(nn.Linear(1, 1)),
    lambda: [*torch.utils.data.DataLoader([1], pin_memory=True)],
    lambda: torch.utils.data.DataLoader([1], num_workers=1000),
    lambda: torch.optim.lr_scheduler.StepLR(torch.optim.SGD([leaf()]), 1).step(),
    lambda: torch.cuda.amp.autocast(),
    lambda: torch.utils.checkpoint.checkpoint(torch.sin, leaf()),
    lambda: (leaf() * 2).grad,
    lambda: torch.meshgrid(torch.ones(2), torch.ones(3)),
]


@pytest.mark.parametrize("program", WARNED)
def test_a_warning_points_at_the_program(program: Callable[[], Any]) -> None:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        program()
    line = program.__code__.co_firstlineno
    assert seen and {(warning.filename, warning.lineno) for warning in seen} == {(__file__, line)}


def test_nothing_counts_frames() -> None:
    """Warnings are given by `warn_user`, which finds the line itself; kernels and the first import know nothing of it."""
    package = Path(torch.__file__).parent
    found = [
        file.relative_to(package).as_posix()
        for file in package.rglob("*.py")
        if re.search(r"warnings\.warn\(", file.read_text())
    ]
    assert sorted(found) == ["__init__.py", "_common/user_warnings.py", "kernels/random/integers.py"]
