"""A neural ODE learns a spiral. Its gradient comes from the adjoint equation, solved backward in time, and keeps no graph.

python examples/neural_ode.py
"""

import argparse

from plots import curves

import penlight as torch
from penlight import nn


def rk4(f, y, dt):
    k1 = f(y)
    k2 = f(y + dt / 2 * k1)
    k3 = f(y + dt / 2 * k2)
    k4 = f(y + dt * k3)
    return y + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def solve(f, y, dt, steps):
    path = [y]
    for _ in range(steps):
        path.append(rk4(f, path[-1], dt))
    return torch.stack(path)


class Adjoint(torch.autograd.Function):
    """`solve`, but the backward pass integrates (y, dL/dy, dL/dparameters) from the end to the start instead of keeping a graph."""

    @staticmethod
    def forward(ctx, f, y, dt, steps, *params):
        path = solve(f, y, dt, steps)
        ctx.f, ctx.dt, ctx.steps = f, dt, steps
        ctx.save_for_backward(path, *params)
        return path

    @staticmethod
    def backward(ctx, grad):
        path, *params = ctx.saved_tensors
        shape, size = path[0].shape, path[0].numel()

        def back(state):
            y, adjoint = state[:size].view(shape), state[size : 2 * size].view(shape)
            with torch.enable_grad():
                y = y.detach().requires_grad_()
                f = ctx.f(y)
                grads = torch.autograd.grad(f, (y, *params), adjoint)
            return torch.cat([-f.flatten(), *(g.flatten() for g in grads)])

        adjoint, by_params = grad[-1], grad.new_zeros(sum(p.numel() for p in params))
        for i in range(ctx.steps, 0, -1):
            state = rk4(back, torch.cat([path[i].flatten(), adjoint.flatten(), by_params]), ctx.dt)
            adjoint, by_params = state[size : 2 * size].view(shape) + grad[i - 1], state[2 * size :]
        parts = by_params.split([p.numel() for p in params])
        return None, adjoint, None, None, *(part.view_as(p) for part, p in zip(parts, params))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=300)
    args = parser.parse_args()
    torch.manual_seed(0)
    matrix = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]])
    dt, length = 0.05, 10
    with torch.no_grad():
        truth = solve(lambda y: y**3 @ matrix, torch.tensor([[2.0, 0.0]]), dt, 200)[:, 0]
    net = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 2))
    field = lambda y: net(y**3)
    params = list(net.parameters())

    start = truth[torch.arange(0, 100, 10)]
    by_graph = torch.autograd.grad(solve(field, start, dt, length).square().mean(), params)
    by_adjoint = torch.autograd.grad(Adjoint.apply(field, start, dt, length, *params).square().mean(), params)
    apart = max((a - b).abs().max() / b.abs().max() for a, b in zip(by_adjoint, by_graph))
    kept = [
        torch.inspect.memory(out)
        for out in (solve(field, start, dt, length), Adjoint.apply(field, start, dt, length, *params))
    ]
    print(f"the gradient by the adjoint and by the graph differ by {apart:.1e}, as the steps are finite")
    print(f"kept for the backward pass: by the graph {kept[0].total} bytes, by the adjoint {kept[1].total}")

    optimizer = torch.optim.Adam(params, lr=5e-3)
    losses = []
    for step in range(args.steps):
        at = torch.randint(0, len(truth) - length - 1, (16,))
        path = Adjoint.apply(field, truth[at], dt, length, *params)
        target = torch.stack([truth[at + i] for i in range(length + 1)])
        loss = (path - target).abs().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses = [*losses[-49:], loss.item()]
        if step % max(1, args.steps // 5) == 0 or step == args.steps - 1:
            print(f"step {step:4}  loss {sum(losses) / len(losses):.4f}")  # of up to 50 steps
    with torch.no_grad():
        paths = [
            solve(f, torch.tensor([[2.0, 0.0]]), dt / 5, 600)[:, 0].t().tolist()
            for f in (lambda y: y**3 @ matrix, field)
        ]
    print(curves(64, 24, true=tuple(paths[0]), learnt=tuple(paths[1])))


if __name__ == "__main__":
    main()
