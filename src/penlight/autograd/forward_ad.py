"""Forward mode: tangents are computed along with the values.

>>> import penlight as torch
>>> import penlight.autograd.forward_ad as fwAD
>>> with fwAD.dual_level():
...     x = fwAD.make_dual(torch.tensor(3.0), torch.tensor(1.0))
...     fwAD.unpack_dual(x * x).tangent
tensor(6.)

# Note [Dual levels]
While a level is open, ops go through it (`_dispatch.interpreters`). It removes its tangents from the inputs, lets the op run
below it, computes the result's tangent by the op's own rules on tensors, also below it, and attaches it to the result. So levels
nest, the tangent is itself in the graph if the inputs are, and a saved tensor still has its tangent during the backward
pass: this gives forward over reverse and reverse over forward. Closing a level removes all its tangents.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import dtypes
from .._common.arguments import explain as _explain
from ..kernels.lazy import lazy_import
from ..ops import as_strided
from ..ops.machinery import dispatch
from ..ops.machinery.in_place import OVERLAPS
from ..ops.machinery.rules import zero_gradient
from ..ops.shape.views import _alias
from ..tensor import Tensor, meta_of, views_of, wrap
from ..tensor.memory import root_of
from . import modes
from ._jvp import _zeros, jvp
from .modes import grad_mode
from .node import NO_EDGE
from .saved import version_of

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]

if TYPE_CHECKING:
    from ..ops.machinery.op import Op

_batched = lazy_import(globals(), "_batched", "..func.batched")
_function = lazy_import(globals(), "_function", ".function")


class UnpackedDualTensor(NamedTuple):
    """A dual tensor's value and tangent (None if it has none).

    >>> fwAD = torch.autograd.forward_ad
    >>> with fwAD.dual_level():
    ...     primal, tangent = fwAD.unpack_dual(torch.tensor(2.0))
    >>> tangent is None
    True

    `primal` is the value.
    """

    primal: Any
    tangent: Any


class DualLevel:
    """One open level of forward mode. See Note [Dual levels]."""

    batching = False

    def __init__(self, name: int = 0) -> None:
        self.name = name  # its number in `forward_ad`
        self.number = 0  # if a transform opened it: its index among the open ones
        self.holders: list[weakref.ref[Any]] = []

    # ----- Tangents -------------------------------------------------------------------------------------------------

    def tangent(self, tensor: Any) -> Any:
        meta = getattr(tensor, "_rare_state", None)
        return None if meta is None or meta.tangents is None else meta.tangents.get(self)

    def attach(self, tensor: Tensor, tangent: Tensor) -> None:
        meta = meta_of(tensor)
        if meta.tangents is None:
            meta.tangents = {}
        meta.tangents[self] = tangent
        self.holders.append(weakref.ref(tensor))
        if getattr(tensor, "_edge", NO_EDGE) is not NO_EDGE:
            _remember_on_node(self, tensor, tangent)

    def clear(self) -> None:
        """Remove all tangents of this level."""
        for ref in self.holders:
            holder = ref()
            if holder is None:
                continue
            if hasattr(holder, "next_functions"):
                for known in holder.extra().get("tangents", {}).values():
                    known.pop(self, None)
            elif holder._rare_state is not None and holder._rare_state.tangents is not None:
                holder._rare_state.tangents.pop(self, None)
        self.holders.clear()

    # ----- Ops ------------------------------------------------------------------------------------------------------

    def run(self, op: Op, arguments: tuple[Any, ...], out: Any = None) -> Any:
        """Run an op with this level open: the result has a tangent if an input has one."""
        outer = _below(self)
        try:
            tangents = self._tangents(op, arguments)
            if not tangents or out is not None:  # `out=` is refused there
                return dispatch.enter(op, arguments, out)
            hidden = _Hidden(self, arguments)
            try:
                result = dispatch.enter(op, arguments)
                results = result if isinstance(result, tuple) else (result,)
                moved = jvp(op, arguments, tangents, result)
                if not op.view:
                    moved = [None if t is None else _laid_like(o, t) for o, t in zip(results, moved)]
            finally:
                hidden.restore()
        finally:
            dispatch.interpreters.set(outer)
        for o, tangent in zip(results, moved):
            if tangent is not None and o.dtype.category >= 2:
                self.attach(o, tangent)
        return result

    def run_inplace(self, op: Op, arguments: tuple[Any, ...]) -> Any:
        """An in-place op: the tangent of the out-of-place op is written into the tensor's tangent."""
        tensor = arguments[0]
        tangents = self._tangents(op, arguments)
        moved = None
        if any(op.rules[name] is not zero_gradient for name in tangents):  # samples would be drawn twice
            # Values that the tangent's graph saves must be copied before their memory is overwritten.
            before_write = tensor.clone() if grad_mode.get() else tensor
            moved = self.tangent(self.run(op, (before_write, *arguments[1:])))
        outer = _below(self)
        before = self.tangent(tensor)
        before = None if before is None else before.clone()
        hidden = _Hidden(self, arguments)
        try:
            dispatch.run_in_place(op, arguments)
        finally:
            hidden.restore()
            dispatch.interpreters.set(outer)
        if tangents:
            self._write(tensor, moved)
            self._tell_node(op, tensor, before)
        return tensor

    def run_function(self, cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any], contexts: Any = None) -> Any:
        """`MyFunction.apply` with this level open: its own `jvp` computes the tangents. An inner level needs the context too: its `jvp`
        runs with this level open, on saved tensors that have this level's tangents."""
        tangents = [self.tangent(a) for a in args]
        if not any(t is not None for t in tangents):
            outer = _below(self)
            try:
                return cls.apply(*args, **kwargs) if contexts is None else _further_out(cls, args, kwargs, contexts)
            finally:
                dispatch.interpreters.set(outer)
        outer = _below(self)
        hidden = _Hidden(self, args)
        outermost, contexts = contexts is None, [] if contexts is None else contexts
        try:
            result = _further_out(cls, args, kwargs, contexts)
            if contexts[0].materialize_grads:
                pairs = zip(args, tangents)
                tangents = [_zeros(a) if t is None and isinstance(a, Tensor) else t for a, t in pairs]
            versions = [version_of(t) if isinstance(t, Tensor) else 0 for t in tangents]
            moved = cls.jvp(_ForwardContext(contexts[0]), *tangents)
            if outermost:
                contexts[0].saved_for_forward = ()
        finally:
            hidden.restore()
            dispatch.interpreters.set(outer)
        outputs = result if isinstance(result, tuple) else (result,)
        given = moved if isinstance(moved, tuple) else (moved,)
        if len(given) != len(outputs):
            raise RuntimeError(
                f"Function's jvp returned an invalid number of forward gradients (expected {len(outputs)} but got {len(given)})"
            )
        for nr, (o, tangent) in enumerate(zip(outputs, given)):
            if isinstance(o, Tensor):
                _check_tangent(contexts[0], nr, o, tangent, list(zip(args, tangents, versions)))
                if tangent is not None:
                    self.attach(o, tangent)
        return result

    def _tell_node(self, op: Op, tensor: Tensor, before: Any) -> None:
        """Give tangents to the values that the node of an in-place op saved: a clone of the old value, or the new value."""
        edge = (tensor._base if tensor._base is not None else tensor)._edge
        node: Any = getattr(edge[0], "fn", edge[0])
        if getattr(node, "op", None) is not op:
            return
        copy = getattr(node, "s_" + op.inputs[0], None)
        if copy is not None and copy is not tensor and before is not None:
            self.attach(copy, before)
        node.extra().setdefault("tangents", {}).setdefault(0, {})[self] = self.tangent(tensor)
        self.holders.append(weakref.ref(node))

    def _write(self, tensor: Tensor, moved: Any) -> None:
        """Give a written tensor its new tangent; for a view, also its base."""
        outer = _below(self)
        try:
            present = self.tangent(tensor)
            if moved is None:
                moved = tensor.new_zeros(tensor.shape)
            base = tensor._base
            if present is None and base is not None and self.tangent(base) is None:
                base_tangent = _batched.strided_zeros(moved, base.shape, base.stride())
                self.attach(base, base_tangent)
                offset = tensor.storage_offset() - base.storage_offset()
                present = as_strided(base_tangent, tensor.shape, tensor.stride(), offset)
            if present is None or (base is None and not _has_views(tensor)):
                present = _laid_like(tensor, moved)
            else:
                present.copy_(moved)
        finally:
            dispatch.interpreters.set(outer)
        self.attach(tensor, present)

    def _tangents(self, op: Op, arguments: tuple[Any, ...]) -> dict[str, Any]:
        """The tangents of the inputs that have rules, by name; a list for a list of tensors."""
        found: dict[str, Any] = {}
        for name, value in zip(op.parameters, arguments):
            if name not in op.rules:
                continue
            if isinstance(value, (list, tuple)):
                each = [self.tangent(v) for v in value]
                if any(t is not None for t in each):
                    found[name] = each
            else:
                tangent = self.tangent(value)
                if tangent is not None:
                    found[name] = tangent
        return found


