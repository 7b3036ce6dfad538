"""Tensor: an ndarray plus one edge into the backward graph.

`_array` is the NumPy array; `_edge` is the node (and its input) that the tensor's gradient flows to. `requires_grad`, `is_leaf`, `grad_fn`
and `output_nr` all derive from that one field. The ops are installed as methods by `penlight.ops`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import autograd, dtypes
from .._common.declared_classes import copy_members
from .._common.user_warnings import warn_user
from ..autograd import modes, views
from ..autograd.node import DEAD_END, NO_EDGE, AccumulateGrad, Edge, Node
from ..autograd.saved import NoVersion
from ..kernels.lazy import lazy_import
from .hooks import Hooked
from .memory import ShapeAndMemory
from .python import AsPython

if TYPE_CHECKING:
    from ._methods import TensorMethods

    class _Methods(Hooked, ShapeAndMemory, AsPython, TensorMethods): ...

else:

    class _Methods:
        __slots__ = ()


_guards = lazy_import(globals(), "_guards", "..ops.machinery.guards")
_legacy = lazy_import(globals(), "_legacy", "..creation.legacy")
_torch_function = lazy_import(globals(), "_torch_function", ".._torch_function")
_forward_ad = lazy_import(globals(), "_forward_ad", "..autograd.forward_ad")
_subclasses = lazy_import(globals(), "_subclasses", "..ops.machinery.subclasses")


new = object.__new__
_NAMESPACE = modes.NAMESPACE


class Meta:
    """Rare attributes of a tensor: made in inference mode, tangents at dual levels, a conjugate or negative mark (see tensor/conjugates.py)."""

    __slots__ = ("inference", "mark", "tangents")

    def __init__(self) -> None:
        self.inference = False
        self.mark: Any = None
        self.tangents: dict[Any, Any] | None = None


def meta_of(tensor: Tensor) -> Meta:
    """A tensor's Meta, created on first access."""
    if tensor._rare_state is None:
        tensor._rare_state = Meta()
    return tensor._rare_state


