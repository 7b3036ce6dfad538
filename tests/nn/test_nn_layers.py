"""Every class of nn against what PyTorch printed and computed when pinned.json was made."""

from __future__ import annotations

import copy
import json
import pickle
import warnings
from pathlib import Path

import pytest
from nn_cases import CASES
from nn_parity import compare
from nn_summary import summary

import penlight

PINNED = json.loads(Path(__file__).with_name("pinned.json").read_text())


@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.parametrize("name", CASES)
def test_pinned(name):
    compare(summary(CASES[name], penlight), PINNED[name], 2e-4, 2e-4)


@pytest.mark.parametrize("name", CASES)
def test_copies(name):
    module = CASES[name].make(penlight.nn)
    copies = (
        [copy.deepcopy(module)]
        if name.startswith("Lazy")
        else [copy.deepcopy(module), pickle.loads(pickle.dumps(module))]
    )
    for other in copies:
        assert repr(other) == repr(module)
        assert type(other) is type(module)
        if name.startswith("Lazy"):
            continue
        for (key, a), (same_key, b) in zip(module.state_dict().items(), other.state_dict().items(), strict=True):
            assert key == same_key and a.equal(b) and a.data_ptr() != b.data_ptr()
