from ._multivariate import LKJCholesky as LKJCholesky
