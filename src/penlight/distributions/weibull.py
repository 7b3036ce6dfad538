from ._continuous import Weibull as Weibull
