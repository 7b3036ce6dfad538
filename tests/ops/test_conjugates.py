"""Conjugates and negatives as views: what is read, what is shared, what is refused. Pinned line by line in tests/pinned."""

from __future__ import annotations

import io
import pickle

import numpy as np
import pytest

import penlight as torch


def read(tensor: torch.Tensor) -> np.ndarray:
    return tensor.detach().resolve_conj().resolve_neg().numpy()


def complex_tensor(*shape: int, **options: object) -> torch.Tensor:
    generator = np.random.default_rng(0)
    return torch.tensor(generator.normal(size=shape) + 1j * generator.normal(size=shape), **options)


VIEWS = {
    "select": lambda t: t[1],
    "slice": lambda t: t[:, 1:],
    "transpose": lambda t: t.t(),
    "reshape": lambda t: t.reshape(-1),
    "diagonal": lambda t: t.diagonal(),
    "expand": lambda t: t[:1].expand(3, 4),
    "unfold": lambda t: t.unfold(1, 2, 1),
    "split": lambda t: t.split(2, 1)[1],
    "unbind": lambda t: t.unbind(1)[2],
    "as_strided": lambda t: t.as_strided((2, 2), (1, 4), 3),
    "detach": lambda t: t.detach(),
    "imag": lambda t: t.imag,
    "real": lambda t: t.real,
    "imag of a row": lambda t: t[2].imag,
    "two conjugates": lambda t: t.conj(),
    "negative": lambda t: torch._neg_view(t),
}


@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize("recorded", [False, True])
def test_views_of_a_conjugate_share_its_memory(name, recorded):
    x = complex_tensor(3, 4)
    base = x.clone().requires_grad_() * 1 if recorded else x.clone()
    view, expected = VIEWS[name](base.conj()), VIEWS[name](x.conj_physical())
    assert np.array_equal(read(view), read(expected))
    with torch.no_grad():
        base.mul_(2 - 1j)
    assert np.allclose(read(view), read(VIEWS[name]((x * (2 - 1j)).conj_physical())))
    if name != "expand":
        with torch.no_grad():
            view.fill_(7)
        assert (VIEWS[name](base.conj_physical()) == 7).all()


def test_memory_apart_from_the_tensor_is_left_alone():
    x = complex_tensor(6)
    part = x[1:5:2].conj()
    part.add_(1j)
    before = complex_tensor(6)
    before[1:5:2] -= 1j
    assert torch.equal(x, before)


def test_writes_that_are_done_by_hand_are_refused_not_lost():
    array = complex_tensor(3).conj()._array
    assert not array.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 1


def test_every_way_to_store_resolves():
    x = complex_tensor(3)
    stream = io.BytesIO()
    torch.save({"x": x.conj(), "i": x.conj().imag}, stream)
    stream.seek(0)
    loaded = torch.load(stream)
    assert torch.equal(loaded["x"], x.conj()) and torch.equal(loaded["i"], -x.imag)
    assert torch.equal(pickle.loads(pickle.dumps(x.conj())), x.conj())


def test_what_computes_at_once():
    class Mine(torch.Tensor): ...

    made = complex_tensor(3).as_subclass(Mine).conj()
    assert type(made) is Mine and not made.is_conj()
    assert type(complex_tensor(3).conj().as_subclass(Mine)) is Mine
    assert not torch.func.vmap(lambda a: (a.conj(), a)[0])(complex_tensor(2, 3)).is_conj()
    with pytest.raises(RuntimeError, match="resolve_conj"):
        complex_tensor(3).conj().set_(complex_tensor(3))


def test_gradients_through_negative_views():
    x = complex_tensor(2, 3, requires_grad=True)
    assert torch.autograd.gradcheck(lambda t: t.conj().imag * torch._neg_view(t).abs(), x)
    assert torch.autograd.gradgradcheck(lambda t: (t.conj() * t).imag.sin() + torch._neg_view(t.real).exp(), x)
