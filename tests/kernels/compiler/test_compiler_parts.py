"""The parts of the compiler, each by itself."""

from __future__ import annotations

import math
from collections.abc import Callable
from textwrap import dedent
from typing import Any, TypeAlias

import check_allocation
import numpy as np
import pytest
from every_kernel import TARGETS, few_registers, interpreted, machine_code, same_bits
from parse_text import parsed

from penlight.kernels import executable, native
from penlight.kernels.call import Unfit
from penlight.kernels.compiler import bounds, interpret, ir, load, python, text, verify, x86
from penlight.kernels.compiler.ir import BOOL, F64, I64, NOTHING, Buffer, Builder, Kernel, Op
from penlight.kernels.compiler.loops import checked, fma
from penlight.kernels.fma import fused
from penlight.kernels.waiting_threads import over

Floats: TypeAlias = Any
Doubles: TypeAlias = Any
Ints: TypeAlias = Any

needs_native = pytest.mark.skipif(not native.available(), reason="no machine code on this machine")

# ----- Reading Python -------------------------------------------------------------------------------------------------


def exits(begin: int, end: int, x: Floats, out: Floats) -> None:
    """Every way to leave a block."""
    for i in range(begin, end):
        out[i] = left_early(x[i]) + skipped(x[i]) + searched(x[i])


def left_early(x: float) -> float:
    k = 0
    while True:
        k += 1
        for j in range(k):
            if x < j:
                return j * 10.0
            elif x > 6.0:
                if x > 7.0:
                    return -1.0
                x -= 1.0
        if k > 5:
            break
    return k + x


def skipped(x: float) -> float:
    total, i = 0.0, 0
    while i < 6:
        i += 1
        if i % 2 == 0:
            continue
        if x < 3.0:
            if i == 3:
                continue
            total += 100.0
        total += i
    return total


def searched(x: float) -> float:
    found = -1.0
    for i in range(8):
        for j in range(i):
            if i * j > x:
                break
            found = float(i * 10 + j)
        if found > 40.0:
            break
    return found


def arithmetic(begin: int, end: int, x: Floats, n: Ints, out: Floats, scale: float) -> None:
    for i in range(begin, end):
        k = n[i]
        whole = (k // 3) * 7 + k % 3 - min(k, 4) + max(k, -2)
        value = abs(x[i]) / scale + math.sqrt(abs(x[i])) - math.floor(x[i]) * math.ceil(x[i])
        value = fma(value, scale, -x[i]) + round(x[i]) + math.trunc(x[i])
        out[i] = value + whole if not (x[i] != x[i] or k == 2) and (k <= 0 or x[i] > 1.0) else int(x[i]) + -k


class Counter:
    def __init__(self, start: int) -> None:
        self.count = start

    def next(self) -> int:
        self.count += 1
        return self.count


def with_an_object(begin: int, end: int, x: Floats, out: Floats) -> None:
    counter = Counter(3)
    for i in range(begin, end):
        if x[i] > 0.0:
            out[i] = advanced(counter)
        else:
            out[i] = counter.count


def advanced(counter: Counter) -> float:
    return float(counter.next() + counter.next())


def known_when_read(begin: int, end: int, x: Floats, out: Floats, *, double: bool, table: Any) -> None:
    for i in range(begin, end):
        total = 0.0
        for row in table:
            for c in row[1:]:
                total += c * x[i] if double else c
        out[i] = total + table[1][int(x[i]) % 2]


X = np.array([-3.5, -0.5, 0.0, 0.5, 1.0, 2.5, 3.5, 5.5, 6.5, 7.5, 12.0, 2.0, 30.0])
N = np.arange(-6, 7)


@pytest.mark.parametrize(
    ("function", "named", "known"),
    [
        (exits, {}, {}),
        (arithmetic, {"n": N, "scale": 0.75}, {}),
        (with_an_object, {}, {}),
        (known_when_read, {}, {"double": True, "table": ((1.0, 2.0), (3.0, 4.0, 5.0))}),
        (known_when_read, {}, {"double": False, "table": ((1.0, 2.0), (3.0, 4.0, 5.0))}),
    ],
)
def test_a_kernel_does_what_python_does(
    function: Callable[..., None], named: dict[str, Any], known: dict[str, Any]
) -> None:
    kernel = python.loops(function, F64, F64, **known)
    verify.verify(kernel)
    assert text.printed(parsed(text.printed(kernel))) == text.printed(kernel)
    arguments = {"begin": 0, "end": len(X), "x": X, "out": np.zeros(len(X)), **named}
    wanted = arguments["out"].copy()
    plain = {k: v.tolist() if isinstance(v, np.ndarray) and k != "out" else v for k, v in arguments.items()}
    function(**{**plain, "out": wanted}, **known)
    assert np.allclose(interpreted(kernel, arguments)["out"], wanted, rtol=1e-15)
    for target in (*TARGETS.values(), *([few_registers(3)] if "x86" in TARGETS else [])):
        made = {**arguments, "out": np.zeros(len(X))}
        machine_code(kernel, target)(made)
        assert same_bits(made["out"], interpreted(kernel, arguments)["out"])


def not_understood(x: float) -> float:
    return sum([x, x])


def changes_its_type(x: float) -> float:
    k = 0
    while x > 0.0:
        k = x
        x -= 1.0
    return k


def test_what_is_not_understood_is_refused() -> None:
    with pytest.raises(NotImplementedError, match="sum"):
        python.elementwise(not_understood, F64, F64)
    with pytest.raises(TypeError, match="given a float"):
        python.elementwise(changes_its_type, F64, F64)


# ----- The interpreter ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_fused_multiply_add_rounds_once(dtype: type) -> None:
    from fractions import Fraction

    pick = np.random.default_rng(0)
    a, b = pick.standard_normal((2, 2000)).astype(dtype)
    c = (-a * b * (1 + pick.choice([0, 1e-9, 1e-16, 1e-3], 2000))).astype(dtype)
    made = fused(a, b, c)
    exact = [Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z)) for x, y, z in zip(a, b, c, strict=True)]
    if dtype is np.float64:
        assert made.tolist() == [float(value) for value in exact]
    else:
        for value, found in zip(exact, made, strict=True):
            near = [np.nextafter(found, dtype(-np.inf)), found, np.nextafter(found, dtype(np.inf))]
            assert min(near, key=lambda n: abs(Fraction(float(n)) - value)) == found


