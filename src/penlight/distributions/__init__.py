"""Probability distributions: samples, densities, entropies, divergences and transforms.

>>> import penlight as torch
>>> normal = torch.distributions.Normal(0.0, 1.0)
>>> normal.log_prob(torch.tensor(0.0))
tensor(-0.9189)
"""

from __future__ import annotations

from .._common.arguments import explain as _explain
from .._common.module_table import declare_modules
from . import _continuous, _discrete, _multivariate, constraints as constraints, transforms
from ._continuous import *  # noqa: F403
from ._discrete import *  # noqa: F403
from ._multivariate import *  # noqa: F403
from .constraint_registry import biject_to, transform_to
from .distribution import Distribution, ExponentialFamily
from .kl import kl_divergence, register_kl
from .mixture_same_family import MixtureSameFamily
from .transformed_distribution import Independent, TransformedDistribution
from .transforms import *  # noqa: F403

__all__ = [
    "Distribution", "ExponentialFamily", "Independent", "MixtureSameFamily", "TransformedDistribution", "biject_to",
    "kl_divergence", "register_kl", "transform_to",
]  # fmt: skip
__all__ += _continuous.__all__
__all__ += _discrete.__all__
__all__ += _multivariate.__all__
__all__ += transforms.__all__

# PyTorch has one module per family, and pickles refer to these modules.
declare_modules(
    __name__,
    _continuous={
        "beta": "Beta", "cauchy": "Cauchy", "chi2": "Chi2", "dirichlet": "Dirichlet", "exponential": "Exponential",
        "fishersnedecor": "FisherSnedecor", "gamma": "Gamma", "generalized_pareto": "GeneralizedPareto", "gumbel": "Gumbel",
        "half_cauchy": "HalfCauchy", "half_normal": "HalfNormal", "inverse_gamma": "InverseGamma", "kumaraswamy": "Kumaraswamy",
        "laplace": "Laplace", "log_normal": "LogNormal", "normal": "Normal", "pareto": "Pareto", "studentT": "StudentT",
        "uniform": "Uniform", "von_mises": "VonMises", "weibull": "Weibull",
    },
    _discrete={
        "bernoulli": "Bernoulli", "binomial": "Binomial", "categorical": "Categorical",
        "continuous_bernoulli": "ContinuousBernoulli", "geometric": "Geometric", "multinomial": "Multinomial",
        "negative_binomial": "NegativeBinomial", "one_hot_categorical": "OneHotCategorical OneHotCategoricalStraightThrough",
        "poisson": "Poisson", "relaxed_bernoulli": "LogitRelaxedBernoulli RelaxedBernoulli",
        "relaxed_categorical": "ExpRelaxedCategorical RelaxedOneHotCategorical",
    },
    distribution={"exp_family": "ExponentialFamily"},
    transformed_distribution={"independent": "Independent"},
    _multivariate={
        "lkj_cholesky": "LKJCholesky", "logistic_normal": "LogisticNormal", "wishart": "Wishart",
        "lowrank_multivariate_normal": "LowRankMultivariateNormal", "multivariate_normal": "MultivariateNormal",
    },
)  # fmt: skip
_explain(globals())
