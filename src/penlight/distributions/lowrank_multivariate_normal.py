from ._multivariate import (
    LowRankMultivariateNormal as LowRankMultivariateNormal,
    _batch_mahalanobis as _batch_mahalanobis,
    _batch_mv as _batch_mv,
)
from .utils import _standard_normal as _standard_normal
