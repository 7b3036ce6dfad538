"""Pooling over sliding windows: maxima, means, norms; and the inverse of max pooling.

As in PyTorch, pooling sequences is pooling images of height one.
"""

from __future__ import annotations

from math import prod
from operator import index
from typing import Any

from ... import dtypes
from ...autograd import modes
from ...autograd.node import NO_EDGE
from ...kernels import pool as kernels
from ...tensor import Tensor, wrap
from ..machinery import dispatch
from ..machinery.declare import OPS, differentiable, linear
from ..machinery.guards import not_implemented
from ..machinery.op import traits

__all__ = [
    "avg_pool1d", "avg_pool2d", "avg_pool3d", "lp_pool1d", "lp_pool2d", "lp_pool3d", "max_pool1d",
    "max_pool1d_with_indices", "max_pool2d", "max_pool2d_with_indices", "max_pool3d", "max_pool3d_with_indices",
    "max_unpool1d", "max_unpool2d", "max_unpool3d"
]  # fmt: skip

Ints = tuple[int, ...]
_ONES = {2: (1, 1), 3: (1, 1, 1)}

# ----- The ops ------------------------------------------------------------------------------------------------------


@linear(kernels.max_pool_backward,
        input=lambda grad, indices, dims, xp: xp._pool_gather(grad, indices, dims))  # fmt: skip
def _pool_scatter(input: Tensor, indices: Tensor, shape: Ints, dims: int) -> Tensor: ...


@linear(kernels.pick,
        input=lambda grad, indices, input_shape, dims, xp: xp._pool_scatter(grad, indices, input_shape, dims))  # fmt: skip
def _pool_gather(input: Tensor, indices: Tensor, dims: int) -> Tensor: ...


