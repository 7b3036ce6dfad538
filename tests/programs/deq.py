"""A deep equilibrium model: the fixed point by Anderson's method without a graph, its gradient by a hook, and by a Function."""

import argparse

import torch
import torch.autograd as autograd
import torch.nn as nn
import torch.nn.functional as F


class Layer(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.lin = nn.Linear(n, n, bias=False)
        self.lin.weight.data.mul_(0.4)
        self.norm = nn.LayerNorm(n)

    def forward(self, z, x):
        return self.norm(torch.tanh(self.lin(z) + x)) * 0.3


def anderson(f, x0, m=4, lam=1e-3, max_iter=12, tol=1e-3, beta=1.0):
    bsz, n = x0.shape
    X = torch.zeros(bsz, m, n, dtype=x0.dtype)
    G = torch.zeros(bsz, m, n, dtype=x0.dtype)
    X[:, 0], G[:, 0] = x0, f(x0)
    X[:, 1], G[:, 1] = G[:, 0], f(G[:, 0])
    H = torch.zeros(bsz, m + 1, m + 1, dtype=x0.dtype)
    H[:, 0, 1:] = H[:, 1:, 0] = 1
    y = torch.zeros(bsz, m + 1, 1, dtype=x0.dtype)
    y[:, 0] = 1
    for k in range(2, max_iter):
        n_ = min(k, m)
        D = G[:, :n_] - X[:, :n_]
        H[:, 1 : n_ + 1, 1 : n_ + 1] = torch.bmm(D, D.transpose(1, 2)) + lam * torch.eye(n_)[None]
        alpha = torch.linalg.solve(H[:, : n_ + 1, : n_ + 1], y[:, : n_ + 1])[:, 1 : n_ + 1, 0]
        X[:, k % m] = beta * (alpha[:, None] @ G[:, :n_])[:, 0] + (1 - beta) * (alpha[:, None] @ X[:, :n_])[:, 0]
        G[:, k % m] = f(X[:, k % m])
        if (G[:, k % m] - X[:, k % m]).norm().item() / (1e-5 + G[:, k % m].norm().item()) < tol:
            break
    return X[:, k % m].view_as(x0)


class DEQFixedPoint(nn.Module):
    """The gradient arrives at the fixed point by a hook, as in the tutorials on implicit layers."""

    def __init__(self, f):
        super().__init__()
        self.f = f

    def forward(self, x):
        with torch.no_grad():
            z = anderson(lambda z: self.f(z, x), torch.zeros_like(x))
        z = self.f(z, x)
        z0 = z.clone().detach().requires_grad_()
        f0 = self.f(z0, x)

        def backward_hook(grad):
            g = grad
            for _ in range(12):
                g = autograd.grad(f0, z0, g, retain_graph=True)[0] + grad
            return g

        if z.requires_grad:
            z.register_hook(backward_hook)
        return z


class Sqrt(autograd.Function):
    """The square root by Newton's method; its derivative from the equation that it solves."""

    @staticmethod
    def forward(a):
        x = torch.ones_like(a)
        for _ in range(20):
            x = 0.5 * (x + a / x)
        return x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad / (2 * x)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--double", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(0)
    if args.double:
        torch.set_default_dtype(torch.float64)
    x = torch.randn(32, 6)
    target = (x.sum(1) > 0).long()
    model = nn.Sequential(nn.Linear(6, 12), DEQFixedPoint(Layer(12)), nn.Linear(12, 2))
    opt = torch.optim.SGD(model.parameters(), lr=0.03)
    for step in range(args.steps):
        index = torch.randperm(32)[:16]
        out = model(x[index])
        loss = F.cross_entropy(out, target[index]) + 0.1 * Sqrt.apply(1 + out.square().mean())
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(f"step {step} loss {loss.item():.17g}")


if __name__ == "__main__":
    main()
