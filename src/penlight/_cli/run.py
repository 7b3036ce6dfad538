"""`penlight run`: run a program written for PyTorch, with options to observe it."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from penlight import _run
from penlight.kernels.lazy import lazy_import

_run_options = lazy_import(globals(), "_run_options", ".run_options")

USAGE = """\
usage: penlight run [options] script.py [args]
       penlight run [options] -m module [args]
       penlight run [options] -c command [args]

Runs a program written for PyTorch, unchanged: in its process `import torch`, and every module below it, imports Penlight.

  --watch                errors of autograd name the lines of the program that caused them, and lines that made NaN are printed at the
                         end; `torch.inspect.explain(x)` in the program says why a gradient is None
  --draw graph.html      draw the graph of the first backward pass (.html, .svg, .png, .pdf or .dot)
  --profile trace.json   write when each op ran, for chrome://tracing or Perfetto
  --memory memory.html   write the memory over time, and which lines hold the peak (.html or .svg)
"""


def main(arguments: Sequence[str]) -> int:
    """Run a program with these arguments and return its exit code."""
    given = list(arguments)
    if not given or given[0] in ("-h", "--help"):
        print(USAGE, end="")
        return 0 if given else 2
    options: dict[str, str] = {}
    while given and given[0] in ("--watch", "--draw", "--profile", "--memory"):
        name = given.pop(0)
        if name != "--watch" and (not given or given[0].startswith("-")):
            return _refuse(f"{name} needs the name of a file")
        options[name] = "" if name == "--watch" else given.pop(0)
        if wrong := _wrong_file(name, options[name]):
            return _refuse(wrong)
    if not given:
        return _refuse("no program is given")
    what, *rest = given
    if what in ("-m", "-c"):
        if not rest:
            return _refuse(f"argument expected for the {what} option")
        name, *rest = rest
        run = lambda: _run.module(name) if what == "-m" else _run.command(name)
    elif what == "-":
        text = sys.stdin.read()
        run = lambda: _run.command(text)
    elif what.startswith("-"):
        return _refuse(f"unknown option {what}", USAGE)
    else:
        run = lambda: _run.script(what)
    if not options:
        return _run.run(run, rest)
    with _run_options.observe(options):
        return _run.run(run, rest)


_ENDINGS = {"--draw": (".html", ".svg", ".png", ".pdf", ".dot"), "--memory": (".html", ".svg"), "--profile": (".json",)}


def _wrong_file(option: str, path: str) -> str:
    """The error in the name of a file to be written, or "". It is reported before the program runs, not after hours."""
    endings = _ENDINGS.get(option, ("",))
    if not path.lower().endswith(endings):
        return f"{option} {path}: the name must end in {' or '.join(', '.join(endings).rsplit(', ', 1))}"
    folder = os.path.dirname(path)
    return f"{option} {path}: there is no folder {folder}" if folder and not os.path.isdir(folder) else ""


def _refuse(words: str, usage: str = "") -> int:
    print(f"penlight run: {words}\n" + (f"\n{usage}" if usage else ""), end="", file=sys.stderr)
    return 2
