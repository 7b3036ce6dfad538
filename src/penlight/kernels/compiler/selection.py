"""Instruction selection: which ops of a kernel have their own x86 code, and what that reads.

Some ops have no code of their own: the code of the op that reads them includes it. These are constants; a comparison that only
one condition or select reads, and the `and`, `or` and `not` of those that only one condition reads; the addition of a constant to
an index, which becomes the offset of an address; and a vector's load that only one sum or product reads, before anything is
stored.
"""

from __future__ import annotations

from . import ir
from .ir import I64, Kernel, Op, Region

_MEMORY = frozenset(ir.LOADS + ir.STORES)
_COMMUTING = ("add", "mul", "fma")  # the first operand may be in memory instead of the second
_WITH_MEMORY = frozenset((*_COMMUTING, "sub", "div"))  # ops that may have an operand in memory
# Ops that may have no code of their own.
_PARTS = ("cmp", "bits", "add", "sub", "neg", "load_vector", "bitcast", "cast")


def origin(op: Op) -> Op:
    """The value whose register already holds this one: a vector's first lane, or the same bits as another type."""
    while op.name in ("bitcast", "first"):
        op = op.operands[0]
    return op


class Selection:
    """Which ops have no code of their own, and what the others read.

    A loop that accesses x[start + i] with an invariant start gets a pointer to x[start] before it, so that it need not compute the sum.
    """

    def __init__(self, kernel: Kernel) -> None:
        self.bases = {name: Op("arg", I64, (), name) for name in kernel.buffers}
        self._pointers: dict[Op, Op] = {}  # by loads and stores
        self._sources: dict[Op, tuple[Op, ...]] = {}
        self._with_pointers: dict[int, list[Op]] = {}  # by the id of a region's list
        uses: dict[Op, int] = {}  # of comparisons, and of indices with an offset
        addressed: dict[Op, int] = {}  # uses of indices in loads and stores
        selects: list[Op] = []  # conditions of selects
        jumps: list[Op] = []  # conditions of jumps
        factors: list[Op] = []  # the first factors of fused multiply-adds
        casts: list[tuple[Op, Op]] = []  # of the value loaded last, with the load; and stores of the value cast last
        loads: list[tuple[Op, Op]] = []  # loads that may be part of an instruction, with their readers
        regions = [kernel.body]
        for region in regions:
            latest: Op | None = None
            loaded: set[Op] = set()  # values loaded since the latest store
            for op in region.ops:
                if op.name == "load_vector" and op.type.is_float and op.operands[1].attribute == 1:
                    loaded.add(op)
                elif op.name in _WITH_MEMORY and loaded:
                    loads += [
                        (operand, op) for operand in op.operands[op.name not in _COMMUTING :] if operand in loaded
                    ]
                elif op.type is ir.NOTHING:
                    loaded.clear()
                if latest is not None and op.name in ("cast", "store_vector") and origin(op.operands[-1]) is latest:
                    casts.append((op, latest))
                if op.name != "bitcast":
                    latest = op if op.type.lanes > 1 and op.name in ("load_vector", "cast") else None
                for operand in op.operands:
                    if operand.name in _PARTS:
                        uses[operand] = uses.get(operand, 0) + 1
                if op.name in _MEMORY:
                    addressed[op.operands[0]] = addressed.get(op.operands[0], 0) + 1
                elif op.name == "select":
                    selects.append(op.operands[0])
                elif op.name == "fma":
                    factors.append(op.operands[0])
                elif op.name == "if":
                    jumps.append(op.operands[0])
                elif op.name == "while":
                    jumps.append(op.regions[0].yielded[0])
                regions += op.regions
        self.part_of_condition = {op for op in selects if op.name == "cmp" and uses[op] == 1}
        for op in jumps:
            is_logic = op.name == "bits" and (op.attribute != "xor" or op.operands[1].name == "const")
            if uses.get(op) == 1 and (is_logic or op.name == "cmp"):
                self.part_of_condition.add(op)
                if is_logic:
                    jumps += op.operands
        self.negated = {op for op in factors if op.name == "neg" and uses[op] == factors.count(op)}
        self.part_of_address = {op for op, count in addressed.items() if _offset(op) is not None and uses[op] == count}
        # Loads that become memory operands of the only instruction that reads them; it has at most one.
        self.in_place: set[Op] = set()
        readers: set[Op] = set()
        for load, op in loads:
            if uses[load] == 1 and op not in readers:
                self.in_place.add(load)
                readers.add(op)
        self._find_pointers(kernel.body, {})
        # Casts that read memory, by the load, and stores that include a cast.
        self.folded = {op: part for op, part in casts if self._can_fold(op, part, uses)}

    @staticmethod
    def _can_fold(op: Op, part: Op, uses: dict[Op, int]) -> bool:
        if uses[part] > 1 or uses.get(op.operands[-1], 1) > 1:
            return False
        if op.name == "store_vector":
            return part.name == "cast" and part.type.element == "f16"
        is_narrow = part.type.is_short or part.type.element in ("u8", "i8", "i16", "i32")
        return part.name == "load_vector" and is_narrow and part is op.operands[0] and part.operands[1].attribute == 1

    def ops(self, region: Region) -> list[Op]:
        """The ops of a region, and the pointers that its loops need."""
        return self._with_pointers.get(id(region.ops), region.ops)

    def _find_pointers(self, region: Region, known: dict[tuple[str, Op], Op]) -> None:
        """`known` are the pointers of enclosing regions, by their buffers and starts."""
        known = dict(known)
        made: list[Op] = []
        for op in region.ops:
            if op.name == "for":
                for key, size in self._starts(op.regions[0]).items():
                    if key not in known:
                        known[key] = Op("pointer", I64, (self.bases[key[0]], key[1]), size)
                        made.append(known[key])
            elif op.name in _MEMORY and known:
                index = op.operands[0]
                if index in self.part_of_address:
                    index = index.operands[0]
                if index.name == "add" and (op.attribute, index.operands[0]) in known:
                    self._pointers[op] = known[op.attribute, index.operands[0]]
            for inner in op.regions:
                self._find_pointers(inner, known)
            made.append(op)
        if len(made) > len(region.ops):
            self._with_pointers[id(region.ops)] = made

    def _starts(self, body: Region) -> dict[tuple[str, Op], int]:
        """The buffers that a loop accesses from an invariant index on, with that index, and their element sizes."""
        inside = {*body.parameters, *body.ops}
        found = {}
        for op in body.ops:
            if op.name in _MEMORY:
                index = op.operands[0]
                if index in self.part_of_address:
                    index = index.operands[0]
                if index.name == "add" and index.operands[0] not in inside and index.operands[0].name != "const":
                    element = op.type if op.type is not ir.NOTHING else op.operands[1].type
                    found[op.attribute, index.operands[0]] = element.dtype.itemsize
        return found

    def address(self, op: Op) -> tuple[Op, Op, int]:
        """Base, index and offset in elements of a load or store."""
        index, offset = op.operands[0], 0
        if index in self.part_of_address:
            offset = _offset(index) or 0
            index = index.operands[0]
        pointer = self._pointers.get(op)
        if pointer is not None:
            return pointer, index.operands[1], offset
        return self.bases[op.attribute], index, offset

    def sources(self, op: Op) -> tuple[Op, ...]:
        """The values that the code of an op reads."""
        known = self._sources.get(op)
        if known is None:
            known = self._sources[op] = self._found_sources(op)
        return known

    def _found_sources(self, op: Op) -> tuple[Op, ...]:
        folded = self.folded.get(op)
        if folded is not None and op.name == "cast":
            return self._found_sources(folded)
        if op.name in _MEMORY:
            base, index, _ = self.address(op)
            operands = (base, index, *(op.operands[1:] if folded is None else folded.operands))
        else:
            operands = op.operands
        found: list[Op] = []
        for operand in operands:
            operand = origin(operand)
            if operand in self.part_of_condition or operand in self.negated or operand in self.in_place:
                found += self.sources(operand)
            elif operand.name != "const":
                found.append(operand)
        return tuple(found)

    def constants(self, op: Op) -> list[Op]:
        """The constants that the code of an op on vectors reads; twice if it must load them first."""
        if op.type.lanes == 1 or op.name in _MEMORY or not any([operand.name in _CONSTANT for operand in op.operands]):
            return []
        operands = list(op.operands)
        if op.name in ("select", "fma") and operands[0] in (self.part_of_condition | self.negated):
            operands[:1] = operands[0].operands
        found = [operand for operand in operands if operand.name == "const" and operand.type.lanes > 1]
        if op.name == "select":
            found = [operand for operand in found if operand.attribute]
        is_loaded = not ir.OPS[op.name].commutative and operands[0].name == "const"
        return found * 2 if is_loaded or len(found) > 1 else found


_CONSTANT = ("const", "cmp", "neg")  # constants, and ops that may use one but have no code of their own


def _offset(op: Op) -> int | None:
    """The constant that is added to an index."""
    if op.name in ("add", "sub") and op.operands[1].name == "const" and abs(op.operands[1].attribute) < 1 << 24:
        return int(op.operands[1].attribute) * (1 if op.name == "add" else -1)
    return None
