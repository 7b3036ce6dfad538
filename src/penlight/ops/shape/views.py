"""Views of another shape. Each result shares its input's memory; its rule reshapes the gradient back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ... import dtypes
from ..._common.function_code import explains_failures
from ...autograd import views
from ...kernels.numpy_calls import expand_dims
from ...tensor import Tensor
from ..conversion import view_dtype
from ..machinery.arguments import ABSENT, infer_size, sizes, wrap_dim, wrap_dims
from ..machinery.array_namespace import both
from ..machinery.declare import OPS, install_method, linear, method
from ..machinery.guards import need_countable, type_name
from ..machinery.in_place import in_place_view
from ..machinery.op import traits
from ..machinery.public_functions import failed

__all__ = ["broadcast_to", "flatten", "ravel", "reshape", "squeeze", "unflatten", "unsqueeze"]

# ----- Another shape over the same elements -------------------------------------------------------------------------


def _ones_as_pytorch(view: Any, input: Any) -> Any:
    """A non-contiguous view in which dimensions of size 1 have PyTorch's strides: the extent of the dimensions after them."""
    if 1 not in view.shape or not view.size or not input.ndim:
        return view
    strides, step = [], input.strides[-1]
    for n, stride in zip(reversed(view.shape), reversed(view.strides)):
        strides.append(step if n == 1 else stride)
        step = n * strides[-1]
    strides.reverse()
    return view if tuple(strides) == view.strides else views.strided_window(view, view.shape, tuple(strides), 0)


def _view_array(input: Any, size: tuple[int, ...]) -> Any:
    if input.flags.c_contiguous:
        return input.reshape(size)
    try:
        return _ones_as_pytorch(np.reshape(input, size, copy=False), input)
    except ValueError:
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
            "contiguous subspaces). Use .reshape(...) instead."
        ) from None


if np.lib.NumpyVersion(np.__version__) < "2.1.0":

    def _view_array(input: Any, size: tuple[int, ...]) -> Any:  # np.reshape has no copy= before 2.1
        if input.flags.c_contiguous:
            return input.reshape(size)
        out = input.view()
        try:
            out.shape = size
        except AttributeError:
            raise RuntimeError(
                "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
                "contiguous subspaces). Use .reshape(...) instead."
            ) from None
        return _ones_as_pytorch(out, input)


@linear(_view_array, view=True, node="ViewBackward0", input=lambda grad, input_shape, xp: xp.reshape(grad, input_shape))
def _view(input: Tensor, size: tuple[int, ...]) -> Tensor: ...


@linear(
    _view_array,
    view=True,
    node="ReshapeAliasBackward0",
    input=lambda grad, input_shape, xp: xp.reshape(grad, input_shape),
)
@traits(aten="_reshape_alias")
def _reshape_alias(input: Tensor, size: tuple[int, ...]) -> Tensor: ...


# A tangent may have another layout than its tensor: if it cannot be viewed it is copied.
OPS["_view"].jvp = OPS["_reshape_alias"].jvp = lambda tangents, env, xp: xp.reshape(tangents["input"], env["size"])


@linear(
    lambda input, size: input.reshape(size),
    node="UnsafeViewBackward0",
    input=lambda grad, input_shape, xp: xp.reshape(grad, input_shape),
)
@traits(aten="_unsafe_view", keeps_finite=("op", "rules"))
def _unsafe_view(input: Tensor, size: tuple[int, ...]) -> Tensor: ...


@linear(lambda input: input.view(), node="AliasBackward0", view=True, input=lambda grad: grad)
@traits(out=False)
def _alias(input: Tensor) -> Tensor: ...


# Between a nested tensor and its values: see Note [Nested tensors] in nested/tensor.py.
@linear(lambda input: input.view(), node="NestedViewFromJaggedBackward0", view=True, input=lambda grad: grad)
@traits(out=False)
def _nested_view_from_jagged(input: Tensor) -> Tensor: ...


# From the values of a sparse tensor to that tensor: see Note [Sparse tensors] in sparse/coo.py.
@linear(
    lambda input: input.view(), node="SparseCooTensorWithDimsAndTensorsBackward0", view=True, input=lambda grad: grad
)
@traits(out=False)
def _sparse_from_values(input: Tensor) -> Tensor: ...


