"""Data loading: datasets, samplers, and `DataLoader`, which makes batches."""

from __future__ import annotations

from penlight.utils.data.dataset import (  # isort: skip
    ChainDataset, ConcatDataset, Dataset, IterableDataset, StackDataset, Subset, TensorDataset, random_split,
)  # fmt: skip
from penlight.utils.data.sampler import (  # isort: skip
    BatchSampler, DistributedSampler, RandomSampler, Sampler, SequentialSampler, SubsetRandomSampler, WeightedRandomSampler,
)  # fmt: skip

from penlight.utils.data.dataloader import (  # isort: skip (needs the two above)
    DataLoader, _DatasetKind, default_collate, default_convert, get_worker_info,
)  # fmt: skip
from penlight._common.arguments import explain as _explain
from penlight._common.module_table import declare_modules, lazy_names
from penlight._refused import missing

__all__ = [
    "BatchSampler", "ChainDataset", "ConcatDataset", "DataLoader", "Dataset", "DistributedSampler", "IterableDataset",
    "RandomSampler", "Sampler", "SequentialSampler", "StackDataset", "Subset", "SubsetRandomSampler", "TensorDataset",
    "WeightedRandomSampler", "_DatasetKind", "default_collate", "default_convert", "get_worker_info", "random_split",
]  # fmt: skip

declare_modules(__name__, sampler={"distributed": "DistributedSampler"})
_explain(globals())

_PIPES = """DFIterDataPipe DataChunk IterDataPipe MapDataPipe argument_validation functional_datapipe non_deterministic
    guaranteed_datapipes_determinism runtime_validation runtime_validation_disabled"""
_HOMES = dict.fromkeys(_PIPES.split(), "datapipes.datapipe")
__getattr__, __dir__ = lazy_names(__name__, _HOMES, ("datapipes",), missing)
