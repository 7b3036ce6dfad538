"""The ratios as a picture: bars on a logarithmic scale around 1, targets as ticks, peers as dots. Plain SVG, written here."""

from __future__ import annotations

import math
import textwrap
from html import escape
from typing import Any

from .libraries import REFERENCE
from .report import about_line, geometric_mean, peers_of, ratios
from .work import ALL

LEFT, RIGHT, ROW, TOP = 170, 70, 18, 92
WIDTH = 900
LOW, HIGH = 1 / 8, 16.0
FASTER, SLOWER, GRID, TEXT, FAINT = "#2f6fb5", "#d9822b", "#dde1e6", "#24292f", "#6a737d"
PEER_COLORS = ("#8250df", "#1a7f5a", "#c2255c", "#8d6e1f")


def across(value: float) -> float:
    """Where a ratio stands; what is beyond the scale stands at its edge."""
    clipped = min(max(value, LOW), HIGH)
    return LEFT + (math.log2(clipped) - math.log2(LOW)) / (math.log2(HIGH) - math.log2(LOW)) * (WIDTH - LEFT - RIGHT)


def text(
    x: float, y: float, words: str, anchor: str = "start", color: str = TEXT, size: int = 12, bold: bool = False
) -> str:
    weight = ' font-weight="600"' if bold else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{color}" font-size="{size}"{weight}>{escape(words)}</text>'


def legend(results: dict[str, Any]) -> list[str]:
    """What the marks mean."""
    entries = [("rect", FASTER, "Penlight faster"), ("rect", SLOWER, "slower"), ("tick", TEXT, "target")]
    entries += [
        ("dot", color, f"{name} {results['about']['versions'][name]}")
        for name, color in zip(peers_of(results), PEER_COLORS)
    ]
    parts, x, y = [], 16.0, 62.0
    for kind, color, words in entries:
        if kind == "rect":
            parts.append(f'<rect x="{x:.1f}" y="{y - 9}" width="12" height="10" fill="{color}"/>')
        elif kind == "tick":
            parts.append(
                f'<line x1="{x + 6:.1f}" x2="{x + 6:.1f}" y1="{y - 11}" y2="{y + 3}" stroke="{color}" stroke-width="2"/>'
            )
        else:
            parts.append(f'<circle cx="{x + 6:.1f}" cy="{y - 4}" r="4" fill="{color}"/>')
        parts.append(text(x + 17, y, words))
        x += 34 + 6.6 * len(words)
    return parts


def axis(bottom: float) -> list[str]:
    """Lines at the powers of two, the one at 1 darker."""
    parts = []
    power = LOW
    while power <= HIGH:
        x = across(power)
        stroke = FAINT if power == 1 else GRID
        parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP - 8}" y2="{bottom}" stroke="{stroke}"/>')
        label = f"{power:g}×" if power >= 1 else f"1/{1 / power:g}"
        parts.append(text(x, bottom + 16, label, "middle", FAINT))
        power *= 2
    return parts


def bar(name: str, y: float, results: dict[str, Any]) -> list[str]:
    """A workload's row."""
    parts = [text(LEFT - 10, y + 12, name, "end")]
    value = ratios(results).get(name)
    if value is not None:
        begin, end = sorted((across(1.0), across(value)))
        color = FASTER if value >= 1 else SLOWER
        parts.append(
            f'<rect x="{begin:.1f}" y="{y + 3}" width="{max(end - begin, 1):.1f}" height="{ROW - 6}" fill="{color}"/>'
        )
        parts.append(text(WIDTH - RIGHT + 12, y + 12, f"{value:.2f}", bold=True, color=color))
    target = across(ALL[name].target)
    parts.append(
        f'<line x1="{target:.1f}" x2="{target:.1f}" y1="{y + 1}" y2="{y + ROW - 1}" stroke="{TEXT}" stroke-width="2"/>'
    )
    for peer, color in zip(peers_of(results), PEER_COLORS):
        other = ratios(results, peer).get(name)
        if other is not None:
            parts.append(
                f'<circle cx="{across(other):.1f}" cy="{y + ROW / 2}" r="4" fill="{color}" stroke="#fff" stroke-width="0.8">'
                f"<title>{escape(peer)}: {other:.2f}</title></circle>"
            )
    return parts


def svg(results: dict[str, Any]) -> str:
    """The picture as the text of an SVG file."""
    rows: list[str] = []
    y, group = float(TOP), ""
    for name in (n for n in ALL if n in results["times"]):
        if ALL[name].group != group:
            group = ALL[name].group
            rows.append(text(16, y + 13, group, bold=True, color=FAINT))
            y += ROW
        rows += bar(name, y, results)
        y += ROW
    height = y + 66
    mean = geometric_mean(ratios(results).values())
    head = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" width="{WIDTH}" height="{height:.0f}" '
        'font-family="system-ui, sans-serif">',
        f'<rect width="{WIDTH}" height="{height:.0f}" fill="#fff"/>',
        text(
            16,
            28,
            f"Speed relative to PyTorch {results['about']['versions'].get(REFERENCE, '')} on the CPU",
            size=17,
            bold=True,
        ),
        text(WIDTH - 16, 28, "" if math.isnan(mean) else f"geometric mean {mean:.2f}", "end", size=14, bold=True),
    ]
    lines = textwrap.wrap(about_line(results), 150)
    foot = [text(16, height - 10 - 12 * up, words, color=FAINT, size=9) for up, words in enumerate(reversed(lines))]
    return "\n".join([*head, *legend(results), *axis(y), *rows, *foot, "</svg>", ""])
