"""Records of random functions: with the same seed they draw the same numbers as PyTorch."""

from __future__ import annotations

from recording import I, S, X, record

_OPTIONS = {"smooth": False, "dual": False, "inplace": False}
_P = X((2, 3), low=0.1, high=0.9)
for _name in ("rand", "randn"):
    record(
        _name,
        S(2, 3),
        S((20,)),
        S(0),
        S(3, dtype="dtype:float64"),
        S(2, requires_grad=True),
        errors=[S(-1), S(2, dtype="dtype:int64")],
        **_OPTIONS,
    )
for _name in ("rand_like", "randn_like"):
    record(_name, S(X((2, 3))), S(X((4, 5), "float32")), S(I(1, 2), dtype="dtype:float32"), **_OPTIONS)
record(
    "randint",
    S(5, (2, 3)),
    S(2, 9, (20,)),
    S(5, (3,), dtype="dtype:int32"),
    S(5, (2,), dtype="dtype:float32"),
    errors=[S(0, (2,)), S(3, 1, (2,))],
    **_OPTIONS,
)
record("randint_like", S(X((2, 3)), 5), S(I(1, 2), 2, 9), **_OPTIONS)
record("randperm", S(5), S(0), S(4, dtype="dtype:int32"), errors=[S(-1)], **_OPTIONS)
record(
    "normal",
    S(0.0, 1.0, (2, 3)),
    S(X((2, 3)), 0.5),
    S(X((2, 3)), X((2, 3), low=0.1)),
    S(1.0, X(3, low=0.1)),
    errors=[S(0.0, -1.0, (2,))],
    **_OPTIONS,
)
record("bernoulli", S(_P), S(X((2, 3), "float32", 0.1, 0.9)), errors=[(X(2, low=1.5),)], **_OPTIONS)
record(
    "multinomial",
    S(X(4, low=0.1, grad=False), 2),
    S(X((2, 4), low=0.1, grad=False), 3, True),
    errors=[(X(4, low=0.1, grad=False), 5), (X(4, low=-2, high=-1, grad=False), 1)],
    **_OPTIONS,
)
record("poisson", S(X((2, 3), low=0.5, high=9, grad=False)), **_OPTIONS)
_OWN = X((2, 3), grad=False)
record("Tensor.uniform_", S(_OWN), S(_OWN, -1, 2), errors=[(_OWN, 2, 1), (I(1),)], **_OPTIONS)
record("Tensor.normal_", S(_OWN), S(X(20, grad=False), 1, 2), errors=[(_OWN, 0, -1)], **_OPTIONS)
record("Tensor.random_", S(_OWN, 5), S(I(1, 2, 3)), S(I(1, 2), 2, 9), errors=[(_OWN, 3, 1)], **_OPTIONS)
record(
    "Tensor.bernoulli_",
    S(_OWN),
    S(_OWN, 0.3),
    S(X((2, 3), grad=False), X((2, 3), low=0.1, high=0.9, grad=False)),
    errors=[(_OWN, 2)],
    **_OPTIONS,
)
record("Tensor.exponential_", S(_OWN), S(_OWN, 2.0), errors=[(_OWN, -1.0)], **_OPTIONS)
record("Tensor.cauchy_", S(_OWN), **_OPTIONS)
record("Tensor.geometric_", S(_OWN, 0.5), errors=[(_OWN, 2)], **_OPTIONS)
record("Tensor.log_normal_", S(_OWN), **_OPTIONS)
