"""Modules that hold parameters, part of `container`: ParameterList, ParameterDict."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Self

import penlight
from penlight import Tensor
from penlight.nn.parameter import Parameter

from ._collections import Keyed, Numbered, checked_pairs

_HOME = "penlight.nn.modules.container"  # where PyTorch has these classes, and so what pickles name


def _as_parameter(value: Any) -> Any:
    return Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value


def _describe(key: Any, value: Any, kind: str) -> str:
    if not isinstance(value, Tensor):
        return f"  ({key}): Object of type: {type(value).__name__}"
    name = "Parameter" if isinstance(value, Parameter) else "Tensor"
    size = "x".join(map(str, value.size()))
    return f"  ({key}): {name} containing: [{kind} of size {size}]"


class ParameterList(Numbered):
    """A list of parameters; tensors put in become parameters, other values are kept as they are.

    >>> import penlight as torch
    >>> torch.nn.ParameterList([torch.zeros(2), torch.zeros(3, 1)])
    ParameterList(
        (0): Parameter containing: [torch.float32 of size 2]
        (1): Parameter containing: [torch.float32 of size 3x1]
    )
    """

    __module__ = _HOME

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self += values

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, slice):
            return type(self)(self[i] for i in range(self._size)[idx])
        return getattr(self, str(self._position(idx)))

    def __setitem__(self, idx: int, param: Any) -> None:
        setattr(self, str(self._position(idx)), _as_parameter(param))

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(self._size))

    def __iadd__(self, parameters: Iterable[Any]) -> Self:
        return self.extend(parameters)

    def append(self, value: Any) -> Self:
        """Adds a value at the end.

        >>> import penlight as torch
        >>> len(torch.nn.ParameterList([torch.zeros(2)]).append(torch.ones(2)))
        2
        """
        self._size += 1
        try:
            self[self._size - 1] = value
        except Exception:
            self._size -= 1
            raise
        return self

    def extend(self, values: Iterable[Any]) -> Self:
        """Adds values at the end.

        >>> import penlight as torch
        >>> len(torch.nn.ParameterList([torch.zeros(2)]).extend([torch.ones(2), torch.ones(1)]))
        3
        """
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            raise TypeError(f"ParameterList.extend should be called with an iterable, but got {type(values).__name__}")
        for value in values:
            self.append(value)
        return self

    def extra_repr(self) -> str:
        """The parameters, one on a line, for printing.

        >>> import penlight as torch
        >>> torch.nn.ParameterList([torch.zeros(2)])
        ParameterList(  (0): Parameter containing: [torch.float32 of size 2])
        """
        return "\n".join(_describe(i, value, str(getattr(value, "dtype", ""))) for i, value in enumerate(self))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterList should not be called.")


class ParameterDict(Keyed):
    """A dict of parameters; tensors put in become parameters, other values are kept as they are.

    >>> import penlight as torch
    >>> scales = torch.nn.ParameterDict({"left": torch.ones(2)})
    >>> [name for name, _ in scales.named_parameters()]
    ['left']
    """

    __module__ = _HOME

    _table = "_keys"

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        self._fill(parameters)

    def _key_to_attr(self, key: str) -> str:
        if not isinstance(key, str):
            raise TypeError(
                "Index given to ParameterDict cannot be used as a key as it is not a string "
                f"(type is '{type(key).__name__}'). Open an issue on github if you need non-string keys."
            )
        return key

    def __getitem__(self, key: str) -> Any:
        return getattr(self, self._key_to_attr(key))

    def __setitem__(self, key: str, value: Any) -> None:
        setattr(self, self._key_to_attr(key), _as_parameter(value))
        self._keys[key] = None

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, self._key_to_attr(key))

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._keys)

    def copy(self) -> ParameterDict:
        """A dict with the same parameters.

        >>> import penlight as torch
        >>> list(torch.nn.ParameterDict({"w": torch.zeros(2)}).copy())
        ['w']
        """
        return ParameterDict(OrderedDict(self.items()))

    def setdefault(self, key: str, default: Any = None) -> Any:
        """The value of a key, which is set to the default first if it is absent.

        >>> import penlight as torch
        >>> torch.nn.ParameterDict().setdefault("w", torch.zeros(2)).requires_grad
        True
        """
        if key not in self:
            self[key] = default
        return self[key]

    def popitem(self) -> tuple[str, Any]:
        """Takes the last entry out and returns it.

        >>> import penlight as torch
        >>> torch.nn.ParameterDict({"w": torch.zeros(2)}).popitem()[0]
        'w'
        """
        if not self._keys:
            raise KeyError("popitem(): dictionary is empty")
        key = next(reversed(self._keys))
        return key, self.pop(key)

    def get(self, key: str, default: Any = None) -> Any:
        """The value of a key, or the default.

        >>> import penlight as torch
        >>> torch.nn.ParameterDict({"w": torch.zeros(2)}).get("v") is None
        True
        """
        if key not in self:
            return default
        return self[key]

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """A new dict with the default for every key.

        >>> import penlight as torch
        >>> list(torch.nn.ParameterDict().fromkeys(["a", "b"], torch.zeros(1)))
        ['a', 'b']
        """
        return ParameterDict((key, default) for key in keys)

    def items(self) -> Iterable[tuple[str, Any]]:
        """The names with the values.

        >>> import penlight as torch
        >>> [(name, p.shape) for name, p in torch.nn.ParameterDict({"w": torch.zeros(2)}).items()]
        [('w', torch.Size([2]))]
        """
        return ((key, self[key]) for key in self._keys)

    def values(self) -> Iterable[Any]:
        """The values.

        >>> import penlight as torch
        >>> [p.shape for p in torch.nn.ParameterDict({"w": torch.zeros(2)}).values()]
        [torch.Size([2])]
        """
        return (self[key] for key in self._keys)

    def update(self, parameters: Any) -> None:
        """Adds values from a mapping or from pairs; a plain dict is taken in the order of its sorted keys.

        >>> import penlight as torch
        >>> params = torch.nn.ParameterDict()
        >>> params.update({"w": torch.zeros(2)})
        >>> list(params)
        ['w']
        """
        if not isinstance(parameters, Iterable):
            raise TypeError(
                "ParametersDict.update should be called with an iterable of key/value pairs, "
                f"but got {type(parameters).__name__}"
            )
        if isinstance(parameters, (OrderedDict, ParameterDict)):
            pairs: Iterable[Any] = parameters.items()
        elif isinstance(parameters, Mapping):
            pairs = sorted(parameters.items())
        else:
            pairs = checked_pairs("ParameterDict", parameters)
        for key, value in pairs:
            self[key] = value

    def extra_repr(self) -> str:
        """The parameters, one on a line, for printing.

        >>> import penlight as torch
        >>> torch.nn.ParameterDict({"w": torch.zeros(2)})
        ParameterDict(  (w): Parameter containing: [torch.FloatTensor of size 2])
        """
        return "\n".join(_describe(key, value, penlight.typename(value)) for key, value in self.items())

    def __call__(self, input: Any) -> Any:
        raise RuntimeError("ParameterDict should not be called.")

    def __or__(self, other: ParameterDict) -> ParameterDict:
        result = self.copy()
        result.update(other)
        return result

    def __ror__(self, other: ParameterDict) -> ParameterDict:
        result = other.copy()
        result.update(self)
        return result

    def __ior__(self, other: ParameterDict) -> Self:
        self.update(other)
        return self
