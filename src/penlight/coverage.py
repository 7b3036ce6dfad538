"""How much of PyTorch's public interface exists here: `python -m penlight.coverage`.

The names are those of `_common/torch_names.py`; each is looked up in the running package. A name counts as refused if it exists only to
raise an error (its docstring begins with "Refused").

python -m penlight.coverage             a table, one line for each namespace
python -m penlight.coverage --missing   and the names that are missing

"Machinery" is the names in torch.* for types of TorchScript and the compiler, for quantization, and for GPU libraries.
"""

from __future__ import annotations

import sys
import warnings
from importlib import import_module
from typing import Any

from ._common.torch_names import NAMES, VERSION

PRESENT, REFUSED, MISSING = "present", "refused", "missing"


def state(space: Any, name: str) -> str:
    """Whether a namespace has a name, refuses it, or lacks it.

    >>> import penlight
    >>> state(penlight, "exp"), state(penlight, "no_such_name")
    ('present', 'missing')
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = getattr(space, name)
    except (AttributeError, ImportError):
        return MISSING
    doc = getattr(found, "__doc__", None) or ""
    return REFUSED if doc.startswith("Refused") else PRESENT


def namespace(group: str) -> Any:
    """The object that has a group's names, or None."""
    import penlight

    if group.startswith("torch"):
        return penlight
    if group == "Tensor":
        return penlight.Tensor
    try:
        return import_module("penlight." + group)
    except ImportError:
        return None


def survey() -> dict[str, dict[str, list[str]]]:
    """The names of each namespace, by state."""
    found: dict[str, dict[str, list[str]]] = {}
    for group, names in NAMES.items():
        space = namespace(group)
        found[group] = {PRESENT: [], REFUSED: [], MISSING: []}
        for name in names.split():
            found[group][MISSING if space is None else state(space, name)].append(name)
    return found


def report(found: dict[str, dict[str, list[str]]], missing: bool = False) -> str:
    """The survey as a table."""
    lines = [f"Names of PyTorch {VERSION} in Penlight", ""]
    width = max(len(group) for group in found)
    total = {PRESENT: 0, REFUSED: 0, MISSING: 0}
    for group, states in found.items():
        counts = {s: len(names) for s, names in states.items()}
        for s, n in counts.items():
            total[s] += n
        lines.append(_line(group, counts, width))
        if missing and states[MISSING]:
            lines += ["    " + " ".join(states[MISSING]), ""]
    rest = {s: n - len(found["torch (machinery)"][s]) for s, n in total.items()}
    return "\n".join([*lines, "", _line("all but machinery", rest, width), _line("all", total, width)])


def _line(group: str, counts: dict[str, int], width: int) -> str:
    size = sum(counts.values())
    share = 100 * counts[PRESENT] / size if size else 100.0
    rest = f"{counts[REFUSED]} refused, {counts[MISSING]} missing" if counts[REFUSED] or counts[MISSING] else ""
    return f"{group:{width}}  {counts[PRESENT]:5} of {size:5}  {share:5.1f} %  {rest}".rstrip()


if __name__ == "__main__":
    print(report(survey(), "--missing" in sys.argv))
