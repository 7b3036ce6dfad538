"""Every record's samples in Penlight and in PyTorch: values, dtypes, shapes, strides, gradients, second gradients, names of nodes."""

from __future__ import annotations

import pytest
import records
from recording import Record, X, seed_of
from running import (
    build,
    call,
    close,
    coarsest,
    differentiable,
    first_order,
    flatten,
    gradients_close,
    is_tensor,
    quiet,
    resolve,
    second_order,
)  # fmt: skip

import penlight

pytestmark = pytest.mark.parity
torch = pytest.importorskip("torch")


def attempt(lib, record: Record, place: int):
    try:
        return call(lib, record, place), None
    except Exception as error:
        return None, error


def compare(record: Record, place: int) -> list[str]:
    """What differs in one sample."""
    theirs, refusal = attempt(torch, record, place)
    mine, error = attempt(penlight, record, place)
    if refusal is not None:
        return []  # a dtype that PyTorch has no kernel for; refusals that matter are in `errors`
    if error is not None:
        return [f"raises {type(error).__name__}: {error}"]
    found, outs = [], [flatten(mine[0]), flatten(theirs[0])]
    if len(outs[0]) != len(outs[1]):
        return [f"{len(outs[0])} results instead of {len(outs[1])}"]
    if type(mine[0]).__name__ != type(theirs[0]).__name__:
        found.append(f"a {type(mine[0]).__name__} instead of a {type(theirs[0]).__name__}")
    for a, b in zip(*outs):
        found += compare_result(record, record.samples[place], a, b)
    return found or compare_gradients(record, place, mine, theirs)


def compare_result(record: Record, sample, a, b) -> list[str]:
    if not is_tensor(b):
        same = repr(a) == repr(b) or a == b
        return [] if same or not record.equal else [f"{a!r} instead of {b!r}"]
    if str(a.dtype) != str(b.dtype) or tuple(a.shape) != tuple(b.shape):
        return [f"{a.dtype}{list(a.shape)} instead of {b.dtype}{list(b.shape)}"]
    found = []
    if record.equal and (difference := close(a, b, record.rtol, coarsest(sample))):
        found.append(difference)
    plain = all(v.layout == "plain" for v in sample.args if isinstance(v, X))
    if record.strides and plain and b.numel() > 1 and a.stride() != b.stride():
        found.append(f"strides {a.stride()} instead of {b.stride()}")
    if a.requires_grad != b.requires_grad:
        found.append(f"requires_grad {a.requires_grad}")
    elif record.node and (a.grad_fn is None) != (b.grad_fn is None):
        found.append(f"grad_fn {a.grad_fn} instead of {b.grad_fn}")
    elif record.node and a.grad_fn is not None and a.grad_fn.name() != b.grad_fn.name():
        found.append(f"{a.grad_fn.name()} instead of {b.grad_fn.name()}")
    return found


def compare_gradients(record: Record, place: int, mine, theirs) -> list[str]:
    outs = [differentiable(flatten(result[0])) for result in (mine, theirs)]
    if not outs[1] or not theirs[1]:
        return []
    try:
        weights: tuple[list, list] = ([], [])
        expected = first_order(torch, outs[1], theirs[1], seed_of(record.name, place), True, weights[1])
    except (RuntimeError, NotImplementedError) as refusal:
        if "is not implemented" not in str(refusal):
            return []  # a mixture of dtypes that PyTorch's formula trips over
        try:
            first_order(penlight, outs[0], mine[1], seed_of(record.name, place))
        except type(refusal) as error:
            return [] if str(error) == str(refusal) else [f"gradient: {error} instead of {refusal}"]
        return [f"gradient: no {type(refusal).__name__}: {refusal}"]
    try:
        grads = first_order(penlight, outs[0], mine[1], seed_of(record.name, place), True, weights[0])
    except Exception as error:
        return [f"gradient: {type(error).__name__}: {error}"]
    found = [
        f"gradient: {d}"
        for a, b in zip(grads, expected)
        if (d := gradients_close(a, b, record.rtol, coarsest(record.samples[place])))
    ]
    return found or compare_second(record, place, (grads, mine[1] + weights[0]), (expected, theirs[1] + weights[1]))


def compare_second(record: Record, place: int, mine, theirs) -> list[str]:
    if not record.second:
        return []
    try:
        expected = second_order(torch, *theirs, seed_of(record.name, place))
    except (RuntimeError, NotImplementedError):
        return []  # PyTorch has no second derivative of it
    try:
        grads = second_order(penlight, *mine, seed_of(record.name, place))
    except Exception as error:
        return [f"second gradient: {type(error).__name__}: {error}"]
    if expected is None or grads is None:
        given = expected or grads or []
        return [f"second gradient: {d}" for g in given if (d := gradients_close(None, g, 1))]
    return [
        f"second gradient: {d}"
        for a, b in zip(grads, expected)
        if (d := gradients_close(a, b, record.rtol, coarsest(record.samples[place])))
    ]


