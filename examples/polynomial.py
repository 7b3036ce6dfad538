"""Fitting sin(x) by a polynomial of third degree, four ways: NumPy, autograd, nn and optim, and a Function of our own.

python examples/polynomial.py
"""

import argparse
import math

import numpy as np
from plots import curves

import penlight as torch


def by_numpy(x, y, steps, rate):
    """The gradient is worked out on paper."""
    rng = np.random.default_rng(0)
    a, b, c, d = rng.standard_normal(4)
    for _ in range(steps):
        error = 2 * (a + b * x + c * x**2 + d * x**3 - y)
        a, b, c, d = (
            p - rate * g
            for p, g in zip((a, b, c, d), (error.sum(), (error * x).sum(), (error * x**2).sum(), (error * x**3).sum()))
        )
    return [a, b, c, d]


def by_autograd(x, y, steps, rate):
    """The gradient is found by going back through the computation."""
    weights = torch.randn(4, dtype=torch.float64, requires_grad=True)
    for _ in range(steps):
        a, b, c, d = weights
        loss = (a + b * x + c * x**2 + d * x**3 - y).pow(2).sum()
        loss.backward()
        with torch.no_grad():
            weights -= rate * weights.grad
            weights.grad = None
    return weights.tolist()


def by_modules(x, y, steps, rate):
    """A layer holds the weights, an optimiser changes them. Powers scaled to one size need far fewer steps."""
    scale = torch.tensor([math.pi**n for n in (1, 2, 3)], dtype=torch.float64)
    features = x.unsqueeze(-1) ** torch.tensor([1, 2, 3]) / scale
    layer = torch.nn.Linear(3, 1, dtype=torch.float64)
    optimizer = torch.optim.LBFGS(layer.parameters(), max_iter=30, line_search_fn="strong_wolfe")

    def closure():
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(layer(features).squeeze(-1), y, reduction="sum")
        loss.backward()
        return loss

    optimizer.step(closure)
    return [layer.bias.item(), *(layer.weight[0] / scale).tolist()]


class LegendrePolynomial3(torch.autograd.Function):
    """(5x^3 - 3x) / 2, with its derivative told."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return 0.5 * (5 * x**3 - 3 * x)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * 1.5 * (5 * x**2 - 1)


def by_function(x, y, steps, rate):
    """y = a + b P3(c + d x): the fit goes through a Function whose backward we wrote."""
    a, b, c, d = (torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in (0.0, -1.0, 0.0, 0.3))
    optimizer = torch.optim.Adam([a, b, c, d], lr=0.02)
    for _ in range(steps):
        loss = (a + b * LegendrePolynomial3.apply(c + d * x) - y).pow(2).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    a, b, c, d = (v.item() for v in (a, b, c, d))
    return [
        a + b * (2.5 * c**3 - 1.5 * c), b * (7.5 * c**2 * d - 1.5 * d), b * 7.5 * c * d**2, b * 2.5 * d**3
    ]  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=3000)
    args = parser.parse_args()
    torch.manual_seed(0)
    x = torch.linspace(-math.pi, math.pi, 200, dtype=torch.float64)
    y = x.sin()
    for name, way in {
        "NumPy": by_numpy,
        "autograd": by_autograd,
        "modules": by_modules,
        "Function": by_function,
    }.items():
        plain = name == "NumPy"
        p = way(x.numpy() if plain else x, y.numpy() if plain else y, args.steps, 5e-6)
        fit = sum(c * x**n for n, c in enumerate(p))
        print(
            f"{name:9} y = {p[0]:+.4f} {p[1]:+.4f} x {p[2]:+.4f} x^2 {p[3]:+.4f} x^3   error {(fit - y).square().sum():.4f}"
        )
    print(curves(sine=(x.tolist(), y.tolist()), polynomial=(x.tolist(), fit.tolist())))


if __name__ == "__main__":
    main()
