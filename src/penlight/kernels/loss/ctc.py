"""Connectionist temporal classification: the likelihood of label sequences under all alignments, and its gradient.

Labels are interleaved with blanks; ``alpha[n, t, s]`` is the logarithm of the probability of all alignments of the first
t + 1 frames that end in state s. All sequences of a batch advance in time together. Computed in float64.
"""

from __future__ import annotations

import math

import numpy as np

from ..compiler.loops import Doubles, Floats, Ints, checked, compile_loops
from ..copies import contiguous
from ..numpy_warnings import silent
from ..waiting_threads import over

Sizes = tuple[int, ...]


def _states(targets: np.ndarray, target_lengths: Sizes, blank: int) -> tuple[np.ndarray, np.ndarray]:
    """Labels with blanks around them ``(N, S)``, and which states can be reached by skipping the previous one."""
    count, longest = len(target_lengths), max(target_lengths, default=0)
    states = np.full((count, 2 * longest + 1), blank, np.int64)
    if targets.ndim == 2:
        for n, length in enumerate(target_lengths):
            states[n, 1 : 2 * length : 2] = targets[n, :length]
    else:
        starts = np.cumsum([0, *target_lengths])
        for n, length in enumerate(target_lengths):
            states[n, 1 : 2 * length : 2] = targets[starts[n] : starts[n] + length]
    skips = np.zeros(states.shape, bool)
    skips[:, 3::2] = states[:, 3::2] != states[:, 1:-2:2]  # between labels, one of which may be the blank
    return states, skips


def _log_sum(*terms: np.ndarray) -> np.ndarray:
    """log of the sum of exponentials; -inf contributes nothing."""
    top = terms[0]
    for term in terms[1:]:
        top = np.maximum(top, term)
    shift = np.where(np.isneginf(top), 0.0, top)
    total = np.exp(terms[0] - shift)
    for term in terms[1:]:
        total += np.exp(term - shift)
    return np.log(total) + shift


def _from_before(row: np.ndarray, skips: np.ndarray) -> np.ndarray:
    """The log probability that reaches each state from itself, from the previous one, and by a skip."""
    one, two = np.full_like(row, -np.inf), np.full_like(row, -np.inf)
    one[:, 1:] = row[:, :-1]
    two[:, 2:] = row[:, :-2]
    two[~skips] = -np.inf
    return _log_sum(row, one, two)


def ctc_loss(
    log_probs: np.ndarray, targets: np.ndarray, input_lengths: Sizes, target_lengths: Sizes, blank: int
) -> tuple[np.ndarray, np.ndarray]:
    """(negative log-likelihood ``(N,)``, alpha ``(N, T, S)``) of log-probabilities ``(T, N, C)``.

    >>> import numpy as np
    >>> ctc_loss(np.log(np.full((2, 1, 2), 0.5)), np.array([[1]]), (2,), (1,), 0)[0].round(4)
    array([0.2877])
    """
    found = _compiled_loss(log_probs, targets, input_lengths, target_lengths, blank)
    if found is not None:
        return found
    frames, count, _ = log_probs.shape
    states, skips = _states(targets, target_lengths, blank)
    wide = np.take_along_axis(log_probs.astype(np.float64).transpose(1, 0, 2), states[:, None, :], 2)
    alpha = np.full((count, frames, states.shape[1]), -np.inf)
    ends, last = 2 * np.asarray(target_lengths, np.int64), np.asarray(input_lengths, np.int64)
    with silent():
        if frames:
            alpha[:, 0, :2] = wide[:, 0, :2]
            alpha[ends == 0, 0, 1:] = -np.inf
        for t in range(1, frames):
            alpha[:, t] = _from_before(alpha[:, t - 1], skips) + wide[:, t]
        rows = np.arange(count)
        final = np.where(last > 0, last - 1, 0)
        blanks = alpha[rows, final, ends] if frames else np.full(count, -np.inf)
        labels = alpha[rows, final, np.maximum(ends - 1, 0)] if frames else blanks
        likelihood = _log_sum(blanks, np.where(ends > 0, labels, -np.inf))
    likelihood = np.where(last > 0, likelihood, np.where(ends == 0, 0.0, -np.inf))
    return (-likelihood).astype(log_probs.dtype), alpha


def ctc_loss_backward(
    grad: np.ndarray, log_probs: np.ndarray, targets: np.ndarray, input_lengths: Sizes, target_lengths: Sizes,
    loss: np.ndarray, alpha: np.ndarray, blank: int, zero_infinity: bool,
) -> np.ndarray:  # fmt: skip
    """The gradient ``(T, N, C)`` with respect to the input of the log-softmax that gave the log-probabilities, as in PyTorch."""
    args = grad, log_probs, targets, input_lengths, target_lengths, loss, alpha, blank, zero_infinity
    made = _compiled_loss_backward(*args)
    if made is not None:
        return made
    frames, count, classes = log_probs.shape
    states, skips = _states(targets, target_lengths, blank)
    wide = log_probs.astype(np.float64).transpose(1, 0, 2)
    picked = np.take_along_axis(wide, states[:, None, :], 2)
    beta = _beta(picked, skips, input_lengths, target_lengths)
    with silent():
        both = alpha + beta - picked
        top = np.fmax.reduce(both, 2, keepdims=True) if both.size else np.zeros((count, frames, 1))
        shift = np.where(np.isneginf(top), 0.0, top)
        shares, number = np.zeros((count, frames, classes)), np.arange(count)
        for state, part in zip(states.T, np.exp(both - shift).transpose(2, 0, 1)):
            shares[number, :, state] += part
        log_share = np.log(shares) + shift
        found = np.exp(wide) - np.exp(log_share + loss.astype(np.float64)[:, None, None])
        found *= np.asarray(grad, np.float64).reshape(count, 1, 1)
    found[np.arange(frames)[None, :] >= np.asarray(input_lengths)[:, None]] = 0.0
    if zero_infinity:
        found[np.isinf(loss)] = 0.0
    return np.ascontiguousarray(found.transpose(1, 0, 2)).astype(log_probs.dtype, copy=False)


