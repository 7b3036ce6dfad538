"""What a CPU library does not have: answered as PyTorch answers without a GPU, or refused with a hint."""

from __future__ import annotations

import importlib
import subprocess
import sys
import warnings
from operator import attrgetter

import pytest

import penlight as torch


def test_cuda_answers():
    assert not torch.cuda.is_available() and torch.cuda.device_count() == 0 and not torch.cuda.is_initialized()
    torch.cuda.manual_seed(1)
    torch.cuda.manual_seed_all(1)
    torch.cuda.empty_cache()
    assert torch.cuda.memory_allocated() == 0 == torch.cuda.max_memory_allocated(0)
    with torch.cuda.stream(None), torch.cuda.device(-1):
        pass
    assert not isinstance(torch.zeros(1), torch.cuda.FloatTensor)
    assert torch.version.cuda is None


@pytest.mark.parametrize(
    "name", ["synchronize", "current_device", "get_device_name", "reset_peak_memory_stats", "init"]
)
def test_cuda_refuses(name):
    with pytest.raises(AssertionError, match=r"Torch not compiled with CUDA enabled.*is_available"):
        getattr(torch.cuda, name)()


def test_cuda_refuses_objects():
    with pytest.raises(AssertionError, match=r"CUDA"):
        torch.cuda.set_device(0)
    with pytest.raises(ValueError, match=r"Expected a cuda device, but got: cpu"):
        torch.cuda.set_device("cpu")
    with pytest.raises(RuntimeError, match=r"dummy base class Event.*perf_counter"):
        torch.cuda.Event(enable_timing=True)
    with pytest.raises(RuntimeError, match=r"requires CUDA support"):
        torch.cuda.Stream()
    with pytest.raises(TypeError, match=r"type torch\.cuda\.FloatTensor not available"):
        torch.cuda.FloatTensor(3)
    with pytest.raises(RuntimeError, match=r"without CUDA support"), torch.cuda.device(0):
        pass
    assert not hasattr(torch.cuda, "no_such_thing")
    import penlight.cuda.sparse as sparse

    assert sparse.DoubleTensor.__name__ == "DoubleTensor"


def test_switches_can_be_set():
    cudnn = torch.backends.cudnn
    cudnn.benchmark, cudnn.deterministic = True, True
    assert cudnn.benchmark and cudnn.deterministic and cudnn.version() is None
    cudnn.benchmark = cudnn.deterministic = False
    with cudnn.flags(enabled=False, deterministic=True):
        assert not cudnn.enabled and cudnn.deterministic
    assert cudnn.enabled and not cudnn.deterministic
    torch.backends.cuda.matmul.allow_tf32 = True
    assert torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = False
    with pytest.raises(AttributeError, match=r"Unknown attribute"):
        torch.backends.cuda.matmul.allow_tf23 = True
    assert not torch.backends.mps.is_available() and not torch.backends.cuda.is_built()
    torch._dynamo.config.suppress_errors = True
    torch._inductor.config.triton.unique_kernel_names = True
    torch._dynamo.reset()


def test_flags_are_set_and_given_back():
    cudnn = torch.backends.cudnn
    assert cudnn.set_flags(False, _benchmark_limit=3) == (True, False, None, False, True, "none")
    assert not cudnn.enabled and cudnn.benchmark_limit == 3 and cudnn.allow_tf32
    cudnn.enabled, cudnn.benchmark_limit = True, None
    assert torch.backends.nnpack.set_flags(True) == (False,) and torch.backends.nnpack.set_flags(False) == (True,)
    with torch.backends.opt_einsum.flags(strategy="greedy"):
        assert (torch.backends.opt_einsum.enabled, torch.backends.opt_einsum.strategy) == (False, "greedy")
    assert torch.backends.opt_einsum.strategy is None


def test_what_was_set_is_returned():
    cuda = torch.backends.cuda
    cuda.enable_flash_sdp(False)
    assert not cuda.flash_sdp_enabled() and cuda.math_sdp_enabled()
    with pytest.warns(FutureWarning, match="sdp_kernel"):
        region = cuda.sdp_kernel(enable_math=False)
    with region:
        assert cuda.flash_sdp_enabled() and not cuda.math_sdp_enabled()
    assert not cuda.flash_sdp_enabled() and cuda.math_sdp_enabled()
    cuda.enable_flash_sdp(True)
    future = torch.__future__
    future.set_swap_module_params_on_conversion(True)
    assert future.get_swap_module_params_on_conversion() and not future.get_overwrite_module_params_on_conversion()
    future.set_swap_module_params_on_conversion(False)


