"""Writes the pages of the site that follow from the package: docs/api (help of every public name) and the names that
"Coming from PyTorch" searches. docs/conf.py calls it when the site is built; what it writes is not kept in the repository.
"""

from __future__ import annotations

import inspect
import json
import re
import sys
import textwrap
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))

import penlight  # noqa: E402
from penlight import coverage  # noqa: E402
from penlight._refused import missing  # noqa: E402

# A page for each namespace, in the order of the table of contents.
PAGES = {
    "torch": "Functions on tensors, and what else is right below `torch`.",
    "Tensor": "The methods and attributes of tensors.",
    "nn": "Layers.",
    "nn.functional": "Layers as functions.",
    "nn.init": "First values of parameters.",
    "nn.utils": "Clipping, flattening, and other work on parameters.",
    "nn.utils.rnn": "Sequences of different lengths.",
    "nn.utils.parametrize": "Parameters that are functions of others.",
    "nn.utils.parametrizations": "Ready parametrisations.",
    "nn.utils.prune": "Pruning.",
    "optim": "Optimisers.",
    "optim.lr_scheduler": "Schedules of the learning rate.",
    "optimize": "SciPy's optimisers on functions and models.",
    "autograd": "Gradients, custom functions, checks.",
    "autograd.functional": "Jacobians, Hessians and products with them.",
    "autograd.graph": "Nodes of the graph, and what they save.",
    "autograd.forward_ad": "Forward mode.",
    "func": "`grad`, `vmap`, `jvp` and others, on functions.",
    "inspect": "Seeing inside: pictures, steps, explanations.",
    "linalg": "Linear algebra.",
    "fft": "Fourier transforms.",
    "special": "Special functions.",
    "signal.windows": "Windows.",
    "distributions": "Probability distributions.",
    "utils.data": "Datasets and loaders.",
    "utils.checkpoint": "Less memory by computing again.",
    "amp": "Mixed precision.",
    "testing": "Comparing tensors in tests.",
    "distributed": "Several processes.",
    "fx": "Modules as graphs of their operations.",
}


