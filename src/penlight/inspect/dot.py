"""A Drawing in Graphviz's language."""

from __future__ import annotations

from .draw import Drawing
from .svg import COLOURS, STROKES


def quote(text: str) -> str:
    """Quote a string for Graphviz. Backslashes are doubled, because Graphviz reads escapes such as `\\N` in labels."""
    clean = "".join(c if c >= " " or c == "\n" else "?" for c in text)
    return '"' + clean.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def to_dot(drawing: Drawing) -> str:
    """A digraph with the boxes as `b0`, `b1`, ..."""
    lines = [
        "digraph backward {",
        "  rankdir=TB;",
        '  node [shape=box, style="filled,rounded", fontname="Helvetica", fontsize=11];',
    ]
    for index, box in enumerate(drawing.boxes):
        fill, stroke, _ = COLOURS[box.kind]
        label = quote("\n".join([box.title, *box.lines]))
        style = ', style="filled,dashed"' if box.kind == "gone" else ""
        lines.append(f'  b{index} [label={label}, fillcolor="{fill}", color="{stroke}"{style}];')
    for link in drawing.links:
        label = f", label={quote(link.label)}" if link.label else ""
        style = ", style=dashed" if link.kind == "saved" else ""
        lines.append(f'  b{link.source} -> b{link.target} [color="{STROKES[link.kind]}"{label}{style}];')
    return "\n".join([*lines, "}", ""])
