"""Parameters and buffers, which modules recognise by class, and those without a shape yet."""

from __future__ import annotations

import sys
from typing import Any, Self

import penlight
from penlight import Tensor
from penlight._common.docstrings import example
from penlight.autograd import modes
from penlight.tensor import DISABLED, wrap
from penlight.tensor.conjugates import Marked
from penlight.tensor.printing import PARAMETER_TYPES

from .._common.arguments import explain as _explain
from ..kernels.lazy import lazy_import

_meta = lazy_import(globals(), "_meta", "penlight._meta")


__all__ = [
    "Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter", "UninitializedTensorMixin", "is_lazy",
]  # fmt: skip


class _ParameterMeta(type(Tensor)):  # type: ignore[misc]
    """Makes tensors of other classes that are marked as parameters instances of Parameter."""

    def __instancecheck__(cls, instance: Any) -> bool:
        if cls is Parameter and isinstance(instance, Tensor) and getattr(instance, "_is_param", False):
            return True
        return super().__instancecheck__(instance)


class Parameter(Tensor, metaclass=_ParameterMeta):
    """A tensor that a module registers as a parameter when it is assigned, and that requires grad by default.

    It shares the memory of `data`; `requires_grad=False` freezes it. A tensor of another subclass keeps its class and is marked.

    >>> torch.nn.Parameter(torch.ones(2))
    Parameter containing:
    tensor([1., 1.], requires_grad=True)
    """

    __torch_function__ = staticmethod(DISABLED)

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Self:
        if data is None:
            data = penlight.empty(0)
        if type(data) in (Tensor, Parameter):
            out = Tensor._make_subclass(cls, data, requires_grad)
            if modes.slow():
                modes.report_cut([data], out, "nn.Parameter()")
            return out
        if type(data) is Marked:
            return cls(data.resolve_conj().resolve_neg(), requires_grad)
        if isinstance(data, Tensor) and data.is_meta:
            return _meta.parameter(data, requires_grad)
        if not isinstance(data, Tensor):
            raise TypeError(f"Parameter data has to be a Tensor, but got {type(data).__name__}")
        if data._level is not None and data._level.batching:
            return data.detach()  # type: ignore[return-value]  # inside vmap: a value
        marked = data.detach()._require_grad_(requires_grad)
        if type(marked) is not type(data):
            raise RuntimeError(
                f"Creating a Parameter from an instance of type {type(data).__name__} requires that detach() returns an instance "
                f"of the same type, but return type {type(marked).__name__} was found instead. To use the type as a "
                "Parameter, please correct the detach() semantics defined by its __torch_dispatch__() implementation."
            )
        marked._is_param = True  # type: ignore[attr-defined]
        return marked  # type: ignore[return-value]

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.data.clone(), self.requires_grad)
        return memo[id(self)]

    def __repr__(self, **kwargs: Any) -> str:  # type: ignore[override]
        return "Parameter containing:\n" + super().__repr__(**kwargs)


PARAMETER_TYPES.add(Parameter)


class _BufferMeta(type(Tensor)):  # type: ignore[misc]
    """Makes tensors that are marked as buffers instances of Buffer."""

    def __instancecheck__(cls, instance: Any) -> bool:
        if cls is Buffer and isinstance(instance, Tensor) and getattr(instance, "_is_buffer", False):
            return True
        return super().__instancecheck__(instance)


class Buffer(Tensor, metaclass=_BufferMeta):
    """A tensor that a module registers as a buffer when it is assigned, sharing the memory of `data`; it is saved if `persistent`.

    >>> m = torch.nn.Module()
    >>> m.scale = torch.nn.Buffer(torch.ones(1))
    >>> list(m.state_dict())
    ['scale']
    """

    persistent: bool

    def __new__(cls, data: Any = None, *, persistent: bool = True) -> Self:
        if data is None:
            data = penlight.empty(0)
        marked = data.detach()._require_grad_(data.requires_grad)
        marked.persistent = persistent
        marked._is_buffer = True
        return marked


# Note [Tensors without a shape]: an uninitialised tensor has an array without elements, which must not enter any computation. Every op
# starts by reading `_array`, so in these classes it is a property that raises. Operations allowed without a shape (casting, materialising)
# read the slot itself.

_slot = Tensor.__dict__["_array"]


