"""The benchmark suite itself: every workload runs and yields finite numbers, and what is measured is written down as it should be."""

from __future__ import annotations

import json
import math
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penlight
from benchmarks import __main__ as main, loading, mechanisms, plot, report, watching
from benchmarks.libraries import Worker, run
from benchmarks.work import ALL, MEMORY_OF


@pytest.fixture(autouse=True)
def same_seed_afterwards() -> Any:
    state = penlight.get_rng_state()
    yield
    penlight.set_rng_state(state)


@pytest.mark.parametrize("name", ALL)
def test_a_step(name: str) -> None:
    result = ALL[name].make(penlight)()
    assert np.isfinite(result.detach().numpy()).all()


@pytest.mark.parity
@pytest.mark.parametrize("name", ALL)
def test_same_work(name: str) -> None:
    """Both libraries compute the same numbers: what is compared is the same work."""
    torch = pytest.importorskip("torch")
    ours, theirs = (ALL[name].make(library)().detach().numpy() for library in (penlight, torch))
    np.testing.assert_allclose(ours, theirs, rtol=2e-4, atol=2e-5 * max(1.0, float(np.abs(theirs).max())))


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("case", loading.cases())
def test_an_epoch(case: str) -> None:
    """Every sample is loaded, once."""
    count = 128 if "256" in case else 256 if "start" in case else 3_200 if "32x32" in case else 12_800
    assert loading.cases()[case](penlight)() == count


@pytest.mark.parametrize("name", [entry.name for entry in mechanisms.TABLE])
def test_with_and_without(name: str) -> None:
    """A mechanism switched off, or composed from ops, gives the same gradients."""
    threads = penlight.get_num_threads()
    entry = next(entry for entry in mechanisms.TABLE if entry.name == name)
    penlight.manual_seed(0)
    first, second = (step() for step in entry.make(penlight))
    penlight.set_num_threads(threads)
    if isinstance(first, penlight.Tensor):
        np.testing.assert_allclose(first.detach().numpy(), second.detach().numpy(), rtol=1e-3, atol=1e-5)


def test_what_watching_costs() -> None:
    assert set(watching.STEPS) <= set(ALL)
    assert all(value > 0 for value in watching.compare(penlight, ALL["mlp_tiny"].make(penlight), turns=2, seconds=1e-4))


def test_each_has_a_sentence_and_a_target() -> None:
    for workload in ALL.values():
        assert workload.about.endswith(".")
        assert workload.target >= 0.8
    assert set(MEMORY_OF) <= set(ALL)


def test_worker_and_memory() -> None:
    """In processes of their own, with this checkout's package."""
    worker = Worker("penlight")
    assert worker.workloads == set(ALL)
    assert 0 < worker.time("chain", 0.001)["time"] < 60
    assert "error" in worker.time("nothing", 0.001)
    worker.end()
    if sys.platform == "linux":
        assert run(sys.executable, "-m", "benchmarks.memory", "penlight", "mlp_small")["bytes"] > 0


@pytest.fixture
def results() -> dict[str, Any]:
    about = {**main.about(3), "versions": {"torch": "2.13.0", "penlight": "0.1", "jax": "0.1"}}
    return {
        "about": about,
        "times": {
            "chain": {"torch": 3e-4, "penlight": 1e-4, "jax": 1e-5},
            "cnn": {"torch": 0.02, "penlight": 0.04},
            "gpt": {"torch": 0.02},
        },
        "memory": {"gpt": {"torch": 2_000_000, "penlight": 3_000_000}},
        "cold": {"first gradient": {"torch": 2.0, "penlight": 0.2}},
        "errors": {},
    }


def test_tables(results: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert report.cells("chain", results) == ["chain", "300 µs", "100 µs", "3.00", "2.0", "30.00"]
    assert report.cells("cnn", results) == ["cnn", "20 ms", "40 ms", "0.50 !", "0.9", ""]
    assert report.cells("gpt", results)[3] == "-"
    assert math.isclose(report.geometric_mean(report.ratios(results).values()), math.sqrt(1.5))
    assert report.memory_rows(results) == [["gpt", "2.0", "3.0", "1.50 !", "1.0"]]
    assert report.cold_rows(results) == [["first gradient", "2 s", "200 ms", "10.0", "5.0"]]
    kept, page = tmp_path / "kept.json", tmp_path / "page.md"
    kept.write_text(json.dumps(results))
    assert main.main(["--load", str(kept), "--markdown", str(page), "--plot", str(tmp_path / "plot.svg")]) == 0
    assert "| chain | 300 µs | 100 µs | 3.00 | 2.0 | 30.00 |" in page.read_text()
    assert page.read_text() in capsys.readouterr().out


def test_picture(results: dict[str, Any]) -> None:
    root = ElementTree.fromstring(plot.svg(results))
    words = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"chain", "cnn", "3.00", "0.50", "geometric mean 1.22"} <= set(words)
    assert len(list(root.iter("{http://www.w3.org/2000/svg}circle"))) == 2
    assert plot.across(1e9) == plot.across(plot.HIGH)


def test_mistakes_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main.parse(["nothing"])
    assert "no workload 'nothing'" in capsys.readouterr().err
