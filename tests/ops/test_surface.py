"""What programs use has a record: functions on tensors and methods."""

from __future__ import annotations

import records
import surface

import penlight


def covered(name: str) -> bool:
    """Whether a function or method has a record; an in-place method has that of the function."""
    return (
        name in records.RECORDS
        or "Tensor." + name in records.RECORDS
        or (name.endswith("_") and (name[:-1] in records.RECORDS or "Tensor." + name[:-1] in records.RECORDS))
    )


def test_every_name_has_a_record():
    missing = [n for n in (*surface.FUNCTIONS, *surface.METHODS) if not covered(n) and n not in surface.WITHOUT]
    assert not missing


def test_the_list_of_those_without_is_short_and_needed():
    assert len(surface.WITHOUT) < 60
    assert not [n for n in surface.WITHOUT if n in records.RECORDS]
    assert not [n for n in surface.WITHOUT if n not in surface.FUNCTIONS and n not in surface.METHODS]


def test_every_function_of_the_namespaces_has_a_record():
    """Public functions of torch.special, torch.linalg and torch.fft."""
    for space in ("special", "linalg", "fft"):
        module = getattr(penlight, space)
        names = [n for n in module.__all__ if callable(getattr(module, n)) and not isinstance(getattr(module, n), type)]
        missing = [n for n in names if f"{space}.{n}" not in records.RECORDS and f"{space}.{n}" not in records.WITHOUT]
        assert not missing, missing
