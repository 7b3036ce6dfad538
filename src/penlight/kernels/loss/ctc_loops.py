"""The alignments of a CTC loss as loops in machine code, see Note [Compiled loops] in native/loops.py. The same in NumPy, with what is meant: ctc.py."""

from __future__ import annotations

import math

import numpy as np

from ..native.loops import Doubles, Floats, Ints, run_of
from ..waiting_threads import over

Sizes = tuple[int, ...]
_GRAIN = 1 << 10  # states of all frames that are worth sharing


def _sum_of(a: float, b: float, c: float) -> float:
    """log of the sum of exponentials, where -inf is nothing."""
    top = max(max(a, b), c)
    if top == -math.inf:
        return top
    return math.log(math.exp(a - top) + math.exp(b - top) + math.exp(c - top)) + top


def _forward(
    begin: int, end: int, logs: Floats, targets: Ints, sizes: Ints, alpha: Doubles, loss: Floats, wrong: Ints, frames: int, count: int,
    classes: int, states: int, blank: int,
) -> None:  # fmt: skip
    """`sizes` has for each sequence where its labels begin, how many there are, and how many frames."""
    for n in range(begin, end):
        labels, length, last = sizes[3 * n], sizes[3 * n + 1], sizes[3 * n + 2]
        for i in range(labels, labels + length):
            if targets[i] < 0 or targets[i] >= classes:
                wrong[0] = 1
                last = 0
        base = n * frames * states
        for i in range(base, base + frames * states):
            alpha[i] = -math.inf
        known = 2 * length + 1
        row = n * classes
        if last > 0:
            alpha[base] = logs[row + blank]
            if length > 0:
                alpha[base + 1] = logs[row + targets[labels]]
        for _ in range(1, last):
            before = base
            base += states
            row += count * classes
            for s in range(known):
                label = blank
                one, two = -math.inf, -math.inf
                if s > 0:
                    one = alpha[before + s - 1]
                if s % 2 == 1:
                    place = labels + s // 2
                    label = targets[place]
                    if s > 1 and label != blank and label != targets[place - 1]:
                        two = alpha[before + s - 2]
                alpha[base + s] = _sum_of(alpha[before + s], one, two) + logs[row + label]
        if last > 0:
            final = base + 2 * length
            other = -math.inf
            if length > 0:
                other = alpha[final - 1]
            loss[n] = -_sum_of(alpha[final], other, -math.inf)
        else:
            loss[n] = -0.0 if length == 0 else math.inf


