"""PyTorch modules that are mostly stubs here, as data: the functions that return a constant, have no effect, or raise."""

from __future__ import annotations

import math
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from copy import copy
from importlib import import_module
from types import ModuleType
from typing import Any, NamedTuple

from penlight import dtypes
from penlight._common.docstrings import constant, documented
from penlight._common.user_warnings import warn_user
from penlight._refused import missing, refuse, refused_class, refused_function

from . import _switches


class Row(NamedTuple):
    """The description of one module. Functions are given by their signatures."""

    doc: str
    returns: Mapping[str, Any] = {}  # functions, and the value that each returns
    accepts: tuple[str, ...] = ()  # functions without effect; a seed must be an integer
    values: Mapping[str, Any] = {}
    names: Mapping[str, str] = {}  # modules of Penlight, and the names to take from each (`name=torch_name`)
    refuses: tuple[str, str] = ("", "")  # for every other name of PyTorch's: why it raises, and what to use instead
    # Functions (classes, if capitalised) that raise, by the reason, or by PyTorch's error.
    refused: Mapping[str | tuple[type[Exception], str], str] = {}
    # Pairs of a getter and a setter, and the initial value.
    stored: Mapping[str, Any] = {}
    flags: tuple[str, ...] = ()  # functions that change values: `set_flags` permanently, `flags` in a context
    settable: bool = False  # every other name can be set, without effect


def parse_args(*arg_descriptors: str) -> Any:
    """Accepted as a decorator: nothing is exported.

    Args:
        arg_descriptors: accepted and ignored

    Returns:
        the decorator

    >>> torch.onnx.symbolic_helper.parse_args("v")(abs) is abs
    True
    """
    return lambda function: function


def impl_abstract(qualname: str, *, func: Any = None) -> Any:
    """A decorator that returns its function: Penlight never runs an operator without data."""
    return (lambda function: function) if func is None else func


def optimize(*args: Any, **kwargs: Any) -> Any:
    """A decorator that returns its function."""
    return lambda function: function


def include_paths(device_type: str = "cpu", torch_include_dirs: bool = True) -> list[str]:
    """The directories of headers: none.

    Args:
        device_type, torch_include_dirs: accepted and ignored

    Returns:
        an empty list

    >>> torch.utils.cpp_extension.include_paths()
    []
    """
    return []


def nccl_is_available(tensors: Any) -> bool:
    """Always False, with PyTorch's warning.

    Args:
        tensors: accepted and ignored

    Returns:
        False

    >>> torch.cuda.nccl.is_available([])
    False
    """
    warn_user(_NO_NCCL)
    return False


def renamed_memory(old: str, new: str) -> Callable[..., int]:
    """A deprecated function: warns of its new name, and returns 0 bytes of GPU memory."""

    def bytes(device: Any = None) -> int:
        warn_user(f"`torch.cuda.{old}` has been renamed to `torch.cuda.{new}`", FutureWarning)
        return 0

    bytes.__name__ = bytes.__qualname__ = old
    bytes.__doc__ = f"The old name of `{new}`."
    return constant("cuda", bytes, 0)


@contextmanager
def nvtx_range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """Refused when it is entered.

    Args:
        msg: the name of the region

    Returns:
        a context manager

    >>> with torch.cuda.nvtx.range("forward"): pass
    Traceback (most recent call last):
        ...
    RuntimeError: NVTX functions not installed...
    """
    raise RuntimeError(_NO_NVTX)
    yield


_NOT_HERE = {"is_available()": False}
_SWITCHES = "Settings without effect."
_NO_GRAPHS = "Penlight does not turn programs into graphs ahead of time."
_NO_EXPORT = (
    "Penlight does not export programs.",
    "Save the weights with torch.save(module.state_dict(), path), which PyTorch can load and export.",
)
_NO_SYMBOLS = "in Penlight sizes are numbers, and never symbols."
_NO_QUANTISED = ("Penlight has no quantised arithmetic.", "Use float32, or float16 by module.half().")
_FLEX = (
    "it is a compiler's feature. Use torch.nn.functional.scaled_dot_product_attention with an attn_mask: a boolean one "
    "for a mask_mod, a float one for a score_mod that adds a bias."
)
_ASK_FIRST = "Penlight runs on the CPU: check torch.{}.is_available() first (it is False here)"
_NO_NCCL = "PyTorch is not compiled with NCCL support"
_STREAMS = """Batcher Collator Concater Demultiplexer FileLister FileOpener Filter Forker Grouper IterableWrapper Mapper Multiplexer Sampler
    ShardingFilter Shuffler StreamReader UnBatcher Zipper""".split()  # noqa: SIM905
