"""Normalises dimensions and sizes, for tensors, ops and creation functions."""

from __future__ import annotations

import operator
from typing import Any


def wrap_dim(dim: Any, ndim: int) -> int:
    """A dimension as a non-negative index; a 0-d tensor counts as having one dimension."""
    if type(dim) is not int:
        dim = as_int(dim)
    span = ndim or 1
    if -span <= dim < span:
        return dim + span if dim < 0 else dim
    raise IndexError(f"Dimension out of range (expected to be in range of [{-span}, {span - 1}], but got {dim})")


def wrap_existing_dim(dim: Any, ndim: int) -> int:
    """`wrap_dim` for functions in which a 0-d tensor has no dimensions."""
    if not ndim:
        raise IndexError(f"Dimension specified as {as_int(dim)} but tensor has no dimensions")
    return wrap_dim(dim, ndim)


def as_int(value: Any) -> int:
    """An int, also from a NumPy integer or a one-element integer tensor; refuses floats and bools."""
    if isinstance(value, (float, bool)):
        raise TypeError(f"'{type(value).__name__}' object cannot be interpreted as an integer")
    return operator.index(value)


def sizes(args: tuple[Any, ...], name: str = "size") -> tuple[int, ...]:
    """A shape from `f(2, 3)`, `f((2, 3))` or `f([2, 3])`."""
    if len(args) == 1 and isinstance(args[0], (tuple, list)):
        args = tuple(args[0])
    for a in args:
        if type(a) is not int:
            break
    else:
        return args
    try:
        return (as_int(args[0]), *map(operator.index, args[1:]))  # PyTorch refuses a bool only as the first
    except TypeError:
        bad = next((a for a in args if not hasattr(a, "__index__")), args[0])
        raise TypeError(
            f"{name}(): argument 'size' (position 1) must be tuple of ints, not {type(bad).__name__}"
        ) from None
