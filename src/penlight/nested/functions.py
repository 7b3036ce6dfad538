"""The functions that support nested tensors: see Note [Nested tensors] in tensor.py."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

import penlight

from .._common.dims import wrap_existing_dim
from ..ops.shape.views import _nested_get_values
from ..tensor import Tensor, wrap
from .tensor import (
    TABLE,
    NestedTensor,
    RaggedSize,
    dense_dim,
    from_components,
    from_padded,
    inner,
    like,
    members,
    padded,
    plain,
    refuse,
)


def function(names: str) -> Callable[[Any], Any]:
    """Register a function in the table, under these names. It is called with the public function and its arguments."""

    def enter(made: Any) -> Any:
        TABLE.update(dict.fromkeys(names.split(), made))
        return made

    return enter


# ----- On the values, element by element --------------------------------------------------------------------------------

_ONE_OPERAND = """
    abs absolute acos acosh alpha_dropout angle arccos arccosh arcsin arcsinh arctan arctanh asin asinh atan atanh bitwise_not ceil celu
    clamp clamp_max clamp_min clip cos cosh deg2rad digamma dropout elu erf erfc erfinv exp exp2 expit expm1 fill fix floor frac gelu hardshrink
    hardsigmoid hardswish hardtanh i0 isfinite isinf isnan isneginf isposinf isreal leaky_relu lgamma log log10 log1p log2 logical_not logit
    logsigmoid mish mvlgamma nan_to_num neg negative polygamma positive rad2deg reciprocal relu relu6 round rrelu rsqrt selu sgn sigmoid sign
    signbit silu sin sinc sinh softplus softshrink softsign sqrt square tan tanh tanhshrink threshold trunc zero"""
_SEVERAL_OPERANDS = """
    add addcdiv addcmul arctan2 atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor copy copysign div divide eq
    float_power floor_divide fmax fmin fmod ge gcd greater greater_equal gt heaviside hypot isclose lcm ldexp le lerp less less_equal
    logaddexp logaddexp2 logical_and logical_or logical_xor lt masked_fill maximum minimum mul multiply ne nextafter not_equal pow remainder
    rsub sub subtract true_divide where xlogy"""
_OPERATORS = """
    __and__ __eq__ __floordiv__ __invert__ __lshift__ __or__ __rfloordiv__ __rlshift__ __rmod__ __rpow__ __rrshift__ __rshift__ __rsub__
    __rtruediv__ __xor__"""
_ELEMENTWISE = (_ONE_OPERAND + _SEVERAL_OPERANDS).split()
_IN_PLACE = {name + "_" for name in _ELEMENTWISE} | {"__iand__", "__ilshift__", "__ior__", "__irshift__", "__ixor__"}


@function(" ".join([*_ELEMENTWISE, *_IN_PLACE, _OPERATORS]))
def elementwise(func: Any, *args: Any, **kwargs: Any) -> Any:
    name, tensor = func.__name__, _nested(args, kwargs)
    if name in _IN_PLACE and args[0] is not tensor:
        raise _misfit(name, args[0].shape, tensor.shape)
    if kwargs.get("out") is not None or (name == "where" and len(args) + len(kwargs) == 1):
        refuse(name)
    given = {key: _operand(name, tensor, value) for key, value in kwargs.items()}
    return like(tensor, func(*(_operand(name, tensor, a) for a in args), **given))


def _nested(args: Any, kwargs: Any) -> Any:
    """The first nested tensor among some arguments."""
    return next(a for a in (*args, *kwargs.values()) if isinstance(a, NestedTensor))


def _misfit(name: str, *shapes: Any) -> Exception:
    return RuntimeError(
        f"cannot call binary pointwise function {plain(name)}.Tensor with inputs of shapes {shapes[0]} and {shapes[1]}. Nested tensors can "
        "be combined if they share their offsets, as in torch.nested.nested_tensor_from_jagged(values, other.offsets())"
    )


def fitting(name: str, tensor: Any, other: Any) -> Tensor:
    """The values of another nested tensor, if its components have the same offsets and sizes."""
    dims = (tensor._ragged_idx, tensor.ndim) == (other._ragged_idx, other.ndim)
    if not dims or not tensor._segments.fits(other._segments):
        raise _misfit(name, tuple(tensor.shape), tuple(other.shape))
    return other._inner


def _operand(name: str, tensor: Any, value: Any) -> Any:
    """The dense counterpart of an argument, to combine with a nested tensor's values. A dense tensor broadcasts as with a padded one."""
    if isinstance(value, NestedTensor):
        return fitting(name, tensor, value)
    if not isinstance(value, Tensor) or not value.dim():
        return value
    if value.dim() > tensor.ndim:
        raise NotImplementedError("NYI: broadcasting NT with T with larger dim")
    ragged = value.dim() - tensor.ndim + tensor._ragged_idx  # the dimension that broadcasts with the ragged one
    if value.dim() == tensor.ndim and value.shape[0] == len(tensor):
        sizes = list(value.shape)
        sizes[ragged] = max(tensor._segments.longest, tensor._max_seqlen)
        return from_padded(tensor, value.expand(sizes))
    if (ragged >= 0 and value.shape[ragged] != 1) or (value.dim() == tensor.ndim and value.shape[0] != 1):
        raise _misfit(name, tensor.shape, value.shape)
    return value.squeeze(0) if value.dim() == tensor.ndim else value


