"""Views and in-place writes: which tensors share memory, and how a write changes the graph.

# Note [Stale edges]
A write to memory shared by views changes the history of all of them. PyTorch compares versions whenever a view's grad_fn is read; here an
op reads `tensor._edge` without a check. So a write deletes the `_edge` of every live view of that memory (the version counter lists them).
Reading it then raises AttributeError, the op's `except` branch calls `settle`, which regenerates the edge from the base, and the op runs
again. Tensors that are not stale pay nothing.

# Note [In-place on a view]
After a write through a view `v` of `base`, the op's node `fn` computes the gradient of that part only. `CopySlices` wraps it: it takes the
gradient of the full base, passes that part of it to `fn`, and overwrites the part by the result. It becomes the base's grad_fn; the views'
edges go stale and lead to the base through `AsStridedBackward0` from then on.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from ..kernels.addresses import offset as bytes_between
from ..kernels.lazy import lazy_import
from .modes import NAMESPACE, grad_mode, inference, is_grad_enabled, report_writes, sequence
from .node import DEAD_END, FREED, NO_EDGE, USED_TWICE, AccumulateGrad, Edge, Freed, Node

if TYPE_CHECKING:
    from ..tensor import Tensor

_conjugates = lazy_import(globals(), "_conjugates", "..tensor.conjugates")
_dispatch = lazy_import(globals(), "_dispatch", "..ops.machinery.dispatch")
_batched = lazy_import(globals(), "_batched", "..func.batched")
_ops = lazy_import(globals(), "_ops", "..ops")
_strided = lazy_import(globals(), "_strided", "..ops.shape.strided")


DEFAULT, IN_CUSTOM_FUNCTION, MULTI_OUTPUT, NO_GRAD, INFERENCE = range(5)


class View:
    """The view record of a tensor: its base, how it was created, and how to recreate it if strides do not suffice.

    `replay` maps the base to this view for views that are not a strided window of the base (a complex tensor seen as
    real, a conjugate); it is None for the others.
    """

    __slots__ = ("__dict__", "base", "creation", "replay")

    origin: tuple[str, int] | None = None  # the op's name and output number when its edge went stale
    own: Edge = NO_EDGE  # its edge as a leaf, if it was set to require grad while its base did not
    written_without_history = False  # its memory was written to while its base did not require grad
    retained: tuple[weakref.ref[Node], int] | None = (
        None  # where it retains its gradient until its stale edge is regenerated
    )

    base: Tensor
    creation: int
    replay: Any


_new, _ndarray = object.__new__, np.ndarray


def link(view: Tensor, source: Tensor, multi_output: bool = False, replay: Any = None) -> None:
    """Register `view`, whose array is a window of `source`'s, as a view with autograd."""
    vc = source._vc
    if vc is None:
        vc = source._vc = [0, None]
    view._vc = vc
    if type(vc) is not list:
        view._view = None  # autograd does not treat a view of an inference tensor as a view
        _conjugates.adopt(view)
        return
    if not is_grad_enabled():
        creation = INFERENCE if inference.get() else NO_GRAD
    else:
        creation = MULTI_OUTPUT if multi_output else DEFAULT
    above = source._view
    if above is None:
        base = source
    else:
        base = above.base
        if creation == DEFAULT:
            creation = above.creation
        if above.replay is not None:
            _conjugates.adopt(view)
            first, second = above.replay, replay or _window(view, source)
            replay = lambda b: second(first(b))
    view._view = info = _new(View)
    info.base = base
    info.creation = creation
    info.replay = replay
    family = vc[1]
    if family is None:
        vc[1] = [8, weakref.ref(view)]
    else:
        family.append(weakref.ref(view))
        if len(family) > family[0]:
            prune(family)


def link_parts(parts: list[Tensor], source: Tensor) -> None:
    """`link` for all the views of a tensor that one op returns."""
    if not parts:
        return
    first = parts[0]
    link(first, source, True)
    info = first._view
    if info is None or info.replay is not None or type(first._vc) is not list:
        for view in parts[1:]:
            link(view, source, True)
        return
    vc, base, creation, ref = first._vc, info.base, info.creation, weakref.ref
    family = vc[1]
    for view in parts[1:]:
        view._vc = vc
        view._view = info = _new(View)
        info.base, info.creation, info.replay = base, creation, None
        family.append(ref(view))
    if len(family) > family[0]:
        prune(family)


