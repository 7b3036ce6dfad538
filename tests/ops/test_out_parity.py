"""`out=` of every function with a record, in Penlight and in PyTorch: which dtypes are taken, what is said of the others, what is in it."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
import records
from known import KNOWN_OUT
from recording import seed_of
from running import build, close, flatten, is_tensor, quiet, resolve

import penlight

pytestmark = pytest.mark.parity
torch = pytest.importorskip("torch")

KINDS = ("same", "empty", "float32", "int32", "int64", "bool", "complex64")


def results(name: str, place: int):
    """What a sample gives in PyTorch without `out=`, as a list, and whether it is a single tensor; None if it has no result."""
    args, kwargs, _ = build(torch, records.RECORDS[name].samples[place], seed_of(name, place), grad=False)
    torch.manual_seed(place)
    try:
        with quiet():
            made = resolve(torch, name)(*args, **kwargs)
    except Exception:
        return None
    outs = flatten(made)
    return (outs, is_tensor(made)) if outs and all(is_tensor(o) for o in outs) else None


def attempt(lib, name: str, place: int, kind: str, found):
    """The outputs after a call with `out=` of some kind, or the error."""
    args, kwargs, _ = build(lib, records.RECORDS[name].samples[place], seed_of(name, place), grad=False)
    outs = []
    for o in found[0]:
        dtype = getattr(lib, str(o.dtype).removeprefix("torch.") if kind in ("same", "empty") else kind)
        outs.append(lib.ones((0,) if kind == "empty" else tuple(o.shape), dtype=dtype))
    lib.manual_seed(place)
    try:
        with quiet(), np.errstate(all="ignore"):
            resolve(lib, name)(*args, **kwargs, out=outs[0] if found[1] else tuple(outs))
    except Exception as error:
        return None, error
    return outs, None


def compare(name: str, kind: str, found) -> str | None:
    theirs, refusal = attempt(torch, name, 0, kind, found)
    mine, error = attempt(penlight, name, 0, kind, found)
    if refusal is not None:
        if error is None:
            return f"no error instead of {type(refusal).__name__}: {refusal}"
        said, words = (str(e).splitlines()[0][:60] for e in (error, refusal))
        same = type(error).__name__ == type(refusal).__name__ and said == words
        return None if same else f"{type(error).__name__}: {said} instead of {type(refusal).__name__}: {words}"
    if error is not None:
        return f"raises {type(error).__name__}: {error}"
    if records.RECORDS[name].equal and "empty" not in name:
        for a, b in zip(mine, theirs):
            differs = close(
                a,
                b,
                records.RECORDS[name].rtol * (1e5 if kind == "float32" else 1.0),
                "f4" if kind in ("float32", "complex64") else "f8",
            )
            if differs:
                return differs
    return None


def takes_out(name: str) -> bool:
    found = results(name, 0) if records.RECORDS[name].samples else None
    return found is not None and attempt(torch, name, 0, "same", found)[1] is None


@pytest.mark.parametrize("name", [n for n in records.RECORDS if not n.startswith("Tensor.")])
def test_out(name):
    if not takes_out(name):
        return
    assert "out" in inspect.signature(resolve(penlight, name)).parameters
    found = results(name, 0)
    differences = {kind: compare(name, kind, found) for kind in KINDS}
    wrong = {k: why for k, why in differences.items() if why and k not in KNOWN_OUT.get(name, ("",))[0].split()}
    assert not wrong, wrong
