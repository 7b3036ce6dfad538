"""Kernels over rows of arrays, written as Python functions that describe the work on one row.

A definition gets a `Rows`, requests its arrays from it, and computes with loaded values:

    def softmax(rows):
        x, out = rows.array(), rows.array()
        top = rows.largest(x.load)
        total = rows.total(lambda: out.store(exp(x.load() - top)))
        rows.each(lambda: out.store(out.load() / total))

The function runs once. Its operations on a vector of elements (`Value`, with the functions of values.py, math.py and angles.py)
are recorded as IR, inside a loop over the rows. `Kernel` in kernels/native.py compiles that to machine code.

Note [Loops over a row]
A loop's body is traced once, for a vector of elements, and emitted three times: `unroll` times in a row for the bulk of a row,
once for the remaining vectors, and once more for the tail that fills no vector, where loads and stores take a mask and a
reduction ignores the other lanes. The sums of an unrolled loop use `unroll` registers, so that additions need not wait for each
other; this also makes a row's sum more accurate than a running one. Loops that only read, compute a little and write are unrolled
so that loop overhead is a small part of the instructions: if two threads share a core, each gets half of its issue slots.

Note [Sums over rows]
If rows are summed (the gradient of a bias), each group of GROUP rows has its own row of sums, to which its rows are added in
turn; NumPy adds up the groups' sums. So float32 is accurate enough, see Note [Column sums] in reduce/__init__.py, and threads,
which take full groups, need not share a sum.

Note [Narrow arrays]
Arrays of 16-bit floats and of bools are read and written directly: `load` widens eight elements to float32 (or to a mask),
`store` rounds them. They have no masked loads and stores, so a loop over them has no tail: rows must consist of full vectors. The
caller ensures that, and passes the last few elements in arrays of eight.

Note [Rows by their offsets]
The rows of a `placed` array have arbitrary offsets: a table, the kernel's last array, holds the byte offset of each row in each
such array. So any operand that broadcasts, in any dimensions, and any slice of a wider array is read in place, as long as its
elements along a row are contiguous, or a single one.

Note [Kernels of float64]
A `double` kernel computes in float64 throughout, four elements at a time; others in float32, eight at a time. Arrays whose kind is
not given have that dtype, so one definition serves both. A kernel whose first array is said to be float64 is double, too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..rows import GROUP
from .ir import F64, I64, NEUTRAL, NOTHING, Buffer, Builder, Kernel, Op, Region, Type, drop_dead
from .values import Value, as_float, as_integer, cast, full_bits, is_nan, less, logical_right, where

# Element types of arrays, by the names of dtypes.
ELEMENTS = {
    "float32": "f32", "float64": "f64", "float16": "f16", "bfloat16": "bf16", "bool": "bool", "int32": "i32", "int64": "i64",
}  # fmt: skip
_MOST_UNROLLED = 48  # ops of a loop that is unrolled by default
_MASKED = {"load_vector": "load_masked", "store_vector": "store_masked"}
_FREE = ("const", "bitcast", "first")  # ops without instructions


class Array:
    """An array argument, or one of several that it is split into. An element's index is `start`, that of the row, plus the loop's
    index, plus `offset`."""

    def __init__(self, rows: Rows, buffer: int, start: Op, offset: Op | None = None) -> None:
        self.rows, self.buffer, self.start, self.offset = rows, buffer, start, offset

    def ahead(self, count: int) -> Array:
        """The same array, so many elements ahead."""
        return Array(self.rows, self.buffer, self.start, self.rows.build.const(count, I64))

    @property
    def _kind(self) -> Buffer:
        return self.rows.buffers[self.buffer]

    def _index(self) -> Op:
        rows = self.rows
        build = rows.build
        assert rows.index is not None, "outside of a loop"
        index = rows.index if self.offset is None else build.op("add", I64, rows.index, self.offset)
        index = build.op("add", I64, self.start, index)
        rows.indices.add(index)
        return index

    def _load(self, element: str, lanes: int) -> Value:
        build = self.rows.build
        one = build.const(1, I64)
        made = build.op("load_vector", Type.of(element, lanes), self._index(), one, attribute=self._kind.name)
        return Value(build, made)

    def load(self) -> Value:
        """The elements at the loop's index, as float32 or float64, or as a mask."""
        element, lanes = self._kind.type.element, self.rows.lanes
        if element == "bool":
            return less(full_bits(bits := cast(self._load("u8", lanes), "i32"), 0), bits)
        value = self._load(element, lanes)
        return cast(value, "f32") if value.type.is_short else value

    def store(self, value: Value) -> Value:
        """Store the elements at the loop's index, rounded to the array's dtype; return the value."""
        element = self._kind.type.element
        if element == "bool":
            self._store(cast(_ones(value), "u8"))
        elif element == "bf16":
            upper = logical_right(as_integer(value if _is_rounded(value) else rounded_to(value, "bfloat16")), 16)
            self._store(cast(upper, "i16").made("bitcast", element="bf16"))
        elif element == "f16" and value.op.name == "cast" and value.op.operands[0].type.element == "f16":
            self._store(Value(value.build, value.op.operands[0]))
        elif element == "f16" or (element == "i32" and value.type.element == "f32"):
            self._store(cast(value, element))
        else:
            self._store(value)
        return value

    def _store(self, value: Value) -> None:
        self.rows.written.add(self.buffer)
        self.rows.build.op("store_vector", NOTHING, self._index(), value.op, attribute=self._kind.name)

    def add(self, value: Value) -> None:
        """In an array of sums over rows: add to the elements at the loop's index."""
        self.store(self.load() + value)

    def get(self) -> Value:
        """In an array with one scalar per row: this row's, in all lanes."""
        build, element = self.rows.build, self._kind.type.element
        zero = build.const(0, I64)
        type_ = Type.of(element, self.rows.lanes)
        return Value(build, build.op("load_vector", type_, self.start, zero, attribute=self._kind.name))

    def put(self, value: Value) -> None:
        """In an array with one scalar per row: set this row's."""
        build = self.rows.build
        self.rows.written.add(self.buffer)
        number = build.op("first", Type.of(value.type.element), value.op)
        build.op("store", NOTHING, self.start, number, attribute=self._kind.name)


