"""Tensors without data: `device="meta"`. The values are what PyTorch 2.13.0 gives."""

from __future__ import annotations

import copy
import io
import sys
import warnings

import pytest

import penlight as torch
from penlight import _torch_function, nn


@pytest.fixture(autouse=True)
def _asleep():
    """Leave other tests the functions as they are without subclasses."""
    yield
    torch.set_default_device(None)
    _torch_function.deactivate()


def test_describes_itself():
    x = torch.empty(2, 3, device="meta")
    assert repr(x) == "tensor(..., device='meta', size=(2, 3))"
    assert (x.device, x.is_meta, x.is_cpu, x.stride(), x.numel()) == (torch.device("meta"), True, False, (3, 1), 6)
    assert repr(x.sum(0).double()) == "tensor(..., device='meta', size=(3,), dtype=torch.float64)"
    layer = nn.Linear(3, 2, device="meta")
    assert repr(layer.weight) == ("Parameter containing:\ntensor(..., device='meta', size=(2, 3), requires_grad=True)")
    assert repr(layer(x)) == "tensor(..., device='meta', size=(2, 2), grad_fn=<AddmmBackward0>)"
    assert type(x).__name__ == "Tensor" and isinstance(layer.weight, nn.Parameter)


@pytest.mark.skipif(sys.maxsize < 2**32, reason="an address space of 64 bits")
def test_more_than_there_is_memory():
    layer = nn.Linear(300_000, 300_000, device="meta")
    assert sum(p.numel() for p in layer.parameters()) == 90_000_300_000


@pytest.mark.parametrize(
    ("use", "error", "words"),
    [
        (lambda x: x.sum().item(), RuntimeError, "Tensor.item() cannot be called on meta tensors"),
        (lambda x: x.item(), RuntimeError, "a Tensor with 6 elements cannot be converted to Scalar"),
        (lambda x: bool(x.sum()), RuntimeError, "Tensor.item() cannot be called on meta tensors"),
        (lambda x: float(x.sum()), RuntimeError, "Tensor.item() cannot be called on meta tensors"),
        (lambda x: x.tolist(), NotImplementedError, "Cannot copy out of meta tensor; no data!"),
        (lambda x: x.to("cpu"), NotImplementedError, "Cannot copy out of meta tensor; no data!"),
        (lambda x: torch.ones(2, 3).copy_(x), NotImplementedError, "Cannot copy out of meta tensor; no data!"),
        (lambda x: x.numpy(), TypeError, "can't convert meta device type tensor to numpy. Use Tensor.cpu()"),
        (lambda x: x + torch.ones(2, 3), RuntimeError, "Tensor on device cpu is not on the expected device meta!"),
        (lambda x: torch.ones(2, 3) + x, RuntimeError, "Tensor on device meta is not on the expected device cpu!"),
        (lambda x: f"{x.sum():.3f}", TypeError, "unsupported format string passed to Tensor.__format__"),
        (lambda x: x.nonzero(), NotImplementedError, "torch.nonzero() of a tensor on the meta device"),
        (lambda x: x[x > 0], NotImplementedError, "torch.nonzero() of a tensor on the meta device"),
        (lambda x: torch.Generator("meta"), RuntimeError, "META device type not an accelerator."),
        (
            lambda x: nn.Linear(3, 2, device="meta").to("cpu"),
            NotImplementedError,
            "Please use torch.nn.Module.to_empty() instead of torch.nn.Module.to()",
        ),
    ],
)
def test_asking_for_numbers_is_refused(use, error, words):
    with pytest.raises(error) as caught:
        use(torch.empty(2, 3, device="meta"))
    assert words in str(caught.value)


def test_makers():
    made = [
        torch.tensor([1, 2], device="meta"), torch.arange(3, device="meta"), torch.randn(2, device="meta"),
        torch.as_tensor([1.0], device="meta"), torch.full((2,), 3.0, device="meta"), torch.eye(2, device="meta"),
        torch.linspace(0, 1, 3, device="meta"), torch.randint(0, 3, (2,), device="meta"),
        torch.randperm(3, device="meta"), torch.zeros(3).to("meta"), torch.zeros_like(torch.ones(2), device="meta"),
        torch.empty(2, device="meta").new_zeros(4), torch.normal(0.0, 1.0, (2,), device="meta"),
    ]  # fmt: skip
    assert all(t.is_meta for t in made)
    assert torch.empty_like(made[0], device="cpu").device.type == "cpu"


