"""MAML on sine waves: inner steps with create_graph, outer step through them; then the same with torch.func."""

import argparse
import math
from collections import OrderedDict

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call, grad, vmap


class Net(nn.Module):
    def __init__(self, hidden=20):
        super().__init__()
        self.net = nn.Sequential(
            OrderedDict(
                [
                    ("l1", nn.Linear(1, hidden)),
                    ("relu1", nn.Tanh()),
                    ("l2", nn.Linear(hidden, hidden)),
                    ("relu2", nn.Tanh()),
                    ("l3", nn.Linear(hidden, 1)),
                ]
            )
        )

    def forward(self, x):
        return self.net(x)

    def argforward(self, x, weights):
        x = torch.tanh(F.linear(x, weights[0], weights[1]))
        x = torch.tanh(F.linear(x, weights[2], weights[3]))
        return F.linear(x, weights[4], weights[5])


def sample_tasks(tasks, k):
    amplitude = torch.rand(tasks, 1, 1) * 4.9 + 0.1
    phase = torch.rand(tasks, 1, 1) * math.pi
    x = torch.rand(tasks, 2 * k, 1) * 10 - 5
    y = amplitude * torch.sin(x + phase)
    return (x[:, :k], y[:, :k]), (x[:, k:], y[:, k:])


def inner_loop(model, x, y, xq, yq, inner_lr, inner_steps):
    weights = [p for p in model.parameters()]
    for _ in range(inner_steps):
        loss = F.mse_loss(model.argforward(x, weights), y)
        grads = torch.autograd.grad(loss, weights, create_graph=True)
        weights = [w - inner_lr * g for w, g in zip(weights, grads)]
    return F.mse_loss(model.argforward(xq, weights), yq)


def functional_loop(model, inner_lr):
    def loss_fn(params, x, y):
        return F.mse_loss(functional_call(model, params, (x,)), y)

    def task_loss(params, x, y, xq, yq):
        grads = grad(loss_fn)(params, x, y)
        adapted = {k: params[k] - inner_lr * g for k, g in grads.items()}
        return loss_fn(adapted, xq, yq)

    return vmap(task_loss, in_dims=(None, 0, 0, 0, 0))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--double", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(0)
    if args.double:
        torch.set_default_dtype(torch.float64)
    model = Net()
    meta_optimiser = torch.optim.Adam(model.parameters(), lr=1e-3)
    by_vmap = functional_loop(model, 0.01)
    for step in range(args.steps):
        (x, y), (xq, yq) = sample_tasks(4, 10)
        if step % 2 == 0:
            meta_loss = 0
            for i in range(4):
                meta_loss = meta_loss + inner_loop(model, x[i], y[i], xq[i], yq[i], 0.01, inner_steps=2)
            meta_loss = meta_loss / 4
        else:
            meta_loss = by_vmap(dict(model.named_parameters()), x, y, xq, yq).mean()
        meta_optimiser.zero_grad()
        meta_loss.backward()
        meta_optimiser.step()
        print(f"step {step} loss {meta_loss.item():.17g}")


if __name__ == "__main__":
    main()
