"""Penlight: PyTorch's autograd in pure Python on NumPy.

>>> import penlight as torch
>>> x = torch.tensor([1.0, 2.0], requires_grad=True)
>>> (x**2).sum().backward()
>>> x.grad
tensor([2., 4.])
"""

from __future__ import annotations

import importlib as _importlib
import math as _math
import os as _os
import sys as _sys
import typing as _typing
import warnings as _warnings
from typing import Any as _Any

if _sys.implementation.name != "cpython":
    raise ImportError(
        f"Penlight runs on CPython only, and this is {_sys.implementation.name}: it counts references to know which gradients it "
        "may reuse, and calls NumPy's C functions for each op, which other interpreters do slowly. Use CPython 3.11 or newer."
    )

from . import dtypes as _dtypes

from ._common.arguments import explain as _explain  # isort: skip
from ._common import shutdown as _shutdown  # noqa: F401  # its exit function
from ._common.module_table import TableFinder as _TableFinder
from .autograd.grad_mode import (
    enable_grad as enable_grad,
    inference_mode as inference_mode,
    is_grad_enabled as is_grad_enabled,
    is_inference_mode_enabled as is_inference_mode_enabled,
    no_grad as no_grad,
    set_grad_enabled as set_grad_enabled,
)
from .device import device as device
from .dtypes import (
    bfloat16 as bfloat16,
    can_cast as can_cast,
    cdouble as cdouble,
    cfloat as cfloat,
    complex64 as complex64,
    complex128 as complex128,
    double as double,
    dtype as dtype,
    float16 as float16,
    float32 as float32,
    float64 as float64,
    get_default_dtype as get_default_dtype,
    half as half,
    int8 as int8,
    int16 as int16,
    int32 as int32,
    int64 as int64,
    long as long,
    promote_types as promote_types,
    set_default_dtype as set_default_dtype,
    short as short,
    uint8 as uint8,
    uint16 as uint16,
    uint32 as uint32,
    uint64 as uint64,
)
from .kernels.executable import wrong_products as _wrong_products
from .kernels.lazy import replace_placeholders as _replace_placeholders
from .layout import (
    channels_last as channels_last,
    channels_last_3d as channels_last_3d,
    contiguous_format as contiguous_format,
    layout as layout,
    memory_format as memory_format,
    preserve_format as preserve_format,
    strided as strided,
)
from .size import Size as Size
from .tensor import Tensor as Tensor

from .ops import *  # noqa: F403  # isort: skip
from .creation import (  # isort: skip
    as_tensor as as_tensor,
    asarray as asarray,
    empty as empty,
    empty_like as empty_like,
    empty_strided as empty_strided,
    eye as eye,
    from_numpy as from_numpy,
    frombuffer as frombuffer,
    full as full,
    full_like as full_like,
    ones as ones,
    ones_like as ones_like,
    scalar_tensor as scalar_tensor,
    tensor as tensor,
    zeros as zeros,
    zeros_like as zeros_like,
)
from .creation.ranges import (
    arange as arange,
    linspace as linspace,
    logspace as logspace,
    range_ as range,  # noqa: F401
)

from .random import (  # isort: skip
    Generator as Generator,
    bernoulli as bernoulli,
    default_generator as default_generator,
    get_rng_state as get_rng_state,
    initial_seed as initial_seed,
    manual_seed as manual_seed,
    normal as normal,
    rand as rand,
    rand_like as rand_like,
    randint as randint,
    randint_like as randint_like,
    randn as randn,
    randn_like as randn_like,
    randperm as randperm,
    seed as seed,
    set_rng_state as set_rng_state,
)
from . import autograd as autograd  # isort: skip
from .ops.index import subscripts as _subscripts  # noqa: F401  # isort: skip
from .autograd import _calls as _calls  # isort: skip

from .torch_version import __version__ as __version__  # isort: skip
from .ops.machinery.public_functions import public_functions as _public_functions  # isort: skip

if _wrong := _wrong_products():
    _warnings.warn(_wrong, stacklevel=2)

bool = _dtypes.bool_
float = _dtypes.float_
int = _dtypes.int_
pi, e, inf, nan, newaxis = _math.pi, _math.e, _math.inf, _math.nan, None

