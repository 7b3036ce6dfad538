"""Dtype conversions, copying into a tensor, and views of complex numbers as pairs of reals."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dtypes
from .._common.docstrings import documented
from .._common.function_code import explains_failures
from ..autograd import modes, views
from ..device import CPU, device, on_meta, require_cpu
from ..kernels.copies import convert
from ..kernels.copies.order import empty_like
from ..kernels.lazy import lazy_import
from ..kernels.numpy_calls import broadcasts_to
from ..tensor import Tensor, conjugates, wrap
from .machinery import array_namespace, dispatch
from .machinery.arguments import broadcast_shape
from .machinery.array_namespace import both, cast, real_part, sum_to
from .machinery.declare import OPS, differentiable, install_method, linear, method, pointwise, warning_free
from .machinery.guards import not_implemented
from .machinery.op import traits
from .machinery.public_functions import failed
from .machinery.rules import zero_gradient
from .shape.joining import _clone_array, in_format
from .shape.slicing import _select

__all__ = [
    "conj", "fill", "fill_", "imag", "is_conj", "is_neg", "real", "resolve_conj", "resolve_neg", "view_as_complex",
    "view_as_real", "zero_"
]  # fmt: skip

_float8 = lazy_import(globals(), "_float8", "..float8")
_meta = lazy_import(globals(), "_meta", ".._meta")


# ----- Dtypes -------------------------------------------------------------------------------------------------------


_KIND = float.__class__  # `type` is a method here


def _convert_array(input: Any, dtype: dtypes.dtype) -> Any:
    if 0 in input.strides and input.size:  # see Note [Layouts] in kernels/copies/order.py
        out = empty_like(input, dtype.np)
        out[...] = _converted(convert.once(input), dtype)
        return out
    return _converted(input, dtype)


def _converted(input: Any, dtype: dtypes.dtype) -> Any:
    if input.dtype.kind == "c" and dtype.category < dtypes.COMPLEX:
        input = input.real if dtype is not dtypes.bool_ else input
    if dtype.category == dtypes.INTEGRAL and input.dtype.kind == "f":
        return _float_to_int(input, dtype.np)
    return convert.cast(input, dtype.np)


@warning_free
def _float_to_int(array: Any, target: Any) -> Any:
    """C's conversion: through int32, or int64 for uint32, so that out-of-range values become the same as in PyTorch."""
    if array.dtype.itemsize == 2:
        array = convert.cast(array, np.dtype(np.float32))
    if target.itemsize == 8:
        return convert.cast(array, target)
    if target.itemsize == 4 and target.kind == "u":
        return array.astype(np.int64).astype(target)
    truncated = convert.truncate(array)
    return (array.astype(np.int32) if truncated is None else truncated).astype(target, copy=False)


@linear(_convert_array, node="ToCopyBackward0", input=lambda grad, input_dtype, xp: xp.cast(grad, input_dtype))
@traits(any_layout=True, aten="_to_copy")
def _to_copy(input: Tensor, dtype: dtypes.dtype) -> Tensor: ...


def _convert(tensor: Tensor, dtype: dtypes.dtype, copy: bool = False) -> Tensor:
    if tensor.dtype is dtype and not copy:
        return tensor
    if dtype.category < dtypes.FLOATING and tensor.requires_grad:
        tensor = tensor.detach()
    if dtype._np is None and dtype in dtypes.FLOAT8:
        return _float8.encoded(tensor, dtype)
    return _to_copy(tensor, dtype)


