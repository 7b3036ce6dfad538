"""Wrong derivatives: the rule of an op with its result multiplied by 1.5, on arrays, on tensors or in forward mode."""

from __future__ import annotations

import contextlib
import warnings

import derivatives
import numpy as np

import penlight
from penlight.autograd import forward_ad
from penlight.ops import OPS
from penlight.ops.machinery.generate import compile_backward
from penlight.ops.machinery.op import LIST


class Mutant:
    """One rule of an op gone wrong, or its derivative in forward mode."""

    def __init__(self, name, rule, where):
        self.op, self.rule, self.where = OPS[name], rule, where
        self.ran = False

    def __repr__(self):
        return f"{self.op.name} by {self.rule} {self.where}"

    def is_killed(self):
        """Whether the check of the op's derivatives finds it."""
        with self.applied():
            for sample in derivatives.samples(self.op.name):
                try:
                    if derivatives.check(sample):
                        return True
                except Exception:
                    return True
        return False

    @contextlib.contextmanager
    def applied(self):
        if self.where == "in forward mode":
            owner, attribute = forward_ad, "jvp"
        else:
            owner, attribute = self.op.Backward, "run_raw" if self.where == "on arrays" else "run_graph"
            compile_backward(self.op)
        given = owner.__dict__.get(attribute)
        right = getattr(owner, attribute)
        setattr(owner, attribute, self.wrong_jvp(right) if owner is forward_ad else self.wrong_rule(right))
        try:
            yield
        finally:
            if given is None:
                delattr(owner, attribute)
            else:
                setattr(owner, attribute, given)

    def wrong_rule(self, right):
        def run(node, grads, keep):
            results = list(right(node, grads, keep))
            for number in self.outputs(len(results)):
                if results[number] is not None:
                    self.ran = True
                    results[number] = spoiled(results[number])
            return tuple(results)

        return run

    def outputs(self, count):
        """Which results of a node are this rule's: a list of tensors has one for each."""
        rules = list(self.op.rules)
        lists = [r for r in rules if self.op.kinds[r] == LIST]
        before = rules.index(self.rule)
        if not lists:
            return [before]
        length = count - len(rules) + 1
        start = before + (length - 1 if lists[0] in rules[:before] else 0)
        return range(start, start + length) if self.rule in lists else [start]

    def wrong_jvp(self, right):
        def jvp(op, arguments, tangents, result):
            found = right(op, arguments, tangents, result)
            if op is not self.op:
                return found
            self.ran = True
            return [None if t is None else spoiled(t) for t in found]

        return jvp


def spoiled(value):
    """Half as much again; 1 where all is zero."""
    array = value.detach().numpy() if isinstance(value, penlight.Tensor) else np.asarray(value)
    return value * 1.5 if np.any(array) else value + 1


def of(name):
    """All mutants of an op: each rule that has a derivative, in both passes, and forward mode."""
    rules = dict.fromkeys(rule for sample in derivatives.samples(name) for rule in sample.names)
    found = [Mutant(name, rule, where) for rule in rules for where in ("on arrays", "on tensors")]
    return (
        found if name in derivatives.WITHOUT_FORWARD_MODE else [*found, Mutant(name, "all inputs", "in forward mode")]
    )


def survivors(names):
    """How many mutants of these ops there are, and those that no check finds."""
    warnings.simplefilter("ignore")
    every = [mutant for name in names for mutant in of(name)]
    return len(every), [mutant for mutant in every if not mutant.is_killed()]
