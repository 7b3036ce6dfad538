"""Every record's first sample with each argument replaced by something of a wrong kind, in both libraries."""

from __future__ import annotations

import numpy as np
import pytest
import records
from recording import seed_of
from running import build, quiet, resolve

import penlight

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.parity

WRONG = ("a", None, 1.5, [1.0], {}, True)


def outcome(lib, name, args, kwargs):
    try:
        with quiet():
            lib.manual_seed(0)
            return resolve(lib, name)(*args, **kwargs), None
    except Exception as error:
        return None, error


def first_good(record):
    for place, sample in enumerate(record.samples):
        args, kwargs, _ = build(torch, sample, np.random.default_rng(seed_of(record.name, place)), grad=False)
        if outcome(torch, record.name, args, kwargs)[1] is None:
            return place, sample
    return None


def spoiled(lib, name, place, sample, key, wrong):
    args, kwargs, _ = build(lib, sample, np.random.default_rng(seed_of(name, place)), grad=False)
    if isinstance(key, int):
        args[key] = wrong
    else:
        kwargs[key] = wrong
    return args, kwargs


@pytest.mark.parametrize("name", records.RECORDS)
def test_wrong_kinds(name):
    """Nobody sees an AttributeError, and nothing has changed."""
    found = first_good(records.RECORDS[name])
    if (
        found is None or name == "Tensor.__getitem__"
    ):  # an operator: nobody calls it with something else before the bracket
        return
    place, sample = found
    for key in (*range(len(sample.args)), *sample.kwargs):
        for wrong in WRONG:
            _, theirs = outcome(torch, name, *spoiled(torch, name, place, sample, key, wrong))
            args, kwargs = spoiled(penlight, name, place, sample, key, wrong)
            tensors = [t for t in (*args, *kwargs.values()) if isinstance(t, penlight.Tensor)]
            before = [(t._array.tobytes(), t._version, tuple(t.shape)) for t in tensors]
            _, mine = outcome(penlight, name, args, kwargs)
            where = f"argument {key} = {wrong!r}: {mine!r}, in PyTorch {theirs!r}"
            if mine is None:
                continue
            assert not isinstance(mine, AttributeError), where
            assert before == [(t._array.tobytes(), t._version, tuple(t.shape)) for t in tensors], where
