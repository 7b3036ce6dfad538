"""Running programs written for PyTorch without it: `import torch` imports Penlight, in one process.

# Note [The name torch]
A finder at the head of `sys.meta_path` resolves `torch` and every name below it to Penlight's module of the same name. It is the same
object: `torch.nn is penlight.nn`. Nothing outside of the process changes. Processes that `multiprocessing` starts get the finder too: a
forked process inherits it; for the other start methods, the preparation data that `multiprocessing` sends contain an object that installs
the finder when it is unpickled.
"""

from __future__ import annotations

import builtins
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.metadata import Distribution, PackagePath
from pathlib import Path
from types import CodeType, ModuleType, TracebackType
from typing import TYPE_CHECKING, Any

from .._torch_function import activate
from ..version import __version__
from . import class_names

if TYPE_CHECKING:
    from importlib.metadata import Distribution, DistributionFinder

# Modules with another name in Penlight.
_OTHER_NAMES = {
    "_tensor": "tensor",
    "_jit_internal": "jit",
    "_tensor_str": "tensor.printing",
    "_C._functorch": "_c_functorch",
    "_functorch.vmap": "func.mapping",
}

# Modules that PyTorch does not have: `import torch.kernels` must fail.
_NOT_IN_TORCH = {
    "kernels",
    "_run",
    "_cli",
    "as_torch",
    "dtypes",
    "creation",
    "_common",
    "compat",
    "inspect",
    "optimize",
    "safetensors",
}

# Other packages that PyTorch installs.
_OTHER_PACKAGES = {"functorch": "penlight._functorch_package"}

# Packages that are built on PyTorch's C++ and cannot work with Penlight. The first two are written in Python in large part: if they are
# installed they are loaded, and their C++ functions raise their own errors.
_PARTLY_PYTHON = {
    "torchvision": "Its Python part runs here: pip install --no-deps torchvision pillow",
    "torchaudio": "Read sound with scipy.io.wavfile or soundfile",
}
_NEED_PYTORCH = {
    **_PARTLY_PYTHON,
    "torchtext": "Read texts with plain Python",
    "torchcodec": "Read videos with imageio",
    "torchao": "Use float32, or float16 by module.half()",
    "triton": "Write the kernel with NumPy",
}


def _penlight_name(name: str) -> str:
    """Penlight's name for one of PyTorch's modules."""
    below = name.removeprefix("torch").removeprefix(".")
    return f"penlight.{_OTHER_NAMES.get(below, below)}".removesuffix(".")


class _Alias(Loader):
    """Loads an existing module under another name."""

    def __init__(self, module: ModuleType) -> None:
        self.module, self.spec = module, module.__spec__

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return self.module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self.spec  # the import system has replaced it by the alias's


