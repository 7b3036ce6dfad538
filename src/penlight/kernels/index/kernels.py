"""Gather and scatter of elements and rows as compiled loops, see Note [Compiled loops] in compiler/loops.py. gather_scatter.py calls these.

Arrays are `Elements` of any type: elements that are only moved are treated as integers of the same size. NumPy first makes an
array of flat positions, as large as the indices, and branches on a mask for each element, which is unpredictable. Here positions
are computed on the fly, and elements are selected without a branch. Repeated positions are processed in order, as in NumPy.
"""

from __future__ import annotations

from typing import Any

from ..compiler.loops import Bytes, Elements, Floats, Ints, checked

_EIGHT = tuple(range(8))


def _combined(new: Any, old: Any, act: str) -> Any:
    """The new value of an element. NaN propagates, as in NumPy."""
    if act == "add":
        return old + new
    if act == "mul":
        return old * new
    if act == "max":
        return new if new > old or new != new else old
    if act == "min":
        return new if new < old or new != new else old
    return new


def along(
    begin: int, end: int, array: Elements, index: Ints, others: Elements, count: int, outer: int, rows: int, extent: int, inner: int,
    *, act: str, shared: bool,
) -> None:  # fmt: skip
    """Move or combine the elements of an array (outer, extent, inner), selected by indices along its second dimension, with `others` in order.

    The range is over rows of `count` indices; `rows` of them belong to one of the `outer` matrices, and all have the same indices
    if these are `shared`. With `inner` the n-th index of a row selects among n-th elements. "take" copies the elements to
    `others`, "put" copies `others` to the elements; other acts combine them.
    """
    for row in range(begin, end):
        base = checked(row // rows, outer) * extent * inner
        for i in range(count):
            at = base + checked(index[i if shared else row * count + i], extent) * inner
            if act == "take":
                others[row * count + i] = array[at]
            else:
                array[at] = _combined(others[row * count + i], array[at], act)


def along_inner(
    begin: int, end: int, array: Elements, index: Ints, others: Elements, count: int, outer: int, rows: int, extent: int, inner: int,
    *, act: str,
) -> None:  # fmt: skip
    """Like `along`, where the n-th index of a row selects the n-th of `inner` elements."""
    for row in range(begin, end):
        base = checked(row // rows, outer) * extent * inner
        for i in range(count):
            at = base + checked(index[row * count + i], extent) * inner + i
            if act == "take":
                others[row * count + i] = array[at]
            else:
                array[at] = _combined(others[row * count + i], array[at], act)


def reduce_rows(
    begin: int, end: int, target: Floats, index: Ints, rows: Floats, length: int, columns: int, *, act: str
) -> None:
    """Combine rows with the target's rows at the indices, in one thread: memory limits it, and two threads took as long as one."""
    for i in range(begin, end):
        row = checked(index[i], length) * columns
        for c in range(columns):
            target[row + c] = _combined(rows[i * columns + c], target[row + c], act)


def bag_sums(
    begin: int, end: int, table: Floats, picks: Ints, bounds: Ints, out: Floats, count: int, length: int, columns: int
) -> None:
    """Sums of bags of rows of a table. Bag b is rows `picks[bounds[b] : bounds[b + 1]]`."""
    for bag in range(begin, end):
        for c in range(columns):
            out[bag * columns + c] = 0.0
        for i in range(max(0, bounds[bag]), min(count, bounds[bag + 1])):
            row = checked(picks[i], length) * columns
            for c in range(columns):
                out[bag * columns + c] += table[row + c]


def _masked(i: int, at: int, mask: Bytes, array: Elements, chosen: Elements, count: int, act: str) -> int:
    """Move one element; return how many the mask has selected so far. Nothing past the end of `chosen` is accessed."""
    if act == "take":
        if at < count:
            chosen[checked(at, count)] = array[i]
    else:
        old, new = array[i], chosen[checked(at, count)]
        array[i] = new if mask[i] != 0 else old
    return at if act == "fill" else at + mask[i]


def masked(
    length: int, blocks: int, mask: Bytes, words: Ints, array: Elements, chosen: Elements, count: int, *, act: str
) -> None:
    """Move the elements that a mask selects, whose bytes are all 0 or 1; `words` are `blocks` groups of eight of these bytes.
    "take" copies them to `chosen`, which has `count` elements, "put" overwrites them by `chosen`, and "fill" by its first
    element."""
    at = 0
    for block in range(blocks):
        if words[block] != 0:
            for i in _EIGHT:
                at = _masked(block * 8 + i, at, mask, array, chosen, count, act)
    for i in range(blocks * 8, length):
        at = _masked(i, at, mask, array, chosen, count, act)


def coordinates(mask: Bytes, out: Ints, rows: int, columns: int, count: int) -> None:
    """The rows, then the columns, of the bytes of a matrix that are 1; all others are 0, and `count` are 1."""
    at = 0
    for row in range(rows):
        for column in range(columns):
            if at < count:
                out[checked(at, count)] = row
                out[count + checked(at, count)] = column
            at += mask[row * columns + column]


def swap(numbers: Ints, targets: Ints, count: int) -> None:
    """Swap each element, in turn, with the one at its target."""
    for i in range(count):
        target = checked(targets[i], count)
        number = numbers[i]
        numbers[i] = numbers[target]
        numbers[target] = number