def _check_tangent(ctx: Any, nr: int, out: Tensor, tangent: Any, inputs: list[Any]) -> None:
    """Refuse an invalid result of a custom function's `jvp`: a tangent for a non-differentiable output, or one that is not written in
    place, or is not a view, where the output is. `inputs` are the arguments, with their tangents and the tangents' versions."""
    if tangent is not None:
        if not isinstance(tangent, Tensor):
            raise RuntimeError(f"expected Variable or None (got {type(tangent).__name__}) for grad output {nr}.")
        if out.dtype.category < dtypes.FLOATING or any(t is out for t in ctx.non_differentiable or ()):
            raise RuntimeError(
                f"Function's jvp returned a gradient at position {nr}, but  the corresponding forward output is not a differentiable "
                "Tensor.You should return None at that position instead."
            )
        _check_floating(out, tangent)
        _check_size(out, tangent)
    for a, given, version in inputs:
        if given is None:
            continue
        if out is a and any(t is a for t in ctx.dirty_tensors or ()):
            if tangent is not given or version_of(given) == version:
                raise RuntimeError(
                    "An inplace custom Function is not modifying the forward mode gradients inplace. If the forward is modifying an "
                    "input inplace, then the jvp function must modify the corresponding gradient inplace."
                )
        elif tangent is not None and out._base is not None and out._base is (a if a._base is None else a._base):
            if tangent._base is None or tangent is given:
                raise RuntimeError(
                    "A custom Function's forward is returning a view (or an input as-is) but the jvp is not returning a view."
                )
            if tangent._base is not (given if given._base is None else given._base):
                raise RuntimeError(
                    "A custom Function is returning a view but the jvp is not returning a view of the given grad input."
                )
            if _in_memory(out, a) != _in_memory(tangent, given):
                raise RuntimeError(
                    "Expected the output of forward differentiable view operations to have the tangent have the same layout as primal"
                )


