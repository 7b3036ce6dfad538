"""From what a `Builder` wrote down to machine code: registers, loops, arguments.

Note [Registers]
Values get one of sixteen registers from where they are made to where they are used last, or to the end of the loop if they were
made outside of it. There is no spilling: a definition that needs more is refused when it is compiled. Constants lie in
memory behind the code, where most instructions can read them directly; registers that a loop leaves free hold those that it uses most.

Note [A kernel's frame]
A kernel is called like a C function. It keeps what it needs for all rows on the stack: how far its loops go, how far rows of
several parts are apart, its numbers, and the mask of a row's last elements. `rdi` counts rows up to `rsi`, `rdx` is a row's length in
bytes, `rax` the place in a row (and others the same place in a row's further parts); the rest point to the rows of the arrays.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from .. import call, executable, waiting_threads
from ._build import BYTES, GROUP, GROUP_BITS, GROUPED, TABLE, Argument, Builder, Value
from ._x86 import (
    R8,
    R9,
    R12,
    R13,
    R14,
    R15,
    RAX,
    RBP,
    RBX,
    RCX,
    RDI,
    RDX,
    RELATIONS,
    ROUNDINGS,
    RSI,
    RSP,
    Address,
    Assembler,
    Pooled,
)

_REGISTERS = 16
ROUNDINGS_OF_DOUBLES = {f"{way} of doubles": way for way in ROUNDINGS}
_SHARE = 1 << 19  # operations on single elements that take some ten microseconds: what it costs to share work
_CHEAPEST = 8  # operations; what does fewer waits for memory
_SAVED = (RBX, RBP, R12, R13, R14, R15)  # registers that a function must leave as they were
_ARGUMENTS = (RDI, RSI, RDX, RCX, R8, R9)  # where the first six whole numbers are passed
# Operations that may write their result over any operand.
_REUSE = frozenset(
    ("vaddps", "vsubps", "vmulps", "vdivps", "vmaxps", "vminps", "vandps", "vandnps", "vorps", "vxorps", "vpaddd", "vpsubd")
    + ("vaddpd", "vsubpd", "vmulpd", "vdivpd", "vminpd", "vmaxpd", "vpaddq", "vpsubq", "vpcmpgtd", "vpmulld", "vpackssdw", "vpacksswb", "vpackusdw", "reorder", "pick", "choose", "join", "vsqrtpd")
    + ("vsqrtps", "vcvtps2dq", "vcvttps2dq", "vcvtdq2ps", "vcvtpd2ps", "vpmovzxbd", "vpmovzxwd", *ROUNDINGS, *ROUNDINGS_OF_DOUBLES)
    + ("round to float16", "blend", "blend of doubles", *RELATIONS, "vpsrad", "vpsrld", "vpslld", "vpsllq", "vpsrlq")
)  # fmt: skip

# What kernels of float64 have instead. Logical operations are the same for all.
_OF_DOUBLES = {f"v{name}ps": f"v{name}pd" for name in ("add", "sub", "mul", "div", "min", "max", "sqrt")}


def _with_constants_held(builder: Builder) -> list[Any]:
    """The operations, with registers, and with the constants of each loop in registers that it leaves free. See Note [Registers]."""
    given = [(item, item.operands) for item in builder.operations if isinstance(item, Value)]
    for spare in range(_REGISTERS - _assign_registers(builder.operations), 0, -1):
        operations = _hold_constants(builder, spare)
        try:
            _assign_registers(operations)
            return operations
        except ValueError:
            for item, operands in given:
                item.operands = operands
    _assign_registers(builder.operations)
    return builder.operations


def _hold_constants(builder: Builder, count: int) -> list[Any]:
    """The operations, where each loop begins with loading the `count` constants that it uses most."""
    result: list[Any] = []
    loop: list[Any] | None = None
    for item in builder.operations:
        if isinstance(item, tuple) and item[0] == "begin":
            loop = []
        if loop is None:
            result.append(item)
            continue
        loop.append(item)
        if isinstance(item, tuple) and item[0] == "rest end":
            result += _holding(builder, loop, count)
            loop = None
    return result


def _holding(builder: Builder, loop: list[Any], count: int) -> list[Any]:
    """One loop, with its most used constants loaded before it."""
    values = [item for item in loop if isinstance(item, Value)]
    uses = Counter(o for value in values for o in value.operands if isinstance(o, Pooled))
    held: dict[Any, Value] = {bits: Value(builder, "constant", (bits,)) for bits, _ in uses.most_common(count)}
    same: dict[Any, Any] = dict(held)
    kept = []
    for item in loop:
        if isinstance(item, Value):
            if item.operation == "constant" and item.operands[0] in held:
                same[item] = held[item.operands[0]]
                continue
            item.operands = tuple(same.get(o, o) if isinstance(o, (Value, Pooled)) else o for o in item.operands)
        kept.append(item)
    return [*held.values(), *kept]


def _assign_registers(operations: list[Any]) -> int:
    """Give each value its register, and tell how many were in use at a time."""
    _find_lifetimes(operations)
    free = list(range(_REGISTERS - 1, -1, -1))
    held: list[Value] = []
    most = 0
    for when, item in enumerate(operations):
        for value in [v for v in held if v.dies < when]:
            held.remove(value)
            free.append(value.register)
        if isinstance(item, tuple) or item.operation.startswith("store") or item.operation == "fold":
            continue
        heir = _heir(item, [v for v in held if v.dies == when])
        if heir is not None:
            held.remove(heir)
            item.register = heir.register
        elif free:
            item.register = free.pop()
        else:
            raise ValueError("a native kernel needs more than sixteen registers")
        held.append(item)
        most = max(most, len(held))
    return most


def _find_lifetimes(operations: list[Any]) -> None:
    ends = {item[1]: when for when, item in enumerate(operations) if isinstance(item, tuple) and item[0] == "rest end"}
    start, end = -1, -1
    for when, item in enumerate(operations):
        if isinstance(item, tuple):
            if item[0] == "begin":
                start, end = when, ends[item[1]]
            elif item[0] == "rest end":
                start = -1
            continue
        item.made = item.dies = when
        for operand in item.operands:
            if isinstance(operand, Value):
                operand.dies = max(operand.dies, end if operand.made < start else when)


def _heir(item: Value, dying: list[Value]) -> Value | None:
    """The operand whose register the result gets, as it is not used any more."""
    if item.operation in _REUSE:
        candidates = item.operands
    elif item.operation in ("fma of doubles", "fnma of doubles"):
        candidates = item.operands[2:]
    elif item.operation in ("fma", "fnma"):
        a, b, c = item.operands
        candidates = (c,) if isinstance(b, Pooled) else (c, a, b)
    else:
        return None
    return next((o for o in candidates if isinstance(o, Value) and o in dying), None)


class _Frame:
    """The kernel's places on the stack."""

    def __init__(self) -> None:
        self.size = 32  # the mask of a row's last elements is at its start
        self._places: dict[Any, int] = {}

    def place(self, key: Any) -> Address:
        """The eight bytes that hold `key`."""
        if key not in self._places:
            self._places[key] = self.size
            self.size += 8
        return Address(RSP, None, self._places[key])

    def held(self) -> list[Any]:
        """All keys so far."""
        return list(self._places)


