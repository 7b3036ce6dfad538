"""The examples in PyTorch's own docstrings, and what they print, warn of and raise on either library.

python -m tests.docstring_examples collect EXAMPLES
python -m tests.docstring_examples torch|penlight EXAMPLES RESULTS
"""

from __future__ import annotations

import contextlib
import doctest
import importlib
import inspect
import io
import json
import os
import sys
import tempfile
import types
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_MODULES = """torch torch.nn torch.nn.functional torch.nn.init torch.nn.utils torch.nn.utils.rnn torch.nn.utils.parametrize
torch.nn.utils.parametrizations torch.nn.utils.prune torch.optim torch.optim.lr_scheduler torch.optim.swa_utils torch.autograd
torch.autograd.functional torch.autograd.forward_ad torch.autograd.graph torch.autograd.function torch.autograd.grad_mode torch.func
torch.linalg torch.fft torch.special torch.distributions torch.utils.data torch.utils.checkpoint torch.utils.flop_counter
torch.utils._pytree torch.sparse torch.masked torch.signal.windows torch.testing torch.nested torch.random torch.storage torch.fx
torch.overrides torch.quasirandom torch.serialization torch.utils.dlpack torch.utils.weak"""


def _documented() -> Iterator[tuple[str, Any]]:
    import torch

    yield from ((f"torch.Tensor.{m}", getattr(torch.Tensor, m, None)) for m in dir(torch.Tensor))
    for name in _MODULES.split():
        module = importlib.import_module(name)
        for attribute in dir(module):
            value = getattr(module, attribute, None)
            if not attribute.startswith("__") and not isinstance(value, types.ModuleType):
                yield f"{name}.{attribute}", value
                if inspect.isclass(value):
                    yield from ((f"{name}.{attribute}.{m}", getattr(value, m, None)) for m in dir(value))


def collect() -> dict[str, list[str]]:
    """The statements of each docstring, by the first name that it is found under."""
    found: dict[str, list[str]] = {}
    seen = set()
    for name, value in _documented():
        text = getattr(value, "__doc__", None)
        if isinstance(text, str) and ">>>" in text and text not in seen and "cuda" not in text:
            seen.add(text)
            with contextlib.suppress(ValueError):  # a docstring that doctest can't read
                found[name] = [example.source for example in doctest.DocTestParser().get_examples(text)]
    return found


def run(statements: list[str]) -> list[list[Any]]:
    """For each statement: how it ended, what it printed or the error's words, and its warnings."""
    import math

    import numpy as np
    import torch

    names = {"torch": torch, "nn": torch.nn, "F": torch.nn.functional, "optim": torch.optim, "math": math, "np": np}
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float32)
    torch.set_printoptions(profile="default")
    ends: list[list[Any]] = []
    for statement in statements:
        printed = io.StringIO()
        try:
            with warnings.catch_warnings(record=True) as told, contextlib.redirect_stdout(printed):
                warnings.simplefilter("always")
                exec(compile(statement, "<example>", "single"), names)
            words = [f"{w.category.__name__}: {str(w.message).split(' (Triggered internally')[0]}" for w in told]
            ends.append(["ok", printed.getvalue(), words])
        except Exception as error:
            ends.append(["error", type(error).__name__, []])
    return ends


def main(which: str, examples: str, results: str = "") -> None:
    if which == "collect":
        Path(examples).write_text(json.dumps(collect()))
        return
    if which == "penlight":
        importlib.import_module("penlight.as_torch")
    import torch

    torch.set_num_threads(1)
    given = json.loads(Path(examples).read_text())
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.redirect_stderr(io.StringIO()),
    ):  # some examples write files
        os.chdir(folder)
        found = {name: run(statements) for name, statements in given.items()}
    Path(results).write_text(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