def test_switches_are_modules_too():
    import penlight._dynamo.config as config
    from penlight._inductor import config as inner, utils

    assert config is torch._dynamo.config and inner is torch._inductor.config
    assert not inner.triton.nothing_of_this_name and inner.patch(max_autotune=True)(len)([1]) == 1
    with utils.fresh_inductor_cache():
        pass
    assert torch._dynamo.utils.counters == {} and not torch.compiler.config.nothing_of_this_name


def test_accelerators():
    accelerator = torch.accelerator
    assert (
        not accelerator.is_available() and accelerator.current_accelerator() is None and accelerator.device_count() == 0
    )
    device = accelerator.current_accelerator().type if accelerator.is_available() else "cpu"
    assert device == "cpu"
    with pytest.raises(RuntimeError, match=r"none is available"):
        accelerator.synchronize()
    with pytest.raises(RuntimeError, match=r"Cannot execute emptyCache\(\) without MPS backend"):
        torch.mps.empty_cache()
    with pytest.raises(AssertionError, match=r"Torch not compiled with XPU enabled"):
        torch.xpu.synchronize()
    torch.mps.manual_seed(0)
    torch.xpu.manual_seed_all(0)


def test_distributed():
    dist = torch.distributed
    assert dist.is_available() and not dist.is_initialized() and not dist.is_nccl_available()
    with pytest.raises(ValueError, match=r"Default process group has not been initialized"):
        dist.get_rank()
    assert dist.rpc is importlib.import_module("penlight.distributed.rpc")
    from penlight.distributed.tensor.parallel import ColwiseParallel

    with pytest.raises(NotImplementedError, match=r"ColwiseParallel"):
        ColwiseParallel()


@pytest.mark.parametrize(
    "path",
    [
        "fx.replace_pattern", "export.export", "onnx.export", "library.triton_op", "sparse.as_sparse_gradcheck", "nested._rebuild_njt",
        "masked.masked_tensor", "package.PackageExporter", "quantization.quantize_dynamic", "ao.quantization.QConfig",
        "distributed.fsdp.FullyShardedDataParallel", "distributed.checkpoint.async_save", "utils.cpp_extension.load_inline", "jit.save",
        "hub.load", "distributed.rpc.init_rpc", "utils.benchmark.Fuzzer", "fx.experimental.optimization.fuse",
    ],
)  # fmt: skip
def test_refused_names_can_be_imported_and_refuse_when_used(path):
    module, _, name = path.rpartition(".")
    found = getattr(importlib.import_module(f"penlight.{module}"), name)
    with pytest.raises(NotImplementedError) as error:
        found("something", "else")
    assert name in str(error.value) or "hub" in str(error.value)
    assert len(str(error.value)) > 40  # it says why, and what to do
    assert not hasattr(importlib.import_module(f"penlight.{module}"), "no_such_name")


def test_refused_classes_can_be_subclassed():
    class Mine(torch.jit.CompilationUnit):
        pass

    with pytest.raises(NotImplementedError, match=r"CompilationUnit"):
        Mine()
    assert not isinstance(3, torch.jit.ScriptFunction)


def test_names_that_penlight_lacks_say_so():
    assert not hasattr(torch, "no_such_name") and not hasattr(torch, "sparse_bsr_tensor")
    with pytest.raises(
        AttributeError, match=r"'torch' has no attribute 'sparse_bsr_tensor': PyTorch has it.*sparse_coo_tensor"
    ):
        torch.sparse_bsr_tensor  # noqa: B018
    with pytest.raises(NotImplementedError):
        torch.sparse_bsr_tensor  # noqa: B018
    with pytest.raises(AttributeError, match=r"no attribute 'no_such_name'$"):
        torch.no_such_name  # noqa: B018
    with pytest.raises(AttributeError, match=r"_C._cuda_setDevice.*C\+\+"):
        torch._C._cuda_setDevice  # noqa: B018
    with pytest.raises(RuntimeError, match=r"Tried to instantiate class 'my.Stack'"):
        torch.classes.my.Stack()


