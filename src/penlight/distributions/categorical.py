from ._discrete import Categorical as Categorical
