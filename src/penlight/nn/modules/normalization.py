"""Normalisation: over the batch, instances, groups, layers, neighbouring channels."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any, ClassVar

import numpy as np

import penlight
from penlight import Tensor
from penlight._common.module_table import make_modules, names_of
from penlight._common.user_warnings import warn_user
from penlight.autograd.modes import slow
from penlight.autograd.views import bump
from penlight.nn import functional as F
from penlight.nn.parameter import UninitializedBuffer

from ...kernels.lazy import lazy_import
from ._options import Options, Unary
from .lazy import LazySized, make_parameters, named_after, reset_affine
from .module import Module

_sync_batch_norm = lazy_import(globals(), "_sync_batch_norm", "penlight.distributed._sync_batch_norm")
_distributed = lazy_import(globals(), "_distributed", "penlight.distributed")

__all__ = names_of(__name__)


# ----- Over the batch ------------------------------------------------------------------------------------------------


def _count(batches: Tensor) -> None:
    """Count one more batch: `batches.add_(1)`, avoiding type promotion if nothing needs it."""
    if type(batches) is Tensor and batches._array.dtype == np.int64 and not slow():
        array = batches._array
        np.add(array, 1, out=array)
        bump(batches)
    else:
        batches.add_(1)


class _NormBase(Module):
    """The common base of batch and instance normalisation: an affine map and running statistics, both optional."""

    _version = 2  # since then num_batches_tracked is part of the state
    _dims: ClassVar[tuple[int, ...] | None] = None  # the allowed numbers of input dimensions

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
        """The input normalised over the batch, or with the running statistics in evaluation mode."""
        self._check_input_dim(input)
        tracking = self.training and self.track_running_stats
        factor = 0.0 if self.momentum is None else self.momentum
        if tracking and self.num_batches_tracked is not None:
            _count(self.num_batches_tracked)
            if self.momentum is None:  # the plain average of all batches
                factor = 1.0 / float(self.num_batches_tracked)
        # Running statistics are passed if they are to be updated, or used to normalise.
        mean, var = (self.running_mean, self.running_var) if tracking or not self.training else (None, None)
        from_batch = self.training or (self.running_mean is None and self.running_var is None)
        return F.batch_norm(input, mean, var, self.weight, self.bias, from_batch, factor, self.eps)


class BatchNorm1d(_BatchNorm, dims=(2, 3), example=("(100)(torch.randn(20, 100)).shape", "torch.Size([20, 100])")):
    """Normalises each channel of (N, C) or (N, C, L) over the batch.

    Training updates running statistics with `momentum` (None: the plain average of all batches); evaluation uses them.
    """


class BatchNorm2d(_BatchNorm, dims=(4,), example=("(3)(torch.randn(2, 3, 4, 4)).shape", "torch.Size([2, 3, 4, 4])")):
    """Normalises each channel of (N, C, H, W) over the batch; see `BatchNorm1d`."""


class BatchNorm3d(_BatchNorm, dims=(5,),
                  example=("(3)(torch.randn(2, 3, 4, 4, 4)).shape", "torch.Size([2, 3, 4, 4, 4])")):  # fmt: skip
    """Normalises each channel of (N, C, D, H, W) over the batch; see `BatchNorm1d`."""


class _LazyNormBase(LazySized, _NormBase):
    """The lazy part of a normalisation: the first input determines the number of features."""

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
    """A `BatchNorm1d` that infers `num_features` from its first input."""


class LazyBatchNorm2d(_LazyNormBase, _BatchNorm, becomes=BatchNorm2d,
                      example=("()(torch.randn(2, 5, 1, 2)).shape", "torch.Size([2, 5, 1, 2])")):  # fmt: skip
    """A `BatchNorm2d` that infers `num_features` from its first input."""


class LazyBatchNorm3d(_LazyNormBase, _BatchNorm, becomes=BatchNorm3d,
                      example=("()(torch.randn(2, 5, 1, 1, 2)).shape", "torch.Size([2, 5, 1, 1, 2])")):  # fmt: skip
    """A `BatchNorm3d` that infers `num_features` from its first input."""


class SyncBatchNorm(_BatchNorm):
    """Batch normalisation for inputs of at least 2 dimensions, over the batches of all ranks.

    In training, mean and variance are computed over all ranks of `process_group` (all ranks by default). Without `torch.distributed`, and
    in evaluation mode, it computes the same as `BatchNorm`.

    >>> torch.nn.SyncBatchNorm.convert_sync_batchnorm(torch.nn.Sequential(torch.nn.BatchNorm1d(2)))[0]
    SyncBatchNorm(2, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)
    """

    def __init__(self, num_features: int, eps: float = 1e-05, momentum: float | None = 0.1, affine: bool = True,
                 track_running_stats: bool = True, process_group: Any = None, device: Any = None, dtype: Any = None,
                 *, bias: bool = True) -> None:  # fmt: skip
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

    def forward(self, input: Tensor) -> Tensor:
        """The input normalised over the batches of all ranks, or with the running statistics in evaluation mode."""
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
        """The module with all its batch normalisation layers replaced by this class, sharing parameters."""
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


# ----- Over each instance --------------------------------------------------------------------------------------------


class _InstanceNorm(_NormBase):
    def __init__(self, num_features: int, eps: float = 1e-05, momentum: float | None = 0.1, affine: bool = False,
                 track_running_stats: bool = False, device: Any = None, dtype: Any = None, *,
                 bias: bool = True) -> None:  # fmt: skip
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def _get_no_batch_dim(self) -> int:
        if self._dims is None:
            raise NotImplementedError
        return self._dims[0]

    def _apply_instance_norm(self, input: Tensor) -> Tensor:
        statistics, affine = (self.running_mean, self.running_var), (self.weight, self.bias)
        from_input = self.training or not self.track_running_stats
        momentum = 0.0 if self.momentum is None else self.momentum
        return F.instance_norm(input, *statistics, *affine, from_input, momentum, self.eps)

    def forward(self, input: Tensor) -> Tensor:
        """The input with each channel of each instance normalised."""
        self._check_input_dim(input)
        unbatched = self._get_no_batch_dim()
        dim = input.dim() - unbatched
        if input.size(dim) != self.num_features:
            if self.affine:
                raise ValueError(
                    f"expected input's size at dim={dim} to match num_features ({self.num_features}), "
                    f"but got: {input.size(dim)}."
                )
            warn_user(
                f"input's size at dim={dim} does not match num_features. You can silence this warning by not "
                "passing in num_features, which is not used because affine=False",
            )
        if input.dim() == unbatched:
            return self._apply_instance_norm(input.unsqueeze(0)).squeeze(0)
        return self._apply_instance_norm(input)

    def _load_from_state_dict(self, state_dict: Any, prefix: str, local_metadata: dict[str, Any], strict: bool,
                              missing_keys: list[str], unexpected_keys: list[str],
                              error_msgs: list[str]) -> None:  # fmt: skip
        if local_metadata.get("version") is None and not self.track_running_stats:
            found = [prefix + name for name in ("running_mean", "running_var") if prefix + name in state_dict]
            if found:
                names = " and ".join(f'"{key}"' for key in found)
                kind = type(self).__name__
                error_msgs.append(
                    f"Unexpected running stats buffer(s) {names} for {kind} with track_running_stats=False. If "
                    f"state_dict is a checkpoint saved before 0.4.0, this may be expected because {kind} does not "
                    "track running stats by default since 0.4.0. Please remove these keys from state_dict. If the "
                    f"running stats are actually needed, instead set track_running_stats=True in {kind} to enable "
                    f"them. See the documentation of {kind} for details."
                )
            for key in found:
                state_dict.pop(key)
        keys = (missing_keys, unexpected_keys, error_msgs)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, strict, *keys)


class InstanceNorm1d(_InstanceNorm, dims=(2, 3), example=("(3)(torch.randn(2, 3, 8)).shape", "torch.Size([2, 3, 8])")):
    """Normalises each channel of each instance in (N, C, L) or (C, L)."""


class InstanceNorm2d(_InstanceNorm, dims=(3, 4),
                     example=("(3)(torch.randn(2, 3, 4, 4)).shape", "torch.Size([2, 3, 4, 4])")):  # fmt: skip
    """Normalises each channel of each instance in (N, C, H, W) or (C, H, W)."""


class InstanceNorm3d(_InstanceNorm, dims=(4, 5),
                     example=("(3)(torch.randn(2, 3, 4, 4, 4)).shape", "torch.Size([2, 3, 4, 4, 4])")):  # fmt: skip
    """Normalises each channel of each instance in (N, C, D, H, W) or (C, D, H, W)."""


class LazyInstanceNorm1d(_LazyNormBase, _InstanceNorm, becomes=InstanceNorm1d,
                         example=("()(torch.randn(2, 3, 8)).shape", "torch.Size([2, 3, 8])")):  # fmt: skip
    """An `InstanceNorm1d` that infers `num_features` from its first input."""


class LazyInstanceNorm2d(_LazyNormBase, _InstanceNorm, becomes=InstanceNorm2d,
                         example=("()(torch.randn(2, 3, 4, 4)).shape", "torch.Size([2, 3, 4, 4])")):  # fmt: skip
    """An `InstanceNorm2d` that infers `num_features` from its first input."""


class LazyInstanceNorm3d(_LazyNormBase, _InstanceNorm, becomes=InstanceNorm3d,
                         example=("()(torch.randn(2, 3, 4, 4, 4)).shape", "torch.Size([2, 3, 4, 4, 4])")):  # fmt: skip
    """An `InstanceNorm3d` that infers `num_features` from its first input."""


# ----- Over groups, layers and channels ------------------------------------------------------------------------------


_SHOWN = "{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class LocalResponseNorm(Unary, function=F.local_response_norm, shown=_SHOWN,
                        example=("(2)(torch.randn(1, 5, 4, 4)).shape", "torch.Size([1, 5, 4, 4])")):  # fmt: skip
    """Divides each channel by a power of the mean square of its `size` neighbours."""

    def __init__(self, size: int, alpha: float = 0.0001, beta: float = 0.75, k: float = 1.0) -> None: ...


class CrossMapLRN2d(Options, shown=_SHOWN, example=("(3)(torch.randn(1, 5, 4, 4)).shape", "torch.Size([1, 5, 4, 4])")):
    """The older local response normalisation across channels, of (N, C, H, W).

    Forward values equal PyTorch's, whose window never drops the first channel. The gradient is the derivative of that forward; PyTorch's
    hand-written one sums over a shifted window and fails gradcheck.
    """

    def __init__(self, size: int, alpha: float = 0.0001, beta: float = 0.75, k: float = 1) -> None: ...

    def forward(self, input: Tensor) -> Tensor:
        """The normalised input."""
        if input.dim() != 4:
            raise ValueError(f"CrossMapLRN2d: Expected input to be 4D, got {input.dim()}D instead.")
        channels = input.size(1)
        reach = (self.size - 1) // 2
        index = penlight.arange(channels)
        distance = index - index.unsqueeze(1)
        window = ((distance.abs() <= reach) | (index == 0)).to(input.dtype)
        squares = (window @ input.square().flatten(2)).view_as(input)
        return input * (squares * (self.alpha / self.size) + self.k).pow(-self.beta)


def _as_shape(normalized_shape: Any) -> tuple[int, ...]:
    if isinstance(normalized_shape, Integral):
        return (int(normalized_shape),)
    return tuple(normalized_shape)


class LayerNorm(Module, example=("(10)(torch.randn(20, 5, 10)).shape", "torch.Size([20, 5, 10])")):
    """Normalises over the last dimensions, given by `normalized_shape`, and scales and shifts each element."""

    weight: Any  # a tensor or None
    bias: Any

    def __init__(self, normalized_shape: int | Sequence[int], eps: float = 1e-05, elementwise_affine: bool = True,
                 bias: bool = True, device: Any = None, dtype: Any = None) -> None:  # fmt: skip
        super().__init__()
        self.normalized_shape, self.eps = _as_shape(normalized_shape), eps
        self.elementwise_affine = elementwise_affine
        scale = self.normalized_shape if elementwise_affine else None
        make_parameters(self, device, dtype, weight=scale, bias=scale if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Sets the weight to 1 and the bias to 0."""
        reset_affine(self.weight, self.bias)

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        settings = f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
        return f"{settings}, bias={self.bias is not None}"


