from ._continuous import HalfNormal as HalfNormal