@linear(lambda input: input.view(), node="NestedGetValuesBackward0", view=True, input=lambda grad: grad)
@traits(out=False)
def _nested_get_values(input: Tensor) -> Tensor: ...


@method
@explains_failures
def view(input: Tensor, *args: Any, size: Any = None, dtype: Any = None) -> Tensor:
    """The same elements and memory in another shape; one size may be -1. With a dtype: the same bytes as that dtype.

    >>> torch.arange(6).view(2, -1)
    tensor([[0, 1, 2],
            [3, 4, 5]])
    """
    try:
        if dtype is not None or (len(args) == 1 and type(args[0]) in (dtypes.dtype, type)):
            return view_dtype(input, dtypes.given(args[0] if dtype is None else dtype))
        return _view(input, infer_size(sizes(args if size is None else (size,), "view"), input.numel()))
    except Exception as failure:
        return failed("view", (input, size, dtype, args), failure)


@method
@explains_failures
def reshape(input: Tensor, *args: Any, shape: Any = None) -> Tensor:
    """The same elements in another shape: a view if the strides allow it, else a copy.

    >>> torch.arange(4).reshape(2, 2).t().reshape(4)
    tensor([0, 2, 1, 3])
    """
    try:
        size = infer_size(sizes(args if shape is None else (shape,), "reshape"), input.numel())
        array = getattr(input, "_array", None)
        if array is None or array.flags.c_contiguous:
            return _view(input, size)
        try:
            _view_array(array, size)
        except RuntimeError:
            return _unsafe_view(input.contiguous(), size)
        return _reshape_alias(input, size)
    except Exception as failure:
        return failed("reshape", (input, shape, args), failure)


both("reshape", lambda x, size: x.reshape(size), reshape)


@method
def view_as(input: Tensor, other: Tensor) -> Tensor:
    """This tensor viewed in the shape of `other`.

    >>> torch.arange(4).view_as(torch.zeros(2, 2))
    tensor([[0, 1],
            [2, 3]])
    """
    return input.view(other.size())


@method
def reshape_as(input: Tensor, other: Tensor) -> Tensor:
    """This tensor in the shape of `other`, copied if needed.

    >>> torch.arange(4).reshape_as(torch.zeros(2, 2))
    tensor([[0, 1],
            [2, 3]])
    """
    return input.reshape(other.size())


@method
def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """The dimensions from `start_dim` to `end_dim` merged into one.

    >>> torch.zeros(2, 3, 4).flatten(1).shape
    torch.Size([2, 12])
    """
    shape = input._array.shape if input._level is None else tuple(input.shape)
    if not shape:
        for dim in (start_dim, end_dim):
            wrap_dim(dim, 0)
        return input.reshape(1)
    first, last = wrap_dim(start_dim, len(shape)), wrap_dim(end_dim, len(shape))
    if first > last:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if first == last:
        return input
    middle = 1
    for n in shape[first : last + 1]:
        middle *= n
    return input.reshape(*shape[:first], middle, *shape[last + 1 :])


@method
def unflatten(input: Tensor, dim: int = ABSENT, sizes: Sequence[int] = ABSENT) -> Tensor:
    """One dimension split into several.

    >>> torch.zeros(2, 6).unflatten(1, (2, -1)).shape
    torch.Size([2, 2, 3])
    """
    shape = input._array.shape
    dim = wrap_dim(dim, len(shape))
    sizes = (sizes,) if isinstance(sizes, int) else tuple(sizes)
    if not sizes:
        raise RuntimeError("unflatten: sizes must be non-empty")
    n = shape[dim] if shape else 1
    try:
        inner = infer_size(sizes, n)
    except RuntimeError:
        raise RuntimeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {dim} ({n}) in the input tensor"
        ) from None
    return _view(input, (*shape[:dim], *inner, *shape[dim + 1 :]))


