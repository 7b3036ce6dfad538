"""Records of methods of Tensor that are no functions of the op tables: conversions, questions, views with sizes, making others."""

from __future__ import annotations

from recording import B, F, I, S, X, record

_C = "complex128"

# ----- views and sizes ----------------------------------------------------------------------------------------------

record("Tensor.view", S(X((2, 3)), 3, 2), S(X((2, 3)), -1), S(X((2, 3)), (1, 6)), S(X((2, 3)), size=(6,)), S(X((0, 3)), 0, 3), S(X(()), 1, 1), S(X((2, 3), "int32"), "dtype:float32"),
       errors=[(X((2, 3)), 4), (X((2, 3)), -1, -1), (X((2, 3), layout="transposed"), 6)])  # fmt: skip
record("Tensor.view_as", S(X((2, 3)), X((3, 2))), S(X((2, 3)), X(6)), errors=[(X((2, 3)), X(5))])
record(
    "Tensor.reshape_as", S(X((2, 3)), X((3, 2))), S(X((2, 3), layout="transposed"), X(6)), errors=[(X((2, 3)), X(5))]
)
record(
    "Tensor.expand",
    S(X((2, 1)), 2, 3),
    S(X(3), (2, 3)),
    S(X((2, 1)), -1, 4),
    S(X(()), 2),
    S(X((2, 1)), size=(2, 3)),
    errors=[(X((2, 3)), 3, 3), (X(3), -1, 3), (X((2, 3)), 3)],
)
record("Tensor.expand_as", S(X((2, 1)), X((2, 3))), errors=[(X(2), X((2, 3)))])
record(
    "Tensor.contiguous",
    S(X((2, 3))),
    S(X((2, 3), layout="transposed")),
    S(X((2, 3), layout="expanded")),
    S(X(())),
    S(X((1, 2, 2, 3)), memory_format="format:channels_last"),
    node=False,
)
record("Tensor.size", S(X((2, 3))), S(X((2, 3)), 1), S(X((2, 3)), -1), S(X(())), errors=[(X((2, 3)), 2)])
record("Tensor.stride", S(X((2, 3))), S(X((2, 3)), 0), S(X((2, 3), layout="transposed")), errors=[(X((2, 3)), 2)])
for _name in (
    "numel",
    "nelement",
    "dim",
    "ndimension",
    "element_size",
    "storage_offset",
    "is_contiguous",
    "is_floating_point",
    "is_complex",
    "is_signed",
    "get_device",
):
    record("Tensor." + _name, S(X((2, 3))), S(X(())), S(I(1, 2)), S(X((2, 3), _C)), S(X((2, 3), layout="transposed")))

# ----- conversions --------------------------------------------------------------------------------------------------

_KINDS = [
    S(X((2, 3))),
    S(X((2, 3), "float32")),
    S(I(1, -2)),
    S(B([True, False])),
    S(X((2, 3), layout="transposed")),
    S(X(())),
]
for _name in (
    "float",
    "double",
    "half",
    "bfloat16",
    "int",
    "long",
    "short",
    "byte",
    "char",
    "bool",
    "cfloat",
    "cdouble",
):
    record("Tensor." + _name, _KINDS, smooth=False, dual=False)
record("Tensor.to", S(X((2, 3)), "dtype:float32"), S(X((2, 3)), "dtype:float64"), S(X((2, 3)), "cpu"), S(X((2, 3)), "cpu", "dtype:int64"), S(X((2, 3)), X(2, "float32")), S(X(2), dtype="dtype:complex128"),
       S(X((2, 3)), "dtype:float64", copy=True), S(X((1, 2, 2, 3)), memory_format="format:channels_last"), errors=[(X(2), "nowhere")], smooth=False, dual=False)  # fmt: skip
record(
    "Tensor.type",
    S(X(2)),
    S(X(2), "dtype:float32"),
    S(X(2), "torch.LongTensor"),
    S(I(1)),
    errors=[(X(2), "torch.NoTensor")],
    smooth=False,
)
record("Tensor.type_as", S(X(2), X(2, "float32")), S(X(2), I(1)), smooth=False)
record("Tensor.cpu", S(X((2, 3))))
record("Tensor.numpy", S(X((2, 3), grad=False)), S(I(1, 2)), S(B([True])), errors=[(X(2),)])
record("Tensor.tolist", S(X((2, 3))), S(I(1, 2)), S(X(())), S(X((0, 2))))
record("Tensor.item", S(X(())), S(X((1, 1))), S(I(3)), S(B([True])), S(X((), _C)), errors=[(X(2),), (X((0,)),)])
record("Tensor.detach", S(X((2, 3))), S(I(1, 2)))
record("Tensor.resolve_conj", S(X(2)), S(X(2, _C)))
record("Tensor.data_ptr", S(X(2)), equal=False)

# ----- new tensors --------------------------------------------------------------------------------------------------

for _name in ("new_zeros", "new_ones"):
    record(
        "Tensor." + _name,
        S(X(2), 2, 3),
        S(X(2), (2, 3)),
        S(I(1), 2),
        S(X(2), (2,), dtype="dtype:int64"),
        S(X(2), (2,), requires_grad=True),
    )
