"""`torch.ops.aten.mm.default`: names of ops as PyTorch's selective checkpointing and profiling give them."""

from __future__ import annotations

import importlib
from contextvars import ContextVar
from typing import Any

from .op import Op


class OpOverload:
    """One op by PyTorch's name for it. There is one object for each name; overloads of an op are not told apart."""

    def __init__(self, name: str) -> None:
        self._name = name

    def name(self) -> str:
        """`aten::mm`."""
        return f"aten::{self._name}"

    @property
    def _overloadpacket(self) -> OpOverloadPacket:
        return getattr(aten, self._name)  # type: ignore[no-any-return]

    overloadpacket = _overloadpacket
    namespace = "aten"

    @property
    def __name__(self) -> str:
        return f"{self._name}.default"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the op."""
        return (calls.get().get(self) or _function(self._name))(*args, **kwargs)

    def __str__(self) -> str:
        return f"aten.{self._name}.default"

    def __repr__(self) -> str:
        return f"<OpOverload(op='aten.{self._name}', overload='default')>"


def _function(name: str) -> Any:
    """The function behind an op's name: of torch, of one of its namespaces, or a method of Tensor."""
    import penlight

    if name == "slice":
        return _slice
    room, _, rest = name.partition("_")
    if room in ("linalg", "special", "fft") and not hasattr(penlight, name):
        return getattr(importlib.import_module("penlight." + room), rest)
    for place in (penlight, importlib.import_module("penlight.nn.functional"), penlight.Tensor):
        found = getattr(place, name, None)
        if found is not None:
            return found
    return getattr(penlight, name)


def _slice(input: Any, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Any:
    """The view `input[start:end:step]` along a dimension."""
    where = [slice(None)] * input.dim()
    where[dim] = slice(start, end, step)
    return input[tuple(where)]


class OpOverloadPacket:
    """All overloads of an op: each attribute is the same OpOverload."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> OpOverload:
        if name.startswith("__"):
            raise AttributeError(name)
        return overload(self._name)

    @property
    def __name__(self) -> str:
        return self._name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return overload(self._name)(*args, **kwargs)

    def __str__(self) -> str:
        return f"aten.{self._name}"


class _Aten:
    def __getattr__(self, name: str) -> OpOverloadPacket:
        if name.startswith("__"):
            raise AttributeError(name)
        packet = OpOverloadPacket(name)
        setattr(self, name, packet)  # there is one for each name
        return packet


aten = _Aten()

# What calling an op runs while a mode is asked about it. See Note [Dispatch modes] in compat/_dispatch_mode.py.
calls: ContextVar[dict[OpOverload, Any]] = ContextVar("penlight_aten_calls", default={})  # noqa: B039  # never written

_overloads: dict[str, OpOverload] = {}
_of_ops: dict[Op, OpOverload] = {}


def overload(name: str) -> OpOverload:
    if name not in _overloads:
        _overloads[name] = OpOverload(name)
    return _overloads[name]


def overload_of(op: Op) -> OpOverload:
    """PyTorch's op for a declared one: its node is named after it (`MmBackward0` is mm's)."""
    if op not in _of_ops:
        head, found, _ = op.node_name.rpartition("Backward")
        _of_ops[op] = overload(_snake(head) if found and op.rules else op.public)
    return _of_ops[op]


def _snake(name: str) -> str:
    out = name[:1].lower()
    for letter in name[1:]:
        out += "_" + letter.lower() if letter.isupper() else letter
    return out
