"""Batch norms of features, (N, C), see Note [Compiled loops] in compiler/loops.py. kernels/norm/loops.py calls them.

With one value per channel in each sample, those of a sample lie next to each other: the sums of all channels go on together, some samples at a time.
"""

from __future__ import annotations

import math

from ..compiler.loops import Doubles, Floats


def features(
    begin: int, end: int, x: Floats, out: Floats, mean: Floats, rstd: Floats, var: Floats, weight: Floats, bias: Floats, middles: Doubles,
    scales: Doubles, count: int, channels: int, eps: float, *, scaled: bool, shifted: bool,
) -> None:  # fmt: skip
    for c in range(begin, end):
        middles[c] = 0.0
        scales[c] = 0.0
    for n in range(0, count - 3, 4):
        at = n * channels
        for c in range(begin, end):
            i = at + c
            middles[c] += (x[i] + x[i + channels]) + (x[i + 2 * channels] + x[i + 3 * channels])
    for n in range(count // 4 * 4, count):
        for c in range(begin, end):
            middles[c] += x[n * channels + c]
    for c in range(begin, end):
        middles[c] /= count
    for n in range(0, count - 3, 4):
        at = n * channels
        for c in range(begin, end):
            i = at + c
            middle = middles[c]
            p, q = x[i] - middle, x[i + channels] - middle
            r, s = x[i + 2 * channels] - middle, x[i + 3 * channels] - middle
            scales[c] += (p * p + q * q) + (r * r + s * s)
    for n in range(count // 4 * 4, count):
        for c in range(begin, end):
            p = x[n * channels + c] - middles[c]
            scales[c] += p * p
    for c in range(begin, end):
        square = scales[c] / count
        scale = 1.0 / math.sqrt(square + eps)
        mean[c] = middles[c]
        rstd[c] = scale
        var[c] = square
        if scaled:
            scale *= weight[c]
        scales[c] = scale
    for n in range(count):
        at = n * channels
        for c in range(begin, end):
            value = (x[at + c] - middles[c]) * scales[c]
            if shifted:
                value += bias[c]
            out[at + c] = value


def features_back(
    begin: int, end: int, grad: Floats, x: Floats, mean: Floats, rstd: Floats, weight: Floats, dx: Floats, dweight: Floats, dbias: Floats,
    moments: Doubles, totals: Doubles, count: int, channels: int, *, scaled: bool, training: bool,
) -> None:  # fmt: skip
    for c in range(begin, end):
        moments[c] = 0.0
        totals[c] = 0.0
    for n in range(0, count - 1, 2):
        at = n * channels
        for c in range(begin, end):
            i = at + c
            j = i + channels
            middle, g, h = mean[c], grad[i], grad[j]
            totals[c] += g + h
            moments[c] += g * (x[i] - middle) + h * (x[j] - middle)
    for n in range(count // 2 * 2, count):
        at = n * channels
        for c in range(begin, end):
            g = grad[at + c]
            totals[c] += g
            moments[c] += g * (x[at + c] - mean[c])
    for c in range(begin, end):
        spread = rstd[c]
        dweight[c] = moments[c] * spread
        dbias[c] = totals[c]
        moments[c] *= spread * spread / count
        totals[c] /= count
    for n in range(count):
        at = n * channels
        for c in range(begin, end):
            i = at + c
            value = grad[i]
            if training:
                value -= totals[c] + (x[i] - mean[c]) * moments[c]
            scale = rstd[c]
            if scaled:
                scale *= weight[c]
            dx[i] = value * scale
