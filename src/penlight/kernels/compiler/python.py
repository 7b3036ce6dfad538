"""Python functions -> IR. The only reader of syntax trees.

Note [What a kernel may say]
A kernel is a function of scalars, or of scalars and flat arrays, in a small part of Python: assignments, `if`,
`while`, `for` over a `range`, over a tuple of known length or over a generator of the module, `break`, `continue`, `return`;
ranges marked `reassociated` or `simd`; arithmetic, comparisons, `and`, `or`, `not`; `min` and `max` of two, `abs`, `int`,
`float`, `round` (to even), `fma` and `checked` of loops.py, functions of `math`; numbers and tuples
of the module; `zip` of tuples; and calls of other functions, of scalars or arrays, which are inlined. A generator is inlined
around the body of the loop over it: so kernels can share a loop nest. `math.floor` and the like return floats. An object of a
class of the module is represented by its attributes, and its methods are inlined, too. Anything else raises NotImplementedError
when the function is read, which a test does for every kernel.

Integers and floats are distinguished as in Python, and a name that a loop carries is one or the other throughout. The Python
function is the specification: its results equal those of its IR except for rounding, and for errors that Python raises where the
C library returns NaN or infinity.

Note [Leaving a block]
IR has no jumps. The statements after `if c: return x` go into the other branch. If that is not enough, a `return`, `break` or
`continue` sets the name `$exited`, and a condition on it guards the statements that follow; `$broken` ends the innermost loop,
and `$returned` with `$value` ends all loops of the function. They are ordinary names, so conditions join them and loops carry
them.
"""

from __future__ import annotations

import ast
import linecache
import math
import operator
import sys
import textwrap
from collections.abc import Callable
from functools import lru_cache
from inspect import isgeneratorfunction
from typing import Any, NamedTuple

from . import ir
from .ir import BOOL, F64, I64, Buffer, Builder, Kernel, Op, Type
from .loops import checked, fma
from .vectorise import vectorised

_ARITHMETIC: dict[type[ast.operator], tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Add: ("add", operator.add), ast.Sub: ("sub", operator.sub), ast.Mult: ("mul", operator.mul),
    ast.Div: ("div", operator.truediv), ast.FloorDiv: ("idiv", operator.floordiv), ast.Mod: ("mod", operator.mod),
}  # fmt: skip
# The relation, and whether its operands are swapped.
_RELATIONS: dict[type[ast.cmpop], tuple[str, bool, Callable[[Any, Any], Any]]] = {
    ast.Lt: ("lt", False, operator.lt), ast.LtE: ("le", False, operator.le), ast.Gt: ("lt", True, operator.gt),
    ast.GtE: ("le", True, operator.ge), ast.Eq: ("eq", False, operator.eq), ast.NotEq: ("ne", False, operator.ne),
}  # fmt: skip
_ROUNDINGS = ("floor", "ceil", "trunc")
_MARKS = ("reassociated", "simd")  # functions of loops.py
_ARRAYS = {"Doubles": F64, "Ints": I64, "Bytes": ir.U8}


class Array(NamedTuple):
    """The value of an array's name."""

    buffer: Buffer


class Record(NamedTuple):
    """The value of an object's name: its attributes are names that begin with `prefix`."""

    prefix: str
    kind: type


class Scope(NamedTuple):
    """A function that is being read: the prefix of its names, its module, its return type, the loop over its yielded values with
    that loop's scope, and whether this is inside one of its loops."""

    prefix: str
    module: dict[str, Any]
    returns: Type
    consumer: tuple[ast.For, Scope] | None = None
    in_loop: bool = False


