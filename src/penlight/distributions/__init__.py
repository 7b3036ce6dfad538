"""Probability distributions: samples, densities, entropies, divergences and transforms.

>>> import penlight as torch
>>> normal = torch.distributions.Normal(0.0, 1.0)
>>> normal.log_prob(torch.tensor(0.0))
tensor(-0.9189)
"""

from __future__ import annotations

from importlib import import_module
from sys import modules

from . import _continuous, _discrete, _multivariate, constraints as constraints, transforms
from ._continuous import *  # noqa: F403
from ._discrete import *  # noqa: F403
from ._multivariate import *  # noqa: F403
from .constraint_registry import biject_to, transform_to
from .distribution import Distribution
from .exp_family import ExponentialFamily
from .independent import Independent
from .kl import kl_divergence, register_kl
from .mixture_same_family import MixtureSameFamily
from .transformed_distribution import TransformedDistribution
from .transforms import *  # noqa: F403

__all__ = [
    "Distribution", "ExponentialFamily", "Independent", "MixtureSameFamily", "TransformedDistribution", "biject_to",
    "kl_divergence", "register_kl", "transform_to",
]  # fmt: skip
__all__ += _continuous.__all__
__all__ += _discrete.__all__
__all__ += _multivariate.__all__
__all__ += transforms.__all__

# Each family has a module of its own in PyTorch, which is what pickles name.
_FAMILIES = """
bernoulli beta binomial categorical cauchy chi2 continuous_bernoulli dirichlet exponential fishersnedecor gamma
generalized_pareto geometric gumbel half_cauchy half_normal inverse_gamma kumaraswamy laplace lkj_cholesky
log_normal logistic_normal lowrank_multivariate_normal multinomial multivariate_normal negative_binomial normal
one_hot_categorical pareto poisson relaxed_bernoulli relaxed_categorical studentT uniform von_mises weibull wishart
"""
for _family in map(import_module, [f"{__name__}.{_name}" for _name in _FAMILIES.split()]):
    for _class in [
        c for c in vars(_family).values() if isinstance(c, type) and c.__module__.startswith(f"{__name__}._")
    ]:
        _family.__file__ = modules[_class.__module__].__file__  # where `inspect` looks for the source
        _class.__module__ = _family.__name__