def _mean_again_rule(grad: Any, kernel_size: Ints, stride: Ints, padding: Ints, ceil_mode: bool, count_include_pad: bool,
                     divisor_override: int | None, xp: Any) -> Any:  # fmt: skip
    mean = xp._avg_pool2d if len(kernel_size) == 2 else xp._avg_pool3d
    return mean(grad, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


@linear(kernels.avg_pool_backward, input=_mean_again_rule)
def _avg_pool_backward(
    input: Tensor, shape: Ints, kernel_size: Ints, stride: Ints, padding: Ints, ceil_mode: bool, count_include_pad: bool,
    divisor_override: int | None,
) -> Tensor: ...  # fmt: skip


def _mean_rule(grad: Any, input_shape: Ints, kernel_size: Ints, stride: Ints, padding: Ints, ceil_mode: bool, count_include_pad: bool,
               divisor_override: int | None, xp: Any) -> Any:  # fmt: skip
    rest = (kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
    return xp._avg_pool_backward(grad, input_shape, *rest)


def _max_rule(grads: Any, input_shape: Ints, result1: Any, kernel_size: Ints, xp: Any) -> Any:
    return xp._pool_scatter(grads[0], result1, input_shape, len(kernel_size))


def _unpool_rule(grad: Any, indices: Any, output_size: Ints, xp: Any) -> Any:
    return xp._pool_gather(grad, indices, len(output_size))


def _declare(dims: int) -> None:
    """Declare the ops for 2 or 3 spatial dimensions; PyTorch has one for each."""

    def largest(
        input: Tensor, kernel_size: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil_mode: bool
    ) -> tuple[Tensor, Tensor]: ...

    def mean(input: Tensor, kernel_size: Ints, stride: Ints, padding: Ints, ceil_mode: bool, count_include_pad: bool,
             divisor_override: int | None) -> Tensor: ...  # fmt: skip

    def unpool(input: Tensor, indices: Tensor, output_size: Ints) -> Tensor: ...

    traits(channels_last=(4,) if dims == 2 else (4, 5), backward="grad input")(largest)
    refused = {} if dims == 2 else {"h": "avg_pool3d_out_frame"}
    traits(channels_last=(4,) if dims == 2 else (), refuses=refused, backward="grad input")(mean)
    traits(channels_last=(4,) if dims == 2 else (), gradient_format="", refuses={"biuc": f"max_unpool{dims}d"})(unpool)
    largest.__name__, mean.__name__, unpool.__name__ = f"_max_pool{dims}d", f"_avg_pool{dims}d", f"_max_unpool{dims}d"
    differentiable(
        kernels.max_pool, node=f"MaxPool{dims}DWithIndicesBackward0", results=("result0", "result1"), input=_max_rule
    )(largest)
    linear(kernels.avg_pool, node=f"AvgPool{dims}DBackward0", input=_mean_rule)(mean)
    linear(kernels.max_unpool, node=f"MaxUnpool{dims}DBackward0", input=_unpool_rule)(unpool)


_declare(2)
_declare(3)

# ----- Arguments ----------------------------------------------------------------------------------------------------

_COUNTS = {1: "one int", 2: "two ints", 3: "three ints"}


def expand(value: Any, dims: int, function: str, name: str) -> Ints:
    """One value for each dimension, from a scalar or a sequence."""
    if type(value) is int:
        return (value,) * dims
    if type(value) is tuple and len(value) == dims:
        return value
    found = tuple(index(v) for v in value) if isinstance(value, (tuple, list)) else (index(value),)
    if len(found) == 1:
        return found * dims
    if len(found) != dims:
        if function == "max_pool1d":
            raise RuntimeError(
                f"max_pool1d() {name} must be an int, list of ints or tuple of ints of size 1 but got size {len(found)}"
            )
        omitted = "omitted, a single int" if name == "stride" else "a single int"
        raise RuntimeError(f"{function}: {name} must either be {omitted}, or a tuple of {_COUNTS[dims]}")
    return found


def _fits(shape: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints) -> bool:
    """Whether the arguments are valid: a quick test before the full checks."""
    dims = len(kernel)
    if len(shape) - dims not in (1, 2) or shape[-dims - 1] < 1:
        return False
    for n, k, s, p, d in zip(shape[-dims:], kernel, stride, padding, dilation):
        if k < 1 or s < 1 or d < 1 or p < 0 or 2 * p > d * (k - 1) + 1 or n < 1 or n + 2 * p <= d * (k - 1):
            return False
    return True


def _check(
    shape: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil_mode: bool, average: bool = False
) -> None:
    """Refuse invalid arguments, with PyTorch's errors. Windows larger than the input are refused only for means of volumes."""
    dims = len(kernel)
    small = average and dims == 3 and any(n < k for n, k in zip(shape[-3:], kernel))
    if not small and _fits(shape, kernel, stride, padding, dilation):
        return
    if max(*kernel, *stride, *padding, *dilation) >= 2**31:
        raise RuntimeError("value cannot be converted to type int without overflow")
    if 0 in stride:
        raise RuntimeError("stride should not be zero")
    if min(kernel) <= 0 or min(stride) < 0 or min(dilation) <= 0:
        for name, values in (("kernel size", kernel), ("stride", stride), ("dilation", dilation)):
            if min(values) <= 0:
                short = {"kernel size": "k", "stride": "d", "dilation": "dilation"}[name]
                sides = " ".join(f"{short}{side}: {n}" for side, n in zip("THW"[-dims:], values))
                raise RuntimeError(f"{name} should be greater than zero, but got {sides}")
    for k, p, d in zip(kernel, padding, dilation):
        if p < 0:
            raise RuntimeError(f"pad must be non-negative, but got pad: {p}")
        if p > (d * (k - 1) + 1) // 2:
            raise RuntimeError(
                f"pad should be at most half of effective kernel size, but got pad={p}, kernel_size={k} and dilation={d}"
            )
    if len(shape) not in (dims + 1, dims + 2):
        raise RuntimeError(f"non-empty {dims + 1}D or {dims + 2}D (batch mode) tensor expected for input")
    if 0 in shape[-dims - 1 :]:
        raise RuntimeError(
            f"Expected {dims + 1}D or {dims + 2}D (batch mode) tensor with optional 0 dim batch size for input, but got:{list(shape)}"
        )
    if small:
        image, window = (" ".join(f"{name}: {n}" for name, n in zip(names, sizes)) for names, sizes in
                         ((("T", "H", "W"), shape[-3:]), (("kT", "kH", "kW"), kernel)))  # fmt: skip
        raise RuntimeError(f"input image ({image}) smaller than kernel size ({window})")
    sizes = kernels.output_sizes(shape[-dims:], kernel, stride, padding, dilation, ceil_mode)
    if min(sizes) < 1:
        channels = shape[-dims - 1]
        was, now = ("x".join(map(str, (channels, *s))) for s in (shape[-dims:], sizes))
        raise RuntimeError(f"Given input size: ({was}). Calculated output size: ({now}). Output size is too small")


# ----- Largest elements ---------------------------------------------------------------------------------------------


def unrecorded(input: Tensor) -> bool:
    """Whether an op on this tensor leaves no trace but its result."""
    return not modes.slow() and (getattr(input, "_edge", None) is NO_EDGE or not modes.is_grad_enabled())


def _max_pool(
    name: str, dims: int, input: Tensor, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool
) -> Any:
    kernel = expand(kernel_size, dims, name, "kernel_size")
    stride = kernel if stride is None or stride == [] or stride == () else expand(stride, dims, name, "stride")
    padding, dilation = expand(padding, dims, name, "padding"), expand(dilation, dims, name, "dilation")
    array = input._array
    _check(array.shape, kernel, stride, padding, dilation, ceil_mode)
    if array.dtype.kind in "bc":
        raise not_implemented(f"max_pool{dims}d", array.dtype)
    return OPS["_max_pool2d" if dims == 2 else "_max_pool3d"].function(
        input, kernel, stride, padding, dilation, ceil_mode
    )


def _check_max_pool_rows(shape: Ints, k: int, s: int, p: int, d: int, ceil_mode: bool) -> None:
    """The full checks for sequences, with PyTorch's errors."""
    if len(shape) not in (2, 3) or 0 in shape[-2:]:
        raise RuntimeError(
            f"max_pool1d: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for input, but got:{list(shape)}"
        )
    for what, value in (("kernel_size", k), ("stride", s), ("padding", p), ("dilation", d)):
        if value < 0 if what == "padding" else value <= 0:
            least = "non-negative" if what == "padding" else "greater than zero"
            raise RuntimeError(f"max_pool1d() {what} must be {least}, but got {value}")
    if p > k // 2:
        raise RuntimeError(
            f"max_pool1d() padding should be at most half of kernel size, but got padding={p} and kernel_size={k}"
        )
    size = kernels.output_sizes(shape[-1:], (k,), (s,), (p,), (d,), ceil_mode)[0]
    if size <= 0:
        raise RuntimeError(f"max_pool1d() Invalid computed output size: {size}")


def _max_pool_rows(
    input: Tensor, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool, alone: bool = False
) -> Any:
    name = "max_pool1d"
    (k,) = expand(kernel_size, 1, name, "kernel_size")
    (s,) = (k,) if stride is None or stride == [] or stride == () else expand(stride, 1, name, "stride")
    (p,), (d,) = expand(padding, 1, name, "padding"), expand(dilation, 1, name, "dilation")
    array = input._array
    if p > k // 2 or not _fits(array.shape, (k,), (s,), (p,), (d,)):
        _check_max_pool_rows(array.shape, k, s, p, d, ceil_mode)
    if alone and array.flags.c_contiguous and unrecorded(input):
        return wrap(kernels.max_pool(array, (k,), (s,), (p,), (d,), ceil_mode)[0]), None
    values, indices = _max_pool("max_pool2d", 2, input.unsqueeze(-2), (1, k), (1, s), (0, p), (1, d), ceil_mode)
    return values.squeeze(-2), indices.squeeze(-2)


def max_pool1d_with_indices(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
                            ceil_mode: bool = False, return_indices: bool = False) -> tuple[Tensor, Tensor]:  # fmt: skip
    """`max_pool1d` together with the indices of the largest elements.

    >>> torch.nn.functional.max_pool1d_with_indices(torch.tensor([[1.0, 3.0, 2.0, 0.0]]), 2)
    (tensor([[3., 2.]]), tensor([[1, 2]]))
    """
    return _max_pool_rows(input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool2d_with_indices(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
                            ceil_mode: bool = False, return_indices: bool = False) -> tuple[Tensor, Tensor]:  # fmt: skip
    """`max_pool2d` together with the indices of the largest elements in the flattened plane.

    >>> torch.nn.functional.max_pool2d_with_indices(torch.tensor([[[1.0, 3.0], [2.0, 0.0]]]), 2)
    (tensor([[[3.]]]), tensor([[[1]]]))
    """
    return _max_pool("max_pool2d", 2, input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool3d_with_indices(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
                            ceil_mode: bool = False, return_indices: bool = False) -> tuple[Tensor, Tensor]:  # fmt: skip
    """`max_pool3d` together with the indices of the largest elements in the flattened volume.

    >>> torch.nn.functional.max_pool3d_with_indices(torch.arange(8.0).view(1, 2, 2, 2), 2)[1]
    tensor([[[[7]]]])
    """
    return _max_pool("max_pool3d", 3, input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool1d(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False,
               return_indices: bool = False) -> Any:  # fmt: skip
    """The largest element of each window of sequences (N, C, L).

    >>> torch.nn.functional.max_pool1d(torch.tensor([[1.0, 3.0, 2.0, 5.0]]), 2)
    tensor([[3., 5.]])
    """
    if not return_indices and not input.dtype.is_floating_point:
        raise not_implemented("max_pool1d_impl", input._array.dtype)
    pair = _max_pool_rows(input, kernel_size, stride, padding, dilation, ceil_mode, not return_indices)
    return pair if return_indices else pair[0]


def max_pool2d(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False,
               return_indices: bool = False) -> Any:  # fmt: skip
    """The largest element of each window of images (N, C, H, W); the stride defaults to the window's size.

    >>> torch.nn.functional.max_pool2d(torch.arange(16.0).view(1, 4, 4), 2)
    tensor([[[ 5.,  7.],
             [13., 15.]]])
    """
    pair = _max_pool("max_pool2d", 2, input, kernel_size, stride, padding, dilation, ceil_mode)
    return pair if return_indices else pair[0]


def max_pool3d(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False,
               return_indices: bool = False) -> Any:  # fmt: skip
    """The largest element of each window of volumes (N, C, D, H, W).

    >>> torch.nn.functional.max_pool3d(torch.arange(8.0).view(1, 2, 2, 2), 2).item()
    7.0
    """
    pair = _max_pool("max_pool3d", 3, input, kernel_size, stride, padding, dilation, ceil_mode)
    return pair if return_indices else pair[0]


# ----- Means and norms ----------------------------------------------------------------------------------------------


def _avg_pool(name: str, dims: int, input: Tensor, kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool, count_include_pad: bool,
              divisor_override: int | None) -> Tensor:  # fmt: skip
    kernel = expand(kernel_size, dims, name, "kernel_size")
    stride = kernel if stride is None or stride == [] or stride == () else expand(stride, dims, name, "stride")
    padding = expand(padding, dims, name, "padding")
    if divisor_override == 0:
        raise RuntimeError("divisor must be not zero")
    array = input._array
    if dims == 2 and array.ndim < 3:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-array.ndim}, {array.ndim - 1}], but got -3)"
        )
    _check(array.shape, kernel, stride, padding, _ONES[dims], ceil_mode, average=True)
    if array.dtype.kind != "f" and input.dtype not in (dtypes.int64, dtypes.bfloat16):
        raise not_implemented("avg_pool2d" if dims == 2 else "avg_pool3d_out_frame", array.dtype)
    op = OPS["_avg_pool2d" if dims == 2 else "_avg_pool3d"].function
    return op(input, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override)


def avg_pool1d(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
               count_include_pad: bool = True) -> Tensor:  # fmt: skip
    """The mean of each window of sequences (N, C, L).

    >>> torch.nn.functional.avg_pool1d(torch.tensor([[1.0, 3.0, 2.0, 6.0]]), 2)
    tensor([[2., 4.]])
    """
    check_rows(input, "avg_pool1d")
    (k,) = expand(kernel_size, 1, "avg_pool1d", "kernel_size")
    (s,) = (k,) if stride is None or stride == [] or stride == () else expand(stride, 1, "avg_pool1d", "stride")
    (p,) = expand(padding, 1, "avg_pool1d", "padding")
    array = input._array
    plain = input.dtype.is_floating_point and array.flags.c_contiguous and unrecorded(input)
    if plain and _fits(array.shape, (k,), (s,), (p,), (1,)):
        return wrap(kernels.avg_pool(array, (k,), (s,), (p,), ceil_mode, count_include_pad))
    return _avg_pool(
        "avg_pool2d", 2, input.unsqueeze(-2), (1, k), (1, s), (0, p), ceil_mode, count_include_pad, None
    ).squeeze(-2)


def check_rows(input: Tensor, name: str) -> None:
    """Refuse an input that is not a sequence with channels."""
    if input.dim() not in (2, 3):
        raise RuntimeError(
            f"Expected 2 to 3 dimensions, but got {input.dim()}-dimensional tensor for argument #1 'self' (while checking "
            f"arguments for {name})"
        )


def avg_pool2d(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
               count_include_pad: bool = True, divisor_override: int | None = None,
               *, out: Tensor | None = None) -> Tensor:  # fmt: skip
    """The mean of each window of images (N, C, H, W); with `divisor_override`, the sum divided by that.

    >>> torch.nn.functional.avg_pool2d(torch.arange(4.0).view(1, 2, 2), 2)
    tensor([[[1.5000]]])
    """
    made = _avg_pool(
        "avg_pool2d", 2, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )
    return dispatch.given("avg_pool2d", made, out)


def avg_pool3d(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
               count_include_pad: bool = True, divisor_override: int | None = None,
               *, out: Tensor | None = None) -> Tensor:  # fmt: skip
    """The mean of each window of volumes (N, C, D, H, W).

    >>> torch.nn.functional.avg_pool3d(torch.arange(8.0).view(1, 2, 2, 2), 2).item()
    3.5
    """
    made = _avg_pool(
        "avg_pool3d", 3, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )
    return dispatch.given("avg_pool3d", made, out)


def _norm_of(mean: Tensor, norm_type: float, count: int) -> Tensor:
    """The norm from the mean of powers; negative sums (odd powers) count as 0 where PyTorch does so."""
    return (mean.sign() * mean.abs().relu()).mul(count).pow(1.0 / norm_type)


def lp_pool1d(input: Tensor, norm_type: float, kernel_size: int, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """The norm of order `norm_type` of each window of sequences.

    >>> torch.nn.functional.lp_pool1d(torch.tensor([[3.0, 4.0]]), 2, 2)
    tensor([[5.]])
    """
    mean = avg_pool1d(input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
    return _norm_of(mean, norm_type, expand(kernel_size, 1, "lp_pool1d", "kernel_size")[0])


def lp_pool2d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """The norm of order `norm_type` of each window of images.

    >>> torch.nn.functional.lp_pool2d(torch.ones(1, 2, 2), 2, 2)
    tensor([[[2.]]])
    """
    kernel = expand(kernel_size, 2, "lp_pool2d", "kernel_size")
    return _norm_of(avg_pool2d(input.pow(norm_type), kernel, stride, 0, ceil_mode), norm_type, prod(kernel))


def lp_pool3d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """The norm of order `norm_type` of each window of volumes.

    >>> torch.nn.functional.lp_pool3d(torch.ones(1, 2, 2, 2), 1, 2).item()
    8.0
    """
    kernel = expand(kernel_size, 3, "lp_pool3d", "kernel_size")
    return _norm_of(avg_pool3d(input.pow(norm_type), kernel, stride, 0, ceil_mode), norm_type, prod(kernel))


# ----- Largest elements put back where pooling found them -------------------------------------------------------------


def _unpool_size(input: Tensor, kernel: Ints, stride: Ints, padding: Ints, output_size: Any) -> Ints:
    """The size of the pooled input: as given, if possible, else the smallest."""
    dims = len(kernel)
    default = tuple((n - 1) * s + k - 2 * p for n, k, s, p in zip(input.shape[-dims:], kernel, stride, padding))
    if output_size is None:
        return default
    given = tuple(output_size)
    if len(given) == dims + 2:
        given = given[2:]
    if len(given) != dims:
        raise ValueError(
            f"output_size should be a sequence containing {dims} or {dims + 2} elements, but it has a length of '{len(given)}'"
        )
    for d in range(dims):
        low, high = default[d] - stride[d], default[d] + stride[d]
        if not low < given[d] < high:
            raise ValueError(f'invalid output_size "{output_size[-dims:]}" (dim {d} must be between {low} and {high})')
    return given


def _max_unpool(
    dims: int, input: Tensor, indices: Tensor, kernel_size: Any, stride: Any, padding: Any, output_size: Any
) -> Tensor:
    name = f"max_unpool{dims}d"
    kernel = expand(kernel_size, dims, name, "kernel_size")
    stride = kernel if stride is None else expand(stride, dims, name, "stride")
    size = _unpool_size(input, kernel, stride, expand(padding, dims, name, "padding"), output_size)
    if dims == 1:
        return _unpooled(2, input.unsqueeze(-1), indices.unsqueeze(-1), (*size, 1)).squeeze(-1)
    return _unpooled(dims, input, indices, size)


def _unpooled(dims: int, input: Tensor, indices: Tensor, size: Ints) -> Tensor:
    if indices.dtype is not dtypes.int64:
        raise RuntimeError(f"elements in indices should be type int64 but got: {dtypes.LEGACY[indices.dtype]}")
    if input.dim() not in (dims + 1, dims + 2):
        raise RuntimeError(
            f"Input to max_unpooling{dims}d should be a {dims + 1}d or {dims + 2}d Tensor, but got a tensor with {input.dim()} dimensions."
        )
    if input.shape != indices.shape:
        raise RuntimeError(
            f"Expected shape of indices to be same as that of the input tensor ({list(input.shape)}) but got indices tensor "
            f"with shape: {list(indices.shape)}"
        )
    return OPS[f"_max_unpool{dims}d"].function(input, indices, size)


def max_unpool1d(
    input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Tensor:
    """The inverse of `max_pool1d`: its maxima at their original positions, zeros elsewhere.

    >>> values, where = torch.nn.functional.max_pool1d(torch.tensor([[1.0, 3.0, 5.0, 2.0]]), 2, return_indices=True)
    >>> torch.nn.functional.max_unpool1d(values, where, 2)
    tensor([[0., 3., 5., 0.]])
    """
    return _max_unpool(1, input, indices, kernel_size, stride, padding, output_size)


def max_unpool2d(
    input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Tensor:
    """The inverse of `max_pool2d`: its maxima at their original positions, zeros elsewhere.

    >>> values, where = torch.nn.functional.max_pool2d(torch.arange(4.0).view(1, 2, 2), 2, return_indices=True)
    >>> torch.nn.functional.max_unpool2d(values, where, 2)
    tensor([[[0., 0.],
             [0., 3.]]])
    """
    return _max_unpool(2, input, indices, kernel_size, stride, padding, output_size)


def max_unpool3d(
    input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Tensor:
    """The inverse of `max_pool3d`: its maxima at their original positions, zeros elsewhere.

    >>> F = torch.nn.functional
    >>> pooled, where = F.max_pool3d_with_indices(torch.arange(8.0).view(1, 2, 2, 2), 2)
    >>> F.max_unpool3d(pooled, where, 2).flatten()
    tensor([0., 0., 0., 0., 0., 0., 0., 7.])
    """
    return _max_unpool(3, input, indices, kernel_size, stride, padding, output_size)
