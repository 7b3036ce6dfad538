"""The only entry to machine code: it takes arrays, and checks them first.

Note [Calling machine code]
Machine code reads and writes memory by address, and nothing stops it at the end of an array. So nothing else in the package passes an
address to it: `load` makes a Python function from code and a signature, and that function takes arrays. Tables that machine code
reads (kernels/assembly) get the addresses of their arrays from `add_addresses`.

    low, high, columns, x: f32[high * columns], out: written f32[high], scale: float

A bare name is an integer argument, `float` a floating-point scalar (these come last), and everything else an array: its element
type (f16, bf16, f32, f64, i32, i64, u32, u8, bool; b1, b2, b4, b8, b16 for any of that many bytes, or `any`), and in brackets its
minimum number of elements, an expression of the other arguments. Arrays are C-contiguous unless they are `strided`; then the
caller has computed from their shape and strides which memory the code will access. `written` arrays must be writable, `optional`
ones may be None, and `unused` ones are ignored. A signature may end in `where` and a condition that must hold. A `new` array is
an output: the caller passes its shape, and the array is allocated here and returned. If the caller passes an array instead, it
must not overlap any other, which is checked. Kernels of the compiler have such signatures:
Note [The signature of a compiled kernel] in compiler/load.py.

Element types are compared by equality (kind, size and byte order), not by the identity of dtype objects: an unpickled array has a
dtype object of its own. An array that does not fit raises `Unfit` before anything is read or written. The caller then converts
the arrays, or falls through to the next implementation (`apply` in strategy.py). Otherwise the call is a bug in Penlight, since
callers choose NumPy for arrays that machine code does not support; the check keeps that bug from corrupting memory.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn

import numpy as np

from . import executable
from .addresses import address

_TYPES: dict[str, Any] = {
    "f16": np.float16, "f32": np.float32, "f64": np.float64, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "u32": np.uint32, "u8": np.uint8, "bool": np.bool_,
}  # fmt: skip
_DTYPES = {name: np.dtype(kind) for name, kind in _TYPES.items()}
_BYTES = {f"b{size}": size for size in (1, 2, 4, 8, 16)}
_NOTHING = np.zeros(1)  # passed in place of an omitted optional array; no code reads it
_ARGUMENT = re.compile(
    r"(\w+)(?:: (?P<words>(?:(?:written|strided|optional|new) )*)(?P<type>\w+)(?:\[(?P<least>.+)\])?)?$"
)


class Unfit(ValueError):
    """An array does not match the signature of the machine code it was passed to."""


class Argument(NamedTuple):
    """One argument of a signature."""

    name: str
    type: str  # "int", "float", or an element type
    least: str | None  # an array's minimum number of elements, as an expression
    words: frozenset[str]  # written, strided, optional, new, unused

    @property
    def is_array(self) -> bool:
        """Whether it is an array."""
        return self.type not in ("int", "float")


class Signature(NamedTuple):
    """The arguments of machine code, and the condition on them."""

    arguments: tuple[Argument, ...]
    where: str | None


def parse(text: str) -> Signature:
    """The signature that a text describes. See Note [Calling machine code].

    >>> [(a.name, a.type, a.least) for a in parse("count, x: f32[2 * count], scale: float").arguments]
    [('count', 'int', None), ('x', 'f32', '2 * count'), ('scale', 'float', None)]
    """
    listed, _, where = text.partition(" where ")
    arguments = []
    for part in re.split(r", (?![^\[]*\])", listed):
        found = _ARGUMENT.match(part)
        if found is None:
            raise ValueError(f"not an argument of a signature: {part!r}")
        words = frozenset((found["words"] or "").split())
        arguments.append(Argument(found[1], found["type"] or "int", found["least"], words))
    return Signature(tuple(arguments), where or None)


def load(code: bytes, signature: str | Signature) -> Any:
    """A function that checks its arguments against a signature and runs machine code on them; see Note [Calling machine code].

    Args:
        code: a function in machine code with C's calling convention; arrays are passed as the addresses of their Python objects.
        signature: its arguments, as text or as a result of `parse`.

    Returns:
        A function with the attributes `run` (which checks nothing), `address` (of the code), `signature` and `shared`.
    """
    parsed = parse(signature) if isinstance(signature, str) else signature
    scalars = sum(argument.type == "float" for argument in parsed.arguments)
    return callable_kernel(executable.load_kernel(code, len(parsed.arguments) - scalars, scalars), parsed)


def callable_kernel(run: Any, signature: Signature) -> Any:
    """Like `load`, for machine code that is already a ctypes function."""
    function = checked(run, signature)
    function.run, function.address, function.signature = run, run.address, signature
    function.shared = None  # the multithreaded version, made on first use: kernels/waiting_threads.py
    return function


def check_of(function: Any) -> Any:
    """The argument check of a function from `load`, without the call: for machine code that other machine code calls."""
    try:
        return function.check
    except AttributeError:
        function.check = checked(lambda *_: None, function.signature)
        return function.check


object_address = id  # how an array is passed to the code of a function from `load`


def data_address(thing: Any) -> int:
    """The address of an array's data, or of a function of a library."""
    if isinstance(thing, np.ndarray):
        dtype = thing.dtype
        if dtype.hasobject or not dtype.isnative:
            raise ValueError(f"machine code got an unfit array: {dtype}")
        return address(thing)
    return ctypes.cast(thing, ctypes.c_void_p).value or 0


def add_addresses(words: Any, positions: Any, things: list[Any], which: Any) -> None:
    """Add the addresses of arrays and functions to words of a table that machine code reads: to each of the `positions` that of the
    thing with the index in `which`. The table's author guarantees that accesses stay in bounds, and keeps the arrays alive."""
    addresses = [data_address(thing) for thing in things]
    if isinstance(words, list):
        for position, index in zip(positions, which):
            words[position] += addresses[index]
    else:
        words[positions] += np.array(addresses, np.int64)[which]