def _ones(mask: Value) -> Value:
    """1 where a mask holds, else 0, as integers."""
    type_ = Type.of("i32", mask.type.lanes)
    one, zero = (Value(mask.build, mask.build.const(number, type_)) for number in (1, 0))
    return where(mask, one, zero)


def rounded_to(value: Value, kind: str) -> Value:
    """float32 rounded to this 16-bit dtype."""
    if kind == "float16":
        return cast(cast(value, "f16"), "f32")
    # The upper half of the float32, after adding just under half of its last place, or exactly half if that makes it even.
    bits = as_integer(value)
    near = bits + ((logical_right(bits, 16) & 1) + 0x7FFF)
    whole = where(is_nan(value), full_bits(near, 0x7FC00000), near)
    return as_float(whole & -0x10000)


def _is_rounded(value: Value) -> bool:
    """Whether a float32 was loaded as bfloat16, or rounded to it: the lower half of its bits is 0."""
    bits = value.op.operands[0] if value.op.name == "bitcast" else value.op
    if bits.name == "bits":
        return bits.operands[1].name == "const" and bits.operands[1].attribute == -0x10000
    return bits.name == "cast" and bits.operands[0].type.element == "bf16"


class Tracing(Builder):
    """The builder of a kernel over rows, and facts about all that it computes."""

    precision = "float32"  # to which traced kernels round each result
    partial = False  # whether it has a partial function: Note [Partial functions] in math.py


class Scalar:
    """An array that is one broadcast scalar, and is passed as such. See `Rows.broadcast`."""

    def __init__(self, load: Callable[[], Value]) -> None:
        self.load = load


