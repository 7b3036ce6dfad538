"""`penlight run`: programs written for PyTorch, in processes of their own."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import penlight

SOURCE = Path(penlight.__file__).parent.parent


def run(*arguments: str, cwd: Path, code: int = 0, program: str = "-m penlight", **more):
    """Run Python with these arguments; its output and errors as text."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [str(SOURCE), os.environ.get("PYTHONPATH", "")]))}
    done = subprocess.run(
        [sys.executable, *shlex.split(program), *arguments],
        cwd=cwd,
        env=env,
        capture_output=True,
        text=True,
        timeout=300,
        **more,
    )
    assert done.returncode == code, done.stderr
    return done.stdout, done.stderr


DRIVER = """
import contextlib, io, json, sys
from penlight.__main__ import main
results = []
for arguments, text in json.loads(sys.argv[1]):
    out, err, main_module, path = io.StringIO(), io.StringIO(), sys.modules["__main__"], list(sys.path)
    sys.stdin = io.StringIO(text)
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main(arguments)
        except SystemExit as end:
            code = end.code
    sys.modules["__main__"], sys.path[:] = main_module, path
    results.append([code, out.getvalue(), err.getvalue()])
print(json.dumps(results))
"""


def run_each(cases: list[list[str]], cwd: Path, stdin: str = "") -> list[tuple[int, str, str]]:
    """Run several command lines, one after the other in one process; the exit code, output and errors of each."""
    out, _ = run(json.dumps([[case, stdin] for case in cases]), cwd=cwd, program=f"-c {shlex.quote(DRIVER)}")
    return [tuple(result) for result in json.loads(out)]


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        path = folder / (name.replace("__in__", "/") + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))


def test_imports_of_any_depth_are_the_same_modules(tmp_path):
    write(
        tmp_path,
        script="""
        import sys
        import torch
        import torch.nn as nn
        import torch.nn.functional as F
        import torch.optim.lr_scheduler as lr_scheduler
        from torch import Tensor, optim
        from torch.autograd import Variable
        from torch.nn.modules.linear import Linear
        from torch.utils.data import DataLoader, TensorDataset
        from torch.utils.data.dataloader import default_collate
        from torch.nn.parallel import DistributedDataParallel
        from torch.distributed.fsdp.wrap import transformer_auto_wrap_policy
        from torch.optim.optimizer import Optimizer
        import torch.backends.cudnn as cudnn
        import torch.multiprocessing as mp
        import torch.distributed as dist

        import penlight
        assert torch is penlight and nn is penlight.nn and F is penlight.nn.functional
        assert Linear is penlight.nn.Linear and Tensor is penlight.Tensor
        import torch.quasirandom, torch.distributions.normal, torch.utils.data.sampler
        twice = [n for n in sys.modules if n.startswith("torch.") and sys.modules.get("penlight" + n[5:]) not in (None, sys.modules[n])]
        assert not twice, twice
        assert torch.utils.data is penlight.utils.data and torch.utils.data.sampler.Sampler is penlight.utils.data.Sampler
        assert penlight.nn.__spec__.name == "penlight.nn" and penlight.__spec__.name == "penlight"
        assert not any(name.startswith("torch.") and module.__name__.startswith("torch") for name, module in sys.modules.items())

        import importlib.util
        assert importlib.util.find_spec("torchvision") is None and importlib.util.find_spec("torch.nothing") is None
        assert importlib.util.find_spec("torch") is not None
        for name in ("torchvision", "torchaudio.transforms", "torch.kernels", "torch.nn.nothing"):
            try:
                __import__(name)
            except ModuleNotFoundError as error:
                assert error.name and name.startswith(error.name), error.name
            else:
                raise AssertionError(name)
        try:
            from torch import no_such_name
        except ImportError:
            print("missing")
        print("same")
        """,
    )
    assert run("run", "script.py", cwd=tmp_path)[0] == "missing\nsame\n"


def test_script_sees_what_python_gives(tmp_path):
    write(
        tmp_path,
        dir__in__script="""
        import os, sys
        import helper, torch
        print(__name__, sys.argv, __file__ == os.path.abspath("dir/script.py"), __spec__, helper.twice(torch.ones(1)).item())
        print(os.path.realpath(sys.path[0]) == os.path.realpath("dir"), sys.modules["__main__"].__dict__ is globals())
        """,
        dir__in__helper="""
        import torch
        def twice(x: torch.Tensor):
            return 2 * x
        """,
    )
    expected = "__main__ ['dir/script.py', '-x', 'run'] True None 2.0\nTrue True\n"
    assert run("dir/script.py", "-x", "run", cwd=tmp_path)[0] == expected  # the same as penlight run ...


def test_module_directory_command_and_stdin(tmp_path):
    write(
        tmp_path,
        pkg__in____init__="",
        pkg__in____main__="import sys, torch; print(__package__, sys.argv[1:], torch.ones(1).item())",
    )
    command = "import sys, torch; print(sys.argv, torch.zeros(1).item())"
    cases = [["run", "-m", "pkg", "a"], ["run", "pkg", "a"], ["run", "-c", command, "b"], ["run", "-"]]
    results = run_each(cases, tmp_path, stdin="import torch; print(torch.e)")
    assert [out for _, out, _ in results] == [
        "pkg ['a'] 1.0\n",
        " ['a'] 1.0\n",
        "['-c', 'b'] 0.0\n",
        "2.718281828459045\n",
    ]
    assert [code for code, _, _ in results] == [0, 0, 0, 0]


