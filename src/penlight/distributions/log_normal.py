from ._continuous import LogNormal as LogNormal
