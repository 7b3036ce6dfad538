"""Layered graph layout: boxes in rows from top to bottom, with few crossings and no overlaps.

The steps are the usual ones: break cycles, give each box a row below all boxes that point to it, order the rows by barycentres,
then place the boxes of each row near their neighbours.

# Note [Trunks]
An arrow that spans several rows needs a path around the boxes between. Arrows to the same box share one path, its trunk: a column
of thin slots, one in each row above the box. Each arrow joins the trunk in the row below its source. So a weight that is
used in every step of a long recurrence costs one column, not one per step.

# Note [Laid out twice]
The page of `html.py` repeats the layout whenever a module is folded or unfolded: any subset of modules may be folded, which is too many
layouts to precompute, and a saved page has no Python. So page.html implements these steps in JavaScript too, function by
function in the same order. Everything else is computed once in Python: the page receives the sizes, the boxes of modules and the
constants below. `tests/inspect/test_page.py` checks that both give the same coordinates; make every change in both files.
"""

from __future__ import annotations

import math
from typing import Any

from .draw import Box, Link

TITLE, SMALL, LINE = 13.0, 11.0, 15.0  # sizes of the two fonts, and the height of a line of text
GAP_X, GAP_Y, TRUNK = 22.0, 44.0, 14.0
MOST_PORTS = 40  # a node with more entries of next_functions is not widened further; they are labelled at the other end
FIRM = 200.0  # boxes of at least this weight belong to a main line
NEAR = 12.0  # a place with a smaller horizontal offset from its neighbour above is put right below it
MOST_PLACES = 8_000  # trunks beyond this total are omitted: their arrows go straight

_NARROW, _WIDE = frozenset("iljtfr.,:;|!'()[] "), frozenset("mwMW@%")


def text_width(text: str, size: float) -> float:
    """An upper estimate of a text's width in a common sans-serif font."""
    total = 0.0
    for c in text:
        if c in _NARROW:
            total += 0.36
        elif c in _WIDE:
            total += 0.92
        else:
            total += 1.05 if ord(c) > 0x2E7F else 0.72 if c.isupper() else 0.6
    return total * size


class Layout:
    """The size of the picture, and the trunks: for a target's index, the shared path of its arrows, as an x for each row
    that it passes, with the row's upper and lower edge. Paths bend only between rows, so that they miss the boxes."""

    __slots__ = ("height", "trunks", "width")

    def __init__(self, width: float, height: float, trunks: dict[int, list[tuple[float, float, float]]]) -> None:
        self.width, self.height, self.trunks = width, height, trunks


def lay_out(boxes: list[Box], links: list[Link]) -> Layout:
    """Set the positions of the boxes and the points where links join trunks."""
    for box in boxes:
        measure(box)
    arcs = _acyclic(len(boxes), links)
    layers = _rank(len(boxes), arcs)
    for box, layer in zip(boxes, layers):
        box.layer = layer
    rows = _Rows(boxes, links, layers, arcs)
    rows.order()
    rows.place()
    return rows.result()


def measure(box: Box) -> None:
    """Set the size of a box."""
    widths = [text_width(box.title, TITLE * 1.04)] + [text_width(line, SMALL) for line in box.lines]
    entries, saved = min(len(box.ports), MOST_PORTS), min(box.exits - len(box.ports), MOST_PORTS)
    box.width = max(56.0, max(widths) + 20, 20.0 * (entries + 1), 44.0 * entries if saved else 0.0, 24.0 * saved)
    box.height = 14 + LINE * (1 + len(box.lines))


