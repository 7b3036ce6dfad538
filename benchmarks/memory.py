"""Peak memory of a workload beyond the imports, in a process of its own (Linux).

    python -m benchmarks.memory penlight gpt

The library is imported, and small layers and a tiny model run a step, so that what is loaded, compiled or started at first use is there.
Then the high-water mark of resident memory is reset to what the process holds now, the workload is prepared and runs three steps, and the
answer is how far the mark rose: parameters, data, optimiser state, graph, gradients and every temporary.
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
    """How many bytes the high-water mark rises by in preparing a workload and running a few steps."""
    for small in WARM:
        ALL[small].make(library)()
    reset_peak()
    before = status("VmRSS")
    step = ALL[name].make(library)
    for _ in range(STEPS):
        step()
    return max(0, status("VmHWM") - before)


if __name__ == "__main__":
    print(json.dumps({"bytes": growth(load(sys.argv[1]), sys.argv[2])}))
