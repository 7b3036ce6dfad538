"""Runs scripts in one process, one after the other, and writes what each printed as JSON.

`python -m penlight running.py scripts...` runs them with Penlight, `python running.py scripts...` with PyTorch.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import runpy
import sys
import tempfile
import traceback
import warnings


def printed(path: str) -> str:
    """What a script prints, its warnings included; an error that it ends with is a last line."""
    import torch

    torch.set_default_dtype(torch.float32)
    torch.set_printoptions(profile="default")
    torch.manual_seed(0)
    out = io.StringIO()

    def show(message, category, *rest, **more):
        print(f"{category.__name__}: {str(message).splitlines()[0]}")

    with contextlib.redirect_stdout(out), warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", DeprecationWarning)  # PyTorch's about parts of its own that it uses
        warnings.filterwarnings("ignore", "Sparse invariant checks are implicitly disabled")
        warnings.filterwarnings("ignore", "TypedStorage is deprecated")  # once in a process
        warnings.filterwarnings("ignore", "Converting a tensor with requires_grad=True")  # once in a process
        warnings.showwarning = show
        try:
            runpy.run_path(path, run_name="__main__")
        except Exception as error:
            if os.environ.get("STRANGERS_TRACE"):
                traceback.print_exc()
            print(f"ended with {type(error).__name__}: {error}")
    return out.getvalue()


def main() -> None:
    scripts = [os.path.abspath(path) for path in sys.argv[2:]]
    target = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as room:
        os.chdir(room)
        found = {os.path.splitext(os.path.basename(path))[0]: printed(path) for path in scripts}
        os.chdir("/")
    with open(target, "w") as file:
        json.dump(found, file)


if __name__ == "__main__":
    main()
