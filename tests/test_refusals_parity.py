"""The same refusals and answers as PyTorch's build without a GPU."""

from __future__ import annotations

import warnings

import pytest

import penlight

pytestmark = pytest.mark.parity
torch = pytest.importorskip("torch")

EXPRESSIONS = """
torch.cuda.is_available()
torch.cuda.device_count()
torch.cuda.is_initialized()
torch.cuda.is_bf16_supported()
torch.cuda.get_arch_list()
torch.cuda.get_rng_state_all()
torch.cuda.manual_seed(3)
torch.cuda.manual_seed_all(3)
torch.cuda.manual_seed("a")
torch.cuda.seed()
torch.cuda.empty_cache()
torch.cuda.memory_allocated()
torch.cuda.max_memory_reserved(0)
torch.cuda.memory_cached()
torch.cuda.memory_stats()
torch.cuda.synchronize()
torch.cuda.current_device()
torch.cuda.current_stream()
torch.cuda.get_device_name(0)
torch.cuda.get_device_capability()
torch.cuda.get_device_properties(0)
torch.cuda.mem_get_info()
torch.cuda.get_rng_state()
torch.cuda.init()
torch.cuda.initial_seed()
torch.cuda.ipc_collect()
torch.cuda.set_device(-1)
torch.cuda.set_device("cpu")
torch.cuda.set_device("cuda")
torch.cuda.set_rng_state_all([])
torch.cuda.Event(enable_timing=True)
torch.cuda.Stream()
torch.cuda.stream(None).__enter__()
torch.cuda.device(0).__enter__()
torch.cuda.device(-1).__enter__()
torch.cuda.device("cpu")
torch.cuda.device_of(torch.zeros(1)).__enter__()
torch.cuda.FloatTensor(3)
isinstance(torch.zeros(1), torch.cuda.FloatTensor)
torch.cuda.nccl.is_available([])
torch.cuda.nvtx.range_push("a")
torch.cuda.amp.autocast(enabled=False)._enabled
torch.cuda.amp.autocast()._enabled
torch.cuda.amp.GradScaler().is_enabled()
torch.zeros(1).cuda()
torch.zeros(1).to("cuda")
torch.zeros(1, device="cuda")
torch.accelerator.is_available()
torch.accelerator.current_accelerator()
torch.accelerator.device_count()
torch.accelerator.synchronize()
torch.accelerator.set_device_index(0)
torch.accelerator.device_index(None).__enter__()
torch.mps.is_available()
torch.mps.manual_seed(1)
torch.mps.synchronize()
torch.mps.empty_cache()
torch.xpu.is_available()
torch.xpu.synchronize()
torch.xpu.device_count()
torch.cpu.current_device()
torch.cpu.synchronize()
torch.backends.cuda.is_built()
torch.backends.cuda.matmul.allow_tf32
torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction
torch.backends.cuda.matmul.nothing
torch.backends.cuda.flash_sdp_enabled()
torch.backends.cudnn.enabled
torch.backends.cudnn.benchmark
torch.backends.cudnn.deterministic
torch.backends.cudnn.allow_tf32
torch.backends.cudnn.version()
torch.backends.cudnn.is_available()
torch.backends.cudnn.is_acceptable(torch.zeros(1))
torch.backends.mps.is_available()
torch.backends.mps.is_built()
torch.distributed.is_initialized()
torch.distributed.get_rank()
torch.distributed.get_world_size()
torch.distributed.barrier()
torch.distributed.all_reduce(torch.zeros(1))
torch.distributed.destroy_process_group()
torch.distributed.get_default_backend_for_device("cuda")
torch.jit.is_scripting()
torch.jit.is_tracing()
torch.compiler.is_compiling()
torch.amp.autocast("cuda")._enabled
torch.amp.autocast("cpu", dtype=torch.float32)._enabled
torch.amp.autocast("cpu", dtype=torch.float16)._enabled
torch.amp.autocast("nonsense")
torch.amp.autocast(3)
torch.autocast("cpu").fast_dtype
torch.amp.is_autocast_available("cuda")
torch.amp.is_autocast_available("nonsense")
torch.is_autocast_enabled()
torch.is_autocast_enabled("cpu")
torch.get_autocast_dtype("cpu")
torch.get_autocast_dtype("cuda")
torch.is_autocast_cache_enabled()
torch.amp.GradScaler().is_enabled()
torch.amp.GradScaler("cpu").get_scale()
torch.amp.GradScaler("cpu", growth_factor=1.0)
torch._check(False)
torch._check(False, lambda: "hello")
torch._check(False, "hello")
torch._check(torch.tensor(True))
torch._check_with(KeyError, False, lambda: "a")
torch._assert(False, "msg")
torch.get_device_module("cuda").__name__[-4:]
torch.version.cuda
torch.version.hip
torch.classes.foo.bar
torch.profiler.schedule(wait=-1, warmup=1, active=1)
[torch.profiler.schedule(wait=1, warmup=1, active=2, repeat=2, skip_first=1)(i).name for i in range(12)]
torch.multiprocessing.set_sharing_strategy("nonsense")
torch.multiprocessing.get_all_sharing_strategies()
torch.testing.make_tensor((2,), dtype=torch.float32, device="cpu", low=3, high=1)
torch.utils.benchmark.Timer(3)
torch.utils.benchmark.select_unit(0.002)
torch.utils.benchmark.trim_sigfig(12345.0, 2)
torch.hub.load("somewhere", "model", source="nonsense")
""".strip().splitlines()


def answer(expression, module):
    """What an expression gives, as text; its warnings."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            result = f"-> {eval(expression, {'torch': module})!r}"
        except Exception as error:
            result = error
    return result, [(w.category, str(w.message).partition(" (Triggered")[0]) for w in seen]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_as_pytorch(expression):
    for module in (torch, penlight):
        for part in ("cuda.amp", "cuda.nccl", "cuda.nvtx", "utils.benchmark"):
            __import__(f"{module.__name__}.{part}")
    theirs, their_warnings = answer(expression, torch)
    ours, our_warnings = answer(expression, penlight)
    if isinstance(theirs, Exception):
        assert isinstance(ours, Exception), ours
        # PyTorch's class, or a subclass of it; its words, perhaps with a hint behind them.
        assert isinstance(ours, type(theirs))
        assert str(ours).startswith(str(theirs).rstrip("."))
    else:
        assert ours == theirs
    assert our_warnings == their_warnings