def DISABLED(func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """The `__torch_function__` of classes that override nothing: makes the call unchanged."""
    return func(*args, **(kwargs or {}))


def wrap(array: np.ndarray[Any, Any]) -> Tensor:
    """A tensor outside of any graph that shares this array."""
    out = new(Tensor)
    out._array = array
    out._edge = NO_EDGE
    out._vc = None if array.base is None else [0, None]  # may be non-contiguous: see `_arranged` in generate.py
    out._grad = out._view = out._rare_state = None
    return out


def _leaf_edge(tensor: Tensor) -> Edge:
    """The edge of a leaf that requires grad: its earlier edge, if any, so that older graphs and hooks still lead to it."""
    edge = getattr(tensor, "_leaf_edge", None)
    if edge is None:
        return (AccumulateGrad(tensor), 0)
    edge[0]._array, edge[0]._versions = tensor._array, tensor._vc
    return edge


class Tensor(_Methods):
    """A multi-dimensional array that remembers how it was computed.

    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad
    tensor([2., 4.])
    """

    __slots__ = ("__dict__", "__weakref__", "_array", "_edge", "_grad", "_leaf_edge", "_rare_state", "_vc", "_view")

    _array: np.ndarray[Any, Any]
    _edge: Edge  # may be unset: see Note [Stale edges]
    _leaf_edge: Edge  # its edge before requires_grad was turned off; unset otherwise
    _vc: list[Any] | None  # [version, family of views], shared by views and detach()
    _grad: Tensor | None
    _view: views.View | None
    _rare_state: Meta | None  # rare attributes
    _level: Any = None  # the handler of its ops: the vmap at which it is batched, or Note [Subclasses that dispatch]

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """The legacy constructor: `torch.Tensor(2, 3)` is uninitialised, `torch.Tensor([1, 2])` holds the data."""
        made = _legacy.legacy_tensor(None, *args, **kwargs)
        if cls is not Tensor:
            _prepare_class(cls)
            made.__class__ = cls
        return made

    @staticmethod
    def _make_subclass(cls: type, data: Tensor, require_grad: bool = False, **_: Any) -> Any:
        """A tensor of another class that shares the memory of `data`, outside of any graph."""
        if not isinstance(data, Tensor):
            raise TypeError(f"_make_subclass(): argument 'data' (position 2) must be Tensor, not {type(data).__name__}")
        if cls is not Tensor:
            _prepare_class(cls)
        data = data if data._rare_state is None else data.resolve_conj().resolve_neg()
        out: Any = new(cls)
        out._array = data._array
        out._edge = NO_EDGE
        out._vc = None if data._array.base is None else [0, None]
        out._grad = out._view = out._rare_state = None
        if type(data._vc) is NoVersion:
            out._vc, meta_of(out).inference = data._vc, True
        if require_grad:
            out._require_grad_()
        return out

    def as_subclass(self, cls: type) -> Any:
        """This tensor as an instance of a subclass: the same memory, one node further in the graph.

        >>> class Named(torch.Tensor):
        ...     pass
        >>> type(torch.ones(2).as_subclass(Named)).__name__
        'Named'
        """
        if not issubclass(cls, Tensor):
            raise TypeError("cls must be a type (not an instance) that derives from Tensor")
        from ..ops.shape.views import _alias

        made: Any = _alias(self.resolve_conj().resolve_neg())
        if cls is not Tensor:
            _prepare_class(cls)
            made.__class__ = cls
        return made

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """The default behaviour of functions on instances of a subclass: compute, and return results of that class.

        >>> class Mine(torch.Tensor): pass
        >>> type(torch.ones(2).as_subclass(Mine) * 2).__name__
        'Mine'
        """
        return _torch_function.default(cls, func, types, args, kwargs)

    __torch_dispatch__ = staticmethod(DISABLED)

    # ----- Autograd state -------------------------------------------------------------------------------------------

    @property
    def requires_grad(self) -> bool:
        """Whether gradients flow to this tensor.

        >>> torch.ones(2, requires_grad=True).exp().requires_grad
        True
        """
        try:
            return self._edge is not NO_EDGE
        except AttributeError:
            info = self._view
            assert info is not None
            return info.base.requires_grad or info.origin is not None or info.own is not NO_EDGE

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if not isinstance(value, bool):
            raise RuntimeError("requires_grad must be a bool")
        if not _is_leaf(self):
            hint = (
                " If you want to use a computed variable in a subgraph that doesn't require differentiation use "
                "var_no_grad = var.detach()."
            )
            raise RuntimeError("you can only change requires_grad flags of leaf variables." + ("" if value else hint))
        try:
            edge = views.edge_of(self)
        except RuntimeError:
            # A view with an invalid history: PyTorch raises when its history is read, not here.
            self._view.own = _leaf_edge(self) if value else NO_EDGE  # type: ignore[union-attr]
            return
        if (edge is not NO_EDGE) == value and not (edge is DEAD_END and value):
            return
        if not value:
            if edge is not DEAD_END:
                self._leaf_edge = edge
                if self._view is None:
                    self._edge = NO_EDGE
                else:
                    self._edge, self._view.own = views.unrecorded_edge(self), NO_EDGE
                views.requirement_changed(self)
            return
        if self.dtype.category < dtypes.FLOATING:
            raise RuntimeError("only Tensors of floating point and complex dtype can require gradients")
        if self.is_inference() and not modes.inference.get():
            raise RuntimeError("Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.")
        self._edge = _leaf_edge(self)
        views.requirement_changed(self)

    @requires_grad.deleter
    def requires_grad(self) -> None:
        raise RuntimeError("requires_grad must be a bool")

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Set `requires_grad` in place.

        >>> torch.zeros(1).requires_grad_()
        tensor([0.], requires_grad=True)
        """
        if modes.transforms.get():
            raise RuntimeError(
                modes.IN_A_TRANSFORM.format(
                    "requires_grad_() (or perhaps using torch.autograd.functional.* APIs)", "requires_grad_"
                )
            )
        return self._require_grad_(requires_grad)

    def _require_grad_(self, requires_grad: bool = True) -> Tensor:
        """`requires_grad_` for functions that may be called inside a transform, because they create the tensor."""
        if requires_grad and getattr(self, "_edge", None) is NO_EDGE and self._rare_state is None is self._level:
            versions = self._vc
            if self._array.dtype.kind == "f" and (versions is None or (type(versions) is list and versions[1] is None)):
                self._edge = _leaf_edge(self)  # the usual case: it has no views
                return self
        if requires_grad and self.dtype.category < dtypes.FLOATING:
            raise RuntimeError("only Tensors of floating point dtype can require gradients")
        if not requires_grad or _is_leaf(self):
            self.requires_grad = requires_grad
        return self

    @property
    def is_leaf(self) -> bool:
        """Whether this tensor was created by the user (or needs no gradient), not by a recorded op.

        >>> x = torch.ones(1, requires_grad=True)
        >>> x.is_leaf, (x * 2).is_leaf
        (True, False)
        """
        node = views.edge_of(self)[0]
        return node is None or isinstance(node, AccumulateGrad)

    @property
    def grad_fn(self) -> Node | None:
        """The node of the backward graph that this tensor's gradient flows to; None for a leaf.

        >>> torch.ones(1, requires_grad=True).exp().grad_fn.name()
        'ExpBackward0'
        """
        node = views.edge_of(self)[0]
        return None if isinstance(node, AccumulateGrad) else node

    @property
    def output_nr(self) -> int:
        """The index of this tensor among the outputs of its `grad_fn`'s op.

        >>> a, b = torch.ones(2, requires_grad=True).unbind()
        >>> a.output_nr, b.output_nr
        (0, 1)
        """
        try:
            return self._edge[1]
        except AttributeError:
            origin = self._view.origin  # type: ignore[union-attr]
            return 0 if origin is None else origin[1]

    @property
    def grad(self) -> Tensor | None:
        """The gradient that backward passes have accumulated here, or None.

        >>> x = torch.ones(1, requires_grad=True)
        >>> (3 * x).sum().backward(); x.grad
        tensor([3.])
        """
        if self._grad is None and _forgets_grad(self):
            warn_user(
                "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't be "
                "populated during autograd.backward(). If you indeed want the .grad field to be populated for a non-leaf "
                "Tensor, use .retain_grad() on the non-leaf Tensor. If you access the non-leaf Tensor by mistake, make "
                "sure you access the leaf Tensor instead. See github.com/pytorch/pytorch/pull/30531 for more information."
            )
        return self._grad

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is not None:
            _check_grad(self, value)
        self._grad = value
        try:  # `set_grad` inlined: every optimiser step clears each gradient here
            leaf = self._edge[0]
            if leaf is None:  # requires_grad may have been turned off
                leaf = self._leaf_edge[0]
        except AttributeError:
            return
        if type(leaf) is AccumulateGrad:
            leaf._grad = value

    @grad.deleter
    def grad(self) -> None:
        self.grad = None

    @property
    def grad_dtype(self) -> Any:
        """The dtype of gradients of this leaf, which is its own dtype.

        >>> torch.ones(1, requires_grad=True).grad_dtype
        torch.float32
        """
        return self.dtype

    @grad_dtype.setter
    def grad_dtype(self, value: Any) -> None:
        if not _is_leaf(self):
            raise RuntimeError("grad_dtype can only be set on leaf tensors.")
        if value is not None and value is not self.dtype:
            raise NotImplementedError(
                f"grad_dtype={value} for a tensor of {self.dtype}: in Penlight a gradient has its tensor's dtype. Convert it in "
                "register_post_accumulate_grad_hook"
            )

    @staticmethod
    def _make_wrapper_subclass(cls: type, size: Any, *args: Any, **kwargs: Any) -> Any:
        """A tensor without memory, of a class that runs ops itself. See Note [Subclasses that dispatch] in ops/machinery/subclasses.py."""
        _prepare_class(cls)
        return _subclasses.wrapper(cls, size, *args, **kwargs)

    _grad_fn = grad_fn

    def backward(
        self, gradient: Tensor | None = None, retain_graph: bool | None = None, create_graph: bool = False,
        inputs: Any = None,
    ) -> None:  # fmt: skip
        """Compute the gradients of this tensor and add them into the `.grad` of the leaves it depends on.

        >>> x = torch.tensor(3.0, requires_grad=True)
        >>> (x**2).backward(); x.grad
        tensor(6.)
        """
        autograd._calls.backward(self, gradient, retain_graph, create_graph, None, inputs)

    def detach(self) -> Tensor:
        """A tensor that shares this memory but is not in the graph.

        >>> torch.ones(1, requires_grad=True).detach().requires_grad
        False
        """
        if _NAMESPACE["SLOW"]:
            return _forward_ad.detach(self)
        out = new(Tensor)
        out._array = self._array
        out._edge = NO_EDGE
        out._grad = out._view = out._rare_state = None
        out._vc = versions = views_of(self)
        if type(versions) is NoVersion:
            meta_of(out).inference = True
        return out

    def detach_(self) -> Tensor:
        """Detach this tensor from the graph, in place.

        >>> x = torch.ones(2, requires_grad=True) * 2
        >>> x.detach_().grad_fn is None
        True
        """
        if self._view is not None:
            raise RuntimeError(
                "Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel (DDP) for "
                "training, and gradient_as_bucket_view is set as True, gradients are views of DDP buckets, and hence "
                "detach_() cannot be called on these gradients. To fix this error, please refer to the "
                "Optimizer.zero_grad() function in torch/optim/optimizer.py as the solution."
            )
        if _NAMESPACE["SLOW"]:
            modes.report_cut([self], self, "detach_()")
        if isinstance(self._edge[0], AccumulateGrad):
            self._leaf_edge = self._edge
        self._edge = NO_EDGE
        views.requirement_changed(self)
        return self

    @property
    def data(self) -> Tensor:
        """The same memory outside of the graph, without version tracking: autograd does not notice writes to it.

        >>> w = torch.ones(1, requires_grad=True)
        >>> w.data -= 0.5; w
        tensor([0.5000], requires_grad=True)
        """
        out = wrap(self._array)
        if type(self._vc) is NoVersion:
            out._vc, meta_of(out).inference = self._vc, True
        if _NAMESPACE["SLOW"]:
            modes.report_cut([self], out, ".data")
        return out

    @data.setter
    def data(self, value: Tensor) -> None:
        if not isinstance(value, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(value).__name__}")
        if modes.transforms.get():
            raise RuntimeError("mutating directly with `.data` inside functorch transform is not allowed.")
        if self.requires_grad and value.dtype.category < dtypes.FLOATING:
            raise RuntimeError("data set to a tensor that requires gradients must be floating point or complex dtype")
        self._array = value._array
        if self._vc is None and self._array.base is not None:
            self._vc = [0, None]
        node = self._edge[0]
        if isinstance(node, AccumulateGrad):
            node._array = value._array

    @data.deleter
    def data(self) -> None:
        raise RuntimeError("Deleting tensor data is not allowed. Delete tensor instead!")

    @property
    def _version(self) -> int:
        if self.is_inference():
            raise RuntimeError("Inference tensors do not track version counter.")
        return 0 if self._vc is None else self._vc[0]

    @property
    def _base(self) -> Tensor | None:
        return None if self._view is None else self._view.base

    @property
    def _cdata(self) -> int:
        return id(self)  # PyTorch's is the address of the C++ tensor, which programs use as an identity

    def _is_view(self) -> bool:
        return self._view is not None

    def is_inference(self) -> bool:
        """Whether this tensor was made in inference mode.

        >>> with torch.inference_mode():
        ...     print(torch.ones(1).is_inference())
        True
        """
        return (self._rare_state is not None and self._rare_state.inference) or type(self._vc) is NoVersion


copy_members(Tensor, Hooked, ShapeAndMemory, AsPython)


def _prepare_class(cls: type) -> None:
    """Called before an instance of a subclass is made: see Note [Overridden functions] in _torch_function.py."""
    _torch_function.prepare_class(cls)


def rebuild(
    cls: type, array: Any, special: str | None, requires_grad: bool, extra: dict[str, Any], layout: Any = None
) -> Tensor:
    """Recreate a pickled tensor with its memory layout: `layout` has its shape and strides if it was not contiguous. A non-leaf becomes a
    leaf, as in PyTorch."""
    if special == "bfloat16":
        array = array.view(dtypes.bfloat16.np)
    if layout is not None:
        array = np.ndarray(layout[0], array.dtype, array, 0, layout[1])
    out: Tensor = Tensor._make_subclass(cls, wrap(dtypes.with_canonical_dtype(array)), requires_grad)
    out.__dict__.update(extra)
    return out


def views_of(tensor: Tensor) -> list[Any]:
    """The version counter of a tensor, for sharing."""
    if tensor._vc is None:
        tensor._vc = [0, None]
    return tensor._vc


def _is_leaf(tensor: Tensor) -> bool:
    """`is_leaf`, also for a view whose history is invalid."""
    try:
        node = tensor._edge[0]
    except AttributeError:
        return tensor._view.origin is None  # type: ignore[union-attr]
    return node is None or isinstance(node, AccumulateGrad)


def _forgets_grad(tensor: Tensor) -> bool:
    """Whether this is a non-leaf whose gradient backward passes discard."""
    try:
        node, nr = tensor._edge
    except AttributeError:
        return False
    if node is None or isinstance(node, AccumulateGrad):
        return False
    return node._hooks is None or nr not in node._hooks.retain


def _check_grad(tensor: Tensor, value: Any) -> None:
    """Refuse an invalid value for `.grad`, by PyTorch's conditions."""
    if not isinstance(value, Tensor):
        raise TypeError(f"assigned grad expected to be a Tensor or None but got grad of type {type(value).__name__}")
    if value is tensor:
        raise RuntimeError("can't assign Variable as its own grad")
    if value.dtype is not tensor.dtype:
        raise RuntimeError(
            f"attempting to assign a gradient with dtype '{_guards.c_name(value.dtype)}' to a tensor with grad_dtype "
            f"'{dtypes.LEGACY[tensor.dtype]}'. "
            "The gradient must match the tensor's grad_dtype (defaults to the tensor's dtype). You can set the tensor's "
            "grad_dtype attribute with a specific dtype, or None to allow any dtype. Set grad_dtype with caution. Diverging "
            "the dtypes of a tensor and its gradient may break downstream systems that assume they match."
        )
    if value.shape != tensor.shape:
        raise RuntimeError(
            f"attempting to assign a gradient of size '{list(value.shape)}' to a tensor of size '{list(tensor.shape)}'. Please "
            "ensure that the gradient and the tensor are the same size"
        )


def resize_to(tensor: Tensor, shape: Any) -> None:
    """Give a tensor another shape, growing its memory if needed; existing elements keep their memory offsets."""
    shape = tuple(shape)
    size = int(np.prod(shape, dtype=np.int64))
    old = tensor._array
    fresh = np.empty(size, old.dtype)
    kept = min(size, old.size)
    fresh[:kept] = (old if old.flags.c_contiguous else np.ascontiguousarray(old)).reshape(-1)[:kept]
    tensor._array = fresh.reshape(shape)
