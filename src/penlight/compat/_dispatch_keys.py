"""The names of PyTorch's dispatcher: packages that register kernels with it mention them. There is none here that they rule."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import Any

_OTHERS = (
    "Undefined CompositeExplicitAutogradNonFunctional CompositeExplicitAutograd CompositeImplicitAutogradNestedTensor "
    "CompositeImplicitAutograd AutogradNestedTensor AutogradOther Autograd Conjugate ZeroTensor Negative BackendSelect "
    "ADInplaceOrView PythonTLSSnapshot Python PythonDispatcher PreDispatch Functionalize Dense Quantized Sparse SparseCsr "
    "NestedTensor AutogradFunctionality AutocastCPU AutocastMPS AutocastXPU AutocastHPU AutocastIPU AutocastCUDA AutocastPrivateUse1"
)
_EACH = " {0}CPU {0}CUDA {0}HIP {0}XLA {0}MPS {0}IPU {0}XPU {0}HPU {0}VE {0}Lazy {0}MTIA {0}MAIA {0}PrivateUse1 {0}PrivateUse2 {0}PrivateUse3 {0}Meta"
_KINDS = ("", "Quantized", "Sparse", "SparseCsr", "NestedTensor", "Autograd")

DispatchKey: Any = Enum("DispatchKey", _OTHERS + "".join(map(_EACH.format, _KINDS)))  # type: ignore[misc]


class DispatchKeySet:
    """Some of the keys.

    >>> from penlight._C import DispatchKey, DispatchKeySet
    >>> DispatchKeySet(DispatchKey.CPU) | DispatchKeySet(DispatchKey.AutocastCPU)
    DispatchKeySet(CPU, AutocastCPU)
    """

    def __init__(self, *keys: Any) -> None:
        self._keys = dict.fromkeys(keys)

    def _with(self, keys: Iterable[Any]) -> DispatchKeySet:
        return type(self)(*keys)

    def has(self, key: Any) -> bool:
        """Whether a key is among them."""
        return key in self._keys

    def add(self, key: Any) -> DispatchKeySet:
        """These and another."""
        return self._with([*self._keys, key])

    def remove(self, key: Any) -> DispatchKeySet:
        """These without one."""
        return self._with(k for k in self._keys if k is not key)

    def __or__(self, other: DispatchKeySet) -> DispatchKeySet:
        return self._with([*self._keys, *other._keys])

    def __and__(self, other: DispatchKeySet) -> DispatchKeySet:
        return self._with(k for k in self._keys if other.has(k))

    def __sub__(self, other: DispatchKeySet) -> DispatchKeySet:
        return self._with(k for k in self._keys if not other.has(k))

    def __repr__(self) -> str:
        return f"DispatchKeySet({', '.join(k.name for k in self._keys)})"
