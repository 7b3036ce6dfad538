"""Pictures in the terminal for the examples: curves, clouds of points, images. Plain text, nothing to install."""

from __future__ import annotations

SHADES = " .:-=+*#%@"


def curves(width: int = 72, height: int = 16, **series: tuple[list[float], list[float]]) -> str:
    """Curves, each by its name and its (xs, ys); each is drawn with the first letter of its name. In `X_points` the letter stands before the name."""
    xs = [x for points in series.values() for x in points[0]]
    ys = [y for points in series.values() for y in points[1]]
    grid = Grid(width, height, min(xs), max(xs), min(ys), max(ys))
    for name, points in series.items():
        for x, y in zip(*points):
            grid.put(x, y, name[0])
    legend = [f"{name[0]} = {name[2 * (name[1] == '_') :].replace('_', ' ')}" for name in series]
    if any("*" in row for row in grid.cells):
        legend.append("* = several")
    return f"{grid}\n" + "   ".join(legend)


def cloud(points: list[list[float]], reach: float, width: int = 60, height: int = 26) -> str:
    """Points in the plane as a density, from -reach to reach."""
    counts = [[0] * width for _ in range(height)]
    for x, y in points:
        column, row = int((x + reach) / (2 * reach) * width), int((reach - y) / (2 * reach) * height)
        if 0 <= column < width and 0 <= row < height:
            counts[row][column] += 1
    top = max(map(max, counts)) or 1
    return "\n".join("".join(SHADES[min(9, -(-9 * n // top))] for n in row) for row in counts)


def image(rows: list[list[float]], low: float = 0.0, high: float = 1.0) -> str:
    """An image by shades, two letters for a pixel."""
    scale = 9.99 / (high - low)
    return "\n".join("".join(2 * SHADES[int(max(0, min(9, (v - low) * scale)))] for v in row) for row in rows)


def side_by_side(*blocks: str, gap: str = "   ") -> str:
    """Blocks of text next to each other."""
    split = [block.splitlines() for block in blocks]
    widths = [max(map(len, lines)) for lines in split]
    rows = max(map(len, split))
    full = [[*lines, *[""] * (rows - len(lines))] for lines in split]
    return "\n".join(gap.join(line.ljust(w) for line, w in zip(row, widths)).rstrip() for row in zip(*full))


class Grid:
    """Letters on a rectangle of the plane, with the range of y at its left."""

    def __init__(self, width: int, height: int, x0: float, x1: float, y0: float, y1: float) -> None:
        self.cells = [[" "] * width for _ in range(height)]
        self.box = x0, x1 if x1 > x0 else x0 + 1, y0, y1 if y1 > y0 else y0 + 1

    def put(self, x: float, y: float, letter: str) -> None:
        x0, x1, y0, y1 = self.box
        height, width = len(self.cells), len(self.cells[0])
        column, row = round((x - x0) / (x1 - x0) * (width - 1)), round((y1 - y) / (y1 - y0) * (height - 1))
        taken = self.cells[row][column] not in (" ", letter) and letter.islower()
        self.cells[row][column] = "*" if taken else letter

    def __str__(self) -> str:
        _, _, y0, y1 = self.box
        labels = {0: f"{y1:8.3g}", len(self.cells) - 1: f"{y0:8.3g}"}
        return "\n".join(f"{labels.get(i, ''):>8} |{''.join(row)}" for i, row in enumerate(self.cells))
