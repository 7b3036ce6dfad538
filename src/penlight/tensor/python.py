"""A tensor as a Python object: scalars, arrays, lengths, printing, copies, pickles. A part of `Tensor`.

`__init__.py` copies the members of the class into `Tensor` itself, so that `Tensor` has no such base class at runtime.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

# The module `tensor` imports this file, so its names are looked up at use.
from .. import dtypes, tensor as _tensor  # type: ignore[no-redef]
from .._common.user_warnings import warn_once
from ..autograd import modes, views
from ..autograd.modes import NAMESPACE as _NAMESPACE
from ..autograd.node import NO_EDGE, set_grad
from ..kernels.addresses import address
from ..kernels.lazy import lazy_import
from .memory import root_of

if TYPE_CHECKING:
    from . import Tensor

_forward_ad = lazy_import(globals(), "_forward_ad", "..autograd.forward_ad")
_printing = lazy_import(globals(), "_printing", ".printing")
_rebuild = lazy_import(globals(), "_rebuild", ".._serialization.rebuild")


new = object.__new__


class AsPython:
    """Conversions to Python and NumPy, container protocols, copying and pickling."""

    __slots__ = ()

    _array: np.ndarray[Any, Any]

    def item(self: Any) -> Any:
        """The only element as a Python scalar.

        >>> torch.tensor([2.5]).item()
        2.5
        """
        if self._array.size != 1:
            raise RuntimeError(f"a Tensor with {self._array.size} elements cannot be converted to Scalar")
        if _NAMESPACE["SLOW"]:
            modes.report_cut([self], None, "item()")
            if self._level is not None:
                return self._level.item(self)
        return _number(self._array.item())

    def tolist(self: Any) -> Any:
        """Nested lists of Python scalars; a scalar for a 0-d tensor.

        >>> torch.arange(4).view(2, 2).tolist()
        [[0, 1], [2, 3]]
        """
        if _NAMESPACE["SLOW"]:
            modes.report_cut([self], None, "tolist()")
        array = self._array
        return (array.astype(np.float32) if array.dtype.kind == "V" else array).tolist()

    def numpy(self: Any, *, force: bool = False) -> np.ndarray[Any, Any]:
        """The data as a NumPy array that shares this tensor's memory.

        >>> torch.ones(2).numpy()
        array([1., 1.], dtype=float32)
        """
        if self._level is not None:
            raise RuntimeError(".numpy() is not supported for tensor subclasses.")
        if force:
            if _NAMESPACE["SLOW"]:
                modes.report_cut([self], None, "numpy()")
            return self.detach()._array
        if self.requires_grad and modes.grad_mode.get():  # under no_grad, changes to the array are not recorded anyway
            raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
        if self.dtype is dtypes.bfloat16:
            raise TypeError("Got unsupported ScalarType BFloat16")
        if _NAMESPACE["SLOW"]:
            modes.report_cut([self], None, "numpy()")
        return self._array

    def __array__(self: Any, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        array = self.numpy()
        if dtype is not None and array.dtype != dtype:
            return array.astype(dtype)
        return array.copy() if copy else array

    __array_priority__ = 1000

    def __array_wrap__(self: Any, array: Any, context: Any = None, return_scalar: bool = False) -> Tensor:
        array = np.asarray(array)
        return _tensor.wrap(array.astype(np.uint8) if array.dtype == np.bool_ else array)

    def __len__(self: Any) -> int:
        if self._array.ndim == 0:
            raise TypeError("len() of a 0-d tensor")
        return len(self._array)

    def __iter__(self: Any) -> Iterator[Tensor]:
        if self._array.ndim == 0:
            raise TypeError("iteration over a 0-d tensor")
        return iter(self.unbind(0))

    def __bool__(self: Any) -> bool:
        size = self._array.size
        if size == 1:
            return bool(self._array.item() if self._level is None else self._level.item(self))
        if size == 0:
            raise RuntimeError("Boolean value of Tensor with no values is ambiguous")
        raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")

    def _one(self: Any) -> Any:
        if self._array.size != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        return self.item()

    def __float__(self: Any) -> float:
        warn_of_scalar(self)
        return float(self._one())

    def __int__(self: Any) -> int:
        return int(self._one())

    def __complex__(self: Any) -> complex:
        warn_of_scalar(self)
        return complex(self._one())

    def __index__(self: Any) -> int:
        if self._array.size != 1 or self._array.dtype.kind not in "iub":
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self.item())

    def __format__(self: Any, spec: str) -> str:
        if self._array.ndim == 0 and type(self) is _tensor.Tensor:
            return format(self.item(), spec)
        if spec:
            raise TypeError(f"unsupported format string passed to {type(self).__name__}.__format__")
        return str(self)

    def __contains__(self: Any, element: Any) -> bool:
        if isinstance(element, (_tensor.Tensor, bool, int, float, complex)):
            return bool((element == self).any().item())
        raise RuntimeError(f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}.")

    def __hash__(self: Any) -> int:
        return id(self)

    def __repr__(self: Any, *, tensor_contents: Any = None) -> str:
        if modes.transforms.get() and type(self) is _tensor.Tensor:
            text = modes.show_within(self)
            if text is not None:
                return text
        tangent = None
        if self._rare_state is not None and self._rare_state.tangents:
            tangent = _forward_ad.current_tangent(self)
        return _printing.tensor_repr(self, tensor_contents=tensor_contents, tangent=tangent)

    def __dir__(self: Any) -> list[str]:
        return sorted(set(dir(type(self))) | set(self.__dict__))

    # ----- Copy and pickle ------------------------------------------------------------------------------------------

    def __deepcopy__(self: Any, memo: dict[int, Any]) -> Any:
        if not self.is_leaf:
            raise RuntimeError(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment.  If "
                "you were attempting to deepcopy a module, this may be because of a torch.nn.utils.weight_norm usage, see "
                "https://github.com/pytorch/pytorch/pull/103001"
            )
        if id(self) in memo:
            return memo[id(self)]
        from copy import deepcopy

        if self._level is not None:  # of a class that runs ops itself
            out = self.detach().clone()
            if type(out) is not type(self):
                raise RuntimeError(
                    "The default implementation of __deepcopy__() for wrapper subclasses only works for subclass types that "
                    "implement clone() and for which cloning returns another instance of the same subclass. You should either "
                    "properly implement clone() for your subclass or override __deepcopy__() if it is intended behavior for "
                    "clone() to return an instance of a different type."
                )
        else:
            out = new(type(self))
            out._array = _copied_with_storage(self._array, memo)
            out._vc = None if out._array.base is None else [0, None]
            out._edge, out._grad, out._view, out._rare_state = NO_EDGE, None, None, None
        if self.requires_grad:
            out._require_grad_()
        memo[id(self)] = out
        if self._grad is not None:
            set_grad(out, deepcopy(self._grad, memo))
        if self.__dict__:
            out.__dict__.update(deepcopy(self.__dict__, memo))
        return out

    def __copy__(self: Any) -> Any:
        out = new(type(self))
        out._array, out._edge, out._view, out._rare_state = (
            self._array,
            views.edge_of(self),
            self._view,
            self._rare_state,
        )
        out._vc, out._grad = _tensor.views_of(self), None
        if self.is_leaf and self.requires_grad:
            out._edge = NO_EDGE
            out._require_grad_()
        out.__dict__.update(self.__dict__)
        return out

    def __reduce_ex__(self: Any, protocol: Any) -> Any:
        array, layout = self._array, None
        if not isinstance(array, np.ndarray):
            return _rebuild.reduce_wrapper(self)
        if not array.flags.c_contiguous and array.size:  # its memory from the first element to the last, and the layout
            layout = array.shape, array.strides
            span = sum((n - 1) * s for n, s in zip(*layout)) // array.itemsize + 1
            array = np.lib.stride_tricks.as_strided(array, (span,), (array.itemsize,))
        packed = (array.view(np.uint16), "bfloat16") if self.dtype is dtypes.bfloat16 else (array, None)
        return _tensor.rebuild, (type(self), *packed, self.requires_grad, dict(self.__dict__), layout)


def _copied_with_storage(array: np.ndarray[Any, Any], memo: dict[int, Any]) -> np.ndarray[Any, Any]:
    """A copy of an array as a view of a copy of all the memory it shares, so that its other views can share the copy."""
    root = root_of(array)
    if not root.flags.forc:
        return np.array(array, order="K")
    copied = memo.get(id(root))
    if copied is None:
        copied = memo[id(root)] = np.array(root, order="K", subok=False)
    if array is root:
        return copied
    return np.ndarray(array.shape, array.dtype, copied, address(array) - address(root), array.strides)


def warn_of_scalar(tensor: Tensor) -> None:
    """PyTorch's warning, once per process, that a tensor in a graph becomes a Python scalar while gradients are recorded."""
    if tensor.requires_grad and modes.is_grad_enabled():
        warn_once(
            "Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior.\nConsider using "
            "tensor.detach() first."
        )


def _number(value: Any) -> Any:
    """The value of `ndarray.item` as a Python scalar (bfloat16 returns its own scalar type)."""
    return value if isinstance(value, (bool, int, float, complex)) else float(value)
