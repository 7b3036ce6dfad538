"""Python functions of numbers, translated to machine code statement by statement. See Note [Compiled scalars] in scalar.py."""

from __future__ import annotations

import ast
import ctypes
import linecache
import math
import struct
import sys
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from . import _pages
from ._x86 import R12, R13, RAX, RCX, ROUNDINGS, RSP, Address, Assembler, Operand, Pooled

_ARITHMETIC = {ast.Add: 0x58, ast.Mult: 0x59, ast.Sub: 0x5C, ast.Div: 0x5E}
_ADD, _MULTIPLY, _DIVIDE, _SQRT = 0x58, 0x59, 0x5E, 0x51
_ABOVE, _AT_LEAST, _EQUAL, _NOT_EQUAL, _UNORDERED = b"\x0f\x87", b"\x0f\x83", b"\x0f\x84", b"\x0f\x85", b"\x0f\x8a"
_CALLED = {"log", "log1p", "exp", "expm1", "pow", "lgamma", "sin", "cos", "acos"}


class Scalars(Assembler):
    """The instructions on single numbers: of float64, or of float32 while `single` holds."""

    single = False

    def load(self, target: int, source: Operand) -> None:
        if isinstance(source, int):
            self.copy(target, source)
        else:
            self._vector("vmovsd", 0x10, 1, 2 if self.single else 3, target, source, wide=False)

    def save(self, target: int | Address, source: int) -> None:
        if isinstance(target, int):
            self.copy(target, source)
        else:
            self.store_one(target, source, double=not self.single)

    def to_double(self, register: int) -> None:
        """A float32 as float64."""
        self._vector("vcvtss2sd", 0x5A, 1, 2, register, register, register, wide=False)

    def to_single(self, register: int) -> None:
        """A float64 as float32."""
        self._vector("vcvtsd2ss", 0x5A, 1, 3, register, register, register, wide=False)

    def copy(self, target: int, source: int) -> None:
        self._vector("vmovaps", 0x28, 1, 0, target, source, wide=False)

    def apply(self, opcode: int, target: int, first: int, second: Operand) -> None:
        self._vector("arithmetic", opcode, 1, 2 if self.single else 3, target, second, first, wide=False)

    def round_one(self, way: str, target: int, source: int) -> None:
        opcode, tail = 0x0A if self.single else 0x0B, bytes((ROUNDINGS[way],))
        self._vector("vroundsd", opcode, 3, 1, target, source, source, tail, wide=False)

    def drop_sign(self, target: int, source: int) -> None:
        mask = Pooled((1 << 31) - 1 if self.single else (1 << 63) - 1)
        self._vector("vandpd", 0x54, 1, 1, target, mask, source, wide=False)

    def compare_values(self, first: int, second: Operand) -> None:
        self._vector("vucomisd", 0x2E, 1, 0 if self.single else 1, first, second, wide=False)

    def to_integer(self, target: int, source: int) -> None:
        self._vector("vcvttsd2si", 0x2C, 1, 3 | 0x80, target, source, wide=False)

    def load_long(self, number: int) -> None:
        self._raw(b"\x48\xb8" + struct.pack("<Q", number), f"mov rax, {number:#x}")

    def jump_if(self, opcode: bytes, to: str) -> None:
        self._raw(opcode + bytes(4), f"jump {opcode.hex()} {to}")
        self._jumps.append((len(self.code) - 4, to))

    def constant(self, value: float) -> Pooled:
        """A number behind the code."""
        if self.single:
            return Pooled(struct.unpack("<I", struct.pack("<f", value))[0])
        return Pooled(struct.unpack("<Q", struct.pack("<d", value))[0])

    def _vector(
        self,
        text: str,
        opcode: int,
        space: int,
        pp: int,
        register: int,
        other: Operand,
        second: int = 0,
        tail: bytes = b"",
        wide: bool = True,
    ) -> None:
        """Without the listing, whose text takes longer than the code."""
        upper = other if type(other) is int else other.base if type(other) is Address else 0
        index = other.step if type(other) is Address and other.step is not None else 0
        first = (register < 8) << 7 | (index < 8) << 6 | (upper < 8) << 5 | space
        self.code += bytes((0xC4, first, (~second & 15) << 3 | wide << 2 | pp, opcode))
        self._operand(register, other, tail)


