"""Tensors of 8-bit floats: stored, rearranged, converted, saved and printed. Arithmetic is refused, as most of it is in PyTorch.

# Note [8-bit floats]
A tensor of 8-bit floats wraps a tensor of bytes. It overrides the library's functions (Note [Overridden functions] in
_torch_function.py), so that no kernel receives it: a function that only rearranges elements runs on the bytes, conversions go
through float32 with ml_dtypes, and other functions are refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from . import dtypes
from ._torch_function import WrappingTensor
from .autograd.modes import is_grad_enabled
from .tensor import Tensor, wrap
from .tensor.printing import close_with, describe, format_contents

_FLOAT32 = np.dtype(np.float32)


def _stored(kind: dtypes.dtype) -> np.dtype[Any]:
    """The NumPy dtype that ml_dtypes has for an 8-bit float."""
    try:
        import ml_dtypes
    except ImportError:
        raise ImportError(f"{kind} needs the ml_dtypes package: pip install 'penlight[bfloat16]'") from None
    return np.dtype(getattr(ml_dtypes, kind._name))


class Float8Tensor(WrappingTensor):
    """A tensor of 8-bit floats, made by `x.to(torch.float8_e4m3fn)`. See Note [8-bit floats].

    >>> x = torch.tensor([1.0, 0.3, 20.7]).to(torch.float8_e4m3fn)
    >>> x.float(), x.element_size()
    (tensor([ 1.0000,  0.3125, 20.0000]), 1)
    """

    __slots__ = ("_kind",)

    _kind: dtypes.dtype

    def __new__(cls, bits: Tensor, kind: dtypes.dtype) -> Any:
        return super().__new__(cls, bits, _kind=kind)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name, kwargs = getattr(func, "__name__", str(func)), kwargs or {}
        first = args[0] if args else next(iter(kwargs.values()))
        if name in _joins:
            first = _joined(first)
        elif not isinstance(first, Float8Tensor) and name in _with_floats:
            return func(*map(_as_float32, args), **kwargs)
        elif name in _TABLE:
            return _TABLE[name](*args, **kwargs)
        elif not isinstance(first, Float8Tensor) or name not in _moves | _facts:
            raise _refused(name, args)
        result = func(*_as_bytes(args), **_as_bytes(kwargs))
        return result if name in _facts else _as_floats(result, first._kind)

    @property
    def _array(self) -> NoReturn:  # type: ignore[override]
        raise NotImplementedError(f"This function does not accept tensors of {self._kind}. Use Tensor.float() first.")

    shape = property(lambda self: self._inner.shape)
    dtype = property(lambda self: self._kind)
    nbytes = property(lambda self: self._inner.nbytes)
    grad = None

    def __repr__(self, **_: Any) -> str:  # type: ignore[override]
        numbers = decoded(self)._array
        return close_with("tensor(" + format_contents(numbers, 7), describe(numbers.shape, self._kind), 7)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return Float8Tensor, (self._inner, self._kind)


def encoded(tensor: Tensor, kind: dtypes.dtype) -> Any:
    """A tensor converted to an 8-bit dtype, rounded from float32 as in PyTorch: `float8_e4m3fn` saturates at 448, `float8_e8m0fnu`
    has neither a sign nor a zero."""
    if isinstance(tensor, Float8Tensor):
        return tensor if tensor._kind is kind else encoded(decoded(tensor), kind)
    if tensor.requires_grad and is_grad_enabled():
        raise NotImplementedError(f"No gradient flows through {kind} in Penlight. Use Tensor.detach() first.")
    numbers = tensor.detach().to(dtypes.float32)._array
    if kind is dtypes.float8_e4m3fn:
        numbers = np.clip(numbers, -448, 448)
    elif kind is dtypes.float8_e8m0fnu:
        numbers = np.maximum(np.abs(numbers), np.float32(2.0**-127))
    with np.errstate(all="ignore"):
        return Float8Tensor(wrap(np.asarray(numbers).astype(_stored(kind)).view(np.uint8)), kind)


def decoded(tensor: Float8Tensor) -> Tensor:
    """A tensor of 8-bit floats converted to float32."""
    return wrap(np.asarray(tensor._inner._array.view(_stored(tensor._kind)).astype(_FLOAT32)))


def _as_bytes(value: Any) -> Any:
    if isinstance(value, Float8Tensor):
        return value._inner
    if isinstance(value, dict):
        return {key: _as_bytes(v) for key, v in value.items()}
    return type(value)(map(_as_bytes, value)) if type(value) in (tuple, list) else value


def _as_floats(value: Any, kind: dtypes.dtype) -> Any:
    if isinstance(value, Tensor):
        return Float8Tensor(value, kind)
    return type(value)(_as_floats(v, kind) for v in value) if isinstance(value, (tuple, list)) else value


def _joined(tensors: Any) -> Any:
    """The first of several tensors, which must all have the same dtype."""
    first = tensors[0]
    for other in tensors:
        if other.dtype is not first.dtype:
            raise dtypes.no_float8_promotion(first.dtype, other.dtype)
    return first


# ----- Supported functions --------------------------------------------------------------------------------------------

_MOVES = """
    as_strided chunk clone contiguous detach empty_like expand expand_as flatten flip index_select movedim narrow permute pin_memory ravel
    repeat reshape roll select split split_with_sizes squeeze swapaxes swapdims t tensor_split tile transpose unbind unflatten unsqueeze
    view_as zero_ zeros_like __getitem__"""
_FACTS = """
    size dim ndimension numel nelement stride storage_offset data_ptr element_size is_contiguous untyped_storage get_device is_pinned
    __len__"""
_JOINS = "cat concat concatenate stack hstack vstack dstack"
_WITH_FLOATS = "copy_ __setitem__"  # into a tensor of another dtype
_moves, _facts, _joins, _with_floats = (frozenset(names.split()) for names in (_MOVES, _FACTS, _JOINS, _WITH_FLOATS))
# PyTorch's names of missing kernels in its errors, where they are not the function's name with `_cpu`.
_KERNELS = {
    **dict.fromkeys(("add", "sub", "__add__", "__sub__", "__radd__", "add_", "sub_", "__iadd__", "__isub__", "rsub", "__rsub__"), "add_stub"),
    **dict.fromkeys(("mul", "__mul__", "__rmul__", "mul_", "__imul__", "allclose"), "mul_cpu_reduced_float"),
    **dict.fromkeys(("div", "__truediv__", "div_", "__itruediv__"), "div_cpu"),
    **{name: f"{name}_vml_cpu" for name in ("exp", "log", "sqrt", "round", "tanh", "sigmoid")},
    "mean": "sum_cpu", "max": "max_all", "min": "min_all", "amax": "max_values_cpu", "amin": "min_values_cpu", "cumsum": "cumsum_out_cpu",
    "relu": "clamp_min_scalar_cpu", "clamp": "clamp_scalar_cpu", "softmax": "softmax_lastdim_kernel_impl", "pow": "pow", "__pow__": "pow",
    "layer_norm": "LayerNormKernelImpl", "isfinite": "isfinite", "isinf": "isinf", "masked_fill": "masked_fill", "unique": "unique",
    "tril": "tril", "sort": "sorting_kernel_method_name", "nonzero": "nonzero_count_cpu", "gather": "scatter_gather_tensor_cpu",
    "equal": "equal_notnan_cpu",
}  # fmt: skip


def _refused(name: str, args: Any) -> Exception:
    """PyTorch's error for an unsupported function."""
    kinds = [a.dtype for a in args if isinstance(a, Tensor)]
    if len(set(kinds)) == 2 and _KERNELS.get(name) in ("add_stub", "mul_cpu_reduced_float", "div_cpu"):
        return dtypes.no_float8_promotion(*kinds)
    kind = next((a._kind for a in args if isinstance(a, Float8Tensor)), dtypes.float8_e4m3fn)
    kernel = _KERNELS.get(name, name.strip("_") + "_cpu")
    return NotImplementedError(
        f"\"{kernel}\" not implemented for '{dtypes.LEGACY[kind]}'\nPenlight only stores tensors of {kind}: use Tensor.float() first."
    )


