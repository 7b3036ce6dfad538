"""Filling tensors with random numbers: the same streams as PyTorch, in the order of memory, and the graph."""

from __future__ import annotations

import numpy as np
import pytest

import penlight

FILLERS = {
    "uniform": lambda x: x.uniform_(-1, 2),
    "normal": lambda x: x.normal_(1, 2),
    "exponential": lambda x: x.exponential_(2),
    "geometric": lambda x: x.geometric_(0.3),
    "cauchy": lambda x: x.cauchy_(),
    "log_normal": lambda x: x.log_normal_(),
    "random": lambda x: x.random_(),
    "random below": lambda x: x.random_(5),
    "random between": lambda x: x.random_(2, 5),
    "random by name": lambda x: x.random_(**{"from": 2, "to": 5}),
    "bernoulli": lambda x: x.bernoulli_(0.3),
}
# What PyTorch 2.13 draws into torch.zeros(2, 3).t() after manual_seed(7): the first row.
PINNED = {
    "uniform": [0.604768, 0.970671],
    "normal": [0.70641, -1.228688],
    "random below": [0.0, 1.0],
    "random between": [2.0, 4.0],
}


def filled(lib, name: str, dtype: str = "float32", transposed: bool = False):
    lib.manual_seed(7)
    x = lib.zeros(3, 5, dtype=getattr(lib, dtype))
    return FILLERS[name](x.t() if transposed else x).numpy()


@pytest.mark.parametrize("name", PINNED)
def test_pinned(name):
    penlight.manual_seed(7)
    x = FILLERS[name](penlight.zeros(2, 3).t())
    np.testing.assert_allclose(x[0].numpy(), PINNED[name], rtol=1e-5)


@pytest.mark.parametrize("name", FILLERS)
def test_a_transposed_tensor_gets_the_same_numbers_in_memory_order(name):
    if name == "normal":  # PyTorch fills a contiguous tensor of 16 elements or more by another method
        return
    np.testing.assert_array_equal(filled(penlight, name), filled(penlight, name, transposed=True).T)


def test_what_was_overwritten_has_no_gradient():
    x = penlight.ones(3, requires_grad=True)
    y = x * 2
    assert y.uniform_() is y
    assert y.grad_fn.name() == "UniformBackward0"
    assert y._version == 1
    y.sum().backward()
    assert x.grad.tolist() == [0.0, 0.0, 0.0]


def test_a_leaf_that_requires_grad_is_not_filled():
    x = penlight.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        x.normal_()
    with penlight.no_grad():
        x.normal_()
    assert x.tolist() != [1.0, 1.0, 1.0]


def test_a_generator_of_its_own():
    a = penlight.zeros(4).uniform_(generator=penlight.Generator().manual_seed(3))
    b = penlight.zeros(4).uniform_(generator=penlight.Generator().manual_seed(3))
    assert a.tolist() == b.tolist()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: penlight.zeros(2).normal_(0, -1), "normal expects std >= 0.0, but found std -1"),
        (
            lambda: penlight.zeros(2).uniform_(1, 0),
            r"uniform_ expects to return a \[from, to\) range, but found from=1 > to=0",
        ),
        (lambda: penlight.zeros(2).bernoulli_(2), r"bernoulli_ expects p to be in \[0, 1\], but got p=2"),
        (lambda: penlight.multinomial(penlight.ones(2), 3), "cannot sample n_sample > prob_dist.size"),
        (lambda: penlight.poisson(penlight.tensor([-1.0])), "invalid Poisson rate, expected rate to be non-negative"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(RuntimeError, match=message):
        call()


@pytest.mark.parity
@pytest.mark.parametrize("name", FILLERS)
def test_same_numbers_as_pytorch(name):
    torch = pytest.importorskip("torch")
    for dtype in ("float32", "float64", "int64"):
        for transposed in (False, True):
            try:
                expected = filled(torch, name, dtype, transposed)
            except (RuntimeError, NotImplementedError) as refusal:
                with pytest.raises(type(refusal)) as error:
                    filled(penlight, name, dtype, transposed)
                assert str(error.value) == str(refusal)
                continue
            np.testing.assert_allclose(filled(penlight, name, dtype, transposed), expected, rtol=1e-6)


@pytest.mark.parity
@pytest.mark.parametrize(
    "draw",
    [
        lambda lib: lib.zeros(3, dtype=lib.complex64).normal_(),
        lambda lib: lib.zeros(3, dtype=lib.complex128).uniform_(),
        lambda lib: lib.zeros(4).bernoulli_(lib.tensor([0.1, 0.5, 0.9, 1.0])),
        lambda lib: lib.multinomial(lib.tensor([0.1, 0.2, 0.7]), 2),
        lambda lib: lib.tensor([[0.1, 0.2, 0.7], [0.5, 0.2, 0.1]]).multinomial(5, True),
        lambda lib: lib.poisson(lib.tensor([1.0, 5.0, 20.0])),
        lambda lib: lib.binomial(lib.tensor([10.0, 50.0]), lib.tensor([0.3, 0.6])),
        lambda lib: lib.tensor([0.1, 0.5]).bernoulli(),
        lambda lib: lib.zeros(4, 4)[::2].uniform_(),
        lambda lib: lib.zeros(2, 3, 4).permute(2, 0, 1).random_(9),
    ],
)
def test_same_draws_as_pytorch(draw):
    torch = pytest.importorskip("torch")
    torch.manual_seed(3), penlight.manual_seed(3)
    np.testing.assert_allclose(draw(penlight).numpy(), draw(torch).numpy(), rtol=1e-6)
    np.testing.assert_allclose(penlight.rand(3).numpy(), torch.rand(3).numpy())
