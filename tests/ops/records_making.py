"""Records of functions that make tensors or are seldom met: windows, checksums, older norms."""

from __future__ import annotations

from recording import B, I, S, X, record

for _name in ("hann_window", "hamming_window", "blackman_window", "bartlett_window", "kaiser_window"):
    record(_name, S(5), S(5, False), S(4, dtype="dtype:float64"), S(1), S(0), errors=[(-1,)])
for _name in ("bartlett", "blackman", "cosine", "exponential", "gaussian", "general_hamming", "hamming", "hann", "kaiser", "nuttall"):
    record("signal.windows." + _name, S(5), S(6, sym=False), S(4, dtype="dtype:float64"), S(1), S(0), errors=[(-1,), S(5, dtype="dtype:int32")])
record("signal.windows.general_cosine", S(5, a=[0.5, 0.3, 0.2]), errors=[S(5, a=[])])
record("hash_tensor", S(X((2, 3), grad=False)), S(X((2, 3), "float32", grad=False), 1), S(I(1, -2, 3)), S(B([True, False])), S(X((2, 3), grad=False), 0, keepdim=True))
record("nonzero_static", S(I([0, 3, 5]), size=2), S(B([[True, False]]), size=3, fill_value=7), errors=[S(I([1]), size=-1)])
record("frobenius_norm", S(X((2, 3)), (0, 1)), S(X((2, 3)), 1, True), node=False)
record("norm_except_dim", S(X((2, 3))), S(X((2, 3)), 2, 1), S(X((2, 3)), 2, -1), node=False)
record("empty_permuted", S((2, 3), (1, 0)), S((2, 3, 4), (2, 0, 1), dtype="dtype:int64"), equal=False)
