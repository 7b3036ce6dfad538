from ._discrete import Multinomial as Multinomial
