from ._discrete import (
    ExpRelaxedCategorical as ExpRelaxedCategorical,
    RelaxedOneHotCategorical as RelaxedOneHotCategorical,
)