def test_exit_codes_and_messages(tmp_path):
    write(
        tmp_path,
        leave="import sys; sys.exit(7)",
        broken="import torch\nx = (1 +\n",
        nested="""
        import torch
        def product():
            try:
                {}["key"]
            except KeyError:
                raise RuntimeError("wrong shapes")
        product()
        """,
        vision="import torchvision\n",
    )
    names = ["leave.py", "broken.py", "missing.py", "nested.py", "vision.py"]
    leave, broken, missing, nested, vision, module, nonsense = run_each(
        [*(["run", name] for name in names), ["run", "-m", "missing"], ["nonsense"]], tmp_path
    )
    assert leave[0] == 7
    assert (
        broken[0] == 1
        and broken[2].startswith('  File "')
        and "SyntaxError" in broken[2]
        and "penlight" not in broken[2]
    )
    assert missing[0] == 2 and "can't open file" in missing[2]
    assert module[0] == 1 and module[2] == "penlight: No module named missing\n"
    assert nonsense[0] == 2 and "no command 'nonsense'" in nonsense[2]

    # A traceback starts at the program's own code, without frames of Penlight's above or between.
    lines = nested[2].splitlines()
    assert nested[0] == 1 and lines[0] == "Traceback (most recent call last):" and "nested.py" in lines[1]
    assert lines[-1] == "RuntimeError: wrong shapes"
    assert not any("penlight/_run" in line or "runpy" in line or "__main__.py" in line for line in lines)
    lines = vision[2].splitlines()
    assert len([line for line in lines if line.startswith("  File")]) == 1
    assert lines[-1].startswith(
        "ModuleNotFoundError: No module named 'torchvision'. Penlight replaces only torch, and torchvision needs PyTorch's C++ library. "
        "Its Python part runs here: pip install --no-deps torchvision pillow"
    )


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_interrupt_ends_with_130(tmp_path):
    write(
        tmp_path, script="import os, signal, torch\nos.kill(os.getpid(), signal.SIGINT)\nimport time; time.sleep(60)\n"
    )
    error = run(
        "run",
        "script.py",
        cwd=tmp_path,
        code=130,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )[1]
    assert error.rstrip().endswith("KeyboardInterrupt") and "penlight/_run" not in error


def test_started_processes_have_the_name_too(tmp_path):
    write(
        tmp_path,
        script="""
        import sys
        import torch
        import torch.multiprocessing as mp
        from torch.utils.data import DataLoader, Dataset

        class Squares(Dataset):
            def __len__(self):
                return 4
            def __getitem__(self, i):
                import torch.nn
                return torch.tensor(i * i)

        def answer(queue):
            import torch.optim
            queue.put((torch.__name__, torch.ones(2).sum().item()))

        if __name__ == "__main__":
            for method in sys.argv[1:]:
                context = mp.get_context(method)
                queue = context.Queue()
                process = context.Process(target=answer, args=(queue,))
                process.start()
                print(method, queue.get(timeout=300))
                process.join()
                loader = DataLoader(Squares(), batch_size=2, num_workers=1, multiprocessing_context=method)
                print([batch.tolist() for batch in loader])
        """,
    )
    methods = [m for m in ("fork", "spawn", "forkserver") if m in __import__("multiprocessing").get_all_start_methods()]
    lines = run("run", "script.py", *methods, cwd=tmp_path)[0].splitlines()
    assert lines == [line for m in methods for line in (f"{m} ('torch', 2.0)", "[[0, 1], [4, 9]]")]


def test_install_and_uninstall_in_this_process():
    from penlight import _run

    if "torch" in sys.modules:
        with pytest.raises(ImportError, match="PyTorch itself is imported"):
            _run.install()
        return
    _run.install()
    try:
        import torch.optim

        assert torch is penlight
        _run.install()
        assert sys.meta_path.count(_run._finder) == 1
    finally:
        _run.uninstall()
    assert "torch" not in sys.modules and "torch.optim" not in sys.modules and _run._finder not in sys.meta_path


def test_einops(tmp_path):
    pytest.importorskip("einops")
    write(
        tmp_path,
        script="""
        import torch
        from einops import rearrange, reduce, repeat, einsum
        from einops.layers.torch import Rearrange
        x = torch.arange(24.0).reshape(2, 3, 4).requires_grad_()
        rearrange(x, "b c d -> d (b c)").sum().backward()
        print(x.grad.sum().item(), reduce(x, "b c d -> b", "mean").tolist(), repeat(x, "b c d -> b c d 2").shape)
        print(einsum(x, x, "b c d, b e d -> b c e").shape, torch.nn.Sequential(Rearrange("b c d -> b (c d)"))(x).shape)
        """,
    )
    assert run("run", "script.py", cwd=tmp_path)[0] == (
        "24.0 [5.5, 17.5] torch.Size([2, 3, 4, 2])\ntorch.Size([2, 3, 3]) torch.Size([2, 12])\n"
    )


def test_without_pytorch_an_import_of_torch_says_what_to_do() -> None:
    program = (
        "import importlib.util\n"
        "import penlight as torch\n"
        "from importlib.machinery import PathFinder\n"
        "found = PathFinder.find_spec\n"
        "PathFinder.find_spec = classmethod(lambda cls, name, *more: None if name == 'torch' else found(name, *more))\n"
        "assert importlib.util.find_spec('torch') is None\n"
        "try:\n    import torch\nexcept ImportError as error: print(type(error).__name__)\n"
        "from torch.utils.data import DataLoader\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "ModuleNotFoundError\n", done.stderr
    assert "No module named 'torch'. `import penlight as torch` gives" in done.stderr
    assert "`import penlight.as_torch` first, or run the program with `penlight run`" in done.stderr
