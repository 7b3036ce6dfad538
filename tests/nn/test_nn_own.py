"""What is Penlight's own: parameters and their lazy kin, refusals, and places where PyTorch is not followed."""

from __future__ import annotations

import copy
import importlib
import pickle

import numpy as np
import pytest

import penlight as torch
from penlight import nn

# Parameters


def test_parameter():
    data = torch.ones(2)
    p = nn.Parameter(data)
    assert repr(p) == "Parameter containing:\ntensor([1., 1.], requires_grad=True)"
    assert p.requires_grad and p.is_leaf and p.data_ptr() == data.data_ptr()
    assert type(p * 2) is torch.Tensor and type(p.detach()) is torch.Tensor
    assert not nn.Parameter(data, requires_grad=False).requires_grad
    assert nn.Parameter().shape == (0,)
    with pytest.raises(TypeError, match="Parameter data has to be a Tensor"):
        nn.Parameter([1.0])


def test_parameter_copies():
    p = nn.Parameter(torch.ones(2))
    p.sum().backward()
    p.note = "mine"
    copied, pickled = copy.deepcopy(p), pickle.loads(pickle.dumps(p))
    for other in (copied, pickled):
        assert type(other) is nn.Parameter and other.requires_grad and other.equal(p)
        assert other.data_ptr() != p.data_ptr()
    assert copied.grad is None
    memo: dict = {}
    assert copy.deepcopy(p, memo) is copy.deepcopy(p, memo)


def test_parameter_of_a_subclass():
    class Special(torch.Tensor):
        pass

    p = nn.Parameter(torch.ones(2).as_subclass(Special))
    assert type(p) is Special and isinstance(p, nn.Parameter) and p.requires_grad
    m = nn.Module()
    m.p = p
    assert list(m._parameters) == ["p"]


def test_buffer():
    b = nn.Buffer(torch.ones(2), persistent=False)
    assert isinstance(b, nn.Buffer) and isinstance(b, torch.Tensor) and not b.persistent
    assert not isinstance(torch.ones(2), nn.Buffer) and not isinstance(3, nn.Buffer)


@pytest.mark.parametrize("kind", [nn.UninitializedParameter, nn.UninitializedBuffer])
def test_uninitialized(kind):
    u = kind(dtype=torch.float64)
    assert repr(u) == f"<{kind.__name__}>" and u.dtype == torch.float64 and nn.parameter.is_lazy(u)
    for use in (lambda: u + 1, lambda: u.sum(), lambda: torch.exp(u), lambda: u[0]):
        with pytest.raises(ValueError, match="Attempted to use an uninitialized parameter"):
            use()
    with pytest.raises(RuntimeError, match="Can't access the shape of an uninitialized"):
        _ = u.shape
    copied = copy.deepcopy(u)
    assert type(copied) is kind and copied.dtype == torch.float64
    assert type(pickle.loads(pickle.dumps(u))) is kind
    u.requires_grad = True
    assert u.requires_grad
    u.materialize((2, 3))
    assert type(u) is kind.cls_to_become and u.shape == (2, 3) and u.dtype == torch.float64 and u.requires_grad
    (u * 0 + 1).sum().backward()
    assert u.grad.shape == (2, 3)


def test_lazy_module_is_cast_before_its_first_input():
    m = nn.LazyLinear(2).double()
    assert m.weight.dtype == torch.float64
    assert m(torch.ones(1, 3, dtype=torch.float64)).dtype == torch.float64
    assert type(m) is nn.Linear


# Note [Members as descriptors]


