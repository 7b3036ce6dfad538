"""torch.utils.benchmark: timing statements, and tables of the times.

>>> import penlight as torch
>>> from penlight.utils.benchmark import Timer
>>> Timer("x + 1", globals={"x": torch.ones(3)}).timeit(10).number_per_run
10
"""

from __future__ import annotations

from typing import Any

from penlight._refused import missing, refused_class

from .compare import Colorize as Colorize
from .compare import Compare as Compare
from .measurement import Measurement as Measurement
from .measurement import TaskSpec as TaskSpec
from .measurement import select_unit as select_unit
from .measurement import trim_sigfig as trim_sigfig
from .measurement import unit_to_english as unit_to_english
from .timer import Language as Language
from .timer import Timer as Timer
from .timer import timer as timer

_REFUSED = {
    "CallgrindStats": "Penlight does not count instructions. Use Timer.blocked_autorange().",
    "CopyIfCallgrind": "Penlight does not count instructions. Use Timer.blocked_autorange().",
    "FunctionCount": "Penlight does not count instructions. Use Timer.blocked_autorange().",
    "FunctionCounts": "Penlight does not count instructions. Use Timer.blocked_autorange().",
    "op_fuzzers": "Penlight does not draw inputs for benchmarks. Make them with torch.rand.",
    "Fuzzer": "Penlight does not draw inputs for benchmarks. Make them with torch.rand.",
    "FuzzedParameter": "Penlight does not draw inputs for benchmarks. Make them with torch.rand.",
    "FuzzedTensor": "Penlight does not draw inputs for benchmarks. Make them with torch.rand.",
    "FuzzedSparseTensor": "Penlight's tensors are dense.",
    "ParameterAlias": "Penlight does not draw inputs for benchmarks. Make them with torch.rand.",
}


def __getattr__(name: str) -> Any:
    if name in _REFUSED:
        return refused_class(f"utils.benchmark.{name}", _REFUSED[name])
    raise missing(__name__, name)
