"""Scaled dot-product attention and its gradients, some heads at a time.

The scores of a few heads stay in the cache between the two matrix products. Heads are shared between threads if there is
enough work. Queries, keys and values are read in place, for example as slices of one projection in which the heads of one
position are contiguous.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from .. import native
from ..linalg.blas import multiply
from ..numpy_calls import kept
from ..numpy_warnings import silent
from ..parallel import parallel_for
from ..reduce import row_max, row_sum
from ..rows import narrow, widen
from ..strategy import Strategy, by_table
from . import compiled, rows as definitions
from .compiled import _side_by_side, causal_limits

Needs = tuple[bool, bool, bool]
Grads = tuple[np.ndarray | None, np.ndarray | None, np.ndarray | None]
Part = tuple[slice, slice]

# Probabilities up to this many bytes are kept for the backward pass; beyond, they are computed again.
_KEEP_BYTES = 1 << 26
# Scores per block: they, their gradients and the heads they come from fit in a core's own cache.
_BLOCK_ELEMENTS = 1 << 15
# The same for native kernels, whose threads share each block.
_SHARED_ELEMENTS = 1 << 18
# Multiplications per thread, at least.
_GRAIN = 1 << 24
# Scores up to which all are processed at once, without threads: for more, blocks are faster.
_MOST_AT_ONCE = 1 << 12


@kept(lambda rows, columns, _: rows * columns, _BLOCK_ELEMENTS, 8)
def _above(rows: int, columns: int, dtype: np.dtype) -> np.ndarray:
    """The causal mask: -inf above the diagonal."""
    return np.triu(np.full((rows, columns), -np.inf, dtype), 1)


class _Heads:
    """The heads of a batch, split into blocks, and the masks of their scores."""

    def __init__(self, query: np.ndarray, key: np.ndarray, mask: np.ndarray | None, causal: bool) -> None:
        self.batch, self.heads, self.rows, _ = query.shape
        self.columns = key.shape[2]
        self.mask = None if mask is None else widen(mask)
        self.causal = causal
        self.dtype = query.dtype if query.itemsize > 2 else np.dtype(np.float32)
        self.is_native = self.dtype in native.FLOATS and native.available()
        block = _SHARED_ELEMENTS if self.is_native else _BLOCK_ELEMENTS
        self.blocks = self._blocks(max(1, block // max(self.rows * self.columns, 1)))

    def _blocks(self, each: int) -> list[Part]:
        """About `each` heads at a time: of several samples, or some of one sample."""
        samples, heads = max(1, each // max(self.heads, 1)), max(1, min(each, self.heads))
        return [
            (slice(n, n + samples), slice(h, h + heads))
            for n in range(0, self.batch, samples)
            for h in range(0, self.heads, heads)
        ]

    def add_mask(self, scores: np.ndarray, part: Part) -> None:
        """Add the mask, if there is one, to the scores of some heads."""
        if self.mask is not None:
            samples, heads = self.mask.shape[:2]
            scores += self.mask[part[0] if samples > 1 else slice(None), part[1] if heads > 1 else slice(None)]

    @cached_property
    def above(self) -> np.ndarray:
        """The causal mask."""
        return _above(self.rows, self.columns, self.dtype)

    def share(self, body, work: int) -> None:
        """Call `body(part)` for all blocks."""

        def run(low: int, high: int) -> None:
            for part in self.blocks[low:high]:
                body(part)

        total = len(self.blocks)
        if self.is_native or work < 2 * _GRAIN:
            with silent():
                run(0, total)
            return
        parallel_for(run, total, max(1, total * _GRAIN // max(work, 1)))


def _rows(x: np.ndarray) -> np.ndarray:
    """The heads with dense rows, which BLAS reads directly; others are copied."""
    x = widen(x)
    step = x.strides[2]
    dense = x.strides[3] == x.itemsize and step >= x.shape[3] * x.itemsize and step % x.itemsize == 0
    return x if dense else np.ascontiguousarray(x)


def _scores(
    query: np.ndarray, key: np.ndarray, heads: _Heads, part: Part, scale: float, out: np.ndarray | None
) -> np.ndarray:
    scores = np.matmul(query[part] * query.dtype.type(scale), key[part].swapaxes(2, 3), out)
    if heads.causal:
        scores += heads.above
    heads.add_mask(scores, part)
    return scores


def _probabilities(
    query: np.ndarray,
    key: np.ndarray,
    heads: _Heads,
    part: Part,
    scale: float,
    logs: np.ndarray,
    out: np.ndarray | None,
) -> np.ndarray:
    """The probabilities of some heads; the logs of their sums of exponentials are written to `logs`."""
    if heads.is_native:
        return _native_probabilities(definitions.attend, query, key, heads, part, scale, logs, out)
    scores = _scores(query, key, heads, part, scale, out)
    flat = scores.reshape(-1, heads.columns)
    top = row_max(flat)
    # Finite even if all scores are masked, so that masked scores stay -inf.
    np.maximum(top, np.finfo(flat.dtype).min, out=top)
    np.subtract(flat, top, flat)
    np.exp(flat, flat)
    total = row_sum(flat)
    logs[...] = (np.log(total) + top[:, 0]).reshape(scores.shape[:3])
    total[total == 0] = 1.0
    np.divide(flat, total[:, None], flat)
    return scores


def _probabilities_again(
    query: np.ndarray, key: np.ndarray, heads: _Heads, part: Part, scale: float, logs: np.ndarray
) -> np.ndarray:
    """The probabilities recomputed from the logs, which are +inf for fully masked rows."""
    if heads.is_native:
        return _native_probabilities(definitions.attend_again, query, key, heads, part, scale, logs, None)
    p = _scores(query, key, heads, part, scale, None)
    np.subtract(p, logs[..., None], p)
    np.exp(p, p)
    return p


def _native_probabilities(
    define: Callable[..., None], query: np.ndarray, key: np.ndarray, heads: _Heads, part: Part, scale: float, logs: np.ndarray,
    out: np.ndarray | None,
) -> np.ndarray:  # fmt: skip
    """See Note [Native kernels]."""
    q = query[part]
    if heads.mask is not None:  # the mask is added after scaling
        q, scale = q * q.dtype.type(scale), 1.0
    scores = multiply(q, key[part].swapaxes(2, 3), out)
    heads.add_mask(scores, part)
    count = scores.shape[0] * scores.shape[1]
    limits = causal_limits(heads.rows, heads.columns, count, heads.dtype) if heads.causal else ()
    shape = (count * heads.rows, heads.columns)
    native.over_rows(define, shape, scores, logs, *limits, numbers=(scale,), causal=heads.causal)
    return scores


def _in_blocks(
    query: np.ndarray, key: np.ndarray, value: np.ndarray, mask: np.ndarray | None, scale: float, causal: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(result ``(N, H, L, E)``, log of the sums of exponentials ``(N, H, L)``, probabilities, or an empty array if there are too many).

    The mask, of four dims, is added to the scores. A fully masked row gives 0. The result has the query's memory layout, as in PyTorch.
    """
    heads = _Heads(query, key, mask, causal)
    q, k, v = _rows(query), _rows(key), _rows(value)
    # `q` is the query if its rows are dense, else a contiguous copy.
    out = np.empty_like(q, shape=(*q.shape[:3], value.shape[3]))
    sums = np.empty(query.shape[:3], q.dtype)
    shape = (*query.shape[:3], heads.columns)
    keep = sums.size * heads.columns * q.itemsize <= _KEEP_BYTES
    kept = np.empty(shape if keep else (0,), q.dtype)

    def body(part: Part) -> None:
        p = _probabilities(q, k, heads, part, scale, sums[part], kept[part] if keep else None)
        multiply(p, v[part], out[part])

    if out.size and heads.columns:
        heads.share(body, 2 * sums.size * heads.columns * q.shape[3])
    else:
        out.fill(0)
        sums.fill(-np.inf)
    return narrow(out, query.dtype), sums, kept


