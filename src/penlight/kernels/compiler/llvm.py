"""IR -> machine code of any processor, by LLVM, through the package llvmlite.

Note [Kernels by LLVM]
A kernel becomes a function in LLVM's own IR: blocks and jumps instead of regions, `phi` instead of carried values,
vectors as they are. Nothing is left open that ours defines, so that results have the same bits as those of x86.py:
no instruction has a flag that allows to reassociate or to fuse, integers wrap around, and a number that a float
does not fit into is the least one. C's functions are called by names of our own (`penlight_exp`): LLVM would compute
`exp` of a constant itself, and make other calls of `pow`. Its vectorisers are off, as vectorise.py comes before them.

The function takes arrays as ndarray objects, as x86.py's does: Note [The code of a kernel]. A second function inside,
which gets pointers, says that what is written overlaps nothing, which kernels/call.py has checked; but not of `shared`
buffers.
"""

from __future__ import annotations

import struct

from .. import executable
from .ir import I64, Buffer, Kernel, Op, Region, Type, bits_of, results_at, shift_of, value_of

_TYPES = {
    "f16": "half", "f32": "float", "f64": "double", "i8": "i8", "i16": "i16", "i32": "i32", "i64": "i64", "u8": "i8",
    "bool": "i1", "bf16": "i16",
}  # fmt: skip
_FLOAT_RELATIONS = {"lt": "olt", "le": "ole", "eq": "oeq", "ne": "une", "unordered": "uno"}
_SHIFTS = {"left": "shl", "right": "lshr", "signed": "ashr"}
_INTRINSICS = {"fma": "fma", "abs": "fabs", "sqrt": "sqrt"}
_ROUNDINGS = {"nearest": "rint", "floor": "floor", "ceil": "ceil", "trunc": "trunc"}


def _element(type_: Type) -> str:
    return _TYPES[type_.element]


def _written(type_: Type) -> str:
    """A type in LLVM's words."""
    return _element(type_) if type_.lanes == 1 else f"<{type_.lanes} x {_element(type_)}>"


def _stored(type_: Type) -> str:
    """The same of a value in memory, where a bool is a byte."""
    return _written(Type.of("u8", type_.lanes) if type_.element == "bool" else type_)


def _suffix(type_: Type) -> str:
    """A type in the names of LLVM's intrinsic functions."""
    element = "f" + type_.element[1:]
    return element if type_.lanes == 1 else f"v{type_.lanes}{element}"


def _constant(bits: int, type_: Type) -> str:
    """A constant, the same in all lanes."""
    if type_.element == "bool":
        one = "true" if bits else "false"
    elif type_.is_float:
        # LLVM writes floats of both widths with the bits of a float64.
        one = f"0x{struct.unpack('<Q', struct.pack('<d', value_of(bits, type_)))[0]:016X}"
    else:
        one = str(bits)
    return one if type_.lanes == 1 else f"<{', '.join([f'{_element(type_)} {one}'] * type_.lanes)}>"


