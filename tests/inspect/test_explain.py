"""`inspect.explain`, and errors that name the layer: why a gradient is None, and where a shape does not fit."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import penlight as torch
from penlight import nn
from penlight._cli import run


def explained(x: object) -> str:
    return str(torch.inspect.explain(x))


class Sign(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        sign = (x * 1).sign()
        ctx.mark_non_differentiable(sign)
        return sign


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x.detach() * x

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        return grad


@pytest.mark.parametrize(
    ("cut", "what"),
    [
        (lambda w: (w * 2).detach(), "detach()"),
        (lambda w: (w * 2).sum().item(), "item()"),
        (lambda w: (w * 2).tolist(), "tolist()"),
        (lambda w: torch.no_grad()(lambda: (w * 2).numpy())(), "mul() ran under no_grad"),
        (lambda w: (w * 2).long(), "long() gives integers, which have no gradient"),
        (lambda w: (w * 2).to(torch.int32), "to() gives integers, which have no gradient"),
        (lambda w: float((w * 2).sum()), "item()"),
        (lambda w: torch.tensor(w * 2), "torch.tensor()"),
        (lambda w: torch.tensor([w[0], w[1]]), "torch.tensor()"),
        (lambda w: torch.as_tensor([[w[0]], [w[1]]]), "torch.as_tensor()"),
        (lambda w: torch.Tensor([w[0], w[1]]), "torch.Tensor()"),
        (lambda w: torch.zeros(1).new_tensor(w * 2), "new_tensor()"),
        (lambda w: torch.nn.Parameter(w * 2), "nn.Parameter()"),
        (lambda w: (w * 2).numpy(force=True), "numpy()"),
        (lambda w: w.data * 2, ".data"),
        (lambda w: (w * 2).detach_(), "detach_()"),
        (lambda w: torch.no_grad()(lambda: w.t().contiguous().exp())(), "exp() ran under no_grad"),
        (lambda w: torch.inference_mode()(lambda: w * 2)(), "mul() ran under inference_mode"),
        (lambda w: torch.func.vmap(lambda row: row.detach() * 2)(w), "detach()"),
        (lambda w: w.detach().add_(1).mul(2), "detach()"),
        (lambda w: Sign.apply(w), "result 0 of Sign has no derivative"),
    ],
)
@pytest.mark.filterwarnings("ignore:To copy construct", "ignore:Converting a tensor")
def test_the_line_that_cut_the_way_to_a_parameter(cut: Callable[[torch.Tensor], object], what: str) -> None:
    w = torch.ones(3, requires_grad=True)
    with torch.inspect.watch():
        cut(w)
    text = explained(w)
    assert "Its .grad is None. What was made from it was cut off the graph here:" in text
    assert any(f", {what}, " in f", {line[:-1]}, " for line in text.splitlines()) and "test_explain.py" in text


def test_what_a_custom_function_runs_is_no_cut() -> None:
    w = torch.ones(3, requires_grad=True)
    with torch.inspect.watch() as seen:
        Square.apply(w)
    assert not seen.cuts and "nothing cut the way to it: no backward pass came" in explained(w)


def _initialised(how: Callable[[torch.Tensor], object]) -> torch.Tensor:
    w = torch.ones(3, 3, requires_grad=True)
    with torch.inspect.watch(), torch.no_grad():
        how(w)
    return w


@pytest.mark.parametrize(
    "how",
    [
        lambda w: w.normal_(),
        lambda w: w.data.normal_(),
        lambda w: w.detach().mul_(2).add_(1),
        lambda w: w.__setitem__(0, 0),
        nn.init.orthogonal_,
        nn.init.trunc_normal_,
        lambda w: nn.init.sparse_(w, 0.5),
    ],
)
def test_an_initialised_parameter_is_not_yet_used(how: Callable[[torch.Tensor], object]) -> None:
    assert "no op that watch() has seen used it" in explained(_initialised(how))


def test_modules_are_made_as_without_watching() -> None:
    with torch.inspect.watch():  # writes through a view under no_grad, whose edge can't be made
        embedding = nn.Embedding(4, 3, padding_idx=0)
    assert embedding.weight[0].sum() == 0
    assert "no op that watch() has seen used it" in explained(embedding)
    with torch.no_grad():
        row = embedding.weight[0]
        row.fill_(1)
    assert explained(row).startswith("A view, (3,) float32: A view was created in no_grad mode and its base")


def test_a_vmapped_program_is_watched() -> None:
    """The log sees the ops on physical tensors: a batched tensor has no values to look at."""
    x, y = torch.ones(3, requires_grad=True), torch.tensor([1.0, 0.0, 2.0], requires_grad=True)
    with torch.inspect.watch(inf="note") as seen:
        out = torch.func.vmap(lambda t: t * 2)(x)
        torch.func.vmap(lambda t: t.clone().reciprocal_())(y)
        torch.func.vmap(torch.func.grad(lambda t: t.sin()))(x)
    assert [event.what for event in seen.infs] == ["reciprocal_() made Inf from values without Inf"] and not seen.cuts
    assert out.sum() == 6 and "It was made here:" in explained(out)


class Wrapper(torch.Tensor):
    """Holds another tensor, and has no memory of its own."""

    @staticmethod
    def __new__(cls, inner: torch.Tensor) -> Any:
        made: Any = torch.Tensor._make_wrapper_subclass(cls, inner.shape, requires_grad=inner.requires_grad)
        made.inner = inner.detach()
        return made

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*[a.inner if isinstance(a, Wrapper) else a for a in args], **(kwargs or {}))
        return Wrapper(result) if isinstance(result, torch.Tensor) else result


_WRAPPER = """
from tests.inspect.test_explain import Wrapper, torch
w, v = Wrapper(torch.ones(3, requires_grad=True)), Wrapper(torch.ones(3, requires_grad=True))
with torch.inspect.watch(inf="note"):
    with torch.no_grad():
        w * 2
    z = (v * 3).exp()
