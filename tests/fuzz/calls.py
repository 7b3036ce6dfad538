"""Fuzz single calls: `python -m tests.fuzz.calls --cases 1000 --seed 0`.

Each case is run in machine code, in NumPy alone and, unless --without-torch, in PyTorch. With --guard all memory of arrays touches forbidden
pages, and only machine code runs. What disagrees or dies is shrunk to a script.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

from . import comparing
from .cases import Case, case_of, misfit_of, records, script
from .progress import follow
from .running import Child, Outcome

AHEAD = 8  # cases that are sent before the first answer is waited for
COARSE = {"float16": 6e-3, "bfloat16": 4e-2, "float32": 3e-5, "complex64": 3e-5}


class Failure(NamedTuple):
    seed: int
    case: Case
    pair: tuple[str, str]
    what: str
    before: list[str]  # scripts that have to run first


class Fuzzer:
    """The sides of a run."""

    def __init__(
        self, sides: tuple[str, ...] = ("native", "plain", "torch"), guarded: bool = False, misfits: bool = False
    ) -> None:
        self.sides, self.guarded, self.misfits = sides, guarded, misfits
        self.children = {side: Child(side, guarded) for side in sides}
        self.referee = Child(sides[-1])

    def failures(self, seeds: Iterable[int]) -> Iterator[Failure]:
        return (found for found in self.findings(seeds) if found is not None)

    def findings(self, seeds: Iterable[int]) -> Iterator[Failure | None]:
        """What is wrong with the case of each seed. A few cases are sent ahead, so that no side waits for another."""
        sent: deque[tuple[int, Case, list[str]]] = deque()
        for seed in seeds:
            case = misfit_of(seed) if self.misfits else case_of(seed, self.guarded)
            text = script(case)
            for child in self.children.values():
                child.send(text)
            sent.append((seed, case, self.children["native"].history[:-1]))
            if len(sent) == AHEAD:
                yield self._finding(*sent.popleft())
        while sent:
            yield self._finding(*sent.popleft())

    def _finding(self, seed: int, case: Case, before: list[str]) -> Failure | None:
        outcomes = {side: child.receive() for side, child in self.children.items()}
        for pair in self.pairs():
            what = disagreement(case, pair, outcomes, self.referee)
            if what is not None and pair[1] == "torch":  # whose worker may have been spoilt by a call before
                self.referee.renew()
                outcomes["torch"] = self.referee.ask(script(case))
                what = disagreement(case, pair, outcomes, self.referee)
            if what is not None:
                return Failure(seed, case, pair, what, before)
        return None

    def pairs(self) -> list[tuple[str, str]]:
        """Which sides are compared, the suspect first."""
        found = [("native", "plain"), ("native", "torch")]
        return [p for p in found if p[1] in self.sides] or [("native", "native")]

    def close(self) -> None:
        for child in (*self.children.values(), self.referee):
            child.close()


def disagreement(case: Case, pair: tuple[str, str], outcomes: dict[str, Outcome], referee: Child) -> str | None:
    """What two sides don't agree on in a case, unless it is accepted. The referee runs it in 64 bits if it might be of rounding."""
    if "over" in case.mode and pair[1] == "torch":
        return None  # PyTorch refuses this, or gives what comes out of overwriting what is still to be read
    if pair[1] == "plain" and outcomes["plain"].error == "died":
        return f"died without machine code: {outcomes['plain'].words[-300:]}"
    if case.misfit and pair[1] == "torch" and outcomes["native"].refused() and outcomes["torch"].refused():
        return None
    record = records.RECORDS[case.name]
    coarse = max([COARSE.get(o.dtype, 0.0) for o in case.operands()], default=0.0) * record.rtol
    coarse = max(coarse, 3e-5 * case.misfit)  # the other operands of an integer may make it a float32
    own = pair[1] == "plain"  # both sides are ours
    compared = comparing.Compared(
        values=record.equal,
        strides=own
        or (record.strides and all(o.layout == "plain" for o in case.operands()) and not case.mode.startswith("out")),
        strides_of_gradients=case.mode != "second",
        versions=own or ("in place" in case.mode and all(o.way == "from_numpy" for o in case.operands())),
        coarse=coarse,
    )
    what = comparing.difference(outcomes[pair[0]], outcomes[pair[1]], compared)
    if what is None or comparing.accepted(case, what, own):
        return None
    if coarse and "differ" in what:
        exact = referee.ask(script(case.changed(lambda o: replace(o, wide=True))))
        ours, theirs = outcomes[pair[0]], outcomes[pair[1]]
        measure = outcomes.get("torch", theirs)  # NumPy alone adds up in float64 here and there
        if comparing.of_rounding(ours, theirs, measure, exact, compared._replace(strides=False, versions=False)):
            return None
    return what


def fresh(case: Case, pair: tuple[str, str], sides: dict[str, Child], before: list[str]) -> str | None:
    """What the sides disagree on in workers that run nothing else than this case, and scripts before it."""
    for child in sides.values():
        child.renew()
        for text in before:
            child.ask(text)
    return outcome(case, pair, sides)


