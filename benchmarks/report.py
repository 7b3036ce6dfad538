"""What was measured, as a table for a terminal or a page.

`results` is what `--json` keeps: `about` (machine, versions, date), `times[workload][library]` in seconds,
`memory[workload][library]` in bytes, `cold[program][library]` in seconds, `errors[workload][library]`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from .libraries import OWN, REFERENCE
from .work import ALL, COLD, FLOOR, MEAN, MEMORY


def in_words(seconds: float | None) -> str:
    """A time with the unit that suits it.

    >>> in_words(0.00123), in_words(2.5e-06), in_words(3.0), in_words(None)
    ('1.23 ms', '2.5 µs', '3 s', '-')
    """
    if seconds is None:
        return "-"
    for unit, scale in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds / 1e-6:.3g} µs"


def ratio(row: dict[str, float], over: str = REFERENCE, under: str = OWN) -> float | None:
    """How many times as fast as `over` the library `under` is."""
    return row[over] / row[under] if over in row and under in row else None


def geometric_mean(values: Iterable[float]) -> float:
    """
    >>> geometric_mean([1.0, 4.0])
    2.0
    """
    logs = [math.log(v) for v in values]
    return math.exp(sum(logs) / len(logs)) if logs else math.nan


def ratios(results: dict[str, Any], library: str = OWN) -> dict[str, float]:
    """PyTorch's time over a library's, for each workload that both ran."""
    found = {name: ratio(row, REFERENCE, library) for name, row in results["times"].items()}
    return {name: value for name, value in found.items() if value is not None}


def peers_of(results: dict[str, Any]) -> list[str]:
    """The libraries beside PyTorch and Penlight, in the order they were named."""
    return [name for name in results["about"]["versions"] if name not in (OWN, REFERENCE)]


def cells(name: str, results: dict[str, Any]) -> list[str]:
    """A workload's row: name, PyTorch's and Penlight's time, their ratio, the target, then PyTorch's time over each peer's."""
    row, target = results["times"].get(name, {}), ALL[name].target
    own = ratio(row)
    shown = [f"{ratio(row, REFERENCE, peer):.2f}" if peer in row else "" for peer in peers_of(results)]
    mark = "" if own is None or own >= max(target, FLOOR) else " !"
    return [
        name,
        in_words(row.get(REFERENCE)),
        in_words(row.get(OWN)),
        "-" if own is None else f"{own:.2f}{mark}",
        f"{target:.1f}",
        *shown,
    ]


def header(results: dict[str, Any]) -> list[str]:
    return ["workload", "PyTorch", "Penlight", "ratio", "target", *peers_of(results)]


def means(results: dict[str, Any]) -> list[str]:
    """The row of geometric means."""
    own = ratios(results)
    shown = [f"{geometric_mean(r.values()):.2f}" if (r := ratios(results, peer)) else "" for peer in peers_of(results)]
    return ["geometric mean", "", "", f"{geometric_mean(own.values()):.2f}" if own else "-", f"{MEAN:.1f}", *shown]


def memory_rows(results: dict[str, Any]) -> list[list[str]]:
    """Peak memory: PyTorch's and Penlight's MB, Penlight's over PyTorch's, which should be at most 1."""
    rows = []
    for name, row in results.get("memory", {}).items():
        share = row[OWN] / row[REFERENCE] if row.get(REFERENCE) and OWN in row else None
        mark = "" if share is None or share <= MEMORY else " !"
        megabytes = [f"{row[key] / 1e6:.1f}" if key in row else "-" for key in (REFERENCE, OWN)]
        rows.append([name, *megabytes, "-" if share is None else f"{share:.2f}{mark}", f"{MEMORY:.1f}"])
    return rows


def cold_rows(results: dict[str, Any]) -> list[list[str]]:
    """Cold start: PyTorch's and Penlight's time, and their ratio."""
    rows = []
    for name, row in results.get("cold", {}).items():
        own = ratio(row)
        mark = "" if own is None or own >= COLD else " !"
        rows.append(
            [
                name,
                in_words(row.get(REFERENCE)),
                in_words(row.get(OWN)),
                "-" if own is None else f"{own:.1f}{mark}",
                f"{COLD:.1f}",
            ]
        )
    return rows


def line(row: list[str]) -> str:
    """A row of the terminal's table.

    >>> line(["chain", "1 ms", "2 ms", "0.50 !", "2.0"])
    'chain                      1 ms        2 ms    0.50 !     2.0'
    """
    name, reference, own, times, target, *more = row
    return f"{name:<22}{reference:>9}{own:>12}{times:>10}{target:>8}" + "".join(f"{text:>10}" for text in more)


def markdown_table(head: list[str], rows: list[list[str]]) -> str:
    """A table for a page.

    >>> print(markdown_table(["a", "b"], [["x", "1"]]))
    | a | b |
    |---|---:|
    | x | 1 |
    """
    lines = ["| " + " | ".join(head) + " |", "|---" + "|---:" * (len(head) - 1) + "|"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def about_line(results: dict[str, Any]) -> str:
    """Where and when: a sentence."""
    about = results["about"]
    versions = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    return (
        f"{about['date']}, {about['machine']}, {about['threads']} thread{'s' if about['threads'] != 1 else ''}, Python {about['python']}, NumPy {about['numpy']}, "
        f"{versions}; best of {about['rounds']} rounds, load {about['load']:.1f}"
    )


def markdown(results: dict[str, Any]) -> str:
    """All tables as a page's text."""
    parts = [about_line(results) + "."]
    if results["times"]:
        rows = [cells(name, results) for name in results["times"]]
        parts.append(markdown_table(header(results), [*rows, means(results)]))
    if results.get("memory"):
        parts.append(
            markdown_table(["peak memory of", "PyTorch MB", "Penlight MB", "share", "at most"], memory_rows(results))
        )
    if results.get("cold"):
        parts.append(markdown_table(["cold start to", "PyTorch", "Penlight", "ratio", "at least"], cold_rows(results)))
    return "\n\n".join(parts) + "\n"
