"""Python functions on single numbers as machine code: what one sample takes, compiled from the source that describes it.

Note [Compiled scalars]
Gamma, Poisson and binomial samples are made by rejection. How many draws one takes depends on the draws themselves, so that each starts where
the one before ended, and no two can be made at once: NumPy does not help. `kernels/rng_rejection.py` says what one sample takes as a Python function of
numbers. Here such a function is read as a syntax tree and translated word by word, with every variable in a place on the stack, every number a float64
and every function of `math` that of the C library, which PyTorch calls as well. The Python function stays the specification, and serves where no
machine code runs.

What is understood: assignments to names, `if`, `while`, `continue`, `return`, arithmetic, comparisons, `and`, `or`, `not`, functions of `math`,
`abs`, numbers of the module and tables of them, other functions of the module (their code is repeated), and `reader.uniform()` and
`reader.normal()`. When the draws are used up, the sample in the making is dropped, and whoever called goes on with it when there are more.
Functions without a reader (`over`) are sums of series, whose elements take as many terms as they need.
"""

from __future__ import annotations

import ast
import ctypes
import inspect
import math
import struct
import textwrap
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from . import _pages
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
    ROUNDINGS,
    RSI,
    RSP,
    Address,
    Assembler,
    Operand,
    Pooled,
)

_KEPT = (RBX, RBP, R12, R13, R14, R15)  # a function gives these back as it found them
_ARITHMETIC = {ast.Add: 0x58, ast.Mult: 0x59, ast.Sub: 0x5C, ast.Div: 0x5E}
_SQRT = 0x51
_ABOVE, _AT_LEAST, _EQUAL, _NOT_EQUAL, _UNORDERED = b"\x0f\x87", b"\x0f\x83", b"\x0f\x84", b"\x0f\x85", b"\x0f\x8a"
_CALLED = {"log", "log1p", "exp", "pow", "lgamma", "sin", "cos"}


class Scalars(Assembler):
    """The instructions on single float64 numbers."""

    def load(self, target: int, source: Address | Pooled) -> None:
        self._vector("vmovsd {}, {}", 0x10, 1, 3, target, source, wide=False)

    def save(self, target: Address, source: int) -> None:
        self.store_one(target, source, double=True)

    def copy(self, target: int, source: int) -> None:
        self._vector("vmovaps {}, {}", 0x28, 1, 0, target, source, wide=False)

    def apply(self, opcode: int, target: int, first: int, second: Operand) -> None:
        self._vector(f"op {opcode:#x} {{}}, xmm{first}, {{}}", opcode, 1, 3, target, second, first, wide=False)

    def round_one(self, way: str, target: int, source: int) -> None:
        tail = bytes((ROUNDINGS[way],))
        self._vector("vroundsd {}, {}", 0x0B, 3, 1, target, source, source, tail, wide=False)

    def drop_sign(self, target: int, source: int) -> None:
        self._vector("vandpd {}, {}", 0x54, 1, 1, target, Pooled((1 << 63) - 1), source, wide=False)

    def compare_values(self, first: int, second: int) -> None:
        self._vector("vucomisd {}, {}", 0x2E, 1, 1, first, second, wide=False)

    def to_integer(self, target: int, source: int) -> None:
        self._vector("vcvttsd2si {}, {}", 0x2C, 1, 3 | 0x80, target, source, wide=False)

    def load_long(self, number: int) -> None:
        self._raw(b"\x48\xb8" + struct.pack("<Q", number), f"mov rax, {number:#x}")

    def jump_if(self, opcode: bytes, to: str) -> None:
        self._raw(opcode + bytes(4), f"jump {opcode.hex()} {to}")
        self._jumps.append((len(self.code) - 4, to))


class Scope(NamedTuple):
    """A function in translation: where its variables are, where a `return` goes, and the module that it is from."""

    places: dict[str, Address]
    end: str
    module: dict[str, Any]


