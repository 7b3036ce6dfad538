"""Convolutions and their transposes, in one to three dimensions.

One op serves both: a transposed convolution is the gradient of a convolution in its input. With the gradient in the
weights as a second op, the two are closed under differentiation, so there is every order. The work is in `kernels.conv`.
"""

from __future__ import annotations

import warnings
from functools import lru_cache
from operator import index
from typing import Any, NoReturn

from .. import dtypes
from ..kernels import conv as kernels
from ..tensor import Tensor
from ._declare import OPS, differentiable
from ._guards import not_implemented, plain_numbers, type_name
from ._raw import both
from ._together import saved_as_input

__all__ = [
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "convolution",
]

Ints = tuple[int, ...]

# ----- The ops ------------------------------------------------------------------------------------------------------


def _convolution_array(
    input: Any,
    weight: Any,
    bias: Any,
    stride: Ints,
    padding: Ints,
    dilation: Ints,
    transposed: bool,
    output_padding: Ints,
    groups: int,
) -> Any:
    if transposed:
        shape = _known_shape(input.shape, weight.shape, stride, padding, dilation, output_padding, groups)
        return kernels.conv_input_grad(input, weight, shape, stride, padding, dilation, groups, bias)
    result = kernels.conv(input, weight, stride, padding, dilation, groups, bias)
    return result if input.shape[1] else result[:, :0].copy()  # what PyTorch gives for inputs without channels


def transposed_shape(
    input: Ints, weight: Ints, stride: Ints, padding: Ints, dilation: Ints, output_padding: Ints, groups: int
) -> Ints:
    """The shape of a transposed convolution's result."""
    sizes = zip(input[2:], weight[2:], stride, padding, dilation, output_padding)
    return (input[0], weight[1] * groups, *((n - 1) * s - 2 * p + d * (k - 1) + o + 1 for n, k, s, p, d, o in sizes))


_known_shape = lru_cache(256)(transposed_shape)


