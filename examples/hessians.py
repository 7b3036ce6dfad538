"""Hessian-vector products four ways, and what they are for: the sharpest directions of a loss, and Newton's method.

python examples/hessians.py
"""

import argparse

from plots import curves

import penlight as torch
from penlight import nn
from penlight.autograd.functional import vhp
from penlight.func import functional_call, grad, hessian, jvp, vjp


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=30)
    args = parser.parse_args()
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float64)
    x = torch.linspace(-3, 3, 60).unsqueeze(1)
    y = x.sin()
    net = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))
    names, shapes = zip(*((name, p.shape) for name, p in net.named_parameters()))
    weights = nn.utils.parameters_to_vector(net.parameters()).detach()

    def loss(w):
        parts = w.split([shape.numel() for shape in shapes])
        return (functional_call(net, {n: p.view(s) for n, p, s in zip(names, parts, shapes)}, (x,)) - y).square().mean()

    def double_backward(w, v):
        w = w.clone().requires_grad_()
        (g,) = torch.autograd.grad(loss(w), w, create_graph=True)
        return torch.autograd.grad(g @ v, w)[0]

    ways = {
        "double backward": double_backward,
        "forward over reverse": lambda w, v: jvp(grad(loss), (w,), (v,))[1],
        "reverse over reverse": lambda w, v: vjp(grad(loss), w)[1](v)[0],
        "autograd.functional": lambda w, v: vhp(loss, w, v)[1],
    }
    v = torch.randn_like(weights)
    whole = hessian(loss)(weights)
    for name, way in ways.items():
        print(f"{name:21} H v is off from the whole Hessian's by {(way(weights, v) - whole @ v).abs().max():.1e}")

    product = ways["forward over reverse"]
    for _ in range(60):
        v = product(weights, v)
        v = v / v.norm()
    sharpest = torch.linalg.eigvalsh(whole).max()
    print(f"the largest eigenvalue by 60 products {v @ product(weights, v):.6f}, by the whole matrix {sharpest:.6f}")

    def newton(w):
        """A step that solves (H + damping) d = -g by conjugate gradients: only products, never the matrix."""
        g, damping = grad(loss)(w), 0.02
        d, r = torch.zeros_like(g), -g
        p, rr = r, r @ r
        for _ in range(25):
            hp = product(w, p) + damping * p
            if p @ hp <= 0 or rr < 1e-16:
                break
            alpha = rr / (p @ hp)
            d, r = d + alpha * p, r - alpha * hp
            before, rr = rr, r @ r
            p = r + rr / before * p
        while loss(w + d) > loss(w) and d.norm() > 1e-9:
            d = d / 2
        return w + d

    courses = {"newton": [], "gradient": []}
    by_newton = by_gradient = weights
    for _ in range(args.steps):
        courses["newton"].append(loss(by_newton).log10().item())
        courses["gradient"].append(loss(by_gradient).log10().item())
        by_newton, by_gradient = newton(by_newton), by_gradient - 0.1 * grad(loss)(by_gradient)
    print(
        f"after {args.steps} steps: Newton {loss(by_newton):.2e}, gradient descent {loss(by_gradient):.2e} (log10 of the loss below)"
    )
    print(curves(height=12, **{name: (list(range(args.steps)), c) for name, c in courses.items()}))


if __name__ == "__main__":
    main()