# ----- On the values as they are ----------------------------------------------------------------------------------------


@function(
    """bfloat16 bool byte char clone cpu cuda detach double embedding element_size empty_like float full_like get_device half int is_complex
    is_conj is_floating_point is_inference is_neg is_pinned is_shared is_signed long one_hot ones_like rand_like randint_like randn_like
    resolve_conj resolve_neg result_type retain_grad share_memory_ short to type type_as zeros_like"""
)
def on_values(func: Any, *args: Any, **kwargs: Any) -> Any:
    kwargs.pop("layout", None)
    return like(_nested(args, kwargs), func(*inner(args), **inner(kwargs)))


@function("contiguous")
def contiguous(func: Any, tensor: Any, memory_format: Any = None) -> Any:
    if not tensor._segments.packed:
        return from_components(tensor.unbind(), tensor._ragged_idx - 1)
    return like(tensor, tensor._inner.contiguous())


@function("values")
def values(func: Any, tensor: Any) -> Tensor:
    return _nested_get_values(tensor._inner)


@function("unbind")
def unbind(func: Any, tensor: Any, dim: int = 0) -> tuple[Tensor, ...]:
    if wrap_existing_dim(dim, tensor.ndim):
        raise RuntimeError("unbind(): only supported for NestedTensor on dim=0")
    segments, along = tensor._segments, tensor._ragged_idx - 1
    if segments.packed:
        return tensor._inner.split(segments.counts.tolist(), along)
    pairs = zip(segments.starts.tolist(), segments.counts.tolist())
    return tuple(tensor._inner.narrow(along, start, count) for start, count in pairs)


@function("size")
def size(func: Any, tensor: Any, dim: int | None = None) -> Any:
    return tensor.shape if dim is None else tensor.shape[wrap_existing_dim(dim, tensor.ndim)]


@function("stride")
def stride(func: Any, tensor: Any, dim: int | None = None) -> Any:
    steps = tensor._inner.stride()
    along = tensor._segments.size * steps[tensor._ragged_idx - 1]
    return (along, *steps) if dim is None else (along, *steps)[wrap_existing_dim(dim, tensor.ndim)]


@function("numel nelement")
def numel(func: Any, tensor: Any) -> int:
    rest = [n for d, n in enumerate(tensor._inner.shape, 1) if d != tensor._ragged_idx]
    return int(tensor._segments.counts.sum() * np.prod(rest, dtype=np.int64))


@function("requires_grad_ _require_grad_")
def requires_grad_(func: Any, tensor: Any, requires_grad: bool = True) -> Any:
    if requires_grad and not tensor.requires_grad:
        tensor._inner = tensor._inner.detach()  # the values may be the user's own tensor
    func(tensor._inner, requires_grad)
    return tensor


@function("register_hook")
def register_hook(func: Any, tensor: Any, hook: Callable[[Any], Any]) -> Any:
    return tensor._inner.register_hook(lambda grad: inner(hook(like(tensor, grad))))


