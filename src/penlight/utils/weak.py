"""torch.utils.weak: dictionaries with tensors as keys, compared by identity, that do not keep their keys alive."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, MutableMapping
from typing import Any

from penlight._common.arguments import explain as _explain

__all__ = ["TensorWeakRef", "WeakIdKeyDictionary", "WeakIdRef", "WeakTensorKeyDictionary"]


class WeakIdRef(weakref.ref):
    """A weak reference that equals other references to the same object.

    >>> from penlight.utils.weak import WeakIdRef
    >>> t = torch.ones(2)
    >>> WeakIdRef(t) == WeakIdRef(t)
    True
    """

    __slots__ = ("_id",)

    def __init__(self, key: Any, callback: Any = None) -> None:
        super().__init__(key, callback)  # type: ignore[call-arg]
        self._id = id(key)

    def __hash__(self) -> int:
        return self._id

    def __eq__(self, other: object) -> bool:
        mine = self()
        if mine is not None and isinstance(other, weakref.ref):
            return mine is other()
        return self is other


class TensorWeakRef:
    """A weak reference to a tensor; calling it returns the tensor, or None.

    >>> t = torch.ones(2)
    >>> torch.utils.weak.TensorWeakRef(t)() is t
    True
    """

    def __init__(self, tensor: Any) -> None:
        self.ref = WeakIdRef(tensor)

    def __call__(self) -> Any:
        return self.ref()


class WeakIdKeyDictionary(MutableMapping[Any, Any]):
    """A mapping whose keys are compared by identity and not kept alive.

    >>> key = torch.ones(2)
    >>> seen = torch.utils.weak.WeakIdKeyDictionary()
    >>> seen[key] = 1
    >>> seen[key], len(seen)
    (1, 1)
    """

    def __init__(self, dict: Any = None, ref_type: Any = WeakIdRef) -> None:
        self.data: Any = {}
        self.ref_type = ref_type
        if dict is not None:
            self.update(dict)

    def __getitem__(self, key: Any) -> Any:
        return self.data[WeakIdRef(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        data = self.data
        self.data[WeakIdRef(key, lambda ref: data.pop(ref, None))] = value

    def __delitem__(self, key: Any) -> None:
        del self.data[WeakIdRef(key)]

    def __contains__(self, key: Any) -> bool:
        return WeakIdRef(key) in self.data

    def __len__(self) -> int:
        return len(self.data)

    def __iter__(self) -> Iterator[Any]:
        for ref in list(self.data):
            key = ref()
            if key is not None:
                yield key


WeakTensorKeyDictionary = WeakIdKeyDictionary


_explain(globals())
