"""A Drawing as SVG. Colours are attributes, because a style sheet would apply to the whole notebook page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .draw import Box, Drawing, Link
from .layout import LINE, MOST_PORTS, SMALL, TITLE, text_width

# Fill, outline and legend text by kind.
COLOURS = {
    "leaf": ("#d5efcf", "#3f8f3a", "leaf, requires grad"),
    "constant": ("#fdf3c0", "#b8981a", "leaf, no grad"),
    "tensor": ("#ecdcc6", "#8a6238", "result or intermediate"),
    "node": ("#d6e6f8", "#3a6ea5", "backward node"),
    "gone": ("#eeeeee", "#888888", "freed or packed"),
    "module": ("#e5dcf5", "#6b4fa0", "module"),
}
STROKES = {"next": "#3a6ea5", "grad_fn": "#8a6238", "variable": "#3f8f3a", "saved": "#999999"}
FONT = "Helvetica, Arial, sans-serif"
MARGIN, HEAD = 20.0, 6.0


def escape(text: str) -> str:
    """Escape text for XML: special characters become entities, and forbidden ones question marks."""
    clean = "".join(c if c >= " " and not ("\ud800" <= c <= "\udfff" or c in "\ufffe\uffff\x7f") else "?" for c in text)
    return clean.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


def number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def to_svg(drawing: Drawing) -> str:
    """The whole document."""
    layout = drawing.layout()
    legend, legend_width, legend_height = _legend(drawing)
    width = max(layout.width, legend_width) + 2 * MARGIN
    height = layout.height + legend_height + 2 * MARGIN
    left = (width - layout.width) / 2
    size = f'width="{number(width)}" height="{number(height)}" viewBox="0 0 {number(width)} {number(height)}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="{FONT}" font-size="{number(SMALL)}" fill="#222222" style="max-width:100%;height:auto">',
        f'<rect class="paper" width="{number(width)}" height="{number(height)}" fill="#ffffff"/>',
        '<g class="view">',
        f'<g class="legend" transform="translate({number(MARGIN)},{number(MARGIN)})">{legend}</g>',
        f'<g class="graph" transform="translate({number(left)},{number(MARGIN + legend_height)})">',
        *_trunks(drawing, layout),
        *(_link(drawing.boxes, link, layout) for link in drawing.links),
        *(_box(index, box) for index, box in enumerate(drawing.boxes)),
        "</g></g></svg>",
    ]
    return "\n".join(parts)


def _legend(drawing: Drawing) -> tuple[str, float, float]:
    used = {box.kind for box in drawing.boxes}
    parts, x = [], 0.0
    for kind, (fill, stroke, text) in COLOURS.items():
        if kind not in used:
            continue
        dashes = ' stroke-dasharray="3 2"' if kind == "gone" else ""
        parts.append(
            f'<rect x="{number(x)}" y="0" width="14" height="12" rx="2" fill="{fill}" stroke="{stroke}"{dashes}/>'
        )
        parts.append(f'<text x="{number(x + 19)}" y="10">{text}</text>')
        x += 19 + text_width(text, SMALL) + 20
    height = 34.0
    if drawing.unreached:
        names = ", ".join(drawing.unreached[:6]) + (
            f" and {len(drawing.unreached) - 6} more" if len(drawing.unreached) > 6 else ""
        )
        text = "not in this graph: " + names
        parts.append(f'<text class="unreached" x="0" y="30" fill="#a03020">{escape(text)}</text>')
        x, height = max(x, text_width(text, SMALL)), height + 18
    return "".join(parts), x, height


def _box(index: int, box: Box) -> str:
    fill, stroke, _ = COLOURS[box.kind]
    x, y = box.x - box.width / 2, box.y - box.height / 2
    radius, dashes = (10 if box.kind == "node" else 3), (' stroke-dasharray="4 3"' if box.kind == "gone" else "")
    parts = [
        f'<g class="box {box.kind}" id="box{index}"><rect x="{number(x)}" y="{number(y)}" width="{number(box.width)}" '
        f'height="{number(box.height)}" rx="{radius}" fill="{fill}" stroke="{stroke}"{dashes}/>',
        _text(box.x, y + 7 + LINE * 0.75, box.title, f' font-size="{number(TITLE)}" font-weight="bold"'),
    ]
    parts += [_text(box.x, y + 7 + LINE * (i + 1.75), line) for i, line in enumerate(box.lines)]
    if box.exits <= MOST_PORTS:
        parts += [_none(_port(box, port), y + box.height) for port, text in enumerate(box.ports) if text == "None"]
    return "".join(parts) + "</g>"


def _text(x: float, y: float, text: str, more: str = "") -> str:
    return f'<text x="{number(x)}" y="{number(y)}" text-anchor="middle"{more}>{escape(text)}</text>'


def _none(x: float, y: float) -> str:
    """The stump of an entry (None, 0) of next_functions."""
    line = f'<path d="M{number(x)} {number(y)}v7m-4 0h8" stroke="#888888" fill="none"/>'
    return line + _text(x, y + 16, "None", ' font-size="9" fill="#666666"')


def _port(box: Box, port: int) -> float:
    """The x where an arrow leaves a node: entries of `next_functions` from the left (a single one in the middle), saved tensors at the right."""
    entries, saved = len(box.ports), box.exits - len(box.ports)
    if port >= entries:
        share = 0.66 + 0.32 * (port - entries + 0.5) / saved
    elif saved and entries > 1:
        share = 0.04 + 0.6 * (port + 0.5) / entries
    else:
        share = (port + 1) / (entries + 1)
    return box.x + box.width * (share - 0.5)


def _curve(x: float, y: float, to_x: float, to_y: float) -> str:
    """A path straight down to y, then along a curve to a point further below."""
    if abs(to_x - x) < 0.05:
        return f"V{number(to_y)}"
    bend = (to_y - y) * 0.5
    return f"V{number(y)}C{number(x)} {number(y + bend)} {number(to_x)} {number(to_y - bend)} {number(to_x)} {number(to_y)}"


def _arrow(x: float, y: float, colour: str) -> str:
    return f'<path d="M{number(x)} {number(y)}l-3.5 -{number(HEAD)}h7z" fill="{colour}"/>'


def _link(boxes: list[Box], link: Link, layout: Any) -> str:
    source, target = boxes[link.source], boxes[link.target]
    colour = STROKES[link.kind]
    x = _port(source, link.port) if link.port >= 0 else source.x
    y, head = source.y + source.height / 2, ""
    path, low = f"M{number(x)} {number(y)}", source.row[1]
    if link.join is None and target.y <= source.y:  # an upward arrow, which closes a cycle
        side = max(source.x + source.width / 2, target.x + target.width / 2) + 16
        to_x, to_y = target.x + target.width / 2, target.y
        path += f"C{number(x)} {number(y + 24)} {number(side)} {number(y + 24)} {number(side)} {number(source.y)}"
        path += f"L{number(side)} {number(to_y + 20)}Q{number(side)} {number(to_y)} {number(to_x)} {number(to_y)}"
    elif link.join is None:
        to_x, to_y = target.x, target.y - target.height / 2
        path += _curve(x, low, to_x, min(target.row[0], to_y - HEAD)) + f"V{number(to_y - HEAD)}"
        head = _arrow(to_x, to_y, colour)
    else:
        to_x, to_y = link.join
        path += _curve(x, low, to_x, to_y)
    dashes = ' stroke-dasharray="4 3"' if link.kind == "saved" else ""
    label = "" if link.kind == "saved" else _label(link.label, source, (x, y), (to_x, to_y), colour)
    return (
        f'<g class="edge {link.kind}" data-from="{link.source}" data-to="{link.target}">'
        f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="1.2"{dashes}/>{head}{label}</g>'
    )


def _label(label: str, source: Box, start: tuple[float, float], end: tuple[float, float], colour: str) -> str:
    """The output index next to the start of an arrow, or next to its end if very many leave the box."""
    if not label:
        return ""
    right = end[0] >= start[0]
    x, y = (start[0], start[1] + 12) if source.exits <= MOST_PORTS else (end[0], end[1] - 9)
    x, anchor = (x - 3, "end") if right == (source.exits <= MOST_PORTS) else (x + 3, "start")
    return f'<text x="{number(x)}" y="{number(y)}" text-anchor="{anchor}" fill="{colour}">{escape(label)}</text>'


def _trunks(drawing: Drawing, layout: Any) -> Iterator[str]:
    """The shared paths of arrows to one box. See Note [Trunks] in layout.py."""
    kinds: dict[int, str] = {}
    for link in drawing.links:
        if link.join is not None and kinds.get(link.target) != "next":
            kinds[link.target] = link.kind
    for target, points in layout.trunks.items():
        box, kind = drawing.boxes[target], kinds[target]
        end = (box.x, box.y - box.height / 2 - HEAD)
        x, y, low = points[0]
        path = f"M{number(x)} {number(y)}"
        for to_x, to_y, to_low in [*points[1:], (end[0], min(box.row[0], end[1]), end[1])]:
            path += f"V{number(to_y)}" if abs(to_x - x) < 0.05 else _curve(x, low, to_x, to_y)
            x, low = to_x, to_low
        path += f"V{number(end[1])}"
        dashes = ' stroke-dasharray="4 3"' if kind == "saved" else ""
        yield (
            f'<g class="trunk" data-to="{target}"><path d="{path}" fill="none" stroke="{STROKES[kind]}" stroke-width="1.2"{dashes}/>'
            f"{_arrow(end[0], end[1] + HEAD, STROKES[kind])}</g>"
        )
