"""Compares PyTorch's own samples of every op in both libraries; prints what differs and is not known to. A program: test_op_db_parity.py runs it."""

from __future__ import annotations

import itertools
import random
import sys

import numpy as np
import torch
from op_db import converted, face, full_name, ops
from running import flatten, quiet

import penlight

DTYPES = {"float64": 2, "complex128": 1, "int64": 1}  # and how many samples of each
LARGE = 5000  # elements, more than which a sample is not worth its time

# Ops that can't be compared: their numbers are not set, their results are sparse, or Penlight has them not.
NOT_COMPARED = {
    "empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided",
    "resize_", "resize_as_", "to_sparse", "sparse.mm.reduce", "sparse.sampled_addmm", "torch._scaled_mm",
    "torch._scaled_mm_v2", "chalf", "max_pool2d_with_indices_backward", "native_dropout_backward", "grid_sampler_3d", "nn.functional.triplet_margin_with_distance_loss",
}  # fmt: skip

# What docs/conformance.md explains: other results, strides or nodes than PyTorch's.
KNOWN = {
    "as_strided_scatter": "gradient", "slice": "node", "mH": "strides", "nn.functional.pad.circular": "node", "nn.functional.rms_norm": "node",
    "nn.functional.conv1d": "node", "nn.functional.conv2d": "node", "nn.functional.conv3d": "node",
    "nn.functional.conv_transpose1d": "node", "nn.functional.conv_transpose2d": "node", "nn.functional.conv_transpose3d": "node",
    "nn.functional.linear_cross_entropy.chunked_none": "node", "nn.functional.linear_cross_entropy.chunked": "node",
    "linalg.eigh": "values", "linalg.eig": "values", "linalg.svd": "values", "svd": "values", "svd_lowrank": "values", "pca_lowrank": "values",
    "topk": "values", "kthvalue": "values", "mode": "values", "special.bessel_j0": "values", "special.bessel_j1": "values", "special.bessel_y0": "values",
    "special.bessel_y1": "values",
}  # fmt: skip


def leaves(args, lib):
    return [t for t in flatten(args) if isinstance(t, lib.Tensor) and t.requires_grad]


def outcome(function, args, kwargs, lib):
    lib.manual_seed(0)
    try:
        with quiet():
            return function(*args, **kwargs), None
    except Exception as error:
        return None, error


def array(tensor):
    tensor = tensor.detach().resolve_conj().resolve_neg().clone()
    return (tensor.float() if "bfloat16" in str(tensor.dtype) else tensor).numpy()


def differing(mine, theirs, meta=True):
    """In what two results differ."""
    if not isinstance(theirs, torch.Tensor):
        return [] if isinstance(mine, penlight.Tensor) == isinstance(theirs, torch.Tensor) else ["kind"]
    if tuple(mine.shape) != tuple(theirs.shape) or str(mine.dtype) != str(theirs.dtype):
        return ["shape or dtype"]
    wide = str(theirs.dtype) in ("torch.float64", "torch.complex128")
    near = (1e-7, 1e-9) if wide else (1e-4, 1e-5)
    found = [] if np.allclose(array(mine), array(theirs), *near, equal_nan=True) else ["values"]
    if meta and theirs.numel() > 1 and mine.stride() != theirs.stride():
        found.append("strides")
    names = [t.grad_fn.name() if t.grad_fn is not None else None for t in (mine, theirs)]
    if meta and names[0] != names[1]:
        found.append("node")
    return found


def gradients(lib, outputs, inputs):
    rng = np.random.default_rng(3)
    seeds = []
    for t in outputs:
        values = rng.uniform(0.5, 1.5, tuple(t.shape)) * (1 + 1j if t.is_complex() else 1)
        seeds.append(lib.tensor(values, dtype=t.dtype))
    try:
        return lib.autograd.grad(outputs, inputs, seeds, allow_unused=True)
    except (RuntimeError, NotImplementedError):
        return ()


def compared(op, function, sample):
    """What differs on one sample."""
    args, kwargs = (sample.input, *sample.args), dict(sample.kwargs)
    own_args, own_kwargs = converted((args, kwargs))
    theirs, their_error = outcome(op.op, args, kwargs, torch)
    mine, my_error = outcome(function, own_args, own_kwargs, penlight)
    if their_error is not None or my_error is not None:
        return [] if type(their_error).__name__ == type(my_error).__name__ else [f"error {my_error!r} {their_error!r}"]
    pairs = list(zip(flatten(mine), flatten(theirs)))
    found = [kind for a, b in pairs for kind in differing(a, b)]
    outputs = [(a, b) for a, b in pairs if isinstance(b, torch.Tensor) and b.requires_grad]
    inputs = leaves((args, list(kwargs.values())), torch)
    if found or not outputs or not inputs or not all(a.requires_grad for a, _ in outputs):
        return found + ["requires_grad"] * any(not a.requires_grad for a, _ in outputs)
    own_inputs = leaves((own_args, list(own_kwargs.values())), penlight)
    own = gradients(penlight, [a for a, _ in outputs], own_inputs)
    other = gradients(torch, [b for _, b in outputs], inputs)
    if len(own) != len(other):
        return ["gradient refused"]
    for a, b in zip(own, other):
        if a is None or b is None:
            found += ["gradient"] * any(t is not None and array(t).any() for t in (a, b))
        else:
            found += ["gradient"] * bool(differing(a, b, meta=False))
    return found


def samples_of(op, dtype):
    """The first sample of an op, and one further on."""
    torch.manual_seed(0), np.random.seed(0), random.seed(0)
    floating = dtype.is_floating_point or dtype.is_complex
    grad = floating and op.supports_autograd and dtype in op.supported_backward_dtypes("cpu")
    found = list(itertools.islice(op.sample_inputs("cpu", dtype, requires_grad=grad), 4))
    small = [
        s for s in found if sum(t.numel() for t in flatten((s.input, *s.args)) if isinstance(t, torch.Tensor)) < LARGE
    ]
    return small[:1] + small[1:][-1:]


def main() -> int:
    torch.set_num_threads(1)
    problems, count = [], 0
    for op in ops():
        name = full_name(op)
        if op.name in NOT_COMPARED or name in NOT_COMPARED:
            continue
        function = face(op)
        if function is None:
            problems.append(f"{name}: missing")
            continue
        for dtype, most in DTYPES.items():
            if getattr(torch, dtype) in op.supported_dtypes("cpu"):
                for sample in samples_of(op, getattr(torch, dtype))[:most]:
                    found = compared(op, function, sample)
                    count += 1
                    problems += [f"{name}: {dtype} {kind}" for kind in found if kind not in KNOWN.get(name, "")]
    print(*dict.fromkeys(problems), sep="\n")
    print(len(ops()), count)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
