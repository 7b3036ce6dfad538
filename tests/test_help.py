"""Help where people look: every public name has a docstring, an example that runs, and a signature."""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import inspect
import re
import subprocess
import sys
import warnings
from collections.abc import Iterator
from enum import Enum
from operator import attrgetter
from types import ModuleType
from typing import Any

import pytest

import penlight as torch
from penlight._refused import submodules

CLASSES = [
    torch.Tensor, torch.nn.Module, torch.nn.Sequential, torch.nn.ModuleList, torch.nn.ModuleDict, torch.nn.ParameterList,
    torch.nn.ParameterDict, torch.optim.Optimizer, torch.optim.lr_scheduler.LRScheduler, torch.autograd.Function,
    torch.utils.data.DataLoader, torch.distributions.Distribution, torch.Generator, torch.inspect.Drawing,
    torch.distributed.Store, torch.distributed.Work, torch.distributed.ProcessGroup,
]  # fmt: skip


def spaces() -> Iterator[tuple[str, ModuleType]]:
    """The public modules: those that PyTorch has, as far as they are here, and our own."""
    waiting = ["torch"]
    while waiting:
        name = waiting.pop()
        own = name.replace("torch", "penlight", 1)
        try:
            with warnings.catch_warnings(action="ignore"):
                module = importlib.import_module(own)
        except ImportError:  # not here, or it needs a package that is not installed
            continue
        waiting += [f"{name}.{below}" for below in submodules(name)]
        yield own, module
    for name in ("inspect", "optimize", "safetensors"):
        yield f"penlight.{name}", importlib.import_module(f"penlight.{name}")


def functions() -> Iterator[tuple[str, Any]]:
    for space, module in spaces():
        for name in dir(torch) if module is torch else getattr(module, "__all__", dir(module)):
            with warnings.catch_warnings(action="ignore"):
                value = getattr(module, name, None)
            home = (getattr(value, "__module__", None) or space).replace("torch", "penlight", 1)
            listed = home.startswith("penlight") if hasattr(module, "__all__") or module is torch else home == space
            if name[0] != "_" and callable(value) and not inspect.ismodule(value) and listed:
                yield f"{space}.{name}".removeprefix("penlight."), value


def methods() -> Iterator[tuple[str, Any]]:
    for cls in CLASSES:
        for name in dir(cls):
            value = inspect.getattr_static(cls, name)
            if isinstance(value, (staticmethod, classmethod)):
                value = value.__func__
            if name[0] != "_" and (callable(value) or isinstance(value, property)):
                owner = next(c.__name__ for c in CLASSES if issubclass(cls, c) and hasattr(c, name))
                yield f"{owner}.{name}", value


EVERYTHING = dict([*functions(), *methods()])


def test_there_is_much_to_check() -> None:
    assert len(EVERYTHING) > 1500


def test_every_public_name_has_a_docstring() -> None:
    assert [name for name, value in EVERYTHING.items() if not (value.__doc__ or "").strip()] == []


def test_every_public_name_has_an_example() -> None:
    assert [name for name, value in EVERYTHING.items() if ">>>" not in (value.__doc__ or "")] == []


# What Python itself gives a signature to, or what is no function: objects that can be called; and classes that programs do not call.
LEFT_OUT = """
    dtype layout memory_format TorchVersion GradBucket ProcessGroup Reducer Work dependent identity_transform biject_to transform_to
"""


def is_called(name: str, value: Any) -> bool:
    """Whether programs call it with arguments of its own: no property, no enumeration, no error."""
    plain = isinstance(value, type) and issubclass(value, (Enum, Exception, type))
    return not plain and not isinstance(value, property) and name.rpartition(".")[2] not in LEFT_OUT.split()


def test_arguments_are_explained() -> None:
    lacking = []
    for name, value in EVERYTHING.items():
        if is_called(name, value):
            words = re.sub(r">>>.*?(\n\n|$)", "", inspect.getdoc(value) or "", flags=re.DOTALL)
            stars = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
            named = [
                p.name for p in inspect.signature(value).parameters.values() if p.kind not in stars and p.name[0] != "_"
            ]
            lacking += [f"{name}.{n}" for n in named if n not in ("self", "cls") and not re.search(rf"\b{n}\b", words)]
    assert sorted(lacking) == []


def test_lists_of_arguments_are_complete() -> None:
    lacking = []
    for name, value in EVERYTHING.items():
        if is_called(name, value) and "Args:" in (words := inspect.getdoc(value) or ""):
            listed = re.sub(r",\n +", ", ", words.partition("Args:")[2])
            listed = {
                n for names in re.findall(r"^ {4}([\w, ]+):", listed, flags=re.MULTILINE) for n in names.split(", ")
            }
            named = [
                p.name
                for p in inspect.signature(value).parameters.values()
                if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
            ]
            lacking += [f"{name}.{n}" for n in named if n[0] != "_" and n not in ("self", "cls") and n not in listed]
    assert sorted(lacking) == []


