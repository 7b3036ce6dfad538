from ._continuous import Uniform as Uniform
