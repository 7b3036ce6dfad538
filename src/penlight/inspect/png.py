"""A Drawing as PNG, by NumPy alone: parses our own SVG, paints it and packs the pixels.

Each shape is painted by its distance to the pixel centres around it, which gives soft edges. A large graph has a hundred thousand lines and
letters, so these are collected and painted together: lines before the boxes, letters at the end.
"""

from __future__ import annotations

import math
import re
import struct
import xml.etree.ElementTree as ET
import zlib
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from .draw import Drawing
from .font import GAP, UNIT, advance, strokes

MOST_PIXELS = 24_000_000
_AT_ONCE = 1 << 20  # pixels of lines or letters that are computed together
Points = list[tuple[float, float]]


class Canvas:
    """Pixels to paint on, in units of the picture."""

    def __init__(self, width: float, height: float, scale: float) -> None:
        self.scale = scale
        self.pixels = np.full((math.ceil(height * scale), math.ceil(width * scale), 3), 255, np.uint8)
        self._glyphs: dict[Any, Any] = {}
        self._segments: dict[Any, list[tuple[float, float, float, float]]] = {}  # by colour and pen
        self._letters: dict[Any, list[tuple[int, int]]] = {}  # the positions of each glyph, by glyph and colour

    def cover(self, left: int, top: int, coverage: Any, colour: Any) -> None:
        """Blend a colour into each pixel, weighted by its coverage."""
        height, width = self.pixels.shape[:2]
        y, x, bottom, right = (
            max(top, 0),
            max(left, 0),
            min(top + coverage.shape[0], height),
            min(left + coverage.shape[1], width),
        )
        if y >= bottom or x >= right:
            return
        part = self.pixels[y:bottom, x:right]
        share = coverage[y - top : bottom - top, x - left : right - left, None]
        part[:] = np.rint(part + (colour - part) * share).astype(np.uint8)

    def around(self, x: float, y: float, right: float, bottom: float) -> tuple[int, int, Any, Any]:
        """The first pixel of the block around a rectangle, and the centres of its pixels."""
        left, top = math.floor(x - 1), math.floor(y - 1)
        xs = np.arange(left, math.ceil(right + 1), dtype=np.float32) + np.float32(0.5)
        ys = np.arange(top, math.ceil(bottom + 1), dtype=np.float32) + np.float32(0.5)
        return left, top, xs[None, :], ys[:, None]

    def rectangle(
        self, x: float, y: float, width: float, height: float, radius: float, fill: Any, stroke: Any, pen: float
    ) -> None:
        self._paint_lines()
        s, r = self.scale, radius * self.scale
        left, top, xs, ys = self.around(x * s - pen * s, y * s - pen * s, (x + width + pen) * s, (y + height + pen) * s)
        dx = np.abs(xs - (x + width / 2) * s) - width * s / 2 + r
        dy = np.abs(ys - (y + height / 2) * s) - height * s / 2 + r
        far = np.hypot(np.maximum(dx, 0), np.maximum(dy, 0)) + np.minimum(np.maximum(dx, dy), 0) - r
        if fill is not None:
            self.cover(left, top, np.clip(0.5 - far, 0, 1), fill)
        if stroke is not None:
            self.cover(left, top, np.clip(0.5 + pen * s / 2 - np.abs(far), 0, 1), stroke)

    def line(self, points: Points, colour: Any, pen: float) -> None:
        s = self.scale
        segments = self._segments.setdefault((*map(float, colour), pen * s / 2), [])
        segments += [(ax * s, ay * s, bx * s, by * s) for (ax, ay), (bx, by) in pairwise(points)]

    def finish(self) -> None:
        """Paint the collected lines and letters."""
        self._paint_lines()
        for (key, *colour), corners in self._letters.items():
            left, top, coverage = self._glyphs[key]
            rows, columns = np.indices(coverage.shape)
            step = max(1, _AT_ONCE // coverage.size)
            for start in range(0, len(corners), step):
                x, y = np.array(corners[start : start + step]).T[:, :, None]
                self._blend(y + top + rows.ravel(), x + left + columns.ravel(), coverage.ravel(), colour)
        self._letters.clear()

    def _paint_lines(self) -> None:
        for (*colour, half), collected in self._segments.items():
            segments = np.array(collected)
            # About the number of pixels computed for each segment.
            pixels = 8 * (np.abs(segments[:, 2:] - segments[:, :2]).max(1) + 4)
            for part in np.split(segments, np.flatnonzero(np.diff(np.cumsum(pixels) // _AT_ONCE)) + 1):
                self._paint_segments(part, half, colour)
        self._segments.clear()

    def _paint_segments(self, segments: Any, half: float, colour: Any) -> None:
        """Paint segments (ax, ay, bx, by): for each pixel along the major axis, the pixels across the line."""
        dx, dy = np.abs(segments[:, 2:] - segments[:, :2]).T
        for steep in (True, False):
            chosen = segments[(dy >= dx) == steep]
            if not len(chosen):
                continue
            ax, ay, bx, by = chosen.T if steep else chosen[:, [1, 0, 3, 2]].T
            reach = half + 0.5
            first = np.floor(np.minimum(ay, by) - reach).astype(np.intp)
            counts = np.ceil(np.maximum(ay, by) + reach).astype(np.intp) - first
            which = np.repeat(np.arange(len(chosen)), counts)
            along = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts) + first[which]
            ax, ay, bx, by = ax[which], ay[which], bx[which], by[which]
            height = np.where(by == ay, 1.0, by - ay)
            middle = ax + np.clip((along + 0.5 - ay) / height, 0, 1) * (bx - ax)
            wide = math.ceil(reach * math.sqrt(2))
            across = np.floor(middle).astype(np.intp)[:, None] + np.arange(-wide, wide + 1)
            far = _distance(across + 0.5, along[:, None] + 0.5, *(v[:, None] for v in (ax, ay, bx, by)))
            coverage = np.clip(0.5 + half - far, 0, 1)
            lines = np.broadcast_to(along[:, None], across.shape)
            rows, columns = (lines, across) if steep else (across, lines)
            self._blend(rows, columns, coverage, colour)

    def _blend(self, rows: Any, columns: Any, coverage: Any, colour: Any) -> None:
        """Blend single pixels. A pixel that occurs several times is blended once, with its largest coverage."""
        height, width = self.pixels.shape[:2]
        coverage = np.broadcast_to(coverage, rows.shape)
        seen = (coverage > 0) & (rows >= 0) & (rows < height) & (columns >= 0) & (columns < width)
        at, share = (rows * width + columns)[seen], coverage[seen].astype(np.float32)
        order = np.lexsort((share, at))
        at, share = at[order], share[order]
        last = np.append(at[1:] != at[:-1], True)[: len(at)]
        at, share = at[last], share[last][:, None]
        flat = self.pixels.reshape(-1, 3)
        flat[at] = np.rint(flat[at] + (np.array(colour, np.float32) - flat[at]) * share).astype(np.uint8)

    def polygon(self, points: Points, colour: Any) -> None:
        """A convex shape."""
        s = self.scale
        corners = [(x * s, y * s) for x, y in points]
        cx, cy = sum(x for x, _ in corners) / len(corners), sum(y for _, y in corners) / len(corners)
        columns, rows = [x for x, _ in corners], [y for _, y in corners]
        left, top, xs, ys = self.around(min(columns), min(rows), max(columns), max(rows))
        inside: Any = np.float32(1e9)
        for (ax, ay), (bx, by) in zip(corners, corners[1:] + corners[:1]):
            length = math.hypot(bx - ax, by - ay) or 1.0
            nx, ny = (ay - by) / length, (bx - ax) / length
            sign = 1.0 if (cx - ax) * nx + (cy - ay) * ny >= 0 else -1.0
            inside = np.minimum(inside, sign * ((xs - ax) * nx + (ys - ay) * ny))
        self.cover(left, top, np.clip(0.5 + inside, 0, 1), colour)

    def text(self, x: float, y: float, text: str, size: float, anchor: str, bold: bool, colour: Any) -> None:
        gap = GAP + 0.35 * bold
        width = advance(text, size, gap) - gap * UNIT * size
        x -= {"middle": width / 2, "end": width}.get(anchor, 0.0)
        for character in text:
            self._glyph(x, y, character, size, bold, colour)
            x += advance(character, size, gap)

    def _glyph(self, x: float, y: float, character: str, size: float, bold: bool, colour: Any) -> None:
        column, row = x * self.scale, y * self.scale
        whole, part = math.floor(column), round((column % 1) * 4) / 4
        key = (character, size, bold, part)
        if key not in self._glyphs:
            self._glyphs[key] = self._ink(character, size * self.scale, bold, part)
        if self._glyphs[key] is not None:
            self._letters.setdefault((key, *map(float, colour)), []).append((whole, round(row)))

    def _ink(self, character: str, size: float, bold: bool, shift: float) -> Any:
        lines = [[(x * UNIT * size + shift, -y * UNIT * size) for x, y in line] for line in strokes(character)[1]]
        if not lines:
            return None
        half = max(0.5, size * (0.13 if bold else 0.085)) / 2
        columns, rows = [x for line in lines for x, _ in line], [y for line in lines for _, y in line]
        left, top, xs, ys = self.around(min(columns) - half, min(rows) - half, max(columns) + half, max(rows) + half)
        near: Any = np.float32(1e9)
        for line in lines:
            for a, b in pairwise(line):
                near = np.minimum(near, _distance(xs, ys, *a, *b))
        return left, top, np.clip(0.5 + half - near, 0, 1)


def _distance(xs: Any, ys: Any, ax: Any, ay: Any, bx: Any, by: Any) -> Any:
    """How far each point is from a line between two points."""
    dx, dy = bx - ax, by - ay
    along = np.clip(((xs - ax) * dx + (ys - ay) * dy) / np.maximum(dx * dx + dy * dy, 1e-12), 0, 1)
    return np.hypot(xs - ax - along * dx, ys - ay - along * dy)


# ----- Reading our own SVG --------------------------------------------------------------------------------------------


def _colour(text: str | None) -> Any:
    if text is None or text == "none":
        return None
    return np.array([int(text[i : i + 2], 16) for i in (1, 3, 5)], np.float32)


def flatten(path: str) -> list[tuple[Points, bool]]:
    """The polylines of a path, with curves split into short segments, and whether each is closed."""
    lines: list[tuple[Points, bool]] = []
    x = y = 0.0
    for letter, rest in re.findall(r"([MmLlHhVvCQz])([^MmLlHhVvCQz]*)", path):
        n = [float(v) for v in re.findall(r"-?[\d.]+", rest)]
        base = (x, y) if letter.islower() else (0.0, 0.0)
        if letter in "Mm":
            x, y = base[0] + n[0], base[1] + n[1]
            lines.append(([(x, y)], False))
        elif letter == "z":
            lines[-1] = (lines[-1][0], True)
        elif letter in "CQ":
            ends = [(x, y), *zip(n[::2], n[1::2])]
            count = max(6, min(24, round(math.dist(ends[0], ends[-1]) / 4)))
            lines[-1][0].extend(_bezier(ends, np.arange(1, count + 1) / count))
            x, y = ends[-1]
        else:
            way = letter.upper()
            x = base[0] + n[0] if way in "LH" else x
            y = base[1] + n[-1] if way in "LV" else y
            lines[-1][0].append((x, y))
    return lines


def _bezier(ends: Points, t: Any) -> Points:
    """The points of a Bézier curve at these parameters."""
    points = np.array(ends)[:, None, :]
    t = t[:, None]
    while len(points) > 1:
        points = (1 - t) * points[:-1] + t * points[1:]
    return [(x, y) for x, y in points[0].tolist()]


def dashed(points: Points, on: float, off: float) -> list[Points]:
    """Split a line into dashes."""
    dashes: list[Points] = [[points[0]]]
    left, drawing = on, True
    for a, b in pairwise(points):
        length, at = math.dist(a, b), 0.0
        while length - at > left:
            at += left
            here = (a[0] + (b[0] - a[0]) * at / length, a[1] + (b[1] - a[1]) * at / length)
            if drawing:
                dashes[-1].append(here)
            else:
                dashes.append([here])
            drawing = not drawing
            left = on if drawing else off
        left -= length - at
        if drawing:
            dashes[-1].append(b)
    return dashes


def _paint(canvas: Any, element: Any, x: float, y: float) -> None:
    move = re.match(r"translate\((-?[\d.]+),(-?[\d.]+)\)", element.get("transform", ""))
    if move:
        x, y = x + float(move[1]), y + float(move[2])
    kind, fill, stroke = element.tag.rpartition("}")[2], element.get("fill"), _colour(element.get("stroke"))
    if element.get("class") == "paper":
        return  # the canvas is white already
    if kind == "rect":
        left, top, width, height, radius = (float(element.get(name, 0)) for name in ("x", "y", "width", "height", "rx"))
        canvas.rectangle(left + x, top + y, width, height, radius, _colour(fill), stroke, 1.0)
    elif kind == "path":
        for points, closed in flatten(element.get("d")):
            moved = [(px + x, py + y) for px, py in points]
            if closed:
                canvas.polygon(moved, _colour(fill))
                continue
            gaps = element.get("stroke-dasharray")
            for line in dashed(moved, *map(float, gaps.split())) if gaps else [moved]:
                canvas.line(line, stroke, float(element.get("stroke-width", 1)))
    elif kind == "text":
        canvas.text(
            float(element.get("x")) + x, float(element.get("y")) + y, element.text or "", float(element.get("font-size", 11)),
            element.get("text-anchor", "start"), element.get("font-weight") == "bold", _colour(fill or "#222222"),
        )  # fmt: skip
    for child in element:
        _paint(canvas, child, x, y)


def paint(drawing: Drawing, new_canvas: Callable[[float, float], Any]) -> Any:
    """Paint the picture on a `Canvas`, or on an object with the same methods, and return it."""
    root = ET.fromstring(drawing.svg())
    canvas = new_canvas(float(root.get("width", 1)), float(root.get("height", 1)))
    for child in root:
        _paint(canvas, child, 0.0, 0.0)
    return canvas


def to_png(drawing: Drawing, scale: float = 2.0, most: int = MOST_PIXELS) -> bytes:
    """The picture as a PNG file, with two pixels per SVG unit, or fewer if it is very large."""
    canvas = paint(drawing, lambda width, height: Canvas(width, height, min(scale, math.sqrt(most / (width * height)))))
    canvas.finish()
    return pack(canvas.pixels)


def pack(pixels: Any) -> bytes:
    """Encode pixels, bytes of shape (height, width, 3), as a PNG file."""
    height, width = pixels.shape[:2]
    rows = np.zeros((height, 1 + 3 * width), np.uint8)  # the first byte of a row is its filter: 0, none
    rows[:, 1:] = pixels.reshape(height, -1)
    chunks = [
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)),
        (b"IDAT", zlib.compress(rows.tobytes(), 6)),
        (b"IEND", b""),
    ]
    packed = [
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data)) for name, data in chunks
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(packed)
