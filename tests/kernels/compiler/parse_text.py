"""Kernels from the text form of compiler/text.py."""

from __future__ import annotations

import re

from penlight.kernels.compiler import ir
from penlight.kernels.compiler.ir import Buffer, Kernel, Op, Region, Type
from penlight.kernels.compiler.text import INDENT, MEMORY, WITH_ATTRIBUTE

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
        while self.at < len(self.lines) and self.lines[self.at][0] == depth * len(INDENT):
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
            if name in MEMORY:
                attribute, _, rest = said.partition("[")
                operands = rest.replace("]", "")
            elif name in WITH_ATTRIBUTE:
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
