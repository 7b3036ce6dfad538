"""The site is built without warnings, works without a network, and its links and anchors lead somewhere."""

from __future__ import annotations

import html.parser
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote

import pytest

import penlight

for package in ("sphinx", "myst_parser", "furo"):
    pytest.importorskip(package)

ROOT = Path(__file__).resolve().parent.parent


class Page(html.parser.HTMLParser):
    """What a page refers to, what it loads, and its anchors."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.anchors: set[str] = set()
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attributes}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif tag in ("script", "img", "link"):
            self.loads += [
                given[name]
                for name in ("src", "href")
                if name in given and given.get("rel") not in ("index", "search", "next", "prev")
            ]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    path = os.pathsep.join([str(Path(penlight.__file__).parents[1]), *sys.path])
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", str(ROOT / "docs"), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path})
    assert done.returncode == 0, done.stderr
    return folder


def test_links_and_anchors_lead_somewhere(site: Path) -> None:
    pages = {file: Page(file) for file in site.rglob("*.html")}
    assert len(pages) > 60
    wrong = []
    for file, page in pages.items():
        for link in page.links + page.loads:
            target, _, anchor = link.partition("#")
            found = (file.parent / unquote(target.partition("?")[0])).resolve() if target else file
            if "://" not in link and not link.startswith(("data:", "mailto:")):
                if not found.exists() or (anchor and found in pages and unquote(anchor) not in pages[found].anchors):
                    wrong.append((file.name, link))
    assert wrong == []


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    assert [load for file in site.rglob("*.html") for load in Page(file).loads if "//" in load] == []


def test_names_that_are_searched_for_lead_to_the_reference(site: Path) -> None:
    names = json.loads(re.sub(r"^[^\[]*|;\s*$", "", (site / "_static" / "names.js").read_text(encoding="utf-8")))
    pages = {file.name: Page(file).anchors for file in (site / "api").glob("*.html")}
    states = {name: state for name, state, note in names}
    assert (
        states["torch.conv2d"] == "present"
        and states["torch.AnyType"] == "refused"
        and states["torch.testing.FileCheck"] == "missing"
    )
    targets = [note for name, state, note in names if state == "present" and note]
    assert len(targets) > 1500
    assert [t for t in targets if t.partition("#")[2] not in pages[t.partition("#")[0].removeprefix("api/")]] == []
