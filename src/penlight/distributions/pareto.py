from ._continuous import Pareto as Pareto
