"""The command `penlight`, also as `python -m penlight`.

penlight run script.py ...     run a PyTorch script without PyTorch
penlight launch script.py ...  the same in several processes
penlight demo                  train a small network on handwritten digits
penlight doctor                what is installed, and whether gradients are right
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version as installed
from pathlib import Path

from penlight.version import __version__ as torch_version

COMMANDS = ("demo", "doctor", "launch", "run")

USAGE = """\
usage: penlight <command> ...
       python -m penlight script.py ...      (the same as `penlight run script.py ...`)

commands:
  run script.py [args]     run a program written for PyTorch; `import torch` imports Penlight
  run -m module [args]     the same for a module
  launch --nproc-per-node N script.py [args]
                           the same in N processes that find each other; takes the options of torchrun
  demo                     train a small network on handwritten digits, and draw what happened
  doctor                   what is installed, and whether gradients come out right

options:
  -h, --help               show this
  --version                show the version
"""


def version() -> str:
    """Penlight's version, and the version of PyTorch that it behaves like."""
    try:
        own = installed("penlight")
    except PackageNotFoundError:
        own = "(not installed)"
    return f"penlight {own} (behaves like PyTorch {torch_version.partition('+')[0]})"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if not given or given[0] in ("-h", "--help", "help"):
        print(USAGE, end="")
        return 0
    if given[0] in ("-V", "--version"):
        print(version())
        return 0
    name, *rest = given
    if name not in COMMANDS:
        if (name.startswith("-") and name not in ("-m", "-c", "-")) or not _runnable(name):
            print(f"penlight: no command {name!r}\n\n{USAGE}", end="", file=sys.stderr)
            return 2
        name, rest = "run", given
    if name == "run":
        return import_module("penlight._cli.run").main(rest)
    try:
        code = import_module(f"penlight._cli.{name}").main(rest)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of the output, such as `head`, has ended
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1
    except KeyboardInterrupt:
        print("\nstopped", file=sys.stderr)
        code = 130
    return code


def _runnable(name: str) -> bool:
    return name in ("-m", "-c", "-") or name.endswith(".py") or Path(name).exists()


if __name__ == "__main__":
    sys.exit(main())