def test_it_checks_every_index() -> None:
    kernel = python.loops(exits, F64, F64)
    with pytest.raises(IndexError, match="load x"):
        interpret.interpret(kernel, {"begin": 0, "end": 3, "x": np.zeros(2), "out": np.zeros(3)})


# ----- The verifier ---------------------------------------------------------------------------------------------------


def small_kernel(change: Callable[[Builder, Op, Op], None]) -> Kernel:
    build = Builder()
    number, index = Op("arg", F64, (), "number"), Op("arg", I64, (), "index")
    change(build, number, index)
    return Kernel("small", (number, index, Buffer("x", F64, "reads"), Buffer("y", F64, "writes")), build.end((), ()))


def yields_too_much(build: Builder, number: Op, index: Op) -> None:
    build.begin()
    first = build.end((), (number,))
    build.begin()
    second = build.end((), ())
    build.append(Op("if", NOTHING, (build.op("cmp", BOOL, index, index, attribute="lt"),), None, (first, second)))


BROKEN: dict[str, Callable[[Builder, Op, Op], Any]] = {
    "types": lambda build, number, index: build.append(Op("add", F64, (number, index))),
    "operands": lambda build, number, index: build.append(Op("add", F64, (number,))),
    "kinds": lambda build, number, index: build.append(Op("div", I64, (index, index))),
    "undefined": lambda build, number, index: build.append(Op("neg", F64, (Op("abs", F64, (number,)),))),
    "relation": lambda build, number, index: build.append(Op("cmp", BOOL, (number, number), "gt")),
    "buffer": lambda build, number, index: build.append(Op("load", F64, (index,), "z")),
    "element": lambda build, number, index: build.append(Op("load", I64, (index,), "x")),
    "read only": lambda build, number, index: build.append(Op("store", NOTHING, (index, number), "x")),
    "index": lambda build, number, index: build.append(Op("load", F64, (number,), "x")),
    "no op": lambda build, number, index: build.append(Op("subtract", F64, (number, number))),
    "function": lambda build, number, index: build.append(Op("call", F64, (number,), "gamma")),
    "yield": yields_too_much,
    "result": lambda build, number, index: build.append(Op("result", F64, (number,), 0)),
}


@pytest.mark.parametrize("which", BROKEN)
def test_malformed_ir_is_refused(which: str) -> None:
    with pytest.raises(verify.Malformed):
        verify.verify(small_kernel(BROKEN[which]))


VECTORS = {
    "evens": "v9: f32x4 = evens v3, v3",
    "shift": "v9: i32x8 = shift left 32, v4",
    "way": "v9: i32x8 = shift up 3, v4",
    "half": "v9: f32x8 = half 1, v3",
    "join": "v9: f32x8 = join v3, v3",
    "bitcast": "v9: f64x8 = bitcast v3",
    "first": "v9: f64 = first v3",
    "reduce": "v9: f32 = reduce xor, v3",
    "no mask": "v9: f32x8 = load_masked x[v0], v5",
    "mask of other lanes": "v9: f64x4 = load_masked y[v0], v2",
}


