"""Batch norms of features, (N, C), as loops in machine code, see Note [Compiled loops] in native/loops.py. kernels/norm/loops.py calls them.

With one value per channel in each sample, those of a sample lie next to each other: the sums of all channels go on together, some samples at a time.
"""

from __future__ import annotations

import math

from ..native.loops import Doubles, Floats


def features(
    begin: int, end: int, x: Floats, out: Floats, mean: Floats, rstd: Floats, var: Floats, weight: Floats, bias: Floats, middles: Doubles,
    scales: Doubles, count: int, channels: int, eps: float, *, scaled: bool, shifted: bool,
) -> None:  # fmt: skip
    stop = count * channels
    fours = count // 4 * 4 * channels
    for c in range(begin, end):
        middles[c] = 0.0
        scales[c] = 0.0
    b, d = channels, 2 * channels
    e = 3 * channels
    at = 0
    while at < fours:
        for c in range(begin, end):
            i = at + c
            middles[c] += (x[i] + x[i + b]) + (x[i + d] + x[i + e])
        at += 4 * channels
    while at < stop:
        for c in range(begin, end):
            middles[c] += x[at + c]
        at += channels
    for c in range(begin, end):
        middles[c] /= count
    at = 0
    while at < fours:
        for c in range(begin, end):
            i = at + c
            middle = middles[c]
            p, q, r, s = x[i] - middle, x[i + b] - middle, x[i + d] - middle, x[i + e] - middle
            scales[c] += (p * p + q * q) + (r * r + s * s)
        at += 4 * channels
    while at < stop:
        for c in range(begin, end):
            p = x[at + c] - middles[c]
            scales[c] += p * p
        at += channels
    for c in range(begin, end):
        square = scales[c] / count
        scale = 1.0 / math.sqrt(square + eps)
        mean[c] = middles[c]
        rstd[c] = scale
        var[c] = square
        if scaled:
            scale *= weight[c]
        scales[c] = scale
    at = 0
    while at < stop:
        for c in range(begin, end):
            value = (x[at + c] - middles[c]) * scales[c]
            if shifted:
                value += bias[c]
            out[at + c] = value
        at += channels


def features_back(
    begin: int, end: int, grad: Floats, x: Floats, mean: Floats, rstd: Floats, weight: Floats, dx: Floats, dweight: Floats, dbias: Floats,
    moments: Doubles, totals: Doubles, count: int, channels: int, *, scaled: bool, training: bool,
) -> None:  # fmt: skip
    stop = count * channels
    for c in range(begin, end):
        moments[c] = 0.0
        totals[c] = 0.0
    even = count // 2 * 2 * channels
    at = 0
    while at < even:
        for c in range(begin, end):
            i = at + c
            j = i + channels
            middle, g, h = mean[c], grad[i], grad[j]
            totals[c] += g + h
            moments[c] += g * (x[i] - middle) + h * (x[j] - middle)
        at += 2 * channels
    while at < stop:
        for c in range(begin, end):
            g = grad[at + c]
            totals[c] += g
            moments[c] += g * (x[at + c] - mean[c])
        at += channels
    for c in range(begin, end):
        spread = rstd[c]
        dweight[c] = moments[c] * spread
        dbias[c] = totals[c]
        moments[c] *= spread * spread / count
        totals[c] /= count
    at = 0
    while at < stop:
        for c in range(begin, end):
            i = at + c
            value = grad[i]
            if training:
                value -= totals[c] + (x[i] - mean[c]) * moments[c]
            scale = rstd[c]
            if scaled:
                scale *= weight[c]
            dx[i] = value * scale
        at += channels