_sys.meta_path.append(_TableFinder)
# PyTorch's modules with little or no implementation here: `penlight.jit` is compat/jit.py, others stand in a table there.
__path__.append(_os.path.join(__path__[0], "compat"))  # noqa: F405

# Imported at first use: modules, and names by the module that defines them.
_MODULES = """
    accelerator amp ao backends compiler cpu cuda distributed distributions export fft func functional futures fx
    hub inspect jit library linalg masked monitor mps mtia multiprocessing nested nn onnx optim optimize overrides package
    profiler quantization quasirandom return_types serialization signal sparse special storage testing torch_version types
    utils version xpu _C __config__ __future__ _custom_op _decomp _dynamo _functorch _guards _higher_order_ops
    _inductor _logging _ops _refs _subclasses _utils _utils_internal"""
_TABLES = {
    "_C": "FunctionSchema PyTorchFileReader PyTorchFileWriter StorageBase",
    "_checks": """
        SymBool SymFloat SymInt _assert _assert_async _check _check_index _check_is_size _check_not_implemented
        _check_tensor_all _check_type _check_value _check_with get_device_module get_file_path sym_float sym_int
        sym_max sym_min sym_not""",
    "_classes": "classes",
    "amp": "GradScaler autocast",
    "amp._state": """
        autocast_decrement_nesting autocast_increment_nesting clear_autocast_cache get_autocast_cpu_dtype
        get_autocast_dtype get_autocast_gpu_dtype is_autocast_cache_enabled is_autocast_cpu_enabled
        is_autocast_enabled set_autocast_cache_enabled set_autocast_cpu_dtype set_autocast_cpu_enabled
        set_autocast_dtype set_autocast_enabled set_autocast_gpu_dtype""",
    "amp.grad_scaler": "_amp_foreach_non_finite_check_and_unscale_",
    "autograd.anomaly_mode": "is_anomaly_check_nan_enabled is_anomaly_enabled",
    "compiler": "compile cond",
    "cpu": "Event Stream",
    "cuda": "AcceleratorError OutOfMemoryError",
    "distributions._grads": "_dirichlet_grad _sample_dirichlet _standard_gamma _standard_gamma_grad",
    "dtypes": """
        chalf complex32 float4_e2m1fn_x2 float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu
        qint32 qint8 quint2x4 quint4x2 quint8""",
    "func": "vmap",
    "futures": "Future",
    "jit": "ScriptFunction ScriptModule",
    "layout": "jagged sparse_coo sparse_csc sparse_csr",
    "numpy_dispatch": "numpy_functions",
    "ops.conversion": "_neg_view",
    "ops.fourier.spectrogram": "istft stft",
    "ops.fourier.windows": "bartlett_window blackman_window hamming_window hann_window kaiser_window",
    "ops.internal_names": """
        _convert_indices_from_coo_to_csr _convert_indices_from_csr_to_coo _log_softmax_backward_data _segment_reduce _shape_as_tensor
        _softmax_backward_data""",
    "ops.linalg.legacy": """
        cholesky cholesky_inverse cholesky_solve det eig geqrf inverse logdet lstsq lu lu_solve lu_unpack matrix_exp
        matrix_power matrix_rank orgqr ormqr pinverse qr slogdet solve svd symeig triangular_solve""",
    "ops.linalg.lowrank": "lobpcg pca_lowrank svd_lowrank",
    "ops.nn.attention": "_safe_softmax",
    "ops.nn.recurrent_functions": "gru gru_cell lstm lstm_cell rnn_relu rnn_relu_cell rnn_tanh rnn_tanh_cell",
    "ops.nn.top_level": """
        adaptive_avg_pool1d adaptive_max_pool1d affine_grid_generator alpha_dropout alpha_dropout_ avg_pool1d
        batch_norm bilinear binary_cross_entropy_with_logits celu celu_ channel_shuffle constant_pad_nd conv1d conv2d
        conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d convolution cosine_embedding_loss
        cosine_similarity ctc_loss dropout dropout_ embedding embedding_bag embedding_renorm_ feature_alpha_dropout
        feature_alpha_dropout_ feature_dropout feature_dropout_ grid_sampler grid_sampler_2d grid_sampler_3d
        group_norm hardshrink hinge_embedding_loss instance_norm kl_div layer_norm margin_ranking_loss max_pool1d
        max_pool1d_with_indices max_pool2d max_pool3d native_batch_norm native_channel_shuffle native_dropout
        native_group_norm native_layer_norm pairwise_distance pixel_shuffle pixel_unshuffle poisson_nll_loss prelu
        rms_norm rrelu rrelu_ selu selu_ threshold threshold_ triplet_margin_loss""",
    "ops.reduce.segments": "segment_reduce",
    "serialization": "load save",
    "settings": """
        are_deterministic_algorithms_enabled compiled_with_cxx11_abi get_deterministic_debug_mode
        get_float32_matmul_precision get_num_interop_threads get_num_threads has_lapack has_mkl has_openmp
        has_spectral init_num_threads is_deterministic_algorithms_warn_only_enabled is_vulkan_available
        is_warn_always_enabled set_deterministic_debug_mode set_float32_matmul_precision set_flush_denormal
        set_num_interop_threads set_num_threads set_warn_always use_deterministic_algorithms""",
    "sparse.compressed": "sparse_compressed_tensor sparse_csc_tensor sparse_csr_tensor",
    "sparse.coo": "sparse_coo_tensor",
    "storage": """
        BFloat16Storage BoolStorage ByteStorage CharStorage ComplexDoubleStorage ComplexFloatStorage DoubleStorage
        FloatStorage HalfStorage IntStorage LongStorage ShortStorage TypedStorage UntypedStorage""",
    "tensor.printing": "set_printoptions",
    "typeinfo": """
        BFloat16Tensor BoolTensor ByteTensor CharTensor DoubleTensor FloatTensor HalfTensor IntTensor LongTensor
        ShortTensor detach detach_ empty_permuted finfo from_file get_default_device get_device iinfo is_complex
        is_distributed is_floating_point is_inference is_signed is_storage is_tensor legacy_contiguous_format numel
        result_type set_default_device set_default_tensor_type typename""",
}
_LAZY = set(_MODULES.split())
_LAZY_NAMES = {name: table for table, names in _TABLES.items() for name in names.split()}

