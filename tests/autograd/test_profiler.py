"""torch.autograd.profiler: events, their nesting, the table and the trace."""

from __future__ import annotations

import json

import pytest

import penlight
from penlight.autograd import profiler


def profiled(**kwargs):
    x = penlight.ones(4, 4, requires_grad=True)
    with profiler.profile(**kwargs) as prof:
        with profiler.record_function("my part"):
            y = (x @ x).exp().sum()
        y.backward()
        x.detach().mul_(2)
    return prof


def test_events_nest():
    prof = profiled(record_shapes=True)
    events = {event.name: event for event in prof.function_events}
    assert [event.name for event in prof.function_events][:4] == ["my part", "aten::mm", "aten::exp", "aten::sum"]
    assert events["aten::exp"].cpu_parent is events["my part"] and events["my part"].cpu_parent is None
    assert events["ExpBackward0"].cpu_parent.name == "autograd::engine::evaluate_function: ExpBackward0"
    assert events["aten::mul"].cpu_parent.name == "ExpBackward0"
    assert "torch::autograd::AccumulateGrad" in events and "aten::mul_" in events
    assert events["aten::mm"].input_shapes == [] or [[4, 4], [4, 4]] in [e.input_shapes for e in prof.function_events]
    part = events["my part"]
    assert part.cpu_time_total >= sum(child.cpu_time_total for child in part.cpu_children) > 0
    assert part.self_cpu_time_total == part.cpu_time_total - sum(child.cpu_time_total for child in part.cpu_children)
    top = [event for event in prof.function_events if event.cpu_parent is None]
    assert prof.self_cpu_time_total == pytest.approx(sum(event.cpu_time_total for event in top))


def test_averages():
    averages = {event.key: event for event in profiled().key_averages()}
    assert averages["aten::mm"].count == 3 and averages["aten::exp"].count == 1
    assert averages["aten::mm"].cpu_time == averages["aten::mm"].cpu_time_total / 3
    total = profiled().total_average()
    assert total.key == "Total" and total.count > 10


def test_table():
    prof = profiled(record_shapes=True, profile_memory=True, with_flops=True)
    text = prof.key_averages(group_by_input_shape=True).table(sort_by="count", header="Title", time_unit="us")
    lines = text.splitlines()
    assert lines[1] == "Title" and set(lines[0]) == {"="}
    titles = ["Name", "Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg", "CPU Mem", "Self CPU Mem"]
    titles += ["# of Calls", "Input Shapes", "Total FLOPs"]
    assert lines[3] == "  ".join(f"{title:>{len(dashes)}}" for title, dashes in zip(titles, lines[2].split())) + "  "
    mm = next(line for line in lines if "aten::mm " in line)
    assert mm.split()[-5:] == ["[[4,", "4],", "[4,", "4]]", "384.000"] and "us" in mm and "192 B" in mm
    assert lines[-1].startswith("Self CPU time total: ")
    assert len(prof.table(row_limit=2).splitlines()) == 7
    assert "ExpBackward0" not in prof.function_events.table(top_level_events_only=True).replace(
        "evaluate_function: Exp", ""
    )


def test_long_names_and_stacks(tmp_path):
    with profiler.profile(with_stack=True) as prof, profiler.record_function("x" * 60):
        penlight.ones(2) * 2
    text = prof.key_averages(group_by_stack_n=2).table()
    assert "x" * 52 + "..." in text and "test_long_names_and_stacks" in text
    prof.export_stacks(str(tmp_path / "stacks"), "self_cpu_time_total")
    assert "test_long_names_and_stacks" in (tmp_path / "stacks").read_text()
    with pytest.raises(ValueError, match="metric should be one of"):
        prof.export_stacks(str(tmp_path / "stacks"), "x")


def test_chrome_trace(tmp_path):
    prof = profiled(record_shapes=True)
    prof.export_chrome_trace(str(tmp_path / "trace.json"))
    trace = json.loads((tmp_path / "trace.json").read_text())
    named = {event["name"]: event for event in trace["traceEvents"]}
    assert named["my part"]["cat"] == "user_annotation" and named["aten::exp"]["ph"] == "X"
    assert named["aten::exp"]["args"]["Input Dims"] == [[4, 4]] and named["aten::exp"]["dur"] >= 0


def test_states():
    prof = profiler.profile()
    assert str(prof) == repr(prof) == "<unfinished torch.autograd.profile>"
    with prof, pytest.raises(RuntimeError, match="not reentrant"), prof:
        pass
    assert prof.table() == ""
    with profiler.profile(enabled=False) as off:
        penlight.ones(1) * 2
    assert off is None
    with pytest.raises(AssertionError, match="not compiled with CUDA"), profiler.emit_nvtx():
        pass
    with profiler.emit_itt(), profiler.emit_nvtx(enabled=False):
        pass
    penlight.ones(1) * 2  # nothing is watched any more
    assert not penlight.autograd.modes.slow()


def test_decorator():
    @profiler.record_function("named")
    def double(x):
        """Twice."""
        return x * 2

    assert double.__name__ == "double" and double.__doc__ == "Twice."
    with profiler.profile() as prof:
        double(penlight.ones(1))
        double(penlight.ones(1))
    assert prof.key_averages()[0].key == "named" and prof.key_averages()[0].count == 2


def test_gradients_are_the_same():
    x = penlight.ones(3, requires_grad=True)
    with profiler.profile():
        (x.exp() * x).sum().backward()
    seen = x.grad.clone()
    x.grad = None
    (x.exp() * x).sum().backward()
    assert seen.tolist() == x.grad.tolist()
