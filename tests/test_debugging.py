"""In a debugger and in tracebacks: every frame shows its source, and the user's line stands where the library begins."""

from __future__ import annotations

import os
import subprocess
import sys
import traceback
from pathlib import Path

import pytest

import penlight as torch
from penlight.autograd import hooks

nn = torch.nn


def backward_twice():
    y = torch.ones(2, requires_grad=True).exp()
    y.sum().backward()
    y.sum().backward()


def failing_hook():
    x = torch.ones(2, requires_grad=True)
    x.register_hook(lambda g: 1 / 0)
    (x * 2).sum().backward()


MISTAKES = {
    "add": lambda: torch.ones(2) + torch.ones(3),
    "matmul": lambda: torch.ones(2, 3) @ torch.ones(2, 3),
    "layer": lambda: nn.Sequential(nn.Linear(3, 4), nn.Linear(5, 1))(torch.ones(2, 3)),
    "view": lambda: torch.ones(6).view(4, 2),
    "index": lambda: torch.ones(3)[5],
    "argument": lambda: torch.sin("a"),
    "target": lambda: nn.functional.cross_entropy(torch.ones(2, 3), torch.tensor([0, 5])),
    "backward twice": backward_twice,
    "hook": failing_hook,
}


@pytest.mark.parametrize("name", MISTAKES)
def test_tracebacks_are_short_and_readable(name: str) -> None:
    with pytest.raises(Exception) as caught:
        MISTAKES[name]()
    error = caught.value
    assert error.__context__ is None or error.__suppress_context__
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if frame.filename == __file__]
    assert ours and len(frames) <= 24  # with those of `__torch_function__`, once there was a subclass of Tensor
    assert all(frame.line for frame in frames), [f for f in frames if not f.line]
    first = next(i for i, frame in enumerate(frames) if "penlight" in frame.filename and frame.filename != __file__)
    assert frames[first - 1].filename == __file__  # the user's line, just before the library's


PROGRAM = """
import penlight as torch
def hook(grad):
    breakpoint()
    return grad
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x * 3
y = y * x
handle = y.register_hook(hook)
y.sum().backward()
"""


def debug(tmp_path: Path, commands: str) -> str:
    (tmp_path / "program.py").write_text(PROGRAM)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "program.py"], input=commands, cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    return done.stdout


def test_a_breakpoint_in_a_hook(tmp_path: Path) -> None:
    shown = debug(tmp_path, "p grad\nup\nup\nl\nc\n")
    assert "tensor([1., 1.])" in shown and "before(node, grad, False)" in shown


def test_stepping_through_a_generated_function(tmp_path: Path) -> None:
    shown = debug(tmp_path, "tbreak program.py:10\np x.exp()\ndebug x * x\ns\ns\ns\nll\nq\nq\n")
    assert "kernel__mul(" in shown or "kernel_mul(" in shown


def test_stepping_into_a_node_that_runs_for_the_first_time(tmp_path: Path) -> None:
    lines = Path(hooks.__file__).read_text().splitlines()
    call = 1 + next(i for i, line in enumerate(lines) if "results = node.run_raw(grad, keep)" in line)
    shown = debug(tmp_path, f"tbreak penlight/autograd/hooks.py:{call}\nc\ns\nll\nc\n")
    assert "<penlight mul run_raw>(1)run_raw()" in shown and "multiply(grad, other)" in shown


def test_a_debugger_steps_into_no_import_of_what_is_imported() -> None:
    program = """
import sys, types
import penlight
unloaded = [
    value
    for module in list(sys.modules.values()) if module.__name__.startswith("penlight")
    for value in vars(module).values() if type(value).__name__ == "_Unloaded"
]
assert unloaded and not any(each._is_imported() for each in unloaded)
assert type(penlight.autograd.node._engine) is types.ModuleType
"""
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize("module", ["penlight.autograd.node", "penlight.tensor", "penlight.ops"])
def test_ctrl_c_while_importing_gives_one_traceback(module: str) -> None:
    program = f"""
import sys
class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupt())
import penlight
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stderr.count("Traceback") == 1 and done.stderr.endswith("KeyboardInterrupt\n")
