"""Batched: a tensor inside a vmapped function, and adding and removing batch dimensions.

# Note [Batched tensors]
Inside `vmap(f)` a mapped tensor is a `Batched`: it looks like one sample and holds all of them, as a physical tensor
`_value` whose dimension 0 runs over the batch of one level. An op on it goes to that level (`level.py`), which runs the op on
the physical tensors by a batching rule. Levels nest: the value may be Batched at an outer level, so the dimensions of the
innermost physical tensor are (outermost vmap, ..., innermost vmap, logical ones).

The graph and the tangents of forward mode belong to physical tensors only, so vmapped code is differentiated as the code that the rules
run. A Batched itself is in no graph, but reports that of its value.

# Note [Outlines]
Much code reads the shape or dtype of a tensor's `_array`. For a Batched this is an `Outline` of one sample; reading its values raises,
because there is no single value.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NoReturn

from ..autograd import modes
from ..autograd.modes import IN_A_TRANSFORM
from ..autograd.node import NO_EDGE
from ..creation import empty_strided
from ..kernels.lazy import lazy_import
from ..ops.machinery.arguments import sizes
from ..ops.machinery.dispatch import interpreters
from ..ops.shape.views import _expand
from ..size import Size
from ..tensor import DISABLED, Tensor
from ..tensor.outline import Outline

if TYPE_CHECKING:
    from .level import BatchLevel

_printing = lazy_import(globals(), "_printing", ".printing")


LOOP = "To look at each sample, use a loop instead of vmap: torch.stack([f(x) for x in xs])."
CONTROL_FLOW = (
    "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. We don't support that yet, "
    "please file an issue at https://github.com/pytorch/pytorch/issues . " + LOOP
)
ITEM = (
    "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling .item() on a Tensor, please try "
    "to rewrite what you're doing with other operations. If error is occurring somewhere inside PyTorch internals, please file "
    "a bug report. " + LOOP
)
NO_STORAGE = (
    "Cannot access data pointer of Tensor that doesn't have storage. Inside vmap a tensor is many at once. " + LOOP
)
REQUIRES_GRAD = IN_A_TRANSFORM.format(
    "requires_grad_() (or perhaps using torch.autograd.functional.* APIs)", "requires_grad_"
)
BACKWARD = (
    "backward() called inside a functorch transform. This is not supported, please use functorch.grad or functorch.vjp instead "
    "or call backward() outside of functorch transforms."
)
ESCAPED = (
    "vmap: a tensor from inside a function that was vmapped is used after that function has returned. Return it from the "
    "function instead, then it has the batch as one of its dimensions."
)

new = object.__new__


class SampleOutline(Outline):
    """The outline of one sample. See Note [Outlines]."""

    __slots__ = ("_opened",)

    def __init__(self, batched: Batched) -> None:
        super().__init__(batched._value._array)
        self._opened = batched._level

    def _refuse(self, as_number: bool = False) -> NoReturn:
        if self._opened not in interpreters.get():
            raise RuntimeError(ESCAPED)
        raise RuntimeError(ITEM if as_number else CONTROL_FLOW)

    shape = property(lambda self: tuple(self._like.shape[1:]))
    ndim = property(lambda self: self._like.ndim - 1)
    size = property(lambda self: math.prod(self.shape))
    strides = property(lambda self: tuple(self._like.strides[1:]))


class Batched(Tensor):
    """A tensor inside a vmapped function. See Note [Batched tensors]."""

    __slots__ = ("_level", "_value")

    _level: BatchLevel
    _value: Tensor

    __torch_function__ = staticmethod(DISABLED)

    @property
    def _array(self) -> Any:  # type: ignore[override]
        return SampleOutline(self)

    @property
    def _edge(self) -> Any:  # type: ignore[override]
        return NO_EDGE

    # Properties of one sample; an Outline has them too, but they are read often.
    @property
    def shape(self) -> Size:
        return Size(self._value._array.shape[1:])

    def dim(self) -> int:
        return self._value._array.ndim - 1

    ndimension = dim
    ndim = property(dim)

    # Forwarded to the physical tensor.
    dtype = property(lambda self: self._value.dtype)
    _vc = property(lambda self: self._value._vc, lambda self, vc: setattr(self._value, "_vc", vc))
    _view = property(lambda self: self._value._view)
    _rare_state = property(
        lambda self: self._value._rare_state, lambda self, meta: setattr(self._value, "_rare_state", meta)
    )
    _grad = property(lambda self: self._value._grad, lambda self, grad: setattr(self._value, "_grad", grad))

    def _refuse(self, message: str) -> NoReturn:
        raise RuntimeError(message)

    def item(self) -> Any:
        self._refuse(ITEM)

    __index__ = __float__ = __int__ = __complex__ = item

    def __bool__(self) -> bool:
        self._refuse(CONTROL_FLOW)

    def tolist(self) -> Any:
        self._refuse(NO_STORAGE)

    def numpy(self, *, force: bool = False) -> Any:
        self._refuse(NO_STORAGE)

    def data_ptr(self) -> int:
        self._refuse(NO_STORAGE)

    def is_contiguous(self, memory_format: Any = None) -> bool:
        if memory_format is not None and str(memory_format) != "torch.contiguous_format":
            self._refuse(
                "NYI: querying is_contiguous inside of vmap for memory_format other than torch.contiguous_format"
            )
        return super().is_contiguous()

    def untyped_storage(self) -> Any:
        return self._value.untyped_storage()

    def storage_offset(self) -> int:
        return self._value.storage_offset()

    def __reduce_ex__(self, protocol: Any) -> Any:
        self._refuse(NO_STORAGE)

    def __deepcopy__(self, memo: Any) -> Any:
        return self.clone()

    def __copy__(self) -> Any:
        return wrap(self._level, self._value)

    @property
    def data(self) -> Any:
        self._refuse("accessing `data` under vmap transform is not allowed")

    @data.setter
    def data(self, value: Any) -> None:
        self._refuse("mutating directly with `.data` under vmap transform is not allowed.")

    def detach(self) -> Any:
        return wrap(self._level, self._value.detach())

    def detach_(self) -> Any:
        self._value.detach_()
        return self

    @property
    def requires_grad(self) -> bool:
        return self._value.requires_grad

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if value:
            self._refuse(REQUIRES_GRAD)

    @property
    def is_leaf(self) -> bool:
        return self._value.is_leaf

    @property
    def grad_fn(self) -> Any:
        return self._value.grad_fn

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        self.requires_grad = requires_grad
        return self

    def backward(self, *args: Any, **kwargs: Any) -> None:
        self._refuse(BACKWARD)

    def register_hook(self, hook: Any) -> Any:
        level = self._level

        def run(grad: Any) -> Any:
            from .level import BatchLevel

            with BatchLevel(level.size, level.randomness) as inner:
                result = hook(wrap(inner, grad))
                return None if result is None else broadcast(inner, result)._value

        return self._value.register_hook(run)

    def as_subclass(self, cls: type) -> Any:
        return self

    def new_zeros(self, *size: Any, **kwargs: Any) -> Any:
        return _filled(self, "new_zeros", size, kwargs)

    def new_ones(self, *size: Any, **kwargs: Any) -> Any:
        return _filled(self, "new_ones", size, kwargs)

    def new_empty(self, *size: Any, **kwargs: Any) -> Any:
        return _filled(self, "new_empty", size, kwargs)

    def new_full(self, size: Any, fill_value: Any, **kwargs: Any) -> Any:  # type: ignore[override]
        return self.new_empty(size, **kwargs).fill_(fill_value)

    def squeeze_(self, dim: Any = None) -> Any:
        return _reshaped(self, self.squeeze(dim))

    def unsqueeze_(self, dim: int) -> Any:
        return _reshaped(self, self.unsqueeze(dim))

    def t_(self) -> Any:
        return _reshaped(self, self.t())

    def transpose_(self, dim0: int, dim1: int) -> Any:
        return _reshaped(self, self.transpose(dim0, dim1))

    swapaxes_ = swapdims_ = transpose_

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        return _shown(self) or ""


def _shown(tensor: Any) -> str | None:
    return _printing.shown(tensor)


modes.show_within = _shown


def _filled(like: Batched, name: str, size: tuple[Any, ...], kwargs: dict[str, Any]) -> Batched:
    """`new_zeros` and similar: the result is batched too, so that batched values can be written into it."""
    if "size" in kwargs:
        size = (kwargs.pop("size"),)
    return wrap(like._level, getattr(like._value, name)(like._level.size, *sizes(size, name), **kwargs))


def _reshaped(tensor: Batched, changed: Any) -> Batched:
    """The in-place form of a view: this object becomes the view."""
    tensor._value = changed._value
    return tensor


# ----- Putting batch dimensions on and off -----------------------------------------------------------------------------


def wrap(level: BatchLevel, value: Tensor) -> Batched:
    """A physical tensor, whose dimension 0 is the level's batch, as a Batched."""
    out = new(Batched)
    out._level, out._value = level, value
    return out


