"""Checks that a kernel is well formed. Every later pass relies on these checks, and repeats none of them."""

from __future__ import annotations

from collections.abc import Callable

from . import ir
from .ir import LOADS, OPS, STORES, Buffer, Kernel, Op, Region, Type


class Malformed(Exception):
    """The IR of a kernel breaks a rule. It is a bug in the compiler, never a user's error."""


_KINDS = {"f": ("f32", "f64"), "w": ("i8", "i16", "i32", "i64", "u8"), "b": ("bool",)}
_ALLOWED = {
    kinds: frozenset([name for kind in kinds for name in _KINDS[kind]]) for kinds in {row.kinds for row in OPS.values()}
}
_ATTRIBUTES = {
    "cmp": tuple(ir.RELATIONS),
    "bits": ir.BITS,
    "round": tuple(ir.ROUNDINGS),
    "call": tuple(ir.FUNCTIONS),
    "reduce": tuple(ir.FOLDS),
}


def _bytes(op: Op) -> int:
    return 0 if op.type.element == "bool" else op.type.lanes * op.type.dtype.itemsize


def _is_shift(op: Op) -> bool:
    way, count = ir.shift_of(op)
    return way in ir.SHIFTS and 0 <= count < 8 * op.type.dtype.itemsize and op.type.lanes > 1


def _is_of_one_lane(scalar: Op, vector: Op) -> bool:
    return scalar.type.lanes == 1 < vector.type.lanes and scalar.type.element == vector.type.element


def _is_half(part: Op, whole: Op) -> bool:
    return 2 * part.type.lanes == whole.type.lanes and part.type.element == whole.type.element


def _is_cast(old: Type, new: Type) -> bool:
    """16-bit floats are cast to float32; vectors also from float32 to float16."""
    from_short = not old.is_short or new.element == "f32"
    return old.lanes == new.lanes and from_short and (not new.is_short or (new.element == "f16" and new.lanes > 1))


# Conditions on ops on lanes.
_LANES: dict[str, Callable[[Op], bool]] = {
    "splat": lambda op: _is_of_one_lane(op.operands[0], op),
    "reduce": lambda op: _is_of_one_lane(op, op.operands[0]),
    "first": lambda op: _is_of_one_lane(op, op.operands[0]),
    "half": lambda op: op.attribute in (0, 1) and _is_half(op, op.operands[0]),
    "join": lambda op: _is_half(op.operands[0], op) and _is_half(op.operands[1], op),
    "evens": lambda op: op.type.lanes == 8,
    "shift": _is_shift,
    "lanes_below": lambda op: op.type.element == "bool" and op.attribute in ("f32", "f64", "i32", "i64"),
    "cast": lambda op: _is_cast(op.operands[0].type, op.type),
    "bitcast": lambda op: op.type.lanes > 1 and _bytes(op) == _bytes(op.operands[0]),
}  # fmt: skip


def verify(kernel: Kernel) -> None:
    """Raise `Malformed` unless operands are defined before they are used, types follow the table, regions end with a `yield` of
    the carried values, and memory is accessed as its buffer declares."""
    names = [p.name if isinstance(p, Buffer) else p.attribute for p in kernel.parameters]
    if len(set(names)) < len(names):
        raise Malformed(f"two parameters of {kernel.name} have one name: {names}")
    for op in kernel.arguments:
        if op.name != "arg" or op.type not in (ir.I64, ir.F64, ir.F32):
            raise Malformed(f"{op} is no argument that a kernel can have")
    _Verifier(kernel).region(kernel.body, (), set(kernel.arguments), set())


_FITTING: set[tuple[str, tuple[Type, ...]]] = set()  # ops with types that passed the check


