"""Batch normalisation, in one to three dimensions, lazy, and synchronised between processes."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

import penlight
from penlight import Tensor
from penlight.autograd.modes import slow
from penlight.autograd.views import bump
from penlight.nn import functional as F
from penlight.nn.parameter import UninitializedBuffer

from ...kernels.lazy import lazy_import
from ._parameters import make_parameters, named_after, reset_affine
from .lazy import LazySized
from .module import Module

_sync_batch_norm = lazy_import(globals(), "_sync_batch_norm", "penlight.distributed._sync_batch_norm")
_distributed = lazy_import(globals(), "_distributed", "penlight.distributed")


__all__ = [
    "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "LazyBatchNorm1d", "LazyBatchNorm2d", "LazyBatchNorm3d",
    "SyncBatchNorm",
]  # fmt: skip


def _count(batches: Tensor) -> None:
    """One batch more: `batches.add_(1)`, without the way through type promotion where nothing asks for it."""
    if type(batches) is Tensor and batches._array.dtype == np.int64 and not slow():
        array = batches._array
        np.add(array, 1, out=array)
        bump(batches)
    else:
        batches.add_(1)


class _NormBase(Module):
    """What batch and instance normalisation share: an affine map and running statistics, both optional."""

    _version = 2  # since then num_batches_tracked is part of the state
    _dims: ClassVar[tuple[int, ...] | None] = None  # how many dimensions the input may have

    # Each of these is a tensor or None.
    weight: Any
    bias: Any
    running_mean: Any
    running_var: Any
    num_batches_tracked: Any

    def __init__(self, num_features: int, eps: float = 1e-05, momentum: float | None = 0.1, affine: bool = True,
                 track_running_stats: bool = True, device: Any = None, dtype: Any = None, *,
                 bias: bool = True) -> None:  # fmt: skip
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        scale, shift = (num_features if wanted else None for wanted in (affine, affine and bias))
        make_parameters(self, device, dtype, weight=scale, bias=shift)
        for name in ("running_mean", "running_var", "num_batches_tracked"):
            self.register_buffer(name, self._new_statistic(name, device, dtype) if track_running_stats else None)
        self.reset_parameters()

    def _new_statistic(self, name: str, device: Any, dtype: Any) -> Tensor:
        if name == "num_batches_tracked":
            return penlight.tensor(0, dtype=penlight.long, device=device)
        make = penlight.ones if name == "running_var" else penlight.zeros
        return make(self.num_features, device=device, dtype=dtype)

    def reset_running_stats(self) -> None:
        """Sets the running mean to 0, the running variance to 1 and the count of batches to 0."""
        if self.track_running_stats:
            for statistic, start in ((self.running_mean, 0), (self.running_var, 1), (self.num_batches_tracked, 0)):
                statistic.fill_(start)

    def reset_parameters(self) -> None:
        """Resets the statistics, sets the weight to 1 and the bias to 0."""
        self.reset_running_stats()
        reset_affine(self.weight, self.bias)

    def __init_subclass__(cls, dims: tuple[int, ...] | None = None, becomes: Any = None, **declared: Any) -> None:
        super().__init_subclass__(**declared)
        if becomes is not None:
            cls.cls_to_become = becomes  # type: ignore[attr-defined]
            dims = becomes._dims
        if dims is not None:
            cls._dims = dims

    def _check_input_dim(self, input: Tensor) -> None:
        if self._dims is None:
            raise NotImplementedError
        _expect_dims(input, *self._dims)

    def extra_repr(self) -> str:
        settings = f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}"
        return f"{settings}, bias={self.bias is not None}, track_running_stats={self.track_running_stats}"

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: dict[str, Any], *rest: Any, **kwargs: Any
    ) -> None:
        version = local_metadata.get("version")
        if (version is None or version < 2) and self.track_running_stats:
            key = prefix + "num_batches_tracked"
            if key not in state_dict:
                count = self.num_batches_tracked
                usable = count is not None and not count.is_meta
                state_dict[key] = count if usable else penlight.tensor(0, dtype=penlight.long)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest, **kwargs)


def _expect_dims(input: Tensor, *allowed: int) -> None:
    if input.dim() not in allowed:
        wanted = " or ".join(f"{dims}D" for dims in allowed)
        raise ValueError(f"expected {wanted} input (got {input.dim()}D input)")


class _BatchNorm(_NormBase):
    __init__ = named_after("_BatchNorm", _NormBase.__init__)

    def forward(self, input: Tensor) -> Tensor:
        """The input normalised over the batch, or with the running statistics when evaluating."""
        self._check_input_dim(input)
        tracking = self.training and self.track_running_stats
        factor = 0.0 if self.momentum is None else self.momentum
        if tracking and self.num_batches_tracked is not None:
            _count(self.num_batches_tracked)
            if self.momentum is None:  # the plain average of all batches
                factor = 1.0 / float(self.num_batches_tracked)
        # Running statistics go in when they are to be updated, or when they are what normalises.
        mean, var = (self.running_mean, self.running_var) if tracking or not self.training else (None, None)
        from_batch = self.training or (self.running_mean is None and self.running_var is None)
        return F.batch_norm(input, mean, var, self.weight, self.bias, from_batch, factor, self.eps)


class BatchNorm1d(_BatchNorm, dims=(2, 3), example=("(100)(torch.randn(20, 100)).shape", "torch.Size([20, 100])")):
    """Normalises each channel of (N, C) or (N, C, L) over the batch.

    While training, running statistics are updated with `momentum` (None: the plain average of all batches), and
    when evaluating they are used.
    """


class BatchNorm2d(_BatchNorm, dims=(4,), example=("(3)(torch.randn(2, 3, 4, 4)).shape", "torch.Size([2, 3, 4, 4])")):
    """Normalises each channel of (N, C, H, W) over the batch; see `BatchNorm1d`."""


class BatchNorm3d(_BatchNorm, dims=(5,),
                  example=("(3)(torch.randn(2, 3, 4, 4, 4)).shape", "torch.Size([2, 3, 4, 4, 4])")):  # fmt: skip
    """Normalises each channel of (N, C, D, H, W) over the batch; see `BatchNorm1d`."""


class _LazyNormBase(LazySized, _NormBase):
    """The lazy side of a normalisation: the number of features comes with the first input."""

    _inferred = "num_features"

    def __init__(self, eps: float = 1e-05, momentum: float | None = 0.1, affine: bool = True,
                 track_running_stats: bool = True, device: Any = None, dtype: Any = None, *,
                 bias: bool = True) -> None:  # fmt: skip
        super().__init__(0, eps, momentum, False, False, device=device, dtype=dtype, bias=False)
        self.affine, self.track_running_stats = affine, track_running_stats
        if affine:
            self._wait_for_shapes(device, dtype, *(["weight", "bias"] if bias else ["weight"]))
        if track_running_stats:
            self.running_mean = UninitializedBuffer(device=device, dtype=dtype)
            self.running_var = UninitializedBuffer(device=device, dtype=dtype)
            self.num_batches_tracked = self._new_statistic("num_batches_tracked", device, dtype)

    def initialize_parameters(self: Any, input: Tensor) -> None:
        """Takes `num_features` from the input."""
        if self.has_uninitialized_params():
            self.num_features = input.shape[1]
            names = ["weight", "bias"] if self.affine else []
            names += ["running_mean", "running_var"] if self.track_running_stats else []
            self._materialize(**dict.fromkeys(names, (self.num_features,)))


class LazyBatchNorm1d(_LazyNormBase, _BatchNorm, becomes=BatchNorm1d,
                      example=("()(torch.randn(2, 5)).shape", "torch.Size([2, 5])")):  # fmt: skip
    """A `BatchNorm1d` that learns `num_features` from its first input."""


class LazyBatchNorm2d(_LazyNormBase, _BatchNorm, becomes=BatchNorm2d,
                      example=("()(torch.randn(2, 5, 1, 2)).shape", "torch.Size([2, 5, 1, 2])")):  # fmt: skip
    """A `BatchNorm2d` that learns `num_features` from its first input."""


class LazyBatchNorm3d(_LazyNormBase, _BatchNorm, becomes=BatchNorm3d,
                      example=("()(torch.randn(2, 5, 1, 1, 2)).shape", "torch.Size([2, 5, 1, 1, 2])")):  # fmt: skip
    """A `BatchNorm3d` that learns `num_features` from its first input."""


class SyncBatchNorm(_BatchNorm):
    """Batch normalisation for inputs of any number of dimensions from 2 on, over the batches of all ranks together.

    While training, mean and variance are those of all ranks of `process_group` (all, if it is not given). Without
    `torch.distributed`, and when evaluating, it computes what `BatchNorm` does.

    >>> torch.nn.SyncBatchNorm.convert_sync_batchnorm(torch.nn.Sequential(torch.nn.BatchNorm1d(2)))[0]
    SyncBatchNorm(2, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)
    """

    def __init__(self, num_features: int, eps: float = 1e-05, momentum: float | None = 0.1, affine: bool = True,
                 track_running_stats: bool = True, process_group: Any = None, device: Any = None, dtype: Any = None,
                 *, bias: bool = True) -> None:  # fmt: skip
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

    def forward(self, input: Tensor) -> Tensor:
        """The input normalised over the batches of all ranks, or with the running statistics when evaluating."""
        if not (self.training or self.running_mean is None) or not _distributed.is_initialized():
            return super().forward(input)
        if _distributed.get_world_size(self.process_group) == 1:
            return super().forward(input)
        self._check_input_dim(input)
        return _sync_batch_norm.normalized(self, input)

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")
        if input.size(1) == 0:
            raise ValueError("SyncBatchNorm number of input channels should be non-zero")

    @classmethod
    def convert_sync_batchnorm(cls, module: Any, process_group: Any = None) -> Any:
        """The module with every batch normalisation in it replaced by one of this class, parameters shared."""
        result = module
        if isinstance(module, _BatchNorm):
            settings = (module.num_features, module.eps, module.momentum, module.affine, module.track_running_stats)
            result = SyncBatchNorm(*settings, process_group, bias=module.bias is not None)
            shared = ["weight", "bias"] if module.affine else []
            for name in (*shared, "running_mean", "running_var", "num_batches_tracked", "training"):
                setattr(result, name, getattr(module, name))
        for name, child in module.named_children():
            result.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return result
