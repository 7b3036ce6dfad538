"""Cold start: the time from the start of a process to its end, with one gradient, or one training step, in between."""

from __future__ import annotations

import subprocess
import time

from .libraries import ROOT, environment

PROGRAMS = {
    "first gradient": "import {t} as torch; x = torch.ones(3, requires_grad=True); (x * x).sum().backward()",
    "first training step": (
        "import {t} as torch; from {t} import nn; model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1)); "
        "optimizer = torch.optim.Adam(model.parameters()); loss = nn.functional.mse_loss(model(torch.randn(5, 4)), "
        "torch.zeros(5, 1)); loss.backward(); optimizer.step()"
    ),
}


def start(python: str, library: str, program: str) -> float:
    """Seconds that a fresh process takes for a program."""
    begin = time.perf_counter()
    subprocess.run([python, "-c", PROGRAMS[program].format(t=library)], env=environment(), cwd=ROOT, check=True)
    return time.perf_counter() - begin
