from ._continuous import Gumbel as Gumbel