Place = int | Address  # of a variable: a register, or on the stack


class Scope(NamedTuple):
    """A function in translation: where its variables are, where a `return` goes, the module that it is from, and which variables its loops use."""

    places: dict[str, Place]
    end: str
    module: dict[str, Any]
    hot: frozenset[str]


class Translator:
    """A function of numbers, and perhaps of a reader, in translation: it ends at the label "result" with its value in xmm0.

    Variables have places on the stack. Those of loops that call no function of the C library are in registers as long as there are any; such functions
    may overwrite all of them, so registers are kept on the stack during a call.
    """

    def __init__(self, function: Callable[..., float], single: bool = False) -> None:
        self.asm = Scalars()
        self.asm.single = single
        self._count = 0  # places on the stack
        self._labels = 0
        self._loops: list[str] = []
        self._free, self._taken = list(range(15, 3, -1)), list[int]()  # registers
        self._homes: dict[int, Address] = {}  # where they are kept during a call
        self.kept = self.place()
        tree = parsed(function)
        hot = hot_names(tree, function.__globals__)  # type: ignore[attr-defined]
        self.parameters = [self.parameter(i, name in hot) for i, name in enumerate(numbers_of(tree))]
        places = dict(zip(numbers_of(tree), self.parameters))
        self._block(tree.body, Scope(places, "result", function.__globals__, hot))  # type: ignore[attr-defined]

    def parameter(self, i: int, hot: bool) -> Place:
        """Where the function finds its i-th number."""
        return self.place_for(hot)

    @property
    def frame(self) -> int:
        """How many bytes of the stack it takes, if functions are to find that aligned to 16 behind a return address and six registers."""
        return 8 * self._count + (8 if self._count % 2 == 0 else 0)

    def place(self) -> Address:
        self._count += 1
        return Address(RSP, None, 8 * (self._count - 1))

    def place_for(self, hot: bool) -> Place:
        """The place of a new variable."""
        if not hot or not self._free:
            return self.place()
        self._taken.append(self._free.pop())
        return self._taken[-1]

    def label(self) -> str:
        self._labels += 1
        return f"label {self._labels}"

    # Statements

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
                case ast.For(ast.Name(name), ast.Name(table), body):  # over a table of the module, turn by turn
                    for row in scope.module[table]:
                        self._block(body, scope._replace(module=scope.module | {name: row}))
                case ast.Continue():
                    self.asm.jump(self._loops[-1])
                case ast.Return(ast.expr() as value):
                    self._value(value, scope)
                    self.asm.jump(scope.end)
                case _:
                    raise NotImplementedError(ast.unparse(statement))

    def _place_of(self, target: ast.expr, scope: Scope) -> Place:
        if isinstance(target, ast.Attribute):
            return self.kept
        assert isinstance(target, ast.Name)
        if target.id not in scope.places:
            scope.places[target.id] = self.place_for(target.id in scope.hot)
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
                asm.apply(_ARITHMETIC[type(operator)], 0, 0, self._two(left, right, scope))
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

    def _known(self, node: ast.expr, scope: Scope) -> Operand:
        """Where a variable or a constant is."""
        match node:
            case ast.Name(name):
                return scope.places[name] if name in scope.places else self.asm.constant(scope.module[name])
            case ast.Constant(value):
                return self.asm.constant(math.nan if value is None else value)  # type: ignore[arg-type]
            case ast.Attribute(ast.Name("math"), name):
                return self.asm.constant(getattr(math, name))
            case ast.Attribute(_, "_normal"):
                return self.kept
        raise NotImplementedError(ast.unparse(node))

    def _saved(self, node: ast.expr, scope: Scope) -> Address:
        self._value(node, scope)
        place = self.place()
        self.asm.save(place, 0)
        return place

    def _two(self, left: ast.expr, right: ast.expr, scope: Scope) -> Operand:
        """Two values: the first in xmm0, the second where the result says."""
        if isinstance(right, (ast.Name, ast.Constant, ast.Attribute)):
            self._value(left, scope)
            return self._known(right, scope)
        if isinstance(left, (ast.Name, ast.Constant, ast.Attribute)):
            place = self._known(left, scope)
        else:
            place = self._saved(left, scope)
        self._value(right, scope)
        self.asm.copy(1, 0)
        self.asm.load(0, place)
        return 1

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
            case ast.Attribute(ast.Name("math"), "pow") | ast.Name("_power"), [
                x,
                y,
            ]:  # the latter catches what C calls infinity
                second = self._two(x, y, scope)
                if second != 1:
                    asm.load(1, second)
                self._libm("pow")
            case ast.Name("horner" | "horner_monic" | "rational" as name), [*tables, x]:
                self._polynomials(name, [scope.module[t.id] for t in tables], x, scope)  # type: ignore[attr-defined]
            case ast.Name(name), [ast.Name("reader"), *rest] | rest if name in scope.module:
                self._repeat(scope.module[name], rest, scope)
            case _:
                raise NotImplementedError(ast.unparse(function))

    def _libm(self, name: str) -> None:
        asm = self.asm
        if asm.single:
            raise NotImplementedError(f"math.{name} in float32")
        for register in self._taken:
            if register not in self._homes:
                self._homes[register] = self.place()
            asm.save(self._homes[register], register)
        asm.load_long(address_of(name))
        asm.call(RAX)
        for register in self._taken:
            asm.load(register, self._homes[register])

    def _polynomials(self, name: str, tables: list[tuple[float, ...]], x: ast.expr, scope: Scope) -> None:
        """The functions of `special_common` with these names, of constant coefficients."""
        self._value(x, scope)
        self.asm.copy(1, 0)
        for table, target, monic in zip(tables, (0, 2), (name == "horner_monic", True)):
            if monic:
                self.asm.apply(_ADD, target, 1, self.asm.constant(table[0]))
            else:
                self.asm.load(target, self.asm.constant(table[0]))
            for c in table[1:]:
                self.asm.apply(_MULTIPLY, target, target, 1)
                self.asm.apply(_ADD, target, target, self.asm.constant(c))
        if len(tables) == 2:
            self.asm.apply(_DIVIDE, 0, 0, 2)

    def _repeat(self, function: Callable[..., float], arguments: list[ast.expr], scope: Scope) -> None:
        """Another function's code, with places of its own."""
        asm, tree = self.asm, parsed(function)
        module = function.__globals__  # type: ignore[attr-defined]
        before, hot, single = len(self._taken), hot_names(tree, module), asm.single
        wider = single and hasattr(function, "wide")
        places: dict[str, Place] = {}
        for name, value in zip(numbers_of(tree), arguments, strict=True):
            self._value(value, scope)
            if wider:
                asm.to_double(0)
            places[name] = self.place_for(name in hot)
            asm.single = single and not wider
            asm.save(places[name], 0)
            asm.single = single
        asm.single = single and not wider
        end = self.label()
        self._block(tree.body, Scope(places, end, module, hot))
        asm.label(end)
        if wider:
            asm.to_single(0)
        asm.single = single
        while len(self._taken) > before:
            self._free.append(self._taken.pop())

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
            case ast.IfExp(which, one, other):
                first, second = self.label(), self.label()
                self._test(which, first, second, scope)
                self.asm.label(first)
                self._test(one, yes, no, scope)
                self.asm.label(second)
                self._test(other, yes, no, scope)
            case ast.Constant(True):
                self.asm.jump(yes)
            case ast.Compare(left, [ast.IsNot()], [ast.Constant(None)]):
                self._test(ast.Compare(left, [ast.Eq()], [left]), yes, no, scope)  # NaN stands for None
            case ast.Call(ast.Attribute(ast.Name("math"), "isnan"), [x]):
                self._test(ast.Compare(x, [ast.NotEq()], [x]), yes, no, scope)
            case ast.Compare(left, [operator], [right]):
                self._relation(operator, self._two(left, right, scope), yes)
                self.asm.jump(no)
            case ast.Compare(left, [first, second], [middle, right]):
                pair: list[ast.expr] = [ast.Compare(left, [first], [middle]), ast.Compare(middle, [second], [right])]
                self._test(ast.BoolOp(ast.And(), pair), yes, no, scope)
            case _:
                self._test(ast.Compare(node, [ast.NotEq()], [ast.Constant(0.0)]), yes, no, scope)

    def _relation(self, operator: ast.cmpop, second: Operand, yes: str) -> None:
        """Jump if it holds between xmm0 and another value. Only "not equal" holds beside NaN."""
        asm = self.asm
        match operator:
            case ast.Lt() | ast.LtE():
                if second != 1:
                    asm.load(1, second)
                asm.compare_values(1, 0)
                asm.jump_if(_ABOVE if isinstance(operator, ast.Lt) else _AT_LEAST, yes)
            case ast.Gt() | ast.GtE():
                asm.compare_values(0, second)
                asm.jump_if(_ABOVE if isinstance(operator, ast.Gt) else _AT_LEAST, yes)
            case ast.Eq():
                asm.compare_values(0, second)
                nan = self.label()
                asm.jump_if(_UNORDERED, nan)
                asm.jump_if(_EQUAL, yes)
                asm.label(nan)
            case ast.NotEq():
                asm.compare_values(0, second)
                asm.jump_if(_UNORDERED, yes)
                asm.jump_if(_NOT_EQUAL, yes)
            case _:
                raise NotImplementedError(ast.dump(operator))


