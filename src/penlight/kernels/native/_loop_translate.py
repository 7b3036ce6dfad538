"""Python functions with loops over arrays translated to instructions. See Note [Compiled loops] in loops.py, which says what is understood."""

from __future__ import annotations

import ast
import inspect
import math
import operator
import textwrap
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..compiler.x86 import address_of
from ._registers import Program, Value

_KINDS = {"Doubles": "f8", "Ints": "i8", "Bytes": "u1"}
_TYPES = {"f4": "f32", "f8": "f64", "i8": "i64", "u1": "b1"}  # in signatures
_OPERATORS = {
    ast.Add: ("+", operator.add), ast.Sub: ("-", operator.sub), ast.Mult: ("*", operator.mul), ast.Div: ("/", operator.truediv),
    ast.FloorDiv: ("//", operator.floordiv), ast.Mod: ("%", operator.mod),
}  # fmt: skip
_RELATIONS = {
    ast.Lt: ("<", operator.lt), ast.LtE: ("<=", operator.le), ast.Gt: (">", operator.gt), ast.GtE: (">=", operator.ge),
    ast.Eq: ("==", operator.eq), ast.NotEq: ("!=", operator.ne),
}  # fmt: skip
_OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}
_ROUNDINGS = {"floor": "floor", "ceil": "ceil", "trunc": "trunc"}
_CALLED = {"exp", "expm1", "log", "log1p", "pow", "sin", "cos", "tanh", "erf", "erfc", "lgamma"}


class _Array(NamedTuple):
    start: Value
    kind: str


class _Scope(NamedTuple):
    """A function in translation: what its names are, where a `return` goes and what it writes, and the module it is from."""

    names: dict[str, Any]
    module: dict[str, Any]
    end: str
    result: list[Value]


