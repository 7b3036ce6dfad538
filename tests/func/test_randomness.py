"""Random ops inside vmap: refused, the same for all samples, or others for each, and PyTorch's numbers in each case."""

from __future__ import annotations

import pytest

import penlight

SAMPLES = [[0.1, 0.25, 0.4], [0.5, 0.65, 0.8]]

# Functions of the library and a sample. `True`: the draws depend on the sample, so that they can't be the same for all.
RANDOM = {
    "rand": (lambda t, a: t.rand(3), False),
    "randn_like": (lambda t, a: t.randn_like(a), False),
    "randint": (lambda t, a: t.randint(0, 9, (3,)), False),
    "randperm": (lambda t, a: t.randperm(4), False),
    "normal_": (lambda t, a: a.clone().normal_(), False),
    "uniform_": (lambda t, a: a.clone().uniform_(), False),
    "exponential_": (lambda t, a: a.clone().exponential_(), False),
    "random_": (lambda t, a: a.clone().random_(2, 9), False),
    "normal of a size": (lambda t, a: t.normal(0.0, 1.0, (3,)), False),
    "dropout": (lambda t, a: t.nn.functional.dropout(a, 0.5), False),
    "alpha_dropout": (lambda t, a: t.nn.functional.alpha_dropout(a, 0.5, True), False),
    "gumbel_softmax": (lambda t, a: t.nn.functional.gumbel_softmax(a), False),
    "bernoulli": (lambda t, a: t.bernoulli(a), True),
    "poisson": (lambda t, a: t.poisson(a * 5), True),
    "multinomial": (lambda t, a: t.multinomial(a, 2), True),
    "binomial": (lambda t, a: t.binomial(t.full((3,), 5.0), a), True),
}
PENLIGHT_ONLY = {
    "native_dropout": (lambda t, a: t.native_dropout(a, 0.5, True)[1], False),
    "rrelu": (lambda t, a: t.nn.functional.rrelu(a - 1, training=True) / (a - 1), True),
    "beta": (lambda t, a: t.distributions.Beta(a, a, validate_args=False).sample(), True),
    "gamma": (lambda t, a: t.distributions.Gamma(a, a, validate_args=False).sample(), True),
}


def run(library, function, randomness):
    library.manual_seed(3)
    return library.vmap(lambda a: function(library, a), randomness=randomness)(library.tensor(SAMPLES)).tolist()


@pytest.mark.parametrize("name", [*RANDOM, *PENLIGHT_ONLY])
def test_as_the_flag_says(name):
    function, of_sample = {**RANDOM, **PENLIGHT_ONLY}[name]
    with pytest.raises(RuntimeError, match="called random operation while in randomness error mode"):
        run(penlight, function, "error")
    if of_sample:
        with pytest.raises(
            RuntimeError, match="does not currently support same randomness with a batched tensor input"
        ):
            run(penlight, function, "same")
    different = run(penlight, function, "different")
    if name not in ("dropout", "alpha_dropout", "gumbel_softmax", "bernoulli"):
        assert of_sample or run(penlight, function, "same")[0] == run(penlight, function, "same")[1]
        assert different[0] != different[1]


def test_gumbel_softmax_draws_for_each_sample():
    penlight.manual_seed(3)
    rows = penlight.vmap(penlight.nn.functional.gumbel_softmax, randomness="different")(penlight.zeros(2, 3))
    assert rows[0].tolist() != rows[1].tolist()


@pytest.mark.parity
@pytest.mark.parametrize("name", RANDOM)
def test_numbers_are_torchs(name):
    torch = pytest.importorskip("torch")
    function, of_sample = RANDOM[name]
    for randomness in ("different",) if of_sample else ("same", "different"):
        found, expected = run(penlight, function, randomness), run(torch, function, randomness)
        for mine, theirs in zip(found, expected, strict=True):
            assert mine == pytest.approx(theirs, rel=1e-5, abs=1e-6)