class Translator:
    """A function of a reader and numbers, in translation."""

    def __init__(self, function: Callable[..., float]) -> None:
        self.asm = Scalars()
        self._count = 0  # places on the stack
        self._labels = 0
        self._loops: list[str] = []
        self.kept, self.start, self.kept_at_start = self.place(), self.place(), self.place()
        tree = _parsed(function)
        names = [a.arg for a in tree.args.args if a.arg != "reader"]
        self.parameters = len(names)
        places = {name: Address(RBP, None, 8 * i) for i, name in enumerate(names)}
        self._body(tree, Scope(places, "sample", function.__globals__))  # type: ignore[attr-defined]

    def finish(self) -> bytes:
        """`run(count, id(table), id(draws), id(out), id(state))`, over the rows of a table of parameters.

        The state is an array of four 64-bit words: how many draws there are, the normal sample that is kept (NaN: none), and, when it returns, how
        many samples are left to make and how many draws were used.
        """
        whole = Scalars()
        for register in _KEPT:
            whole.push(register)
        frame = 8 * self._count + (8 if self._count % 2 == 0 else 0)  # functions expect a stack aligned to 16
        whole.add_number(RSP, -frame)
        whole.copy_register(RBX, RDI)
        for target, source in ((RBP, RSI), (R12, RDX), (R14, RCX), (R15, R8)):
            whole.load_register(target, Address(source, None, _pages.DATA_OFFSET))
        whole.load_register(R13, Address(R15))
        whole.shift_left(R13, 3)
        whole.add(R13, R12)
        whole.load(0, Address(R15, None, 8))
        whole.save(self.kept, 0)
        whole.label("next")
        whole.compare_number(RBX, 0)
        whole.jump("done", "zero")
        whole.store_register(self.start, R12)
        whole.load(0, self.kept)
        whole.save(self.kept_at_start, 0)
        whole.append(self.asm)
        whole.label("sample")
        whole.save(Address(R14), 0)
        whole.add_number(R14, 8)
        whole.add_number(RBP, 8 * self.parameters)
        whole.add_number(RBX, -1)
        whole.jump("next")
        whole.label("used up")
        whole.load_register(R12, self.start)
        whole.load(0, self.kept_at_start)
        whole.save(self.kept, 0)
        whole.label("done")
        whole.load(0, self.kept)
        whole.save(Address(R15, None, 8), 0)
        whole.store_register(Address(R15, None, 16), RBX)
        whole.load_register(R9, Address(R15))
        whole.shift_left(R9, 3)
        whole.negate(R9)
        whole.add(R9, R13)
        whole.negate(R9)
        whole.add(R9, R12)
        whole.shift_right(R9, 3)
        whole.store_register(Address(R15, None, 24), R9)
        whole.add_number(RSP, frame)
        for register in reversed(_KEPT):
            whole.pop(register)
        whole.leave()
        return whole.finish()

    def place(self) -> Address:
        self._count += 1
        return Address(RSP, None, 8 * (self._count - 1))

    def label(self) -> str:
        self._labels += 1
        return f"label {self._labels}"

    # Statements

    def _body(self, tree: ast.FunctionDef, scope: Scope) -> None:
        self._block(tree.body, scope)

    def _block(self, statements: list[ast.stmt], scope: Scope) -> None:
        for statement in statements:
            match statement:
                case ast.Expr(ast.Constant()):
                    pass  # a docstring
                case ast.Assign([ast.Tuple(targets)], ast.Tuple(values)):
                    made = [self._saved(value, scope) for value in values]
                    for target, place in zip(targets, made, strict=True):
                        self.asm.load(0, place)
                        self.asm.save(self._place_of(target, scope), 0)
                case ast.Assign([target], value):
                    self._value(value, scope)
                    self.asm.save(self._place_of(target, scope), 0)
                case ast.AugAssign(ast.Name(name), operator, value):
                    self._value(ast.BinOp(ast.Name(name), operator, value), scope)
                    self.asm.save(scope.places[name], 0)
                case ast.If(test, body, otherwise):
                    self._if(test, body, otherwise, scope)
                case ast.While(test, body):
                    self._while(test, body, scope)
                case ast.Continue():
                    self.asm.jump(self._loops[-1])
                case ast.Return(ast.expr() as value):
                    self._value(value, scope)
                    self.asm.jump(scope.end)
                case _:
                    raise NotImplementedError(ast.unparse(statement))

    def _place_of(self, target: ast.expr, scope: Scope) -> Address:
        if isinstance(target, ast.Attribute):
            return self.kept
        assert isinstance(target, ast.Name)
        if target.id not in scope.places:
            scope.places[target.id] = self.place()
        return scope.places[target.id]

    def _if(self, test: ast.expr, body: list[ast.stmt], otherwise: list[ast.stmt], scope: Scope) -> None:
        yes, no, end = self.label(), self.label(), self.label()
        self._test(test, yes, no, scope)
        self.asm.label(yes)
        self._block(body, scope)
        self.asm.jump(end)
        self.asm.label(no)
        self._block(otherwise, scope)
        self.asm.label(end)

    def _while(self, test: ast.expr, body: list[ast.stmt], scope: Scope) -> None:
        again, inside, end = self.label(), self.label(), self.label()
        self.asm.label(again)
        self._test(test, inside, end, scope)
        self.asm.label(inside)
        self._loops.append(again)
        self._block(body, scope)
        self._loops.pop()
        self.asm.jump(again)
        self.asm.label(end)

    # Values, which end up in xmm0

    def _value(self, node: ast.expr, scope: Scope) -> None:
        asm = self.asm
        match node:
            case ast.BinOp(left, operator, right):
                self._two(left, right, scope)
                asm.apply(_ARITHMETIC[type(operator)], 0, 0, 1)
            case ast.UnaryOp(ast.USub(), operand):
                self._value(ast.BinOp(ast.Constant(-0.0), ast.Sub(), operand), scope)
            case ast.IfExp(test, body, otherwise):
                yes, no, end = self.label(), self.label(), self.label()
                self._test(test, yes, no, scope)
                asm.label(yes)
                self._value(body, scope)
                asm.jump(end)
                asm.label(no)
                self._value(otherwise, scope)
                asm.label(end)
            case ast.Subscript(ast.Name(table), ast.Call(ast.Name("int"), [index])):
                self._value(index, scope)
                asm.to_integer(RCX, 0)
                asm.shift_left(RCX, 3)
                asm.load_long(_table(scope.module[table]))
                asm.load(0, Address(RAX, RCX))
            case ast.Call(function, arguments):
                self._call(function, arguments, scope)
            case _:
                asm.load(0, self._known(node, scope))

    def _known(self, node: ast.expr, scope: Scope) -> Address | Pooled:
        """Where a variable or a constant is."""
        match node:
            case ast.Name(name):
                return scope.places[name] if name in scope.places else _constant(scope.module[name])
            case ast.Constant(value):
                return _constant(math.nan if value is None else value)  # type: ignore[arg-type]
            case ast.Attribute(ast.Name("math"), name):
                return _constant(getattr(math, name))
            case ast.Attribute(_, "_normal"):
                return self.kept
        raise NotImplementedError(ast.unparse(node))

    def _saved(self, node: ast.expr, scope: Scope) -> Address:
        self._value(node, scope)
        place = self.place()
        self.asm.save(place, 0)
        return place

    def _two(self, left: ast.expr, right: ast.expr, scope: Scope) -> None:
        """Two values, in xmm0 and xmm1."""
        if isinstance(right, (ast.Name, ast.Constant, ast.Attribute)):
            self._value(left, scope)
            self.asm.load(1, self._known(right, scope))
            return
        place = self._saved(left, scope)
        self._value(right, scope)
        self.asm.copy(1, 0)
        self.asm.load(0, place)

    def _call(self, function: ast.expr, arguments: list[ast.expr], scope: Scope) -> None:
        asm = self.asm
        match function, arguments:
            case ast.Attribute(_, "uniform"), []:
                asm.compare_numbers(R12, R13)
                asm.jump("used up", "outside")
                asm.load(0, Address(R12))
                asm.add_number(R12, 8)
            case ast.Attribute(ast.Name("reader"), method), []:
                self._repeat(getattr(scope.module["Reader"], method), [], scope)
            case ast.Name("abs"), [x]:
                self._value(x, scope)
                asm.drop_sign(0, 0)
            case ast.Attribute(ast.Name("math"), "sqrt"), [x]:
                self._value(x, scope)
                asm.apply(_SQRT, 0, 0, 0)
            case ast.Attribute(ast.Name("math"), "floor" | "ceil" as way), [x]:
                self._value(x, scope)
                asm.round_one(way, 0, 0)
            case ast.Attribute(ast.Name("math"), name), [x] if name in _CALLED:
                self._value(x, scope)
                self._libm(name)
            case ast.Name("_power"), [x, y]:  # which in Python has to catch what C calls infinity
                self._two(x, y, scope)
                self._libm("pow")
            case ast.Name(name), [ast.Name("reader"), *rest] | rest if name in scope.module:
                self._repeat(scope.module[name], rest, scope)
            case _:
                raise NotImplementedError(ast.unparse(function))

    def _libm(self, name: str) -> None:
        self.asm.load_long(_address(name))
        self.asm.call(RAX)

    def _repeat(self, function: Callable[..., float], arguments: list[ast.expr], scope: Scope) -> None:
        """Another function's code, with places of its own."""
        tree = _parsed(function)
        names = [a.arg for a in tree.args.args if a.arg not in ("reader", "self")]
        places = {name: self._saved(value, scope) for name, value in zip(names, arguments, strict=True)}
        end = self.label()
        self._body(tree, Scope(places, end, scope.module))
        self.asm.label(end)

    # Conditions, which jump

    def _test(self, node: ast.expr, yes: str, no: str, scope: Scope) -> None:
        match node:
            case ast.BoolOp(operator, values):
                for value in values[:-1]:
                    further = self.label()
                    self._test(value, *((further, no) if isinstance(operator, ast.And) else (yes, further)), scope)
                    self.asm.label(further)
                self._test(values[-1], yes, no, scope)
            case ast.UnaryOp(ast.Not(), operand):
                self._test(operand, no, yes, scope)
            case ast.Constant(True):
                self.asm.jump(yes)
            case ast.Compare(left, [ast.IsNot()], [ast.Constant(None)]):
                self._test(ast.Compare(left, [ast.Eq()], [left]), yes, no, scope)  # NaN stands for None
            case ast.Call(ast.Attribute(ast.Name("math"), "isnan"), [x]):
                self._test(ast.Compare(x, [ast.NotEq()], [x]), yes, no, scope)
            case ast.Compare(left, [operator], [right]):
                self._two(left, right, scope)
                self._relation(operator, yes)
                self.asm.jump(no)
            case _:
                self._test(ast.Compare(node, [ast.NotEq()], [ast.Constant(0.0)]), yes, no, scope)

    def _relation(self, operator: ast.cmpop, yes: str) -> None:
        """Jump if it holds between xmm0 and xmm1. Only "not equal" holds beside NaN."""
        asm = self.asm
        match operator:
            case ast.Lt() | ast.LtE():
                asm.compare_values(1, 0)
                asm.jump_if(_ABOVE if isinstance(operator, ast.Lt) else _AT_LEAST, yes)
            case ast.Gt() | ast.GtE():
                asm.compare_values(0, 1)
                asm.jump_if(_ABOVE if isinstance(operator, ast.Gt) else _AT_LEAST, yes)
            case ast.Eq():
                asm.compare_values(0, 1)
                nan = self.label()
                asm.jump_if(_UNORDERED, nan)
                asm.jump_if(_EQUAL, yes)
                asm.label(nan)
            case ast.NotEq():
                asm.compare_values(0, 1)
                asm.jump_if(_UNORDERED, yes)
                asm.jump_if(_NOT_EQUAL, yes)
            case _:
                raise NotImplementedError(ast.dump(operator))


