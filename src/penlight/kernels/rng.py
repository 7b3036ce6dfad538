"""Random numbers with PyTorch's CPU streams: an `Engine`, and functions that draw from it.

Each function takes the engine first and returns a fresh array. Given the same seed and the same sequence of calls it
makes the same draws as PyTorch, so the numbers are PyTorch's, and stay so after any mixture of calls:

>>> import numpy as np
>>> engine = Engine(0)
>>> uniform(engine, (2,), np.dtype("float32"))
array([0.4962566, 0.7682218], dtype=float32)
>>> randint(engine, (3,), 0, 10, np.dtype("int64"))
array([3, 0, 3])

PyTorch has a second version of a few kernels, which draws through MKL (`bernoulli_` with a number, hence dropout, and
`exponential_`, hence `multinomial`) and depends on the processor. The functions here are the other version, which it
uses on AMD's processors and wherever there is no MKL.

A tensor that is filled in place is filled in the order of its memory: see `in_memory_order`.
"""

from __future__ import annotations

from .rng_engine import DEFAULT_SEED, STATE_SIZE, Engine
from .rng_integers import randint, random, randperm
from .rng_normal import normal, normal_tensors
from .rng_rejection import binomial, dirichlet, poisson, standard_gamma
from .rng_samplers import cauchy, exponential, geometric, log_normal, multinomial
from .rng_uniform import bernoulli, bernoulli_each, in_memory_order, uniform

__all__ = [
    "DEFAULT_SEED",
    "STATE_SIZE",
    "Engine",
    "bernoulli",
    "bernoulli_each",
    "binomial",
    "cauchy",
    "dirichlet",
    "exponential",
    "geometric",
    "in_memory_order",
    "log_normal",
    "multinomial",
    "normal",
    "normal_tensors",
    "poisson",
    "randint",
    "random",
    "randperm",
    "standard_gamma",
    "uniform",
]
