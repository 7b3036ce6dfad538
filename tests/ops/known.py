"""In which variants of records Penlight and PyTorch are known to differ. docs/conformance.md gives the list."""

from __future__ import annotations

# Variants in which the two differ, by the end of the variant's name, and why.
_HALF = "sums of 16-bit numbers in another order"
_NO_CHALF = "there is no complex32 here"
_ORDER = "another error comes first"
_TIES = "which of equal elements is found is not specified"
_MORE = "computed here"
KNOWN = {
    "block_diag": ("empty", "PyTorch loses the row of an empty block in the gradient"), "kron": ("transposed", _MORE), "chain_matmul": ("0-d", _ORDER), "addbmm": ("0-d", _ORDER),
    "addr": ("int bool", _MORE), "baddbmm": ("0-d", _ORDER), "mv": ("0-d", _ORDER), "as_strided_scatter": ("sliced transposed", "counts places in the tensor, not in its memory"),
    "narrow_copy": ("0-d", _ORDER), "view_copy": ("expanded transposed", "refuses what view refuses"), "view_as_complex_copy": ("empty sliced transposed", _MORE),
    "Tensor.fill_diagonal_": ("empty", _ORDER), "unflatten": ("0-d", _ORDER), "view_as_complex": ("float16 empty sliced transposed", _NO_CHALF), "linalg.ldl_solve": ("int bool", _ORDER),
    "linalg.matrix_exp": ("float16 bfloat16", "NaN in PyTorch"), "matrix_exp": ("float16 bfloat16", "NaN in PyTorch"), "hash_tensor": ("empty", _MORE),
    "norm_except_dim": ("0-d", _MORE), "slice_inverse": ("", "an inner function that reads memory it does not own"), "Tensor.stride": ("empty", "NumPy's strides of empty arrays"),
    "Tensor.resize_": ("0-d", "uninitialised memory"), "nuclear_norm": ("expanded", "singular vectors of the value 0 are not determined"), "nn.functional.bilinear": ("bool", _MORE), "nn.functional.conv2d": ("int", _MORE),
    "nn.functional.conv_transpose2d": ("empty", _MORE), "nn.functional.adaptive_avg_pool2d": ("0-d", _ORDER),
    "nn.functional.adaptive_max_pool1d": ("empty", _MORE), "nn.functional.adaptive_max_pool2d": ("0-d empty", _MORE), "nn.functional.adaptive_max_pool3d": ("empty", _MORE),
    "nn.functional.adaptive_avg_pool3d": ("empty", _MORE), "nn.functional.pixel_unshuffle": ("empty", "PyTorch keeps the sizes of empty images"),
    "nn.functional.grid_sample": ("float16 bfloat16", _HALF), "nn.functional.affine_grid": ("bfloat16", "float32 here"),
    "nn.functional.rms_norm": ("0-d", _ORDER), "nn.functional.batch_norm": ("0-d", _ORDER), "nn.functional.embedding": ("0-d empty", _ORDER),

    "nn.functional.embedding_bag": ("empty", _MORE),
    "nn.functional.max_unpool1d": ("0-d", _ORDER), "nn.functional.max_unpool2d": ("0-d", _ORDER), "complex": ("float16 bfloat16", _NO_CHALF), "polar": ("bfloat16", _NO_CHALF),
    "cumulative_trapezoid": ("empty", _ORDER), "kthvalue": ("int", _TIES), "searchsorted": ("complex", _MORE), "bucketize": ("complex", _MORE), "histc": ("bfloat16", _HALF),
    "histogram": ("float16 bfloat16", "refused here"), "histogramdd": ("float16 bfloat16 uint8", "refused here"), "bincount": ("complex", "warns here"), "index_reduce": ("bool empty", _ORDER),
    "mvlgamma": ("bool", _MORE), "special.multigammaln": ("bool", _MORE), "nn.functional.multi_margin_loss": ("empty", "uninitialised memory"),
    "nn.functional.max_unpool3d": ("0-d", _ORDER), "conv_tbc": ("bool transposed expanded", _MORE),
    "convolution": ("complex empty", _MORE), "lstm_cell": ("int", _MORE), "gru_cell": ("int", _MORE),
    "scatter": ("empty", _ORDER), "index_select": ("empty", _ORDER), "index_add": ("empty 0-d", _ORDER),
}  # fmt: skip

# The same for `out=`: in which kinds of it.
_CASTS = "written in the dtype of out"
KNOWN_OUT: dict[str, tuple[str, str]] = {
    "abs": ("float32 int32 int64 bool complex64", _CASTS), "absolute": ("float32 int32 int64 bool complex64", _CASTS), "fft.ifft": ("complex64", _CASTS), "fft.ihfft": ("complex64", _CASTS),
    "fft.fftfreq": ("int32 int64 bool complex64", "other words"), "fft.rfftfreq": ("int32 int64 bool complex64", "other words"),
    "split_copy": ("empty float32 int32 int64 bool complex64", "the parts may be of any dtype in PyTorch, but must have their sizes"),
    "max": ("int32 int64 bool", "other words"), "min": ("int32 int64 bool", "other words"), "heaviside": ("complex64", _ORDER), "bernoulli": ("complex64", _MORE),
}  # fmt: skip