class Rows:
    """Records a kernel's operations; see the module's example.

    A `flat` kernel has one row, from element `low` to `high`, instead of rows `low` to `high`. `broadcast` are the positions of
    arrays that are scalars instead; they are only loaded. See Note [Kernels of float64].
    """

    def __init__(self, name: str, flat: bool, broadcast: tuple[int, ...] = (), double: bool = False) -> None:
        self.name, self.flat, self.broadcast = name, flat, broadcast
        self.build = Tracing()
        self.buffers: list[Buffer] = []
        self.written: set[int] = set()  # indices of the buffers that are stored to
        self.numbers: list[Op] = []
        self.lanes = 4 if double else 8
        self.index: Op | None = None  # the index of the current loop
        self.indices: set[Op] = set()  # indices that depend on that of the loop
        self.work = 0  # ops of all loops
        self.together = 1  # rows that one thread must take together
        self._asked = self._placed = 0
        self._low, self._high = Op("arg", I64, (), "low"), Op("arg", I64, (), "high")
        self._columns = self._high if flat else Op("arg", I64, (), "columns")
        self._loops: dict[int, tuple[Op, Op]] = {}  # by step: the loop's end, and the start of the next loop
        self._row = self._low
        if not flat:
            self._row = Op("parameter", I64)
            self.build.begin((self._row,), True)

    @property
    def double(self) -> bool:
        """See Note [Kernels of float64]."""
        return self.lanes == 4

    @property
    def kind(self) -> str:
        """The dtype in which the kernel computes."""
        return "float64" if self.double else "float32"

    @property
    def narrow(self) -> bool:
        """See Note [Narrow arrays]."""
        return any([buffer.type.element in ("f16", "bf16", "bool") for buffer in self.buffers])

    # Arguments

    def array(self, width: int = 1, local: bool = False, kind: str = "", placed: bool = False) -> Array:
        """The next argument: an array with one row per row of the kernel; `width` 0 means one row that all share. `kind` is one of
        ELEMENTS, or that of the kernel.

        A `local` array has only the rows to be done, while others are indexed from row 0; the `table` has the rows' offsets in a `placed` one.
        """
        self._asked += 1
        if self._asked - 1 in self.broadcast:
            return Scalar(self.number())  # type: ignore[return-value]
        kind = kind or self.kind
        if (kind == "float64") != self.double:
            if self.buffers:
                raise ValueError("a kernel of float64 takes nothing else")
            self.lanes = 4
        return self._array(width, local, kind, placed)

    def split(self, count: int, local: bool = False, shared: bool = False) -> list[Array]:
        """The next argument, whose rows are the concatenated rows of `count` arrays; `shared` if it is one row for all."""
        whole, build = self._array(0 if shared else count, local, self.kind), self.build
        offsets = [build.op("mul", I64, self._columns, build.const(i, I64)) for i in range(count)]
        return [Array(self, whole.buffer, whole.start, offset) for offset in offsets]

    def per_row(self, local: bool = False, placed: bool = False, kind: str = "") -> Array:
        """The next argument: an array with one scalar per row."""
        return self._array(None, local, kind or self.kind, placed)

    def sums(self) -> Array:
        """The next argument: an array for sums over rows, initially zeros. See Note [Sums over rows]."""
        self.together = GROUP
        build = self.build
        group = build.op("idiv", I64, self._row, build.const(GROUP, I64))
        return Array(self, self._buffer("float32"), build.op("mul", I64, group, self._columns))

    def number(self) -> Callable[[], Value]:
        """The next scalar argument; scalars come after all arrays."""
        op = Op("arg", F64, (), f"number{len(self.numbers)}")
        self.numbers.append(op)
        if len(self.numbers) > 8:
            raise ValueError("a kernel takes at most eight numbers")  # more are passed in another way

        def value() -> Value:
            build, element = self.build, "f64" if self.double else "f32"
            number = op if self.double else build.op("cast", Type.of("f32"), op)
            return Value(build, build.op("splat", Type.of(element, self.lanes), number))

        return value

    def table(self, count: int) -> None:
        """The last argument, of int64: for each row the offsets of `count` `placed` arrays, which are requested afterwards. See
        Note [Rows by their offsets]."""
        self._placed = count

    def _buffer(self, kind: str, strided: bool = False) -> int:
        self.buffers.append(Buffer(f"a{len(self.buffers)}", Type.of(ELEMENTS[kind]), "reads", True, strided))
        return len(self.buffers) - 1

    def _array(self, width: int | None, local: bool, kind: str, placed: bool = False) -> Array:
        build, buffer = self.build, self._buffer(kind, placed)
        if placed:
            return Array(self, buffer, self._offset(buffer))
        if self.flat:
            return Array(self, buffer, build.const(0, I64))
        row = build.op("sub", I64, self._row, self._low) if local else self._row
        if width is not None:
            row = build.op("mul", I64, row, build.const(width, I64))
            row = build.op("mul", I64, row, self._columns)
        return Array(self, buffer, row)

    def _offset(self, buffer: int) -> Op:
        """The offset of the row in a placed array."""
        build, size = self.build, self.buffers[buffer].type.dtype.itemsize
        row = build.op("mul", I64, self._row, build.const(self._placed, I64))
        entry = build.op("add", I64, row, build.const(sum([b.strided for b in self.buffers]) - 1, I64))
        return build.op("idiv", I64, build.op("load", I64, entry, attribute="table"), build.const(size, I64))

    # Loops

    def each(self, body: Callable[[], object], unroll: int = 0) -> None:
        """Run `body` for all elements of the row; 0 means as much unrolling as pays."""

        self._loop(None, body, unroll)

    def total(self, body: Callable[[], Value], unroll: int = 1) -> Value:
        """The sum of `body` over the row, in all lanes."""
        return self._loop("add", body, unroll)

    def largest(self, body: Callable[[], Value], unroll: int = 4) -> Value:
        """The maximum of `body` over the row, in all lanes. If there are NaN, it is NaN or the maximum of the others."""
        return self._loop("max", body, unroll)

    def _loop(self, fold: str | None, body: Callable[[], Any], unroll: int) -> Value:
        """See Note [Loops over a row]."""
        build = self.build
        index = self.index = Op("parameter", I64)
        build.begin((index,), True)
        value = body()
        traced = build.end((index,), () if fold is None else (value.op,))
        drop_dead(traced)
        self.index = None
        length = sum([op.name not in _FREE for op in traced.ops])
        self.work += length
        unroll = unroll or next((times for times in (4, 2) if times * length <= _MOST_UNROLLED), 1)
        return _Loop(self, fold, traced).written(unroll)

    def limits(self, step: int) -> tuple[Op, Op]:
        """For a loop with this step: the exclusive bound of its index, and its end."""
        if step not in self._loops:
            build = self.build
            first, last = (self._low, self._high) if self.flat else (build.const(0, I64), self._columns)
            below = build.op("sub", I64, last, build.const(step - 1, I64))
            count = build.op("max", I64, build.op("sub", I64, last, first), build.const(0, I64)) if self.flat else last
            by = build.const(step, I64)
            done = build.op("mul", I64, build.op("idiv", I64, count, by), by)
            self._loops[step] = below, build.op("add", I64, first, done)
        return self._loops[step]

    @property
    def first(self) -> Op:
        """The index that loops begin with."""
        return self._low if self.flat else self.build.const(0, I64)

    @property
    def last(self) -> Op:
        """The index before which loops end."""
        return self._high if self.flat else self._columns

    # The kernel

    def kernel(self) -> Kernel:
        """The kernel that was recorded."""
        build = self.build
        buffers = [
            buffer._replace(access="updates") if i in self.written else buffer for i, buffer in enumerate(self.buffers)
        ]
        if self._placed:
            buffers.append(Buffer("table", I64, "reads", True))
        arguments = [self._low, self._high] if self.flat else [self._low, self._high, self._columns]
        if not self.flat:
            region = build.end((self._row,), ())
            build.control("for", (self._low, self._high, build.const(1, I64)), None, region)
        body = build.end((), ())
        drop_dead(body)
        return Kernel(self.name, (*arguments, *buffers, *self.numbers), body)


