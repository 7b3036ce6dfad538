"""The pictures in docs/images are what Penlight draws."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PICTURES = runpy.run_path(str(ROOT / "tools" / "pictures.py"))["PICTURES"]


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_are_fresh(name: str) -> None:
    kept = (ROOT / "docs" / "images" / name).read_text(encoding="utf-8")
    assert kept == PICTURES[name]() + "\n", "run python tools/pictures.py"


def test_the_readme_shows_the_picture_of_its_own_example() -> None:
    """Its lines, from making `x` to `loss`, are those that the picture was drawn from."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    tool = (ROOT / "tools" / "pictures.py").read_text(encoding="utf-8")
    lines = re.findall(r"^>>> ((?:x|w|b|y|loss) = .*)$", readme, re.M)
    assert len(lines) == 5
    assert all(f"    {line}\n" in tool for line in lines)
