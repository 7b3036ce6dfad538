from ._continuous import Exponential as Exponential
