"""Ufuncs, traced programs and plain functions of ufuncs on operands of any kind, as native kernels.

See Note [Bodies as machine code]. Operands that are numbers, in whatever form, are passed as numbers; a row that all rows share (a bias)
or a number for each row (a mean) is read as that, without being spread out first.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from ..fused import Program
from . import available, traced

_LEAST_COLUMNS = 32  # shorter rows cost more in loops than in arithmetic
_FLOAT = np.dtype(np.float32)


def run(steps: Any, values: tuple[Any, ...]) -> np.ndarray | None:
    """The result of a program, a ufunc or a function for these values; None if there is no machine code for that.

    One operand must be an array of the result's shape, contiguous, so that the result's layout is NumPy's. A function may look at
    numbers, other than arrays of no dimension, so they are part of its identity.
    """
    if not available():
        return None
    arrays: list[np.ndarray] = []
    numbers: list[float] = []
    pattern: list[Any] = []
    as_they_are = type(steps) is not Program and type(steps) is not np.ufunc
    for value in values:
        if type(value) is np.ndarray:
            if value.dtype != _FLOAT:
                return None
            if value.ndim:
                arrays.append(value)
                pattern.append("array")
            else:
                numbers.append(float(value))
                pattern.append("number")
        elif not as_they_are and type(value) in (int, float):
            numbers.append(float(value))
            pattern.append("number")
        else:
            pattern.append((value,))
    if not arrays:
        return None
    body = _body_of(steps, tuple(pattern), len(arrays))
    return _on_arrays(body, arrays, tuple(numbers))


def _on_arrays(body: Callable[..., None], arrays: list[np.ndarray], numbers: tuple[float, ...]) -> np.ndarray | None:
    shape = arrays[0].shape
    if all(a.shape == shape for a in arrays):
        if not any(a.flags.c_contiguous for a in arrays):
            return None
        out = np.empty(shape, _FLOAT)
        return out if traced.run(body, *arrays, out, numbers=numbers) else None
    shape = np.broadcast_shapes(*[a.shape for a in arrays])
    if not any(a.shape == shape for a in arrays) or not all(a.flags.c_contiguous for a in arrays):
        return None
    for cut in range(1, len(shape)):
        rows, columns = prod(shape[:cut]), prod(shape[cut:])
        kinds = [_kind(a, shape, cut) for a in arrays]
        if columns >= _LEAST_COLUMNS and None not in kinds:
            out = np.empty(shape, _FLOAT)
            done = traced.run_rows(body, (rows, columns), (*kinds, "full"), [*arrays, out], numbers)  # type: ignore[arg-type]
            return out if done else None
    return None


def _kind(array: np.ndarray, shape: tuple[int, ...], cut: int) -> str | None:
    """What an operand is if the dimensions before `cut` are rows and the others columns."""
    if array.shape == shape:
        return "full"
    padded = (1,) * (len(shape) - array.ndim) + array.shape
    if padded[cut:] == shape[cut:] and array.size == prod(shape[cut:]):
        return "row"
    return "column" if padded[:cut] == shape[:cut] and array.size == prod(shape[:cut]) else None


def _body_of(steps: Any, pattern: tuple[Any, ...], arrays: int) -> Callable[..., None]:
    """What is traced: called with the arrays, the result, and the numbers."""

    def body(*given: Any) -> None:
        places = {"array": iter(given[:arrays]), "number": iter(given[arrays + 1 :])}
        leaves = [_world(kind[0]) if type(kind) is tuple else next(places[kind]) for kind in pattern]
        out = given[arrays]
        if type(steps) is Program:
            steps.run(leaves, [traced.Stand() for _ in range(steps.registers)], out)
        elif type(steps) is np.ufunc:
            steps(*leaves, out=out)
        else:
            result = steps(*leaves)
            if any(result is leaf for leaf in leaves):
                raise traced.Untraceable  # it hands an operand on, which needs no copy
            out[...] = result

    return body


class _World:
    """Stands for `xp`, with a `where` for stand-ins."""

    def __init__(self, world: Any) -> None:
        self._world = world

    def __getattr__(self, name: str) -> Any:
        return traced.where if name == "where" else getattr(self._world, name)


def _world(value: Any) -> Any:
    """The world that a rule runs in made fit for stand-ins; anything else as it is."""
    return _World(value) if type(getattr(value, "exp", None)) is np.ufunc else value
