"""checkpoint(debug=True): which ops ran in the forward and in the recomputation, and from which lines."""

from __future__ import annotations

from typing import Any

from ..autograd.anomaly_mode import _stack
from ..ops.machinery.aten import overload_of
from ..tensor import Tensor
from ._checkpoint_frame import CheckpointError, Watching

_REPORT = """ An error happened while unpacking tensors; dumping logs of latest computation
because you passed `debug=True` to `torch.utils.checkpoint.checkpoint()`.

1. Stack traces of the operators that ran in the original forward

{forward_traces}
2. Stack traces of the operators that ran during recomputation

{recompute_traces}
3. Log of operators in the original forward and recomputation

Operations executed during the original forward:

{forward_ops}

Operations executed during recomputation:

{recompute_ops}

 ERROR: Detected non-determinism while running activation checkpointing

 The tensors saved in the original forward differ from those saved during recomputation. Compare the two lists of operators
 above to see where they part, and find in the stack traces which line that was.

{error}
"""


class Recorder:
    """Two logs of ops, and the error that shows them."""

    def __init__(self) -> None:
        self.forward: list[tuple[str, list[str]]] = []
        self.again: list[tuple[str, list[str]]] = []

    def contexts(self) -> Any:
        return _Logging(self.forward), _Logging(self.again)

    def explain(self, error: CheckpointError) -> CheckpointError:
        return CheckpointError(
            _REPORT.format(
                forward_traces=_traces("original", self.forward),
                recompute_traces=_traces("recompute", self.again),
                forward_ops="\n".join(line for line, _ in self.forward),
                recompute_ops="\n".join(line for line, _ in self.again),
                error=error,
            )
        )


def _traces(label: str, log: list[tuple[str, list[str]]]) -> str:
    return "\n".join(
        f"{line}   ({i + 1} of {len(log)} in {label})\n\n{''.join(stack)}" for i, (line, stack) in enumerate(log)
    )


class _Logging(Watching):
    """A context that writes each op into a log. It can be entered again: a retained graph recomputes twice."""

    def __init__(self, log: list[tuple[str, list[str]]]) -> None:
        self.log = log

    def __enter__(self) -> Any:
        self.log.clear()
        return super().__enter__()

    def watch(self, op: Any, arguments: Any, go: Any, inplace: bool) -> Any:
        shown = ", ".join(_brief(a) for a in arguments)
        self.log.append((f"torch.ops.{overload_of(op)}({shown})", _stack(all_frames=False)))
        return go()


def _brief(value: Any) -> str:
    if isinstance(value, Tensor):
        return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"
    return repr(value)
