"""Gamma and Dirichlet samples as differentiable functions of their concentrations: see Note [Implicit reparameterisation] in
kernels/random/gradients.py."""

from __future__ import annotations

from typing import Any

from .._common.docstrings import example
from ..autograd.function import Function, once_differentiable
from ..creation import from_numpy
from ..kernels.lazy import lazy_import
from ..random import _drawn_from, engine_of
from ..tensor import Tensor

_gradients = lazy_import(globals(), "_gradients", "..kernels.random.gradients")
_rejection = lazy_import(globals(), "_rejection", "..kernels.random.rejection")


def _tensor(array: Any) -> Tensor:
    return from_numpy(array)


class _StandardGamma(Function):
    @staticmethod
    def forward(ctx: Any, alpha: Tensor, generator: Any) -> Tensor:
        sample = _tensor(_rejection.standard_gamma(engine_of(generator), alpha.detach().numpy()))
        ctx.save_for_backward(alpha, sample)
        return sample

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> Any:
        alpha, sample = ctx.saved_tensors
        return grad * _standard_gamma_grad(alpha, sample), None


class _Dirichlet(Function):
    @staticmethod
    def forward(ctx: Any, concentration: Tensor, generator: Any) -> Tensor:
        sample = _tensor(_rejection.dirichlet(engine_of(generator), concentration.detach().numpy()))
        ctx.save_for_backward(concentration, sample)
        return sample

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> Any:
        concentration, x = ctx.saved_tensors
        total = concentration.detach().sum(-1, True).expand_as(concentration)
        return _dirichlet_grad(x, concentration, total) * (grad - (x * grad).sum(-1, True)), None


def _standard_gamma_grad(input: Tensor, output: Tensor) -> Tensor:
    """The derivative of gamma samples `output` with respect to their shapes `input`."""
    return _tensor(_gradients.gamma_grad(input.detach().numpy(), output.detach().numpy()))


def _dirichlet_grad(x: Tensor, alpha: Tensor, total: Tensor) -> Tensor:
    """The derivative of Dirichlet samples x with respect to their concentrations alpha, whose sum is `total`."""
    return _tensor(_gradients.dirichlet_grad(x.detach().numpy(), alpha.detach().numpy(), total.detach().numpy()))


@example("torch._standard_gamma(torch.ones(2)).shape", "torch.Size([2])")
def _standard_gamma(input: Tensor, generator: Any = None) -> Tensor:
    """`torch._standard_gamma`: gamma samples of these shapes and rate 1, differentiable in them."""
    made = _drawn_from((input,), _standard_gamma)
    return _StandardGamma.apply(input, generator) if made is None else made


@example("torch._sample_dirichlet(torch.ones(2, 3)).shape", "torch.Size([2, 3])")
def _sample_dirichlet(input: Tensor, generator: Any = None) -> Tensor:
    """`torch._sample_dirichlet`: points of the simplex along the last dimension, differentiable in the concentrations."""
    made = _drawn_from((input,), _sample_dirichlet)
    return _Dirichlet.apply(input, generator) if made is None else made
