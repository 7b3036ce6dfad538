"""Records of functions that make tensors or are seldom met: windows, checksums, older norms."""

from __future__ import annotations

from recording import B, I, S, X, record

record(
    "hash_tensor",
    S(X((2, 3), grad=False)),
    S(X((2, 3), "float32", grad=False), 1),
    S(I(1, -2, 3)),
    S(B([True, False])),
    S(X((2, 3), grad=False), 0, keepdim=True),
)
record(
    "nonzero_static", S(I([0, 3, 5]), size=2), S(B([[True, False]]), size=3, fill_value=7), errors=[S(I([1]), size=-1)]
)
record("frobenius_norm", S(X((2, 3)), (0, 1)), S(X((2, 3)), 1, True), node=False)
record("norm_except_dim", S(X((2, 3))), S(X((2, 3)), 2, 1), S(X((2, 3)), 2, -1), node=False)
record("empty_permuted", S((2, 3), (1, 0)), S((2, 3, 4), (2, 0, 1), dtype="dtype:int64"), equal=False)
record("nuclear_norm", S(X((3, 4))), S(X((2, 3, 4)), (1, 2), True), node=False)
record("native_norm", S(X((2, 3))), S(X((2, 3)), 3), node=False)
record("spmm", S(X((2, 3)), X((3, 4))))
record("dsmm", S(X((2, 3)), X((3, 4))))
record("hsmm", S(X((2, 3)), X((3, 4))))
record("slice_inverse", S(X(2), X(4, grad=False), 0, 1, 3), S(X((2, 2)), X((2, 4), grad=False), 1, 0, 4, 2), node=False)
