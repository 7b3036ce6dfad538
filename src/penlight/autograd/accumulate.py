"""Adds a gradient that arrives at a leaf into the leaf's `.grad`.

# Note [Who owns a gradient]
An array that arrives at a leaf becomes its `.grad` without a copy if nothing else holds a reference to it. The reference count tells:
a rule may return the same array twice, or one that the user holds. The same applies to a view of a full array that nothing else
holds: the gradient of a transposed weight arrives transposed twice. The count of an array that only the engine holds is measured
at import, because it differs between Python versions.

# Note [Read-only gradients]
A rule may return a read-only array where PyTorch's gradient has its own memory: the gradient of a mean is a single value, which
would be expanded in memory only to be multiplied by the next rule. `writable` gives it memory before anything outside the
engine sees it: a hook, a custom Function, the caller of `autograd.grad`. Gradients that PyTorch expands (that of a sum) are
writable broadcasts, with strides of 0.
"""

from __future__ import annotations

from sys import getrefcount
from typing import TYPE_CHECKING, Any

import numpy as np

from ..kernels.lazy import lazy_import
from .modes import grad_mode
from .node import NO_EDGE, AccumulateGrad, Edge, Node
from .shapes import fitted
from .views import _empty_like_strides, bump, edge_of

if TYPE_CHECKING:
    from ..tensor import Tensor

_creation = lazy_import(globals(), "_creation", "..creation")
_tensor = lazy_import(globals(), "_tensor", "..tensor")


_add = np.add
_ndarray = np.ndarray


def _count_alone() -> int:
    """The reference count of an array that only a local variable holds."""
    arrays = {0: np.empty(1)}
    array = arrays.pop(0)
    return getrefcount(array)


ALONE = _count_alone()


def writable(grad: Any) -> np.ndarray[Any, Any]:
    """A gradient in the form that leaves the engine. See Note [Read-only gradients]."""
    array = grad if type(grad) is _ndarray else np.asarray(grad)
    return array if array.flags.writeable else array.copy()


def accumulate(leaf: AccumulateGrad, arrived: dict[Any, Any]) -> None:
    """Add the array that arrived at a leaf into its `.grad`: in place if there is one, else without a copy if nothing else holds the array."""
    grad = arrived.pop(leaf, None)
    if grad is None:
        return
    variable: Any = leaf._ref()
    if variable is None:
        variable = leaf.variable
    try:
        if variable._edge[0] is not leaf and not _takes_gradient(variable._edge):
            return
    except AttributeError:  # a view whose base was written to
        if not _takes_gradient(edge_of(variable)):
            return
    array = variable._array
    if type(grad) is not _ndarray:
        grad = np.asarray(grad)
    shape = array.shape
    if grad.shape != shape:
        grad = fitted(grad, shape)
    present = variable._grad
    if present is None:
        if getrefcount(grad) > ALONE:
            grad = copy_like(grad, array)
        elif grad.base is not None or grad.dtype is not array.dtype or grad.strides != array.strides:
            grad = _own(grad, array, shape)
        leaf._grad = variable._grad = _wrap(grad)
        return
    into = present._array
    try:
        if grad.dtype is into.dtype:
            _add(into, grad, into)
        else:
            _add(into, grad, out=into, casting="unsafe")
    except ValueError:  # `.grad` has another shape now: the op raises PyTorch's error
        present.add_(_wrap(grad))
    bump(present)


def _takes_gradient(edge: Edge) -> bool:
    """Whether a former leaf still takes gradients: requires_grad may have been turned off since the graph was made."""
    _require_leaf(edge[0])
    return edge is not NO_EDGE


def require_leaf(leaf: AccumulateGrad) -> None:
    """`_require_leaf`, before the hooks of the leaf run."""
    _require_leaf(getattr(leaf._ref(), "_edge", NO_EDGE)[0])


def _require_leaf(node: Node | None) -> None:
    """Refuse a gradient for a former leaf that is now the result of an op: it was detached in place, then written to."""
    if node is not None and not isinstance(node, AccumulateGrad):
        raise RuntimeError("leaf variable has been moved into the graph interior")


