"""One or two members of each family, built from either library: `make(t)` takes `penlight` or `torch`."""

from __future__ import annotations

from typing import Any

COV = [[2.0, 0.5], [0.5, 1.0]]

FAMILIES: dict[str, Any] = {
    "normal": lambda t: t.distributions.Normal(t.tensor([0.5, -1.0]), t.tensor([1.0, 2.0])),
    "normal_scalar": lambda t: t.distributions.Normal(0.5, 2.0),
    "laplace": lambda t: t.distributions.Laplace(t.tensor([0.5, -1.0]), 2.0),
    "cauchy": lambda t: t.distributions.Cauchy(t.tensor([0.5, -1.0]), 2.0),
    "uniform": lambda t: t.distributions.Uniform(t.tensor([0.5, -1.0]), 2.0),
    "exponential": lambda t: t.distributions.Exponential(t.tensor([0.5, 3.0])),
    "gamma": lambda t: t.distributions.Gamma(t.tensor([0.3, 1.5, 12.0]), t.tensor([1.0, 2.0, 0.5])),
    "chi2": lambda t: t.distributions.Chi2(t.tensor([1.0, 5.0])),
    "dirichlet": lambda t: t.distributions.Dirichlet(t.tensor([[0.5, 1.5, 3.0], [4.0, 1.0, 2.0]])),
    "beta": lambda t: t.distributions.Beta(t.tensor([0.5, 2.0]), t.tensor([1.5, 3.0])),
    "beta_scalar": lambda t: t.distributions.Beta(2.0, 3.0),
    "fisher": lambda t: t.distributions.FisherSnedecor(t.tensor([3.0, 5.0]), t.tensor([6.0, 3.0])),
    "student": lambda t: t.distributions.StudentT(t.tensor([1.5, 5.0, 0.5]), 0.5, 2.0),
    "poisson": lambda t: t.distributions.Poisson(t.tensor([0.5, 20.0])),
    "bernoulli": lambda t: t.distributions.Bernoulli(t.tensor([0.2, 0.5])),
    "bernoulli_logits": lambda t: t.distributions.Bernoulli(logits=t.tensor([0.2, -0.5])),
    "geometric": lambda t: t.distributions.Geometric(t.tensor([0.2, 0.9])),
    "binomial": lambda t: t.distributions.Binomial(10, t.tensor([0.2, 0.5])),
    "binomial_logits": lambda t: t.distributions.Binomial(40, logits=t.tensor([0.2, -0.5])),
    "negative_binomial": lambda t: t.distributions.NegativeBinomial(4, t.tensor([0.2, 0.5])),
    "categorical": lambda t: t.distributions.Categorical(t.tensor([[1.0, 2.0, 3.0], [1.0, 0.0, 1.0]])),
    "categorical_logits": lambda t: t.distributions.Categorical(logits=t.tensor([0.5, -1.0, 2.0])),
    "one_hot": lambda t: t.distributions.OneHotCategorical(t.tensor([[1.0, 2.0, 3.0], [1.0, 0.5, 1.0]])),
    "straight_through": lambda t: t.distributions.OneHotCategoricalStraightThrough(t.tensor([1.0, 2.0, 3.0])),
    "multinomial": lambda t: t.distributions.Multinomial(5, t.tensor([[1.0, 2.0, 3.0], [1.0, 0.5, 1.0]])),
    "independent": lambda t: t.distributions.Independent(t.distributions.Normal(t.zeros(2, 3), t.ones(3)), 1),
    "log_normal": lambda t: t.distributions.LogNormal(t.tensor([0.5, -1.0]), 0.5),
    "logistic_normal": lambda t: t.distributions.LogisticNormal(t.tensor([0.5, -1.0]), t.tensor([0.5, 2.0])),
    "half_normal": lambda t: t.distributions.HalfNormal(t.tensor([0.5, 2.0])),
    "half_cauchy": lambda t: t.distributions.HalfCauchy(t.tensor([0.5, 2.0])),
    "inverse_gamma": lambda t: t.distributions.InverseGamma(t.tensor([0.5, 3.0]), t.tensor([1.0, 2.0])),
    "gumbel": lambda t: t.distributions.Gumbel(t.tensor([0.5, -1.0]), t.tensor([1.0, 2.0])),
    "gumbel_scalar": lambda t: t.distributions.Gumbel(0.5, 2.0),
    "pareto": lambda t: t.distributions.Pareto(t.tensor([0.5, 1.0]), t.tensor([1.0, 3.0])),
    "weibull": lambda t: t.distributions.Weibull(t.tensor([0.5, 1.0]), t.tensor([1.5, 3.0])),
    "kumaraswamy": lambda t: t.distributions.Kumaraswamy(t.tensor([0.5, 2.0]), t.tensor([1.5, 3.0])),
    "relaxed_bernoulli": lambda t: t.distributions.RelaxedBernoulli(t.tensor(0.7), t.tensor([0.2, 0.6])),
    "relaxed_one_hot": lambda t: t.distributions.RelaxedOneHotCategorical(t.tensor(0.7), t.tensor([0.2, 0.6, 0.2])),
    "multivariate_normal": lambda t: t.distributions.MultivariateNormal(t.zeros(3, 2), t.tensor(COV)),
    "multivariate_precision": lambda t: t.distributions.MultivariateNormal(t.zeros(2), precision_matrix=t.tensor(COV)),
    "multivariate_tril": lambda t: t.distributions.MultivariateNormal(
        t.zeros(2), scale_tril=t.tensor([[[2.0, 0.0], [0.5, 1.0]], [[1.0, 0.0], [0.5, 1.0]]])
    ),
    "lowrank": lambda t: t.distributions.LowRankMultivariateNormal(
        t.tensor([0.5, -1.0]), t.tensor([[1.0], [0.5]]), t.tensor([0.5, 2.0])
    ),
    "mixture": lambda t: t.distributions.MixtureSameFamily(
        t.distributions.Categorical(t.tensor([0.3, 0.7])), t.distributions.Normal(t.tensor([0.0, 2.0]), 1.0)
    ),
    "mixture_vectors": lambda t: t.distributions.MixtureSameFamily(
        t.distributions.Categorical(t.tensor([0.3, 0.7])),
        t.distributions.Independent(t.distributions.Normal(t.tensor([[0.0, 1.0, 2.0], [2.0, 0.0, 1.0]]), 1.0), 1),
    ),
    "continuous_bernoulli": lambda t: t.distributions.ContinuousBernoulli(t.tensor([0.2, 0.5, 0.9])),
    "von_mises": lambda t: t.distributions.VonMises(t.tensor([0.5, -1.0]), t.tensor([1.0, 9.0])),
    "lkj": lambda t: t.distributions.LKJCholesky(3, t.tensor([0.5, 2.0])),
    "generalized_pareto": lambda t: t.distributions.GeneralizedPareto(
        t.tensor([0.5, 0.0, 1.0]), 2.0, t.tensor([0.2, 0.0, -0.5])
    ),
    "transformed": lambda t: t.distributions.TransformedDistribution(
        t.distributions.Normal(t.zeros(2), t.ones(2)),
        [t.distributions.SigmoidTransform().inv.inv, t.distributions.AffineTransform(1.0, -2.0)],
    ),
}
