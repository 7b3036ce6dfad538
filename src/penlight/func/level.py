"""BatchLevel: one open vmap, which runs ops on batched tensors.

# Note [Levels]
`_dispatch.interpreters` lists a thread's open levels of vmap and of forward mode. An op goes to the innermost vmap at which one of its
tensors is batched. The batching rule runs ops on the physical tensors, which then go to the next level, and finally to forward mode and the
kernel. Batches are handled first and tangents last, regardless of the order in which the levels were opened: so every op that is recorded
or has a tangent works on physical tensors without hidden dimensions.

# Note [Tangents with a batch of their own]
An unbatched tensor may have a batched tangent, as in `vmap(lambda t: jvp(f, (x,), (t,)))`: values that depend only on x are then computed
once. When such a tensor meets one that is batched at the tangent's level, it is first broadcast over the batch together with its tangent
(`BatchLevel.ready`).
"""

from __future__ import annotations

import re
from itertools import count
from typing import TYPE_CHECKING, Any

from ..autograd import modes
from ..kernels.lazy import lazy_import
from ..ops import OPS
from ..ops.machinery import dispatch
from ..ops.machinery.arguments import broadcast_shape
from ..ops.machinery.dispatch import interpreters
from ..tensor import Tensor
from .batched import ESCAPED, Batched, broadcast, involves, wrap
from .batching import in_place_arguments, rule_for

if TYPE_CHECKING:
    from ..ops.machinery.op import Op

_functions = lazy_import(globals(), "_functions", ".functions")


_depths = count()

TOO_BIG = (
    "vmap: {0}(self, *extra_args) is not possible because there exists a Tensor `other` in extra_args that has more elements "
    "than `self`. This happened due to `other` being vmapped over but `self` not being vmapped over {1}. Please try to use "
    "out-of-place operators instead of {0}. If said operator is being called inside the PyTorch framework, please file a bug "
    "report instead."
)
# The variants of PyTorch's errors: by shape, as arithmetic, by name, and for the others by name and level.
_BY_SHAPE = {
    "add_", "atan2_", "bitwise_and_", "bitwise_left_shift_", "bitwise_or_", "bitwise_right_shift_", "bitwise_xor_", "copysign_", "gcd_", "lcm_",
}  # fmt: skip
_ARITHMETIC = {
    "clamp_max_", "clamp_min_", "copy_", "div_", "logical_and_", "logical_or_", "logical_xor_", "masked_fill_", "mul_", "sub_",
}  # fmt: skip
_BY_NAME = {"fill_", "index_add_", "index_fill_", "index_put_", "scatter_add_", "scatter_reduce_"}


class BatchLevel:
    """One open vmap. See Note [Levels]."""

    batching = True

    def __init__(self, size: int, randomness: str = "error", tangents_only: bool = False) -> None:
        self.size, self.randomness = size, randomness
        self.depth = next(_depths)
        self.number = 0  # its number among the open transforms, from 1
        # Only tangents are batched here, as in jacfwd: the values in f stay unbatched.
        self.tangents_only = tangents_only

    def __enter__(self) -> BatchLevel:
        self._outer = interpreters.get()
        self.number = 1 + modes.transforms.get()
        interpreters.set((*self._outer, self))
        modes.transforms.set(self.number)
        modes.open_slow_mode()
        return self

    def __exit__(self, *exc: object) -> None:
        modes.close_slow_mode()
        modes.transforms.set(modes.transforms.get() - 1)
        interpreters.set(self._outer)

    def checked(self, stack: tuple[Any, ...]) -> BatchLevel:
        """This level, if it is still open."""
        if self not in stack:
            raise RuntimeError(ESCAPED)
        return self

    # ----- Ops ------------------------------------------------------------------------------------------------------

    def run(self, op: Op, arguments: tuple[Any, ...], out: Any = None) -> Any:
        """Run an op with an argument batched at this level, and none at an inner one."""
        rule = op.batch or rule_for(op)
        raw = rule(self, op, self.ready(arguments))
        result = wrap(self, raw) if type(raw) is not tuple else tuple([wrap(self, r) for r in raw])
        if out is None:
            return result
        for target, source in zip(
            out if isinstance(out, tuple) else (out,), result if isinstance(result, tuple) else (result,)
        ):
            target.copy_(source)
        return out

    def run_inplace(self, op: Op, arguments: tuple[Any, ...]) -> Any:
        """Run an in-place form: on the physical tensors if they can be aligned, else by copying the result in."""
        tensor = arguments[0]
        if tensor._level is not self:
            raise RuntimeError(self._too_big(op, arguments))
        if op.name.endswith("_into") and len(op.inputs) == 1:
            from .randomness import filled

            filled(self, op, arguments)
            return tensor
        arguments = self.ready(arguments)
        aligned = in_place_arguments(self, op, arguments)
        if aligned is not None:
            dispatch.run_in_place(op, aligned)
        else:
            result = rule_for(op)(self, op, arguments)
            dispatch.run_in_place(OPS["_copy"], (tensor._value, result))
        return tensor

    def _too_big(self, op: Op, arguments: tuple[Any, ...]) -> str:
        """The error for writing batched values to an unbatched tensor."""
        name = re.sub("_(value|floor|trunc|low|high|number|of)$", "", op.public) + "_"
        if name in _BY_SHAPE:
            shape = broadcast_shape(*(tuple(a.shape) for a in arguments if isinstance(a, Tensor)))
            wide = [self.size, *shape]
            return f"output with shape {list(arguments[0].shape)} doesn't match the broadcast shape {wide}"
        if name in _ARITHMETIC or name in _BY_NAME:
            return TOO_BIG.format(name if name in _BY_NAME else "inplace arithmetic", "in a vmap")
        return TOO_BIG.format("aten::" + name, f"at level {self.number}")

    def like(self, make: Any, tensor: Any, *args: Any, **kwargs: Any) -> Any:
        """`zeros_like` and similar: the result is batched too, so that batched values can be written into it."""
        return wrap(self, make(tensor._value, *args, **kwargs))

    def ready(self, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments; those whose tangents have this level's batch are broadcast over it."""
        for level in interpreters.get():
            if not level.batching:
                return tuple([self._broadcast_tangents(a) for a in arguments])
        return arguments

    def _broadcast_tangents(self, value: Any) -> Any:
        if isinstance(value, (tuple, list)) and any(isinstance(v, Tensor) for v in value):
            return tuple([self._broadcast_tangents(v) for v in value])
        if isinstance(value, Tensor) and value._level is not self and involves(self, value):
            return broadcast(self, value)
        return value

    # ----- What rules ask -------------------------------------------------------------------------------------------

    def has(self, value: Any) -> bool:
        """Whether an argument is batched here."""
        return type(value) is Batched and value._level is self

    def value(self, value: Any) -> Any:
        """The physical tensor of an argument that is batched here; others unchanged."""
        return value._value if self.has(value) else value

    def full(self, value: Any) -> Any:
        """The physical tensor of an argument, with the batch as dimension 0 even if it is not batched here."""
        return broadcast(self, value)._value if isinstance(value, Tensor) else value

    # ----- Custom functions -----------------------------------------------------------------------------------------

    def run_function(self, cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run `MyFunction.apply` inside vmap."""
        return _functions.run_batched(self, cls, args, kwargs)


def open_levels() -> list[BatchLevel]:
    """The open vmaps of this thread, outermost first."""
    return [level for level in interpreters.get() if level.batching]