def _in_memory(view: Tensor, of: Tensor) -> tuple[Any, ...]:
    """The offset of a view's elements, relative to another view of the same memory."""
    return view.storage_offset() - of.storage_offset(), view.stride()


def _further_out(cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any], contexts: list[Any]) -> Any:
    """A custom function's result at the open forward-mode levels; its context is appended to `contexts`."""
    level = next((level for level in reversed(dispatch.interpreters.get()) if not level.batching), None)
    if level is None:
        return _function.run_forward(cls, args, kwargs, contexts)
    return level.run_function(cls, args, kwargs, contexts)


class _ForwardContext:
    """A custom function's context in its `jvp`: the saved tensors are those of `save_for_forward`."""

    def __init__(self, ctx: Any) -> None:
        self._ctx = ctx

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        return self._ctx.saved_for_forward or ()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ctx, name)

    def __delattr__(self, name: str) -> None:
        delattr(self._ctx, name)


class _Hidden:
    """Tangents removed from an op's arguments while it runs below the level."""

    def __init__(self, level: DualLevel, arguments: tuple[Any, ...]) -> None:
        self.level = level
        self.taken: list[tuple[Any, Any]] = []
        for value in arguments:
            for v in value if isinstance(value, (list, tuple)) else (value,):
                if level.tangent(v) is not None:
                    self.taken.append((v._rare_state.tangents, v._rare_state.tangents.pop(level)))

    def restore(self) -> None:
        for tangents, tangent in self.taken:
            tangents[self.level] = tangent


def _has_views(tensor: Tensor) -> bool:
    family = None if tensor._vc is None else tensor._vc[1]
    return family is not None and any(ref() is not None for ref in family[1:])


def _below(level: DualLevel) -> Any:
    """Replace the open levels by the forward-mode levels below this one and all vmap levels. Returns those that were open."""
    stack = dispatch.interpreters.get()
    index = stack.index(level)
    dispatch.interpreters.set((*stack[:index], *(above for above in stack[index:] if above.batching)))
    return stack


def _laid_like(tensor: Tensor, tangent: Any) -> Any:
    """A tangent with the memory layout of its tensor, so that a view of one is a view of the other."""
    shape, strides = tensor._array.shape, tensor._array.strides
    if tangent._level is None and tangent._array.strides == strides and tangent._array.shape == shape:
        return tangent  # the usual case
    if tangent.shape != tensor.shape or 0 in shape or any(s <= 0 and n > 1 for n, s in zip(shape, strides)):
        return tangent
    own = tangent._array.strides
    if tangent.dtype is tensor.dtype and all(n == 1 or s == o for n, s, o in zip(shape, strides, own)):
        return tangent
    if tangent.dtype is not tensor.dtype and tangent.stride() == tensor.stride():
        return tangent
    return _batched.strided_zeros(tangent, shape, tensor.stride()).copy_(tangent)