class _Verifier:
    def __init__(self, kernel: Kernel) -> None:
        self.kernel, self.buffers = kernel, kernel.buffers

    def refuse(self, op: Op, why: str) -> None:
        raise Malformed(f"{self.kernel.name}: {op.name} {op.attribute or ''}: {why}")

    def region(self, region: Region, yields: tuple[Type, ...], known: set[Op], indexed: set[Op]) -> None:
        """`known` are the values that may be used, `indexed` those that depend on the index of an enclosing parallel
        loop."""
        known = known.union(region.parameters)
        if not region.ops or region.ops[-1].name != "yield":
            raise Malformed(f"{self.kernel.name}: a region does not end with a yield")
        previous: Op | None = None
        for op in region.ops:
            row = OPS.get(op.name)
            if row is None:
                raise Malformed(f"{self.kernel.name}: there is no op {op.name}")
            if not known.issuperset(op.operands) and op.name != "result":
                self.refuse(op, f"one of its operands {op.operands} is not defined here")
            if op.regions:
                self.control(op, region.ops, known, indexed)
            elif op.name == "result":
                if previous is None or (not previous.regions and previous.name != "result"):
                    self.refuse(op, "it does not follow a loop or a condition")
            elif op.name == "yield":
                if op is not region.ops[-1] or tuple([operand.type for operand in op.operands]) != yields:
                    self.refuse(op, f"it is not the last op, or yields {op.operands}, but {yields} are expected")
            else:
                self.plain(op, row)
            if indexed:
                if op.name in STORES and op.operands[0] not in indexed:
                    self.refuse(op, "a store in a parallel loop does not depend on its index")
                if not indexed.isdisjoint(op.operands):
                    indexed.add(op)
            known.add(op)
            previous = op

    def plain(self, op: Op, row: ir.Row) -> None:
        allowed = _ATTRIBUTES.get(op.name)
        if allowed is not None and op.attribute not in allowed:
            self.refuse(op, f"its attribute is none of {allowed}")
        if op.name in LOADS or op.name in STORES:
            self.memory(op)
        elif op.name in _LANES and not _LANES[op.name](op):
            self.refuse(op, f"it makes {op.type} of {[operand.type for operand in op.operands]}")
        if op.name == "call":
            wanted = (op.type,) * ir.FUNCTIONS[op.attribute]
            if tuple([operand.type for operand in op.operands]) != wanted or op.type not in (ir.F32, ir.F64):
                self.refuse(op, "its operands are not floats of its type, as many as the function has")
            return
        types = (*[operand.type for operand in op.operands], op.type)
        if (op.name, types) in _FITTING:
            return
        letters = row.signature
        if len(types) != len(letters):
            self.refuse(op, f"it has {len(types) - 1} operands")
        if letters == "ttt":  # the most frequent signature
            fits = types[0] is types[1] is types[2] and types[0].element in _ALLOWED[row.kinds]
        else:
            same = [type_ for letter, type_ in zip(letters, types, strict=True) if letter == "t"]
            bools = [type_ for letter, type_ in zip(letters, types, strict=True) if letter == "b"]
            indices = [type_ for letter, type_ in zip(letters, types, strict=True) if letter == "i"]
            fits = all([type_ is same[0] and type_.element in _ALLOWED[row.kinds] for type_ in same])
            fits = fits and all([type_.element == "bool" and type_.lanes == same[0].lanes for type_ in bools])
            fits = fits and all([type_ is ir.INDEX for type_ in indices])
        if not fits:
            self.refuse(op, f"its types are {types}")
        _FITTING.add((op.name, types))

    def memory(self, op: Op) -> None:
        buffer = self.buffers.get(op.attribute)
        if buffer is None:
            self.refuse(op, "there is no such buffer")
            return
        value = op.type if op.name in LOADS else op.operands[1].type
        stored = "u8" if buffer.type is ir.BOOL and value.lanes > 1 else buffer.type.element
        if value.element != stored or (value.lanes > 1) != (op.name not in ("load", "store")):
            self.refuse(op, f"its value is {value}, the buffer's elements are {buffer.type}")
        if op.name == "load_vector" and (op.operands[1].name != "const" or op.operands[1].attribute < 0):
            self.refuse(op, "its stride is not a constant from 0 on")
        if op.name in STORES and buffer.access == "reads":
            self.refuse(op, "the buffer is only read")
        if op.name.endswith("_masked"):
            mask = op.operands[-1]
            if mask.name != "lanes_below" or mask.attribute != value.element or mask.type.lanes != value.lanes:
                self.refuse(op, "its last operand is no mask of its lanes")

    def control(self, op: Op, ops: list[Op], known: set[Op], indexed: set[Op]) -> None:
        if op.name not in ("for", "while", "if"):
            self.refuse(op, "it has regions")
        if op.name == "if":
            if len(op.operands) != 1 or op.operands[0].type is not ir.BOOL or len(op.regions) != 2:
                self.refuse(op, "it has one bool and two regions")
            types = tuple([value.type for value in op.regions[0].yielded])
            for region in op.regions:
                self.region(region, types, known, indexed)
        elif op.name == "while":
            types = tuple([value.type for value in op.operands])
            for region, yields in zip(op.regions, ((ir.BOOL,), types), strict=True):
                if tuple([p.type for p in region.parameters]) != types:
                    self.refuse(op, "its regions' parameters are not what it carries")
                self.region(region, yields, known, indexed)
        else:
            types = tuple([value.type for value in op.operands[3:]])
            (region,) = op.regions
            if tuple([value.type for value in (*op.operands[:3], *region.parameters)]) != (ir.INDEX,) * 4 + types:
                self.refuse(op, "its limits are no indices, or its parameters are not what it carries")
            if op.attribute == "parallel":
                if types:
                    self.refuse(op, "a parallel loop carries values")
                indexed = indexed | {region.parameters[0]}
            self.region(region, types, known, indexed)
        found = [result for result in ops if result.name == "result" and result.operands[0] is op]
        if [result.type for result in found] != list(types) or [result.attribute for result in found] != [
            *range(len(types))
        ]:
            self.refuse(op, "its results are not what it carries")
