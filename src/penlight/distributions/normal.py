from ._continuous import Normal as Normal
