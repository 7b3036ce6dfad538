"""The cost model of benchmarks/scaling.py: what it must say whatever the machine."""

from __future__ import annotations

import pytest

from benchmarks import ranks, scaling
from benchmarks.scaling import MB, Link, Step, buckets, fitted, profile

LINK = Link(1e-5, 1e9)


def test_algorithms():
    assert LINK.all_reduce(4, 1024) == (pytest.approx(10 * LINK.latency, rel=1e-3), "doubling")
    large = 1 << 28
    for count in (2, 16, 1024):  # each rank sends and receives everything about twice, however many there are
        seconds, name = LINK.all_reduce(large, count)
        bytes_sent = 2 * (1 - 1 / count) * large
        assert seconds == pytest.approx(bytes_sent / LINK.bandwidth, rel=0.05)
        assert name == ("doubling" if count == 2 else "halving")
    assert LINK.all_reduce(large, 6)[1] == "ring"  # halving needs a power of two
    assert LINK.all_reduce(large, 1) == (0.0, "none")


def test_two_ranks_are_reproduced():
    times = {size: LINK.all_reduce(size, 2)[0] for size in (4, 1 << 12, 1 << 20, 1 << 25)}
    found = fitted(times)
    assert found.latency == pytest.approx(LINK.latency) and found.bandwidth == pytest.approx(LINK.bandwidth)
    measured = {f"all_reduce {label}": LINK.all_reduce(4 * count, 2)[0] * 1e6 for label, count in ranks.SIZES.items()}
    measured |= {"step alone": 3000.0, "step of DistributedDataParallel": 7000.0}
    link, step = profile(measured)
    assert step.seconds(link, 1) == pytest.approx(0.003) and step.seconds(link, 2) == pytest.approx(0.007)


def test_buckets():
    assert buckets(MB / 2) == [MB / 2] and buckets(60 * MB) == [MB, 25 * MB, 25 * MB, 9 * MB]


def test_more_ranks_are_never_faster_a_step():
    times = [Step(0.01, 30 * MB, 0.001).seconds(LINK, 2**power) for power in range(11)]
    assert times == sorted(times) and times[0] == 0.01


def test_table(monkeypatch, capsys):
    measured = {f"all_reduce {label}": 20.0 + 4 * count / 1000 for label, count in ranks.SIZES.items()}
    measured |= {"step alone": 3000.0, "step of DistributedDataParallel": 7000.0}
    crowded = {name: 3 * seconds for name, seconds in measured.items()}  # two ranks on one core
    monkeypatch.setattr(ranks, "job", lambda name, count, cores: measured if cores is None else crowded)
    monkeypatch.setattr(scaling, "cores", lambda: 2)
    scaling.main(["--check", "--rounds", "1", "--step", "10"])
    lines = capsys.readouterr().out.splitlines()
    assert "latency 20 us, bandwidth 1.00 GB/s" in lines[0] and "4 ranks, two on a core, microseconds" in lines
    assert [line.split()[-2] for line in lines if "all_reduce 4 B" in line] == [
        "20",
        "120",
    ]  # predicted: two rounds among four
    assert lines[-11].split()[:2] == ["1", "10.00"] and lines[-1].split()[0] == "1024"
