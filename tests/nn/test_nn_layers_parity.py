"""Every class of nn against PyTorch's: signature, printing, initial weights, outputs and gradients."""

from __future__ import annotations

import inspect

import pytest

torch = pytest.importorskip("torch")

from nn_cases import CASES  # noqa: E402
from nn_data import gradients  # noqa: E402
from nn_parity import compare, observe  # noqa: E402

import penlight  # noqa: E402

pytestmark = pytest.mark.parity


def works(function, rtol, atol):
    expected = observe(function, torch)
    assert "error" not in expected, expected
    compare(observe(function, penlight), expected, rtol, atol)


CLASSES = [
    name
    for name in dir(torch.nn)
    if inspect.isclass(getattr(torch.nn, name)) and issubclass(getattr(torch.nn, name), torch.nn.Module)
]
OWN_SIGNATURE = {"RNN", "LSTM", "GRU"}  # PyTorch hides theirs behind *args, **kwargs


def test_every_public_name_exists():
    wanted = {name for name in dir(torch.nn) if not name.startswith("_")}
    assert not {name for name in wanted if not hasattr(penlight.nn, name)}


def test_every_class_has_a_case():
    bases = {"Module", "Container", "RNNBase", "RNNCellBase"}
    assert {name for name in CLASSES if not any(case.partition("-")[0] == name for case in CASES)} == bases


@pytest.mark.parametrize("name", CLASSES)
def test_signature(name):
    if name in OWN_SIGNATURE:
        return
    ours, theirs = (inspect.signature(getattr(lib.nn, name).__init__).parameters for lib in (penlight, torch))

    def shape(parameters):
        return [(p.name, p.kind, getattr(p.default, "__name__", p.default)) for p in parameters.values()]

    assert shape(ours) == shape(theirs)


@pytest.mark.parametrize("name", CLASSES)
def test_forward_signature(name):
    ours, theirs = (getattr(lib.nn, name).forward for lib in (penlight, torch))
    if name in OWN_SIGNATURE | {"RNNBase", "RNNCellBase"}:
        return
    assert list(inspect.signature(ours).parameters) == list(inspect.signature(theirs).parameters)


@pytest.mark.parametrize("name", CLASSES)
def test_home(name):
    ours, theirs = getattr(penlight.nn, name), getattr(torch.nn, name)
    assert ours.__module__ == theirs.__module__.replace("torch", "penlight", 1)


@pytest.mark.parametrize("name", CASES)
def test_construction(name):
    """The same text, the same state from the same seed, and the same numbers left in the stream."""

    def run(lib):
        module = CASES[name].make(lib.nn)
        if name.startswith("Lazy"):
            return repr(module)
        modules = [(path, type(part).__name__) for path, part in module.named_modules()]
        attributes = sorted(key for key in module.__dict__ if not key.startswith("_"))
        return repr(module), dict(module.state_dict()), modules, attributes, lib.rand(1)

    works(run, rtol=0, atol=0)


@pytest.mark.parametrize("name", [name for name in CASES if CASES[name].inputs != (None,)])
def test_forward_and_backward(name):
    case = CASES[name]

    def run(lib):
        module = case.make(lib.nn).train(case.train)
        inputs = case.arguments(lib)
        lib.manual_seed(1)
        outputs = module(*inputs, **case.kwargs)
        leaves = {f"input{i}": x for i, x in enumerate(inputs) if x.requires_grad}
        leaves.update(module.named_parameters())
        grads = gradients(outputs, leaves, lib)
        return outputs, grads, dict(module.state_dict()), repr(module)

    works(run, rtol=1e-4, atol=1e-5)
