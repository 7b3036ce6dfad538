"""IR -> x86-64 with AVX2. Apart from the hand-written kernels this is the only x86 emitter.

Note [The code of a kernel]
A kernel is a function of the System V ABI. Its parameters are in the kernel's order: integers and arrays (as ndarray objects,
whose data pointer the code reads) in integer registers, floats as float64. `allocate.py` determines each value's location. The
registers xmm0 to xmm2, rax, rcx and rdx are scratch: operands in stack slots are loaded to them, and results that belong in slots
are computed in them. Constants follow the code.

Some ops have no code of their own: see selection.py. The method that writes an op's code returns the register that
holds its result. A vector fills a register, or half of one (f32x4). A mask, the result of a comparison of vectors, has all bits
set in the lanes where it holds; its lanes are as wide as those of the compared vectors.
"""

from __future__ import annotations

import ctypes
import sys
from functools import lru_cache

from .. import executable
from . import ir
from .allocate import Allocation, Location, Register, Slot, Target
from .asm import ARGUMENTS, NAMES, R8, R9, R10, R11, RAX, RCX, RDI, RDX, RSI, RSP, SAVED, Address, Pooled
from .encode import OPPOSITE, Code
from .ir import BOOL, F32, F64, Buffer, Kernel, Op, Region, Type
from .selection import Selection, origin

TARGET = Target(
    preserved={"general": SAVED, "vector": ()},
    lost={"general": (RSI, RDI, R8, R9, R10, R11), "vector": tuple(range(3, 16))},
)
# For integers, then for floats with swapped operands: neither holds for NaN.
_INTEGER = {"lt": "less", "le": "not greater", "eq": "equal", "ne": "not equal"}
_FLOAT = {"lt": "above", "le": "not below"}


_ALL_LANES = Type.of("f32", 8)  # masks are combined as full registers, however wide their lanes are


def _compared(mask: Op) -> str:
    """The element type whose comparison gave a mask."""
    while mask.name == "bits":
        mask = next(operand for operand in mask.operands if operand.name != "const")
    return str(mask.attribute) if mask.name == "lanes_below" else mask.operands[0].type.element


def _is_sign_test(mask: Op) -> bool:
    """Whether a mask tests for negative integers, whose own highest bit can select."""
    a, b = mask.operands
    return mask.attribute == "lt" and not a.type.is_float and b.name == "const" and b.attribute == 0


# Windows' and glibc's names for the library of mathematical functions; musl and macOS have them in every process.
_LIBRARIES = ("ucrtbase",) if sys.platform == "win32" else ("libm.so.6", None)


@lru_cache(None)
def address_of(name: str) -> int:
    """The address of a C library function. Raises OSError if no library has it."""
    for library in _LIBRARIES:
        try:
            found = ctypes.cast(getattr(ctypes.CDLL(library), name), ctypes.c_void_p).value
        except (OSError, AttributeError):
            continue
        assert found
        return found
    raise OSError(f"the C library has no function {name!r}")


def _pooled(op: Op) -> Pooled:
    """The bits of a constant, repeated for each lane."""
    wide = op.type.element in ("f64", "i64")
    return Pooled(op.attribute & ((1 << (64 if wide else 32)) - 1), wide)