@method
@explains_failures
def to(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """The tensor in another dtype (or on a device, which must be the CPU); itself if nothing changes.

    >>> torch.tensor([1.7]).to(torch.int64)
    tensor([1])
    """
    try:
        if not kwargs and len(args) == 1:  # the most frequent calls: x.to(device), x.to(dtype)
            kind = args[0].__class__
            if kind is device and args[0].type == "cpu":
                return input
            if kind is dtypes.dtype:
                return _convert(input, args[0])
        return _to(input, args, dict(kwargs))
    except Exception as failure:
        return failed("to", (input, args, kwargs), failure)


def _to(input: Tensor, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    dtype, copy = kwargs.pop("dtype", None), kwargs.pop("copy", False)
    where, other = kwargs.pop("device", None), None
    kwargs.pop("non_blocking", None)
    memory_format = kwargs.pop("memory_format", None)
    if kwargs:
        raise TypeError(f"to() got an unexpected keyword argument '{next(iter(kwargs))}'")
    for position, a in enumerate(args):
        if isinstance(a, dtypes.dtype) or (a.__class__ is _KIND and a in (float, int, bool, complex)):
            dtype = a
        elif isinstance(a, (str, device)) or (isinstance(a, int) and not isinstance(a, bool)):
            where = a
        elif isinstance(a, Tensor):
            other = a
        elif isinstance(a, bool) or a is None:
            copy = bool(a) if position >= 2 else copy
        else:
            raise TypeError(f"to() received an invalid combination of arguments - got ({a.__class__.__name__})")
    dtype = other.dtype if other is not None else dtypes.given(dtype)
    if where is not None and where is not CPU and on_meta(where):
        return _meta.moved(input, dtype or input.dtype)
    require_cpu(where)
    if memory_format is None:
        return _convert(input, dtype or input.dtype, copy)
    wanted = in_format(input, memory_format)
    if wanted and not input.is_contiguous(memory_format=memory_format):
        return _in_format_copy(_convert(input, dtype or input.dtype), wanted)
    return _convert(input, dtype or input.dtype, copy)


@linear(_clone_array, node="ToCopyBackward0", input=lambda grad: grad)
@traits(any_layout=True)
def _in_format_copy(input: Tensor, contiguous: bool | int) -> Tensor: ...


def _add_conversions() -> None:
    """Define x.float(), x.long() and the other conversions."""
    named = {
        "half": dtypes.float16, "float": dtypes.float32, "double": dtypes.float64, "bfloat16": dtypes.bfloat16,
        "cfloat": dtypes.complex64, "cdouble": dtypes.complex128, "bool": dtypes.bool_, "byte": dtypes.uint8,
        "char": dtypes.int8, "short": dtypes.int16, "int": dtypes.int32, "long": dtypes.int64,
    }  # fmt: skip
    for name, dtype in named.items():
        install_method(name, _conversion(name, dtype))


def _conversion(name: str, dtype: dtypes.dtype) -> Any:
    def convert(input: Tensor, memory_format: Any = None) -> Tensor:
        return _convert(input, dtype) if memory_format is None else to(input, dtype, memory_format=memory_format)

    convert.__name__ = convert.__qualname__ = name
    convert.__doc__ = documented(f"The tensor as {dtype!r}.", f">>> torch.tensor([1, 2]).{name}().dtype", repr(dtype))
    return convert


_add_conversions()


@method
def type(input: Tensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    """The tensor's legacy type name, or the tensor converted to a dtype or legacy type.

    >>> torch.zeros(1).type(), torch.zeros(1).type(torch.int64).dtype
    ('torch.FloatTensor', torch.int64)
    """
    if dtype is None:
        return f"torch.{dtypes.LEGACY[input.dtype]}Tensor"
    return _convert(input, legacy_dtype(dtype))


def legacy_dtype(name: Any) -> dtypes.dtype:
    """The dtype behind `torch.float64`, `torch.DoubleTensor` or "torch.DoubleTensor"."""
    if isinstance(name, dtypes.dtype):
        return name
    found = getattr(name, "dtype", None)
    if isinstance(found, dtypes.dtype):
        return found
    if name is Tensor or name == "torch.Tensor":
        return dtypes.get_default_dtype()
    text = name.removeprefix("torch.") if isinstance(name, str) else ""
    for d, legacy in dtypes.LEGACY.items():
        if text in (legacy + "Tensor", str(d).removeprefix("torch.")):
            return d
    if isinstance(name, str):
        raise ValueError(f"invalid type: '{name}'")
    if hasattr(name, "__mro__"):
        raise ValueError(f"invalid type: '{name.__name__}'")
    raise TypeError("dtype must be a type, str, or dtype object")


@method
def type_as(input: Tensor, other: Tensor) -> Tensor:
    """The tensor in the dtype of `other`.

    >>> torch.tensor([1, 2]).type_as(torch.zeros(1))
    tensor([1., 2.])
    """
    return _convert(input, other.dtype)


@method
def cpu(input: Tensor, memory_format: Any = None) -> Tensor:
    """The tensor itself: it is on the CPU.

    >>> torch.ones(2).cpu()
    tensor([1., 1.])
    """
    return input


@method
def cuda(input: Tensor, device: Any = None, non_blocking: bool = False, memory_format: Any = None) -> Tensor:
    """Refused: Penlight runs on the CPU.

    >>> torch.ones(2).cuda()
    Traceback (most recent call last):
      ...
    AssertionError: Torch not compiled with CUDA enabled...
    """
    require_cpu("cuda")
    return input


@linear(lambda input, dtype: input.view(dtype.np), view=True, node="ViewBackward1", input=lambda grad: grad)
@traits(keeps_finite=())  # the same bytes may be NaN
def _view_dtype(input: Tensor, dtype: dtypes.dtype) -> Tensor: ...


def view_dtype(input: Tensor, dtype: dtypes.dtype) -> Tensor:
    """The same bytes reinterpreted as another dtype: outside of the graph and not a view, even for the same dtype."""
    if dtype in dtypes.FLOAT8 and input.element_size() == 1:
        return _float8.Float8Tensor(input.detach().view(dtypes.uint8), dtype)
    if input.element_size() != dtype.itemsize:
        _check_other_size(input, dtype)
    return _view_dtype(input.detach(), dtype).detach()


def _check_other_size(input: Tensor, dtype: dtypes.dtype) -> None:
    """Refuse a view as elements of another size that would not begin and end where elements of the input do."""
    as_other = f"to view {dtypes.LEGACY[input.dtype]} as {dtypes.LEGACY[dtype]} (different element sizes)"
    if not input.dim():
        raise RuntimeError(f"self.dim() cannot be 0 {as_other}")
    *strides, last = input.stride()
    if last != 1:
        raise RuntimeError(f"self.stride(-1) must be 1 {as_other}, but got {last}")
    ratio = dtype.itemsize // input.element_size()
    if ratio:
        counts = {"size(-1)": input.shape[-1], "storage_offset()": input.storage_offset()}
        counts.update((f"stride({d})", stride) for d, stride in enumerate(strides))
        for name, count in counts.items():
            if count % ratio:
                raise RuntimeError(f"self.{name} must be divisible by {ratio} {as_other}, but got {count}")


# ----- Copying into a tensor ----------------------------------------------------------------------------------------


def _copy_kernel(input: Any, src: Any) -> Any:
    if src.dtype.kind == "c" and input.dtype.kind != "c":
        src = src.real
    if src.dtype.kind == "f" and input.dtype.kind in "iu":
        src = _float_to_int(src, input.dtype)
    if src.shape == input.shape:
        return src.astype(input.dtype)
    return np.broadcast_to(src, np.broadcast_shapes(input.shape, src.shape)).astype(input.dtype)


def _copy_into(input: Any, src: Any) -> None:
    if src.dtype is input.dtype:
        np.copyto(input, src)
    else:
        dispatch.store(input, _copy_kernel(input, src))


@linear(_copy_kernel, node="CopyBackwards", inplace=True,
        input=zero_gradient,
        src=lambda grad, src_shape, src_dtype, xp: xp.cast(xp.sum_to(grad, src_shape), src_dtype))  # fmt: skip
def _copy(input: Tensor, src: Tensor) -> Tensor: ...


OPS["_copy"].into = warning_free(_copy_into)


@method
def copy_(input: Tensor, src: Any, non_blocking: bool = False) -> Tensor:
    """Overwrite this tensor's elements with those of `src`, broadcast and converted.

    >>> torch.zeros(2).copy_(torch.tensor([1, 2]))
    tensor([1., 2.])
    """
    if isinstance(src, (int, float, complex)):
        src = wrap(np.asarray(src))
    shape, other = input._array.shape, src._array.shape
    if input is not src and not modes.slow() and (other == shape or broadcasts_to(other, shape)):
        return dispatch.run_in_place(OPS["_copy"], (input, src))
    dispatch.precheck(input, src)
    if input is src:
        return _copied_onto_itself(input)
    if input._level is None and src._level is None:
        dispatch.check_overlap(OPS["_copy"], {"src": src}, input._array)
    if other != shape and (common := broadcast_shape(shape, other)) != shape:
        raise RuntimeError(f"output with shape {list(shape)} doesn't match the broadcast shape {list(common)}")
    return dispatch.run_in_place(OPS["_copy"], (input, src))


def _copied_onto_itself(tensor: Tensor) -> Tensor:
    """Handle a copy of a tensor onto itself: nothing is written, but PyTorch counts it as a write."""
    env = {"input": tensor, "src": tensor}
    edges = dispatch.input_edges(OPS["_copy"], env)
    dispatch.write_back(OPS["_copy"], env, tensor, edges, edges is not None and modes.is_grad_enabled(), None)
    return tensor


def fill_into(input: Any, value: Any) -> None:
    """Set all elements of an array to a scalar of its kind."""
    if isinstance(value, float) and input.dtype.kind == "f":
        input.fill(value)
    else:
        input[...] = dispatch.cast_number(value, dtypes.from_np(input.dtype))


def _fill_kernel(input: Any, value: Any) -> Any:
    array = np.empty(input.shape, input.dtype)
    fill_into(array, value)
    return array


@differentiable(_fill_kernel, node="FillBackward2", inplace=True, input=zero_gradient)
def _fill(input: Tensor, value: Any) -> Tensor: ...


OPS["_fill"].into = warning_free(fill_into)


@differentiable(_fill_kernel, node="FillBackward0", input=zero_gradient)
def _fill_new(input: Tensor, value: Any) -> Tensor: ...


def _fill_tensor_kernel(input: Any, value: Any) -> Any:
    array = np.empty(input.shape, input.dtype)
    np.copyto(array, value, casting="unsafe")
    return array


@linear(_fill_tensor_kernel, node="FillBackward3", inplace=True,
        input=zero_gradient,
        value=lambda grad, value_dtype, xp: xp.cast(xp.sum_to(grad, ()), value_dtype))  # fmt: skip
def _fill_tensor(input: Tensor, value: Tensor) -> Tensor: ...


@linear(
    _fill_tensor_kernel,
    node="FillBackward1",
    input=OPS["_fill_tensor"].rules["input"],
    value=OPS["_fill_tensor"].rules["value"],
)
def _fill_tensor_new(input: Tensor, value: Tensor) -> Tensor: ...


def _filled(input: Tensor, value: Any, run: Any, new: str = "") -> Tensor:
    if isinstance(value, Tensor):
        if value.dim():
            raise RuntimeError(
                f"fill_ only supports 0-dimension value tensor but got tensor with {value.dim()} dimensions."
            )
        return run(OPS["_fill_tensor" + new], (input, value))
    number = value.item() if isinstance(value, np.generic) else value
    return run(OPS["_fill" + new], (input, dtypes.number_for(number, input.dtype, input.numel() == 1)))


@method
def fill_(input: Tensor, value: Any) -> Tensor:
    """Set all elements to one value.

    >>> torch.zeros(2).fill_(7)
    tensor([7., 7.])
    """
    return _filled(input, value, dispatch.run_in_place)


def fill(input: Tensor, value: Any) -> Tensor:
    """A tensor of the same shape and dtype with all elements equal to `value`.

    >>> torch.fill(torch.zeros(2), 5)
    tensor([5., 5.])
    """
    return _filled(input, value, dispatch.dispatch, "_new")


@linear(lambda input: np.zeros(input.shape, input.dtype), node="ZeroBackward0", inplace=True, input=zero_gradient)
def _zero(input: Tensor) -> Tensor: ...


def _zero_into(input: Any) -> None:
    input.reshape(-1).view(np.uint8).fill(0)  # setting bytes is faster than setting elements


OPS["_zero"].into = _zero_into


@method
def zero_(input: Tensor) -> Tensor:
    """Set all elements to zero.

    >>> torch.ones(2).zero_()
    tensor([0., 0.])
    """
    return dispatch.run_in_place(OPS["_zero"], (input,))


# ----- Complex numbers ----------------------------------------------------------------------------------------------


@pointwise(np.conj, complex_rule=True, inplace=False, node="ConjBackward0", input=lambda grad, xp: xp.conj(grad))
def _conj(input: Tensor) -> Tensor: ...


@method
def conj(input: Tensor) -> Tensor:
    """The complex conjugate; a real tensor is returned unchanged.

    >>> torch.conj(torch.tensor([1 + 2j]))
    tensor([1.-2.j])
    """
    return _marked_view(input, OPS["_conj"], conj, True, False) if input.is_complex() else input


@pointwise(np.negative, inplace=False, node="NegViewBackward0", input=lambda grad: -grad)
def _negated(input: Tensor) -> Tensor: ...


def _neg_view(input: Tensor) -> Tensor:
    """The negative of a tensor as a view of its memory.

    >>> x = torch.ones(2)
    >>> y = torch._neg_view(x)
    >>> y[0] = 5; x
    tensor([-5.,  1.])
    """
    if input.dtype is dtypes.bool_:
        raise not_implemented("neg_cpu", np.bool_)
    return _marked_view(input, OPS["_negated"], _neg_view, False, True)


def _marked_view(input: Tensor, op: Any, function: Any, conj: bool, neg: bool) -> Tensor:
    """A marked view: see Note [Conjugate and negative views] in tensor/conjugates.py. `op` computes the same immediately."""
    if dispatch.interpreters.get() or dispatch.op_watchers.get() or not conjugates.can_mark(input):
        return op.function(input)
    out = wrap(conjugates.memory_of(input))
    env = {"input": input}
    edges = dispatch.input_edges(op, env)
    views.link(out, input, replay=function)
    if input.is_inference():
        dispatch.mark_inference(out)
    had = conjugates.marks_of(input)
    out = conjugates.marked(out, conj != had[0], neg != had[1])
    if edges is not None:
        out._edge = (dispatch.make_node(op, env, edges, [out]), 0)
    elif out._view is not None:
        out._edge = views.unrecorded_edge(out)
    return out


def _pairs_as_complex(grad: Tensor) -> Tensor:
    return view_as_complex(grad.contiguous())


both("pairs_as_complex", lambda grad: _as_complex(np.ascontiguousarray(grad)), _pairs_as_complex)


@linear(
    lambda input: input[..., None].view(input.real.dtype),
    view="replay",
    input=lambda grad, xp: xp.pairs_as_complex(grad),
)
@traits(out=False, refuses={"biufh": RuntimeError("view_as_real is only supported for complex tensors")})
def view_as_real(input: Tensor) -> Tensor:
    """A complex tensor as a real one with an extra last dimension of size two; a view.

    >>> torch.view_as_real(torch.tensor([1 + 2j]))
    tensor([[1., 2.]])
    """


def _as_complex(input: Any) -> Any:
    if input.dtype not in (np.float32, np.float64):
        if input.dtype == np.float16:
            raise NotImplementedError("view_as_complex of float16: there is no torch.complex32 here; use float32")
        raise RuntimeError(
            "view_as_complex is only supported for half, float and double tensors, but got a tensor of scalar type: "
            + dtypes.LEGACY[dtypes.from_np(input.dtype)]
        )
    if not input.ndim:
        raise RuntimeError("Input tensor must have one or more dimensions")
    if input.shape[-1] != 2:
        raise RuntimeError("Tensor must have a last dimension of size 2")
    if input.strides[-1] != input.itemsize and input.size:
        raise RuntimeError("Tensor must have a last dimension with stride 1")
    if any(n > 1 and s // input.itemsize % 2 for n, s in zip(input.shape[:-1], input.strides)) and input.size:
        raise RuntimeError("Tensor must have a stride divisible by 2 for all but last dimension")
    return input.view(np.complex64 if input.dtype == np.float32 else np.complex128)[..., 0]


@linear(_as_complex, view="replay", input=lambda grad, xp: xp.view_as_real(grad))
@traits(out=False)
def view_as_complex(input: Tensor) -> Tensor:
    """A real tensor whose last dimension has size two as a complex one; a view.

    >>> torch.view_as_complex(torch.tensor([[1.0, 2.0]]))
    tensor([1.+2.j])
    """


def _part(tensor: Tensor, position: int) -> Tensor:
    conj, neg = conjugates.marks_of(tensor)
    pairs = view_as_real(conjugates.with_marks(tensor, conj, neg))
    if neg != (conj and position == 1):
        pairs = _neg_view(pairs)
    return _select(pairs, pairs.dim() - 1, position)


def real(input: Tensor) -> Tensor:
    """The real part; a view.

    >>> torch.real(torch.tensor([1 + 2j]))
    tensor([1.])
    """
    return _part(input, 0) if input.is_complex() else input


def imag(input: Tensor) -> Tensor:
    """The imaginary part; a view.

    >>> torch.imag(torch.tensor([1 + 2j]))
    tensor([2.])
    """
    if not input.is_complex():
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    return _part(input, 1)


def _set_part(part: Any) -> Any:
    def assign(self: Tensor, value: Any) -> None:
        part(self)[...] = value

    return assign


setattr(Tensor, "real", property(real, _set_part(real)))
setattr(Tensor, "imag", property(imag, _set_part(imag)))


@method
def is_conj(input: Tensor) -> bool:
    """Whether a tensor is a conjugate view, computed on reading.

    >>> torch.tensor([1j]).conj().is_conj()
    True
    """
    return conjugates.marks_of(input)[0]


@method
def is_neg(input: Tensor) -> bool:
    """Whether a tensor is a negative view, computed on reading.

    >>> torch.tensor([1j]).conj().imag.is_neg()
    True
    """
    return conjugates.marks_of(input)[1]


@method
def resolve_conj(input: Tensor) -> Tensor:
    """The tensor itself, or a copy of a conjugate view.

    >>> torch.tensor([1j]).conj().resolve_conj().is_conj()
    False
    """
    return input.clone() if is_conj(input) else input


@method
def resolve_neg(input: Tensor) -> Tensor:
    """The tensor itself, or a copy of a negative view.

    >>> torch.tensor([1j]).conj().imag.resolve_neg()
    tensor([-1.])
    """
    return input.clone() if is_neg(input) else input


# ----- Both namespaces: what rules use ------------------------------------------------------------------------------------


def _sum_to_tensor(grad: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Sum a gradient over the dimensions that broadcasting added or expanded."""
    if not shape:
        return grad.sum()
    extra = grad.dim() - len(shape)
    wide = (*range(extra), *(d + extra for d, n in enumerate(shape) if n == 1 and grad.shape[d + extra] != 1))
    if wide:
        grad = grad.sum(wide, True)
    return grad.view(shape) if extra > 0 else grad


both("constant", lambda array: array, wrap)
both("zeros_like", np.zeros_like, lambda grad: grad.new_zeros(grad.shape))
both("sum_to", sum_to, _sum_to_tensor)
both(
    "cast",
    cast,
    lambda x, np_dtype: _convert(real(x) if np_dtype.kind != "c" and x.is_complex() else x, dtypes.from_np(np_dtype)),
)
both("conj", array_namespace.conj, lambda x: _conj(x) if x.is_complex() else x)
both("real_part", real_part, real)
both("is_complex", lambda x: x.dtype.kind == "c", lambda x: x.is_complex())
