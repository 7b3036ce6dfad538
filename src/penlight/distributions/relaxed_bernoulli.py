from ._discrete import LogitRelaxedBernoulli as LogitRelaxedBernoulli, RelaxedBernoulli as RelaxedBernoulli
