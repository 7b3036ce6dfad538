"""Records of the tables scattering, and what selection has."""

from __future__ import annotations

from recording import B, F, I, S, X, record

_IX = I([[0, 1, 1], [1, 0, 0]])
_C = "complex128"

record("scatter_reduce", *[S(X((2, 3)), 0, _IX, X((2, 3)), r, include_self=i) for r in ("sum", "prod", "mean", "amax", "amin") for i in (True, False)],
       S(X(()), 0, I(0), X(()), "sum"), S(F([[0.0, 2.0, 0.0], [1.0, 3.0, 4.0]]), 1, _IX, F([[0.0, 5.0, 2.0], [0.0, 0.0, 1.0]]), "prod"),
       S(I([[1, 2, 3]]), 1, I([[0, 0, 1]]), I([[5, 6, 8]]), "mean"), S(X((3, 3)), 0, I([[0, 2]]), X((2, 3)), "amax"), S(F([1.0, 1.0]), 0, I(0, 0), F([1.0, 1.0]), "amax"),
       errors=[(X((2, 3)), 0, _IX, X((2, 3)), "foo"), (X((2, 3)), 0, _IX, X((2, 3), "float32"), "sum"), (X((2, 3)), 0, X((2, 3)), X((2, 3)), "sum"),
               (X((2, 3)), 0, I([[5]]), X((1, 1)), "sum"), (X((2, 3)), 0, I(0), X((2, 3)), "sum")], second=False)  # fmt: skip
record("index_reduce", *[S(X((2, 3)), 0, I(0, 1, 0), X((3, 3)), r, include_self=i) for r in ("prod", "mean", "amax", "amin") for i in (True, False)],
       S(F([[0.0, 2.0], [1.0, 3.0]]), 1, I(0, 0), F([[0.0, 5.0], [2.0, 4.0]]), "prod"), errors=[(X((2, 3)), 0, I(0), X((1, 3)), "sum")], second=False)  # fmt: skip
record("index_copy", S(X((2, 3)), 0, I(1, 0), X((2, 3))), S(X((2, 3)), 1, I(0, 2), X((2, 2))), S(X(()), 0, I([0]), X(1)), S(X((2, 3), _C), -1, I([2]), X((2, 1), _C)),
       errors=[(X((2, 3)), 1, I(0, 2), X((2, 3))), (X((2, 3)), 1, X(2), X((2, 2))), (X((2, 3)), 1, I(0, 2), X((2, 2), "float32")), (X((2, 3)), 1, I(5, 7), X((2, 2))),
               (X((2, 3)), 1, I(-1, 1), X((2, 2))), (X((2, 3)), 1, I(0), X(2))])  # fmt: skip
record("index_fill", S(X((2, 3)), 1, I(0, 2), 5), S(X((2, 3)), 1, I(0, 2), X(())), S(X((2, 3)), 1, I(0, -2), 5.5), S(X(()), 0, I([0]), 5), S(I([[1, 2]]), 1, I(0), 5.5),
       S(X((2, 3)), 0, I(1), 2), errors=[(X((2, 3)), 1, I(0), X(3)), (X((2, 3)), 1, X(2), 5), (X((2, 3)), 1, I([5]), 5), (X((2, 3)), 1, _IX, 5)])  # fmt: skip
_M = B([[True, False, True], [False, True, False]])
record("masked_scatter", S(X((2, 3)), _M, X(3)), S(X((2, 3)), _M, X((2, 3))), S(X((2, 3)), B([True, False, True]), X((2, 3))), S(X(3), _M, X(5)), S(I([1, 2]), B([True, False]), I([9])),
       errors=[(X((2, 3)), _M, X(2)), (X((2, 3)), _IX, X(3)), (X((2, 3)), _M, X(3, "float32"))])  # fmt: skip