def unrecorded_edge(view: Tensor) -> Edge:
    """The edge of a view made under no_grad: PyTorch reports that it requires grad if its base does, though the edge leads nowhere."""
    if view._view is None:
        return NO_EDGE
    base = view._view.base
    try:
        return NO_EDGE if base._edge is NO_EDGE else DEAD_END
    except AttributeError:
        return DEAD_END if base.requires_grad else NO_EDGE


def history_first(*tensors: Any) -> None:
    """Raise for views with an invalid history before any other argument error, as PyTorch does."""
    for tensor in tensors:
        if is_grad_enabled() and hasattr(tensor, "_array"):
            edge_of(tensor)


def _window(view: Tensor, source: Tensor) -> Any:
    """A function that takes the strided window `view` of any tensor laid out like `source`."""
    part, memory = (_conjugates.memory_of(view), _conjugates.memory_of(source))  # derived attributes are rarely needed

    def take(tensor: Tensor) -> Tensor:
        from ..tensor import wrap

        return _ops.as_strided(tensor, part.shape, wrap(part).stride(), tensor.storage_offset() + _offset(part, memory))  # type: ignore[no-any-return]

    return take


def prune(family: list[Any]) -> None:
    """Forget dead views; prune again when the number of views has quadrupled."""
    alive = [ref for ref in family[1:] if ref() is not None]
    family[:] = [4 * len(alive) + 8, *alive]


def bump(tensor: Tensor, tell: bool = True) -> None:
    """Record a write to a tensor's memory: bump its version, make its views' edges stale, and tell an open log."""
    vc = tensor._vc
    if vc is None:
        vc = tensor._vc = [0, None]
    elif type(vc) is not list:
        return  # an inference tensor has no version
    vc[0] += 1
    if NAMESPACE["SLOW"] and tell:
        report_writes((tensor,))
    if vc[1] is not None:
        for ref in vc[1][1:]:
            view = ref()
            if view is not None:
                _make_stale(view)


def writes_alone(tensor: Tensor) -> bool:
    """Whether a write to a tensor only bumps its version: nothing is recorded, and nothing observes it."""
    versions = tensor._vc
    return (
        not NAMESPACE["SLOW"]
        and tensor._rare_state is None
        and (versions is None or type(versions) is list)
        and (not is_grad_enabled() or getattr(tensor, "_edge", None) is NO_EDGE)
    )


def _make_stale(view: Tensor) -> None:
    try:
        node, nr = view._edge
    except AttributeError:
        return
    info = view._view
    assert info is not None
    if isinstance(node, AccumulateGrad):
        info.own = view._edge
        node = None
    info.origin = None if node is None else (node.label(), nr)
    if node is not None and node._hooks is not None and nr in node._hooks.retain:
        info.retained = (weakref.ref(node), nr)
    del view._edge


def requirement_changed(base: Tensor) -> None:
    """Called when requires_grad of a leaf changes: its views report the same, though their edges lead nowhere, as in PyTorch."""
    if base._vc is None or base._vc[1] is None:
        return
    for ref in base._vc[1][1:]:
        view = ref()
        if view is None or view._view.base is not base:
            continue
        edge = getattr(view, "_edge", None)
        if base._edge is NO_EDGE:
            if edge is DEAD_END:
                view._edge = NO_EDGE
        elif view._view.written_without_history:
            _make_stale(view)
        elif edge is NO_EDGE:
            view._edge = DEAD_END


def edge_of(tensor: Tensor) -> Edge:
    """A tensor's edge, regenerated if a write to its base made it stale."""
    try:
        return tensor._edge
    except AttributeError:
        return settle(tensor)


def settle(tensor: Tensor) -> Edge:
    """Regenerate the stale edge of a view. See Note [Stale edges]."""
    info = tensor._view
    assert info is not None
    base_edge = edge_of(info.base)
    if base_edge is NO_EDGE and info.origin is None:
        tensor._edge = info.own
        info.written_without_history = True
        return info.own
    refuse_rewrite(tensor, info, "its base or another view of its base has been")
    tensor._edge = edge = _regenerate(tensor, info, base_edge)
    info.written_without_history = False
    if info.retained is not None:
        old, nr = info.retained[0](), info.retained[1]
        if old is not None and old._hooks is not None:
            old._hooks.retain.pop(nr, None)
        info.retained = None
        tensor.retain_grad()
    return edge


