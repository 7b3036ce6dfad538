"""The intermediate representation: types, the table of ops, kernels, and the builder. See Note [The compiler].

An `Op` is an operation and its value. A region holds ops in the order in which they run. `for`, `while` and `if` have their own
regions; their results are `result` ops, which directly follow them. A region's parameters are the values that a loop carries from
one iteration to the next; its last op is `yield`. Memory is a named buffer and an index: there are no addresses. Nothing is
implicit: the operands of an op have exactly the types in `OPS`. Ops are never changed once they are built.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

# ----- Types ----------------------------------------------------------------------------------------------------------


class Type:
    """The type of a value: an element type, and how many lanes it has.

    `Type.of` returns one object per type, so types are compared by identity.
    """

    __slots__ = ("dtype", "element", "is_float", "is_short", "lanes", "register")
    _all: dict[tuple[str, int], Type] = {}

    def __init__(self, element: str, lanes: int) -> None:
        self.element, self.lanes = element, lanes
        self.is_float = element in ("f32", "f64")
        self.is_short = element in ("f16", "bf16")  # in memory only: these floats are computed as f32
        self.register = "vector" if self.is_float or lanes > 1 else "general"  # its register class
        self.dtype = DTYPES.get(element, _WORD if element == "bf16" else np.dtype("V"))

    @staticmethod
    def of(element: str, lanes: int = 1) -> Type:
        found = Type._all.get((element, lanes))
        if found is None:
            found = Type._all[element, lanes] = Type(element, lanes)
        return found

    def __repr__(self) -> str:
        return self.element if self.lanes == 1 else f"{self.element}x{self.lanes}"


DTYPES = {
    name: np.dtype(numpy)
    for name, numpy in (
        ("f32", "f4"), ("f64", "f8"), ("f16", "f2"), ("i8", "i1"), ("i16", "i2"), ("i32", "i4"), ("i64", "i8"),
        ("u8", "u1"), ("bool", "?"),
    )
}  # fmt: skip
_WORD = np.dtype("i2")  # NumPy has no bfloat16: the IR moves its bits, and computes with float32
F32, F64, I64, U8, BOOL = map(Type.of, ("f32", "f64", "i64", "u8", "bool"))
INDEX = I64
NOTHING = Type.of("nothing")  # of ops without a value

_FORMATS = {"f32": ("<f", "<I"), "f64": ("<d", "<Q")}


def bits_of(value: float, type_: Type) -> int:
    """The bits of a Python number as a constant. Integers are unchanged; floats are rounded to the type."""
    if not type_.is_float:
        return int(value)
    form, whole = _FORMATS[type_.element]
    try:
        packed = struct.pack(form, value)
    except OverflowError:  # beyond the largest float32
        packed = struct.pack(form, float("inf") if value > 0 else float("-inf"))
    return int(struct.unpack(whole, packed)[0])


def value_of(bits: int, type_: Type) -> Any:
    """The Python number that a constant's bits represent."""
    if not type_.is_float:
        return bool(bits) if type_.element == "bool" else bits
    form, whole = _FORMATS[type_.element]
    return struct.unpack(form, struct.pack(whole, bits))[0]


# ----- Ops ------------------------------------------------------------------------------------------------------------


class Op:
    """An operation and its value. `attribute` is a build-time parameter: bits, a relation, a buffer's name."""

    __slots__ = ("attribute", "name", "operands", "regions", "type")

    def __init__(
        self, name: str, type_: Type, operands: tuple[Op, ...] = (), attribute: Any = None,
        regions: tuple[Region, ...] = (),
    ) -> None:  # fmt: skip
        self.name, self.type, self.operands, self.attribute, self.regions = name, type_, operands, attribute, regions

    def __repr__(self) -> str:
        return f"<{self.name} {self.attribute or ''}: {self.type}>"


class Region(NamedTuple):
    """Ops that run one after the other. The last is a `yield`."""

    parameters: tuple[Op, ...]
    ops: list[Op]

    @property
    def yielded(self) -> tuple[Op, ...]:
        return self.ops[-1].operands


