"""Random kernels: the interpreter and the machine code, with many registers and with few, do the same in every bit."""

from __future__ import annotations

import random

import check_allocation
import numpy as np
import pytest
from every_kernel import TARGETS, copied, few_registers, interpreted, machine_code, same_bits
from parse_text import parsed

from penlight.kernels.compiler import text, verify, x86
from penlight.kernels.compiler.ir import BITS, BOOL, F32, F64, I64, NOTHING, Buffer, Builder, Kernel, Op, Region, Type

pytestmark = pytest.mark.skipif(not TARGETS, reason="no machine code on this machine")

SPECIAL = [0.0, -0.0, 1.0, -1.5, 3.0, 1e300, -1e-300, float("inf"), float("-inf"), float("nan"), 2.0**53, 7.25]
WHOLE = [0, 1, -1, 2, 3, 7, -8, 1 << 31, -(1 << 31), (1 << 40) + 5]


class Generator:
    """Builds a kernel of random ops. `known` are the values that the next op may use."""

    def __init__(self, seed: int) -> None:
        self.pick = random.Random(seed)
        self.build = Builder(frozenset(("x", "n")))
        self.type = self.pick.choice([F32, F64])
        self.known: list[Op] = []
        self.left = 60  # ops

    def kernel(self) -> Kernel:
        build, pick = self.build, self.pick
        begin, end, number = Op("arg", I64, (), "begin"), Op("arg", I64, (), "end"), Op("arg", F64, (), "number")
        step = build.const(1, I64)
        index = Op("parameter", I64)
        build.begin()
        loaded = [build.op("load", self.type, index, attribute="x"), build.op("load", I64, index, attribute="n")]
        self.known = [index, number, *loaded]
        self.ops(3)
        value, whole = self.value(self.type), self.value(I64)
        build.op("store", NOTHING, index, value, attribute="out")
        build.op("store", NOTHING, index, whole, attribute="places")
        build.control("for", (begin, end, step), pick.choice(["parallel", None]), build.end((index,), ()))
        buffers = Buffer("x", self.type, "reads"), Buffer("n", I64, "reads"), Buffer("out", self.type, "writes")
        return Kernel("random", (begin, end, *buffers, Buffer("places", I64, "writes"), number), build.end((), ()))

    def value(self, type_: Type) -> Op:
        fitting = [op for op in self.known if op.type is type_]
        if fitting and self.pick.random() < 0.8:
            return self.pick.choice(fitting[-8:])
        if type_ is BOOL:
            return self.build.const(self.pick.randrange(2), BOOL)
        return self.build.const(self.pick.choice(WHOLE if type_ is I64 else SPECIAL), type_)

    def ops(self, depth: int) -> None:
        for _ in range(self.pick.randrange(2, 12)):
            self.left -= 1
            if self.left < 0:
                return
            if depth and self.pick.random() < 0.25:
                self.pick.choice([self.condition, self.counted, self.repeated])(depth - 1)
            else:
                self.known.append(self.plain())

    def plain(self) -> Op:
        build, pick, value = self.build, self.pick, self.value
        real = pick.choice([self.type, self.type, F64])
        match pick.choice(
            ["real", "real", "real", "one", "whole", "bits", "logic", "cmp", "select", "cast", "call", "checked", "fma"]
        ):
            case "real":
                return build.op(pick.choice(["add", "sub", "mul", "div", "min", "max"]), real, value(real), value(real))
            case "one":
                return build.op(pick.choice(["neg", "abs", "sqrt"]), real, value(real))
            case "fma":
                return build.op(
                    "round", real, value(real), attribute=pick.choice(["floor", "ceil", "trunc", "nearest"])
                )
            case "whole":
                name = pick.choice(["add", "sub", "mul", "min", "max", "idiv"])
                second = value(I64)
                return build.op(
                    name, I64, value(I64), build.const(3, I64) if name == "idiv" and second.name == "const" else second
                )
            case "bits":
                return build.op("bits", I64, value(I64), value(I64), attribute=pick.choice(BITS))
            case "logic":
                return build.op("bits", BOOL, value(BOOL), value(BOOL), attribute=pick.choice(BITS))
            case "cmp":
                type_ = pick.choice([real, I64])
                relation = pick.choice(
                    ["lt", "le", "eq", "ne"] if type_ is I64 else ["lt", "le", "eq", "ne", "unordered"]
                )
                return build.op("cmp", BOOL, value(type_), value(type_), attribute=relation)
            case "select":
                type_ = pick.choice([real, I64, BOOL])
                return build.op("select", type_, value(BOOL), value(type_), value(type_))
            case "call":
                return build.op("call", real, value(real), attribute=pick.choice(["exp", "log", "cos"]))
            case "checked":
                return build.op("checked", I64, value(I64), build.const(5, I64))
        source, target = pick.choice([(I64, real), (real, I64), (F32, F64), (F64, F32), (BOOL, I64)])
        return build.op("cast", target, value(source))

    def region(self, parameters: tuple[Op, ...], depth: int, *yields: Type, end: bool = False) -> Region:
        outside = len(self.known)
        self.known += parameters
        self.build.begin()
        self.ops(depth)
        yielded = [self.value(type_) for type_ in yields]
        del self.known[outside:]
        return self.build.end(parameters, tuple(yielded))

    def types(self) -> list[Type]:
        return [self.pick.choice([self.type, F64, I64, BOOL]) for _ in range(self.pick.randrange(1, 5))]

    def condition(self, depth: int) -> None:
        types, test = self.types(), self.value(BOOL)
        branches = [self.region((), depth, *types) for _ in range(2)]
        self.known += self.build.control("if", (test,), None, *branches)

    def counted(self, depth: int) -> None:
        types = self.types()
        limits = [
            self.build.const(number, I64)
            for number in (self.pick.randrange(2), self.pick.randrange(4), self.pick.randrange(1, 3))
        ]
        values = tuple([self.value(type_) for type_ in types])
        parameters = tuple([Op("parameter", type_) for type_ in (I64, *types)])
        self.known += self.build.control("for", (*limits, *values), None, self.region(parameters, depth, *types))

    def repeated(self, depth: int) -> None:
        """A `while` that counts, so that it ends."""
        types, build = self.types(), self.build
        values = (build.const(0, I64), *[self.value(type_) for type_ in types])
        first, second = [tuple([Op("parameter", type_) for type_ in (I64, *types)]) for _ in range(2)]
        build.begin()
        limit = build.op("cmp", BOOL, first[0], build.const(self.pick.randrange(4), I64), attribute="lt")
        self.known += first
        also = self.value(BOOL)
        del self.known[-len(first) :]
        test = build.end(first, (build.op("bits", BOOL, limit, also, attribute=self.pick.choice(["and"])),))
        inner = self.region(second, depth, *types)
        count = Op("add", I64, (second[0], one := Op("const", I64, (), 1)))
        ops = [*inner.ops[:-1], one, count, Op("yield", NOTHING, (count, *inner.yielded))]
        self.known += build.control("while", values, None, test, Region(second, ops))


@pytest.mark.parametrize("seed", range(150))
def test_random_kernels(seed: int) -> None:
    kernel = Generator(seed).kernel()
    verify.verify(kernel)
    said = text.printed(kernel)
    assert text.printed(parsed(said)) == said
    x = np.array([*SPECIAL, 0.5, -20.0, 3e-5], np.float64)
    with np.errstate(over="ignore"):
        x = x.astype(kernel.buffers["x"].type.dtype)
    named = {
        "begin": 0, "end": x.size, "x": x, "n": np.array(np.resize(WHOLE, x.size), np.int64), "out": np.zeros_like(x),
        "places": np.zeros(x.size, np.int64), "number": 1.25,
    }  # fmt: skip
    wanted = interpreted(kernel, named)
    few = [few_registers(count) for count in (1, 2, 5)] if "x86" in TARGETS else []
    for target in (*TARGETS.values(), *few):
        if target is not None:
            emitter = x86.Emitter(kernel, target)
            check_allocation.check(kernel, emitter.inputs, emitter.locations, emitter.selection.sources)
        made = copied(named)
        machine_code(kernel, target)(made)
        for name, array in wanted.items():
            assert same_bits(made[name], array), (name, said)
