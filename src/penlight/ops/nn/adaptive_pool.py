"""Pooling to a given output size, over windows that divide the input evenly or are placed at random."""

from __future__ import annotations

from operator import index
from typing import Any

from ...kernels import pool as kernels
from ...random import rand
from ...tensor import Tensor, wrap
from ..machinery.declare import OPS, differentiable, linear
from ..machinery.guards import need_countable, not_implemented
from ..machinery.op import traits
from .pool import check_rows, unrecorded

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d",
    "adaptive_max_pool1d_with_indices", "adaptive_max_pool2d", "adaptive_max_pool2d_with_indices",
    "adaptive_max_pool3d", "adaptive_max_pool3d_with_indices", "fractional_max_pool2d",
    "fractional_max_pool2d_with_indices", "fractional_max_pool3d", "fractional_max_pool3d_with_indices"
]  # fmt: skip

Ints = tuple[int, ...]


def _mean_again_rule(grad: Any, input_shape: Ints, dims: int, xp: Any) -> Any:
    return (xp._adaptive_avg_pool2d if dims == 2 else xp._adaptive_avg_pool3d)(grad, input_shape[-dims:])


@linear(kernels.adaptive_avg_pool_backward, input=_mean_again_rule)
def _adaptive_avg_backward(input: Tensor, shape: Ints, dims: int) -> Tensor: ...


def _mean_rule(grad: Any, input_shape: Ints, output_size: Ints, xp: Any) -> Any:
    return xp._adaptive_avg_backward(grad, input_shape, len(output_size))


def _max_rule(grads: Any, input_shape: Ints, result1: Any, output_size: Ints, xp: Any) -> Any:
    return xp._pool_scatter(grads[0], result1, input_shape, len(output_size))


def _declare(dims: int) -> None:
    """Declare the ops for 2 or 3 spatial dimensions; PyTorch has one for each."""

    def mean(input: Tensor, output_size: Ints) -> Tensor: ...

    def largest(input: Tensor, output_size: Ints) -> tuple[Tensor, Tensor]: ...

    def fractional(input: Tensor, kernel_size: Ints, output_size: Ints, samples: Tensor) -> tuple[Tensor, Tensor]: ...

    pair, followed = ("result0", "result1"), traits(channels_last=(4,) if dims == 2 else (), backward="grad input")
    followed(mean), followed(largest)
    traits(refuses={"biuc": f"fractional_max_pool{dims}d_out_frame"}, backward="grad input")(fractional)
    mean.__name__, largest.__name__ = f"_adaptive_avg_pool{dims}d", f"_adaptive_max_pool{dims}d"
    fractional.__name__ = f"_fractional_max_pool{dims}d"
    linear(kernels.adaptive_avg_pool, node=f"AdaptiveAvgPool{dims}DBackward0", input=_mean_rule)(mean)
    differentiable(kernels.adaptive_max_pool, node=f"AdaptiveMaxPool{dims}DBackward0", results=pair, input=_max_rule)(
        largest
    )
    differentiable(
        kernels.fractional_max_pool, node=f"FractionalMaxPool{dims}DBackward0", results=pair, input=_max_rule
    )(fractional)


_declare(2)
_declare(3)


def _output_size(value: Any, input: Tensor, dims: int, name: str) -> Ints:
    """The requested size; None keeps the size of a dimension."""
    single = isinstance(value, int) or value is None
    given = (value,) * dims if single else tuple(value)
    if dims > 1 and not single and input.dim() <= len(given):
        raise ValueError(f"Input dimension should be at least {len(given) + 1}")
    if len(given) != dims:
        if dims == 1:
            raise RuntimeError(f"{name}() argument 'output_size' should contain one int (got {len(given)})")
        if "max" in name:
            raise RuntimeError(f"{name}(): internal error: output_size.size() must be {dims}")
        raise RuntimeError(f"{name}: output_size must be {dims}")
    size = tuple(n if v is None else index(v) for v, n in zip(given, input.shape[-dims:]))
    if dims == 1:
        need_countable((*input.shape[:-1], 1, *size), input.element_size())
    return size


