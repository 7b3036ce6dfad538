"""Batching rules against a loop over the samples, for the ops that the records of tests/ops dispatch."""

from __future__ import annotations

import warnings
from collections import Counter

import pytest

import penlight
from penlight.func import batching
from penlight.kernels.rng_engine import Engine
from penlight.ops import OPS

from . import capturing

ALL = capturing.RECORDS

# Ops whose shapes depend on values are refused, as in PyTorch.
REFUSED = {"_nonzero", "_unique", "_unique_dim", "_unique_consecutive"}

# Some of the ops that must never run in a loop.
BATCHED = {
    "_mm", "_bmm", "_mv", "_addmm", "_convolution", "_conv_weight", "_index", "_index_put", "_gather", "_scatter_add", "_cat_list", "_softmax", "_log_softmax",
    "_native_layer_norm", "_native_batch_norm", "_native_group_norm", "_max_pool2d", "_avg_pool2d", "_embedding", "_embedding_backward", "_nll_loss", "_mse_loss",
    "_attention", "_linalg_cholesky_ex", "_linalg_solve_ex", "_linalg_svd", "_fft_c2c", "_sort", "_topk", "_vector_norm", "_cumsum", "_view", "_expand", "_select_backward",
}  # fmt: skip


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
        what = f"{alike[0].op.name}{capturing.described(alike[0].arguments)} batched at {chosen}"
        try:
            wrong = capturing.different(*capturing.batched_and_looped(alike, chosen))
        except Exception as error:
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


def test_what_must_not_loop():
    for name in ("nn.functional", "linalg", "fft"):
        __import__(f"penlight.{name}")
    assert not [name for name in BATCHED if batching.loops(OPS[name])]


def test_loop_warns_once_and_is_right():
    batching._warned.discard("histc")
    x = penlight.tensor([[0.1, 0.9, 0.8], [0.2, 0.3, 0.4]])
    with pytest.warns(
        UserWarning, match="performance drop because we have not yet implemented the batching rule for aten::histc"
    ):
        found = penlight.vmap(lambda a: penlight.histc(a, 2, 0, 1))(x)
    assert found.tolist() == [[1, 2], [3, 0]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        penlight.vmap(lambda a: penlight.histc(a, 2, 0, 1))(x)
