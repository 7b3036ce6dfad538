"""Writes src/penlight/_refused/names.txt: what PyTorch has in the namespaces that Penlight refuses; and modules.txt: its public modules,
by the one that they are in. Needs PyTorch.

python tools/refused_names.py
"""

from __future__ import annotations

import enum
import importlib
import inspect
import pkgutil
import warnings
from pathlib import Path
from types import ModuleType

# How deep below a namespace modules are listed, and which are left out all the same.
ROOTS = {
    "ao": 2, "distributed": 2, "export": 1, "fx": 1, "library": 0, "masked": 0, "monitor": 0, "mtia": 0, "nested": 0, "onnx": 0,
    "package": 0, "quantization": 1, "sparse": 0, "utils.cpp_extension": 0,
}  # fmt: skip
SKIPPED = ("ao.ns", "ao.nn.sparse", "distributed.flight_recorder", "distributed.elastic.", "distributed.optim.functional_",
           "distributed.checkpoint.logg", "distributed.launcher", "distributed.nn.jit", "fx.config", "export.custom")  # fmt: skip
FURTHER = ["distributed.tensor.parallel.style", "fx.experimental.optimization", "fx.experimental.proxy_tensor", "fx.passes.shape_prop",
           "onnx.utils", "onnx.symbolic_helper", "distributed._tensor", "distributed._tensor.device_mesh", "distributed._composable", "distributed._composable.fsdp",
           "distributed.algorithms._checkpoint", "distributed.algorithms._checkpoint.checkpoint_wrapper",
           "distributed.checkpoint.state_dict"]  # fmt: skip
FURTHER += ["distributed._tensor.experimental", "distributed._functional_collectives", "distributed.constants", "distributed.launcher.api",
            "distributed.elastic.multiprocessing.errors", "distributed.algorithms.ddp_comm_hooks",
            "distributed.algorithms.ddp_comm_hooks.default_hooks", "distributed.algorithms.ddp_comm_hooks.post_localSGD_hook",
            "distributed.algorithms.ddp_comm_hooks.powerSGD_hook", "distributed.algorithms.model_averaging.averagers",
            "distributed.tensor._utils", "distributed.tensor.experimental._attention", "fx._pytree", "fx._symbolic_trace",
            "fx.experimental.symbolic_shapes", "fx.passes.infra.pass_base", "export._trace", "onnx.symbolic_opset9",
            "onnx.symbolic_opset12", "_dynamo.eval_frame", "_dynamo.exc", "_inductor.exc", "_inductor.codecache",
            "_subclasses.functional_tensor", "_subclasses.meta_utils", "ao.quantization.fx._decomposed"]  # fmt: skip
FURTHER += ["_custom_op", "_custom_op.impl", "_decomp", "_higher_order_ops", "_higher_order_ops.associative_scan", "_inductor.async_compile", "_inductor.pattern_matcher",
            "_refs", "_subclasses", "_subclasses.fake_tensor", "utils.collect_env", "utils.data.datapipes", "utils.data.datapipes.datapipe",
            "utils.data.datapipes.iter", "utils.data.datapipes.map", "utils.flop_counter", "onnx.symbolic_opset11", "onnx.operators"]  # fmt: skip
_FSDP = [
    "BackwardPrefetch!",
    "CPUOffload!",
    "FullStateDictConfig!",
    "LocalStateDictConfig!",
    "MixedPrecision!",
    "ShardingStrategy!",
    "StateDictType!",
]
EXTRA = {
    "distributed.rpc": ["RpcBackendOptions!"],
    "_custom_op.impl": ["custom_op"],
    "distributed.autograd": ["backward", "get_gradients"],
    "distributed.fsdp.fully_sharded_data_parallel": _FSDP,
    "fx.node": ["Target!"],
    "distributed.checkpoint.state_dict": ["_init_optim_state"],
    "distributed.optim": ["_apply_optimizer_in_backward"],
    "onnx": [
        "OnnxRegistry!",
        "TensorProtoDataType!FLOAT,INT32,INT64,BOOL,FLOAT16,DOUBLE",
        "OperatorExportTypes!ONNX,ONNX_ATEN,ONNX_ATEN_FALLBACK,ONNX_FALLTHROUGH",
        "TrainingMode!EVAL,PRESERVE,TRAINING",
        "_export",
        "dynamo_export",
    ],
    "fx.graph_module": ["_USER_PRESERVED_ATTRIBUTES_KEY"],
    "export": ["export_for_training"],
    "sparse": [
        f"{kind}Tensor!" for kind in ["BFloat16", "Byte", "Char", "Double", "Float", "Half", "Int", "Long", "Short"]
    ],
}