record("Tensor.new_empty", S(X(2), 2, 3), S(I(1), (2,)), equal=False)
record("Tensor.new_full", S(X(2), (2, 3), 5), S(I(1), (2,), 3), S(X(2), (2,), 1, dtype="dtype:int64"))
record("Tensor.new_tensor", S(X(2), [1, 2]), S(I(1), [1.5]), S(X(2), 3.0, dtype="dtype:float32"))
record("Tensor.new", S(X(2, grad=False)), S(X(2), [1.0, 2.0]), node=False)

# ----- made by functions --------------------------------------------------------------------------------------------

_SIZES = [
    S(2, 3),
    S((2, 3)),
    S([2]),
    S(0),
    S(2, dtype="dtype:int64"),
    S((2,), dtype="dtype:complex64"),
    S(2, requires_grad=True),
]
for _name in ("zeros", "ones"):
    record(_name, _SIZES, errors=[S(-1), S(2, dtype="dtype:int64", requires_grad=True), S(2, bogus=1)])
record("empty", _SIZES, equal=False)
for _name in ("zeros_like", "ones_like"):
    record(
        _name,
        S(X((2, 3))),
        S(I(1, 2)),
        S(X((2, 3), layout="transposed")),
        S(X(2), dtype="dtype:int64"),
        S(X(2), requires_grad=True),
    )
record("empty_like", S(X((2, 3))), S(I(1, 2)), equal=False)
record(
    "full",
    S((2, 3), 1.5),
    S((2,), 3),
    S((2,), True),
    S((), 1j),
    S((2,), 3, dtype="dtype:float64"),
    errors=[S((2,), "a")],
)
record("full_like", S(X((2, 3)), 2), S(I(1, 2), 3), S(X(2), 1, dtype="dtype:int64"))
record(
    "arange",
    S(5),
    S(1, 4),
    S(0, 1, 0.25),
    S(5, 0, -2),
    S(3.0),
    S(0),
    S(1, 4, dtype="dtype:float32"),
    S(2.5, dtype="dtype:int64"),
    errors=[S(0, 3, 0), S(0, 3, -1)],
)
record(
    "linspace",
    S(0, 1, 5),
    S(1, 0, 3),
    S(0, 1, 1),
    S(0, 1, 0),
    S(0, 10, 4, dtype="dtype:int64"),
    S(0, 1, 3, dtype="dtype:float64"),
    errors=[S(0, 1, -1)],
)
record("logspace", S(0, 2, 3), S(0, 1, 2, 2.0), errors=[S(0, 1, -1)])
record("eye", S(3), S(2, 3), S(0), S(2, dtype="dtype:int64"), errors=[S(-1)])
record("tensor", S([1, 2]), S([[1.5, 2.0]]), S(3), S(True), S([]), S([1, 2.5]), S([1j]), S([1, 2], dtype="dtype:float64"), S([1.0], requires_grad=True), S(((1, 2), (3, 4))),
       errors=[S([[1, 2], [3]]), S(["a"]), S([1], requires_grad=True)])  # fmt: skip
record("as_tensor", S([1, 2]), S(X(2)), S(X(2), dtype="dtype:float32"), S(2.5), smooth=False, dual=False)
record("is_tensor", S(X(2)), S(3))
record(
    "promote_types",
    S("dtype:float32", "dtype:int64"),
    S("dtype:int32", "dtype:uint8"),
    S("dtype:bool", "dtype:complex64"),
    S("dtype:float16", "dtype:bfloat16"),
)
record("Tensor.retain_grad", S(X(2)))
record("Tensor.requires_grad_", S(X(2, grad=False)), S(X(2), True), errors=[(I(1),)], node=False)
record("Tensor.detach_", S(X(2)))
record(
    "Tensor.fill_",
    S(X(2, grad=False), 3),
    S(X((2, 3), grad=False), F(1.5, grad=False)),
    errors=[(X(2), 1), (X(2, grad=False), X(2, grad=False))],
)
record("Tensor.zero_", S(X(2, grad=False)), S(I(1, 2)), errors=[(X(2),)])
record(
    "Tensor.copy_",
    S(X((2, 3), grad=False), X(3, grad=False)),
    S(X(2, grad=False), I(1, 2)),
    S(I(1, 2), X(2, grad=False)),
    errors=[(X(2), X(2)), (X(2, grad=False), X(3))],
    strides=False,
)
record("Tensor.resize_", S(X((2, 3), grad=False), 2, 2), S(X(4, grad=False), (2, 2)), errors=[(X(2), 3)])
record("Tensor.resize_as_", S(X((2, 3), grad=False), X((2, 2))))
record("Tensor.transpose_", S(X((2, 3), grad=False), 0, 1), errors=[(X((2, 3), grad=False), 0, 2)])
record("Tensor.unsqueeze_", S(X(3, grad=False), 0), S(X(3, grad=False), -1), errors=[(X(3, grad=False), 3)])
record("Tensor.squeeze_", S(X((1, 3), grad=False)), S(X((1, 3), grad=False), 0), S(X((1, 3), grad=False), 1))
record("Tensor.share_memory_", S(X(2, grad=False)))