def _own(grad: Any, like: Any, shape: tuple[int, ...]) -> Any:
    """A gradient that nothing else holds, in the layout of its leaf: itself, the full array that it is a view of, or a copy."""
    if grad.dtype is not like.dtype or grad.strides != like.strides:
        return copy_like(grad, like)
    base = grad.base
    if base is None:
        return grad
    if (
        type(base) is _ndarray
        and getrefcount(base) <= ALONE + 1
        and base.base is None
        and base.shape == shape
        and base.strides == like.strides
        and base.dtype is like.dtype
    ):
        return base
    return copy_like(grad, like)


def accumulate_raw(leaf: AccumulateGrad, grad: Any) -> None:
    """`accumulate` for an array that the caller holds too."""
    accumulate(leaf, {leaf: grad})


# From this many bytes on, checking whether the present gradient can be added to in place pays off.
LARGE = 1 << 14


def join(grads: dict[Any, Any], key: Any, nr: int, present: Any, arrived: Any, ours: set[Any]) -> None:
    """Add a second gradient to the one present under a key. The engine owns the sum and notes it in `ours`, unless it is not an array (a
    scalar, a tensor) or differs from the new gradient in dtype or shape."""
    if key is None:
        return
    if type(present) is list:  # one for each output of a node
        present[nr] = arrived if present[nr] is None else present[nr] + arrived
        return
    if type(present) is _ndarray is type(arrived):
        if present.dtype is arrived.dtype and present.shape == arrived.shape:
            if present.nbytes > LARGE and present.base is None and getrefcount(present) <= HELD:
                _add(present, arrived, present)
            else:
                present = grads[key] = present + arrived
            if type(present) is _ndarray:
                ours.add(key)
            return
    grads[key] = present + arrived


def _count_held() -> int:
    """The reference count that `join` sees for an array that only the engine holds."""

    def probe(grads: dict[Any, Any], key: Any, nr: int, present: Any, arrived: Any, ours: Any) -> int:
        return getrefcount(present)

    grads = {0: np.empty(1)}
    present = grads.get(0)
    return probe(grads, 0, 0, present, None, None)


HELD = _count_held()


def copy_like(grad: Any, like: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A copy of a gradient in the layout of its tensor."""
    grad = np.asarray(grad)
    dense = like.flags.c_contiguous or 0 in like.strides or like.size == 0
    fresh = np.empty(grad.shape, like.dtype) if dense or grad.shape != like.shape else None
    if fresh is None:
        gaps = sum((n - 1) * s for n, s in zip(like.shape, like.strides)) // like.itemsize + 1 != like.size
        if gaps or min(like.strides) < 0:
            fresh = np.empty(grad.shape, like.dtype)
        else:
            fresh = _empty_like_strides(like.shape, like.strides, like.dtype)
    fresh[...] = grad
    return fresh


def accumulate_graph(leaf: AccumulateGrad, grad: Tensor) -> None:
    """Add a tensor into a leaf's `.grad`; with create_graph as a new tensor, because the old one is part of the graph."""
    variable = leaf.variable
    if not variable.requires_grad:
        return
    _require_leaf(variable._edge[0])
    present = variable._grad
    if any(t is not None and t._level is not None for t in (grad, present, variable)):  # of a dispatching class
        leaf._grad = variable._grad = (
            (grad if grad_mode.get() else grad.detach()) if present is None else present + grad
        )
    elif not grad_mode.get():
        accumulate_raw(leaf, grad._array)
    elif present is None:
        leaf._grad = variable._grad = _wrap(copy_like(np.empty(grad.shape, grad._array.dtype), variable._array)).copy_(
            grad
        )
    else:
        leaf._grad = variable._grad = present + grad


def _wrap(array: Any) -> Tensor:
    globals()["_wrap"] = _tensor.wrap  # circular: the tensor module needs this package
    return _tensor.wrap(array)  # type: ignore[no-any-return]
