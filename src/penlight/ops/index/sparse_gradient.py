"""Sparse gradients of tables, as `nn.Embedding(sparse=True)` and `gather(sparse_grad=True)` ask for them.

# Note [Sparse gradients]
Gradients travel through the graph as dense arrays. A table whose lookups ask for sparse gradients gets two hooks: after the
gradient has arrived it is replaced by the sparse tensor of the indices that were looked up, and before the next one is added it is
dense again. Elements elsewhere that are not zero (the table was used in another way too) leave it dense, as in PyTorch.
"""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from ...kernels.lazy import lazy_import
from ...tensor import Tensor, wrap

_sparse_coo = lazy_import(globals(), "_sparse_coo", "...sparse.coo")


# The indices looked up in the pass that runs, by the id of the table. (Tensors are no keys of a WeakKeyDictionary: == is not a bool.)
_touched: dict[int, list[Any]] = {}


def follow(table: Tensor, result: Tensor, *indices: Any) -> None:
    """Let the gradient that a lookup sends to its table arrive as a sparse one; `indices` are those of its first dimensions."""
    if not result.requires_grad or not table.is_leaf or not table.requires_grad:
        return
    if id(table) not in _touched:
        _touched[id(table)] = []
        weakref.finalize(table, _touched.pop, id(table), None)
        _watch(table)
    touched, looked_up = _touched[id(table)], np.stack([index.reshape(-1) for index in indices])
    result.register_hook(lambda grad: touched.append(looked_up))


def _watch(table: Tensor) -> None:
    reference = weakref.ref(table)

    def before(grad: Tensor) -> None:
        owner = reference()
        if owner is not None and isinstance(owner._grad, _sparse_coo.SparseTensor):
            _touched[id(owner)].append(owner._grad._coordinates._array)
            owner._grad = owner._grad.to_dense()

    def after(owner: Tensor) -> None:
        touched, grad = _touched[id(owner)][:], owner._grad
        _touched[id(owner)].clear()
        if grad is None or len({len(indices) for indices in touched}) != 1:
            return
        all_indices = np.concatenate(touched, 1)
        sizes = grad.shape[: len(all_indices)]
        found = np.unravel_index(np.unique(np.ravel_multi_index(tuple(all_indices), sizes)), sizes)
        elsewhere = np.ones(sizes, bool)
        elsewhere[found] = False
        if not grad._array[elsewhere].any():
            owner._grad = _sparse_coo.SparseTensor(wrap(np.stack(found)), wrap(grad._array[found]), grad.shape)

    table.register_hook(before)
    table.register_post_accumulate_grad_hook(after)
