"""Kernels over rows of float32, written as Python functions and compiled to machine code.

A definition gets a `Builder`, asks it for its arrays, and says what happens to one row:

    def softmax(b):
        x, out = b.array(), b.array()
        top = b.largest(lambda: x.load())
        total = b.total(lambda: out.store(exp(x.load() - top)))
        b.each(lambda: out.store(out.load() / total))

The function runs once. Arithmetic on what `load` gives is written down as a list of operations; each of them becomes one
instruction on eight floats. `Kernel` (_compile.py) assigns registers, wraps the loops around and loads the result.

Note [Loops over a row]
What a loop does to eight elements is written down three times: `unroll` times in a row for the bulk of a row, once for the
vectors that are left, and once more for the last elements that fill no vector, where loads and stores take a mask and a
fold ignores the other lanes. The sums of an unrolled loop have `unroll` registers, so that additions need not wait
for each other; a row's sum is thereby more accurate than a running one, too. What only reads, computes a little and writes is unrolled
so that counting takes a small part of the instructions: where two threads share a core, each has half of what it can begin at a time.

Note [Sums over rows]
Where rows are summed up (the gradient of a bias), each group of GROUP rows has a row of sums of its own, to which its rows are
added one after the other; NumPy sums up those. So float32 is accurate enough, see Note [Column sums] in kernels/rows.py, and
threads, which take whole groups, need not share a sum.

Note [Narrow arrays]
Arrays of 16-bit floats and of truth values are read and written as they are: `load` widens eight of them to float32 (or to masks),
`store` rounds them. They have a place in the row of their own, which moves on by two or one bytes for an element. There are no
masked loads and stores for them, so a loop over them has no part for the last elements: rows must be of whole vectors. Whoever
calls a kernel sees to that, and gives it the last few elements in arrays of eight.

Note [Rows by their places]
The rows of a `placed` array lie anywhere: a table, the kernel's last array, says for each row how far from its array's beginning each of
them starts, in bytes. So any operand that broadcasts, in whichever dimensions, and any part of a wider array is read as it is, as
long as its elements along a row are beside each other, or one.

Note [Kernels of float64]
A kernel all of whose arrays are float64 is written down in the same way; a vector then has four elements, and `_compile.py` takes
the instructions for those. What is told by its bits (signs, exponents) differs, so functions that look at them are others (_float64.py).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from ._x86 import R8, R9, R10, R11, R12, R13, R14, R15, RAX, RBP, RBX, RCX, Address, Pooled

BYTES = 32  # of a vector: eight floats
_POINTERS = (RCX, R8, R9, R10, R11, RBX, RBP, R12, R13, R14, R15)
GROUP_BITS = 6
GROUP = 1 << GROUP_BITS  # rows that a row of sums is for
GROUPED = -1  # the width of an array of sums over rows
TABLE = -2  # the width of a table of rows' places
KINDS = {"float32": 4, "float16": 2, "bfloat16": 2, "bool": 1, "float64": 8}  # of arrays' elements, with their sizes
_SIZES = KINDS | {"int32": 4, "int64": 8}  # those that are read or written as they are as well
_LONG_ENOUGH = 48  # operations of a loop that is unrolled without being asked to
_NEUTRAL = {"vaddps": 0.0, "vmulps": 1.0, "vorps": 0.0, "vmaxps": float("-inf"), "vminps": float("inf")}


def _bits(number: float) -> int:
    return int(struct.unpack("<I", struct.pack("<f", number))[0])


def _bits_of_double(number: float) -> int:
    bits = int(struct.unpack("<Q", struct.pack("<d", number))[0])
    if bits and not bits >> 32:
        raise ValueError(f"{number} is no constant that native kernels have in float64")
    return bits


class Value:
    """Eight floats that a kernel computes: an operation and its operands."""

    __slots__ = ("builder", "dies", "made", "operands", "operation", "register", "short")

    def __init__(self, builder: Builder, operation: str, operands: tuple[Any, ...]) -> None:
        self.builder, self.operation, self.operands = builder, operation, operands
        self.made = self.dies = -1
        self.register = -1
        self.short = False  # whether it has no more digits than the kernel's precision, if that is of 16 bits

    def __add__(self, other: Any) -> Value:
        return self.builder.emit("vaddps", self, other)

    def __sub__(self, other: Any) -> Value:
        return self.builder.emit("vsubps", self, other)

    def __rsub__(self, other: Any) -> Value:
        return self.builder.emit("vsubps", other, self)

    def __mul__(self, other: Any) -> Value:
        return self.builder.emit("vmulps", self, other)

    def __truediv__(self, other: Any) -> Value:
        return self.builder.emit("vdivps", self, other)

    def __rtruediv__(self, other: Any) -> Value:
        return self.builder.emit("vdivps", other, self)

    def __neg__(self) -> Value:
        return self.builder.emit("vxorps", self, self.builder.sign)

    __radd__, __rmul__ = __add__, __mul__


class Argument(NamedTuple):
    """How an array is passed: where it is kept, how many times the columns its rows are wide, where it begins."""

    pointer: int
    width: int | None  # None for one number, GROUPED for sums over rows
    local: bool  # begins at the first row to be done, not at row 0
    parts: int  # of a row that all share: how many times the columns it is wide
    kind: str  # one of KINDS, int32 or int64
    placed: bool = False  # see Note [Rows by their places]

    @property
    def size(self) -> int:
        """Of an element, in bytes."""
        return _SIZES[self.kind]


class Array:
    """An argument, or a part of one."""

    def __init__(self, builder: Builder, pointer: int, step: int = RAX) -> None:
        self._builder, self._pointer, self._step = builder, pointer, step

    def load(self, shift: int = 0) -> Value:
        """The elements at the loop's place, or `shift` further on, where the array must have some."""
        b = self._builder
        if b.mask is not None:
            return b.emit("load some", b.mask, Address(self._pointer, self._step, 4 * shift))
        return b.emit("load", Address(self._pointer, self._step, b.offset + 4 * shift))

    def store(self, value: Value) -> Value:
        """Write the elements at the loop's place; gives the value back."""
        b = self._builder
        b.written.add(self._pointer)
        if b.mask is not None:
            b.emit("store some", b.mask, Address(self._pointer, self._step), value)
        else:
            b.emit("store", Address(self._pointer, self._step, b.offset), value)
        return value

    def add(self, value: Value) -> None:
        """Of an array of sums over rows: add to the elements at the loop's place."""
        self.store(self.load() + value)

    def get(self, i: int = 0) -> Value:
        """Of an array with one number for each row, or a few: this row's, in all lanes."""
        return self._builder.emit("broadcast", Address(self._pointer, None, self._builder.size * i))

    def put(self, value: Value, i: int = 0) -> None:
        """Of an array with one number for each row, or a few: set this row's."""
        self._builder.written.add(self._pointer)
        self._builder.emit("store one", Address(self._pointer, None, self._builder.size * i), value)


