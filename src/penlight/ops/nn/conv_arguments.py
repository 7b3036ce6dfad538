"""Checks the arguments of convolutions, with PyTorch's errors."""

from __future__ import annotations

from functools import lru_cache
from operator import index
from typing import Any

from ... import dtypes
from ...tensor import Tensor
from ..machinery.guards import c_name, need_one_dtype, not_implemented, type_name

Ints = tuple[int, ...]


def transposed_shape(
    input: Ints, weight: Ints, stride: Ints, padding: Ints, dilation: Ints, output_padding: Ints, groups: int
) -> Ints:
    """The shape of a transposed convolution's result."""
    sizes = zip(input[2:], weight[2:], stride, padding, dilation, output_padding)
    return (input[0], weight[1] * groups, *((n - 1) * s - 2 * p + d * (k - 1) + o + 1 for n, k, s, p, d, o in sizes))


def expand(value: Any, count: int, name: str, function: str) -> Ints:
    """One value for each dimension, from a scalar or a sequence."""
    if type(value) is int:
        return (value,) * count
    found = tuple(index(v) for v in value) if isinstance(value, (tuple, list)) else (index(value),)
    if len(found) == 1:
        return found * count
    if len(found) != count:
        raise RuntimeError(
            f"expected {name} to be a single integer value or a list of {count} values to match the convolution dimensions, "
            f"but got {name}={list(found)}"
        )
    return found


def _fits(x: Ints, w: Ints, bias: Ints | None, stride: Ints, padding: Ints, dilation: Ints, groups: int) -> bool:
    """Whether the arguments of a plain convolution are valid: a quick test before the full checks."""
    if len(w) != len(x) or groups < 1 or x[1] != w[1] * groups or w[0] < 1 or w[0] % groups:
        return False
    for n, k, s, p, d in zip(x[2:], w[2:], stride, padding, dilation):
        if s < 1 or p < 0 or d < 1 or n < 1 or k < 1 or n + 2 * p <= d * (k - 1):
            return False
    return bias is None or bias == w[:1]


def _check(
    x: Ints, w: Ints, bias: Ints | None, stride: Ints, padding: Ints, dilation: Ints, transposed: bool, output_padding: Ints, groups: int,
) -> None:  # fmt: skip
    """Refuse shapes that don't match, in PyTorch's order and with its messages."""
    for name, values, least in (("padding", padding, 0), ("output_padding", output_padding, 0), ("stride", stride, 1),
                                ("groups", (groups,), 1)):  # fmt: skip
        if min(values) < least:
            raise RuntimeError(f"{'negative' if least == 0 else 'non-positive'} {name} is not supported")
    check_ranks(x, w, dilation)
    if len(w) != len(x):
        count = len(w) - 2
        raise RuntimeError(
            f"expected stride to be a single integer value or a list of {count} values to match the convolution dimensions, "
            f"but got stride={list(stride)}"
        )
    if w[0] < groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but got weight of size {list(w)} instead"
        )
    if w[0] % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but got weight of size "
            f"[{list(w)}] instead"
        )
    given = "transposed=1" if transposed else f"groups={groups}"
    channels = w[0] if transposed else w[1] * groups
    if x[1] != channels:
        raise RuntimeError(
            f"Given {given}, weight of size {list(w)}, expected input{list(x)} to have {channels} channels, but got {x[1]} "
            "channels instead"
        )
    results = w[1] * groups if transposed else w[0]
    if bias is not None and bias != (results,):
        given = "Given transposed=1, weight" if transposed else "Given weight"
        raise RuntimeError(
            f"{given} of size {list(w)}, expected bias to be 1-dimensional with {results} elements, but got bias of size "
            f"{list(bias)} instead"
        )
    if 0 in w[2:]:
        *depth, height, width = (1, *w[2:])[-3 if len(w) > 4 else -2 :]
        size = (
            f": {depth[0]} x {height} x {width} (TxHxW)" if depth else f" kernel_height: {height} kernel_width: {width}"
        )
        raise RuntimeError(f"kernel size should be greater than zero, but got{size}")
    _check_sizes(x, w, stride, padding, dilation, transposed, output_padding, groups)


def check_ranks(x: Ints, w: Ints, dilation: Ints, gap: str = " ") -> None:
    """Refuse a weight without spatial dimensions or with another number of them, and dilations of zero."""
    if len(w) < 3:
        raise RuntimeError("weight should have at least three dimensions")
    if len(w) != len(x) and (len(x) == 3 or not gap):
        raise RuntimeError(
            f"Expected {len(w)}-dimensional input for {len(w)}-dimensional weight{gap}{list(w)}, but got {len(x)}-dimensional "
            f"input of size {list(x)} instead"
        )
    if min(dilation) < 1:
        raise RuntimeError("dilation should be greater than zero")


