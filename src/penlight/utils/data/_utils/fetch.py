"""Fetching the samples of one batch from a dataset."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from types import FunctionType, MethodType
from typing import Any

import numpy as np

import penlight
from penlight._serialization.tensors import array_of, tensor_from_array
from penlight.utils.data._utils import collate as _collate
from penlight.utils.data._utils.blocks import empty
from penlight.utils.data.dataset import Subset, TensorDataset


class _BaseDatasetFetcher:
    """Makes batches of a dataset: `fetch` takes a list of indices, or one index if there is no collation."""

    def __init__(self, dataset: Any, auto_collation: bool, collate_fn: Callable[[Any], Any], drop_last: bool) -> None:
        self.dataset = dataset
        self.auto_collation, self.collate_fn, self.drop_last = auto_collation, collate_fn, drop_last


class _IterableDatasetFetcher(_BaseDatasetFetcher):
    """Takes the next samples of a stream; the index only gives their number."""

    def __init__(self, dataset: Any, auto_collation: bool, collate_fn: Callable[[Any], Any], drop_last: bool) -> None:
        super().__init__(dataset, auto_collation, collate_fn, drop_last)
        self.dataset_iter, self.ended = iter(dataset), False

    def fetch(self, possibly_batched_index: Any) -> Any:
        if self.ended:
            raise StopIteration
        if not self.auto_collation:
            return self.collate_fn(next(self.dataset_iter))
        wanted = len(possibly_batched_index)
        samples = list(islice(self.dataset_iter, wanted))
        self.ended = len(samples) < wanted
        if not samples or (self.ended and self.drop_last):
            raise StopIteration
        return self.collate_fn(samples)


class _MapDatasetFetcher(_BaseDatasetFetcher):
    """Looks up the samples at the given indices."""

    def fetch(self, possibly_batched_index: Any) -> Any:
        if not self.auto_collation:
            return self.collate_fn(self.dataset[possibly_batched_index])
        if self.collate_fn is _collate.default_collate:
            rows = _rows_at_once(self.dataset, possibly_batched_index)
            if rows is not None:
                return rows
        if getattr(self.dataset, "__getitems__", None):
            return self.collate_fn(self.dataset.__getitems__(possibly_batched_index))
        look_up = getattr(type(self.dataset), "__getitem__", None)
        if type(look_up) is FunctionType:  # called directly, without the type's slot
            return self.collate_fn(list(map(MethodType(look_up, self.dataset), possibly_batched_index)))
        return self.collate_fn([self.dataset[index] for index in possibly_batched_index])


# Note [Rows at once]
# Most programs wrap tensors in a TensorDataset, perhaps split it, and collate by default. Indexing row by row and stacking the rows gives
# the same as indexing by the full list, at a hundred times the cost. The shortcut is taken only if nothing can tell the difference: exactly
# these classes (no subclass with its own items), plain tensors outside of every graph, the default collate function for them, plain
# integers in range. Everything else takes the long path, errors included.
def _rows_at_once(dataset: Any, indices: Any) -> list[Any] | None:
    """The default-collated batch of a TensorDataset by one indexing operation for each tensor; None if not applicable."""
    if type(indices) is not list or not indices:
        return None
    while type(dataset) is Subset:
        if not _plain_integers(indices):
            return None
        try:
            indices = [dataset.indices[index] for index in indices]
        except (IndexError, KeyError, TypeError):
            return None
        dataset = dataset.dataset
    if type(dataset) is not TensorDataset or not _plain_integers(indices):
        return None
    size = len(dataset)
    if min(indices) < -size or max(indices) >= size:
        return None
    if _collate.default_collate_fn_map.get(penlight.Tensor) is not _collate.collate_tensor_fn:
        return None
    if any(type(tensor) is not penlight.Tensor or tensor.requires_grad for tensor in dataset.tensors):
        return None
    rows = np.array(indices)
    return [tensor_from_array(_rows(array_of(tensor), rows, tensor.dtype.np)) for tensor in dataset.tensors]


def _rows(array: np.ndarray, rows: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
    if not array.flags.c_contiguous:
        return array[rows].view(dtype)  # `take` is faster, but copies all of a non-contiguous array
    # The indices are in range, some negative; with mode="raise" `take` would need a copy of the result.
    return array.take(rows, 0, empty((rows.size, *array.shape[1:]), dtype), mode="wrap")


def _plain_integers(indices: list[Any]) -> bool:
    return set(map(type, indices)) <= {int, np.int64}
