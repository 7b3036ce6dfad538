"""torch.distributed.checkpoint: state dicts that all ranks write jointly, and that any number of ranks can read.

# Note [Checkpoints in parts]
Ranks that train together have equal states, so each writes a part of the tensors into its own file: the tensors are dealt out in
the order of their sizes, and rank 0 writes all other values. A metadata file, written last, maps each key to its file: a
folder without it is incomplete. Loading fills the tensors of a given state dict in place, from the files that contain
them, so the numbers of writing and reading ranks need not agree. `torch.save` writes the files; PyTorch's checkpoints have
a different format.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import penlight
from penlight.serialization import load as load_file, save as save_file
from penlight.tensor import Tensor

from .._common.arguments import explain as _explain
from ._collectives import barrier
from ._group import Group, groups, is_initialized
from ._objects import all_gather_object

METADATA = ".metadata"


def _flat(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Flatten nested dicts and lists to a dict keyed by dotted paths."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    if items is None or not value:
        yield ".".join(path), value
        return
    for key, item in items:
        yield from _flat(item, (*path, str(key)))


def _states(state_dict: dict[str, Any]) -> dict[str, Any]:
    """Replace each value that has a `state_dict`, such as a module or an optimiser, by its state dict."""
    return {
        key: value.state_dict() if hasattr(value, "state_dict") and not isinstance(value, Tensor) else value
        for key, value in state_dict.items()
    }


def _ranks(process_group: Group, no_dist: bool) -> tuple[Group, int, int]:
    if no_dist or not is_initialized():
        return None, 0, 1
    found = groups.find(process_group)
    return found, found.rank(), found.size()


class FileSystemWriter:
    """The folder that `save` writes to.

    `path` is the folder; other options are accepted.

    >>> import tempfile, penlight.distributed.checkpoint as checkpoint
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     checkpoint.save({"x": torch.ones(2)}, storage_writer=checkpoint.FileSystemWriter(folder))
    ...     found = {"x": torch.zeros(2)}
    ...     checkpoint.load(found, storage_reader=checkpoint.FileSystemReader(folder))
    >>> found
    {'x': tensor([1., 1.])}
    """

    def __init__(self, path: Any, **options: Any) -> None:
        self.path = os.fspath(path)


class FileSystemReader:
    """The folder that `load` reads from.

    `path` is the folder; other options are accepted.

    >>> import tempfile, penlight.distributed.checkpoint as checkpoint
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     checkpoint.save({"x": torch.ones(2)}, storage_writer=checkpoint.FileSystemWriter(folder))
    ...     found = {"x": torch.zeros(2)}
    ...     checkpoint.load(found, storage_reader=checkpoint.FileSystemReader(folder))
    >>> found
    {'x': tensor([1., 1.])}
    """

    def __init__(self, path: Any, **options: Any) -> None:
        self.path = os.fspath(path)


def _folder(checkpoint_id: Any, storage: FileSystemWriter | FileSystemReader | None) -> str:
    if checkpoint_id is None and storage is None:
        raise RuntimeError("`checkpoint_id` must be specified if storage_reader or storage_writer is None.")
    return os.fspath(checkpoint_id) if checkpoint_id is not None else storage.path  # type: ignore[union-attr]


def save(
    state_dict: dict[str, Any], *, checkpoint_id: Any = None, storage_writer: FileSystemWriter | None = None,
    planner: Any = None, process_group: Group = None, no_dist: bool = False, use_collectives: bool = True,
) -> None:  # fmt: skip
    """Save a state dict to a folder. Every rank calls it and writes a part. See Note [Checkpoints in parts].

    Args:
        state_dict: nested dicts and lists of tensors and other values; modules and optimisers are replaced by their state dicts.
        checkpoint_id: the folder; alternatively pass a `storage_writer`.
        process_group: the ranks; all, if it is not given.
        no_dist: write everything from this process.
        planner, use_collectives: accepted and ignored.

    >>> import tempfile, penlight as torch, penlight.distributed.checkpoint as checkpoint
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     checkpoint.save({"x": torch.ones(2)}, checkpoint_id=folder)
    ...     found = {"x": torch.zeros(2)}
    ...     checkpoint.load(found, checkpoint_id=folder)
    >>> found
    {'x': tensor([1., 1.])}
    """
    folder = _folder(checkpoint_id, storage_writer)
    group, rank, size = _ranks(process_group, no_dist)
    os.makedirs(folder, exist_ok=True)
    items = dict(_flat(_states(state_dict)))
    by_size = sorted(
        (key for key in items if isinstance(items[key], Tensor)), key=lambda key: (-items[key].numel(), key)
    )
    owner = {key: position % size for position, key in enumerate(by_size)}
    mine = {
        key: value.detach() if isinstance(value, Tensor) else value
        for key, value in items.items()
        if owner.get(key, 0) == rank
    }
    file = f"__{rank}_0.distcp"
    metadata = os.path.join(folder, METADATA)
    if rank == 0 and os.path.exists(metadata):
        os.unlink(metadata)
    save_file(mine, os.path.join(folder, file))
    parts: list[Any] = [(file, list(mine))]
    if group is not None:
        parts = [None] * size
        all_gather_object(parts, (file, list(mine)), group)
    if rank == 0:
        save_file({key: name for name, keys in parts for key in keys}, metadata)
    if group is not None:
        barrier(group)


def load(
    state_dict: dict[str, Any], *, checkpoint_id: Any = None, storage_reader: FileSystemReader | None = None,
    planner: Any = None, process_group: Group = None, no_dist: bool = False,
) -> None:  # fmt: skip
    """Load a state dict in place from a folder that `save` wrote with any number of ranks.

    Args:
        state_dict: as for `save`. Its tensors are overwritten in place, other values replaced; modules and optimisers
            load their states.
        checkpoint_id: the folder; alternatively pass a `storage_reader`.
        process_group, no_dist, planner: accepted; each rank reads what it needs.

    >>> import tempfile, penlight.distributed.checkpoint as checkpoint
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     checkpoint.save({"x": torch.ones(2)}, storage_writer=checkpoint.FileSystemWriter(folder))
    ...     found = {"x": torch.zeros(2)}
    ...     checkpoint.load(found, storage_reader=checkpoint.FileSystemReader(folder))
    >>> found
    {'x': tensor([1., 1.])}
    """
    folder = _folder(checkpoint_id, storage_reader)
    where: dict[str, str] = load_file(os.path.join(folder, METADATA))
    states = _states(state_dict)
    wanted = dict(_flat(states))
    missing = [key for key in wanted if key not in where]
    if missing:
        raise RuntimeError(f"Missing key in checkpoint state_dict: {missing[0]}.")
    found: dict[str, Any] = {}
    for file in sorted({where[key] for key in wanted}):
        part = load_file(os.path.join(folder, file))
        found.update({key: part[key] for key in wanted if where[key] == file})
    for key, value in wanted.items():
        if isinstance(value, Tensor) and value.shape != found[key].shape:
            raise ValueError(f"Size mismatch between saved {found[key].shape} and current: {value.shape} for {key}")
    filled = _filled(states, found)
    for key, value in state_dict.items():
        if hasattr(value, "state_dict") and not isinstance(value, Tensor):
            value.load_state_dict(filled[key])
        else:
            state_dict[key] = filled[key]


def _filled(value: Any, found: dict[str, Any], path: tuple[str, ...] = ()) -> Any:
    """The same structure with the loaded values; tensors are overwritten in place."""
    if isinstance(value, dict) and value:
        return {key: _filled(item, found, (*path, str(key))) for key, item in value.items()}
    if isinstance(value, list) and value:
        return [_filled(item, found, (*path, str(position))) for position, item in enumerate(value)]
    new = found[".".join(path)]
    if isinstance(value, Tensor):
        with penlight.no_grad():
            value.copy_(new)
        return value
    return new


_explain(globals())
