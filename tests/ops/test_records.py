"""Every record's samples in Penlight alone: both namespaces of the backward pass, finite differences, methods, in-place forms, forward mode."""

from __future__ import annotations

import contextlib
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import records
import variants
from recording import Record, X, seed_of
from running import (
    array_of,
    build,
    call,
    close,
    coarsest,
    cotangents,
    differentiable,
    first_order,
    flatten,
    gradients_close,
    is_tensor,
    quiet,
    resolve,
    second_order,
)

import penlight
from penlight.autograd import forward_ad

STEP = 1e-5
MANY = 6  # samples of a record for finite differences and forward mode


USABLE: dict[str, list[int]] = {}


def usable(record: Record) -> list[int]:
    """The samples that Penlight computes: some dtypes it refuses, as PyTorch does."""
    if record.name in USABLE:
        return USABLE[record.name]
    found = USABLE[record.name] = []
    for place in range(len(record.samples)):
        try:
            call(penlight, record, place)
        except (RuntimeError, NotImplementedError, TypeError, IndexError):
            continue
        found.append(place)
    return found


def doubles(record: Record, place: int) -> bool:
    """Whether a sample is computed in float64 or complex128, where finite differences are worth something."""
    sample = record.samples[place]
    tensors = [*_tensors(sample.args), *_tensors(sample.kwargs.values())]
    floats = [t for t in tensors if np.dtype(t.dtype).kind in "fc" and t.grad]
    # Given data is there for kinks, ties and infinities.
    return bool(floats) and all(
        t.dtype in ("float64", "complex128") and t.layout != "expanded" and t.data is None for t in floats
    )


def _tensors(values):
    for v in values:
        if isinstance(v, X):
            yield v
        elif isinstance(v, (list, tuple)):
            yield from _tensors(v)


def gradients(record: Record, place: int, create_graph: bool):
    """The gradients of a sample, or None if it has none or its derivative is refused."""
    result, leaves = call(penlight, record, place)
    outs = differentiable(flatten(result))
    if not outs or not leaves:
        return None
    try:
        return first_order(penlight, outs, leaves, seed_of(record.name, place), create_graph), leaves
    except (RuntimeError, NotImplementedError) as refusal:
        if "is not implemented" in str(refusal):
            return None
        raise


@pytest.mark.parametrize("name", records.RECORDS)
def test_both_worlds(name):
    """The gradients on arrays are those on tensors, bit for bit or nearly: some have a kernel of their own on arrays."""
    record = records.RECORDS[name]
    for place in usable(record):
        raw, graph = gradients(record, place, False), gradients(record, place, True)
        if raw is None:
            continue
        for a, b in zip(raw[0], graph[0]):
            difference = gradients_close(a, b, record.rtol, coarsest(record.samples[place]))
            assert not difference, f"{record.samples[place]!r}: {difference}"


@pytest.mark.parametrize("name", records.RECORDS)
def test_gradients_have_the_dtype_of_their_leaf(name):
    """In float32: a NumPy function of two Python numbers in a rule would make it float64."""
    samples = tuple([variants.changed(s, variants.cast("float32")) for s in records.RECORDS[name].samples])
    record = replace(records.RECORDS[name], samples=samples)
    for place in range(len(samples)):
        with contextlib.suppress(RuntimeError, NotImplementedError, TypeError, IndexError, RuntimeWarning):
            for grad, leaf in zip(*(gradients(record, place, False) or ((), ()))):
                assert grad is None or (grad.dtype, grad.shape) == (leaf.dtype, leaf.shape), samples[place]


def value(record: Record, place: int, shift, which=None) -> float:
    """A random mixture of a sample's results, or (`which`) of its gradients, with the inputs shifted."""
    result, leaves = call(penlight, record, place, shift=shift)
    outs = differentiable(flatten(result))
    if which is not None:
        grads = first_order(penlight, outs, leaves, seed_of(record.name, place))
        outs = [g for g, w in zip(grads, which) if w]
        weights = [w for w in cotangents([g for g in grads if g is not None], seed_of(record.name, place))]
        weights = [w for w, keep in zip(weights, [k for g, k in zip(grads, which) if g is not None]) if keep]
    else:
        weights = cotangents(outs, seed_of(record.name, place))
    return sum(float(np.real(np.sum(np.conj(w) * array_of(o)))) for w, o in zip(weights, outs))


def slope(record: Record, place: int, directions, which=None) -> float:
    def moved(sign):
        return lambda number, array: (sign * STEP * directions[number]).astype(array.dtype)

    with np.errstate(all="ignore"):
        return (value(record, place, moved(1), which) - value(record, place, moved(-1), which)) / (2 * STEP)


