"""NumPy's names of arguments, `axis` and `keepdims`, where PyTorch takes them: every record's samples called with them in both libraries."""

from __future__ import annotations

import numpy as np
import pytest
import records
from recording import seed_of
from running import build, quiet, resolve

import penlight
from penlight.ops.machinery.argument_errors import Form, forms

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.parity

NUMPYS = {"dim": "axis", "keepdim": "keepdims"}


def known(name: str) -> list[Form]:
    """The forms of a function, which the table calls `linalg_norm` for `linalg.norm`."""
    return forms(name.replace("linalg.", "linalg_").replace("fft.", "fft_").replace("special.", "special_"))[0]


def renamed(name: str, args: list, kwargs: dict) -> tuple[list, dict] | None:
    """The same arguments, from the first on that NumPy calls otherwise by name; None if there is none."""
    skipped = name.startswith("Tensor.")
    for form in known(name):
        names = [p.name for p in form.positional]
        if len(args) - skipped > len(names):
            continue
        first = next((i for i, n in enumerate(names[: len(args) - skipped]) if n in NUMPYS), None)
        if first is None and not NUMPYS.keys() & kwargs.keys():
            continue
        first = len(args) if first is None else first + skipped
        named = {**dict(zip(names[first - skipped :], args[first:])), **kwargs}
        return args[:first], {NUMPYS.get(key, key): value for key, value in named.items()}
    return None


def outcome(lib, name, args, kwargs):
    try:
        with quiet():
            lib.manual_seed(0)
            return resolve(lib, name)(*args, **kwargs), None
    except Exception as error:
        return None, error


def leaves(result):
    if isinstance(result, (tuple, list)):
        return [leaf for part in result for leaf in leaves(part)]
    return [result.tolist() if hasattr(result, "tolist") else result]


@pytest.mark.parametrize("name", [name for name in records.RECORDS if known(name)])
def test_numpys_names(name):
    """What PyTorch takes is taken, and means the same."""
    for place, sample in enumerate(records.RECORDS[name].samples[:12]):
        calls = [renamed(name, *build(lib, sample, np.random.default_rng(seed_of(name, place)), grad=False)[:2]) for lib in (torch, penlight)]  # fmt: skip
        if None in calls:
            continue
        theirs, refused = outcome(torch, name, *calls[0])
        mine, error = outcome(penlight, name, *calls[1])
        if refused is None:
            assert error is None, calls[1]
            for a, b in zip(leaves(mine), leaves(theirs), strict=True):
                np.testing.assert_allclose(a, b, 1e-3, 1e-4)
