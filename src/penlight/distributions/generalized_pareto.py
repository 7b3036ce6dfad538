from ._continuous import GeneralizedPareto as GeneralizedPareto
