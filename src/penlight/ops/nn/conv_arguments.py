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


def _expand(value: Any, dims: int, count: int, name: str) -> Ints:
    """One value for each of the weight's `count` dimensions, from a sequence, or a scalar for `dims` dimensions."""
    if type(value) is int:
        found: Ints = (value,) * dims
    else:
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
    for name, values, least in (("padding", padding, 0), ("output_padding", output_padding, 0), ("stride", stride, 1)):
        if min(values) < least:
            raise RuntimeError(f"{'negative' if least == 0 else 'non-positive'} {name} is not supported")
    _check_ranks(x, w)
    _check_dilation(dilation)
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
    if not transposed:
        _check_windows(x, w, padding, dilation)
    if 0 in x[2:] and x[0] and x[1]:
        shown = [*x[:2], 1, x[2]] if len(x) == 3 else list(x)
        raise RuntimeError(f"Only zero batch or zero channel inputs are supported, but got input shape: {shown}")
    if transposed:
        _check_transposed(x, w, stride, padding, dilation, output_padding, groups)
    if 0 in w[2:] and x[0] and x[1]:
        *depth, height, width = (1, *w[2:])[-3 if len(w) > 4 else -2 :]
        size = (
            f": {depth[0]} x {height} x {width} (TxHxW)" if depth else f" kernel_height: {height} kernel_width: {width}"
        )
        raise RuntimeError(f"kernel size should be greater than zero, but got{size}")


def _has_batch(name: str, dims: int, x: Ints, w: Ints) -> bool:
    """Whether the input has a batch; inputs of other ranks and weights without spatial dimensions are refused."""
    batched = len(x) == dims + 2 or name == "convolution"  # which takes nothing else
    if not batched and len(x) != dims + 1:
        raise RuntimeError(
            f"Expected {dims + 1}D (unbatched) or {dims + 2}D (batched) input to {name}, but got input of size: {list(x)}"
        )
    if len(w) < 3:
        raise RuntimeError("weight should have at least three dimensions")
    return batched


def _check_ranks(x: Ints, w: Ints, gap: str = " ") -> None:
    """Refuse a weight with another number of dimensions."""
    if len(w) != len(x):
        raise RuntimeError(
            f"Expected {len(w)}-dimensional input for {len(w)}-dimensional weight{gap}{list(w)}, but got {len(x)}-dimensional "
            f"input of size {list(x)} instead"
        )


def _check_dilation(dilation: Ints) -> None:
    if min(dilation) < 1:
        raise RuntimeError("dilation should be greater than zero")


def _check_windows(x: Ints, w: Ints, padding: Ints, dilation: Ints) -> None:
    padded = [n + 2 * p for n, p in zip(x[2:], padding)]
    kernel = [d * (k - 1) + 1 for k, d in zip(w[2:], dilation)]
    if any(n < k for n, k in zip(padded, kernel)):
        raise RuntimeError(
            f"Calculated padded input size per channel: ({_times(padded)}). Kernel size: ({_times(kernel)}). Kernel size "
            "can't be greater than actual input size"
        )


def _check_transposed(
    x: Ints, w: Ints, stride: Ints, padding: Ints, dilation: Ints, output_padding: Ints, groups: int
) -> None:
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
    batched = _has_batch(name, dims, x, w)
    if groups < 1:
        raise RuntimeError("non-positive groups is not supported")
    given = {"stride": stride, "padding": padding, "dilation": dilation, "output_padding": output_padding}
    stride, padding, dilation, output_padding = (
        _expand(value, dims, len(w) - 2, what) for what, value in given.items()
    )
    shape = x if batched else (1, *x)
    if transposed or not _fits(shape, w, b, stride, padding, dilation, groups):
        _check(shape, w, b, stride, padding, dilation, transposed, output_padding, groups)
    return stride, padding, dilation, output_padding, batched


settled = lru_cache(512)(settle)  # most calls repeat earlier ones


def same_totals(name: str, dims: int, x: Ints, w: Ints, stride: Any, dilation: Any) -> list[int]:
    """How many zeros each dimension gets for a result of the input's size."""
    _check_ranks(x if _has_batch(name, dims, x, w) else (1, *x), w, "")
    for what, values in (("stride", stride), ("dilation", dilation)):
        if isinstance(values, (tuple, list)) and len(values) not in (1, dims):
            raise RuntimeError(f"{what} cannot broadcast to {dims} dimensions")
    if any(s != 1 for s in _expand(stride, dims, dims, "stride")):
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    dilation = _expand(dilation, dims, dims, "dilation")
    _check_dilation(dilation)
    return [d * (k - 1) for k, d in zip(w[2:], dilation)]