class Emitter:
    """Writes a kernel as LLVM's IR."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.lines: list[str] = []
        self.names: dict[Op, str] = {}
        self.bases: dict[str, str] = {}  # of buffers
        self.declared: set[str] = set()
        self.called: set[str] = set()  # functions of the C library
        self.block = "entry"  # the one that is being written
        self._count = 0

    def finish(self) -> str:
        """The module, with the function `kernel`."""
        taken, passed, fetched = [], [], []
        for number, parameter in enumerate(self._in_order()):
            at = f"%a{number}"
            if isinstance(parameter, Buffer):
                alone = "" if parameter.shared else f"noalias {'readonly ' * (parameter.access == 'reads')}"
                taken.append(f"ptr {alone}{at}")
                fetched.append(f"  {at}.field = getelementptr i8, ptr {at}.object, i64 {executable.DATA_OFFSET}")
                fetched.append(f"  {at} = load ptr, ptr {at}.field")
                passed.append((f"ptr {at}.object", f"ptr {at}"))
                self.bases[parameter.name] = at
                continue
            self.names[parameter] = at
            if parameter.type.element == "f32":
                self.names[parameter] = self._new(f"fptrunc double {at} to float")
            kind = "double" if parameter.type.is_float else "i64"
            taken.append(f"{kind} {at}")
            passed.append((f"{kind} {at}", f"{kind} {at}"))
        self.region(self.kernel.body)
        objects, pointers = [", ".join(texts) for texts in zip(*passed, strict=True)]
        call = [f"  call void @body({pointers})"]
        inner = [f"define internal void @body({', '.join(taken)}) nounwind {{", "entry:", *self.lines]
        outer = [f"define void @kernel({objects}) nounwind {{", *fetched, *call]
        end = ["  ret void", "}"]
        return "\n".join([*sorted(self.declared), *inner, *end, *outer, *end, ""])

    def _in_order(self) -> list[Buffer | Op]:
        """The parameters as they are passed: floats come last."""
        parameters = self.kernel.parameters
        return sorted(parameters, key=lambda p: isinstance(p, Op) and p.type.is_float)

    # ----- Lines ------------------------------------------------------------------------------------------------------

    def _new(self, said: str) -> str:
        self._count += 1
        self.lines.append(f"  %v{self._count} = {said}")
        return f"%v{self._count}"

    def _label(self, name: str) -> str:
        self._count += 1
        return f"{name}{self._count}"

    def _begin(self, block: str) -> None:
        self.lines.append(f"{block}:")
        self.block = block

    def value(self, op: Op) -> str:
        """A value without its type."""
        return _constant(op.attribute, op.type) if op.name == "const" else self.names[op]

    def typed(self, op: Op) -> str:
        """A value with its type."""
        return f"{_written(op.type)} {self.value(op)}"

    def _phis(self, ops: tuple[Op, ...]) -> int:
        """Name the values that a block begins with; the line that the first of them is to stand in."""
        first = len(self.lines)
        for op in ops:
            self._count += 1
            self.names[op] = f"%v{self._count}"
            self.lines.append("")
        return first

    def _enter(self, first: int, ops: tuple[Op, ...], *ways: tuple[str, list[str]]) -> None:
        """Write those lines: from each block that leads there, what the values are."""
        for i, op in enumerate(ops):
            known = ", ".join([f"[ {values[i]}, %{block} ]" for block, values in ways])
            self.lines[first + i] = f"  {self.names[op]} = phi {_written(op.type)} {known}"

    # ----- Regions ----------------------------------------------------------------------------------------------------

    def region(self, region: Region) -> list[str]:
        """Write a region; what it yields."""
        ops = region.ops
        for i, op in enumerate(ops[:-1]):
            if op.regions:
                getattr(self, "_emit_" + op.name)(op, tuple(results_at(ops, i)))
            elif op.name not in ("const", "result"):
                made = getattr(self, "_emit_" + op.name)(op)
                if made is not None:
                    self.names[op] = made
        return [self.value(op) for op in region.yielded]

    def _emit_if(self, op: Op, results: tuple[Op, ...]) -> None:
        then, otherwise, end = self._label("then"), self._label("else"), self._label("end")
        self.lines.append(f"  br {self.typed(op.operands[0])}, label %{then}, label %{otherwise}")
        ways = []
        for block, region in zip((then, otherwise), op.regions, strict=True):
            self._begin(block)
            yielded = self.region(region)
            self.lines.append(f"  br label %{end}")
            ways.append((self.block, yielded))
        self._begin(end)
        self._enter(self._phis(results), results, *ways)

    def _emit_while(self, op: Op, results: tuple[Op, ...]) -> None:
        test, body = op.regions
        again, inside, end = self._label("test"), self._label("body"), self._label("end")
        before = self.block, [self.value(operand) for operand in op.operands]
        self.lines.append(f"  br label %{again}")
        self._begin(again)
        first = self._phis(test.parameters)
        (goes_on,) = self.region(test)
        self.lines.append(f"  br i1 {goes_on}, label %{inside}, label %{end}")
        self._begin(inside)
        carried = [self.names[parameter] for parameter in test.parameters]
        self.names.update(zip(body.parameters, carried, strict=True))
        yielded = self.region(body)
        self.lines.append(f"  br label %{again}")
        self._enter(first, test.parameters, before, (self.block, yielded))
        self._begin(end)
        self.names.update(zip(results, carried, strict=True))

    def _emit_for(self, op: Op, results: tuple[Op, ...]) -> None:
        (body,) = op.regions
        low, high, step = [self.value(operand) for operand in op.operands[:3]]
        again, end = self._label("loop"), self._label("end")
        before, initial = self.block, [self.value(operand) for operand in op.operands[3:]]
        some = self._new(f"icmp slt i64 {low}, {high}")
        self.lines.append(f"  br i1 {some}, label %{again}, label %{end}")
        self._begin(again)
        first = self._phis(body.parameters)
        yielded = self.region(body)
        following = self._new(f"add i64 {self.names[body.parameters[0]]}, {step}")
        more = self._new(f"icmp slt i64 {following}, {high}")
        self.lines.append(f"  br i1 {more}, label %{again}, label %{end}")
        last = self.block
        self._enter(first, body.parameters, (before, [low, *initial]), (last, [following, *yielded]))
        self._begin(end)
        self._enter(self._phis(results), results, (before, initial), (last, yielded))

    # ----- Memory -----------------------------------------------------------------------------------------------------

    def _address(self, op: Op, offset: int = 0) -> str:
        """Where an element is, so many behind the one that an op names."""
        element = _stored(self.kernel.buffers[op.attribute].type)
        found = self._new(f"getelementptr {element}, ptr {self.bases[op.attribute]}, {self.typed(op.operands[0])}")
        return self._new(f"getelementptr {element}, ptr {found}, i64 {offset}") if offset else found

    # Arrays need not be aligned to their elements: Note [Calling machine code].

    def _emit_load(self, op: Op) -> str:
        made = self._new(f"load {_stored(op.type)}, ptr {self._address(op)}, align 1")
        if op.type.element == "bool":
            return self._new(f"trunc {_stored(op.type)} {made} to {_written(op.type)}")
        return made

    def _emit_store(self, op: Op) -> None:
        value = op.operands[1]
        made, type_ = self.value(value), _stored(value.type)
        if value.type.element == "bool":
            made = self._new(f"zext {self.typed(value)} to {type_}")
        self.lines.append(f"  store {type_} {made}, ptr {self._address(op)}, align 1")

    _emit_store_vector = _emit_store

    def _emit_load_vector(self, op: Op) -> str:
        stride, lanes = op.operands[1].attribute, op.type.lanes
        if stride == 0:
            one = self._new(f"load {_element(op.type)}, ptr {self._address(op)}, align 1")
            return self._splatted(op.type, f"{_element(op.type)} {one}")
        if stride == 1:
            return self._emit_load(op)
        if stride == 2:  # two vectors, which have one element in common: nothing behind the last one is read
            pair = [self._new(f"load {_written(op.type)}, ptr {self._address(op, offset)}, align 1")
                    for offset in (0, lanes - 1)]  # fmt: skip
            order = [*range(0, lanes, 2), *range(lanes + 1, 2 * lanes, 2)]
            return self._shuffled(op.type, pair[0], pair[1], order)
        made = "poison"
        for lane in range(lanes):
            one = self._new(f"load {_element(op.type)}, ptr {self._address(op, lane * stride)}, align 1")
            made = self._new(f"insertelement {_written(op.type)} {made}, {_element(op.type)} {one}, i64 {lane}")
        return made

    def _masked(self, name: str, op: Op, value: str) -> str:
        """The beginning of a call of a masked load or store, up to the mask."""
        type_, mask = (op.type if op.name == "load_masked" else op.operands[1].type), op.operands[-1]
        written, suffix = _written(type_), f"v{type_.lanes}{type_.element}.p0"
        values = [value] if value else []
        taken = ", ".join([written] * len(values) + ["ptr", "i32 immarg", _written(mask.type)])
        given = ", ".join([*values, f"ptr {self._address(op)}", "i32 1", self.typed(mask)])
        result = written if name == "load" else "void"
        rest = f", {written}" if name == "load" else ""
        self.declared.add(f"declare {result} @llvm.masked.{name}.{suffix}({taken}{rest})")
        zero = f", {written} zeroinitializer" if name == "load" else ""
        return f"call {result} @llvm.masked.{name}.{suffix}({given}{zero})"

    def _emit_load_masked(self, op: Op) -> str:
        return self._new(self._masked("load", op, ""))

    def _emit_store_masked(self, op: Op) -> None:
        self.lines.append("  " + self._masked("store", op, self.typed(op.operands[1])))

    # ----- Lanes ------------------------------------------------------------------------------------------------------

    def _emit_lanes_below(self, op: Op) -> str:
        start, end = op.operands
        count = self._new(f"sub {self.typed(end)}, {self.value(start)}")
        type_ = Type.of("i64", op.type.lanes)
        lanes = ", ".join([f"i64 {lane}" for lane in range(type_.lanes)])
        return self._new(f"icmp slt {_written(type_)} <{lanes}>, {self._splatted(type_, f'i64 {count}')}")

    def _emit_first(self, op: Op) -> str:
        return self._new(f"extractelement {self.typed(op.operands[0])}, i64 0")

    def _emit_half(self, op: Op) -> str:
        (whole,) = op.operands
        first = op.attribute * op.type.lanes
        return self._shuffled(whole.type, self.value(whole), "poison", [*range(first, first + op.type.lanes)])

    def _emit_join(self, op: Op) -> str:
        low, high = op.operands
        return self._shuffled(low.type, self.value(low), self.value(high), [*range(op.type.lanes)])

    def _emit_evens(self, op: Op) -> str:
        a, b = op.operands
        return self._shuffled(op.type, self.value(a), self.value(b), [*range(0, 2 * op.type.lanes, 2)])

    def _emit_shift(self, op: Op) -> str:
        way, count = shift_of(op)
        return self._new(f"{_SHIFTS[way]} {self.typed(op.operands[0])}, {_constant(count, op.type)}")

    def _emit_bitcast(self, op: Op) -> str:
        return self._new(f"bitcast {self.typed(op.operands[0])} to {_written(op.type)}")

    def _shuffled(self, type_: Type, a: str, b: str, order: list[int]) -> str:
        written = _written(type_)
        lanes = ", ".join([f"i32 {lane}" for lane in order])
        return self._new(f"shufflevector {written} {a}, {written} {b}, <{len(order)} x i32> <{lanes}>")

    def _emit_splat(self, op: Op) -> str:
        return self._splatted(op.type, self.typed(op.operands[0]))

    def _splatted(self, type_: Type, scalar: str) -> str:
        one = self._new(f"insertelement {_written(type_)} poison, {scalar}, i64 0")
        return self._shuffled(type_, one, "poison", [0] * type_.lanes)

    def _emit_reduce(self, op: Op) -> str:
        type_ = op.operands[0].type
        value = self.value(op.operands[0])
        while type_.lanes > 1:
            half = type_.lanes // 2
            if half == 1:
                lower, upper = [self._new(f"extractelement {_written(type_)} {value}, i64 {i}") for i in (0, 1)]
            else:
                lower, upper = [self._shuffled(type_, value, "poison", [*range(i, i + half)]) for i in (0, half)]
            type_ = Type.of(type_.element, half)
            if op.attribute in ("min", "max"):
                value = self._limited(op.attribute, type_, lower, upper)
            else:
                value = self._new(f"{'f' * type_.is_float}{op.attribute} {_written(type_)} {lower}, {upper}")
        return value

    # ----- Arithmetic -------------------------------------------------------------------------------------------------

    def _both(self, op: Op) -> str:
        a, b = op.operands
        return f"{self.typed(a)}, {self.value(b)}"

    def _plain(self, op: Op) -> str:
        return self._new(f"{'f' * op.type.is_float}{op.name} {self._both(op)}")

    _emit_add = _emit_sub = _emit_mul = _emit_div = _plain

    def _relation(self, relation: str, type_: Type) -> str:
        if type_.is_float:
            return f"fcmp {_FLOAT_RELATIONS[relation]}"
        sign = "" if relation in ("eq", "ne") else "u" if type_.element == "u8" else "s"
        return f"icmp {sign}{relation}"

    def _emit_cmp(self, op: Op) -> str:
        return self._new(f"{self._relation(op.attribute, op.operands[0].type)} {self._both(op)}")

    def _chosen(self, type_: Type, condition: str, a: str, b: str) -> str:
        written = _written(type_)
        return self._new(f"select {_written(Type.of('bool', type_.lanes))} {condition}, {written} {a}, {written} {b}")

    def _emit_select(self, op: Op) -> str:
        return self._chosen(op.type, *[self.value(operand) for operand in op.operands])

    def _emit_min(self, op: Op) -> str:
        return self._limited(op.name, op.type, *[self.value(operand) for operand in op.operands])

    _emit_max = _emit_min

    def _limited(self, name: str, type_: Type, a: str, b: str) -> str:
        first, second = (a, b) if name == "min" else (b, a)
        smaller = self._new(f"{self._relation('lt', type_)} {_written(type_)} {first}, {second}")
        return self._chosen(type_, smaller, a, b)

    def _emit_bits(self, op: Op) -> str:
        return self._new(f"{op.attribute} {self._both(op)}")

    def _emit_checked(self, op: Op) -> str:
        index, extent = [self.value(operand) for operand in op.operands]
        inside = self._new(f"icmp ult i64 {index}, {extent}")  # negative numbers are large ones without a sign
        return self._chosen(op.type, inside, index, "0")

    def _emit_idiv(self, op: Op) -> str:
        """Rounded down; 0 if the divisor is 0. LLVM's division of the least number by -1 is undefined."""
        a, b = op.operands
        written, divisor = _written(op.type), self.value(b)
        if b.name == "const" and b.attribute > 0 and b.attribute & (b.attribute - 1) == 0:
            return self._new(f"ashr {self.typed(a)}, {_constant(b.attribute.bit_length() - 1, op.type)}")
        zero, one, minus = [_constant(number, op.type) for number in (0, 1, -1)]
        is_zero = self._new(f"icmp eq {written} {divisor}, {zero}")
        is_minus = self._new(f"icmp eq {written} {divisor}, {minus}")
        safe = self._chosen(op.type, self._new(f"or i1 {is_zero}, {is_minus}"), one, divisor)
        whole = self._new(f"sdiv {self.typed(a)}, {safe}")
        rest = self._new(f"srem {self.typed(a)}, {safe}")
        other_sign = self._new(f"icmp slt {written} {self._new(f'xor {written} {rest}, {safe}')}, {zero}")
        inexact = self._new(f"icmp ne {written} {rest}, {zero}")
        lower = self._new(f"and i1 {inexact}, {other_sign}")
        made = self._new(f"sub {written} {whole}, {self._new(f'zext i1 {lower} to {written}')}")
        negative = self._new(f"sub {written} {zero}, {self.value(a)}")
        return self._chosen(op.type, is_zero, zero, self._chosen(op.type, is_minus, negative, made))

    def _intrinsic(self, op: Op) -> str:
        return self._intrinsic_call(_INTRINSICS[op.name], op.type, *map(self.typed, op.operands))

    _emit_fma = _emit_abs = _emit_sqrt = _intrinsic

    def _intrinsic_call(self, called: str, type_: Type, *operands: str) -> str:
        name, written = f"@llvm.{called}.{_suffix(type_)}", _written(type_)
        self.declared.add(f"declare {written} {name}({', '.join([written] * len(operands))})")
        return self._new(f"call {written} {name}({', '.join(operands)})")

    def _emit_round(self, op: Op) -> str:
        (source,) = op.operands
        rounded = self.typed(source)
        if source.name == "cast" and source.operands[0].type.element == "f16":
            # Without the fence LLVM rounds float16 itself, for which most processors have no instruction: lane by lane.
            rounded = f"{_written(op.type)} {self._intrinsic_call('arithmetic.fence', op.type, rounded)}"
        return self._intrinsic_call(_ROUNDINGS[op.attribute], op.type, rounded)

    def _emit_neg(self, op: Op) -> str:
        return self._new(f"fneg {self.typed(op.operands[0])}")

    def _emit_cast(self, op: Op) -> str:
        (source,) = op.operands
        old, new = source.type, op.type
        if new.element == "bool":
            zero = _constant(0, old)
            return self._new(f"{'fcmp une' if old.is_float else 'icmp ne'} {self.typed(source)}, {zero}")
        if old.element == "bf16":
            bits = Type.of("i32", old.lanes)
            made = self._new(f"zext {self.typed(source)} to {_written(bits)}")
            made = self._new(f"shl {_written(bits)} {made}, {_constant(16, bits)}")
            return self._new(f"bitcast {_written(bits)} {made} to {_written(new)}")
        if old.element[0] == new.element[0] == "f":
            way = "fpext" if old.dtype.itemsize < new.dtype.itemsize else "fptrunc"
        elif new.is_float:
            way = "uitofp" if old.element in ("u8", "bool") else "sitofp"
        elif old.is_float:
            return self._integer(op, source)
        else:
            wider = new.dtype.itemsize > old.dtype.itemsize or old.element == "bool"
            way = "trunc" if not wider else "zext" if old.element in ("u8", "bool") else "sext"
        if _written(old) == _written(new):
            return self.value(source)
        return self._new(f"{way} {self.typed(source)} to {_written(new)}")

    def _integer(self, op: Op, source: Op) -> str:
        """A float without its fraction; the least number where it is NaN or does not fit."""
        old, new = source.type, op.type if op.type.element == "i32" else Type.of(I64.element, op.type.lanes)
        bits = 8 * new.dtype.itemsize - 1
        low, high = [_constant(bits_of(limit, old), old) for limit in (-(2.0**bits), 2.0**bits)]
        above = self._new(f"fcmp oge {self.typed(source)}, {low}")
        below = self._new(f"fcmp olt {self.typed(source)}, {high}")
        inside = self._new(f"and {_written(Type.of('bool', old.lanes))} {above}, {below}")
        made = self._new(f"fptosi {self.typed(source)} to {_written(new)}")
        made = self._chosen(new, inside, made, _constant(-(1 << bits), new))
        return made if op.type is new else self._new(f"trunc {_written(new)} {made} to {_written(op.type)}")

    def _emit_call(self, op: Op) -> str:
        name, written = op.attribute + "f" * (op.type.element == "f32"), _written(op.type)
        self.called.add(name)
        taken = ", ".join([written] * len(op.operands))
        self.declared.add(f"declare {written} @penlight_{name}({taken}) nounwind willreturn memory(none)")
        return self._new(f"call {written} @penlight_{name}({', '.join(map(self.typed, op.operands))})")