def checked(run: Callable[..., Any], signature: Signature, by_id: bool = True) -> Any:
    """A function that checks its arguments and passes them to `run`, arrays as the addresses of their objects unless told otherwise."""
    names = [argument.name for argument in signature.arguments]
    arrays = [argument for argument in signature.arguments if argument.is_array]
    used = [argument for argument in arrays if "unused" not in argument.words]
    new = [argument for argument in used if "new" in argument.words]
    refused = f"        refuse(({', '.join(names)},))"
    lines = [f"def call({', '.join(names)}):"]
    conditions = [f"({signature.where})"] if signature.where is not None else []
    conditions += [_condition(argument) for argument in used if argument not in new]
    if conditions:
        lines += [f"    if not ({' and '.join(conditions)}):", refused]
    seen = [argument.name for argument in used if argument not in new]
    for argument in new:
        name = argument.name
        apart = "".join([_apart(name, other) for other in seen])
        lines += [f"    if type({name}) is tuple:", f"        {name} = empty({name}, {argument.type})"]
        lines += [f"    elif not ({_fits(argument)}{apart}):", refused]
        lines += [f"    if {name}.size < {argument.least}:", refused]
        seen.append(name)
    passed = [_passed(argument) for argument in signature.arguments] if by_id else names
    lines.append(f"    run({', '.join(passed)})")
    returned = [argument.name for argument in arrays if "new" in argument.words]
    if returned:
        lines.append(f"    return {', '.join(returned)}")

    def refuse(given: tuple[Any, ...]) -> NoReturn:
        _refuse(signature, given)

    space = {
        "run": run, "refuse": refuse, "ndarray": np.ndarray, "empty": np.empty, "NOTHING": _NOTHING,
        "overlap": np.may_share_memory, **_known_dtypes(used),
    }  # fmt: skip
    exec(compile("\n".join(lines), "<penlight machine code>", "exec"), space)
    return space["call"]


def _apart(written: str, other: str) -> str:
    """An expression for "these two arrays do not overlap". An array that owns its memory overlaps only itself and its views."""
    own = f"{written}.base is None and {other} is not {written} and {other}.base is not {written}"
    return f" and ({own} or not overlap({written}, {other}))"


def _known_dtypes(arrays: list[Argument]) -> dict[str, np.dtype[Any]]:
    return {
        argument.type: dtype_of(argument.type)
        for argument in arrays
        if argument.type not in _BYTES and argument.type != "any"
    }


def dtype_of(name: str) -> np.dtype[Any]:
    """The dtype of an element type."""
    return np.dtype("bfloat16") if name == "bf16" else _DTYPES[name]


def _condition(argument: Argument) -> str:
    """An expression for "this array fits its argument"."""
    fits = _fits(argument)
    if argument.least is not None:
        fits += f" and {argument.name}.size >= {argument.least}"
    return f"({argument.name} is None or {fits})" if "optional" in argument.words else fits


def _fits(argument: Argument) -> str:
    """Like `_condition`, without the check of the size."""
    name, kind, _, words = argument
    conditions = [f"(type({name}) is ndarray or isinstance({name}, ndarray))"]
    if kind in _BYTES:
        conditions.append(f"{name}.itemsize == {_BYTES[kind]} and not {name}.dtype.hasobject")
    elif kind == "any":
        conditions.append(f"not {name}.dtype.hasobject")
    else:
        conditions.append(f"({name}.dtype is {kind} or {name}.dtype == {kind})")
    if "strided" not in words:
        conditions.append(f"{name}.flags.c_contiguous")
    if "written" in words or "new" in words:
        conditions.append(f"{name}.flags.writeable")
    return " and ".join(conditions)


def _passed(argument: Argument) -> str:
    if not argument.is_array:
        return argument.name
    if "unused" in argument.words:
        return "id(NOTHING)"
    return (
        f"id(NOTHING if {argument.name} is None else {argument.name})"
        if "optional" in argument.words
        else f"id({argument.name})"
    )


def _refuse(signature: Signature, given: tuple[Any, ...]) -> NoReturn:
    """Raise an error that says which argument does not fit, and why."""
    values = {argument.name: value for argument, value in zip(signature.arguments, given)}
    for argument, value in zip(signature.arguments, given):
        if not argument.is_array or "unused" in argument.words or (value is None and "optional" in argument.words):
            continue
        if type(value) is tuple and "new" in argument.words:
            value = np.empty(value, dtype_of(argument.type))
        what = f"machine code got an unfit array for `{argument.name}`: "
        if not isinstance(value, np.ndarray):
            raise Unfit(f"{what}{type(value).__name__} is not an array")
        if argument.type in _BYTES:
            fits = value.itemsize == _BYTES[argument.type] and not value.dtype.hasobject
        elif argument.type == "any":
            fits = not value.dtype.hasobject
        else:
            fits = value.dtype == dtype_of(argument.type)
        if not fits:
            raise Unfit(f"{what}elements of {value.dtype.str} where {argument.type} is expected")
        if "strided" not in argument.words and not value.flags.c_contiguous:
            raise Unfit(f"{what}it is not contiguous")
        if argument.words & {"written", "new"} and not value.flags.writeable:
            raise Unfit("output array is read-only")
        if argument.least is not None and value.size < (least := eval(argument.least, {}, values)):
            raise Unfit(f"{what}it has {value.size} elements where {least} are needed")
    raise Unfit(
        f"machine code was called with arrays that overlap, or where this does not hold: {signature.where}, of {values}"
    )
