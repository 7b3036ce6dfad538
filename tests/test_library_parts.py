"""Private parts of PyTorch that libraries import: tensordict, torchvision, torchmin, timm. Values are PyTorch's."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import pytest

import penlight as torch
from penlight._common import user_warnings

SOURCE = Path(torch.__file__).parent.parent


def run(program: str, *paths: object) -> str:
    """What a program prints in a process where `import torch` gives Penlight."""
    found = [str(SOURCE), *map(str, paths), *filter(None, [os.environ.get("PYTHONPATH")])]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(found)}
    # In a file, so that the source of a call can be read: how its arguments were given is told from that.
    with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
        file.write("import penlight.as_torch\n" + program)
        file.flush()
        done = subprocess.run([sys.executable, file.name], capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr
    return done.stdout


TAKEN_OVER = """
import torch
class Pair:  # not a tensor; the first that this process sees of its kind
    def __init__(self, *tensors): self.tensors = tensors
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        return function.__name__, [t.__name__ for t in types], len(args), kwargs
pair = Pair(torch.ones(2), torch.zeros(2))
print({})
print(torch.stack([torch.ones(1)]), torch.add(pair, 1))
"""


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("torch.stack([pair, pair], 0)", "('stack', ['Pair'], 2, None)"),
        ("torch.cat((pair, pair), dim=1)", "('cat', ['Pair'], 1, {'dim': 1})"),
        ("torch.ones_like(pair)", "('ones_like', ['Pair'], 1, None)"),
        ("torch.full_like(pair, 2.0)", "('full_like', ['Pair'], 2, None)"),
        ("torch.ones(2).add(pair)", "('add', ['Pair'], 2, None)"),
    ],
)
def test_first_foreign_class_takes_over_any_function(call, said):
    assert run(TAKEN_OVER.format(call)) == said + "\ntensor([[1.]]) ('add', ['Pair'], 2, None)\n"


def test_vmap_goes_through_steps_that_a_library_replaced():
    assert (
        run(
            "import torch, torch._functorch.vmap as source\n"
            "from torch._functorch.vmap import _add_batch_dim, _process_batched_inputs, _create_batched_inputs, _unwrap_batched\n"
            "seen = []\n"
            "def process(in_dims, args, func): seen.append('in'); return _process_batched_inputs(in_dims, args, func)\n"
            "def create(dims, flat, level, spec): seen.append(level); return _create_batched_inputs(dims, flat, level, spec)\n"
            "def unwrap(*args): seen.append('out'); return _unwrap_batched(*args)\n"
            "source._process_batched_inputs, source._create_batched_inputs, source._unwrap_batched = process, create, unwrap\n"
            "x = torch.arange(6.0).view(2, 3)\n"
            "print(torch.vmap(torch.sum)(x), torch.vmap(torch.vmap(torch.sin))(x).shape, seen)\n"
        )
        == "tensor([ 3., 12.]) torch.Size([2, 3]) ['in', 1, 'out', 'in', 1, 'in', 2, 'out', 'out']\n"
    )


def test_steps_of_vmap_one_by_one():
    from penlight import _c_functorch as steps

    x = torch.arange(6.0).view(2, 3)
    level = steps._vmap_increment_nesting(3, "error")
    try:
        one = steps._add_batch_dim(x, 1, level)
        assert one.shape == (2,) and steps.maybe_get_level(one) == level == 1 and steps.maybe_get_bdim(one) == 0
        assert steps.get_unwrapped(one).shape == (3, 2) and steps.is_batchedtensor(one)
        back = steps._remove_batch_dim(one * 2, level, 3, 1)
    finally:
        assert steps._vmap_decrement_nesting() == 1
    assert torch.equal(back, x * 2) and steps.maybe_get_level(x) == -1


def test_package_with_parts_in_python_is_loaded_where_it_is_installed(tmp_path):
    package = tmp_path / "torchvision"
    package.mkdir()
    (package / "__init__.py").write_text(
        "import torch\n"
        "try: torch.ops.load_library('no/such.so')\n"
        "except OSError: has_ops = False\n"
        "keys = torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCPU) | torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)\n"
        "@torch.library.register_fake('torchvision::nms')\n"
        "def shape(dets): return dets\n"
        "from torch.onnx import symbolic_opset11, register_custom_op_symbolic\n"
        "from torch.onnx.symbolic_helper import parse_args\n"
        "register_custom_op_symbolic('torchvision::nms', parse_args('v')(shape), 11)\n"
        "from torch.jit.annotations import BroadcastingList2\n"
        "from torch.utils.model_zoo import tqdm\n"
        "print(has_ops, keys, symbolic_opset11.__name__, BroadcastingList2[int], tqdm.__name__ in ('tqdm', '_Faketqdm'))\n"
    )
    assert run("import torchvision\n", tmp_path) == (
        "False DispatchKeySet(AutocastCPU, CPU) penlight.onnx.symbolic_opset11 None True\n"
    )


def test_tensor_of_a_tensor_is_a_view_of_it():
    x = torch.ones(2, requires_grad=True)
    y = torch.Tensor(x)
    assert y.grad_fn.name() == "AliasBackward0" and torch.FloatTensor(x).requires_grad and x.new(x).requires_grad
    (y * 3).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]
    n = torch.arange(3)
    view = torch.Tensor(n)
    view[0] = 5
    assert view.dtype == torch.int64 and n.tolist() == [5, 1, 2]

    class Own(torch.Tensor):
        pass

    assert type(Own(n)) is Own and Own(n).dtype == torch.int64
    with pytest.raises(
        TypeError, match=r"expected TensorOptions\(dtype=float, .* \(got TensorOptions\(dtype=long int, "
    ):
        torch.FloatTensor(n)


def test_members_by_name():
    from penlight.nn.utils._named_member_accessor import NamedMemberAccessor, set_tensor, swap_submodule, swap_tensor

    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
    access = NamedMemberAccessor(model)
    old = access.swap_tensor("0.weight", torch.ones(2, 2))
    assert isinstance(old, torch.nn.Parameter) and type(model[0].weight) is torch.Tensor
    assert "weight" in model[0]._parameters
    assert access.check_keys(["0.weight", "x"]) == (["0.bias"], ["x"])
    before, absent = access.swap_tensors_dict({"0.weight": old, "0.extra": torch.ones(1)}, allow_missing=True)
    assert absent == ["0.extra"] and model[0].weight is old
    access.swap_tensors_dict(before, allow_missing=True)
    assert not hasattr(model[0], "extra") and model[0].weight is before["0.weight"]
    with pytest.raises(RuntimeError, match="Missing key"):
        access.swap_tensors_dict({"0.weight": old, "0.extra": torch.ones(1)})
    assert model[0].weight is before["0.weight"] and not hasattr(model[0], "extra")
    with pytest.raises(AttributeError, match=r"Linear has no attribute `0\.w`"):
        access.get_tensor("0.w")
    with pytest.raises(TypeError, match=r"2 is not an instance of torch\.Tensor"):
        access.get_tensor("0.in_features")
    with pytest.raises(AttributeError, match="Sequential has no attribute `7`"):
        access.get_submodule("7")
    with pytest.raises(KeyError, match="submodule bias does not exist"):
        swap_submodule(model[0], "bias", model)
    with pytest.raises(AttributeError, match="Linear has no attribute `zz`"):
        swap_tensor(model[0], "zz", torch.ones(3))
    with pytest.raises(TypeError, match=r"3 is not an instance of torch\.Tensor"):
        set_tensor(model[0], "bias", 3)
    assert access.swap_submodule("1", torch.nn.Tanh())._get_name() == "ReLU"


def test_helpers_of_functional_and_lbfgs():
    from penlight.autograd import forward_ad, functional
    from penlight.optim import lbfgs
    from penlight.optim.optimizer import Optimizer, _get_capturable_supported_devices

    first, second = functional._construct_standard_basis_for(
        (torch.ones(2), torch.ones(1, dtype=torch.float64)), (2, 1)
    )
    assert first.tolist() == [[1, 0], [0, 1], [0, 0]]
    assert second.tolist() == [[0], [0], [1]] and second.dtype == torch.float64
    assert functional._tuple_postprocess(((1, 2), (3,)), (True, False)) == (1, 3)
    assert functional._tuple_postprocess((1, 2), False) == 1
    assert not functional._grad_postprocess(((torch.ones(1, requires_grad=True) * 2,),), False)[0][0].requires_grad
    t = torch.tensor
    assert abs(float(lbfgs._cubic_interpolate(0.0, 1.0, t(-1.0), 1.0, 0.5, t(0.3))) - 0.8550) < 1e-4

    def objective(x, t, d):
        place = x + t * d
        return float((place**2).sum()), 2 * place

    x = torch.tensor([1.0, 2.0])
    f, g = objective(x, 0, -2 * x)
    value, _, step, calls = lbfgs._strong_wolfe(objective, x, 1.0, -2 * x, f, g, g.dot(-2 * x))
    assert value == 0.0 and float(step) == 0.5 and calls == 2
    groups = Optimizer._group_tensors_by_device_and_dtype([[x, x.double()]], with_indices=True)
    assert [places for _, places in groups.values()] == [[0], [1]]
    assert "cpu" not in _get_capturable_supported_devices()
    assert forward_ad._current_level == -1
    with forward_ad.dual_level():
        assert forward_ad._current_level == 0


def test_context_managers_that_decorate():
    from penlight.utils._contextlib import _DecoratorContextManager, _NoParamDecoratorContextManager, context_decorator

    depth = []

    class Counted(_DecoratorContextManager):
        def __enter__(self):
            depth.append(1)

        def __exit__(self, *exc):
            depth.pop()

    class Bare(_NoParamDecoratorContextManager, Counted):
        pass

    @Counted()
    def each():
        yield len(depth)
        yield len(depth)

    assert [(n, len(depth)) for n in each()] == [(1, 0), (1, 0)]
    assert Bare(lambda: len(depth))() == 1 and context_decorator(lambda: Counted(), lambda: len(depth))() == 1
    with pytest.raises(AssertionError, match="is both callable and also a valid context manager"):
        context_decorator(Counted(), len)


def test_vectors_on_the_right_of_least_squares_and_split_by_name():
    a, b = torch.tensor([[2.0, 0.0], [0.0, 4.0], [0.0, 0.0]]), torch.tensor([2.0, 8.0, 1.0])
    for driver in ("gels", "gelsy", "gelsd", "gelss", None):
        assert torch.linalg.lstsq(a, b, driver=driver).solution.tolist() == pytest.approx([1.0, 2.0])
    x = torch.arange(6)
    assert [len(part) for part in torch.tensor_split(x, indices=(2, 3))] == [2, 1, 3]
    assert [len(part) for part in x.tensor_split(sections=4)] == [2, 2, 1, 1]
    assert [len(part) for part in x.tensor_split(tensor_indices_or_sections=torch.tensor(2), dim=0)] == [3, 3]


def test_copies_of_expanded_and_joined_tensors_lie_in_memory_as_pytorchs():
    e, t = torch.arange(8).view(1, 8).expand(2, 8), torch.zeros(3, 2).t()
    for copied in (
        e.float(),
        e.half(),
        e.int(),
        e.bool(),
        e.clone(),
        e * 1.0,
        e.exp(),
        torch.empty_like(e),
        e.float().int(),
    ):
        assert copied.stride() == (8, 1)
    p = torch.arange(6).view(1, 2, 3).expand(4, 2, 3).permute(2, 0, 1)
    for copied in (p.float(), p.clone(), torch.zeros_like(p), p.to(torch.int64, copy=True)):
        assert copied.stride() == (1, 3, 12)
    assert torch.cat([t, t]).stride() == torch.cat([e[:, :3].float(), t]).stride() == (3, 1)
    assert torch.stack([t, t], 1).stride() == (6, 3, 1)
    n = torch.zeros(2, 3, 4, 5).to(memory_format=torch.channels_last)
    assert torch.cat([n, n], 1).stride() == (120, 1, 30, 6)
    assert torch.cat([n, n.contiguous()], 1).stride() == (120, 20, 5, 1)


def test_names_that_libraries_import():
    program = """
