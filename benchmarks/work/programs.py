"""Small programs and plain elementwise work: what the graph itself costs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Step = Callable[[], Any]


def op(t: Any) -> Step:
    """A product of 4 floats with its graph, a thousand times."""
    a, b = t.ones(4, requires_grad=True), t.ones(4, requires_grad=True)

    def step() -> Any:
        for _ in range(1000):
            c = a * b
        return c

    return step


def chain(t: Any) -> Step:
    """A chain of 100 products of 4 floats, forward and backward."""
    a, b, g = t.ones(4, requires_grad=True), t.ones(4, requires_grad=True), t.ones(4)

    def step() -> Any:
        a.grad = b.grad = None
        x = a
        for _ in range(100):
            x = x * b
        x.backward(g)
        return b.grad

    return step


def scalar_program(t: Any) -> Step:
    """Rosenbrock's function of two numbers: value, gradient, 20 steps down."""

    def step() -> Any:
        x, y = t.tensor(-1.2, requires_grad=True), t.tensor(1.0, requires_grad=True)
        for _ in range(20):
            loss = (1 - x) ** 2 + 100 * (y - x * x) ** 2
            gx, gy = t.autograd.grad(loss, [x, y])
            x = (x - 1e-3 * gx).detach().requires_grad_()
            y = (y - 1e-3 * gy).detach().requires_grad_()
        return loss

    return step


def pendulum(t: Any) -> Step:
    """A pendulum simulated for 100 steps, and the gradient by its length."""
    length = t.tensor(1.3, requires_grad=True)

    def step() -> Any:
        angle, speed = t.tensor(0.5), t.tensor(0.0)
        for _ in range(100):
            speed = speed - 0.02 * (9.81 / length) * angle.sin()
            angle = angle + 0.02 * speed
        return t.autograd.grad((angle - 0.1) ** 2, length)[0]

    return step


def deep_graph(t: Any) -> Step:
    """A graph of 20,000 additions, forward and backward."""
    x = t.ones(1, requires_grad=True)

    def step() -> Any:
        x.grad = None
        y = x
        for _ in range(20_000):
            y = y + 1
        y.backward()
        return x.grad

    return step


def fan_out(t: Any) -> Step:
    """One tensor used 2,000 times, forward and backward."""
    x = t.ones(4, requires_grad=True)

    def step() -> Any:
        x.grad = None
        total = x * 0
        for _ in range(2_000):
            total = total + x
        total.sum().backward()
        return x.grad

    return step


def hessian(t: Any) -> Step:
    """The Hessian of a function of 50 variables by double backward."""
    x = t.linspace(-1, 1, 50).requires_grad_()

    def step() -> Any:
        y = (x.exp() * x.sin()).sum() + (x[1:] * x[:-1]).pow(2).sum()
        (g,) = t.autograd.grad(y, x, create_graph=True)
        return [t.autograd.grad(g[i], x, retain_graph=True)[0] for i in range(50)][-1]

    return step


def elementwise(t: Any) -> Step:
    """tanh, product, exp and mean of a million elements, forward and backward."""
    x = t.linspace(-2, 2, 1_000_000).requires_grad_()

    def step() -> Any:
        x.grad = None
        ((x.tanh() * x).exp() + x).mean().backward()
        return x.grad

    return step


def arithmetic(t: Any) -> Step:
    """Sum, product, quotient and relu of a million elements, forward and backward."""
    x, y = t.linspace(-2, 2, 1_000_000).requires_grad_(), t.linspace(1, 3, 1_000_000).requires_grad_()

    def step() -> Any:
        x.grad = y.grad = None
        ((x * y + x) / y - 0.5 * x).relu().sum().backward()
        return x.grad

    return step
