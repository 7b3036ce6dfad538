"""Records of the tables arrange, products, copy_variants."""

from __future__ import annotations

from recording import B, F, I, S, X, record

_C = "complex128"

# ----- arrange ------------------------------------------------------------------------------------------------------

record("rot90", S(X((2, 3))), S(X((2, 3)), 2), S(X((2, 3)), -1, (1, 0)), S(X((2, 3, 4)), 1, [1, 2]), S(X((2, 3)), 0), S(I([[1, 2]]), 3),
       errors=[(X((2, 3)), 1, (0, 0)), (X((2, 3)), 1, (0,)), (X(2), 1), (X((2, 3)), 1, (0, 3))])  # fmt: skip
record("fliplr", S(X((2, 3))), S(I([[1, 2]])), errors=[(X(2),)])
record("flipud", S(X((2, 3))), S(X(3)), errors=[(X(()),)])
record("repeat_interleave", S(X((2, 3)), 2), S(X((2, 3)), 2, 1), S(X((2, 3)), I(1, 2), 0), S(I(1, 2, 0)), S(X((2, 3)), I(2), dim=0), S(X(()), 3), S(X((2, 3)), 0, 0),
       S(X((2, 3)), I(1, 2), dim=0, output_size=3), S(X((2, 3), layout="transposed"), 2, 0),
       errors=[(X((2, 3)), I(1, 2, 3), 0), (X((2, 3)), X(2), 0), (X((2, 3)), -1), (X((2, 3)), I(-1, 2), 0)])  # fmt: skip
record("meshgrid", S(X(2), X(3), indexing="ij"), S([X(2), X(3)], indexing="xy"), S(X(2), X(3), X(4), indexing="xy"), S(X(()), X(2), indexing="ij"), S(X(2), indexing="ij"),
       S(X(2), X(3)), errors=[S(X(2), indexing="foo"), S(), S(X(2), I(1, 2), indexing="ij")], method=False)  # fmt: skip
record(
    "cartesian_prod",
    S(X(2), X(3)),
    S(X(2)),
    S(I(1, 2), I(3), I(4, 5)),
    errors=[(X((2, 3)),), (X(2), I(1))],
    method=False,
)
record("combinations", S(X(4)), S(X(3), 3, True), S(I(1, 2, 3), 2, with_replacement=True), S(X(3), 1), S(X(3), 0), S(X(3), 5), errors=[(X((2, 3)),), (X(3), -1)],
       method=False)  # fmt: skip
record(
    "tril_indices",
    S(2, 3),
    S(3, 3, 1),
    S(3, 3, -1, dtype="dtype:int32"),
    S(0, 3),
    errors=[(-1, 3), (3, -1)],
    strides=False,
)
record("triu_indices", S(2, 3), S(3, 3, 1), S(3, 3, -1, dtype="dtype:int32"), S(0, 3), errors=[(-1, 3)], strides=False)
record(
    "unravel_index",
    S(I(1, 5), (2, 3)),
    S(I([[0, 3]]), (2, 2)),
    S(I(1), 6),
    S(I(6, -1), (2, 3)),
    errors=[(X(2), (2, 3)), (I(1), (2, -1))],
)
record("broadcast_tensors", S(X((2, 1)), X(3)), S(X((2, 3)), X(())), S(X(2), I(1, 2)), errors=[(X(2), X(3))])
record(
    "broadcast_shapes",
    S((2, 1), (3,)),
    S(2, (3, 2)),
    S(),
    S((1,), (0,)),
    errors=[((2,), (3,)), ((2, 1), (3,), 4), ((-1,), (3,))],
)
for _name in ("atleast_1d", "atleast_2d", "atleast_3d"):
    record(_name, S(X(())), S(X(2)), S(X((2, 3))), S(X((1, 2, 3))), S(X(()), X(2)), S([X(()), X((2, 3))]), node=False)
_VECTORS = [S([X(2), X(2)]), S([X((2, 3)), X((2, 3))]), S([X(()), X(())]), S([X(2), X(2, "int64")])]
record("hstack", _VECTORS, S([X((2, 1)), X((2, 3))]), errors=[([],)])
record("vstack", _VECTORS, S([X(3), X((2, 3))]), errors=[([],)])
record("dstack", _VECTORS)
record("column_stack", _VECTORS, S([X(2), X((2, 3))]))
record("row_stack", _VECTORS)
record(
    "block_diag",
    S(X((2, 3)), X((1, 2))),
    S(X(2), X(()), I(1, 2)),
    S(X((2, 3))),
    S(),
    S(X((0, 2)), X((1, 1))),
    errors=[(X((1, 2, 3)),)],
)
record("diagflat", S(X(3)), S(X((2, 2))), S(X(()), 1), S(X(2), -1))
record("hsplit", S(X((2, 4)), 2), S(X(4), 2), S(X((2, 4)), [1, 3]), errors=[(X((2, 3)), 2), (X(()), 2)])
record("vsplit", S(X((4, 2)), 2), S(X((4, 2)), (1,)), errors=[(X(3), 1), (X((3, 2)), 2)])
record("dsplit", S(X((1, 2, 4)), 2), errors=[(X((2, 3)), 1)])