class Emitter:
    """Writes the code of a kernel whose values have their locations."""

    def __init__(self, kernel: Kernel, target: Target = TARGET) -> None:
        self.kernel, self.code = kernel, Code()
        self.selection = Selection(kernel)
        bases = self.selection.bases
        self.inputs = tuple([bases[p.name] if isinstance(p, Buffer) else p for p in kernel.parameters])
        self.locations = Allocation(kernel.body, self.inputs, self.selection, target)
        self._labels = 0
        self._held: dict[Op, Register] = {}  # constants of the loop that is being written
        self._pool: dict[Op, Pooled] = {}
        self._has_vectors = any([op.type.lanes > 1 for op in self.locations.life.live])

    def finish(self) -> bytes:
        code = self.code
        passed = self.locations.slots  # the arguments are stored here first
        floats = sum([op.type.is_float for op in self.inputs])
        frame = 8 * (passed + len(ARGUMENTS) + floats)
        frame += 8 if frame % 16 == 0 else 0  # with six registers and the return address, the stack stays aligned to 16
        for register in SAVED:
            code.push(register)
        code.immediate("sub", RSP, frame)
        for i, register in enumerate(ARGUMENTS):
            code.store_register(self._stack(passed + i), register)
        for i in range(floats):
            code.store_float(F64, self._stack(passed + len(ARGUMENTS) + i), i)
        self._arguments(passed, frame)
        self._region(self.kernel.body)
        if self._has_vectors:
            code.forget_upper()
        code.immediate("add", RSP, frame)
        for register in reversed(SAVED):
            code.pop(register)
        code.leave()
        return code.finish()

    def _arguments(self, passed: int, frame: int) -> None:
        whole = floats = 0
        for op, parameter in zip(self.inputs, self.kernel.parameters, strict=True):
            location = self.locations.get(op)
            if op.type.is_float:
                source = self._stack(passed + len(ARGUMENTS) + floats)
                floats += 1
            else:
                source = self._stack(
                    passed + whole if whole < len(ARGUMENTS) else frame // 8 + len(SAVED) + 1 + whole - len(ARGUMENTS)
                )
                whole += 1
            if location is None:
                continue
            if op.type.is_float:
                target = location.number if isinstance(location, Register) else 0
                self.code.load_float(F64, target, source)
            else:
                target = location.number if isinstance(location, Register) else RAX
                self.code.load_register(target, source)
                if isinstance(parameter, Buffer):
                    self.code.load_register(target, Address(target, None, executable.DATA_OFFSET))
            self._put(op, target)

    # ----- Operands ---------------------------------------------------------------------------------------------------

    def _stack(self, slot: int) -> Address:
        return Address(RSP, None, 8 * slot)

    def _at(self, location: Location) -> int | Address:
        return location.number if isinstance(location, Register) else self._stack(location.number)

    def _float(self, op: Op) -> int | Address | Pooled:
        """The location of a float or a vector."""
        if op.name in ("bitcast", "first"):
            op = origin(op)
        if op in self.selection.in_place:
            return self._address(op, op.type)
        if op.name != "const":
            location = self.locations[op]
            return location.number if type(location) is Register else self._stack(location.number)
        held = self._held.get(op)
        if held is not None:
            return held.number
        found = self._pool.get(op)
        if found is None:
            found = self._pool[op] = _pooled(op)
        return found

    def _in_vector(self, op: Op, scratch: int) -> int:
        """A float in a register."""
        return self._loaded(op.type, self._float(op), scratch)

    def _in_general(self, op: Op, scratch: int) -> int:
        """An integer in a register."""
        if op.name == "const":
            self.code.number(scratch, op.attribute)
            return scratch
        found = self._at(self.locations[op])
        if isinstance(found, int):
            return found
        self.code.load_register(scratch, found)
        return scratch

    def _target(self, op: Op, scratch: int) -> int:
        """The register in which to compute a value."""
        location = self.locations[op]
        return location.number if isinstance(location, Register) else scratch

    def _put(self, op: Op, register: int) -> None:
        """Move a value from a register to its location."""
        location = self.locations[op]
        if isinstance(location, Slot):
            if op.type.register == "vector":
                self.code.store_float(op.type, self._stack(location.number), register)
            else:
                self.code.store_register(self._stack(location.number), register)
        elif location.number != register:
            if op.type.register == "vector":
                self.code.copy_float(op.type, location.number, register)
            else:
                self.code.copy_register(location.number, register)

    def _label(self) -> str:
        self._labels += 1
        return str(self._labels)

    # ----- Regions ----------------------------------------------------------------------------------------------------

    def _region(self, region: Region) -> None:
        ops = self.selection.ops(region)
        for i, op in enumerate(ops[:-1]):
            if op.regions:
                getattr(self, "_emit_" + op.name)(op, ir.results_at(ops, i))
            elif op in self.locations.life.dies:
                name = "_emit_" + op.name
                if op.name in ("add", "sub", "mul", "min", "max", "div"):
                    name = "_arithmetic" if op.type.register == "vector" else "_integer"
                register = getattr(self, name)(op)
                if register is not None:
                    self._put(op, register)

    def _emit_if(self, op: Op, results: list[Op]) -> None:
        otherwise, end = self._label(), self._label()
        then, no = op.regions
        if len(then.ops) == 1 and not self._moves(then.yielded, results):
            self._branch(op.operands[0], end, True)
        else:
            self._branch(op.operands[0], otherwise, False)
            self._region(then)
            self._move(self._moves(then.yielded, results))
            if len(no.ops) > 1 or self._moves(no.yielded, results):
                self.code.jump(end)
            self.code.label(otherwise)
        self._region(no)
        self._move(self._moves(no.yielded, results))
        self.code.label(end)

    def _emit_while(self, op: Op, results: list[Op]) -> None:
        test, body = op.regions
        again, check = self._label(), self._label()
        self._move(self._moves(op.operands, [*body.parameters]))
        self.code.jump(check)
        self.code.label(again)
        self._region(body)
        self._move(self._moves(body.yielded, [*body.parameters]))
        self.code.label(check)
        self._region(test)
        self._branch(test.yielded[0], again, True)

    def _emit_for(self, op: Op, results: list[Op]) -> None:
        (body,) = op.regions
        low, high, step = op.operands[:3]
        index = body.parameters[0]
        again, end = self._label(), self._label()
        self._move(self._moves((low, *op.operands[3:]), [*body.parameters]))
        self._compare_integers(index, high)
        self.code.jump(end, "not less")
        outer, self._held = self._held, self.locations.held.get(op, {})
        for constant, location in self._held.items():
            self.code.load_float(constant.type, location.number, _pooled(constant))
        self.code.label(again)
        self._region(body)
        self._move(self._moves(body.yielded, [*body.parameters[1:]]))
        self._held = outer
        register = self._in_general(index, RAX)
        if step.name == "const":
            self.code.immediate("add", register, step.attribute)
        else:
            self.code.whole("add", register, self._at(self.locations[step]))
        self._put(index, register)
        self._compare_integers(index, high)
        self.code.jump(again, "less")
        self.code.label(end)

    def _moves(self, values: tuple[Op, ...], targets: list[Op]) -> list[tuple[Location, Op]]:
        """The moves that bring values to the locations of others."""
        moves = []
        for value, target in zip(map(origin, values), targets, strict=True):
            location = self.locations.get(target)
            if (
                location is not None
                and target in self.locations.life.live
                and (value.name == "const" or self.locations[value] != location)
            ):
                moves.append((location, value))
        return moves

    def _move(self, moves: list[tuple[Location, Op]]) -> None:
        """Do moves in parallel, as if all at once."""
        waiting = [
            (location, value, None if value.name == "const" else self.locations[value]) for location, value in moves
        ]
        while waiting:
            sources = {source for _, _, source in waiting}
            ready = [move for move in waiting if move[0] not in sources]
            if ready:
                for location, value, source in ready:
                    self._move_one(location, value, source)
                waiting = [move for move in waiting if move[0] in sources]
                continue
            # A cycle: one of its values waits in a scratch register.
            location, value, source = waiting[0]
            assert source is not None
            spare = Register("vector", 2) if value.type.register == "vector" else Register("general", RDX)
            self._move_one(spare, value, source)
            waiting = [(p, v, spare if s == source else s) for p, v, s in waiting]

    def _move_one(self, location: Location, value: Op, source: Location | None) -> None:
        code, type_ = self.code, value.type
        if type_.register == "vector":
            target = location.number if isinstance(location, Register) else 0
            found = _pooled(value) if source is None else self._at(source)
            if isinstance(found, int):
                if isinstance(location, Slot):
                    target = found
                else:
                    code.copy_float(type_, target, found)
            else:
                code.load_float(type_, target, found)
            if isinstance(location, Slot):
                code.store_float(type_, self._stack(location.number), target)
            return
        target = location.number if isinstance(location, Register) else RAX
        if source is None:
            code.number(target, value.attribute)
        elif isinstance(source, Register):
            if isinstance(location, Slot):
                target = source.number
            else:
                code.copy_register(target, source.number)
        else:
            code.load_register(target, self._stack(source.number))
        if isinstance(location, Slot):
            code.store_register(self._stack(location.number), target)

    # ----- Conditions -------------------------------------------------------------------------------------------------

    def _compare_integers(self, first: Op, second: Op) -> None:
        register = self._in_general(first, RAX)
        if second.name == "const" and -(1 << 31) <= second.attribute < 1 << 31:
            if second.attribute == 0:
                self.code.is_zero(register)
            else:
                self.code.immediate("cmp", register, second.attribute)
        elif second.name == "const":
            self.code.compare_numbers(register, self._in_general(second, RCX))
        else:
            self.code.compare_numbers(register, self._at(self.locations[second]))

    def _compare(self, op: Op) -> str | None:
        """Compare the operands of a `cmp`; return the flag condition under which it holds, or None if there is none for floats."""
        a, b = op.operands
        if not a.type.is_float:
            self._compare_integers(a, b)
            return _INTEGER[op.attribute]
        if op.attribute in _FLOAT:
            self.code.compare_floats(a.type, self._in_vector(b, 0), self._float(a))
            return _FLOAT[op.attribute]
        return None

    def _branch(self, condition: Op, to: str, when: bool) -> None:
        """Jump if a condition holds, or if it does not."""
        code = self.code
        if condition.name == "const":
            if bool(condition.attribute) == when:
                code.jump(to)
            return
        if condition not in self.selection.part_of_condition:
            code.is_zero(self._in_general(condition, RAX))
            code.jump(to, "not equal" if when else "equal")
            return
        a, b = condition.operands
        if condition.name == "bits":
            if condition.attribute == "xor":  # not
                self._branch(a, to, when != bool(b.attribute))
            elif (condition.attribute == "or") == when:  # either decides
                self._branch(a, to, when)
                self._branch(b, to, when)
            else:
                end = self._label()
                self._branch(a, end, not when)
                self._branch(b, to, when)
                code.label(end)
            return
        found = self._compare(condition)
        if found is not None:
            code.jump(to, found if when else OPPOSITE[found])
            return
        code.compare_floats(a.type, self._in_vector(a, 0), self._float(b))
        relation = condition.attribute
        if relation == "unordered":
            code.jump(to, "unordered" if when else "ordered")
        elif (relation == "ne") == when:  # also holds for NaN
            code.jump(to, "unordered")
            code.jump(to, "not equal")
        else:
            end = self._label()
            code.jump(end, "unordered")
            code.jump(to, "equal")
            code.label(end)

    def _bool(self, op: Op, target: int) -> None:
        """A comparison as a number, 0 or 1."""
        found = self._compare(op)
        if found is None:
            a, b = op.operands
            self.code.compare_to_mask(a.type, 0, self._in_vector(a, 0), self._float(b), op.attribute)
            self.code.mask_to_integer(target, 0)
            self.code.immediate("and", target, 1)
        else:
            self.code.set_byte(target, found)

    def _emit_cmp(self, op: Op) -> int:
        if op.type.lanes > 1:
            target = self._target(op, 0)
            self._mask(op, target)
            return target
        self._bool(op, RAX)
        return RAX

    def _mask(self, op: Op, target: int) -> None:
        """A comparison of vectors."""
        a, b = op.operands
        if not a.type.is_float:
            if op.attribute != "lt":
                raise NotImplementedError(f"the mask of {op.attribute} of integers")
            self.code.is_greater(a.type, target, self._in_vector(b, 0), self._float(a))
        elif op.attribute in _FLOAT and not isinstance(self._float(a), int) and isinstance(self._float(b), int):
            self.code.compare_to_mask(a.type, target, self._in_vector(b, 0), self._float(a), op.attribute, True)
        else:
            self.code.compare_to_mask(a.type, target, self._in_vector(a, 0), self._float(b), op.attribute)

    def _select_lanes(self, op: Op) -> int:
        condition, yes, no = op.operands
        mask = 0
        zero = next((i for i, value in enumerate((yes, no)) if value.name == "const" and not value.attribute), None)
        if condition not in self.selection.part_of_condition:
            mask = self._in_vector(condition, 0)
        elif _is_sign_test(condition) and zero is None:
            mask = self._in_vector(condition.operands[0], 0)
        else:
            self._mask(condition, 0)
        has, needs = Type.of(_compared(condition)).dtype.itemsize, op.type.dtype.itemsize
        if has < needs:
            self.code.widen_mask(0, mask)
        elif has > needs:
            self.code.narrow_mask(0, mask, 1)
        target = self._target(op, 2)
        mask = mask if has == needs else 0
        if zero is not None:
            self.code.mask_logic("and" if zero else "andn", op.type, target, mask, self._float(yes if zero else no))
        else:
            self.code.choose_float(op.type, target, self._in_vector(no, 1), self._float(yes), mask)
        return target

    def _emit_select(self, op: Op) -> int:
        condition, yes, no = op.operands
        if op.type.lanes > 1:
            return self._select_lanes(op)
        fused = condition in self.selection.part_of_condition
        if op.type.is_float:
            if fused and condition.operands[0].type is op.type:
                a, b = condition.operands
                self.code.compare_to_mask(a.type, 0, self._in_vector(a, 0), self._float(b), condition.attribute)
                target = self._target(op, 2)
                self.code.choose_float(op.type, target, self._in_vector(no, 1), self._in_vector(yes, 2), 0)
                return target
            end = self._label()
            self._copy_float(no, 2)
            self._branch(condition, end, False)
            self._copy_float(yes, 2)
            self.code.label(end)
            return 2
        found = self._compare(condition) if fused else None
        if found is None:
            if fused:
                self._bool(condition, RAX)
                self.code.is_zero(RAX)
            else:
                self.code.is_zero(self._in_general(condition, RAX))
            found = "not equal"
        self.code.copy_register(RDX, self._moved(no))
        self.code.move_if(RDX, self._moved(yes), found)
        return RDX

    def _moved(self, op: Op) -> int:
        """An integer in a register, without changing the flags."""
        if op.name == "const" and op.attribute == 0:
            self.code.load_number(RCX, 0)  # not the xor that `number` emits, which changes the flags
            return RCX
        return self._in_general(op, RCX)

    def _copy_float(self, op: Op, target: int) -> None:
        register = self._in_vector(op, target)
        if register != target:
            self.code.copy_float(op.type, target, register)

    # ----- Memory -----------------------------------------------------------------------------------------------------

    def _address(self, op: Op, element: Type) -> Address:
        base, index, offset = self.selection.address(op)
        size = element.dtype.itemsize
        start = self._in_general(base, RAX)
        if index.name == "const":
            return Address(start, None, size * (offset + index.attribute))
        return Address(start, self._in_general(index, RCX), size * offset, size)

    def _emit_pointer(self, op: Op) -> int:
        base, start = op.operands
        target = self._target(op, RAX)
        at = Address(self._in_general(base, RAX), self._in_general(start, RCX), 0, op.attribute)
        self.code.address_of(target, at)
        return target

    def _emit_load(self, op: Op) -> int:
        address = self._address(op, op.type)
        if op.type.is_float:
            target = self._target(op, 0)
            self.code.load_float(op.type, target, address)
        else:
            target = self._target(op, RAX)
            size = op.type.dtype.itemsize
            (self.code.load_signed if op.type.element in ("i8", "i16", "i32") else self.code.load_part)(
                target, address, size
            )
        return target

    def _emit_load_vector(self, op: Op) -> int:
        address, stride = self._address(op, op.type), op.operands[1].attribute
        if op.type.lanes * op.type.dtype.itemsize < (8 if op.type.element == "u8" else 16):
            raise NotImplementedError("a vector of fewer bytes than are loaded that is not cast at once")
        target = self._target(op, 0)
        if stride == 0:
            self.code.splat(op.type, target, address)
        elif stride == 1:
            self.code.load_float(op.type, target, address)
        else:
            self.code.load_strided(op.type, target, address, stride, 1)
        return target

    def _emit_store_vector(self, op: Op) -> None:
        value, address = op.operands[1], self._address(op, op.operands[1].type)
        folded = self.selection.folded.get(op)
        if folded is None:
            self.code.store_float(value.type, address, self._in_vector(value, 0))
        else:
            self.code.store_halves(address, self._in_vector(folded.operands[0], 0))

    def _emit_load_masked(self, op: Op) -> int:
        target = self._target(op, 0)
        mask = self._in_vector(op.operands[1], 0)
        self.code.load_masked(op.type, target, self._address(op, op.type), mask)
        return target

    def _emit_store_masked(self, op: Op) -> None:
        _, value, mask = op.operands
        address, register = self._address(op, value.type), self._in_vector(value, 1)
        self.code.store_masked(value.type, address, register, self._in_vector(mask, 0))

    def _emit_lanes_below(self, op: Op) -> int:
        start, end = op.operands
        target, lanes, code = self._target(op, 0), op.type.lanes, self.code
        code.copy_register(RDX, self._in_general(end, RDX))
        code.whole("sub", RDX, self._in_general(start, RAX))
        code.number(RAX, lanes)
        code.compare_numbers(RDX, RAX)
        code.move_if(RDX, RAX, "greater")
        code.lanes_below(Type.of(op.attribute, lanes), target, RDX, 1)
        return target

    def _emit_half(self, op: Op) -> int:
        target, source = self._unary(op)
        if op.attribute:
            self.code.store_upper(target, source)
        elif target != source:
            self.code.copy_float(op.type, target, source)
        return target

    def _emit_join(self, op: Op) -> int:
        low, high = op.operands
        target = self._target(op, 0)
        self.code.join(target, self._in_vector(low, 0), self._in_vector(high, 1))
        return target

    def _emit_evens(self, op: Op) -> int:
        a, b = op.operands
        target = self._target(op, 0)
        self.code.even_lanes(target, self._in_vector(a, 0), self._in_vector(b, 1))
        return target

    def _emit_shift(self, op: Op) -> int:
        target, source = self._unary(op)
        self.code.shift_lanes(op.type, target, source, *ir.shift_of(op))
        return target

    def _emit_splat(self, op: Op) -> int:
        (source,) = op.operands
        target = self._target(op, 0)
        if source.type.is_float:
            found = self._float(source)
            self.code.splat(op.type, target, self._in_vector(source, 0) if isinstance(found, Pooled) else found)
        else:
            self.code.splat_integer(target, self._in_general(source, RAX))
        return target

    def _emit_reduce(self, op: Op) -> int:
        (source,) = op.operands
        target = self._target(op, 0) if op.type.is_float else 0
        self.code.fold_lanes(op.attribute, source.type, target, self._in_vector(source, 0), 1)
        if not op.type.is_float:
            self.code.first_integer(RAX, 0)
            target = RAX
        return target

    def _emit_store(self, op: Op) -> None:
        value = op.operands[1]
        address = self._address(op, value.type)
        if value.type.is_float:
            self.code.store_float(value.type, address, self._in_vector(value, 0))
        else:
            self.code.store_part(address, self._in_general(value, RDX), value.type.dtype.itemsize)

    def _emit_checked(self, op: Op) -> int:
        index, extent = op.operands
        code = self.code
        code.copy_register(RDX, self._in_general(index, RDX))
        code.number(RAX, 0)
        code.compare_numbers(RDX, self._in_general(extent, RCX))
        code.move_if(RDX, RAX, "not below")  # negative integers are large when unsigned
        return RDX

    # ----- Arithmetic -------------------------------------------------------------------------------------------------

    def _arithmetic(self, op: Op) -> int:
        first, second = map(self._float, op.operands)
        if type(first) is not int:
            if op.name in ("add", "mul") and type(second) is int:
                first, second = second, first
            else:
                first = self._loaded(op.type, first, 1)
        target = self._target(op, 0)
        self.code.arithmetic(op.name, op.type, target, first, second)
        return target

    def _loaded(self, type_: Type, found: int | Address | Pooled, scratch: int) -> int:
        """A vector or float in a register."""
        if type(found) is int:
            return found
        assert not isinstance(found, int)
        self.code.load_float(type_, scratch, found)
        return scratch

    def _integer(self, op: Op) -> int:
        a, b = op.operands
        code = self.code
        if op.name in ("min", "max"):
            self._compare_integers(a, b)
            code.copy_register(RDX, self._moved(b))
            code.move_if(RDX, self._moved(a), "less" if op.name == "min" else "greater")
            return RDX
        return self._combine(op, op.name, a, b)

    def _combine(self, op: Op, name: str, a: Op, b: Op) -> int:
        """target = a; target `name`= b."""
        code, location = self.code, self.locations[op]
        if ir.OPS[op.name].commutative and (a.name == "const" or self.locations.get(b) == location):
            a, b = b, a
        target = location.number if isinstance(location, Register) and self.locations.get(b) != location else RAX
        source = self._in_general(a, target)
        small = b.name == "const" and -(1 << 31) <= b.attribute < 1 << 31
        if name == "mul" and small:
            code.multiply_number(target, source, b.attribute)
        else:
            if source != target:
                code.copy_register(target, source)
            if small:
                code.immediate(name, target, b.attribute)
            else:
                code.whole(name, target, self._in_general(b, RCX) if b.name == "const" else self._at(self.locations[b]))
        return target

    def _emit_bits(self, op: Op) -> int:
        if op.type.lanes > 1:
            a, b = op.operands if op.operands[0].name != "const" else op.operands[::-1]
            target = self._target(op, 0)
            second = self._float(b)
            if b.name == "const" and op.type.element == "bool":
                second = Pooled((1 << 32) - 1 if b.attribute else 0)
            self.code.mask_logic(op.attribute, _ALL_LANES, target, self._in_vector(a, 0), second)
            return target
        return self._combine(op, op.attribute, *op.operands)

    def _emit_idiv(self, op: Op) -> int:
        """Rounded down; 0 if the divisor is 0."""
        a, b = op.operands
        code = self.code
        if b.name == "const" and b.attribute > 0 and b.attribute & (b.attribute - 1) == 0:
            code.copy_register(RAX, self._in_general(a, RAX))
            code.shift_right(RAX, b.attribute.bit_length() - 1)
            return RAX
        zero, negative, end = self._label(), self._label(), self._label()
        code.copy_register(RCX, self._in_general(b, RCX))
        code.copy_register(RAX, self._in_general(a, RAX))
        code.is_zero(RCX)
        code.jump(zero, "equal")
        code.immediate("cmp", RCX, -1)  # the smallest integer divided by -1 would trap
        code.jump(negative, "equal")
        code.divide(RCX)
        code.is_zero(RDX)
        code.jump(end, "equal")
        code.whole("xor", RDX, RCX)
        code.jump(end, "not negative")
        code.immediate("sub", RAX, 1)
        code.jump(end)
        code.label(negative)
        code.negate(RAX)
        code.jump(end)
        code.label(zero)
        code.number(RAX, 0)
        code.label(end)
        return RAX

    def _emit_fma(self, op: Op) -> int:
        """a * b + c, or c - a * b, in the instruction form that overwrites the operand whose register the result gets."""
        a, b, c = op.operands
        negated = a in self.selection.negated
        if negated:
            (a,) = a.operands
        target = self._target(op, 0)
        code, type_, first, second, third = self.code, op.type, self._float(a), self._float(b), self._float(c)
        if second == target or (type(first) is not int and type(second) is int):
            first, second = second, first  # the second factor may be in memory
        if third == target:
            code.multiply_add(231, negated, type_, target, self._loaded(type_, first, 1), second)
        elif first == target and type(third) is int:
            code.multiply_add(132, negated, type_, target, third, second)
        elif first == target:
            code.multiply_add(213, negated, type_, target, self._loaded(type_, second, 1), third)
        elif type(second) is int and type(third) is not int:
            self._copy(type_, target, first)
            code.multiply_add(213, negated, type_, target, second, third)
        else:
            self._copy(type_, target, third)
            code.multiply_add(231, negated, type_, target, self._loaded(type_, first, 1), second)
        return target

    def _copy(self, type_: Type, target: int, found: int | Address | Pooled) -> None:
        if self._loaded(type_, found, target) != target:
            assert isinstance(found, int)
            self.code.copy_float(type_, target, found)

    def _unary(self, op: Op) -> tuple[int, int]:
        return self._target(op, 0), self._in_vector(op.operands[0], 0)

    def _emit_round(self, op: Op) -> int:
        target, source = self._unary(op)
        self.code.round_float(op.type, target, source, op.attribute)
        return target

    def _of_one(self, op: Op) -> int:
        target, source = self._unary(op)
        {"neg": self.code.flip_sign, "abs": self.code.drop_sign, "sqrt": self.code.sqrt}[op.name](
            op.type, target, source
        )
        return target

    _emit_neg = _emit_abs = _emit_sqrt = _of_one

    def _emit_cast(self, op: Op) -> int:
        (source,) = op.operands
        code = self.code
        if op.type.register == "vector":
            target = self._target(op, 0)
            loaded = self.selection.folded.get(op)
            if loaded is not None:
                code.convert_float(op.type, target, self._address(loaded, loaded.type), source.type)
            elif source.type.register == "vector":
                code.convert_float(op.type, target, self._in_vector(source, 0), source.type)
            elif source.type.is_short:
                code.float_of_short(source.type.element, target, self._in_general(source, RAX))
            else:
                code.float_of_integer(op.type, target, self._in_general(source, RAX))
        else:
            target = self._target(op, RAX)
            if source.type.is_float:
                code.integer_of_float(source.type, target, self._float(source))
            else:
                code.copy_register(target, self._in_general(source, RAX))
                if op.type is ir.U8:
                    code.immediate("and", target, 255)
                elif op.type is BOOL:
                    raise NotImplementedError("a cast to bool")
        return target

    def _emit_call(self, op: Op) -> int:
        for i, operand in enumerate(op.operands):
            self._copy_float(operand, i)
        if self._has_vectors:
            self.code.forget_upper()
        self.code.number(RAX, address_of(op.attribute + "f" * (op.type is F32)))
        self.code.call(RAX)
        return 0


def named(location: Location | None) -> str:
    """A location as text."""
    if location is None:
        return ""
    if isinstance(location, Slot):
        return f" in slot {location.number}"
    return f" in xmm{location.number}" if location.kind == "vector" else f" in {NAMES[location.number]}"
