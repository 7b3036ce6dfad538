"""Writes src/penlight/_common/torch_names.py: the public names of PyTorch, by namespace. Needs PyTorch.

python tools/torch_names.py
"""

from __future__ import annotations

import importlib
import sys
import textwrap
import types
import warnings
from pathlib import Path
from typing import Any

TARGET = Path(__file__).resolve().parent.parent / "src" / "penlight" / "_common" / "torch_names.py"

NAMESPACES = [
    "torch", "nn", "nn.functional", "nn.init", "nn.utils", "nn.utils.rnn", "nn.utils.parametrize", "nn.utils.parametrizations", "optim",
    "optim.lr_scheduler", "optim.swa_utils", "autograd", "autograd.functional", "autograd.forward_ad", "autograd.graph", "func", "linalg",
    "fft", "special", "signal.windows", "distributions", "utils.data", "utils.checkpoint", "random", "testing", "amp",
]  # fmt: skip

# Names of torch.* that belong to a GPU's libraries, to quantization, or to TorchScript's and the compiler's machinery.
MACHINERY = (
    "cudnn_", "miopen_", "mkldnn_", "fbgemm_", "quantized_", "quantize_", "fake_quantize", "fused_moving", "choose_qparams", "q_", "batch_norm_",
    "sym_", "int_repr", "dequantize", "per_channel", "per_tensor", "empty_quantized", "import_ir", "parse_", "merge_type", "unify_type",
    "sparse_bs", "sparse_cs", "autocast_", "set_autocast_ipu", "set_autocast_xla", "get_autocast_ipu", "get_autocast_xla", "is_autocast_ipu",
    "is_autocast_xla", "ccol_indices_copy", "col_indices_copy", "crow_indices_copy", "row_indices_copy", "indices_copy", "values_copy",
    "USE_", "PRIVATE_OPS", "profiler_allow", "qint", "quint", "bits", "uint1", "uint2", "uint3", "uint4", "uint5", "uint6", "uint7", "int1", "int2",
    "int3", "int4", "int5", "int6", "int7", "bit", "float8_", "float4_", "thread_safe_generator", "prepare_multiprocessing", "get_file_path",
    "cudnn_is_acceptable", "is_vulkan", "TYPE_CHECKING", "fork", "wait", "while_loop", "vitals", "read_vitals", "set_vital", "vmap_", "cpp",
)  # fmt: skip
KEPT = {"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor",
        "bitwise_left_shift", "bitwise_right_shift"}  # fmt: skip
TYPES = {
    "Tensor",
    "Size",
    "Generator",
    "dtype",
    "device",
    "layout",
    "memory_format",
    "finfo",
    "iinfo",
    "TypedStorage",
    "UntypedStorage",
    "GradScaler",
}


def of_machinery(name: str, value: Any) -> bool:
    if name in KEPT:
        return False
    if name.startswith(MACHINERY) or (name.endswith(("Storage", "Type")) and name not in TYPES):
        return True
    if name in ("AVG", "SUM") or (isinstance(value, type) and name in ("ModuleDict", "ParameterDict", "BufferDict")):
        return True
    internal = isinstance(value, type) and value.__module__.startswith(("torch._C", "torch.jit", "torch._classes"))
    return (
        internal or (isinstance(value, type) and name[0].isupper() and not name.endswith(("Tensor", "Error")))
    ) and name not in TYPES


def public(module: Any, top: Any) -> dict[str, Any]:
    """A module's own public names: no modules, nothing of Python's, no pieces of documentation."""
    names = set(getattr(module, "__all__", None) or ()) | (
        {n for n in vars(module)} if module.__name__ in ("torch", "torch.distributions") else set()
    )
    if not getattr(module, "__all__", None):
        names = set(vars(module))
    found = {}
    for name in sorted(n for n in names if not n.startswith("_")):
        value = getattr(module, name, None)
        origin = getattr(value, "__module__", None) or ""
        if isinstance(value, types.ModuleType) or (
            origin and not origin.startswith("torch") and module.__name__ != "torch"
        ):
            continue
        if isinstance(value, type) and origin in sys.stdlib_module_names:
            continue
        if (
            name == "TYPE_CHECKING"
            or (isinstance(value, (str, dict)) and module.__name__ != "torch")
            or (value is top and module.__name__ != "torch")
        ):
            continue
        found[name] = value
    return found


def tensor_names(torch: Any) -> list[str]:
    own = set(dir(torch.Tensor)) - set(dir(object))
    return sorted(n for n in own if not n.startswith("_") or (n.startswith("__") and n.endswith("__")))


def main() -> None:
    warnings.simplefilter("ignore")
    import torch

    groups: dict[str, list[str]] = {}
    for name in NAMESPACES:
        module = torch if name == "torch" else importlib.import_module("torch." + name)
        found = public(module, torch.Tensor)
        if name == "torch":
            groups["torch"] = [n for n, v in found.items() if not of_machinery(n, v)]
            groups["torch (machinery)"] = [n for n, v in found.items() if of_machinery(n, v)]
            groups["Tensor"] = tensor_names(torch)
        else:
            groups[name] = list(found)
    lines = [
        f'"""The public names of PyTorch {torch.__version__.partition("+")[0]}, by namespace. Written by tools/torch_names.py."""', "",
        "from __future__ import annotations", "", f'VERSION = "{torch.__version__.partition("+")[0]}"', "", "NAMES = {",
    ]  # fmt: skip
    for group, names in groups.items():
        body = "\n".join(textwrap.wrap(" ".join(names), 116))
        lines.append(f'    "{group}": """\n{body}\n""",')
    lines.append("}")
    TARGET.write_text("\n".join(lines) + "\n")
    print({group: len(names) for group, names in groups.items()})


if __name__ == "__main__":
    main()
