"""A Drawing as one HTML page that needs no network: the boxes and links as JSON, and a script that lays them out and draws.

The page lays the graph out itself, by the same steps as layout.py and svg.py, since folding a module needs a new layout.
"""

from __future__ import annotations

import json
from importlib.resources import files

from .draw import Drawing
from .modules import paths_of
from .svg import COLOURS


def to_html(drawing: Drawing) -> str:
    """The page: page.html, with the graph in the place that is kept for it."""
    results = next((i for i, box in enumerate(drawing.boxes) if box.kind == "node"), len(drawing.boxes))
    graph = {
        "boxes": [
            {
                "kind": box.kind, "title": box.title, "lines": box.lines, "details": box.details, "module": box.module,
                "ports": box.ports, "saved": box.exits - len(box.ports),
            }
            for box in drawing.boxes
        ],
        "links": [
            {"source": k.source, "target": k.target, "kind": k.kind, "label": k.label, "port": k.port} for k in drawing.links
        ],
        "results": results,  # how many boxes, from the first, are the tensors that were asked for
        "modules": paths_of(drawing.boxes),
        "types": drawing.types,
        "unreached": drawing.unreached,
        "colours": COLOURS,
    }  # fmt: skip
    # Inside a script element only "<" can end the element or open a comment.
    data = json.dumps(graph).replace("<", "\\u003c")
    head, tail = files(__package__).joinpath("page.html").read_text(encoding="utf-8").split("@HERE@")
    return head + data + tail
