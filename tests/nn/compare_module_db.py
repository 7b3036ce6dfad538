"""Compares PyTorch's own samples of every module in both libraries; prints what differs and is not known to. A program:
test_module_db_parity.py runs it."""

from __future__ import annotations

import io
import random
import sys

import numpy as np
import torch
from compare_op_db import differing
from op_db import converted, tests_of_pytorch
from running import flatten, quiet

import penlight

# What docs/conformance.md explains.
KNOWN = {
    "RMSNorm": "node",
    "CircularPad1d": "node",
    "CircularPad2d": "node",
    "CircularPad3d": "node",
    "LinearCrossEntropyLoss": "node",
}


def run(lib, made, args, kwargs):
    """What a module gives, and the gradients of its inputs and parameters, or the error."""
    lib.manual_seed(1)
    try:
        with quiet():
            module = made()
            results = [t for t in flatten(module(*args, **kwargs)) if isinstance(t, lib.Tensor)]
            inputs = [
                t for t in flatten((args, list(kwargs.values()))) if isinstance(t, lib.Tensor) and t.requires_grad
            ]
            for t in inputs:
                t.retain_grad()
            leaves = [*inputs, *(p for p in module.parameters() if p.requires_grad)]
            outputs = [t for t in results if t.requires_grad]
            if leaves and outputs:
                sum(((t * t.conj()).real if t.is_complex() else t * t).sum() for t in outputs).backward()
            return module, results, [t.grad for t in leaves], None
    except Exception as error:
        return None, [], [], error


def _read_here(args):
    """Modules among the arguments, as Penlight reads them from PyTorch's files."""

    def read(module):
        file = io.BytesIO()
        torch.save(module, file)
        file.seek(0)
        return penlight.load(file, weights_only=False)

    return [read(a) if isinstance(a, torch.nn.Module) else a for a in args]


def compared(info, sample, training):
    """What differs on one sample."""
    make, use = sample.constructor_input, sample.forward_input
    if use is None:
        return []
    torch.manual_seed(0)
    reference = info.module_cls(*make.args, **make.kwargs).train(training)
    if any(torch.nn.parameter.is_lazy(p) for p in reference.parameters()):
        return []  # tests/nn/test_lazy.py
    state = converted(dict(reference.state_dict()))
    own_class = getattr(penlight.nn, info.module_cls.__name__)
    own_make, own_use = converted((_read_here(make.args), make.kwargs)), converted((use.args, use.kwargs))
    once = {id(given): own for given, own in zip(use.args, own_use[0])}
    own_use = [once[id(given)] for given in use.args], own_use[1]  # one tensor may be given twice

    def own():
        module = own_class(*own_make[0], **own_make[1]).train(training)
        module.load_state_dict(state)
        return module

    theirs = run(torch, lambda: reference, use.args, use.kwargs)
    mine = run(penlight, own, *own_use)
    if theirs[3] is not None or mine[3] is not None:
        return [] if type(theirs[3]).__name__ == type(mine[3]).__name__ else [f"error {mine[3]!r} {theirs[3]!r}"]
    found = [] if repr(mine[0]) == repr(theirs[0]) else ["repr"]
    found += [kind for a, b in zip(mine[1], theirs[1], strict=True) for kind in differing(a, b)]
    for a, b in zip(mine[2], theirs[2], strict=True):
        if a is None or b is None:
            found += ["gradient missing"] * ((a is None) != (b is None))
        elif not b.is_sparse:
            found += [f"gradient's {kind}" for kind in differing(a, b) if kind != "strides"]
    return found


def main() -> int:
    torch.set_num_threads(1)
    problems, count, names = [], 0, set()
    for info in tests_of_pytorch("common_modules").module_db:
        name = info.module_cls.__name__
        if not hasattr(penlight.nn, name):
            problems.append(f"{name}: missing")
            continue
        for training in (True, False) if info.train_and_eval_differ else (True,):
            torch.manual_seed(0), np.random.seed(0), random.seed(0)
            for sample in info.module_inputs_func(
                info, device="cpu", dtype=torch.float64, requires_grad=True, training=training
            ):
                names.add(name)
                count += 1
                kinds = compared(info, sample, training)
                problems += [f"{name}: {kind}" for kind in kinds if kind not in KNOWN.get(name, "")]
    print(*dict.fromkeys(problems), sep="\n")
    print(len(names), count)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
