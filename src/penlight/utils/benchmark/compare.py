"""A table of measurements: a row for each task and number of threads, a column for each description."""

from __future__ import annotations

import math
from collections.abc import Iterable
from enum import Enum
from typing import Any

from .measurement import Measurement, select_unit, trim_sigfig, unit_to_english

BEST, GOOD, BAD, VERY_BAD, BOLD, END = "\033[92m", "\033[34m", "\033[2m\033[91m", "\033[31m", "\033[1m", "\033[0m"


class Colorize(Enum):
    """Among which times the best is looked for."""

    NONE = "none"
    COLUMNWISE = "columnwise"
    ROWWISE = "rowwise"


class Compare:
    """Shows measurements side by side; those of the same task are taken together.

    >>> from penlight.utils.benchmark import Compare, Measurement, TaskSpec
    >>> task = TaskSpec("x + 1", "", label="add", sub_label="small", description="penlight")
    >>> print(str(Compare([Measurement(1, [2e-6], task)])).splitlines()[0])
    [-------- add ---------]
    """

    def __init__(self, results: list[Measurement]) -> None:
        self._results: list[Measurement] = []
        self._trim = self._highlight = False
        self._colorize = Colorize.NONE
        self.extend_results(results)

    def extend_results(self, results: Iterable[Measurement]) -> None:
        """More measurements."""
        results = list(results)
        for each in results:
            if not isinstance(each, Measurement):
                raise ValueError(f"Expected an instance of `Measurement`, got {type(each)} instead.")
        self._results.extend(results)

    def trim_significant_figures(self) -> None:
        """Show only the figures that can be trusted."""
        self._trim = True

    def colorize(self, rowwise: bool = False) -> None:
        """Show in colour which times are good, in each column, or in each row."""
        self._colorize = Colorize.ROWWISE if rowwise else Colorize.COLUMNWISE

    def highlight_warnings(self) -> None:
        """Show the spread of times that differ much."""
        self._highlight = True

    def print(self) -> None:
        """Print the table."""
        print(str(self))

    def __str__(self) -> str:
        groups: dict[str | None, list[Measurement]] = {}
        for each in Measurement.merge(self._results):
            groups.setdefault(each.task_spec.label, []).append(each)
        return "\n".join(
            _Table(group, self._trim, self._highlight, self._colorize).render() for group in groups.values()
        )


class _Table:
    """The table of one label."""

    def __init__(self, results: list[Measurement], trim: bool, highlight: bool, colorize: Colorize) -> None:
        self.label = results[0].task_spec.label or ""
        self.trim, self.highlight, self.colors = trim, highlight, colorize
        self.unit, self.scale = select_unit(min(r.median for r in results))
        self.noisy = highlight and any(r.has_warnings for r in results)
        self.envs = {r.task_spec.env for r in results}
        columns = list(dict.fromkeys(r.task_spec.description for r in results))
        keys = sorted(dict.fromkeys(map(_row_key, results)), key=lambda key: (key[0], key[1] or ""))
        found = {(_row_key(r), r.task_spec.description): r for r in results}
        self.columns = columns
        self.rows = [(key, [found.get((key, column)) for column in columns]) for key in keys]

    def render(self) -> str:
        formats = [self._format([cells[i] for _, cells in self.rows]) for i in range(len(self.columns))]
        texts = [["", *(column or "" for column in self.columns)]]
        for key, cells in self.rows:
            texts.append([self._row_name(key), *(formats[i](cell) for i, cell in enumerate(cells))])
        widths = [max(map(len, column)) for column in zip(*texts)]
        head = "  |  ".join(text.center(width) for text, width in zip(texts[0], widths))
        lines = [f"[{f' {self.label} '.center(len(head) - 2, '-')}]", head]
        threads = None
        for (key, cells), row in zip(self.rows, texts[1:]):
            if key[0] != threads:
                threads = key[0]
                lines.append(f"{threads} threads: ".ljust(len(head), "-"))
            body = [
                self._color(text.center(w), i, cells, threads) for i, (text, w) in enumerate(zip(row[1:], widths[1:]))
            ]
            lines.append("  |  ".join([row[0].ljust(widths[0]), *body]))
        lines += ["", f"Times are in {unit_to_english(self.unit)}s ({self.unit}).", ""]
        if self.noisy:
            lines.insert(-1, "(! XX%) Measurement has high variance, where XX is the IQR / median * 100.")
        return "\n".join(lines)

    def _row_name(self, key: tuple[int, str | None, str]) -> str:
        env = ""
        if len(self.envs) > 1:
            env = f"({key[1]})".ljust(max(len(str(e)) for e in self.envs))
        return "  " + env + "    " + key[2]

    def _format(self, cells: list[Measurement | None]) -> Any:
        """How the cells of a column become texts of one width."""
        there = [cell for cell in cells if cell is not None]
        digits = [math.ceil(math.log10(cell.median / self.scale)) for cell in there]
        decimals = 1
        if self.trim:
            decimals = min(max(cell.significant_figures - d, 0) for cell, d in zip(there, digits))
        width = max(digits) + decimals + (1 if decimals else 0)
        noisy = self.highlight and any(cell.has_warnings for cell in there)

        def text(cell: Measurement | None) -> str:
            if cell is None:
                return " " * len(f"{1:>{width}.{decimals}f}" + " " * (7 if noisy else 0))
            value = cell.median / self.scale
            if self.trim:
                value = trim_sigfig(value, cell.significant_figures)
            mark = f" (! {cell.iqr / cell.median * 100:.0f}%)" if noisy and cell.has_warnings else ""
            return f"{value:>{width}.{decimals}f}{mark:>{7 if noisy else 0}}"

        return text

    def _color(self, text: str, column: int, cells: list[Measurement | None], threads: int) -> str:
        own = cells[column]
        if own is None or self.colors is Colorize.NONE:
            return text
        others = cells
        if self.colors is Colorize.COLUMNWISE:
            others = [row[column] for key, row in self.rows if key[0] == threads]
        best = min(other.median for other in others if other is not None)
        value = own.median
        if value <= best * 1.01 or value <= best + 100e-9:
            return BEST + BOLD + text + END * 2
        if value <= best * 1.1:
            return GOOD + BOLD + text + END * 2
        if value >= best * 5:
            return VERY_BAD + BOLD + text + END * 2
        return BAD + text + END * 2 if value >= best * 2 else text


def _row_key(result: Measurement) -> tuple[int, str | None, str]:
    return result.task_spec.num_threads, result.task_spec.env, result.as_row_name
