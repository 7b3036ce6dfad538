"""Batching rules: they turn an op on samples into an op on the full batch.

A rule is called as `rule(level, op, arguments)`. Arguments that are batched at the level are `Batched`; it returns physical
results, with the batch as dimension 0. Rules are found by the op's name, or by its kind: elementwise ops share one rule. A test ensures
that every op of Penlight has a rule; an op declared elsewhere without one runs in a loop over the samples (`loop`), which is correct but
slow.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import dtypes
from .._common.user_warnings import warn_once
from ..ops.machinery.arguments import broadcast_shape
from ..ops.machinery.declare import OPS
from ..ops.machinery.op import NUMBER, TENSOR, Op
from ..ops.shape.joining import stack
from ..ops.shape.slicing import _select
from ..ops.shape.views import _view
from ..tensor import Tensor
from .batched import Batched

if TYPE_CHECKING:
    from .level import BatchLevel

Rule = Callable[["BatchLevel", Op, tuple[Any, ...]], Any]

RULES: dict[str, Rule] = {}


def rule(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function `(level, *arguments)` as the batching rule of these ops."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(level: BatchLevel, op: Op, arguments: tuple[Any, ...]) -> Any:
            return function(level, *arguments)

        for name in names:
            RULES[name] = call
        return function

    return decorate


def run(name: str, *args: Any) -> Any:
    """Run an op on physical tensors."""
    return OPS[name].function(*args)


def rule_for(op: Op) -> Rule:
    """The batching rule of an op. Modules with rules register them on import."""
    if op.batch is None:
        from . import batching_dims, batching_index, batching_linalg, batching_losses, batching_nn, batching_windows  # noqa: F401

        found = RULES.get(op.name)
        if found is None:
            found = pointwise if op.kind == "pointwise" else loop
        op.batch = found
    return op.batch


# ----- Elementwise --------------------------------------------------------------------------------------------------


def pointwise(level: BatchLevel, op: Op, arguments: tuple[Any, ...]) -> Any:
    """An elementwise op on the physical tensors, aligned so that samples broadcast against samples."""
    return op.function(*(_as_they_are(level, op, arguments) or aligned(level, op, arguments)))


def _as_they_are(level: BatchLevel, op: Op, arguments: tuple[Any, ...]) -> list[Any] | None:
    """The physical arguments of an elementwise op in the usual case, without alignment or promotion; else None."""
    ndim: Any = None
    dtype: Any = None
    values, others = [], []
    for value in arguments:
        if type(value) is Batched and value._level is level:
            value = value._value
            array = value._array
            if ndim is None:
                ndim, dtype = array.ndim, array.dtype
            elif array.ndim != ndim or array.dtype is not dtype:
                return None
        elif isinstance(value, Tensor):
            others.append(value._array)
        values.append(value)
    if others:  # our own kernels may require inputs of one shape
        if type(op.kernel) is not np.ufunc or any(a.ndim >= ndim or a.dtype is not dtype for a in others):
            return None
    return values


def elementwise(level: BatchLevel, op: Op, arguments: tuple[Any, ...]) -> Any:
    """An op on one tensor that acts on elements, or on the last dimensions, and so needs no change for a batch."""
    return op.function(*(level.value(a) for a in arguments))


def together(level: BatchLevel, op: Op, arguments: tuple[Any, ...]) -> Any:
    """An op on tensors of which all get the batch: their other dimensions fit already."""
    return op.function(*map(level.full, arguments))


def aligned(level: BatchLevel, op: Op, arguments: tuple[Any, ...]) -> list[Any]:
    """Physical arguments of an elementwise op: missing sample dimensions are inserted after the batch."""
    names = [p for p in op.parameters if op.kinds[p] in (TENSOR, NUMBER)]
    env = dict(zip(op.parameters, arguments))
    tensors = [env[p] for p in names if isinstance(env[p], Tensor)]
    ndim = max(t.dim() for t in tensors)
    _keep_categories(op, env)
    if type(op.kernel) is not np.ufunc and len({tuple(t.shape) for t in tensors}) == 1:
        # Our own kernels may require inputs of one shape.
        return [level.full(a) for a in env.values()]
    return [insert_dims(level, a, ndim) if level.has(a) else a for a in env.values()]


def insert_dims(level: BatchLevel, tensor: Any, ndim: int) -> Any:
    """The physical tensor of a batched one, with dimensions of size one inserted after the batch, so that samples have `ndim`."""
    value = tensor._value
    extra = ndim - tensor.dim()
    return value if extra <= 0 else _view(value, (level.size, *(1,) * extra, *tensor.shape))


def _keep_categories(op: Op, env: dict[str, Any]) -> None:
    """Convert 0-d samples as promotion would: their physical tensors would count as having dimensions."""
    operands = [i for i in op.operands if isinstance(env[i], Tensor)]
    if len({env[i].dtype for i in operands}) < 2:
        return
    arrays = [np.empty((0,) * min(env[i].dim(), 1), env[i].dtype.np) for i in operands]
    numbers = [env[i] for i in op.operands if not isinstance(env[i], Tensor)]
    common = dtypes.result_dtype(arrays, numbers)
    for i in operands:
        if env[i].dim() == 0 and env[i].dtype is not common:
            env[i] = env[i].to(common)


# ----- In place -----------------------------------------------------------------------------------------------------


def in_place_arguments(level: BatchLevel, op: Op, arguments: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """Physical arguments for running the in-place form of an op, if possible."""
    tensor = arguments[0]
    if op.name == "_copy":
        source = level.value(arguments[1])
        if level.has(arguments[1]):
            source = insert_dims(level, arguments[1], tensor.dim())
        return tensor._value, source
    if op.name in ("_zero", "_fill"):
        return tuple(level.value(a) for a in arguments)
    if op.kind != "pointwise":
        return None
    others = [tuple(a.shape) for a in arguments if isinstance(a, Tensor)]
    shape = broadcast_shape(*others)
    if shape != tuple(tensor.shape):
        raise RuntimeError(f"output with shape {list(tensor.shape)} doesn't match the broadcast shape {list(shape)}")
    return tuple(aligned(level, op, arguments))


# ----- Without a rule -----------------------------------------------------------------------------------------------

DYNAMIC = (
    "vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap over aten::{}. Please file an "
    "issue at https://github.com/pytorch/pytorch/issues if you need this feature."
)


def loop(level: BatchLevel, op: Op, arguments: tuple[Any, ...]) -> Any:
    """Run an op sample by sample, and stack the results."""
    warn_once(
        "There is a performance drop because we have not yet implemented the batching rule for "
        f"aten::{op.public}. It runs in a loop over the samples."
    )
    return sample_by_sample(level, op, arguments)


def sample_by_sample(level: BatchLevel, op: Op, arguments: tuple[Any, ...]) -> Any:
    """`loop` without the warning."""
    if level.size == 0:
        raise NotImplementedError(
            f"vmap: {op.public} has no batching rule, and a loop over no samples cannot tell the shape of its result"
        )
    rows = []
    for i in range(level.size):
        out = op.function(*(sample(level, a, i) for a in arguments))
        rows.append(out if isinstance(out, tuple) else (out,))
    results = tuple([_stacked(op, column) for column in zip(*rows)])
    return results if isinstance(out, tuple) else results[0]


def sample(level: BatchLevel, value: Any, i: int) -> Any:
    """An argument of the op for one sample."""
    if isinstance(value, (tuple, list)):
        return tuple(sample(level, v, i) for v in value)
    return _select(value._value, 0, i) if level.has(value) else value


def _stacked(op: Op, column: tuple[Any, ...]) -> Any:
    if len({tuple(t.shape) for t in column}) > 1:
        raise RuntimeError(DYNAMIC.format(op.public))
    return stack(list(column))


def loops(op: Op) -> bool:
    """Whether an op has no batching rule and runs in a loop."""
    return rule_for(op) is loop