def _check(input: Tensor, size: Ints, dims: int, name: str) -> None:
    shape = list(input.shape)
    if len(shape) not in (dims + 1, dims + 2):
        mark = ":" if "max" in name else ""
        raise RuntimeError(f"{name}(): Expected {dims + 1}D or {dims + 2}D tensor, but got{mark} {shape}")
    if min(size) < 0:
        if "max" in name:
            raise RuntimeError(
                f"Trying to create tensor with negative dimension {min(size)}: {[*shape[:-dims], *size]}"
            )
        listed = ", ".join(map(str, size)) if dims == 2 else f"{size[0]}, {size[1]},{size[2]}"
        raise RuntimeError(
            f"{name}: elements of output_size must be greater than or equal to 0 but received {{{listed}}}"
        )
    for d in range(1 if "max" in name or dims == 3 else len(shape) - dims, len(shape)):
        if shape[d] == 0:
            raise RuntimeError(
                f"{name}(): Expected input to have non-zero size for non-batch dimensions, but input has sizes {shape} with "
                f"dimension {d} being empty"
            )
    result = (*shape[:-dims], *size)
    if "max" in name or 1 in size:
        need_countable(result, input.element_size())
    else:
        need_countable(result)


def _average(dims: int, input: Tensor, output_size: Any) -> Tensor:
    name = f"adaptive_avg_pool{dims}d"
    size = _output_size(output_size, input, dims, name)
    _check(input, size, dims, name)
    if all(n == 1 for n in size):
        return input.mean(tuple(range(-dims, 0)), True)
    if input._array.dtype.kind not in "fV" and (dims == 3 or input._array.size):
        raise not_implemented(name if dims == 2 else name + "_cpu", input._array.dtype)
    return OPS["_adaptive_avg_pool2d" if dims == 2 else "_adaptive_avg_pool3d"].function(input, size)


def _largest(dims: int, input: Tensor, output_size: Any) -> Any:
    name = f"adaptive_max_pool{dims}d"
    size = _output_size(output_size, input, dims, name)
    _check(input, size, dims, name)
    if input._array.dtype.kind not in "fV":
        raise not_implemented(name if dims == 2 else name + "_cpu", input._array.dtype)
    return OPS[f"_adaptive_max_pool{dims}d"].function(input, size)


def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Tensor:
    """Means over windows that divide sequences evenly into `output_size` parts.

    >>> torch.nn.functional.adaptive_avg_pool1d(torch.tensor([[1.0, 3.0, 2.0, 6.0]]), 2)
    tensor([[2., 4.]])
    """
    check_rows(input, "adaptive_avg_pool1d")
    (size,) = _output_size(output_size, input, 1, "adaptive_avg_pool1d")
    array = input._array
    if size > 0 and array.size and array.flags.c_contiguous and input.dtype.is_floating_point and unrecorded(input):
        return wrap(kernels.adaptive_avg_pool(array, (size,)))
    return _average(2, input.unsqueeze(-2), (1, size)).squeeze(-2)


def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """Means over windows that divide images evenly; None keeps the size of a dimension.

    >>> torch.nn.functional.adaptive_avg_pool2d(torch.arange(4.0).view(1, 2, 2), 1)
    tensor([[[1.5000]]])
    """
    return _average(2, input, output_size)


def adaptive_avg_pool3d(input: Tensor, output_size: Any) -> Tensor:
    """Means over windows that divide volumes evenly.

    >>> torch.nn.functional.adaptive_avg_pool3d(torch.ones(1, 4, 4, 4), 1)
    tensor([[[[1.]]]])
    """
    return _average(3, input, output_size)