@pytest.mark.parametrize("name", records.RECORDS)
def test_same_as_pytorch(name):
    record = records.RECORDS[name]
    different = [f"{record.samples[p]!r}: {d}" for p in range(len(record.samples)) for d in compare(record, p)]
    assert not different, "\n" + "\n".join(different)


def outcome(lib, name: str, sample) -> str:
    args, kwargs, _ = build(lib, sample, seed_of(name, 0))
    try:
        with quiet():
            return f"no error, but {resolve(lib, name)(*args, **kwargs)!r}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"


WRONG = [name for name, record in records.RECORDS.items() if record.errors]


@pytest.mark.parametrize("name", WRONG)
def test_same_errors_as_pytorch(name):
    for sample in records.RECORDS[name].errors:
        assert outcome(penlight, name, sample) == outcome(torch, name, sample), repr(sample)


def written(lib, record: Record, place: int):
    """A sample computed into an empty `out`, or None where the function has none."""
    args, kwargs, _ = build(lib, record.samples[place], seed_of(record.name, place), grad=False)
    if "out" in kwargs:
        return None
    with quiet(), lib.no_grad():
        lib.manual_seed(place)
        expected = resolve(lib, record.name)(*args, **kwargs)
        if not is_tensor(expected):
            return None
        out = lib.empty(0, dtype=expected.dtype)
        lib.manual_seed(place)
        try:
            return resolve(lib, record.name)(*args, **kwargs, out=out), out, expected
        except TypeError:
            return None


@pytest.mark.parametrize("name", records.RECORDS)
def test_out(name):
    """Where PyTorch's function takes `out=`, so does Penlight's, and fills it."""
    record = records.RECORDS[name]
    for place in range(min(len(record.samples), 2)):
        try:
            theirs = written(torch, record, place)
        except (RuntimeError, NotImplementedError):
            continue
        if theirs is None:
            continue
        mine = written(penlight, record, place)
        assert mine is not None, f"{record.samples[place]!r}: no out="
        assert mine[0] is mine[1], "out= is not what is returned"
        if record.equal:
            assert close(mine[1], mine[2]) is None, f"{record.samples[place]!r}: {close(mine[1], mine[2])}"


IN_PLACE = [
    n for n, r in records.RECORDS.items() if r.inplace is not False and hasattr(torch.Tensor, n + "_") and "." not in n
]


# Where PyTorch's own derivative of an in-place form fails.
ITS_OWN = ("is not implemented", "INTERNAL ASSERT FAILED", "returned an invalid gradient")


def in_place(lib, record: Record, place: int):
    """What `name_` leaves in a clone of the first argument, with its gradients; or the error."""

    def run(first, *args, **kwargs):
        own = first.clone()
        result = getattr(own, record.name + "_")(*args, **kwargs)
        assert result is own
        return own

    try:
        result, leaves = call(lib, record, place, run)
        outs = differentiable([result])
        grads = first_order(lib, outs, leaves, seed_of(record.name, place)) if outs and leaves else []
        return result, grads, None
    except Exception as error:
        return None, None, error


@pytest.mark.parametrize("name", IN_PLACE)
def test_in_place_is_pytorchs(name):
    record = records.RECORDS[name]
    wrong = []
    for place, sample in enumerate(record.samples[:12]):
        if not isinstance(sample.args[0], X) or "dtype" in sample.kwargs:
            continue
        theirs, expected, refusal = in_place(torch, record, place)
        mine, grads, error = in_place(penlight, record, place)
        if refusal is not None:
            if error is None and not any(said in str(refusal) for said in ITS_OWN):
                wrong.append(f"{sample!r}: no error; {refusal}")
        elif error is not None:
            if tuple(theirs.shape) == sample.args[0].array(seed_of(name, place)).shape:  # or PyTorch has resized it
                wrong.append(f"{sample!r}: {error!r}")
        else:
            said = close(mine, theirs, record.rtol, coarsest(sample)) if record.equal else None
            pairs = zip(grads, expected) if record.equal else []
            said = said or next(
                (d for a, b in pairs if (d := gradients_close(a, b, record.rtol, coarsest(sample)))), None
            )
            wrong += [f"{sample!r}: {said}"] if said else []
    assert not wrong, "\n" + "\n".join(wrong)
