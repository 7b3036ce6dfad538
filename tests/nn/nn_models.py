"""A model with everything, and attempts at what it refuses: for the tests of Module."""

from __future__ import annotations


def attempt(*functions):
    """The results, or the errors, of several functions, and a copy of the state after each."""
    seen = []
    for function in functions:
        try:
            seen.append(function())
        except Exception as error:
            seen.append((type(error).__name__, str(error)))
    return seen


def model(lib):
    nn = lib.nn

    class Inner(nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = nn.Linear(3, 2)
            self.register_buffer("seen", lib.zeros(2))
            self.register_buffer("hidden", lib.ones(1), persistent=False)
            self.register_parameter("absent", None)

        def forward(self, x):
            return self.lin(x) + self.seen

    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Sequential(nn.Linear(4, 3), nn.ReLU())
            self.inner = Inner()
            self.scale = nn.Parameter(lib.ones(2))
            self.shared = self.first[0]
            self.nothing = None

        def forward(self, x):
            return self.inner(self.first(x)) * self.scale

    return Outer()
