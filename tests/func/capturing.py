"""Runs records of ops and notes every op that they dispatch, with its arguments: samples for batching rules."""

from __future__ import annotations

import contextlib
import sys
from itertools import combinations
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "ops"))

import records  # noqa: F401
from recording import RECORDS
from running import build, differentiable, flatten, quiet, resolve

import penlight
from penlight.autograd import modes
from penlight.func.level import BatchLevel
from penlight.func.mapping import enter
from penlight.ops.machinery import dispatch


class Noted:
    """One call of an op: its record, its arguments, and whether it was in place."""

    def __init__(self, op, arguments, inplace):
        self.op, self.arguments, self.inplace = op, tuple(held(a) for a in arguments), inplace


def held(value):
    """An argument as it is now, outside of any graph."""
    if isinstance(value, penlight.Tensor):
        return penlight.Tensor._make_subclass(penlight.Tensor, penlight.from_numpy(np.array(value._array)))
    if isinstance(value, (tuple, list)):
        return tuple(held(v) for v in value)
    return value


def noting(run):
    """Everything that `run()` dispatches."""
    noted = []

    def watch(op, arguments, go, inplace):
        noted.append(Noted(op, arguments, inplace))
        return go()

    token = dispatch.op_watchers.set((watch,))
    modes.open_slow_mode()
    try:
        run()
    finally:
        modes.close_slow_mode()
        dispatch.op_watchers.reset(token)
    return noted


def whole_life(record, place, seed):
    """A function that runs a sample forward, backward, and backward through that."""

    def run():
        args, kwargs, leaves = build(penlight, record.samples[place], np.random.default_rng(seed))
        with quiet():
            outs = differentiable(flatten(resolve(penlight, record.name)(*args, **kwargs)))
            if not outs or not leaves:
                return
            cotangents = [penlight.ones_like(o).requires_grad_() for o in outs]
            grads = penlight.autograd.grad(outs, leaves, cotangents, create_graph=True, allow_unused=True)
            again = [g for g in grads if g is not None and g.requires_grad]
            if again:
                wanted = [*leaves, *cotangents]
                with contextlib.suppress(RuntimeError):  # some ops have no second derivative
                    penlight.autograd.grad(again, wanted, [penlight.ones_like(g) for g in again], allow_unused=True)

    return run


def same_call(calls):
    """Whether noted calls are the same but for the data in their tensors."""
    return len({(c.op.name, c.inplace, described(c.arguments)) for c in calls}) == 1


def described(value):
    if isinstance(value, penlight.Tensor):
        return ("tensor", tuple(value.shape), str(value.dtype))
    if isinstance(value, (tuple, list)):
        return tuple(described(v) for v in value)
    return repr(value)


def places_of_tensors(arguments):
    """Where the tensors are among arguments: paths of one or two steps."""
    found = []
    for i, value in enumerate(arguments):
        if isinstance(value, penlight.Tensor):
            found.append((i,))
        elif isinstance(value, tuple):
            found += [(i, j) for j, v in enumerate(value) if isinstance(v, penlight.Tensor)]
    return found


def at(arguments, path):
    for step in path:
        arguments = arguments[step]
    return arguments


def replaced(arguments, path, value):
    out = list(arguments)
    out[path[0]] = value if len(path) == 1 else replaced(arguments[path[0]], path[1:], value)
    return tuple(out)


def subsets(paths):
    """All choices of tensors to batch; of many tensors all, and each alone."""
    if len(paths) > 3:
        return [tuple(paths), *((p,) for p in paths[:3])]
    return [c for n in range(1, len(paths) + 1) for c in combinations(paths, n)]


def batched_and_looped(calls, chosen):
    """The results of an op on a batch by its rule, and sample by sample."""
    op, first = calls[0].op, calls[0].arguments
    rows = []
    for call in calls:
        arguments = first
        for path in chosen:
            arguments = replaced(arguments, path, at(call.arguments, path))
        if calls[0].inplace:
            arguments = (arguments[0].clone(), *arguments[1:])
            dispatch.run_in_place(op, arguments)
            rows.append((arguments[0],))
        else:
            rows.append(tuple(flatten(op.function(*arguments))))
    with BatchLevel(len(calls)) as level:
        arguments = first
        for path in chosen:
            stacked = penlight.stack([at(call.arguments, path) for call in calls])
            arguments = replaced(arguments, path, enter(level, stacked, 0))
        if calls[0].inplace:
            dispatch.run_in_place(op, arguments)
            results = (arguments[0],)
        else:
            results = tuple(flatten(op.function(*arguments)))
        found = [level.full(r) for r in results]
    return found, [penlight.stack(list(column)) for column in zip(*rows)]


def different(found, expected):
    """What is wrong with a batch of results, or None."""
    if len(found) != len(expected):
        return f"{len(found)} results instead of {len(expected)}"
    for f, e in zip(found, expected):
        if f.shape != e.shape or f.dtype is not e.dtype:
            return f"{tuple(f.shape)} {f.dtype} instead of {tuple(e.shape)} {e.dtype}"
        a, b = f.detach(), e.detach()
        if a.dtype in (penlight.bfloat16, penlight.float16):
            a, b = a.float(), b.float()
        tolerance = (
            1e-10
            if a.dtype in (penlight.float64, penlight.complex128)
            else 2e-3
            if f.dtype in (penlight.bfloat16, penlight.float16)
            else 1e-5
        )
        if not np.allclose(a.numpy(), b.numpy(), tolerance, tolerance, equal_nan=True):
            return f"{a.tolist()} instead of {b.tolist()}"
    return None


__all__ = [
    "RECORDS",
    "batched_and_looped",
    "different",
    "noting",
    "places_of_tensors",
    "same_call",
    "subsets",
    "whole_life",
]