import torch
from torch import nn
from torch._jit_internal import _copy_to_script_wrapper
from torch._prims_common import DeviceLikeType, NumberType
from torch.backends import __allow_nonbracketed_mutation
from torch.nn.utils._per_sample_grad import call_for_per_sample_grads
from torch.utils._sympy.numbers import IntInfinity, int_oo
from torch.utils._sympy.value_ranges import ValueRanges
@_copy_to_script_wrapper
def same(): return 1
x = torch.arange(4.0).view(1, 1, 2, 2)
print(same(), torch._C._mps_is_available(), int_oo > 2**100, hasattr(torch.jit, "_get_trace_graph"))
print(torch._C._nn.upsample_nearest2d(x, (4, 4)).shape, torch._C._nn.upsample_bilinear2d(x, None, False, (2.0, 2.0)).shape)
print(torch._C._nn.reflection_pad2d(x, [1, 1, 0, 0]).tolist(), torch._C._nn.gelu(x).shape)
print(nn.ModuleList([nn.Identity(), nn.Identity()])._get_abs_string_index(-1))
p = nn.Parameter(torch.ones(1))
print(p._cdata == p._cdata != p.detach()._cdata, isinstance("cpu", DeviceLikeType), isinstance(1, NumberType))
with __allow_nonbracketed_mutation(): pass
try: call_for_per_sample_grads(nn.Identity())
except NotImplementedError as error: print(str(error).splitlines()[0][:60])
try: ValueRanges(0, int_oo)
except NotImplementedError as error: print(error, isinstance(3, IntInfinity))
print(hasattr(torch.ops, "fbgemm"), hasattr(torch.ops.fbgemm, "jagged_to_padded_dense"))
try: torch.ops.fbgemm.jagged_to_padded_dense(x)
except NotImplementedError as error: print(error)
"""
    assert run(program) == (
        "1 False True True\ntorch.Size([1, 1, 4, 4]) torch.Size([1, 1, 4, 4])\n"
        "[[[[1.0, 0.0, 1.0, 0.0], [3.0, 2.0, 3.0, 2.0]]]] torch.Size([1, 1, 2, 2])\n1\nTrue True True\n"
        "torch.nn.utils._per_sample_grad.call_for_per_sample_grads is\n"
        "torch.utils._sympy.value_ranges.ValueRanges is not available: in Penlight sizes are numbers, and never symbols. False\n"
        "True False\ntorch.ops.fbgemm.jagged_to_padded_dense is not available: Penlight has PyTorch's own operators (torch.ops.aten) and no "
        "registry for others. Call the Python function itself\n"
    )


def test_compiled_modules():
    """As PyTorch's: a module around the module, whose attributes are that one's."""
    layer = torch.nn.Linear(2, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = torch.compile(layer)
        layer.compile()
    assert type(made).__name__ == "OptimizedModule" and isinstance(made, torch._dynamo.OptimizedModule)
    assert made._orig_mod is layer and made.weight is layer.weight and made.in_features == 2
    assert list(made.state_dict()) == ["_orig_mod.weight", "_orig_mod.bias"]
    made.note = "mine"
    assert layer.note == "mine" and not made.eval().training and not layer.training
    del made.note
    assert not hasattr(layer, "note") and copy.deepcopy(made)._orig_mod is not layer
    assert layer._compiled_call_impl is not None is torch.nn.Linear(1, 1)._compiled_call_impl
    assert pickle.loads(pickle.dumps(layer))._compiled_call_impl is None


def test_weights_of_a_recurrent_layer_can_be_replaced():
    """`higher` puts the weights that a step gave in the place of the layer's."""
    layer, x = torch.nn.LSTM(2, 3), torch.ones(4, 1, 2)
    expected = layer(x)[0]
    steps = [w * 1.0 for w in layer._flat_weights]
    layer._flat_weights = [w * 0 for w in steps]
    assert layer(x)[0].count_nonzero() == 0
    layer._flat_weights = steps
    assert torch.equal(layer(x)[0], expected) and layer._flat_weights[0] is steps[0]
    layer(x)[0].sum().backward()
    assert layer.weight_ih_l0.grad is not None
    layer.weight_ih_l0 = torch.nn.Parameter(torch.zeros(12, 2))
    assert layer._flat_weights[0] is layer.weight_ih_l0 and layer._flat_weights[1] is steps[1]