_MAPS = ("Batcher", "Concater", "Mapper", "SequenceWrapper", "Zipper")
_NO_FRAMES = ("Penlight's data pipes support no data frames and no decoders.", "Use map() with a function of your own.")
# PyTorch's errors for functions of Apple's GPU on machines without one: each names the C++ function.
_INNER = {
    "Event": "acquireEvent",
    "compile_shader": "compileShader",
    "current_allocated_memory": "getCurrentAllocatedMemory",
    "driver_allocated_memory": "getDriverAllocatedMemory",
    "empty_cache": "emptyCache",
    "get_rng_state seed set_rng_state": "getDefaultGenerator",
    "load_metallib": "loadMetallib",
    "recommended_max_memory": "getRecommendedMaxMemory",
    "set_per_process_memory_fraction": "setMemoryFraction",
    "synchronize": "deviceSynchronize",
}
_NO_NVTX = (
    "NVTX functions not installed. Are you sure you have a CUDA build? "
    "Use torch.profiler.record_function to name a part of the program"
)
_NO_CUDA = "Torch not compiled with CUDA enabled"
_NO_DISPATCHER = "Penlight has no dispatcher to register operators with."
_NO_COMPILER = ("Penlight does not compile.", "Run the function as it is written.")
_NO_BYTES = ("memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved")
_FUNC = "grad grad_and_value"

