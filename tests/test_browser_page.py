"""The programs of docs/browser run and are drawn, as the page does it; that it does is seen by .ci/browser.mjs, in a browser."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).resolve().parent.parent / "docs" / "browser"
PROGRAMS = sorted(path.stem for path in (PAGE / "programs").glob("*.py"))


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> Any:
    spec = importlib.util.spec_from_file_location("session", PAGE / "session.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "torch", None)  # put back afterwards
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str, session: Any) -> None:
    output, names = session.run((PAGE / "programs" / f"{name}.py").read_text())
    assert "Traceback" not in output and len(output.splitlines()) >= 3
    assert f'<option value="{name}">' in (PAGE / "index.html").read_text()
    svg = session.draw(names[0])
    assert svg.startswith("<svg") and "AccumulateGrad" in svg and f">{names[0]}<" in svg


def test_mistakes_are_shown_with_their_line(session: Any) -> None:
    output, names = session.run("import torch\nx = torch.ones(2, requires_grad=True)\ny = x.exp()\ny.backward()\n")
    assert output.splitlines()[1] == '  File "program", line 4, in <module>'
    assert output.splitlines()[2] == "    y.backward()"
    assert output.splitlines()[-1].startswith("RuntimeError: grad can be implicitly created only for scalar outputs")
    assert names == ["y"]
    assert session.run("x = 1 +\n")[0].splitlines()[-1].startswith("SyntaxError")
    assert session.run("raise SystemExit(3)\n") == (
        'Traceback (most recent call last):\n  File "program", line 1, in <module>\n    raise SystemExit(3)\nSystemExit: 3\n',
        [],
    )
