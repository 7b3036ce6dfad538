"""`torch.ops.aten.mm.default`: op names as PyTorch's selective checkpointing and profiler use them."""

from __future__ import annotations

import ast
import importlib
import re
from contextvars import ContextVar
from functools import cache
from typing import Any

from ...kernels.lazy import lazy_import
from ...size import Size
from .op import Op

_argument_errors = lazy_import(globals(), "_argument_errors", ".argument_errors")
_advanced = lazy_import(globals(), "_advanced", "..index.advanced")


class OpOverload:
    """One overload of an op under its ATen name. Each has a single object."""

    def __init__(self, name: str, overload: str) -> None:
        self._name, self._overloadname = name, overload

    def name(self) -> str:
        """`aten::mm`, `aten::add.Tensor`."""
        return f"aten::{self._name}" + (f".{self._overloadname}" if self._overloadname != "default" else "")

    @property
    def _overloadpacket(self) -> OpOverloadPacket:
        return getattr(aten, self._name)  # type: ignore[no-any-return]

    overloadpacket = _overloadpacket
    namespace = "aten"

    @property
    def __name__(self) -> str:
        return f"{self._name}.{self._overloadname}"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the op."""
        return (calls.get().get(self) or _function(self._name))(*args, **kwargs)

    def __str__(self) -> str:
        return f"aten.{self.__name__}"

    def __repr__(self) -> str:
        return f"<OpOverload(op='aten.{self._name}', overload='{self._overloadname}')>"


def _function(name: str) -> Any:
    """The function behind an op name: in torch, in one of its namespaces, or a method of Tensor."""
    import penlight

    if name in _OWN:
        return _OWN[name]
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


def _to_copy(
    input: Any, *, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: Any = None,
    non_blocking: bool = False, memory_format: Any = None,
) -> Any:  # fmt: skip
    """What `input.to(...)` runs where it copies."""
    form = {} if memory_format is None else {"memory_format": memory_format}
    return input.to(
        input.device if device is None else device, input.dtype if dtype is None else dtype, copy=True, **form
    )


_OWN = {"slice": _slice, "_to_copy": _to_copy, "index": lambda input, indices: _advanced.index(input, indices)}


class OpOverloadPacket:
    """All overloads of an op; attributes are its overloads."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> OpOverload:
        if name.startswith("__"):
            raise AttributeError(name)
        return overload(self._name, name)

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

_overloads: dict[tuple[str, str], OpOverload] = {}
_names: dict[Op, str] = {}


def _by_name(rows: dict[str, str]) -> dict[str, list[str]]:
    return {name: overloads.split() for names, overloads in rows.items() for name in names.split()}


# The overloads of ops by what their second argument is: absent, a number, another thing.
_BY_SECOND = _by_name({
    "add sub mul div copysign frexp ldexp slice index": "Tensor Tensor Tensor",
    "select unbind transpose": "int int int",
    "eq ne lt le gt ge remainder fmod bitwise_and bitwise_or bitwise_xor rsub": "Tensor Scalar Tensor",
    "pow": "Scalar Tensor_Scalar Tensor_Tensor",
    "bitwise_left_shift bitwise_right_shift": "Tensor Tensor_Scalar Tensor",
    "xlogy": "Scalar_Self Scalar_Other Tensor",
    "searchsorted": "Tensor Scalar Tensor",
    "isin": "Tensor_Tensor Tensor_Scalar Tensor_Tensor",
    "sum": "default dim_IntList dim_IntList",
    "mean max min median nanmedian all any": "default dim dim",
    "prod": "default dim_int dim_int",
    "squeeze": "default dim dims",
    "split": "Tensor Tensor sizes",
    "std var std_mean var_mean": "correction correction correction",
    "clamp_min clamp_max": "default default Tensor",
})  # fmt: skip
# By their last argument: a number, another thing.
_BY_LAST = _by_name({
    "lerp masked_fill fill": "Scalar Tensor",
    "index_fill": "int_Scalar int_Tensor",
    "scatter": "value src",
    "where": "self self",
    "clamp": "default Tensor",
})  # fmt: skip
_BY_KEYWORD = {("sort", "stable"), ("argsort", "stable"), ("round", "decimals"), ("view", "dtype")}


def overload(name: str, which: str = "default") -> OpOverload:
    if (name, which) not in _overloads:
        _overloads[name, which] = OpOverload(name, which)
    return _overloads[name, which]


def aten_name(op: Op) -> str:
    """The name of the ATen op for a declared op, derived from its node's name (`MmBackward0` belongs to mm)."""
    if op not in _names:
        head, found, _ = op.node_name.rpartition("Backward")
        _names[op] = op.traits.aten or (_snake(head) if found and op.rules else op.public)
    return _names[op]


def overload_of(op: Op, arguments: tuple[Any, ...], inplace: bool = False) -> OpOverload:
    """The overload of a declared op that takes these arguments."""
    name = aten_name(op)
    args, kwargs = presented(op, arguments)
    for keyword in kwargs:
        if (name, keyword) in _BY_KEYWORD:
            return overload(name, keyword)
    which = "default"
    if name in _BY_SECOND:
        second = args[1] if len(args) > 1 else None
        which = _BY_SECOND[name][0 if second is None else 1 if isinstance(second, (int, float, complex)) else 2]
    elif name in _BY_LAST:
        which = _BY_LAST[name][not isinstance(args[-1], (int, float, complex))]
    return overload(name + "_" if inplace else name, which)


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
    for form in _argument_errors.forms(aten_name(op))[0]:
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
    args: list[Any] = [list(v) if type(v := values[p]) is not Size and isinstance(v, tuple) else v for p in positional]
    for default in reversed(positional.values()):
        if default is ... or not _is_default(args[-1], default):
            break
        args.pop()
    return tuple(args), {p: values[p] for p, default in keyword.items() if not _is_default(values[p], default)}


def bound(op: Op, arguments: tuple[Any, ...], args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...] | None:
    """`arguments` with the presented ones replaced, or None if the op does not have all that is given."""
    positional, keyword = _schema(op)
    if len(args) > len(positional) or not all(name in positional or name in keyword for name in kwargs):
        return None
    values = dict(zip(op.parameters, arguments))
    for name, value in (*zip(positional, args, strict=False), *kwargs.items()):
        values[name] = tuple(value) if type(value) is list and isinstance(values[name], tuple) else value
    return tuple(values.values())


def called(
    op: Op, name: str, run: Any, arguments: tuple[Any, ...], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Run an op by `run` on presented arguments, which a class or a mode may have changed."""
    values = bound(op, arguments, args, kwargs)
    if values is None or name == "index":  # masks are indices to a class, and numbers to the op
        return _function(name)(*args, **kwargs)
    return run(op, values)
