"""The fast path of the optimisers: updates that run directly on the parameters' arrays.

Note [Updating in buckets]
A model has many small parameters, and an update has about ten array operations, so the cost of a step is the number of calls into NumPy,
not the arithmetic. Small parameters are therefore updated together: their values and gradients are gathered into one flat array, each
operation runs once, and the values are scattered back. Their state is allocated in one flat array from the start, so it needs no gathering.
A large parameter is its own bucket and is updated in place, in blocks that fit the cache. A bucket is never larger than a block, for the
same reason.

The members of a bucket must have equal 0-d state (such as `step`). Parameters that got their first gradient at different times do not, so
they are in different buckets.

No cached copy can go stale unnoticed: before every step the plan compares the identity of every array it was made from with the present
arrays of the parameters and the state, and is rebuilt if one differs.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import chain, pairwise
from operator import attrgetter, is_, itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

import penlight
from penlight import Tensor
from penlight.autograd.modes import NAMESPACE, report_writes
from penlight.autograd.views import bump
from penlight.kernels.addresses import address
from penlight.kernels.elementwise.strategies import COMPILED
from penlight.kernels.numpy_warnings import hush, unhush
from penlight.optim._vectors import body_of, pattern_of, written_out
from penlight.tensor import wrap

from ..kernels.lazy import lazy_import

if TYPE_CHECKING:
    from penlight.optim._declared import Elementwise

_trace = lazy_import(globals(), "_trace", "penlight.kernels.compiler.trace")
_plans = lazy_import(globals(), "_plans", "penlight.kernels.elementwise.plans")


Array = np.ndarray
Group = dict[str, Any]
State = dict[str, Any]

BLOCK = 65536  # elements per block, so that the six to eight arrays of an update stay in the cache
SMALL = 4096  # up to this size, gathering is cheaper than the calls it saves

_array_of = attrgetter("_array")
_dtype_of = attrgetter("dtype")
_shape_of = attrgetter("shape")
_PLAIN_TENSORS = {penlight.Tensor}
_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


class Lane:
    """Several arrays as one flat array: in place if they are contiguous in memory, otherwise by copies."""

    __slots__ = ("flat", "parts", "pieces")

    def __init__(self, parts: list[Array], work: Array | None = None) -> None:
        self.parts = [part.reshape(-1) for part in parts]
        self.pieces: list[Array] = []
        whole = _joined(self.parts)
        if whole is None:
            total = sum(part.size for part in self.parts)
            whole = np.empty(total, self.parts[0].dtype) if work is None else work[:total]
            ends = np.cumsum([part.size for part in self.parts]).tolist()
            self.pieces = [whole[end - part.size : end] for part, end in zip(self.parts, ends, strict=True)]
        self.flat = whole

    def load(self) -> None:
        if self.pieces:
            np.concatenate(self.parts, out=self.flat)

    def store(self) -> None:
        for part, piece in zip(self.parts, self.pieces):
            part[...] = piece


def _joined(parts: list[Array]) -> Array | None:
    """The flat array that consists of these consecutive parts, if there is one."""
    if len(parts) == 1:
        return parts[0]
    owner = parts[0].base
    if not isinstance(owner, np.ndarray) or owner.dtype != parts[0].dtype or not owner.flags.c_contiguous:
        return None
    start = where = address(parts[0])
    for part in parts:
        if part.base is not owner or address(part) != where:
            return None
        where += part.nbytes
    first = (start - address(owner)) // owner.itemsize
    return owner.reshape(-1)[first : first + (where - start) // owner.itemsize]


class Bucket:
    """Parameters that are updated together."""

    __slots__ = ("blocks", "copied", "counters", "flat", "grad", "members", "pattern", "program", "rows", "scalars", "work")  # fmt: skip

    def __init__(self, rows: list[int], table: Table, work: Work) -> None:
        self.rows, self.members, self.work = rows, itemgetter(*rows), work
        self.pattern: list[Any] | None = None
        values = Lane([table.arrays[i] for i in rows], work.values)
        slots = [Lane([column[i] for i in rows]) for column in table.slots]
        self.counters = [Lane([column[i] for i in rows]) for column in table.scalars.values()]
        self.scalars = {name: lane.flat for name, lane in zip(table.scalars, self.counters, strict=True)}
        self.copied = [lane for lane in (values, *slots, *self.counters) if lane.pieces]
        self.flat = [values.flat, *(lane.flat for lane in slots)]
        self.grad = work.grads[: values.flat.size]

    def agrees(self) -> bool:
        """Whether the members (still) have equal 0-d state."""
        for lane in self.counters:
            lane.load()
            values = lane.flat.tolist()
            if values.count(values[0]) != len(values):
                return False
        return True

    def update(self, rule: type[Elementwise], group: Group, grads: list[Array], known: dict[Any, Any]) -> None:
        """Update all members. `known` are the scalars of earlier buckets, by step."""
        if len(self.rows) == 1:
            grad = grads[self.rows[0]].reshape(-1)
        else:
            grad = np.concatenate(self.members(grads), None, out=self.grad)
        for lane in self.copied:
            lane.load()
        step = None
        if "step" in self.scalars:
            steps = self.scalars["step"]
            steps += 1
            if len(self.scalars) == 1:
                step = steps.item(0)
        found = known.get(step)
        if found is None:
            decays, numbers = rule._numbers_for_arrays(group, self.scalars)
            found = decays, *pattern_of(numbers)
            if step is not None or not self.scalars:  # others may change their own scalars
                known[step] = found
        decays, pattern, floats = found
        if pattern != self.pattern:
            self._write_out(rule, pattern, decays)
        # Machine code rounds differently than NumPy. So only the size decides: a resumed training must take the same steps.
        native = self.flat[0].size >= COMPILED
        if not (native and _update_natively(rule, self.flat, grad, pattern, decays, floats)):
            for cut, arrays in self.blocks:
                self.program(grad[cut], *arrays, *floats)
        for lane in self.copied:
            lane.store()

    def _write_out(self, rule: Any, pattern: list[Any], decays: int) -> None:
        """Generate the program for scalars of this pattern, and split the arrays into the blocks that it processes."""
        self.pattern = pattern
        self.program, scratch = written_out(rule, tuple(pattern), decays, len(self.flat))
        size = self.flat[0].size
        cuts = [slice(start, min(start + BLOCK, size)) for start in range(0, size, BLOCK)]
        self.blocks = [
            (cut, [*(flat[cut] for flat in self.flat), *self.work.scratch(cut.stop - cut.start, scratch)])
            for cut in cuts
        ]


class Work:
    """Scratch memory that the buckets of a plan use in turn."""

    def __init__(self, longest: int, dtype: Any) -> None:
        self.dtype, self.values, self.grads = dtype, np.empty(longest, dtype), np.empty(longest, dtype)
        self.by_size: dict[int, list[Array]] = {}

    def scratch(self, size: int, count: int) -> list[Array]:
        arrays = self.by_size.setdefault(size, [])
        arrays += [np.empty(size, self.dtype) for _ in range(count - len(arrays))]
        return arrays[:count]


def _update_natively(
    rule: Any, flat: list[Array], grad: Array, pattern: list[Any], decays: int, floats: list[float]
) -> bool:
    """The same in machine code, if available: Note [Bodies as machine code]. Floats are passed as scalars."""
    body = body_of(rule, tuple(pattern), decays, len(flat), _trace.Stand)
    return _plans.update(body, [np.ascontiguousarray(grad), *flat], floats)


class Table:
    """The arrays of a list of parameters and their states, in columns."""

    def __init__(self, params: list[Tensor], states: list[State], slots: list[str], scalars: list[str]) -> None:
        self.params = params
        self.names = slots + scalars
        self.getters = [itemgetter(name) for name in self.names]
        self.tensors = [params, *([state[name] for state in states] for name in self.names)]
        self.arrays, *columns = ([*map(_array_of, column)] for column in self.tensors)
        self.slots = columns[: len(slots)]
        self.scalars = dict(zip(scalars, columns[len(slots) :], strict=True))
        self.all_arrays = [*self.arrays, *chain.from_iterable(columns)]
        self.dtypes, self.shapes = [*map(_dtype_of, self.arrays)], [*map(_shape_of, self.arrays)]

    def matches(self, params: list[Tensor], states: list[State], names: list[str]) -> bool:
        """Whether the parameters and their states still have exactly these arrays."""
        if len(params) != len(self.params) or names != self.names:
            return False
        now = [*map(_array_of, params)]
        for getter in self.getters:
            now += map(_array_of, map(getter, states))
        return all(map(is_, now, self.all_arrays)) and all(map(is_, params, self.params))

    def suitable(self) -> list[int]:
        """The rows that can be updated in place on the arrays."""
        if _overlap(self.all_arrays):
            return []
        plain = plain_types()
        return [
            i
            for i, array in enumerate(self.arrays)
            if all(type(tensors[i]) in plain and _is_ordinary(tensors[i]) for tensors in self.tensors)
            and array.dtype in _FLOATS
            and _writable(array)
            and all(c[i].dtype == array.dtype and c[i].shape == array.shape and _writable(c[i]) for c in self.slots)
            and all(c[i].dtype in _FLOATS and c[i].size == 1 and _writable(c[i]) for c in self.scalars.values())
        ]


def _is_ordinary(tensor: Tensor) -> bool:
    """Whether a tensor is only its array: no tangent, not batched, not made in inference mode."""
    return getattr(tensor, "_rare_state", None) is None and not tensor.is_inference()


def _writable(array: Array) -> bool:
    flags = array.flags
    return flags.c_contiguous and flags.writeable


def _overlap(arrays: list[Array]) -> bool:
    """Whether two of the arrays may share memory (for strided ones, whether their spans overlap)."""
    spans = sorted(map(np.lib.array_utils.byte_bounds, arrays))
    return any(end > start for (_, end), (start, _) in pairwise(spans))


def plain_types() -> tuple[type, ...]:
    """The exact types without special behaviour."""
    parameter = sys.modules.get("penlight.nn.parameter")
    return (penlight.Tensor,) if parameter is None else (penlight.Tensor, parameter.Parameter)


class Plan:
    """How the parameters of a group are updated, until one of the arrays it was made from is replaced."""

    def __init__(self, table: Table, chosen: list[int]) -> None:
        self.table = table
        self.buckets: list[Bucket] = []
        kinds: dict[Any, list[int]] = {}
        for i in chosen:
            scalars = [column[i] for column in table.scalars.values()]
            key = (table.arrays[i].dtype, *(s.dtype for s in scalars), *(s.item() for s in scalars))
            kinds.setdefault(key, []).append(i)
        for (dtype, *_), rows in kinds.items():
            groups = _grouped(rows, [table.arrays[i].size for i in rows])
            longest = min(max(sum(table.arrays[i].size for i in members) for members in groups), BLOCK)
            work = Work(longest, dtype)
            self.buckets += [Bucket(members, table, work) for members in groups]
        self.counting = [bucket for bucket in self.buckets if bucket.counters and len(bucket.rows) > 1]
        self.rest = [i for i in range(len(table.params)) if i not in set(chosen)]
        self.touched = [tensors[i] for tensors in table.tensors for i in chosen]

    def holds(self, params: list[Tensor], states: list[State], names: list[str]) -> bool:
        if not self.table.matches(params, states, names):
            return False
        return not self.counting or all([bucket.agrees() for bucket in self.counting])

    def run(self, rule: type[Elementwise], group: Group, grads: list[Array]) -> None:
        token = hush()
        try:
            known: dict[Any, Any] = {}
            for bucket in self.buckets:
                bucket.update(rule, group, grads, known)
        finally:
            unhush(token)
        if NAMESPACE["SLOW"]:  # something may observe writes
            for tensor in self.touched:
                bump(tensor, tell=False)
            report_writes(self.touched)
            return
        for tensor in self.touched:
            versions = tensor._vc
            if versions is None or versions[1] is not None:
                bump(tensor)
            else:
                versions[0] += 1


def _grouped(rows: list[int], sizes: list[int]) -> list[list[int]]:
    """Rows in groups: a large one alone, small ones together as long as they fit in a block."""
    groups: list[list[int]] = []
    open_group: list[int] = []
    room = BLOCK
    for row, size in zip(rows, sizes, strict=True):
        if size > SMALL:
            groups.append([row])
            continue
        if size > room:
            groups.append(open_group)
            open_group, room = [], BLOCK
        open_group.append(row)
        room -= size
    return [*groups, open_group] if open_group else groups


def update(
    optimizer: Elementwise, index: int, group: Group, params: list[Tensor], grads: list[Tensor], states: list[State]
) -> Sequence[int]:
    """Update the suitable parameters of a group on their arrays, and return the rows of the others."""
    everything = range(len(params))
    if _has_tensor(group) or {*map(type, grads)} != _PLAIN_TENSORS:
        return everything
    plans: dict[int, Plan] = optimizer.__dict__.setdefault("_plans", {})
    plan = plans.get(index)
    slots, scalars = [*optimizer._buffers(group)], [*optimizer._scalars(group)]
    try:
        arrays = list(map(_array_of, grads))
        if plan is None or not plan.holds(params, states, slots + scalars):
            plans.pop(index, None)
            table = Table(params, states, slots, scalars)
            plan = plans[index] = Plan(table, table.suitable())
    except (AttributeError, KeyError):  # not one of our tensors, or removed from the state
        return everything
    table = plan.table
    if not all(map(is_, map(_dtype_of, arrays), table.dtypes)) or [*map(_shape_of, arrays)] != table.shapes:
        return everything
    plan.run(type(optimizer), group, arrays)
    return plan.rest


def _has_tensor(group: Group) -> bool:
    """Whether an option is a tensor: the plain path then handles its arithmetic (dtype, gradients)."""
    tensor = penlight.Tensor
    return (
        isinstance(group["lr"], tensor)
        or isinstance(group.get("weight_decay"), tensor)
        or ("betas" in group and isinstance(group["betas"][0], tensor))
    )


def allocate(params: list[Tensor], fill: float) -> list[Tensor]:
    """State tensors shaped like the parameters, contiguous in one array where that helps: see the note above."""
    try:
        arrays = list(map(_array_of, params))
    except AttributeError:
        return [_like(p, fill) for p in params]
    plain = plain_types()
    together: dict[Any, list[int]] = {}
    for i, (p, array) in enumerate(zip(params, arrays, strict=True)):
        if type(p) in plain and array.dtype in _FLOATS and array.size <= SMALL and array.flags.c_contiguous:
            together.setdefault(array.dtype, []).append(i)
    tensors: dict[int, Tensor] = {}
    for dtype, rows in together.items():
        flat = np.full(sum(arrays[i].size for i in rows), fill, dtype)
        end = 0
        for i in rows:
            start, end = end, end + arrays[i].size
            tensors[i] = wrap(flat[start:end].reshape(arrays[i].shape))
    return [tensors[i] if i in tensors else _like(p, fill) for i, p in enumerate(params)]


def allocate_scalars(count: int, value: float, dtype: penlight.dtype) -> list[Tensor]:
    """0-d state tensors for ``count`` parameters, contiguous in one array."""
    whole = penlight.full((count,), value, dtype=dtype)
    if not hasattr(whole, "_array"):
        return [penlight.tensor(value, dtype=dtype) for _ in range(count)]
    return [wrap(whole._array[i : i + 1].reshape(())) for i in range(count)]


def _like(p: Tensor, fill: float) -> Tensor:
    if fill == 0:
        return penlight.zeros_like(p, memory_format=penlight.preserve_format)
    value = complex(fill, fill) if p.is_complex() else fill
    return penlight.full_like(p, value, memory_format=penlight.preserve_format)