def _in_as_much_memory(tensor: Tensor, tangent: Any) -> Any:
    """A tangent in a storage as large as its tensor's, at the same offset, because `as_strided` may reach beyond the tensor."""
    array = tensor._array
    if array.base is None or tangent._level is not None:
        return tangent
    if any(s == 0 and n > 1 for n, s in zip(array.shape, array.strides)):
        raise RuntimeError(OVERLAPS)
    elements = root_of(array).nbytes // array.itemsize
    if root_of(tangent._array).nbytes // tangent._array.itemsize == elements:
        return tangent
    memory = tangent.new_zeros(elements)
    return as_strided(memory, tensor.shape, tensor.stride(), tensor.storage_offset()).copy_(tangent)


def _remember_on_node(level: DualLevel, tensor: Tensor, tangent: Tensor) -> None:
    """Lets a node that saved this output restore its tangent when it is used."""
    edge = tensor._edge
    if edge[0] is not None and edge[0].next_functions:
        edge[0].extra().setdefault("tangents", {}).setdefault(edge[1], {})[level] = tangent
        level.holders.append(weakref.ref(edge[0]))


# ----- The public face ------------------------------------------------------------------------------------------------

_levels: list[DualLevel] = []


def __getattr__(name: str) -> int:
    """`_current_level`, for libraries that read it: 0 while a level is open, -1 otherwise."""
    if name == "_current_level":
        return len(_levels) - 1
    raise AttributeError(f"module 'torch.autograd.forward_ad' has no attribute '{name}'")


def open_level(name: int = 0) -> DualLevel:
    """Open a level for this thread's ops."""
    level = DualLevel(name)
    dispatch.interpreters.set((*dispatch.interpreters.get(), level))
    modes.open_slow_mode()
    return level


def close_level(level: DualLevel) -> None:
    """Close a level of forward mode and drop its tangents.

    >>> torch.autograd.forward_ad.enter_dual_level()
    0
    >>> torch.autograd.forward_ad.exit_dual_level()
    """
    stack = dispatch.interpreters.get()
    dispatch.interpreters.set(tuple(entry for entry in stack if entry is not level))
    modes.close_slow_mode()
    level.clear()


def enter_dual_level() -> int:
    """Open a forward-mode level for `make_dual` and `unpack_dual`, until `exit_dual_level`.

    >>> fwAD = torch.autograd.forward_ad
    >>> level = fwAD.enter_dual_level()
    >>> x = fwAD.make_dual(torch.tensor(3.0), torch.tensor(1.0))
    >>> fwAD.unpack_dual(x * x).tangent
    tensor(6.)
    >>> fwAD.exit_dual_level()
    """
    if _levels:
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    _levels.append(open_level(0))
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """Close the forward-mode level and drop its tangents.

    >>> fwAD = torch.autograd.forward_ad
    >>> level = fwAD.enter_dual_level()
    >>> fwAD.exit_dual_level(level=level)
    """
    if not _levels:
        raise RuntimeError("Dual level must be a positive number.")
    if level is not None and level != _levels[-1].name:
        raise RuntimeError(
            "Trying to exit a forward AD level that was not the last one that was created. This is not supported."
        )
    close_level(_levels.pop())


class _set_fwd_grad_enabled:
    """Turn the computation of tangents on or off.

    >>> fwAD = torch.autograd.forward_ad
    >>> with fwAD.dual_level(), fwAD._set_fwd_grad_enabled(False):
    ...     x = fwAD.make_dual(torch.ones(1), torch.ones(1))
    ...     print(fwAD.unpack_dual(x * 2).tangent)
    None
    """

    def __init__(self, mode: bool) -> None:
        self._outer = dispatch.forward_mode.get()
        dispatch.forward_mode.set(mode)

    def __enter__(self) -> None: ...

    def __exit__(self, *exc: object) -> None:
        dispatch.forward_mode.set(self._outer)


class dual_level:
    """A forward-mode level as a context manager.

    >>> import penlight.autograd.forward_ad as fwAD
    >>> with fwAD.dual_level():
    ...     x = fwAD.make_dual(torch.ones(1), torch.ones(1))
    ...     print(x.exp())
    tensor([2.7183], tangent=tensor([2.7183]))
    """

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, *exc: object) -> None:
        exit_dual_level()


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """A view of a tensor that carries a tangent.

    >>> import penlight.autograd.forward_ad as fwAD
    >>> with fwAD.dual_level():
    ...     fwAD.unpack_dual(fwAD.make_dual(torch.ones(1), torch.ones(1))).tangent
    tensor([1.])
    """
    if not _levels:
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first."
        )
    if level is not None and level != _levels[-1].name:
        raise RuntimeError("Invalid level given to _make_dual")
    _check_dual(tensor, tangent)
    if _levels[-1].tangent(tensor) is not None:
        raise RuntimeError(
            "Making a dual Tensor based on a Tensor that already has a forward gradient at the same level 0 is not supported."
        )
    if _levels[-1].tangent(tangent) is not None:
        raise RuntimeError(
            "Setting a forward grad that itself has a forward gradient at the same level0 is not supported."
        )
    return lift(_levels[-1], tensor, tangent)


