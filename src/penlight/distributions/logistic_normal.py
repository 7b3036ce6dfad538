from ._multivariate import LogisticNormal as LogisticNormal
