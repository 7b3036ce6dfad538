"""Random numbers inside vmap: refused, drawn per sample, or drawn once for all, depending on `randomness`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..ops import OPS
from ..ops.machinery import dispatch
from ..ops.machinery.dispatch import interpreters
from ..tensor import Tensor, wrap as plain_tensor
from .batched import wrap, wrap_all
from .level import BatchLevel, open_levels

ERROR = (
    "vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' randomness flags "
    "on vmap or perform the randomness operation out of vmap"
)
SAME = (
    "Vmap does not currently support same randomness with a batched tensor input. Please file an issue with functorch"
)
IN_PLACE = (
    "vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will appear like same randomness. If this is "
    "necessary for your usage, please file an issue with functorch."
)


def allowed_levels() -> list[BatchLevel]:
    """The open vmap levels, if all of them allow random ops."""
    levels = open_levels()
    if any(level.randomness == "error" for level in levels):
        raise RuntimeError(ERROR)
    return levels


def drawn(shape: Sequence[int], draw: Callable[[tuple[int, ...]], Any]) -> Tensor | None:
    """Samples of a shape (an array from `draw`) for the open levels; None if there are none."""
    levels = allowed_levels()
    if not levels:
        return None
    each = [level for level in levels if level.randomness == "different"]
    return wrap_all(each, plain_tensor(draw((*(level.size for level in each), *shape))))


def drawn_from(tensors: Sequence[Any], run: Callable[..., Tensor]) -> Tensor | None:
    """Samples whose distribution depends elementwise on tensors: `run(*tensors)` on physical ones. None if no level is open.

    The innermost level is removed first; the others follow recursively when `run` calls this function again.
    """
    levels = allowed_levels()
    if not levels:
        return None
    level = levels[-1]
    if level.randomness == "same" and any(isinstance(t, Tensor) and level.has(t) for t in tensors):
        raise RuntimeError(SAME)
    outer = without(level)
    try:
        if level.randomness == "same":
            return run(*tensors)
        ndim = max((t.dim() for t in tensors if isinstance(t, Tensor)), default=0)
        return wrap(level, run(*(_aligned(level, t, ndim) for t in tensors)))
    finally:
        interpreters.set(outer)


def _aligned(level: BatchLevel, tensor: Any, ndim: int) -> Any:
    if not isinstance(tensor, Tensor):
        return tensor
    value = level.full(tensor)
    return value.reshape(level.size, *(1,) * (ndim - tensor.dim()), *tensor.shape)


def without(level: BatchLevel) -> tuple[Any, ...]:
    """Close this level only; returns the levels that were open."""
    stack = interpreters.get()
    interpreters.set(tuple([other for other in stack if other is not level]))
    return stack


# ----- In place -----------------------------------------------------------------------------------------------------


def check_filled(tensor: Tensor) -> None:
    """Refuse to fill an unbatched tensor with different values for each sample."""
    for level in allowed_levels():
        value: Any = tensor
        while value._level is not None and value._level is not level:
            value = value._value
        if level.randomness == "different" and value._level is None:
            raise RuntimeError(IN_PLACE)


def filled(level: BatchLevel, op: Any, arguments: tuple[Any, ...]) -> None:
    """Run an in-place random op on a batched tensor."""
    tensor, *rest = arguments
    outer = without(level)
    try:
        if level.randomness == "different":
            dispatch.run_in_place(op, (tensor._value, *rest))
        else:
            one = tensor._value.new_empty(tuple(tensor.shape))
            dispatch.run_in_place(op, (one, *rest))
            dispatch.run_in_place(OPS["_copy"], (tensor._value, one))
    finally:
        interpreters.set(outer)
