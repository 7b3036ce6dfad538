"""A truncated Newton method: Hessian-vector products four ways, conjugate gradients on flat parameters, a trust-region damping."""

import argparse

import torch
import torch.nn as nn
from torch.autograd.functional import hvp as functional_hvp
from torch.func import functional_call, grad, jvp, vjp
from torch.nn.utils import parameters_to_vector, vector_to_parameters


def unflatten(vector, like):
    parts = torch.split(vector, [p.numel() for p in like])
    return [v.view_as(p) for v, p in zip(parts, like)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--double", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(0)
    if args.double:
        torch.set_default_dtype(torch.float64)
    x = torch.linspace(-3, 3, 40)[:, None]
    y = torch.sin(x) + 0.1 * torch.randn_like(x)
    model = nn.Sequential(nn.Linear(1, 10), nn.Tanh(), nn.Linear(10, 10), nn.Softsign(), nn.Linear(10, 1))
    names = [n for n, _ in model.named_parameters()]
    params = list(model.parameters())

    def loss_of(*values):
        return (functional_call(model, dict(zip(names, values)), (x,)) - y).square().mean()

    def double_backward(v):
        grads = torch.autograd.grad(loss_of(*params), params, create_graph=True)
        flat = torch.cat([g.reshape(-1) for g in grads])
        return torch.cat([h.reshape(-1) for h in torch.autograd.grad(flat @ v, params)])

    def forward_over_reverse(v):
        values, tangents = tuple(p.detach() for p in params), tuple(unflatten(v, params))
        _, h = jvp(grad(loss_of, argnums=tuple(range(len(params)))), values, tangents)
        return torch.cat([g.reshape(-1) for g in h])

    def reverse_over_reverse(v):
        values = tuple(p.detach() for p in params)
        _, pull = vjp(grad(loss_of, argnums=tuple(range(len(params)))), *values)
        return torch.cat([g.reshape(-1) for g in pull(tuple(unflatten(v, params)))])

    def by_functional(v):
        _, h = functional_hvp(loss_of, tuple(p.detach() for p in params), tuple(unflatten(v, params)))
        return torch.cat([g.reshape(-1) for g in h])

    ways = [double_backward, forward_over_reverse, reverse_over_reverse, by_functional]
    damping = 0.1
    for step in range(args.steps):
        hvp = ways[step % 4]
        loss = loss_of(*params)
        g = torch.cat([p.reshape(-1) for p in torch.autograd.grad(loss, params)])
        d = torch.zeros_like(g)
        r = -g
        p, rs = r.clone(), torch.dot(r, r)
        for _ in range(4):
            hp = hvp(p) + damping * p
            curvature = torch.dot(p, hp)
            if curvature <= 0:
                break
            alpha = rs / curvature
            d = d.add(p, alpha=alpha.item())
            r = r - alpha * hp
            rs, before = torch.dot(r, r), rs
            p = r + (rs / before) * p
        old = parameters_to_vector(model.parameters()).detach().clone()
        vector_to_parameters(old + d, model.parameters())
        with torch.no_grad():
            if loss_of(*params) > loss:
                vector_to_parameters(old, model.parameters())
                damping *= 4
            else:
                damping *= 0.9
        print(f"step {step} loss {loss.item():.17g}")


if __name__ == "__main__":
    main()
