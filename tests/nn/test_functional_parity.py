"""torch.nn.functional beside the real one: element by element, and the signatures."""

from __future__ import annotations

import inspect
import warnings

import numpy as np
import pytest
from functional_cases import CASES, ERRORS, WARNINGS
from functional_checks import complain, observe

import penlight
import penlight.nn.functional as F

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.parity


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_element_by_element(case):
    expected, found = observe(torch, case), observe(penlight, case)
    for key in ("results", "grads", "graph grads", "second grads"):
        if expected.get(key) is None:
            continue
        for place, (mine, theirs) in enumerate(zip(found[key], expected[key], strict=True)):
            assert (mine is None) == (theirs is None)
            if mine is not None:
                assert mine.shape == theirs.shape
                np.testing.assert_allclose(mine, theirs, rtol=1e-6, atol=1e-7, err_msg=f"{key} {place}")


@pytest.mark.parametrize("expression", [*ERRORS.strip().splitlines(), *WARNINGS.strip().splitlines()])
def test_complaints(expression):
    assert complain(penlight, expression) == complain(torch, expression)


def names():
    return [n for n in dir(torch.nn.functional) if not n.startswith("_") and callable(getattr(torch.nn.functional, n))]


def test_every_function_is_there():
    foreign = {"Callable", "DType", "Optional", "ScalingType", "SwizzleType", "assert_int_or_pair", "boolean_dispatch"}
    assert [n for n in names() if not hasattr(F, n) and n not in foreign] == []


@pytest.mark.parametrize("name", names())
def test_signatures(name):
    try:
        theirs = inspect.signature(getattr(torch.nn.functional, name))
    except ValueError:
        return
    if name.startswith("scaled_") or not hasattr(F, name) or "args" in theirs.parameters:
        return
    mine = inspect.signature(getattr(F, name))
    assert [(p.name, p.kind, p.default) for p in mine.parameters.values()] == [
        (p.name, p.kind, p.default) for p in theirs.parameters.values()
    ]


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize(
    "case", [c for c in CASES if c.name in ("gelu", "silu", "layer_norm", "batch_norm", "conv2d", "avg_pool2d")]
)
def test_other_precisions(case, dtype):
    tolerance = 1e-5 if dtype == "float32" else 4e-3

    def run(lib):
        rng = np.random.default_rng(0)
        arrays = [rng.standard_normal([int(n) for n in spec.rpartition(":")[2].split(",")]) for spec in case.inputs]
        inputs = [lib.tensor(a.astype(dtype), requires_grad=True) for a in arrays]
        names = {"F": lib.nn.functional, "torch": lib, **dict(zip("abc", inputs))}
        result = eval(case.expression, names)
        return [result, *lib.autograd.grad(result.sum(), inputs)]

    for mine, theirs in zip(run(penlight), run(torch), strict=True):
        assert str(mine.dtype) == str(theirs.dtype)
        np.testing.assert_allclose(mine.detach().numpy(), theirs.detach().numpy(), rtol=tolerance, atol=tolerance)


def test_running_statistics():
    rng = np.random.default_rng(0)
    for shape in ((4, 3), (2, 3, 5), (2, 3, 2, 2)):
        for training in (True, False):
            arrays = rng.standard_normal(shape), rng.standard_normal(3), rng.random(3)
            moved = []
            for lib in (penlight, torch):
                x, mean, var = (lib.tensor(a) for a in arrays)
                out = lib.nn.functional.batch_norm(x, mean, var, training=training, momentum=0.3)
                moved.append([out.numpy(), mean.numpy(), var.numpy()])
            for mine, theirs in zip(*moved, strict=True):
                np.testing.assert_allclose(mine, theirs, rtol=1e-10)


def test_dropout_streams_run_on():
    for name, shape in (("dropout", (50, 7)), ("alpha_dropout", (30,)), ("dropout2d", (4, 9, 2, 2)), ("rrelu", (40,))):
        drawn = []
        for lib in (penlight, torch):
            lib.manual_seed(5)
            x = lib.tensor(np.cos(np.arange(np.prod(shape))).astype(np.float32).reshape(shape))
            kwargs = {"training": True}
            drawn.append(
                [getattr(lib.nn.functional, name)(x, **kwargs).numpy() for _ in range(3)] + [lib.rand(3).numpy()]
            )
        for mine, theirs in zip(*drawn, strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-6)


def test_top_level_functions():
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((2, 4, 5)), rng.random(4)
    calls = [
        "torch.native_batch_norm(x, w, w, None, None, True, 0.1, 1e-5)",
        "torch.native_group_norm(x, w, w, 2, 4, 5, 2, 1e-5)",
        "torch.native_layer_norm(x, (5,), None, None, 1e-5)",
        "torch.batch_norm(x, w, None, None, None, True, 0.1, 1e-5, True)",
        "torch.instance_norm(x, None, None, None, None, True, 0.1, 1e-5, True)",
        "torch.group_norm(x, 2, w)",
        "torch.max_pool1d(x, 2)",
        "torch.adaptive_max_pool1d(x, 2)",
        "torch.embedding_bag(w.view(2, 2), torch.tensor([0, 1, 1]), torch.tensor([0, 2]))[0]",
        "torch.binary_cross_entropy_with_logits(w, w, w, w, 2)",
        "torch.triplet_margin_loss(x[0], x[1], x[0] + 1)",
        "torch.constant_pad_nd(x, (1, 2), 3)",
        "torch.convolution(x, x[:, :, :2], None, [1], [0], [1], False, [0], 1)",
        "torch.poisson_nll_loss(w, w, True, False, 1e-8, 1)",
        "torch.rrelu(x)",
    ]
    for call in calls:
        found = []
        for lib in (penlight, torch):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                result = eval(call, {"torch": lib, "x": lib.tensor(x), "w": lib.tensor(w)})
            found.append(result if isinstance(result, tuple) else (result,))
        for mine, theirs in zip(*found, strict=True):
            np.testing.assert_allclose(mine.numpy(), theirs.numpy(), rtol=1e-8, err_msg=call)
