"""Views and other rearrangements. Each view op's result shares its input's memory; its rule puts the gradient back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import dtypes
from .._docstrings import documented
from ..autograd import views
from ..autograd.modes import is_grad_enabled
from ..tensor import Tensor
from ._args import infer_size, sizes, wrap_dim, wrap_dims
from ._declare import OPS, install_method, linear, method
from ._raw import both

__all__ = [
    "adjoint",
    "broadcast_to",
    "flatten",
    "moveaxis",
    "movedim",
    "permute",
    "ravel",
    "reshape",
    "squeeze",
    "swapaxes",
    "swapdims",
    "t",
    "transpose",
    "unflatten",
    "unsqueeze",
]

# ----- Another shape over the same elements -------------------------------------------------------------------------


def _view_array(input: Any, size: tuple[int, ...]) -> Any:
    if input.flags.c_contiguous:
        return input.reshape(size)
    try:
        return np.reshape(input, size, copy=False)
    except ValueError:
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
            "contiguous subspaces). Use .reshape(...) instead."
        ) from None


if np.lib.NumpyVersion(np.__version__) < "2.1.0":

    def _view_array(input: Any, size: tuple[int, ...]) -> Any:  # noqa: F811  # np.reshape has no copy= before 2.1
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
        return out


@linear(_view_array, view=True, node="ViewBackward0", input=lambda grad, input_shape, xp: xp.reshape(grad, input_shape))
def _view(input: Tensor, size: tuple[int, ...]) -> Tensor: ...


@linear(
    _view_array,
    view=True,
    node="ReshapeAliasBackward0",
    input=lambda grad, input_shape, xp: xp.reshape(grad, input_shape),
)
def _reshape_alias(input: Tensor, size: tuple[int, ...]) -> Tensor: ...


# A tangent may lie in memory otherwise than its tensor: where it can't be viewed it is copied.
OPS["_view"].jvp = OPS["_reshape_alias"].jvp = lambda tangents, env, xp: xp.reshape(tangents["input"], env["size"])


@linear(np.reshape, node="UnsafeViewBackward0", input=lambda grad, input_shape, xp: xp.reshape(grad, input_shape))
def _unsafe_view(input: Tensor, size: tuple[int, ...]) -> Tensor: ...


@linear(lambda input: input.view(), view=True, input=lambda grad: grad)
def alias(input: Tensor) -> Tensor:
    """A view of the whole tensor.

    >>> import penlight as torch
    >>> torch.tensor([1, 2]).alias()
    tensor([1, 2])
    """


@method
def view(input: Tensor, *args: Any, size: Any = None) -> Tensor:
    """The same elements and memory in another shape; one size may be -1. With a dtype: the same bytes as that dtype.

    >>> import penlight as torch
    >>> torch.arange(6).view(2, -1)
    tensor([[0, 1, 2],
            [3, 4, 5]])
    """
    if len(args) == 1 and type(args[0]) is dtypes.dtype:
        from .conversion import view_dtype

        return view_dtype(input, args[0])
    return _view(input, infer_size(sizes(args if size is None else (size,), "view"), input.numel()))


@method
def reshape(input: Tensor, *args: Any, shape: Any = None) -> Tensor:
    """The same elements in another shape: a view where strides allow, else a copy.

    >>> import penlight as torch
    >>> torch.arange(4).reshape(2, 2).t().reshape(4)
    tensor([0, 2, 1, 3])
    """
    size = infer_size(sizes(args if shape is None else (shape,), "reshape"), input.numel())
    array = getattr(input, "_array", None)
    if array is None or array.flags.c_contiguous:
        return _view(input, size)
    try:
        _view_array(array, size)
    except RuntimeError:
        return _unsafe_view(input.contiguous(), size)
    return _reshape_alias(input, size)


both("reshape", lambda x, size: x.reshape(size), reshape)


@method
def view_as(input: Tensor, other: Tensor) -> Tensor:
    """This tensor in the other's shape.

    >>> import penlight as torch
    >>> torch.arange(4).view_as(torch.zeros(2, 2))
    tensor([[0, 1],
            [2, 3]])
    """
    return input.view(other.size())


@method
def reshape_as(input: Tensor, other: Tensor) -> Tensor:
    """This tensor in the other's shape, copied if need be.

    >>> import penlight as torch
    >>> torch.arange(4).reshape_as(torch.zeros(2, 2))
    tensor([[0, 1],
            [2, 3]])
    """
    return input.reshape(other.size())


@method
def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """The dimensions from `start_dim` to `end_dim` as one.

    >>> import penlight as torch
    >>> torch.zeros(2, 3, 4).flatten(1).shape
    torch.Size([2, 12])
    """
    shape = input.shape
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
def unflatten(input: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    """One dimension spread over several.

    >>> import penlight as torch
    >>> torch.zeros(2, 6).unflatten(1, (2, -1)).shape
    torch.Size([2, 2, 3])
    """
    dim = wrap_dim(dim, input.dim())
    sizes = (sizes,) if isinstance(sizes, int) else tuple(sizes)
    if not sizes:
        raise RuntimeError("unflatten: sizes must be non-empty")
    n = input.shape[dim]
    try:
        inner = infer_size(sizes, n)
    except RuntimeError:
        raise RuntimeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {dim} ({n}) in the input tensor"
        ) from None
    return input.view(*input.shape[:dim], *inner, *input.shape[dim + 1 :])


@method
def ravel(input: Tensor) -> Tensor:
    """All elements in one dimension.

    >>> import penlight as torch
    >>> torch.tensor([[1, 2], [3, 4]]).ravel()
    tensor([1, 2, 3, 4])
    """
    return input.contiguous().view(-1)


# ----- Dimensions in another order ----------------------------------------------------------------------------------


@linear(
    lambda input, dim0, dim1: np.swapaxes(input, dim0, dim1) if input.ndim else input.view(),
    view=True,
    node="TransposeBackward0",
    input=lambda grad, dim0, dim1, xp: xp._transpose(grad, dim0, dim1),
)
def _transpose(input: Tensor, dim0: int, dim1: int) -> Tensor: ...


@linear(lambda input: input.T, view=True, node="TBackward0", input=lambda grad, xp: xp._t(grad))
def _t(input: Tensor) -> Tensor: ...


@linear(
    np.transpose, view=True, node="PermuteBackward0", input=lambda grad, dims, xp: xp._permute(grad, _inverse(dims))
)
def _permute(input: Tensor, dims: tuple[int, ...]) -> Tensor: ...


def _inverse(dims: Sequence[int]) -> tuple[int, ...]:
    places = [0] * len(dims)
    for place, d in enumerate(dims):
        places[d] = place
    return tuple(places)


@method
def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Two dimensions exchanged; a view.

    >>> import penlight as torch
    >>> torch.zeros(2, 3, 4).transpose(0, 2).shape
    torch.Size([4, 3, 2])
    """
    ndim = input.dim()
    dim0, dim1 = wrap_dim(dim0, ndim), wrap_dim(dim1, ndim)
    return _transpose(input, dim0, dim1)


