"""Limiting gradients, by their norm or each by its value."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from types import GeneratorType
from typing import Any

import penlight
from penlight import Tensor
from penlight._common.docstrings import example

__all__ = ["clip_grad_norm", "clip_grad_norm_", "clip_grad_value_"]


def _as_list(tensors: Tensor | Iterable[Tensor]) -> list[Tensor]:
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


@example("torch.nn.utils.get_total_norm([torch.tensor([3.0]), torch.tensor([4.0])])", "tensor(5.)")
def get_total_norm(tensors: Tensor | Iterable[Tensor], norm_type: float = 2.0, error_if_nonfinite: bool = False,
                   foreach: bool | None = None) -> Tensor:  # fmt: skip
    """The norm of all tensors as if they were one vector. `foreach` is accepted and changes nothing."""
    given = _as_list(tensors)
    norm_type = float(norm_type)
    if not given:
        return penlight.tensor(0.0)
    with penlight.no_grad():
        norms = [penlight.linalg.vector_norm(tensor, norm_type) for tensor in given]
        if len({norm.dtype for norm in norms}) > 1:
            common = norms[0].dtype
            for norm in norms[1:]:
                common = penlight.promote_types(common, norm.dtype)
            norms = [norm.to(common) for norm in norms]
        total = penlight.linalg.vector_norm(penlight.stack(norms), norm_type)
        if error_if_nonfinite and not total.isfinite():
            raise RuntimeError(
                f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it cannot be "
                "clipped. To disable this error and scale the gradients by the non-finite norm anyway, set "
                "`error_if_nonfinite=False`"
            )
    return total


def clip_grads_with_norm_(
    parameters: Tensor | Iterable[Tensor], max_norm: float, total_norm: Tensor, foreach: bool | None = None
) -> None:
    """Scales the gradients by max_norm / total_norm where that is below 1, in place.

    >>> w = torch.nn.Parameter(torch.zeros(1))
    >>> w.grad = torch.tensor([8.0])
    >>> torch.nn.utils.clip_grads_with_norm_(w, max_norm=1.0, total_norm=torch.tensor(4.0))
    >>> w.grad
    tensor([2.0000])
    """
    grads = [param.grad for param in _as_list(parameters) if param.grad is not None]
    if not grads:
        return
    with penlight.no_grad():
        # Multiplying also when the factor is 1 keeps the result free of a branch, as PyTorch's is.
        factor = penlight.clamp(float(max_norm) / (total_norm + 1e-6), max=1.0)
        for grad in grads:
            grad.mul_(factor)


def clip_grad_norm_(parameters: Tensor | Iterable[Tensor], max_norm: float, norm_type: float = 2.0,
                    error_if_nonfinite: bool = False, foreach: bool | None = None) -> Tensor:  # fmt: skip
    """Scales the gradients of all parameters, in place, so that their joint norm is at most `max_norm`.

    Returns the norm they had.

    >>> w = torch.nn.Parameter(torch.zeros(2))
    >>> w.grad = torch.tensor([3.0, 4.0])
    >>> torch.nn.utils.clip_grad_norm_([w], max_norm=1.0)
    tensor(5.)
    >>> w.grad
    tensor([0.6000, 0.8000])
    """
    given = _as_list(parameters)
    if not given and isinstance(parameters, GeneratorType):
        warnings.warn("`parameters` is an empty generator, no gradient clipping will occur.", stacklevel=2)
    grads = [param.grad for param in given if param.grad is not None]
    total = get_total_norm(grads, norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(given, max_norm, total, foreach)
    return total


def clip_grad_norm(parameters: Tensor | Iterable[Tensor], max_norm: float, norm_type: float = 2.0,
                   error_if_nonfinite: bool = False, foreach: bool | None = None) -> Tensor:  # fmt: skip
    """Deprecated: `clip_grad_norm_` is the same.

    >>> w = torch.tensor([1.0], requires_grad=True)
    >>> w.grad = torch.tensor([3.0])
    >>> torch.nn.utils.clip_grad_norm_([w], max_norm=1.0)
    tensor(3.)
    """
    warnings.warn(
        "`torch.nn.utils.clip_grad_norm` is now deprecated in favor of `torch.nn.utils.clip_grad_norm_`.",
        FutureWarning,
        stacklevel=2,
    )
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


def clip_grad_value_(parameters: Tensor | Iterable[Tensor], clip_value: float, foreach: bool | None = None) -> None:
    """Limits each element of the gradients to [-clip_value, clip_value], in place.

    >>> w = torch.nn.Parameter(torch.zeros(2))
    >>> w.grad = torch.tensor([3.0, -4.0])
    >>> torch.nn.utils.clip_grad_value_(w, 1.0)
    >>> w.grad
    tensor([ 1., -1.])
    """
    limit = float(clip_value)
    with penlight.no_grad():
        for param in _as_list(parameters):
            grad: Any = param.grad
            if grad is not None:
                grad.clamp_(min=-limit, max=limit)
