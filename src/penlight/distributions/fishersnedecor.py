from ._continuous import FisherSnedecor as FisherSnedecor
