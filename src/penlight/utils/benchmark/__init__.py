"""torch.utils.benchmark: timing statements, and tables of the times.

>>> import penlight as torch
>>> from penlight.utils.benchmark import Timer
>>> Timer("x + 1", globals={"x": torch.ones(3)}).timeit(10).number_per_run
10
"""

from __future__ import annotations

from typing import Any

from penlight._refused import missing, refused_class

from .measurement import (
    Colorize as Colorize,
    Compare as Compare,
    Language as Language,
    Measurement as Measurement,
    TaskSpec as TaskSpec,
    Timer as Timer,
    select_unit as select_unit,
    timer as timer,
    trim_sigfig as trim_sigfig,
    unit_to_english as unit_to_english,
)

_COUNTS = "Penlight does not count instructions. Use Timer.blocked_autorange()."
_DRAWS = "Penlight does not draw inputs for benchmarks. Make them with torch.rand."
_REFUSED = {
    **dict.fromkeys(("CallgrindStats", "CopyIfCallgrind", "FunctionCount", "FunctionCounts"), _COUNTS),
    **dict.fromkeys(("FuzzedParameter", "FuzzedTensor", "Fuzzer", "ParameterAlias", "op_fuzzers"), _DRAWS),
    "FuzzedSparseTensor": "Penlight's tensors are dense.",
}


def __getattr__(name: str) -> Any:
    if name in _REFUSED:
        return refused_class(f"utils.benchmark.{name}", _REFUSED[name])
    raise missing(__name__, name)
