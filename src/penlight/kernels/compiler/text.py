"""The text form of a kernel: printed, and parsed back to an equal kernel.

    kernel sums(begin: i64, end: i64, x: f64 reads, out: f64 writes)
      v0: i64 = const 1
      for i0 = begin to end step v0 parallel
        v1: f64 = load x[i0]
        v2: f64 = add v1, v1
        store out[i0], v2

A line is an op. Values are numbered in the order in which they appear. Constants that are not finite are written as
their bits.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable

from . import ir
from .ir import Buffer, Kernel, Op, Region, Type

_INDENT = "  "
_MEMORY = ("load", "store", "load_vector", "store_vector", "load_masked", "store_masked")
_WITH_ATTRIBUTE = ("cmp", "bits", "round", "call", "reduce", "shift", "shuffle", "half", "lanes_below")


# ----- Printing -------------------------------------------------------------------------------------------------------


class _Printer:
    def __init__(self, note: Callable[[Op], str] | None) -> None:
        self.lines: list[str] = []
        self.names: dict[Op, str] = {}
        self.note = note
        self.numbered = 0

    def name(self, op: Op) -> str:
        """The name of a value, with its type where it first appears."""
        self.names[op] = found = f"v{self.numbered}"
        self.numbered += 1
        note = "" if self.note is None else self.note(op)
        return f"{found}: {op.type}{note}"

    def region(self, region: Region, depth: int) -> None:
        ops = region.ops
        for i, op in enumerate(ops):
            if op.name == "result" or (op.name == "yield" and not op.operands):
                continue
            results = []
            for following in ops[i + 1 :]:
                if following.name != "result":
                    break
                results.append(following)
            self.op(op, results, depth)

    def line(self, depth: int, text: str) -> None:
        self.lines.append(_INDENT * depth + text)

    def op(self, op: Op, results: list[Op], depth: int) -> None:
        operands = [self.names[operand] for operand in op.operands]
        if not op.regions:
            said = ", ".join([str(op.attribute), *operands] if op.name in _WITH_ATTRIBUTE else operands)
            match op.name:
                case "const":
                    said = _constant(op)
                case "load":
                    said = f"{op.attribute}[{operands[0]}]"
                case _ if op.name in _MEMORY:
                    said = f"{op.attribute}[{operands[0]}], {', '.join(operands[1:])}"
                case "iota":
                    said = str(op.attribute)
            made = "" if op.type is ir.NOTHING else f"{self.name(op)} = "
            self.line(depth, f"{made}{op.name} {said}")
            return
        carried = operands[3:] if op.name == "for" else operands
        if op.name == "if":
            head = f"if {operands[0]}"
        else:
            parameters = op.regions[0].parameters
            head = op.name
            if op.name == "for":
                head += (
                    f" {self.name(parameters[0]).partition(':')[0]} = {operands[0]} to {operands[1]} step {operands[2]}"
                )
                parameters = parameters[1:]
            if carried:
                head += (
                    f" carry ({', '.join([f'{self.name(p)} = {v}' for p, v in zip(parameters, carried, strict=True)])})"
                )
            if op.attribute:
                head += f" {op.attribute}"
        place = len(self.lines)
        self.lines.append("")
        self.region(op.regions[0], depth + 1)
        if len(op.regions) == 2:
            self.line(depth, "else" if op.name == "if" else "do")
            if op.name == "while":
                pairs = zip(op.regions[1].parameters, op.regions[0].parameters, strict=True)
                self.names.update({second: self.names[first] for second, first in pairs})
            self.region(op.regions[1], depth + 1)
        made = ", ".join([self.name(result).partition(":")[0] for result in results])
        self.lines[place] = _INDENT * depth + (f"{made} = " if made else "") + head


def _constant(op: Op) -> str:
    value = ir.value_of(op.attribute, op.type)
    return hex(op.attribute) if isinstance(value, float) and not math.isfinite(value) else repr(value)


def printed(kernel: Kernel, note: Callable[[Op], str] | None = None) -> str:
    """A kernel as text. `note` may add something to each value, such as its register."""
    printer = _Printer(note)
    said = []
    for parameter in kernel.parameters:
        if isinstance(parameter, Buffer):
            words = [word for word in ("shared", "strided") if getattr(parameter, word)]
            said.append(" ".join([f"{parameter.name}: {parameter.type}", parameter.access, *words]))
        else:
            printer.names[parameter] = parameter.attribute
            said.append(f"{parameter.attribute}: {parameter.type}")
    printer.line(0, f"kernel {kernel.name}({', '.join(said)})")
    printer.region(kernel.body, 1)
    return "\n".join(printer.lines) + "\n"


# ----- Parsing --------------------------------------------------------------------------------------------------------

_FOR = re.compile(r"for (\w+) = (\w+) to (\w+) step (\w+)(?: carry \((.*)\))?(?: (\w+))?$")


class _Parser:
    def __init__(self, text: str) -> None:
        self.lines = [(len(line) - len(line.lstrip()), line.strip()) for line in text.splitlines() if line.strip()]
        self.at = 1
        self.names: dict[str, Op] = {}

    def kernel(self) -> Kernel:
        head = re.match(r"kernel (\w+)\((.*)\)$", self.lines[0][1])
        if head is None:
            raise ValueError(f"not the head of a kernel: {self.lines[0][1]}")
        parameters: list[Buffer | Op] = []
        for said in head[2].split(", ") if head[2] else []:
            name, _, rest = said.partition(": ")
            words = rest.split()
            if len(words) > 1:
                parameters.append(Buffer(name, _type(words[0]), words[1], "shared" in words, "strided" in words))
            else:
                self.names[name] = op = Op("arg", _type(words[0]), (), name)
                parameters.append(op)
        return Kernel(head[1], tuple(parameters), self.region((), 1))

    def region(self, parameters: tuple[Op, ...], depth: int) -> Region:
        ops: list[Op] = []
        while self.at < len(self.lines) and self.lines[self.at][0] == depth * len(_INDENT):
            line = self.lines[self.at][1]
            if line in ("else", "do"):
                break
            self.at += 1
            ops += self.op(line, depth)
        if not ops or ops[-1].name != "yield":
            ops.append(Op("yield", ir.NOTHING))
        return Region(parameters, ops)

    def op(self, line: str, depth: int) -> list[Op]:
        left, right = (
            line.split(" = ", 1)
            if re.match(r"[\w, ]+(: \w+)? = ", line) and not line.startswith("for ")
            else ("", line)
        )
        name, _, said = right.partition(" ")
        if name in ("for", "while", "if"):
            op = self.control(name, right, depth)
            inner = op.regions[-1]
            types = [value.type for value in (inner.yielded if name == "if" else inner.parameters[name == "for" :])]
            results = [Op("result", type_, (op,), i) for i, type_ in enumerate(types)]
            self.names.update(zip(left.split(", ") if left else [], results, strict=True))
            return [op, *results]
        variable, _, type_name = left.partition(": ")
        type_ = _type(type_name) if type_name else ir.NOTHING
        attribute: str | int | None = None
        if name == "const":
            op = Op("const", type_, (), int(said, 16) if said.startswith("0x") else ir.bits_of(_number(said), type_))
        else:
            if name == "iota":
                attribute, operands = int(said), ""
            elif name in _MEMORY:
                attribute, _, rest = said.partition("[")
                operands = rest.replace("]", "")
            elif name in _WITH_ATTRIBUTE:
                attribute, _, operands = said.partition(", ")
                attribute = int(attribute) if name == "half" else attribute
            else:
                operands = said
            op = Op(name, type_, tuple(self.names[word] for word in operands.split(", ") if word), attribute)
        if variable:
            self.names[variable] = op
        return [op]

    def control(self, name: str, line: str, depth: int) -> Op:
        if name == "if":
            condition = self.names[line.split()[1]]
            first = self.region((), depth + 1)
            self.at += 1
            return Op("if", ir.NOTHING, (condition,), None, (first, self.region((), depth + 1)))
        if name == "for":
            match = _FOR.match(line)
            assert match is not None, line
            index = Op("parameter", ir.INDEX)
            limits = tuple(self.names[match[i]] for i in (2, 3, 4))
            parameters, carried = self.carried(match[5] or "")
            self.names[match[1]] = index
            region = self.region((index, *parameters), depth + 1)
            return Op("for", ir.NOTHING, (*limits, *carried), match[6], (region,))
        said = line[line.index("(") + 1 : line.rindex(")")] if "(" in line else ""
        parameters, carried = self.carried(said)
        test = self.region(parameters, depth + 1)
        self.at += 1
        again, _ = self.carried(said)
        return Op("while", ir.NOTHING, carried, None, (test, self.region(again, depth + 1)))

    def carried(self, said: str) -> tuple[tuple[Op, ...], tuple[Op, ...]]:
        parameters, values, names = [], [], {}
        for part in said.split(", ") if said else []:
            name, type_, value = re.split(": | = ", part)
            names[name] = Op("parameter", _type(type_))
            parameters.append(names[name])
            values.append(self.names.get(value))
        self.names.update(names)
        return tuple(parameters), tuple(value for value in values if value is not None)


def _type(said: str) -> Type:
    element, _, lanes = said.partition("x")
    return Type.of(element, int(lanes or 1))


def _number(said: str) -> float:
    return (
        {"True": 1, "False": 0}[said]
        if said in ("True", "False")
        else int(said)
        if re.fullmatch(r"-?\d+", said)
        else float(said)
    )


def parsed(text: str) -> Kernel:
    """The kernel that a text describes."""
    return _Parser(text).kernel()