class Reader:
    """Reads statements and builds IR. `names` holds each name's current value: a Python number if it is known, an IR value, or
    one of the above."""

    def __init__(self, compute: Type, read_only: frozenset[str]) -> None:
        self.build = Builder(read_only)
        self.compute = compute
        self.names: dict[str, Any] = {}
        self._calls = 0

    # ----- Statements -------------------------------------------------------------------------------------------------

    def block(self, statements: list[ast.stmt], scope: Scope) -> None:
        exited = scope.prefix + "$exited"
        for i, statement in enumerate(statements):
            if isinstance(statement, ast.If):
                if self._if(statement, statements[i + 1 :], scope):
                    return
            elif isinstance(statement, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr)):
                self._assignment(statement, scope)
                continue
            else:
                self._statement(statement, scope)
            flag = self.names.get(exited, False)
            if flag is True:
                return
            if flag is not False:  # See Note [Leaving a block].
                self._unless(flag, statements[i + 1 :], scope)
                return

    def _unless(self, flag: Op, statements: list[ast.stmt], scope: Scope) -> None:
        if statements:
            self._either(flag, lambda: None, lambda: self.block(statements, scope))

    def _assignment(self, statement: ast.stmt, scope: Scope) -> None:
        match statement:
            case ast.AugAssign(target, sign, expression):
                now = (
                    self.names[scope.prefix + target.id] if isinstance(target, ast.Name) else self.value(target, scope)
                )
                self._assign(target, self._arithmetic(sign, now, self.value(expression, scope)), scope)
            case ast.Assign(targets, expression):
                value = self.value(expression, scope)
                for name in targets:
                    self._assign(name, value, scope)
            case ast.AnnAssign(annotated, _, ast.expr() as expression):
                self._assign(annotated, self.value(expression, scope), scope)
            case ast.Expr(ast.Constant()):
                pass  # a docstring
            case ast.Expr(ast.Call() as expression):
                self.value(expression, scope)
            case ast.Expr(ast.Yield(ast.expr() as expression)) if scope.consumer is not None:
                node, outer = scope.consumer
                self._assign(node.target, self.value(expression, scope), outer)
                self.block(node.body, outer)
            case _:
                raise NotImplementedError(ast.unparse(statement))

    def _statement(self, statement: ast.stmt, scope: Scope) -> None:
        match statement:
            case ast.Return(expression):
                if expression is not None:
                    self.names[scope.prefix + "$value"] = self.value(expression, scope)
                self._exit(scope, "$returned", "$broken")
            case ast.While() | ast.For():
                self._loop(statement, scope)
            case ast.Break():
                self._exit(scope, "$broken")
            case ast.Continue():
                self._exit(scope)
            case ast.Try(body):  # Python raises where the C library returns infinity or NaN
                self.block(body, scope)
            case ast.Pass():
                pass
            case _:
                raise NotImplementedError(ast.unparse(statement))

    def _exit(self, scope: Scope, *flags: str) -> None:
        for flag in ("$exited", *flags):
            if flag != "$broken" or scope.in_loop:
                self.names[scope.prefix + flag] = True

    def _assign(self, target: ast.expr, value: Any, scope: Scope) -> None:
        if isinstance(target, ast.Name):
            self.names[scope.prefix + target.id] = value
            return
        match target:
            case ast.Tuple(targets):
                for inner, part in zip(targets, value, strict=True):
                    self._assign(inner, part, scope)
            case ast.Attribute(ast.Name(name), attribute):
                record = self.names[scope.prefix + name]
                self.names[record.prefix + attribute] = value
            case ast.Subscript(array, index):
                buffer = self.value(array, scope).buffer
                at = self.as_type(self.value(index, scope), I64)
                stored = self._converted(self.as_type(value, self._type_of(value)), buffer.type)
                self.build.op("store", ir.NOTHING, at, stored, attribute=buffer.name)
            case _:
                raise NotImplementedError(ast.unparse(target))

    def _if(self, node: ast.If, rest: list[ast.stmt], scope: Scope) -> bool:
        """Read a condition; return whether that includes the rest of its block."""
        test = self.test(node.test, scope)
        if isinstance(test, bool):
            self.block(node.body if test else node.orelse, scope)
            return False
        ends = _always_exits(node.body), _always_exits(node.orelse)
        follows = rest if any(ends) else []
        branches = [
            [*body, *([] if end else follows)] for body, end in zip((node.body, node.orelse), ends, strict=True)
        ]
        self._either(test, lambda: self.block(branches[0], scope), lambda: self.block(branches[1], scope))
        return any(ends)

    def _either(self, test: Op, yes: Callable[[], None], no: Callable[[], None]) -> None:
        """Do one of two things, and join the resulting values of names."""
        before, build = self.names, self.build
        build.begin()
        self.names = dict(before)
        yes()
        first, suspended = self.names, build.suspend()
        build.begin()
        self.names = dict(before)
        no()
        second = self.names
        joined = []
        for name, a in first.items():
            b = second.get(name, _MISSING)
            if b is _MISSING and name.endswith("$value"):
                b = 0.0
            if a is b or _is_same(a, b):
                before[name] = a
            elif isinstance(a, _NUMBERS) and isinstance(b, _NUMBERS):
                joined.append((name, a, b, self._common(a, b)))
            else:
                before.pop(name, None)
        joined += [
            (name, 0.0, b, self._common(0.0, b))
            for name, b in second.items()
            if name.endswith("$value") and name not in first
        ]
        otherwise = build.end((), tuple([self.as_type(b, type_) for _, _, b, type_ in joined]))
        build.resume(suspended)
        then = build.end((), tuple([self.as_type(a, type_) for _, a, _, type_ in joined]))
        results = build.control("if", (test,), None, then, otherwise)
        before.update(zip([name for name, *_ in joined], results, strict=True))
        self.names = before

    def _loop(self, node: ast.While | ast.For, scope: Scope) -> None:
        if isinstance(node, ast.For) and not _is_range(node.iter):
            self._unrolled(node, scope)
            return
        prefix, names = scope.prefix, self.names
        returns, breaks = _contains(node.body, ast.Return), _leaves(node.body)
        changed = self._changed(node, scope)
        kept = names.get(prefix + "$broken", False)
        if breaks:
            names[prefix + "$broken"] = False
            changed.append(prefix + "$broken")
        if returns:
            names.setdefault(prefix + "$returned", False)
            names.setdefault(prefix + "$value", 0.0 if scope.returns.is_float else 0)
            changed += [prefix + "$returned", prefix + "$value"]
        scope = scope._replace(in_loop=True)
        types = [self._type_of(names[name]) for name in changed]
        values = tuple([self.as_type(names[name], type_) for name, type_ in zip(changed, types, strict=True)])
        if isinstance(node, ast.While):
            results = self._while(node, scope, changed, types, values)
        else:
            results = self._for(node, scope, changed, types, values)
        names.update(zip(changed, results, strict=True))
        self.names = names
        names[prefix + "$exited"] = names[prefix + "$returned"] if returns else False
        if breaks:
            names[prefix + "$broken"] = names[prefix + "$returned"] if returns else kept

    def _unrolled(self, node: ast.For, scope: Scope) -> None:
        match node.iter:
            case ast.Call(ast.Name(name), arguments) if isgeneratorfunction(scope.module.get(name)):
                if _leaves(node.body) or _contains(node.body, ast.Continue):
                    raise NotImplementedError("a loop over a generator is left")
                given = [self.value(argument, scope) for argument in arguments]
                self.inline(scope.module[name], given, (node, scope))
            case iterable:
                for row in self.value(iterable, scope):
                    self._assign(node.target, row, scope)
                    self.block(node.body, scope)

    def _while(
        self, node: ast.While, scope: Scope, changed: list[str], types: list[Type], values: tuple[Op, ...]
    ) -> list[Op]:
        build, before = self.build, self.names
        regions = []
        for part in (0, 1):
            parameters = tuple([Op("parameter", type_) for type_ in types])
            build.begin(parameters, True)
            self.names = {**before, **dict(zip(changed, parameters, strict=True)), scope.prefix + "$exited": False}
            if part:
                yielded = self._body(node.body, scope, changed, types)
            else:
                broken = self.names[scope.prefix + "$broken"] if _leaves(node.body) else False
                unbroken = self._not(broken)
                goes_on = self._both(unbroken, lambda: self.test(node.test, scope))
                yielded = (self.as_type(goes_on, BOOL),)
            regions.append(build.end(parameters, yielded))
        return build.control("while", values, None, *regions)

    def _for(
        self, node: ast.For, scope: Scope, changed: list[str], types: list[Type], values: tuple[Op, ...]
    ) -> list[Op]:
        build, before = self.build, self.names
        counted, mark = node.iter, _mark(node.iter)
        assert isinstance(counted, ast.Call)
        if mark:
            counted = counted.args[0]
            assert isinstance(counted, ast.Call)
        limits = [self.as_type(self.value(limit, scope), I64) for limit in counted.args]
        if len(limits) == 1:
            limits.insert(0, build.const(0, I64))
        if len(limits) == 2:
            limits.append(build.const(1, I64))
        index = Op("parameter", I64)
        parameters = tuple([Op("parameter", type_) for type_ in types])
        build.begin((index, *parameters), True)
        self.names = {**before, **dict(zip(changed, parameters, strict=True)), scope.prefix + "$exited": False}
        self._assign(node.target, index, scope)
        if _leaves(node.body):
            # The iterations after a `break` do nothing.
            broken = self.names[scope.prefix + "$broken"]
            self._unless(broken, node.body, scope)
            yielded = tuple([self.as_type(self.names[name], type_) for name, type_ in zip(changed, types, strict=True)])
        else:
            yielded = self._body(node.body, scope, changed, types)
        region = build.end((index, *parameters), yielded)
        found = vectorised(build, limits, values, region, mark)
        return build.control("for", (*limits, *values), None, region) if found is None else found

    def _body(self, body: list[ast.stmt], scope: Scope, changed: list[str], types: list[Type]) -> tuple[Op, ...]:
        self.block(body, scope)
        return tuple([self.as_type(self.names[name], type_) for name, type_ in zip(changed, types, strict=True)])

    def _changed(self, node: ast.While | ast.For, scope: Scope) -> list[str]:
        """The names, of those that exist before a loop, that it may change."""
        found: dict[str, None] = {}
        for said, is_stored in _names_in(node):
            name = scope.prefix + said
            value = self.names.get(name)
            if isinstance(value, Record):
                found.update({value.prefix + attribute: None for attribute in changed_attributes(value.kind)})
            elif is_stored and isinstance(value, _NUMBERS):
                found[name] = None
        if isinstance(node, ast.For) and isinstance(node.target, ast.Name):
            found.pop(scope.prefix + node.target.id, None)
        if scope.consumer is not None and any(isinstance(inner, ast.Yield) for inner in ast.walk(node)):
            found.update(dict.fromkeys(self._changed(*scope.consumer)))
        return [*found]

    # ----- Values -----------------------------------------------------------------------------------------------------

    def value(self, node: ast.expr, scope: Scope) -> Any:
        """The value of an expression: a Python number if it is known, else an IR value."""
        if isinstance(node, ast.Name):  # the most frequent ones first
            found = self.names.get(scope.prefix + node.id, _MISSING)
            return scope.module[node.id] if found is _MISSING else found
        if isinstance(node, ast.BinOp):
            return self._arithmetic(node.op, self.value(node.left, scope), self.value(node.right, scope))
        match node:
            case ast.Constant(value):
                return value
            case ast.Call(function, arguments):
                return self._call(function, arguments, scope)
            case ast.Tuple(elements):
                return tuple([self.value(element, scope) for element in elements])
            case ast.Attribute(ast.Name("math"), name):
                return getattr(math, name)
            case ast.Attribute(ast.Name(name), attribute):
                return self.names[self.names[scope.prefix + name].prefix + attribute]
            case ast.UnaryOp(ast.USub(), operand):
                value = self.value(operand, scope)
                if not isinstance(value, Op):
                    return -value
                if value.type.is_float:
                    return self.build.op("neg", value.type, value)
                return self._arithmetic(ast.Sub(), 0, value)
            case ast.IfExp(test, body, otherwise):
                return self._choice(
                    self.test(test, scope), lambda: self.value(body, scope), lambda: self.value(otherwise, scope)
                )
            case ast.Compare() | ast.BoolOp() | ast.UnaryOp(ast.Not()):
                return self.test(node, scope)
            case ast.Subscript(array, index):
                return self._element(self.value(array, scope), index, scope)
        raise NotImplementedError(ast.unparse(node))

    def _choice(self, test: Any, yes: Callable[[], Any], no: Callable[[], Any]) -> Any:
        if isinstance(test, bool):
            return yes() if test else no()
        self._either(test, lambda: self.names.update({"$chosen": yes()}), lambda: self.names.update({"$chosen": no()}))
        return self.names.pop("$chosen")

    def _arithmetic(self, sign: ast.operator, a: Any, b: Any) -> Any:
        name, known = _ARITHMETIC[type(sign)]
        if not isinstance(a, Op):
            if not isinstance(b, Op):
                return known(a, b)
            type_ = b.type
        else:
            type_ = a.type
        if not type_.is_float:
            type_ = self.compute if name == "div" else self._common(a, b)
            type_ = I64 if type_ is BOOL else type_
        a, b = self.as_type(a, type_), self.as_type(b, type_)
        if name == "mod":
            return self.build.op("sub", type_, a, self.build.op("mul", type_, self.build.op("idiv", type_, a, b), b))
        return self.build.op(name, type_, a, b)

    def _element(self, array: Any, index: ast.expr, scope: Scope) -> Any:
        if isinstance(index, ast.Slice):
            return array[
                slice(*[None if part is None else self.value(part, scope) for part in (index.lower, index.upper)])
            ]
        at = self.value(index, scope)
        if not isinstance(array, Array):
            if not isinstance(at, Op):
                return array[at]
            chosen: Any = array[-1]  # a small tuple of the module becomes selects, not loads
            for i in range(len(array) - 2, -1, -1):
                below = self.build.op("cmp", BOOL, at, self.as_type(i, I64), attribute="le")
                chosen = self.build.op(
                    "select", self.compute, below, *[self.as_type(v, self.compute) for v in (array[i], chosen)]
                )
            return chosen
        buffer = array.buffer
        loaded = self.build.op("load", buffer.type, self.as_type(at, I64), attribute=buffer.name)
        return self._converted(loaded, self.compute if buffer.type.is_float or buffer.type.is_short else I64)

    def _call(self, function: ast.expr, arguments: list[ast.expr], scope: Scope) -> Any:
        build = self.build
        match function:
            case ast.Name(name) if name in _BUILTINS:
                return self._builtin(name, [self.value(argument, scope) for argument in arguments])
            case ast.Attribute(ast.Name("math"), "isnan"):
                (x,) = [self.value(argument, scope) for argument in arguments]
                return self._relation(ast.NotEq(), x, x)
            case ast.Attribute(ast.Name("math"), name):
                values = [self.value(argument, scope) for argument in arguments]
                if not any([isinstance(value, Op) for value in values]):
                    found = getattr(math, name)(*values)
                    return float(found) if name in _ROUNDINGS else found
                operands = [self.as_type(value, self.compute) for value in values]
                if name in _ROUNDINGS:
                    return build.op("round", self.compute, *operands, attribute=name)
                if name == "sqrt":
                    return build.op("sqrt", self.compute, *operands)
                if name in ir.FUNCTIONS:
                    return build.op("call", self.compute, *operands, attribute=name)
            case ast.Attribute(ast.Name(name), method) if isinstance(self.names.get(scope.prefix + name), Record):
                record = self.names[scope.prefix + name]
                return self.inline(getattr(record.kind, method), [record, *[self.value(a, scope) for a in arguments]])
            case ast.Name(name) if callable(self.names.get(scope.prefix + name)):
                return self.inline(
                    self.names[scope.prefix + name], [self.value(argument, scope) for argument in arguments]
                )
            case ast.Name(name) if isinstance(scope.module.get(name), type):
                self._calls += 1
                made = Record(f"{self._calls}.", scope.module[name])
                start: Callable[..., None] = vars(made.kind)["__init__"]
                self.inline(start, [made, *[self.value(argument, scope) for argument in arguments]])
                return made
            case ast.Name(name) if callable(scope.module.get(name)):
                return self.inline(scope.module[name], [self.value(argument, scope) for argument in arguments])
        raise NotImplementedError(ast.unparse(function))

    def _builtin(self, name: str, values: list[Any]) -> Any:
        build = self.build
        if not any([isinstance(value, Op) for value in values]):
            return _BUILTINS[name](*values)
        first = values[0]
        match name:
            case "min" | "max":  # Python returns the first unless the second is smaller, or larger
                type_ = self._common(*values)
                return build.op(name, type_, self.as_type(values[1], type_), self.as_type(first, type_))
            case "int":
                return self._converted(first, I64)
            case "checked":
                return build.op("checked", I64, *[self.as_type(value, I64) for value in values])
            case "fma":
                return build.op("fma", self.compute, *[self.as_type(value, self.compute) for value in values])
        operand = self.as_type(first, self.compute)
        if name == "abs":
            return build.op("abs", self.compute, operand)
        return build.op("round", self.compute, operand, attribute="nearest") if name == "round" else operand

    def inline(
        self, function: Callable[..., Any], values: list[Any], consumer: tuple[ast.For, Scope] | None = None
    ) -> Any:
        """Inline a function; return its result. A generator is inlined around the code of its consumer."""
        tree = parsed(function)
        self._calls += 1
        scope = Scope(f"{self._calls}:", function.__globals__, _returned(tree, self.compute), consumer)
        outer = self.compute
        if hasattr(function, "wide"):
            self.compute = F64
            values = [self._converted(self.as_type(value, outer), F64) for value in values]
        for argument, value in zip(tree.args.args, values, strict=True):
            if isinstance(value, Op) and _says(argument.annotation) == "float":
                value = self.as_type(value, self.compute)
            self.names[scope.prefix + argument.arg] = value
        self.block(tree.body, scope)
        result = self.names.get(scope.prefix + "$value")
        for name in [name for name in self.names if name.startswith(scope.prefix)]:
            del self.names[name]
        if self.compute is not outer and isinstance(result, Op):
            result = self._converted(result, outer)
        self.compute = outer
        return result

    # ----- Conditions -------------------------------------------------------------------------------------------------

    def test(self, node: ast.expr, scope: Scope) -> Any:
        """The truth of an expression: a bool if it is known, else an IR value."""
        match node:
            case ast.BoolOp(sign, values):
                made = self.test(values[0], scope)
                for value in values[1:]:
                    join = self._both if isinstance(sign, ast.And) else self._or
                    made = join(made, lambda value=value: self.test(value, scope))  # type: ignore[misc]
                return made
            case ast.UnaryOp(ast.Not(), operand):
                return self._not(self.test(operand, scope))
            case ast.Compare(left, signs, rights):
                operands = [self.value(operand, scope) for operand in (left, *rights)]
                made = True
                for relation, a, b in zip(signs, operands, operands[1:], strict=False):
                    made = self._both(made, lambda r=relation, a=a, b=b: self._relation(r, a, b))  # type: ignore[misc]
                return made
            case ast.IfExp(test, body, otherwise):
                return self._choice(
                    self.test(test, scope), lambda: self.test(body, scope), lambda: self.test(otherwise, scope)
                )
        value = self.value(node, scope)
        if not isinstance(value, Op):
            return bool(value)
        return value if value.type is BOOL else self._relation(ast.NotEq(), value, 0)

    def _not(self, a: Any) -> Any:
        return (
            self.build.op("bits", BOOL, a, self.build.const(1, BOOL), attribute="xor") if isinstance(a, Op) else not a
        )

    def _both(self, a: Any, b: Callable[[], Any]) -> Any:
        return b() if a is True else False if a is False else self._choice(a, b, lambda: False)

    def _or(self, a: Any, b: Callable[[], Any]) -> Any:
        return b() if a is False else True if a is True else self._choice(a, lambda: True, b)

    def _relation(self, sign: ast.cmpop, a: Any, b: Any) -> Any:
        relation, swapped, known = _RELATIONS[type(sign)]
        if not isinstance(a, Op) and not isinstance(b, Op):
            return known(a, b)
        type_ = self._common(a, b)
        a, b = self.as_type(a, type_), self.as_type(b, type_)
        if type_ is BOOL:
            differ = self.build.op("bits", BOOL, a, b, attribute="xor")
            return differ if relation == "ne" else self._not(differ)
        return self.build.op("cmp", BOOL, *((b, a) if swapped else (a, b)), attribute=relation)

    # ----- Types ------------------------------------------------------------------------------------------------------

    def _type_of(self, value: Any) -> Type:
        if isinstance(value, Op):
            return value.type
        return BOOL if isinstance(value, bool) else I64 if isinstance(value, int) else self.compute

    def _common(self, a: Any, b: Any) -> Type:
        """The common type of two values: a float if one of them is."""
        first, second = self._type_of(a), self._type_of(b)
        if first.is_float or second.is_float:
            return first if first.is_float else second
        return first if first is I64 else second

    def as_type(self, value: Any, type_: Type) -> Op:
        """A number as a value of a type, which may be wider but not narrower."""
        if isinstance(value, Op):
            if value.type is type_:
                return value
        elif isinstance(value, float) and not type_.is_float:
            raise TypeError("a name for integers is given a float")
        else:
            return self.build.const(value, type_)
        if value.type.is_float and not type_.is_float:
            raise TypeError("a name for integers is given a float")
        return self._converted(value, type_)

    def _converted(self, value: Op, type_: Type) -> Op:
        return value if value.type is type_ else self.build.op("cast", type_, value)