def _of_data(name: str) -> Any:
    """A method forwarded to the tensor without elements."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(self.data, name)(*args, **kwargs)

    method.__name__, method.__qualname__ = name, f"UninitializedTensorMixin.{name}"
    return method


class UninitializedTensorMixin:
    """The common base of parameters and buffers without a shape.

    >>> isinstance(torch.nn.LazyLinear(3).weight, torch.nn.parameter.UninitializedTensorMixin)
    True
    """

    __slots__ = ()

    __torch_function__ = staticmethod(DISABLED)

    cls_to_become: type[Any]

    @property
    def _array(self) -> Any:
        caller = sys._getframe(1)
        while caller.f_code.co_name.startswith("_") and caller.f_back is not None:
            caller = caller.f_back
        where = caller.f_code.co_name
        raise ValueError(
            f"Attempted to use an uninitialized parameter in {where}. This error happens when you are using a "
            f"`LazyModule` or explicitly manipulating `torch.nn.parameter.{type(self).__name__}` objects. When using "
            "LazyModules Call `forward` with a dummy batch to initialize the parameters before calling torch functions"
        )

    @_array.setter
    def _array(self, value: Any) -> None:
        _slot.__set__(self, value)

    def materialize(self: Any, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Gives the tensor its shape, uninitialised memory, and its final class.

        >>> p = torch.nn.UninitializedParameter()
        >>> p.materialize((2, 3))
        >>> p.shape
        torch.Size([2, 3])
        """
        memory = penlight.empty(shape, device=device, dtype=self.dtype if dtype is None else dtype)
        self.__class__ = self.cls_to_become
        self.data = memory

    @property
    def data(self) -> Tensor:
        """The tensor without elements that represents the future one; it has the dtype."""
        return wrap(_slot.__get__(self))

    @data.setter
    def data(self, value: Tensor) -> None:
        Tensor.data.fset(self, value)  # type: ignore[attr-defined]

    @property
    def dtype(self) -> Any:
        """The element type."""
        return self.data.dtype

    @property
    def shape(self) -> Any:
        """Raises: there is none yet."""
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in "
            "`load_state_dict` when trying to load an uninitialized parameter into an initialized one. Call `forward` "
            "to initialize the parameters before accessing their attributes."
        )

    @property
    def requires_grad(self) -> bool:
        """Whether gradients will flow to the tensor."""
        return Tensor.requires_grad.fget(self)  # type: ignore[attr-defined]

    @requires_grad.setter
    def requires_grad(self: Any, value: bool) -> None:
        kind = type(self)
        self.__class__ = self.cls_to_become
        try:
            self.requires_grad = value
        finally:
            self.__class__ = kind

    def copy_(self, src: Any, non_blocking: bool = False) -> Any:
        """Accepted from another one without shape; otherwise refused until it has one."""
        if not is_lazy(src):
            self._array  # noqa: B018  (refuses)
        return self

    def share_memory_(self) -> Any:
        """Refused: there is no memory yet."""
        raise RuntimeError(
            "Can't share memory on an uninitialized parameter or buffer. Call `forward` to initialize the parameters "
            "before calling `module.share_memory()`."
        )

    is_complex, size, to, type, cpu, cuda, half, bfloat16, float, double = map(
        _of_data, ("is_complex", "size", "to", "type", "cpu", "cuda", "half", "bfloat16", "float", "double")
    )

    def __deepcopy__(self: Any, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            memo[id(self)] = self.__class__(self.requires_grad, dtype=self.dtype)
            memo[id(self)].__dict__.update(self.__dict__)
        return memo[id(self)]

    def __repr__(self, **kwargs: Any) -> str:
        return f"<{self.__class__.__name__}>"

    def __reduce_ex__(self: Any, protocol: Any) -> Any:
        return self.__class__, (self.requires_grad,)


@example("torch.nn.parameter.is_lazy(torch.nn.LazyLinear(2).weight)", "True")
def is_lazy(param: Any) -> bool:
    """Whether a parameter or buffer still has no shape."""
    return isinstance(param, UninitializedTensorMixin)


def _without_shape(cls: type[Any], kind: type[Any], requires_grad: bool, device: Any, dtype: Any) -> Any:
    # It is created with its final class, for which reading the array is allowed.
    made = Tensor._make_subclass(kind, penlight.empty(0, device=device, dtype=dtype), requires_grad)
    made.__class__ = cls
    return made


@example("torch.nn.LazyLinear(2).weight", "<UninitializedParameter>")
class UninitializedParameter(UninitializedTensorMixin, Parameter):  # type: ignore[misc]
    """A parameter whose shape is not known yet; lazy modules have them until their first input."""

    cls_to_become = Parameter

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> Any:
        return _without_shape(cls, Parameter, requires_grad, device, dtype)


@example("torch.nn.LazyBatchNorm1d().running_mean", "<UninitializedBuffer>")
class UninitializedBuffer(UninitializedTensorMixin, Tensor):  # type: ignore[misc]
    """A buffer whose shape is not known yet."""

    cls_to_become = Tensor
    persistent: bool

    def __new__(
        cls, requires_grad: bool = False, device: Any = None, dtype: Any = None, persistent: bool = True
    ) -> Any:
        made = _without_shape(cls, Tensor, requires_grad, device, dtype)
        made.persistent = persistent
        made._is_buffer = True
        return made


_explain(globals())
