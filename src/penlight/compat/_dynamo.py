"""torch._dynamo, the front of PyTorch's compiler: its switches are accepted, and nothing is compiled."""

from __future__ import annotations

import sys
from collections import Counter
from contextlib import nullcontext
from typing import Any

from penlight._refused import refuse, refused_function

from ._optimized_module import OptimizedModule as OptimizedModule
from ._settable import Settings
from .compiler import (
    allow_in_graph as allow_in_graph,
    disable as disable,
    list_backends as list_backends,
    reset as reset,
)

config = sys.modules[f"{__name__}.config"] = Settings(f"{__name__}.config")
utils = sys.modules[f"{__name__}.utils"] = Settings(f"{__name__}.utils", counters=Counter())

_trace_wrapped_higher_order_op = sys.modules[f"{__name__}._trace_wrapped_higher_order_op"] = Settings(
    f"{__name__}._trace_wrapped_higher_order_op", TransformGetItemToIndex=nullcontext
)

__path__: list[str] = []


def optimize(*args: Any, **kwargs: Any) -> Any:
    """A decorator that gives back its function."""
    return lambda function: function


def graph_break(msg: str = "") -> None:
    """Without effect: there is no graph to break."""


def mark_dynamic(*args: Any, **kwargs: Any) -> None:
    """Without effect: nothing is specialised."""


mark_static = maybe_mark_dynamic = mark_dynamic


def assume_constant_result(fn: Any) -> Any:
    """The function itself, as of the other marks for the compiler."""
    return fn


nonstrict_trace = disallow_in_graph = forbid_in_graph = dont_skip_tracing = mark_static_address = assume_constant_result


def is_compiling() -> bool:
    """False: nothing is compiled."""
    return False


explain = refused_function("_dynamo.explain", "Penlight does not compile, so there is nothing to explain.")
export = refused_function("_dynamo.export", "Penlight does not export programs.")


__getattr__ = refuse(__name__, "Penlight does not compile.", "Run the function as it is written.")


sys.modules[f"{__name__}.eval_frame"].OptimizedModule = OptimizedModule  # type: ignore[attr-defined]
sys.modules[f"{__name__}.eval_frame"].is_dynamo_supported = is_compiling  # type: ignore[attr-defined]
