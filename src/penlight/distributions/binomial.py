from ._discrete import Binomial as Binomial
