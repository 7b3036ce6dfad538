"""`penlight launch`: a program in several processes that find each other; takes the options of torchrun."""

from __future__ import annotations

from collections.abc import Sequence


def main(arguments: Sequence[str]) -> int:
    """Start the ranks and return the exit code."""
    from penlight.distributed.run import main as run

    return run(arguments)
