"""Examples in docstrings and on the pages run and print what they say; links lead somewhere."""

from __future__ import annotations

import contextlib
import doctest
import importlib
import pkgutil
import re
import runpy
from pathlib import Path

import pytest

import penlight
from penlight import _torch_function

ROOT = Path(__file__).resolve().parent.parent
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


# What needs a package that is not installed here says so at import; `as_torch` would take the name of torch.
OPTIONAL = {"penlight.utils.tensorboard", "penlight.as_torch"}
# Examples that need an extra.
EXTRAS = {"penlight.optimize": "scipy", "penlight.quasirandom": "scipy"}


def modules() -> list[str]:
    return sorted(
        m.name
        for m in pkgutil.walk_packages(penlight.__path__, "penlight.")
        if not m.name.rsplit(".", 1)[-1].startswith("__") and m.name not in OPTIONAL
    )


@pytest.fixture(autouse=True)
def rest():
    """An example with a subclass of Tensor makes all functions look at their arguments' types; the next test has them plain."""
    yield
    _torch_function.deactivate()


@pytest.mark.parametrize("name", modules())
def test_docstrings(name: str) -> None:
    if name in EXTRAS:
        pytest.importorskip(EXTRAS[name])
    module = importlib.import_module(name)
    for value in list(
        vars(module).values()
    ):  # a module that is imported late is put in here when it is first asked for something
        hasattr(value, "__wrapped__")
    finder, runner = doctest.DocTestFinder(), doctest.DocTestRunner(optionflags=FLAGS)
    for test in finder.find(module, name, extraglobs={"torch": penlight}):
        runner.run(test)
    assert runner.failures == 0


def test_ops_docstrings() -> None:
    """The generated functions' examples: doctest does not find them as members of their tables."""
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    parser = doctest.DocTestParser()
    for op in list(penlight.ops.OPS.values()):  # an example may declare more
        if op.face.__doc__:
            runner.run(parser.get_doctest(op.face.__doc__, {"torch": penlight}, op.name, None, 0))
    assert runner.failures == 0


PAGES = sorted(
    str(path.relative_to(ROOT))
    for path in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    if path.parent.name != "api" and "\n>>> " in path.read_text(encoding="utf-8")
)
NEEDED = {"docs/howto/fit_a_curve.md": ["scipy"], "docs/howto/other_libraries.md": ["pandas", "sklearn"]}


def run_page(text: str, name: str) -> doctest.TestResults:
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    return runner.run(doctest.DocTestParser().get_doctest(text, {"__name__": "__main__"}, name, name, 0))


@pytest.mark.parametrize("page", PAGES)
def test_pages(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for package in NEEDED.get(page, []):
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)  # the pages save files
    failures, count = run_page((ROOT / page).read_text(encoding="utf-8"), page)
    assert count > 0
    assert failures == 0


TUTORIAL = [page for page in PAGES if page.startswith("docs/tutorial/")]


@pytest.mark.parity
@pytest.mark.parametrize("page", TUTORIAL)
def test_pytorch_prints_what_the_tutorial_says(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = (ROOT / page).read_text(encoding="utf-8")
    text = re.sub(r"^```python\n(?:(?!^```).)*torch\.inspect.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    text = text.replace("import penlight as torch", "import torch").replace("from penlight", "from torch")
    assert run_page(text, page).failed == 0


@pytest.mark.parametrize("page", TUTORIAL)
def test_notebooks_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    notebook = runpy.run_path(str(ROOT / "tools" / "notebooks.py"))["notebook"]
    names: dict[str, object] = {"__name__": "__main__"}
    for cell in notebook((ROOT / page).read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            fails = pytest.raises(Exception) if cell["metadata"] else contextlib.nullcontext()
            with fails:
                exec("".join(cell["source"]), names)


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub and the site make them."""
    titles = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize(
    "page",
    sorted(
        str(p.relative_to(ROOT))
        for p in [*ROOT.glob("*.md"), *ROOT.glob("examples/*.md"), *ROOT.glob("docs/**/*.md")]
        if p.parent.name != "api"
    ),
)
def test_links_lead_somewhere(page: str) -> None:
    text = re.sub(r"^```.*?^```$", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"`[^`]*`", "", text)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        file, _, anchor = target.partition("#")
        found = ROOT.joinpath(page).parent / file if file else ROOT / page
        assert "://" in target or "api/" in target or found.exists(), target
        assert not anchor or "://" in target or anchor in anchors(found), target
