"""What two sides may not differ in, and the differences that are accepted, each with its reason."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from .cases import Case
from .running import Fact, Outcome

TOLERANCE = {"torch.float64": 1e-9, "torch.complex128": 1e-9, "torch.float16": 6e-3, "torch.bfloat16": 4e-2}


class Compared(NamedTuple):
    """What of two outcomes is compared besides dtypes, shapes and errors. `coarse` is the tolerance of the least precise operand."""

    values: bool = True
    strides: bool = True
    strides_of_gradients: bool = True
    versions: bool = True
    coarse: float = 0.0


def difference(ours: Outcome, theirs: Outcome, compared: Compared = Compared()) -> str | None:
    """What the two outcomes differ in, or None."""
    if ours.error == "died":
        return f"died: {ours.words}"
    if ours.words.startswith("machine code"):
        return f"refused: {ours.words[:300]}"
    if theirs.error == "died":
        return None  # PyTorch does, on arrays that are not aligned
    if ours.error or theirs.error:
        return _errors(ours, theirs)
    found, wanted = ({fact.label: fact for fact in side.facts} for side in (ours, theirs))
    for label in {**found, **wanted}:
        if label not in found or label not in wanted:
            present = found.get(label) or wanted[label]
            if label.startswith("gradient") and (present.dtype == "NoneType" or not np.any(present.value)):
                continue  # nothing depends on the leaf, or by a slope of zero
            return f"{len(found)} results instead of {len(wanted)}"
        what = _facts(found[label], wanted[label], compared)
        if what is not None:
            return f"{label}: {what}"
    return None


def _errors(ours: Outcome, theirs: Outcome) -> str | None:
    if not ours.error:
        return f"no error instead of {theirs.error}: {theirs.words[:150]}"
    if ours.error != theirs.error:
        return f"{ours.error}: {ours.words[:150]} instead of {theirs.error or 'no error'}: {theirs.words[:150]}"
    # How the wrong arguments of a function are listed is compared by tests/ops/test_argument_errors_parity.py.
    if ours.error != "TypeError" and ours.words.split()[:3] != theirs.words.split()[:3]:
        return f"{ours.error}: {ours.words[:150]} in other words than {theirs.words[:150]}"
    return None


def _facts(a: Fact, b: Fact, compared: Compared) -> str | None:
    if a.dtype == "NoneType" or b.dtype == "NoneType":
        present = b.value if a.dtype == "NoneType" else a.value
        none = a.dtype == b.dtype or (a.label.startswith("gradient") and not np.any(present))
        return None if none else f"{a.dtype} instead of {b.dtype}"
    if (a.dtype, a.shape) != (b.dtype, b.shape):
        return f"{a.dtype}{list(a.shape)} instead of {b.dtype}{list(b.shape)}"
    gradient = a.label.startswith("gradient")
    if compared.strides and (compared.strides_of_gradients or not gradient) and a.stride != b.stride:
        return f"strides {a.stride} instead of {b.stride}"
    if compared.versions and not gradient and a.version != b.version:
        return f"version {a.version} instead of {b.version}"
    if a.requires_grad != b.requires_grad:
        return f"requires_grad {a.requires_grad}"
    return values_differ(a, b, compared.coarse) if compared.values or a.label[0] == "x" else None


def values_differ(a: Fact, b: Fact, coarse: float) -> str | None:
    x, y = a.value, b.value
    if not isinstance(x, np.ndarray):
        same = x == y or repr(x) == repr(y) or (isinstance(x, (float, complex)) and np.isclose(x, y, 1e-2))
        return None if same else f"{x!r} instead of {y!r}"
    if np.array_equal(x, y):
        return None
    if x.dtype.kind not in "fc":
        at = tuple(np.argwhere(x != y)[0])
        return f"{np.sum(x != y)} of {x.size} differ: {x[at]} instead of {y[at]} at {[int(i) for i in at]}"
    tolerance = max(TOLERANCE.get(a.dtype, 3e-5), coarse)
    with np.errstate(all="ignore"):
        # Sums of 16-bit floats are as wrong as their largest term, which may be larger than the sums.
        scale = np.abs(np.where(np.isfinite(y), y, 0)).max(initial=1.0 if tolerance > 1e-3 else 0.3)
        agree = np.isclose(x, y, rtol=10 * tolerance, atol=tolerance * float(min(scale, 1e30)), equal_nan=True)
        if x.dtype.kind == "c":  # which part of a complex number without a limit is infinite or NaN is nobody's promise
            agree |= ~np.isfinite(x) & ~np.isfinite(y)
    if agree.all():
        return None
    at = tuple(np.argwhere(~agree)[0])
    return f"{np.sum(~agree)} of {x.size} differ: {x[at]} instead of {y[at]} at {[int(i) for i in at]}"


WORSE = 8  # times as far from the result in 64 bits as the other side: what two ways of adding up the same numbers may differ by


def of_rounding(ours: Outcome, theirs: Outcome, measure: Outcome, truth: Outcome, compared: Compared) -> bool:
    """Whether two sides differ in nothing but floats, in which ours are about as near to the results in 64 bits as those of `measure`, or nearer."""
    sides = [{f.label: f for f in side.facts if f.dtype != "NoneType"} for side in (ours, theirs, measure, truth)]
    if truth.error or any(side.keys() != sides[0].keys() for side in sides):
        return False
    for a, b, other, exact in ([side[label] for side in sides] for label in sides[0]):
        what = _facts(a, b, compared)
        if what is None:
            continue
        if "differ" not in what or exact.dtype not in ("torch.float64", "torch.complex128"):
            return False
        with np.errstate(all="ignore"):
            apart = ~np.isclose(a.value, b.value, equal_nan=True)
            rounded = exact.value.astype(a.value.dtype)  # infinite where there is no such number in fewer bits
            far = [np.max(np.where(s.value == rounded, 0, np.abs(s.value - exact.value))[apart]) for s in (a, other)]
        if not np.isfinite(far[0]) or far[0] / WORSE > np.nan_to_num(far[1], nan=np.inf):
            return False
    return True


# Differences from PyTorch that are accepted: what the function's name begins with (without `nn.functional.`), what the difference's text has in it, the reason.
_ORDER, _MORE, _BUG = "another error comes first", "computed here, refused by PyTorch", "PyTorch's result is wrong"
_TIES = "which of equal elements is found is not specified"
_NOT_FINITE = "what becomes of infinities and NaN on the way is not specified"
ACCEPTED: list[tuple[str, str, str]] = [
    ("", r"not implemented for '\w+' (instead of \w*Error|in other words)", _ORDER),
    ("", r"(instead of \w*Error|in other words).*not implemented for '\w+'", _ORDER),
    ("", r"Error: .* (instead of \w*Error|in other words than).*(Could not run|must match|does not support automatic|no attribute '\w+_')", _ORDER),
    ("", r"(instead of RuntimeError:|in other words than) .*INTERNAL ASSERT FAILED", "PyTorch asks for a report of its bug"),
    ("", r"RuntimeError: .* in other words than Autograd not support dtype", "the gradient of an integer result"),
    ("(fft\\.|histogramdd|linalg.cond|norm_except_dim|frobenius_norm|native_norm|nuclear_norm|ormqr|conv_tbc|put|addbmm|linalg.ldl_solve|linalg.lstsq"
     "|linalg.matrix_rank|linalg.pinv|embedding_bag|cosine_embedding_loss|multi_head_attention_forward|view_as_complex|Tensor.exponential_|repeat_interleave|ldexp)",
     r"Error: .*(instead of \w+Error|in other words than)", _ORDER),
    ("addbmm", r"doesn't match the broadcast shape .* instead of no error", "PyTorch gives a tensor another shape in place"),
    ("(linalg\\.)?(inv|matrix_power|tensorinv)", r"input matrix is singular. instead of no error", "whether a pivot of equal columns is 0 is rounding"),
    ("tensordot", r"not implemented for 'Bool' instead of no error", "PyTorch has products of bools where several dimensions leave one number"),
    ("mvlgamma", r"in other words than mvlgamma: result type", "PyTorch says it the wrong way round"),
    ("(normal|rand|randn|randint|bernoulli)$", r"result 0: .*differ", "drawn in the order of elements; PyTorch fills `out` in that of memory"),
    ("floor_divide", r"derivative for aten::floor_divide is not .* in other words than", "a rule does not know that its op was in place"),
    ("(adaptive_)?max_pool", r"no error instead of RuntimeError: Expected input_depth", _MORE),
    ("(lstm|gru)_cell", r"no error instead of RuntimeError: result type Float can't be cast", _MORE),
    ("where", r"no error instead of TypeError: where\(\): argument .* must be Tensor", _MORE),
    ("nll_loss", r"no error instead of RuntimeError: grad_input must be contiguous", _MORE),
    ("", r"no error instead of RuntimeError: Expected a proper Tensor but got None", _MORE),
    ("cov", r"no error instead of RuntimeError: a leaf Variable that requires grad is being used in an in-place|x0: ", "PyTorch centres a single weighted observation in place"),
    ("(arc|a)tan2", r"no error instead of RuntimeError: Negation, the `-` operator, on a bool tensor", _MORE),
    ("cum(max|min)", r"gradient \d+: requires_grad False", "PyTorch's gradient of an empty tensor is a leaf that requires one"),
    ("", r"no error instead of .*(Could not run 'aten::|does not support automatic differentiation|[dD]erivative for .* is not implemented)", _MORE),
    ("", r"no error instead of RuntimeError: (view size is not compatible|Function \w+ returned an invalid gradient|The size of tensor a)", _MORE),
    ("", r"no error instead of RuntimeError: +(Cannot convert a ZeroTensor|Can't call numpy)", "PyTorch's tensor has no memory to be compared"),
    ("", r"no error instead of TypeError: \w+\(\) received an invalid combination of arguments - got \([^)]*\bout=", "PyTorch has no out= there"),
    ("", r"no error instead of TypeError: \w+\(\) missing 1 required", _MORE),
    ("(nanmean|hash_tensor)", r"no error instead of RuntimeError", _MORE),
    ("", r"(assignment destination|output array) is read-only instead of", "PyTorch writes into read-only memory, and warns"),
    ("", r"no error instead of RuntimeError: one of the variables needed for gradient computation", "PyTorch's second derivative writes into what it needs"),
    ("", r"(instead of|than) AttributeError: 'Tensor' object has no attribute '\w+_'", "an in-place form that PyTorch has not"),
    ("(heaviside|scaled_dot)", r"in other words than", "other words"),
    ("(cholesky|linalg.lu_factor|linalg.cholesky|lu|histogram|view_copy|linalg.ldl|grid_sample)", r"instead of no error", "refused here: tests/ops/known.py"),
    ("geqrf|complex$|polar", r"Error: .* instead of \w*Error", _ORDER),
    ("index_add", r"is out of bounds for dimension \d+ with size \d+ instead of IndexError: index out of range in self", "a class that depends on the layout"),
    ("embedding", r"with complex dtype. instead of IndexError: index out of range", _ORDER),
    ("linalg.lu_solve", r"[pP]ivots .* in other words than linalg.lu_solve: Incompatible shapes", _ORDER),
    ("pow", r"instead of \(nan\+nanj\)", "PyTorch's gradient of a complex power of bools is NaN"),
    ("segment_reduce", r"sum to data.size.* in other words than Expected segment_length >= 0", _ORDER),
    ("nansum", r"no error instead of RuntimeError: nansum on CPU does not support complex", _MORE),
    ("inner|tensordot", r""""(dot|addmm_impl_cpu_)" not implemented for 'Bool' instead of no error""", "PyTorch multiplies bools that have gaps between them"),
    ("cumprod", r"gradient 0: .*\+0j\) instead of \(", "PyTorch's gradient of a complex tensor whose products are real has an imaginary part"),
    ("index_reduce", r"not implemented for '(Bool|Complex\w+)' instead of no error", "refused here: tests/ops/known.py"),
    ("special.(modified_)?bessel_[jy]", r"differ", "PyTorch has seven digits, this is right to sixteen"),
    ("(narrow_copy|masked.median)", r"result 0: .*differ", _BUG),
    ("(nn.functional.)?pixel_unshuffle", r"result 0: torch|pixel_shuffle expects its input's 'channel'", "PyTorch shuffles an empty tensor the other way"),
    ("fft", r"no error instead of RuntimeError: MKL FFT error", _MORE),
    ("addcdiv", r"no error instead of RuntimeError: result type \w+ can't be cast to the desired output type Int", _MORE),
    ("(cross_entropy|nll_loss)", r"no error instead of RuntimeError: size mismatch \(got input: \[\d+\], target: \[1\]\)", _MORE),
    ("huber_loss", r"no error instead of RuntimeError: Found dtype", _MORE),
    ("adaptive_avg_pool1d", r"no error instead of RuntimeError: adaptive_avg_pool2d_backward\(\): Expected grad_output", _MORE),
    ("channel_shuffle", r"no error instead of RuntimeError: Number of groups", _MORE),
    ("logaddexp", r"no error instead of RuntimeError: Expected isFloatingType\(grad", _MORE),
    ("conv_transpose|convolution", r"bias type \([^)]*\) should be the same instead of no error", "a bias of another dtype is refused by every convolution here"),
    ("addr", r"no error instead of RuntimeError: addmv input tensors must have the same dtype", _MORE),
    ("scaled_dot", r"instead of no error", "PyTorch does not look at how many values there are"),
    ("Tensor.stride", r"result 0: 1 instead of 0", "NumPy's strides of an empty array, which are zero"),
    ("view_as_complex", r"no error instead of RuntimeError: Tensor must have a last dimension with stride 1", _MORE),
    ("Tensor.bernoulli_", r"expanded size of the tensor .* instead of no error", "PyTorch draws nothing for an empty tensor, whatever the probabilities"),
    ("linalg.cond", r"result 0: .*differ: \d[.0-9]*e\+", "how singular a singular matrix is, is rounding"),
    ("masked.std", r"gradient 0: .*\bnan\b", "whether the sum of equal values over their number is their value is rounding"),
    (r"dist$|(Tensor.|linalg.)?(vector_)?norm$", r"gradient 0: .* -?0(\.0|j) instead of \(?nan", "PyTorch's second derivative of the norm of zeros is NaN"),
    ("cosine_similarity", r"gradient \d: .*differ: -?(0\.000\d*|\d\.\d*e-\d\d) instead of -?0\.0", "of single numbers, second derivatives are zero: differences of large numbers"),
    ("", r"Error: .* instead of TypeError: \w+\(\) received an invalid combination of arguments - got \([^)]*\bout=", _ORDER),
    (r"(Tensor.|special.)?sinc", r"gradient 0: .* instead of \(?nan", "PyTorch's second derivative at 0 is NaN"),
    ("", r"unexpected keyword argument 'out' instead of RuntimeError", "PyTorch refuses the operands, out= or not"),
    ("(topk|kthvalue|sort|argsort|msort|mode|median|nanmedian|Tensor.topk|Tensor.argsort|masked.median)", r"result 1: .*differ", _TIES),
    ("(argsort|Tensor.argsort|argmin|argmax)", r"result 0: .*differ", _TIES),
    ("msort|sort", r"gradient 0: .*differ", _TIES),
    (r"fft\.(rfft|ihfft)|i?stft", r"gradient 0: strides", "the real part of a complex gradient in PyTorch, every other number in memory; or frames side by side"),
    ("linalg.(solve|lstsq)|cholesky_solve", r"gradient \d: strides", "matrices by rows or by columns: tests/autograd/test_written_gradients.py"),
    ("linalg.householder_product|orgqr|ormqr", r"results instead of|gradient .* differ", "the derivatives of reflectors that are no unit vectors"),
]  # fmt: skip
# Differences from PyTorch that are accepted where an operand has infinities or NaN.
OF_SPECIAL: list[tuple[str, str, str]] = [
    ("", r"(nan|inf)j?\)? (instead of|at)|instead of \(?(nan|-?inf)", _NOT_FINITE),
    ("", r"no error instead of _LinAlgError: linalg.svd: .*failed to converge", "where its LAPACK gives up, ours goes on to NaN"),
    ("mode", r"result 0: .*differ", "PyTorch sorts NaN in an order that depends on the others: the mode of distinct numbers is not always the least"),
    ("quantile", r"gradient 0: .*differ", "of several NaN, any may be the quantile: " + _TIES),
    ("(linalg.)?slogdet", r"result 0: .*differ: -?[01].0 instead of -?[01].0", "the sign of a determinant that is infinite in one LAPACK and NaN in another"),
    (r"(Tensor.)?(hardtanh|relu6|hardshrink|softshrink)", r"gradient 0: .* instead of 0.0 at", "PyTorch's vectors and its last few elements disagree on NaN"),
]  # fmt: skip
# Those that are accepted where an operand has at most one element.
OF_FEW: list[tuple[str, str, str]] = [
    ("", r"not implemented for '\w+' instead of no error", "PyTorch returns such tensors before it looks at their dtype"),
    ("cum(sum|prod)", r"can't be cast to the desired output type \w+ instead of no error", "PyTorch has nothing to cast"),
]  # fmt: skip
# Those that are accepted of floats of 16 bits.
OF_HALVES: list[tuple[str, str, str]] = [
    ("cdist", r"not implemented for '(Half|BFloat16)' instead of no error", "PyTorch has products of such matrices, for many rows"),
    ("as_strided", r"gradient 0: .*differ", "PyTorch adds up overlapping elements in bfloat16, which has no 257"),
    ("histc", r"result 0: .*differ", "PyTorch finds bins and counts in bfloat16, which has no 257"),
]  # fmt: skip
# Differences between machine code and NumPy.
_SMALL = r"-?(\d(\.\d+)?e-\d\d|0\.00\d+|0\.0)"
OWN: list[tuple[str, str, str]] = [
    ("(linalg.)?lu", r"gradient 0: .*\bnan\b", "whether a pivot of equal rows is 0 is rounding"),
    ("pdist", f"gradient 0: .*differ: {_SMALL} instead of {_SMALL} at", "what is divided by distances near zero cancels"),
]  # fmt: skip
# Those where an operand has infinities or NaN.
OWN_OF_SPECIAL: list[tuple[str, str, str]] = [
    ("(batch|group|instance)_norm", r"(nan|inf) (instead of|at)|instead of (nan|-?inf)", "an infinite weight times nothing, or minus itself"),
    ("scaled_dot", r"instead of nan", "machine code never reads keys that are masked"),
    ("linalg.ldl_factor", r"The factorization has a zero on D's diagonal", "LAPACK's quotients by infinities are zero or NaN"),
    ("ctc_loss", r"(gradient|result) 0: .*nan", "how far NaN in a log-probability spreads"),
]  # fmt: skip


# Accepted where the first operand has integers.
OF_INTEGERS: list[tuple[str, str, str]] = [
    ("masked.logsumexp", r"result 0: .*differ", "both compute in float32, whatever the dtype of the result"),
]


def accepted(case: Case, what: str, own: bool) -> bool:
    operands = case.operands()
    special = any(o.special or "np." in o.data for o in operands)
    integers = bool(operands) and "int" in operands[0].dtype
    if own:
        rules = OWN + OWN_OF_SPECIAL * special + OF_INTEGERS * integers
    else:
        few = any(np.prod(o.shape) <= 1 for o in operands)
        halves = any(o.dtype in ("float16", "bfloat16") for o in operands)
        rules = ACCEPTED + OF_SPECIAL * special + OF_FEW * few + OF_HALVES * halves + OF_INTEGERS * integers
    function = case.name.removeprefix("nn.functional.")  # many are in `torch` under the same name
    return any(re.match(name, function) and re.search(text, what) for name, text, _ in rules)
