"""vmap's own ways: levels, what batched tensors show, what is left behind when something fails."""

from __future__ import annotations

import copy
import threading

import pytest

import penlight as torch
from penlight.autograd import modes
from penlight.func import debug_unwrap, grad, hessian, jacfwd, jacrev, jvp, vmap
from penlight.ops.machinery import dispatch


def test_shape_and_dtype_are_one_samples():
    seen = {}

    def look(x):
        seen.update(
            shape=x.shape,
            dim=x.dim(),
            size=x.size(0),
            numel=x.numel(),
            length=len(x),
            dtype=x.dtype,
            stride=x.stride(),
            contiguous=x.is_contiguous(),
        )
        seen.update(element=x.element_size(), floating=x.is_floating_point(), device=x.device.type, bytes=x.nbytes)
        return x

    vmap(look)(torch.zeros(2, 3, 4))
    assert seen["shape"] == torch.Size([3, 4]) and (seen["dim"], seen["size"], seen["numel"], seen["length"]) == (
        2,
        3,
        12,
        3,
    )
    assert seen["dtype"] is torch.float32 and seen["stride"] == (4, 1) and seen["contiguous"]
    assert (seen["element"], seen["floating"], seen["device"], seen["bytes"]) == (4, True, "cpu", 48)


def test_repr():
    shown = []
    vmap(lambda x: shown.append(repr(x)) or x)(torch.tensor([[1.0], [2.0]]))
    assert shown == ["BatchedTensor(lvl=1, bdim=0, value=\n    tensor([[1.],\n            [2.]])\n)"]
    vmap(vmap(lambda x: shown.append(repr(x)) or x))(torch.ones(1, 1))
    assert shown[1].startswith("BatchedTensor(lvl=2, bdim=0, value=\n    BatchedTensor(lvl=1, bdim=0")


def test_debug_unwrap():
    seen = []
    vmap(vmap(lambda x: seen.extend([debug_unwrap(x), debug_unwrap(x, recurse=False)]) or x))(torch.ones(2, 3))
    assert seen[0].shape == (2, 3) and seen[1].shape == (3,)


def test_nothing_is_left_behind_by_an_error():
    def fails(x):
        raise KeyError("mine")

    for transform in (vmap, grad, jacrev, jacfwd, hessian, lambda f: lambda x: jvp(f, (x,), (x,))):
        with pytest.raises(KeyError, match="mine"):
            transform(fails)(torch.ones(2))
        with pytest.raises(KeyError, match="mine"):
            vmap(transform(fails))(torch.ones(3, 2))
    assert dispatch.interpreters.get() == ()
    assert not modes.slow() and modes.transforms.get() == 0 and modes.grad_mode.get()


def test_a_tensor_that_outlives_its_vmap_is_refused():
    kept = []
    vmap(lambda x: kept.append(x) or x)(torch.ones(2, 3))
    for use in (lambda x: x + 1, lambda x: x.sum(), lambda x: vmap(lambda y: y + x)(torch.ones(2, 3))):
        with pytest.raises(RuntimeError, match="used after that function has returned"):
            use(kept[0])


def test_data_is_never_read():
    """Code that decides by values fails with a clear error, whatever it reads."""
    import numpy as np

    reads = [lambda x: np.asarray(x), lambda x: np.add(x._array, 1), lambda x: x._array.max(), lambda x: x._array[0], lambda x: x._array == 1,
             lambda x: bool(x._array), lambda x: int(x._array), lambda x: list(x._array)]  # fmt: skip
    for read in reads:
        with pytest.raises(RuntimeError, match=r"vmap|storage"):
            vmap(read)(torch.ones(2, 3))


def test_threads_have_levels_of_their_own():
    found = []

    def other(x):
        thread = threading.Thread(target=lambda: found.append((torch.ones(2) + 1).tolist()))
        thread.start()
        thread.join()
        return x * 2

    assert vmap(other)(torch.ones(2)).tolist() == [2, 2]
    assert found == [[2, 2]]


def test_copies():
    x = torch.arange(6.0).view(2, 3)
    found = vmap(lambda a: (copy.copy(a) + 1, copy.deepcopy(a).add_(1), a.clone().detach()))(x)
    assert [f.tolist() for f in found] == [(x + 1).tolist(), (x + 1).tolist(), x.tolist()]
    assert x.tolist() == torch.arange(6.0).view(2, 3).tolist()


def test_views_share_memory_inside():
    def write(a):
        b = a.clone()
        b[1:].view(-1).mul_(10)
        return b

    assert vmap(write)(torch.ones(2, 3)).tolist() == [[1, 10, 10]] * 2


def test_unbatched_work_is_done_once():
    """What depends on no batched tensor is computed as without vmap; so is the value under a batched tangent."""
    calls = []

    class Counted(torch.autograd.Function):
        @staticmethod
        def forward(x):
            calls.append(tuple(x.shape))
            return x.exp()

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_forward(output)

        @staticmethod
        def jvp(ctx, tangent):
            return ctx.saved_tensors[0] * tangent

    w = torch.ones(3)
    vmap(lambda x: x * Counted.apply(w))(torch.ones(5, 3))
    assert calls == [(3,)]
    found = jacfwd(lambda x: Counted.apply(x).sum())(w)
    assert calls == [(3,), (3,)] and torch.allclose(found, w.exp())


def test_hessians_agree_to_rounding():
    """Four ways to the same matrix."""
    torch.manual_seed(0)
    a, b = torch.randn(6, 5, dtype=torch.float64), torch.randn(4, 6, dtype=torch.float64)

    def f(x):
        h = (a @ x).tanh() * x.norm()
        return (b @ h).logsumexp(0) + (x[:-1] * x[1:]).sin().prod() + torch.sort(x).values[0] ** 3 + x.softmax(0).max()

    x = torch.randn(5, dtype=torch.float64)
    ways = [outer(inner(f))(x) for outer in (jacrev, jacfwd) for inner in (jacrev, jacfwd)]
    for way in ways:
        assert (way - ways[0]).abs().max() < 1e-10
        assert (way - way.T).abs().max() < 1e-10
    assert (torch.autograd.functional.hessian(f, x) - ways[0]).abs().max() < 1e-10


def test_chunks_give_the_same():
    x = torch.randn(7, 3, dtype=torch.float64)
    f = lambda a: (a.sin().cumsum(0), a.sum())
    whole = vmap(f, out_dims=(1, 0))(x)
    for size in (1, 2, 7, 9):
        parts = vmap(f, out_dims=(1, 0), chunk_size=size)(x)
        assert all(torch.equal(p, w) for p, w in zip(parts, whole))
    assert torch.equal(vmap(lambda a: a * 2, out_dims=(1,), chunk_size=2)(x), (x * 2).T)


def test_saved_tensor_hooks_see_all_samples():
    shapes = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: shapes.append(tuple(t.shape)) or t, lambda t: t):
        x = torch.ones(2, 3, requires_grad=True)
        vmap(lambda a: a.exp())(x).sum().backward()
    assert shapes == [(2, 3)] and torch.allclose(x.grad, x.detach().exp())


def test_names_of_transformed_functions():
    def mine(x):
        """Documented."""
        return x.sum()

    for transform in (vmap, grad, jacrev, jacfwd):
        assert transform(mine).__name__ == "mine" and transform(mine).__doc__ == "Documented."
    assert torch.vmap is vmap
