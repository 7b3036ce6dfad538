"""Batch normalisation over the batches of all ranks."""

from __future__ import annotations

from typing import Any

import penlight
from penlight.autograd import Function
from penlight.autograd.function import once_differentiable
from penlight.tensor import Tensor

from ._collectives import all_gather_single, all_reduce
from ._group import ProcessGroup, groups


class SyncBatchNorm(Function):
    """Normalises the channels of an input by mean and variance over all ranks, and returns these too."""

    @staticmethod
    def forward(
        ctx: Any, input: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float, group: ProcessGroup
    ) -> Any:
        dims = [dim for dim in range(input.dim()) if dim != 1]
        count = input.numel() // input.shape[1]
        mean, var = penlight.zeros(2, input.shape[1], dtype=input.dtype)
        if count:
            var, mean = penlight.var_mean(input, dims, correction=0)
        mine = penlight.cat([mean, var, penlight.full((1,), float(count), dtype=input.dtype)])
        table = penlight.empty(group.size(), mine.numel(), dtype=input.dtype)
        all_gather_single(table, mine, group)
        means, variances = table[:, :-1].view(group.size(), 2, -1).unbind(1)
        shares = table[:, -1:] / table[:, -1].sum()
        mean = (means * shares).sum(0)
        var = ((variances + (means - mean) ** 2) * shares).sum(0)
        shape = [-1 if dim == 1 else 1 for dim in range(input.dim())]
        inverse = (var + eps).rsqrt()
        normal = (input - mean.view(shape)) * inverse.view(shape)
        total = table[:, -1].sum()
        ctx.save_for_backward(normal, inverse, weight, total)
        ctx.group, ctx.dims, ctx.shape = group, dims, shape
        output = normal if weight is None else normal * weight.view(shape)
        output = output if bias is None else output + bias.view(shape)
        ctx.mark_non_differentiable(mean, var, total)
        return output.clone() if output is normal else output, mean, var, total

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor, *rest: Any) -> Any:
        normal, inverse, weight, total = ctx.saved_tensors
        dims, shape = ctx.dims, ctx.shape
        of_bias, of_weight = grad.sum(dims), (grad * normal).sum(dims)
        of_input = None
        if ctx.needs_input_grad[0]:
            sums = penlight.stack([of_bias, of_weight])
            all_reduce(sums, group=ctx.group)
            mean, slope = (sums / total).unbind(0)
            scale = inverse if weight is None else inverse * weight
            of_input = (grad - mean.view(shape) - normal * slope.view(shape)) * scale.view(shape)
        needs = ctx.needs_input_grad
        return of_input, of_weight if needs[1] else None, of_bias if needs[2] else None, None, None


def normalized(module: Any, input: Tensor) -> Tensor:
    """The forward pass of a `SyncBatchNorm` in training mode; it updates the running statistics."""
    group = groups.find(module.process_group)
    output, mean, var, total = SyncBatchNorm.apply(input, module.weight, module.bias, module.eps, group)
    if module.training and module.track_running_stats:
        with penlight.no_grad():
            module.num_batches_tracked += 1
            factor = 1.0 / float(module.num_batches_tracked) if module.momentum is None else module.momentum
            module.running_mean.mul_(1 - factor).add_(mean, alpha=factor)
            module.running_var.mul_(1 - factor).add_(var * (total / (total - 1)), alpha=factor)
    return output
