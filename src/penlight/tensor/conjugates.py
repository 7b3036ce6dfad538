"""Conjugate and negative views, which share the memory of another tensor: `x.conj()`, `x.conj().imag`.

# Note [Conjugate and negative views]
PyTorch's `x.conj()` is a view with a mark: code that reads it conjugates. Here every op reads `tensor._array`, and checking for a mark
there would slow down all of them. So a marked tensor has its own class, whose `_array` is a property: each access computes the conjugate,
in new read-only memory with the same strides. This determines the behaviour of ops:

- An op that computes reads the correct values.
- An op that makes a view returns a window of that new memory. `link` recognises the copy, gives the view the same window of the original
memory, and marks it (`adopt`).
- An in-place op computes its result out of place, and copies it through the mark (`write_through`). Code that writes to the array directly
fails, because NumPy refuses the write.

A tensor without a mark has another class and pays nothing. Inside vmap and forward mode, for subclasses with `__torch_function__`, and for
memory with negative strides, conjugates are computed immediately.
"""

from __future__ import annotations

from types import FunctionType
from typing import Any

import numpy as np

from ..autograd import views
from ..autograd.modes import grad_mode
from ..kernels.addresses import offset
from ..kernels.lazy import lazy_import
from . import DISABLED, Meta, Tensor, meta_of, views_of, wrap
from .memory import ShapeAndMemory, root_of

_conversion = lazy_import(globals(), "_conversion", "..ops.conversion")

_slot: Any = vars(Tensor)["_array"]


class Mark:
    """The memory that a marked tensor shares, and the functions applied to its elements on reading."""

    __slots__ = ("conj", "memory", "neg")

    def __init__(self, memory: Any, conj: bool, neg: bool) -> None:
        self.memory, self.conj, self.neg = memory, conj, neg


class _Copy(np.ndarray[Any, Any]):
    """The memory of a copy that was read through a mark, from the first element to the last."""

    mark: Mark


