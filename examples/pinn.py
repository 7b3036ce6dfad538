"""A network that is never shown a solution, only the equation: a damped oscillator, its constants found from five measurements.

python examples/pinn.py
"""

import argparse
import math

from plots import curves

import penlight as torch
from penlight import nn


def exact(t, damping=2.0, stiffness=80.0):
    """x'' + damping x' + stiffness x = 0 with x(0) = 1, x'(0) = 0."""
    rate, speed = damping / 2, math.sqrt(stiffness - damping**2 / 4)
    return torch.exp(-rate * t) * (torch.cos(speed * t) + rate / speed * torch.sin(speed * t))


def slope(y, x):
    """dy/dx, itself differentiable."""
    return torch.autograd.grad(y.sum(), x, create_graph=True)[0]


class Sine(nn.Module):
    def forward(self, x):
        return torch.sin(x)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=1500)
    args = parser.parse_args()
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(1, 32), Sine(), nn.Linear(32, 32), Sine(), nn.Linear(32, 1))
    net[0].weight.data.mul_(5)  # steeper from the start: the solution swings
    stiffness = nn.Parameter(torch.tensor(4.0))  # in tens: to be found
    optimizer = torch.optim.Adam([{"params": net.parameters()}, {"params": [stiffness], "lr": 0.05}], lr=5e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.steps, 1e-5)
    measured = torch.tensor([[0.0], [0.1], [0.25], [0.4], [0.7]])
    places = torch.linspace(0, 1, 40).unsqueeze(1).requires_grad_()
    for step in range(args.steps):
        x = net(places)
        velocity = slope(x, places)
        law = (slope(velocity, places) + 2.0 * velocity) / (10 * stiffness) + x
        loss = (net(measured) - exact(measured)).square().mean() + law.square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        if step % max(1, args.steps // 5) == 0 or step == args.steps - 1:
            print(f"step {step:5}  loss {loss.item():.2e}  stiffness {10 * stiffness.item():6.2f} (it is 80)")
    t = torch.linspace(0, 1, 200).unsqueeze(1)
    with torch.no_grad():
        print(curves(
            solution=(t.flatten().tolist(), exact(t).flatten().tolist()),
            network=(t.flatten().tolist(), net(t).flatten().tolist()),
            Measured=(measured.flatten().tolist(), exact(measured).flatten().tolist()),
        ))  # fmt: skip


if __name__ == "__main__":
    main()