def test_compile_and_jit_give_back_what_they_got():
    def double(x):
        return 2 * x

    from penlight._common import user_warnings

    user_warnings._warned.clear()
    with pytest.warns(UserWarning, match=r"torch.compile: Penlight does not compile"):
        assert torch.compile(double) is double
    with pytest.warns(UserWarning, match=r"torch.jit.script"):
        assert torch.jit.script(double) is double
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # only once
        assert torch.compile(mode="reduce-overhead", fullgraph=True)(double) is double
        layer = torch.nn.Linear(1, 1)
        assert torch.compile(layer, backend="eager")._orig_mod is layer and torch.jit.script(layer) is layer
        assert torch.compiler.disable(double) is double and torch.compiler.disable(recursive=False)(double) is double

        @torch.jit.ignore
        def first(x):
            return x

        @torch.jit.ignore(drop=True)
        def second(x):
            return x

        assert first(1) == second(1) == 1
    with pytest.warns(UserWarning, match=r"torch.jit.trace"):
        assert torch.jit.trace(layer, torch.ones(1, 1)) is layer
    assert not torch.jit.is_scripting() and not torch.compiler.is_compiling()
    assert torch.jit.wait(torch.jit.fork(double, 4)) == 8
    assert torch.jit.isinstance([1, 2], list[int]) and not torch.jit.isinstance({"a": 1}, dict[str, str])
    assert torch.jit.isinstance([1, None], list[int | None]) and not torch.jit.isinstance(1.5, int | str)
    with pytest.raises(RuntimeError, match=r"Either mode or options"):
        torch.compile(double, mode="default", options={})
    with pytest.raises(NotImplementedError, match=r"state_dict"):
        torch.jit.load("model.pt")


def test_checks():
    torch._check(True)
    with pytest.raises(RuntimeError, match=r"hello"):
        torch._check(False, lambda: "hello")
    with pytest.raises(ValueError, match=r"Expected cond to be True"):
        torch._check_value(False)
    with pytest.raises(TypeError, match=r"_check_tensor_all"):
        torch._check(torch.tensor(True))
    with pytest.raises(AssertionError, match=r"words"):
        torch._assert(torch.tensor(False), "words")


def test_version_compares():
    version = torch.__version__
    assert isinstance(version, str) and version.startswith("2.13.0")
    assert (
        version >= (1, 8)
        and version > "2.9"
        and version < "2.14"
        and version >= "2.13.0"
        and version.split(".")[0] == "2"
    )
    assert torch.torch_version.TorchVersion("1.8.0a0") < "1.8.0"


def test_importing_penlight_imports_none_of_this():
    code = (
        "import sys, penlight; "
        "bad = [m for m in ('cuda', 'amp', 'distributed', 'fx', 'jit', 'testing', 'backends', 'multiprocessing', '_refused', '_run') "
        "if 'penlight.' + m in sys.modules]; assert not bad, bad; "
        "assert 'multiprocessing' not in sys.modules and 'argparse' not in sys.modules"
    )
    subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        cwd=importlib.import_module("pathlib").Path(torch.__file__).parent.parent,
    )


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("nn.quantized.dynamic", "no quantised arithmetic"),
        ("ao.nn.intrinsic.qat", "no quantised arithmetic"),
        ("fx.passes.split_module", "without passes over them"),
        ("masked.maskedtensor", "torch.masked with a mask"),
        ("accelerator.graphs", "runs on the CPU"),
        ("package.importer", "torch.save and torch.load"),
        ("utils.viz", "Compose it of functions that Penlight has"),
    ],
)
def test_modules_that_only_pytorch_has_are_named(name, hint):
    above, _, own = name.rpartition(".")
    owner = attrgetter(above)(torch)
    with pytest.raises(AttributeError, match=f"has no attribute '{own}': PyTorch has a module of that name.*{hint}"):
        getattr(owner, own)
    assert not hasattr(owner, own)
    with pytest.raises(AttributeError, match=r"has no attribute 'nonsense'$"):
        owner.nonsense  # noqa: B018
