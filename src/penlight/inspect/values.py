"""Describes the contents of tensors and nodes, and looks for NaN and infinity in them."""

from __future__ import annotations

from collections.abc import Iterator, Set
from functools import partial
from math import isfinite
from typing import Any

import numpy as np

from ..autograd.node import AccumulateGrad, Freed, Node
from ..autograd.packing import Kept, Packed
from ..dtypes import from_np
from ..ops.machinery.declare import _torch_name
from ..ops.machinery.rules import CastFit, PackedFit
from ..tensor import Tensor

Array = np.ndarray[Any, Any]


# ----- In words ------------------------------------------------------------------------------------------------------


def size_of(value: Any) -> str:
    """`(2, 3) float32` for a tensor or an array."""
    array = value._array if isinstance(value, Tensor) else value
    return f"{tuple(value.shape)} {str(from_np(array.dtype)).removeprefix('torch.')}"


def result_shapes(node: Any, known: dict[int, list[tuple[int, ...]]]) -> list[tuple[int, ...]]:
    """The shapes of the results of a node's op, if the input shapes are known: elementwise nodes keep only the shapes that were broadcast."""
    shape = node._array.shape if isinstance(node, AccumulateGrad) else getattr(node, "_shape", None)
    if shape is not None:
        return shape if isinstance(shape, list) else [shape]
    fit = node._fit.fit if isinstance(node._fit, PackedFit) else node._fit
    if fit is not None:
        return [np.broadcast_shapes(*(one[0] if isinstance(fit, CastFit) else one for one in fit if one is not None))]
    inputs = [known[id(child)][nr : nr + 1] for child, nr in node.next_functions if id(child) in known]
    return next((found for found in inputs if found), [])


def value_of(tensor: Any) -> str | None:
    """The value of a tensor or an array with one element, to four digits."""
    array = tensor if isinstance(tensor, np.ndarray) else getattr(tensor, "_array", None)
    if array is None or array.size != 1 or array.dtype.kind not in "fiubc":
        return None
    return f"{array.reshape(-1)[0].item():.4g}" if array.dtype.kind in "fc" else str(array.reshape(-1)[0].item())


def grad_of(grad: Any) -> str:
    """Describe a gradient: the value of a scalar, otherwise the 2-norm."""
    value = value_of(grad)
    return f"grad norm {norm_of(grad)}" if value is None else f"grad {value}"


def norm_of(grad: Any) -> str:
    """The 2-norm of a gradient, to four digits."""
    try:
        array = np.asarray(grad._array)
        wide = array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)
        return f"{float(np.linalg.norm(wide.ravel())):.4g}"
    except (AttributeError, TypeError, ValueError):
        return "unknown"


def held_by(node: Any) -> dict[str, Any]:
    """The slots with a node's saved values, for `saved_by` after the node has run."""
    if (slots := getattr(node, "saved_slots", None)) is None:
        return {"_kept": getattr(node, "_kept", None)}  # a custom function
    return {slot: getattr(node, slot, None) for slot in slots}


def run_noting_unpacked(run: Any, node: Node, grad: Any, held: dict[str, Any]) -> Any:
    """Run a node, and replace packed values in `held` by what the hooks unpacked: a checkpoint's hook refuses to unpack twice."""
    packed = {slot: value for slot, value in held.items() if type(value) is Packed}
    hooks = {slot: value.unpack_hook for slot, value in packed.items()}

    def unpack(slot: str, value: Any) -> Any:
        held[slot] = hooks[slot](value)
        return held[slot]

    try:
        for slot, value in packed.items():
            value.unpack_hook = partial(unpack, slot)
        return run(node, grad)
    finally:
        for slot, value in packed.items():
            value.unpack_hook = hooks[slot]


def saved_by(node: Any, held: dict[str, Any] | None = None) -> Iterator[tuple[str, Any, bool]]:
    """The values that a node saved: each one's name, the tensor (or an array, a Packed, Freed), and whether it was modified since."""
    held = held_by(node) if held is None else held
    if hasattr(node, "_kept"):  # a custom function
        kept = held["_kept"]
        if isinstance(kept, Freed):
            yield "saved_tensors", kept, False
            return
        for index, one in enumerate(kept):
            if isinstance(one, Kept):
                yield f"saved_tensors[{index}]", one.value, one._vc[0] != one._version
        return
    for slot in getattr(node, "saved_slots", ()):
        want = slot[2:]
        op = getattr(node, "op", None)
        name = (op and _torch_name(op, want)) or want
        value = held[slot]
        if isinstance(value, (tuple, list)):
            for index, one in enumerate(value):
                yield f"{name}[{index}]", one, False
            continue
        versions = getattr(node, "c_" + want, None) or getattr(value, "_vc", None)
        expected = getattr(node, "v_" + want, None)
        stale = versions is not None and isinstance(expected, int) and versions[0] != expected
        yield name, value, stale and not isinstance(value, (Freed, Packed))