def results_at(ops: list[Op], at: int) -> list[Op]:
    """The results of the loop or condition at an index: they directly follow it."""
    last = at + 1
    while ops[last].name == "result":
        last += 1
    return ops[at + 1 : last]


class Row(NamedTuple):
    """An op's row in the table.

    `signature` are the types of the operands, then that of the result: `t` is the same type throughout, `b` a bool with as many
    lanes, `i` an index, `.` any type. `kinds` says what `t` can be: (f)loats, integers (w), (b)ools. A `pure` op can be repeated
    or dropped. `cheap` ops cost less than a jump: a condition computes both of its branches if they consist of these. `numpy` is
    the op's meaning.
    """

    signature: str
    kinds: str = "fwb"
    pure: bool = True
    cheap: bool = True
    commutative: bool = False
    numpy: Callable[..., Any] | None = None


def _bits(which: str) -> Callable[[Any, Any], Any]:
    return {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}[which]


RELATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "lt": np.less, "le": np.less_equal, "eq": np.equal, "ne": np.not_equal,
    "unordered": lambda a, b: np.isnan(a) | np.isnan(b),
}  # fmt: skip
ROUNDINGS: dict[str, Callable[[Any], Any]] = {"nearest": np.rint, "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc}
BITS = ("and", "or", "xor")
# The direction and the treatment of the sign: a `shift` by 23 bits is "left 23", "right 23" (shifts in zeros) or "signed 23".
SHIFTS: dict[str, Callable[[Any, Any], Any]] = {
    "left": np.left_shift,
    "right": lambda a, count: (a.view(f"u{a.itemsize}") >> count.astype(f"u{a.itemsize}")).view(a.dtype),
    "signed": np.right_shift,
}
FOLDS: dict[str, Callable[[Any, Any], Any]] = {
    "add": np.add,
    "mul": np.multiply,
    "min": lambda a, b: np.where(a < b, a, b),
    "max": lambda a, b: np.where(a > b, a, b),
}
NEUTRAL = {"add": 0, "mul": 1, "min": float("inf"), "max": float("-inf")}  # neutral elements


def shift_of(op: Op) -> tuple[str, int]:
    """The direction of a `shift`, and its count."""
    way, _, count = str(op.attribute).partition(" ")
    return way, int(count)


def _shifted(a: Any, attribute: str) -> Any:
    way, _, count = attribute.partition(" ")
    return SHIFTS[way](a, a.dtype.type(int(count)))


# Functions of the C library, with their numbers of operands.
FUNCTIONS = {
    "exp": 1, "expm1": 1, "log": 1, "log1p": 1, "pow": 2, "sin": 1, "cos": 1, "acos": 1, "tanh": 1, "erf": 1, "erfc": 1,
    "lgamma": 1,
}  # fmt: skip

LOADS = ("load", "load_vector", "load_masked")
STORES = ("store", "store_vector", "store_masked")
# `numpy` is a function of the operands, and of the attribute if the result depends on it (see interpret.py).
OPS = {
    "arg": Row(".", pure=False),
    "parameter": Row(".", pure=False),
    "result": Row(".", pure=False),
    "const": Row("."),
    # Memory
    "load": Row("i.", pure=False, cheap=False),  # attribute: the buffer
    "store": Row("i..", pure=False, cheap=False),
    # As many elements as the value has lanes, from an index on: with a stride (0: one element for all lanes), or consecutive.
    # Bools are loaded and stored as u8.
    "load_vector": Row("ii.", pure=False, cheap=False),
    "store_vector": Row("i..", pure=False, cheap=False),
    # The same for consecutive elements, but only in the lanes of a mask, the last operand, which is a `lanes_below`; other lanes
    # are loaded as 0.
    "load_masked": Row("i..", pure=False, cheap=False),
    "store_masked": Row("i...", pure=False, cheap=False),
    # Lanes
    "splat": Row(".."),  # a scalar in all lanes
    # Reduces lanes: combines the lower and upper half by one of FOLDS, until one lane is left.
    "reduce": Row("..", cheap=False),
    "first": Row("..", numpy=lambda a: a[:, 0]),  # the first lane, as a scalar
    "half": Row("..", numpy=lambda a, which: np.split(a, 2, 1)[which]),  # the lower (0) or the upper (1) lanes
    "join": Row("...", numpy=lambda a, b: np.concatenate(np.broadcast_arrays(a, b), 1)),  # the lanes of both
    "evens": Row("ttt", numpy=lambda a, b: np.concatenate(np.broadcast_arrays(a, b), 1)[:, ::2]),  # every second lane of both
    # A mask of the lanes whose index, counted from the first operand, is below the second. The attribute is the element that has
    # the width of its lanes.
    "lanes_below": Row("ii."),
    # The index if it is not negative and below the extent, which is positive; else 0.
    "checked": Row("iii", numpy=lambda index, extent: np.where((index >= 0) & (index < extent), index, 0)),
    # Arithmetic
    "add": Row("ttt", "fw", commutative=True, numpy=np.add),
    "sub": Row("ttt", "fw", numpy=np.subtract),
    "mul": Row("ttt", "fw", commutative=True, numpy=np.multiply),
    "div": Row("ttt", "f", cheap=False, numpy=np.divide),
    "fma": Row("tttt", "f"),  # a * b + c, rounded once
    "neg": Row("tt", "f", numpy=np.negative),
    "abs": Row("tt", "f", numpy=np.abs),
    "min": Row("ttt", "fw", numpy=lambda a, b: np.where(a < b, a, b)),
    "max": Row("ttt", "fw", numpy=lambda a, b: np.where(a > b, a, b)),
    "sqrt": Row("tt", "f", cheap=False, numpy=np.sqrt),
    "round": Row("tt", "f", numpy=lambda a, way: ROUNDINGS[way](a)),
    # Integers
    "idiv": Row("ttt", "w", cheap=False, numpy=np.floor_divide),  # rounded down
    "shift": Row("tt", "w", numpy=_shifted),
    "bits": Row("ttt", "wb", commutative=True, numpy=lambda a, b, which: _bits(which)(a, b)),
    # Choice
    "cmp": Row("ttb", "fw", numpy=lambda a, b, relation: RELATIONS[relation](a, b)),
    "select": Row("bttt", numpy=np.where),
    # Integers wrap around; floats are rounded, to integers towards 0; floats out of range become the smallest integer.
    "cast": Row("..", cheap=False),
    "bitcast": Row(".."),  # the bits of a vector as lanes of another element; the size in bytes is the same
    # Control. `for`: operands are low, high, step and the carried values; the region's first parameter is the index;
    # the attribute is "parallel" if iterations may run in any order. `while`: the first region yields whether to continue, the second
    # the carried values.
    "for": Row("", pure=False, cheap=False),
    "while": Row("", pure=False, cheap=False),
    "if": Row("", pure=False, cheap=False),
    "yield": Row("", pure=False, cheap=False),
    "call": Row("", "f", pure=True, cheap=False),  # attribute: a name of FUNCTIONS
}  # fmt: skip


# ----- Kernels --------------------------------------------------------------------------------------------------------


class Buffer(NamedTuple):
    """A flat array. `access` is "reads", "writes" or "updates".

    Buffers of a kernel do not overlap, except that `shared` ones may be the same array: loads and stores then happen in program
    order. The caller computes the offsets in a `strided` buffer from its shape and strides, in a table that the kernel reads;
    bounds.py does not check these.
    """

    name: str
    type: Type
    access: str
    shared: bool = False
    strided: bool = False


class Kernel(NamedTuple):
    """A kernel: its buffers, scalar arguments and body. Integer arguments are never negative."""

    name: str
    parameters: tuple[Buffer | Op, ...]
    body: Region

    @property
    def buffers(self) -> dict[str, Buffer]:
        return {buffer.name: buffer for buffer in self.parameters if isinstance(buffer, Buffer)}

    @property
    def arguments(self) -> tuple[Op, ...]:
        return tuple(op for op in self.parameters if isinstance(op, Op))


def drop_dead(region: Region) -> None:
    """Remove ops with unused values from a region under construction."""
    used: set[Op] = set()

    def visit(region: Region) -> None:
        kept = []
        for op in reversed(region.ops):
            if op not in used and op.type is not NOTHING and op.name != "result":
                continue
            for inner in op.regions:
                visit(inner)
            used.update(op.operands)
            kept.append(op)
        region.ops[:] = reversed(kept)

    visit(region)


# ----- The builder ----------------------------------------------------------------------------------------------------


class Builder:
    """Appends ops to the region under construction. It folds constants, eliminates common subexpressions of pure ops, and hoists
    cheap invariant ops out of loops."""

    def __init__(self, read_only: frozenset[str] = frozenset()) -> None:
        self._read_only = read_only  # buffers that the kernel never writes: loads from them are pure
        self._blocks: list[list[Op]] = [[]]
        self._seen: dict[Any, Op] = {}  # the pure ops of all open regions
        self._own: list[dict[Any, Op]] = [{}]  # those of each region
        self._fixed: list[int] = [0]  # for each region, the outermost one that its ops may be hoisted to
        self._depth: dict[Op, int] = {}  # depths of the regions of pure ops; an op that is not listed is not hoisted

    def const(self, value: float, type_: Type) -> Op:
        return self.bits(bits_of(value, type_), type_)

    def bits(self, bits: int, type_: Type) -> Op:
        """A constant by its bits."""
        width = 8 * type_.dtype.itemsize
        if not type_.is_float and type_.element != "bool" and bits >> (width - 1) == 1:
            bits -= 1 << width  # integers are signed
        return self._once("const", type_, (), bits)

    def op(self, name: str, type_: Type, *operands: Op, attribute: Any = None) -> Op:
        """Append an op, unless its value is already known."""
        if name == "bitcast" and operands[0].name == "const" and operands[0].type.lanes == type_.lanes:
            (a,) = operands
            return self.bits(a.attribute & ((1 << 8 * a.type.dtype.itemsize) - 1), type_)
        if operands and (name == "select" or not operands[0].type.is_float):
            known = _folded(name, operands, attribute)
            if known is not None:
                return known if isinstance(known, Op) else self.const(known, type_)
            if name == "select" and type_ is BOOL:
                condition, a, b = operands
                if b.name == "const" and not b.attribute:
                    return self.op("bits", BOOL, condition, a, attribute="and")
                if a.name == "const" and a.attribute:
                    return self.op("bits", BOOL, condition, b, attribute="or")
        if OPS[name].pure or (name == "load" and attribute in self._read_only):
            return self._once(name, type_, operands, attribute)
        made = self.append(Op(name, type_, operands, attribute))
        self._depth[made] = len(self._blocks) - 1
        return made

    def _once(self, name: str, type_: Type, operands: tuple[Op, ...], attribute: Any) -> Op:
        key = name, type_, operands, attribute
        found = self._seen.get(key)
        if found is None:
            depth = here = len(self._blocks) - 1
            if not operands:
                depth = 0
            elif OPS[name].cheap or _is_conversion(name, operands):
                known, depth = self._depth, self._fixed[-1]
                for operand in operands:
                    at = known.get(operand)
                    if at is None:
                        at = 0 if operand.name == "arg" else here
                    if at > depth:
                        depth = at
            found = self._seen[key] = self._own[depth][key] = Op(name, type_, operands, attribute)
            self._depth[found] = depth
            self._blocks[depth].append(found)
        return found

    def append(self, op: Op) -> Op:
        self._blocks[-1].append(op)
        return op

    def begin(self, parameters: tuple[Op, ...] = (), is_loop: bool = False) -> None:
        """Begin a region."""
        self.resume(([], {}))
        depth = len(self._blocks) - 1
        self._depth.update(dict.fromkeys(parameters, depth))
        self._fixed[-1] = self._fixed[-2] if is_loop else depth

    def suspend(self) -> tuple[list[Op], dict[Any, Op]]:
        """Leave the region under construction for a while."""
        own = self._own.pop()
        self._fixed.pop()
        for key in own:
            del self._seen[key]
        return self._blocks.pop(), own

    def resume(self, suspended: tuple[list[Op], dict[Any, Op]]) -> None:
        self._blocks.append(suspended[0])
        self._own.append(suspended[1])
        self._seen.update(suspended[1])
        self._fixed.append(len(self._blocks) - 1)

    def end(self, parameters: tuple[Op, ...], yielded: tuple[Op, ...]) -> Region:
        """End the region under construction."""
        ops, _ = self.suspend()
        ops.append(Op("yield", NOTHING, yielded))
        return Region(parameters, ops)

    def control(self, name: str, operands: tuple[Op, ...], attribute: Any, *regions: Region) -> list[Op]:
        """Append a loop or a condition; return its results. A condition of a few cheap ops becomes selects."""
        if name == "if" and all(map(_is_cheap, regions)):
            for region in regions:
                for op in region.ops[:-1]:
                    self._depth[self.append(op)] = len(self._blocks) - 1
            pairs = zip(regions[0].yielded, regions[1].yielded, strict=True)
            return [self.op("select", a.type, operands[0], a, b) for a, b in pairs]
        made = self.append(Op(name, NOTHING, operands, attribute, regions))
        depth = len(self._blocks) - 1
        types = [op.type for op in (regions[-1].yielded if name == "if" else regions[-1].parameters[name == "for" :])]
        results = [self.append(Op("result", type_, (made,), i)) for i, type_ in enumerate(types)]
        self._depth.update(dict.fromkeys(results, depth))
        return results


def _is_conversion(name: str, operands: tuple[Op, ...]) -> bool:
    """Whether an op is a cast of a float, or a division by a constant: cheap enough to hoist speculatively."""
    return (name == "cast" and operands[0].type.is_float) or (name == "idiv" and operands[1].name == "const")


_MOST_SELECTED = 4  # ops that are computed unconditionally rather than jumped over


def _is_cheap(region: Region) -> bool:
    ops = [op for op in region.ops[:-1] if op.name != "const"]
    if any([op.type.lanes > 1 for op in region.yielded]):
        return False  # one bool cannot select between vectors
    return len(ops) <= _MOST_SELECTED and all([OPS[op.name].cheap and OPS[op.name].pure for op in ops])


def _folded(name: str, operands: tuple[Op, ...], attribute: Any) -> Op | int | None:
    """The value of an op on integers or bools, if it is known, or of a select with equal branches. Floats are not folded: NaN, infinity, -0."""
    if name == "select":
        condition, a, b = operands
        return a if a is b else (a if condition.attribute else b) if condition.name == "const" else None
    if name not in _INTEGER:
        return None
    if all([op.name == "const" for op in operands]):
        return int(_INTEGER[name](*[op.attribute for op in operands], attribute))
    if len(operands) == 2:
        for one, other in (operands, operands[::-1]):
            if other.name == "const" and (OPS[name].commutative or other is operands[1]):
                neutral = _NEUTRAL.get((name, attribute))
                if neutral is not None and other.attribute == (
                    1 if one.type.element == "bool" and neutral < 0 else neutral
                ):
                    return one
                if (name, attribute, other.attribute) in _ABSORBING:
                    return other
    return None


_INTEGER: dict[str, Callable[..., Any]] = {
    "add": lambda a, b, _: a + b, "sub": lambda a, b, _: a - b, "mul": lambda a, b, _: a * b,
    "min": lambda a, b, _: min(a, b), "max": lambda a, b, _: max(a, b),
    "cmp": lambda a, b, relation: RELATIONS[relation](a, b),
    "bits": lambda a, b, which: a & b if which == "and" else a | b if which == "or" else a ^ b,
    "idiv": lambda a, b, _: a // b,
}  # fmt: skip
_NEUTRAL = {
    ("add", None): 0,
    ("sub", None): 0,
    ("mul", None): 1,
    ("idiv", None): 1,
    ("bits", "and"): -1,
    ("bits", "or"): 0,
    ("bits", "xor"): 0,
}
_ABSORBING = {("mul", None, 0), ("bits", "and", 0)}
