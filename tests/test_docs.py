"""Examples in docstrings and in the README run and print what they say."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from pathlib import Path

import pytest

import penlight
from penlight import _takeover

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
    _takeover.rest()


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
    for op in penlight.ops.OPS.values():
        if op.face.__doc__:
            runner.run(parser.get_doctest(op.face.__doc__, {"torch": penlight}, op.name, None, 0))
    assert runner.failures == 0


@pytest.mark.parametrize("page", ["README.md", "docs/seeing_inside.md"])
def test_pages(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # the pages save files
    failures, count = doctest.testfile(str(ROOT / page), module_relative=False, optionflags=FLAGS)
    assert count > 0
    assert failures == 0
