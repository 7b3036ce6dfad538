"""Every family against PyTorch: samples of a seed, densities, moments, expansion, printing, gradients, errors."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import penlight

from .families import COV, FAMILIES

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.parity


def same(ours, theirs, rtol=2e-5, atol=2e-6):
    assert str(ours.dtype) == str(theirs.dtype)
    assert tuple(ours.shape) == tuple(theirs.shape)
    np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=rtol, atol=atol)


def outcome(call):
    try:
        return call()
    except (NotImplementedError, ValueError, RuntimeError) as error:
        return type(error)


def compare(ours, theirs, **tolerance):
    ours, theirs = outcome(ours), outcome(theirs)
    if isinstance(theirs, type):
        assert ours is theirs
    else:
        same(ours, theirs, **tolerance)


def seeded(method, *args):
    penlight.manual_seed(3)
    torch.manual_seed(3)
    return method(*args)


def check_samples(ours, theirs, shape):
    drawn = seeded(theirs.sample, shape)
    next_of_theirs = float(torch.rand(()))
    same(seeded(ours.sample, shape), drawn)
    assert float(penlight.rand(())) == next_of_theirs  # as much of the stream was used
    value = penlight.from_numpy(drawn.numpy())
    compare(lambda: ours.log_prob(value), lambda: theirs.log_prob(drawn), rtol=1e-4, atol=1e-5)
    compare(lambda: ours.cdf(value), lambda: theirs.cdf(drawn), atol=1e-5)


@pytest.mark.parametrize("name", FAMILIES)
def test_family(name):
    ours, theirs = FAMILIES[name](penlight), FAMILIES[name](torch)
    assert repr(ours) == repr(theirs)
    assert repr(ours.support) == repr(theirs.support)
    assert (tuple(ours.batch_shape), tuple(ours.event_shape)) == (tuple(theirs.batch_shape), tuple(theirs.event_shape))
    assert (ours.has_rsample, ours.has_enumerate_support) == (theirs.has_rsample, theirs.has_enumerate_support)
    for shape in [(), (5,), (2, 3)]:
        check_samples(ours, theirs, shape)
    for moment in ("mean", "mode", "variance", "stddev"):
        compare(lambda m=moment: getattr(ours, m), lambda m=moment: getattr(theirs, m))
    compare(lambda: ours.entropy(), lambda: theirs.entropy(), rtol=1e-4, atol=1e-5)
    compare(lambda: ours.enumerate_support(), lambda: theirs.enumerate_support())
    compare(lambda: ours.enumerate_support(expand=False), lambda: theirs.enumerate_support(expand=False))
    half = np.full(tuple(theirs.batch_shape) or (), 0.3, np.float32)
    compare(lambda: ours.icdf(penlight.tensor(half)), lambda: theirs.icdf(torch.tensor(half)), atol=1e-5)


@pytest.mark.parametrize("name", FAMILIES)
def test_expand(name):
    shape = (4, *FAMILIES[name](torch).batch_shape)
    ours, theirs = FAMILIES[name](penlight).expand(shape), FAMILIES[name](torch).expand(shape)
    assert repr(ours) == repr(theirs)
    assert tuple(ours.batch_shape) == tuple(theirs.batch_shape)
    drawn = seeded(theirs.sample, (2,))
    same(seeded(ours.sample, (2,)), drawn)
    compare(
        lambda: ours.log_prob(penlight.from_numpy(drawn.numpy())), lambda: theirs.log_prob(drawn), rtol=1e-4, atol=1e-5
    )
    compare(lambda: ours.mean, lambda: theirs.mean)


LEAVES = {
    "Normal": [(0.5, -1.0), (1.0, 2.0)],
    "Laplace": [(0.5, -1.0), (1.0, 2.0)],
    "Cauchy": [(0.5, -1.0), (1.0, 2.0)],
    "Exponential": [(0.5, 2.0)],
    "Uniform": [(0.5, 1.0), (2.0, 3.0)],
    "Gumbel": [(0.5, -1.0), (1.0, 2.0)],
    "Gamma": [(0.2, 0.9, 3.0, 20.0), (1.0, 2.0, 0.5, 1.0)],
    "Beta": [(0.4, 2.0, 9.0), (0.6, 3.0, 0.7)],
    "Dirichlet": [(0.4, 2.0, 9.0)],
    "StudentT": [(3.0, 5.0)],
    "LogNormal": [(0.5, -1.0), (1.0, 0.5)],
    "Weibull": [(0.5, 1.0), (1.5, 0.5)],
    "Kumaraswamy": [(0.5, 1.0), (1.5, 0.5)],
    "ContinuousBernoulli": [(0.2, 0.7)],
    "InverseGamma": [(1.5, 4.0), (1.0, 2.0)],
}


@pytest.mark.parametrize("name", LEAVES)
def test_gradients_of_samples(name):
    def run(t):
        leaves = [t.tensor(v, dtype=t.float64, requires_grad=True) for v in LEAVES[name]]
        d = getattr(t.distributions, name)(*leaves)
        t.manual_seed(5)
        x = d.rsample((6,))
        (x * t.linspace(1, 2, x.numel(), dtype=t.float64).reshape(x.shape)).sum().backward()
        grads = [leaf.grad.clone() for leaf in leaves]
        for leaf in leaves:
            leaf.grad = None
        getattr(t.distributions, name)(*leaves).log_prob(x.detach()).sum().backward()
        return x, grads + [leaf.grad for leaf in leaves]

    (x, ours), (y, theirs) = run(penlight), run(torch)
    same(x, y, rtol=1e-9)
    # PyTorch's own gamma and beta slopes are approximations.
    rtol = 5e-3 if name in ("Gamma", "Beta", "Dirichlet", "StudentT", "InverseGamma") else 1e-6
    for a, b in zip(ours, theirs, strict=True):
        same(a, b, rtol=rtol, atol=2e-5 if rtol == 5e-3 else 1e-7)


ERRORS = [
    lambda t: t.distributions.Normal(t.tensor([0.0, 1.0]), t.tensor([1.0, -1.0])),
    lambda t: t.distributions.Normal(0.0, -1.0),
    lambda t: t.distributions.Normal("a", 1.0),
    lambda t: t.distributions.Normal(t.zeros(2), 1.0).log_prob(t.zeros(3)),
    lambda t: t.distributions.Normal(0.0, 1.0).log_prob(0.0),
    lambda t: t.distributions.Normal(0.0, 1.0).log_prob(t.tensor(float("nan"))),
    lambda t: t.distributions.Uniform(1.0, 0.0),
    lambda t: t.distributions.Bernoulli(),
    lambda t: t.distributions.Bernoulli(t.tensor(1.5)),
    lambda t: t.distributions.Bernoulli(0.5).log_prob(t.tensor(0.5)),
    lambda t: t.distributions.Categorical(t.tensor(1.0)),
    lambda t: t.distributions.Categorical(t.tensor([-1.0, 2.0])),
    lambda t: t.distributions.Categorical(logits=t.tensor([float("nan"), 2.0])),
    lambda t: t.distributions.Categorical(t.ones(3)).log_prob(t.tensor(3)),
    lambda t: t.distributions.Geometric(t.tensor([0.0, 0.5])),
    lambda t: t.distributions.Multinomial(t.tensor(3), t.ones(2)),
    lambda t: t.distributions.MultivariateNormal(t.zeros(2), -t.eye(2)),
    lambda t: t.distributions.MultivariateNormal(t.zeros(2)),
    lambda t: t.distributions.MultivariateNormal(t.tensor(0.0), t.eye(2)),
    lambda t: t.distributions.Independent(t.distributions.Normal(0.0, 1.0), 1),
    lambda t: t.distributions.Dirichlet(t.tensor(1.0)),
    lambda t: t.distributions.TransformedDistribution(t.distributions.Normal(0.0, 1.0), [1]),
    lambda t: t.distributions.LKJCholesky(1),
    lambda t: t.distributions.kl_divergence(t.distributions.Cauchy(0.0, 1.0), t.distributions.Normal(0.0, 1.0)),
    lambda t: t.distributions.Binomial(t.tensor([3.0, 4.0]), t.tensor([0.5, 0.5])).entropy(),
    lambda t: type("Mine", (t.distributions.Normal,), {"__init__": lambda s: None})().expand((2,)),
    lambda t: t.distributions.transform_to(t.distributions.constraints.boolean),
    lambda t: t.distributions.Cauchy(0.0, 1.0).rsample and t.distributions.Poisson(1.0).rsample(),
]


@pytest.mark.parametrize("number", range(len(ERRORS)))
def test_errors(number):
    with pytest.raises(Exception) as theirs:
        ERRORS[number](torch)
    with pytest.raises(type(theirs.value)) as ours:
        ERRORS[number](penlight)
    assert str(ours.value) == str(theirs.value)


def test_wishart():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, theirs = (t.distributions.Wishart(t.tensor([3.0, 5.0]), t.tensor(COV)) for t in (penlight, torch))
        for one in ("mean", "mode", "variance", "precision_matrix"):
            same(getattr(ours, one), getattr(theirs, one))
        same(ours.entropy(), theirs.entropy())
        drawn = seeded(theirs.sample, (3,))
        same(seeded(ours.sample, (3,)), drawn, rtol=1e-4)
        same(ours.log_prob(penlight.from_numpy(drawn.numpy())), theirs.log_prob(drawn), rtol=1e-4)


def test_what_gamma_and_dirichlet_are_made_of():
    """PyTorch's private functions, which libraries call by their names."""
    shapes = [0.5, 2.0, 7.0]
    made = []
    for library in (penlight, torch):
        alpha = library.tensor(shapes, requires_grad=True)
        gamma = library._standard_gamma(alpha, generator=library.Generator().manual_seed(3))
        gamma.sum().backward()
        share = library._sample_dirichlet(alpha.detach(), generator=library.Generator().manual_seed(3))
        slopes = library._dirichlet_grad(share, alpha.detach(), alpha.detach().sum().expand(3))
        made.append([t.tolist() for t in (gamma, alpha.grad, share, slopes)])
    np.testing.assert_allclose(made[0], made[1], rtol=1e-3)
