"""Runs a case of `functional_cases` in a library (PyTorch or Penlight, the module is given) and says what came out."""

from __future__ import annotations

import warnings
import zlib
from typing import Any

import numpy as np

# Where the activations have kinks.
KINKS = [0.0, -0.0, 3.0, -3.0, 1.0, -1.0, 0.5, -0.5, 6.0, 20.0, -20.0, 30.0]


def make(spec: str, rng: np.random.Generator) -> tuple[np.ndarray, bool]:
    """The array of an input, and whether it requires grad."""
    kind, _, sizes = spec.rpartition(":")
    shape = () if sizes == "*" else tuple(int(n) for n in sizes.split(","))
    if kind.startswith("i"):
        return rng.integers(0, int(kind[1:]), shape), False
    if kind == "s":
        return rng.choice([-1.0, 1.0], shape), False
    if kind == "m":
        return rng.random(shape) > 0.3, False
    if kind == "p":
        return rng.uniform(0.05, 0.95, shape), True
    array = rng.standard_normal(shape)
    if kind == "+":
        return np.abs(array) + 0.1, True
    if kind == "k":
        array = 3 * array
        array.reshape(-1)[: len(KINKS)] = KINKS
    return array, kind != "f"


def tensors(lib: Any, case: Any) -> tuple[list[Any], list[Any]]:
    """All inputs, and those that require grad."""
    rng = np.random.default_rng(zlib.crc32(case.name.encode()))
    made = [make(spec, rng) for spec in case.inputs]
    inputs = [lib.tensor(array, requires_grad=grad) for array, grad in made]
    return inputs, [t for t, (_, grad) in zip(inputs, made) if grad]


def evaluate(lib: Any, expression: str, inputs: list[Any] = ()) -> Any:
    names = dict(zip("abcdefgh", inputs))
    names |= {"torch": lib, "F": lib.nn.functional, "x": lib.randn, "o": lib.ones, "z": lib.zeros, "L": lib.tensor}
    return eval(expression, names)


def weights(shape: tuple[int, ...]) -> np.ndarray:
    """Numbers that are all different, to weigh a result with."""
    size = int(np.prod(shape))
    return np.cos(np.arange(size) * 1.7 + 0.3).reshape(shape)


def numbers(tensor: Any) -> np.ndarray:
    return np.asarray(
        tensor.detach().resolve_conj().numpy() if not tensor.is_floating_point() else tensor.detach().numpy(force=True)
    )


def observe(lib: Any, case: Any) -> dict[str, Any]:
    """Results, the name of the node, gradients by the plain backward pass and by one that makes a graph, second gradients."""
    inputs, leaves = tensors(lib, case)
    lib.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = evaluate(lib, case.expression, inputs)
    results = results if isinstance(results, tuple) else (results,)
    found: dict[str, Any] = {"results": [numbers(r) for r in results], "dtypes": [str(r.dtype) for r in results]}
    first = results[0]
    if not first.requires_grad:
        return found
    found["node"] = first.grad_fn.name() if first.grad_fn is not None else None
    grad = lib.tensor(weights(tuple(first.shape)), dtype=first.dtype)
    plain = lib.autograd.grad(first, leaves, grad, retain_graph=True, allow_unused=True)
    graph = lib.autograd.grad(first, leaves, grad, create_graph=True, allow_unused=True)
    found["grads"] = [None if g is None else numbers(g) for g in plain]
    found["graph grads"] = [None if g is None else numbers(g) for g in graph]
    found["second grads"] = second(lib, leaves, graph)
    return found


def second(lib: Any, leaves: list[Any], grads: Any) -> Any:
    """Gradients of a function of the gradients; None if PyTorch has none, zeros where nothing is connected."""
    total = sum((g * g * lib.tensor(weights(tuple(g.shape)), dtype=g.dtype)).sum() for g in grads if g is not None)
    if not getattr(total, "requires_grad", False):
        return [np.zeros(tuple(t.shape)) for t in leaves]
    try:
        found = lib.autograd.grad(total, leaves, allow_unused=True)
    except RuntimeError as error:
        if "is not implemented" in str(error) or "Expected a proper Tensor" in str(error):
            return None
        raise
    return [np.zeros(tuple(t.shape)) if g is None else numbers(g) for t, g in zip(leaves, found)]


def complain(lib: Any, expression: str) -> tuple[list[str], list[str]]:
    """The kind and the words of the error (nothing, if there is none), and the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        error: list[str] = []
        try:
            evaluate(lib, expression)
        except Exception as raised:
            error = [type(raised).__name__, str(raised)]
    return error, [str(w.message) for w in caught]


def digest(array: np.ndarray | None) -> Any:
    """Shape and two weighted sums: enough to tell results apart."""
    if array is None:
        return None
    with np.errstate(all="ignore"):
        flat = array.astype(np.float64)
        return [list(array.shape), float((flat * weights(array.shape)).sum()), float(np.abs(flat).sum())]


def brief(found: dict[str, Any]) -> dict[str, Any]:
    """What is recorded of an observation."""
    short: dict[str, Any] = {"dtypes": found["dtypes"], "node": found.get("node")}
    for key in ("results", "grads", "second grads"):
        values = found.get(key)
        short[key] = None if values is None else [digest(v) for v in values]
    return short
