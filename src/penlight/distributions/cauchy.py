from ._continuous import Cauchy as Cauchy
