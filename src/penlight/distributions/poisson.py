from ._discrete import Poisson as Poisson
