from ._discrete import Bernoulli as Bernoulli
