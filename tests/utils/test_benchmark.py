"""torch.utils.benchmark: measurements and tables. What they show is pinned to PyTorch's."""

from __future__ import annotations

import pytest

import penlight as torch
from penlight.utils.benchmark import Compare, Measurement, TaskSpec, Timer, select_unit, trim_sigfig


def task(**more):
    return TaskSpec("x + 1", "pass", **more)


def test_timer():
    calls = []
    timer = Timer("f()", globals={"f": lambda: calls.append(1)}, label="add", sub_label="small", description="mine")
    measured = timer.timeit(10)
    assert len(calls) == 12 and measured.number_per_run == 10 and len(measured.raw_times) == 1  # with two to warm up
    measured = timer.blocked_autorange(min_run_time=0.002)
    assert sum(measured.raw_times) >= 0.002 and measured.median > 0 and measured.title == "add: small"
    assert len(timer.adaptive_autorange(max_run_time=0.01).times) >= 1
    assert Timer("torch.ones(1)").timeit(2).median > 0  # `torch` is known
    with pytest.raises(ValueError, match="Currently only a `str` stmt is supported"):
        Timer(lambda: None)
    with pytest.raises(NotImplementedError, match="C\\+\\+"):
        Timer("x", language="c++")
    with pytest.raises(NotImplementedError, match="blocked_autorange"):
        timer.collect_callgrind()


def test_measurement():
    measured = Measurement(10, [0.1, 0.5, 0.2, 0.3], task(label="add", sub_label="3x3", description="mine"))
    assert repr(measured).splitlines()[1:] == [
        "add: 3x3",
        "mine",
        "  Median: 25.00 ms",
        "  IQR:    17.50 ms (17.50 to 35.00)",
        "  4 measurements, 10 runs per measurement, 1 thread",
        "  WARNING: Interquartile range is 70.0% of the median measurement.",
        "           This suggests significant environmental influence.",
    ]
    assert measured.median == pytest.approx(0.025) and measured.mean == pytest.approx(0.0275) and measured.has_warnings
    assert measured.label == "add" and measured.num_threads == 1 and measured.as_row_name == "3x3"
    with pytest.raises(AttributeError, match="nothing"):
        measured.nothing  # noqa: B018
    assert [len(m.times) for m in Measurement.merge([measured, measured, Measurement(1, [1.0], task())])] == [8, 1]


def test_units():
    assert [select_unit(t) for t in (2e-9, 3e-5, 0.002, 20)] == [("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3), ("s", 1.0)]
    assert trim_sigfig(1234.5, 2) == 1200.0 and trim_sigfig(0.012345, 3) == pytest.approx(0.0123)


def test_compare():
    results = [
        Measurement(1, [20.3e-6] * 5, task(label="mm", sub_label="64x64", description="fast")),
        Measurement(1, [4.0e-6] * 5, task(label="mm", sub_label="64x64", description="slow")),
        Measurement(1, [4.1e-6] * 5, task(label="mm", sub_label="3", description="slow", num_threads=2)),
    ]
    table = Compare(results)
    assert str(table) == (
        "[------------ mm -----------]\n"
        "             |  fast  |  slow\n"
        "1 threads: ------------------\n"
        "      64x64  |  20.3  |  4.0 \n"
        "2 threads: ------------------\n"
        "      3      |        |  4.1 \n"
        "\nTimes are in microseconds (us).\n"
    )
    table.colorize(rowwise=True)
    assert "\033[92m\033[1m4.0 \033[0m\033[0m" in str(table) and "\033[31m\033[1m20.3\033[0m\033[0m" in str(table)
    with pytest.raises(ValueError, match="Expected an instance of `Measurement`"):
        table.extend_results([3])
    assert torch.utils.benchmark.Compare is Compare
