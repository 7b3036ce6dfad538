"""Single calls at random, some hundreds of them: `python -m tests.fuzz.calls --cases 100000` makes more."""

from __future__ import annotations

import sys

import pytest

from penlight.kernels import native

from . import calls, cases
from .running import Child

linux = pytest.mark.skipif(sys.platform != "linux" or not native.available(), reason="machine code is for Linux")


def failures(first: int, count: int, sides: tuple[str, ...], guarded: bool = False) -> list[str]:
    fuzzer = calls.Fuzzer(sides, guarded)
    found = []
    for failure in fuzzer.failures(range(first, first + count)):
        case, what, before = calls.shrunk(failure, guarded, 20) if len(found) < 3 else (failure.case, failure.what, [])
        found.append(f"seed {failure.seed}\n{calls.report(case, failure.pair, what, before)}")
    fuzzer.close()
    return found


@linux
@pytest.mark.parametrize("part", range(2))
def test_machine_code_agrees_with_numpy(part: int) -> None:
    found = failures(250 * part, 250, ("native", "plain"))
    assert not found, "\n\n".join(found)


@pytest.mark.parity
@pytest.mark.parametrize("part", range(5))
def test_all_agree_with_pytorch(part: int) -> None:
    pytest.importorskip("torch")
    found = failures(1000 + 300 * part, 300, ("native", "plain", "torch"))
    assert not found, "\n\n".join(found)


@linux
@pytest.mark.parametrize("part", range(2))
def test_memory_between_forbidden_pages(part: int) -> None:
    found = failures(5000 + 200 * part, 200, ("native",), guarded=True)
    assert not found, "\n\n".join(found)


@linux
def test_records_between_forbidden_pages() -> None:
    """The first sample of every function in float32, of arrays that came from elsewhere: nobody may look beyond their ends."""
    child, died = Child("native", True, 10**9), []
    for name in cases.names():
        case = cases.fenced_case(name)
        if case is not None and child.ask(cases.script(case)).error == "died":
            died.append(cases.script(case))
    child.close()
    assert not died, "\n\n".join(died)


@linux
def test_a_read_beyond_the_end_is_seen() -> None:
    child = Child("native", True)
    text = "a = arrange(uniform(0, (5,), 'float32'), 'plain', 'fenced at the end')\nr = float(np.lib.stride_tricks.as_strided(a, (6,))[5])"
    assert child.ask(text).error == "died"
    text = "import ctypes\na = np.empty(8192, np.uint8)\nr = len(ctypes.string_at(a.ctypes.data, 8193 + 4096))"
    assert child.ask(text).error == "died"
    assert child.ask("r = 1").facts[0].value == 1
    child.close()


def test_a_disagreement_is_shrunk_to_a_script() -> None:
    case = next(c for c in map(cases.case_of, range(1000)) if c.name == "exp" or c.name == "sin")
    texts = [cases.script(c) for c in calls.simplifications(case)]
    assert texts and all("t.manual_seed(0)" in t for t in texts)
    assert "import penlight as t" in calls.report(case, ("native", "torch"), "what", [])