def levels_of(tensor: Any) -> list[BatchLevel]:
    """The levels at which a tensor is batched, outermost first."""
    found = []
    while tensor._level is not None and tensor._level.batching:
        found.append(tensor._level)
        tensor = tensor._value
    return found[::-1]


def physical(tensor: Any) -> Any:
    """The tensor under all batches."""
    while tensor._level is not None and tensor._level.batching:
        tensor = tensor._value
    return tensor


def wrap_all(levels: Iterable[BatchLevel], value: Any) -> Any:
    """A physical tensor whose leading dimensions are the batches of these levels, outermost first, as a Batched."""
    for level in levels:
        value = wrap(level, value)
    return value


def broadcast(level: BatchLevel, tensor: Any) -> Any:
    """The tensor, batched at a level: an unbatched one is expanded to all samples, without a copy."""
    own = tensor._level
    if own is level:
        return tensor
    if own is not None and own.depth > level.depth:
        # The level's dimension goes in front of the inner level's.
        return wrap(own, broadcast(level, tensor._value))
    return wrap(level, _expanded(level, tensor))


def _expanded(level: BatchLevel, tensor: Any) -> Any:
    """A tensor expanded with the batch as a new first dimension, and so its tangents, which may be batched already."""
    tangents = None if tensor._rare_state is None else tensor._rare_state.tangents
    if not tangents:
        return _expand(tensor, (level.size, *tensor.shape))
    kept = dict(tangents)
    tangents.clear()
    try:
        out = _expand(tensor, (level.size, *tensor.shape))
    finally:
        tangents.update(kept)
    for dual, tangent in kept.items():
        dual.attach(out, lifted(level, tangent))
    return out