def along(grads, directions) -> float:
    return sum(float(np.real(np.sum(np.conj(array_of(g)) * d))) for g, d in zip(grads, directions) if g is not None)


def random_directions(leaves, place: int):
    rng = np.random.default_rng(place)
    return [rng.uniform(-1, 1, array_of(t).shape) * (1 if array_of(t).dtype.kind != "c" else 1 + 0.5j) for t in leaves]


def agrees(found: float, expected: float) -> bool:
    return bool(np.isclose(found, expected, 2e-4, 2e-5)) or not np.isfinite(expected)


@pytest.mark.parity  # it needs no PyTorch; tests/autograd/test_every_op.py does the like for the ops themselves
@pytest.mark.parametrize("name", [n for n, r in records.RECORDS.items() if r.smooth])
def test_finite_differences(name):
    record = records.RECORDS[name]
    for place in [p for p in usable(record) if doubles(record, p)][:MANY]:
        made = gradients(record, place, True)
        if made is None:
            continue
        grads, leaves = made
        directions = random_directions(leaves, place)
        found, expected = along(grads, directions), slope(record, place, directions)
        assert agrees(found, expected), f"{record.samples[place]!r}: {found} instead of {expected}"
        if not record.second or place > 3:
            continue
        which = [g is not None and g.requires_grad for g in grads]
        second = second_order(penlight, grads, leaves, seed_of(name, place)) if any(which) else None
        if second is not None:
            found, expected = along(second, directions), slope(record, place, directions, which)
            assert agrees(found, expected), f"second order, {record.samples[place]!r}: {found} instead of {expected}"


@pytest.mark.parametrize("name", [n for n, r in records.RECORDS.items() if r.dual])
def test_forward_mode(name):
    """The derivative along a direction is the same forward and backward."""
    record = records.RECORDS[name]
    for place in [p for p in usable(record) if doubles(record, p)][:MANY]:
        if any(0 in np.shape(t.array(seed_of(name, place))) for t in _tensors(record.samples[place].args)):
            continue
        made = gradients(record, place, False)
        if made is None:
            continue
        directions = random_directions(made[1], place)
        expected = along(made[0], directions)
        args, kwargs, leaves = build(penlight, record.samples[place], seed_of(name, place), grad=False)
        penlight.manual_seed(place)
        with forward_ad.dual_level(), quiet():
            duals = {
                id(t): forward_ad.make_dual(t, penlight.tensor(d.tolist(), dtype=t.dtype).reshape(t.shape))
                for t, d in zip(leaves, directions)
            }
            result = resolve(penlight, name)(*swap(args, duals), **{k: swap([v], duals)[0] for k, v in kwargs.items()})
            found = 0.0
            weights = iter(
                cotangents(
                    [o for o in flatten(call(penlight, record, place)[0]) if is_tensor(o) and o.requires_grad],
                    seed_of(name, place),
                )
            )
            for out in flatten(result):
                if is_tensor(out) and (out.is_floating_point() or out.is_complex()):
                    tangent = forward_ad.unpack_dual(out).tangent
                    weight = next(weights, None)
                    if tangent is not None and weight is not None:
                        found += float(np.real(np.sum(np.conj(weight) * array_of(tangent))))
        assert np.isclose(found, expected, 1e-7, 1e-9, equal_nan=True), (
            f"{record.samples[place]!r}: {found} instead of {expected}"
        )


def swap(values, duals):
    return [type(v)(swap(list(v), duals)) if isinstance(v, (list, tuple)) else duals.get(id(v), v) for v in values]


@pytest.mark.parametrize("name", records.RECORDS)
def test_method_is_the_function(name):
    """`x.name(...)` gives what `name(x, ...)` gives."""
    record = records.RECORDS[name]
    method = getattr(penlight.Tensor, name, None)
    if method is None or record.method is False or not record.equal:
        return
    for place in usable(record):
        if not isinstance(record.samples[place].args[:1] and record.samples[place].args[0], X):
            continue
        for a, b in zip(flatten(call(penlight, record, place, method)[0]), flatten(call(penlight, record, place)[0])):
            assert not is_tensor(b) or close(a, b) is None


