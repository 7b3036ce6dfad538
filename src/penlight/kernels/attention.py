"""Scaled dot-product attention and its gradients, head by head.

Scores of a few heads at a time stay in the cache between the two matrix products. Heads are shared between threads if
there is enough work.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod

import numpy as np

from ._rowtools import BLOCK_ELEMENTS, narrow, row_max, row_sum, widen

Needs = tuple[bool, bool, bool]
Grads = tuple[np.ndarray | None, np.ndarray | None, np.ndarray | None]

# Probabilities up to this many bytes are kept for the backward pass; beyond, they are computed again.
_KEEP_BYTES = 1 << 26
# Multiplications that are worth waking a thread for.
_GRAIN = 1 << 21


def _above(rows: int, columns: int, dtype: np.dtype) -> np.ndarray:
    """The causal mask: -inf above the diagonal."""
    return np.triu(np.full((rows, columns), -np.inf, dtype), 1)


_small_above = lru_cache(maxsize=8)(_above)


class _Heads:
    """The heads of a batch as one long list, and the mask that belongs to some of them."""

    def __init__(self, query: np.ndarray, key: np.ndarray, mask: np.ndarray | None, causal: bool) -> None:
        self.batch, self.heads, self.rows, _ = query.shape
        self.columns = key.shape[2]
        self.mask = None if mask is None else widen(mask)
        self.above = None
        if causal:
            above = _small_above if self.rows * self.columns <= BLOCK_ELEMENTS else _above
            self.above = above(self.rows, self.columns, query.dtype if query.itemsize > 2 else np.dtype(np.float32))
        self.each = max(1, BLOCK_ELEMENTS // max(self.rows * self.columns, 1))
        self.alone = mask is not None and mask.shape[0] * mask.shape[1] > 1

    def blocks(self, low: int, high: int):  # type: ignore[no-untyped-def]
        """Slices of the list of heads; where the mask differs between samples, none crosses from one to the next."""
        start = low
        while start < high:
            stop = min(start + self.each, high)
            if self.alone:
                stop = min(stop, (start // self.heads + 1) * self.heads)
            yield slice(start, stop)
            start = stop

    def hide(self, scores: np.ndarray, part: slice) -> None:
        """Add the masks to the scores of some heads."""
        if self.above is not None:
            scores += self.above
        if self.mask is None:
            return
        if not self.alone:
            scores += self.mask[0, 0]
            return
        sample, first = divmod(part.start, self.heads)
        mask = self.mask[sample if self.mask.shape[0] > 1 else 0]
        scores += mask[first : first + part.stop - part.start] if len(mask) > 1 else mask[0]

    def share(self, body, work: int) -> None:  # type: ignore[no-untyped-def]
        total = self.batch * self.heads
        if work < 2 * _GRAIN:
            with np.errstate(all="ignore"):
                body(0, total)
            return
        from .parallel import parallel_for

        parallel_for(body, total, max(1, total * _GRAIN // max(work, 1)))


def _flat(x: np.ndarray) -> np.ndarray:
    """(N, H, L, E) as a list of heads."""
    x = widen(x)
    return x.reshape(prod(x.shape[:2]), *x.shape[2:])


def _scores(query: np.ndarray, key: np.ndarray, heads: _Heads, part: slice, scale: float) -> np.ndarray:
    scores = np.matmul(query[part] * query.dtype.type(scale), key[part].swapaxes(1, 2))
    heads.hide(scores, part)
    return scores


def attention(
    query: np.ndarray, key: np.ndarray, value: np.ndarray, mask: np.ndarray | None, scale: float, causal: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(result ``(N, H, L, E)``, log of the sums of exponentials ``(N, H, L)``, probabilities or nothing if they are many).

    The mask, of four dims, is added to the scores. A row that may look at nothing gives 0.
    """
    heads = _Heads(query, key, mask, causal)
    q, k, v = _flat(query), _flat(key), _flat(value)
    shape = (*query.shape[:3], value.shape[3])
    out, sums = np.empty((len(q), *shape[2:]), q.dtype), np.empty((len(q), heads.rows), q.dtype)
    keep = len(q) * heads.rows * heads.columns * q.itemsize <= _KEEP_BYTES
    kept = np.empty((len(q), heads.rows, heads.columns) if keep else (0,), q.dtype)

    def body(low: int, high: int) -> None:
        for part in heads.blocks(low, high):
            scores = _scores(q, k, heads, part, scale)
            flat = scores.reshape(-1, heads.columns)
            top = row_max(flat)
            top[np.isneginf(top)] = 0.0
            np.subtract(flat, top, flat)
            np.exp(flat, flat)
            total = row_sum(flat)
            sums[part] = (np.log(total) + top[:, 0]).reshape(-1, heads.rows)
            total[total == 0] = 1.0
            np.divide(flat, total[:, None], flat)
            if keep:
                kept[part] = scores
            np.matmul(scores, v[part], out[part])

    if out.size and heads.columns:
        heads.share(body, 2 * len(q) * heads.rows * heads.columns * q.shape[2])
    else:
        out.fill(0)
        sums.fill(-np.inf)
    return narrow(out.reshape(shape), query.dtype), sums.reshape(shape[:3]), kept


def attention_backward(
    grad: np.ndarray, query: np.ndarray, key: np.ndarray, value: np.ndarray, mask: np.ndarray | None, out: np.ndarray,
    sums: np.ndarray, kept: np.ndarray, scale: float, causal: bool, needs: Needs = (True, True, True),
) -> Grads:  # fmt: skip
    """Gradients of query, key and value."""
    heads = _Heads(query, key, mask, causal)
    q, k, v, g = _flat(query), _flat(key), _flat(value), _flat(np.ascontiguousarray(grad))
    agreed = np.einsum("blv,blv->bl", g, _flat(out))
    lows = sums.reshape(len(q), heads.rows, 1)
    lows = np.where(np.isneginf(lows), np.inf, lows)
    results = [np.zeros(x.shape, x.dtype) if need else None for x, need in zip((q, k, v), needs, strict=True)]
    dq, dk, dv = results

    def body(low: int, high: int) -> None:
        for part in heads.blocks(low, high):
            if kept.size:
                p = kept[part]
            else:
                p = _scores(q, k, heads, part, scale)
                np.subtract(p, lows[part], p)
                np.exp(p, p)
            if dv is not None:
                np.matmul(p.swapaxes(1, 2), g[part], dv[part])
            if dq is None and dk is None:
                continue
            slopes = np.matmul(g[part], v[part].swapaxes(1, 2))
            slopes -= agreed[part, :, None]
            slopes *= p
            slopes *= slopes.dtype.type(scale)
            if dq is not None:
                np.matmul(slopes, k[part], dq[part])
            if dk is not None:
                np.matmul(slopes.swapaxes(1, 2), q[part], dk[part])

    if out.size and heads.columns:
        heads.share(body, 5 * len(q) * heads.rows * heads.columns * q.shape[2])
    like = (query, key, value)
    dq, dk, dv = (
        None if r is None else narrow(r.reshape(x.shape), x.dtype) for r, x in zip(results, like, strict=True)
    )
    return dq, dk, dv