# ----- products -----------------------------------------------------------------------------------------------------

record(
    "vdot",
    S(X(3), X(3)),
    S(X(3, _C), X(3, _C)),
    S(I(1, 2), I(3, 4)),
    errors=[(X((2, 2)), X((2, 2))), (X(3), X(3, "float32")), (X(2), X(3))],
)
record(
    "inner",
    S(X(3), X(3)),
    S(X((2, 3)), X((4, 3))),
    S(X((2, 3)), X(())),
    S(X((2, 2, 3)), X(3)),
    S(X((2, 3), _C), X(3, _C)),
    errors=[(X((2, 3)), X((2, 2)))],
    node=False,
)
record("cross", S(X((2, 3)), X((2, 3)), 1), S(X((3, 2)), X((3, 2)), dim=0), S(X((2, 3), _C), X((2, 3), _C), dim=1), S(X((2, 3)), X((1, 3)), dim=-1), S(X((3, 3)), X((3, 3))),
       S(I([1, 0, 0]), I([0, 1, 0]), dim=0), errors=[S(X((2, 3)), X((2, 3)), dim=0), (X((2, 3)), X(3)), (X((2, 2)), X((2, 2)))], strides=False)  # fmt: skip
record(
    "trace",
    S(X((3, 3))),
    S(X((2, 4))),
    S(X((0, 3))),
    S(I([[1, 2], [3, 4]])),
    S(X((3, 3), _C)),
    errors=[(X(3),), (B([[True]]),)],
)
record(
    "kron",
    S(X((2, 3)), X((2, 2))),
    S(X(2), X((2, 3))),
    S(X(()), X(3)),
    S(X((2, 3)), I([[1, 2]])),
    S(X((2, 2), _C), X(2, _C)),
    S(X((2, 3), layout="transposed"), X(2)),
)
record("tensordot", S(X((2, 3)), X((3, 4)), 1), S(X((2, 3)), X((2, 3)), 2), S(X((2, 3, 4)), X((4, 3)), ([1, 2], [1, 0])), S(X((2, 3)), X((4,)), 0), S(X((2, 3)), X((3, 2)), ([-1], [0])),
       S(X((2, 3), _C), X((3, 4), _C), 1), S(X((1, 1), "int32"), X((3, 4), "int32"), ([1], [0])), errors=[(X((2, 3)), X((2, 3)), 3), (X((2, 3)), X((2, 3)), -1), (X((2, 3)), X((2, 3)), ([0], [1])), (X((2, 3)), X((2, 3), "float32"), 2)],
       node=False, strides=False)  # fmt: skip
record("chain_matmul", S(X((2, 3)), X((3, 4)), X((4, 1))), S(X((2, 3)), X((3, 2))), node=False)
record(
    "vander",
    S(X(3)),
    S(X(3), 4, True),
    S(I(1, 2, 3), 2),
    S(X(3), 1),
    S(X(3), 0),
    S(F([0.0, 2.0])),
    errors=[(X((2, 3)),), (X(3), -1)],
    node=False,
    strides=False,
)
record(
    "addbmm",
    S(X((2, 4)), X((3, 2, 3)), X((3, 3, 4))),
    S(X(4), X((3, 2, 3)), X((3, 3, 4)), beta=0.5, alpha=2),
    S(X((2, 2), _C), X((1, 2, 3), _C), X((1, 3, 2), _C)),
)
record(
    "addmv",
    S(X(2), X((2, 3)), X(3)),
    S(X(2), X((2, 3)), X(3), beta=0.5, alpha=2),
    S(X(()), X((2, 3)), X(3)),
    S(X(2, _C), X((2, 3), _C), X(3, _C)),
)
record(
    "addr",
    S(X((2, 3)), X(2), X(3)),
    S(X(3), X(2), X(3), beta=0.5, alpha=2),
    S(X((2, 3), _C), X(2, _C), X(3, _C)),
    S(I([[1, 2]]), I([3]), I(4, 5)),
)
record(
    "addmm",
    S(X((2, 4)), X((2, 3)), X((3, 4))),
    S(X(4), X((2, 3)), X((3, 4)), beta=0.5, alpha=2),
    S(X((2, 2), _C), X((2, 3), _C), X((3, 2), _C)),
)
record("baddbmm", S(X((2, 2, 4)), X((2, 2, 3)), X((2, 3, 4))), S(X(4), X((2, 2, 3)), X((2, 3, 4)), beta=0.5, alpha=2))
record("outer", S(X(2), X(3)), S(X(2, _C), X(3, _C)), S(I(1, 2), X(3)), errors=[(X((2, 2)), X(2))])
record("ger", S(X(2), X(3)), method=True)

