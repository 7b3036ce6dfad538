"""The alignments of a CTC loss, see Note [Compiled loops] in compiler/loops.py. The same in NumPy, with what is meant: ctc.py.

Tables of lengths and labels are data, so all that is read from them is limited by the sizes of the arrays.
"""

from __future__ import annotations

import math

import numpy as np

from ..compiler.loops import Doubles, Floats, Ints, checked, compile_loops
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
    classes: int, longest: int, total: int, blank: int,
) -> None:  # fmt: skip
    """`sizes` has for each sequence where its labels begin, how many there are, and how many frames."""
    states = 2 * longest + 1
    empty = checked(blank, classes)
    for n in range(begin, end):
        labels = sizes[3 * n]
        length = min(longest, max(sizes[3 * n + 1], 0))
        last = min(frames, max(sizes[3 * n + 2], 0))
        for i in range(length):
            label = targets[checked(labels + i, total)]
            if label < 0 or label >= classes:
                wrong[0] = 1
                last = 0
        last = min(frames, last)
        start = n * frames * states
        for i in range(frames * states):
            alpha[start + i] = -math.inf
        if last > 0:
            alpha[start] = logs[n * classes + empty]
            if length > 0:
                alpha[start + checked(1, states)] = logs[
                    n * classes + checked(targets[checked(labels, total)], classes)
                ]
        for t in range(1, last):
            base = (n * frames + t) * states
            before = base - states
            row = (t * count + n) * classes
            for s in range(2 * length + 1):
                label = blank
                one, two = -math.inf, -math.inf
                if s > 0:
                    one = alpha[before + checked(s - 1, states)]
                if s % 2 == 1:
                    label = targets[checked(labels + s // 2, total)]
                    if s > 1 and label != targets[checked(labels + s // 2 - 1, total)]:
                        two = alpha[before + checked(s - 2, states)]
                alpha[base + s] = _sum_of(alpha[before + s], one, two) + logs[row + checked(label, classes)]
        if last > 0:
            final = (n * frames + checked(last - 1, frames)) * states
            other = -math.inf
            if length > 0:
                other = alpha[final + checked(2 * length - 1, states)]
            loss[n] = -_sum_of(alpha[final + 2 * length], other, -math.inf)
        else:
            loss[n] = -0.0 if length == 0 else math.inf


def _backward(
    begin: int, end: int, logs: Floats, targets: Ints, sizes: Ints, alpha: Doubles, loss: Floats, grad: Floats, out: Floats,
    scratch: Doubles, frames: int, count: int, classes: int, longest: int, total: int, blank: int, *, forgiving: bool,
) -> None:  # fmt: skip
    """Each sequence has a scratch for the ways from each state to the end, of two frames, and for the shares of the classes."""
    states = 2 * longest + 1
    for n in range(begin, end):
        labels = sizes[3 * n]
        length = min(longest, max(sizes[3 * n + 1], 0))
        last = min(frames, max(sizes[3 * n + 2], 0))
        known = 2 * length + 1
        room = n * (2 * states + classes)
        shares = room + 2 * states
        cost, factor = loss[n], grad[n]
        for t in range(last, frames):
            row = (t * count + n) * classes
            for c in range(classes):
                out[row + c] = 0.0
        if forgiving and abs(cost) == math.inf:
            for t in range(last):
                row = (t * count + n) * classes
                for c in range(classes):
                    out[row + c] = 0.0
            continue
        for t in range(last):
            frame = checked(last - 1 - t, frames)
            row = (frame * count + n) * classes
            base = (n * frames + frame) * states
            later = room + t % 2 * states
            now = room + (1 - t % 2) * states
            top = -math.inf
            for s in range(known):
                label = blank
                if s % 2 == 1:
                    label = targets[checked(labels + s // 2, total)]
                if t == 0:
                    ways = 0.0 if s >= known - 2 else -math.inf
                else:
                    one, two = -math.inf, -math.inf
                    if s + 1 < known:
                        one = scratch[later + checked(s + 1, states)]
                    if s % 2 == 1 and s + 2 < known:
                        following = targets[checked(labels + s // 2 + 1, total)]
                        if following != label:
                            two = scratch[later + checked(s + 2, states)]
                    ways = _sum_of(scratch[later + s], one, two)
                scratch[now + s] = ways + logs[row + checked(label, classes)]
                top = max(top, alpha[base + s] + ways)
            for c in range(classes):
                scratch[shares + c] = 0.0
            shift = 0.0 if top == -math.inf else top
            for s in range(known):
                label = blank
                if s % 2 == 1:
                    label = targets[checked(labels + s // 2, total)]
                c = checked(label, classes)
                ways = scratch[now + s] - logs[row + c]
                scratch[shares + c] += math.exp(alpha[base + s] + ways - shift)
            scale = math.exp(shift + cost)
            for c in range(classes):
                out[row + c] = (math.exp(logs[row + c]) - scratch[shares + c] * scale) * factor


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


def _labels(targets: np.ndarray) -> np.ndarray:
    """The labels as a kernel reads them, which needs at least one."""
    return np.ascontiguousarray(targets, np.int64) if targets.size else np.zeros(1, np.int64)


def ctc_loss(
    log_probs: np.ndarray, targets: np.ndarray, input_lengths: Sizes, target_lengths: Sizes, blank: int
) -> tuple[np.ndarray, np.ndarray] | None:
    """(negative log-likelihood, alpha); None if NumPy has to do it, as when a label is no class."""
    run = compile_loops(_forward, log_probs.dtype, True)
    frames, count, classes = log_probs.shape
    if run is None or not log_probs.size:
        return None
    log_probs, labels = _plain(log_probs), _labels(targets)
    longest = max(target_lengths)
    states = 2 * longest + 1
    sizes = _sizes(targets, input_lengths, target_lengths)
    arrays = log_probs, labels, sizes, (count, frames, states), (count,), np.zeros(1, np.int64)
    numbers = frames, count, classes, longest, labels.size, blank
    alpha, loss, wrong = over(run, count, -(-_GRAIN // (frames * states)), *arrays, *numbers)
    return None if wrong.item() else (loss, alpha)


def ctc_loss_backward(
    grad: np.ndarray, log_probs: np.ndarray, targets: np.ndarray, input_lengths: Sizes, target_lengths: Sizes,
    loss: np.ndarray, alpha: np.ndarray, blank: int, zero_infinity: bool,
) -> np.ndarray | None:  # fmt: skip
    """The gradient (T, N, C)."""
    run = compile_loops(_backward, log_probs.dtype, True, forgiving=zero_infinity)
    frames, count, classes = log_probs.shape
    if run is None or not log_probs.size or alpha.dtype != np.float64 or loss.dtype != log_probs.dtype:
        return None
    log_probs, labels = _plain(log_probs), _labels(targets)
    grad = np.ascontiguousarray(np.broadcast_to(grad, count), log_probs.dtype)
    loss, alpha = _plain(loss), _plain(alpha)
    longest = max(target_lengths)
    states = 2 * longest + 1
    sizes = _sizes(targets, input_lengths, target_lengths)
    arrays = log_probs, labels, sizes, alpha, loss, grad, log_probs.shape, (count, 2 * states + classes)
    numbers = frames, count, classes, longest, labels.size, blank
    out, _ = over(run, count, -(-_GRAIN // (frames * states)), *arrays, *numbers)
    return out  # type: ignore[no-any-return]
