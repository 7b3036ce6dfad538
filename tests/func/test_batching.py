"""Batching rules against a loop over the samples, for the ops that the records of tests/ops dispatch."""

from __future__ import annotations

import importlib
import pkgutil
import warnings
from collections import Counter

import pytest

import penlight
from penlight._common import user_warnings
from penlight.func import batching
from penlight.kernels.random.engine import Engine
from penlight.ops import OPS

from . import capturing

ALL = capturing.RECORDS

# Ops whose shapes depend on values are refused, as in PyTorch.
REFUSED = {"_nonzero", "_unique", "_unique_dim", "_unique_consecutive"}


def calls_of(names, places, calls):
    """Noted calls of ops, three alike each, not more than `calls` of an op."""
    count, seen = Counter(), set()
    for name in names:
        record = ALL[name]
        for place in range(min(len(record.samples), places)):
            try:
                runs = [capturing.noting(capturing.whole_life(record, place, seed)) for seed in range(3)]
            except (RuntimeError, NotImplementedError, ValueError, IndexError, TypeError):
                continue  # a sample that needs its own seed
            for alike in zip(*runs):
                op = alike[0].op
                key = (op.name, alike[0].inplace, capturing.described(alike[0].arguments))
                if count[op.name] < calls and key not in seen and capturing.same_call(alike):
                    seen.add(key)
                    count[op.name] += 1
                    yield alike


def check(alike):
    for chosen in capturing.subsets(capturing.places_of_tensors(alike[0].arguments)):
        if alike[0].inplace and (0,) not in chosen:
            continue
        if alike[0].op.name == "_masked_select" and (1,) in chosen:
            continue  # refused: the shape depends on the mask
        what = f"{alike[0].op.name}{capturing.described(alike[0].arguments)} batched at {chosen}"
        try:
            wrong = capturing.different(*capturing.batched_and_looped(alike, chosen))
        except Exception as error:
            if "will be updated in place, were not batched" in str(error):
                continue  # refused, as by PyTorch: running statistics for a batch of inputs
            raise AssertionError(f"{what}: {error!r}") from error
        assert wrong is None, f"{what}: {wrong}"


def groups(size=24):
    names = sorted(ALL)
    return [names[i : i + size] for i in range(0, len(names), size)]


@pytest.mark.filterwarnings("ignore:There is a performance drop")
@pytest.mark.parametrize("names", groups(), ids=lambda names: f"{names[0]} to {names[-1]}")
def test_rule_is_loop(names):
    for alike in calls_of(names, 2, 2):
        op = alike[0].op
        if op.name not in REFUSED and not batching.loops(op):
            check(alike)


def draws(call):
    """Whether an op draws random numbers, which are others each time."""
    return any(isinstance(argument, Engine) for argument in call.arguments)


@pytest.mark.parity
@pytest.mark.parametrize("names", groups(), ids=lambda names: f"{names[0]} to {names[-1]}")
def test_rule_is_loop_in_more_cases(names):
    for alike in calls_of(names, 20, 12):
        if alike[0].op.name not in REFUSED and not draws(alike[0]):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                check(alike)


def test_segments_of_samples():
    x, lengths = penlight.randn(3, 5, 2), penlight.tensor([2, 3])
    for reduce in ("sum", "mean", "max", "min", "prod"):
        rows = [penlight.segment_reduce(sample, reduce, lengths=lengths) for sample in x]
        assert penlight.equal(
            penlight.vmap(lambda sample, how=reduce: penlight.segment_reduce(sample, how, lengths=lengths))(x),
            penlight.stack(rows),
        )


def test_nothing_loops():
    """Random ops aside: they are drawn for each sample, or once for all, before they come to a rule (func/randomness.py)."""
    for module in pkgutil.walk_packages(penlight.ops.__path__, "penlight.ops."):
        importlib.import_module(module.name)
    assert {name for name in OPS if batching.loops(OPS[name])} == {
        name for name, op in OPS.items() if "engine" in op.parameters or name.startswith("_normal_")
    }


def test_loop_warns_once_and_is_right(monkeypatch):
    monkeypatch.setattr(OPS["histc"], "batch", batching.loop)
    user_warnings._warned.clear()
    x = penlight.tensor([[0.1, 0.9, 0.8], [0.2, 0.3, 0.4]])
    with pytest.warns(
        UserWarning, match="performance drop because we have not yet implemented the batching rule for aten::histc"
    ):
        found = penlight.vmap(lambda a: penlight.histc(a, 2, 0, 1))(x)
    assert found.tolist() == [[1, 2], [3, 0]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        penlight.vmap(lambda a: penlight.histc(a, 2, 0, 1))(x)