def _backward_in_blocks(
    grad: np.ndarray, query: np.ndarray, key: np.ndarray, value: np.ndarray, mask: np.ndarray | None, out: np.ndarray,
    sums: np.ndarray, kept: np.ndarray, scale: float, causal: bool, needs: Needs = (True, True, True),
) -> Grads:  # fmt: skip
    """Gradients of query, key and value. In memory, the heads of one position are contiguous, as in PyTorch."""
    heads = _Heads(query, key, mask, causal)
    q, k, v, g = _rows(query), _rows(key), _rows(value), _rows(grad)
    seen = widen(out)
    lows = None if kept.size else np.where(np.isneginf(sums), np.inf, sums)
    dq, dk, dv = results = [_side_by_side(x) if need else None for x, need in zip((q, k, v), needs, strict=True)]

    def body(part: Part) -> None:
        p = kept[part] if lows is None else _probabilities_again(q, k, heads, part, scale, lows[part])
        if dv is not None:
            multiply(p.swapaxes(2, 3), g[part], dv[part])
        if dq is None and dk is None:
            return
        slopes = multiply(g[part], v[part].swapaxes(2, 3))
        if heads.is_native:
            shape = (p.size // heads.columns, heads.columns)
            native.over_rows(definitions.attend_backward, shape, slopes, p, numbers=(scale,))
        else:
            slopes -= np.einsum("nhle,nhle->nhl", g[part], seen[part])[..., None]
            slopes *= p
            slopes *= slopes.dtype.type(scale)
        if dq is not None:
            multiply(slopes, k[part], dq[part])
        if dk is not None:
            multiply(slopes.swapaxes(2, 3), q[part], dk[part])

    if out.size and heads.columns:
        heads.share(body, 5 * sums.size * heads.columns * q.shape[3])
    else:
        for result in results:
            if result is not None:
                result.fill(0)
    like = (query, key, value)
    dq, dk, dv = (None if r is None else narrow(r, x.dtype) for r, x in zip(results, like, strict=True))
    return dq, dk, dv


# fmt: off
ATTENTION = (
    Strategy(lambda query, key, *_: query.size // query.shape[3] * key.shape[2] <= _MOST_AT_ONCE if query.size else False, compiled.attention,
             "1.3 to 3 times blocks"),
    Strategy(None, _in_blocks, "every size, dtype and machine"),
)
GRADIENTS = (
    Strategy(lambda grad, query, key, value, mask, out, sums, kept, *_: 0 < kept.size <= _MOST_AT_ONCE, compiled.attention_backward, "1.5 to 3 times blocks"),
    Strategy(None, _backward_in_blocks, "every size, dtype and machine"),
)
# fmt: on

attention = by_table(ATTENTION)
attention_backward = by_table(GRADIENTS)
