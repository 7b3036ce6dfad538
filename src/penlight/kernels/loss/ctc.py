"""Connectionist temporal classification: the likelihood of label sequences under all alignments, and its gradient.

Labels are interleaved with blanks; ``alpha[n, t, s]`` is the logarithm of the probability of all alignments of the first
t + 1 frames that end in state s. All sequences of a batch go through time together. Computed in float64.
"""

from __future__ import annotations

import numpy as np

from ..numpy_warnings import silent
from . import ctc_kernels

Ints = tuple[int, ...]


def _states(targets: np.ndarray, target_lengths: Ints, blank: int) -> tuple[np.ndarray, np.ndarray]:
    """Labels with blanks around them ``(N, S)``, and where a state may be reached from the one before the last."""
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
    skips[:, 3::2] = states[:, 3::2] != states[:, 1:-2:2]  # between labels, of which one may be the blank's own
    return states, skips


def _log_sum(*terms: np.ndarray) -> np.ndarray:
    """log of the sum of exponentials, where -inf is nothing."""
    top = terms[0]
    for term in terms[1:]:
        top = np.maximum(top, term)
    shift = np.where(np.isneginf(top), 0.0, top)
    total = np.exp(terms[0] - shift)
    for term in terms[1:]:
        total += np.exp(term - shift)
    return np.log(total) + shift


def _from_before(row: np.ndarray, skips: np.ndarray) -> np.ndarray:
    """What arrives at each state from itself, from the one before it, and by a skip."""
    one, two = np.full_like(row, -np.inf), np.full_like(row, -np.inf)
    one[:, 1:] = row[:, :-1]
    two[:, 2:] = row[:, :-2]
    two[~skips] = -np.inf
    return _log_sum(row, one, two)


def ctc_loss(
    log_probs: np.ndarray, targets: np.ndarray, input_lengths: Ints, target_lengths: Ints, blank: int
) -> tuple[np.ndarray, np.ndarray]:
    """(negative log-likelihood ``(N,)``, alpha ``(N, T, S)``) of log-probabilities ``(T, N, C)``.

    >>> import numpy as np
    >>> ctc_loss(np.log(np.full((2, 1, 2), 0.5)), np.array([[1]]), (2,), (1,), 0)[0].round(4)
    array([0.2877])
    """
    found = ctc_kernels.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank)
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
    grad: np.ndarray, log_probs: np.ndarray, targets: np.ndarray, input_lengths: Ints, target_lengths: Ints,
    loss: np.ndarray, alpha: np.ndarray, blank: int, zero_infinity: bool,
) -> np.ndarray:  # fmt: skip
    """The gradient ``(T, N, C)`` in what the log-probabilities are the log-softmax of, as PyTorch defines it."""
    args = grad, log_probs, targets, input_lengths, target_lengths, loss, alpha, blank, zero_infinity
    made = ctc_kernels.ctc_loss_backward(*args)
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


def _beta(picked: np.ndarray, skips: np.ndarray, input_lengths: Ints, target_lengths: Ints) -> np.ndarray:
    """The logarithm of the probability of all ways from a state to the end of the sequence, its own frame included."""
    count, frames, size = picked.shape
    beta = np.full(picked.shape, -np.inf)
    ends, last = 2 * np.asarray(target_lengths, np.int64), np.asarray(input_lengths, np.int64)
    number = np.arange(size)
    ending = (number == ends[:, None]) | (number == ends[:, None] - 1)
    onwards = np.zeros_like(skips)
    onwards[:, :-2] = skips[:, 2:]
    with silent():
        later = np.full((count, size), -np.inf)
        for t in range(frames - 1, -1, -1):
            one, two = np.full_like(later, -np.inf), np.full_like(later, -np.inf)
            one[:, :-1] = later[:, 1:]
            two[:, :-2] = later[:, 2:]
            two[~onwards] = -np.inf
            ways = _log_sum(later, one, two)
            starts = (last == t + 1)[:, None]
            ways = np.where(starts, np.where(ending, 0.0, -np.inf), ways)
            later = ways + picked[:, t]
            beta[:, t] = later
    return beta
