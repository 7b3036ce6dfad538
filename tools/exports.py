"""Keeps `__all__` of the op tables complete: every name defined there that PyTorch has as a function, and every op that it has not.

python tools/exports.py          rewrites the lists
python tools/exports.py --check  fails if one is stale
"""

from __future__ import annotations

import ast
import sys
import textwrap
from pathlib import Path

DECLARING = ("pointwise", "linear", "bilinear", "differentiable", "plain")
OPS = Path(__file__).resolve().parent.parent / "src" / "penlight" / "ops"


def known_names(public: bool) -> set[str]:
    """What PyTorch has in the namespaces that a table serves: its helpers are not among them. A table whose names all go into
    the main namespace (it is imported with a star in ops/__init__.py) serves that one only."""
    scope: dict[str, dict[str, str]] = {}
    exec((OPS.parent / "_common" / "torch_names.py").read_text(), scope)
    spaces = (
        ("torch", "torch (machinery)") if public else ("torch", "torch (machinery)", "nn.functional", "linalg", "fft")
    )
    return {name for space in spaces for name in scope["NAMES"][space].split()}


def public_names(tree: ast.Module, known: set[str]) -> list[str]:
    """Functions, and names assigned at the top of a module (`clip = clamp`, `alias_copy = _copying(...)`); and ops of our own."""
    names: set[str] = set()
    own: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            names.add(node.name)
            if any(_declares(decorator) for decorator in node.decorator_list) and node.name[0] != "_":
                own.add(node.name)
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                names.update(n.id for n in ast.walk(target) if isinstance(n, ast.Name))
    return sorted(names & known | own)


def _declares(decorator: ast.expr) -> bool:
    """Whether a decorator is one of the words of ops/machinery/declare.py."""
    return isinstance(decorator, ast.Call) and ast.unparse(decorator.func) in DECLARING


def updated(source: str, known: set[str]) -> str:
    """The source with its `__all__` as it should be, placed after the imports."""
    tree = ast.parse(source)
    lines = source.splitlines(keepends=True)
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "__all__":
            if not (isinstance(node.value, ast.List) and all(isinstance(e, ast.Constant) for e in node.value.elts)):
                return source  # made by the module itself
            del lines[node.lineno - 1 : node.end_lineno]
            return updated("".join(lines), known)
    last = 0
    for node in tree.body:
        if isinstance(node, (ast.Import, ast.ImportFrom)) or _is_guard(node):
            last = node.end_lineno or 0
        elif not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            break
    names = public_names(tree, known)
    if not names:
        return source
    listed = ", ".join(f'"{n}"' for n in names)
    block = f"\n__all__ = [{listed}]\n"
    if len(block) > 120 + 2:  # with its two ends of line
        block = "\n__all__ = [\n" + textwrap.indent(textwrap.fill(listed, 115), "    ") + "\n]  # fmt: skip\n"
    rest = "".join(lines[last:]).lstrip("\n")
    return "".join(lines[:last]) + block + "\n" + ("\n" if rest.startswith(("def", "@", "class")) else "") + rest


def _is_guard(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def main() -> int:
    stale = []
    starred = (OPS / "__init__.py").read_text()
    tables = [path for path in sorted(OPS.rglob("[a-z]*.py")) if path.parent.name != "machinery"]
    for path in tables:
        source = path.read_text()
        table = ".".join(path.relative_to(OPS).with_suffix("").parts)
        wanted = updated(source, known_names(f"from .{table} import *" in starred))
        if wanted != source:
            stale.append(path.name)
            if "--check" not in sys.argv:
                path.write_text(wanted)
    if stale:
        print(("stale: " if "--check" in sys.argv else "updated: ") + ", ".join(stale))
    return 1 if stale and "--check" in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())