def test_parameters_on_the_meta_device_are_made_where_the_data_is():
    p = torch.nn.Parameter(torch.empty(2, device="meta"))
    made = type(p)(torch.ones(2), requires_grad=False)
    assert p.is_meta and not made.is_meta and type(made) is torch.nn.Parameter and made.tolist() == [1.0, 1.0]
    assert type(p)(p).is_meta


def test_storages_count_their_memory_and_warn_at_the_line_of_the_user():
    x = torch.ones(100)
    assert sys.getsizeof(x.untyped_storage()) > 400
    user_warnings._warned.clear()
    with pytest.warns(UserWarning, match="TypedStorage is deprecated") as seen:
        assert sys.getsizeof(x.storage()) > 400
    assert all(warning.filename == __file__ for warning in seen)


def test_processes_start_with_different_random_numbers():
    program = "import torch; print(torch.initial_seed(), torch.Generator().initial_seed())"
    (first, one), (second, other) = run(program).split(), run(program).split()
    assert first != second and one == other == "67280421310721"


def test_layers_of_sparse_inputs():
    """As PyTorch Geometric uses them."""
    s = torch.tensor([[0.0, 2.0], [3.0, 0.0]]).to_sparse()
    assert not s._coalesced_(False).is_coalesced() and s._coalesced_(True).is_coalesced()
    layer = torch.nn.Linear(2, 3)
    assert torch.allclose(layer(s), layer(s.to_dense()))
    torch.nn.functional.linear(s, layer.weight).sum().backward()
    assert layer.weight.grad.tolist() == [[3.0, 2.0]] * 3
    assert torch._segment_reduce(torch.arange(4.0), "sum", lengths=torch.tensor([1, 3])).tolist() == [0.0, 6.0]


