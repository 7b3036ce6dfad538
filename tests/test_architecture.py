"""The arrows between the layers of the source are those that docs/map.md draws."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "penlight"
FILES = {path.relative_to(SOURCE).as_posix(): path for path in sorted(SOURCE.rglob("*.py"))}

# Nothing without the package it writes for: said so when it is imported.
NEEDS_A_PACKAGE = "utils/tensorboard/"


class Layer(NamedTuple):
    patterns: list[str]
    imports: set[str]
    lazily: set[str]


class Arrow(NamedTuple):
    """An import: of a file of ours, or else of another package's module; in a function or not; where."""

    file: str | None
    package: str | None
    inside: bool
    line: int


def read_map() -> dict[str, Layer]:
    rows = [
        [cell.strip() for cell in line.strip("| \n").replace("||", "| |").split("|")]
        for line in (ROOT / "docs/map.md").read_text().splitlines()
        if line.startswith("| ") and "`" in line
    ]
    layers = {}
    for name, files, _, imports, *lazily in (row + [""] * (5 - len(row)) for row in rows):
        named = lambda text: {word.strip() for word in text.split(",") if word.strip()}
        layers[name] = Layer(files.replace("`", "").split(), named(imports), named(lazily[0]))
    return layers


LAYERS = read_map()


def fits(file: str, pattern: str) -> bool:
    if pattern.endswith("/"):
        return file.startswith(pattern)
    return fnmatchcase(file, pattern) and file.count("/") == pattern.count("/")


def layer_of(file: str) -> str:
    """The layer of a file: that of the longest pattern that fits."""
    found = [
        (len(pattern), name) for name, layer in LAYERS.items() for pattern in layer.patterns if fits(file, pattern)
    ]
    assert found, f"{file} is in no layer of docs/map.md"
    return max(found)[1]


def module_file(parts: list[str]) -> str | None:
    """The file of a module of ours, if there is one. Those in compat/ have names as if they were above it."""
    for folder in ([], ["compat"]):
        for candidate in ("/".join([*folder, *parts, "__init__.py"]), "/".join([*folder, *parts]) + ".py"):
            if candidate in FILES:
                return candidate
    return None


def targets(node: ast.Import | ast.ImportFrom, file: str) -> Iterator[tuple[str | None, str | None]]:
    """What an import statement reaches: files of ours, or names of other packages."""
    if isinstance(node, ast.Import):
        for name in node.names:
            head, *rest = name.name.split(".")
            yield (module_file(rest), None) if head == "penlight" else (None, head)
        return
    here = file.split("/")[:-1]
    base = here[: len(here) - (node.level - 1)] if node.level else []
    words = (node.module or "").split(".") if node.module else []
    if not node.level:
        if words[0] != "penlight":
            yield None, words[0]
            return
        words = words[1:]
    for name in node.names:
        yield module_file([*base, *words, name.name]) or module_file([*base, *words]), None


def lazily_imported(module: str, file: str) -> str | None:
    """The file of a module that is named as in `importlib.import_module`, with dots for packages around the file."""
    words = module.lstrip(".")
    level = len(module) - len(words)
    package = file.split("/")[:-1]
    return module_file([*package[: len(package) - level + 1], *words.split(".")] if level else words.split(".")[1:])


def arrows(file: str) -> Iterator[Arrow]:
    """Its imports. Lazy ones (kernels/lazy.py) count as imports inside of functions."""

    def walk(node: ast.AST, inside: bool) -> Iterator[Arrow]:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            return
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for own, package in targets(node, file):
                yield Arrow(own, package, inside, node.lineno)
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("lazy_import"):
            *_, module = [ast.literal_eval(argument) for argument in node.args[1:]]
            yield Arrow(lazily_imported(module, file), None, True, node.lineno)
        inside = inside or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        for child in ast.iter_child_nodes(node):
            yield from walk(child, inside)

    yield from walk(ast.parse(FILES[file].read_text()), False)


