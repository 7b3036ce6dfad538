from ._discrete import ContinuousBernoulli as ContinuousBernoulli