def _to(tensor: Any, *args: Any, **kwargs: Any) -> Any:
    other = next((a for a in (*args, kwargs.get("other")) if isinstance(a, Tensor)), None)
    given = [a for a in args if isinstance(a, dtypes.dtype)]
    kind = other.dtype if other is not None else given[0] if given else kwargs.get("dtype") or tensor.dtype
    if kind is not tensor.dtype:
        return encoded(tensor, kind) if kind in dtypes.FLOAT8 else decoded(tensor).to(kind)
    moved = tensor._inner.to(*(a for a in args if a not in given), **{k: v for k, v in kwargs.items() if k != "dtype"})
    return tensor if moved is tensor._inner else Float8Tensor(moved, kind)


def _view(tensor: Float8Tensor, *size: Any, dtype: Any = None) -> Any:
    kind = dtype if dtype is not None else size[0] if size and isinstance(size[0], dtypes.dtype) else None
    if kind is None:
        return Float8Tensor(tensor._inner.view(*size), tensor._kind)
    return Float8Tensor(tensor._inner, kind) if kind in dtypes.FLOAT8 else tensor._inner.view(kind)


def _type(tensor: Float8Tensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    return f"torch.{dtypes.LEGACY[tensor._kind]}Tensor" if dtype is None else _to(tensor, dtype)


def _like(value: Any, tensor: Float8Tensor) -> Any:
    """A value to write to a tensor, converted to the bytes of its dtype."""
    return encoded(value if isinstance(value, Tensor) else wrap(np.asarray(value, np.float32)), tensor._kind)._inner


def _written(tensor: Float8Tensor, *_: Any) -> Float8Tensor:
    return tensor


def _as_float32(value: Any) -> Any:
    return decoded(value) if isinstance(value, Float8Tensor) else value


def _no_array(tensor: Float8Tensor, *_: Any, **__: Any) -> NoReturn:
    raise TypeError(f"Got unsupported ScalarType {dtypes.LEGACY[tensor._kind]}")


def _require_grad(tensor: Float8Tensor, requires_grad: bool = True) -> Any:
    if requires_grad:
        raise NotImplementedError(f"Tensors of {tensor._kind} have no gradients in Penlight.")
    return tensor


def _through_floats(name: str) -> Callable[..., Any]:
    def run(*args: Any) -> Any:
        _joined([a for a in args if isinstance(a, Tensor)])
        return getattr(Tensor, name)(*map(_as_float32, args))

    return run


_TABLE: dict[str, Callable[..., Any]] = {
    "to": _to,
    "view": _view,
    "type": _type,
    "cpu": lambda tensor, **_: tensor,
    "type_as": lambda tensor, other: _to(tensor, other.dtype),
    "copy_": lambda tensor, src, non_blocking=False: _written(tensor, tensor._inner.copy_(_like(src, tensor))),
    "fill_": lambda tensor, value: _written(tensor, tensor._inner.fill_(_like(value, tensor))),
    "__setitem__": lambda tensor, index, value: tensor._inner.__setitem__(index, _like(value, tensor)),
    "ones_like": lambda tensor, **_: tensor.clone().fill_(1.0),
    "is_floating_point": lambda tensor: True,
    "is_complex": lambda tensor: False,
    **dict.fromkeys(("requires_grad_", "_require_grad_"), _require_grad),
    "abs": lambda tensor: encoded(decoded(tensor).abs(), tensor._kind),
    **dict.fromkeys(("numpy", "__array__"), _no_array),
    **{name: _through_floats(name) for name in ("item", "tolist", "eq", "ne", "__eq__", "__ne__", "isnan", "all", "any", "__float__", "__int__", "__bool__", "__format__")},
    **{name: (lambda tensor, _kind=kind, **_: _to(tensor, _kind)) for name, kind in
       (("float", dtypes.float32), ("double", dtypes.float64), ("half", dtypes.float16), ("bfloat16", dtypes.bfloat16),
        ("int", dtypes.int32), ("long", dtypes.int64), ("bool", dtypes.bool_))},
}  # fmt: skip