def test_the_map_is_in_order() -> None:
    """Imports name layers above; so there is no cycle."""
    above: set[str] = set()
    for name, layer in LAYERS.items():
        assert layer.imports <= above, f"{name} imports {layer.imports - above}, which come later in docs/map.md"
        assert layer.lazily <= set(LAYERS) | {"any"}, layer.lazily - set(LAYERS)
        above.add(name)
    assert {"kernels", "graph", "tensor", "ops", "nn"} <= above
    assert not [pattern for layer in LAYERS.values() for pattern in layer.patterns if "*" in pattern]


@pytest.mark.parametrize("file", FILES)
def test_arrows(file: str) -> None:
    name = layer_of(file)
    layer = LAYERS[name]
    for arrow in arrows(file):
        where = f"src/penlight/{file}:{arrow.line}"
        if arrow.package is not None:
            assert arrow.package != "torch", f"{where} imports torch"
            ours = arrow.package in sys.stdlib_module_names or arrow.package == "numpy"
            assert ours or arrow.inside or file.startswith(NEEDS_A_PACKAGE), (
                f"{where} imports {arrow.package} at its top: other packages only inside functions"
            )
            continue
        assert arrow.file is not None, f"{where} imports what is not there"
        other = layer_of(arrow.file)
        allowed = layer.imports | (layer.lazily if arrow.inside else set()) | {name, "lazy"}
        assert other in allowed or (arrow.inside and "any" in layer.lazily), (
            f"{where}: {name} may not import {other} ({arrow.file}) {'even inside a function' if arrow.inside else 'at its top'}; "
            "see docs/map.md"
        )


def test_few_imports_inside_functions() -> None:
    """What a module needs is said at its top, if need be lazily; see kernels/lazy.py. The rest are optional packages and a few cycles."""
    found = [
        f"{file}:{node.lineno}"
        for file, path in FILES.items()
        for function in ast.walk(ast.parse(path.read_text()))
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef))
        for node in ast.walk(function)
        if isinstance(node, (ast.Import, ast.ImportFrom))
    ]
    assert len(set(found)) <= 100, sorted(set(found))


# ----- Machine code ---------------------------------------------------------------------------------------------------

KERNELS = {file: path.read_text() for file, path in FILES.items() if file.startswith("kernels/")}


def found_in(pattern: str) -> list[str]:
    return [
        f"{file}:{number}: {line.strip()}"
        for file, text in KERNELS.items()
        for number, line in enumerate(text.splitlines(), 1)
        if re.search(pattern, line)
    ]


def test_machine_code_is_loaded_by_call_only() -> None:
    """Whatever else loads code could call it with arrays that nobody has checked: Note [Calling machine code]."""
    assert {line.split(":")[0] for line in found_in(r"\bload_kernel\(")} == {"kernels/call.py", "kernels/executable.py"}


def test_two_folders_know_x86_instructions() -> None:
    """The compiler, and what is written by hand because its IR cannot express it."""
    found = found_in(r"\basm import|\bAssembler\(|\.code \+= |\bb\"\\x|\bbytes\(\(0x")
    assert {line.split("/")[1] for line in found} == {"compiler", "assembly"}


def test_addresses_are_taken_by_call_only() -> None:
    """Machine code gets arrays from call.py, and tables their addresses: Note [Calling machine code]. The pool passes its own memory."""
    found = found_in(
        r"\bdata_address\b|\.ctypes\.data\b|\b(from_address|addressof)\(|\bid\(|\bimport.*\baddress\b|__array_interface__"
    )
    files = {line.split(".py:")[0].removeprefix("kernels/") for line in found}
    # The compiler looks up its own objects by `id`, and lazy.py a module's globals.
    others = {file for file in files if not file.startswith("compiler/")} - {"lazy"}
    assert others == {"addresses", "call", "executable", "waiting_threads"}


