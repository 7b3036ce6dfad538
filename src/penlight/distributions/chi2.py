from ._continuous import Chi2 as Chi2