def _regenerate(tensor: Tensor, info: View, base_edge: Edge) -> Edge:
    if info.replay is not None:
        before = grad_mode.get()
        try:
            grad_mode.set(True)
            return edge_of(info.replay(info.base))
        finally:
            grad_mode.set(before)
    return (_strided.as_strided_node(info.base, tensor, base_edge), 0)


_CLARIFY = (
    " Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both the "
    "view and the inplace either both inside the {0} block (if you don't want the inplace to be tracked) or both outside "
    "(if you want the inplace to be tracked)."
)
_WHY = {
    MULTI_OUTPUT: " This view is the output of a function that returns multiple views. Such functions do not allow the output "
    "views to be modified inplace. You should replace the inplace operation by an out-of-place one.",
    NO_GRAD: _CLARIFY.format("no_grad"),
    INFERENCE: _CLARIFY.format("inference_mode"),
    IN_CUSTOM_FUNCTION: " This view was created inside a custom Function (or because an input was returned as-is) and the "
    "autograd logic to handle view+inplace would override the custom backward associated with the custom Function, "
    "leading to incorrect gradients. This behavior is forbidden. You can fix this by cloning the output of the custom "
    "Function.",
}


def refuse_rewrite(tensor: Tensor, info: View, what: str) -> None:
    """Raise if the history of this view can't be rewritten because of the way it was created."""
    if info.creation == DEFAULT:
        return
    try:
        node, nr = tensor._edge
        origin = None if node is None or isinstance(node, AccumulateGrad) else (node.label(), nr)
    except AttributeError:
        origin = info.origin
    if info.creation in (NO_GRAD, INFERENCE) or origin is None:
        head = "A view was created in" if origin is None else (
            f"Output {origin[1]} of {origin[0]} is a view of a view which was created in"
        )  # fmt: skip
        mode = "inference mode" if info.creation == INFERENCE else "no_grad mode"
        tail = " in normal mode." if info.creation == INFERENCE else " with grad mode enabled."
        message = f"{head} {mode} and {what} modified inplace{tail}"
    else:
        message = f"Output {origin[1]} of {origin[0]} is a view and {what} modified inplace."
    raise RuntimeError(message + _WHY[info.creation])


def refuse_leaf(tensor: Tensor, info: View) -> None:
    """Raise if a write to this view would change a leaf that requires grad."""
    if tensor.requires_grad and info.base.is_leaf:
        raise RuntimeError("a view of a leaf Variable that requires grad is being used in an in-place operation.")


def check_inplace(tensor: Tensor, any_requires_grad: bool) -> None:
    """Refuse, before anything is changed, a write that autograd cannot track."""
    if not any_requires_grad or not is_grad_enabled():
        return
    info = tensor._view
    if info is not None:
        refuse_rewrite(tensor, info, "is being")
        refuse_leaf(tensor, info)
    if tensor.requires_grad and tensor.is_leaf:
        raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")


def rebase(tensor: Tensor, node: Node) -> None:
    """Make `node` the history of `tensor`, which it just wrote to; for a view, of its base too."""
    info = tensor._view
    if info is None:
        move_retain(tensor, node)
        tensor._edge = (node, 0)
        return
    base = info.base
    copy = CopySlices(base, tensor._array, node, info.replay)
    if NAMESPACE["SLOW"]:
        _dispatch.announce(copy)
    move_retain(base, copy)
    base._edge = (copy, 0)
    edge_of(tensor)


def rewrite_part(base: Tensor, part: np.ndarray[Any, Any], node: Node) -> None:
    """Make `node` the history of a part of a non-view tensor that it just wrote to."""
    copy = CopySlices(base, part, node, None)
    move_retain(base, copy)
    base._edge = (copy, 0)


def move_retain(tensor: Tensor, node: Node) -> None:
    """retain_grad() moves with the tensor to its new grad_fn; ordinary hooks stay with the old one."""
    try:
        old, nr = tensor._edge
    except AttributeError:
        return
    if old is not None and old._hooks is not None and nr in old._hooks.retain:
        wish = old._hooks.retain.pop(nr)
        node.hooks().retain[0] = wish


def _offset(window: np.ndarray[Any, Any], base: np.ndarray[Any, Any]) -> int:
    """The offset of `window` in `base`'s memory, in elements."""
    return bytes_between(window, base) // base.itemsize