def _check_dual(tensor: Any, tangent: Any) -> None:
    _check_floating(tensor, tangent)
    _check_size(tensor, tangent)


def _check_floating(tensor: Any, tangent: Any) -> None:
    if not tensor.is_floating_point() and not tensor.is_complex():
        raise ValueError(f"Expected primal to be floating point or complex, but got: {tensor.dtype}")
    if not tangent.is_floating_point() and not tangent.is_complex():
        raise ValueError(f"Expected tangent to be floating point or complex, but got: {tangent.dtype}")


def _check_size(tensor: Any, tangent: Any) -> None:
    if tensor.shape != tangent.shape:
        raise RuntimeError(
            f"Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
            f"supported. Tensor is of size {list(tensor.shape)} while the given forward gradient is of size {list(tangent.shape)}."
        )


def lift(level: DualLevel, tensor: Tensor, tangent: Tensor) -> Tensor:
    """A view of `tensor` with a tangent at a level."""
    if tensor._level is not None:
        levels = _batched.levels_of(tensor)
        return _batched.wrap_all(levels, lift(level, _batched.physical(tensor), _batched.expose(tangent, levels)))  # type: ignore[no-any-return]
    outer = _below(level)
    try:
        dual = tensor.view_as(tensor)
        tangent = _in_as_much_memory(tensor, _laid_like(tensor, tangent))
    finally:
        dispatch.interpreters.set(outer)
    level.attach(dual, tangent)
    return dual


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """A dual tensor's value and tangent.

    >>> fwAD = torch.autograd.forward_ad
    >>> with fwAD.dual_level():
    ...     dual = fwAD.make_dual(torch.tensor(2.0), torch.tensor(1.0))
    ...     print(fwAD.unpack_dual(dual.exp()).tangent)
    tensor(7.3891)
    """
    if not _levels:
        return UnpackedDualTensor(tensor, None)
    if not isinstance(tensor, Tensor):
        raise TypeError(f"_unpack_dual(): argument 'dual' (position 1) must be Tensor, not {type(tensor).__name__}")
    return lower(_levels[-1], tensor)


def lower(level: DualLevel, tensor: Tensor) -> UnpackedDualTensor:
    """A tensor's value without its tangent at a level, and that tangent."""
    if tensor._level is not None:
        levels = _batched.levels_of(tensor)
        primal, tangent = lower(level, _batched.physical(tensor))
        tangent = None if tangent is None else _batched.hide(tangent, levels)
        return UnpackedDualTensor(_batched.wrap_all(levels, primal), tangent)
    tangent = level.tangent(tensor)
    outer = _below(level)
    hidden = _Hidden(level, (tensor,))
    try:
        primal = _alias(tensor)
    finally:
        hidden.restore()
        dispatch.interpreters.set(outer)
    return UnpackedDualTensor(primal, tangent)


def current_tangent(tensor: Tensor) -> Any:
    """The tangent that printing shows: at the innermost level."""
    meta = tensor._rare_state
    if meta is None or not meta.tangents:
        return None
    return list(meta.tangents.values())[-1]


# ----- What the core asks ---------------------------------------------------------------------------------------------


def detach(tensor: Tensor) -> Tensor:
    """`Tensor.detach` while a slow mode is open: drops the tangent, keeps the inference-mode mark."""
    if tensor._level is not None and not tensor._level.batching:
        return tensor._level.detach(tensor)  # type: ignore[no-any-return]
    out = wrap(tensor._array)
    out._vc = views_of(tensor)
    if tensor.is_inference():
        dispatch.mark_inference(out)
    modes.report_cut([tensor], out, "detach()")
    return out


def restore_tangent(node: Any, index: int, tensor: Tensor) -> None:
    """Restore the tangent of a saved output. See Note [Dual levels]."""
    known = node.extra().get("tangents", {}).get(index)
    if known:
        meta = meta_of(tensor)
        meta.tangents = {**known, **(meta.tangents or {})}
        for level in known:
            level.holders.append(weakref.ref(tensor))


_explain(globals())