def lifted(level: BatchLevel, tensor: Any) -> Any:
    """A tensor with a level's batch as its first (logical) dimension."""
    return expose(tensor, [level])


def expose(tensor: Any, levels: list[BatchLevel]) -> Any:
    """A tensor with the batches of these levels as its leading dimensions, in this order; other batches stay hidden."""
    for level in levels:
        tensor = broadcast(level, tensor)
    present = levels_of(tensor)
    kept = [level for level in present if level not in levels]
    value = physical(tensor)
    order = [present.index(level) for level in (*kept, *levels)]
    if order != list(range(len(order))):
        value = value.permute(*order, *range(len(order), value.dim()))
    return wrap_all(kept, value)


def hide(tensor: Any, levels: list[BatchLevel]) -> Any:
    """The reverse of `expose`: the leading dimensions of a tensor become the batches of these levels."""
    if not levels:
        return tensor
    kept = levels_of(tensor)
    value = physical(tensor)
    present = [*kept, *levels]
    wanted = sorted(present, key=lambda level: level.depth)
    order = [present.index(level) for level in wanted]
    if order != list(range(len(order))):
        value = value.permute(*order, *range(len(order), value.dim())).contiguous()
    return wrap_all(wanted, value)


def involves(level: BatchLevel, tensor: Any) -> bool:
    """Whether a tensor or one of its tangents is batched at a level."""
    while tensor._level is not None:
        if tensor._level is level:
            return True
        tensor = tensor._value
    tangents = None if tensor._rare_state is None else tensor._rare_state.tangents
    return any(involves(level, t) for t in (tangents or {}).values())


def strided_zeros(like: Any, size: Iterable[int], stride: Iterable[int]) -> Any:
    """Zeros in a memory layout (strides in elements), batched like another tensor and in its dtype."""
    size, stride = tuple(size), tuple(stride)
    levels = levels_of(like)
    steps = [1 + sum((n - 1) * s for n, s in zip(size, stride))]
    for level in reversed(levels):
        steps.insert(0, steps[0] * level.size)
    lead = tuple([level.size for level in levels])
    return wrap_all(levels, empty_strided((*lead, *size), (*steps[1:], *stride), dtype=like.dtype).zero_())
