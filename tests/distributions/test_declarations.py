"""What every family prints, supports, draws and remembers, without PyTorch; the expected values are PyTorch's."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import penlight as torch

from .families import FAMILIES

D = torch.distributions

# What it prints, its support, and the first samples of seed 3.
EXPECTED = {
    "normal": ("Normal(loc: torch.Size([2]), scale: torch.Size([2]))", "Real()", [1.30328, -0.650333, 0.588978, -2.22744]),
    "normal_scalar": ("Normal(loc: 0.5, scale: 2.0)", "Real()", [2.10655, 0.849667]),
    "laplace": ("Laplace(loc: torch.Size([2]), scale: torch.Size([2]))", "Real()", [-9.029, -4.11048, -0.618334, -6.84089]),
    "cauchy": ("Cauchy(loc: torch.Size([2]), scale: torch.Size([2]))", "Real()", [-18.0932, -2.58443, 2.81087, -4.26538]),
    "uniform": ("Uniform(low: torch.Size([2]), high: torch.Size([2]))", "Interval(lower_bound=tensor([ 0.5000, -1.0000]), upper_bound=tensor([2., 2.]))", [0.506395, -0.683292, 0.928764, -0.919136]),
    "exponential": ("Exponential(rate: torch.Size([2]))", "GreaterThanEq(lower_bound=0.0)", [0.0694069, 0.112637, 2.96486, 0.0640945]),
    "gamma": ("Gamma(concentration: torch.Size([3]), rate: torch.Size([3]))", "GreaterThanEq(lower_bound=0.0)", [0.560071, 2.03761, 19.9735, 0.108296]),
    "chi2": ("Chi2()", "GreaterThanEq(lower_bound=0.0)", [1.4755, 11.378, 0.482038, 8.04357]),
    "dirichlet": ("Dirichlet(concentration: torch.Size([2, 3]))", "Simplex()", [0.109774, 0.606373, 0.283853, 0.626608]),
    "beta": ("Beta()", "Interval(lower_bound=0.0, upper_bound=1.0)", [0.153284, 0.346981, 0.0282598, 0.471936]),
    "beta_scalar": ("Beta()", "Interval(lower_bound=0.0, upper_bound=1.0)", [0.497555, 0.633702]),
    "fisher": ("FisherSnedecor(df1: torch.Size([2]), df2: torch.Size([2]))", "GreaterThan(lower_bound=0.0)", [4.81063, 0.567689, 1.63472, 0.281092]),
    "student": ("StudentT(df: torch.Size([3]), loc: torch.Size([3]), scale: torch.Size([3]))", "Real()", [2.63161, 0.828372, 1.46689, -0.341165]),
    "poisson": ("Poisson(rate: torch.Size([2]))", "IntegerGreaterThan(lower_bound=0)", [0.0, 17.0, 0.0, 24.0]),
    "bernoulli": ("Bernoulli(probs: torch.Size([2]))", "Boolean()", [1.0, 1.0, 0.0, 1.0]),
    "bernoulli_logits": ("Bernoulli(logits: torch.Size([2]))", "Boolean()", [1.0, 1.0, 1.0, 1.0]),
    "geometric": ("Geometric(probs: torch.Size([2]))", "IntegerGreaterThan(lower_bound=0)", [24.0, 0.0, 5.0, 1.0]),
    "binomial": ("Binomial(total_count: torch.Size([2]), probs: torch.Size([2]))", "IntegerInterval(lower_bound=0, upper_bound=tensor([10., 10.]))", [0.0, 5.0, 2.0, 5.0]),
    "binomial_logits": ("Binomial(total_count: torch.Size([2]), logits: torch.Size([2]))", "IntegerInterval(lower_bound=0, upper_bound=tensor([40., 40.]))", [30.0, 18.0, 19.0, 12.0]),
    "negative_binomial": ("NegativeBinomial(total_count: torch.Size([2]), probs: torch.Size([2]))", "IntegerGreaterThan(lower_bound=0)", [2.0, 4.0, 0.0, 2.0]),
    "categorical": ("Categorical(probs: torch.Size([2, 3]))", "IntegerInterval(lower_bound=0, upper_bound=2)", [0.0, 2.0, 1.0, 0.0]),
    "categorical_logits": ("Categorical(logits: torch.Size([3]))", "IntegerInterval(lower_bound=0, upper_bound=2)", [0.0, 2.0]),
    "one_hot": ("OneHotCategorical()", "OneHot()", [1.0, 0.0, 0.0, 0.0]),
    "straight_through": ("OneHotCategoricalStraightThrough()", "OneHot()", [1.0, 0.0, 0.0, 0.0]),
    "multinomial": ("Multinomial()", "Multinomial()", [1.0, 2.0, 2.0, 2.0]),
    "independent": ("Independent(Normal(loc: torch.Size([2, 3]), scale: torch.Size([2, 3])), 1)", "IndependentConstraint(Real(), 1)", [0.803276, 0.174833, 0.0889781, -0.613718]),
    "log_normal": ("LogNormal()", "GreaterThan(lower_bound=0.0)", [2.46364, 0.401486, 1.72373, 0.270669]),
    "logistic_normal": ("LogisticNormal()", "Simplex()", [0.551935, 0.153648, 0.294417, 0.462904]),
    "half_normal": ("HalfNormal()", "GreaterThanEq(lower_bound=0.0)", [0.401638, 0.349667, 0.044489, 1.22744]),
    "half_cauchy": ("HalfCauchy()", "GreaterThanEq(lower_bound=0.0)", [4.64831, 1.58443, 0.577719, 3.26538]),
    "inverse_gamma": ("InverseGamma()", "GreaterThan(lower_bound=0.0)", [1.35547, 0.310209, 4.14905, 0.427164]),
    "gumbel": ("Gumbel(loc: torch.Size([2]), scale: torch.Size([2]))", "Real()", [-1.19702, -2.62043, 0.275007, -3.56941]),
    "gumbel_scalar": ("Gumbel(loc: 0.5, scale: 2.0)", "Real()", [-2.89404, -1.12043]),
    "pareto": ("Pareto(alpha: torch.Size([2]), scale: torch.Size([2]))", "GreaterThanEq(lower_bound=tensor([0.5000, 1.0000]))", [0.517656, 1.11923, 2.20182, 1.06619]),
    "weibull": ("Weibull(scale: torch.Size([2]), concentration: torch.Size([2]))", "GreaterThan(lower_bound=0.0)", [0.0531968, 0.69652, 0.650059, 0.577184]),
    "kumaraswamy": ("Kumaraswamy(concentration1: torch.Size([2]), concentration0: torch.Size([2]))", "Interval(lower_bound=0.0, upper_bound=1.0)", [0.948105, 0.726209, 0.320437, 0.83676]),
    "relaxed_bernoulli": ("RelaxedBernoulli()", "Interval(lower_bound=0.0, upper_bound=1.0)", [5.70815e-05, 0.0777468, 0.0359675, 0.0105189]),
    "relaxed_one_hot": ("RelaxedOneHotCategorical()", "Simplex()", [0.0381059, 0.649812, 0.312082, 0.0209631]),
    "multivariate_normal": ("MultivariateNormal(loc: torch.Size([3, 2]), covariance_matrix: torch.Size([3, 2, 2]))", "IndependentConstraint(Real(), 1)", [1.136, 0.447543, 0.125834, -0.542622]),
    "multivariate_precision": ("MultivariateNormal(loc: torch.Size([2]), precision_matrix: torch.Size([2, 2]))", "IndependentConstraint(Real(), 1)", [0.60722, -0.128776, 0.0672611, -0.647349]),
    "multivariate_tril": ("MultivariateNormal(loc: torch.Size([2, 2]), scale_tril: torch.Size([2, 2, 2]))", "IndependentConstraint(Real(), 1)", [1.60655, 0.576471, 0.0889781, -0.569229]),
    "lowrank": ("LowRankMultivariateNormal(loc: torch.Size([2]), cov_factor: torch.Size([2, 1]), cov_diag: torch.Size([2]))", "IndependentConstraint(Real(), 1)", [1.36619, -1.46629, 0.707489, -2.84759]),
    "mixture": ("MixtureSameFamily(\n  Categorical(probs: torch.Size([2]), logits: torch.Size([2])),\n  Normal(loc: torch.Size([2]), scale: torch.Size([2])))", "MixtureSameFamilyConstraint(Real())", [0.0889781, 0.0461824]),
    "mixture_vectors": ("MixtureSameFamily(\n  Categorical(probs: torch.Size([2]), logits: torch.Size([2])),\n  Independent(Normal(loc: torch.Size([2, 3]), scale: torch.Size([2, 3])), 1))", "MixtureSameFamilyConstraint(IndependentConstraint(Real(), 1))", [0.0889781, 0.386282, 2.04618, -1.43518]),
    "continuous_bernoulli": ("ContinuousBernoulli(probs: torch.Size([3]))", "Interval(lower_bound=0.0, upper_bound=1.0)", [0.0023103, 0.105569, 0.541545, 0.0147323]),
    "von_mises": ("VonMises(loc: torch.Size([2]), concentration: torch.Size([2]))", "Real()", [0.447899, -0.839222, -1.33305, -0.906137]),
    "lkj": ("LKJCholesky(concentration: torch.Size([2]))", "CorrCholesky()", [1.0, 0.0, 0.0, -0.337103]),
    "generalized_pareto": ("GeneralizedPareto(loc: torch.Size([3]), scale: torch.Size([3]), concentration: torch.Size([3]))", "Interval(lower_bound=tensor([0.5000, 0.0000, 1.0000]), upper_bound=tensor([inf, inf, 5.]))", [0.508549, 0.223136, 1.61969, 0.554799]),
    "transformed": ("TransformedDistribution()", "Real()", [-0.38135, -0.0871947, -0.0444597, 0.297577]),
}  # fmt: skip


@pytest.mark.parametrize("name", FAMILIES)
def test_family(name):
    shown, support, drawn = EXPECTED[name]
    d = FAMILIES[name](torch)
    assert (repr(d), repr(d.support)) == (shown, support)
    torch.manual_seed(3)
    samples = d.sample((2,))
    np.testing.assert_allclose(samples.reshape(-1)[:4].numpy(), drawn, rtol=2e-5, atol=1e-6)
    assert samples.shape == (2, *d.batch_shape, *d.event_shape) and bool(d.support.check(samples).all())
    assert d.log_prob(samples).shape == (2, *d.batch_shape)


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda d: pickle.loads(pickle.dumps(d))])
def test_copies_and_pickles(name, again):
    d = FAMILIES[name](torch)
    d.sample()
    twin = again(d)
    assert repr(twin) == repr(d) and twin.batch_shape == d.batch_shape and twin.event_shape == d.event_shape
    torch.manual_seed(3)
    drawn = d.sample((2,))
    torch.manual_seed(3)
    assert torch.equal(twin.sample((2,)), drawn)
    assert twin.expand((3, *d.batch_shape)).sample().shape == (3, *d.batch_shape, *d.event_shape)


@pytest.mark.parametrize("name", FAMILIES)
def test_subclasses(name):
    d = FAMILIES[name](torch)
    family = type(d)
    d.__class__ = type("Mine", (family,), {})
    assert type(d.expand((3, *d.batch_shape))).__name__ == "Mine"
    if name != "von_mises":  # which is made anew by its class
        d.__class__ = type("Mine", (family,), {"__init__": lambda self: None})
        with pytest.raises(NotImplementedError, match=r"Subclass Mine of .* that defines a custom __init__"):
            d.expand((3, *d.batch_shape))


class Halves(D.Distribution):
    """As people write one for PyTorch."""

    arg_constraints = {"scale": D.constraints.positive}

    def __init__(self, scale, validate_args=None):
        (self.scale,) = D.utils.broadcast_all(scale)
        super().__init__(self.scale.shape, validate_args=validate_args)

    @D.constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self):
        return D.constraints.interval(0.0, self.scale)

    def rsample(self, sample_shape=()):
        return torch.bernoulli(torch.full(self._extended_shape(sample_shape), 0.5)) * self.scale

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return torch.full_like(value, 0.5).log()


def test_a_family_of_ones_own():
    d = Halves(torch.tensor([1.0, 2.0]))
    assert repr(d) == "Halves(scale: torch.Size([2]))" and d.sample((3,)).shape == (3, 2)
    assert D.constraints.is_dependent(Halves.support) and Halves.support.event_dim == 0
    with pytest.raises(ValueError, match="to satisfy the constraint GreaterThan"):
        Halves(-1.0)
    with pytest.raises(ValueError, match="to be within the support"):
        d.log_prob(torch.tensor(3.0))
    for missing in (d.expand, d.cdf, d.icdf):
        with pytest.raises(NotImplementedError):
            missing(torch.tensor(1.0))
    with pytest.raises(NotImplementedError, match="does not implement mode"):
        d.mode  # noqa: B018
    with pytest.raises(NotImplementedError):
        d.mean  # noqa: B018


def test_transforms_remember_compare_and_rebuild():
    x = torch.tensor([0.5, 0.25])
    cached = D.ExpTransform(cache_size=1)
    y = cached(x)
    assert cached(x) is y and cached.inv(y) is x and cached.inv.inv is cached
    assert cached == D.ExpTransform() and cached != D.TanhTransform() and cached.inv == D.ExpTransform().inv
    affine = D.AffineTransform(1.0, torch.tensor([2.0, 3.0]), event_dim=1)
    again = affine.with_cache()
    assert again == affine and again is not affine and again.event_dim == 1 and again._cache_size == 1
    assert affine != D.AffineTransform(1.0, torch.tensor([2.0, 4.0]))
    chain = D.ComposeTransform([D.ExpTransform(), D.StickBreakingTransform()])
    assert (chain.domain.event_dim, chain.codomain.event_dim, chain.bijective) == (1, 1, True)
    assert chain.inv.inv is chain and repr(chain.inv.parts[1]) == "_InverseTransform(ExpTransform())"

    class Own(D.Transform):
        def __init__(self):
            super().__init__()

    with pytest.raises(NotImplementedError, match="with_cache is not implemented"):
        Own().with_cache()


def test_a_constraint_on_pieces_may_leave_a_rest():
    both = D.constraints.cat([D.constraints.positive, D.constraints.boolean], 0, [1, 1])
    assert both.check(torch.tensor([2.0, 1.0, 7.0])).tolist() == [True, True]
    with pytest.raises(RuntimeError):
        both.check(torch.tensor([2.0]))
