"""Softmax and its backward over rows. The same in NumPy: kernels/softmax.py."""

from __future__ import annotations

from ._build import Builder
from ._functions import exp


def softmax(b: Builder) -> None:
    """out = e**(x - max) / sum."""
    x, out = b.array(), b.array()
    top = b.largest(x.load)
    total = b.total(lambda: out.store(exp(x.load() - top)))
    scale = 1.0 / total
    b.each(lambda: out.store(out.load() * scale), unroll=4)


def softmax_backward(b: Builder) -> None:
    """out = y * (grad - sum(y * grad))."""
    y, grad, out = b.array(), b.array(), b.array()
    along = b.total(lambda: y.load() * grad.load(), unroll=4)
    b.each(lambda: out.store(y.load() * (grad.load() - along)), unroll=4)
