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

# Sizes at which the method changes. All methods make the same draws.
# Up to this many draws are slices of the engine's block of 624, whose samples are computed once.
MOST_FROM_BLOCK = 256
# From this many rejection samples on, draws are made in advance for all of them; below, for one sample at a time.
LEAST_FOR_ALL = 64
# Draws per batch of gamma trials in NumPy. A trial that takes no uniform number invalidates the trials after it, so longer batches waste work.
MOST_AT_ONCE = 2048
# From this many draws on, samples of equal parameters are computed in NumPy, with about sixty calls.
LEAST_AT_ONCE = 512
# Up to this many swaps of a permutation are done one by one in Python; for more, sorting is faster.
FEW_SWAPS = 512