def test_members_come_after_everything_else():
    class Base(nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = nn.Linear(1, 1)

    class Intercepting(Base):
        def __getattr__(self, name):
            return "intercepted" if name == "lin" else super().__getattr__(name)

    class Overriding(Base):
        def lin(self):
            return "method"

    base = Base()
    assert base.lin is base._modules["lin"]
    assert not hasattr(Base, "lin") and "lin" in dir(base)
    assert Intercepting().lin == "intercepted"
    assert Overriding().lin() == "method"
    base._modules["lin"] = other = nn.ReLU()
    assert base.lin is other
    del base.lin
    assert not hasattr(base, "lin") and "lin" not in dir(base)
    with pytest.raises(AttributeError, match="'Base' object has no attribute 'lin'"):
        _ = base.lin
    with pytest.raises(AttributeError, match="type object 'Base' has no attribute 'lin'"):
        _ = Base.lin
    base.register_buffer("lin", torch.ones(1))
    assert base.lin is base._buffers["lin"]
    base.__dict__["lin"] = "instance"
    assert base.lin == "instance"
    fresh = Base.__new__(Base)
    with pytest.raises(AttributeError, match="'Base' object has no attribute 'lin'"):
        _ = fresh.lin


# Refusals


def test_refusals():
    with pytest.raises(ValueError, match=r"Default process group has not been initialized"):
        nn.parallel.DistributedDataParallel(nn.Linear(1, 1))
    with pytest.raises(RuntimeError, match="device type could not be determined"):
        nn.parallel.data_parallel(nn.Linear(1, 1), torch.ones(1, 1))
    with pytest.raises(AssertionError, match="Gather function not implemented for CPU tensors"):
        nn.parallel.gather([torch.ones(1)], 0)
    with pytest.raises(AssertionError, match="Broadcast function not implemented for CPU tensors"):
        nn.parallel.replicate(nn.Linear(1, 1), [0])
    with pytest.raises(RuntimeError, match="Cannot scatter"):
        nn.parallel.scatter(torch.ones(1), [0])
    with pytest.raises(RuntimeError, match="accelerator"):
        nn.parallel.parallel_apply([nn.ReLU()], [torch.ones(1)])
    assert nn.parallel.scatter((1, "a"), [0, 1]) == [(1, "a"), (1, "a")]
    flex = importlib.import_module("penlight.nn.attention.flex_attention")
    for name in flex.__all__:
        with pytest.raises(NotImplementedError, match="scaled_dot_product_attention"):
            getattr(flex, name)()


def test_sdpa_kernel():
    backend = nn.attention.SDPBackend
    with nn.attention.sdpa_kernel([backend.MATH, backend.FLASH_ATTENTION]):
        pass
    assert [int(b) for b in backend] == [-1, 0, 1, 2, 3, 4] and str(backend.MATH) == "SDPBackend.MATH"
    with pytest.raises(AssertionError, match="got str"), nn.attention.sdpa_kernel("MATH"):
        pass


# A refused change leaves everything as it was


def test_failed_assignment_changes_nothing():
    m = nn.Module()
    m.register_buffer("a", torch.ones(1))
    m.b = nn.ReLU()
    m.c = 3
    for name in ("a", "b", "c"):
        with pytest.raises(ValueError, match="Cannot assign non-leaf Tensor"):
            setattr(m, name, _non_leaf_parameter())
    assert list(m._buffers) == ["a"] and list(m._modules) == ["b"] and m.c == 3
    with pytest.raises(KeyError, match="attribute 'forward' already exists"):
        m.forward = nn.Parameter(torch.ones(1))


def _non_leaf_parameter():
    class Special(torch.Tensor):
        pass

    p = (torch.ones(1, requires_grad=True) * 2).as_subclass(Special)
    p._is_param = True
    return p


def test_failed_pruning_changes_nothing():
    m = nn.Linear(2, 2)
    with pytest.raises(ValueError, match="should be smaller"):
        nn.utils.prune.l1_unstructured(m, "weight", 9)
    assert list(m.state_dict()) == ["weight", "bias"] and not m._forward_pre_hooks
    nn.utils.prune.l1_unstructured(m, "weight", 1)
    mask = m.weight_mask.clone()
    with pytest.raises(ValueError, match="should be smaller"):
        nn.utils.prune.l1_unstructured(m, "weight", 9)
    assert m.weight_mask.equal(mask) and len(m._forward_pre_hooks) == 1


def test_parameter_dict_refuses_a_key_without_a_trace():
    d = nn.ParameterDict()
    with pytest.raises(TypeError, match="not a string"):
        d[3] = 1
    assert len(d) == 0


# Where PyTorch is wrong or silent


def test_lengths_beyond_the_padding_are_refused():
    with pytest.raises(RuntimeError, match="at most the padded length, but got 4"):
        nn.utils.rnn.pack_padded_sequence(torch.ones(3, 2), [4, 2])


def test_unpad_sequence_leaves_its_input_alone():
    batch = torch.arange(6.0).view(3, 2)
    nn.utils.rnn.unpad_sequence(batch, torch.tensor([3, 1]))
    assert batch.shape == (3, 2)


def test_cross_map_gradient_is_the_derivative():
    m = nn.CrossMapLRN2d(5, alpha=1.0)
    x = torch.from_numpy(np.random.default_rng(0).standard_normal((1, 6, 1, 2))).requires_grad_()
    weights = torch.from_numpy(np.random.default_rng(1).standard_normal((1, 6, 1, 2)))
    (m(x) * weights).sum().backward()
    eps = 1e-6
    for i in np.ndindex(*x.shape):
        step = torch.zeros_like(x)
        step[i] = eps
        with torch.no_grad():
            slope = ((m(x + step) - m(x - step)) * weights).sum() / (2 * eps)
        assert abs(float(slope) - float(x.grad[i])) < 1e-6


def test_removing_spectral_norm_removes_its_load_hook():
    m = nn.utils.remove_spectral_norm(nn.utils.spectral_norm(nn.Linear(2, 2)))
    assert not m._load_state_dict_pre_hooks and not m._state_dict_hooks
    m.load_state_dict(nn.Linear(2, 2).state_dict())


def test_assigning_does_not_mark_the_state_dict():
    m, state = nn.Linear(2, 2), nn.Linear(2, 2).state_dict()
    m.load_state_dict(state, assign=True)
    weight = m.weight
    m.load_state_dict(state)
    assert m.weight is weight


def test_compile_gives_the_module_back():
    m = nn.ReLU()
    assert m.compile() is None


def test_options_are_declared_once():
    """A module without parameters stores the arguments of its `__init__` and prints those that it names."""
    from penlight.nn.modules._options import Options

    class Scaled(Options):
        _shown = "by={self.by}"
        _tensor_options = ("offset",)

        def __init__(self, by: float = 2.0, offset: torch.Tensor | None = None) -> None:
            self._set_options(locals())

        def forward(self, input):
            return input * self.by

    module = Scaled(3.0, offset=torch.ones(1))
    assert repr(module) == "Scaled(by=3.0)" and list(module.state_dict()) == ["offset"]
    assert module(torch.ones(1)).item() == 3.0 and not hasattr(module, "self")
    with pytest.raises(TypeError, match=r"Scaled.__init__\(\) got an unexpected keyword argument 'too'"):
        Scaled(too=1)


@pytest.mark.parametrize("name", ["beta", "threshold"])
def test_an_option_can_become_a_parameter(name):
    module = nn.Softplus()
    setattr(module, name, nn.Parameter(torch.tensor(2.0)))
    assert [key for key, _ in module.named_parameters()] == [name]
    assert f"{name}=Parameter containing" in repr(module)


def test_an_unknown_padding_mode_is_refused():
    """PyTorch prints the modes as a set, whose order differs from process to process."""
    with pytest.raises(ValueError, match=r"padding_mode must be one of .*, but got padding_mode='no'"):
        nn.Conv2d(4, 3, 2, padding_mode="no")
