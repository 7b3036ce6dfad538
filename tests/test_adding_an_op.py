"""docs/adding_an_op.md, applied to a copy of the source: what it declares is a function of torch like any other."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

USE = """
import inspect, penlight as torch
x = torch.tensor([0.0, 50.0], requires_grad=True)
print(torch.logcosh(x).tolist(), x.logcosh().grad_fn.name(), torch.ones(1).logcosh_().shape)
print(str(inspect.signature(torch.logcosh)).replace("'", ""), torch.logcosh.__doc__.splitlines()[0])
calls = [lambda: torch.logcosh("a"), lambda: torch.logcosh(), lambda: torch.logcosh(x, 3), lambda: torch.logcosh(x, dim=3)]
for call in calls:
    try:
        call()
    except TypeError as error:
        print(error)
"""

SEEN = """\
[0.0, 49.306854248046875] LogcoshBackward0 torch.Size([1])
(input: Tensor, *, out: Tensor | None = None) -> Tensor The logarithm of the hyperbolic cosine of each element.
logcosh(): argument 'input' (position 1) must be Tensor, not str
logcosh() missing 1 required positional argument: 'input'
logcosh() takes 1 positional argument but 2 were given
logcosh() got an unexpected keyword argument 'dim'
"""


def test_an_op_of_ones_own(tmp_path: Path) -> None:
    for folder in ("src", "tools"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    declaration = re.findall(r"```python\n(.*?)```", (ROOT / "docs/adding_an_op.md").read_text(), re.S)[0]
    table = tmp_path / "src/penlight/ops/pointwise/elementary.py"
    table.write_text(f"{table.read_text()}\n\n{declaration.replace('from __future__ import annotations', '')}")

    def run(*arguments: str) -> str:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path / "src"), *sys.path])}
        command = [sys.executable, *arguments]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert run("tools/exports.py") == "updated: elementary.py\n"
    run("tools/stubs.py")
    for stub, first in (("_lazy.pyi", "input: Tensor"), ("tensor/_methods.pyi", "self")):
        assert (
            f"def logcosh({first}, *, out: Tensor | None = ...) -> Tensor:"
            in (tmp_path / "src/penlight" / stub).read_text()
        )
    (tmp_path / "use.py").write_text(USE)
    assert run("use.py") == SEEN
