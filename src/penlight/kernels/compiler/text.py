"""The text form of a kernel. The tests parse it back to an equal kernel: tests/kernels/compiler/parse_text.py.

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
from collections.abc import Callable

from . import ir
from .ir import Buffer, Kernel, Op, Region

INDENT = "  "
MEMORY = ir.LOADS + ir.STORES
WITH_ATTRIBUTE = ("cmp", "bits", "round", "call", "reduce", "shift", "half", "lanes_below")


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
        self.lines.append(INDENT * depth + text)

    def op(self, op: Op, results: list[Op], depth: int) -> None:
        operands = [self.names[operand] for operand in op.operands]
        if not op.regions:
            said = ", ".join([str(op.attribute), *operands] if op.name in WITH_ATTRIBUTE else operands)
            match op.name:
                case "const":
                    said = _constant(op)
                case "load":
                    said = f"{op.attribute}[{operands[0]}]"
                case _ if op.name in MEMORY:
                    said = f"{op.attribute}[{operands[0]}], {', '.join(operands[1:])}"
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
        line_number = len(self.lines)
        self.lines.append("")
        self.region(op.regions[0], depth + 1)
        if len(op.regions) == 2:
            self.line(depth, "else" if op.name == "if" else "do")
            if op.name == "while":
                pairs = zip(op.regions[1].parameters, op.regions[0].parameters, strict=True)
                self.names.update({second: self.names[first] for second, first in pairs})
            self.region(op.regions[1], depth + 1)
        made = ", ".join([self.name(result).partition(":")[0] for result in results])
        self.lines[line_number] = INDENT * depth + (f"{made} = " if made else "") + head


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
