"""Gradients through a solver: the best ridge penalty, by differentiating the solution of the inner problem implicitly.

The inner problem, minimise f(w, theta), is solved by an optimiser that autograd knows nothing of. At its solution df/dw = 0, and so
dw/dtheta = -(d2f/dw2)^-1 d2f/dw dtheta: one linear system, whichever way the solution was found.

python examples/implicit.py
"""

import argparse
import math

import penlight as torch
from penlight.func import grad, hessian, vjp


def inner_loss(w, theta, x, y):
    """Logistic regression with a penalty for each feature."""
    return torch.nn.functional.softplus(-y * (x @ w)).mean() + 0.5 * (theta.exp() * w.square()).sum()


class ArgMin(torch.autograd.Function):
    """The w that minimises f(w, theta), found by Newton's method without a graph; its gradient by the implicit function theorem."""

    @staticmethod
    def forward(ctx, f, w, theta):
        for _ in range(30):
            step = torch.linalg.solve(hessian(f)(w, theta), grad(f)(w, theta))
            w = w - step
            if step.norm() < 1e-12:
                break
        ctx.f = f
        ctx.save_for_backward(w, theta)
        return w

    @staticmethod
    def backward(ctx, upstream):
        w, theta = ctx.saved_tensors
        adjoint = torch.linalg.solve(hessian(ctx.f)(w, theta), upstream)
        _, pull = vjp(lambda t: grad(ctx.f)(w, t), theta)
        return None, None, -pull(adjoint)[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=60)
    args = parser.parse_args()
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float64)
    features, useful = 12, 4
    truth = torch.cat([torch.tensor([2.0, -1.5, 1.0, -1.0]), torch.zeros(features - useful)])

    def data(n):
        x = torch.randn(n, features)
        return x, torch.sign(x @ truth + 0.5 * torch.randn(n))

    (x, y), (x_val, y_val), (x_test, y_test) = data(80), data(1000), data(1000)
    f = lambda w, t: inner_loss(w, t, x, y)
    start = torch.zeros(features)

    def validation(theta):
        w = ArgMin.apply(f, start, theta)
        return torch.nn.functional.softplus(-y_val * (x_val @ w)).mean(), w

    theta = torch.full((features,), -1.0, requires_grad=True)
    (implicit,) = torch.autograd.grad(validation(theta)[0], theta)
    eps = 1e-5
    nudges = torch.eye(features) * eps
    with torch.no_grad():
        numeric = torch.stack([(validation(theta + d)[0] - validation(theta - d)[0]) / (2 * eps) for d in nudges])
    print(
        f"the gradient through the solver and by finite differences differ by {(implicit - numeric).abs().max():.1e}\n"
    )

    optimizer = torch.optim.Adam([theta], lr=0.3)
    for step in range(args.steps):
        loss, w = validation(theta)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % max(1, args.steps // 5) == 0 or step == args.steps - 1:
            right = (torch.sign(x_test @ w) == y_test).double().mean()
            print(f"step {step:3}  validation loss {loss.item():.4f}  right on new data {right:.1%}")
    print("\npenalties found (the first four features matter, the others are noise), on a logarithmic scale:")
    for i, value in enumerate(theta.exp().tolist()):
        print(f"  feature {i:2}  {value:8.4f}  {'#' * round(6 * max(0, 5 + math.log10(value)))}")


if __name__ == "__main__":
    main()
