"""Saved values: what a node keeps for its backward, and the version checks when it is used.

# Note [Saved inputs and saved outputs]
A saved input is the tensor itself and its version. A saved output is its array and version counter without the tensor, because the tensor's
edge refers to the node: keeping the tensor would be a cycle. So reference counts alone free a graph. Using a saved value whose version has
changed raises.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from .. import dtypes
from ..kernels.lazy import lazy_import
from .modes import ANOMALY, log
from .node import USED_TWICE, AccumulateGrad, Freed, Node
from .views import edge_of

if TYPE_CHECKING:
    from ..tensor import Tensor

_guards = lazy_import(globals(), "_guards", "..ops.machinery.guards")


class NoVersion(list):  # type: ignore[type-arg]
    """The version counter of an inference tensor: reading the version, as saving a tensor does, raises."""

    def __getitem__(self, index: Any) -> Any:
        if index == 0:
            raise RuntimeError(
                "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in "
                "computation tracked by autograd. To work around this, you can make a clone to get a normal tensor and use "
                "it in autograd, or use `torch.no_grad()` instead of `torch.inference_mode()`."
            )
        return None

    def __setitem__(self, index: Any, value: Any) -> None:
        pass


def versions_of(tensor: Tensor) -> list[Any]:
    """A tensor's version counter `[version, views]`, created on first use and shared by its views."""
    if tensor._vc is None:
        tensor._vc = [0, None]
    return tensor._vc


def version_of(tensor: Any) -> int:
    vc = tensor._vc
    return 0 if vc is None else vc[0]


def modified(array: Any, origin: str, now: int, expected: int, node: Node | None) -> NoReturn:
    """Refuse a saved tensor that was written to after it was saved."""
    kind = _guards.type_name(dtypes.from_np(array.dtype))
    error = RuntimeError(
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"[{kind} {list(array.shape)}]{origin} is at version {now}; expected version {expected} instead. "
        + (_LOOK_ABOVE if ANOMALY["enabled"] else _ENABLE_ANOMALY)
    )
    seen = log.get()
    error.add_note(
        seen.log.who_wrote(array, expected, node)
        if seen is not None and seen.log is not None
        else "`with penlight.inspect.watch():` or `penlight run --watch` tells which line saved it, and which wrote to it."
    )
    raise error


_ENABLE_ANOMALY = (
    "Hint: enable anomaly detection to find the operation that failed to compute its gradient, with "
    "torch.autograd.set_detect_anomaly(True, check_nan=False)."
)
_LOOK_ABOVE = (
    "Hint: the backtrace further above shows the operation that failed to compute its gradient. The variable in question was "
    "changed in there or anywhere later. Good luck!"
)


def input_modified(saved: Tensor, expected: int, node: Any = None, want: str = "") -> NoReturn:
    """Refuse a saved input whose version changed, naming the op that made it (unless it was a leaf when it was saved)."""
    source, nr = edge_of(saved)
    rules = list(node.op.rules) if hasattr(node, "op") else []
    then = node.next_functions[rules.index(want)][0] if want in rules else source
    if saved._view is None:
        refuse_detached(source, then)
    made = (
        source is not None
        and not isinstance(source, AccumulateGrad)
        and then is not None
        and not isinstance(then, AccumulateGrad)
    )
    label = source.label() if made else ""  # type: ignore[union-attr]
    if saved._view is None and getattr(getattr(source, "op", None), "view", False):
        label = "AsStrided"  # a view's grad_fn after a write; `linear` does not expose its transposed weight
    modified(saved._array, f", which is output {nr} of {label}," if made else "", version_of(saved), expected, node)


def refuse_detached(now: Node | None, then: Node | None) -> None:
    """Refuse a saved input that is a leaf now but was the result of an op when it was saved: a second derivative through it would be
    lost. (PyTorch refuses the first derivative too.)"""
    leaf = now is None or isinstance(now, AccumulateGrad)
    if leaf and then is not None and not isinstance(then, AccumulateGrad):
        raise RuntimeError(
            "Trying to use a saved tensor that has been detached in-place, i.e. with .detach_().This is not supported, please use "
            "out-of-place `.detach()` instead"
        )


def result_modified(node: Node, array: np.ndarray[Any, Any], now: int, expected: int, nr: int = 0) -> NoReturn:
    """Refuse a saved output whose version changed."""
    modified(array, f", which is output {nr} of {node.extra().get('label') or node.label()},", now, expected, node)


def freed(node: Node | None) -> NoReturn:
    """Refuse a saved value that a backward pass has freed."""
    error, seen = RuntimeError(USED_TWICE), log.get()
    if seen is None or seen.log is None:
        error.add_note("`with penlight.inspect.watch():` or `penlight run --watch` tells which line made it.")
    elif node is not None and (line := node.extra().get("line")) is not None:
        error.add_note(
            f"{node.name()} was made here, and an earlier backward pass has freed what it saved:\n{line}".rstrip()
        )
    raise error from None


def explain(node: Node, error: AttributeError) -> NoReturn:
    """Why reading a saved value failed: it was freed, unless the error has another cause."""
    if any(isinstance(getattr(node, slot, None), Freed) for slot in type(node).saved_slots):  # type: ignore[attr-defined]
        freed(node)
    raise error