class _Writer:
    """Writes a builder's operations as machine code."""

    def __init__(self, builder: Builder) -> None:
        self.builder, self.asm, self.frame = builder, Assembler(), _Frame()
        self._placed = [array.pointer for array in builder.arrays if array.placed]
        self.operations = _with_constants_held(builder)

    def write(self) -> bytes:
        body, self.asm = self.asm, Assembler()
        self._rows()
        body, self.asm = self.asm, body  # the body knows how large the frame is
        self._enter()
        self.asm.append(body)
        self._leave()
        return self.asm.finish()

    def _enter(self) -> None:
        asm, builder, frame = self.asm, self.builder, self.frame
        leading = 2 if builder.flat else 3
        arguments = [frame.place(("argument", i)) for i in range(min(6, leading + len(builder.arrays)))]
        for i in range(builder.numbers):
            frame.place(("number", i))
        frame.size += -(frame.size + 8 * len(_SAVED) + 8) % 32
        for register in _SAVED:
            asm.push(register)
        asm.add_number(RSP, -frame.size)
        for register, place in zip(_ARGUMENTS, arguments):
            asm.store_register(place, register)
        for i in range(builder.numbers):
            asm.store_one(frame.place(("number", i)), i, builder.double)
        if builder.flat:
            asm.copy_register(RDX, RDI)
            asm.negate(RDX)
            asm.add(RDX, RSI)
        asm.shift_left(RDX, 3 if builder.double else 2)
        self._limits()
        for i, array in enumerate(builder.arrays):
            self._pointer(leading + i, array)

    def _limits(self) -> None:
        """How far the loops of each kind go, how far rows are apart, and the mask of a row's end."""
        asm, frame = self.asm, self.frame
        for key in frame.held():
            if key[0] == "limit":
                asm.copy_register(RAX, RDX)
                asm.and_number(RAX, -BYTES * key[1])
                asm.store_register(frame.place(key), RAX)
            elif key[0] == "narrow":
                asm.copy_register(RAX, RDX)
                asm.shift_right(RAX, 2 // key[1])
                asm.store_register(frame.place(key), RAX)
            elif key[0] == "stride":
                asm.copy_register(RAX, RDX)
                asm.multiply_number(RAX, key[1])
                asm.store_register(frame.place(key), RAX)
        asm.copy_register(RAX, RDX)
        asm.and_number(RAX, BYTES - 1)
        asm.negate(RAX)
        asm.address_of_lanes(RBX)
        asm.move(15, Address(RBX, RAX, BYTES))
        asm.store(Address(RSP), 15)

    def _pointer(self, argument: int, array: Argument) -> None:
        """Load where an argument begins, at row `low`."""
        asm, pointer = self.asm, array.pointer
        if argument < 6:
            asm.load_register(pointer, self.frame.place(("argument", argument)))
        else:
            above = self.frame.size + 8 * len(_SAVED) + 8
            asm.load_register(pointer, Address(RSP, None, above + 8 * (argument - 6)))
        asm.load_register(pointer, Address(pointer, None, executable.DATA_OFFSET))
        if array.placed:
            asm.store_register(self.frame.place(("base", pointer)), pointer)
            return
        if array.local:
            return
        asm.copy_register(RAX, RDI)
        if array.width == TABLE:
            asm.multiply_number(RAX, 8 * len(self._placed))
        elif self.builder.flat:
            asm.shift_left(RAX, array.size.bit_length() - 1)
        elif array.width is None:
            asm.multiply_number(RAX, array.size)
        elif array.width == GROUPED:
            asm.shift_right(RAX, GROUP_BITS)
            asm.multiply(RAX, RDX)
        else:
            asm.multiply_number(RAX, array.width)
            asm.multiply(RAX, RDX)
            if array.size < 4:
                asm.shift_right(RAX, 2 // array.size)
        asm.add(pointer, RAX)

    def _rows(self) -> None:
        asm, builder = self.asm, self.builder
        if builder.flat:
            self._operations()
            return
        asm.compare_numbers(RDI, RSI)
        asm.jump("done", "not less")
        asm.label("row")
        table = next((a.pointer for a in builder.arrays if a.width == TABLE), -1)
        for place, pointer in enumerate(self._placed):
            asm.load_register(pointer, self.frame.place(("base", pointer)))
            asm.add(pointer, Address(table, None, 8 * place))
        self._operations()
        for array in builder.arrays:
            pointer, width, size = array.pointer, array.width, array.size
            if array.placed:
                continue
            if width is None:
                asm.add_number(pointer, size)
            elif width == TABLE:
                asm.add_number(pointer, 8 * len(self._placed))
            elif size < 4 and width:
                asm.add(pointer, self.frame.place(("narrow", size)))
            elif width == 1:
                asm.add(pointer, RDX)
            elif width > 0:
                asm.add(pointer, self.frame.place(("stride", width)))
        asm.add_number(RDI, 1)
        self._next_group([a.pointer for a in builder.arrays if a.width == GROUPED])
        asm.compare_numbers(RDI, RSI)
        asm.jump("row", "less")
        asm.label("done")

    def _next_group(self, pointers: list[int]) -> None:
        """Move on in the sums over rows where row `rdi` begins a new group. See Note [Sums over rows]."""
        asm = self.asm
        if pointers:
            asm.copy_register(RAX, RDI)
            asm.and_number(RAX, GROUP - 1)
            asm.jump("same group", "not zero")
            for pointer in pointers:
                asm.add(pointer, RDX)
            asm.label("same group")

    def _leave(self) -> None:
        self.asm.forget_upper()
        self.asm.add_number(RSP, self.frame.size)
        for register in reversed(_SAVED):
            self.asm.pop(register)
        self.asm.leave()

    def _operations(self) -> None:
        for item in self.operations:
            if isinstance(item, tuple):
                self._mark(*item)
            else:
                self._instruction(item)

    def _mark(self, word: str, name: Any) -> None:
        """What surrounds the three forms of a loop's body. See Note [Loops over a row]."""
        asm = self.asm
        if word == "begin":
            asm.zero(RAX)
            for before, step in pairwise(self.builder.steps):
                asm.copy_register(step, before)
                asm.add(step, RDX)
            for step in self.builder.places.values():
                asm.zero(step)
        elif word in ("bulk", "vectors"):
            name, unroll, after = name
            asm.compare_numbers(RAX, self.frame.place(("limit", unroll)))
            asm.jump(f"{name} {after}", "not less")
            asm.label(f"{name} {word}")
        elif word in ("bulk end", "vectors end"):
            name, unroll, after = name
            for step in self.builder.steps:
                asm.add_number(step, BYTES * unroll)
            for size, step in self.builder.places.items():
                asm.add_number(step, BYTES * unroll * size // 4)
            asm.compare_numbers(RAX, self.frame.place(("limit", unroll)))
            asm.jump(f"{name} {word[:-4]}", "less")
            asm.label(f"{name} {after}")
        elif word == "rest":
            asm.compare_numbers(RAX, RDX)
            asm.jump(f"{name} end", "not less")
        else:
            asm.label(f"{name} end")

    def _instruction(self, value: Value) -> None:
        asm, operation, target = self.asm, value.operation, value.register
        if self.builder.double:
            operation = _OF_DOUBLES.get(operation, operation)
        operands: list[Any] = [o.register if isinstance(o, Value) else o for o in value.operands]
        match operation:
            case "fma" | "fnma":
                self._multiply_add(value, "vfmadd" if operation == "fma" else "vfnmadd")
            case "load" | "constant":
                asm.move(target, operands[0])
            case "load some":
                asm.load_some(target, *operands)
            case "store":
                asm.store(*operands)
            case "store some":
                asm.store_some(operands[1], operands[0], operands[2])
            case "store one":
                place, register = operands
                asm.store_one(place, register, self.builder.double)
            case "broadcast":
                spread = asm.broadcast_long if self.builder.double else asm.broadcast
                spread(target, operands[0])
            case "number":
                spread = asm.broadcast_long if self.builder.double else asm.broadcast
                spread(target, self.frame.place(("number", operands[0])))
            case "mask":
                asm.move(target, Address(RSP))
            case "blend":
                asm.blend(target, *operands)
            case "blend of doubles":
                no, yes, mask = operands
                asm.blend(target, no, yes, mask, double=True)
            case _ if operation in RELATIONS:
                first, second = operands
                asm.compare(operation, target, first, second, self.builder.double)
            case _ if operation in ROUNDINGS:
                asm.round(operation, target, operands[0], self.builder.double)
            case _ if operation in ROUNDINGS_OF_DOUBLES:
                asm.round(ROUNDINGS_OF_DOUBLES[operation], target, operands[0], double=True)
            case "fma of doubles" | "fnma of doubles":
                a, b, c = operands
                if target != c:
                    asm.move(target, c)
                asm.binary("vfmadd231pd" if operation.startswith("fma") else "vfnmadd231pd", target, a, b)
            case "reorder":
                asm.pairs(target, *operands)
            case "pick":
                asm.pick(target, *operands)
            case "choose":
                asm.choose(target, *operands)
            case "join":
                asm.join(target, *operands)
            case "store half":
                asm.store_half(*operands)
            case "store quarter":
                asm.store_quarter(*operands)
            case "store float16":
                asm.to_half_precision(*operands)
            case "round to float16":
                asm.to_half_precision(target, operands[0])
                asm.unary("vcvtph2ps", target, target)
            case "swap halves":
                asm.swap_halves(target, operands[0])
            case "shuffle":
                asm.shuffle(target, *operands)
            case "fold":
                name = _OF_DOUBLES.get(operands[0], operands[0]) if self.builder.double else operands[0]
                asm.binary(name, operands[1], operands[2], operands[1])
            case "vpsrad" | "vpsrld" | "vpslld" | "vpsllq" | "vpsrlq":
                asm.shift(operation, target, *operands)
            case _ if len(operands) == 1:
                asm.unary(operation, target, operands[0])
            case _:
                asm.binary(operation, target, *operands)

    def _multiply_add(self, value: Value, name: str) -> None:
        """a * b + c (or c - a * b) in the form of the instruction that overwrites the operand whose register the result has."""
        target, kind = value.register, "pd" if self.builder.double else "ps"
        a, b, c = (o.register if isinstance(o, Value) else o for o in value.operands)
        if target == c:
            self.asm.binary(f"{name}231{kind}", target, a, b)
        elif target == b:
            self.asm.binary(f"{name}213{kind}", target, a, c)
        elif isinstance(b, Pooled):
            self.asm.move(target, c)
            self.asm.binary(f"{name}231{kind}", target, a, b)
        else:
            if target != a:
                self.asm.move(target, a)
            self.asm.binary(f"{name}213{kind}", target, b, c)


def _work(operations: list[Any]) -> tuple[int, int]:
    """How many operations there are for eight elements, in all loops together; and how many are written down, unrolled ones once."""
    count = length = 0
    place = ""
    for item in operations:
        if isinstance(item, tuple):
            place = item[0]
        else:
            count += place == "vectors"
            length += place != "bulk"
    return count, length


class Kernel:
    """A compiled definition. Call `run(low, high, columns, array, ..., number, ...)`, without `columns` if it is flat."""

    def __init__(
        self, define: Callable[..., None], flat: bool = False, spread: tuple[int, ...] = (), **options: Any
    ) -> None:
        builder = Builder(flat, spread)
        define(builder, **options)
        writer = _Writer(builder)
        code = writer.write()
        self.listing = "\n".join(writer.asm.listing)
        self.written = [i for i, array in enumerate(builder.arrays) if array.pointer in builder.written]
        together = GROUP if any(a.width == GROUPED for a in builder.arrays) else 1
        self._least = 8 if flat and builder.narrow else together  # rows or elements that one thread must take together
        self.partial = builder.partial  # returns NaN outside its domain; the caller then recomputes with NumPy
        self.narrow = builder.narrow  # works on whole vectors only, see Note [Narrow arrays]
        work, self.length = _work(builder.operations)
        self.grain = _SHARE // max(_CHEAPEST, work)  # elements that are worth waking a thread for
        self.run = call.load(code, _signature(builder), builder.double)

    def over(self, total: int, grain: int, *arguments: Any) -> None:
        """Run over all of `total` rows or elements, shared between threads if there are at least two times `grain`."""
        waiting_threads.over(self.run, total, grain, *arguments, multiple=self._least)


_TYPES = {
    "float32": "f32",
    "float64": "f64",
    "float16": "f16",
    "bfloat16": "bf16",
    "bool": "bool",
    "int32": "i32",
    "int64": "i64",
}


def _signature(builder: Builder) -> str:
    """What a kernel takes: see Note [Calling machine code]."""
    placed = sum(array.placed for array in builder.arrays)
    arguments = ["low", "high"] if builder.flat else ["low", "high", "columns"]
    for i, array in enumerate(builder.arrays):
        written = "written " if array.pointer in builder.written else ""
        kind = _TYPES[array.kind]
        if array.placed:  # its rows are where the table says
            arguments.append(f"a{i}: {written}strided {kind}")
        else:
            arguments.append(f"a{i}: {written}{kind}[{_elements(builder, array, placed)}]")
    arguments += [f"n{i}: float" for i in range(builder.numbers)]
    whole = " where (high - low) % 8 == 0" if builder.flat else " where columns % 8 == 0"
    return ", ".join(arguments) + (whole if builder.narrow else "")


def _elements(builder: Builder, array: Argument, placed: int) -> str:
    """How many elements an array must have, as an expression of a kernel's arguments."""
    rows = "(high - low)" if array.local else "high"
    if builder.flat or array.width is None:
        return rows
    if array.width == GROUPED:
        return f"(high + {GROUP - 1}) // {GROUP} * columns"
    if array.width == TABLE:
        return f"high * {placed}"
    if array.kind == "float64" and not builder.double:  # see `Wide`
        return "high * columns" if array.width else "(columns + 7) // 8 * 8"
    return f"{rows} * columns * {array.width}" if array.width else f"columns * {array.parts}"
