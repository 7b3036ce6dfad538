"""The derivatives of every declared op against finite differences, each in a test that is named after the op.

`pytest -k tanh` checks tanh: its rules on arrays and on tensors, of second order, and in forward mode. tools/mutate_derivatives.py
spoils each rule in turn and sees whether the test of that name fails.
"""

from __future__ import annotations

import warnings

import derivatives
import mutants
import numpy as np
import pytest

import penlight
import penlight.nn.functional
from penlight.autograd import gradcheck, gradgradcheck
from penlight.ops import OPS

# Rules that are not the derivative of a function of numbers, and why.
UNCHECKED = {
    **dict.fromkeys(
        ["_floor_divide", "_floor_divide_number", "heaviside", "_unique", "_unique_dim", "_unique_consecutive", "_zeta_number", "_ctc_backward", "_histogram",
         "_geqrf", "_linalg_ldl_factor_ex", "_linalg_ldl_solve"],
        "the derivative is refused, as in PyTorch"),
    "_view_dtype": "it reads the memory of a number as another number",
    "_binomial": "random: its gradient is zero by definition",
}  # fmt: skip

# The same for some of an op's rules.
REFUSED = {name: {"input"} for name in ("igamma", "igammac", "_special_zeta")}

# Public functions that ops are forms of whose names do not say it.
FORMS = {
    "_resize_": "interpolate", "_bce": "binary_cross_entropy", "_bce_with_logits": "binary_cross_entropy_with_logits", "_im2col": "unfold", "_sliding": "stft",
    "_col2im": "fold", "_index": "getitem", "_alias": "getitem", "_nested_": "values", "_attention": "scaled_dot_product_attention", "_conv_weight": "conv2d", "_pool_scatter": "max_pool2d",
    "_pool_gather": "max_pool2d", "_adaptive_avg_backward": "adaptive_avg_pool2d", "_nll_loss_shared": "cross_entropy", "_log_softmax_shared": "cross_entropy",
    "_stack_one": "lstm", "_mkldnn_rnn_layer": "lstm", "_reflect_pad": "nn.functional.pad", "_replicate_pad": "nn.functional.pad",
    "_circular_pad": "nn.functional.pad", "_constant_pad": "nn.functional.pad", "_t": "Tensor.t", "_slice": "getitem", "_slice_backward": "getitem", "_to_copy": "Tensor.to", "_in_format_copy": "contiguous",
}  # fmt: skip


def declared():
    """The names of the ops that have rules; those that only fill a tensor by chance have zeros for gradients."""
    for table in (
        "nn.functional",
        "linalg",
        "fft",
        "special",
        "ops.nn.recurrent",
        "ops.linalg.orthogonal",
        "ops.linalg.factor",
    ):
        __import__("penlight." + table)
    return [name for name, op in OPS.items() if op.rules and not name.endswith("_into")]


CHECKED = [name for name in declared() if name not in UNCHECKED]


def identifier(name):
    """The op's name, and that of the public function if it does not say it."""
    forms = [
        public for prefix, public in FORMS.items() if name == prefix or (name.startswith(prefix) and len(prefix) > 6)
    ]
    return "-".join([name, *forms[:1]])


def test_every_identifier_names_a_public_function():
    spaces = (penlight, penlight.Tensor, penlight.nn.functional, penlight.linalg, penlight.fft, penlight.special)
    public = {n.rstrip("_") for space in spaces for n in dir(space) if not n.startswith("_") and len(n) > 1}
    assert not [n for n in CHECKED if not any(p in identifier(n) for p in public)]


@pytest.mark.parametrize("name", CHECKED, ids=identifier)
def test_derivatives(name):
    samples = derivatives.samples(name)
    reached = {rule for sample in samples for rule in sample.names}
    assert reached == OPS[name].rules.keys() - REFUSED.get(name, set()), "a rule that no sample reaches"
    for sample in samples:
        assert not derivatives.check(sample), sample


def test_what_is_unchecked_is_declared():
    assert not UNCHECKED.keys() - declared()


# ----- Large arrays, which take other paths -------------------------------------------------------------------------

POINTWISE = [name for name in CHECKED if OPS[name].kind == "pointwise"]


@pytest.mark.parametrize("name", POINTWISE, ids=identifier)
def test_derivatives_of_large_arrays(name):
    """The rules block by block and in machine code, in float64 against differences, in float32 against float64."""
    for sample in derivatives.samples(name):
        large = derivatives.enlarged(sample)
        if large is not None:
            assert not derivatives.check(large, second=False), large
            assert not derivatives.check_single_precision(large), large


@pytest.mark.parametrize("name", derivatives.LARGE)
def test_derivatives_of_large_calls(name):
    large = derivatives.LARGE[name]()
    assert not derivatives.check(large, second=False, forward=False)
    assert not derivatives.check_single_precision(large)


# ----- Whether these tests would fail -------------------------------------------------------------------------------


def test_a_wrong_rule_fails_its_test():
    """Some rules, each multiplied by 1.5; `python tools/mutate_derivatives.py` does all of them."""
    every = [mutant for name in CHECKED for mutant in mutants.of(name)]
    for number in np.random.default_rng(0).permutation(len(every))[:30]:
        assert every[number].is_killed(), every[number]


# ----- Batched, and both modes over each other ----------------------------------------------------------------------


@pytest.mark.parity  # it needs no PyTorch, but a minute
@pytest.mark.parametrize("name", CHECKED, ids=identifier)
def test_derivatives_in_every_mode(name):
    for sample in derivatives.samples(name):
        if name in derivatives.WITHOUT_FORWARD_MODE:
            continue
        inputs = derivatives.leaves(sample.inputs)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                gradcheck(sample, inputs, fast_mode=True, check_forward_ad=True, check_batched_grad=True,
                          check_batched_forward_grad=True, check_undefined_grad=False)  # fmt: skip
                if name != "_cdist_backward":  # by the distance, which is zero on the diagonal
                    gradgradcheck(sample, inputs, fast_mode=True, check_fwd_over_rev=True, check_batched_grad=True,
                                  check_undefined_grad=False)  # fmt: skip
            except (RuntimeError, NotImplementedError) as error:
                if not derivatives.refused(error):
                    raise
