"""`torch.ops.aten.mm.default`: op names as PyTorch's selective checkpointing and profiler use them."""

from __future__ import annotations

import ast
import importlib
import re
from contextvars import ContextVar
from functools import cache
from typing import Any

from ...kernels.lazy import lazy_import
from .op import Op

_argument_errors = lazy_import(globals(), "_argument_errors", ".argument_errors")


class OpOverload:
    """One op under its ATen name. Each name has a single object; overloads of an op are not distinguished."""

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
    """The function behind an op name: in torch, in one of its namespaces, or a method of Tensor."""
    import penlight

    if name == "slice":
        return _slice
    prefix, _, rest = name.partition("_")
    if prefix in ("linalg", "special", "fft") and not hasattr(penlight, name):
        return getattr(importlib.import_module("penlight." + prefix), rest)
    for namespace in (penlight, importlib.import_module("penlight.nn.functional"), penlight.Tensor):
        found = getattr(namespace, name, None)
        if found is not None:
            return found
    return getattr(penlight, name)


def _slice(input: Any, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Any:
    """The view `input[start:end:step]` along a dimension."""
    where = [slice(None)] * input.dim()
    where[dim] = slice(start, end, step)
    return input[tuple(where)]


class OpOverloadPacket:
    """All overloads of an op: every attribute is the same OpOverload."""

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

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='aten.{self._name}')>"


class _Aten:
    def __getattr__(self, name: str) -> OpOverloadPacket:
        if name.startswith("__"):
            raise AttributeError(name)
        packet = OpOverloadPacket(name)
        setattr(self, name, packet)  # cached: one object for each name
        return packet


aten = _Aten()

# The function that runs when a dispatch mode calls an op. See Note [Dispatch modes] in compat/_dispatch_mode.py.
calls: ContextVar[dict[OpOverload, Any]] = ContextVar("penlight_aten_calls", default={})  # noqa: B039  # never written

_overloads: dict[str, OpOverload] = {}
_of_ops: dict[Op, OpOverload] = {}


def overload(name: str) -> OpOverload:
    if name not in _overloads:
        _overloads[name] = OpOverload(name)
    return _overloads[name]


def overload_of(op: Op) -> OpOverload:
    """The ATen op for a declared op, derived from its node's name (`MmBackward0` belongs to mm)."""
    if op not in _of_ops:
        head, found, _ = op.node_name.rpartition("Backward")
        _of_ops[op] = overload(op.traits.aten or (_snake(head) if found and op.rules else op.public))
    return _of_ops[op]


def _snake(name: str) -> str:
    return re.sub(r"(?<=[^\d])(?=[A-Z])", "_", name).lower()  # Log1P is log1p, MaxPool2D max_pool2d


# ----- Arguments --------------------------------------------------------------------------------------------------------


@cache
def _schema(op: Op) -> tuple[dict[str, Any], dict[str, Any]]:
    """The parameters that an op shares with PyTorch's schema, positional and keyword-only, each with its default or `...`."""
    declared = {p: op.defaults.get(p, ...) for p in op.parameters}
    best: tuple[dict[str, Any], dict[str, Any]] = ({p: d for p, d in declared.items() if p != "dtype"}, {})
    if "dtype" in declared:  # always keyword-only in PyTorch
        best[1]["dtype"] = declared["dtype"]
    most = (0, 0)
    for form in _argument_errors.forms(overload_of(op)._name)[0]:
        positional, keyword = (
            {p.name: _literal(p.default) for p in part if p.name in op.parameters}
            for part in (form.positional, form.keyword)
        )
        ordered = list(positional) == [p for p in op.parameters if p in positional]
        covered = (len(positional) + len(keyword), len(positional))
        if ordered and covered > most and {*positional, *keyword}.issuperset(op.inputs):
            best, most = (positional, keyword), covered
    return best


def _literal(default: str | None) -> Any:
    try:
        return ... if default is None else ast.literal_eval(default)
    except ValueError:  # not a literal but a name
        return default


def _is_default(value: Any, default: Any) -> bool:
    return value is default or (
        type(value) is type(default) and isinstance(value, (int, float, str, tuple)) and value == default
    )


def presented(op: Op, arguments: tuple[Any, ...]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of an op as PyTorch's dispatcher passes them: without trailing defaults and without parameters of our kernels only."""
    values = dict(zip(op.parameters, arguments))
    positional, keyword = _schema(op)
    args = [values[p] for p in positional]
    for default in reversed(positional.values()):
        if default is ... or not _is_default(args[-1], default):
            break
        args.pop()
    return tuple(args), {p: values[p] for p, default in keyword.items() if not _is_default(values[p], default)}


def bound(op: Op, arguments: tuple[Any, ...], args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """`arguments` with the presented ones replaced."""
    values = dict(zip(op.parameters, arguments))
    values.update(zip(_schema(op)[0], args, strict=False))
    values.update(kwargs)
    return tuple(values.values())