@method
def ravel(input: Tensor) -> Tensor:
    """All elements in one dimension; a view if the strides allow it.

    >>> torch.tensor([[1, 2], [3, 4]]).ravel()
    tensor([1, 2, 3, 4])
    """
    return input.contiguous().view(-1)


# ----- Dimensions of size one ---------------------------------------------------------------------------------------


def _squeeze_array(input: Any, dim: Any) -> Any:
    shape = input.shape
    if isinstance(dim, int):
        return input.squeeze(dim) if shape and shape[dim] == 1 else input.view()
    axes = tuple([d for d in dim if shape and shape[d] == 1])
    return input.squeeze(axes) if axes else input.view()


def _unsqueezed(grad: Any, shape: tuple[int, ...], dims: Iterable[int], xp: Any) -> Any:
    """The gradient with the removed dimensions of size 1 restored."""
    for d in dims:
        if shape and shape[d] == 1:
            grad = xp._unsqueeze(grad, d)
    return grad


@linear(
    lambda input: input.squeeze(),
    view=True,
    node="SqueezeBackward0",
    input=lambda grad, input_shape, xp: _unsqueezed(grad, input_shape, range(len(input_shape)), xp),
)
def _squeeze_all(input: Tensor) -> Tensor: ...


@linear(
    _squeeze_array,
    view=True,
    node="SqueezeBackward1",
    input=lambda grad, input_shape, dim, xp: _unsqueezed(grad, input_shape, (dim,), xp),
)
def _squeeze_dim(input: Tensor, dim: int) -> Tensor: ...


@linear(
    _squeeze_array,
    view=True,
    node="SqueezeBackward2",
    input=lambda grad, input_shape, dim, xp: _unsqueezed(grad, input_shape, sorted(dim), xp),
)
def _squeeze_dims(input: Tensor, dim: tuple[int, ...]) -> Tensor: ...


@linear(expand_dims, view=True, node="UnsqueezeBackward0", input=lambda grad, dim, xp: xp._squeeze_dim(grad, dim))
def _unsqueeze(input: Tensor, dim: int) -> Tensor: ...


def squeeze(input: Tensor, dim: Any = None) -> Tensor:
    """The tensor without its dimensions of size one: all of them, or only the given ones.

    >>> torch.zeros(1, 2, 1).squeeze().shape, torch.zeros(1, 2, 1).squeeze(0).shape
    (torch.Size([2]), torch.Size([2, 1]))
    """
    if dim is None:
        return _squeeze_all(input)
    if isinstance(dim, (tuple, list)):
        return _squeeze_dims(input, wrap_dims(dim, input.dim()) if dim else ())
    return _squeeze_dim(input, wrap_dim(dim, input.dim()))


def _squeeze_method(input: Tensor, dim: Any = None, *dims: Any) -> Tensor:
    """The tensor without its dimensions of size one: all of them, or only the given ones, as ints or as a tuple.

    >>> torch.zeros(1, 2, 1).squeeze(0, 2).shape
    torch.Size([2])
    """
    return squeeze(input, (dim, *dims) if dims else dim)


_squeeze_method.__name__ = _squeeze_method.__qualname__ = "squeeze"
install_method("squeeze", _squeeze_method)


@method
def unsqueeze(input: Tensor, dim: Any = None) -> Tensor:
    """The tensor with a new dimension of size one before `dim`.

    >>> torch.zeros(2, 3).unsqueeze(1).shape
    torch.Size([2, 1, 3])
    """
    return _unsqueeze(input, wrap_dim(dim, input.dim() + 1))


_SQUEEZES = {
    "SqueezeBackward0": "SqueezeBackward3",
    "SqueezeBackward1": "SqueezeBackward4",
    "SqueezeBackward2": "SqueezeBackward5",
}
install_method("squeeze_", in_place_view(_squeeze_method, _SQUEEZES))
install_method("unsqueeze_", in_place_view(unsqueeze, {"UnsqueezeBackward0": "UnsqueezeBackward1"}))

# ----- Broadcasting -------------------------------------------------------------------------------------------------


