"""Deep graphs, wide graphs, and memory: what an engine must stand."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import pytest

import penlight as torch


@pytest.fixture
def no_gc() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def test_a_million_ops_deep() -> None:
    """Forward, backward and release without recursion."""
    x = torch.ones(1, requires_grad=True)
    y = x
    for _ in range(1_000_000):
        y = y + 1
    y.backward()
    assert x.grad.tolist() == [1.0]
    del y


def test_used_ten_thousand_times() -> None:
    x = torch.ones(1, requires_grad=True)
    total = x * 0
    for _ in range(10_000):
        total = total + x
    total.backward()
    assert x.grad.tolist() == [10_000.0]


def test_training_leaves_memory_flat(no_gc: Any) -> None:
    """With the cycle collector off, a thousand steps leave nothing behind: no reference cycle anywhere in a graph."""
    torch.manual_seed(0)
    w, b = torch.randn(8, 4, requires_grad=True), torch.zeros(4, requires_grad=True)
    x, target = torch.randn(16, 8), torch.randn(16, 4)

    def step() -> None:
        y = torch.tanh(x @ w + b).clone()
        y[0] = 0.5
        first, second = y.split(2, 1)
        loss = ((torch.cat([second, first], 1).softmax(1) - target) ** 2).mean()
        loss.backward()
        (g,) = torch.autograd.grad((w.exp() * b.sum()).sum(), [w], create_graph=True)
        g.sum().backward()
        with torch.no_grad():
            for p in (w, b):
                p -= 0.01 * p.grad
                p.grad = None

    for _ in range(50):
        step()
    gc.collect()
    before = len(gc.get_objects())
    for _ in range(1000):
        step()
    assert len(gc.get_objects()) - before < 100
    assert gc.collect() == 0


def test_a_graph_is_freed_by_reference_counts(no_gc: Any) -> None:
    import weakref

    x = torch.ones(3, requires_grad=True)
    y = (x.exp() * x).sum()
    node = weakref.ref(y.grad_fn)
    del y
    assert node() is None


def test_a_view_of_a_long_lived_base_is_forgotten() -> None:
    base = torch.zeros(4)
    for i in range(10_000):
        base[i % 4]
    assert len(base._vc[1]) < 100
