"""`penlight doctor`: what is installed, and whether gradients come out right."""

from __future__ import annotations

import argparse
import os
import platform
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version as installed
from importlib.util import find_spec
from typing import Any

import numpy as np

import penlight as torch
from penlight.__main__ import version
from penlight.autograd import gradcheck, gradgradcheck
from penlight.kernels.executable import llvm_obstacle, obstacle, wrong_products

# The uses of the optional packages.
OPTIONAL = {
    "ml_dtypes": "torch.bfloat16, torch.float8_*, torch.autocast",
    "mpi4py": "torch.distributed with several processes",
    "llvmlite": "machine code where Penlight has none of its own (macOS, Windows, ARM)",
    "scipy": "torch.optimize.minimize, some special functions and decompositions; without machine code, faster special functions",
    "threadpoolctl": "torch.set_num_threads for a BLAS other than OpenBLAS",
    "tensorboard": "torch.utils.tensorboard",
    "matplotlib": "SummaryWriter.add_figure",
    "einops": "works with Penlight's tensors, under `penlight run` or after `import penlight.as_torch`",
}


def blas_of(np: Any) -> str:
    """NumPy's BLAS library, according to NumPy's configuration."""
    try:
        blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    except (KeyError, TypeError):
        return "unknown"
    return f"{blas.get('name', 'unknown')} {blas.get('version', '')}".strip()


def _threads() -> str:
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    found = [f"{name}={os.environ[name]}" for name in names if name in os.environ]
    return ", ".join([f"{torch.get_num_threads()} for one op", *found])


def _backend() -> str:
    reason = obstacle()
    if reason is None:
        return "machine code where it is faster, NumPy for the rest (PENLIGHT_NATIVE=0 leaves all to NumPy)"
    other = llvm_obstacle()
    if other is None:
        return f"machine code of LLVM's for loops, NumPy for the rest; Penlight's own does more, but {reason}"
    llvm = "" if other == reason else f"; or let LLVM write it: {other}"
    scipy = (
        ""
        if find_spec("scipy")
        else "; special functions of few elements are faster with pip install 'penlight[scipy]'"
    )
    return f"NumPy for everything, without machine code: {reason}{llvm}{scipy}"


def _version(name: str) -> str | None:
    try:
        return installed(name)
    except PackageNotFoundError:
        return None if find_spec(name) is None else "(version unknown)"


def _row(name: str, text: str) -> None:
    print(f"  {name:<18}{text}")


def show_versions() -> None:
    """Print the versions and settings of everything that computes."""
    print(version())
    _row("Python", f"{platform.python_version()} ({platform.python_implementation()}, {sys.executable})")
    _row("system", platform.platform())
    _row(
        "processor",
        f"{os.cpu_count()} x {platform.processor() or platform.machine()}, vectors: {torch.backends.cpu.get_cpu_capability()}",
    )
    _row("NumPy", np.__version__)
    _row("BLAS", blas_of(np))
    _row("threads", _threads())
    _row("backend", _backend())
    print("\noptional packages")
    for name, use in OPTIONAL.items():
        found = _version(name)
        _row(name, f"{found or 'not installed'}: {use}")
    real = _version("torch")
    if real is not None:
        _row("torch", f"{real}: PyTorch itself is installed; Penlight does not use it")


# ----- Self-test ------------------------------------------------------------------------------------------------------


def _leaf(*shape: int) -> Any:
    return torch.rand(shape, dtype=torch.float64, requires_grad=True)


def _checks() -> dict[str, Callable[[], None]]:
    """The checks by name; each raises an error if a gradient is wrong."""

    def arithmetic() -> None:
        gradcheck(lambda a, b: (a * b).exp().sum(0) / (1 + b.sin()), (_leaf(3, 1), _leaf(2)))

    def products() -> None:
        if reason := wrong_products():
            raise RuntimeError(reason)
        gradcheck(lambda a, b, c: (a @ b + c).softmax(-1), (_leaf(2, 3), _leaf(3, 4), _leaf(4)))

    def second_order() -> None:
        gradgradcheck(lambda a: (a**3).sum() * a.log(), (_leaf(3),))

    def views() -> None:
        def write(a: Any) -> Any:
            b = a.clone()
            b[1:] *= a[:-1]
            return b.t().reshape(-1).cumsum(0)

        gradcheck(write, (_leaf(3, 2),))

    def convolution() -> None:
        functional = torch.nn.functional
        gradcheck(
            lambda x, w: functional.max_pool2d(functional.conv2d(x, w, padding=1), 2),
            (_leaf(1, 2, 4, 4), _leaf(3, 2, 3, 3)),
        )

    def large() -> None:
        def gradient(dtype: Any) -> Any:
            torch.manual_seed(0)
            x = torch.rand(512, 256, dtype=torch.float64).to(dtype).requires_grad_()
            y = torch.nn.functional.gelu(torch.nn.functional.layer_norm(x, (256,)))
            (y.softmax(-1) * y).sum().backward()
            return x.grad

        torch.testing.assert_close(gradient(torch.float32).double(), gradient(torch.float64), rtol=1e-3, atol=1e-5)

    def training() -> None:
        torch.manual_seed(0)
        x = torch.rand(64, 1)
        layer = torch.nn.Linear(1, 1)
        optimizer = torch.optim.SGD(layer.parameters(), lr=0.5)
        for _ in range(200):
            optimizer.zero_grad()
            ((layer(x) - (3 * x + 1)) ** 2).mean().backward()
            optimizer.step()
        if abs(layer.weight.item() - 3) > 0.01 or abs(layer.bias.item() - 1) > 0.01:
            raise RuntimeError(
                f"a linear fit ended at {layer.weight.item():.3f} x + {layer.bias.item():.3f}, not at 3 x + 1"
            )

    return {
        "arithmetic": arithmetic, "matrix products": products, "second order": second_order, "views and writes": views,
        "convolution": convolution, "large arrays": large, "training": training,
    }  # fmt: skip


def self_test() -> bool:
    """Compare gradients with finite differences, and fit a line; returns whether all results are right."""
    print("\nself-test of gradients")
    good = True
    try:
        checks = _checks()
    except Exception as error:
        checks = {}
        good = False
        _row("FAILED", f"Penlight cannot be imported: {type(error).__name__}: {error}")
    for name, check in checks.items():
        try:
            check()
        except Exception as error:
            good = False
            _row(name, f"FAILED: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}")
        else:
            _row(name, "ok")
    return good


def main(arguments: Sequence[str]) -> int:
    """Show the versions and run the self-test; returns the exit code, 1 if the self-test fails."""
    parser = argparse.ArgumentParser(
        "penlight doctor", description="Show what is installed, and test whether gradients come out right."
    )
    parser.parse_args(arguments)
    show_versions()
    good = self_test()
    print("\nall is well" if good else "\nsomething is wrong: please report the above")
    return 0 if good else 1
