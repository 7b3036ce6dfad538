"""What the child processes of the tests of faults share: work to be disturbed, and what must hold after it was."""

from __future__ import annotations

import ctypes
import random
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import penlight as torch
from penlight import nn

F = nn.functional


def model() -> Any:
    torch.manual_seed(1)
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.GELU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(8 * 16 * 16, 64), nn.Tanh(), nn.Dropout(0.2), nn.Linear(64, 10)
    )  # fmt: skip


def train(steps: int = 3) -> list[float]:
    """Losses and sums of parameters of a short training, large enough for threads and machine code."""
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-2, momentum=0.9)
    found = []
    for step in range(steps):
        torch.manual_seed(step)
        x, y = torch.randn(16, 3, 32, 32), torch.randint(0, 10, (16,))
        loss = F.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found + [p.detach().sum().item() for p in net.parameters()]


def ops() -> list[float]:
    """Sums of the results of many ops on arrays of many sizes, with gradients."""
    torch.manual_seed(2)
    found = []
    for shape in ((7,), (100, 70), (300, 257)):
        x = torch.randn(*shape, requires_grad=True)
        y = x.erf() + x.sigmoid() * x.cumsum(-1).tanh() + F.softmax(x, -1) + x.sort(-1)[0] + F.gelu(x) + F.silu(x)
        z = torch.where(x > 0, y, x).masked_fill(x > 1, 0.5)
        (grad,) = torch.autograd.grad(z.square().mean(), x, create_graph=True)
        grad.sum().backward()
        w = x.detach().clone()
        w.add_(1).mul_(2)[0] = 3
        kept = w[w > 1]
        found += [
            y.sum().item(),
            z.sum().item(),
            grad.sum().item(),
            x.grad.sum().item(),
            w.sum().item(),
            kept.sum().item(),
            float(w._version),
        ]
        found += [
            x.var().item(),
            (x @ x.transpose(-1, 0)).sum().item() if x.dim() > 1 else 0.0,
            x.to(torch.float16).float().sum().item(),
        ]
    return found


def state() -> list[Any]:
    """What no fault may change."""
    return [
        torch.is_grad_enabled(), torch.is_inference_mode_enabled(), str(torch.get_default_dtype()), torch.get_num_threads(), torch.is_anomaly_enabled(),
        torch.is_autocast_enabled("cpu"), torch.are_deterministic_algorithms_enabled(),
    ]  # fmt: skip


def close(a: list[float], b: list[float]) -> bool:
    return len(a) == len(b) and bool(np.allclose(a, b, rtol=2e-3, atol=2e-3, equal_nan=True))


class Watch:
    """Knows what work gives undisturbed, and tells whether it still does."""

    def __init__(self, *work: Callable[[], list[float]]) -> None:
        self.work = work
        self.wanted = [w() for w in work]
        self.state = state()

    def check(self) -> None:
        assert state() == self.state, (state(), self.state)
        for work, wanted in zip(self.work, self.wanted):
            found = work()
            assert close(found, wanted), (work.__name__, found, wanted)


def sometimes(chance: float, seed: int = 0) -> Callable[[], bool]:
    stream = random.Random(seed)
    return lambda: stream.random() < chance


_SET, _GET = 65, 66  # prctl's numbers for what systemd calls MemoryDenyWriteExecute


def can_refuse_written_memory() -> bool:
    return sys.platform == "linux" and ctypes.CDLL(None).prctl(_GET, 0, 0, 0, 0) >= 0


def refuse_written_memory() -> None:
    """From now on the system lets nothing be run that this process has written to memory."""
    assert ctypes.CDLL(None).prctl(_SET, 1, 0, 0, 0) == 0