def _acyclic(n: int, links: list[Link]) -> list[tuple[int, int]]:
    """The links as arcs from upper to lower box; a link that closes a cycle is reversed, and a self-loop is dropped."""
    out: list[list[int]] = [[] for _ in range(n)]
    for number, link in enumerate(links):
        out[link.source].append(number)
    state = [0] * n  # 0 new, 1 on the path, 2 done
    reversed_links: set[int] = set()
    for start in _sources_first(n, links):
        if state[start]:
            continue
        state[start] = 1
        path = [(start, iter(out[start]))]
        while path:
            here, rest = path[-1]
            for number in rest:
                target = links[number].target
                if state[target] == 1:
                    reversed_links.add(number)
                elif state[target] == 0:
                    state[target] = 1
                    path.append((target, iter(out[target])))
                    break
            else:
                state[here] = 2
                path.pop()
    arcs = [(k.target, k.source) if i in reversed_links else (k.source, k.target) for i, k in enumerate(links)]
    return [(s, t) for s, t in arcs if s != t]


def _sources_first(n: int, links: list[Link]) -> list[int]:
    entered = {link.target for link in links}
    return sorted(range(n), key=lambda i: i in entered)


def _rank(n: int, arcs: list[tuple[int, int]]) -> list[int]:
    """The row of each box: one below the lowest box that points to it. A box without incoming links goes just above its first target."""
    out: list[list[int]] = [[] for _ in range(n)]
    entering = [0] * n
    for source, target in arcs:
        out[source].append(target)
        entering[target] += 1
    layer = [0] * n
    sources = ready = [i for i in range(n) if not entering[i]]
    while ready:
        following = []
        for here in ready:
            for target in out[here]:
                layer[target] = max(layer[target], layer[here] + 1)
                entering[target] -= 1
                if not entering[target]:
                    following.append(target)
        ready = following
    for here in sources:
        if out[here]:
            layer[here] = min(layer[target] for target in out[here]) - 1
    return layer