print(torch.inspect.explain(w), torch.inspect.explain(z))
"""


def test_classes_that_dispatch_are_watched() -> None:
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", _WRAPPER], capture_output=True, text=True, cwd=root)
    assert "mul() ran under no_grad" in done.stdout and "grad_fn ExpBackward0. It was made here:" in done.stdout


def test_overrides_do_not_hide_the_line() -> None:
    from penlight.overrides import BaseTorchFunctionMode

    with BaseTorchFunctionMode(), torch.inspect.watch() as seen:
        torch.ones(1, requires_grad=True).detach()
    assert [event.what for event in seen.cuts] == ["detach()"]


def test_a_layer_that_was_used_or_cut() -> None:
    used, cut = nn.Linear(2, 3), nn.Linear(2, 3)
    with torch.inspect.watch():
        y = used(torch.ones(4, 2))  # the use
        with torch.no_grad():
            cut(torch.ones(4, 2))  # the cut
    for parameter in (used.weight, used.bias):
        assert "no backward pass came from what uses it" in explained(parameter) and "# the use" in explained(parameter)
    assert all("ran under no_grad" in explained(p) and "# the cut" in explained(p) for p in cut.parameters())
    transpose = y.grad_fn.next_functions[2][0]
    assert transpose.name() == "TBackward0" and transpose.extra()["line"].text.endswith("# the use")


def test_what_only_looks_at_a_tensor_is_no_cut() -> None:
    w = torch.ones(3, requires_grad=True)
    optimizer = torch.optim.Adam([w])
    with torch.inspect.watch() as seen:
        repr(w), f"{w * 2}"
        torch.quantile(w * 2, 0.5).backward()
        optimizer.step()
        w.clone(), w.shape, w.is_leaf
        places = w.sort()[1]
    assert seen.cuts == []
    assert "cut off the graph, and gets no gradient.\nresult 1 of sort() has no derivative:" in explained(places)


def test_a_parameter_that_was_not_used_or_not_reached() -> None:
    used, unused = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
    with torch.inspect.watch():
        loss = (used * 2).sum()  # the use
    assert "no op that watch() has seen used it. What runs outside of watch() is not seen." in explained(unused)
    assert "no backward pass came from what uses it" in explained(used) and "# the use" in explained(used)
    with torch.inspect.watch():
        loss.backward()  # the pass
    assert "Its .grad has arrived: grad 2." in explained(used)
    used.grad = None
    assert "zero_grad() came after" in explained(used) and "# the pass" in explained(used)


def test_results_views_and_writes() -> None:
    x = torch.ones(4, requires_grad=True)
    with torch.inspect.watch():
        y = x.exp()  # made
        z = y.view(2, 2)
        z.mul_(2)  # written
    text = explained(z)
    assert "Not a leaf, (2, 2) float32" in text and "It is a view of a tensor of shape (4,)." in text
    assert "It is at version 1: its memory was written to here:" in text and "z.mul_(2)  # written" in text
    assert "Its gradient passes through and is not kept: retain_grad()" in text
    with torch.inspect.watch():
        kept = x.sin()
    kept.retain_grad()
    assert "since retain_grad() was called: None so far." in explained(kept)
    assert "keeps 16 bytes alive" in explained(x.exp() * 2)
    assert "it does not require grad, and gets no gradient." in explained(torch.ones(2))
    with torch.inspect.watch():
        off = x.detach() * 2
        plain = torch.ones(2) + 1  # of constants
    assert "it was cut off the graph, and gets no gradient.\ndetach():" in explained(off)
    assert "nothing that it was made from requires grad" in explained(plain) and "# of constants" in explained(plain)
    buffer = torch.zeros(2)
    buffer += 1
    assert "It is at version 1: its memory was written to." in explained(buffer)


def test_a_module_lists_its_parameters_without_gradient() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
    with torch.inspect.watch():
        model[1](model[0](torch.ones(1, 2)).detach()).sum().backward()
    text = explained(model)
    assert (
        text.startswith("0.weight:\n  A leaf, (2, 2) float32, that requires grad: gradients end here, in .grad.\n")
        and "0.bias:" in text
    )
    assert "1.weight" not in text and "    File" in text
    model(torch.ones(1, 2)).sum().backward()
    assert explained(model) == "Every parameter has a gradient."
    with pytest.raises(TypeError, match=r"explain\(\) takes a tensor or a module, not int"):
        torch.inspect.explain(3)


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(8, 4), nn.ReLU(), nn.Linear(5, 3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.encoder(x)


def test_a_shape_error_names_the_layer() -> None:
    model = Net()
    with pytest.raises(RuntimeError, match="mat1 and mat2 shapes cannot be multiplied") as caught:
        model(torch.ones(2, 8))
    (note,) = caught.value.__notes__
    layer = "in `model.encoder.2` (Linear(in_features=5, out_features=3, bias=True)) on input of shape [2, 4]"
    assert note.startswith(f"{layer}, called at test_explain.py:")


def test_an_error_of_a_container_names_the_container() -> None:
    class Trainer:
        def __init__(self) -> None:
            self.model = Net()

        def fit(self) -> None:
            self.model(x=1, y=2)

    with pytest.raises(TypeError) as caught:
        Trainer().fit()
    assert caught.value.__notes__[0].startswith("in `self.model` (Net), called at test_explain.py:")


def test_run_with_watch_tells_what_happened(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import torch\nw = torch.ones(2, requires_grad=True)\nloss = (w.detach() * 2).sum()\n"
        "print(torch.zeros(1) / 0)\nloss.backward()\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "penlight", "run", "--watch", str(script)], capture_output=True, text=True
    )
    assert done.returncode == 1 and "nan" in done.stdout
    assert "It was cut off the graph here:\ndetach():" in done.stderr and "line 3" in done.stderr
    assert "penlight run --watch: div() made NaN from values without NaN:" in done.stderr and "line 4" in done.stderr


def test_explain_in_a_program_that_is_run_with_all_options(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import torch\nw, u = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)\n"
        "loss = (w.detach() * 2 + u).sum()\nloss.backward()\nprint(torch.inspect.explain(w))\nu += 1\n"
    )
    options = ["--memory", str(tmp_path / "m.svg"), "--draw", str(tmp_path / "g.svg"), "--watch"]
    command = [sys.executable, "-m", "penlight", "run", *options, str(script)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert "What was made from it was cut off the graph here:\ndetach():\n" in done.stdout and "line 3" in done.stdout
    assert done.returncode == 1 and "a leaf Variable that requires grad is being used in an in-place" in done.stderr
    without = [sys.executable, "-m", "penlight", "run", "--memory", str(tmp_path / "m.svg"), "-c"]
    done = subprocess.run([*without, "import torch; torch.ones(1).backward()"], capture_output=True, text=True)
    assert "or `penlight run --watch` tells which line cut it off." in done.stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--draw", "graph.txt"], "--draw graph.txt: the name must end in .html, .svg, .png, .pdf or .dot"),
        (["--memory", "memory.txt"], "--memory memory.txt: the name must end in .html or .svg"),
        (["--profile", "train.py"], "--profile train.py: the name must end in .json"),
        (["--profile", "no/trace.json"], "--profile no/trace.json: there is no folder no"),
    ],
)
def test_run_refuses_a_file_that_it_could_not_write(
    options: list[str], words: str, capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run.main([*options, "-c", "print('it ran')"]) == 2
    assert capfd.readouterr() == ("", f"penlight run: {words}\n")


def test_run_tells_what_it_found_after_sys_exit(tmp_path: Path) -> None:
    program = "import torch, sys; (torch.zeros(1) / 0).sum(); sys.exit(3)"
    options = ["--watch", "--draw", str(tmp_path / "graph.html"), "--memory", str(tmp_path / "memory.html")]
    ran = subprocess.run(
        [sys.executable, "-m", "penlight", "run", *options, "-c", program], capture_output=True, text=True
    )
    assert ran.returncode == 3 and (tmp_path / "memory.html").exists()
    assert "penlight run --watch: div() made NaN from values without NaN:" in ran.stderr
    assert "penlight run: there was no backward pass to draw\n" in ran.stderr


def test_a_graph_that_run_draws_has_the_names_of_the_parameters(tmp_path: Path) -> None:
    script, picture = tmp_path / "script.py", tmp_path / "graph.svg"
    one = "import torch\nmodel = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1))\n"
    other = "critic = torch.nn.Linear(1, 1)\nunused = torch.nn.Linear(3, 3)\n"
    for source, call, names in (
        (one, "model", [">0.weight<", ">1.bias<"]),
        (one + other, "lambda x: critic(model(x))", [">Sequential.0.weight<", ">Linear.bias<"]),
    ):
        script.write_text(source + f"({call})(torch.ones(1, 2)).sum().backward()\n")
        subprocess.run([sys.executable, "-m", "penlight", "run", "--draw", str(picture), str(script)], check=True)
        assert all(name in picture.read_text() for name in names)
