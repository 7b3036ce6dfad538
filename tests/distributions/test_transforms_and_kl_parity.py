"""Transforms, `biject_to`/`transform_to` and divergences against PyTorch."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import penlight

from .families import FAMILIES
from .test_families_parity import same

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.parity

TRANSFORMS = {
    "exp": (lambda D, t: D.ExpTransform(), (3,)),
    "sigmoid": (lambda D, t: D.SigmoidTransform(), (3,)),
    "tanh": (lambda D, t: D.TanhTransform(), (3,)),
    "softplus": (lambda D, t: D.SoftplusTransform(), (3,)),
    "affine": (lambda D, t: D.AffineTransform(t.tensor([1.0, 2.0, 3.0]), -2.0, event_dim=1), (2, 3)),
    "power": (lambda D, t: D.ComposeTransform([D.ExpTransform(), D.PowerTransform(t.tensor(1.5))]), (3,)),
    "stick": (lambda D, t: D.StickBreakingTransform(), (2, 3)),
    "corr": (lambda D, t: D.CorrCholeskyTransform(), (2, 6)),
    "reshape": (lambda D, t: D.ReshapeTransform((6,), (2, 3)), (4, 6)),
    "independent": (lambda D, t: D.IndependentTransform(D.ExpTransform(), 1), (2, 3)),
    "cat": (lambda D, t: D.CatTransform([D.ExpTransform(), D.TanhTransform()], 1, [1, 2]), (2, 3)),
    "stack": (lambda D, t: D.StackTransform([D.ExpTransform(), D.TanhTransform()], 1), (3, 2)),
    "cdf": (lambda D, t: D.CumulativeDistributionTransform(D.Normal(0.0, 1.0)), (3,)),
    "inverse": (lambda D, t: D.ComposeTransform([D.SigmoidTransform(), D.SigmoidTransform().inv]), (3,)),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transform(name):
    make, shape = TRANSFORMS[name]
    ours, theirs = make(penlight.distributions, penlight), make(torch.distributions, torch)
    x = np.linspace(-1.0, 1.2, int(np.prod(shape)), dtype=np.float64).reshape(shape)
    a, b = penlight.tensor(x, requires_grad=True), torch.tensor(x, requires_grad=True)
    y, z = ours(a), theirs(b)
    same(y, z, rtol=1e-9)
    same(ours.inv(y), theirs.inv(z), rtol=1e-6)
    p, q = ours.log_abs_det_jacobian(a, y), theirs.log_abs_det_jacobian(b, z)
    same(p, q, rtol=1e-6)
    (p.sum() + y.sum()).backward()
    (q.sum() + z.sum()).backward()
    same(a.grad, b.grad, rtol=1e-6)
    assert repr(ours) == repr(theirs)
    assert repr(ours.domain).startswith(repr(theirs.domain)[:10])
    assert tuple(ours.forward_shape(shape)) == tuple(theirs.forward_shape(shape))
    assert ours.bijective == theirs.bijective


CONSTRAINTS = ["real", "positive", "nonnegative", "unit_interval", "simplex", "lower_cholesky", "positive_definite"]


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_transform_to(name):
    x = np.linspace(-1.0, 1.0, 9).reshape(3, 3)
    ours = penlight.distributions.transform_to(getattr(penlight.distributions.constraints, name))
    theirs = torch.distributions.transform_to(getattr(torch.distributions.constraints, name))
    assert repr(ours) == repr(theirs)
    y = ours(penlight.tensor(x))
    same(y, theirs(torch.tensor(x)), rtol=1e-9)
    assert getattr(penlight.distributions.constraints, name).check(y).all()


def pairs():
    wanted = {type(make(torch)): name for name, make in FAMILIES.items() if "scalar" not in name}
    for p, q in torch.distributions.kl._KL_REGISTRY:
        if p in wanted and q in wanted:
            yield wanted[p], wanted[q]


# Of the batch shape that the others have.
SAME_SHAPE = {
    "gamma": lambda t: t.distributions.Gamma(t.tensor([1.5, 12.0]), t.tensor([2.0, 0.5])),
    "continuous_bernoulli": lambda t: t.distributions.ContinuousBernoulli(t.tensor([0.2, 0.9])),
    "uniform_inside": lambda t: t.distributions.Uniform(t.tensor([0.2, 0.1]), t.tensor([0.5, 0.9])),
    "pareto_small": lambda t: t.distributions.Pareto(t.tensor([0.05, 0.1]), t.tensor([1.5, 3.0])),
}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        *pairs(),
        *[
            ("uniform_inside", q)
            for q in ("beta", "gamma", "exponential", "continuous_bernoulli", "pareto_small", "gumbel")
        ],
        *[("pareto_small", q) for q in ("gamma", "exponential", "normal")],
    ],
)
def test_kl(first, second):
    def run(t):
        p, q = (SAME_SHAPE.get(name, FAMILIES.get(name))(t) for name in (first, second))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return t.distributions.kl_divergence(p, q)
            except (NotImplementedError, RuntimeError) as error:
                return type(error)

    ours, theirs = run(penlight), run(torch)
    if isinstance(theirs, type):
        assert ours is theirs
    else:
        same(ours, theirs, rtol=2e-4, atol=2e-5)


def test_kl_multivariate():
    def run(t):
        D = t.distributions
        p = D.MultivariateNormal(t.tensor([0.5, -1.0]), t.tensor([[2.0, 0.5], [0.5, 1.0]]))
        q = D.LowRankMultivariateNormal(t.tensor([0.1, 0.3]), t.tensor([[1.0], [0.5]]), t.tensor([0.5, 2.0]))
        r = D.MultivariateNormal(t.zeros(3, 2), t.eye(2))
        return [D.kl_divergence(a, b) for a, b in [(p, q), (q, p), (q, q), (p, r), (r, p)]]

    for ours, theirs in zip(run(penlight), run(torch), strict=True):
        same(ours, theirs)