def test_import_star_takes_no_modules_along():
    taken: dict[str, object] = {}
    exec("from penlight import *", taken)
    assert {"Tensor", "tensor", "float32", "no_grad", "vmap"} <= taken.keys()
    assert not [name for name, value in taken.items() if isinstance(value, type(torch))]


def test_functions_that_pytorch_has_in_torch_are_taken_over_under_its_name():
    assert (
        run(
            "import torch, torch.nn.functional as F\n"
            "class Image(torch.Tensor): pass\n"
            "class Foreign:\n"
            "    @classmethod\n"
            "    def __torch_function__(cls, function, types, args=(), kwargs=None): return function.__name__\n"
            "x, y = torch.ones(1, 1, 4, 4), Foreign()\n"
            "print(type(F.conv2d(x.as_subclass(Image), x[:, :, :2, :2])).__name__, type(torch.nn.Conv2d(1, 1, 2)(x.as_subclass(Image))).__name__)\n"
            "print(F.conv2d(x, weight=y), F.conv3d(y, weight=y), F.prelu(x, y), F.bilinear(x, x, weight=y), torch.dropout(y, 0.5, True))\n"
        )
        == "Image Image\nconv2d conv3d prelu bilinear dropout\n"
    )


def test_a_subclass_of_a_distribution_may_pass_its_checks_on_to_its_base():
    class Passing(torch.distributions.Independent):
        _validate_args = property(
            lambda d: d.base_dist._validate_args, lambda d, value: setattr(d.base_dist, "_validate_args", value)
        )

    normal = torch.distributions.Normal(torch.zeros(2), torch.ones(2))
    assert Passing(normal, 1).expand((3,)).base_dist.batch_shape == (3, 2)
