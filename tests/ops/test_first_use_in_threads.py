"""What is made at its first use, when several threads use it first."""

from __future__ import annotations

import copy
import sys
import threading
from collections.abc import Callable
from typing import Any

import penlight as torch
from penlight._common import arguments
from penlight.ops import OPS


def in_threads(function: Callable[[], Any], count: int = 4) -> list[Any]:
    """What a function gives in threads that begin at the same time."""
    found: list[Any] = []
    begin = threading.Barrier(count)

    def run() -> None:
        begin.wait()
        try:
            found.append(function())
        except Exception as error:
            found.append(error)

    threads = [threading.Thread(target=run) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def test_an_op_has_one_class_of_nodes() -> None:
    op = copy.copy(OPS["mul"])
    op.Backward  # noqa: B018  # made, so that it can be deleted
    del op.Backward
    make, both = op._make_backward, threading.Barrier(2)

    def wait_and_make(op: Any) -> Any:
        both.wait()
        return make(op)

    op._make_backward = wait_and_make
    first, second = in_threads(lambda: op.Backward, 2)
    assert first is second is op.Backward


def test_first_gradients() -> None:
    """In a process of its own all would be first; here those of functions that few tests use are."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)

    def gradient() -> list[float]:
        x = torch.tensor([0.5, 0.25], requires_grad=True)
        (grad,) = torch.autograd.grad(torch.special.log_ndtr(torch.asinh(x).deg2rad()).sum(), x)
        return grad.tolist()

    try:
        found = in_threads(gradient, 8)
    finally:
        sys.setswitchinterval(interval)
    assert found == [gradient()] * 8


def test_docstrings_of_a_class_that_changes_meanwhile() -> None:
    """As where another thread gives `nn.Module` a member."""

    class Changing(torch.nn.Module):
        """A class."""

    class Member:
        @property
        def __class__(self) -> type:
            Changing.another = 1
            return int

    Changing.__module__, Changing.member = "penlight.changing", Member()
    arguments.explain({"Changing": Changing})
    assert Changing.another == 1
