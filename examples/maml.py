"""Learning to learn: weights from which one step of gradient descent on ten points fits a sine that was never seen.

python examples/maml.py
"""

import argparse
import math

from plots import curves

import penlight as torch
from penlight import nn
from penlight.func import functional_call, grad, vmap
from penlight.nn import functional as F


def waves(count, points=10):
    """Sines of different height and phase: points to adapt to, and points to judge by."""
    height, phase = torch.rand(count, 1, 1) * 4.9 + 0.1, torch.rand(count, 1, 1) * math.pi
    x = torch.rand(count, 2 * points, 1) * 10 - 5
    y = height * torch.sin(x + phase)
    return x[:, :points], y[:, :points], x[:, points:], y[:, points:]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=1000)
    args = parser.parse_args()
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(1, 40), nn.ReLU(), nn.Linear(40, 40), nn.ReLU(), nn.Linear(40, 1))
    rate = 0.02

    def loss_of(params, x, y):
        return F.mse_loss(functional_call(net, params, (x,)), y)

    def adapt(params, x, y):
        return {name: params[name] - rate * g for name, g in grad(loss_of)(params, x, y).items()}

    def after_one_step(params, x, y, x_new, y_new):
        return loss_of(adapt(params, x, y), x_new, y_new)

    # The gradient of this goes through the inner gradient step; vmap does all tasks at once.
    meta_loss = vmap(after_one_step, in_dims=(None, 0, 0, 0, 0))
    optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
    for step in range(args.steps):
        params = dict(net.named_parameters())
        loss = meta_loss(params, *waves(16)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % max(1, args.steps // 6) == 0 or step == args.steps - 1:
            print(f"step {step:5}  error after one step on a new sine {loss.item():.3f}")

    params = {name: p.detach() for name, p in net.named_parameters()}
    shown = torch.rand(10, 1) * 10 - 5
    sine = lambda x: 3 * torch.sin(x + 1)
    adapted = adapt(params, shown, sine(shown))
    x = torch.linspace(-5, 5, 150).unsqueeze(1)
    row = lambda y: (x.flatten().tolist(), y.detach().flatten().tolist())
    print(curves(
        before=row(functional_call(net, params, (x,))),
        after_one_step=row(functional_call(net, adapted, (x,))),
        sine=row(sine(x)),
        X_points_shown=(shown.flatten().tolist(), sine(shown).flatten().tolist()),
    ))  # fmt: skip


if __name__ == "__main__":
    main()
