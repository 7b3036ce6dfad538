"""`inspect.summary`, `inspect.timeline`, `inspect.gradient_flow`, and memory by line and module: what a model costs and keeps."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import penlight as torch
from penlight import nn


class Twice(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 3)
        self.norm = nn.BatchNorm1d(3)

    def forward(self, x: torch.Tensor, scale: float = 1.0) -> torch.Tensor:
        return self.norm(self.layer(self.layer(x).sigmoid())) * scale


def test_summary_of_a_module_that_is_called_twice() -> None:
    model, x = Twice(), torch.randn(4, 3)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    state = torch.get_rng_state()
    table = torch.inspect.summary(model, x, scale=2.0)
    assert [(row.name, row.type, row.depth) for row in table.rows] == [
        ("", "Twice", 0), ("layer", "Linear", 1), ("layer:2", "Linear", 1), ("norm", "BatchNorm1d", 1)
    ]  # fmt: skip
    whole, first, second, norm = table.rows
    assert first.mult_adds == second.mult_adds == 4 * 3 * 3 and whole.mult_adds == 72 and norm.mult_adds == 0
    assert first.shapes == [[4, 3]] and first.parameters == 12 and whole.parameters == 18
    assert second.saved == 4 * 3 * 4  # the sigmoid's result; the input and the weights are leaves
    assert 0 < first.forward < whole.forward and 0 < norm.backward < whole.backward
    assert table.total == table.trainable == 18
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert torch.equal(torch.get_rng_state(), state) and model.layer.weight.grad is None
    text = str(table)
    assert text.splitlines()[0].split()[:2] == ["module", "output"] and "  layer:2 (Linear) " in text
    assert text.endswith("18 parameters, 18 of them trainable") and "<table>" in table._repr_html_()


def test_summary_without_backward_and_what_it_refuses() -> None:
    table = torch.inspect.summary(nn.Linear(2, 1), torch.ones(1, 2), backward=False)
    assert table.rows[0].backward == 0
    with pytest.raises(TypeError, match=r"summary\(\) takes a module, not int"):
        torch.inspect.summary(3)


def test_memory_by_line_and_module() -> None:
    model = nn.Sequential(nn.Linear(4, 8), nn.Sigmoid())
    with torch.inspect.watch(), torch.inspect.record(model) as calls:
        loss = model(torch.ones(2, 4)).exp().mul(3.0).sum()  # one line
    report = torch.inspect.memory(loss, calls=calls)
    assert report.by_module() == {"(no module)": 64, "1": 64, "0": 0}
    ((line, size),) = report.by_line().items()
    assert line.endswith("# one line") and size == 128
    title, exp, where, sigmoid, *_ = str(report).splitlines()
    assert title.split() == ["bytes", "saved"] and exp.split()[:2] == ["64", "ExpBackward0"]
    assert where.endswith("# one line") and sigmoid.split()[:3] == ["64", "1:", "SigmoidBackward0"]
    assert str(report).endswith("128  in all, beside 32 of leaves that are saved")
    assert list(torch.inspect.memory(torch.ones(2, requires_grad=True).exp()).by_line()) == ["(line not known)"]


def test_timeline(tmp_path: Path) -> None:
    x = torch.ones(1000, requires_grad=True)
    with torch.inspect.timeline() as memory:
        y = x.exp()  # kept
        z = (y * 2).sum()
        del y
        z.backward()
    held = memory.at_peak()
    assert memory.peak >= 8004 and any(line.endswith("# kept") for line in held)
    assert sum(held.values()) == memory.peak
    assert any(where.startswith("MulBackward0 of test_summary.py:") for _, _, where in memory.events)
    assert str(memory).splitlines()[0].endswith("bytes at the peak, made at")
    memory.save(str(tmp_path / "memory.svg"))
    memory.save(str(tmp_path / "memory.html"))
    assert (tmp_path / "memory.svg").read_text().startswith("<svg")
    assert "bytes at the peak" in (tmp_path / "memory.html").read_text()
    with pytest.raises(ValueError, match=r"the name must end in \.svg or \.html"):
        memory.save(tmp_path / "memory.png")
    assert torch.inspect.timeline().peak == 0 and "<svg" in torch.inspect.timeline().svg()


def test_gradient_flow(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
    model[1].bias.requires_grad_(False)
    with torch.inspect.gradient_flow(model) as flow:
        for scale in (1.0, 0.0):
            model.zero_grad()
            (model(torch.ones(1, 2)) * scale).sum().backward()
    assert len(flow.norms["0.weight"]) == 2 and flow.norms["0.weight"][1] == 0
    text = str(flow)
    assert text.splitlines()[1].endswith("zero") and "1.bias        0  no gradient has arrived" in text
    flow.save(str(tmp_path / "flow.svg"))
    flow.save(tmp_path / "flow.html")
    assert (tmp_path / "flow.svg").read_text().count("<path") >= 3
    assert "1.bias        0  no gradient has arrived" in (tmp_path / "flow.html").read_text()
    model(torch.ones(1, 2)).sum().backward()
    assert len(flow.norms["0.weight"]) == 2  # closed
    never_opened = str(torch.inspect.gradient_flow(model))
    assert never_opened.endswith("inside `with penlight.inspect.gradient_flow(model) as flow:`.")


def test_run_with_all_options(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import torch\nm = torch.nn.Linear(2, 1)\nfor _ in range(2):\n    m(torch.ones(3, 2)).exp().sum().backward()\n"
    )
    options = [("--draw", "graph.svg"), ("--profile", "trace.json"), ("--memory", "memory.html")]
    given = [word for name, file in options for word in (name, str(tmp_path / file))]
    command = [sys.executable, "-m", "penlight", "run", "--watch", *given, str(script)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "ExpBackward0" in (tmp_path / "graph.svg").read_text()
    assert json.loads((tmp_path / "trace.json").read_text()) and "script.py:4" in (tmp_path / "memory.html").read_text()
    refused = subprocess.run([sys.executable, "-m", "penlight", "run", "--draw"], capture_output=True, text=True)
    assert refused.returncode == 2 and "--draw needs the name of a file" in refused.stderr


@pytest.mark.parametrize(("count", "unit"), [(10, "bytes"), (1000, "KiB"), (1 << 20, "MiB")])
def test_the_unit_of_a_timeline_fits_its_peak(count: int, unit: str) -> None:
    with torch.inspect.timeline() as memory:
        torch.ones(count) + 1
    assert f'class="unit">{unit}</text>' in memory.svg()


@pytest.mark.parametrize("collecting", [True, False])
def test_a_summary_leaves_the_collection_of_garbage_as_it_was(collecting: bool) -> None:
    before = gc.isenabled()
    (gc.enable if collecting else gc.disable)()
    try:
        torch.inspect.summary(torch.nn.Linear(2, 2), torch.ones(1, 2))
        with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
            torch.inspect.summary(torch.nn.Linear(2, 2), torch.ones(1, 3))
        assert gc.isenabled() == collecting
    finally:
        (gc.enable if before else gc.disable)()


def test_gradients_that_vanish_with_depth_are_remarked() -> None:
    model = nn.Sequential(*[layer for _ in range(12) for layer in (nn.Linear(8, 8), nn.Sigmoid())])
    with torch.inspect.gradient_flow(model) as flow:
        model(torch.ones(1, 8)).sum().backward()
    lines = str(flow).splitlines()
    assert lines[1].startswith("0.weight") and lines[1].endswith("  vanishes")
    assert lines[-1].startswith("22.bias") and not lines[-1].endswith("  vanishes")


@pytest.mark.parametrize(
    ("layer", "shapes", "number"),
    [
        (nn.LSTM(4, 3), [(6, 5, 4)], 30 * (12 * 4 + 12 * 3)),
        (nn.LSTM(4, 3, 2, bidirectional=True, proj_size=2), [(6, 5, 4)], 30 * 2 * 2 * (12 * 4 + 12 * 2 + 2 * 3)),
        (nn.GRU(4, 3), [(6, 5, 4)], 30 * (9 * 4 + 9 * 3)),
        (nn.RNN(4, 3), [(6, 5, 4)], 30 * (3 * 4 + 3 * 3)),
        (nn.Bilinear(2, 3, 4), [(5, 2), (5, 3)], 5 * 4 * 2 * 3),
        (nn.Conv2d(2, 4, 3, groups=2), [(1, 2, 8, 8)], 4 * 6 * 6 * 9),
        (nn.ConvTranspose2d(2, 3, 3), [(1, 2, 8, 8)], 2 * 8 * 8 * 3 * 9),
        (nn.MultiheadAttention(4, 2), [(3, 2, 4)] * 3, 4 * 6 * 16 + 2 * 2 * 3 * 3 * 4),
    ],
)
def test_multiply_adds_of_layers(layer: nn.Module, shapes: list[tuple[int, ...]], number: int) -> None:
    assert torch.inspect.summary(layer, *map(torch.randn, shapes)).rows[0].mult_adds == number


@pytest.mark.parametrize(
    ("function", "number"),
    [
        (lambda x: x.mv(x[0]), 16),
        (lambda x: torch.addmv(x[0], x, x[0]), 16),
        (lambda x: x[0].dot(x[1]), 4),
        (lambda x: torch.addbmm(x, x[None].expand(3, 4, 4), x[None].expand(3, 4, 4)), 3 * 64),
        (lambda x: nn.functional.scaled_dot_product_attention(x[None], x[None], x[None]), 128),
        (lambda x: torch.conv_tbc(x[None], torch.ones(1, 4, 2), torch.ones(2)), 4 * 2 * 4),
        (lambda x: (x + x) * x, 0),
    ],
)
def test_multiply_adds_of_functions(function: Callable[[torch.Tensor], torch.Tensor], number: int) -> None:
    class Model(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return function(x)

    assert torch.inspect.summary(Model(), torch.randn(4, 4)).rows[0].mult_adds == number