record("take", S(X((2, 3)), I(0, 5, -1)), S(X((2, 3)), _IX), S(X((2, 3), layout="transposed"), I(1, 2)), S(X((0,)), X((0,), "int64")), S(X(3), I(1)),
       errors=[(X((2, 3)), I([6])), (X((2, 3)), X(2)), (X((0,)), I(0, 1))])  # fmt: skip
record("put", S(X((2, 3)), I(0, 5), X(2)), S(X((2, 3)), I(0, 0, -1), X(3), True), S(X((2, 3)), I([[1, 2]]), X((1, 2))),
       errors=[(X((2, 3)), I(0, 1), X(3)), (X((2, 3)), I(0, 1), X(2, "float32")), (X((2, 3)), I([10]), X(1)), (X((2, 3)), X(2), X(2))])  # fmt: skip
record("take_along_dim", S(X((2, 3)), _IX, 1), S(X((2, 3)), _IX), S(X((2, 3)), I([[0], [2]]), 1), S(X((2, 3)), I([[0, 1]]), 1), errors=[(X((2, 3)), I(0, 1), 1), (X((2, 3)), X((2, 3)), 1)],
       node=False)  # fmt: skip
record("argwhere", S(_M), S(X(())), S(I([0, 3])), S(X((0, 2))), strides=False)

record(
    "gather",
    S(X((2, 3)), 1, I([[0, 2], [1, 1]])),
    S(X((2, 3)), 0, I([[1, 0]])),
    S(X(()), 0, I(0)),
    S(X((2, 3), _C), 1, _IX),
)
record(
    "scatter",
    S(X((2, 3)), 0, _IX, X((2, 3))),
    S(X((2, 3)), 1, I([[0], [2]]), 5.0),
    S(X((2, 3)), 1, I([[0], [2]]), value=5),
    S(X((3, 3)), 0, I([[0, 2]]), X((2, 3))),
    second=False,
)
record(
    "scatter_add", S(X((2, 3)), 0, _IX, X((2, 3))), S(X((3, 3)), 0, I([[0, 2]]), X((2, 3))), S(X(()), 0, I(0), X(()))
)
record(
    "index_select",
    S(X((2, 3)), 1, I(0, 2, 0)),
    S(X((2, 3)), 0, I(1)),
    S(X(()), 0, I([0])),
    S(X((2, 3), _C), 1, I(0, 2)),
)
record("index_add", S(X((2, 3)), 0, I(0, 0, 1), X((3, 3))), S(X((2, 3)), 1, I(0, 2), X((2, 2)), alpha=2))
record(
    "index_put",
    S(X((2, 3)), (I(0, 1), I(2, 0)), X(2)),
    S(X((2, 3)), (I(0, 0),), X(3), True),
    S(X((2, 3)), (_M,), X(())),
)
record(
    "masked_fill",
    S(X((2, 3)), _M, 5.0),
    S(X((2, 3)), _M, X(())),
    S(X((2, 3)), B([True, False, True]), 2),
    S(X(3), _M, 2),
)
record(
    "masked_select",
    S(X(()), B([True, False])),
    S(X(()), B(True)),
    S(X((2, 3)), _M),
    S(X(3), _M),
    S(X((2, 3)), B([True, False, True])),
    node=False,
)
record("nonzero", S(_M), S(X(())), S(I([0, 3]), as_tuple=True))
record(
    "where",
    S(_M, X((2, 3)), X(3)),
    S(_M, X(()), 0.0),
    S(_M, 1.0, X((2, 3))),
    S(_M),
    S(_M, X((2, 3), "float32"), X((2, 3))),
    S(_M, 1, 2),
    method=False,
)
record("tril", S(X((3, 3))), S(X((2, 3, 4)), 1), S(X((3, 2)), -1), errors=[(X(2),)])
record("triu", S(X((3, 3))), S(X((2, 3, 4)), 1), S(X((3, 2)), -1), errors=[(X(2),)])
record("diag", S(X(3)), S(X((3, 2))), S(X(2), 1), S(X((3, 3)), -1), node=False)
record("diag_embed", S(X((2, 3))), S(X((2, 3)), 1, 0, 2))
