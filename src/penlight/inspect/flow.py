"""`gradient_flow` records the gradient norms of a model's parameters, step by step."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..tensor import Tensor
from .chart import Charted, chart


class gradient_flow(Charted):
    """A context manager that records the norm of each parameter's gradient after every backward pass that reaches it.

    It prints as a table with the first, last, smallest and largest norm, and a remark on suspicious parameters. In a notebook it shows as a
    chart; `save` writes the chart as `.svg` or, with the table below it, as `.html`.

    Args:
        model: a module.

    >>> model = torch.nn.Linear(2, 1)
    >>> with torch.inspect.gradient_flow(model) as flow:
    ...     for step in range(3):
    ...         model.zero_grad()
    ...         model(torch.full((1, 2), float(step))).sum().backward()
    >>> flow.norms["weight"]
    [0.0, 1.4142135623730951, 2.8284271247461903]
    """

    title = "Norms of gradients"

    def __init__(self, model: Any) -> None:
        if not hasattr(model, "named_parameters"):
            raise TypeError(f"gradient_flow() takes a module, not {type(model).__name__}")
        self.model = model
        self.norms: dict[str, list[float]] = {name: [] for name, _ in model.named_parameters()}
        self._handles: list[Any] = []

    def __enter__(self) -> gradient_flow:
        for name, parameter in self.model.named_parameters():
            if parameter.requires_grad:
                self._handles.append(parameter.register_post_accumulate_grad_hook(self._noting(name)))
        return self

    def __exit__(self, *exception: object) -> None:
        while self._handles:
            self._handles.pop().remove()

    def _noting(self, name: str) -> Any:
        def hook(parameter: Tensor) -> None:
            grad = parameter.grad
            assert grad is not None
            self.norms[name].append(float(np.linalg.norm(np.abs(grad._array).ravel().astype(np.float64))))

        return hook

    def __str__(self) -> str:
        wide = max([len(name) for name in self.norms], default=4)
        largest = max([norms[-1] for norms in self.norms.values() if norms and math.isfinite(norms[-1])], default=0.0)
        lines = [f"{'parameter':<{wide}}  steps      first       last   smallest    largest"]
        for name, norms in self.norms.items():
            if not norms:
                lines.append(f"{name:<{wide}}      0  no gradient has arrived")
                continue
            cells = "".join(f" {value:10.3g}" for value in (norms[0], norms[-1], min(norms), max(norms)))
            lines.append(f"{name:<{wide}}  {len(norms):5d}{cells}{_remark(norms, largest)}")
        if self.norms and not any(self.norms.values()):
            lines.append("It sees the backward passes inside `with penlight.inspect.gradient_flow(model) as flow:`.")
        return "\n".join(lines)

    def svg(self) -> str:
        """The norms as lines over the steps, on a logarithmic scale."""
        return chart("Norms of gradients by step", self.norms, "norm", logarithmic=True)


def _remark(norms: list[float], largest: float) -> str:
    """A remark on suspicious norms. `largest` is the largest of all parameters' last norms."""
    if any(not math.isfinite(norm) for norm in norms):
        return "  NaN or infinite"
    if norms[-1] == 0:
        return "  zero"
    if norms[-1] < 1e-6 * max(*norms, largest):
        return "  vanishes"
    return "  explodes" if norms[-1] > 1e6 * min(norms) else ""