class _Translator:
    def __init__(self, function: Callable[..., None], kind: str, single: bool, known: dict[str, Any]) -> None:
        self.program = Program(single)
        self._loops: list[tuple[str, str]] = []  # where `continue` and `break` go
        tree = _parsed(function)
        names: dict[str, Any] = dict(known)
        self.parameters: list[tuple[Value, str]] = []
        self._arguments: list[tuple[str, str]] = []  # their names and element types
        for argument in tree.args.args:
            says = argument.annotation.id  # type: ignore[union-attr]
            value = self.program.value(says == "float")
            if says in ("int", "float"):
                names[argument.arg] = value
            else:
                names[argument.arg] = _Array(value, _KINDS.get(says, kind))
            self._arguments.append((argument.arg, says if says in ("int", "float") else _TYPES[_KINDS.get(says, kind)]))
            form = {"int": "whole", "float": "number"}.get(says, "array")
            self.parameters.append((value, form))
        scope = _Scope(names, function.__globals__, "end", [])  # type: ignore[attr-defined]
        self._block(tree.body, scope)
        self.program.add("label", None, more="end")

    def finish(self) -> tuple[bytes, str]:
        """The code, and its signature: see Note [Calling machine code]. Who calls it knows how large arrays must be."""
        steps = self.program.steps
        used = {id(operand) for step in steps for operand in step.sources}
        written = {id(step.sources[0]) for step in steps if step.name == "store"}
        arguments = []
        for (value, _), (name, kind) in zip(self.parameters, self._arguments):
            if kind == "int":
                arguments.append(name)
            elif kind == "float":
                arguments.append(f"{name}: float")
            else:
                words = "written " * (id(value) in written) + "optional " * (id(value) not in used)
                arguments.append(f"{name}: {words}{kind}")
        return self.program.finish(self.parameters), ", ".join(arguments)

    # Statements

    def _block(self, statements: list[ast.stmt], scope: _Scope) -> None:
        for statement in statements:
            self._statement(statement, scope)

    def _statement(self, statement: ast.stmt, scope: _Scope) -> None:
        program = self.program
        match statement:
            case ast.Expr(ast.Constant()) | ast.Pass():
                pass
            case ast.Assign([ast.Tuple(targets)], ast.Tuple(values)):
                made = [self._copied(self._value(value, scope)) for value in values]
                for target, value in zip(targets, made, strict=True):
                    self._set(target, value, scope)
            case ast.Assign(targets, value):
                if len(targets) == 1 and isinstance(targets[0], ast.Name):
                    self._assign(targets[0].id, value, scope)
                else:
                    operand = self._value(value, scope)
                    for target in targets:
                        self._set(target, operand, scope)
            case ast.AnnAssign(ast.Name(name), _, ast.expr() as value):
                self._assign(name, value, scope)
            case ast.AugAssign(ast.Name(name), op, value):
                self._assign(name, ast.BinOp(ast.Name(name), op, value), scope)
            case ast.AugAssign(ast.Subscript(ast.Name(name), index), op, value):
                array = scope.names[name]
                place, offset = self._index(index, scope)
                is_float = array.kind in ("f4", "f8")
                more = (array.kind, offset)
                now = self._made("load", is_float, None, array.start, place, more=more)
                sign = "f" * is_float + _OPERATORS[type(op)][0]
                changed = self._made(sign, is_float, None, now, self._as(self._value(value, scope), is_float))
                program.add("store", None, array.start, place, changed, more=more)
            case ast.If(test, body, otherwise):
                self._if(test, body, otherwise, scope)
            case ast.While(test, body):
                again, inside, end = program.label(), program.label(), program.label()
                program.begin_loop()
                program.add("label", None, more=again)
                self._test(test, inside, end, scope)
                program.add("label", None, more=inside)
                self._loop(body, again, end, scope)
                program.add("jump", None, more=again)
                program.end_loop()
                program.add("label", None, more=end)
            case ast.For(ast.Name(name), ast.Call(ast.Name("range"), limits), body):
                self._for(name, limits, body, scope)
            case ast.Continue() | ast.Break():
                program.add("jump", None, more=self._loops[-1][isinstance(statement, ast.Break)])
            case ast.Return(value):
                if value is not None:
                    operand = self._value(value, scope)
                    if not scope.result:
                        scope.result.append(program.value(self._is_float(operand)))
                    program.add("move", scope.result[0], self._as(operand, scope.result[0].is_float))
                program.add("jump", None, more=scope.end)
            case _:
                raise NotImplementedError(ast.unparse(statement))

    def _loop(self, body: list[ast.stmt], again: str, end: str, scope: _Scope) -> None:
        self._loops.append((again, end))
        self._block(body, scope)
        self._loops.pop()

    def _for(self, name: str, limits: list[ast.expr], body: list[ast.stmt], scope: _Scope) -> None:
        program = self.program
        low = self._value(limits[0], scope) if len(limits) > 1 else 0
        high = self._value(limits[len(limits) > 1], scope)
        step = self._value(limits[2], scope) if len(limits) > 2 else 1
        changed = {n.id for s in body for n in ast.walk(s) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        if any(scope.names.get(other) is high for other in changed):
            high = self._copied(high)
        named = scope.names.get(name)
        if not isinstance(named, Value):
            scope.names[name] = named = program.value(False)
        elif named is high:
            high = self._copied(high)
        # As in Python, what the body makes of the name does not matter to the loop.
        counter = program.value(False) if name in changed else named
        program.add("move", counter, low)
        again, following, end = program.label(), program.label(), program.label()
        program.add("jump_if", None, counter, high, more=(">=", end))
        program.begin_loop()
        program.add("label", None, more=again)
        if counter is not named:
            program.add("move", named, counter)
        self._loop(body, following, end, scope)
        program.add("label", None, more=following)
        program.add("+", counter, counter, step)
        program.add("jump_if", None, counter, high, more=("<", again))
        program.end_loop()
        program.add("label", None, more=end)

    def _if(self, test: ast.expr, body: list[ast.stmt], otherwise: list[ast.stmt], scope: _Scope) -> None:
        holds = self._known(test, scope)
        if holds is not None:
            self._block(body if holds else otherwise, scope)
            return
        program = self.program
        yes, no, end = program.label(), program.label(), program.label()
        self._test(test, yes, no, scope)
        program.add("label", None, more=yes)
        self._block(body, scope)
        if otherwise:
            program.add("jump", None, more=end)
        program.add("label", None, more=no)
        self._block(otherwise, scope)
        program.add("label", None, more=end)

    def _assign(self, name: str, value: ast.expr, scope: _Scope) -> None:
        there = scope.names.get(name)
        if isinstance(there, Value):
            made = self._value(value, scope, there)
            if made is not there:
                self.program.add("move", there, self._as(made, there.is_float))
            return
        made = self._value(value, scope)
        scope.names[name] = self._copied(made) if self._shared(made, scope) else made

    def _shared(self, made: Any, scope: _Scope) -> bool:
        """Whether an operand is more than a new value: a number, or another name's value."""
        return not isinstance(made, Value) or any(made is other for other in scope.names.values())

    def _copied(self, operand: Any) -> Value:
        return self.program.add("move", self.program.value(self._is_float(operand)), operand)

    def _set(self, target: ast.expr, operand: Any, scope: _Scope) -> None:
        match target:
            case ast.Name(name):
                there = scope.names.get(name)
                if isinstance(there, Value):
                    self.program.add("move", there, self._as(operand, there.is_float))
                else:
                    scope.names[name] = self._copied(operand)
            case ast.Subscript(ast.Name(name), index):
                array = scope.names[name]
                place, offset = self._index(index, scope)
                operand = self._as(operand, array.kind in ("f4", "f8"))
                self.program.add("store", None, array.start, place, operand, more=(array.kind, offset))
            case _:
                raise NotImplementedError(ast.unparse(target))

    # Values

    def _is_float(self, operand: Any) -> bool:
        return operand.is_float if isinstance(operand, Value) else isinstance(operand, float)

    def _as(self, operand: Any, is_float: bool) -> Any:
        """An operand as a float, if one is wanted; floats don't become whole numbers of themselves."""
        if self._is_float(operand) == is_float:
            return operand
        if not is_float:
            raise TypeError("a name for whole numbers is given a float")
        if isinstance(operand, int):
            return float(operand)
        return self.program.add("to_float", self.program.value(True), operand)

    def _index(self, node: ast.expr, scope: _Scope) -> tuple[Any, int]:
        """An index and what is to be added to it."""
        match node:
            case ast.BinOp(left, ast.Add() | ast.Sub() as op, right):
                number = self._known(right, scope)
                if isinstance(number, int):
                    return self._value(left, scope), number if isinstance(op, ast.Add) else -number
        return self._value(node, scope), 0

    def _known(self, node: ast.expr, scope: _Scope) -> Any:
        """What an expression is, if that can be told now; else None."""
        match node:
            case ast.Constant(value):
                return value
            case ast.Name(name):
                found = scope.names.get(name, scope.module.get(name))
                return found if isinstance(found, (int, float)) else None
            case ast.Attribute(ast.Name("math"), name):
                found = getattr(math, name)
                return found if isinstance(found, float) else None
            case ast.UnaryOp(op, operand):
                value = self._known(operand, scope)
                return None if value is None else not value if isinstance(op, ast.Not) else -value
            case ast.BinOp(left, op, right):
                a, b = self._known(left, scope), self._known(right, scope)
                return None if a is None or b is None else _OPERATORS[type(op)][1](a, b)
            case ast.Compare(left, [op], [right]):
                a, b = self._known(left, scope), self._known(right, scope)
                return None if a is None or b is None else _RELATIONS[type(op)][1](a, b)
            case ast.BoolOp(op, values):
                found = [self._known(value, scope) for value in values]
                decides = isinstance(op, ast.Or)
                if any(value is not None and bool(value) == decides for value in found):
                    return decides
                return None if None in found else not decides
        return None

    def _value(self, node: ast.expr, scope: _Scope, into: Value | None = None) -> Any:
        """A number that is known, or the value that an expression is computed to, `into` if that suits."""
        known = self._known(node, scope)
        if known is not None:
            return known
        match node:
            case ast.Name(name):
                return scope.names[name]
            case ast.BinOp(left, op, right):
                return self._arithmetic(_OPERATORS[type(op)][0], left, right, scope, into)
            case ast.UnaryOp(ast.USub(), operand):
                value = self._value(operand, scope)
                if value.is_float:
                    return self._made("negative", True, into, value)
                return self._made("-", False, into, 0, value)
            case ast.IfExp(test, body, otherwise):
                return self._either(test, body, otherwise, scope, into)
            case ast.Compare() | ast.BoolOp() | ast.UnaryOp(ast.Not()):
                return self._either(node, ast.Constant(1), ast.Constant(0), scope, into)
            case ast.Subscript(ast.Name(name), index):
                array = scope.names[name]
                place, offset = self._index(index, scope)
                more = (array.kind, offset)
                return self._made("load", array.kind in ("f4", "f8"), into, array.start, place, more=more)
            case ast.Call(function, arguments):
                return self._call(function, arguments, scope, into)
        raise NotImplementedError(ast.unparse(node))

    def _made(self, name: str, is_float: bool, into: Value | None, *sources: Any, more: Any = None) -> Value:
        target = into if into is not None and into.is_float == is_float else self.program.value(is_float)
        return self.program.add(name, target, *sources, more=more)

    def _arithmetic(self, sign: str, left: ast.expr, right: ast.expr, scope: _Scope, into: Value | None) -> Value:
        a, b = self._value(left, scope), self._value(right, scope)
        if sign == "/" or self._is_float(a) or self._is_float(b):
            return self._made("f" + sign, True, into, self._as(a, True), self._as(b, True))
        return self._made(sign, False, into, a, b)

    def _either(self, test: ast.expr, body: ast.expr, otherwise: ast.expr, scope: _Scope, into: Value | None) -> Value:
        holds = self._known(test, scope)
        if holds is not None:
            return self._value(body if holds else otherwise, scope, into)
        program = self.program
        yes, no, end = program.label(), program.label(), program.label()
        is_float = (
            into.is_float if into is not None else self._says_float(body, scope) or self._says_float(otherwise, scope)
        )
        result = into if into is not None else program.value(is_float)
        self._test(test, yes, no, scope)
        for label, node in ((yes, body), (no, otherwise)):
            program.add("label", None, more=label)
            made = self._value(node, scope, result)
            if made is not result:
                program.add("move", result, self._as(made, result.is_float))
            if label == yes:
                program.add("jump", None, more=end)
        program.add("label", None, more=end)
        return result

    def _says_float(self, node: ast.expr, scope: _Scope) -> bool:
        """Whether an expression is a float, without translating it."""
        known = self._known(node, scope)
        if known is not None:
            return isinstance(known, float)
        match node:
            case ast.Name(name):
                return scope.names[name].is_float
            case ast.BinOp(left, op, right):
                return isinstance(op, ast.Div) or self._says_float(left, scope) or self._says_float(right, scope)
            case ast.UnaryOp(ast.USub(), operand):
                return self._says_float(operand, scope)
            case ast.IfExp(_, body, otherwise):
                return self._says_float(body, scope) or self._says_float(otherwise, scope)
            case ast.Subscript(ast.Name(name), _):
                return scope.names[name].kind in ("f4", "f8")
            case ast.Call(ast.Name("min" | "max" | "abs"), arguments):
                return any(self._says_float(a, scope) for a in arguments)
            case ast.Call(ast.Name("int"), _) | ast.Compare() | ast.BoolOp() | ast.UnaryOp(ast.Not()):
                return False
        return True

    def _call(self, function: ast.expr, arguments: list[ast.expr], scope: _Scope, into: Value | None) -> Value:
        program = self.program
        match function, arguments:
            case ast.Name("min" | "max" as name), [left, right]:
                a, b = self._value(left, scope), self._value(right, scope)
                if self._is_float(a) or self._is_float(b):
                    return self._made("f" + name, True, into, self._as(a, True), self._as(b, True))
                return self._made("smaller" if name == "min" else "larger", False, into, a, b)
            case ast.Name("abs"), [x]:
                return self._made("abs", True, into, self._value(x, scope))
            case ast.Name("round"), [x]:
                return self._made("nearest", True, into, self._value(x, scope))
            case ast.Name("int"), [x]:
                return self._made("to_whole", False, into, self._value(x, scope))
            case ast.Name("float"), [x]:
                return self._as(self._value(x, scope), True)
            case ast.Name("fma"), operands:
                return self._made("fused", True, into, *[self._as(self._value(x, scope), True) for x in operands])
            case ast.Attribute(ast.Name("math"), "sqrt" | "floor" | "ceil" | "trunc" as name), [x]:
                return self._made(name, True, into, self._as(self._value(x, scope), True))
            case ast.Attribute(ast.Name("math"), name), operands if name in _CALLED:
                found = [self._as(self._value(x, scope), True) for x in operands]
                return self._made("call", True, into, *found, more=address_of(name + "f" * program.single))
            case ast.Name(name), operands if callable(scope.module.get(name)):
                return self._repeat(scope.module[name], operands, scope)
        raise NotImplementedError(ast.unparse(function))

    def _repeat(self, function: Callable[..., Any], arguments: list[ast.expr], scope: _Scope) -> Value:
        """Another function's code, with names of its own."""
        tree = _parsed(function)
        names: dict[str, Any] = {}
        changed = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        for parameter, argument in zip(tree.args.args, arguments, strict=True):
            value = scope.names[argument.id] if isinstance(argument, ast.Name) and argument.id in scope.names else None
            if not isinstance(value, _Array):
                value = self._value(argument, scope)
                if parameter.annotation is not None and ast.unparse(parameter.annotation) == "float":
                    value = self._as(value, True)
                if parameter.arg in changed:
                    value = self._copied(value)
            names[parameter.arg] = value
        inner = _Scope(names, function.__globals__, self.program.label(), [])  # type: ignore[attr-defined]
        if tree.returns is not None and ast.unparse(tree.returns) in ("int", "float"):
            inner.result.append(self.program.value(ast.unparse(tree.returns) == "float"))
        self._block(tree.body, inner)
        self.program.add("label", None, more=inner.end)
        return inner.result[0]

    # Conditions

    def _test(self, node: ast.expr, yes: str, no: str, scope: _Scope) -> None:
        """Jump to one of two labels, of which `yes` follows, or will be jumped to from what does."""
        holds = self._known(node, scope)
        program = self.program
        if holds is not None:
            program.add("jump", None, more=yes if holds else no)
            return
        match node:
            case ast.BoolOp(op, values):
                for value in values[:-1]:
                    further = program.label()
                    self._test(value, *((further, no) if isinstance(op, ast.And) else (yes, further)), scope)
                    program.add("label", None, more=further)
                self._test(values[-1], yes, no, scope)
            case ast.UnaryOp(ast.Not(), operand):
                self._test(operand, no, yes, scope)
            case ast.Compare(left, [op], [right]):
                self._relation(_RELATIONS[type(op)][0], left, right, yes, no, scope)
            case ast.Compare(left, [first, second], [middle, right]):
                pair: list[ast.expr] = [ast.Compare(left, [first], [middle]), ast.Compare(middle, [second], [right])]
                self._test(ast.BoolOp(ast.And(), pair), yes, no, scope)
            case _:
                self._test(ast.Compare(node, [ast.NotEq()], [ast.Constant(0)]), yes, no, scope)

    def _relation(self, sign: str, left: ast.expr, right: ast.expr, yes: str, no: str, scope: _Scope) -> None:
        a, b = self._value(left, scope), self._value(right, scope)
        add = self.program.add
        if not self._is_float(a) and not self._is_float(b):
            add("jump_if", None, a, b, more=(_OPPOSITE[sign], no))
        else:
            a, b = self._as(a, True), self._as(b, True)
            if sign in ("<", "<="):
                a, b, sign = b, a, ">" + sign[1:]
            if sign == "==":
                add("float_jump", None, a, b, more=("!=", no))
            elif sign == "!=":
                add("float_jump", None, a, b, more=("==", no))
            else:
                add("float_jump", None, a, b, more=("not " + sign, no))
        add("jump", None, more=yes)


def _parsed(function: Callable[..., Any]) -> ast.FunctionDef:
    tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    assert isinstance(tree, ast.FunctionDef)
    return tree


def translate(function: Callable[..., None], dtype: np.dtype, wide: bool = False, **known: Any) -> tuple[bytes, str]:
    """The machine code of a function, and its signature. See `run_of`."""
    single = dtype == np.float32
    return _Translator(function, "f4" if single else "f8", single and not wide, known).finish()