def test_draws_no_random_numbers():
    torch.manual_seed(0)
    torch.randn(3, device="meta")
    nn.Linear(3, 3, device="meta")
    nn.functional.dropout(torch.empty(3, device="meta"))
    torch.nn.utils.skip_init(nn.Linear, 3, 3)
    assert torch.rand(1).item() == pytest.approx(0.4962566)


def test_regions_and_default():
    with torch.device("meta"):
        layer, ones = nn.Linear(5, 5), torch.ones(3)
        with torch.device("cpu"):
            assert torch.ones(1).device.type == "cpu"
        assert torch.zeros(2, device="cpu").device.type == "cpu"
    assert layer.weight.is_meta and ones.is_meta and not torch.ones(1).is_meta
    torch.set_default_device("meta")
    assert torch.ones(2).is_meta and torch.get_default_device() == torch.device("meta")
    torch.set_default_device("cpu")
    assert not torch.ones(2).is_meta


def test_modules_go_there_and_come_back():
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Dropout(0.5), nn.Linear(4, 1))
    bare = copy.deepcopy(model).to("meta")
    assert all(v.is_meta for v in bare.state_dict().values())
    assert bare(torch.empty(5, 3, device="meta")).shape == (5, 1)
    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always")
        bare.load_state_dict(model.state_dict())
    assert len(noted) == 9 and "which is a no-op" in str(noted[0].message) and bare[0].weight.is_meta
    x = torch.randn(2, 3)
    filled = copy.deepcopy(bare).to_empty(device="cpu")
    filled.load_state_dict(model.state_dict())
    bare.load_state_dict(model.state_dict(), assign=True)
    for other in (filled, bare):
        assert torch.equal(other.eval()(x), model.eval()(x)) and other[0].weight.requires_grad
        assert type(other[0].weight) is nn.Parameter


def test_layers_and_backward():
    x = torch.empty(2, 1, 8, device="meta")
    assert nn.LSTM(8, 4, device="meta")(x)[0].shape == (2, 1, 4)
    assert nn.TransformerEncoderLayer(8, 2, 16, device="meta")(x).is_meta
    assert nn.Embedding(5, 3, device="meta")(torch.empty(4, dtype=torch.long, device="meta")).shape == (4, 3)
    layer = nn.Linear(8, 2, device="meta")
    layer(x).sum().backward()
    assert layer.weight.grad.is_meta and layer.weight.grad.shape == (2, 8)


def test_functional_call_over_a_model_without_data():
    models = [nn.Linear(4, 2) for _ in range(3)]
    params, buffers = torch.func.stack_module_state(models)
    base = copy.deepcopy(models[0]).to("meta")
    x = torch.randn(5, 4)
    out = torch.vmap(lambda p, b: torch.func.functional_call(base, (p, b), (x,)))(params, buffers)
    torch.testing.assert_close(out, torch.stack([m(x) for m in models]))


def test_saving():
    file = io.BytesIO()
    layer = nn.Linear(3, 2, device="meta")
    torch.save({"state": layer.state_dict(), "weight": layer.weight}, file)
    file.seek(0)
    back = torch.load(file)
    assert repr(back["state"]["weight"]) == "tensor(..., device='meta', size=(2, 3))"
    assert isinstance(back["weight"], nn.Parameter) and back["weight"].is_meta
    file = io.BytesIO()
    torch.save(nn.Linear(3, 2).state_dict(), file)
    file.seek(0)
    assert all(v.is_meta for v in torch.load(file, map_location="meta").values())


def test_data_stays_on_its_device():
    p = nn.Parameter(torch.ones(2))
    with pytest.raises(RuntimeError, match="incompatible tensor type"):
        p.data = torch.empty(2, device="meta")
    assert p.tolist() == [1.0, 1.0]


def test_swapped_tensors_take_their_device_along():
    p, q = nn.Parameter(torch.ones(2, device="meta")), nn.Parameter(torch.ones(2))
    torch.utils.swap_tensors(p, q)
    assert (p.is_meta, q.is_meta) == (False, True) and p.tolist() == [1.0, 1.0]
    (p * 3).sum().backward()
    assert p.grad.tolist() == [3.0, 3.0]