@pytest.mark.parametrize("which", VECTORS)
def test_malformed_vectors_are_refused(which: str) -> None:
    said = """
    kernel vectors(size: i64, x: f32 reads, y: f64 reads, out: f32 writes)
      v0: i64 = const 0
      v2: boolx8 = lanes_below f32, v0, size
      v3: f32x8 = load_masked x[v0], v2
      v4: i32x8 = bitcast v3
      v5: boolx8 = cmp lt, v3, v3
      store_masked out[v0], v3, v2
    """
    verify.verify(parsed(dedent(said)))
    with pytest.raises(verify.Malformed):
        verify.verify(parsed(dedent(said) + f"  {VECTORS[which]}\n"))


def masked(index: str) -> str:
    return dedent(f"""
    kernel masked(size: i64, start: i64, x: f32 reads shared, out: f32 updates shared)
      v0: i64 = const 8
      v1: i64 = idiv size, v0
      v2: i64 = mul v1, v0
      v3: boolx8 = lanes_below f32, v2, size
      v4: i64 = add start, v2
      v5: f32x8 = load_masked x[{index}], v3
      store_masked out[v2], v5, v3
    """)


def test_the_end_of_what_is_masked_is_required() -> None:
    found = bounds.requirements(parsed(masked("v4")))
    assert found.sizes == {"x": "size + start", "out": "size"}
    with pytest.raises(bounds.Unbounded, match="none of its index"):
        bounds.requirements(parsed(masked("v0")))


def test_parallel_stores_depend_on_the_index() -> None:
    said = """
    kernel same(begin: i64, end: i64, out: f64 writes)
      v0: i64 = const 1
      v1: f64 = const 1.0
      for v2 = begin to end step v0 parallel
        store out[v0], v1
    """
    with pytest.raises(verify.Malformed, match="parallel"):
        verify.verify(parsed("\n".join([line[4:] for line in said.splitlines()])))


# ----- Bounds ---------------------------------------------------------------------------------------------------------


def sums(begin: int, end: int, x: Floats, out: Floats, columns: int) -> None:
    for row in range(begin, end):
        total = 0.0
        for i in range(row * columns, (row + 1) * columns):
            total += x[i]
        out[row] = total