class TorchFinder(MetaPathFinder):
    """Finds Penlight for `torch`. See Note [The name torch]."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        top, _, below = name.partition(".")
        if name in _OTHER_PACKAGES:
            module = import_module(_OTHER_PACKAGES[name])
            return ModuleSpec(name, _Alias(module), is_package=hasattr(module, "__path__"))
        if top in _NEED_PYTORCH and not below:
            if top in _PARTLY_PYTHON and PathFinder.find_spec(name, path) is not None:
                return None
            hint = f"Penlight replaces only torch, and {name} needs PyTorch's C++ library. {_NEED_PYTORCH[top]}"
            return _missing(name, hint)
        if top != "torch":
            return None
        if below.partition(".")[0] in _NOT_IN_TORCH:
            return _missing(name)
        real = _penlight_name(name)
        try:
            module = import_module(real)
        except ModuleNotFoundError as error:
            if error.name is None or not real.startswith(error.name):
                raise
            return _missing(name)
        if sys.modules.get(name) is module:  # set by class_names.py: the import system would load it again
            del sys.modules[name]
        return ModuleSpec(name, _Alias(module), is_package=hasattr(module, "__path__"))

    def find_distributions(self, context: DistributionFinder.Context) -> list[Distribution]:
        """The distribution that `importlib.metadata` finds for torch: by it packages check whether PyTorch is installed."""
        if context.name is not None and context.name.lower() != "torch":
            return []
        return [TorchDistribution()]


def _missing(name: str, hint: str = "Penlight, which replaces torch, has no such module") -> ModuleSpec | None:
    """Raise the error of a failed import, with a hint; `importlib.util.find_spec` gets None instead."""
    if sys._getframe(3).f_code.co_name == "_find_and_load_unlocked":
        raise ModuleNotFoundError(f"No module named '{name}'. {hint}", name=name)
    return None


_finder = TorchFinder()


class _Install:
    """Installs the finder in the process that unpickles it."""

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return install, ()


def install() -> None:
    """Make `import torch` import Penlight in this process, and in processes that it starts with `multiprocessing`.

    `penlight run` does this before it starts a program; `import penlight.as_torch` does it anywhere.
    """
    loaded = sys.modules.get("torch")
    if loaded is not None and loaded is not sys.modules["penlight"]:
        raise ImportError("PyTorch itself is imported in this process already: Penlight cannot take its name")
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
        class_names.rename(_NOT_IN_TORCH)
        _prepare_children()


def uninstall() -> None:
    """Undo `install`: remove the finder, and the modules under the name of torch."""
    if _finder in sys.meta_path:
        sys.meta_path.remove(_finder)
        class_names.restore()
    for name in [n for n in sys.modules if n == "torch" or n.startswith("torch.")]:
        if sys.modules[name].__name__.partition(".")[0] == "penlight":
            del sys.modules[name]


def _prepare_children() -> None:
    """Make new processes of `multiprocessing` install the finder before they import the program."""
    from multiprocessing import get_all_start_methods, spawn

    original = spawn.get_preparation_data
    if getattr(original, "penlight", False):
        return

    def get_preparation_data(name: str) -> dict[str, Any]:
        data = original(name)
        if _finder in sys.meta_path:
            data = {"penlight": _Install(), **data}
        return data

    get_preparation_data.penlight = True  # type: ignore[attr-defined]
    spawn.get_preparation_data = get_preparation_data
    # The fork server would import the program before it receives any data, so it preloads this instead.
    if "forkserver" in get_all_start_methods():
        from multiprocessing import forkserver

        forkserver.set_forkserver_preload(["penlight.as_torch"])


# ----- Running a program ------------------------------------------------------------------------------------------------


class Program:
    """The code to run as `__main__`, and the module attributes that it needs."""

    def __init__(self, code: CodeType, attributes: dict[str, Any], argv0: str, path0: str | None) -> None:
        self.code, self.attributes, self.argv0, self.path0 = code, attributes, argv0, path0


class Unstartable(Exception):
    """A program cannot be started: Python's message and exit code."""

    def __init__(self, words: str, code: int) -> None:
        super().__init__(words)
        self.code = code


def script(path: str) -> Program:
    """The program in a file, or in the `__main__.py` of a directory or zip file, as for `python`."""
    from zipfile import is_zipfile

    full = os.path.abspath(path)
    if os.path.isdir(path) or (os.path.isfile(path) and is_zipfile(path)):
        return module("__main__", full)
    loader = SourceFileLoader("__main__", full)
    try:
        source = loader.get_data(full)
    except OSError as error:
        words = f"can't open file {full!r}: [Errno {error.errno}] {error.strerror}"
        raise Unstartable(words, 2) from None
    code = loader.source_to_code(source, full)
    attributes = {"__file__": full, "__cached__": None, "__loader__": loader, "__spec__": None, "__package__": None}
    return Program(code, attributes, path, os.path.dirname(os.path.realpath(full)))


