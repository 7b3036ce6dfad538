from ._multivariate import Wishart as Wishart, _mvdigamma as _mvdigamma
