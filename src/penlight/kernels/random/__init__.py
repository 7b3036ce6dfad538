"""Random numbers with PyTorch's CPU streams: an `Engine` (engine.py), and functions that draw from it, a file for each kind.

Each function takes the engine first and returns a fresh array. Given the same seed and the same sequence of calls it
makes the same draws as PyTorch, so the numbers are PyTorch's, and stay so after any mixture of calls:

>>> import numpy as np
>>> from penlight.kernels.random.engine import Engine
>>> from penlight.kernels.random.integers import randint
>>> from penlight.kernels.random.uniform import uniform
>>> engine = Engine(0)
>>> uniform(engine, (2,), np.dtype("float32"))
array([0.4962566, 0.7682218], dtype=float32)
>>> randint(engine, (3,), 0, 10, np.dtype("int64"))
array([3, 0, 3])

PyTorch has a second version of a few kernels, which draws through MKL (`bernoulli_` with a number, hence dropout, and
`exponential_`, hence `multinomial`) and depends on the processor. The functions here are the other version, which it
uses on AMD's processors and wherever there is no MKL.

A tensor that is filled in place is filled in the order of its memory: see `in_memory_order` in uniform.py.
"""

# How many draws are made ahead. Each way gives the same draws.
MOST_FROM_BLOCK = (
    256  # at a time, that are taken from the engine's block of 624, whose samples are computed once and kept
)
LEAST_FOR_ALL = (
    64  # samples by rejection: draws are made for all that are left, at most for so many each; fewer go one by one
)
MOST_AT_ONCE = (
    2048  # for trials that NumPy makes at once, half of which are made again where one takes no uniform number
)
LEAST_AT_ONCE = 512  # for samples of equal parameters that NumPy makes at once, by some sixty calls
FEW_SWAPS = 512  # of a permutation that Python makes one after the other; for more, sorting them takes less time
