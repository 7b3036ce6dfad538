"""Modules that hold modules or parameters: Sequential, ModuleList, ModuleDict, ParameterList, ParameterDict."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import ItemsView, Iterable, Iterator, Mapping, ValuesView
from typing import Any, ClassVar, Self

import penlight
from penlight import Tensor
from penlight._common.docstrings import example
from penlight._common.module_table import names_of
from penlight._common.user_warnings import warn_user
from penlight.nn.parameter import Parameter

from .module import Module

__all__ = names_of(__name__)

# ----- What containers share: entries that are counted, and entries that have names ---------------------------------


class Numbered(Module):
    """A list-like container: its entries are attributes named by their positions."""

    def __len__(self) -> int:
        return len(self._modules)

    def _position(self, index: Any) -> int:
        size = len(self)
        index = operator.index(index)
        if not -size <= index < size:
            raise IndexError(f"index {index} is out of range")
        return index % size

    def _get_abs_string_index(self, idx: Any) -> str:
        """The name of the entry at an index, which may count from the end."""
        return str(self._position(idx))

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.isdigit()]


class Keyed(Module):
    """A dict-like container: its entries are members of the module, in one table whose keys are their names."""

    _quick_members = False  # keys are data, not attributes
    _table: ClassVar[str]

    def __len__(self) -> int:
        return len(self.__dict__[self._table])

    def __iter__(self) -> Iterator[str]:
        return iter(self.__dict__[self._table])

    def __contains__(self, key: str) -> bool:
        return key in self.__dict__[self._table]

    def __getitem__(self, key: str) -> Any:
        raise NotImplementedError

    def __delitem__(self, key: str) -> None:
        raise NotImplementedError

    def update(self, entries: Any) -> None:
        raise NotImplementedError

    def _fill(self, entries: Any) -> None:
        if entries is not None:
            self.update(entries)

    def clear(self) -> None:
        """Removes everything.

        >>> layers = torch.nn.ModuleDict({"act": torch.nn.ReLU()})
        >>> layers.clear()
        >>> len(layers)
        0
        """
        for key in list(self):
            del self[key]

    @example('torch.nn.ModuleDict({"act": torch.nn.ReLU()}).pop("act")', "ReLU()")
    def pop(self, key: str) -> Any:
        """Removes the entry of a `key` and returns it."""
        taken = self[key]
        del self[key]
        return taken

    @example('list(torch.nn.ModuleDict({"act": torch.nn.ReLU()}).keys())', "['act']")
    def keys(self) -> Any:
        """The names."""
        return self.__dict__[self._table].keys()


def entries_of(given: Any, owner: str) -> Iterator[tuple[Any, Any]]:
    """The keys and values of a mapping or of pairs; raises an error that names the wrong element."""
    if not isinstance(given, Iterable):
        name = owner.replace("Parameter", "Parameters")  # PyTorch's spelling
        raise TypeError(
            f"{name}.update should be called with an iterable of key/value pairs, but got {type(given).__name__}"
        )
    if isinstance(given, (Mapping, Keyed)):
        yield from given.items()
        return
    for i, pair in enumerate(given):
        if not isinstance(pair, Iterable):
            raise TypeError(f"{owner} update sequence element #{i} should be Iterable; is{type(pair).__name__}")
        items: Any = pair
        if len(items) != 2:
            raise ValueError(f"{owner} update sequence element #{i} has length {len(items)}; 2 is required")
        yield items[0], items[1]


# ----- Of modules -------------------------------------------------------------------------------------------------


@example("issubclass(torch.nn.Container, torch.nn.Module)", "True")
class Container(Module):
    """Deprecated: a module with the given children; subclass `Module` instead."""

    def __init__(self, **kwargs: Any) -> None:
        warn_user(
            "`nn.Container` is deprecated. All of its functionality is now implemented in `nn.Module`. "
            "Subclass that instead.",
            FutureWarning,
        )
        super().__init__()
        for name, module in kwargs.items():
            self.add_module(name, module)


class _Positional(Numbered):
    """The common base of Sequential and ModuleList: numbered children."""

    def _renumber(self) -> None:
        self._modules = OrderedDict((str(i), module) for i, module in enumerate(self._modules.values()))

    def _open_slot(self, index: int, module: Module) -> None:
        for i in range(len(self._modules), index, -1):
            self._modules[str(i)] = self._modules[str(i - 1)]
        self._modules[str(index)] = module

    def __iter__(self) -> Iterator[Any]:
        return iter(self._modules.values())

    def append(self, module: Module) -> Self:
        """Adds a module at the end.

        >>> torch.nn.Sequential(torch.nn.ReLU()).append(torch.nn.Tanh())
        Sequential(
          (0): ReLU()
          (1): Tanh()
        )
        """
        self.add_module(str(len(self)), module)
        return self

    def pop(self, key: int | slice) -> Any:
        """Removes the module at a position, or a slice of them, and returns it.

        >>> layers = torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Tanh())
        >>> layers.pop(0)
        ReLU()
        >>> len(layers)
        1
        """
        taken = self[key]
        del self[key]
        return taken

    def _key(self, index: Any) -> str:
        return list(self._modules)[self._position(index)]

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, slice):
            return self._of_entries(list(self._modules.items())[idx])
        return self._modules[self._key(idx)]

    def __setitem__(self, idx: int, module: Module) -> None:
        setattr(self, self._key(idx), module)

    def __delitem__(self, idx: int | slice) -> None:
        for key in list(self._modules)[idx] if isinstance(idx, slice) else [self._key(idx)]:
            delattr(self, key)
        self._renumber()

    def _of_entries(self, entries: list[tuple[str, Any]]) -> Any:
        """A container of the same class with some of the entries."""
        raise NotImplementedError


class Sequential(_Positional):
    """Modules called in order, each on the result of the previous one.

    They are passed in order, or with names as one OrderedDict. It can be indexed, sliced, concatenated with
    `+` and repeated with `*` like a list; a repeated module is the same module.

    >>> net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.ReLU())
    >>> net(torch.tensor([[-1.0, 2.0]]))
    tensor([[0., 2.]])
    >>> net[1]
    ReLU()
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            named: Iterable[Any] = args[0].items()
        else:
            named = ((str(i), module) for i, module in enumerate(args))
        for name, module in named:
            self.add_module(name, module)

    def forward(self, input: Any) -> Any:
        """The input passed through all modules.

        >>> torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Flatten(0))(torch.tensor([[-1.0, 2.0]]))
        tensor([0., 2.])
        """
        for module in self._modules.values():
            input = module(input)
        return input

    def _of_entries(self, entries: list[tuple[str, Any]]) -> Any:
        return type(self)(OrderedDict(entries))

    def __add__(self, other: Any) -> Sequential:
        self._check_sequential(other)
        return Sequential(*self, *other)

    def __iadd__(self, other: Any) -> Self:
        self._check_sequential(other)
        return self.extend(list(other))

    def _check_sequential(self, other: Any) -> None:
        if not isinstance(other, Sequential):
            raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")

    def __mul__(self, other: int) -> Sequential:
        self._check_factor(other)
        return Sequential(*(list(self) * other))

    def __rmul__(self, other: int) -> Sequential:
        return self * other

    def __imul__(self, other: int) -> Self:
        self._check_factor(other)
        return self.extend(list(self) * (other - 1))

    def _check_factor(self, other: Any) -> None:
        if not isinstance(other, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(other)}")
        if other <= 0:
            raise ValueError(f"Non-positive multiplication factor {other} for {type(self)}")

    @example("torch.nn.Sequential(torch.nn.ReLU()).insert(0, torch.nn.Tanh())[0]", "Tanh()")
    def insert(self, index: int, module: Module) -> Self:
        """Inserts a module before a position."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        size = len(self)
        if not -size <= index <= size:
            raise IndexError(f"Index out of range: {index}")
        self._open_slot(index + size if index < 0 else index, module)
        return self

    @example("len(torch.nn.Sequential(torch.nn.ReLU()).extend([torch.nn.Tanh(), torch.nn.Tanh()]))", "3")
    def extend(self, sequential: Iterable[Any]) -> Self:
        """Adds modules at the end."""
        for module in sequential:
            self.append(module)
        return self


class ModuleList(_Positional):
    """A list of modules whose parameters are registered; it has no forward.

    >>> torch.nn.ModuleList([torch.nn.Linear(2, 2) for _ in range(3)])
    ModuleList(
      (0-2): 3 x Linear(in_features=2, out_features=2, bias=True)
    )
    """

    def __init__(self, modules: Iterable[Any] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self += modules

    def _key(self, index: Any) -> str:
        return str(self._position(index))

    def _of_entries(self, entries: list[tuple[str, Any]]) -> Any:
        return type(self)([module for _, module in entries])

    def __iadd__(self, modules: Iterable[Any]) -> Self:
        return self.extend(modules)

    def __add__(self, other: Iterable[Any]) -> ModuleList:
        return ModuleList([*self, *other])

    def insert(self, index: int, module: Module) -> None:
        """Inserts a module before a position.

        >>> layers = torch.nn.ModuleList([torch.nn.ReLU()])
        >>> layers.insert(0, torch.nn.Tanh())
        >>> layers[0]
        Tanh()
        """
        self._open_slot(index, module)

    @example("len(torch.nn.ModuleList([torch.nn.ReLU()]).extend([torch.nn.Tanh()]))", "2")
    def extend(self, modules: Iterable[Any]) -> Self:
        """Adds modules at the end."""
        if not isinstance(modules, Iterable):
            raise TypeError(f"ModuleList.extend should be called with an iterable, but got {type(modules).__name__}")
        offset = len(self)
        for i, module in enumerate(modules):
            self.add_module(str(offset + i), module)
        return self

    def __repr__(self) -> str:
        """Adjacent modules that print alike are shown once, with their range and count."""
        runs: list[tuple[int, int, str]] = []
        for i, text in enumerate(repr(module) for module in self):
            if runs and runs[-1][2] == text:
                runs[-1] = (runs[-1][0], i, text)
            else:
                runs.append((i, i, text))
        if not runs:
            return self._get_name() + "()"
        lines = []
        for first, last, text in runs:
            head = f"({first})" if first == last else f"({first}-{last})"
            count = "" if first == last else f"{last - first + 1} x "
            lines.append(f"{head}: {count}{text}".replace("\n", "\n  "))
        return self._get_name() + "(\n  " + "\n  ".join(lines) + "\n)"


@example('torch.nn.ModuleDict({"a": torch.nn.ReLU(), "b": torch.nn.Tanh()})["b"]', "Tanh()")
class ModuleDict(Keyed):
    """A dict of modules whose parameters are registered; it has no forward."""

    _table = "_modules"

    def __init__(self, modules: Any = None) -> None:
        super().__init__()
        self._fill(modules)

    def __getitem__(self, key: str) -> Any:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    @example('list(torch.nn.ModuleDict({"act": torch.nn.ReLU()}).items())', "[('act', ReLU())]")
    def items(self) -> ItemsView[str, Any]:
        """The names with the modules."""
        return self._modules.items()

    @example('list(torch.nn.ModuleDict({"act": torch.nn.ReLU()}).values())', "[ReLU()]")
    def values(self) -> ValuesView[Any]:
        """The modules."""
        return self._modules.values()

    def update(self, modules: Any) -> None:
        """Adds modules from a mapping or from pairs, replacing those of the same names.

        >>> layers = torch.nn.ModuleDict()
        >>> layers.update({"act": torch.nn.ReLU()})
        >>> layers["act"]
        ReLU()
        """
        for key, module in entries_of(modules, "ModuleDict"):
            self[key] = module


# ----- Of parameters ----------------------------------------------------------------------------------------------


def _as_parameter(value: Any) -> Any:
    return Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value


def _describe(key: Any, value: Any, kind: str) -> str:
    if not isinstance(value, Tensor):
        return f"  ({key}): Object of type: {type(value).__name__}"
    name = "Parameter" if isinstance(value, Parameter) else "Tensor"
    size = "x".join(map(str, value.size()))
    return f"  ({key}): {name} containing: [{kind} of size {size}]"


class ParameterList(Numbered):
    """A list of parameters; tensors become parameters, other values are stored unchanged.

    >>> torch.nn.ParameterList([torch.zeros(2), torch.zeros(3, 1)])
    ParameterList(
        (0): Parameter containing: [torch.float32 of size 2]
        (1): Parameter containing: [torch.float32 of size 3x1]
    )
    """

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

    @example("len(torch.nn.ParameterList([torch.zeros(2)]).append(torch.ones(2)))", "2")
    def append(self, value: Any) -> Self:
        """Adds a value at the end."""
        self._size += 1
        try:
            self[self._size - 1] = value
        except Exception:
            self._size -= 1
            raise
        return self

    @example("len(torch.nn.ParameterList([torch.zeros(2)]).extend([torch.ones(2), torch.ones(1)]))", "3")
    def extend(self, values: Iterable[Any]) -> Self:
        """Adds values at the end."""
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            raise TypeError(f"ParameterList.extend should be called with an iterable, but got {type(values).__name__}")
        for value in values:
            self.append(value)
        return self

    def extra_repr(self) -> str:
        """The parameters, one on a line, for printing.

        >>> torch.nn.ParameterList([torch.zeros(2)])
        ParameterList(  (0): Parameter containing: [torch.float32 of size 2])
        """
        return "\n".join(_describe(i, value, str(getattr(value, "dtype", ""))) for i, value in enumerate(self))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterList should not be called.")


@example('[name for name, _ in torch.nn.ParameterDict({"left": torch.ones(2)}).named_parameters()]', "['left']")
class ParameterDict(Keyed):
    """A dict of parameters; tensors become parameters, other values are stored unchanged."""

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

    @example('list(torch.nn.ParameterDict({"w": torch.zeros(2)}).copy())', "['w']")
    def copy(self) -> ParameterDict:
        """A dict with the same parameters."""
        return ParameterDict(OrderedDict(self.items()))

    @example('torch.nn.ParameterDict().setdefault("w", torch.zeros(2)).requires_grad', "True")
    def setdefault(self, key: str, default: Any = None) -> Any:
        """The value of a key, which is first set to the default if absent."""
        if key not in self:
            self[key] = default
        return self[key]

    @example('torch.nn.ParameterDict({"w": torch.zeros(2)}).popitem()[0]', "'w'")
    def popitem(self) -> tuple[str, Any]:
        """Removes the last entry and returns it."""
        if not self._keys:
            raise KeyError("popitem(): dictionary is empty")
        key = next(reversed(self._keys))
        return key, self.pop(key)

    @example('torch.nn.ParameterDict({"w": torch.zeros(2)}).get("v") is None', "True")
    def get(self, key: str, default: Any = None) -> Any:
        """The value of a key, or the default."""
        if key not in self:
            return default
        return self[key]

    @example('list(torch.nn.ParameterDict().fromkeys(["a", "b"], torch.zeros(1)))', "['a', 'b']")
    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """A new dict with the default for every key."""
        return ParameterDict((key, default) for key in keys)

    def items(self) -> Iterable[tuple[str, Any]]:
        """The names with the values.

        >>> [(name, p.shape) for name, p in torch.nn.ParameterDict({"w": torch.zeros(2)}).items()]
        [('w', torch.Size([2]))]
        """
        return ((key, self[key]) for key in self._keys)

    @example('[p.shape for p in torch.nn.ParameterDict({"w": torch.zeros(2)}).values()]', "[torch.Size([2])]")
    def values(self) -> Iterable[Any]:
        """The values."""
        return (self[key] for key in self._keys)

    def update(self, parameters: Any) -> None:
        """Adds values from a mapping or from pairs; a plain dict is taken in the order of its sorted keys.

        >>> params = torch.nn.ParameterDict()
        >>> params.update({"w": torch.zeros(2)})
        >>> list(params)
        ['w']
        """
        entries: Iterable[Any] = entries_of(parameters, "ParameterDict")
        if isinstance(parameters, Mapping) and not isinstance(parameters, OrderedDict):
            entries = sorted(entries)
        for key, value in entries:
            self[key] = value

    def extra_repr(self) -> str:
        """The parameters, one on a line, for printing.

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
