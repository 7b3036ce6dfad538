"""Line charts and stacked area charts as SVG."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence

from .svg import FONT, escape, number

_COLOURS = (
    "#3a6ea5",
    "#d9822b",
    "#3f8f3a",
    "#b03a48",
    "#6b4fa0",
    "#8a6238",
    "#c264a8",
    "#5f6b76",
    "#a8a12c",
    "#2ba6a6",
)
_MOST_LETTERS = 105
_WIDTH, _HEIGHT, _LEFT, _TOP, _LINE = 640.0, 260.0, 70.0, 34.0, 17.0

_DARK = """<style>@media (prefers-color-scheme: dark) { .penlight-chart { fill: #dddddd; } .penlight-chart > .back { fill: #1c1e22; }
.penlight-chart > .unit { fill: #aaaaaa; } .penlight-chart > .grid { stroke: #444444; } }</style>"""

_PAGE = """<!DOCTYPE html><meta charset='utf-8'><meta name='viewport' content='width=device-width, initial-scale=1'><title>{title}</title>
<style>:root {{ color-scheme: light dark; }} pre {{ white-space: pre-wrap; overflow-wrap: anywhere; }}</style>
{svg}<pre>{text}</pre>"""


class Charted:
    """Base class of reports that print as a table and display as a chart in a notebook."""

    title = ""  # page title

    def __repr__(self) -> str:
        return str(self)

    def svg(self) -> str:
        """The chart."""
        raise NotImplementedError

    def _repr_svg_(self) -> str:
        return self.svg()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the chart as `.svg`, or as a page (`.html`) with the table below it."""
        ending = os.path.splitext(os.fspath(path))[1].lower()
        if ending not in (".svg", ".html", ".htm"):
            raise ValueError(f"can't tell the format of {os.fspath(path)!r}: the name must end in .svg or .html")
        text = self.svg()
        if ending != ".svg":
            text = _PAGE.format(title=self.title, svg=text, text="\n".join(map(escape, str(self).splitlines())))
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


def chart(
    title: str, series: Mapping[str, Sequence[float]], unit: str, stacked: bool = False, logarithmic: bool = False
) -> str:
    """A chart of series of equal length, each with its name in the legend below.

    Args:
        title: the heading above the chart.
        series: the values by name.
        unit: the unit of the vertical axis.
        stacked: draw stacked areas instead of lines.
        logarithmic: use a logarithmic vertical axis; values that are not positive become gaps.
    """
    count = max([len(values) for values in series.values()], default=0)
    sums = [sum(values[k] for values in series.values()) for k in range(count)] if stacked else []
    given = sums or [v for values in series.values() for v in values if not logarithmic or v > 0]
    finite = [v for v in given if math.isfinite(v)]
    scale = _scale(0.0 if not logarithmic else min(finite, default=1e-3), max(finite, default=1.0), logarithmic)
    across = lambda k: _LEFT + _WIDTH * k / max(count - 1, 1)
    parts = [_DARK, f'<text x="{_LEFT:.0f}" y="20" font-size="14" font-weight="bold">{escape(title)}</text>']
    for label, y in _ticks(min(finite, default=1e-3), max(finite, default=1.0), logarithmic, scale):
        parts.append(f'<path d="M{_LEFT:.0f} {number(y)}h{_WIDTH:.0f}" stroke="#cccccc" class="grid"/>')
        parts.append(f'<text x="{_LEFT - 6:.0f}" y="{number(y + 4)}" text-anchor="end">{label}</text>')
    parts.append(f'<text x="4" y="{_TOP - 4:.0f}" fill="#555555" class="unit">{escape(unit)}</text>')
    below = [0.0] * count
    for index, (name, values) in enumerate(series.items()):
        colour = _COLOURS[index % len(_COLOURS)]
        if stacked:
            above = [b + v for b, v in zip(below, values)]
            edge = [f"{number(across(k))} {number(scale(v))}" for k, v in enumerate(above)]
            edge += [f"{number(across(k))} {number(scale(below[k]))}" for k in reversed(range(count))]
            parts.append(
                f'<path d="M{"L".join(edge)}z" fill="{colour}" fill-opacity="0.8"><title>{escape(name)}</title></path>'
            )
            below = above
        else:
            drawn = [(k, v) for k, v in enumerate(values) if math.isfinite(v) and (v > 0 or not logarithmic)]
            line = "L".join(f"{number(across(k))} {number(scale(v))}" for k, v in drawn)
            if line:
                parts.append(
                    f'<path d="M{line}" fill="none" stroke="{colour}" stroke-width="1.5"><title>{escape(name)}</title></path>'
                )
        y = _TOP + _HEIGHT + 26 + _LINE * index
        parts.append(f'<rect x="{_LEFT:.0f}" y="{number(y - 9)}" width="12" height="10" fill="{colour}"/>')
        parts.append(f'<text x="{_LEFT + 18:.0f}" y="{number(y)}">{escape(_shortened(name))}</text>')
    width, height = _LEFT + _WIDTH + 20, _TOP + _HEIGHT + 30 + _LINE * len(series)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {number(width)} {number(height)}" width="{number(width)}" '
    head += f'height="{number(height)}" font-family="{FONT}" font-size="11" fill="#222222" class="penlight-chart" style="max-width:100%;height:auto">'
    return "\n".join(
        [
            head,
            f'<rect width="{number(width)}" height="{number(height)}" fill="#ffffff" class="back"/>',
            *parts,
            "</svg>",
        ]
    )


def _shortened(name: str) -> str:
    """Truncate a name to the width of the legend."""
    return name if len(name) <= _MOST_LETTERS else name[: _MOST_LETTERS - 3] + "..."


def _scale(low: float, high: float, logarithmic: bool) -> Callable[[float], float]:
    """Return a function that maps a value to its height in the picture."""
    if logarithmic:
        first, last = math.log10(low), math.log10(high)
        return lambda v: _TOP + _HEIGHT * (1 - (math.log10(v) - first) / ((last - first) or 1.0))
    return lambda v: _TOP + _HEIGHT * (1 - v / (high or 1.0))


def _ticks(low: float, high: float, logarithmic: bool, scale: Callable[[float], float]) -> list[tuple[str, float]]:
    """Labels of the vertical axis, and their heights."""
    if logarithmic:
        powers = range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1)
        step = max(1, len(powers) // 6)
        return [(f"1e{p}", scale(10.0**p)) for p in powers[::step]]
    return [(f"{high * k / 4:.3g}", scale(high * k / 4)) for k in range(5)]