@method
def t(input: Tensor) -> Tensor:
    """A matrix transposed; vectors and numbers stay.

    >>> import penlight as torch
    >>> torch.zeros(2, 3).t().shape
    torch.Size([3, 2])
    """
    if input.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {input.dim()}D")
    return _t(input)


@method
def permute(input: Tensor, *order: Any, dims: Any = None) -> Tensor:
    """The dimensions in the given order; a view.

    >>> import penlight as torch
    >>> torch.zeros(2, 3, 4).permute(2, 0, 1).shape
    torch.Size([4, 2, 3])
    """
    if dims is None:
        dims = order
    if not dims and not order:
        raise TypeError('permute() missing 1 required positional arguments: "dims"')
    if len(dims) == 1 and isinstance(dims[0], (tuple, list)):
        dims = tuple(dims[0])
    ndim = input.dim()
    if len(dims) != ndim:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
            f"ordering of dimensions i.e. input.dim() = {ndim} is not equal to len(dims) = {len(dims)}"
        )
    places = tuple(wrap_dim(d, ndim) for d in dims)
    if len(set(places)) != ndim:
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    return _permute(input, places)


@method
def movedim(input: Tensor, source: Any, destination: Any) -> Tensor:
    """Some dimensions moved to other places, the rest in order.

    >>> import penlight as torch
    >>> torch.zeros(2, 3, 4).movedim(0, -1).shape
    torch.Size([3, 4, 2])
    """
    ndim = input.dim()
    from_ = [wrap_dim(d, ndim) for d in (source if isinstance(source, (tuple, list)) else [source])]
    to = [wrap_dim(d, ndim) for d in (destination if isinstance(destination, (tuple, list)) else [destination])]
    if len(from_) != len(to):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({list(from_)} dims) should contain the same number of "
            f"dims as destination ({list(to)} dims)"
        )
    if len(set(from_)) != len(from_) or len(set(to)) != len(to):
        which, dims = ("source", from_) if len(set(from_)) != len(from_) else ("destination", to)
        raise RuntimeError(f"movedim: repeated dim in `{which}` ({dims})")
    if not ndim:
        return alias(input)
    order = [-1] * ndim
    for s, d in zip(from_, to):
        order[d] = s
    rest = iter(d for d in range(ndim) if d not in from_)
    return _permute(input, tuple(next(rest) if d < 0 else d for d in order))