def module(name: str, where: str | None = None) -> Program:
    """The program in a module, as for `python -m`; with `where`, in a module of a directory or zip file."""
    from importlib.util import find_spec

    if where is None:
        _path_first(os.getcwd())
    else:
        sys.path.insert(0, where)
        sys.modules.pop("__main__", None)
    try:
        spec = find_spec(name)
        if spec is not None and spec.submodule_search_locations is not None:
            name += ".__main__"
            spec = find_spec(name)
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise Unstartable(
            f"Error while finding module specification for {name!r} ({type(error).__name__}: {error})", 1
        ) from None
    if spec is None or spec.loader is None:
        words = f"No module named {name}" if where is None else f"can't find '__main__' module in {where!r}"
        raise Unstartable(words, 1)
    code = spec.loader.get_code(name)  # type: ignore[attr-defined]
    if code is None:
        raise Unstartable(f"No code object available for {name}", 1)
    attributes = {
        "__file__": spec.origin, "__cached__": spec.cached, "__loader__": spec.loader, "__spec__": spec,
        "__package__": spec.parent,
    }  # fmt: skip
    return Program(code, attributes, spec.origin or name if where is None else where, None)


def command(text: str) -> Program:
    """The program in a text, as for `python -c`."""
    code = compile(text, "<string>", "exec", dont_inherit=True)
    return Program(code, {"__spec__": None, "__package__": None}, "-c", "")


def _path_first(directory: str) -> None:
    """Replace the first directory of `sys.path`, which is that of the `penlight` command."""
    if not sys.flags.safe_path:
        sys.path[:1] = [directory]


def _uses_name(code: CodeType, name: str) -> bool:
    """Whether a program's code uses a name."""
    return name in code.co_names or any(_uses_name(c, name) for c in code.co_consts if isinstance(c, CodeType))


def run(load: Callable[[], Program], arguments: Sequence[str]) -> int:
    """Run a program as `__main__` with these arguments and return its exit code. Tracebacks begin with the program's code."""
    install()
    main = ModuleType("__main__")
    before = sys.modules["__main__"]
    try:
        try:
            program = load()
        except Unstartable as error:
            print(f"penlight: {error}", file=sys.stderr)
            return error.code
        if program.path0 is not None:
            _path_first(program.path0)
        if _uses_name(program.code, "__torch_function__"):
            activate()
        sys.argv[:] = [program.argv0, *arguments]
        main.__dict__.update(program.attributes, __builtins__=builtins)
        sys.modules["__main__"] = main
        exec(program.code, main.__dict__)
    except SystemExit:
        raise
    except BaseException as error:
        _show(error, main.__dict__)
        return 130 if isinstance(error, KeyboardInterrupt) else 1
    finally:
        _keep.append(before)
    return 0


_keep: list[ModuleType] = []  # the module that called `run` must not be cleared while it runs


def _show(error: BaseException, globals_: dict[str, Any]) -> None:
    """Print an uncaught error as Python does, without the frames of and outside this file."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_globals is not globals_:
        trace = trace.tb_next
    _drop_frames_of_this_file(trace)
    error.__traceback__ = trace
    sys.excepthook(type(error), error, trace)
    sys.stderr.flush()


def _drop_frames_of_this_file(trace: TracebackType | None) -> None:
    while trace is not None:
        following = trace.tb_next
        while following is not None and following.tb_frame.f_globals is globals():
            following = following.tb_next
        trace.tb_next = following
        trace = following


# ----- The distribution `torch` for `importlib.metadata` --------------------------------------------------------------


class TorchDistribution(Distribution):
    """The metadata of an installed package called torch: its name, version and modules.

    >>> from penlight._run import TorchDistribution
    >>> TorchDistribution().name
    'torch'
    """

    def read_text(self, filename: str) -> str | None:
        if filename == "METADATA":
            return f"Metadata-Version: 2.1\nName: torch\nVersion: {__version__}\nSummary: Penlight instead of PyTorch\n"
        return "torch\nfunctorch\n" if filename == "top_level.txt" else None

    def locate_file(self, path: Any) -> Any:
        return Path(__file__).parents[2] / path

    @property
    def files(self) -> list[PackagePath] | None:
        return None
