"""The work that is measured. `ALL` has every workload by its name, in the order of the table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from . import layers, models, programs

Step = Callable[[], Any]


class Workload(NamedTuple):
    """Work that a user waits for: `make(library)` prepares it and returns the step to time.

    `target` is the least ratio (PyTorch's time over Penlight's) that we accept; the aim is above 1 everywhere.
    """

    name: str
    group: str
    make: Callable[[Any], Step]
    target: float

    @property
    def about(self) -> str:
        """What it does, in a sentence."""
        return (self.make.__doc__ or "").strip().splitlines()[0]


# No workload may fall below this, whatever its own target, and the geometric mean of all is at least MEAN.
FLOOR, MEAN = 0.8, 1.4

# Peak memory of a step: Penlight's over PyTorch's at most this. Cold start: PyTorch's time over Penlight's at least this.
MEMORY, COLD = 1.0, 5.0

# The workloads whose peak memory is measured: training steps, and the two that keep the most or the largest results.
MEMORY_OF = ("mlp_small", "mlp_large", "cnn", "gpt", "lstm", "deep_graph", "elementwise", "batch_norm")

_TABLE: dict[str, list[tuple[Callable[[Any], Step], float]]] = {
    "small programs": [
        (programs.op, FLOOR),
        (programs.chain, 2.0),
        (programs.scalar_program, 2.0),
        (programs.pendulum, 2.0),
        (programs.deep_graph, 2.0),
        (programs.fan_out, 2.0),
        (programs.hessian, 1.5),
    ],
    "models": [
        (models.mlp_tiny, 2.0),
        (models.mlp_tiny_adam, 2.0),
        (models.mlp_small_sgd, 1.5),
        (models.mlp_small, 1.5),
        (models.mlp_large_sgd, 1.0),
        (models.mlp_large, 1.0),
        (models.lstm, 1.5),
        (models.gpt, 1.0),
        (models.cnn, 0.9),
    ],
    "a million elements": [
        (programs.elementwise, 0.9),
        (programs.arithmetic, 0.9),
    ],
    "layers, small": [
        (layers.softmax_small, 0.9),
        (layers.layer_norm_small, 0.9),
        (layers.cross_entropy_small, 0.9),
        (layers.batch_norm_small, 0.9),
        (layers.max_pool_small, 0.9),
        (layers.avg_pool_small, 0.9),
        (layers.embedding_small, FLOOR),
    ],
    "layers, large": [
        (layers.softmax, 0.9),
        (layers.layer_norm, 0.9),
        (layers.cross_entropy, 0.9),
        (layers.batch_norm, 0.9),
        (layers.max_pool, 0.9),
        (layers.avg_pool, 0.9),
        (layers.embedding, FLOOR),
    ],
}

ALL: dict[str, Workload] = {
    make.__name__: Workload(make.__name__, group, make, target)
    for group, rows in _TABLE.items()
    for make, target in rows
}