class Marked(Tensor):
    """A tensor with a mark. See Note [Conjugate and negative views]."""

    __slots__ = ()
    __torch_function__ = staticmethod(DISABLED)
    _rare_state: Meta

    @property
    def _array(self) -> Any:
        mark = self._rare_state.mark
        memory = mark.memory
        span = sum((n - 1) * s for n, s in zip(memory.shape, memory.strides)) if memory.size else 0
        copy = _Copy(span // memory.itemsize + 1, memory.dtype)
        copy.mark = mark
        array = np.ndarray(memory.shape, memory.dtype, copy, 0, memory.strides)
        if mark.conj:
            np.conjugate(memory, out=array)
        if mark.neg:
            np.negative(array if mark.conj else memory, out=array)
        array.flags.writeable = False
        return array

    @_array.setter
    def _array(self, array: Any) -> None:
        """Sets other memory: a copy that was read through a mark is stored as it is."""
        self.__class__ = Tensor  # type: ignore[assignment]
        self._array = array
        if getattr(self, "_rare_state", None) is not None:
            self._rare_state.mark = None
            adopt(self)

    def numpy(self, *, force: bool = False) -> Any:
        if force:
            return self.detach().clone()._array
        name, function = ("conjugate", "conj") if self._rare_state.mark.conj else ("negative", "neg")
        raise RuntimeError(
            f"Can't call numpy() on Tensor that has {name} bit set. Use tensor.resolve_{function}().numpy() instead."
        )

    def detach(self) -> Tensor:
        out = _plain(self)
        out._vc = views_of(self)
        return _marked_without_graph(out, self._rare_state.mark)

    @property
    def data(self) -> Tensor:
        return _marked_without_graph(_plain(self), self._rare_state.mark)

    @data.setter
    def data(self, value: Tensor) -> None:
        Tensor.data.fset(self, value)  # type: ignore[attr-defined]

    def __setitem__(self, index: Any, value: Any) -> None:
        changed = self.clone()
        changed[index] = value
        self.copy_(changed)

    def share_memory_(self) -> Tensor:
        raise RuntimeError(
            "share_memory_: the tensor is a conjugate or negative view. Share the tensor that it is a view of"
        )

    def __dlpack__(self, *args: Any, **kwargs: Any) -> Any:
        kind = "conjugate" if self._rare_state.mark.conj else "negative"
        raise BufferError(f"Can't export tensors with the {kind} bit set")

    def __copy__(self) -> Tensor:
        return self.view_as(self)

    def __reduce_ex__(self, protocol: Any) -> Any:
        function, (_, *arguments) = super().__reduce_ex__(protocol)
        return function, (Tensor, *arguments)


def _of_memory(function: Any) -> Any:
    def ask(self: Marked, *args: Any, **kwargs: Any) -> Any:
        return function(_plain(self), *args, **kwargs)

    return ask


for _name, _member in vars(ShapeAndMemory).items():  # memory properties need no conjugate
    if isinstance(_member, property):
        setattr(Marked, _name, property(_of_memory(_member.fget)))
    elif isinstance(_member, FunctionType) and _name not in ("pin_memory", "share_memory_"):
        setattr(Marked, _name, _of_memory(_member))


Marked.__name__ = Marked.__qualname__ = "Tensor"  # the name that programs print and compare


def memory_of(tensor: Tensor) -> Any:
    """The array that a tensor shares with its views, without applying marks."""
    return tensor._rare_state.mark.memory if type(tensor) is Marked else tensor._array


def marks_of(tensor: Tensor) -> tuple[bool, bool]:
    """Whether a tensor is conjugated, and whether it is negated, on reading."""
    if type(tensor) is not Marked:
        return False, False
    mark = tensor._rare_state.mark
    return mark.conj, mark.neg


def can_mark(tensor: Tensor) -> bool:
    """Whether a view of a tensor may have a mark."""
    cls = type(tensor)
    if cls is not Tensor and cls.__torch_function__ is not DISABLED:
        return False
    return not any(s < 0 for s in memory_of(tensor).strides)


def marked(tensor: Tensor, conj: bool, neg: bool) -> Tensor:
    """A new view with these marks in addition to its own."""
    memory, (had_conj, had_neg) = memory_of(tensor), marks_of(tensor)
    conj, neg = conj != had_conj, neg != had_neg
    if conj or neg:
        meta_of(tensor).mark = Mark(memory, conj, neg)
        if type(tensor) is not Marked:
            _slot.__delete__(tensor)
            tensor.__class__ = Marked
    elif type(tensor) is Marked:
        tensor.__class__ = Tensor  # type: ignore[assignment]
        tensor._array, tensor._rare_state.mark = memory, None
    return tensor


def adopt(view: Tensor) -> None:
    """Turn a view of a copy that was read through a mark into the same window of the original memory, with that mark."""
    array = _slot.__get__(view)
    copy = root_of(array)
    if type(copy) is not _Copy:
        return
    mark = copy.mark
    memory = mark.memory
    if array.dtype != memory.dtype:
        refuse_other_dtype(mark, array.ndim > memory.ndim)
    start = offset(array, copy) if array.size else 0
    _slot.__set__(view, views.strided_window(memory, array.shape, array.strides, start // array.itemsize))
    marked(view, mark.conj, mark.neg)


def refuse_other_dtype(mark: Mark, as_pairs: bool) -> None:
    """Refuse a view with another dtype, which would expose the unconjugated memory."""
    if as_pairs and mark.conj:
        raise RuntimeError(
            "view_as_real doesn't work on unresolved conjugated tensors.  To resolve the conjugate tensor so you can view it as real, use "
            "self.resolve_conj(); however, be warned that the resulting tensor will NOT alias the original."
        )
    kind = "conjugate view tensors" if mark.conj else "tensors with negative bit set"
    raise RuntimeError(f"torch.Tensor.view is not supported for {kind} when converting to a different dtype.")


def _plain(tensor: Marked) -> Tensor:
    return wrap(tensor._rare_state.mark.memory)


def _marked_without_graph(tensor: Tensor, mark: Mark) -> Tensor:
    before = grad_mode.get()
    try:
        grad_mode.set(False)
        return with_marks(tensor, mark.conj, mark.neg)
    finally:
        grad_mode.set(before)


def with_marks(tensor: Tensor, conj: bool, neg: bool) -> Tensor:
    """A view of a tensor with these marks toggled: a mark that it already has is removed."""
    if conj:
        tensor = _conversion.conj(tensor)
    return _conversion._neg_view(tensor) if neg else tensor


def write_through(tensor: Tensor, result: Tensor) -> None:
    """Write to a marked tensor so that reading it gives these values."""
    conj, neg = marks_of(tensor)
    if conj and result.is_complex():
        result = _conversion._conj(result)
    if neg:
        result = result.neg()
    with_marks(tensor, conj, neg).copy_(result)
