"""Instance normalisation, in one to three dimensions, and lazy."""

from __future__ import annotations

import warnings
from typing import Any

from penlight import Tensor
from penlight.nn import functional as F

from .batchnorm import _LazyNormBase, _NormBase

__all__ = [
    "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d", "LazyInstanceNorm1d", "LazyInstanceNorm2d",
    "LazyInstanceNorm3d",
]  # fmt: skip


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
            warnings.warn(
                f"input's size at dim={dim} does not match num_features. You can silence this warning by not "
                "passing in num_features, which is not used because affine=False",
                stacklevel=2,
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
    """An `InstanceNorm1d` that learns `num_features` from its first input."""


class LazyInstanceNorm2d(_LazyNormBase, _InstanceNorm, becomes=InstanceNorm2d,
                         example=("()(torch.randn(2, 3, 4, 4)).shape", "torch.Size([2, 3, 4, 4])")):  # fmt: skip
    """An `InstanceNorm2d` that learns `num_features` from its first input."""


class LazyInstanceNorm3d(_LazyNormBase, _InstanceNorm, becomes=InstanceNorm3d,
                         example=("()(torch.randn(2, 3, 4, 4, 4)).shape", "torch.Size([2, 3, 4, 4, 4])")):  # fmt: skip
    """An `InstanceNorm3d` that learns `num_features` from its first input."""