class Narrow(Array):
    """An argument whose elements are shorter than a float32. See Note [Narrow arrays]."""

    def __init__(self, builder: Builder, pointer: int, step: int, kind: str) -> None:
        super().__init__(builder, pointer, step)
        self._kind = kind

    def _address(self) -> Address:
        return Address(self._pointer, self._step, self._builder.offset * KINDS[self._kind] // 4)

    def load(self, shift: int = 0) -> Value:
        """The elements at the loop's place: as float32, or as a mask."""
        b = self._builder
        if self._kind != "bool":
            half = self._kind == "float16"
            read = b.emit("vcvtph2ps" if half else "vpmovzxwd", self._address())
            value = read if half else b.emit("vpslld", read, 16)
            value.short = self._kind == b.precision
            return value
        return b.emit("vpcmpgtd", b.emit("vpmovzxbd", self._address()), Pooled(0))

    def store(self, value: Value) -> Value:
        """Write the elements at the loop's place, rounded; gives the value back."""
        b = self._builder
        b.written.add(self._pointer)
        if self._kind == "float16":
            exact = value.operands[0] if value.operation == "round to float16" else value
            b.emit("store float16", self._address(), exact)
        elif self._kind == "bfloat16":
            self._store_bfloat16(value)
        else:
            words = b.emit("reorder", b.emit("vpackssdw", value, value), 0x08)
            ones = b.emit("vandps", b.emit("vpacksswb", words, words), Pooled(0x01010101))
            b.emit("store quarter", self._address(), ones)
        return value

    def _store_bfloat16(self, value: Value) -> None:
        b = self._builder
        upper = b.emit("vpsrld", b.rounded(value, "bfloat16"), 16)
        b.emit("store half", self._address(), b.emit("reorder", b.emit("vpackusdw", upper, upper), 0x08))


class Whole(Array):
    """An argument of int32, which is written to only."""

    def store(self, value: Value) -> Value:
        """Write the elements at the loop's place, rounded towards 0; the least number for what has none. Gives the value back."""
        super().store(self._builder.emit("vcvttps2dq", value))
        return value


class Wide(Array):
    """A row of float64, with room for whole vectors: a multiple of eight numbers."""

    def _address(self, half: int) -> Address:
        return Address(self._pointer, self._step, 2 * self._builder.offset + half * BYTES)

    def load_halves(self) -> tuple[Value, Value]:
        """Eight doubles at the loop's place, in two values."""
        low, high = (self._builder.emit("load", self._address(half)) for half in (0, 1))
        return low, high

    def load_pairs(self) -> tuple[Value, Value]:
        """Of eight pairs of floats at the loop's place, each as long as a double: all first ones, and all second ones."""
        b, halves = self._builder, self.load_halves()
        first, second = (b.emit("reorder", b.emit("pick", *halves, order), 0xD8) for order in (0x88, 0xDD))
        return first, second

    def store_halves(self, low: Value, high: Value) -> None:
        """Write eight doubles."""
        self._builder.written.add(self._pointer)
        for half, value in enumerate((low, high)):
            self._builder.emit("store", self._address(half), value)


class Number:
    """An array that is one number everywhere, passed as that. See `Builder.spread`."""

    def __init__(self, builder: Builder) -> None:
        self.load = builder.number()


class Builder:
    """Writes down what a kernel does; see the module's example."""

    def __init__(self, flat: bool, spread: tuple[int, ...] = ()) -> None:
        self.flat = flat  # one row, from element `low` to `high`, instead of rows `low` to `high`
        self.spread = spread  # which of the arrays, in their order, are numbers instead; they are only loaded
        self.operations: list[Value | tuple[str, Any]] = []  # values, and the marks of loops
        self.arrays: list[Argument] = []
        self.written: set[int] = set()  # the pointers of the arrays that are stored to
        self.steps = [RAX]  # the place in a row, in its second part, and so on
        self.numbers = 0  # how many numbers are passed behind the arrays
        self.mask: Value | None = None  # in the masked part of a loop
        self.offset = 0  # bytes that the part of an unrolled loop is ahead
        self.precision = "float32"  # one of KINDS, to which traced kernels round what they compute
        self.partial = False  # set by functions that give NaN where they cannot tell the value
        self.places: dict[int, int] = {}  # the places in rows of elements of another size than float32's
        self.double = False  # whether all arrays and numbers are float64: Note [Kernels of float64]
        self._registers = list(_POINTERS)
        self._asked = self._loops = 0

    # Arguments

    def array(self, width: int = 1, local: bool = False, kind: str = "float32", placed: bool = False) -> Array:
        """The next argument: an array of as many rows; `width` 0 for one row that all share. `kind` is one of KINDS.

        A `local` one has only the rows that are to be done, while others are counted from row 0; those of a `placed` one are where the
        `table` says.
        """
        self._asked += 1
        if self._asked - 1 in self.spread:
            return Number(self)  # type: ignore[return-value]
        size = _SIZES[kind]
        if (size == 8) != self.double:
            if self.arrays:
                raise ValueError("a native kernel on float64 takes nothing else")
            self.double = True
        pointer = self._argument(width, local, kind=kind, placed=placed)
        if kind == "int32":
            return Whole(self, pointer)
        if size >= 4:
            return Array(self, pointer)
        return Narrow(self, pointer, self._place(size), kind)

    def doubles(self, width: int = 0) -> Wide:
        """The next argument: one row of float64 for all rows; or, with `width` 2, rows of as many."""
        return Wide(self, self._argument(width, False, kind="float64"), self._place(8))

    def _place(self, size: int) -> int:
        """The register with the place in a row of elements of this size."""
        if size not in self.places:
            self.places[size] = self._registers.pop()
        return self.places[size]

    @property
    def narrow(self) -> bool:
        """See Note [Narrow arrays]."""
        return any(size < 4 for size in self.places)

    def parts(self, count: int, local: bool = False, shared: bool = False, kind: str = "float32") -> list[Array]:
        """The next argument, whose rows are `count` parts of as many columns; `shared`, if it is one row for all."""
        pointer = self._argument(0 if shared else count, local, count, kind)
        while len(self.steps) < count:
            self.steps.append(self._registers.pop())
        return [Array(self, pointer, step) for step in self.steps[:count]]

    def per_row(self, local: bool = False, placed: bool = False, kind: str = "") -> Array:
        """The next argument: an array with one number for each row; of float32, or float64 beside such arrays, if no `kind` is given."""
        kind = kind or ("float64" if self.double else "float32")
        return Array(self, self._argument(None, local, kind=kind, placed=placed))

    def table(self) -> None:
        """The last argument, of int64: for each row the places of the `placed` arrays. See Note [Rows by their places]."""
        self._argument(TABLE, False, kind="int64")

    def _argument(
        self, width: int | None, local: bool, parts: int = 1, kind: str = "float32", placed: bool = False
    ) -> int:
        if not self._registers:
            raise ValueError("a native kernel needs more arrays than there are registers")
        pointer = self._registers.pop(0)
        self.arrays.append(Argument(pointer, width, local, parts, kind, placed))
        return pointer

    def sums(self) -> Array:
        """The next argument: an array for sums over rows, of zeros at first. See Note [Sums over rows]."""
        return Array(self, self._argument(GROUPED, False))

    def number(self) -> Callable[[], Value]:
        """The next number among the arguments, which come after all arrays; call it where it is used."""
        place = self.numbers
        self.numbers += 1
        if self.numbers > 8:
            raise ValueError("a native kernel takes at most eight numbers")  # more are passed in another way
        return lambda: self.emit("number", place)

    @property
    def size(self) -> int:
        """Of an element that is computed with, in bytes."""
        return 8 if self.double else 4

    # Operations

    def constant(self, number: float) -> Pooled:
        """A number as an operand."""
        return Pooled((_bits_of_double if self.double else _bits)(number))

    @property
    def sign(self) -> Pooled:
        """The bit of a number's sign."""
        return Pooled(1 << 63 if self.double else 1 << 31)

    def emit(self, operation: str, *operands: Any) -> Value:
        """Write an operation down. Plain numbers among the operands become constants."""
        if operation not in _TAKE_NUMBERS:
            operands = tuple(self.constant(o) if isinstance(o, (int, float)) else o for o in operands)
            operands = self._readable(operation, operands)
        value = Value(self, operation, operands)
        self.operations.append(value)
        return value

    def _readable(self, operation: str, operands: tuple[Any, ...]) -> tuple[Any, ...]:
        """The operands with constants only where an instruction can read memory, which is its last source."""
        if operation in _COMMUTE and isinstance(operands[0], Pooled):
            operands = operands[::-1]
        last = len(operands) - 1
        if operation in ("fma", "fnma"):  # either the factor `b` or the summand `c`
            last = 2 if isinstance(operands[2], Pooled) else 1
        elif operation in ("fma of doubles", "fnma of doubles"):
            last = 1
        return tuple(
            self.emit("constant", o) if isinstance(o, Pooled) and i != last else o for i, o in enumerate(operands)
        )

    def rounded(self, value: Value, kind: str) -> Value:
        """A value as it will be when it has been stored as this kind."""
        if kind not in ("float16", "bfloat16") or (value.short and kind == self.precision):
            return value
        value = self._rounded(value, kind)
        value.short = kind == self.precision
        return value

    def _rounded(self, value: Value, kind: str) -> Value:
        if kind == "float16":
            return self.emit("round to float16", value)
        # The upper half of a float32, after adding just less than half of its last place, or half if that makes it even.
        odd = self.emit("vandps", self.emit("vpsrld", value, 16), Pooled(1))
        sum = self.emit("vpaddd", self.emit("vpaddd", odd, Pooled(0x7FFF)), value)
        nan = self.emit("constant", Pooled(0x7FC00000))
        whole = self.emit("blend", sum, nan, self.emit("unordered", value, value))
        return self.emit("vandps", whole, Pooled(0xFFFF0000))

    def each(self, body: Callable[[], object], unroll: int = 0) -> None:
        """Do `body` for all elements of the row; 0 stands for as much unrolling as pays."""
        self._loop([], lambda: (body(), [])[1], unroll or self._unrolling(body))

    def _unrolling(self, body: Callable[[], object]) -> int:
        """How many times a body is to be written down, which shows when it was once. See Note [Loops over a row]."""
        before = len(self.operations)
        body()
        length = len(self.operations) - before
        del self.operations[before:]
        return next((times for times in (4, 2) if times * length <= _LONG_ENOUGH), 1)  # a power of 2, see `_limits`

    def total(self, body: Callable[[], Value], unroll: int = 1) -> Value:
        """The sum of `body` over the row, in all lanes."""
        return self._loop(["vaddps"], lambda: [body()], unroll)[0]

    def totals(self, body: Callable[[], Iterable[Value]], count: int, unroll: int = 1) -> list[Value]:
        """Several sums at once; a `body` that yields one term after the other needs a register for one of them only."""
        return self._loop(["vaddps"] * count, body, unroll)

    def folds(self, operations: list[str], body: Callable[[], Iterable[Value]], unroll: int = 4) -> list[Value]:
        """What `body` gives over the row, folded by binary operations that are keys of _NEUTRAL; in all lanes."""
        return self._loop(operations, body, unroll)

    def largest(self, body: Callable[[], Value], unroll: int = 4) -> Value:
        """The maximum of `body` over the row, in all lanes. NaN or the maximum of the others if there is NaN among them."""
        return self._loop(["vmaxps"], lambda: [body()], unroll)[0]

    def _loop(self, folds: list[str], body: Callable[[], Iterable[Value]], unroll: int) -> list[Value]:
        """See Note [Loops over a row]."""
        self._loops += 1
        name = f"loop{self._loops}"
        sums = [[self.emit("constant", self.constant(_NEUTRAL[fold])) for fold in folds] for _ in range(unroll)]
        self.operations.append(("begin", name))
        if unroll > 1:
            self.operations.append(("bulk", (name, unroll, "few")))
            for i in range(unroll):
                self.offset = i * BYTES
                self._fold(folds, sums[i], body())
            self.offset = 0
            self.operations.append(("bulk end", (name, unroll, "few")))
        self.operations.append(("vectors", (name, 1, "rest")))
        self._fold(folds, sums[0], body())
        self.operations.append(("vectors end", (name, 1, "rest")))
        self.operations.append(("rest", name))
        if not self.narrow:
            self.mask = self.emit("mask")
            self._fold(folds, sums[0], body())
            self.mask = None
        self.operations.append(("rest end", name))
        return [self._across(fold, [s[i] for s in sums]) for i, fold in enumerate(folds)]

    def _fold(self, folds: list[str], sums: list[Value], values: Iterable[Value]) -> None:
        for fold, held, value in zip(folds, sums, values):
            if self.mask is not None:
                neutral = self.emit("constant", self.constant(_NEUTRAL[fold]))
                value = self.emit("blend", neutral, value, self.mask)
            self.emit("fold", fold, held, value)

    def _across(self, fold: str, held: list[Value]) -> Value:
        """One value in all lanes from the lanes of several."""
        while len(held) > 1:
            held = [self.emit(fold, a, b) for a, b in zip(held[::2], held[1::2])] + held[len(held) & ~1 :]
        value = held[0]
        value = self.emit(fold, value, self.emit("swap halves", value))
        value = self.emit(fold, value, self.emit("shuffle", value, 0x4E))
        return value if self.double else self.emit(fold, value, self.emit("shuffle", value, 0xB1))


_COMMUTE = frozenset(
    ("vaddps", "vmulps", "vandps", "vorps", "vxorps", "vpaddd", "vpaddq", "vaddpd", "vmulpd", "vpmulld")
)
# Operations some of whose operands are not values: places, counts, relations, names, or a constant on purpose.
_TAKE_NUMBERS = frozenset(
    (
        "number",
        "shuffle",
        "reorder",
        "pick",
        "choose",
        "constant",
        "vpslld",
        "vpsllq",
        "vpsrlq",
        "vpsrad",
        "vpsrld",
        "fold",
        "blend",
    )
)
