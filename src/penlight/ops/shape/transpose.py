"""Views with permuted dimensions: transposes and permutations."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

from ..._common.user_warnings import warn_user
from ...tensor import Tensor
from ..machinery.arguments import wrap_dim
from ..machinery.array_namespace import both
from ..machinery.declare import install_method, linear, method
from ..machinery.in_place import in_place_view
from .views import _alias

__all__ = ["adjoint", "moveaxis", "movedim", "permute", "swapaxes", "swapdims", "t", "transpose"]

# A read-only gradient represents contiguous memory, which its strides of 0 do not show once they are transposed. See Note [Read-only
# gradients] in autograd/accumulate.py.
both("with_memory", lambda grad: grad if grad.flags.writeable else grad.copy(), lambda grad: grad)


@linear(
    lambda input, dim0, dim1: input.swapaxes(dim0, dim1) if input.ndim else input.view(),
    view=True,
    node="TransposeBackward0",
    input=lambda grad, dim0, dim1, xp: xp._transpose(xp.with_memory(grad), dim0, dim1),
)
def _transpose(input: Tensor, dim0: int, dim1: int) -> Tensor: ...


@linear(attrgetter("T"), view=True, node="TBackward0", input=lambda grad, xp: xp._t(xp.with_memory(grad)))
def _t(input: Tensor) -> Tensor: ...


@linear(
    lambda input, dims: input.transpose(dims),
    view=True,
    node="PermuteBackward0",
    input=lambda grad, dims, xp: xp._permute(xp.with_memory(grad), _inverse(dims)),
)
def _permute(input: Tensor, dims: tuple[int, ...]) -> Tensor: ...


def _inverse(dims: Sequence[int]) -> tuple[int, ...]:
    inverse = [0] * len(dims)
    for position, d in enumerate(dims):
        inverse[d] = position
    return tuple(inverse)


@method
def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Two dimensions swapped; a view.

    >>> torch.zeros(2, 3, 4).transpose(0, 2).shape
    torch.Size([4, 3, 2])
    """
    ndim = input.dim()
    dim0, dim1 = wrap_dim(dim0, ndim), wrap_dim(dim1, ndim)
    return _transpose(input, dim0, dim1)


@method
def t(input: Tensor) -> Tensor:
    """The transpose of a matrix; vectors and scalars are returned unchanged.

    >>> torch.zeros(2, 3).t().shape
    torch.Size([3, 2])
    """
    if input.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {input.dim()}D")
    return _t(input)


@method
def permute(input: Tensor, *order: Any, dims: Any = None) -> Tensor:
    """The dimensions in the given order; a view.

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
    axes = tuple([wrap_dim(d, ndim) for d in dims])
    if len(set(axes)) != ndim:
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    return _permute(input, axes)


@method
def movedim(input: Tensor, source: Any, destination: Any) -> Tensor:
    """Some dimensions moved to other positions, the others in their order.

    >>> torch.zeros(2, 3, 4).movedim(0, -1).shape
    torch.Size([3, 4, 2])
    """
    ndim = input.dim()
    source, destination = (list(d) if isinstance(d, (tuple, list)) else [d] for d in (source, destination))
    if len(source) != len(destination):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({source} dims) should contain the same number of "
            f"dims as destination ({destination} dims)"
        )
    from_, to = [wrap_dim(d, ndim) for d in source], [wrap_dim(d, ndim) for d in destination]
    if len(set(from_)) != len(from_) or len(set(to)) != len(to):
        which, dims = ("source", source) if len(set(from_)) != len(from_) else ("destination", destination)
        raise RuntimeError(f"movedim: repeated dim in `{which}` ({dims})")
    if not ndim:
        return _alias(input)
    order = [-1] * ndim
    for s, d in zip(from_, to):
        order[d] = s
    rest = iter(d for d in range(ndim) if d not in from_)
    return _permute(input, tuple(next(rest) if d < 0 else d for d in order))


@method
def moveaxis(input: Tensor, source: Any, destination: Any) -> Tensor:
    """Another name of `movedim`.

    >>> torch.moveaxis(torch.zeros(2, 3, 4), 0, -1).shape
    torch.Size([3, 4, 2])
    """
    return movedim(input, source, destination)


@method
def swapaxes(input: Tensor, axis0: int, axis1: int) -> Tensor:
    """Another name of `transpose`.

    >>> torch.swapaxes(torch.zeros(2, 3, 4), 0, 2).shape
    torch.Size([4, 3, 2])
    """
    return transpose(input, axis0, axis1)


@method
def swapdims(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Another name of `transpose`.

    >>> torch.swapdims(torch.zeros(2, 3, 4), 0, 2).shape
    torch.Size([4, 3, 2])
    """
    return transpose(input, dim0, dim1)