def _parsed(function: Callable[..., Any]) -> ast.FunctionDef:
    tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    assert isinstance(tree, ast.FunctionDef)
    return tree


def _constant(value: float) -> Pooled:
    return Pooled(struct.unpack("<Q", struct.pack("<d", value))[0])


@lru_cache(None)
def _address(name: str) -> int:
    """Where a function of the C library is."""
    found = ctypes.cast(getattr(ctypes.CDLL("libm.so.6"), name), ctypes.c_void_p).value
    assert found
    return found


@lru_cache(None)
def _table(values: tuple[float, ...]) -> int:
    """Where a copy of these numbers is, for good."""
    array = np.array(values)
    _pages.keep(array)
    return int(array.ctypes.data)


@lru_cache(None)
def compiled(function: Callable[..., float]) -> Any:
    """`run(count, id(table), id(draws), id(out), id(state))` (see `Translator.finish`); None where that can't be had, as without the source."""
    if not _pages.available():
        return None
    try:
        return _pages.load_kernel(Translator(function).finish(), 5, 0)
    except OSError:  # no source, or no C library where it is expected
        return None


_NO_DRAWS = np.empty(0)


def over(function: Callable[..., float], *columns: np.ndarray) -> np.ndarray | None:
    """`function(*row)` for each row of the elements of flat arrays, as float64; None where no machine code runs."""
    run = compiled(function)
    if run is None:
        return None
    table = np.stack(columns, axis=1, dtype=np.float64)
    out, state = np.empty(len(table)), np.zeros(4)
    run(len(table), id(table), id(_NO_DRAWS), id(out), id(state))
    return out