def parsed(function: Callable[..., Any]) -> ast.FunctionDef:
    """A function's definition."""
    code = function.__code__  # type: ignore[attr-defined]
    found = _definitions(code.co_filename, function.__module__).get(code.co_firstlineno)
    if found is None:
        raise OSError(f"the source of {function.__qualname__} was not found")
    return found


@lru_cache(None)
def _definitions(file: str, module: str) -> dict[int, ast.FunctionDef]:
    """The functions of a file and the methods of its classes, by their first lines."""
    body: list[ast.stmt] = ast.parse("".join(linecache.getlines(file, vars(sys.modules[module])))).body
    body = [inner for node in body for inner in (node.body if isinstance(node, ast.ClassDef) else (node,))]
    functions = [node for node in body if isinstance(node, ast.FunctionDef)]
    return {min([node.lineno, *[d.lineno for d in node.decorator_list]]): node for node in functions}


def hot_names(tree: ast.FunctionDef, module: dict[str, Any]) -> frozenset[str]:
    """The names in a function's loops, of those that call nothing of the C library."""
    loops = [node for node in ast.walk(tree) if isinstance(node, ast.While) and _calls_nothing(node, module)]
    return frozenset([node.id for loop in loops for node in ast.walk(loop) if isinstance(node, ast.Name)])


def _calls_nothing(tree: ast.AST, module: dict[str, Any]) -> bool:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) not in _INSTRUCTIONS:
            function = module.get(node.func.id) if isinstance(node.func, ast.Name) else None
            if function is None or not _calls_nothing(parsed(function), function.__globals__):
                return False
    return True


_INSTRUCTIONS = {"abs", "math.sqrt", "math.floor", "math.ceil", "math.isnan", "reader.uniform", "horner", "rational"}


def numbers_of(tree: ast.FunctionDef) -> list[str]:
    """The names of a function's parameters that are numbers."""
    return [a.arg for a in tree.args.args if a.arg not in ("reader", "self")]


@lru_cache(None)
def address_of(name: str) -> int:
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