@pytest.mark.parametrize(
    "name", [n for n, r in records.RECORDS.items() if r.inplace is not False and hasattr(penlight.Tensor, n + "_")]
)
def test_in_place_is_out_of_place(name):
    """`x.name_(...)` leaves what `name(x, ...)` gives in x, and the same gradients, where shape and dtype allow."""
    record = records.RECORDS[name]

    def in_place(first, *args, **kwargs):
        own = first.clone()
        result = getattr(own, name + "_")(*args, **kwargs)
        assert result is own
        return own

    for place in usable(record):
        sample = record.samples[place]
        if not isinstance(sample.args[0], X) or "dtype" in sample.kwargs:
            continue
        expected, leaves = call(penlight, record, place)
        first = sample.args[0].array(seed_of(name, place))
        if not is_tensor(expected) or tuple(expected.shape) != first.shape or array_of(expected).dtype != first.dtype:
            continue
        found, own = call(penlight, record, place, in_place)
        assert close(found, expected) is None, f"{sample!r}: {close(found, expected)}"
        if not expected.requires_grad:
            continue
        try:
            wanted = first_order(penlight, [expected], leaves, seed_of(name, place))
        except (RuntimeError, NotImplementedError):
            continue
        for a, b in zip(first_order(penlight, [found], own, seed_of(name, place)), wanted):
            assert gradients_close(a, b) is None, f"{sample!r}: {gradients_close(a, b)}"


def reached() -> set[str]:
    """The ops that are in the graph of some record's results or gradients."""
    found: set[str] = set()

    def walk(tensors) -> None:
        stack = [t.grad_fn for t in tensors if t is not None and t.grad_fn is not None]
        seen = set(stack)
        while stack:
            node = stack.pop()
            for inner in (node, getattr(node, "fn", None)):
                if hasattr(inner, "op"):
                    found.add(inner.op.name)
            for following, _ in node.next_functions:
                if following is not None and following not in seen:
                    seen.add(following)
                    stack.append(following)

    for name, record in records.RECORDS.items():
        for place in usable(record):
            result, leaves = call(penlight, record, place)
            outs = differentiable(flatten(result))
            walk(outs)
            if outs and leaves:
                try:
                    walk(first_order(penlight, outs, leaves, seed_of(name, place), True, []))
                except (RuntimeError, NotImplementedError):
                    continue
    return found


# Ops that no record reaches, and where else they are tested; those that fill a tensor (`_uniform_into`) in test_sampling.py.
ELSEWHERE = {
    "_zero": "tests/ops/test_memory.py", "_in_format_copy": "tests/ops/test_memory.py", "_view_dtype": "cut off the graph", "_window_to_tensor": "views", "_tensor_to_window": "views",
    "_negated": "tests/ops/test_conjugates.py", "_nested_get_values": "tests/nested", "_nested_view_from_jagged": "tests/nested", "_sparse_from_values": "tests/sparse", "_fill": "in place: tests/ops/test_odd_calls.py", "_fill_tensor": "in place: tests/ops/test_odd_calls.py", "_poisson": "tests/ops/test_sampling.py", "_binomial": "tests/ops/test_sampling.py",
}  # fmt: skip


def test_every_differentiable_op_is_reached():
    found = reached()
    at_import = re.findall(r"^from \.([\w.]+) import", Path(penlight.ops.__file__).read_text(), re.M)
    tables = {f"penlight.ops.{table}" for table in [*at_import, "special.only_special"]}
    missing = [
        op.name
        for op in penlight.ops.OPS.values()
        if op.rules and op.face.__module__ in tables and op.name not in found and not op.name.endswith("_into")
    ]
    assert not [name for name in missing if name not in ELSEWHERE]


def test_every_function_has_a_record():
    """A public function of the op tables has a record, or stands here with the reason why not."""
    known = set(records.RECORDS) | set(records.WITHOUT)
    missing = [n for n in penlight.ops.__all__ if n not in known and n not in ("OPS",) and not n.endswith("_")]
    assert not missing


def test_long_logcumsumexp_needs_no_table(monkeypatch):
    """Its derivative of any order is that of short ones."""
    from penlight.ops.reduce import scans

    penlight.manual_seed(0)
    x = penlight.randn(2, 7, dtype=penlight.float64, requires_grad=True)
    weight = penlight.randn(2, 7, dtype=penlight.float64)
    found = []
    for table in (1024, 1):
        monkeypatch.setattr(scans, "TABLE", table)
        (first,) = penlight.autograd.grad((x.logcumsumexp(1) * weight).sum(), x, create_graph=True)
        found.append([first, penlight.autograd.grad((first**2).sum(), x)[0]])
    for a, b in zip(*found):
        assert penlight.allclose(a, b, 1e-10, 1e-12)
