"""gradcheck and gradgradcheck, forward and reverse and batched, over every declared op that has a derivative.

The samples are the calls of ops that the records of tests/ops dispatch, so a new op is checked as soon as a record reaches it; one
that none reaches fails a test.
"""

from __future__ import annotations

import functools
import math
import warnings

import numpy as np
import pytest

import penlight
from penlight.autograd import gradcheck, gradgradcheck
from penlight.ops import OPS
from tests.func import capturing

DOUBLES = (penlight.float64, penlight.complex128)
LARGE = 300  # elements of a sample's inputs

# Ops whose derivative is not that of a function of numbers, and why.
UNCHECKED = {
    **dict.fromkeys(
        ["_uniform_into", "_normal_into", "_exponential_into", "_geometric_into", "_cauchy_into", "_log_normal_into", "_random_into",
         "_random_below_into", "_random_between_into", "_bernoulli_into", "_bernoulli_each_into", "_binomial", "_poisson", "_bernoulli_of",
         "_normal_about", "_normal_within", "_normal_about_within", "_rrelu_noisy", "_rrelu_noisy_backward", "_fractional_max_pool2d",
         "_fractional_max_pool3d"], "random"),
    **dict.fromkeys(
        ["_zero", "_fill", "_fill_tensor", "_copy", "_leaky_relu_written", "_threshold_written", "_rrelu_written", "_elu_written", "_celu_written"], "in place"),
    **dict.fromkeys(["_unique", "_unique_dim", "_unique_consecutive", "_geqrf", "_linalg_ldl_factor_ex", "_linalg_ldl_solve", "heaviside", "_zeta_number"],
                    "its derivative is refused, as in PyTorch"),
    **dict.fromkeys(["_shared_log_softmax", "_shared_nll"], "two halves of one function: tests/kernels/test_loss.py"),
    **dict.fromkeys(["_ctc_loss", "_ctc_backward", "_linalg_eig"], "defined for some of its inputs: tests/ops"),
    **dict.fromkeys(["_window_to_tensor", "_tensor_to_window", "_as_strided", "_view_dtype"], "of memory, not of numbers"),
    **dict.fromkeys(["_stack_one", "_mkldnn_rnn_layer", "_lstm_sequence", "_lstm_sequence_packed", "_lstm_projected", "_lstm_projected_packed",
                     "_gru_sequence", "_gru_sequence_packed", "_rnn_sequence", "_rnn_sequence_packed"],
                    "whole sequences, which are a loop of other ops while calls are noted: tests/nn/test_rnn_fused.py"),
    "_gelu_kept": "for large float32 arrays: tests/ops/test_gelu_kept.py",
    "_floor_divide": "not differentiable", "_floor_divide_number": "not differentiable",
}  # fmt: skip


HERMITIAN = {"_linalg_cholesky_ex", "_cholesky", "_linalg_eigh"}  # read one triangle
PHASES = {"_linalg_svd", "_linalg_eigh"}  # vectors are given up to a sign or phase
FIRST = {
    "_native_layer_norm",
    "_fused_rms_norm",
    "_native_batch_norm",
    "_native_group_norm",
    "_attention",
}  # then what it used


class Sample:
    """A call of an op as a function of those of its inputs that have rules."""

    def __init__(self, noted):
        self.op, self.arguments = noted.op, noted.arguments
        self.places = [
            path
            for path in capturing.places_of_tensors(self.arguments)
            if self.op.parameters[path[0]] in self.op.rules and capturing.at(self.arguments, path).dtype in DOUBLES
        ]

    @property
    def inputs(self):
        return [capturing.at(self.arguments, p).detach().clone().requires_grad_() for p in self.places]

    @property
    def size(self):
        return sum(capturing.at(self.arguments, p).numel() for p in self.places)

    def __call__(self, *inputs):
        arguments = self.arguments
        for path, value in zip(self.places, inputs):
            if self.op.name in HERMITIAN:
                value = (value + value.mH) / 2
            arguments = capturing.replaced(arguments, path, value)
        outs = capturing.flatten(self.op.function(*arguments))
        if self.op.name in PHASES:
            outs = [o.abs() for o in outs]
        floats = [o for o in outs if o.is_floating_point() or o.is_complex()]
        return tuple(floats[:1] if self.op.name in FIRST else floats)

    def usable(self):
        tensors = [capturing.at(self.arguments, p) for p in capturing.places_of_tensors(self.arguments)]
        floats = [t for t in tensors if t.is_floating_point() or t.is_complex()]
        least = 9 if self.op.name in HERMITIAN else 1
        if not self.places or not least <= self.size <= LARGE or any(unwanted(a) for a in self.arguments):
            return False
        return all(t.dtype in DOUBLES and t.numel() and np.isfinite(t.numpy()).all() for t in floats)


