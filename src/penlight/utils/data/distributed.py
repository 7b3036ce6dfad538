"""A sampler for one of several processes that share a dataset."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle, islice
from typing import Any, TypeVar

import penlight
from penlight._common.docstrings import example
from penlight.utils.data.dataset import Dataset
from penlight.utils.data.sampler import Sampler

from ...kernels.lazy import lazy_import

_distributed = lazy_import(globals(), "_distributed", "penlight.distributed")


__all__ = ["DistributedSampler"]

_T_co = TypeVar("_T_co", covariant=True)


@example("list(torch.utils.data.DistributedSampler(range(5), num_replicas=2, rank=1, shuffle=False))", "[1, 3, 0]")
class DistributedSampler(Sampler[_T_co]):
    """Every `num_replicas`-th index from `rank` on, of the order shuffled by `seed` and epoch.

    Short of a whole number of rounds, the first indices are repeated; with `drop_last` the last are left out.
    Call `set_epoch` before every epoch, for another order each time. `num_replicas` and `rank` are those of the default
    process group, if they are not given.
    """

    def __init__(self, dataset: Dataset[Any], num_replicas: int | None = None, rank: int | None = None,
                 shuffle: bool = True, seed: int = 0, drop_last: bool = False) -> None:  # fmt: skip
        if num_replicas is None or rank is None:
            num_replicas = _distributed.get_world_size() if num_replicas is None else num_replicas
            rank = _distributed.get_rank() if rank is None else rank
        if rank >= num_replicas or rank < 0:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset: Any = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch = 0
        self.drop_last = drop_last
        source: Any = dataset
        size = len(source)
        self.num_samples = size // num_replicas if drop_last else -(-size // num_replicas)
        self.total_size = self.num_samples * num_replicas
        self.shuffle = shuffle
        self.seed = seed

    def __iter__(self) -> Iterator[_T_co]:
        size = len(self.dataset)
        order: Any = range(size)
        if self.shuffle:
            generator = penlight.Generator()
            generator.manual_seed(self.seed + self.epoch)
            order = penlight.randperm(size, generator=generator).tolist()
        # Fewer than needed: some come twice. More: the dataset has grown, or `drop_last` leaves them out.
        if (size < self.total_size) if self.drop_last else (size > self.total_size):
            raise AssertionError(f"Number of indices ({size}) does not match total_size ({self.total_size})")
        return islice(cycle(order), self.rank, self.total_size, self.num_replicas)

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Choose the shuffle of this epoch; the same number on every rank."""
        self.epoch = epoch