def _input_grad_graph(
    grad: Any, weight: Any, shape: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> Any:
    """The gradient of a convolution in its input is a transposed convolution; what the stride left over is padding."""
    none = (0,) * len(stride)
    plain = transposed_shape(tuple(grad.shape), tuple(weight.shape), stride, padding, dilation, none, groups)
    rest = tuple(n - m for n, m in zip(shape[2:], plain[2:]))
    return _convolution(grad, weight, None, stride, padding, dilation, True, rest, groups)


def _forward_graph(input: Any, weight: Any, stride: Ints, padding: Ints, dilation: Ints, groups: int) -> Any:
    return _convolution(input, weight, None, stride, padding, dilation, False, (0,) * len(stride), groups)


both("conv", kernels.conv, _forward_graph)
both("conv_input_grad", kernels.conv_input_grad, _input_grad_graph)


@differentiable(kernels.conv_weight_grad,
                upstream=lambda grad, input, upstream_shape, stride, padding, dilation, groups, xp:
                    xp.cut(xp.conv(xp.conj(input), grad, stride, padding, dilation, groups), upstream_shape),
                input=lambda grad, upstream, input_shape, stride, padding, dilation, groups, xp:
                    xp.conv_input_grad(xp.conj(upstream), grad, input_shape, stride, padding, dilation, groups))  # fmt: skip
def _conv_weight(
    upstream: Tensor, input: Tensor, shape: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> Tensor: ...


def _input_rule(
    grad: Any,
    weight: Any,
    input_shape: Ints,
    stride: Ints,
    padding: Ints,
    dilation: Ints,
    transposed: bool,
    groups: int,
    xp: Any,
) -> Any:
    weight = xp.conj(weight)
    if transposed:
        return xp.cut(xp.conv(grad, weight, stride, padding, dilation, groups), input_shape)
    return xp.conv_input_grad(grad, weight, input_shape, stride, padding, dilation, groups)


def _weight_rule(
    grad: Any,
    input: Any,
    weight_shape: Ints,
    stride: Ints,
    padding: Ints,
    dilation: Ints,
    transposed: bool,
    groups: int,
    xp: Any,
) -> Any:
    if transposed:
        return xp._conv_weight(xp.conj(input), grad, weight_shape, stride, padding, dilation, groups)
    return xp._conv_weight(grad, xp.conj(input), weight_shape, stride, padding, dilation, groups)


def _bias_rule(grad: Any, bias_shape: Ints, xp: Any) -> Any:
    total = xp._sum_dims(grad, (0, *range(2, len(grad.shape))), False)
    return total if tuple(total.shape) == bias_shape else xp.fill_up(total, bias_shape)


@differentiable(
    _convolution_array, node="ConvolutionBackward0", input=_input_rule, weight=_weight_rule, bias=_bias_rule
)
def _convolution(
    input: Tensor, weight: Tensor, bias: Tensor | None, stride: Ints, padding: Ints, dilation: Ints, transposed: bool,
    output_padding: Ints, groups: int,
) -> Tensor: ...  # fmt: skip


saved_as_input(OPS["_convolution"])

# ----- Arguments ----------------------------------------------------------------------------------------------------

_SIGNATURES = (
    " * (Tensor input, Tensor weight, Tensor bias = None, tuple of ints stride = 1, tuple of ints padding = 0, tuple of ints "
    "dilation = 1, int groups = 1)\n"
    ' * (Tensor input, Tensor weight, Tensor bias = None, tuple of ints stride = 1, str padding = "valid", tuple of ints '
    "dilation = 1, int groups = 1)\n"
)


def _refuse(name: str, *arguments: Any) -> NoReturn:
    """PyTorch's error for arguments of wrong types."""
    kinds = ", ".join(type(a).__name__ for a in arguments)
    if "transpose" in name:
        for place, (what, value) in enumerate(zip(("input", "weight"), arguments)):
            if not isinstance(value, Tensor):
                raise TypeError(
                    f"{name}(): argument '{what}' (position {place + 1}) must be Tensor, not {type(value).__name__}"
                )
    raise TypeError(
        f"{name}() received an invalid combination of arguments - got ({kinds}), but expected one of:\n{_SIGNATURES}"
    )


def expand(value: Any, count: int, name: str, function: str) -> Ints:
    """A number for each dimension, from one for all or a sequence."""
    if type(value) is int:
        return (value,) * count
    try:
        found = tuple(index(v) for v in value) if isinstance(value, (tuple, list)) else (index(value),)
    except AttributeError:
        raise TypeError(f"{function}(): argument '{name}' must be tuple of ints, not {type(value).__name__}") from None
    if len(found) == 1:
        return found * count
    if len(found) != count:
        raise RuntimeError(
            f"expected {name} to be a single integer value or a list of {count} values to match the convolution dimensions, "
            f"but got {name}={list(found)}"
        )
    return found


def _fits(x: Ints, w: Ints, bias: Ints | None, stride: Ints, padding: Ints, dilation: Ints, groups: int) -> bool:
    """Whether a plain convolution has nothing to complain about: the quick test before the thorough one."""
    if len(w) != len(x) or groups < 1 or x[1] != w[1] * groups or w[0] < 1 or w[0] % groups:
        return False
    for n, k, s, p, d in zip(x[2:], w[2:], stride, padding, dilation):
        if s < 1 or p < 0 or d < 1 or n < 1 or n + 2 * p <= d * (k - 1):
            return False
    return bias is None or bias == w[:1]


def _check(
    x: Ints,
    w: Ints,
    bias: Ints | None,
    stride: Ints,
    padding: Ints,
    dilation: Ints,
    transposed: bool,
    output_padding: Ints,
    groups: int,
) -> None:
    """Refuse shapes that don't fit, in the order and the words of PyTorch."""
    for name, values, least in (("padding", padding, 0), ("output_padding", output_padding, 0), ("stride", stride, 1),
                                ("groups", (groups,), 1)):  # fmt: skip
        if min(values) < least:
            raise RuntimeError(f"{'negative' if least == 0 else 'non-positive'} {name} is not supported")
    _check_ranks(x, w, dilation)
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
    _check_sizes(x, w, stride, padding, dilation, transposed, output_padding, groups)


def _check_ranks(x: Ints, w: Ints, dilation: Ints, gap: str = " ") -> None:
    """Refuse a weight without dimensions to slide along, or for another number of them, and windows that stand still."""
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
            raise RuntimeError(
                f"Given input size per channel: ({_times(x[2:])}). Calculated output size per channel: ({_times(out)}). Output "
                "size is too small"
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
        return
    padded = [n + 2 * p for n, p in zip(x[2:], padding)]
    kernel = [d * (k - 1) + 1 for k, d in zip(w[2:], dilation)]
    if any(n < k for n, k in zip(padded, kernel)):
        raise RuntimeError(
            f"Calculated padded input size per channel: ({_times(padded)}). Kernel size: ({_times(kernel)}). Kernel size "
            "can't be greater than actual input size"
        )
    if 0 in x[2:] and x[0] and x[1]:
        raise RuntimeError(f"Only zero batch or zero channel inputs are supported, but got input shape: {list(x)}")


def _times(sizes: Any) -> str:
    return " x ".join(map(str, sizes))


def _by_mkldnn(input: Tensor, weight: Tensor, dims: int, groups: int) -> bool:
    """Whether PyTorch would leave a convolution to another library, which has words of its own."""
    batched = input.dim() == dims + 2
    large = dims > 1 and weight.shape[-1] > 3 and weight.shape[-2] > 3
    return groups > 1 or large or (batched and input.shape[0] > 1) or input.numel() > 20480


def _check_dtypes(input: Tensor, weight: Tensor, bias: Tensor | None, dims: int, transposed: bool, groups: int) -> None:
    wrong_weight = input.dtype is not weight.dtype
    if bias is not None and bias.dtype is not input.dtype and not (transposed and wrong_weight):
        from ._guards import c_name

        raise RuntimeError(
            f"Input type ({c_name(input.dtype)}) and bias type ({c_name(bias.dtype)}) should be the same"
        )
    if wrong_weight:
        kinds = dtypes.LEGACY[input.dtype], dtypes.LEGACY[weight.dtype]
        names = f"Input type ({type_name(input.dtype)}) and weight type ({type_name(weight.dtype)}) should be the same"
        if input.is_complex():
            raise RuntimeError(names)
        if input.dtype is dtypes.float32 and _by_mkldnn(input, weight, dims, groups):
            raise RuntimeError(f"{names} or input should be a MKLDNN tensor and weight is a dense tensor")
        if input.dtype is dtypes.bool_ and not transposed:
            raise not_implemented("slow_conv2d_cpu" if dims < 3 else "compute_columns3d", input._array.dtype)
        raise RuntimeError(f"expected scalar type {kinds[0]} but found {kinds[1]}")
    if transposed and input.dtype.category < dtypes.FLOATING and input.dtype is not dtypes.int64:
        raise not_implemented(f"slow_conv_transpose{max(dims, 2)}d_out_cpu", input._array.dtype)
    if input.dtype is dtypes.bool_:
        raise not_implemented("slow_conv2d_cpu" if dims < 3 else "compute_columns3d", input._array.dtype)


def _settle(
    name: str, dims: int, transposed: bool, x: Ints, w: Ints, b: Ints | None, stride: Any, padding: Any, dilation: Any, output_padding: Any,
    groups: int,
) -> tuple[Ints, Ints, Ints, Ints, bool]:  # fmt: skip
    """Stride, padding, dilation and output padding for each dimension, and whether there is a batch, for shapes that fit."""
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


_settled = lru_cache(512)(_settle)  # most calls are like one before


def _run(name: str, dims: int, input: Tensor, weight: Tensor, bias: Tensor | None, stride: Any, padding: Any, dilation: Any,
         transposed: bool, output_padding: Any, groups: int) -> Tensor:  # fmt: skip
    """Any of the convolutions, arguments as they come."""
    try:
        x, w = input._array, weight._array
        b = None if bias is None else bias._array
    except AttributeError:
        _refuse(name, input, weight, *(() if bias is None else (bias,)))
    shapes = x.shape, w.shape, None if b is None else b.shape
    numbers = stride, padding, dilation, output_padding, groups
    try:
        settled = _settled(name, dims, transposed, *shapes, *map(plain_numbers, numbers))
    except TypeError:  # lists, or what is no number
        settled = _settle(name, dims, transposed, *shapes, *numbers)
    stride, padding, dilation, output_padding, batched = settled
    if x.dtype is not w.dtype or x.dtype.kind in "biu" or (b is not None and b.dtype is not x.dtype):
        _check_dtypes(input, weight, bias, dims, transposed, groups)
    if batched:
        return _convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)
    result = _convolution(
        input.unsqueeze(0), weight, bias, stride, padding, dilation, transposed, output_padding, groups
    )
    return result.squeeze(0)


def _forward(
    name: str,
    dims: int,
    input: Tensor,
    weight: Tensor,
    bias: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
) -> Tensor:
    if type(padding) is str:
        if padding not in ("valid", "same"):
            raise RuntimeError(f"Invalid padding string: '{padding}'")
        dilation = expand(dilation, dims, "dilation", name)
        input, padding = _same(name, dims, input, weight, stride, dilation) if padding == "same" else (input, 0)
    return _run(name, dims, input, weight, bias, stride, padding, dilation, False, 0, groups)


_warned: list[bool] = []


def _same(name: str, dims: int, input: Tensor, weight: Tensor, stride: Any, dilation: Ints) -> tuple[Tensor, Ints]:
    """The input and the padding for a result of the input's size. An odd total puts the extra zero at the far end."""
    shape = tuple(input.shape)
    _check_ranks(shape if len(shape) == dims + 2 else (1, *shape), tuple(weight.shape), dilation, "")
    if any(s != 1 for s in expand(stride, dims, "stride", name)):
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    totals = [d * (k - 1) for k, d in zip(weight.shape[2:], dilation)]
    if any(t % 2 for t in totals):
        from .padding import constant_pad_nd

        if not _warned:
            _warned.append(True)
            warnings.warn(
                "Using padding='same' with even kernel lengths and odd dilation may require a zero-padded copy of the input be "
                "created",
                stacklevel=4,
            )
        input = constant_pad_nd(input, [n for t in reversed(totals) for n in (0, t % 2)])
    return input, tuple(t // 2 for t in totals)


# ----- The functions ------------------------------------------------------------------------------------------------


def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Each window of the input (N, C, L) times the weights (O, C / groups, K), summed.

    >>> import penlight as torch
    >>> torch.nn.functional.conv1d(torch.arange(4.0).view(1, 1, 4), torch.ones(1, 1, 2))
    tensor([[[1., 3., 5.]]])
    """
    return _forward("conv1d", 1, input, weight, bias, stride, padding, dilation, groups)


def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Each window of the images (N, C, H, W) times the weights (O, C / groups, KH, KW), summed.

    >>> import penlight as torch
    >>> torch.nn.functional.conv2d(torch.ones(1, 1, 3, 3), torch.ones(1, 1, 2, 2))
    tensor([[[[4., 4.],
              [4., 4.]]]])
    """
    return _forward("conv2d", 2, input, weight, bias, stride, padding, dilation, groups)


def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """`conv2d` with one dimension more.

    >>> import penlight as torch
    >>> torch.nn.functional.conv3d(torch.ones(1, 1, 2, 2, 2), torch.ones(1, 1, 2, 2, 2)).item()
    8.0
    """
    return _forward("conv3d", 3, input, weight, bias, stride, padding, dilation, groups)


def conv_transpose1d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0, output_padding: Any = 0,
                     groups: int = 1, dilation: Any = 1) -> Tensor:  # fmt: skip
    """The gradient of `conv1d` in its input, as a function of its own: each element puts down a copy of the kernel.

    >>> import penlight as torch
    >>> torch.nn.functional.conv_transpose1d(torch.tensor([[[1.0, 2.0]]]), torch.ones(1, 1, 2), stride=2)
    tensor([[[1., 1., 2., 2.]]])
    """
    return _run("conv_transpose1d", 1, input, weight, bias, stride, padding, dilation, True, output_padding, groups)


def conv_transpose2d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0, output_padding: Any = 0,
                     groups: int = 1, dilation: Any = 1) -> Tensor:  # fmt: skip
    """The gradient of `conv2d` in its input, as a function of its own.

    >>> import penlight as torch
    >>> torch.nn.functional.conv_transpose2d(torch.ones(1, 1, 1, 1), torch.ones(1, 1, 2, 2)).shape
    torch.Size([1, 1, 2, 2])
    """
    return _run("conv_transpose2d", 2, input, weight, bias, stride, padding, dilation, True, output_padding, groups)


def conv_transpose3d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0, output_padding: Any = 0,
                     groups: int = 1, dilation: Any = 1) -> Tensor:  # fmt: skip
    """The gradient of `conv3d` in its input, as a function of its own.

    >>> import penlight as torch
    >>> torch.nn.functional.conv_transpose3d(torch.ones(1, 1, 1, 1, 1), torch.ones(1, 1, 2, 2, 2)).shape
    torch.Size([1, 1, 2, 2, 2])
    """
    return _run("conv_transpose3d", 3, input, weight, bias, stride, padding, dilation, True, output_padding, groups)


def convolution(input: Tensor, weight: Tensor, bias: Tensor | None, stride: Any, padding: Any, dilation: Any, transposed: bool,
                output_padding: Any, groups: int) -> Tensor:  # fmt: skip
    """Any of the convolutions, by its full list of arguments.

    >>> import penlight as torch
    >>> torch.convolution(torch.ones(1, 1, 3), torch.ones(1, 1, 2), None, [1], [0], [1], False, [0], 1)
    tensor([[[2., 2.]]])
    """
    dims = weight.dim() - 2
    return _run("convolution", dims, input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)