class _Loop:
    """A traced loop, which is emitted in three forms."""

    def __init__(self, rows: Rows, fold: str | None, traced: Region) -> None:
        self.rows, self.build, self.traced = rows, rows.build, traced
        self.name: Any = fold  # the reduction, if there is one
        self.masks: dict[Any, Op] = {}

    def written(self, unroll: int) -> Value:
        """Append the loops; return their reduction, if there is one, in all lanes."""
        rows, build = self.rows, self.build
        sums = [build.const(NEUTRAL[self.name], op.type) for op in self.traced.yielded] * unroll
        start = rows.first
        for times in (unroll, 1) if unroll > 1 else (1,):
            below, end = rows.limits(times * rows.lanes)
            sums[:times] = self.vectors(times, start, below, sums[:times])
            start = end
        if not rows.narrow:
            sums[:1] = self.rest(start, sums[:1])
        return self.across(sums) if sums else None  # type: ignore[return-value]

    def vectors(self, times: int, start: Op, below: Op, sums: list[Op]) -> list[Op]:
        """The loop over `times` vectors at a time."""
        build = self.build
        index, *entering = (Op("parameter", type_) for type_ in (I64, *[op.type for op in sums]))
        build.begin((index, *entering), True)
        folded = []
        for i in range(times):
            folded += self.fold(self.copied(index, i * self.rows.lanes, None), entering[i : i + 1])
        region = build.end((index, *entering), tuple(folded))
        by = build.const(times * self.rows.lanes, I64)
        return build.control("for", (start, below, by, *sums), None, region)

    def rest(self, start: Op, sums: list[Op]) -> list[Op]:
        """The tail: the last elements, which fill no vector."""
        build, rows = self.build, self.rows
        for op in self.traced.ops:  # before the condition
            if op.name in _MASKED and op.operands[0] in rows.indices:
                self.mask(op, start)
        self.mask(None, start)
        build.begin()
        values = self.copied(start, 0, start)
        inside = self.mask(None, start)
        chosen = [
            build.op("select", value.type, inside, value, build.const(NEUTRAL[self.name], value.type))
            for value in values
        ]
        region = build.end((), tuple(self.fold(chosen, sums)))
        build.begin()
        otherwise = build.end((), tuple(sums))
        left = build.op("cmp", Type.of("bool"), start, rows.last, attribute="lt")
        return build.control("if", (left,), None, region, otherwise)

    def mask(self, access: Op | None, start: Op) -> Op:
        """The mask of a load or store in the tail of a row; without an access, that of the computed elements."""
        rows, build = self.rows, self.build
        element, lanes = "f64" if rows.double else "f32", rows.lanes
        if access is not None:
            value = access.type if access.name == "load_vector" else access.operands[1].type
            element, lanes = value.element, value.lanes
        key = element, lanes
        if key not in self.masks:
            self.masks[key] = build.op("lanes_below", Type.of("bool", lanes), start, rows.last, attribute=element)
        return self.masks[key]

    def copied(self, index: Op, ahead: int, masked: Op | None) -> list[Op]:
        """Emit the traced ops for the vector `ahead` elements after an index; return the values to reduce."""
        build, rows = self.build, self.rows
        new: dict[Op, Op] = {self.traced.parameters[0]: index}
        for op in self.traced.ops[:-1]:
            operands = [new.get(operand, operand) for operand in op.operands]
            name = op.name
            if op.type is I64:
                new[op] = build.op(name, I64, *operands, attribute=op.attribute)
                continue
            if name in _MASKED and op.operands[0] in rows.indices:
                if ahead:
                    operands[0] = build.op("add", I64, operands[0], build.const(ahead, I64))
                if masked is not None:
                    name = _MASKED[name]
                    operands = [*operands[: 1 if name == "load_masked" else 2], self.mask(op, masked)]
            # Folding and hoisting were already done during tracing.
            new[op] = build.append(Op(name, op.type, tuple(operands), op.attribute))
        return [new.get(op, op) for op in self.traced.yielded]

    def fold(self, values: list[Op], sums: list[Op]) -> list[Op]:
        return [self.build.op(self.name, value.type, value, held) for value, held in zip(values, sums, strict=True)]

    def across(self, held: list[Op]) -> Value:
        """Reduce the lanes of several values to one value in all lanes."""
        build, type_ = self.build, held[0].type
        while len(held) > 1:
            pairs = zip(held[::2], held[1::2], strict=False)
            held = [build.op(self.name, type_, a, b) for a, b in pairs] + held[len(held) & ~1 :]
        number = build.op("reduce", Type.of(type_.element), held[0], attribute=self.name)
        return Value(build, build.op("splat", type_, number))