# ----- replaced -----------------------------------------------------------------------------------------------------

_WRONG = "expected src to have a size equal to the slice of self."
record("select_scatter", S(X((2, 3)), X(3), 0, 1), S(X((2, 3)), X(2), -1, -1), S(X((2, 3), layout="transposed"), X(3), 0, 0), errors=[(X((2, 3)), X(2), 0, 1), (X((2, 3)), X(3), 0, 5)],
       strides=False)  # fmt: skip
record(
    "slice_scatter",
    S(X((2, 3)), X((2, 2)), 1, 0, 2),
    S(X((2, 3)), X((2, 2)), 1, -2),
    S(X((2, 3)), X((2, 3))),
    S(X((4, 3)), X((2, 3)), 0, 0, 4, 2),
    errors=[(X((2, 3)), X((1, 3)))],
)
record(
    "diagonal_scatter",
    S(X((2, 3)), X(2)),
    S(X((2, 3)), X(2), 1),
    S(X((2, 3, 3)), X((2, 3)), 0, 1, 2),
    errors=[(X((2, 3)), X(3))],
)
# PyTorch's gradient for the first argument of as_strided_scatter is wrong (its own gradcheck says so); ours is not.
record(
    "as_strided_scatter",
    S(X((2, 3), grad=False), X(2), (2,), (2,), 1),
    S(X(6, grad=False), X((2, 2)), (2, 2), (3, 1)),
    strides=False,
)
record("narrow_copy", S(X((2, 3)), 1, 0, 2), S(X((2, 3)), 1, -2, 1), errors=[(X((2, 3)), 1, 2, 3)])
record("view_copy", S(X((2, 3)), (6,)), S(X((2, 3)), (3, -1)))
record("expand_copy", S(X(3), (2, 3)))
record("t_copy", S(X((2, 3))))
record("permute_copy", S(X((2, 3, 4)), (2, 0, 1)))
record("transpose_copy", S(X((2, 3)), 0, 1))
record("select_copy", S(X((2, 3)), 0, 1))
record("slice_copy", S(X((4, 3)), 0, 1, 4, 2), S(X((4, 3))))
record("unbind_copy", S(X((2, 3))), S(X((2, 3)), 1))
record("split_copy", S(X((4, 3)), 2))
record("split_with_sizes_copy", S(X((4, 3)), [1, 3]))
record("squeeze_copy", S(X((1, 3))), S(X((1, 3)), 0))
record("unsqueeze_copy", S(X(3), 0))
record("diagonal_copy", S(X((2, 3))))
record("alias_copy", S(X((2, 3))))
record("as_strided_copy", S(X((2, 3)), (2,), (1,)))
record("view_as_real_copy", S(X(3, _C)))
record("view_as_complex_copy", S(X((3, 2))))
record("unfold_copy", S(X((2, 5)), 1, 2, 2))
record("unsafe_chunk", S(X((4, 3)), 2), S(X((4, 3)), 2, 1))
record("unsafe_split", S(X((4, 3)), 2), S(X((4, 3)), 3, dim=0))
record("unsafe_split_with_sizes", S(X((4, 3)), [1, 3]))
record("Tensor.fill_diagonal_", S(X((3, 3), grad=False), 5.0), S(X((5, 2), grad=False), 1, True), S(X((2, 5), grad=False), 1), S(X((3, 3, 3), grad=False), 1),
       errors=[(X(3, grad=False), 1), (X((2, 3, 3), grad=False), 1)])  # fmt: skip

# The old orders of arguments, with the factors in front.
record("Tensor.addmm", S(X((2, 4)), 0.5, X((2, 3)), X((3, 4))), S(X((2, 4)), 0.5, 2, X((2, 3)), X((3, 4))))
record("Tensor.addmv", S(X(2), 0.5, 2, X((2, 3)), X(3)))
record("Tensor.add", S(X(2), 2, X(2)))
record("Tensor.addcmul_", S(X(2, grad=False), 2, X(2, grad=False), X(2, grad=False)))
