"""The benchmark of single ops: every op on large arrays is the same work in both libraries, and what is measured is summed up as it should be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import penlight
from benchmarks import ops
from benchmarks.work.elements import calls
from benchmarks.work.large import CALLS, SIZES, call, operands

OURS: dict[str, dict[str, Any]] = {}


def computed(library: Any, given: dict[str, dict[str, Any]], size: str, name: str) -> Any:
    """An op's result and the sums of its gradients."""
    if size not in given:
        given[size] = operands(library, size)
    library.manual_seed(0)
    run, leaves = call(library, name, given[size])
    result = run()
    grads = library.autograd.grad(result.sum(), leaves, allow_unused=True) if leaves and result.requires_grad else ()
    shown = result.detach().double() if result.dtype.is_floating_point else result
    return shown.numpy(), [0.0 if g is None else float(g.double().sum()) for g in grads]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", CALLS)
def test_it_runs(name: str, size: str) -> None:
    result, sums = computed(penlight, OURS, size, name)
    assert result.size
    assert not any(np.isnan(sums))


@pytest.mark.parity
@pytest.mark.parametrize("size", SIZES)
def test_same_work(size: str) -> None:
    torch = pytest.importorskip("torch")
    theirs: dict[str, dict[str, Any]] = {}
    for name in CALLS:
        (result, sums), (wanted, wanted_sums) = (
            computed(penlight, OURS, size, name),
            computed(torch, theirs, size, name),
        )
        assert result.shape == wanted.shape, name
        np.testing.assert_allclose(result, wanted, rtol=2e-3, atol=2e-3, err_msg=name)
        np.testing.assert_allclose(sums, wanted_sums, rtol=2e-2, atol=1.0, err_msg=name)


def arrays(library: Any, result: Any) -> list[np.ndarray]:
    return [t.double().numpy() if t.is_floating_point() else t.numpy() for t in ops.tensors(library, result)]


@pytest.mark.parity
def test_functions_of_elements_are_the_same_work() -> None:
    torch = pytest.importorskip("torch")
    ours, theirs = calls(penlight, 100), calls(torch, 100)
    assert list(ours) == list(theirs)
    by_mkl = ("exponential_", "bernoulli_", "dropout", "multinomial", "geometric_")  # PyTorch draws these otherwise
    for name in ours:
        if not name.startswith(by_mkl):
            tolerance = 2e-2 if "float16" in name else 1e-4
            penlight.manual_seed(0)
            torch.manual_seed(0)
            for made, wanted in zip(arrays(penlight, ours[name]()), arrays(torch, theirs[name]()), strict=True):
                np.testing.assert_allclose(made, wanted, rtol=tolerance, atol=tolerance, err_msg=name)


def test_small_ops_are_those_of_the_records() -> None:
    found = dict(ops.small_steps([penlight, penlight], ["lerp", "linalg.solve"]))
    assert {"lerp", "linalg.solve"} <= set(found)
    for step in found["lerp"][0].values():
        step()
    assert list(found["lerp"][0]) == ["forward", "both ways"]


@pytest.mark.parametrize("size", SIZES)
def test_rows(size: str) -> None:
    rows = list(ops.timed(size, [penlight, penlight], ["x + 1.5"], 0.001))
    assert [(row.name, row.size, row.way) for row in rows] == [("x + 1.5", size, w) for w in ("forward", "both ways")]


def test_rows_of_elements() -> None:
    rows = list(ops.timed("100", [penlight, penlight], ["cumsum float32", "standard_gamma"], 0.001))
    names = ["cumsum float32"] + [f"standard_gamma{of} float{bits}" for bits in (32, 64) for of in ("", " of few")]
    assert sorted(row.name for row in rows) == sorted(names)
    assert {(row.size, row.way) for row in rows} == {("100", "forward")}


def test_summary() -> None:
    made = [ops.Row("a", "small", "forward", 1.0, 2.0), ops.Row("b", "small", "forward", 8.0, 1.0)]
    assert ops.summary(made) == [["small, forward", "2", "0.50", "1", "1", "1", "1", "`b` 0.12"]]


def test_slow_rows_are_named() -> None:
    known, rows = ops.named(), list(calls(penlight, 10))
    assert set(known) == {"100", "20000", "1000000"}
    for name in set().union(*known.values()):
        assert any(ops.covers(name, row) for row in rows), name
    made = [
        ops.Row(name, "100", "forward", slower, 1.0)
        for name, slower in [("neg float32", 6.0), ("add float32", 4.0), ("normal_ float32", 60.0)]
    ]
    assert [row.name for row in ops.unnamed(made)] == ["neg float32"]
