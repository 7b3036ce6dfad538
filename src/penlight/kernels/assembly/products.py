"""The inner loops of matrix products: sums of products that stay in registers.

There are two tiles. Six rows of the first matrix by sixteen columns of the second: for each inner index, two vectors of the
second matrix are multiplied by one scalar of each row (`outer_products`). Or three rows by four rows, both long: each result is
eight partial sums, which are added up at the end (`dot_step`). Both keep twelve sums in registers, so that no addition waits for
the previous one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..compiler.asm import R10, R11, R12, R13, R14, R15, RAX, RBP, RBX, Address, Assembler

_MOST = 6  # rows at a time
G_ROWS, X_ROWS = 3, 4


def clear(asm: Assembler, count: int) -> None:
    """Set the first registers to zero."""
    for register in range(count):
        asm.binary("vxorps", register, register, register)


def in_groups(asm: Assembler, left: int, write: Callable[[int], None]) -> None:
    """Loop over rows in groups of at most six while any are `left`; `write` emits the code for one group and decrements `left`."""
    asm.label("some rows")
    asm.compare_number(left, 8)  # four and four is faster than six and two: two rows are too few independent sums
    asm.jump("not eight", "not zero")
    asm.jump("four rows")
    asm.label("not eight")
    for some in range(_MOST, 0, -1):
        asm.compare_number(left, some)
        asm.jump(f"fewer than {some}", "less")
        if some == 4:
            asm.label("four rows")
        write(some)
        asm.jump("some rows")
        asm.label(f"fewer than {some}")


def groups_of_rows(rows: int) -> list[int]:
    """The group sizes that `in_groups` uses."""
    groups = []
    while rows:
        groups.append(4 if rows == 8 else min(rows, _MOST))
        rows -= groups[-1]
    return groups


def outer_products(
    asm: Assembler, rows: int, left: int, term: Callable[[int, int, int], Iterator[int]], double: bool = False
) -> None:
    """Add products to registers 0 to 2 * rows - 1, for `left` inner indices; registers up to 11 are used.

    `term(number, left, right)` loads two vectors, then the scalar of each row just before it yields that row, then advances to
    the next index. A few rows use several sums each, which are added up at the end, so that no addition waits for the previous
    one.
    """
    kind = "pd" if double else "ps"
    sums = 2 * rows
    several = 12 // sums if rows <= 3 else 1
    for register in range(sums, sums * several):
        asm.binary("vxorps", register, register, register)
    for unroll in dict.fromkeys((several if several > 1 else 4, 1)):
        name = f"inner {rows} {unroll}"
        asm.label(name)
        asm.add_number(left, -unroll)
        asm.jump(f"{name} done", "less")
        for i in range(unroll):
            first = sums * (i % several)
            for row in term(12, 13, 14):
                asm.binary(f"vfmadd231{kind}", first + 2 * row, 13, 12)
                asm.binary(f"vfmadd231{kind}", first + 2 * row + 1, 14, 12)
        asm.jump(name)
        asm.label(f"{name} done")
        asm.add_number(left, unroll)
    for register in range(sums, sums * several):
        asm.binary(f"vadd{kind}", register % sums, register % sums, register)


AHEAD = (None, R10, R11, R12, R13, R14)  # byte offsets of the first matrix's rows from its first


def panel_product(asm: Assembler, some: int, left: int, advance: Callable[[], None]) -> None:
    """Multiply a panel of sixteen columns, over which `rax` iterates, with some rows, over which `r15` iterates, for `left` inner
    indices; write to rows of the result from `rbp` on, with the stride `rbx`. `advance` emits the step to the next index."""

    def term(number: int, left: int, right: int) -> Iterator[int]:
        asm.move(left, Address(RAX))
        asm.move(right, Address(RAX, None, 32))
        for row in range(some):
            asm.broadcast(number, Address(R15, AHEAD[row]))
            yield row
        advance()

    clear(asm, 2 * some)
    outer_products(asm, some, left, term)
    for row in range(some):
        asm.store(Address(RBP), 2 * row)
        asm.store(Address(RBP, None, 32), 2 * row + 1)
        asm.add(RBP, RBX)


def dot_step(asm: Assembler, first: tuple[int, ...], second: tuple[int, ...]) -> None:
    """Multiply eight elements of each of three rows with those of four, at `rax` bytes from the registers' addresses."""
    for i, pointer in enumerate(first):
        asm.move(12 + i, Address(pointer, RAX))
    for j, pointer in enumerate(second):
        asm.move(15, Address(pointer, RAX))
        for i in range(G_ROWS):
            asm.binary("vfmadd231ps", X_ROWS * i + j, 12 + i, 15)


def add_totals(asm: Assembler, target: int, row: int, rows: int = G_ROWS) -> None:
    """Add up the partial sums, and add them to at most three rows of four elements in memory; `target` advances row by row."""
    for i in range(rows):
        first = X_ROWS * i
        asm.binary("vhaddps", first, first, first + 1)
        asm.binary("vhaddps", first + 2, first + 2, first + 3)
        asm.binary("vhaddps", first, first, first + 2)
        asm.halves(12, first, first, 0x01)
        asm.binary("vaddps", first, first, 12)
        asm.move_half(12, Address(target))
        asm.binary("vaddps", first, first, 12)
        asm.store_half(Address(target), first)
        asm.add(target, row)


def add_double_totals(asm: Assembler, target: int, row: int, rows: int = G_ROWS) -> None:
    """`add_totals` for float64."""
    for i in range(rows):
        first = X_ROWS * i
        asm.binary("vhaddpd", first, first, first + 1)
        asm.binary("vhaddpd", first + 2, first + 2, first + 3)
        asm.halves(12, first, first + 2, 0x20)
        asm.halves(13, first, first + 2, 0x31)
        asm.binary("vaddpd", 12, 12, 13)
        asm.binary("vaddpd", 12, 12, Address(target))
        asm.store(Address(target), 12)
        asm.add(target, row)
