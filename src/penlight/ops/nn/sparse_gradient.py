"""Sparse gradients of tables, as `nn.Embedding(sparse=True)` asks for them.

# Note [Sparse gradients]
Gradients travel through the graph as dense arrays. A table whose lookups ask for sparse gradients gets two hooks: after the
gradient has arrived it is replaced by the sparse tensor of the rows that were looked up, and before the next one is added it is
dense again. Rows elsewhere that are not zero (the table was used in another way too) leave it dense, as in PyTorch.
"""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from ...kernels.lazy import lazy_import
from ...tensor import Tensor, wrap

_sparse_coo = lazy_import(globals(), "_sparse_coo", "...sparse.coo")


# The rows looked up in the pass that runs, by the id of the table. (Tensors are no keys of a WeakKeyDictionary: == is not a bool.)
_touched: dict[int, list[Any]] = {}


def follow(weight: Tensor, result: Tensor, indices: Tensor, padding_idx: int) -> None:
    """Let the gradient that a lookup sends to its table arrive as a sparse one."""
    if not result.requires_grad or not weight.is_leaf or not weight.requires_grad:
        return
    if id(weight) not in _touched:
        _touched[id(weight)] = []
        weakref.finalize(weight, _touched.pop, id(weight), None)
        _watch(weight)
    rows, looked_up = _touched[id(weight)], indices._array.reshape(-1)
    if padding_idx >= 0:
        looked_up = looked_up[looked_up != padding_idx]
    result.register_hook(lambda grad: rows.append(looked_up))


def _watch(weight: Tensor) -> None:
    table = weakref.ref(weight)

    def before(grad: Tensor) -> None:
        owner = table()
        if owner is not None and isinstance(owner._grad, _sparse_coo.SparseTensor):
            _touched[id(owner)].append(owner._grad._places._array[0])
            owner._grad = owner._grad.to_dense()

    def after(owner: Tensor) -> None:
        rows, grad = _touched[id(owner)], owner._grad
        indices = np.unique(np.concatenate(rows)) if rows else None
        rows.clear()
        if indices is None or grad is None:
            return
        elsewhere = np.ones(len(grad._array), bool)
        elsewhere[indices] = False
        if not grad._array[elsewhere].any():
            owner._grad = _sparse_coo.SparseTensor(wrap(indices[None]), wrap(grad._array[indices]), grad.shape)

    weight.register_hook(before)
    weight.register_post_accumulate_grad_hook(after)
