"""Batch normalisation, in one to three dimensions, lazy, and under its synchronised name."""

from __future__ import annotations

from typing import Any

import numpy as np

import penlight
from penlight import Tensor
from penlight.autograd.modes import slow
from penlight.autograd.views import bump
from penlight.nn import functional as F
from penlight.nn import init
from penlight.nn.parameter import Parameter, UninitializedBuffer, UninitializedParameter

from .lazy import LazyModuleMixin
from .module import Module

__all__ = [
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "LazyBatchNorm1d",
    "LazyBatchNorm2d",
    "LazyBatchNorm3d",
    "SyncBatchNorm",
]


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

    num_features: int
    eps: float
    momentum: float | None
    affine: bool
    track_running_stats: bool
    # Each of these is a tensor or None.
    weight: Any
    bias: Any
    running_mean: Any
    running_var: Any
    num_batches_tracked: Any

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-05,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        factory: dict[str, Any] = {"device": device, "dtype": dtype}
        for name, wanted in (("weight", affine), ("bias", affine and bias)):
            value = Parameter(penlight.empty(num_features, **factory)) if wanted else None
            self.register_parameter(name, value)
        if track_running_stats:
            self.register_buffer("running_mean", penlight.zeros(num_features, **factory))
            self.register_buffer("running_var", penlight.ones(num_features, **factory))
            self.register_buffer("num_batches_tracked", penlight.tensor(0, dtype=penlight.long, device=device))
        else:
            for name in ("running_mean", "running_var", "num_batches_tracked"):
                self.register_buffer(name, None)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Sets the running mean to 0, the running variance to 1 and the count of batches to 0."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Resets the statistics, sets the weight to 1 and the bias to 0."""
        self.reset_running_stats()
        if self.affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def _check_input_dim(self, input: Tensor) -> None:
        raise NotImplementedError

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )

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


class BatchNorm1d(_BatchNorm):
    """Normalises each channel of (N, C) or (N, C, L) over the batch.

    While training, running statistics are updated with `momentum` (None: the plain average of all batches), and
    when evaluating they are used.

    >>> import penlight as torch
    >>> torch.nn.BatchNorm1d(100)(torch.randn(20, 100)).shape
    torch.Size([20, 100])
    """

    def _check_input_dim(self, input: Tensor) -> None:
        _expect_dims(input, 2, 3)


class BatchNorm2d(_BatchNorm):
    """Normalises each channel of (N, C, H, W) over the batch; see `BatchNorm1d`.

    >>> import penlight as torch
    >>> torch.nn.BatchNorm2d(3)(torch.randn(2, 3, 4, 4)).shape
    torch.Size([2, 3, 4, 4])
    """

    def _check_input_dim(self, input: Tensor) -> None:
        _expect_dims(input, 4)


class BatchNorm3d(_BatchNorm):
    """Normalises each channel of (N, C, D, H, W) over the batch; see `BatchNorm1d`.

    >>> import penlight as torch
    >>> torch.nn.BatchNorm3d(3)(torch.randn(2, 3, 4, 4, 4)).shape
    torch.Size([2, 3, 4, 4, 4])
    """

    def _check_input_dim(self, input: Tensor) -> None:
        _expect_dims(input, 5)


class _LazyNormBase(LazyModuleMixin, _NormBase):
    """The lazy side of a normalisation: the number of features comes with the first input."""

    def __init__(
        self,
        eps: float = 1e-05,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(0, eps, momentum, False, False, device=device, dtype=dtype, bias=False)
        self.affine = affine
        self.track_running_stats = track_running_stats
        if affine:
            self.weight = UninitializedParameter(device=device, dtype=dtype)
            if bias:
                self.bias = UninitializedParameter(device=device, dtype=dtype)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(device=device, dtype=dtype)
            self.running_var = UninitializedBuffer(device=device, dtype=dtype)
            self.num_batches_tracked = penlight.tensor(0, dtype=penlight.long, device=device)

    def reset_parameters(self) -> None:
        """Resets statistics and parameters, once they have shapes."""
        if not self.has_uninitialized_params() and self.num_features != 0:
            super().reset_parameters()

    def initialize_parameters(self: Any, input: Tensor) -> None:
        """Takes `num_features` from the input."""
        if not self.has_uninitialized_params():
            return
        self.num_features = input.shape[1]
        waiting = [self.weight, self.bias] if self.affine else []
        if self.track_running_stats:
            waiting += [self.running_mean, self.running_var]
        for value in waiting:
            if value is not None:
                value.materialize((self.num_features,))
        self.reset_parameters()


class LazyBatchNorm1d(_LazyNormBase, _BatchNorm):
    """A `BatchNorm1d` that learns `num_features` from its first input.

    >>> import penlight as torch
    >>> torch.nn.LazyBatchNorm1d()(torch.randn(2, 5)).shape
    torch.Size([2, 5])
    """

    cls_to_become = BatchNorm1d
    _check_input_dim = BatchNorm1d._check_input_dim


class LazyBatchNorm2d(_LazyNormBase, _BatchNorm):
    """A `BatchNorm2d` that learns `num_features` from its first input.

    >>> import penlight as torch
    >>> torch.nn.LazyBatchNorm2d()(torch.randn(2, 5, 1, 2)).shape
    torch.Size([2, 5, 1, 2])
    """

    cls_to_become = BatchNorm2d
    _check_input_dim = BatchNorm2d._check_input_dim


class LazyBatchNorm3d(_LazyNormBase, _BatchNorm):
    """A `BatchNorm3d` that learns `num_features` from its first input.

    >>> import penlight as torch
    >>> torch.nn.LazyBatchNorm3d()(torch.randn(2, 5, 1, 1, 2)).shape
    torch.Size([2, 5, 1, 1, 2])
    """

    cls_to_become = BatchNorm3d
    _check_input_dim = BatchNorm3d._check_input_dim


class SyncBatchNorm(_BatchNorm):
    """Batch normalisation for inputs of any number of dimensions from 2 on.

    Its statistics would be synchronised between processes; there is one process here, so that it computes what
    `BatchNorm` does.

    >>> import penlight as torch
    >>> torch.nn.SyncBatchNorm.convert_sync_batchnorm(torch.nn.Sequential(torch.nn.BatchNorm1d(2)))[0]
    SyncBatchNorm(2, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-05,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

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
            result = SyncBatchNorm(
                module.num_features,
                module.eps,
                module.momentum,
                module.affine,
                module.track_running_stats,
                process_group,
                bias=module.bias is not None,
            )
            if module.affine:
                result.weight = module.weight
                result.bias = module.bias
            result.running_mean = module.running_mean
            result.running_var = module.running_var
            result.num_batches_tracked = module.num_batches_tracked
            result.training = module.training
        for name, child in module.named_children():
            result.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return result
