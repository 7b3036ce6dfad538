"""Run as a script, in a process of its own: programs one after the other, under Penlight or PyTorch. Prints what each did, as JSON.

python tests/_programs_driver.py penlight|torch float32|float64 program.py ...
"""

import contextlib
import io
import json
import os
import runpy
import sys
import tempfile
import time
import traceback


def by_pytorch(path: str, arguments: list) -> int:
    sys.argv[:] = [path, *arguments]
    try:
        runpy.run_path(path, run_name="__main__")
    except Exception:
        traceback.print_exc()
        return 1
    return 0


def by_penlight(path: str, arguments: list) -> int:
    from penlight.__main__ import main

    return main(["run", path, *arguments])


def main(library: str, precision: str, *paths: str) -> None:
    run = by_penlight if library == "penlight" else by_pytorch
    results, own, home = {}, sys.modules["__main__"], os.getcwd()
    for path in paths:
        out, err, begin = io.StringIO(), io.StringIO(), time.perf_counter()
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            os.chdir(folder)
            code = run(path, ["--double"] if precision == "float64" else [])
            os.chdir(home)
        sys.modules["__main__"] = own
        torch = sys.modules["torch"]
        torch.set_default_dtype(torch.float32)
        results[path] = [code, out.getvalue(), err.getvalue(), time.perf_counter() - begin]
    print(json.dumps(results))


if __name__ == "__main__":
    main(*sys.argv[1:])
