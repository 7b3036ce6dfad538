"""The dtypes that functions accept for `out=`, and PyTorch's errors for others. See Note [Dtypes of out].

# Note [Dtypes of out]
PyTorch's elementwise functions cast their result to the dtype of `out`, unless that would change its category (a float in an integer
tensor). Other functions require exactly the dtype of the result, and each family has its own message. `_SAME` lists these, keyed by
message; `_CAST` lists functions that cast but have unusual messages; `_ANY` those that cast without a check. In the messages, `{need}`
and `{got}` are the two dtypes as PyTorch's tensor types (`Double`), `{c_need}` and `{c_got}` as C types (`double`), `{name}` the function.
A function with several results may have a message for each, in order.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from ... import dtypes
from .guards import c_name

_EXACT = "Expected out tensor to have dtype {c_need}, but got {c_got} instead"
_FOUND = "Found dtype {got} but expected {need}"
_ELEMENTWISE = "result type {need} can't be cast to the desired output type {got}"

_SAME: dict[Any, str] = {
    _EXACT: "sum prod cumsum cumprod addmm addmv alias_copy aminmax argmax argmin as_strided_copy avg_pool2d avg_pool3d baddbmm bmm detach_copy diagonal_copy "
    "expand_copy argsort gather index_add index_copy index_reduce isin linalg_cholesky linalg_cholesky_ex linalg_cross cross linalg_det linalg_eigh "
    "linalg_eigvalsh linalg_inv linalg_inv_ex linalg_ldl_factor linalg_ldl_factor_ex linalg_ldl_solve linalg_lu linalg_lu_factor "
    "linalg_lu_factor_ex linalg_lu_solve linalg_qr linalg_slogdet linalg_solve linalg_solve_ex linalg_svd linalg_svdvals vector_norm "
    "linear log_softmax lu_solve lu_unpack max_dim min_dim mm msort norm permute_copy qr renorm scatter scatter_add scatter_reduce "
    "scatter_value select_copy slogdet slice_copy slice_scatter softmax sort sort_stable split_copy split_with_sizes_copy squeeze_copy svd t_copy "
    "take_along_dim topk transpose_copy triangular_solve tril triu unbind_copy unfold_copy unsqueeze_copy view_copy view_as_complex_copy "
    "view_as_real_copy",
    _FOUND: "bitwise_not ceil clamp clamp_max clamp_min conj_physical floor frac neg gelu hardshrink softplus softshrink round round_decimals sgn sign trunc",
    "expected scalar type {need} but found {got}": "native_batch_norm linalg_solve_triangular logsigmoid",
    "expected scalar_type {need} but found {got}": "cummax cummin logcumsumexp",
    "result dtype {got} does not match input dtype {need}": "dot matmul vdot",
    "Expected the dtype for input and out to match, but got {need} for input's dtype and {got} for out's dtype.": "amax amin",
    "torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or Long(int64) depending on whether out_int32 flag "
    "is True, but we got output tensor's dtype {got} and out_int32 flag is {flag}": "searchsorted",
    "Expected object of scalar type {need} but got scalar type {got} for argument 'out'": "complex polar",
    "tensordot: Expected the output tensor to have dtype {need}, but got an output tensor with dtype {got}": "inner tensordot",
    "linalg.matrix_norm expected out tensor dtype {need} but got: {got}": "linalg_matrix_norm nuclear_norm",
    "linalg.norm expected out tensor dtype {need} but got: {got}": "linalg_norm",
    "{name}() out tensor must be same dtype as the input tensor": "quantile",
    "self and mat2 must have the same dtype, but got {got} and {need}": "addbmm",
    "{name} only supports bool tensor for result, got: {got}": "all any",
    "the output given to float_power has dtype {got} but the operation's result requires dtype {need}": "float_power",
    ("torch.frexp() expects mantissa to have dtype {c_need} but got {c_got}", "torch.frexp() expects exponent to have int dtype but got {c_got}"): "frexp",
    "Expected result to be of dtype uint64, but got {got}": "hash_tensor",
    "heaviside is not yet implemented for tensors with different dtypes.": "heaviside",
    ("torch.histogram: input tensor and hist tensor should have the same dtype, but got input {c_need} and hist {c_got}",
     "torch.histogram: input tensor and bin_edges tensor should have the same dtype, but got input {c_need} and bin_edges {c_got}"): "histc histogram",
    "{name}(): self and result must have the same scalar type": "index_select masked_select",
    "{name} does not support non-boolean outputs.": "isneginf isposinf signbit",
    ("output values must be of same type as input", "output indices must be of scalar type Long"): "kthvalue",
    "multi_dot(): expected out tensor to have dtype {c_need} but got {c_got}": "linalg_multi_dot chain_matmul",
    "linalg.vecdot: Expected out of dtype{need} but found {got}": "linalg_vecdot",
    ("expected scalar type '{need}' but got '{got}' for values output", "expected scalar type '{need}' but got '{got}' for indices output"): "mode",
    "multinomial expects Long tensor out, got: {got}": "multinomial",
    "addmv input tensors must have the same dtype, but got {got}, {need}, and {need}": "mv",
    "nan_to_num: dtype of out: {got} should be same as input: {need}": "nan_to_num",
    "Expected self.dtype() == output.dtype() to be true, but got false.": "narrow_copy",
    "{name}: Expected out tensor to have scalar type Long but got scalar type{got}": "nonzero nonzero_static",
    "torch.ormqr: Expected input and result to have the same dtype, but input has dtype{need} and result has dtype {got}": "ormqr",
    "take(): self and out expected to have the same dtype, but got self.dtype = {need} and out.dtype = {got}": "take",
    "Expected out type to be {need} but got {got}": "where",
}  # fmt: skip

_SAFELY = "{name}: Expected %s to be safely castable from {need} dtype, but got %s with dtype {got}"


def _safely(*results: str) -> Any:
    words = tuple(_SAFELY % (r, r) for r in results)
    return words if len(words) > 1 else words[0]


_CAST: dict[Any, str] = {
    TypeError("torch.cat(): input types can't be cast to the desired output type {got}"): "cat_list stack_list",
    "mean.dtype_out(): input types can't be cast to the desired output type {got}": "mean_all",
    "diag: result type {need} can't be cast to the desired out= type {got}": "diag",
    "ldexp can't be cast to the desired output type {got}": "ldexp",
    "mvlgamma: result type {need} can't be cast to the desired output type {got}": "mvlgamma",
    "logsumexp(): Expected floating point type for result tensor, but got: {got}": "logsumexp",
    _safely("result"): "cholesky cholesky_inverse cholesky_solve linalg_cond linalg_pinv linalg_householder_product linalg_matrix_power "
    "linalg_matrix_rank linalg_tensorinv linalg_tensorsolve",
    _safely("eigenvalues", "eigenvectors"): "linalg_eig linalg_eigvals",
    _safely("solution", "residuals", "rank", "singular_values"): "linalg_lstsq",
    _safely("a", "tau"): "geqrf",
    _safely("out"): "fft_fft fft_ifft fft_rfft fft_irfft fft_hfft fft_ihfft fft_fftn fft_ifftn fft_rfftn fft_irfftn fft_hfftn fft_ihfftn",
}  # fmt: skip

# These check whether the result can be cast, and then still require its exact dtype.
_CAST_AND_SAME = ("diag", "linalg_matrix_power")

_ANY = "eq ge gt le lt ne logical_and logical_not logical_or logical_xor lu"

# Names of functions in such messages, where they differ from the public name.
_CALLED = {
    "linalg_cond": "linalg.cond", "linalg_pinv": "linalg.pinv", "linalg_matrix_power": "matrix_power", "linalg_tensorinv": "tensorinv",
    "linalg_tensorsolve": "tensorsolve", "linalg_matrix_rank": "torch.linalg.matrix_rank", "linalg_eig": "torch.linalg.eig",
    "linalg_eigvals": "torch.linalg.eigvals", "linalg_lstsq": "torch.linalg.lstsq", "geqrf": "torch.geqrf",
    "linalg_householder_product": "torch.linalg.householder_product",
}  # fmt: skip


@cache
def _rules() -> dict[str, tuple[bool, Any]]:
    """For each function with its own rule: whether the dtypes must be equal, and its message (None: any dtype)."""
    found: dict[str, tuple[bool, Any]] = {name: (False, None) for name in _ANY.split()}
    for table, same in ((_SAME, True), (_CAST, False)):
        for words, names in table.items():
            found |= {name: (same, words) for name in names.split()}
    return found


def check_out(name: str, need: dtypes.dtype, got: dtypes.dtype, position: int = 0) -> None:
    """Refuse an `out=` whose dtype the function cannot write its result to, which is the one at `position`."""
    if need is got:
        return
    same, words = _rules().get(name, (False, _ELEMENTWISE))
    if words is None:
        return
    if not same and dtypes.can_cast(need, got):
        if name not in _CAST_AND_SAME:
            return
        words = _EXACT
    kind: Any = RuntimeError
    if isinstance(words, tuple):
        words = words[position]
    elif isinstance(words, Exception):
        kind, words = type(words), words.args[0]
    raise kind(
        words.format(
            name=_CALLED.get(name, name), need=dtypes.LEGACY[need], got=dtypes.LEGACY[got], c_need=c_name(need), c_got=c_name(got), flag=need is dtypes.int32
        )
    )  # fmt: skip


# PyTorch's internal functions that raise the error about a graph, where they differ from the called function.
_REFUSING = {
    "linalg_eigh": "_linalg_eigh", "linalg_eigvalsh": "_linalg_eigh", "linalg_solve": "_linalg_solve_ex", "linalg_solve_ex": "_linalg_solve_ex",
    "linalg_svd": "_linalg_svd", "linalg_svdvals": "_linalg_svd", "linalg_cholesky": "linalg_cholesky_ex", "linalg_det": "_linalg_det",
    "linalg_inv": "linalg_inv_ex", "linalg_lu_factor": "linalg_lu_factor_ex", "linalg_multi_dot": "mm", "linalg_slogdet": "_linalg_slogdet",
    "linalg_vecdot": "vdot", "vector_norm": "linalg_vector_norm", "nanmean": "nansum", "kron": "mul", "div_trunc": "div", "div_floor": "div",
    "linalg_matrix_power": "matmul",
}  # fmt: skip
_TO_REAL = ("fft_hfft", "fft_irfft")
_FROM_REAL = ("fft_rfft", "fft_ihfft")


def refusing(name: str, is_complex: bool) -> str:
    """The function that PyTorch names in its error when the result of `name` can't be in a graph."""
    if name.startswith("fft_") and not name.endswith(("freq", "shift")):
        if name.startswith(_TO_REAL):
            return "_fft_c2r"
        return "_fft_r2c" if name.startswith(_FROM_REAL) or not is_complex else "_fft_c2c"
    return _REFUSING.get(name, name)
