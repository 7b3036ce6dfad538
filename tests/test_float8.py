"""Tensors of 8-bit floats: stored, moved, converted, saved and shown; not computed with."""

from __future__ import annotations

import copy
import io

import pytest

import penlight
from penlight import dtypes, safetensors

pytest.importorskip("ml_dtypes")

NAMES = ["float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"]
# Numbers that round, that are too large, that are too small, and those that are none.
NUMBERS = [
    1.0,
    -2.5,
    0.3,
    240.0,
    247.9,
    448.0,
    464.0,
    465.0,
    1e6,
    -1e9,
    57344.0,
    61441.0,
    1e-3,
    1e-9,
    -0.0,
    float("inf"),
    float("nan"),
]


def seen(torch, name):
    """What a program sees of a dtype."""
    kind = getattr(torch, name)
    x = torch.tensor(NUMBERS)
    y = x.to(kind)
    yield y[:-1].view(torch.uint8).tolist(), [str(n) for n in y.double().tolist()]
    yield x.double().to(kind).view(torch.uint8).tolist() == y.view(torch.uint8).tolist()
    yield str(torch.tensor([3, 17, 300]).to(kind).to(torch.float16).tolist())
    yield (
        str(y.dtype),
        y.element_size(),
        y.nbytes,
        y.stride(),
        tuple(y.shape),
        y.type(),
        y.is_floating_point(),
        kind.is_signed,
    )
    limits = torch.finfo(kind)
    yield limits.bits, limits.eps, limits.max, limits.min, limits.tiny, limits.dtype
    z = torch.tensor([[1.0, 2.0, 4.0], [8.0, 0.5, 16.0]]).to(kind)
    index = torch.tensor([1, 0])
    for moved in (z[0], z[:, 1:], z.t(), z.T, z.reshape(3, 2), z.view(-1), z[index], z.index_select(0, index), z.flip(0), z.repeat(2, 1),
                  torch.cat([z, z], 1), torch.stack([z, z]), z.clone(), z.detach(), z.t().contiguous(), z.unsqueeze(0), z.split(1)[1], copy.deepcopy(z)):  # fmt: skip
        yield str(moved.dtype), moved.float().tolist(), moved.stride()
    yield repr(z.view(-1)[:2]) if "e8m0" not in name else None
    yield z[1, 0].item(), z.tolist(), float(z[0, 1]), (z == z).tolist(), (z == 1.0).tolist(), z.isnan().tolist()
    w = z.clone()
    w[0] = 3.0
    w[1] = z[0]
    yield w.float().tolist(), w.fill_(2.0).float().tolist(), w.copy_(torch.ones(2, 3)).float().tolist()
    plain = torch.zeros(2, 3)
    plain.copy_(z)
    yield plain.tolist(), plain.to(z).dtype is kind
    yield (
        torch.tensor([1.0, 2.0], dtype=kind).float().tolist(),
        torch.zeros(2, dtype=kind).view(torch.uint8).tolist(),
        torch.ones(2, dtype=kind).float().tolist(),
    )
    yield torch.full((2,), 1.5, dtype=kind).float().tolist(), tuple(torch.empty(2, 3, dtype=kind).shape)
    yield torch.nn.Parameter(z, requires_grad=False).dtype is kind, torch.can_cast(kind, torch.int8)
    file = io.BytesIO()
    torch.save({"z": z, "t": z.t()}, file)
    file.seek(0)
    back = torch.load(file)
    yield str(back["z"].dtype), back["z"].float().tolist(), back["t"].stride()


def refusals(torch, name):
    """The errors of what is refused."""
    z = torch.tensor([[1.0, 2.0], [8.0, 0.5]]).to(getattr(torch, name))
    x = torch.ones(2, 2)
    calls = [lambda: z + z, lambda: z + 1.5, lambda: 2 - z, lambda: z * 2, lambda: z / z, lambda: -z, lambda: z.exp(), lambda: z.sum(), lambda: z.mean(),
             lambda: z.max(), lambda: z.amax(), lambda: z.argmax(), lambda: z < z, lambda: z.sort(), lambda: z.cumsum(0), lambda: z.clamp(0, 1), lambda: z.relu(),
             lambda: z**2, lambda: torch.nn.functional.softmax(z, -1), lambda: z.add_(1), lambda: z.masked_fill(x > 0, 1.0), lambda: torch.equal(z, z),
             lambda: z + x, lambda: x * z, lambda: z != x, lambda: torch.cat([z, x]), lambda: torch.cat([x, z], 1), lambda: torch.promote_types(z.dtype, torch.float32),
             lambda: z.numpy(), lambda: torch.set_default_dtype(z.dtype)]  # fmt: skip
    for call in calls:
        with pytest.raises((NotImplementedError, RuntimeError, TypeError)) as error:
            call()
        yield type(error.value), str(error.value).splitlines()[0]


