from ._multivariate import LowRankMultivariateNormal as LowRankMultivariateNormal
from ._multivariate import _batch_mahalanobis as _batch_mahalanobis
from ._multivariate import _batch_mv as _batch_mv
from .utils import _standard_normal as _standard_normal
