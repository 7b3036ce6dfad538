"""Classes with `__torch_dispatch__`, which run the ops on their instances themselves, below autograd.

# Note [Subclasses that dispatch]
An op on an instance of such a class goes to the level `SUBCLASSES`, as an op on a batched tensor goes to its vmap. The level calls
the class's `__torch_dispatch__` with recording off, and adds what it returns to the graph as the op's result. Nodes keep such
results as tensors, and while the level is active backward passes run on tensors, so that gradients are dispatched too. As in Note
[Overridden functions], nothing is checked before an instance exists: creating the first one activates the level.

A wrapper (`_make_wrapper_subclass`) has an `Outline` instead of memory: an op that bypasses its class is refused.

Difference from PyTorch: saving tensors for the backward pass and creating tensors are not ops here, so classes are not called for `detach`
and `ones_like` in these cases.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from ...autograd import modes, views
from ...autograd.modes import grad_mode
from ...autograd.node import NO_EDGE
from ...kernels.lazy import lazy_import
from ...tensor import DISABLED, Tensor
from ...tensor.outline import Outline
from . import dispatch
from .aten import OpOverload, called, calls, overload, overload_of, presented
from .in_place import write_back
from .op import Op

_function = lazy_import(globals(), "_function", "...autograd.function")

new = object.__new__


class WrapperOutline(Outline):
    """The outline of a wrapper."""

    __slots__ = ("_kind",)
    base = None  # there is no memory to be shared

    def __init__(self, like: Any, kind: type) -> None:
        super().__init__(like)
        self._kind = kind

    def _refuse(self, as_number: bool = False) -> NoReturn:
        raise RuntimeError(
            f"{self._kind.__name__} is a wrapper without memory of its own: this operation needs its values, and does not go "
            "through __torch_dispatch__ in Penlight. Use the tensors that it wraps"
        )


def wrapper(
    cls: type, size: Any, strides: Any = None, storage_offset: Any = None, memory_format: Any = None, dtype: Any = None,
    layout: Any = None, device: Any = None, pin_memory: bool = False, requires_grad: bool = False, **_: Any,
) -> Any:  # fmt: skip
    """Implements `Tensor._make_wrapper_subclass`."""
    from ... import dtypes

    if getattr(cls, "__torch_dispatch__", DISABLED) is DISABLED:
        raise RuntimeError(f"{cls.__name__} must define __torch_dispatch__")
    kind = (dtypes.get_default_dtype() if dtype is None else dtype).np
    shape = tuple(map(int, size))
    steps = None if strides is None else tuple(s * kind.itemsize for s in strides)
    like = np.lib.stride_tricks.as_strided(np.empty(1, kind), shape, steps if steps else _steps(shape, kind.itemsize))
    out: Any = new(cls)
    out._array = WrapperOutline(like, cls)
    out._edge, out._vc = NO_EDGE, [0, None]
    out._grad = out._view = out._rare_state = None
    return out.requires_grad_() if requires_grad else out


def _steps(shape: tuple[int, ...], width: int) -> tuple[int, ...]:
    """The strides of a contiguous array."""
    steps: list[int] = []
    for n in reversed(shape):
        steps.insert(0, width)
        width *= max(n, 1)
    return tuple(steps)


def activate(cls: type) -> None:
    """Activate the level, just before the first instance of a dispatching class is made."""
    cls._level = SUBCLASSES  # type: ignore[attr-defined]
    if getattr(cls.__torch_function__, "__func__", None) is Tensor.__torch_function__.__func__:  # type: ignore[attr-defined]
        cls.__torch_function__ = staticmethod(DISABLED)  # type: ignore[attr-defined]  # as in PyTorch
    if not dispatch.subclass_levels:
        dispatch.subclass_levels.append(SUBCLASSES)
        modes.open_slow_mode()


def deactivate() -> None:
    """Undo `activate` when no instances are left; for tests."""
    if dispatch.subclass_levels:
        dispatch.subclass_levels.clear()
        modes.close_slow_mode()


def twin(tensor: Any) -> Any:
    """Another object for the same tensor, outside of the graph."""
    out = new(type(tensor))
    out.__dict__.update(tensor.__dict__)
    for name, value in slots_of(tensor).items():
        setattr(out, name, value)
    out._array, out._vc, out._edge = tensor._array, tensor._vc, NO_EDGE
    out._grad = out._view = out._rare_state = None
    return out


def slots_of(tensor: Any) -> dict[str, Any]:
    """What a tensor holds in slots of its own classes."""
    kinds = type(tensor).__mro__
    slots = [kind.__dict__.get("__slots__", ()) for kind in kinds[: kinds.index(Tensor)]]
    names = [name for own in slots for name in ((own,) if isinstance(own, str) else own)]
    return {n: getattr(tensor, n) for n in names if n not in ("__dict__", "__weakref__") and hasattr(tensor, n)}


class _Subclasses:
    """The level that handles ops on instances of such classes. See Note [Subclasses that dispatch]."""

    batching = False
    depth = -1  # outside of every vmap

    def checked(self, stack: Any) -> _Subclasses:
        return self

    def run(self, op: Op, arguments: tuple[Any, ...], out: Any = None) -> Any:
        """An op with an instance among its arguments."""
        if dispatch.op_watchers.get():
            return dispatch._watched(op, arguments, lambda raw=None: self.run(op, arguments, out), False)
        env = dispatch.coerce(op, arguments)
        edges = dispatch.input_edges(op, env)
        args, kwargs = presented(op, arguments)
        func = overload_of(op, arguments)
        go = lambda *a, **k: called(op, func._name, dispatch.apply, arguments, a, k)
        result = self.call(func, go, args, kwargs)
        if out is not None:
            return out.copy_(result)
        several = isinstance(result, (tuple, list))
        outs = [_fresh(r, arguments) for r in (result if several else (result,))]
        if op.view:
            for o in outs:
                replay = lambda base: op.function(base, *arguments[1:])
                views.link(o, env[op.inputs[0]], multi_output=several, replay=replay)
        if edges is not None:
            node = dispatch.make_node(op, env, edges, outs)
            for nr, o in enumerate(o for o in outs if o._array.dtype.kind in "fcV"):
                o._edge = (node, nr)
        elif op.view:
            for o in outs:
                o._edge = views.unrecorded_edge(o)
        return type(result)(outs) if several else outs[0]

    def run_inplace(self, op: Op, arguments: tuple[Any, ...]) -> Any:
        """Run an in-place form: the class writes, autograd rebases the history."""
        if dispatch.op_watchers.get():
            return dispatch._watched(op, arguments, lambda: self.run_inplace(op, arguments), True)
        env = dispatch.coerce(op, arguments)
        tensor = arguments[0]
        edges = dispatch.input_edges(op, env)
        views.check_inplace(tensor, edges is not None)
        copies = None
        if edges is not None and dispatch.saves_first(op):
            copies = {op.inputs[0]: tensor.detach().clone()}
            copies[op.inputs[0]]._edge = views.edge_of(tensor)
        args, kwargs = presented(op, arguments)
        func = overload_of(op, arguments, inplace=True)
        self.call(func, lambda *a, **k: called(op, func._name, dispatch.rewrite, arguments, a, k), args, kwargs)
        write_back(op, env, tensor, edges, edges is not None, copies)
        return tensor

    def like(self, make: Any, tensor: Any, *args: Any, **kwargs: Any) -> Any:
        """Implements `zeros_like` and similar functions."""
        given = {name: value for name, value in kwargs.items() if value is not None}
        return self.call(overload(make.__name__), make, (tensor, *args), given)

    def item(self, tensor: Any) -> Any:
        """The single element of an instance."""
        return self.call(overload("_local_scalar_dense"), lambda t: t.item(), (tensor,), {})

    def detach(self, tensor: Any) -> Any:
        """An instance detached from the graph."""
        return self.call(overload("detach"), lambda t: t.detach(), (tensor,), {})

    def run_function(self, cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """`MyFunction.apply`: not an op; its forward runs ops."""
        return _function.run_forward(cls, args, kwargs)

    def call(self, func: OpOverload, run: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Offer an op to the classes among its arguments in turn, with recording off; calling `func` there calls `run`."""
        found = instances((*args, *kwargs.values()))
        types = tuple(type(value) for value in found)
        before, outer = grad_mode.get(), calls.get()
        calls.set({**outer, func: run})
        try:
            grad_mode.set(False)
            for value in found:
                result = type(value).__torch_dispatch__(func, types, args, kwargs)
                if result is not NotImplemented:
                    return result
        finally:
            grad_mode.set(before)
            calls.set(outer)
        raise TypeError(
            f"Multiple dispatch failed for 'torch._ops.{func}'; all __torch_dispatch__ handlers returned NotImplemented:\n\n"
            + "\n".join(f"  - tensor subclass {kind}" for kind in types)
            + "\n\nFor more information, try re-running with TORCH_LOGS=not_implemented"
        )


SUBCLASSES = _Subclasses()


def instances(values: Any) -> list[Any]:
    """One argument of each dispatching class; subclasses before their bases."""
    found: list[Any] = []
    for value in values:
        for v in value if isinstance(value, (tuple, list)) else (value,):
            kind = type(v)
            if getattr(kind, "_level", None) is SUBCLASSES and not any(type(o) is kind for o in found):
                index = next((i for i, o in enumerate(found) if issubclass(kind, type(o))), len(found))
                found.insert(index, v)
    return found


def _fresh(result: Any, arguments: tuple[Any, ...]) -> Any:
    """A class's return value as a tensor that can become a node's result: never one of the op's own arguments."""
    if not isinstance(result, Tensor) or (result._edge is NO_EDGE and not any(result is a for a in arguments)):
        return result
    return twin(result)
