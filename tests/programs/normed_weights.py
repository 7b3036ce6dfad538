"""Weight norm and spectral norm (old and new), a symmetric parametrisation of one's own, orthogonal weights, and pruning."""

import argparse

import torch
import torch.nn as nn
import torch.nn.utils.parametrizations as P
import torch.nn.utils.parametrize as parametrize
from torch.nn.utils import prune, remove_weight_norm, spectral_norm, weight_norm


class Symmetric(nn.Module):
    def forward(self, X):
        return X.triu() + X.triu(1).transpose(-1, -2)

    def right_inverse(self, A):
        return A.triu()


class MatrixExponential(nn.Module):
    def forward(self, X):
        return torch.matrix_exp(X - X.mT)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = weight_norm(nn.Linear(6, 8))
        self.b = spectral_norm(nn.Linear(8, 8))
        self.c = P.weight_norm(nn.Linear(8, 8), dim=1)
        self.d = P.spectral_norm(nn.Linear(8, 8), n_power_iterations=2)
        self.e = nn.Linear(8, 8)
        parametrize.register_parametrization(self.e, "weight", Symmetric())
        self.f = P.orthogonal(nn.Linear(8, 8), orthogonal_map="cayley")
        self.g = nn.Linear(8, 8, bias=False)
        parametrize.register_parametrization(self.g, "weight", MatrixExponential())
        self.h = P.orthogonal(nn.Linear(8, 4))
        self.out = nn.Linear(4, 1)

    def forward(self, x):
        x = torch.tanh(self.b(torch.tanh(self.a(x))))
        x = torch.tanh(self.d(torch.tanh(self.c(x))))
        with parametrize.cached():
            x = self.f(torch.tanh(self.e(x))) + self.e(x)
        return self.out(torch.tanh(self.h(self.g(x))))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--double", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(0)
    if args.double:
        torch.set_default_dtype(torch.float64)
    import warnings

    warnings.simplefilter("ignore", FutureWarning)
    x = torch.randn(48, 6)
    y = x[:, :1].sin() * x[:, 1:2]
    net = Net()
    print(sorted(net.state_dict().keys()))
    optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
    for step in range(args.steps):
        if step == 20:
            prune.l1_unstructured(net.out, name="weight", amount=1)
            prune.random_unstructured(net.out, name="weight", amount=0.3)
            remove_weight_norm(net.a)
            prune.ln_structured(net.a, "weight", amount=0.25, n=2, dim=0)
            parametrize.remove_parametrizations(net.e, "weight", leave_parametrized=True)
            optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
        if step == 35:
            prune.remove(net.a, "weight")
            prune.global_unstructured([(net.e, "weight"), (net.a, "weight")], prune.L1Unstructured, amount=0.2)
            optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
        loss = (net(x) - y).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item():.17g}")
    print(sorted(net.state_dict().keys()))
    print(net)


if __name__ == "__main__":
    main()