class _Rows:
    """The rows of places. A place is a box or a thin slot of a trunk; slots have indices from `len(boxes)` on."""

    def __init__(self, boxes: list[Box], links: list[Link], layers: list[int], arcs: list[tuple[int, int]]) -> None:
        self.boxes, self.links = boxes, links
        self.layer = list(layers)
        self.trunk: dict[int, dict[int, int]] = {}  # for a target, its place in each row
        self.up: list[list[int]] = [[] for _ in boxes]
        self.down: list[list[int]] = [[] for _ in boxes]
        self._make_trunks(arcs)
        self.shift: dict[
            tuple[int, int], float
        ] = {}  # where an arrow leaves its box, relative to the middle, in (-0.5, 0.5)
        for index in range(len(boxes)):
            below = self.down[index]
            for i, lower in enumerate(below):
                self.shift[index, lower] = (i + 1) / (len(below) + 1) - 0.5
        self.rows: list[list[int]] = [[] for _ in range(max(self.layer, default=0) + 1)]
        for index in self._walk():
            self.rows[self.layer[index]].append(index)
        self.at = [0.0] * len(self.layer)
        self.x = [0.0] * len(self.layer)

    def _make_trunks(self, arcs: list[tuple[int, int]]) -> None:
        """See Note [Trunks]."""
        highest: dict[int, int] = {}
        for source, target in arcs:
            highest[target] = min(highest.get(target, self.layer[target]), self.layer[source])
        cut = {t: max(h, self.layer[t] - 1) for t, h in highest.items()}
        room = MOST_PLACES
        for target in sorted(highest, key=lambda t: self.layer[t] - highest[t]):
            room -= self.layer[target] - highest[target] - 1
            if room < 0:
                break
            cut[target] = highest[target]
        for target, top in cut.items():
            self._make_trunk(target, top)
        for source, target in arcs:
            if self.layer[source] >= cut[target]:
                self._join(source, self.trunk[target].get(self.layer[source] + 1, target))

    def _make_trunk(self, target: int, top: int) -> None:
        column: dict[int, int] = {}
        previous = -1
        for layer in range(top + 1, self.layer[target]):
            column[layer] = index = len(self.layer)
            self.layer.append(layer)
            self.up.append([])
            self.down.append([])
            if previous >= 0:
                self._join(previous, index)
            previous = index
        if previous >= 0:
            self._join(previous, target)
        self.trunk[target] = column

    def _join(self, upper: int, lower: int) -> None:
        self.down[upper].append(lower)
        self.up[lower].append(upper)

    def _walk(self) -> list[int]:
        """All places in depth-first order from the top: the initial order of the rows."""
        seen = [False] * len(self.layer)
        found = []
        for start in sorted(range(len(self.layer)), key=lambda p: (bool(self.up[p]), self.layer[p])):
            stack = [start]
            while stack:
                here = stack.pop()
                if not seen[here]:
                    seen[here] = True
                    found.append(here)
                    stack.extend(reversed(self.down[here]))
        return found

    # ----- Order ------------------------------------------------------------------------------------------------------

    def order(self) -> None:
        """Sweep down and up, each row sorted by its neighbours' mean position; keep the order with the fewest crossings."""
        self._number()
        best, fewest = [list(row) for row in self.rows], self.crossings()
        idle = 0
        for sweep in range(24 if len(self.layer) < 5000 else 8):
            if not fewest or idle == 6:
                break
            downwards = sweep % 2 == 0
            for row in self.rows if downwards else reversed(self.rows):
                self._sort(row, self.up if downwards else self.down)
            now = self.crossings()
            idle += 1
            if now < fewest:
                best, fewest, idle = [list(row) for row in self.rows], now, 0
        self.rows = best
        self._number()
        for _ in range(8):
            if not fewest or not self._swap_neighbours():
                break

    def _number(self) -> None:
        for row in self.rows:
            for i, index in enumerate(row):
                self.at[index] = float(i)

    def _sort(self, row: list[int], neighbours: list[list[int]]) -> None:
        at = self.at
        keys = {}
        shifts = self.shift if neighbours is self.up else {}
        for index in row:
            near = neighbours[index]
            keys[index] = sum([at[p] + shifts.get((p, index), 0.0) for p in near]) / len(near) if near else at[index]
        row.sort(key=keys.__getitem__)
        for i, index in enumerate(row):
            at[index] = float(i)

    def _swap_neighbours(self) -> bool:
        """Swap adjacent places wherever that reduces crossings. Returns whether any were swapped."""
        swapped = False
        for row in self.rows:
            for i in range(len(row) - 1):
                left, right = row[i], row[i + 1]
                if self._between(left, right) > self._between(right, left):
                    row[i], row[i + 1] = right, left
                    self.at[left], self.at[right] = i + 1.0, float(i)
                    swapped = True
        return swapped

    def _between(self, left: int, right: int) -> int:
        """The number of crossings between the arrows of two places in this order; 0 for places with very many arrows."""
        at, shift, total = self.at, self.shift, 0
        for near, above in ((self.up, True), (self.down, False)):
            if len(near[left]) * len(near[right]) > 100:
                return 0
            ours = [at[p] + (shift.get((p, left), 0.0) if above else 0.0) for p in near[left]]
            others = [at[p] + (shift.get((p, right), 0.0) if above else 0.0) for p in near[right]]
            total += sum([a > b for a in ours for b in others])
        return total

    def crossings(self) -> int:
        """The number of crossing pairs of arrows: inversions, counted with a binary indexed tree."""
        total = 0
        for row in self.rows:
            ends = [
                int(self.at[p]) for index in row for p in self.down[index]
            ]  # in the order in which they leave the box
            if len(ends) < 2:
                continue
            tree = [0] * (max(ends) + 2)
            for count, end in enumerate(ends):
                i, below = end + 1, 0
                while i:
                    below += tree[i]
                    i &= i - 1
                total += count - below
                i = end + 1
                while i < len(tree):
                    tree[i] += 1
                    i += i & -i
        return total

    # ----- Places -----------------------------------------------------------------------------------------------------

    def width(self, index: int) -> float:
        return self.boxes[index].width + GAP_X if index < len(self.boxes) else TRUNK

    def place(self) -> None:
        """Sweep, each row as near to its neighbours' means as order and widths allow."""
        halves = [self.width(p) / 2 for p in range(len(self.layer))]
        for row in self.rows:
            left = 0.0
            for p in row:
                self.x[p] = left + halves[p]
                left += 2 * halves[p]
        heft = self._heft()
        up = [[(q, 1.0) for q in self.up[p]] for p in range(len(self.layer))]
        down = [[(q, heft[q]) for q in self.down[p]] for p in range(len(self.layer))]
        sweeps = 16 if len(self.layer) < 5000 else 6
        for sweep in range(sweeps):
            downwards = sweep % 2 == 0
            for row in self.rows if downwards else reversed(self.rows):
                self._settle(row, up if downwards else down, halves, heft)
        self._straighten(heft)
        both = [self.up[p] if p < len(self.boxes) else self.up[p] + self.down[p] for p in range(len(self.layer))]
        near = [[(p, 1.0)] if heft[p] >= FIRM else [(q, heft[q]) for q in both[p]] for p in range(len(self.layer))]
        firm = [1e6 if h >= FIRM else h for h in heft]
        for _ in range(3):
            for row in self.rows:  # places attached to the main line follow it
                self._settle(row, near, halves, firm)
        for line in self._lines(heft):
            self._pull_straight(line, halves)
        for column in self.trunk.values():
            self._pull_straight(list(column.values()), halves)

    def _lines(self, heft: list[float]) -> list[list[int]]:
        """Chains of places that are nearly aligned vertically, where each is the other's heaviest neighbour."""
        above = [max(near, key=heft.__getitem__, default=-1) for near in self.up]
        lines: list[list[int]] = []
        line_of: dict[int, list[int]] = {}
        for row in self.rows:
            for p in row:
                upper = above[p]
                line = line_of.get(upper)
                if (
                    line is None
                    or line[-1] != upper
                    or abs(self.x[upper] - self.x[p]) > NEAR
                    or not self._single(upper)
                ):
                    lines.append(line := [])
                line.append(p)
                line_of[p] = line
        return [line for line in lines if len(line) > 1]

    def _single(self, p: int) -> bool:
        """Whether the arrow leaves this place in the middle."""
        return p >= len(self.boxes) or len(self.boxes[p].ports) < 2

    def _pull_straight(self, column: list[int], halves: list[float]) -> None:
        """Align a column of places vertically, as far down as the space between their neighbours allows."""
        run: list[int] = []
        low, high = -math.inf, math.inf
        for p in [*column, -1]:
            left, right = self._room(p, halves) if p >= 0 else (math.inf, -math.inf)
            if max(low, left) > min(high, right):
                x = sum([self.x[q] for q in run]) / len(run) if run else 0.0
                for q in run:
                    self.x[q] = min(max(x, low), high)
                run, low, high = [], -math.inf, math.inf
            run.append(p)
            low, high = max(low, left), min(high, right)

    def _room(self, p: int, halves: list[float]) -> tuple[float, float]:
        """The interval in which a place may move without passing its neighbours."""
        row, at = self.rows[self.layer[p]], int(self.at[p])
        left = self.x[row[at - 1]] + halves[row[at - 1]] + halves[p] if at else -math.inf
        right = self.x[row[at + 1]] - halves[row[at + 1]] - halves[p] if at + 1 < len(row) else math.inf
        return min(left, self.x[p]), max(right, self.x[p])

    def _straighten(self, heft: list[float], reach: int = 6) -> None:
        """Remove slow drift from a deep graph: shift each row by the mean position of the main line around it."""
        if len(self.rows) < 4 * reach:
            return
        sums = [0.0]
        for row in self.rows:
            total = sum([heft[p] for p in row])
            sums.append(sums[-1] + sum([self.x[p] * heft[p] for p in row]) / total)
        for i, row in enumerate(self.rows):
            first, last = max(0, i - reach), min(len(self.rows), i + reach + 1)
            shift = (sums[last] - sums[first]) / (last - first)
            for p in row:
                # Long trunks would need very many sweeps to follow, so they restart next to the main line.
                self.x[p] = self.x[p] - shift if p < len(self.boxes) or len(self.rows) < 100 else 0.0

    def _heft(self) -> list[float]:
        """The weight of each place's preferred position: places with much below them move less, so that the main line stays straight."""
        heft = [1.0] * len(self.layer)
        for row in reversed(self.rows):
            for p in row:
                below = max([heft[q] for q in self.down[p]], default=0.0)
                if p >= len(self.boxes):
                    heft[p] = max(2.0, below / 2)  # an arrow of the main line that passes a saved tensor stays straight
                elif self.boxes[p].kind not in ("node", "module") and self.up[p]:
                    heft[p] = 0.3  # a saved tensor gives way
                else:
                    heft[p] = min(400.0, 3 * below + 1)
        return heft

    def _settle(
        self, row: list[int], near: list[list[tuple[int, float]]], halves: list[float], heft: list[float]
    ) -> None:
        x = self.x
        offsets, wishes, weights, offset = [], [], [], 0.0
        for i, p in enumerate(row):
            if i:
                offset += halves[row[i - 1]] + halves[p]
            others = near[p]
            wish = sum([x[q] * w for q, w in others]) / sum([w for _, w in others]) if others else x[p]
            offsets.append(offset)
            wishes.append(wish - offset)
            weights.append(heft[p] if others else 0.05)
        for p, offset, value in zip(row, offsets, _rising(wishes, weights)):
            x[p] = value + offset

    def result(self) -> Layout:
        """Set the coordinates, with the left and upper edge of the picture at 0."""
        bounds, y = [], 0.0
        for row in self.rows:
            height = max([self.boxes[p].height for p in row if p < len(self.boxes)], default=0.0)
            bounds.append((y, y + height))
            y += height + GAP_Y
        left = min([self.x[p] - self.width(p) / 2 for row in self.rows for p in row], default=0.0)
        right = max([self.x[p] + self.width(p) / 2 for row in self.rows for p in row], default=0.0)
        points = [(x - left, *bounds[layer]) for x, layer in zip(self.x, self.layer)]
        for box, (x, top, bottom) in zip(self.boxes, points):
            box.x, box.y, box.row = x, (top + bottom) / 2, (top, bottom)
        trunks = {t: [points[p] for p in column.values()] for t, column in self.trunk.items() if column}
        for link in self.links:
            index = self.trunk.get(link.target, {}).get(self.layer[link.source] + 1)
            link.join = None if index is None else points[index][:2]
        self._sort_saved()
        return Layout(right - left, max(0.0, y - GAP_Y), trunks)

    def _sort_saved(self) -> None:
        """Order the exits of a node's arrows to saved tensors by the positions of their targets."""
        groups: dict[int, list[Link]] = {}
        for link in self.links:
            if link.kind == "saved":
                groups.setdefault(link.source, []).append(link)
        for group in groups.values():
            ports = sorted(link.port for link in group)
            group.sort(key=lambda link: self.boxes[link.target].x if link.join is None else link.join[0])
            for link, port in zip(group, ports):
                link.port = port


def _rising(wishes: list[float], weights: list[float]) -> list[float]:
    """Weighted isotonic regression: the nearest non-decreasing sequence, by pooling adjacent violators."""
    pools: list[Any] = []  # [mean, weight, count]
    for wish, weight in zip(wishes, weights):
        mean, count = wish, 1
        while pools and pools[-1][0] > mean:
            before, heft, more = pools.pop()
            mean = (mean * weight + before * heft) / (weight + heft)
            weight, count = weight + heft, count + more
        pools.append((mean, weight, count))
    return [mean for mean, _, count in pools for _ in range(count)]
