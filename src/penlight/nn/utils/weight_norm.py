"""Weight normalisation as a forward pre-hook, the older form; `parametrizations.weight_norm` is the newer one."""

from __future__ import annotations

import warnings
from typing import Any

import penlight
from penlight import Tensor
from penlight.nn.parameter import Parameter

from ._computed import check_target, remove_computed

__all__ = ["WeightNorm", "remove_weight_norm", "weight_norm"]


def norm_except_dim(v: Tensor, dim: int) -> Tensor:
    """The 2-norms of the slices along a dimension, with that dimension kept; with -1 the norm of everything."""
    if dim == -1:
        return v.norm(2)
    others = [d for d in range(v.dim()) if d != dim % v.dim()]
    if not others:
        return v.abs()
    return penlight.linalg.vector_norm(v, 2, dim=others, keepdim=True)


def weight_from(v: Tensor, g: Tensor, dim: int) -> Tensor:
    """The weight of direction v and length g."""
    return v * (g / norm_except_dim(v, dim))


class WeightNorm:
    """The hook that computes a weight from its direction and length before each forward."""

    def __init__(self, name: str, dim: int | None) -> None:
        self.name = name
        self.dim = -1 if dim is None else dim

    def compute_weight(self, module: Any) -> Tensor:
        """The weight as it is now."""
        return weight_from(getattr(module, self.name + "_v"), getattr(module, self.name + "_g"), self.dim)

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module))

    @staticmethod
    def apply(module: Any, name: str, dim: int | None) -> WeightNorm:
        """Puts the hook on a module, and two parameters in the place of one."""
        warnings.warn(
            "`torch.nn.utils.weight_norm` is deprecated in favor of `torch.nn.utils.parametrizations.weight_norm`.",
            FutureWarning,
            stacklevel=3,
        )
        weight = getattr(module, name)
        check_target(module, WeightNorm, name, weight, "weight normalization")
        hook = WeightNorm(name, dim)
        direction = module._parameters.pop(name).data
        for suffix, value in (("_g", norm_except_dim(direction, hook.dim)), ("_v", direction)):
            module.register_parameter(name + suffix, Parameter(value))
        hook(module, None)
        module.register_forward_pre_hook(hook)
        return hook

    def remove(self, module: Any) -> None:
        """Makes the weight one parameter again."""
        weight = Parameter(self.compute_weight(module).data)
        for name in (self.name, self.name + "_g", self.name + "_v"):
            delattr(module, name)
        setattr(module, self.name, weight)


def weight_norm(module: Any, name: str = "weight", dim: int | None = 0) -> Any:
    """Splits a weight into its length `weight_g` and direction `weight_v`, along `dim`; None is one length for all.

    >>> import warnings; warnings.simplefilter("ignore")
    >>> m = torch.nn.utils.weight_norm(torch.nn.Linear(20, 40))
    >>> m.weight_g.shape
    torch.Size([40, 1])
    """
    WeightNorm.apply(module, name, dim)
    return module


def remove_weight_norm(module: Any, name: str = "weight") -> Any:
    """Undoes `weight_norm`.

    >>> import warnings; warnings.simplefilter("ignore")
    >>> m = torch.nn.utils.remove_weight_norm(torch.nn.utils.weight_norm(torch.nn.Linear(2, 2)))
    >>> sorted(name for name, _ in m.named_parameters())
    ['bias', 'weight']
    """
    return remove_computed(module, WeightNorm, name, "weight_norm")
