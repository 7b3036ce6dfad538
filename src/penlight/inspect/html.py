"""A Drawing as one HTML page that needs no network: the boxes and links as JSON, and a script that lays them out and draws.

See Note [Laid out twice] in layout.py.
"""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from . import layout
from .draw import Box, Drawing
from .modules import module_box, outwards, paths_of, results_of
from .svg import COLOURS, HEAD

CONSTANTS = ("GAP_X", "GAP_Y", "TRUNK", "LINE", "MOST_PORTS", "FIRM", "NEAR", "MOST_PLACES")


def to_html(drawing: Drawing) -> str:
    """The page: page.html, with the graph inserted at the marker."""
    results = next((i for i, box in enumerate(drawing.boxes) if box.kind == "node"), len(drawing.boxes))
    inside: dict[str, list[Box]] = {path: [] for path in paths_of(drawing.boxes, drawing.interrupted)}
    for box in drawing.boxes:
        for path in outwards(box.module):
            if path in inside:
                inside[path].append(box)
    sizes = results_of(drawing)
    graph = {
        "boxes": [_box(box) for box in drawing.boxes],
        "links": [
            {"source": k.source, "target": k.target, "kind": k.kind, "label": k.label, "port": k.port} for k in drawing.links
        ],
        "results": results,  # how many of the first boxes are the tensors passed to `draw`
        "modules": {path: _box(module_box(path, members, drawing.types, sizes.get(path, []))) for path, members in inside.items()},
        "types": drawing.types,
        "unreached": drawing.unreached,
        "frames": drawing.frames,
        "colours": COLOURS,
        "constants": {name: getattr(layout, name) for name in CONSTANTS} | {"HEAD": HEAD},
    }  # fmt: skip
    # Inside a script element only "<" can close the element or open a comment.
    data = json.dumps(graph).replace("<", "\\u003c")
    head, tail = files(__package__).joinpath("page.html").read_text(encoding="utf-8").split("@HERE@")
    return head + data + tail


def _box(box: Box) -> dict[str, Any]:
    layout.measure(box)
    return {
        "kind": box.kind, "title": box.title, "lines": box.lines, "details": box.details, "module": box.module,
        "ports": box.ports, "saved": box.exits - len(box.ports), "width": round(box.width, 2), "height": box.height,
    }  # fmt: skip
