"""The examples run: each is a command, here with a short setting, and prints something of what it promises."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import penlight

FOLDER = Path(__file__).resolve().parent.parent / "examples"
SOURCE = str(Path(penlight.__file__).parent.parent)

# By its name: the arguments of a short run, and words that its output must have.
EXAMPLES = {
    "char_gpt": ("--steps 3 --letters 20", "107776 parameters"),
    "cnn": ("--epochs 2", "unseen digits 9"),
    "custom_function": ("--steps 60", "Jacobian mismatch"),
    "distributed": ("--steps 3 --batch 4", "1 ranks: loss"),
    "hessians": ("--steps 4", "6.144918, by the whole matrix 6.144918"),
    "implicit": ("--steps 3", "finite differences differ by"),
    "maml": ("--steps 10", "after one step"),
    "mlp": ("--epochs 25", "right on new points 9"),
    "neural_ode": ("--steps 5", "by the adjoint 880"),
    "per_sample_gradients": ("--epochs 6", "are among the 50 wrong ones"),
    "pinn": ("--steps 30", "(it is 80)"),
    "polynomial": ("--steps 100", "modules   y = +0.0000 +0.8546 x -0.0000 x^2 -0.0928 x^3"),
    "walk_the_graph": ("--out graph.svg", "and by the engine: tensor([12.,  8.,  6.])"),
    "wgan_gp": ("--steps 5", "before, after"),
}


def test_every_example_is_here():
    assert {path.stem for path in FOLDER.glob("*.py")} - {"plots"} == set(EXAMPLES)


@pytest.mark.parametrize("name", EXAMPLES)
def test_example(name, tmp_path):
    arguments, words = EXAMPLES[name]
    done = subprocess.run(
        [sys.executable, "-W", "error", str(FOLDER / f"{name}.py"), *arguments.split()],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(SOURCE), *sys.path]), "OPENBLAS_NUM_THREADS": "1"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert not done.stderr and words in done.stdout, done.stdout
    if name == "walk_the_graph":
        assert (tmp_path / "graph.svg").read_text().startswith("<svg")