TABLE = {
    "__future__": Row(
        "Settings for the conversion of modules.",
        stored={
            f"get_{choice}_module_params_on_conversion set_{choice}_module_params_on_conversion(value)": False
            for choice in ("overwrite", "swap")
        },
    ),
    "_VF": Row(
        "The functions of recurrent layers, and some others.",
        names={
            "penlight": """
                gru gru_cell lstm lstm_cell norm rnn_relu rnn_relu_cell rnn_tanh rnn_tanh_cell split stft tensordot unique_consecutive"""
        },
    ),
    "_custom_op": Row(
        "The old interface of custom operators.",
        refuses=(
            _NO_DISPATCHER,
            "Call the function itself, or write a torch.autograd.Function for one with a derivative of its own.",
        ),
    ),
    "_custom_ops": Row(
        "Custom operators of other packages. Functions that infer their shapes are accepted.",
        values={"impl_abstract": impl_abstract},
        refused={
            f"{_NO_DISPATCHER} Use torch.library.custom_op.": "custom_op impl get_ctx impl_save_for_backward impl_backward"
        },
    ),
    "_decomp": Row(
        "Decompositions of operators.",
        refuses=("Penlight has no decompositions.", "Read penlight.ops, where each operator is one declaration."),
    ),
    "_dynamo": Row(
        "The front end of PyTorch's compiler: its settings are accepted, and nothing is compiled.",
        returns={"is_compiling()": False},
        accepts=(
            "graph_break(msg='')",
            *(f"{name}(*args, **kwargs)" for name in ("mark_dynamic", "mark_static", "maybe_mark_dynamic")),
        ),
        values={"optimize": optimize},
        names={
            "penlight.compiler": """
                OptimizedModule allow_in_graph disable list_backends reset assume_constant_result
                assume_constant_result=nonstrict_trace assume_constant_result=disallow_in_graph
                assume_constant_result=forbid_in_graph assume_constant_result=dont_skip_tracing
                assume_constant_result=mark_static_address"""
        },
        refused={
            "Penlight does not compile, so there is nothing to explain.": "explain",
            "Penlight does not export programs.": "export",
        },
        refuses=_NO_COMPILER,
    ),
    "_dynamo._trace_wrapped_higher_order_op": Row(
        _SWITCHES, values={"TransformGetItemToIndex": nullcontext}, settable=True
    ),
    "_dynamo.config": Row(_SWITCHES, settable=True),
    "_dynamo.eval_frame": Row(
        "Compiled modules.",
        names={"penlight.compiler": "OptimizedModule is_compiling=is_dynamo_supported"},
        refuses=_NO_COMPILER,
    ),
    "_dynamo.utils": Row(_SWITCHES, values={"counters": Counter()}, settable=True),
    "_functorch": Row("The package of `torch.func` in PyTorch."),
    "_functorch.apis": Row("The public names of the transforms.", names={"penlight.func": f"{_FUNC} vmap"}),
    "_functorch.eager_transforms": Row(
        "The transforms that differentiate.",
        names={"penlight.func": f"{_FUNC} functionalize hessian jacfwd jacrev jvp linearize vjp"},
    ),
    "_functorch.functional_call": Row(
        "Modules as functions of their parameters.", names={"penlight.func": "functional_call stack_module_state"}
    ),
    "_functorch.make_functional": Row(
        "Modules that take their parameters as arguments.",
        names={
            "penlight._functorch_package": """
                FunctionalModule FunctionalModuleWithBuffers combine_state_for_ensemble make_functional
                make_functional_with_buffers"""
        },
    ),
    "_guards": Row(
        "The state of PyTorch's compiler. Penlight does not compile, and has no fake tensors.",
        returns={"active_fake_mode()": None, "detect_fake_mode(inputs=None)": None},
    ),
    "_higher_order_ops": Row(
        "Control flow in graphs.", refuses=(_NO_GRAPHS, "Write Python's own `if`, `for` and `while`.")
    ),
    "_inductor": Row(
        "The back end of PyTorch's compiler: its settings are accepted, and nothing is compiled.",
        returns={"list_options()": [], "list_mode_options(mode=None, dynamic=None)": {}},
        refused={
            "Penlight does not compile. Save the weights with torch.save(module.state_dict(), path).": """
                compile aoti_compile_and_package aoti_load_package"""
        },
        refuses=_NO_COMPILER,
    ),
    "_inductor.config": Row(_SWITCHES, settable=True),
    "_inductor.utils": Row(
        _SWITCHES, values={"fresh_inductor_cache": nullcontext, "fresh_cache": nullcontext}, settable=True
    ),
    "_logging": Row("The logs of PyTorch's compiler: there are none.", accepts=("set_logs(**options)",)),
    "_prims_common": Row("Names for annotations.", names={"penlight.types": "Device=DeviceLikeType Number=NumberType"}),
    "_refs": Row(
        "Operators written in terms of others.",
        refuses=(
            "Penlight's operators are not written in terms of others.",
            "Call the function of torch with that name.",
        ),
    ),
    "_subclasses": Row(
        "Fake tensors.", refuses=("Penlight has no fake tensors.", "Compute on real ones, or on shapes.")
    ),
    "_utils_internal": Row(
        "PyTorch's settings for use inside Meta, with their values elsewhere.",
        returns={
            "justknobs_check(name, default=True)": True,
            "max_clock_rate()": 1100,
            "is_fb_unit_test()": False,
            "capture_pre_autograd_graph_using_training_ir()": False,
        },
        names={"penlight": "get_file_path"},
        accepts=(
            "log_compilation_event(metrics)",
            "log_export_usage(**kwargs)",
            "log_torch_jit_trace_exportability(*args)",
        ),
        values={
            "TEST_MASTER_ADDR": "127.0.0.1",
            "TEST_MASTER_PORT": 29500,
            "USE_GLOBAL_DEPS": True,
            "USE_RTLD_GLOBAL_WITH_LIBTORCH": False,
        },
    ),
    "_vmap_internals": Row(
        "The older `vmap`, which packages still import.",
        names={"penlight.func": "vmap", "penlight._functorch_package": "_vmap"},
    ),
    "ao": Row("Quantisation.", refuses=_NO_QUANTISED),
    "autograd.profiler_legacy": Row(
        "The profiler's old module, with the present class.", names={"penlight.autograd.profiler": "profile"}
    ),
    "backends": Row(
        "The settings of libraries below PyTorch. They have no effect, since NumPy computes.",
        values={
            "fp32_precision": "none",
            "__allow_nonbracketed_mutation": nullcontext,  # a context in which settings can be changed: here they always can
        },
    ),
    "backends.cpu": Row("The capabilities of the processor.", names={"penlight._backends": "get_cpu_capability"}),
    "backends.cuda": Row(
        "CUDA, which is not available: its settings have no effect. Attention has one implementation.",
        returns={
            "is_built()": False,
            "is_flash_attention_available()": False,
            **{f"can_use_{way}_attention(params, debug=False)": False for way in ("cudnn", "efficient", "flash")},
        },
        values={
            "matmul": _switches.Switches(
                allow_tf32=False,
                allow_fp16_reduced_precision_reduction=True,
                allow_bf16_reduced_precision_reduction=True,
                allow_fp16_accumulation=False,
                fp32_precision="none",
            )
        },
        names={"penlight._backends": "SDPAParams sdp_kernel"},
        stored={
            **{
                f"{way}_sdp_enabled enable_{way}_sdp(enabled)": True
                for way in ("cudnn", "flash", "math", "mem_efficient")
            },
            "fp16_bf16_reduction_math_sdp_allowed allow_fp16_bf16_reduction_math_sdp(enabled)": False,
        },
        refused={
            (AssertionError, f"{_NO_CUDA}. Penlight runs on the CPU"): """
                cufft_plan_cache preferred_blas_library preferred_linalg_library"""
        },
    ),
    "backends.cudnn": Row(
        "cuDNN, which is not available: its settings have no effect.",
        returns={**_NOT_HERE, "version()": None, "is_acceptable(tensor)": False},
        values={
            **{"enabled": True, "deterministic": False, "benchmark": False, "benchmark_limit": None},
            **{"allow_tf32": True, "fp32_precision": "none"},
            **{name: _switches.Switches(fp32_precision="tf32") for name in ("conv", "rnn")},
            "CUDNN_TENSOR_DTYPES": {dtypes.float16, dtypes.float32, dtypes.float64},
        },
        flags=(
            """flags(enabled=False, benchmark=False, benchmark_limit=10, deterministic=False, allow_tf32=True,
                fp32_precision='none')""",
            """set_flags(_enabled=None, _benchmark=None, _benchmark_limit=None, _deterministic=None, _allow_tf32=None,
                _fp32_precision='none')""",
        ),
    ),
    "backends.cusparselt": Row("cuSPARSELt, which is not used here.", returns=_NOT_HERE),
    "backends.kleidiai": Row("KleidiAI, which is not used here.", returns=_NOT_HERE),
    "backends.mha": Row(_SWITCHES, settable=True),
    "backends.miopen": Row(_SWITCHES, settable=True),
    "backends.mkl": Row(
        "MKL, and whether NumPy uses it.",
        values={"VERBOSE_OFF": 0, "VERBOSE_ON": 1},
        names={"penlight._backends": "mkl_is_available=is_available verbose"},
    ),
    "backends.mkldnn": Row(
        "oneDNN, which is not available: its settings have no effect.",
        returns={**_NOT_HERE, "is_acl_available()": False},
        values={
            **{"VERBOSE_OFF": 0, "VERBOSE_ON": 1, "VERBOSE_ON_CREATION": 2},
            **{"enabled": True, "deterministic": False, "allow_tf32": True, "fp32_precision": "none"},
            **{name: _switches.Switches(fp32_precision="none") for name in ("matmul", "conv", "rnn")},
        },
        names={"penlight._backends": "verbose"},
        flags=("flags(enabled=False, deterministic=False, allow_tf32=True, fp32_precision='none')",),
    ),
    "backends.mps": Row(
        "Apple's GPU, which is not available.",
        returns={**_NOT_HERE, "is_built()": False},
        refused={
            (
                RuntimeError,
                "Cannot execute isOnMacOSorNewer() without MPS backend.",
            ): "is_macos13_or_newer is_macos_or_newer"
        },
    ),
    "backends.nnpack": Row(
        "NNPACK, which is not used here.",
        returns=_NOT_HERE,
        values={"enabled": False},
        flags=("flags(enabled=False)", "set_flags(_enabled)"),
    ),
    "backends.openmp": Row("OpenMP, which is not used here.", returns=_NOT_HERE),
    "backends.opt_einsum": Row(
        "The order of products in `einsum`, which Penlight chooses without that package.",
        returns={**_NOT_HERE, "get_opt_einsum()": None},
        values={"enabled": False, "strategy": None},
        flags=("flags(enabled=None, strategy=None)",),
    ),
    "backends.python_native": Row(_SWITCHES, settable=True),
    "backends.quantized": Row(
        "The engines of quantised arithmetic: there are none.", values={"engine": "none", "supported_engines": ["none"]}
    ),
    "compiler.config": Row(_SWITCHES, settable=True),
    "cpu.amp": Row(
        "The old names of `torch.amp` for the CPU.",
        names={"penlight._device_amp": "CpuGradScaler=GradScaler cpu_autocast=autocast"},
    ),
    "cuda.amp": Row(
        "The old names of `torch.amp` for a GPU. They warn, and have no effect.",
        names={"penlight._device_amp": "CudaGradScaler=GradScaler cuda_autocast=autocast custom_bwd custom_fwd"},
    ),
    "cuda.amp.autocast_mode": Row(
        "`autocast` and its decorators.", names={"penlight._device_amp": "cuda_autocast=autocast custom_bwd custom_fwd"}
    ),
    "cuda.amp.grad_scaler": Row("`GradScaler`.", names={"penlight._device_amp": "CudaGradScaler=GradScaler"}),
    "cuda.amp.common": Row(
        "Whether mixed precision on a GPU can work: there is no GPU.", returns={"amp_definitely_not_available()": True}
    ),
    "cuda.memory": Row(
        "The memory of GPUs: there is none.",
        returns={
            **{f"{name}(device=None)": 0 for name in _NO_BYTES},
            **{"memory_stats(device=None)": OrderedDict(), "memory_stats_as_nested_dict(device=None)": {}},
            "host_memory_stats()": OrderedDict(),
            "list_gpu_processes(device=None)": "pynvml module not found, please install nvidia-ml-py",
        },
        accepts=("empty_cache()", "caching_allocator_enable(value=True)"),
        values={
            name: renamed_memory(name, name.replace("cached", "reserved"))
            for name in ("memory_cached", "max_memory_cached")
        },
        refused={
            (AssertionError, f"{_NO_CUDA}. {_ASK_FIRST.format('cuda')}"): """
                mem_get_info memory_snapshot memory_summary reset_accumulated_memory_stats reset_max_memory_allocated
                reset_max_memory_cached reset_peak_memory_stats set_per_process_memory_fraction _dump_snapshot
                _record_memory_history _snapshot"""
        },
    ),
    "cuda.nccl": Row(
        "NVIDIA's collectives, which are not available.",
        values={"is_available": nccl_is_available},
        refused={
            (RuntimeError, f"{_NO_NCCL}, and Penlight runs in one process on the CPU"): """
                all_gather all_reduce broadcast init_rank reduce reduce_scatter unique_id version"""
        },
    ),
    "cuda.nvtx": Row(
        "Marks for NVIDIA's profilers, which PyTorch refuses without CUDA.",
        values={"range": nvtx_range},
        refused={(RuntimeError, _NO_NVTX): "mark range_end range_pop range_push range_start"},
    ),
    "cuda.random": Row(
        "The generators of GPUs: seeds are accepted, and there is no state.",
        names={
            "penlight.cuda": """
                get_rng_state_all manual_seed manual_seed_all seed seed_all set_rng_state set_rng_state_all"""
        },
    ),
    "cuda.streams": Row("Streams and events.", names={"penlight.cuda": "Event ExternalStream Stream"}),
    "export": Row("Export of programs.", refuses=_NO_EXPORT),
    "functional": Row(
        "The old module of some functions of torch.",
        names={
            "penlight": """
                atleast_1d atleast_2d atleast_3d block_diag broadcast_shapes broadcast_tensors cartesian_prod
                cdist chain_matmul einsum istft lu meshgrid norm split stft tensordot unique unique_consecutive unravel_index"""
        },
    ),
    "jit.annotations": Row(
        "Names of TorchScript's types, for annotations.",
        names={
            "penlight.jit": "BroadcastingList1 BroadcastingList2 BroadcastingList3 BroadcastingListCls",
            "typing": "Any Dict List Optional Tuple Union",
        },
    ),
    "monitor": Row(
        "Events for monitors.", refuses=("Penlight reports no events.", "Use logging, or torch.utils.tensorboard.")
    ),
    "mps": Row(
        "Apple's GPU, which is not available.",
        returns={**_NOT_HERE, "device_count()": 0},
        accepts=("manual_seed(seed)",),
        refused={
            (RuntimeError, f"Cannot execute {inner}() without MPS backend. {_ASK_FIRST.format('backends.mps')}"): names
            for names, inner in _INNER.items()
        },
    ),
    "mtia": Row(
        "Meta's accelerator, which is not available.",
        returns={**_NOT_HERE, "is_initialized()": False, "device_count()": 0},
        accepts=("manual_seed(seed)", "manual_seed_all(seed)"),
        refuses=("Penlight runs on the CPU.", "Use device='cpu'."),
    ),
    "nested._internal": Row("The package of the class of nested tensors."),
    "nested._internal.nested_tensor": Row(
        "The class of nested tensors.", names={"penlight.nested.tensor": "NestedTensor"}
    ),
    "nn.attention.flex_attention": Row(
        "Flexible attention: the names exist so that programs can import them.",
        values={"_DEFAULT_SPARSE_BLOCK_SIZE": 128},
        refused={
            _FLEX: "AuxRequest BlockMask and_masks create_block_mask create_mask flex_attention noop_mask or_masks"
        },
    ),
    "multiprocessing.reductions": Row(
        "The transfer of tensors between processes.",
        names={"penlight.multiprocessing": "init_reductions", "multiprocessing.reduction": "ForkingPickler register"},
    ),
    "nn.utils._per_sample_grad": Row(
        "Gradients of each sample by a wrapper around the module.",
        refused={
            "Penlight has no expanded weights. Use torch.func.vmap(torch.func.grad(loss), (None, 0, 0)) with "
            "torch.func.functional_call.": "call_for_per_sample_grads"
        },
    ),
    "onnx": Row(
        "Export to ONNX.",
        returns={"is_in_onnx_export()": False},
        accepts=(
            "register_custom_op_symbolic(symbolic_name, symbolic_fn, opset_version)",
            "unregister_custom_op_symbolic(symbolic_name, opset_version)",
        ),
        refuses=_NO_EXPORT,
    ),
    "onnx.symbolic_helper": Row(
        "Decorators of functions for the export, which are accepted: nothing is exported.",
        values={"parse_args": parse_args},
        refuses=_NO_EXPORT,
    ),
    "package": Row(
        "Models and their code in one file.",
        refuses=("Penlight does not package code.", "Save the weights with torch.save(module.state_dict(), path)."),
    ),
    "quantization": Row("Quantisation, by its old name.", refuses=_NO_QUANTISED),
    "utils._foreach_utils": Row(
        "Helpers around the `_foreach_` functions that optimisers of other libraries use.",
        names={
            "penlight._utils": """
                _device_has_foreach_support _get_foreach_kernels_supported_devices _get_fused_kernels_supported_devices
                _group_tensors_by_device_and_dtype _has_foreach_support"""
        },
    ),
    "utils._python_dispatch": Row(
        "Modes that intercept each op below the functions.",
        names={
            "penlight._dispatch_mode": """
                TorchDispatchMode is_traceable_wrapper_subclass return_and_correct_aliasing _disable_current_modes _get_current_dispatch_mode"""
        },
    ),
    "utils._sympy": Row("Symbolic sizes, which Penlight does not have; the names that other packages import."),
    "utils._sympy.numbers": Row(
        "Infinite integers, as bounds of sizes.",
        values={"int_oo": math.inf},
        refused={_NO_SYMBOLS: "IntInfinity NegativeIntInfinity"},
    ),
    "utils._sympy.value_ranges": Row("Ranges of sizes.", refused={_NO_SYMBOLS: "ValueRanges"}),
    "utils._triton": Row(
        "Whether there is a compiler for GPU kernels.", returns={"has_triton()": False, "has_triton_package()": False}
    ),
    "utils.cpp_extension": Row(
        "Extensions in C++.",
        values={
            "include_paths": include_paths,
            "CUDA_HOME": None,
            "ROCM_HOME": None,
            "SYCL_HOME": None,
            "CUDNN_HOME": None,
            "IS_HIP_EXTENSION": False,
        },
        refuses=(
            "Penlight is pure Python and loads no C++.",
            "Write the function with NumPy in a torch.autograd.Function, or call a compiled one through ctypes there.",
        ),
    ),
    "utils.collect_env": Row(
        "A report of what is installed.", refuses=("It reports PyTorch's libraries and GPUs.", "Use `penlight doctor`.")
    ),
    "utils.data.datapipes": Row("Streams and maps of samples, composed of small parts.", refuses=_NO_FRAMES),
    "utils.data.datapipes.datapipe": Row(
        "The base classes of pipes.",
        names={
            "penlight._datapipes": "DFIterDataPipe DataChunk IterDataPipe MapDataPipe argument_validation functional_datapipe non_deterministic "
            "guaranteed_datapipes_determinism runtime_validation runtime_validation_disabled"
        },
        refuses=_NO_FRAMES,
    ),
    "utils.data.datapipes.iter": Row(
        "Streams of samples.",
        names={"penlight._datapipes": " ".join(f"{name}IterDataPipe={name}" for name in _STREAMS)},
        refuses=_NO_FRAMES,
    ),
    "utils.data.datapipes.map": Row(
        "Maps of samples.",
        names={
            "penlight._datapipes": " ".join(f"{name}MapDataPipe={name}" for name in _MAPS) + " _shuffled_map=Shuffler"
        },
        refuses=_NO_FRAMES,
    ),
    "utils.deterministic": Row(
        "Whether to fill uninitialised memory in deterministic mode: stored, without effect.",
        values={"fill_uninitialized_memory": True},
    ),
    "utils.flop_counter": Row(
        "A counter of floating-point operations.",
        names={"penlight._dispatch_mode": "FlopCounterMode"},
        refuses=("Penlight counts matrix products and convolutions.", "Give FlopCounterMode a custom_mapping."),
    ),
    "utils.model_zoo": Row(
        "The old name of a function of torch.hub, and the progress bar that programs import from here.",
        names={"penlight.hub": "_download_url_to_file load_state_dict_from_url=load_url tqdm"},
    ),
    "xpu": Row(
        "Intel's GPU, which is not available.",
        returns={
            **_NOT_HERE,
            **{"is_initialized()": False, "is_bf16_supported(including_emulation=True)": False, "device_count()": 0},
            **{f"{name}(device=None)": 0 for name in _NO_BYTES},
            **{"get_rng_state_all()": [], "memory_stats(device=None)": OrderedDict()},
        },
        accepts=(
            "manual_seed(seed)",
            "manual_seed_all(seed)",
            "seed()",
            "seed_all()",
            "empty_cache()",
            "set_rng_state_all(new_states)",
        ),
        values={"default_generators": ()},
        refused={
            (AssertionError, f"Torch not compiled with XPU enabled. {_ASK_FIRST.format('xpu')}"): """
                Event Stream current_device current_stream device device_of get_device_capability get_device_name
                get_device_properties get_rng_state init initial_seed mem_get_info reset_accumulated_memory_stats
                reset_peak_memory_stats set_device set_rng_state set_stream stream synchronize"""
        },
    ),
}


