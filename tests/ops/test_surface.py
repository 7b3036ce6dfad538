"""What programs use has a record: functions on tensors and methods."""

from __future__ import annotations

import pytest
import records
import surface
from recording import seed_of
from running import build, resolve
from test_records import doubles, gradients, usable

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


# ----- What a record reaches ----------------------------------------------------------------------------------------


def record_of(name: str):
    """The record that covers a name of the surface."""
    stem = name.removesuffix("_")
    return next(records.RECORDS[k] for k in (name, "Tensor." + name, stem, "Tensor." + stem) if k in records.RECORDS)


USED = {r.name: r for r in map(record_of, (n for n in (*surface.FUNCTIONS, *surface.METHODS) if covered(n)))}

# Checks that a record leaves out, and why; anything else has values, gradients, second gradients and forward mode compared.
NO_SECOND = {
    "infinite or undefined at some samples": "cdist dist linalg.norm",
    "of vectors up to signs; tests/ops/test_linalg_parity.py": "linalg.eigh svd",
    "not in PyTorch, or wrong there": "nn.functional.embedding nn.functional.embedding_bag scatter",
}
NO_DUAL = {
    "random": "randn rand randint randn_like randperm multinomial normal rand_like bernoulli randint_like Tensor.uniform_ Tensor.normal_ Tensor.random_ "
    "Tensor.bernoulli_",
    "of data, or of another dtype": "as_tensor Tensor.to Tensor.float Tensor.long Tensor.double Tensor.int Tensor.bool Tensor.byte Tensor.half "
    "Tensor.bfloat16 Tensor.short Tensor.cdouble Tensor.cfloat",
    "with options that write": "nn.functional.embedding",
}


def listed(reasons: dict[str, str]) -> set[str]:
    return {name for names in reasons.values() for name in names.split()}


def test_checks_are_left_out_for_a_reason():
    assert {n for n, r in USED.items() if not r.second} == listed(NO_SECOND)
    assert {n for n, r in USED.items() if not r.dual} == listed(NO_DUAL)


def test_every_differentiable_record_has_samples_for_finite_differences():
    missing = []
    for name, record in USED.items():
        places = usable(record)
        if any(gradients(record, place, False) is not None for place in places):
            if not any(doubles(record, place) for place in places):
                missing.append(name)
    assert missing == ["lu_unpack"]  # of pivots that are given: its first result has no derivative


# Functions that take an object of any kind or give back what they are given, and those that are gone and refuse everything.
ANY_KIND = {"is_tensor", "as_tensor", "tensor", "Tensor.cpu", "Tensor.get_device", "Tensor.resolve_conj", "solve", "symeig", "lstsq", "eig"}  # fmt: skip


@pytest.mark.parametrize("name", [n for n in USED if n not in ANY_KIND])
def test_a_foreign_object_is_refused(name):
    """The error on bad input that every record has; test_argument_errors_parity.py has more of them."""
    record = USED[name]
    for place in usable(record):
        if record.samples[place].args:
            args, kwargs, _ = build(penlight, record.samples[place], seed_of(name, place), grad=False)
            kind = RuntimeError if name == "broadcast_shapes" else TypeError
            with pytest.raises(kind):
                resolve(penlight, name)(object(), *args[1:], **kwargs)
            return