def test_what_is_returned_is_said() -> None:
    """Of functions and methods; a module says which shapes it takes and gives."""
    lacking = []
    for name, value in EVERYTHING.items():
        if isinstance(value, type):
            forward = issubclass(value, torch.nn.Module) and value.forward is not torch.nn.Module.forward
            if forward and name.startswith("nn.") and name.count(".") == 1 and "Shape:" not in value.__doc__:
                lacking.append(name)
        elif is_called(name, value) and not re.search("Returns:|^Refused:", value.__doc__):
            lacking.append(name)
    assert sorted(lacking) == []


def test_what_is_returned_fits_the_annotation() -> None:
    """The words come from a table by the name of a function; one that returns no tensors may have the name of one that does."""
    wrong = []
    for name, value in EVERYTHING.items():
        own = {name: value}
        for part in value.__mro__ if isinstance(value, type) else ():
            if part.__module__.startswith("penlight"):
                own |= {f"{name}.{member}": function for member, function in vars(part).items() if member[0] != "_"}
        for full, function in own.items():
            annotation = str(getattr(function, "__annotations__", {}).get("return", "Any"))
            words = (getattr(function, "__doc__", None) or "").partition("Returns:")[2].strip().partition("\n")[0]
            if annotation in ("None", "int", "bool", "str", "float") or annotation.startswith(("list", "dict")):
                wrong += [full] if words.startswith(("a tensor", "the tensor", "a matrix", "a vector")) else []
    assert wrong == []


@pytest.mark.filterwarnings("ignore")
def test_tables_name_each_argument_and_function_once() -> None:
    from penlight._common import arguments, returns

    for table in (arguments._TABLE, returns._TABLE, returns._SHAPES):
        names = [name for line in table.strip().splitlines() for name in line.partition(": ")[0].split(", ")]
        assert not [name for name in names if names.count(name) > 1]


def test_the_examples_run() -> None:
    """Also those of functions that a program made, which doctest does not find in modules."""
    parser, runner = (
        doctest.DocTestParser(),
        doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS),
    )
    texts = {value.__doc__: name for name, value in EVERYTHING.items() if ">>>" in (value.__doc__ or "")}
    for text, name in texts.items():
        if name.startswith(("optimize.", "quasirandom.")) and importlib.util.find_spec("scipy") is None:
            continue  # those of an extra: .ci/run runs them where it is installed
        runner.run(parser.get_doctest(text, {"torch": torch}, name, None, 0))
    assert runner.failures == 0 and not torch.distributed.is_initialized()


def test_every_public_function_has_a_signature() -> None:
    def lacks(value: Any) -> bool:
        try:
            inspect.signature(value)
        except (TypeError, ValueError):
            # Errors, strings and metaclasses inherit what Python cannot tell.
            return not (isinstance(value, type) and issubclass(value, (Exception, str, type)))
        return False

    lacking = [name for name, value in EVERYTHING.items() if not isinstance(value, property) and lacks(value)]
    assert sorted(lacking) == []


def test_help_of_a_method_reads_well() -> None:
    import pydoc

    text = pydoc.render_doc(torch.Tensor.sum, renderer=pydoc.plaintext)
    # Python 3.13 breaks long signatures into lines, 3.14 shows annotations without quotes.
    words = " ".join(text.split()).replace("( ", "(").replace("'Tensor'", "Tensor")
    assert "sum(input: Tensor, dim" in words and "over some dimensions" in words
    text = pydoc.render_doc(torch.Tensor.exp_, renderer=pydoc.plaintext)
    assert "exp_(input: Tensor) -> Tensor" in text.replace("'Tensor'", "Tensor") and "In-place version of `exp`" in text


def test_completion_shows_what_is_imported_when_first_used() -> None:
    names = "nn optim utils linalg func fft special save load inspect vmap compile cuda distributions FloatTensor float"
    program = f"import sys, penlight; print(set({names.split()}) - set(dir(penlight)), 'penlight.nn' in sys.modules)"
    seen = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert seen == "set() False\n"
    names = "data checkpoint benchmark tensorboard dlpack"
    program = f"import sys, penlight; print(set({names.split()}) - set(dir(penlight.utils)), 'penlight.utils.data' in sys.modules)"
    seen = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert seen == "set() False\n"


def test_what_needs_a_package_that_is_not_installed_is_missing() -> None:
    program = """if True:
        import inspect, sys
        sys.modules["tensorboard"] = None
        import penlight
        assert "data" in dict(inspect.getmembers(penlight.utils)) and not hasattr(penlight.utils, "tensorboard")
        try:
            from penlight.utils import tensorboard
        except ModuleNotFoundError as error:
            print(error)
    """
    seen = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert seen.endswith("torch.utils.tensorboard writes its logs with that package: pip install tensorboard\n")


@pytest.mark.parametrize(
    "name", ["cumsum", "gather", "index_select", "softmax", "Tensor.scatter_add", "Tensor.unsqueeze"]
)
def test_what_must_be_given_has_no_default(name):
    """Python gives these arguments a default, so that a missing one is refused in PyTorch's words; `help` does not show it."""
    parameters = inspect.signature(attrgetter(name)(torch)).parameters
    assert parameters["dim"].default is inspect.Parameter.empty
    assert inspect.signature(torch.nn.functional.softmax).parameters["dim"].default is None
