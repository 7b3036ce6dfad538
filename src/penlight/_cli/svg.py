"""A line chart as an SVG file."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

_WIDTH, _HEIGHT, _LEFT, _TOP, _RIGHT, _BOTTOM = 720, 400, 64, 48, 24, 48
_COLORS = ("#1f6feb", "#d1492e", "#2a9d5c", "#8250df")


def nice_steps(low: float, high: float, count: int = 5) -> list[float]:
    """About `count` round numbers that cover an interval.

    >>> nice_steps(0.0, 2.3)
    [0.0, 0.5, 1.0, 1.5, 2.0]
    """
    span = (high - low) or 1.0
    rough = span / count
    magnitude = 10.0 ** math.floor(math.log10(rough))
    step = next(m * magnitude for m in (1, 2, 5, 10) if m * magnitude >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [round(n * step, 10) for n in range(first, math.floor(high / step + 1e-9) + 1)]


def line_chart(title: str, x_label: str, y_label: str, lines: Mapping[str, Sequence[tuple[float, float]]]) -> str:
    """A line chart as the text of an SVG file; each line is given by its points.

    >>> line_chart("Loss", "step", "loss", {"train": [(0, 2.0), (1, 1.0)]}).startswith("<svg")
    True
    """
    points = [p for line in lines.values() for p in line if math.isfinite(p[1])] or [(0.0, 0.0)]
    low_x, high_x = min(x for x, _ in points), max(x for x, _ in points)
    low_y, high_y = min(0.0, *(y for _, y in points)), max(y for _, y in points)
    high_x, high_y = high_x if high_x > low_x else low_x + 1, high_y if high_y > low_y else low_y + 1

    def pixel(x: float, y: float) -> tuple[float, float]:
        across = (x - low_x) / (high_x - low_x) * (_WIDTH - _LEFT - _RIGHT)
        up = (y - low_y) / (high_y - low_y) * (_HEIGHT - _TOP - _BOTTOM)
        return round(_LEFT + across, 1), round(_HEIGHT - _BOTTOM - up, 1)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}" '
        'font-family="system-ui, sans-serif" font-size="12" fill="#333">',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#fff"/>',
        f'<text x="{_LEFT}" y="26" font-size="16" font-weight="600">{escape(title)}</text>',
        f'<text x="{(_LEFT + _WIDTH - _RIGHT) / 2}" y="{_HEIGHT - 10}" text-anchor="middle">{escape(x_label)}</text>',
        f'<text x="16" y="{_TOP - 14}" text-anchor="start">{escape(y_label)}</text>',
    ]
    for y in nice_steps(low_y, high_y):
        left, up = pixel(low_x, y)
        parts.append(f'<line x1="{left}" x2="{_WIDTH - _RIGHT}" y1="{up}" y2="{up}" stroke="#e3e3e3"/>')
        parts.append(f'<text x="{left - 8}" y="{up + 4}" text-anchor="end">{y:g}</text>')
    for x in nice_steps(low_x, high_x, 8):
        across, base = pixel(x, low_y)
        parts.append(f'<text x="{across}" y="{base + 18}" text-anchor="middle">{x:g}</text>')
    for number, (name, line) in enumerate(lines.items()):
        color = _COLORS[number % len(_COLORS)]
        path = " ".join(f"{a},{b}" for a, b in (pixel(x, y) for x, y in line if math.isfinite(y)))
        parts.append(
            f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="1.8" stroke-linejoin="round"/>'
        )
        parts.append(_legend(name, number, color))
    return "\n".join([*parts, "</svg>", ""])


def _legend(name: str, number: int, color: str) -> str:
    top = _TOP + 6 + 18 * number
    right = _WIDTH - _RIGHT - 150
    return (
        f'<line x1="{right}" x2="{right + 24}" y1="{top}" y2="{top}" stroke="{color}" stroke-width="2"/>'
        f'<text x="{right + 30}" y="{top + 4}">{escape(name)}</text>'
    )
