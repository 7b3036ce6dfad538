"""The code on the pages for maintainers runs: each page's blocks, one after the other, as one program in a process of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import penlight

ROOT = Path(__file__).resolve().parent.parent


def program(page: str) -> str:
    """A page's Python blocks where they stand on it, so that a traceback gives the line of the page."""
    text = (ROOT / "docs" / page).read_text()
    lines = [""] * (text.count("\n") + 1)
    for block in re.finditer(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        first = text.count("\n", 0, block.start(1))
        code = block.group(1).splitlines()
        lines[first : first + len(code)] = code
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("page", ["adding_an_op.md", "how_it_works.md", "native_kernels.md"])
def test_code_runs(page: str, tmp_path: Path) -> None:
    file = tmp_path / page.replace(".md", ".py")
    file.write_text(program(page))
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(penlight.__file__).parents[1]), *sys.path])}
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", sorted(path.name for path in (ROOT / "docs").glob("*.md")))
def test_what_pages_name_is_there(page: str) -> None:
    """Files, and notes in the source, that a page refers to."""
    text = (ROOT / "docs" / page).read_text()
    source = "\n".join(path.read_text() for path in (ROOT / "src").rglob("*.py"))
    for note in re.findall(r"Note \[([^\]`\\]+)\]", text):
        assert f"Note [{note}]" in source, f"docs/{page} names Note [{note}]"
    for target in re.findall(
        r"\]\((?!api/)([\w./]+\.(?:md|svg|py|json))\)", text
    ):  # the reference is made with the site
        assert (ROOT / "docs" / target).exists(), f"docs/{page} links to {target}"
    if page == "how_it_works.md":
        for file in re.findall(r"`((?:autograd|ops|func|kernels|nn|optim|inspect)/[\w/]+\.py|tensor\.py)`", text):
            assert (ROOT / "src" / "penlight" / file).exists(), f"docs/{page} names {file}"