def line_of(node: Node) -> str:
    """The line of the program that created a node, if `watch()` or anomaly mode was on."""
    line = node.extra().get("line")
    lines = node.metadata.get("traceback_") if line is None else [str(line)]
    return " ".join(lines[-1].split()) if lines else ""


# ----- Tensors in values, and their memory ------------------------------------------------------------------------------


_NO_TENSORS = {type(None), bool, int, float, str}  # the types of most arguments that contain no tensors


def tensors_in(value: Any) -> list[Tensor]:
    """The tensors in a value: itself, or in tuples, lists and dicts."""
    if type(value) is not tuple:
        if isinstance(value, Tensor):
            return [value]
        if isinstance(value, dict):
            value = value.values()
        elif not isinstance(value, (tuple, list)):
            return []
    found: list[Tensor] = []
    for item in value:
        if isinstance(item, Tensor):
            found.append(item)
        elif type(item) not in _NO_TENSORS:
            found += tensors_in(item)
    return found


def array_of(value: Any) -> Array | None:
    """The array of a tensor, or the array itself, if its dtype is floating-point."""
    if type(value) is np.ndarray:
        return value if value.dtype.kind in "fcV" else None
    while hasattr(value, "_value"):  # in vmap: see Note [Batched tensors] in func/batched.py
        value = value._value
    array = getattr(value, "_array", value)
    if isinstance(array, np.generic):  # the gradient of a scalar
        array = np.asarray(array)
    return array if isinstance(array, np.ndarray) and array.dtype.kind in "fcV" else None


def owner(array: Array) -> Array:
    """The array that owns this array's memory."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


# ----- NaN and infinities -----------------------------------------------------------------------------------------------

_TESTS = (("NaN", np.isnan), ("Inf", np.isinf))
_NEITHER: Set[str] = frozenset()
_vdot = getattr(np.vdot, "_implementation", np.vdot)  # without the check for `__array_function__`
_LONG = 1 << 15  # number of elements from which the product of two halves is faster than that of the array with itself


def not_finite(array: Array) -> Set[str]:
    """Whether there is NaN or infinity in an array: a subset of {"NaN", "Inf"}. A tensor without memory of its own has none."""
    if not isinstance(array, np.ndarray):
        return _NEITHER
    # A dot product is finite only if all factors are, and BLAS computes it several times faster than any elementwise test. For the dot product
    # of the two halves it reads each element once, in two streams, which takes two thirds of the time when memory bandwidth is the limit.
    # NumPy emits no warnings from `vdot`.
    dtype = array.dtype
    if dtype.char in "fd":
        if array.base is not None and 0 in array.strides:  # a broadcast dimension: one element of it is enough
            array = array[tuple([slice(None) if step else slice(0, 1) for step in array.strides])]
        flat = one = array.ravel("K")
        if flat.size >= _LONG:
            half = (flat.size + 1) // 2  # with an odd size both halves contain the middle element
            one, flat = flat[:half], flat[-half:]
        if isfinite(_vdot(one, flat)):
            return _NEITHER
    if dtype.kind not in "fcV":
        return _NEITHER
    with np.errstate(all="ignore"):
        if np.isfinite(np.add.reduce(array, axis=None)):
            return _NEITHER
        return {kind for kind, test in _TESTS if bool(test(array).any())}


def kinds_in(value: Any) -> Set[str]:
    """As `not_finite`, for a tensor, an array or a Python scalar."""
    array = np.asarray(value) if isinstance(value, (float, complex)) else array_of(value)
    return _NEITHER if array is None else not_finite(array)


def contents(array: Array) -> str:
    """Summarise an array: shape, minimum and maximum, and the number of zeros, infinities and NaNs."""
    text = size_of(array)
    if not array.size or array.dtype.kind not in "fiu":
        return text
    with np.errstate(all="ignore"):
        finite = array[np.isfinite(array)] if array.dtype.kind == "f" else array
    if finite.size:
        low, high = finite.min().item(), finite.max().item()
        text += f", {low:.4g}" if low == high else f", from {low:.4g} to {high:.4g}"
    counts = {"zero": (array == 0).sum(), "infinite": np.isinf(array).sum(), "NaN": np.isnan(array).sum()}
    return text + "".join(f", {count} {what}" for what, count in counts.items() if count)
