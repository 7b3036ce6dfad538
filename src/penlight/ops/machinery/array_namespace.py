"""The array namespace, which is `xp` in a plain backward pass: kernels by op name, registered as ops are declared."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...autograd.shapes import sum_to as sum_to
from ...kernels.copies import convert


class Raw:
    """Kernels by op name, on ndarrays; `graph` has the same names on tensors. See Note [Two namespaces] in autograd/engine.py."""


class Graph:
    """The same names on tensors, through differentiable ops."""


raw: Any = Raw()
graph: Any = Graph()


def both(name: str, on_arrays: Any, on_tensors: Any) -> None:
    """Add a helper `xp.name` that is not an op: one function for each namespace."""
    setattr(raw, name, on_arrays)
    setattr(graph, name, on_tensors)


both("by_rows", np.ascontiguousarray, lambda x: x.contiguous())  # for gradients that are contiguous in PyTorch too


def cast(grad: Any, np_dtype: Any) -> Any:
    """A gradient in the dtype of its input: that of a real input is real."""
    np_dtype = np.dtype(np_dtype)
    if np_dtype.kind != "c":
        grad = real_part(grad)
    return grad if grad.dtype == np_dtype else convert.cast(np.asarray(grad), np_dtype)


def shared(grad: Any, count: int) -> Any:
    """grad / count. The count may exceed the range of a 16-bit float: see Note [Numbers beside 16-bit floats] in scalars.py."""
    if isinstance(grad, (np.ndarray, np.generic)) and convert.is_half(grad.dtype):
        return cast(np.true_divide(grad, np.float32(count)), grad.dtype)
    return grad / count


def conj(x: Any) -> Any:
    return np.conj(x) if x.dtype.kind == "c" else x


def real_part(x: Any) -> Any:
    return x.real if x.dtype.kind == "c" else x
