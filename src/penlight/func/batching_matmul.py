"""Batching rules of matrix products: a batch of them is one larger product where that costs no copy, else a batched one.

Results are contiguous, as those of the ops on samples are: a view of them may follow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..ops import OPS
from .batching import insert_dims, rule

if TYPE_CHECKING:
    from .level import BatchLevel


def _run(name: str, *args: Any) -> Any:
    return OPS[name].function(*args)


@rule("_mm")
def mm(level: BatchLevel, input: Any, mat2: Any) -> Any:
    if level.has(input) and not level.has(mat2):
        return _tall(input._value, mat2)
    return _run("_bmm", level.full(input), level.full(mat2))


def _tall(value: Any, mat2: Any) -> Any:
    """Matrices times one matrix: all rows in one product."""
    b, n, k = value.shape
    return _run("_mm", value.reshape(b * n, k), mat2).reshape(b, n, mat2.shape[1])


@rule("_bmm")
def bmm(level: BatchLevel, input: Any, mat2: Any) -> Any:
    size = level.size
    b, n, _ = input.shape
    k, p = mat2.shape[1:]
    if level.has(input) and not level.has(mat2):
        rows = input._value.permute(1, 0, 2, 3).reshape(b, size * n, k)
        return _run("_bmm", rows, mat2).reshape(b, size, n, p).permute(1, 0, 2, 3).contiguous()
    if level.has(mat2) and not level.has(input):
        columns = mat2._value.permute(1, 2, 0, 3).reshape(b, k, size * p)
        return _run("_bmm", input, columns).reshape(b, n, size, p).permute(2, 0, 1, 3).contiguous()
    left, right = input._value.reshape(size * b, n, k), mat2._value.reshape(size * b, k, p)
    return _run("_bmm", left, right).reshape(size, b, n, p)


@rule("_mv")
def mv(level: BatchLevel, input: Any, vec: Any) -> Any:
    if not level.has(input):
        return _run("_mm", vec._value, input.t())
    n, k = input.shape
    if not level.has(vec):
        return _run("_mv", input._value.reshape(level.size * n, k), vec).reshape(level.size, n)
    return _run("_bmm", input._value, vec._value.unsqueeze(2)).squeeze(2)


@rule("_dot")
def dot(level: BatchLevel, input: Any, tensor: Any) -> Any:
    if not level.has(input):
        input, tensor = tensor, input
    if not level.has(tensor):
        return _run("_mv", input._value, tensor)
    return _run("_bmm", input._value.unsqueeze(1), tensor._value.unsqueeze(2)).reshape(level.size)


def _scaled(x: Any, factor: Any) -> Any:
    return x if factor == 1 else x * factor


def _plus(level: BatchLevel, product: Any, input: Any, ndim: int, beta: Any, alpha: Any) -> Any:
    """`beta * input + alpha * product`, the product being batched."""
    product = _scaled(product, alpha)
    if beta == 0:
        return product
    return product + _scaled(insert_dims(level, input, ndim) if level.has(input) else input, beta)


@rule("_addmm")
def addmm(level: BatchLevel, input: Any, mat1: Any, mat2: Any, beta: Any, alpha: Any) -> Any:
    size = level.size
    if level.has(mat1) and level.has(mat2):
        added = insert_dims(level, input, 2) if level.has(input) else input
        return _run("_baddbmm", added, mat1._value, mat2._value, beta, alpha)
    if level.has(mat1) and not level.has(input) and input.dim() < 2:
        n, k = mat1.shape
        return _run("_addmm", input, mat1._value.reshape(size * n, k), mat2, beta, alpha).reshape(
            size, n, mat2.shape[1]
        )
    if not level.has(mat1) and not level.has(mat2):
        return _plus(level, _run("_mm", mat1, mat2), input, 2, beta, alpha).expand(size, mat1.shape[0], mat2.shape[1])
    return _plus(level, mm(level, mat1, mat2), input, 2, beta, alpha)


@rule("_baddbmm")
def baddbmm(level: BatchLevel, input: Any, mat1: Any, mat2: Any, beta: Any, alpha: Any) -> Any:
    if not level.has(mat1) and not level.has(mat2):
        b, n, p = mat1.shape[0], mat1.shape[1], mat2.shape[2]
        return _plus(level, _run("_bmm", mat1, mat2), input, 3, beta, alpha).expand(level.size, b, n, p)
    return _plus(level, bmm(level, mat1, mat2), input, 3, beta, alpha)
