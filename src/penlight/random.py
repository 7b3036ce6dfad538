"""Random tensors, with PyTorch's generators: the same seed gives the same numbers."""

from __future__ import annotations

import functools
from collections.abc import Callable
from operator import index
from typing import Any

import numpy as np

from . import dtypes
from ._common.arguments import explain as _explain
from .autograd.modes import slow
from .creation import _accept, _check, _into, _leaf, _plain, _size, like
from .device import CPU, on_meta, require_cpu
from .kernels.lazy import lazy_import
from .kernels.random.engine import Engine
from .ops.machinery.arguments import broadcast_shape
from .ops.machinery.dispatch import interpreters
from .ops.machinery.guards import lazy, need_countable
from .tensor import Tensor, wrap

__all__ = ["fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state"]

_meta = lazy_import(globals(), "_meta", "._meta")
_randomness = lazy_import(globals(), "_randomness", ".func.randomness")


_sampling = lazy_import(globals(), "_sampling", ".ops.sampling")
# Kernels that are imported when they are first called.
_uniform, _normal, _normal_tensors = (
    lazy("random.uniform", "uniform"),
    lazy("random.normal", "normal"),
    lazy("random.normal", "normal_tensors"),
)
_randint, _randperm = lazy("random.integers", "randint"), lazy("random.integers", "randperm")
_bernoulli, _bernoulli_each = lazy("random.uniform", "bernoulli"), lazy("random.uniform", "bernoulli_each")


class Generator:
    """A random number generator with a state of its own.

    >>> g = torch.Generator().manual_seed(0)
    >>> torch.rand(2, generator=g)
    tensor([0.4963, 0.7682])
    """

    def __init__(self, device: Any = "cpu") -> None:
        if on_meta(device):
            raise RuntimeError("META device type not an accelerator.")
        require_cpu(device)
        self._engine = Engine()

    @property
    def device(self) -> Any:
        """The device of the generator: the CPU.

        >>> torch.Generator().device
        device(type='cpu')
        """
        return CPU

    def manual_seed(self, seed: int) -> Generator:
        """Set the seed.

        >>> g = torch.Generator().manual_seed(1)
        >>> torch.rand(1, generator=g)
        tensor([0.7576])
        """
        self._engine.manual_seed(int(seed))
        return self

    def seed(self) -> int:
        """Set an unpredictable seed and return it.

        >>> g = torch.Generator()
        >>> g.seed() == g.initial_seed()
        True
        """
        return self._engine.seed()

    def initial_seed(self) -> int:
        """The seed that was set last.

        >>> torch.Generator().manual_seed(3).initial_seed()
        3
        """
        return self._engine.initial_seed()

    def get_state(self) -> Tensor:
        """The generator's state, as a tensor of bytes.

        >>> g = torch.Generator().manual_seed(1)
        >>> state = g.get_state()
        >>> x = torch.rand(2, generator=g)
        >>> torch.equal(torch.rand(2, generator=g.set_state(state)), x)
        True
        """
        return wrap(self._engine.get_state())

    def set_state(self, new_state: Tensor) -> Generator:
        """Restore a state that `get_state` returned.

        >>> g, other = torch.Generator(), torch.Generator().manual_seed(5)
        >>> torch.equal(torch.rand(2, generator=g.set_state(other.get_state())), torch.rand(2, generator=other))
        True
        """
        if not isinstance(new_state, Tensor):
            raise TypeError(f"expected a torch.ByteTensor, but got {type(new_state).__name__}")
        if new_state.dtype is not dtypes.uint8:
            raise TypeError("RNG state must be a torch.ByteTensor")
        self._engine.set_state(new_state._array)
        return self

    def clone_state(self) -> Generator:
        """A new generator with the same state.

        >>> g = torch.Generator().manual_seed(1)
        >>> torch.equal(torch.rand(2, generator=g.clone_state()), torch.rand(2, generator=g))
        True
        """
        other = Generator()
        other._engine = self._engine.clone()
        return other

    def __reduce__(self) -> Any:
        return (_restore, (self._engine.get_state(),))


def _restore(state: Any) -> Generator:
    made = Generator()
    made._engine.set_state(state)
    return made


default_generator = Generator()
default_generator.seed()  # unpredictable, as in PyTorch; a new Generator always has the same seed


def manual_seed(seed: int) -> Generator:
    """Set the seed of the default generator.

    >>> _ = torch.manual_seed(0)
    >>> torch.rand(1)
    tensor([0.4963])
    """
    return default_generator.manual_seed(seed)


def seed() -> int:
    """Set an unpredictable seed for the default generator and return it.

    >>> torch.initial_seed() == torch.seed()
    False
    """
    return default_generator.seed()


