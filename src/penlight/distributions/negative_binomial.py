from ._discrete import NegativeBinomial as NegativeBinomial
