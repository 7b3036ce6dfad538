"""`penlight run`: a program written for PyTorch, without PyTorch."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from penlight import _run

USAGE = """\
usage: penlight run script.py [args]
       penlight run -m module [args]
       penlight run -c command [args]

Runs a program written for PyTorch, unchanged: in its process `import torch`, and every module below it, gives Penlight.
"""


def main(arguments: Sequence[str]) -> int:
    """Run what the arguments name; its exit code."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(USAGE, end="")
        return 0 if arguments else 2
    what, *rest = arguments
    if what in ("-m", "-c"):
        if not rest:
            print(f"penlight run: argument expected for the {what} option", file=sys.stderr)
            return 2
        name, *rest = rest
        return _run.run(lambda: _run.module(name) if what == "-m" else _run.command(name), rest)
    if what == "-":
        text = sys.stdin.read()
        return _run.run(lambda: _run.command(text), rest)
    if what.startswith("-"):
        print(f"penlight run: unknown option {what}\n\n{USAGE}", end="", file=sys.stderr)
        return 2
    return _run.run(lambda: _run.script(what), rest)
