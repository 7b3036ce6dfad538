"""Normalises arguments that PyTorch accepts in several forms: dims, sizes, repeated keywords."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._common.dims import as_int as as_int, sizes as sizes, wrap_dim as wrap_dim
from ...kernels.lazy import lazy_import
from ...kernels.numpy_calls import broadcast_shapes

_batched = lazy_import(globals(), "_batched", "...func.batched")


def wrap_dims(dims: Any, ndim: int) -> tuple[int, ...]:
    """One or several dimensions as a tuple; None or empty means all."""
    if dims is None:
        return tuple(range(ndim))
    if isinstance(dims, (tuple, list)):
        if not dims:
            return tuple(range(ndim))
        wrapped = tuple([wrap_dim(d, ndim) for d in dims])
        if len(wrapped) > 1 and len(set(wrapped)) != len(wrapped):
            twice = next(d for d in wrapped if wrapped.count(d) > 1)
            raise RuntimeError(f"dim {twice} appears multiple times in the list of dims")
        return wrapped if ndim else ()
    return (wrap_dim(dims, ndim),) if ndim else (wrap_dim(dims, ndim),)[:0]


def infer_size(shape: Sequence[int], numel: int) -> tuple[int, ...]:
    """A shape with its -1 replaced, checked against the number of elements."""
    shape = tuple(shape)
    if math.prod(shape) == numel and (not shape or min(shape) >= 0):
        return shape
    known = 1
    unknown = None
    for position, n in enumerate(shape):
        if n == -1:
            if unknown is not None:
                raise RuntimeError("only one dimension can be inferred")
            unknown = position
        elif n < 0:
            raise RuntimeError(f"invalid shape dimension {n} at index {position} of shape {list(shape)}")
        else:
            known *= n
    if unknown is not None:
        if known == 0 and numel == 0:
            raise RuntimeError(
                f"cannot reshape tensor of 0 elements into shape {list(shape)} because the unspecified dimension size -1 "
                "can be any value and is ambiguous"
            )
        if known and numel % known == 0:
            return (*shape[:unknown], numel // known, *shape[unknown + 1 :])
    elif known == numel:
        return shape
    raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {numel}")


def broadcast_shape(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The broadcast shape; raises PyTorch's error for the first pair that does not broadcast."""
    result = shapes[0]
    for shape in shapes[1:]:
        if shape != result:
            try:
                result = broadcast_shapes(result, shape)
            except ValueError:
                raise mismatch(result, shape) from None
    return result


def mismatch(a: tuple[int, ...], b: tuple[int, ...]) -> RuntimeError:
    """PyTorch's error for two shapes that don't broadcast; it names the last dimension in which they differ."""
    width = max(len(a), len(b))
    left, right = (1,) * (width - len(a)) + a, (1,) * (width - len(b)) + b
    for position in reversed(range(width)):
        if left[position] != right[position] and 1 not in (left[position], right[position]):
            return RuntimeError(
                f"The size of tensor a ({left[position]}) must match the size of tensor b ({right[position]}) at non-singleton "
                f"dimension {position}"
            )
    raise AssertionError("these shapes do broadcast")


def values_of(tensor: Any) -> Any:
    """The array to check a tensor's values in: inside vmap, the array of all samples."""
    if tensor._level is None:
        return tensor._array
    return _batched.physical(tensor)._array


def first_outside(index: np.ndarray[Any, Any], low: int, high: int) -> int:
    """The first index outside `[lower, upper)`, which is the one that PyTorch's error names."""
    return int(index[(index < low) | (index >= high)].flat[0])


ABSENT: Any = None  # default of required arguments that have a PyTorch name and a NumPy name: Note [NumPy's names] in public_functions.py


def with_pytorch_names(kwargs: dict[str, Any]) -> dict[str, Any]:
    """Keyword arguments with `axis` renamed to `dim`, for a function that forwards them. See Note [NumPy's names]."""
    return {"dim" if key == "axis" else key: value for key, value in kwargs.items()}


def check_keepdim(keepdim: Any, name: str) -> None:
    """Refuse a `keepdim` that is not a bool; without this check a number would pass silently."""
    if type(keepdim) is not bool:
        raise TypeError(f"{name}(): argument 'keepdim' must be bool, not {type(keepdim).__name__}")


def legacy_sum(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments of `addmm` and similar ops in the deprecated order, with the factors interleaved: `addmm(beta, input, alpha, mat1,
    mat2)` as a function, `input.addmm(beta, alpha, mat1, mat2)` as a method. Returns (input, mat1, mat2, beta, alpha)."""
    tensors = [v for v in values if hasattr(v, "_array")]
    factors = [v for v in values if not hasattr(v, "_array")]
    if (
        len(tensors) != 3
        or not 1 <= len(factors) <= 2
        or not all(isinstance(f, (int, float, complex)) for f in factors)
    ):
        raise TypeError(
            "received an invalid combination of arguments: three Tensors and at most two Numbers were expected"
        )
    return (*tensors, factors[0], factors[1] if len(factors) == 2 else 1)
