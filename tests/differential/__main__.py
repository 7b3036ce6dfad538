"""Fuzz programs: `python -m tests.differential --programs 1000 --seed 0`. Each runs in PyTorch and in Penlight, in this process."""

from __future__ import annotations

import argparse
import faulthandler
import sys

import torch

import penlight
from tests.fuzz.progress import follow

from . import large, programs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0, help="of the first program; the next has the next number")
    parser.add_argument(
        "--large", action="store_true", help="on arrays that are large enough for threads and machine code"
    )
    given = parser.parse_args()
    faulthandler.enable()
    torch.set_num_threads(1)

    def compare(seed: int) -> str | None:
        if given.large:
            return large.compare(large.LargeSide(torch), large.LargeSide(penlight), seed)
        return programs.compare(torch, penlight, seed)

    findings = (compare(seed) for seed in range(given.seed, given.seed + given.programs))
    sys.exit(follow("programs", findings) > 0)


if __name__ == "__main__":
    main()
