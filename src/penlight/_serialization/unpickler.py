"""Reading pickles without running code from them (`weights_only=True`).

Note [The weights-only machine]
A pickle is a program for a small stack machine. This machine has only the instructions that plain data needs. Those that could run code
(name a global, call a function, make an object, set its state) accept only a list of names: PyTorch's functions that build tensors, a
few types of plain data, and the names that the user has added. A name is looked up only in this list, never by import or getattr.
"""

from __future__ import annotations

import pickle
import struct
from _compat_pickle import IMPORT_MAPPING, NAME_MAPPING
from collections import Counter, OrderedDict
from collections.abc import Callable
from functools import partial
from pickle import UnpicklingError
from typing import Any

import penlight
from penlight._common.user_warnings import warn_user
from penlight._serialization.names import PARAMETER, builtin_globals
from penlight._serialization.safe import user_globals
from penlight.storage import UntypedStorage

_BLOCKED_MODULES = frozenset({"sys", "os", "posix", "nt"})
_MARK = object()
_CHUNK = 1 << 16  # the first bytes to read of a long item
_MAX_DEPTH = 500  # of nested tuples
_MAX_STEPS = 100_000  # to hash a key


class _Allowed:
    """The names that a file may use, built-in or added by the user, and their objects."""

    def __init__(self) -> None:
        added = user_globals()
        self._by_name = {**added, **builtin_globals()}
        self._objects = {id(obj) for obj in self._by_name.values()}
        self._added = {id(obj) for obj in added.values()}

    def __contains__(self, obj: Any) -> bool:
        return id(obj) in self._objects

    def was_added(self, obj: Any) -> bool:
        """Whether the user has added this object."""
        return id(obj) in self._added

    def find(self, module: str, name: str) -> Any:
        full_name = f"{module}.{name}"
        if module in _BLOCKED_MODULES:
            raise UnpicklingError(f"Trying to load unsupported GLOBAL {full_name} whose module {module} is blocked.")
        if full_name == PARAMETER:
            self._objects.add(id(penlight.nn.Parameter))
            return penlight.nn.Parameter
        if full_name in self._by_name:
            return self._by_name[full_name]
        shown = full_name.removeprefix("builtins.")
        raise UnpicklingError(
            f"Unsupported global: GLOBAL {shown} was not an allowed global by default. "
            f"Please use `torch.serialization.add_safe_globals([{shown}])` or the "
            f"`torch.serialization.safe_globals([{shown}])` context manager to allowlist this global "
            "if you trust this class/function."
        )


def _name(function: Any) -> str:
    return getattr(function, "__qualname__", None) or repr(function)


