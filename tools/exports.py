"""Keeps `__all__` of the op tables complete: every public function defined there, and aliases of them.

python tools/exports.py          rewrites the lists
python tools/exports.py --check  fails if one is stale
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

OPS = Path(__file__).resolve().parent.parent / "src" / "penlight" / "ops"


def public_names(tree: ast.Module) -> list[str]:
    """Functions and classes without an underscore, and names assigned to plain names (`clip = clamp`) or tuples of them."""
    names: set[str] = set()
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.Assign) and _is_alias(node.value):
            for target in node.targets:
                names.update(n.id for n in ast.walk(target) if isinstance(n, ast.Name))
    return sorted(n for n in names if not n.startswith("_") and not n.isupper())


def _is_alias(value: ast.expr) -> bool:
    parts = value.elts if isinstance(value, ast.Tuple) else [value]
    return all(isinstance(p, ast.Name) for p in parts)


def updated(source: str) -> str:
    """The source with its `__all__` as it should be, placed after the imports."""
    tree = ast.parse(source)
    lines = source.splitlines(keepends=True)
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "__all__":
            del lines[node.lineno - 1 : node.end_lineno]
            return updated("".join(lines))
    last = 0
    for node in tree.body:
        if isinstance(node, (ast.Import, ast.ImportFrom)) or _is_guard(node):
            last = node.end_lineno or 0
        elif not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            break
    names = public_names(tree)
    block = "\n__all__ = [\n" + "".join(f'    "{n}",\n' for n in names) + "]\n"
    rest = "".join(lines[last:]).lstrip("\n")
    return "".join(lines[:last]) + block + "\n" + ("\n" if rest.startswith(("def", "@", "class")) else "") + rest


def _is_guard(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def main() -> int:
    stale = []
    for path in sorted(OPS.glob("[a-z]*.py")):
        source = path.read_text()
        wanted = updated(source)
        if wanted != source:
            stale.append(path.name)
            if "--check" not in sys.argv:
                path.write_text(wanted)
    if stale:
        print(("stale: " if "--check" in sys.argv else "updated: ") + ", ".join(stale))
    return 1 if stale and "--check" in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())
