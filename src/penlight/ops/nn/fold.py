"""unfold (im2col) and fold (col2im)."""

from __future__ import annotations

from functools import lru_cache
from operator import index
from typing import Any

from ...kernels.conv import fold as kernels
from ...tensor import Tensor
from ..machinery.declare import linear
from ..machinery.guards import plain_numbers
from ..machinery.op import traits

__all__ = ["fold", "unfold"]

Ints = tuple[int, ...]


def _batch(x: Any, dims: int) -> Any:
    """An array with a batch dimension, or a shape with one."""
    if type(x) is tuple:
        return x if len(x) == dims + 2 else (1, *x)
    return x if x.ndim == dims + 2 else x[None]


def _unbatch(result: Any, like: Any, dims: int) -> Any:
    """A result without the batch dimension that `_batch` added to `like`."""
    return result if like.ndim == dims + 2 else result[0]


def _unfold_array(input: Any, kernel_size: Ints, dilation: Ints, padding: Ints, stride: Ints) -> Any:
    return _unbatch(kernels.unfold(_batch(input, 2), kernel_size, dilation, padding, stride), input, 2)


def _fold_array(input: Any, output_size: Ints, kernel_size: Ints, dilation: Ints, padding: Ints, stride: Ints) -> Any:
    return _unbatch(kernels.fold(_batch(input, 1), output_size, kernel_size, dilation, padding, stride), input, 1)


@linear(_unfold_array, node="Im2ColBackward0",
        input=lambda grad, input_shape, kernel_size, dilation, padding, stride, xp:
            xp._col2im(grad, input_shape[-2:], kernel_size, dilation, padding, stride))  # fmt: skip
@traits(refuses={"iu": "im2col_out_cpu"})
def _im2col(input: Tensor, kernel_size: Ints, dilation: Ints, padding: Ints, stride: Ints) -> Tensor: ...


@linear(_fold_array, node="Col2ImBackward0",
        input=lambda grad, kernel_size, dilation, padding, stride, xp:
            xp._im2col(grad, kernel_size, dilation, padding, stride))  # fmt: skip
@traits(refuses={"iu": "col2im_out_cpu"})
def _col2im(
    input: Tensor, output_size: Ints, kernel_size: Ints, dilation: Ints, padding: Ints, stride: Ints
) -> Tensor: ...


def _pair(value: Any, name: str) -> Ints:
    found = (value, value) if isinstance(value, int) else tuple(index(v) for v in value)
    if len(found) == 1:
        return found * 2
    if len(found) != 2:
        raise RuntimeError(f"It is expected {name} equals to 2, but got size {len(found)}")
    return found


def _check(kernel: Ints, dilation: Ints, padding: Ints, stride: Ints) -> None:
    for name, short, values in (
        ("kernel size", "kernel", kernel),
        ("dilation", "dilation", dilation),
        ("stride", "stride", stride),
    ):
        if min(values) <= 0:
            raise RuntimeError(
                f"{name} should be greater than zero, but got {short}_height: {values[0]} {short}_width: {values[1]}"
            )
    if min(padding) < 0:
        raise RuntimeError(f"padding should be non-negative, but got pad_height: {padding[0]} pad_width: {padding[1]}")


def _settle_unfold(size: Ints, kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> tuple[Ints, ...]:
    """The arguments of `unfold` as pairs, checked against an input size."""
    kernel, dilation = _pair(kernel_size, "kernel_size"), _pair(dilation, "dilation")
    padding, stride = _pair(padding, "padding"), _pair(stride, "stride")
    shape = list(size)
    if len(shape) < 3:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-len(shape)}, {len(shape) - 1}], but got 2)"
        )
    _check(kernel, dilation, padding, stride)
    if len(shape) > 4 or 0 in shape[-3:]:
        raise RuntimeError(
            "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, but got: "
            f"{shape}"
        )
    counts = kernels.block_counts(tuple(shape[-2:]), kernel, dilation, padding, stride)
    if min(counts) < 1:
        raise RuntimeError(
            f"Given input with spatial size ({shape[-2]}, {shape[-1]}), kernel_size={kernel}, dilation={dilation}, padding={padding}, "
            f"calculated shape of the array of sliding blocks as {counts}, but its components must be at least one."
        )
    return kernel, dilation, padding, stride


def _settle_fold(
    of: Ints, output_size: Any, kernel_size: Any, dilation: Any, padding: Any, stride: Any
) -> tuple[Ints, ...]:
    """The arguments of `fold` as pairs, checked against an input size."""
    size, kernel = _pair(output_size, "output_size"), _pair(kernel_size, "kernel_size")
    dilation, padding, stride = _pair(dilation, "dilation"), _pair(padding, "padding"), _pair(stride, "stride")
    _check(kernel, dilation, padding, stride)
    shape = list(of)
    if len(shape) not in (2, 3) or 0 in shape[-2:]:
        raise RuntimeError(
            "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions for input, but "
            f"got: {shape}"
        )
    rows, first = kernel[0] * kernel[1], len(shape) - 2
    if shape[first] % rows:
        raise RuntimeError(
            f"Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got input.size(1)="
            f"{shape[first]} and kernel_size={kernel}."
        )
    counts = kernels.block_counts(size, kernel, dilation, padding, stride)
    given = f"Given output_size={size}, kernel_size={kernel}, dilation={dilation}, padding={padding}, stride={stride}, expected"
    if shape[-1] != counts[0] * counts[1]:
        raise RuntimeError(
            f"{given} size of input's dimension 2 to match the calculated number of sliding blocks {counts[0]} * {counts[1]} = "
            f"{counts[0] * counts[1]}, but got input.size(2)={shape[-1]}."
        )
    if min(counts) < 1:
        raise RuntimeError(
            f"{given} calculated shape of the array of sliding blocks as {counts}, which is too small (non-positive)"
        )
    return size, kernel, dilation, padding, stride


_settled_unfold, _settled_fold = lru_cache(256)(_settle_unfold), lru_cache(256)(_settle_fold)


def unfold(input: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Tensor:
    """Every window of images (N, C, H, W) as a column: (N, C * KH * KW, windows).

    >>> torch.nn.functional.unfold(torch.arange(6.0).view(1, 2, 3), 2)
    tensor([[0., 1.],
            [1., 2.],
            [3., 4.],
            [4., 5.]])
    """
    given = kernel_size, dilation, padding, stride
    try:
        settled = _settled_unfold(input.shape, *map(plain_numbers, given))
    except TypeError:  # lists, or wrong types
        settled = _settle_unfold(input.shape, *given)
    return _im2col(input, *settled)


def fold(
    input: Tensor, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Tensor:
    """Columns (N, C * KH * KW, windows) summed into their windows of an image: (N, C, H, W).

    >>> torch.nn.functional.fold(torch.ones(4, 2), (2, 3), 2)
    tensor([[[1., 2., 1.],
             [1., 2., 1.]]])
    """
    given = output_size, kernel_size, dilation, padding, stride
    try:
        settled = _settled_fold(input.shape, *map(plain_numbers, given))
    except TypeError:
        settled = _settle_fold(input.shape, *given)
    return _col2im(input, *settled)
