"""Peak memory of a workload beyond the imports, in a process of its own (Linux).

    python -m benchmarks.memory penlight gpt

The library is imported, and small layers and a tiny model run a step, so that what is loaded, compiled or started at first use is there.
Then the workload is prepared, the high-water mark of resident memory is reset, and three steps run. The answer is how far the mark is
above what the process held before the workload: parameters, data, optimiser state, graph, gradients and every temporary of a step.
"""

from __future__ import annotations

import ctypes
import gc
import json
import sys
from typing import Any

from .libraries import load
from .work import ALL

STEPS = 3
WARM = ("mlp_tiny_adam", "softmax_small", "layer_norm_small", "batch_norm_small", "max_pool_small", "embedding_small")


def status(field: str) -> int:
    """A field of the process's memory, in bytes."""
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(field + ":"))


def reset_peak() -> None:
    """Give freed memory back to the system, and let the high-water mark start anew from here."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")


def growth(library: Any, name: str) -> int:
    """How many bytes more a process holds at the peak of a workload's steps than before it was prepared."""
    for small in WARM:
        ALL[small].make(library)()
    reset_peak()
    before = status("VmRSS")
    step = ALL[name].make(library)
    reset_peak()  # what only the preparation needed does not count
    for _ in range(STEPS):
        step()
    return max(0, status("VmHWM") - before)


if __name__ == "__main__":
    print(json.dumps({"bytes": growth(load(sys.argv[1]), sys.argv[2])}))