if _typing.TYPE_CHECKING:
    from ._lazy import *  # noqa: F403

_replace_placeholders()
globals().update(_public_functions(globals(), "", __name__))
for _name, _method in _public_functions(vars(Tensor), "", __name__, "Tensor.", bound=()).items():
    setattr(Tensor, _name, _method)
_explain(globals())


def __getattr__(name: str) -> _Any:
    if name in _LAZY:
        return _importlib.import_module("." + name, __package__)
    if name in _LAZY_NAMES:
        globals()[name] = getattr(_importlib.import_module("." + _LAZY_NAMES[name], __package__), name)
        if _LAZY_NAMES[name] not in _LAZY:  # else it is the function of another public module
            globals().update(_public_functions({name: globals()[name]}, "", __name__))
        return globals()[name]
    if name == "torch":
        return _importlib.import_module(__package__)
    if name == "__all__":  # `from torch import *` takes no modules along, as in PyTorch
        package = _sys.modules[__name__]
        return [n for n in __dir__() if n[0] != "_" and not isinstance(getattr(package, n), type(_sys))]
    if name.startswith("_foreach_"):
        return getattr(_importlib.import_module(".ops.foreach", __package__), name)
    if name.startswith("__"):
        raise AttributeError(f"module 'torch' has no attribute '{name}'")
    if not name.startswith("_"):  # else it may be a module that is being imported, even `_C` itself
        machinery = _importlib.import_module("._C", __package__)
        if name in machinery._CLASSES or name.startswith("DisableTorchFunction"):
            return getattr(machinery, name)
    raise _importlib.import_module("._refused", __package__).missing("torch", name)


def __dir__() -> list[str]:
    public = {*_LAZY, "autograd", "ops", "random"}  # any module becomes an attribute when it is imported
    modules = {name for name, value in globals().items() if isinstance(value, type(_sys))}
    return sorted({*globals(), *_LAZY, *_LAZY_NAMES} - {"annotations", *modules.difference(public)})