def strided_window(base: np.ndarray[Any, Any], shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> Any:
    """The window of `base`'s memory with these strides in bytes that starts `offset` elements after `base` does.

    The offset may be negative, and the window may exceed `base`: it may cover any memory that `base` shares.
    """
    if offset >= 0 and base.flags.c_contiguous:
        try:
            return _ndarray(shape, base.dtype, base, 0 if 0 in shape else offset * base.itemsize, strides)
        except ValueError:  # outside of this array, but perhaps inside the memory that it is a part of
            if base.base is None:
                raise
    root = base
    while isinstance(root.base, np.ndarray):
        root = root.base
    start = bytes_between(base, root) + offset * base.itemsize
    return _ndarray(shape, base.dtype, _buffer(root), 0 if 0 in shape else start, strides)


def _buffer(root: np.ndarray[Any, Any]) -> Any:
    """The memory of an array that owns it, in whatever order its dimensions are stored."""
    if root.flags.c_contiguous:
        return root
    return root.transpose(sorted(range(root.ndim), key=lambda d: -root.strides[d]))


class CopySlices(Node):
    """The history of a base after a write through one of its views. See Note [In-place on a view]."""

    __slots__ = ("fn", "offset", "replay", "shape", "strides", "view_shape", "view_strides")
    saved_slots: tuple[str, ...] = ("fn",)

    def __init__(self, base: Tensor, part: np.ndarray[Any, Any], fn: Node, replay: Any) -> None:
        self.seq = next(sequence)
        self._hooks = self._fit = None
        self.next_functions = (edge_of(base), *fn.next_functions[1:])
        self.fn: Node | Freed = fn
        self.replay = replay
        array = base._array
        self.shape, self.strides = array.shape, array.strides
        self._shape = self.shape
        self.view_shape, self.view_strides = part.shape, part.strides
        self.offset = 0 if replay is not None else _offset(part, array)

    def prepare(self) -> None:
        if isinstance(self.fn, Node):
            self.fn.prepare()

    def run_raw(self, grad: Any, keep: bool) -> tuple[Any, ...]:
        fn = self._fn()
        if self.replay is not None:
            return _on_arrays(self, grad, keep)
        base_grad = np.empty(self.shape, np.asarray(grad).dtype)
        if base_grad.strides != self.strides:
            base_grad = _empty_like_strides(self.shape, self.strides, base_grad.dtype)
        base_grad[...] = grad
        part = strided_window(base_grad, self.view_shape, self.view_strides, self.offset)
        inner = fn.run_raw(part.copy(), keep)
        part[...] = 0 if inner[0] is None else inner[0]
        if not keep:
            self.fn = FREED
        return (base_grad if self.next_functions[0][0] is not None else None, *inner[1:])

    def run_graph(self, grad: Any, keep: bool) -> tuple[Any, ...]:
        fn = self._fn()
        itemsize = grad._array.itemsize
        if self.replay is not None and grad._level is not None and not grad._level.batching:
            base_grad = grad.clone()  # the class manages its own memory
        else:
            base_grad = _batched.strided_zeros(grad, self.shape, [s // itemsize for s in self.strides])
            base_grad.copy_(grad)
        take = self.replay or (
            lambda t: _ops.as_strided(
                t, self.view_shape, [s // itemsize for s in self.view_strides], t.storage_offset() + self.offset
            )
        )
        part = take(base_grad)
        inner = fn.run_graph(part.clone(), keep)
        if inner[0] is None:
            part.zero_()
        else:
            part.copy_(inner[0])
        if not keep:
            self.fn = FREED
        return (base_grad if self.next_functions[0][0] is not None else None, *inner[1:])

    def _fn(self) -> Node:
        if isinstance(self.fn, Freed):
            raise RuntimeError(USED_TWICE)
        return self.fn


def _on_arrays(node: Node, grad: Any, keep: bool) -> tuple[Any, ...]:
    """Run a node that only supports tensors on an array, outside of any graph."""
    from ..tensor import wrap

    before = grad_mode.get()
    try:
        grad_mode.set(False)
        results = node.run_graph(wrap(np.asarray(grad)), keep)
    finally:
        grad_mode.set(before)
    return tuple(None if r is None else r._array for r in results)


def _empty_like_strides(shape: tuple[int, ...], strides: tuple[int, ...], np_dtype: Any) -> Any:
    """A fresh array with exactly these strides in bytes (a permutation, or with gaps, but not overlapping)."""
    itemsize = np_dtype.itemsize
    if 0 in shape:
        return np.empty(shape, np_dtype)
    span = sum((n - 1) * s for n, s in zip(shape, strides)) // itemsize + 1
    return np.ndarray(shape, np_dtype, np.empty(span, np_dtype), 0, strides)
