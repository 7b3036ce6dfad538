from ._multivariate import MultivariateNormal as MultivariateNormal
from ._multivariate import _batch_mahalanobis as _batch_mahalanobis
from ._multivariate import _batch_mv as _batch_mv
from ._multivariate import _precision_to_scale_tril as _precision_to_scale_tril
