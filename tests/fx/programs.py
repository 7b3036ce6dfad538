"""Modules and functions to trace, for either library."""

from __future__ import annotations

import operator
from types import SimpleNamespace


def modules(lib):
    """Modules by name, each with inputs."""
    nn, F = lib.nn, lib.nn.functional

    class Inside(nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = nn.Linear(2, 2)

        def forward(self, x):
            return self.lin(x).relu()

    class Whole(nn.Module):
        def __init__(self):
            super().__init__()
            self.inside, self.w = Inside(), nn.Parameter(lib.ones(2))
            self.register_buffer("b", lib.zeros(2))
            self.seq = nn.Sequential(nn.Linear(2, 2), nn.ReLU())

        def forward(self, x, scale=2.0, *, flag=None):
            y = self.inside(x) + self.w
            z = lib.relu(y) * scale
            a, b = z.chunk(2, -1)
            n = x.shape[0]
            q = lib.cat([a, b], dim=-1).view(n, -1) + self.b
            q = q[:, 0:1]
            made = lib.zeros(2).to(q)
            return {
                "out": self.seq(z) + q,
                "more": [1 - q, -q, q.sum(dim=(0, 1)), q**2, 2 // (q + 3), q == 1, q.double().to(lib.float64), made],
            }

    class Shared(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = self.second = nn.Linear(2, 2)

        def forward(self, input):
            return self.second(self.first(input)), F.softmax(input, dim=-1), (self.first.weight * 2).sum()

    x = lib.tensor([[1.0, 2.0], [-3.0, 4.0]])
    return {
        "whole": (Whole(), (x,)),
        "shared": (Shared(), (x,)),
        "leaf": (nn.Linear(2, 3), (x,)),
        "sequential": (nn.Sequential(nn.ReLU(), nn.Tanh()), (x,)),
    }


def functions(lib):
    """Functions by name, each with inputs."""
    x, y = lib.tensor([[1.0, 2.0], [3.0, 4.0]]), lib.tensor([2.0, 0.5])
    return SimpleNamespace(
        operators=(lambda x, y: (x @ x + y / 2 - 3 * y) % 2 > x, (x, y)),
        reflected=(lambda x: (1 + x, 2 - x, 2 * x, 2 / x, 2**x, 5 // x), (x,)),
        methods=(lambda x: x.sum(0).unsqueeze(-1).to(lib.float64).T, (x,)),
        attributes=(lambda x: (x.shape[0], x.T, x.dtype), (x,)),
        lists=(lambda x, y: lib.stack([y, y * 2], dim=0) + x, (x, y)),
        defaults=(lambda x, k=3, d=lib.float64: (x * k).to(d), (x,)),
        unpacked=(lambda x: operator.add(*[part for part in (x, x)]), (x,)),
        slices=(lambda x: x[..., :1] + x[0, None], (x,)),
    )
