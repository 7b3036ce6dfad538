"""`inspect.show`, and what the debugger shows: tensors and modules in a notebook, hooks and rules in pdb."""

from __future__ import annotations

import base64
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import penlight as torch
from penlight import nn
from penlight._common.user_lines import Line
from penlight.inspect import show


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.bool, torch.complex64])
def test_a_tensor_as_a_table(dtype: torch.dtype) -> None:
    html = show(torch.tensor([[1.5, -2.0], [float(0), 1.0]]).to(dtype))._repr_html_()
    cells = re.findall(r"<td style='text-align:right;([^']*)'>([^<]*)</td>", html)
    assert len(cells) == 4 and html.endswith(f"(2, 2) {str(dtype).removeprefix('torch.')}</p>")
    if dtype is torch.float32:
        assert cells[1] == ("background:rgba(176,58,72,0.60)", "-2") and cells[0][1] == "1.5"


def test_large_tensors_are_cut_and_odd_values_shown() -> None:
    assert show(torch.zeros(100, 100)).html.count("…") == 25
    assert "nan" in show(torch.tensor([float("nan"), 1.0], requires_grad=True)).html
    assert repr(show(torch.ones(3))) == "<Shown (3,) float32>"
    with pytest.raises(ValueError, match="at most two dimensions, not 3"):
        show(torch.ones(2, 2, 2))
    with pytest.raises(TypeError, match=r"show\(\) takes a tensor or a module, not int"):
        show(3)


@pytest.mark.parametrize("shape", [(4, 6), (1, 4, 6), (3, 4, 6)])
def test_a_tensor_as_an_image(shape: tuple[int, ...]) -> None:
    html = show(torch.rand(shape), image=True).html
    png = base64.b64decode(html.partition("base64,")[2].partition("'")[0])
    assert png[1:4] == b"PNG" and png[16:24] == (6).to_bytes(4, "big") + (4).to_bytes(4, "big")
    with pytest.raises(ValueError, match=r"takes an image \(height, width\)"):
        show(torch.ones(2, 2, 2), image=True)


def test_a_module_as_a_tree() -> None:
    html = show(nn.Sequential(nn.Linear(2, 3), nn.Sequential(nn.ReLU()))).html
    assert "Linear(in_features=2, out_features=3, bias=True)" in html and "<td style='text-align:right'>9</td>" in html
    assert "&nbsp;" * 8 + "0</td><td style='text-align:left'>ReLU()" in html


def test_a_breakpoint_in_a_hook_leads_into_the_rule(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import penlight as torch\nx = torch.ones(2, requires_grad=True)\n(x * x).sum().backward()\n"
        "y = (x * x).sum()\ny.grad_fn.next_functions[0][0].register_prehook(lambda grads: breakpoint())\ny.backward()\n"
    )
    into = "up\nup\ntbreak type(node).run_raw\nc\nl 1, 12\nc\n"  # up to the engine, then into the rule of the node
    done = subprocess.run([sys.executable, str(script)], input=into, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (
        "<penlight mul run_raw>" in done.stdout
        and "def run_raw(node, " in done.stdout
        and "other = node.s_other" in done.stdout
    )


def test_lines_of_a_notebook_are_named_by_their_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = SimpleNamespace(format_code_name=lambda name: ("Cell", "In[3]") if name == "/tmp/1.py" else None)
    shell = SimpleNamespace(compile=compiler)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))  # type: ignore[arg-type]
    line, other = Line("/tmp/1.py", 2, "<module>"), Line("/tmp/2.py", 2, "<module>")
    assert str(line) == "  Cell In[3], line 2, in <module>\n" and line.short == "In[3]:2"
    assert str(other) == '  File "/tmp/2.py", line 2, in <module>\n' and other.short == "2.py:2"
    shell = None
    assert line.short == "1.py:2"