_IDENTITY = "Tensor.{} is deprecated on 0-D tensors. This function is the identity in these cases."
_CONJUGATE = "{} is deprecated on 0-D tensors. Consider using x.conj()."
_REVERSED = (
    "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated and it will throw an error in a future "
    "release. Consider `x.mT` to transpose batches of matrices or `x.permute(*torch.arange(x.ndim - 1, -1, -1))` to reverse the "
    "dimensions of a tensor."
)


def _last_two(input: Tensor, name: str) -> Tensor:
    """The last two dimensions swapped; raises for a tensor with fewer."""
    ndim = input.dim()
    if ndim < 2:
        raise RuntimeError(f"tensor.{name} is only supported on matrices or batches of matrices. Got {ndim}-D tensor.")
    return input.transpose(-2, -1)


@property  # type: ignore[misc]
def _T(self: Tensor) -> Tensor:
    """The tensor with its dimensions in reverse order.

    >>> torch.zeros(2, 3).T.shape
    torch.Size([3, 2])
    """
    ndim = self.dim()
    if ndim != 2:
        warn_user(_REVERSED if ndim else _IDENTITY.format("T"))
    return _permute(self, tuple(reversed(range(ndim))))


setattr(Tensor, "T", _T)


def _mT(self: Tensor) -> Tensor:
    """The tensor with its last two dimensions swapped.

    >>> torch.zeros(2, 3, 4).mT.shape
    torch.Size([2, 4, 3])
    """
    if not self.dim():
        warn_user(_IDENTITY.format("mT"))
        return self
    return _last_two(self, "mT")


def _H(self: Tensor) -> Tensor:
    """The conjugate transpose of a matrix.

    >>> torch.tensor([[1j, 2]]).H
    tensor([[0.-1.j],
            [2.-0.j]])
    """
    ndim = self.dim()
    if not ndim:
        warn_user(_CONJUGATE.format("Tensor.H"))
        return self.conj()
    if ndim != 2:
        batches = " For batches of matrices, consider using tensor.mH" if ndim > 2 else ""
        raise RuntimeError(f"tensor.H is only supported on matrices (2-D tensors). Got {ndim}-D tensor.{batches}")
    return self.transpose(0, 1).conj()


def _mH(self: Tensor) -> Tensor:
    """The tensor with its last two dimensions swapped, conjugated.

    >>> torch.zeros(2, 3, 4).mH.shape
    torch.Size([2, 4, 3])
    """
    if not self.dim():
        warn_user(_CONJUGATE.format("Tensor.mH"))
        return self.conj()
    return _last_two(self, "mH").conj()


for _name, _property in {"mT": _mT, "H": _H, "mH": _mH}.items():
    setattr(Tensor, _name, property(_property))


def adjoint(input: Tensor) -> Tensor:
    """The last two dimensions transposed and conjugated.

    >>> torch.adjoint(torch.tensor([[1j, 2.0]]))
    tensor([[0.-1.j],
            [2.-0.j]])
    """
    if not input.dim():
        warn_user(_CONJUGATE.format("adjoint()"))
        return input.conj()
    return _last_two(input, "adjoint()").conj()


install_method("t_", in_place_view(t, {"TBackward0": "TBackward1"}))
for _function in (transpose, swapaxes, swapdims):
    install_method(_function.__name__ + "_", in_place_view(_function, {"TransposeBackward0": "TransposeBackward1"}))
