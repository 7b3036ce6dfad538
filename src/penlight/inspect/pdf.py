"""A Drawing as a PDF page: parses our own SVG and writes its shapes and texts as PDF operators."""

from __future__ import annotations

import zlib
from typing import Any

from .draw import Drawing
from .png import Points, paint

MOST_UNITS = 14_400  # the largest side of a page that PDF allows
_ROUND = 0.5523  # control-point distance of the Bézier curve that approximates a quarter circle
# Widths of Helvetica's characters, starting with the space, in thousandths of the font size.
_WIDTHS = [
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, *[556] * 10, 278, 278, 584, 584, 584, 556,
    1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611,
    278, 278, 278, 469, 556, 333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556, 556, 556, 333, 500, 278, 556,
    500, 722, 500, 500, 500, 334, 260, 334, 584,
]  # fmt: skip


class Page:
    """A PDF page with the drawing methods of `png.Canvas`."""

    def __init__(self, width: float, height: float) -> None:
        self.scale = min(1.0, MOST_UNITS / max(width, height))
        self.size = (width * self.scale, height * self.scale)
        # PDF's y axis points up, the picture's down: the page is flipped, and each text is flipped back.
        self.words = [f"{self.scale:.4f} 0 0 {-self.scale:.4f} 0 {self.size[1]:.2f} cm"]

    def rectangle(
        self, x: float, y: float, width: float, height: float, radius: float, fill: Any, stroke: Any, pen: float
    ) -> None:
        r, k, right, bottom = radius, radius * (1 - _ROUND), x + width, y + height
        corners = [
            ((right - r, y), (right - k, y), (right, y + k), (right, y + r)),
            ((right, bottom - r), (right, bottom - k), (right - k, bottom), (right - r, bottom)),
            ((x + r, bottom), (x + k, bottom), (x, bottom - k), (x, bottom - r)),
            ((x, y + r), (x, y + k), (x + k, y), (x + r, y)),
        ]
        way = [f"{x + r:.2f} {y:.2f} m"]
        for start, *bend in corners:
            way += [f"{_pairs([start])} l", f"{_pairs(bend)} c"]
        self._draw(way, fill, stroke, pen)

    def line(self, points: Points, colour: Any, pen: float) -> None:
        self._draw(_way(points), None, colour, pen)

    def polygon(self, points: Points, colour: Any) -> None:
        self._draw(_way(points), colour, None, 0.0)

    def _draw(self, way: list[str], fill: Any, stroke: Any, pen: float) -> None:
        if fill is not None:
            self.words.append(f"{_rgb(fill)} rg")
        if stroke is not None:
            self.words.append(f"{_rgb(stroke)} RG {pen} w")
        self.words += [*way, "f" if stroke is None else "S" if fill is None else "b"]

    def text(self, x: float, y: float, text: str, size: float, anchor: str, bold: bool, colour: Any) -> None:
        width = (
            sum(_WIDTHS[ord(c) - 32] if " " <= c <= "~" else 556 for c in text) * size / 1000 * (1.06 if bold else 1.0)
        )
        x -= {"middle": width / 2, "end": width}.get(anchor, 0.0)
        escaped = "".join("\\" + c if c in "()\\" else c for c in text)
        font = f"/{'B' if bold else 'R'} {size} Tf"
        self.words.append(f"BT {_rgb(colour)} rg {font} 1 0 0 -1 {x:.2f} {y:.2f} Tm ({escaped}) Tj ET")


def _pairs(points: Any) -> str:
    return " ".join(f"{x:.2f} {y:.2f}" for x, y in points)


def _way(points: Points) -> list[str]:
    return [f"{x:.2f} {y:.2f} {'l' if index else 'm'}" for index, (x, y) in enumerate(points)]


def _rgb(colour: Any) -> str:
    return " ".join(f"{float(c) / 255:.3f}" for c in colour)


def to_pdf(drawing: Drawing) -> bytes:
    """The picture as a PDF file with one page of the picture's size."""
    page = paint(drawing, Page)
    content = zlib.compress("\n".join(page.words).encode("cp1252", "replace"))
    fonts = " ".join(
        f"/{name} << /Type /Font /Subtype /Type1 /BaseFont /{font} /Encoding /WinAnsiEncoding >>"
        for name, font in (("R", "Helvetica"), ("B", "Helvetica-Bold"))
    )
    box = f"[0 0 {page.size[0]:.2f} {page.size[1]:.2f}]"
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        f"<< /Type /Page /Parent 2 0 R /MediaBox {box} /Contents 4 0 R /Resources << /Font << {fonts} >> >> >>".encode(),
        b"<< /Filter /FlateDecode /Length %d >>\nstream\n%b\nendstream" % (len(content), content),
    ]
    file, offsets = b"%PDF-1.4\n", []
    for number, text in enumerate(objects, 1):
        offsets.append(len(file))
        file += b"%d 0 obj\n%b\nendobj\n" % (number, text)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    end = b"trailer << /Size 5 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % len(file)
    return file + b"xref\n0 5\n0000000000 65535 f \n" + table + end