def test_dtypes_are_not_compared_by_identity() -> None:
    """The dtype of an unpickled array equals NumPy's own and is another object. Asking for identity first, to be quick, is fine."""
    lines = found_in(r"dtype is (not )?[_A-Za-z]")
    identical = [line for line in lines if not re.search(r"dtype is (not )?(None|a )|is \S+ or .*==", line)]
    assert not identical


# ----- Thresholds ------------------------------------------------------------------------------------------------------

THRESHOLD = re.compile(r"(^|_)(MOST|LEAST|FEW|SMALL|LARGE|LONG|SHORT|SOME|MANY|FROM|LIMIT)(_|$)")
SHARING = re.compile(r"SHARED|THREADS")  # from which size on threads share work is no choice of an implementation
A_SIZE = re.compile(r"\.(size|nbytes)\b|\b(len|prod)\(|\b(count|rows|columns|shape|elements)\b")


def is_a_table(file: str) -> bool:
    """Whether thresholds may stand in a file: a family's table, or the code generators, which have none yet."""
    folders = file.split("/")
    return (
        folders[-1] == "strategies.py"
        or (folders[-1] == "__init__.py" and len(folders) > 2)
        or folders[1] in ("assembly", "compiler")
    )


def integer(node: ast.expr | None) -> int:
    """The value of an expression of integers; 0 for any other."""
    try:
        value = eval(compile(ast.Expression(node), "<threshold>", "eval"), {"__builtins__": {}}) if node else 0
    except Exception:
        return 0
    return value if type(value) is int else 0


def thresholds(file: str) -> Iterator[str]:
    """Named thresholds, and sizes that are compared with large numbers. From 2**23 on, those are limits of dtypes."""
    for node in ast.walk(ast.parse(KERNELS[file])):
        if isinstance(node, ast.Assign) and integer(node.value) > 2:
            named = [target.id for target in node.targets if isinstance(target, ast.Name) and target.id.isupper()]
            if any(THRESHOLD.search(name) and not SHARING.search(name) for name in named):
                yield f"{file}:{node.lineno}: {ast.unparse(node)}"
        elif isinstance(node, ast.Compare) and any(
            isinstance(op, (ast.Lt, ast.LtE, ast.Gt, ast.GtE)) for op in node.ops
        ):
            sides = [node.left, *node.comparators]
            if any(64 < integer(side) < 1 << 23 for side in sides) and A_SIZE.search(ast.unparse(node)):
                yield f"{file}:{node.lineno}: {ast.unparse(node)}"


def test_thresholds_stand_in_strategy_tables() -> None:
    """A reader finds in one place which implementation of a family runs when, and why: see kernels/strategy.py."""
    found = [line for file in KERNELS if not is_a_table(file) for line in thresholds(file)]
    assert not found


@pytest.mark.parametrize("file", [file for file in FILES if file.startswith("kernels/") and file.count("/") > 1])
def test_no_file_of_a_family_is_named_by_size_or_mechanism(file: str) -> None:
    words = file.split("/")[-1].removesuffix(".py").split("_")
    assert not {"small", "few", "loops", "taps", "places"}.intersection(words) or file in NAMED_BEFORE


NAMED_BEFORE = {"kernels/compiler/loops.py"}


# ----- Functions and their code ---------------------------------------------------------------------------------------


def test_no_code_object_is_edited() -> None:
    """Functions run whole code objects that `compile` made, and only `_common/function_code.py` says which."""
    for file, path in FILES.items():
        text = path.read_text()
        assert not re.search(r"\.replace\(\s*co_|\bCodeType\(|^from opcode|^import (dis|opcode)\b", text, re.M), (
            f"{file} edits or reads bytecode"
        )
        assert file == "_common/function_code.py" or not re.search(r"__code__\b[^=\n]* = ", text), (
            f"{file} assigns __code__"
        )
