from ._multivariate import Wishart as Wishart
from ._multivariate import _mvdigamma as _mvdigamma
