"""What libraries that are built on PyTorch ask of it, beyond its functions: that it is installed, old names, sparse tensors."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import penlight as torch
from penlight import _functorch_package as functorch

SOURCE = Path(torch.__file__).parent.parent


def run(program: str) -> str:
    """What a program prints in a process where `import torch` gives Penlight."""
    start = f"import sys; sys.path.insert(0, {str(SOURCE)!r}); import penlight.as_torch\n"
    done = subprocess.run([sys.executable, "-c", start + program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_torch_is_an_installed_package():
    assert (
        run(
            "import importlib.metadata as metadata, torch\n"
            "assert metadata.version('torch') == torch.__version__ and metadata.requires('torch') is None\n"
            "assert metadata.metadata('torch')['Name'] == 'torch' and 'torch' in metadata.packages_distributions()['torch']\n"
            "try: metadata.version('no-such-package')\n"
            "except metadata.PackageNotFoundError: print('as before')\n"
        )
        == "as before\n"
    )


def test_old_modules_can_be_imported():
    assert run(
        "import functorch, torch\n"
        "from torch._vmap_internals import _vmap\n"
        "from torch._C._functorch import is_batchedtensor\n"
        "print(_vmap(lambda x: x.sum())(torch.ones(2, 3)), is_batchedtensor(torch.ones(1)))\n"
        "print(_vmap(lambda x: (x.sum(), None), allow_none_pass_through=True)(torch.ones(2, 3)))\n"
        "print(torch.vmap(lambda x: x * is_batchedtensor(x))(torch.ones(2)))\n"
    ) == ("tensor([3., 3.]) False\n(tensor([3., 3.]), None)\ntensor([1., 1.])\n")


def test_modules_as_functions():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
    with pytest.warns(FutureWarning, match="`functorch.make_functional_with_buffers` is deprecated as of PyTorch 2.0"):
        f, params, buffers = functorch.make_functional_with_buffers(model)
    assert len(params) == 4 and len(buffers) == 3 and all(p.requires_grad for p in params)
    assert params[0] is not model[0].weight
    x = torch.randn(5, 2)
    assert torch.equal(f(params, buffers, x), model(x))
    with pytest.warns(FutureWarning), pytest.raises(RuntimeError, match="`model` has buffers"):
        functorch.make_functional(model)
    with pytest.warns(FutureWarning):
        f, params = functorch.make_functional(model[0], disable_autograd_tracking=True)
    assert not any(p.requires_grad for p in params) and model[0].weight.requires_grad
    assert torch.equal(f(params, x), model[0](x))


def test_ensembles_of_modules():
    models = [torch.nn.Linear(2, 3) for _ in range(4)]
    x = torch.randn(5, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        f, params, buffers = functorch.combine_state_for_ensemble(models)
        found = functorch.vmap(f, (0, 0, None))(params, buffers, x)
        gradient = functorch.grad(lambda v: (v**3).sum())(torch.tensor([2.0]))
    torch.testing.assert_close(found, torch.stack([m(x) for m in models]))
    assert gradient.tolist() == [12.0]
    with pytest.warns(FutureWarning), pytest.raises(RuntimeError, match="Expected at least one model, got 0"):
        functorch.combine_state_for_ensemble([])
    with pytest.warns(FutureWarning), pytest.raises(RuntimeError, match="to be of the same class"):
        functorch.combine_state_for_ensemble([models[0], torch.nn.ReLU()])


def test_arrays_of_tensors_that_require_grad_under_no_grad():
    weight = torch.nn.Parameter(torch.ones(2))
    with pytest.raises(RuntimeError, match=r"Can't call numpy\(\) on Tensor that requires grad"):
        weight.numpy()
    with torch.no_grad():
        array = weight.view(-1).numpy()
        np.asarray(weight)
    array[0] = 3.0
    assert weight.tolist() == [3.0, 1.0]


def test_types_of_torchscript_can_be_named():
    assert isinstance(torch.DeviceObjType, type) and torch.DeviceObjType is torch._C.DeviceObjType
    assert not isinstance(torch.device("cpu"), torch.DeviceObjType)
    with pytest.raises(NotImplementedError):
        torch.TensorType()


class Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx, sparse, dense):
        ctx.sparse = sparse
        return torch.dsmm(sparse, dense)

    @staticmethod
    def backward(ctx, grad):
        return None, torch.dsmm(ctx.sparse.t(), grad)


def test_sparse_tensors_say_where_they_are_and_go_through_custom_functions():
    s = torch.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], [3.0, 4.0, 5.0], (2, 3))
    assert s.device == torch.device("cpu") and not s.is_cuda and not s.is_meta and s.element_size() == 4
    assert torch.equal(s.mT.to_dense(), s.to_dense().mT)
    x = torch.ones(3, 1, requires_grad=True)
    out = Product.apply(s, x)
    assert out.tolist() == [[3.0], [9.0]]
    out.sum().backward()
    assert x.grad.tolist() == [[4.0], [0.0], [8.0]]
    with pytest.raises(NotImplementedError, match=r"coalesce\(\).values\(\)"):
        Product.apply(s.detach().requires_grad_(), x)
    assert torch.hsmm(torch.eye(2), torch.ones(2, 1)).tolist() == [[1.0], [1.0]]


AXES = {
    "cumsum": (), "cumprod": (), "cummax": (), "cummin": (), "logcumsumexp": (), "logsumexp": (), "softmax": (), "log_softmax": (),
    "argsort": (), "sort": (), "topk": (2,), "quantile": (0.5,), "nanquantile": (0.5,), "unsqueeze": (), "squeeze": (), "diff": (),
    "count_nonzero": (), "unbind": (), "chunk": (2,), "tensor_split": (2,), "aminmax": (), "sum": (), "mean": (), "argmax": (),
}  # fmt: skip


@pytest.mark.parametrize("name", AXES)
def test_a_dimension_by_numpys_name(name):
    torch.manual_seed(0)
    x, rest = torch.rand(3, 4), AXES[name]
    wanted = getattr(x, name)(*rest, dim=0)
    for found in (getattr(torch, name)(x, *rest, axis=0), getattr(x, name)(*rest, axis=0)):
        for a, b in zip(found, wanted) if isinstance(wanted, tuple) else [(found, wanted)]:
            assert torch.equal(a, b)


def test_a_dimension_that_is_missing():
    for name in ("cumsum", "softmax", "logsumexp", "unsqueeze"):
        with pytest.raises(TypeError, match=name):
            getattr(torch, name)(torch.ones(2))


def test_other_functions_take_numpys_name():
    x, y = torch.rand(3, 3), torch.rand(3, 3)
    assert torch.equal(torch.cross(x, y, axis=0), torch.cross(x, y, dim=0))
    assert torch.equal(torch.cosine_similarity(x, y, axis=0), torch.cosine_similarity(x, y, dim=0))
    assert torch.equal(torch.linalg.norm(x, axis=0), torch.linalg.norm(x, dim=0))
    assert torch.equal(torch.linalg.vector_norm(x, axis=0), torch.linalg.vector_norm(x, dim=0))
    assert torch.equal(torch.trapezoid(x, axis=0), torch.trapezoid(x, dim=0))
    places = torch.zeros(1, 3, dtype=torch.int64)
    assert torch.equal(torch.take_along_dim(x, places, axis=0), x[:1])


def test_the_method_split_by_its_argument():
    assert [part.tolist() for part in torch.arange(5).split(split_size=2, dim=0)] == [[0, 1], [2, 3], [4]]
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'split_size_or_sections'"):
        torch.split(torch.ones(2))


def test_functions_with_an_underscore():
    rows = torch.tensor([0, 0, 2, 3])
    assert torch._convert_indices_from_coo_to_csr(rows, 5).tolist() == [0, 2, 2, 3, 4, 4]
    assert torch._convert_indices_from_coo_to_csr(rows, 5, out_int32=True).dtype is torch.int32
    pair = torch._convert_indices_from_csr_to_coo(torch.tensor([0, 2, 2, 3]), torch.tensor([1, 0, 2]), transpose=True)
    assert pair.tolist() == [[1, 0, 2], [0, 0, 2]]
    x = torch.randn(2, 3, requires_grad=True)
    for name in ("softmax", "log_softmax"):
        out, grad = getattr(x, name)(1), torch.randn(2, 3)
        [wanted] = torch.autograd.grad(out, x, grad)
        torch.testing.assert_close(
            getattr(torch, f"_{name}_backward_data")(grad, out.detach(), 1, torch.float32), wanted
        )
    assert torch._shape_as_tensor(x).tolist() == [2, 3]


def test_assertions_about_tensors():
    torch._assert_async(torch.tensor(1))
    with pytest.raises(RuntimeError, match="Expected Tensor with single nonzero value, but got zero"):
        torch._assert_async(torch.tensor(0.0))
    with pytest.raises(RuntimeError, match="words"):
        torch._assert_async(torch.tensor(False), "words")


def test_questions_about_tracing_are_answered():
    from penlight.fx._symbolic_trace import is_fx_tracing
    from penlight.fx.experimental.proxy_tensor import get_proxy_mode

    assert is_fx_tracing() is False and get_proxy_mode() is None
    assert torch.distributed.autograd.is_available() is False


def test_refused_modules_inside_others():
    import penlight.distributed.elastic.multiprocessing.errors as errors
    from penlight._higher_order_ops.associative_scan import associative_scan

    assert torch.distributed.elastic.multiprocessing.errors is errors and isinstance(errors.ChildFailedError, type)
    with pytest.raises(NotImplementedError, match="associative_scan is not available"):
        associative_scan(torch.add, torch.ones(2), 0)