def has_submodules(name: str) -> bool:
    """Whether the table has submodules of a module."""
    return any(other.startswith(f"{name}.") for other in TABLE)


def new(name: str) -> ModuleType:
    """An empty module for a row."""
    return (_switches.Settings if TABLE[name.removeprefix("penlight.")].settable else ModuleType)(name)


def make(module: ModuleType) -> None:
    """Fill a module from its row."""
    full = module.__name__
    own = full.removeprefix("penlight.")
    row = TABLE[own]
    module.__doc__ = f"torch.{own}: {row.doc}"
    functions = {**row.returns, **dict.fromkeys(row.accepts)}
    module.__dict__.update(row.values, **{_name(text): _function(full, text, functions[text]) for text in functions})
    for reason, names in row.refused.items():
        for name in names.split():
            setattr(module, name, _refused(f"{own}.{name}", reason))
    for pair, value in row.stored.items():
        module.__dict__.update({_name(text): made for text, made in zip(pair.split(), _stored(full, pair, value))})
    module.__dict__.update({_name(text): _flags(module, text) for text in row.flags})
    if row.settable:
        return
    words = [(source, *word.split("=")) for source, names in row.names.items() for word in names.split()]
    sources = {ours[-1]: (source, ours[0]) for source, *ours in words}
    why, instead = row.refuses
    below = [name.removeprefix(f"{own}.") for name in TABLE if name.startswith(f"{own}.")]
    refused = refuse(full, why, instead, files=below) if why else lambda name: _raise(missing(full, name))

    def __getattr__(name: str) -> Any:
        if name in below:
            return import_module(f"{full}.{name}")
        if name not in sources:
            return refused(name)
        source, theirs = sources[name]
        return getattr(import_module(source), theirs)

    module.__getattr__ = __getattr__  # type: ignore[method-assign]
    module.__dir__ = lambda: sorted({*vars(module), *sources, *below})  # type: ignore[method-assign]
    if not why:
        module.__all__ = sorted(name for name in {*vars(module), *sources} if name[0] != "_")  # type: ignore[attr-defined]