def adaptive_max_pool1d_with_indices(
    input: Tensor, output_size: Any, return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """`adaptive_max_pool1d` together with the indices of the largest elements.

    >>> torch.nn.functional.adaptive_max_pool1d_with_indices(torch.tensor([[1.0, 3.0, 2.0, 0.0]]), 2)
    (tensor([[3., 2.]]), tensor([[1, 2]]))
    """
    check_rows(input, "adaptive_max_pool1d")
    (size,) = _output_size(output_size, input, 1, "adaptive_max_pool1d")
    array = input._array
    if size > 0 and array.size and input.dtype.is_floating_point and unrecorded(input):
        values, indices = kernels.adaptive_max_pool(array, (size,))
        return wrap(values), wrap(indices)
    values, indices = _largest(2, input.unsqueeze(-2), (1, size))
    return values.squeeze(-2), indices.squeeze(-2)


def adaptive_max_pool2d_with_indices(
    input: Tensor, output_size: Any, return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """`adaptive_max_pool2d` together with the indices of the largest elements in the flattened plane.

    >>> torch.nn.functional.adaptive_max_pool2d_with_indices(torch.tensor([[[1.0, 3.0], [2.0, 0.0]]]), 1)
    (tensor([[[3.]]]), tensor([[[1]]]))
    """
    return _largest(2, input, output_size)


def adaptive_max_pool3d_with_indices(
    input: Tensor, output_size: Any, return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """`adaptive_max_pool3d` together with the indices of the largest elements in the flattened volume.

    >>> torch.nn.functional.adaptive_max_pool3d_with_indices(torch.arange(8.0).view(1, 2, 2, 2), 1)[1]
    tensor([[[[7]]]])
    """
    return _largest(3, input, output_size)


def adaptive_max_pool1d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """Largest elements of windows that divide sequences evenly.

    >>> torch.nn.functional.adaptive_max_pool1d(torch.tensor([[1.0, 3.0, 2.0, 6.0]]), 2)
    tensor([[3., 6.]])
    """
    pair = adaptive_max_pool1d_with_indices(input, output_size)
    return pair if return_indices else pair[0]


def adaptive_max_pool2d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """Largest elements of windows that divide images evenly.

    >>> torch.nn.functional.adaptive_max_pool2d(torch.arange(4.0).view(1, 2, 2), 1).item()
    3.0
    """
    pair = _largest(2, input, output_size)
    return pair if return_indices else pair[0]


def adaptive_max_pool3d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """Largest elements of windows that divide volumes evenly.

    >>> torch.nn.functional.adaptive_max_pool3d(torch.arange(8.0).view(1, 2, 2, 2), 1)
    tensor([[[[7.]]]])
    """
    pair = _largest(3, input, output_size)
    return pair if return_indices else pair[0]


# ----- Windows placed by chance -------------------------------------------------------------------------------------


def _fractional(
    dims: int, input: Tensor, kernel_size: Any, output_size: Any, output_ratio: Any, samples: Tensor | None
) -> Any:
    name = f"fractional_max_pool{dims}d"
    if output_size is None and output_ratio is None:
        raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
    where, shape = name if dims == 2 else name + "_out", list(input.shape)
    if input.dim() not in (dims + 1, dims + 2):
        if samples is None and input.dim() <= dims:  # PyTorch reads the channels first, to draw samples for each
            input.size(0 if input.dim() == 0 else -dims - 1)
        raise RuntimeError(f"{where}(): Expected {dims + 1}D or {dims + 2}D tensor, but got: {shape}")
    if 0 in shape[-dims - 1 :]:
        empty = shape.index(0, len(shape) - dims - 1)
        raise RuntimeError(
            f"{where}(): Expected input to have non-zero size for non-batch dimensions, but got{shape} with dimension "
            f"{empty} being empty."
        )
    kernel = (kernel_size,) * dims if isinstance(kernel_size, int) else tuple(kernel_size)
    count_words = "tuple of Ints" if dims == 2 else "tuple of three Ints"
    if len(kernel) != dims:
        raise RuntimeError(f"{name}: kernel_size must either be a single Int or {count_words}")
    if min(kernel) < 1:
        raise RuntimeError(f"{name}(): kernel_size must be positive, but got {kernel_size}")
    sizes = tuple(input.shape[-dims:])
    if output_size is None:
        ratio = (output_ratio,) * dims if isinstance(output_ratio, float) else tuple(output_ratio)
        size = tuple(int(n * r) for n, r in zip(sizes, ratio))
    else:
        size = (output_size,) * dims if isinstance(output_size, int) else tuple(output_size)
        if len(size) != dims:
            raise RuntimeError(f"{name}: output_size must either be a single Int or {count_words}")
    if min(size) < 0:
        raise RuntimeError(
            f"Trying to create tensor with negative dimension {min(size)}: {[*input.shape[:-dims], *size]}"
        )
    for side, n, k, o in zip(("time", "height", "width")[-dims:], sizes, kernel, size):
        if o + k - 1 > n or (dims == 3 and o + k - 1 == n):
            raise RuntimeError(f"{where}(): pool {side} {k} too large relative to input {side} {n}")
    count = input.shape[0] if input.dim() == dims + 2 else 1
    if samples is None:
        samples = rand(count, input.shape[-dims - 1], dims, dtype=input.dtype)
    if samples.dtype is not input.dtype:
        raise RuntimeError("Expect _random_samples to have the same dtype as input")
    if samples.dim() != 3:
        raise RuntimeError(f"Expect _random_samples to have 3 dimensions, got {samples.dim()}")
    if samples.shape[0] < count:
        raise RuntimeError("Expect _random_samples.size(0) no less then input batch size.")
    if samples.shape[1] != input.shape[-dims - 1]:
        raise RuntimeError("Expect _random_samples.size(1) equals to input channel size.")
    if samples.shape[2] != dims:
        raise RuntimeError(f"Expect _random_samples.size(2) equals to {dims}; got {samples.shape[2]}.")
    samples = samples[:count]
    return OPS[f"_{name}"].function(input, kernel, size, samples)


def fractional_max_pool2d_with_indices(input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None,
                                       return_indices: bool = False, _random_samples: Tensor | None = None) -> tuple[Tensor, Tensor]:  # fmt: skip
    """`fractional_max_pool2d` together with the indices of the largest elements.

    >>> torch.nn.functional.fractional_max_pool2d_with_indices(torch.rand(1, 6, 6), 2, output_size=3)[1].shape
    torch.Size([1, 3, 3])
    """
    return _fractional(2, input, kernel_size, output_size, output_ratio, _random_samples)


def fractional_max_pool3d_with_indices(input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None,
                                       return_indices: bool = False, _random_samples: Tensor | None = None) -> tuple[Tensor, Tensor]:  # fmt: skip
    """`fractional_max_pool3d` together with the indices of the largest elements.

    >>> torch.nn.functional.fractional_max_pool3d_with_indices(torch.rand(1, 6, 6, 6), 2, output_size=3)[1].shape
    torch.Size([1, 3, 3, 3])
    """
    return _fractional(3, input, kernel_size, output_size, output_ratio, _random_samples)


def fractional_max_pool2d(input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: bool = False,
                          _random_samples: Tensor | None = None) -> Any:  # fmt: skip
    """Largest elements of windows at random distances; the output size need not divide the input's.

    >>> torch.nn.functional.fractional_max_pool2d(torch.zeros(1, 8, 8), 2, output_size=5).shape
    torch.Size([1, 5, 5])
    """
    pair = _fractional(2, input, kernel_size, output_size, output_ratio, _random_samples)
    return pair if return_indices else pair[0]


def fractional_max_pool3d(input: Tensor, kernel_size: Any, output_size: Any = None, output_ratio: Any = None, return_indices: bool = False,
                          _random_samples: Tensor | None = None) -> Any:  # fmt: skip
    """`fractional_max_pool2d` for three spatial dimensions.

    >>> torch.nn.functional.fractional_max_pool3d(torch.rand(1, 6, 6, 6), 2, output_size=3).shape
    torch.Size([1, 3, 3, 3])
    """
    pair = _fractional(3, input, kernel_size, output_size, output_ratio, _random_samples)
    return pair if return_indices else pair[0]