class WeightsUnpickler:
    """Reads one pickle from a file; `persistent_load` makes the storages."""

    def __init__(self, file: Any, persistent_load: Callable[[Any], Any], encoding: str = "utf-8") -> None:
        self._read_from = file.read
        self._readline = file.readline
        self._persistent_load = persistent_load
        self._encoding = encoding
        self._allowed = _Allowed()
        self._stack: list[Any] = []
        self._memo: dict[int, Any] = {}
        self._nested: dict[int, tuple[Any, int, int]] = {}  # see Note [Nested tuples]

    def load(self) -> Any:
        """Read the object; raises UnpicklingError if the pickle uses anything that is not allowed."""
        actions, opcode = _ACTIONS, b""
        try:
            while True:
                opcode = self._read(1)
                if opcode == pickle.STOP:
                    result = self._stack.pop()
                    if result is _MARK:
                        raise UnpicklingError("the pickle is damaged: it ends with a mark")
                    return result
                action = actions.get(opcode)
                if action is None:
                    raise UnpicklingError(f"Unsupported operand {opcode[0]}")
                action(self)
        except IndexError as error:
            raise UnpicklingError(f"the pickle is damaged: too few values for the instruction {opcode!r}") from error
        except (struct.error, UnicodeDecodeError) as error:
            raise UnpicklingError(f"the pickle is damaged at the instruction {opcode!r}: {error}") from error

    def _read(self, count: int) -> bytes:
        # A file object allocates memory for all requested bytes before it knows how many there are.
        data: bytes = self._read_from(min(count, _CHUNK))
        while len(data) < count and (piece := self._read_from(min(count - len(data), len(data)))):
            data += piece
        if len(data) != count:
            raise EOFError("pickle data was truncated" if data or self._stack else "Ran out of input")
        return data

    def _number(self, form: str) -> Any:
        return struct.unpack(form, self._read(struct.calcsize(form)))[0]

    def _line(self) -> str:
        line: bytes = self._readline()
        if not line.endswith(b"\n"):
            raise UnpicklingError("pickle data was truncated")
        return line[:-1].decode()

    def _since_mark(self) -> list[Any]:
        for index in range(len(self._stack) - 1, -1, -1):
            if self._stack[index] is _MARK:
                items = self._stack[index + 1 :]
                del self._stack[index:]
                return items
        raise UnpicklingError("the pickle is damaged: no mark")

    # ----- Instructions that could run code ---------------------------------------------------------------------------

    def _global(self) -> None:
        module, name = self._line(), self._line()
        # Pickles of protocol 2 have Python 2's names for the standard library.
        if (module, name) in NAME_MAPPING:
            module, name = NAME_MAPPING[module, name]
        else:
            module = IMPORT_MAPPING.get(module, module)
        self._stack.append(self._allowed.find(module, name))

    def _reduce(self) -> None:
        arguments, function = self._stack.pop(), self._stack.pop()
        if function not in self._allowed:
            message = f"Trying to call reduce for unrecognized function {function}"
            if hasattr(function, "__self__"):
                message += f" which belongs to {function.__self__}"
            raise UnpicklingError(message)
        self._stack.append(self._call(function, function, arguments))

    def _call(self, named: Any, make: Callable[..., Any], arguments: Any) -> Any:
        """Call a function for the file. Errors of functions that the user has not added become UnpicklingErrors."""
        if type(arguments) is not tuple:
            raise UnpicklingError(
                f"the pickle is damaged: {_name(named)} is called with {type(arguments)} instead of a tuple of arguments"
            )
        if self._allowed.was_added(named):
            return make(*arguments)
        if arguments and named in (penlight.Tensor, UntypedStorage):
            raise UnpicklingError(f"the file makes a {_name(named)} of {arguments!r}, which is not how it is saved")
        for argument in arguments:
            self._check_keys(argument)
        try:
            return make(*arguments)
        except (TypeError, ValueError, AttributeError, OverflowError, LookupError, MemoryError, OSError) as error:
            raise UnpicklingError(f"the file calls {_name(named)} with invalid arguments: {error}") from error

    def _newobj(self) -> None:
        arguments, cls = self._stack.pop(), self._stack.pop()
        if isinstance(cls, type) and cls in self._allowed:
            is_parameter = cls.__name__ == "Parameter" and cls is penlight.nn.Parameter
            make = cls if is_parameter else partial(cls.__new__, cls)
            self._stack.append(self._call(cls, make, arguments))
        else:
            raise UnpicklingError(
                "Can only create new object for nn.Parameter or classes allowlisted "
                f"via `add_safe_globals` but got {cls}"
            )

    def _build(self) -> None:
        state, target = self._stack.pop(), self._stack[-1]
        if type(target) is OrderedDict:
            if type(state) is not dict or not all(type(name) is str for name in state):
                raise UnpicklingError(
                    f"the attributes of an OrderedDict must be a dict of names, but got {type(state)}"
                )
            target.__dict__.update(state)
        elif not self._allowed.was_added(type(target)):
            raise UnpicklingError(
                "Can only build Tensor, Parameter, OrderedDict or types allowlisted "
                f"via `add_safe_globals`, but got {type(target)}"
            )
        elif hasattr(target, "__setstate__"):
            target.__setstate__(state)
        else:
            attributes, slots = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
            if attributes:
                target.__dict__.update(attributes)
            for name, value in (slots or {}).items():
                setattr(target, name, value)

    def _persistent(self) -> None:
        saved = self._stack.pop()
        if type(saved) is not tuple and type(saved) is not int:
            raise UnpicklingError(f"persistent_load id must be tuple or int, but got {type(saved)}")
        kind = saved[0] if isinstance(saved, tuple) and saved else "storage"
        if type(kind) not in (str, bytes) or kind not in ("storage", b"storage"):
            raise UnpicklingError(f"Only persistent_load of storage is allowed, but got {type(kind)}")
        self._stack.append(self._persistent_load(saved))

    # ----- Containers -----------------------------------------------------------------------------------------------

    def _append(self) -> None:
        item, target = self._stack.pop(), self._stack[-1]
        if type(target) is not list:
            raise UnpicklingError(f"Can only append to lists, but got {type(target)}")
        target.append(item)

    def _appends(self) -> None:
        items, target = self._since_mark(), self._stack[-1]
        if type(target) is not list:
            raise UnpicklingError(f"Can only extend lists, but got {type(target)}")
        target.extend(items)

    def _mapping(self, opcode: str) -> Any:
        target = self._stack[-1]
        if type(target) not in (dict, OrderedDict, Counter):
            raise UnpicklingError(
                f"Can only {opcode} for dict, collections.OrderedDict, collections.Counter, but got {type(target)}"
            )
        return target

    def _setitem(self) -> None:
        value, key = self._stack.pop(), self._stack.pop()
        self._set(self._mapping("SETITEM"), key, value)

    def _setitems(self) -> None:
        items = self._since_mark()
        target = self._mapping("SETITEMS")
        if len(items) % 2:
            raise UnpicklingError("the pickle is damaged: SETITEMS has a key without a value")
        for key, value in zip(items[::2], items[1::2]):
            self._set(target, key, value)

    def _set(self, target: Any, key: Any, value: Any) -> None:
        self._check_key(key)
        try:
            target[key] = value
        except TypeError as error:
            raise UnpicklingError(f"the pickle is damaged: {type(key)} cannot be a key of a dict ({error})") from error

    def _last(self, count: int) -> None:
        if len(self._stack) < count:
            raise UnpicklingError("the pickle is damaged: the stack is empty")
        self._stack[-count:] = [self._tuple(self._stack[-count:])]

    # Note [Nested tuples]
    # Hashing a tuple hashes its items, recursively in C: a dict key of tuples nested 100,000 deep crashes the process, and one of 60
    # tuples, each containing the next one twice, takes forever. Both fit in small files. So the depth of tuples is limited, and the
    # number of steps to hash a key. A table has both for tuples that contain tuples; it also keeps these tuples alive, so that no other
    # object gets their `id`.

    def _tuple(self, items: list[Any]) -> tuple[Any, ...]:
        made = tuple(items)
        inner = [item for item in items if type(item) is tuple]
        if inner:
            known = [self._nested.get(id(item), (item, 1, len(item))) for item in inner]
            depth, steps = 1 + max([k[1] for k in known]), len(items) + sum([k[2] for k in known])
            if depth > _MAX_DEPTH:
                raise UnpicklingError(f"the pickle has tuples nested more than {_MAX_DEPTH} deep")
            self._nested[id(made)] = made, depth, steps
        return made

    def _check_key(self, key: Any) -> None:
        if type(key) is tuple and self._nested.get(id(key), (key, 1, len(key)))[2] > _MAX_STEPS:
            raise UnpicklingError("the pickle has a key of nested tuples that is too large")

    def _check_keys(self, argument: Any) -> None:
        """Check an argument from which `set` or `dict` could take keys."""
        self._check_key(argument)
        if type(argument) in (tuple, list, set):
            for item in argument:
                self._check_key(item)
                if type(item) in (tuple, list) and item:
                    self._check_key(item[0])

    # ----- Values ---------------------------------------------------------------------------------------------------

    def _text(self) -> None:
        self._stack.append(str(self._read(self._number("<I")), "utf-8", "surrogatepass"))

    def _python2_string(self) -> None:
        data = self._read(self._number("<B"))
        self._stack.append(data if self._encoding == "bytes" else data.decode(self._encoding, "strict"))

    def _remember(self, index: int) -> None:
        self._memo[index] = self._stack[-1]

    def _recall(self, index: int) -> None:
        if index not in self._memo:
            raise UnpicklingError(f"Memo value not found at index {index}")
        self._stack.append(self._memo[index])

    def _protocol(self) -> None:
        protocol = self._number("<B")
        if protocol != 2:
            warn_user(
                f"Detected pickle protocol {protocol} in the checkpoint, which was "
                "not the default pickle protocol used by `torch.load` (2). The weights_only "
                "Unpickler might not support all instructions implemented by this protocol, "
                "please file an issue for adding support if you encounter this.",
            )


