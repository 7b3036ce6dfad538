"""Every record's variants in Penlight and in PyTorch: the same results in the same dtype, the same gradients, the same refusals."""

from __future__ import annotations

import numpy as np
import pytest
import records
from recording import Sample, seed_of
from running import build, close, differentiable, first_order, flatten, gradients_close, is_tensor, quiet, resolve
from variants import variants

import penlight

pytestmark = pytest.mark.parity
torch = pytest.importorskip("torch")


def attempt(lib, name: str, sample: Sample):
    """The results, leaves and gradients of a sample, or the error."""
    try:
        args, kwargs, leaves = build(lib, sample, seed_of(name, 0))
        lib.manual_seed(0)
        with quiet(), np.errstate(all="ignore"):
            outs = flatten(resolve(lib, name)(*args, **kwargs))
            return outs, leaves, None
    except Exception as error:
        return None, None, error


def slopes(lib, name: str, outs, leaves):
    ends = [o for o in differentiable(outs) if o.numel()]
    if not ends or not leaves:
        return None, None
    try:
        with np.errstate(all="ignore"):
            return first_order(lib, ends, leaves, seed_of(name, 1)), None
    except Exception as error:
        return None, error


# What PyTorch refuses for reasons of its own; Penlight may compute it.
ITS_LIMITS = (
    "does not support automatic differentiation for outputs with complex dtype", "MKL FFT error", "setStorage: ", "Trying to resize storage that is not resizable",
    "Could not run 'aten::", "kernel size should be greater than zero", "select(): index 0 out of range for tensor of size [0]",
    "Only zero batch or zero channel inputs are supported", "unspecified dimension size -1 can be any value",
)  # fmt: skip

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
    "Tensor.fill_diagonal_": ("empty", _ORDER), "unflatten": ("0-d", _ORDER), "view_as_complex": ("float16 empty sliced transposed", _NO_CHALF), "amax": ("empty", _ORDER),
    "amin": ("empty", _ORDER), "linalg.ldl_solve": ("int bool", _ORDER), "linalg.matrix_norm": ("float16 bfloat16", _ORDER), "nuclear_norm": ("float16 bfloat16", _ORDER),
    "linalg.matrix_exp": ("float16 bfloat16", "NaN in PyTorch"), "matrix_exp": ("float16 bfloat16", "NaN in PyTorch"), "linalg.vander": ("0-d", _MORE), "hash_tensor": ("empty", _MORE),
    "norm_except_dim": ("0-d", _MORE), "slice_inverse": ("", "an inner function that reads memory it does not own"), "Tensor.stride": ("empty", "NumPy's strides of empty arrays"),
    "Tensor.resize_": ("0-d", "uninitialised memory"), "nn.functional.bilinear": ("bool", _MORE), "nn.functional.conv2d": ("int", _MORE), "nn.functional.conv_transpose1d": ("int", _MORE),
    "nn.functional.conv_transpose2d": ("int empty", _MORE), "nn.functional.conv_transpose3d": ("int", _MORE), "nn.functional.adaptive_avg_pool2d": ("0-d", _ORDER),
    "nn.functional.adaptive_max_pool1d": ("empty", _MORE), "nn.functional.adaptive_max_pool2d": ("0-d empty", _MORE), "nn.functional.adaptive_max_pool3d": ("empty", _MORE),
    "nn.functional.adaptive_avg_pool3d": ("empty", _MORE), "nn.functional.pixel_unshuffle": ("empty", "PyTorch keeps the sizes of empty images"),
    "nn.functional.interpolate": ("uint8", "rounds otherwise by one"), "nn.functional.grid_sample": ("float16 bfloat16", _HALF), "nn.functional.affine_grid": ("bfloat16", "float32 here"),
    "nn.functional.rms_norm": ("0-d", _ORDER), "nn.functional.batch_norm": ("0-d", _ORDER), "nn.functional.embedding": ("0-d empty", _ORDER), "nn.functional.kl_div": ("int complex", _MORE),
    "nn.functional.cosine_similarity": ("complex", _MORE), "nn.functional.hardtanh": ("uint8", _ORDER), "nn.functional.scaled_dot_product_attention": ("complex", _ORDER),
    "nn.functional.embedding_bag": ("int bool complex empty", _MORE), "nn.functional.hinge_embedding_loss": ("int", _MORE), "nn.functional.margin_ranking_loss": ("int", _ORDER),
    "nn.functional.max_unpool1d": ("0-d", _ORDER), "nn.functional.max_unpool2d": ("0-d", _ORDER), "complex": ("float16 bfloat16", _NO_CHALF), "polar": ("bfloat16", _NO_CHALF),
    "cumulative_trapezoid": ("empty", _ORDER), "kthvalue": ("int", _TIES), "searchsorted": ("complex", _MORE), "bucketize": ("complex", _MORE), "histc": ("bfloat16", _HALF),
    "histogram": ("float16 bfloat16", "refused here"), "histogramdd": ("float16 bfloat16 uint8", "refused here"), "bincount": ("complex", "warns here"), "index_reduce": ("bool empty", _ORDER),
    "mvlgamma": ("bool", _MORE), "special.multigammaln": ("bool", _MORE), "nn.functional.multi_margin_loss": ("empty", "uninitialised memory"),
    "scatter": ("empty", _ORDER), "index_select": ("empty", _ORDER), "index_add": ("empty 0-d", _ORDER), "randn_like": ("transposed", "sixteen numbers at a time in memory order"),
}  # fmt: skip


