"""Spoils every derivative rule in turn and says which ones no test finds.

    python tools/mutate_derivatives.py            # all ops
    python tools/mutate_derivatives.py tanh softmax  # the ops whose names contain one of these

A mutant is one rule of one op with its result multiplied by 1.5, in the backward pass on arrays, in that on tensors, or in forward
mode. It is killed if the check that tests/autograd/test_every_op.py makes for that op fails.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "src"), str(ROOT / "tests" / "autograd")]

import mutants  # noqa: E402
import test_every_op  # noqa: E402


def main(parts: list[str]) -> int:
    names = [n for n in test_every_op.CHECKED if not parts or any(part in n for part in parts)]
    count, alive = mutants.survivors(names)
    for mutant in alive:
        print(f"survives: {mutant}{'' if mutant.ran else ' (never ran)'}")
    print(f"{count} mutants of {len(names)} ops: {count - len(alive)} killed, {len(alive)} survive")
    return bool(alive)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
