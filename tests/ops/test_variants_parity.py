"""Every record's variants in Penlight and in PyTorch: the same results in the same dtype, the same gradients, the same refusals."""

from __future__ import annotations

import numpy as np
import pytest
import records
from known import KNOWN
from recording import Sample, seed_of
from running import build, close, differentiable, first_order, flatten, gradients_close, is_tensor, quiet, resolve
from variants import mixed, variants

import penlight

pytestmark = pytest.mark.parity
torch = pytest.importorskip("torch")


def attempt(lib, name: str, sample: Sample):
    """The results, leaves and gradients of a sample, or the error."""
    try:
        args, kwargs, leaves = build(lib, sample, seed_of(name, 0))
        lib.manual_seed(0)
        with quiet(), np.errstate(all="ignore"):
            outs = flatten(resolve(lib, name)(*args, **kwargs))
            return outs, leaves, None
    except Exception as error:
        return None, None, error


def slopes(lib, name: str, outs, leaves):
    ends = [o for o in differentiable(outs) if o.numel()]
    if not ends or not leaves:
        return None, None
    try:
        with np.errstate(all="ignore"):
            return first_order(lib, ends, leaves, seed_of(name, 1)), None
    except Exception as error:
        return None, error


# What PyTorch refuses for reasons of its own; Penlight may compute it.
ITS_LIMITS = (
    "does not support automatic differentiation for outputs with complex dtype", "MKL FFT error", "setStorage: ", "Trying to resize storage that is not resizable",
    "Could not run 'aten::", "kernel size should be greater than zero", "select(): index 0 out of range for tensor of size [0]",
    "Only zero batch or zero channel inputs are supported", "unspecified dimension size -1 can be any value",
)  # fmt: skip


def known(name: str, label: str) -> bool:
    ends = KNOWN.get(name, KNOWN.get("nn.functional." + name, (None,)))[0]
    return ends is not None and (not ends or any(e in label for e in ends.split()))


COARSE = {"float16": "f2", "bfloat16": "b2", "float32": "f4", "complex64": "c8"}


def compare(name: str, label: str, sample: Sample) -> str | None:
    """What differs, or None."""
    record = records.RECORDS[name]
    theirs, their_leaves, refusal = attempt(torch, name, sample)
    mine, leaves, error = attempt(penlight, name, sample)
    if refusal is not None and any(limit in str(refusal) for limit in ITS_LIMITS):
        return None
    if refusal is not None:
        if error is None:
            return f"no error; {type(refusal).__name__}: {str(refusal)[:150]}"
        if type(error).__name__ != type(refusal).__name__:
            return f"{type(error).__name__}: {error} instead of {type(refusal).__name__}: {str(refusal)[:200]}"
        return None
    if error is not None:
        return f"raises {type(error).__name__}: {error}"
    coarse = COARSE.get(label.split()[1], "f8")
    for a, b in zip(mine, theirs):
        if not is_tensor(b):
            if isinstance(b, np.ndarray):
                a, b = a.tolist(), b.tolist()
            if (
                record.equal
                and a != b
                and repr(a) != repr(b)
                and not (isinstance(b, (float, complex)) and np.isclose(a, b, 1e-2))
            ):
                return f"{a!r} instead of {b!r}"
        elif str(a.dtype) != str(b.dtype) or tuple(a.shape) != tuple(b.shape):
            return f"{a.dtype}{list(a.shape)} instead of {b.dtype}{list(b.shape)}"
        elif record.equal and (why := close(a, b, record.rtol * 2, coarse)):
            return why
    if not record.equal:
        return None
    expected, refusal = slopes(torch, name, theirs, their_leaves)
    grads, error = slopes(penlight, name, mine, leaves)
    if refusal is not None or expected is None:
        return None  # without a derivative, or with one that trips over its own dtypes
    if error is not None:
        return f"gradient raises {type(error).__name__}: {error}"
    for a, b in zip(grads or [None] * len(expected), expected):
        if why := gradients_close(a, b, record.rtol * 4, coarse):
            return f"gradient: {why}"
    return None


@pytest.mark.parametrize("name", records.RECORDS)
def test_variants(name):
    found = [
        f"{label} {sample!r}: {why}"
        for label, sample in variants(records.RECORDS[name])
        if not known(name, label) and (why := compare(name, label, sample))
    ]
    assert not found, "\n" + "\n".join(found)


UNLIKE = {
    "ldexp": "PyTorch's gradient of negative powers is 0",
    "kthvalue": "which of equal elements is found is not specified",
}


@pytest.mark.parametrize("name", [n for n in records.RECORDS if n.removeprefix("Tensor.").rstrip("_") not in UNLIKE])
def test_one_operand_of_int8(name):
    """What both compute has the same value, dtype and gradient; one of them may refuse it."""
    found = [
        f"{label} {sample!r}: {why}"
        for label, sample in mixed(records.RECORDS[name], "int8")
        if (why := compare(name, label, sample)) and "Error" not in why
    ]
    assert not found, "\n" + "\n".join(found)