def known(name: str, label: str) -> bool:
    ends = KNOWN.get(name, (None,))[0]
    return ends is not None and (not ends or any(e in label for e in ends.split()))


COARSE = {"float16": "f2", "bfloat16": "b2", "float32": "f4", "complex64": "c8"}


def compare(name: str, label: str, sample: Sample) -> str | None:
    """What differs, or None."""
    record = records.RECORDS[name]
    theirs, their_leaves, refusal = attempt(torch, name, sample)
    mine, leaves, error = attempt(penlight, name, sample)
    if refusal is not None and any(limit in str(refusal) for limit in ITS_LIMITS):
        return None
    if refusal is not None:
        if error is None:
            return f"no error; {type(refusal).__name__}: {str(refusal)[:150]}"
        if type(error).__name__ != type(refusal).__name__:
            return f"{type(error).__name__}: {error} instead of {type(refusal).__name__}: {str(refusal)[:200]}"
        return None
    if error is not None:
        return f"raises {type(error).__name__}: {error}"
    coarse = COARSE.get(label.split()[1], "f8")
    for a, b in zip(mine, theirs):
        if not is_tensor(b):
            if isinstance(b, np.ndarray):
                a, b = a.tolist(), b.tolist()
            if (
                record.equal
                and a != b
                and repr(a) != repr(b)
                and not (isinstance(b, (float, complex)) and np.isclose(a, b, 1e-2))
            ):
                return f"{a!r} instead of {b!r}"
        elif str(a.dtype) != str(b.dtype) or tuple(a.shape) != tuple(b.shape):
            return f"{a.dtype}{list(a.shape)} instead of {b.dtype}{list(b.shape)}"
        elif record.equal and (why := close(a, b, record.rtol * 2, coarse)):
            return why
    if not record.equal:
        return None
    expected, refusal = slopes(torch, name, theirs, their_leaves)
    grads, error = slopes(penlight, name, mine, leaves)
    if refusal is not None or expected is None:
        return None  # without a derivative, or with one that trips over its own dtypes
    if error is not None:
        return f"gradient raises {type(error).__name__}: {error}"
    for a, b in zip(grads or [None] * len(expected), expected):
        if why := gradients_close(a, b, record.rtol * 4, coarse):
            return f"gradient: {why}"
    return None


@pytest.mark.parametrize("name", records.RECORDS)
def test_variants(name):
    found = [
        f"{label} {sample!r}: {why}"
        for label, sample in variants(records.RECORDS[name])
        if not known(name, label) and (why := compare(name, label, sample))
    ]
    assert not found, "\n" + "\n".join(found)