@method
def moveaxis(input: Tensor, source: Any, destination: Any) -> Tensor:
    """Another name of `movedim`.

    >>> import penlight as torch
    >>> torch.moveaxis(torch.zeros(2, 3, 4), 0, -1).shape
    torch.Size([3, 4, 2])
    """
    return movedim(input, source, destination)


@method
def swapaxes(input: Tensor, axis0: int, axis1: int) -> Tensor:
    """Another name of `transpose`.

    >>> import penlight as torch
    >>> torch.swapaxes(torch.zeros(2, 3, 4), 0, 2).shape
    torch.Size([4, 3, 2])
    """
    return transpose(input, axis0, axis1)


@method
def swapdims(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Another name of `transpose`.

    >>> import penlight as torch
    >>> torch.swapdims(torch.zeros(2, 3, 4), 0, 2).shape
    torch.Size([4, 3, 2])
    """
    return transpose(input, dim0, dim1)


def _last_two(input: Tensor, name: str) -> Tensor:
    if input.dim() < 2:
        raise RuntimeError(
            f"tensor.{name} is only supported on matrices or batches of matrices. Got {input.dim()}-D tensor."
        )
    return input.transpose(-2, -1)


@property  # type: ignore[misc]
def _T(self: Tensor) -> Tensor:
    """The tensor with its dimensions in reverse order.

    >>> import penlight as torch
    >>> torch.zeros(2, 3).T.shape
    torch.Size([3, 2])
    """
    return _permute(self, tuple(reversed(range(self.dim()))))


setattr(Tensor, "T", _T)


def _mT(self: Tensor) -> Tensor:
    """The tensor with its last two dimensions swapped.

    >>> import penlight as torch
    >>> torch.zeros(2, 3, 4).mT.shape
    torch.Size([2, 4, 3])
    """
    return _last_two(self, "mT")


def _H(self: Tensor) -> Tensor:
    """A matrix transposed and conjugated.

    >>> import penlight as torch
    >>> torch.tensor([[1j, 2]]).H
    tensor([[0.-1.j],
            [2.-0.j]])
    """
    return self.t().conj() if self.dim() == 2 else _last_two(self, "H").conj()


def _mH(self: Tensor) -> Tensor:
    """The tensor with its last two dimensions swapped, conjugated.

    >>> import penlight as torch
    >>> torch.zeros(2, 3, 4).mH.shape
    torch.Size([2, 4, 3])
    """
    return _last_two(self, "mH").conj()


for _name, _property in {"mT": _mT, "H": _H, "mH": _mH}.items():
    setattr(Tensor, _name, property(_property))


def adjoint(input: Tensor) -> Tensor:
    """The last two dimensions transposed and conjugated.

    >>> import penlight as torch
    >>> torch.adjoint(torch.tensor([[1j, 2.0]]))
    tensor([[0.-1.j],
            [2.-0.j]])
    """
    return input.mH if input.dim() else input


# ----- Dimensions of size one ---------------------------------------------------------------------------------------


def _squeeze_array(input: Any, dim: Any) -> Any:
    axes = tuple(d for d in ((dim,) if isinstance(dim, int) else dim) if input.ndim and input.shape[d] == 1)
    return np.squeeze(input, axes) if axes else input.view()


@linear(
    np.squeeze, view=True, node="SqueezeBackward0", input=lambda grad, input_shape, xp: xp.reshape(grad, input_shape)
)
def _squeeze_all(input: Tensor) -> Tensor: ...


@linear(
    _squeeze_array,
    view=True,
    node="SqueezeBackward1",
    input=lambda grad, input_shape, dim, xp: xp.reshape(grad, input_shape),
)
def _squeeze_dim(input: Tensor, dim: int) -> Tensor: ...


@linear(
    _squeeze_array,
    view=True,
    node="SqueezeBackward2",
    input=lambda grad, input_shape, dim, xp: xp.reshape(grad, input_shape),
)
def _squeeze_dims(input: Tensor, dim: tuple[int, ...]) -> Tensor: ...


@linear(np.expand_dims, view=True, node="UnsqueezeBackward0", input=lambda grad, dim, xp: xp._squeeze_dim(grad, dim))
def _unsqueeze(input: Tensor, dim: int) -> Tensor: ...


@method
def squeeze(input: Tensor, dim: Any = None) -> Tensor:
    """Without the dimensions of size one: all, or those named.

    >>> import penlight as torch
    >>> torch.zeros(1, 2, 1).squeeze().shape, torch.zeros(1, 2, 1).squeeze(0).shape
    (torch.Size([2]), torch.Size([2, 1]))
    """
    if dim is None:
        return _squeeze_all(input)
    if isinstance(dim, (tuple, list)):
        return _squeeze_dims(input, wrap_dims(dim, input.dim()) if dim else ())
    return _squeeze_dim(input, wrap_dim(dim, input.dim()))


@method
def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """With a new dimension of size one before `dim`.

    >>> import penlight as torch
    >>> torch.zeros(2, 3).unsqueeze(1).shape
    torch.Size([2, 1, 3])
    """
    return _unsqueeze(input, wrap_dim(dim, input.dim() + 1))


def _in_place_view(name: str, node_names: Any) -> Any:
    """`unsqueeze_` and the like: the tensor itself takes the view's shape. Its base, if it is a view, keeps its history."""
    function = globals()[name]

    def apply(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        views.check_inplace(input, input.requires_grad)
        if name == "t" and input.dim() > 2:
            raise RuntimeError(f"t_() expects a tensor with <= 2 dimensions, but self is {input.dim()}D")
        changed = function(input, *args, **kwargs)
        edge, array = changed._edge, changed._array
        tangents = None if changed._meta is None else changed._meta.tangents
        node = edge[0]
        del changed
        if node is not None and is_grad_enabled():
            views.move_retain(input, node)
        input._array = array
        views.bump(input)
        if node is not None and is_grad_enabled():
            node.__class__ = in_place_class(node, node_names[type(node).__name__])
            input._edge = edge
        for level, tangent in (tangents or {}).items():
            level.attach(input, tangent)
        return input

    apply.__name__ = apply.__qualname__ = name + "_"
    given, sizes = {
        "squeeze": ("", "[2]"), "unsqueeze": ("0", "[1, 1, 2]"), "t": ("", "[2, 1]"),
    }.get(name, ("0, 1", "[2, 1]"))  # fmt: skip
    apply.__doc__ = documented(
        f"In-place version of `{name}`: this tensor itself takes the new shape.",
        f">>> torch.zeros(1, 2).{name}_({given}).shape", f"torch.Size({sizes})",
    )  # fmt: skip
    return apply


_in_place_classes: dict[str, Any] = {}


def in_place_class(node: Any, name: str) -> Any:
    """The node's class under the name that PyTorch has for the in-place form."""
    if name not in _in_place_classes:
        _in_place_classes[name] = type(name, (type(node),), {"__slots__": (), "__module__": "torch.autograd.graph"})
    return _in_place_classes[name]


_SQUEEZES = {
    "SqueezeBackward0": "SqueezeBackward3",
    "SqueezeBackward1": "SqueezeBackward4",
    "SqueezeBackward2": "SqueezeBackward5",
}
for _name, _nodes in {
    "squeeze": _SQUEEZES, "unsqueeze": {"UnsqueezeBackward0": "UnsqueezeBackward1"}, "t": {"TBackward0": "TBackward1"},
    **{name: {"TransposeBackward0": "TransposeBackward1"} for name in ("transpose", "swapaxes", "swapdims")},
}.items():  # fmt: skip
    install_method(_name + "_", _in_place_view(_name, _nodes))

# ----- Broadcasting -------------------------------------------------------------------------------------------------


def _expand_array(input: Any, size: tuple[int, ...]) -> Any:
    if input.shape == size:
        return input.view()
    extra = len(size) - input.ndim
    strides = [0 if n == 1 and m != 1 else s for n, m, s in zip(input.shape, size[extra:], input.strides)]
    for n in reversed(size[:extra]):
        strides.insert(0, 0 if n != 1 else size[-len(strides)] * strides[0] if strides else input.itemsize)
    return views.strided_window(input, size, tuple(strides), 0)


@linear(
    _expand_array, view=True, node="ExpandBackward0", input=lambda grad, input_shape, xp: xp.sum_to(grad, input_shape)
)
def _expand(input: Tensor, size: tuple[int, ...]) -> Tensor: ...


@method
def expand(input: Tensor, *args: Any, size: Any = None, implicit: bool = False) -> Tensor:
    """Dimensions of size one repeated without copying; -1 keeps a dimension as it is.

    >>> import penlight as torch
    >>> torch.tensor([[1], [2]]).expand(2, 3)
    tensor([[1, 1, 1],
            [2, 2, 2]])
    """
    target = list(sizes(args if size is None else (size,), "expand"))
    shape = tuple(input.shape)
    extra = len(target) - len(shape)
    if extra < 0:
        kind = f"{_type_name(input)}{{{list(shape)}}}"
        raise RuntimeError(
            f"expand({kind}, size={target}): the number of sizes provided ({len(target)}) must be greater or equal to the "
            f"number of dimensions in the tensor ({len(shape)})"
        )
    for place, n in reversed(list(enumerate(target))):
        present = shape[place - extra] if place >= extra else 1
        if n == -1:
            if place < extra:
                raise RuntimeError(
                    f"The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension {place}"
                )
            target[place] = present
        elif place >= extra and present not in (1, n):
            raise RuntimeError(
                f"The expanded size of the tensor ({n}) must match the existing size ({present}) at non-singleton dimension "
                f"{place}.  Target sizes: {list(sizes(args if size is None else (size,)))}.  Tensor sizes: {list(shape)}"
            )
    return _expand(input, tuple(target))


def _type_name(input: Tensor) -> str:
    """The tensor's type as C++ messages give it."""
    from .. import dtypes

    name = dtypes.LEGACY[input.dtype]
    return f"CPU{name}Type" if name.startswith(("Bool", "Complex")) else f"torch.{name}Tensor"


@method
def expand_as(input: Tensor, other: Tensor) -> Tensor:
    """This tensor expanded to the other's shape.

    >>> import penlight as torch
    >>> torch.tensor([[1], [2]]).expand_as(torch.zeros(2, 3))
    tensor([[1, 1, 1],
            [2, 2, 2]])
    """
    return expand(input, other.size())


@method
def broadcast_to(input: Tensor, size: Any) -> Tensor:
    """This tensor expanded to a shape.

    >>> import penlight as torch
    >>> torch.tensor([1, 2]).broadcast_to((2, 2))
    tensor([[1, 2],
            [1, 2]])
    """
    return expand(input, size)
