"""The names of PyTorch's dispatcher: packages that register kernels with it mention them. There is none here that they rule."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

_BACKENDS = "CPU CUDA HIP XLA MPS IPU XPU HPU VE Lazy MTIA MAIA PrivateUse1 PrivateUse2 PrivateUse3 Meta".split()
_OTHERS = (
    "Undefined CompositeExplicitAutogradNonFunctional CompositeExplicitAutograd CompositeImplicitAutogradNestedTensor "
    "CompositeImplicitAutograd AutogradNestedTensor AutogradOther Autograd Conjugate ZeroTensor Negative BackendSelect "
    "ADInplaceOrView PythonTLSSnapshot Python PythonDispatcher PreDispatch Functionalize Dense Quantized Sparse SparseCsr "
    "NestedTensor AutogradFunctionality"
).split()
_AUTOCAST = [f"Autocast{backend}" for backend in ("CPU", "MPS", "XPU", "HPU", "IPU", "CUDA", "PrivateUse1")]
_KINDS = ("", "Quantized", "Sparse", "SparseCsr", "NestedTensor", "Autograd")

DispatchKey = Enum("DispatchKey", [*_OTHERS, *_AUTOCAST, *(kind + b for kind in _KINDS for b in _BACKENDS)])  # type: ignore[misc]


class DispatchKeySet:
    """Some of the keys.

    >>> from penlight._C import DispatchKey, DispatchKeySet
    >>> DispatchKeySet(DispatchKey.CPU) | DispatchKeySet(DispatchKey.AutocastCPU)
    DispatchKeySet(CPU, AutocastCPU)
    """

    def __init__(self, *keys: DispatchKey) -> None:
        self._keys = dict.fromkeys(keys)

    def _with(self, keys: Iterable[DispatchKey]) -> DispatchKeySet:
        return type(self)(*keys)

    def has(self, key: DispatchKey) -> bool:
        """Whether a key is among them."""
        return key in self._keys

    def add(self, key: DispatchKey) -> DispatchKeySet:
        """These and another."""
        return self._with([*self._keys, key])

    def remove(self, key: DispatchKey) -> DispatchKeySet:
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