def _expand_array(input: Any, size: tuple[int, ...]) -> Any:
    if input.shape == size:
        return input.view()
    extra = len(size) - input.ndim
    if size[extra:] == input.shape and 1 not in size[:extra]:
        return views.strided_window(input, size, (0,) * extra + input.strides, 0)
    strides = [0 if n == 1 and m != 1 else s for n, m, s in zip(input.shape, size[extra:], input.strides)]
    for n in reversed(size[:extra]):
        strides.insert(0, 0 if n != 1 else size[-len(strides)] * strides[0] if strides else input.itemsize)
    return views.strided_window(input, size, tuple(strides), 0)


@linear(
    _expand_array, view=True, node="ExpandBackward0", input=lambda grad, input_shape, xp: xp.sum_to(grad, input_shape)
)
@traits(keeps_finite=("op",))
def _expand(input: Tensor, size: tuple[int, ...]) -> Tensor: ...


@method
def expand(input: Tensor, *args: Any, size: Any = None, implicit: bool = False) -> Tensor:
    """Dimensions of size one repeated without copying; -1 keeps the size of a dimension.

    >>> torch.tensor([[1], [2]]).expand(2, 3)
    tensor([[1, 1, 1],
            [2, 2, 2]])
    """
    target = sizes(args if size is None else (size,), "expand")
    shape = input._array.shape
    extra = len(target) - len(shape)
    if not extra or (extra > 0 and min(target) >= 0):
        for n, m in zip(target[extra:] if extra else target, shape):
            if m != n and (m != 1 or n < 0):
                break
        else:
            return _countable(input, target)
    return _countable(input, _completed(input, list(target)))


def _countable(input: Tensor, target: tuple[int, ...]) -> Tensor:
    try:
        return _expand(input, target)
    except ValueError:
        need_countable(target)
        raise


def _completed(input: Tensor, target: list[int]) -> tuple[int, ...]:
    """The full sizes for an expansion, with kept ones filled in; raises PyTorch's error if they are invalid."""
    shape, given = input._array.shape, tuple(target)
    extra = len(target) - len(shape)
    if extra < 0:
        kind = f"{type_name(input.dtype)}{{{list(shape)}}}"
        raise RuntimeError(
            f"expand({kind}, size={target}): the number of sizes provided ({len(target)}) must be greater or equal to the "
            f"number of dimensions in the tensor ({len(shape)})"
        )
    for axis, n in reversed(list(enumerate(target))):
        present = shape[axis - extra] if axis >= extra else 1
        if n == -1:
            if axis < extra:
                raise RuntimeError(
                    f"The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension {axis}"
                )
            target[axis] = present
        elif axis >= extra and present not in (1, n):
            raise RuntimeError(
                f"The expanded size of the tensor ({n}) must match the existing size ({present}) at non-singleton dimension "
                f"{axis}.  Target sizes: {list(given)}.  Tensor sizes: {list(shape)}"
            )
    if target and min(target) < 0:
        raise RuntimeError(f"numel: integer multiplication overflow\nsizes {target} must not be negative")
    return tuple(target)


@method
def expand_as(input: Tensor, other: Tensor) -> Tensor:
    """This tensor expanded to the shape of `other`.

    >>> torch.tensor([[1], [2]]).expand_as(torch.zeros(2, 3))
    tensor([[1, 1, 1],
            [2, 2, 2]])
    """
    return expand(input, other._array.shape)


def broadcast_to(input: Tensor, size: Any) -> Tensor:
    """This tensor expanded to a shape.

    >>> torch.broadcast_to(torch.tensor([1, 2]), (2, 2))
    tensor([[1, 2],
            [1, 2]])
    """
    return expand(input, size)


def _broadcast_to(input: Tensor, *args: Any, size: Any = None) -> Tensor:
    """This tensor expanded to a shape, which may be given as several ints.

    >>> torch.tensor([1, 2]).broadcast_to(2, 2)
    tensor([[1, 2],
            [1, 2]])
    """
    if not args and size is None:
        raise TypeError('broadcast_to() missing 1 required positional arguments: "size"')
    return expand(input, *(args if size is None else (size,)))


_broadcast_to.__name__ = _broadcast_to.__qualname__ = "broadcast_to"
install_method("broadcast_to", _broadcast_to)