_BUILTINS: dict[str, Callable[..., Any]] = {
    "min": min, "max": max, "abs": abs, "int": int, "float": float, "round": lambda x: float(round(x)), "fma": fma,
    "checked": checked, "len": len, "zip": zip,
}  # fmt: skip
_MISSING = object()
_NUMBERS = (Op, int, float)


def _is_same(a: Any, b: Any) -> bool:
    """Whether two Python numbers are the same; 0.0 and -0.0 are not."""
    return type(a) is type(b) and isinstance(a, (int, float)) and repr(a) == repr(b)


def _is_range(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("range", *_MARKS)


def _mark(node: ast.expr) -> str:
    """The mark on a loop's range, if any."""
    named = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
    return named if named in _MARKS else ""


def _always_exits(statements: list[ast.stmt]) -> bool:
    match statements[-1:]:
        case [ast.Return() | ast.Break() | ast.Continue()]:
            return True
        case [ast.If(_, body, otherwise)]:
            return _always_exits(body) and _always_exits(otherwise)
    return False


def _contains(statements: list[ast.stmt], kind: type[ast.stmt]) -> bool:
    for statement in statements:
        if isinstance(statement, kind):
            return True
        if isinstance(statement, (ast.If, ast.For, ast.While, ast.Try)):
            if _contains(statement.body, kind) or _contains(statement.orelse, kind):
                return True
    return False


@lru_cache(None)
def _names_in(node: ast.AST) -> tuple[tuple[str, bool], ...]:
    """The names in a statement, and whether each is assigned to. `ast.walk` takes ten times as long."""
    found: dict[tuple[str, bool], None] = {}
    waiting = [node]
    while waiting:
        for value in vars(waiting.pop()).values():
            for inner in value if type(value) is list else (value,):
                if type(inner) is ast.Name:
                    found[inner.id, type(inner.ctx) is ast.Store] = None
                elif isinstance(inner, ast.stmt):
                    found.update(dict.fromkeys(_names_in(inner)))
                elif isinstance(inner, ast.expr):
                    waiting.append(inner)
    return tuple(found)


def _leaves(body: list[ast.stmt]) -> bool:
    """Whether the body of a loop has a `return`, or a `break` of its own."""
    for statement in body:
        match statement:
            case ast.Break() | ast.Return():
                return True
            case ast.If(_, then, otherwise):
                if _leaves(then) or _leaves(otherwise):
                    return True
            case ast.For(_, _, inner) | ast.While(_, inner):
                if _contains(inner, ast.Return):
                    return True
    return False


def _returned(tree: ast.FunctionDef, compute: Type) -> Type:
    return I64 if _says(tree.returns) == "int" else compute


def _says(annotation: ast.expr | None) -> str:
    return annotation.id if isinstance(annotation, ast.Name) else ""


@lru_cache(None)
def changed_attributes(kind: type) -> tuple[str, ...]:
    """The attributes of a class that methods other than `__init__` assign to."""
    found: dict[str, None] = {}
    for name, method in vars(kind).items():
        if callable(method) and name != "__init__":
            for node in ast.walk(parsed(method)):
                if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                    found[node.attr] = None
    return tuple(found)


# ----- Source ---------------------------------------------------------------------------------------------------------


@lru_cache(None)
def parsed(function: Callable[..., Any]) -> ast.FunctionDef:
    """A function's definition. Raises OSError if there is no source to read."""
    code = function.__code__
    lines = source_lines(code.co_filename, function.__module__)
    last = max([end or 0 for _, end, _, _ in code.co_positions()])  # parsing the entire file would take longer
    text = textwrap.dedent("".join(lines[code.co_firstlineno - 1 : last or None]))
    try:
        found = ast.parse(text).body[:1]
    except SyntaxError:
        found = []
    if not found or not isinstance(found[0], ast.FunctionDef) or found[0].name != function.__name__:
        raise OSError(f"the source of {function.__qualname__} was not found")
    return found[0]


def source_lines(file: str, module: str) -> list[str]:
    """The lines of a file, or none."""
    return linecache.getlines(file, vars(sys.modules[module]))


# ----- Kernels --------------------------------------------------------------------------------------------------------


def elementwise(function: Callable[..., float], element: Type, compute: Type) -> Kernel:
    """The kernel `out[i] = function(a[i * a_step], b[i * b_step], ...)` for i from `begin` to `end`, of arrays with
    these elements.

    A step is 1, or 0 for an array with one element, which all iterations share.
    """
    names = [argument.arg for argument in parsed(function).args.args]
    reader = Reader(compute, frozenset(names))
    limits = [Op("arg", I64, (), name) for name in ("begin", "end")]
    steps = [Op("arg", I64, (), f"{name}_step") for name in names]
    buffers = [Buffer("out", element, "writes"), *[Buffer(name, element, "reads") for name in names]]
    build = reader.build
    step = build.const(1, I64)
    index = Op("parameter", I64)
    build.begin((index,))
    values = []
    for buffer, stride in zip(buffers[1:], steps, strict=True):
        at = build.op("mul", I64, index, stride)
        loaded = build.op("load", element, at, attribute=buffer.name)
        values.append(reader._converted(loaded, compute))
    result = reader._converted(reader.as_type(reader.inline(function, values), compute), element)
    build.op("store", ir.NOTHING, index, result, attribute="out")
    build.control("for", (*limits, step), "parallel", build.end((index,), ()))
    return _finished(function, (*limits, *buffers, *steps), build)


def loops(function: Callable[..., None], floats: Type, compute: Type, **known: Any) -> Kernel:
    """The kernel that a function of scalars and arrays describes. Arrays annotated `Floats` have elements of this
    type; `known` are the arguments after a `*`; branches that depend only on them are decided now."""
    tree = parsed(function)
    stored = _stored(tree, function.__globals__)
    parameters: list[Buffer | Op] = []
    names: dict[str, Any] = dict(known)
    arrays = {**_ARRAYS, "Results": compute if floats.is_float or floats.is_short else I64}
    for argument in tree.args.args:
        name, says = argument.arg, _says(argument.annotation)
        if says in ("int", "float"):
            names[name] = op = Op("arg", I64 if says == "int" else F64, (), name)
            parameters.append(op)
        else:
            buffer = Buffer(name, arrays.get(says, floats), "writes" if name in stored else "reads")
            names[name] = Array(buffer)
            parameters.append(buffer)
    reader = Reader(compute, frozenset([p.name for p in parameters if isinstance(p, Buffer) and p.access == "reads"]))
    scope = Scope("", function.__globals__, compute)
    for name, value in names.items():
        reader.names[name] = (
            reader._converted(value, compute) if isinstance(value, Op) and value.type.is_float else value
        )
    reader.block(tree.body, scope)
    return _finished(function, tuple(parameters), reader.build)


def _finished(function: Callable[..., Any], parameters: tuple[Buffer | Op, ...], build: Builder) -> Kernel:
    body = build.end((), ())
    ir.drop_dead(body)
    stored: set[str] = set()
    loaded: set[str] = set()
    regions = [body]
    while regions:  # ops of a branch that was decided do not count
        for op in regions.pop().ops:
            if op.name in ir.STORES:
                stored.add(op.attribute)
            elif op.name in ir.LOADS:
                loaded.add(op.attribute)
            regions += op.regions
    access = {name: "updates" if name in loaded else "writes" for name in stored} | dict.fromkeys(
        loaded - stored, "reads"
    )
    finished = [p._replace(access=access.get(p.name, p.access)) if isinstance(p, Buffer) else p for p in parameters]
    return Kernel(function.__name__.strip("_"), tuple(finished), body)


def _stored(tree: ast.FunctionDef, module: dict[str, Any]) -> set[str]:
    """The names of a function's arrays that it, or a function that it calls, may store to, also under another name."""
    stored: set[str] = set()
    waiting: list[Any] = [*tree.body]
    while waiting:
        node = waiting.pop()
        kind = type(node)
        if kind is ast.Name:
            stored.add(node.id)
        elif kind is ast.Subscript and type(node.value) is ast.Name:
            if type(node.ctx) is ast.Store:
                stored.add(node.value.id)
            waiting.append(node.slice)
        elif kind is ast.Call:
            called: Any = module.get(node.func.id) if type(node.func) is ast.Name else None
            if not hasattr(called, "__code__") or called in _BUILTINS.values():
                waiting += node.args
                continue
            function = parsed(called)
            inner = _stored(function, called.__globals__)
            for parameter, argument in zip(function.args.args, node.args, strict=True):
                if type(argument) is not ast.Name:
                    waiting.append(argument)
                elif parameter.arg in inner:
                    stored.add(argument.id)
        else:
            waiting += [inner for inner in ast.iter_child_nodes(node) if isinstance(inner, (ast.stmt, ast.expr))]
    return stored