def write(docs: Path) -> None:
    """All pages, into the folder of the docs."""
    folder = docs / "api"
    folder.mkdir(exist_ok=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for space, summary in PAGES.items():
            _replace(folder / f"{space}.md", page(space, summary))
        _replace(folder / "index.md", contents())
        (docs / "_static").mkdir(exist_ok=True)
        _replace(
            docs / "_static" / "names.js",
            "const PENLIGHT_NAMES = " + json.dumps(names(), separators=(",", ":")) + ";\n",
        )


def _replace(file: Path, text: str) -> None:
    """Only what changed is written, so that Sphinx reads only that again."""
    if not file.exists() or file.read_text(encoding="utf-8") != text:
        file.write_text(text, encoding="utf-8")


def contents() -> str:
    lines = [
        "# Reference",
        "",
        "What `help()` says of the names in these namespaces. `help(torch.cuda)` and others that are not listed here work in Python.",
        "",
    ]
    lines += [
        "| | |",
        "|---|---|",
        *(f"| [{shown(space)}]({space}.md) | {summary} |" for space, summary in PAGES.items()),
    ]
    return "\n".join([*lines, "", ":::{toctree}", ":hidden:", "", *PAGES, ":::", ""])


def shown(space: str) -> str:
    return space if space == "torch" else f"torch.{space}"


def page(space: str, summary: str) -> str:
    module = coverage.namespace(space)
    parts = [f"# {shown(space)}", summary]
    for name, value in public(space, module):
        parts.append(entry(f"{shown(space)}.{name}", value))
    return "\n\n".join(parts) + "\n"


def public(space: str, module: Any) -> list[tuple[str, Any]]:
    """The functions, classes and methods of a namespace that are ours, by name."""
    listed = getattr(module, "__all__", None) or dir(module)
    found = []
    for name in sorted({n for n in listed if n[0] != "_"}, key=str.lower):
        value = inspect.getattr_static(module, name, None) if space == "Tensor" else getattr(module, name, None)
        value = value.__func__ if isinstance(value, (staticmethod, classmethod)) else value
        ours = (getattr(value, "__module__", None) or "penlight").startswith(("penlight", "torch"))
        if (
            (isinstance(value, property) or (callable(value) and ours))
            and not isinstance(value, ModuleType)
            and value.__doc__
        ):
            found.append((name, value))
    return found


def entry(name: str, value: Any) -> str:
    """One name: its signature and its help, and for a class its own methods."""
    kind = "class" if isinstance(value, type) else "attribute" if isinstance(value, property) else "function"
    lines = [f":::::{{py:{kind}}} {name}{signature(value)}", "", text(value.__doc__)]
    if isinstance(value, type) and not issubclass(value, penlight.Tensor):
        for own, method in vars(value).items():
            method = method.__func__ if isinstance(method, (staticmethod, classmethod)) else method
            if own[0] != "_" and inspect.isfunction(method) and method.__doc__:
                lines += ["", f"::::{{py:method}} {own}{signature(method)}", "", text(method.__doc__), "::::"]
    return "\n".join([*lines, ":::::"])


def signature(value: Any) -> str:
    if isinstance(value, property):
        return ""
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return "(...)"
    parameters = []
    for p in found.parameters.values():
        if p.default is not p.empty and not isinstance(p.default, (int, float, str, bool, tuple, type(None))):
            p = p.replace(default=_Word(getattr(p.default, "__name__", "...")))
        parameters.append(p.replace(annotation=p.empty))
    return str(found.replace(parameters=parameters, return_annotation=found.empty))


class _Word:
    """A default value that is shown by its name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


def text(doc: str) -> str:
    """A docstring as Markdown: examples as code, arguments as a list."""
    lines: list[str] = []
    for block in re.split(r"\n\s*\n", inspect.cleandoc(doc)):
        head, _, rest = block.partition("\n")
        if ">>>" in block and block.lstrip().startswith(">>>"):
            lines += ["```python", textwrap.dedent(block), "```", ""]
        elif head.rstrip() in ("Args:", "Returns:", "Raises:", "Shape:", "Attributes:"):
            lines += [f"**{head.rstrip()}**", "", *_items(textwrap.dedent(rest)), ""]
        elif ">>>" in block:
            before, _, example = block.partition(">>>")
            lines += [_words(before), "", "```python", ">>>" + example, "```", ""]
        else:
            lines += [_words(block), ""]
    return "\n".join(lines).rstrip()


def _items(block: str) -> list[str]:
    """`name: meaning` lines as a list; lines that go on are indented."""
    items = []
    for line in block.splitlines():
        named = re.match(r"(\*{0,2}[\w, ]+): (.*)", line)
        if named and line[0] != " ":
            items.append(f"- `{named[1]}`: {_words(named[2])}")
        else:
            items.append(("  " if items else "") + _words(line.strip()))
    return items


def _words(words: str) -> str:
    """Stars and underscores stand for themselves outside of code, and so do angle brackets."""
    words = re.sub(r"``(.+?)``", r"`\1`", words)
    pieces = re.split(r"(`[^`]*`)", textwrap.dedent(words))
    return "".join(p if p.startswith("`") else re.sub(r"([*_<>\[\]$#|])", r"\\\1", p) for p in pieces)


def names() -> list[list[str]]:
    """Every public name of PyTorch's with what becomes of it here: name, state, and the page or what to do instead."""
    found = []
    for group, states in coverage.survey().items():
        where = "torch" if group.startswith("torch") else f"torch.{group}"
        space = coverage.namespace(group)
        shown_there = {name for name, _ in public(group, space)} if group in PAGES else set()
        for state, own in states.items():
            for name in own:
                note = ""
                if state == coverage.REFUSED:
                    note = " ".join((getattr(space, name).__doc__ or "").removeprefix("Refused:").split())
                elif state == coverage.MISSING:
                    note = str(missing(where, name)).partition("Penlight does not. ")[2]
                elif name in shown_there:
                    note = f"api/{group}.html#{where}.{name}"
                found.append([f"{where}.{name}", state, note])
    return found


if __name__ == "__main__":
    write(ROOT / "docs")
