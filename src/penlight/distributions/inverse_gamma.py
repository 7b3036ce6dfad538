from ._continuous import InverseGamma as InverseGamma