@pytest.mark.parity
@pytest.mark.parametrize("name", NAMES)
def test_as_in_pytorch(name):
    torch = pytest.importorskip("torch")
    assert list(seen(penlight, name)) == list(seen(torch, name))
    assert list(refusals(penlight, name)) == list(refusals(torch, name))


def test_numbers():
    x = penlight.tensor([1.0, -2.5, 0.3, 464.0, 1e6, float("inf")])
    assert x.to(penlight.float8_e4m3fn).view(penlight.uint8).tolist() == [56, 194, 42, 126, 126, 126]
    assert x.to(penlight.float8_e5m2).float().tolist() == [1.0, -2.5, 0.3125, 448.0, float("inf"), float("inf")]
    assert repr(x[:3].to(penlight.float8_e4m3fn)) == "tensor([ 1.0000, -2.5000,  0.3125], dtype=torch.float8_e4m3fn)"


@pytest.mark.parametrize("name", NAMES)
def test_what_is_seen(name):
    found = list(seen(penlight, name))
    kind = getattr(penlight, name)
    assert found[0][0] == penlight.tensor(NUMBERS).to(kind).view(penlight.uint8).tolist()[:-1] and found[1]
    assert found[-1] == (f"torch.{name}", [[1.0, 2.0, 4.0], [8.0, 0.5, 16.0]], (1, 3))


@pytest.mark.parametrize("name", NAMES)
def test_refused(name):
    found = list(refusals(penlight, name))
    label = name.capitalize()
    assert found[0] == (NotImplementedError, f"\"add_stub\" not implemented for '{label}'")
    assert (
        RuntimeError,
        f"Promotion for Float8 Types is not supported, attempted to promote {label} and Float",
    ) in found


@pytest.mark.parametrize("name", NAMES)
def test_every_other_function_refuses_or_moves(name):
    """No function computes with the bytes."""
    z = penlight.tensor([[1.0, 2.0], [8.0, 0.5]]).to(getattr(penlight, name))
    for function in (penlight.sin, penlight.matmul, penlight.maximum, penlight.where, penlight.nonzero, penlight.unique, penlight.topk, penlight.linalg.norm,
                     penlight.nn.functional.linear, penlight.nn.functional.pad, penlight.isin, penlight.searchsorted, penlight.Tensor.scatter_, penlight.einsum):  # fmt: skip
        for args in ((z,), (z, z), (z, 1), (z, z, z), ("ij->ji", z)):
            with pytest.raises((NotImplementedError, TypeError, RuntimeError)):
                function(*args)
    with pytest.raises(NotImplementedError, match="detach"):
        penlight.ones(2, requires_grad=True).to(getattr(penlight, name))
    with pytest.raises(NotImplementedError, match="meta"):
        penlight.zeros(2, dtype=getattr(penlight, name), device="meta")


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu"])
def test_safetensors(name, tmp_path):
    kind = getattr(penlight, name)
    tensors = {"a": penlight.tensor([[1.0, 2.0], [8.0, 0.5]]).to(kind), "b": penlight.ones(3)}
    back = safetensors.load(safetensors.save(tensors))
    assert (
        back["a"].dtype is kind and back["a"].tolist() == [[1.0, 2.0], [8.0, 0.5]] and back["b"].tolist() == [1.0] * 3
    )


def test_without_the_package(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "ml_dtypes", None)
    with pytest.raises(ImportError, match="needs the ml_dtypes package"):
        penlight.ones(2).to(penlight.float8_e5m2)
    assert dtypes.float8_e5m2 in dtypes.FLOAT8
