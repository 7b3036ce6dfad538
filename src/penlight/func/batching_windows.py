"""Batching rules of convolutions, pooling and resampling: the batch is merged into the samples' own batch or into the channels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..ops.machinery.op import Op
from ..tensor import Tensor
from .batching import RULES, rule, run

if TYPE_CHECKING:
    from .level import BatchLevel

# ----- Into the batch dimension ---------------------------------------------------------------------------------------


def _joined(value: Any) -> Any:
    """The batch and the next dimension merged into one."""
    return value.reshape(value.shape[0] * value.shape[1], *value.shape[2:])


def fold(*names: str, dims: Any) -> None:
    """Run ops with the batch merged into dimension 0 of their samples (N, C, ...), for all tensors and for `shape`.

    For a sample without N (it has `dims(op, arguments) + 1` dimensions), the batch becomes N.
    """

    def folded(level: BatchLevel, op: Op, arguments: tuple[Any, ...]) -> Any:
        single = arguments[0].dim() == dims(op, arguments) + 1
        values = []
        for name, value in zip(op.parameters, arguments):
            if isinstance(value, Tensor):
                value = level.full(value) if single else _joined(level.full(value))
            elif name == "shape":
                value = (level.size, *value) if single else (level.size * value[0], *value[1:])
            values.append(value)
        result = op.function(*values)
        if single:
            return result
        count = arguments[0].shape[0]
        results = result if isinstance(result, tuple) else (result,)
        parted = [r.reshape(level.size, count, *r.shape[1:]) for r in results]
        return tuple(parted) if isinstance(result, tuple) else parted[0]

    for name in names:
        RULES[name] = folded


def _by_length(name: str) -> Any:
    """The number of spatial dimensions, given by the length of an argument."""
    return lambda op, arguments: len(arguments[op.parameters.index(name)])


def _given(op: Op, arguments: tuple[Any, ...]) -> int:
    return arguments[op.parameters.index("dims")]


fold("_max_pool2d", "_max_pool3d", "_avg_pool2d", "_avg_pool3d", "_avg_pool_backward", dims=_by_length("kernel_size"))
fold(
    "_adaptive_avg_pool2d",
    "_adaptive_avg_pool3d",
    "_adaptive_max_pool2d",
    "_adaptive_max_pool3d",
    dims=_by_length("output_size"),
)
fold("_max_unpool2d", "_max_unpool3d", dims=_by_length("output_size"))
fold("_pool_scatter", "_pool_gather", "_adaptive_avg_backward", dims=_given)
fold("_im2col", dims=lambda op, arguments: 2)
fold("_col2im", dims=lambda op, arguments: 1)
fold("_channel_shuffle", dims=lambda op, arguments: -2)
fold("_resize_backward", "_resize_linear1d", "_resize_bilinear2d", "_resize_bilinear2d_aa", "_resize_bicubic2d",
     "_resize_bicubic2d_aa", "_resize_lanczos2d_aa", "_resize_trilinear3d",
     *(f"_resize_{mode}{dims}d" for mode in ("nearest", "nearest_exact") for dims in (1, 2, 3)),
     dims=lambda op, arguments: -2)  # fmt: skip
fold("_grid_sampler2d", "_grid_sampler3d", "_grid_sampler_grid", "_grid_sampler_image", dims=lambda op, arguments: -2)


@rule("_affine_grid")
def affine_grid(level: BatchLevel, theta: Any, size: Any, align_corners: bool) -> Any:
    n, *rest = size
    found = run("_affine_grid", _joined(theta._value), (level.size * n, *rest), align_corners)
    return found.reshape(level.size, n, *found.shape[1:])


def _fractional(level: BatchLevel, op: Op, arguments: tuple[Any, ...]) -> Any:
    """Fractional pooling: the random samples (N, C, dims) have an N even if the input has none."""
    input, kernel_size, output_size, samples = arguments
    value, indices = level.full(input), _joined(level.full(samples))
    single = input.dim() == len(output_size) + 1
    found = op.function(value if single else _joined(value), kernel_size, output_size, indices)
    return tuple([r if single else r.reshape(level.size, input.shape[0], *r.shape[1:]) for r in found])


RULES["_fractional_max_pool2d"] = RULES["_fractional_max_pool3d"] = _fractional

# ----- Into the channels ----------------------------------------------------------------------------------------------


def _beside(value: Any) -> Any:
    """(B, N, C, ...) as (N, B * C, ...)."""
    b, n, c, *rest = value.shape
    return value.transpose(0, 1).reshape(n, b * c, *rest)


def _apart(value: Any, b: int) -> Any:
    """(N, B * C, ...) as (B, N, C, ...)."""
    n, channels, *rest = value.shape
    return value.reshape(n, b, channels // max(b, 1), *rest).transpose(0, 1).contiguous()


@rule("_convolution")
def convolution(
    level: BatchLevel, input: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, transposed: bool,
    output_padding: Any, groups: int,
) -> Any:  # fmt: skip
    """If all samples share one weight, they are merged into the batch; otherwise they become groups of channels."""
    rest = (stride, padding, dilation, transposed, output_padding)
    b = level.size
    own_bias = bias is not None and level.has(bias)
    if not level.has(weight):
        x = _joined(level.full(input))
        out = run("_convolution", x, weight, None if own_bias else bias, *rest, groups)
        out = out.reshape(b, input.shape[0], *out.shape[1:])
    elif not level.has(input) and groups == 1 and not transposed:
        out = _apart(run("_convolution", input, _joined(weight._value), None, *rest, 1), b)
    else:
        out = run("_convolution", _beside(level.full(input)), _joined(weight._value), None, *rest, groups * b)
        out = _apart(out, b)
    if bias is not None and (own_bias or level.has(weight)):
        shift = level.full(bias)
        out = out + shift.reshape(shift.shape[0], 1, shift.shape[1], *(1,) * (out.dim() - 3))
    return out


@rule("_conv_weight")
def conv_weight(
    level: BatchLevel, upstream: Any, input: Any, shape: Any, stride: Any, padding: Any, dilation: Any, groups: int
) -> Any:
    """The weight gradient of each sample: samples become groups of channels."""
    b = level.size
    first, second = _beside(level.full(upstream)), _beside(level.full(input))
    joined = (b * shape[0], *shape[1:])
    out = run("_conv_weight", first, second, joined, stride, padding, dilation, groups * b)
    return out.reshape(b, *shape)


@rule("_conv_tbc")
def conv_tbc(level: BatchLevel, input: Any, weight: Any, bias: Any, pad: int) -> Any:
    """Runs as a convolution of (N, C, T)."""
    x, w = input.permute(1, 2, 0), weight.permute(2, 1, 0)
    return convolution(level, x, w, bias, (1,), (pad,), (1,), False, (0,), 1).permute(0, 3, 1, 2).contiguous()


@rule("_native_batch_norm")
def batch_norm(
    level: BatchLevel, input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: bool,
    momentum: float, eps: float,
) -> Any:  # fmt: skip
    """The channels of each sample are treated as separate channels."""
    if training and any(t is not None and not level.has(t) for t in (running_mean, running_var)):
        raise RuntimeError(
            "Batch norm got a batched tensor as input while the running_mean or running_var, which will be updated in place, were "
            "not batched.\nIf you are using a module and do not need eval mode, please set `track_running_stats` to be False.If "
            "you are using a prebuilt module and do not need eval mode, please see the functorch website for resources on how to "
            "patch your module to work with vmap"
        )
    parameters: Any = [None if t is None else _joined(level.full(t)) for t in (weight, bias, running_mean, running_var)]
    found = run("_native_batch_norm", _beside(level.full(input)), *parameters, training, momentum, eps)
    if training:
        for given, moved in zip((running_mean, running_var), parameters[2:]):
            if given is not None:
                given._value.copy_(moved.reshape(given._value.shape))
    out, mean, rstd = found
    width = mean.shape[0] // max(level.size, 1)
    return _apart(out, level.size), mean.reshape(level.size, width), rstd.reshape(level.size, width)
