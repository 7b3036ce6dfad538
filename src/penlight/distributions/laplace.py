from ._continuous import Laplace as Laplace