def modules(root: str, depth: int) -> list[str]:
    """A namespace and its public modules, by name below torch."""
    top = importlib.import_module("torch." + root)
    found = [root]
    for info in pkgutil.walk_packages(getattr(top, "__path__", []), top.__name__ + ".", onerror=lambda name: None):
        name = info.name.removeprefix("torch.")
        parts = name.split(".")
        if name.startswith(SKIPPED):
            continue
        if len(parts) - root.count(".") - 1 <= depth and not any(part.startswith("_") for part in parts):
            found.append(name)
    return found


def word(name: str, value: object) -> str | None:
    """A name's entry: `name` for a function, `Name!` for a class, `Name!A,B` for an enumeration."""
    if inspect.isclass(value):
        members = list(value.__members__) if isinstance(value, enum.EnumMeta) or hasattr(value, "__members__") else []
        members = members or [n for n in vars(value) if n.isupper() and not n.startswith("_")]
        return f"{name}!{','.join(members)}"
    return name if callable(value) and not isinstance(value, ModuleType) else None


def line(name: str) -> str | None:
    """The line of one module, or None if it cannot be imported here."""
    try:
        module = importlib.import_module("torch." + name)
    except BaseException:
        return None
    words = []
    top = f"torch.{name.partition('.')[0]}"
    listed = getattr(module, "__all__", None) or [n for n in vars(module) if not n.startswith("_")]
    at_home = [
        n for n, value in vars(module).items() if str(getattr(value, "__module__", "")).startswith((top, "torch._C._d"))
    ]
    for own in sorted({*listed, *(n for n in at_home if not n.startswith("__"))}):
        value = getattr(module, own, None)
        if str(getattr(value, "__module__", "")).startswith("torch"):
            words.append(word(own, value))
    known = {w for w in words if w}
    extra = [w for w in EXTRA.get(name, []) if w.rstrip("!") not in {k.partition("!")[0] for k in known}]
    return f"{name}: {' '.join(sorted(known | set(extra)))}".rstrip()


def all_modules() -> list[str]:
    """A line for each module with public modules in it: `torch.fx: config experimental ...`."""
    import torch

    root = Path(torch.__file__).parent
    below: dict[str, list[str]] = {}
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root.parent).with_suffix("").parts
        parts = parts[:-1] if parts[-1] == "__init__" else parts
        own = any(part.startswith("_") or part in ("include", "testing", "test") for part in parts)
        if (
            len(parts) > 1
            and not own
            and all((root.parent.joinpath(*parts[:n]) / "__init__.py").exists() for n in range(1, len(parts)))
        ):
            below.setdefault(".".join(parts[:-1]), []).append(parts[-1])
    return [f"{module}: {' '.join(names)}" for module, names in sorted(below.items())]


def main() -> None:
    warnings.simplefilter("ignore")
    names = sorted({name for root, depth in ROOTS.items() for name in modules(root, depth)} | set(FURTHER))
    lines = [found for found in map(line, names) if found is not None]
    target = Path(__file__).parent.parent / "src/penlight/_refused"
    (target / "names.txt").write_text("\n".join(lines) + "\n")
    (target / "modules.txt").write_text("\n".join(all_modules()) + "\n")


if __name__ == "__main__":
    main()