def unwanted(argument):
    """Infinities, results of less than double precision, and QR in modes that have no derivative."""
    if isinstance(argument, float):
        return math.isinf(argument)
    return (isinstance(argument, str) and argument in ("complete", "r")) or (
        isinstance(argument, penlight.dtype) and argument not in DOUBLES
    )


def plain(record, place):
    """Whether a sample has no given data, which is there for kinks and ties."""
    sample = record.samples[place]
    values = [v for a in (*sample.args, *sample.kwargs.values()) for v in (a if isinstance(a, (list, tuple)) else [a])]
    return not any(getattr(v, "data", None) is not None and "float" in getattr(v, "dtype", "") for v in values)


@functools.cache
def samples():
    """The first usable call of each op in real and in complex numbers; those of smooth records without given data first."""
    found = {}
    places = [(r, p) for r in capturing.RECORDS.values() if r.equal for p in range(len(r.samples))]
    for record, place in sorted(places, key=lambda at: (not at[0].smooth, not plain(*at))):
        try:
            noted = capturing.noting(capturing.whole_life(record, place, 0))
        except Exception:
            continue  # refused, or a sample that needs its own seed
        for call in noted:
            if call.inplace or not call.op.rules or call.op.name in UNCHECKED:
                continue
            sample = Sample(call)
            kind = "complex" if any(capturing.at(sample.arguments, p).is_complex() for p in sample.places) else "real"
            if (call.op.name, kind) not in found and sample.usable():
                found[call.op.name, kind] = sample
    return found


def declared():
    for table in ("nn.functional", "linalg", "fft", "special", "ops.recurrent"):
        __import__("penlight." + table)
    return [n for n, op in OPS.items() if op.rules and n not in UNCHECKED and not n.endswith("_into")]


def test_every_op_has_a_sample():
    reached = {name for name, _ in samples()}
    assert not [name for name in declared() if name not in reached]


def refused(error):
    return "is not implemented" in str(error) or "once_differentiable" in str(error)


# Elements at which the numbers are not smooth enough to tell, or a second derivative that PyTorch has not either.
ONCE = {"_cdist_backward": "by the distance, which is zero on the diagonal"}


def check(kinds, thoroughly):
    """What is wrong with the derivatives of ops: in all modes and batched, or (not thoroughly) of both orders in reverse mode."""
    wrong = []
    for (name, kind), sample in kinds:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                gradcheck(sample, sample.inputs, fast_mode=True, check_forward_ad=True, check_batched_grad=thoroughly,
                          check_batched_forward_grad=thoroughly, check_undefined_grad=False)  # fmt: skip
                if name not in ONCE:
                    gradgradcheck(sample, sample.inputs, fast_mode=True, check_fwd_over_rev=thoroughly, check_batched_grad=thoroughly,
                                  check_undefined_grad=False)  # fmt: skip
            except Exception as error:
                if not refused(error):
                    said = f"{type(error).__name__} {str(error)[:300]}"
                    wrong.append(f"{name} ({kind}){capturing.described(sample.arguments)}: {said}")
    return "\n\n".join(wrong)


@pytest.mark.parametrize("group", range(8))
def test_derivatives(group):
    assert not check([(at, s) for at, s in samples().items() if at[1] == "real"][group::8], False)


@pytest.mark.parity
@pytest.mark.parametrize("group", range(16))
def test_derivatives_in_every_mode(group):
    assert not check(list(samples().items())[group::16], True)