@function("backward")
def backward(func: Any, *args: Any, **kwargs: Any) -> Any:
    return func(*inner(args), **inner(kwargs))


@function("grad")
def grad(func: Any, outputs: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
    grads = func(inner(outputs), inner(inputs), *inner(args), **inner(kwargs))
    leaves = [inputs] if isinstance(inputs, Tensor) else inputs
    return tuple(like(leaf, g) if isinstance(leaf, NestedTensor) else g for leaf, g in zip(leaves, grads))


def _refusing(error: type[Exception], words: str) -> Callable[..., NoReturn]:
    def raise_error(*_: Any, **__: Any) -> NoReturn:
        raise error(words)

    return raise_error


TABLE.update(
    dim=lambda func, tensor: tensor.ndim,
    ndimension=lambda func, tensor: tensor.ndim,
    is_contiguous=lambda func, tensor, **_: tensor._lengths is None and tensor._inner.is_contiguous(),
    is_same_size=lambda func, tensor, other: tensor.shape == other.shape,
    __format__=lambda func, tensor, spec: object.__format__(tensor, spec),
    item=lambda func, tensor: members(tensor).item(),
    __bool__=lambda func, tensor: bool(members(tensor)),
    is_nonzero=lambda func, tensor: bool(members(tensor)),
    tolist=_refusing(
        RuntimeError,
        ".tolist() is not supported for tensor subclasses, got NestedTensor. Use [y.tolist() for y in x.unbind()]",
    ),
    **dict.fromkeys(
        ("numpy", "__array__"),
        _refusing(RuntimeError, ".numpy() is not supported for tensor subclasses. Use Tensor.values().numpy()"),
    ),
    to_dense=_refusing(RuntimeError, "to_dense does not support layout Jagged. Use Tensor.to_padded_tensor(0.0)"),
    multi_head_attention_forward=_refusing(
        AssertionError,
        "MultiheadAttention does not support NestedTensor outside of its fast path. Penlight has no such path: use "
        "torch.nn.functional.scaled_dot_product_attention, or Tensor.to_padded_tensor(0.0) and a key_padding_mask",
    ),
)


# ----- Shapes -----------------------------------------------------------------------------------------------------------

_BATCH_FIRST = (
    "{} is not supported on the batch dimension for jagged NT. Use Tensor.to_padded_tensor(0.0) for layers with the batch second, "
    "like nn.MultiheadAttention"
)


@function("transpose swapaxes swapdims")
def transpose(func: Any, tensor: Any, dim0: int, dim1: int) -> Any:
    first, second = wrap_existing_dim(dim0, tensor.ndim), wrap_existing_dim(dim1, tensor.ndim)
    if not first or not second:
        raise ValueError(_BATCH_FIRST.format("Transpose"))
    ragged = {first: second, second: first}.get(tensor._ragged_idx, tensor._ragged_idx)
    return like(tensor, func(tensor._inner, first - 1, second - 1), ragged)


def _listed(args: tuple[Any, ...]) -> list[Any]:
    return list(args[0]) if len(args) == 1 and isinstance(args[0], (tuple, list)) else list(args)


@function("permute")
def permute(func: Any, tensor: Any, *dims: Any) -> Any:
    order = [wrap_existing_dim(d, tensor.ndim) for d in _listed(dims)]
    if len(order) != tensor.ndim:
        raise ValueError(
            f"permute(): number of dimensions in the tensor input ({tensor.ndim}) does not match the length of the desired "
            f"ordering of dimensions ({len(order)})."
        )
    if order[0]:
        raise ValueError(_BATCH_FIRST.format("Permute"))
    return like(tensor, tensor._inner.permute([d - 1 for d in order[1:]]), order.index(tensor._ragged_idx))


@function("unsqueeze")
def unsqueeze(func: Any, tensor: Any, dim: int) -> Any:
    own = wrap_existing_dim(dim, tensor.ndim + 1)
    if not own:
        dense_dim("unsqueeze", tensor, 0)
    return like(tensor, tensor._inner.unsqueeze(own - 1), tensor._ragged_idx + (own <= tensor._ragged_idx))


@function("squeeze")
def squeeze(func: Any, tensor: Any, dim: Any = None) -> Any:
    if not isinstance(dim, int):
        refuse("squeeze")
    own = dense_dim("squeeze", tensor, dim)
    gone = tensor._inner.shape[own] == 1 and own < tensor._ragged_idx
    return like(tensor, tensor._inner.squeeze(own), tensor._ragged_idx - gone)


@function("select")
def select(func: Any, tensor: Any, dim: int, index: int) -> Any:
    if not wrap_existing_dim(dim, tensor.ndim):
        return tensor.unbind()[index]
    own = dense_dim("select", tensor, dim)
    return like(tensor, tensor._inner.select(own, index), tensor._ragged_idx - (own < tensor._ragged_idx))


@function("narrow")
def narrow(func: Any, tensor: Any, dim: int, start: Any, length: int) -> Any:
    return like(tensor, tensor._inner.narrow(dense_dim("narrow", tensor, dim), start, length))


@function("chunk split split_with_sizes tensor_split repeat_interleave")
def along_dense(func: Any, tensor: Any, *args: Any, **kwargs: Any) -> Any:
    dim = args[1] if len(args) > 1 else kwargs.pop("dim", 0)
    return like(tensor, func(tensor._inner, *args[:1], dim=dense_dim(func.__name__, tensor, dim), **kwargs))


@function("flatten")
def flatten(func: Any, tensor: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
    first, last = wrap_existing_dim(start_dim, tensor.ndim), wrap_existing_dim(end_dim, tensor.ndim)
    for dim in range(first, last + 1):
        dense_dim("flatten", tensor, dim)
    gone = last - first if last < tensor._ragged_idx else 0
    return like(tensor, tensor._inner.flatten(first - 1, last - 1), tensor._ragged_idx - gone)


@function("unflatten")
def unflatten(func: Any, tensor: Any, dim: int, sizes: Any) -> Any:
    own = dense_dim("unflatten", tensor, dim)
    more = len(sizes) - 1 if own < tensor._ragged_idx else 0
    return like(tensor, tensor._inner.unflatten(own, sizes), tensor._ragged_idx + more)


@function("view reshape")
def view(func: Any, tensor: Any, *shape: Any) -> Any:
    """Reshape a nested tensor. The ragged size is given as itself, or as the first -1 after the batch; the sizes before it keep their product."""
    sizes, ragged, own = _listed(shape), tensor._ragged_idx, tensor._inner.shape
    if not all(isinstance(n, (int, RaggedSize)) for n in sizes):
        refuse("view")
    symbol = tensor._segments.size if tensor._segments.size in sizes else -1
    at = sizes.index(symbol, 1) if symbol in sizes[1:] else 0
    given = [own[ragged - 1] if d == at else n for d, n in enumerate(sizes)][1:]
    fits = at and sizes[0] in (-1, len(tensor)) and not any(isinstance(n, RaggedSize) for n in given)
    if (
        not fits
        or math.prod(given[: at - 1]) != math.prod(own[: ragged - 1])
        or (not given[at:] and math.prod(own[ragged:]) != 1)
    ):
        raise RuntimeError(f"view(): cannot view shape {tuple(tensor.shape)} as {sizes}")
    return like(tensor, func(tensor._inner, given), at)


@function("expand")
def expand(func: Any, tensor: Any, *shape: Any) -> Any:
    sizes, ragged = _listed(shape), tensor._ragged_idx
    kept = len(sizes) == tensor.ndim and sizes[0] in (-1, len(tensor)) and sizes[ragged] in (-1, tensor.shape[ragged])
    if not kept:
        raise RuntimeError(f"expand(): cannot expand shape {tuple(tensor.shape)} -> {sizes}")
    sizes[ragged] = -1
    return like(tensor, tensor._inner.expand(sizes[1:]))


@function("expand_as reshape_as view_as")
def as_other(func: Any, tensor: Any, other: Any) -> Any:
    return getattr(tensor, func.__name__.removesuffix("_as"))(*other.shape)


@function("__getitem__")
def pick(func: Any, tensor: Any, index: Any) -> Any:
    first, *rest = index if isinstance(index, tuple) else (index,)
    if type(first) is int:
        component = tensor.unbind()[first]
        return component[tuple(rest)] if rest else component
    if isinstance(first, Tensor) or not all(i is None or isinstance(i, (int, slice)) for i in rest):
        refuse("index", "Tensor")
    if first is not Ellipsis:
        dense_dim("slice" if isinstance(first, slice) else "unsqueeze", tensor, 0)
    if sum(i is not None for i in rest) > tensor.ndim - 1 - tensor._ragged_idx:
        raise RuntimeError("select(): not supported for NestedTensor on ragged dim")
    return like(tensor, tensor._inner[index])


@function("cat concat concatenate stack")
def join(func: Any, tensors: Any, dim: int = 0, out: Any = None) -> Any:
    tensor, stacked = next(t for t in tensors if isinstance(t, NestedTensor)), func.__name__ == "stack"
    own = wrap_existing_dim(dim, tensor.ndim + stacked)
    if own in (0, tensor._ragged_idx):
        dense_dim("stack" if stacked else "cat", tensor, own)
    if out is not None or not all(isinstance(t, NestedTensor) for t in tensors):
        refuse(func.__name__)
    joined = func([fitting(func.__name__, tensor, t) for t in tensors], own - 1)
    return like(tensor, joined, tensor._ragged_idx + (stacked and own < tensor._ragged_idx))


# ----- Reductions and normalisations ------------------------------------------------------------------------------------

_NEUTRAL = dict(sum=0, mean=0, prod=1, any=False, all=True)


def _neutral(name: str, dtype: Any) -> Any:
    """The identity element of a reduction."""
    if name in _NEUTRAL or dtype.is_floating_point:
        return _NEUTRAL.get(name, -np.inf if "max" in name else np.inf)
    if dtype is penlight.bool:
        return "min" in name
    return penlight.iinfo(dtype).min if "max" in name else penlight.iinfo(dtype).max


@function("all amax amin any argmax argmin max mean min prod sum")
def reduce(func: Any, tensor: Any, dim: Any = None, keepdim: bool = False, **kwargs: Any) -> Any:
    name, ragged = func.__name__, tensor._ragged_idx if isinstance(tensor, NestedTensor) else 0
    if isinstance(dim, Tensor):
        return elementwise(penlight.maximum if name == "max" else penlight.minimum, tensor, dim)
    if dim is None or dim in ((), []):
        return func(members(tensor), **kwargs)
    dims = [wrap_existing_dim(d, tensor.ndim) for d in ((dim,) if isinstance(dim, int) else dim)]
    if 0 in dims and ragged not in dims:
        raise RuntimeError(
            f"{name}(): reducing along the batch dimension but not the ragged dimension is not supported for nested tensors"
        )
    if dims == [ragged]:
        return _reduced(func, tensor, keepdim, **kwargs)
    if ragged in dims and 0 not in dims:
        raise RuntimeError(
            f"{name}(): reducing along a ragged and non-batch dimension is not supported for nested tensors"
        )
    rest: Any = [d - 1 for d in dims if d]
    result = func(
        members(tensor) if 0 in dims else tensor._inner, rest[0] if len(rest) == 1 else rest, keepdim, **kwargs
    )
    if 0 in dims:
        return result.unsqueeze(0) if keepdim else result
    return like(tensor, result, ragged if keepdim else ragged - sum(d < ragged for d in dims))


def _reduced(func: Any, tensor: Any, keepdim: bool, dtype: Any = None, **kwargs: Any) -> Any:
    """A reduction of each component along the ragged dimension."""
    name, ragged, segments = func.__name__, tensor._ragged_idx, tensor._segments
    if dtype is not None:
        tensor = tensor.to(dtype)
    elif name == "mean" and not tensor.dtype.is_floating_point and not tensor.dtype.is_complex:
        return func(tensor._inner)  # raises
    filled = padded(tensor, _neutral(name, tensor.dtype), segments.longest)
    if name != "mean":
        return func(filled, ragged, keepdim, **kwargs)
    shape = [-1 if d == 0 else 1 for d in range(tensor.ndim - (not keepdim))]
    return filled.sum(ragged, keepdim) / wrap(segments.counts).to(tensor.dtype).view(shape)


@function("softmax log_softmax softmin")
def softmax(func: Any, tensor: Any, dim: Any = None, *args: Any, **kwargs: Any) -> Any:
    own = 0 if dim is None else wrap_existing_dim(dim, tensor.ndim)
    if not own:
        raise RuntimeError(
            f"{func.__name__}(): not supported when reducing across the batch dimension for NestedTensor"
        )
    if own != tensor._ragged_idx:
        return like(tensor, func(tensor._inner, own - 1, *args, **kwargs))
    rest = np.inf if func.__name__ == "softmin" else -np.inf
    return like(tensor, from_padded(tensor, func(padded(tensor, rest, tensor._segments.longest), own, *args, **kwargs)))


@function("layer_norm rms_norm")
def normalise(func: Any, tensor: Any, normalized_shape: Any, *args: Any, **kwargs: Any) -> Any:
    if len(normalized_shape) >= tensor.ndim - tensor._ragged_idx:
        raise ValueError(f"{func.__name__}(): Normalization over the ragged dim not supported for nested tensors")
    return like(tensor, func(tensor._inner, normalized_shape, *args, **kwargs))


# ----- Products ---------------------------------------------------------------------------------------------------------


@function("linear")
def linear(func: Any, input: Any, weight: Tensor, bias: Tensor | None = None) -> Any:
    if not isinstance(input, NestedTensor) or input._ragged_idx == input.ndim - 1:
        refuse("linear")
    return like(input, func(input._inner, weight, bias))


@function("matmul bmm __rmatmul__")
def matmul(func: Any, input: Any, other: Any) -> Any:
    if func.__name__ == "__rmatmul__":
        input, other = other, input
    last, ragged = input.ndim - 1, getattr(input, "_ragged_idx", None)
    if ragged is not None and isinstance(other, NestedTensor):
        if ragged == last == other._ragged_idx + 1 == other.ndim - 1 and input.shape[last] == other.shape[last - 1]:
            return penlight.stack([a @ b for a, b in zip(input.unbind(), other.unbind())])
    elif ragged is not None and ragged != last and other.dim() == 2:
        return like(input, input._inner @ other)
    elif ragged == last - 1 and other.dim() == input.ndim:
        if len(other) != len(input):
            raise RuntimeError(
                f"The size of tensor a ({len(input)}) must match the size of tensor b ({len(other)}) at non-singleton dimension 0"
            )
        products = penlight.cat([rows @ matrix for rows, matrix in zip(input.unbind(), other)], last - 2)
        return like(_without_gaps(input), products)
    raise RuntimeError(
        f"matmul(): not supported between inputs of shapes {tuple(input.shape)} and {other.shape}. Use Tensor.unbind() or "
        "Tensor.to_padded_tensor(0.0)"
    )


def _without_gaps(tensor: Any) -> Any:
    return tensor if tensor._segments.packed else tensor.contiguous()


@function("scaled_dot_product_attention")
def attention(func: Any, query: Any, key: Any, value: Any, attn_mask: Any = None, *args: Any, **kwargs: Any) -> Any:
    """Attention within each component: a batch of sequences needs no mask."""
    if attn_mask is not None:
        raise ValueError("Masks are not yet supported!")
    nested = [isinstance(x, NestedTensor) for x in (query, key, value)]
    if not all(nested):
        raise ValueError(
            f"Expected query, key, and value to be nested tensors, but got query.is_nested: {nested[0]}, key.is_nested: {nested[1]}, and "
            f"value.is_nested: {nested[2]} instead."
        )
    if query._ragged_idx < query.ndim - 2:  # the ragged dimension is a batch dimension of attention
        args = (fitting(func.__name__, query, key), fitting(func.__name__, query, value), None, *args)
        return like(query, func(query._inner, *args, **kwargs))
    if any(x._ragged_idx != x.ndim - 2 for x in (query, key, value)) or len({len(x) for x in (query, key, value)}) > 1:
        raise RuntimeError(
            "No viable backend for scaled_dot_product_attention was found. The ragged dimension must be the last but one, as in "
            "(batch, heads, ragged, features)"
        )
    triples = zip(query.unbind(), key.unbind(), value.unbind())
    outputs = [func(q, k, v, None, *args, **kwargs).movedim(-2, 0) for q, k, v in triples]
    return like(_without_gaps(query), penlight.cat(outputs).movedim(0, -2))