def _push(make: Callable[[], Any]) -> Callable[[WeightsUnpickler], None]:
    return lambda machine: machine._stack.append(make())


def _push_number(form: str) -> Callable[[WeightsUnpickler], None]:
    return lambda machine: machine._stack.append(machine._number(form))


_Machine = WeightsUnpickler
_ACTIONS: dict[bytes, Callable[[WeightsUnpickler], None]] = {
    pickle.GLOBAL: _Machine._global,
    pickle.REDUCE: _Machine._reduce,
    pickle.NEWOBJ: _Machine._newobj,
    pickle.BUILD: _Machine._build,
    pickle.BINPERSID: _Machine._persistent,
    pickle.APPEND: _Machine._append,
    pickle.APPENDS: _Machine._appends,
    pickle.SETITEM: _Machine._setitem,
    pickle.SETITEMS: _Machine._setitems,
    pickle.MARK: lambda machine: machine._stack.append(_MARK),
    pickle.TUPLE: lambda machine: machine._stack.append(machine._tuple(machine._since_mark())),
    pickle.TUPLE1: lambda machine: machine._last(1),
    pickle.TUPLE2: lambda machine: machine._last(2),
    pickle.TUPLE3: lambda machine: machine._last(3),
    pickle.NONE: _push(lambda: None),
    pickle.NEWFALSE: _push(lambda: False),
    pickle.NEWTRUE: _push(lambda: True),
    pickle.EMPTY_TUPLE: _push(tuple),
    pickle.EMPTY_LIST: _push(list),
    pickle.EMPTY_DICT: _push(dict),
    pickle.EMPTY_SET: _push(set),
    pickle.BININT: _push_number("<i"),
    pickle.BININT1: _push_number("<B"),
    pickle.BININT2: _push_number("<H"),
    pickle.BINFLOAT: _push_number(">d"),
    pickle.LONG1: lambda machine: machine._stack.append(pickle.decode_long(machine._read(machine._number("<B")))),
    pickle.BINUNICODE: _Machine._text,
    pickle.SHORT_BINSTRING: _Machine._python2_string,
    pickle.BINPUT: lambda machine: machine._remember(machine._number("<B")),
    pickle.LONG_BINPUT: lambda machine: machine._remember(machine._number("<I")),
    pickle.BINGET: lambda machine: machine._recall(machine._number("<B")),
    pickle.LONG_BINGET: lambda machine: machine._recall(machine._number("<I")),
    pickle.PROTO: _Machine._protocol,
}
OPCODES = frozenset({*_ACTIONS, pickle.STOP})