def _beta(picked: np.ndarray, skips: np.ndarray, input_lengths: Sizes, target_lengths: Sizes) -> np.ndarray:
    """The logarithm of the probability of all paths from a state to the end of the sequence, including its own frame."""
    count, frames, size = picked.shape
    beta = np.full(picked.shape, -np.inf)
    ends, last = 2 * np.asarray(target_lengths, np.int64), np.asarray(input_lengths, np.int64)
    number = np.arange(size)
    ending = (number == ends[:, None]) | (number == ends[:, None] - 1)
    onwards = np.zeros_like(skips)
    onwards[:, 2:] = skips[:, :1:-1]
    with silent():
        later = np.full((count, size), -np.inf)
        for t in range(frames - 1, -1, -1):
            ways = _from_before(later[:, ::-1], onwards)[:, ::-1]  # with the states in the other order
            starts = (last == t + 1)[:, None]
            ways = np.where(starts, np.where(ending, 0.0, -np.inf), ways)
            later = ways + picked[:, t]
            beta[:, t] = later
    return beta


# ----- The same as compiled loops, see Note [Compiled loops] in compiler/loops.py --------------------------------------
# Tables of lengths and labels are data, so all values read from them are clamped to the sizes of the arrays.


_GRAIN = 1 << 10  # states of all frames per thread, at least


def _sum_of(a: float, b: float, c: float) -> float:
    """log of the sum of exponentials; -inf contributes nothing."""
    top = max(max(a, b), c)
    if top == -math.inf:
        return top
    return math.log(math.exp(a - top) + math.exp(b - top) + math.exp(c - top)) + top


def _forward(
    begin: int, end: int, logs: Floats, targets: Ints, sizes: Ints, alpha: Doubles, loss: Floats, wrong: Ints, frames: int, count: int,
    classes: int, longest: int, total: int, blank: int,
) -> None:  # fmt: skip
    """`sizes` has for each sequence the offset of its labels, their number, and the number of frames."""
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
    """Each sequence has scratch memory for the paths from each state to the end, for two frames, and for the probabilities of the classes."""
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
    """The kernels' table of sizes for each sequence."""
    table = np.empty((len(input_lengths), 3), np.int64)
    table[:, 1], table[:, 2] = target_lengths, input_lengths
    if targets.ndim == 2:
        table[:, 0] = np.arange(len(table)) * targets.shape[1]
    else:
        np.cumsum(table[:-1, 1], out=table[1:, 0])
        table[:1, 0] = 0
    return table


def _labels(targets: np.ndarray) -> np.ndarray:
    """The labels for a kernel, which needs at least one."""
    return np.ascontiguousarray(targets, np.int64) if targets.size else np.zeros(1, np.int64)


def _compiled_loss(
    log_probs: np.ndarray, targets: np.ndarray, input_lengths: Sizes, target_lengths: Sizes, blank: int
) -> tuple[np.ndarray, np.ndarray] | None:
    """(negative log-likelihood, alpha); None if NumPy has to do it, as when a label is not a class."""
    run = compile_loops(_forward, log_probs.dtype, True)
    frames, count, classes = log_probs.shape
    if run is None or not log_probs.size:
        return None
    log_probs, labels = contiguous(log_probs), _labels(targets)
    longest = max(target_lengths)
    states = 2 * longest + 1
    sizes = _sizes(targets, input_lengths, target_lengths)
    arrays = log_probs, labels, sizes, (count, frames, states), (count,), np.zeros(1, np.int64)
    numbers = frames, count, classes, longest, labels.size, blank
    alpha, loss, wrong = over(run, count, -(-_GRAIN // (frames * states)), *arrays, *numbers)
    return None if wrong.item() else (loss, alpha)


def _compiled_loss_backward(
    grad: np.ndarray, log_probs: np.ndarray, targets: np.ndarray, input_lengths: Sizes, target_lengths: Sizes,
    loss: np.ndarray, alpha: np.ndarray, blank: int, zero_infinity: bool,
) -> np.ndarray | None:  # fmt: skip
    """The gradient (T, N, C)."""
    run = compile_loops(_backward, log_probs.dtype, True, forgiving=zero_infinity)
    frames, count, classes = log_probs.shape
    if run is None or not log_probs.size or alpha.dtype != np.float64 or loss.dtype != log_probs.dtype:
        return None
    log_probs, labels = contiguous(log_probs), _labels(targets)
    grad = np.ascontiguousarray(np.broadcast_to(grad, count), log_probs.dtype)
    loss, alpha = contiguous(loss), contiguous(alpha)
    longest = max(target_lengths)
    states = 2 * longest + 1
    sizes = _sizes(targets, input_lengths, target_lengths)
    arrays = log_probs, labels, sizes, alpha, loss, grad, log_probs.shape, (count, 2 * states + classes)
    numbers = frames, count, classes, longest, labels.size, blank
    out, _ = over(run, count, -(-_GRAIN // (frames * states)), *arrays, *numbers)
    return out
