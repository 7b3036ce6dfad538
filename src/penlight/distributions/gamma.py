from ._continuous import Gamma as Gamma
from ._grads import _standard_gamma as _standard_gamma