def outcome(case: Case, pair: tuple[str, str], sides: dict[str, Child]) -> str | None:
    text = script(case)
    return disagreement(case, pair, {side: child.ask(text) for side, child in sides.items()}, sides[pair[1]])


def shrunk(failure: Failure, guarded: bool = False, seconds: float = 60) -> tuple[Case, str, list[str]]:
    """A simpler case that fails as well, what is wrong with it, and the scripts that it needs before it."""
    case, pair, end = failure.case, failure.pair, time.monotonic() + seconds
    sides = {side: Child(side, guarded, 10**9) for side in set(pair)}
    before: list[str] = []
    what = fresh(case, pair, sides, before)
    if what is None:
        before = narrowed(failure, sides, end)
        what = fresh(case, pair, sides, before)
    simpler = what is not None
    while what is not None and simpler and time.monotonic() < end:
        simpler = False
        for candidate in simplifications(case):
            said = fresh(candidate, pair, sides, before) if before else outcome(candidate, pair, sides)
            if said is not None and said.split()[0] == what.split()[0]:
                case, what, simpler = candidate, said, True
                break
            if time.monotonic() > end:
                break
    for child in sides.values():
        child.close()
    if what is None:
        return case, f"{failure.what} (only after {len(failure.before)} other calls)", []
    return case, what, before


def narrowed(failure: Failure, sides: dict[str, Child], end: float) -> list[str]:
    """The scripts before a failing one that it needs, halved as long as it goes on failing."""
    before = failure.before
    while len(before) > 1 and time.monotonic() < end:
        half = len(before) // 2
        for part in (before[half:], before[:half]):
            if fresh(failure.case, failure.pair, sides, part) is not None:
                before = part
                break
        else:
            break
    return before


def simplifications(case: Case) -> Iterator[Case]:
    """Cases that are a step simpler."""
    if case.mode != "call":
        yield replace(case.changed(lambda o: replace(o, grad=False)), mode="call")
    if case.mode in ("second", "backward"):
        yield replace(case, mode="grad")
    operands = case.operands()
    for plain in ({"layout": "plain"}, {"origin": "fresh"}, {"way": "from_numpy"}, {"special": False}, {"seed": 0}):
        (key, value) = next(iter(plain.items()))
        for each in dict.fromkeys(operands):
            if getattr(each, key) != value:
                yield case.changed(lambda o, each=each, plain=plain: replace(o, **plain) if o == each else o)
    for size in sorted({n for o in operands if not o.data for n in o.shape}, reverse=True):
        for smaller in sorted({1, 2, 3, size // 16, size // 2, size - size // 8, size - 1}):
            if 0 < smaller < size:
                yield case.changed(
                    lambda o, n=size, m=smaller: (
                        o if o.data else replace(o, shape=tuple([m if k == n else k for k in o.shape]))
                    )
                )


def report(case: Case, pair: tuple[str, str], what: str, before: list[str]) -> str:
    """A script to paste, run from the root of the repository with src in PYTHONPATH."""
    library = {
        "native": "import penlight as t",
        "plain": "import penlight as t  # with PENLIGHT_NATIVE=0",
        "torch": "import torch as t",
    }
    made = [o.data.removeprefix("np.resize(") for o in case.operands()]
    kinds = {data.partition("(")[0] for data in made if data[:1].isupper()}
    lines = [
        "import numpy as np",
        "from tests.fuzz.arrays import *",
        f"{library[pair[0]]}  # instead of: {library[pair[1]]}",
    ]
    lines += [f"from {records_module(kind)} import {kind}  # with tests/ops in PYTHONPATH" for kind in sorted(kinds)]
    for text in before:
        lines += [text, "# then:"]
    return "\n".join([*lines, script(case), f"# {what}"])


def records_module(kind: str) -> str:
    return next(n for n, m in sys.modules.items() if n.startswith("records_") and hasattr(m, kind))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0, help="of the first case; the next has the next number")
    parser.add_argument(
        "--guard", action="store_true", help="all memory touches forbidden pages; only crashes are looked for"
    )
    parser.add_argument("--misfits", action="store_true", help="one operand of each call does not fit the others")
    parser.add_argument("--without-torch", action="store_true")
    parser.add_argument("--brief", action="store_true", help="one line a failure, not shrunk")
    given = parser.parse_args()
    sides = ("native",) if given.guard else ("native", "plain") if given.without_torch else ("native", "plain", "torch")
    fuzzer = Fuzzer(sides, given.guard, given.misfits)

    def told(failure: Failure) -> str:
        if given.brief:
            dtypes = " ".join(o.dtype for o in failure.case.operands())
            return (
                f"{failure.seed} {failure.case.name} [{failure.case.mode}] {dtypes} {failure.pair[1]}: {failure.what}"
            )
        case, what, before = shrunk(failure, given.guard)
        return f"----- seed {failure.seed}\n{report(case, failure.pair, what, before)}\n"

    findings = fuzzer.findings(range(given.seed, given.seed + given.cases))
    count = follow("calls", (found and told(found) for found in findings))
    fuzzer.close()
    sys.exit(count > 0)


if __name__ == "__main__":
    main()