def _check_sizes(
    x: Ints, w: Ints, stride: Ints, padding: Ints, dilation: Ints, transposed: bool, output_padding: Ints, groups: int
) -> None:
    if transposed:
        out = transposed_shape(x, w, stride, padding, dilation, output_padding, groups)[2:]
        if min(out) <= 0:
            height = (1,) * (len(out) == 1)  # sequences are images of height 1
            raise RuntimeError(
                f"Given input size per channel: ({_times((*height, *x[2:]))}). Calculated output size per channel: "
                f"({_times((*height, *out))}). Output size is too small"
            )
        if any(o >= s and o >= d for o, s, d in zip(output_padding, stride, dilation)):
            names = ("depth", "height", "width")[-len(stride) :] if len(stride) > 1 else ("height", "width")
            columns = [v if len(v) > 1 else (0 if what == "output_padding" else 1, *v)
                       for what, v in (("output_padding", output_padding), ("stride", stride), ("dilation", dilation))]  # fmt: skip
            listed = " ".join(
                f"{what}_{side}: {n}"
                for what, v in zip(("output_padding", "stride", "dilation"), columns)
                for side, n in zip(names, v)
            )
            raise RuntimeError(f"output padding must be smaller than either stride or dilation, but got {listed}")
        _refuse_empty_images(x)
        return
    padded = [n + 2 * p for n, p in zip(x[2:], padding)]
    kernel = [d * (k - 1) + 1 for k, d in zip(w[2:], dilation)]
    if any(n < k for n, k in zip(padded, kernel)):
        raise RuntimeError(
            f"Calculated padded input size per channel: ({_times(padded)}). Kernel size: ({_times(kernel)}). Kernel size "
            "can't be greater than actual input size"
        )
    _refuse_empty_images(x)


def _refuse_empty_images(x: Ints) -> None:
    if 0 in x[2:] and x[0] and x[1]:
        raise RuntimeError(f"Only zero batch or zero channel inputs are supported, but got input shape: {list(x)}")


def _times(sizes: Any) -> str:
    return " x ".join(map(str, sizes))


def _by_mkldnn(input: Tensor, weight: Tensor, dims: int, groups: int) -> bool:
    """Whether PyTorch would use another library for a convolution, which has other messages."""
    batched = input.dim() == dims + 2
    large = dims > 1 and weight.shape[-1] > 3 and weight.shape[-2] > 3
    return groups > 1 or large or (batched and input.shape[0] > 1) or input.numel() > 20480


def check_dtypes(input: Tensor, weight: Tensor, bias: Tensor | None, dims: int, transposed: bool, groups: int) -> None:
    wrong_weight = input.dtype is not weight.dtype
    if bias is not None and bias.dtype is not input.dtype and not (transposed and wrong_weight):
        raise RuntimeError(
            f"Input type ({c_name(input.dtype)}) and bias type ({c_name(bias.dtype)}) should be the same"
        )
    if wrong_weight:
        names = f"Input type ({type_name(input.dtype)}) and weight type ({type_name(weight.dtype)}) should be the same"
        if input.is_complex():
            raise RuntimeError(names)
        if input.dtype is dtypes.float32 and _by_mkldnn(input, weight, dims, groups):
            raise RuntimeError(f"{names} or input should be a MKLDNN tensor and weight is a dense tensor")
        if input.dtype is dtypes.bool_ and not transposed:
            raise not_implemented("slow_conv2d_cpu" if dims < 3 else "compute_columns3d", input._array.dtype)
        need_one_dtype(input, weight)
    if transposed and input.dtype.category < dtypes.FLOATING and input.dtype is not dtypes.int64:
        raise not_implemented(f"slow_conv_transpose{max(dims, 2)}d_out_cpu", input._array.dtype)
    if input.dtype is dtypes.bool_:
        raise not_implemented("slow_conv2d_cpu" if dims < 3 else "compute_columns3d", input._array.dtype)


def settle(
    name: str, dims: int, transposed: bool, x: Ints, w: Ints, b: Ints | None, stride: Any, padding: Any, dilation: Any, output_padding: Any,
    groups: int,
) -> tuple[Ints, Ints, Ints, Ints, bool]:  # fmt: skip
    """Stride, padding, dilation and output padding for each dimension, and whether there is a batch, for valid shapes."""
    batched = len(x) == dims + 2
    if not batched and len(x) != dims + 1:
        raise RuntimeError(
            f"Expected {dims + 1}D (unbatched) or {dims + 2}D (batched) input to {name}, but got input of size: {list(x)}"
        )
    stride, dilation = expand(stride, dims, "stride", name), expand(dilation, dims, "dilation", name)
    padding, output_padding = (
        expand(padding, dims, "padding", name),
        expand(output_padding, dims, "output_padding", name),
    )
    shape = x if batched else (1, *x)
    if transposed or not _fits(shape, w, b, stride, padding, dilation, groups):
        _check(shape, w, b, stride, padding, dilation, transposed, output_padding, groups)
    return stride, padding, dilation, output_padding, batched


settled = lru_cache(512)(settle)  # most calls repeat earlier ones
