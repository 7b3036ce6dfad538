"""Writes src/penlight/_common/torch_signatures.py: the signatures of PyTorch's functions and methods. Needs PyTorch.

python tools/torch_signatures.py

Functions with several forms list them in the error of a wrong call; the single form of the others is in the operator registry.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TARGET = Path(__file__).resolve().parent.parent / "src" / "penlight" / "_common" / "torch_signatures.py"

# What messages call a type, and what the file does; a list of ints that one int may stand for ends in 1.
TYPES = {
    "tuple of ints": "ints", "tuple of Tensors": "tensors", "tuple of floats": "floats", "tuple of Scalars": "numbers", "torch.dtype": "dtype",
    "torch.layout": "layout", "torch.device": "device", "torch.memory_format": "memory_format", "torch.Generator": "generator",
}  # fmt: skip
SCHEMA_TYPES = {
    "Tensor": "Tensor", "int": "int", "float": "float", "bool": "bool", "number": "Number", "str": "str", "List[int]": "ints", "List[Tensor]": "tensors",
    "List[float]": "floats", "List[number]": "numbers", "Generator": "generator", "Device": "device", "List[Optional[Tensor]]": "tensors",
}  # fmt: skip
NAMED_TYPES = {"dtype": "dtype", "layout": "layout", "memory_format": "memory_format"} | dict.fromkeys(
    ("from_", "to", "type1", "type2"), "dtype"
)
ANY_DATA = ("as_tensor",)  # takes more than its schema says
NO_FORMS = ("Scalar", "left_t", "right_", "t", "hacked_twin", "str", "float", "complex")  # of TorchScript
FACTORY = ("dtype? dtype=None", "layout? layout=None", "device? device=None", "bool pin_memory=False", "bool requires_grad=False")  # fmt: skip


def callables(torch: Any) -> Iterator[tuple[str, Any, tuple[Any, ...]]]:
    """Names, functions, and what to call them with first; methods as `Tensor.name`, those of nn.functional as `F.name`."""
    for name in sorted(dir(torch._C._VariableFunctions)):
        found = getattr(torch, name, None)
        if not name.startswith("_") and name not in ANY_DATA and type(found).__name__.startswith("builtin"):
            yield name, found, ()
    for name, found in sorted(vars(torch.nn.functional).items()):
        if not name.startswith("_") and type(found).__name__.startswith("builtin"):
            yield "F." + name, found, ()
    for part in ("linalg", "fft", "special"):
        module = getattr(torch._C, "_" + part)
        for name in sorted(dir(module)):
            if name.startswith(part):
                yield name, getattr(module, name), ()
    for name in sorted(dir(torch.Tensor)):
        if not name.startswith("_") and type(getattr(torch.Tensor, name)).__name__ == "method_descriptor":
            yield "Tensor." + name, getattr(torch.Tensor, name), (torch.ones(2),)


def has(library: Any, name: str) -> bool:
    """Whether a library has a function or a method."""
    owners = {"Tensor.": library.Tensor, "F.": library.nn.functional}
    owners |= {f"{part}_": getattr(library, part) for part in ("linalg", "fft", "special")}
    prefix = next(filter(name.startswith, owners), "")
    return hasattr(owners.get(prefix, library), name.removeprefix(prefix))


def forms_listed(message: str) -> list[str]:
    lines = message[message.index("but expected") :].splitlines()
    return [line[4:-1] for line in lines if line.startswith(" * (")]


def parsed(form: str, sizes: set[str]) -> str:
    """A form as messages show it, in the notation of the file."""
    out = []
    for part in re.split(r", (?![^({\[]*[)}\]])", form) if form else []:
        if part == "*":
            out.append(part)
            continue
        declared, _, default = part.partition(" = ")
        kind, _, name = declared.rpartition(" ")
        kind = TYPES.get(kind, kind)
        if kind == "ints" and name in sizes:
            kind = "ints1"
        out.append(f"{kind}{'?' if default == 'None' else ''} {name}" + (f"={default}" if default else ""))
    return ", ".join(out)


def schemas(torch: Any, name: str) -> list[Any]:
    found = torch._C._jit_get_schemas_for_operator("aten::" + name)
    return [s for s in found if not any("Dimname" in str(a.type) for a in s.arguments)]


def one_size(torch: Any, name: str) -> set[str]:
    """The parameters that are lists of ints for which one int may stand."""
    return {a.name for s in schemas(torch, name) for a in s.arguments if getattr(a, "N", None)}


def shown(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else str(tuple(value)) if isinstance(value, list) else str(value)


def from_schema(torch: Any, name: str, method: bool) -> str | None:
    """The one form of a function, out of the operator registry; None if there is not exactly one."""
    found = schemas(torch, name)
    found = [s for s in found if s.overload_name not in NO_FORMS]
    plain = [s for s in found if not any(a.is_out for a in s.arguments)]
    if len(plain) > 1:
        plain = [s for s in plain if s.arguments and str(s.arguments[0].type) in ("Tensor", "List[Tensor]")]
        plain.sort(
            key=lambda s: (
                ("Tensor", "", "int").index(s.overload_name) if s.overload_name in ("Tensor", "", "int") else 3
            )
        )
    if not plain:
        return None
    schema = plain[0]
    out = [s for s in found if any(a.is_out for a in s.arguments) and len(s.arguments) >= len(schema.arguments)]
    parts: list[str] = []
    star = False
    names = [a.name for a in schema.arguments]
    for a in schema.arguments:
        if a.name == "self" and method:
            continue
        if a.kwarg_only and not star:
            parts.append("*")
            star = True
        kind = str(a.type)
        optional = kind.startswith("Optional[")
        kind = kind[9:-1] if optional else kind
        known = NAMED_TYPES.get(a.name) if a.name in NAMED_TYPES and kind == "int" else SCHEMA_TYPES.get(kind)
        if known is None:
            return None
        if known == "ints" and getattr(a, "N", None):
            known = "ints1"
        label = {"self": "input", "from": "from"}.get(a.name, a.name)
        part = f"{known}{'?' if optional else ''} {label}"
        if a.has_default_value():
            part += "=" + shown(a.default_value)
        if a.name in ("layout", "pin_memory", "device", "dtype") and "layout" in names:
            continue  # a factory's, below
        parts.append(part)
    factory = "layout" in names
    if out and not method:
        results = sum(a.is_out + (str(a.type) == "List[Tensor]") for a in out[0].arguments if a.is_out)
        parts += [*([] if star else ["*"]), "Tensor? out=None" if results == 1 else "tensors? out=None"]
        star = True
    if factory:
        parts += [*([] if star or "*" in parts else ["*"]), *FACTORY]
    return ", ".join(parts)


def takes_numbers(f: Any, first: tuple[Any, ...], torch: Any, form: str, forms: list[str]) -> bool:
    """Whether a number may stand for the tensor `other`."""
    if not re.search(r"Tensor other(,|$)", form) or (len(forms) > 1 and "int dim" in forms[-1]):
        return False
    try:
        f(*(first or (torch.ones(2, dtype=torch.int64),)), 1)
    except TypeError:
        return False
    except Exception:
        return True
    return True


def main() -> None:
    import torch

    import penlight

    warnings.simplefilter("ignore")
    names: dict[str, list[str]] = {}  # by their forms
    for name, function, first in callables(torch):
        if not has(penlight, name):
            continue
        bare = name.removeprefix("Tensor.").removeprefix("F.")
        try:
            function(*first, *[object()] * 40)
        except TypeError as error:
            message = str(error)
        except Exception:
            continue
        sizes = one_size(torch, bare)
        if "but expected one of:" in message:
            forms = [parsed(form, sizes) for form in forms_listed(message)]
        elif "but expected (" in message:
            forms = [parsed(message.rpartition("but expected (")[2].rstrip(")\n"), sizes), "~"]
        elif "positional argument" in message or "takes no arguments" in message or "takes exactly one" in message:
            form = from_schema(torch, bare, bool(first))
            if form is None:
                continue
            most = re.search(r"takes (?:from \d+ to )?(\d+) positional", message)
            count = form.partition("*")[0].count(", ") + (0 if form.startswith("*") or not form else 1 - ("*" in form))
            if most is not None and int(most[1]) != count and "ints" not in form:
                continue
            forms = [form]
        elif "must be tuple of ints" in message or "failed to unpack" in message:
            form = from_schema(torch, bare, bool(first))
            if form is None:
                continue
            forms = [form]
        else:
            continue
        if any(takes_numbers(function, first, torch, form, forms) for form in forms):
            forms = [re.sub(r"\bTensor other", "Tensor# other", form) for form in forms]
        names.setdefault(" | ".join(form or "-" for form in forms), []).append(name)
    text = "\n".join(f"{' '.join(same)}: {forms}" for forms, same in names.items())
    head = (
        f'"""The signatures of functions and methods of PyTorch {torch.__version__.split("+")[0]}. Written by tools/torch_signatures.py.\n\n'
        "A line for each signature: the functions that have it, and its forms, separated by bars. `?` marks parameters that may be None, `#` tensors\n"
        "that may be numbers, `ints1` lists of ints that may be one int; `-` is the form without arguments, `~` a deprecated form.\n"
        '"""\n'
    )
    TARGET.write_text(f'{head}\nFORMS = """\n{text}\n"""\n')
    print(len(names), "signatures", file=sys.stderr)


if __name__ == "__main__":
    main()