def _refused(name: str, reason: str | tuple[type[Exception], str]) -> Any:
    if isinstance(reason, tuple):
        return refused_function(name, reason[1], reason[0])
    return (refused_class if name.rpartition(".")[2][0].isupper() else refused_function)(name, reason)


def _raise(error: Exception) -> None:
    raise error


def _name(signature: str) -> str:
    return signature.partition("(")[0]


def _written(module: str, signature: str, result: str, doc: str, **names: Any) -> Any:
    """Create a function with this signature that returns an expression over the given names."""
    name, _, arguments = signature.partition("(")
    function = eval(f"(lambda {arguments.removesuffix(')')}: {result})", names)
    function.__name__ = function.__qualname__ = name
    function.__module__, function.__doc__ = module, doc
    return function


def _function(module: str, signature: str, value: Any) -> Any:
    """Create a function with this signature that returns a constant."""
    result = "(int(seed), _value)[1]" if signature.endswith("(seed)") else "_copy(_value)"  # `value` may be an argument
    doc = "Always the same." if value is not None else "Accepted and without effect."
    made = _written(module, signature, result, doc, _value=value, _copy=copy)
    return constant(module.removeprefix("penlight."), made, value)


def _stored(module: str, pair: str, value: Any) -> tuple[Any, Any]:
    """Create a getter and a setter of one value."""
    read, write = pair.split()
    kept = [value]
    argument = write.partition("(")[2].removesuffix(")")
    call = f">>> {module.replace('penlight', 'torch')}."
    question = documented(
        f"The value that was set; {value} by default.",
        "Returns:",
        "    True or False",
        "",
        f"{call}{read}()",
        str(value),
    )
    order = ("Args:", f"    {argument}: True or False", "", "Returns:", "    None", "")
    return (
        _written(module, f"{read}()", "kept[0]", question, kept=kept),
        _written(
            module,
            write,
            f"kept.__setitem__(0, bool({argument}))",
            documented("Stored, without effect.", *order, f"{call}{_name(write)}({value})"),
            kept=kept,
        ),
    )


def _flags(module: ModuleType, signature: str) -> Any:
    """`set_flags` or `flags` of a module. See compat/_switches.py."""
    name, _, arguments = signature.removesuffix(")").partition("(")
    given = [argument.partition("=")[0].strip() for argument in arguments.split(",")]
    named = ", ".join(f"{argument.lstrip('_')}={argument}" for argument in given)
    act = getattr(_switches, name)
    own, returned, call = (
        module.__name__.replace("penlight", "torch"),
        "the values before",
        "before = {}.set_flags(_enabled={}.enabled)",
    )
    if name == "flags":
        returned, call = "a context manager", "with {}.flags(enabled={}.enabled): pass"
    doc = documented(
        act.__doc__, "Args:", *(f"    {argument}: the new value; without effect" for argument in given), "",
        "Returns:", f"    {returned}", "", f">>> {call.format(own, own)}",
    )  # fmt: skip
    return _written(module.__name__, signature, f"act(values, {named})", doc, act=act, values=vars(module))
