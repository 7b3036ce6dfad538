"""A neural ODE fitted to a spiral: Runge-Kutta steps, and the adjoint equation as a custom Function that solves back in time."""

import argparse

import torch
import torch.nn as nn


def rk4_step(func, t, dt, y):
    k1 = func(t, y)
    k2 = func(t + dt / 2, y + dt * k1 / 2)
    k3 = func(t + dt / 2, y + dt * k2 / 2)
    k4 = func(t + dt, y + dt * k3)
    return y + (k1 + 2 * k2 + 2 * k3 + k4) * dt / 6


def odeint(func, y0, t):
    ys = [y0]
    for t0, t1 in zip(t[:-1], t[1:]):
        ys.append(rk4_step(func, t0, t1 - t0, ys[-1]))
    return torch.stack(ys)


class OdeintAdjoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx, func, y0, t, *params):
        ctx.func = func
        with torch.no_grad():
            ans = odeint(func, y0, t)
        ctx.save_for_backward(t, ans, *params)
        return ans

    @staticmethod
    def backward(ctx, grad_output):
        t, ans, *params = ctx.saved_tensors
        func = ctx.func
        n_y = ans[0].numel()

        def augmented(s, state):
            y, adj_y = state[:n_y].view_as(ans[0]), state[n_y : 2 * n_y].view_as(ans[0])
            with torch.enable_grad():
                y = y.detach().requires_grad_(True)
                f = func(s, y)
                grads = torch.autograd.grad(f, (y, *params), -adj_y, allow_unused=True, retain_graph=True)
            grads = [torch.zeros_like(p) if g is None else g for g, p in zip(grads, (y, *params))]
            return torch.cat([f.detach().reshape(-1)] + [g.reshape(-1) for g in grads])

        with torch.no_grad():
            adj_y = grad_output[-1]
            adj_params = torch.zeros(sum(p.numel() for p in params), dtype=ans.dtype)
            for i in range(len(t) - 1, 0, -1):
                state = torch.cat([ans[i].reshape(-1), adj_y.reshape(-1), adj_params])
                state = rk4_step(augmented, t[i], t[i - 1] - t[i], state)
                adj_y = state[n_y : 2 * n_y].view_as(ans[0]) + grad_output[i - 1]
                adj_params = state[2 * n_y :]
        grads, start = [], 0
        for p in params:
            grads.append(adj_params[start : start + p.numel()].view_as(p))
            start += p.numel()
        return None, adj_y, None, *grads


class ODEFunc(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 20), nn.Tanh(), nn.Linear(20, 2))
        for m in self.net.modules():
            if isinstance(m, nn.Linear):
                nn.init.normal_(m.weight, mean=0, std=0.1)
                nn.init.constant_(m.bias, val=0)

    def forward(self, t, y):
        return self.net(y**3)


class Lambda(nn.Module):
    true_A = ((-0.1, 2.0), (-2.0, -0.1))

    def forward(self, t, y):
        return torch.mm(y**3, torch.tensor(self.true_A))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--double", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(0)
    if args.double:
        torch.set_default_dtype(torch.float64)
    t = torch.linspace(0.0, 5.0, 60)
    true_y0 = torch.tensor([[2.0, 0.0]])
    with torch.no_grad():
        true_y = odeint(Lambda(), true_y0, t)

    func = ODEFunc()
    optimizer = torch.optim.RMSprop(func.parameters(), lr=1e-3)
    for step in range(args.steps):
        optimizer.zero_grad()
        start = torch.randint(0, 50, (6,))
        batch_y0 = true_y[start]
        batch_y = torch.stack([true_y[start + i] for i in range(4)], dim=0)
        pred_y = OdeintAdjoint.apply(func, batch_y0, t[:4], *func.parameters())
        loss = torch.mean(torch.abs(pred_y - batch_y))
        loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item():.17g}")


if __name__ == "__main__":
    main()