def initial_seed() -> int:
    """The seed of the default generator.

    >>> g = torch.manual_seed(7)
    >>> torch.initial_seed()
    7
    """
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """The state of the default generator, as a tensor of bytes.

    >>> state = torch.get_rng_state(); a = torch.rand(1)
    >>> torch.set_rng_state(state); bool(torch.rand(1) == a)
    True
    """
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Restore a state of the default generator that `get_rng_state` returned.

    >>> state = torch.get_rng_state()
    >>> x = torch.rand(2)
    >>> torch.set_rng_state(state)
    >>> torch.equal(x, torch.rand(2))
    True
    """
    default_generator.set_state(new_state)


class fork_rng:
    """A region after which the default generator is in the state it had before.

    >>> g = torch.manual_seed(0)
    >>> with torch.random.fork_rng():
    ...     x = torch.rand(2)
    >>> torch.equal(torch.rand(2), x)
    True
    """

    def __init__(self, devices: Any = None, enabled: bool = True, **_: Any) -> None:
        self.enabled = enabled

    def __enter__(self) -> None:
        self.state = get_rng_state()

    def __exit__(self, *exc: object) -> None:
        if self.enabled:
            set_rng_state(self.state)

    def __call__(self, function: Any) -> Any:
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            with fork_rng(enabled=self.enabled):
                return function(*args, **kwargs)

        return wrapper


def inside_vmap() -> bool:
    """Whether a vmap is running in this thread."""
    return slow() and any(level.batching for level in interpreters.get())


def engine_of(generator: Generator | None) -> Engine:
    """The engine of a generator, by default of the global one."""
    if slow() and inside_vmap():
        _randomness.allowed_levels()  # raises an error if a vmap does not allow random ops
    return (default_generator if generator is None else generator)._engine


# ----- New tensors --------------------------------------------------------------------------------------------------


def _draw(
    name: str, size: tuple[Any, ...], more: dict[str, Any], dtype: Any, device: Any, out: Tensor | None
) -> tuple[tuple[int, ...], dtypes.dtype]:
    if dtype is None is device and out is None and not more:
        return _size(size, name), dtypes.get_default_dtype()
    if "size" in more:
        size = (more.pop("size"),)
    more.pop("memory_format", None)
    _accept(name, more)
    if dtype is not None:
        dtype = dtypes.given(dtype)
    _check(dtype, device, name)
    return _size(size, name), _drawn_dtype(dtype, out) or dtypes.get_default_dtype()


def _drawn_dtype(dtype: Any, out: Tensor | None) -> Any:
    """The dtype to draw in: `dtype`, or else that of `out`; None if neither is given."""
    if dtype is not None and out is not None and out.dtype is not dtype:
        kinds = dtypes.LEGACY[dtype], dtypes.LEGACY[out.dtype]
        raise RuntimeError(f"dtype {kinds[0]} does not match dtype of out parameter ({kinds[1]})")
    return dtype if out is None else out.dtype


def _result(out: Tensor | None, array: np.ndarray[Any, Any], requires_grad: bool) -> Tensor:
    result = wrap(array)
    return _leaf(result if out is None else _into(out, result), requires_grad)


def _drawn(out: Tensor | None, shape: tuple[int, ...], draw: Any, requires_grad: bool) -> Tensor:
    """The result of `draw(shape)` as a tensor; inside vmap it is called for each sample or once for all, depending on `randomness`."""
    if slow() and inside_vmap():
        made = _randomness.drawn(shape, draw)
        if made is not None:
            return made if out is None else out.copy_(made)
    return _result(out, draw(shape), requires_grad)


def _drawn_from(tensors: tuple[Any, ...], run: Any) -> Tensor | None:
    """As `_drawn`, for draws whose distribution depends on tensors; None outside of vmap."""
    if not inside_vmap():
        return None
    return _randomness.drawn_from(tensors, run)


def _no_size(name: str) -> TypeError:
    return TypeError(f'{name}() missing 1 required positional arguments: "size"')


def rand(*size: Any, generator: Generator | None = None, out: Tensor | None = None, dtype: Any = None, device: Any = None,
         requires_grad: bool = False, **more: Any) -> Tensor:  # fmt: skip
    """Numbers from 0 to 1, uniformly.

    >>> _ = torch.manual_seed(0); torch.rand(2)
    tensor([0.4963, 0.7682])
    """
    if not size and "size" not in more:
        raise _no_size("rand")
    if generator is None is out and dtype is None is device and not more and not slow():
        return _leaf(
            wrap(_uniform(default_generator._engine, _size(size, "rand"), dtypes.get_default_dtype().np)), requires_grad
        )
    shape, found = _draw("rand", size, more, dtype, device, out)
    if device is not None and on_meta(device):
        return _meta.made(shape, found, requires_grad)
    engine = engine_of(generator)
    if found.category == dtypes.COMPLEX:
        real = found.to_real().np
        return _drawn(out, shape, lambda s: _uniform(engine, (*s, 2), real).view(found.np)[..., 0], requires_grad)
    return _drawn(out, shape, lambda s: _uniform(engine, s, found.np), requires_grad)


def randn(*size: Any, generator: Generator | None = None, out: Tensor | None = None, dtype: Any = None, device: Any = None,
          requires_grad: bool = False, **more: Any) -> Tensor:  # fmt: skip
    """Numbers with the standard normal distribution.

    >>> _ = torch.manual_seed(0); torch.randn(2)
    tensor([ 1.5410, -0.2934])
    """
    if not size and "size" not in more:
        raise _no_size("randn")
    if generator is None is out and dtype is None is device and not more and not slow():
        return _leaf(
            wrap(_normal(default_generator._engine, _size(size, "randn"), dtypes.get_default_dtype().np)), requires_grad
        )
    shape, found = _draw("randn", size, more, dtype, device, out)
    if device is not None and on_meta(device):
        return _meta.made(shape, found, requires_grad)
    engine = engine_of(generator)
    if found.category == dtypes.COMPLEX:
        real = found.to_real().np
        return _drawn(
            out, shape, lambda s: _normal(engine, (*s, 2), real, 0.0, 0.5**0.5).view(found.np)[..., 0], requires_grad
        )
    return _drawn(out, shape, lambda s: _normal(engine, s, found.np, 0.0, 1.0), requires_grad)


def randint(*args: Any, generator: Generator | None = None, out: Tensor | None = None, dtype: Any = None, device: Any = None,
            requires_grad: bool = False, **more: Any) -> Tensor:  # fmt: skip
    """Integers from `low` (0) up to, not including, `high`.

    >>> _ = torch.manual_seed(0); torch.randint(10, (3,))
    tensor([4, 9, 3])
    """
    if dtype is not None:
        dtype = dtypes.given(dtype)
    low = high = size = None
    if more:
        low, high, size = more.pop("low", None), more.pop("high", None), more.pop("size", None)
    rest = list(args)
    if size is None:
        if not rest or not isinstance(rest[-1], (tuple, list)):
            raise TypeError(
                "randint() received an invalid combination of arguments: expected (int low, int high, tuple of ints size)"
            )
        size = rest.pop()
    if high is None:
        high = rest.pop()
    if rest:
        low = rest.pop()
    shape, _ = _draw("randint", (size,), more, dtype, device, out)
    found = _drawn_dtype(dtype, out) or dtypes.int64
    if device is not None and on_meta(device):
        return _meta.made(shape, found, requires_grad)
    engine, least, bound = engine_of(generator), index(_plain(low)) if low is not None else 0, index(_plain(high))
    return _drawn(out, shape, lambda s: _randint(engine, s, least, bound, found.np), requires_grad)


def randperm(n: int, *, generator: Generator | None = None, out: Tensor | None = None, dtype: Any = None, device: Any = None,
             requires_grad: bool = False, **more: Any) -> Tensor:  # fmt: skip
    """The integers from 0 to n-1 in random order.

    >>> _ = torch.manual_seed(0); torch.randperm(4)
    tensor([0, 1, 3, 2])
    """
    if dtype is not None:
        dtype = dtypes.given(dtype)
    _accept("randperm", more)
    if _check(dtype, device, "randperm"):
        return _meta.made((n,), dtype or dtypes.int64, requires_grad)
    engine, np_dtype = engine_of(generator), (_drawn_dtype(dtype, out) or dtypes.int64).np
    need_countable((n,), np_dtype.itemsize)

    def permutations(shape: tuple[int, ...]) -> Any:
        if len(shape) == 1:
            return _randperm(engine, n, np_dtype)
        return np.stack([permutations(shape[1:]) for _ in range(shape[0])])

    return _drawn(out, (n,), permutations, requires_grad)


def _simple(input: Tensor) -> bool:
    """Whether `rand_like` of a tensor depends only on its shape and dtype."""
    return not slow() and input._array.dtype.kind == "f" and input._array.flags.c_contiguous


def _draw_like(input: Tensor, draw: Callable[[Any], Tensor], requires_grad: bool, memory_format: Any = None) -> Tensor:
    """Call `draw` with the shape of a tensor; its numbers are assigned to the elements in memory order, as in PyTorch."""
    if input._level is not None:
        made = draw(input._array.shape)
    else:
        array = like(lambda shape, _: draw(tuple(shape))._array, input._array, None, memory_format)
        made = wrap(array)
    return made._require_grad_() if requires_grad else made


def rand_like(
    input: Tensor, *, dtype: Any = None, requires_grad: bool = False, generator: Generator | None = None, memory_format: Any = None,
    **more: Any,
) -> Tensor:  # fmt: skip
    """`rand` in another tensor's shape and dtype.

    >>> torch.rand_like(torch.zeros(2, 3)).shape
    torch.Size([2, 3])
    """
    if dtype is None is generator is memory_format and not more and _simple(input):
        return _leaf(wrap(_uniform(default_generator._engine, input._array.shape, input._array.dtype)), requires_grad)
    return _draw_like(
        input, lambda size: rand(size, dtype=dtype or input.dtype, generator=generator, **more), requires_grad, memory_format
    )  # fmt: skip


def randn_like(
    input: Tensor, *, dtype: Any = None, requires_grad: bool = False, generator: Generator | None = None, memory_format: Any = None,
    **more: Any,
) -> Tensor:  # fmt: skip
    """`randn` in another tensor's shape and dtype.

    >>> torch.randn_like(torch.zeros(2, 3)).shape
    torch.Size([2, 3])
    """
    if dtype is None is generator is memory_format and not more and _simple(input):
        return _leaf(wrap(_normal(default_generator._engine, input._array.shape, input._array.dtype)), requires_grad)
    made = _draw_like(
        input, lambda size: input.new_empty(size, dtype=dtype or input.dtype, **more).detach(), False, memory_format
    ).normal_(generator=generator)
    return made._require_grad_() if requires_grad else made


def randint_like(input: Tensor, *args: Any, dtype: Any = None, memory_format: Any = None, **more: Any) -> Tensor:
    """`randint` in another tensor's shape and dtype.

    >>> torch.randint_like(torch.zeros(2, 3), 5).shape
    torch.Size([2, 3])
    """
    return _draw_like(
        input, lambda size: randint(*args, size=size, dtype=dtype or input.dtype, **more), False, memory_format
    )


def normal(mean: Any, std: Any = 1.0, size: Any = None, *, generator: Generator | None = None, out: Tensor | None = None,
           dtype: Any = None, device: Any = None, requires_grad: bool = False, **more: Any) -> Tensor:  # fmt: skip
    """Normally distributed numbers with given means and standard deviations.

    >>> _ = torch.manual_seed(0); torch.normal(0.0, 1.0, (2,))
    tensor([ 1.5410, -0.2934])
    """
    engine = engine_of(generator)
    if isinstance(mean, Tensor) or isinstance(std, Tensor):
        made = _drawn_from((mean, std), lambda m, s: normal(m, s, generator=generator))
        if made is not None:
            return made
        arrays = [v._array if isinstance(v, Tensor) else v for v in (mean, std)]
        shape = broadcast_shape(*(np.shape(a) for a in arrays))
        np_dtype = next(a for a in arrays if isinstance(a, np.ndarray)).dtype
        values = _normal_tensors(engine, shape, np_dtype, *arrays)
        if out is None and any(isinstance(v, Tensor) and v.requires_grad for v in (mean, std)):
            return _sampling.normal_of(mean, std, values)
        return _result(out, values, requires_grad)
    if dtype is not None:
        dtype = dtypes.given(dtype)
    _accept("normal", more)
    elsewhere = _check(dtype, device, "normal")
    if size is None:
        raise TypeError("normal() received an invalid combination of arguments: with numbers, a size is needed")
    found = _drawn_dtype(dtype, out) or dtypes.get_default_dtype()
    if elsewhere:
        return _meta.made(_size((size,), "normal"), found, requires_grad)
    shape, middle, deviation = _size((size,), "normal"), float(mean), float(std)
    return _drawn(out, shape, lambda s: _normal(engine, s, found.np, middle, deviation), requires_grad)


def bernoulli(
    input: Tensor, p: float | None = None, *, generator: Generator | None = None, out: Tensor | None = None
) -> Tensor:
    """Ones with the probabilities in the input, otherwise zeros.

    >>> torch.bernoulli(torch.ones(3))
    tensor([1., 1., 1.])
    """
    engine = engine_of(generator)
    if p is not None:
        return _drawn(out, tuple(input.shape), lambda s: _bernoulli(engine, p, s, input.dtype.np), False)
    made = _drawn_from((input,), lambda t: bernoulli(t, generator=generator))
    if made is not None:
        return made
    if out is None and input.requires_grad:
        return _sampling._bernoulli_of(input, engine)
    return _result(out, _bernoulli_each(engine, input._array, input.dtype.np), False)


_explain(globals())