class GroupNorm(Module, example=("(3, 6)(torch.randn(20, 6, 10, 10)).shape", "torch.Size([20, 6, 10, 10])")):
    """Normalises over groups of channels of (N, C, ...), and scales and shifts each channel."""

    weight: Any  # a tensor or None
    bias: Any

    def __init__(self, num_groups: int, num_channels: int, eps: float = 1e-05, affine: bool = True,
                 device: Any = None, dtype: Any = None, *, bias: bool = True) -> None:  # fmt: skip
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        scale = num_channels if affine else None
        make_parameters(self, device, dtype, weight=scale, bias=scale if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Sets the weight to 1 and the bias to 0."""
        reset_affine(self.weight, self.bias)

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        settings = f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}"
        return f"{settings}, bias={self.bias is not None}"


class RMSNorm(Module, example=("([2, 3])(torch.randn(2, 2, 3)).shape", "torch.Size([2, 2, 3])")):
    """Divides by the root mean square over the last dimensions, given by `normalized_shape`, and scales."""

    weight: Any  # a tensor or None

    def __init__(self, normalized_shape: int | Sequence[int], eps: float | None = None,
                 elementwise_affine: bool = True, device: Any = None, dtype: Any = None) -> None:  # fmt: skip
        super().__init__()
        self.normalized_shape, self.eps = _as_shape(normalized_shape), eps
        self.elementwise_affine = elementwise_affine
        make_parameters(self, device, dtype, weight=self.normalized_shape if elementwise_affine else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Sets the weight to 1."""
        reset_affine(self.weight, None)

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


make_modules(__name__)
