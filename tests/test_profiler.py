"""torch.profiler: what is recorded in which steps."""

from __future__ import annotations

import gzip
import json

import pytest

import penlight as torch
from penlight.profiler import ProfilerAction, ProfilerActivity, profile, record_function, schedule


def test_records_everything_without_a_schedule(tmp_path):
    x = torch.ones(2, 2, requires_grad=True)
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as prof, record_function("mine"):
        (x @ x).sum().backward()
    keys = {event.key for event in prof.key_averages()}
    assert {"aten::mm", "aten::sum", "mine"} <= keys
    assert "aten::mm" in prof.key_averages().table(sort_by="cpu_time_total", row_limit=10)
    prof.export_chrome_trace(str(tmp_path / "trace.json.gz"))
    with gzip.open(tmp_path / "trace.json.gz", "rt") as file:
        assert json.load(file)


def test_schedule(tmp_path):
    traces = []

    def ready(prof):
        traces.append([event.name for event in prof.events()])
        torch.profiler.tensorboard_trace_handler(str(tmp_path))(prof)

    with profile(schedule=schedule(wait=1, warmup=1, active=2, repeat=2), on_trace_ready=ready) as prof:
        for step in range(9):
            torch.ones(1).exp() if step % 4 in (0, 1) else torch.ones(1).log()
            prof.step()
    assert len(traces) == 2 and len(list(tmp_path.glob("*.pt.trace.json"))) == 2
    for number, names in enumerate(traces):
        assert [n for n in names if n.startswith("Profiler")] == [
            f"ProfilerStep#{4 * number + 2}",
            f"ProfilerStep#{4 * number + 3}",
        ]
        assert names.count("aten::log") == 2 and "aten::exp" not in names


def test_schedule_plan_and_mistakes():
    plan = schedule(wait=1, warmup=1, active=2, repeat=1, skip_first=1)
    A = ProfilerAction
    assert [plan(i) for i in range(7)] == [A.NONE, A.NONE, A.WARMUP, A.RECORD, A.RECORD_AND_SAVE, A.NONE, A.NONE]
    with pytest.warns(UserWarning, match="won't be using warmup"):
        schedule(wait=0, warmup=0, active=1)
    with pytest.raises(AssertionError, match="Invalid profiler schedule arguments"):
        schedule(wait=0, warmup=0, active=0)
    with pytest.raises(AssertionError, match="Profiler must be initialized"):
        profile(schedule=plan).key_averages()