def shifted(begin: int, end: int, x: Floats, out: Floats, size: int) -> None:
    for i in range(begin, end):
        out[i] = x[i + 2] - x[size - i] + x[i // 2] + x[i % size] + x[min(i, 3)]


def looked_up(begin: int, end: int, x: Floats, n: Ints, out: Floats, size: int) -> None:
    for i in range(begin, end):
        out[i] = x[checked(n[i], size)]


def unchecked(begin: int, end: int, x: Floats, n: Ints, out: Floats) -> None:
    for i in range(begin, end):
        out[i] = x[n[i]]


def wandering(begin: int, end: int, x: Floats, out: Floats) -> None:
    at = 0
    for i in range(begin, end):
        at += i
        out[i] = x[at]


def required(function: Callable[..., None]) -> bounds.Requirements:
    return bounds.requirements(python.loops(function, F64, F64))


def test_requirements() -> None:
    assert required(sums) == ({"x": "columns * end", "out": "end"}, ("begin | end | columns >= 0",))
    found = required(shifted)
    assert found.sizes["x"] == "max(2 + end, size + 1 - begin, size)"
    assert found.conditions == ("begin | end | size >= 0", "size + 1 - end >= 0", "size - 1 >= 0")
    assert required(looked_up) == (
        {"x": "size", "n": "end", "out": "end"},
        ("begin | end | size >= 0", "size - 1 >= 0"),
    )
    for function in (unchecked, wandering):
        with pytest.raises(bounds.Unbounded):
            required(function)


def clamped(begin: int, end: int, x: Floats, table: Ints, out: Floats, rows: int, columns: int, skip: int) -> None:
    for i in range(begin, end):
        total = 0.0
        for r in range(max(0, table[2 * i]), min(rows, table[2 * i + 1])):
            for c in range(0, columns - 1, 2):
                total += x[r * columns + c] - x[r * columns + c + 1]
            for c in range(columns // 2 * 2, columns):
                total += x[r * columns + c]
        if i != skip:
            out[i] = total


def test_what_is_read_from_a_table_is_limited() -> None:
    """`skip` is in no index, so it may be negative."""
    sizes = {"x": "columns * rows", "table": "2 * end", "out": "end"}
    assert required(clamped) == (sizes, ("begin | end | rows | columns >= 0",))


# ----- Signatures -----------------------------------------------------------------------------------------------------


@pytest.fixture(params=["x86", "llvm", "interpreted"])
def entry(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    kernel = python.loops(sums, F64, F64)
    if request.param == "interpreted":
        return load.interpreted(kernel)
    if request.param not in TARGETS:
        pytest.skip("no such machine code on this machine")
    monkeypatch.setattr(executable, "available", lambda: request.param == "x86")
    monkeypatch.setattr(executable, "llvm_available", lambda: request.param == "llvm")
    return load.machine_code(kernel)


def test_a_kernel_runs_what_fits(entry: Any) -> None:
    x = np.arange(12.0).reshape(3, 4)
    out = np.zeros(3)
    assert entry(0, 3, x, out, 4) is out
    assert out.tolist() == [6.0, 22.0, 38.0]
    assert entry(0, 3, x, (3, 1), 4).tolist() == [[6.0], [22.0], [38.0]]
    assert entry(0, 0, x, (0,), 4).shape == (0,)
    if entry.address is not None:
        assert over(entry, 500, 10, np.ones((500, 3)), (500,), 3).tolist() == [3.0] * 500


def read_only(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


MEMORY = np.zeros(20)


@pytest.mark.parametrize(
    ("x", "out", "columns"),
    [
        (np.zeros(12), np.zeros(2), 4),
        (np.zeros(11), np.zeros(3), 4),
        (np.zeros(12), np.zeros(3), 5),
        (np.zeros(12), np.zeros(3), 1 << 40),
        (np.zeros(12), np.zeros(3), -1),
        (np.zeros(12, ">f8"), np.zeros(3), 4),
        (np.zeros(12, np.float32), np.zeros(3), 4),
        (np.zeros(12), np.zeros(3, np.int64), 4),
        (np.zeros(24)[::2], np.zeros(3), 4),
        (np.zeros(12)[::-1], np.zeros(3), 4),
        (np.zeros(12), read_only(np.zeros(3)), 4),
        ([0.0] * 12, np.zeros(3), 4),
        (MEMORY[:12], MEMORY[11:14], 4),
        (MEMORY[:12], MEMORY, 4),
        (MEMORY, MEMORY, 4),
        (np.zeros(12), (2,), 4),
        (np.float64(1.0), np.zeros(3), 0),
    ],
)
def test_a_kernel_refuses_the_rest(entry: Any, x: Any, out: Any, columns: int) -> None:
    with pytest.raises(Unfit):
        entry(0, 3, x, out, columns)


def test_dtypes_are_compared_by_what_they_are(entry: Any) -> None:
    other = np.dtype("<f8", metadata={"of": "another object"})
    x = np.ones(4).astype(other)
    assert x.dtype is not np.dtype(np.float64)
    assert entry(0, 1, x, (1,), 4).tolist() == [4.0]


# ----- Allocation -----------------------------------------------------------------------------------------------------


def crossing(x: float) -> float:
    y = x * 2.0
    total = 0.0
    while x < 5.0:
        total += math.exp(x) * y
        x += 1.0
    return total + y


@needs_native
def test_the_checker_finds_what_a_call_overwrites(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = python.elementwise(crossing, F64, F64)
    emitter = x86.Emitter(kernel)
    check_allocation.check(kernel, emitter.inputs, emitter.locations, emitter.selection.sources)
    for op in [*emitter.locations.life.crossing]:
        if op.type.is_float:
            for value in (op, emitter.locations.root(op)):
                emitter.locations._locations[value] = x86.Register("vector", 9)
    with pytest.raises(check_allocation.Overwritten):
        check_allocation.check(kernel, emitter.inputs, emitter.locations, emitter.selection.sources)


def test_a_dump_says_where_values_are(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("PENLIGHT_DUMP", "sums")
    load.machine_code(python.loops(sums, F64, F64))
    said = capsys.readouterr().err
    assert "# built" in said and "load x[" in said
    assert executable.available() == (" in xmm3" in said)  # LLVM allocates by itself


def test_constants_keep_their_bits() -> None:
    build = Builder()
    for value in (0.1, -0.0, math.inf, math.nan, 5e-324):
        op = build.const(value, F64)
        assert np.float64(ir.value_of(op.attribute, F64)).view(np.int64) == np.float64(value).view(np.int64)
    assert build.const(0.0, F64) is not build.const(-0.0, F64)
    assert build.const(0.0, F64) is build.const(0.0, F64)
