from ._continuous import VonMises as VonMises