def _backward(
    begin: int, end: int, logs: Floats, targets: Ints, sizes: Ints, alpha: Doubles, loss: Floats, grad: Floats, out: Floats,
    scratch: Doubles, frames: int, count: int, classes: int, states: int, blank: int, *, forgiving: bool,
) -> None:  # fmt: skip
    """Each sequence has a scratch for the ways from each state to the end, of two frames, and for the shares of the classes."""
    for n in range(begin, end):
        labels, length, last = sizes[3 * n], sizes[3 * n + 1], sizes[3 * n + 2]
        known = 2 * length + 1
        later = n * (2 * states + classes)
        now = later + states
        shares = now + states
        cost, factor = loss[n], grad[n]
        for t in range(last, frames):
            row = (t * count + n) * classes
            for c in range(row, row + classes):
                out[c] = 0.0
        if forgiving and abs(cost) == math.inf:
            for t in range(last):
                row = (t * count + n) * classes
                for c in range(row, row + classes):
                    out[c] = 0.0
            continue
        for t in range(last):
            row = ((last - 1 - t) * count + n) * classes
            base = (n * frames + last - 1 - t) * states
            top = -math.inf
            for s in range(known):
                label = blank
                if s % 2 == 1:
                    label = targets[labels + s // 2]
                if t == 0:
                    ways = 0.0 if s >= known - 2 else -math.inf
                else:
                    one, two = -math.inf, -math.inf
                    if s + 1 < known:
                        one = scratch[later + s + 1]
                    if s % 2 == 1 and s + 2 < known:
                        following = targets[labels + s // 2 + 1]
                        if following != blank and following != label:
                            two = scratch[later + s + 2]
                    ways = _sum_of(scratch[later + s], one, two)
                scratch[now + s] = ways + logs[row + label]
                top = max(top, alpha[base + s] + ways)
            for c in range(classes):
                scratch[shares + c] = 0.0
            shift = 0.0 if top == -math.inf else top
            for s in range(known):
                label = blank
                if s % 2 == 1:
                    label = targets[labels + s // 2]
                ways = scratch[now + s] - logs[row + label]
                scratch[shares + label] += math.exp(alpha[base + s] + ways - shift)
            scale = math.exp(shift + cost)
            for c in range(classes):
                out[row + c] = (math.exp(logs[row + c]) - scratch[shares + c] * scale) * factor
            later, now = now, later


def _sizes(targets: np.ndarray, input_lengths: Sizes, target_lengths: Sizes) -> np.ndarray:
    """What the kernels know about each sequence."""
    table = np.empty((len(input_lengths), 3), np.int64)
    table[:, 1], table[:, 2] = target_lengths, input_lengths
    if targets.ndim == 2:
        table[:, 0] = np.arange(len(table)) * targets.shape[1]
    else:
        np.cumsum(table[:-1, 1], out=table[1:, 0])
        table[:1, 0] = 0
    return table


def _plain(array: np.ndarray) -> np.ndarray:
    return array if array.flags.c_contiguous else np.ascontiguousarray(array)


def ctc_loss(
    log_probs: np.ndarray, targets: np.ndarray, input_lengths: Sizes, target_lengths: Sizes, blank: int
) -> tuple[np.ndarray, np.ndarray] | None:
    """(negative log-likelihood, alpha); None if NumPy has to do it, as when a label is no class."""
    run = run_of(_forward, log_probs.dtype, True)
    frames, count, classes = log_probs.shape
    if run is None or not count or not frames:
        return None
    log_probs, targets = _plain(log_probs), np.ascontiguousarray(targets, np.int64)
    states = 2 * max(target_lengths) + 1
    sizes = _sizes(targets, input_lengths, target_lengths)
    alpha, loss = np.empty((count, frames, states)), np.empty(count, log_probs.dtype)
    wrong = np.zeros(1, np.int64)
    arrays = log_probs, targets, sizes, alpha, loss, wrong
    over(run, count, -(-_GRAIN // (frames * states)), *arrays, frames, count, classes, states, blank)
    return None if wrong.item() else (loss, alpha)


def ctc_loss_backward(
    grad: np.ndarray, log_probs: np.ndarray, targets: np.ndarray, input_lengths: Sizes, target_lengths: Sizes,
    loss: np.ndarray, alpha: np.ndarray, blank: int, zero_infinity: bool,
) -> np.ndarray | None:  # fmt: skip
    """The gradient (T, N, C)."""
    run = run_of(_backward, log_probs.dtype, True, forgiving=zero_infinity)
    frames, count, classes = log_probs.shape
    if run is None or not count or not frames or alpha.dtype != np.float64 or loss.dtype != log_probs.dtype:
        return None
    log_probs, targets = _plain(log_probs), np.ascontiguousarray(targets, np.int64)
    grad = np.ascontiguousarray(np.broadcast_to(grad, count), log_probs.dtype)
    loss, alpha = _plain(loss), _plain(alpha)
    states = 2 * max(target_lengths) + 1
    sizes = _sizes(targets, input_lengths, target_lengths)
    out, scratch = np.empty_like(log_probs), np.empty((count, 2 * states + classes))
    arrays = log_probs, targets, sizes, alpha, loss, grad, out, scratch
    over(run, count, -(-_GRAIN // (frames * states)), *arrays, frames, count, classes, states, blank)
    return out
