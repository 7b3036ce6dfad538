from ._discrete import LogitRelaxedBernoulli as LogitRelaxedBernoulli
from ._discrete import RelaxedBernoulli as RelaxedBernoulli
