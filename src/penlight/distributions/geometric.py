from ._discrete import Geometric as Geometric
