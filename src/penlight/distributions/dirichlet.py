from ._continuous import Dirichlet as Dirichlet
