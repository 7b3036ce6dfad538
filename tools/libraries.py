"""Runs the own tests of libraries that are built on PyTorch, once on PyTorch and once on Penlight, and writes a table of docs/conformance.md.

    python tools/libraries.py einops zuko    # these libraries; without names, all of the list
    python tools/libraries.py --table        # only the table, from the runs so far; rows of libraries that were not run stay
    python tools/libraries.py --seconds 60 einops

The tests come from the source distribution on PyPI, or from the repository where that holds none. They run in one environment, /tmp/libraries/environment, which sees the packages of the Python
that started this (PyTorch among them). This file is also the plugin by which pytest writes each outcome down as soon as it is known: what ran
before the time was over counts.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tarfile
import time
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urljoin

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "conformance.md"
BEGIN, END = "<!-- written by tools/libraries.py -->", "<!-- until here -->"
PLACE = Path("/tmp/libraries")
ENVIRONMENT = PLACE / "environment"
SIDES = {"PyTorch": ["-m", "pytest"], "Penlight": ["-m", "penlight", "run", "-m", "pytest"]}
SAME = ("numpy", "scipy", "torch", "pytest", "llvmlite", "ml_dtypes")  # no library may bring other versions of these


class Library(NamedTuple):
    name: str
    version: str
    tests: str  # arguments of pytest, in the unpacked source distribution
    needs: str = ""  # packages that only the tests need
    settings: Mapping[str, str] = {}  # of the environment
    why: str = ""  # why tests that pass on PyTorch do not pass on Penlight
    repository: str = ""  # its address and the tag, if the source distribution has no tests


LIBRARIES = [
    Library("einops", "0.8.2", "einops/tests", "parameterized", {"EINOPS_TEST_BACKENDS": "numpy,torch"}),
    Library("zuko", "1.6.0", "tests"),
    Library("ema-pytorch", "0.8.3", "tests"),
    Library("local-attention", "1.11.2", "tests"),
    Library("unfoldNd", "0.2.3", "test"),
    Library("roma", "1.8.0", "test"),
    Library("torch-struct", "0.5", "torch_struct"),
    Library("auraloss", "0.4.0", "tests", "librosa"),
    Library("egnn-pytorch", "0.2.8", "tests"),
    Library("pytorch-warmup", "0.2.0", "test"),
    Library("julius", "0.2.8", "tests"),
    Library("pytorch-seed", "0.2.0", "tests"),
    Library("torch-kmeans", "0.2.0", "tests", why="two centres coincide: last bits decide"),
    Library("torch-pca", "1.1.0", "tests", "pytest-check scikit-learn"),
    Library("pytorch-kinematics", "0.10.0", "tests"),
    Library("blitz-bayesian-pytorch", "0.2.8", "blitz"),
    Library("cooper-optim", "1.0.1", "tests"),
    Library("torchkbnufft", "1.5.2", "tests", why="took longer than 60 s"),
    Library("xitorch", "0.5.1", "xitorch/_tests"),
    Library("nflows", "0.14", "tests", "torchtestcase", why="draws without a seed: fails at times on PyTorch too"),
    Library("normflows", "1.7.3", "normflows"),
    Library("torch-optimizer", "0.3.0", "tests"),
    Library("schedulefree", "1.4.1", "schedulefree"),
    Library("torchsde", "0.2.6", "tests", why="took longer than 60 s"),
    Library("linear_operator", "0.6.1", "test/functions test/utils"),
    Library("gpytorch", "1.15.2", "test/means test/distributions test/constraints test/priors test/kernels test/likelihoods test/mlls test/variational test/functions test/utils", why="softplus in float32 to seven places: last bits decide"),
    Library("e3nn", "0.6.0", "tests", why="a failed assertion in a scripted function is no `torch.jit.Error`"),
    Library("opt_einsum", "3.4.0", "opt_einsum/tests"),
    Library("array-api-compat", "1.16.0", "tests", why="`import *` takes modules of Penlight's own along"),
    Library("skorch", "1.4.0", "skorch/tests/test_net.py skorch/tests/test_classifier.py skorch/tests/test_regressor.py skorch/tests/test_utils.py skorch/tests/test_dataset.py", "flaky pandas", why="`dynamo_ctx` of a compiled module; pickled tensors do not call `torch.load`"),
    Library("funsor", "0.4.8", "test", settings={"FUNSOR_BACKEND": "torch"}),
    Library("torchopt", "0.7.3", "tests"),
    Library("opacus", "1.6.0", "opacus/tests", "hypothesis"),
    Library("fft-conv-pytorch", "1.2.0", "tests"),
    Library("tntorch", "1.1.2", "tests"),
    Library("lampe", "0.9.0", "tests"),
    Library("glasflow", "0.4.1", "tests", why="float32 to six places: last bits decide"),
    Library("torch-fourier-shift", "0.6.0", "tests"),
    Library("torch-fourier-filter", "0.6.0", "tests"),
    Library("torch-fourier-slice", "0.6.0", "tests"),
    Library("torch-cubic-spline-grids", "0.6.0", "tests"),
    Library("safetensors", "0.8.0", "bindings/python/tests/test_pt_comparison.py bindings/python/tests/test_pt_model.py bindings/python/tests/test_simple.py"),
    Library("optree", "0.20.0", "tests/integrations/test_torch.py"),
    Library("ptwt", "1.0.1", "tests"),
    Library("tensorly", "0.10.0", "tensorly/tests tensorly/tenalg tensorly/metrics", settings={"TENSORLY_BACKEND": "pytorch"}),
    Library("tensorly-torch", "0.5.0", "tltorch", why="float32 to six places: last bits decide"),
    Library("stable_baselines3", "2.9.2", "tests/test_distributions.py tests/test_buffers.py tests/test_preprocessing.py tests/test_utils.py tests/test_vec_normalize.py tests/test_gae.py"),
    Library("keras", "3.15.1", "keras/src/activations keras/src/initializers keras/src/losses keras/src/ops/nn_test.py", settings={"KERAS_BACKEND": "torch"}),
    Library("neurodiffeq", "0.7.0", "tests/test_conditions.py tests/test_networks.py tests/test_operators_cartesian.py tests/test_generators.py tests/test_losses.py"),
    Library("nessai", "0.15.2", "tests/test_flows"),
    Library("curvlinops-for-pytorch", "3.0.1", "test/test_utils.py test/trace test/diagonal test/norm"),
    Library("torch-ctf", "0.6.0", "tests"),
    Library("torch-find-peaks", "0.6.0", "tests"),
    Library("torch-image-interpolation", "0.6.0", "tests"),
    Library("torch-affine-utils", "0.6.0", "tests", "scipy"),
    Library("torch-subpixel-crop", "0.6.0", "tests"),
    Library("torch-transform-image", "0.6.0", "tests"),
    Library("torch-fourier-rescale", "0.6.0", "tests"),
    Library("pytorch-revgrad", "0.2.0", "tests"),
    Library("poutyne", "1.19.0", "tests/framework/metrics"),
    Library("POT", "0.9.7.post1", "test/test_gaussian.py test/test_backend.py"),
    Library("botorch", "0.15.1", "test/posteriors test/sampling test/exceptions test/generation test/models test/utils", repository="https://github.com/pytorch/botorch v0.15.1"),
    Library("kornia", "0.9.0rc1", "tests/color tests/core tests/enhance tests/filters tests/losses tests/metrics tests/morphology", repository="https://github.com/kornia/kornia v0.9.0rc1"),
    Library("torch_geometric", "2.8.0.post1", "test/test_edge_index.py test/test_index.py test/nn/aggr test/nn/conv test/nn/dense test/nn/norm test/nn/pool test/utils test/transforms", why="TorchScript, `_dynamo.explain`; strided nested tensors; parts of torch.fx's tracer; what workers of a DataLoader send is not in shared memory", repository="https://github.com/pyg-team/pytorch_geometric 2.8.0.post1"),
    Library("pyro-ppl", "1.9.1", "tests/distributions tests/ops tests/params tests/poutine tests/nn tests/optim", repository="https://github.com/pyro-ppl/pyro 1.9.1"),
    Library("transformers", "5.15.1", "tests/generation/test_logits_process.py tests/generation/test_stopping_criteria.py tests/models/gpt2/test_modeling_gpt2.py tests/models/llama/test_modeling_llama.py tests/models/t5/test_modeling_t5.py", "parameterized datasets", repository="https://github.com/huggingface/transformers v5.15.1"),
    Library("pytorch_optimizer", "4.1.0", "tests/test_loss_functions.py tests/test_lr_schedulers.py"),
]  # fmt: skip


# ----- As a plugin of pytest --------------------------------------------------------------------------------------------


def pytest_runtest_logreport(report: Any) -> None:
    """Write an outcome down: the test, whether it passed, failed or was skipped, and the last line of an error."""
    if report.when != "call" and report.passed:
        return
    crash = getattr(report.longrepr, "reprcrash", None)
    _write(report.nodeid, report.outcome, crash.message if crash else "")


def pytest_collectreport(report: Any) -> None:
    if report.failed:
        _write(report.nodeid, "failed", str(report.longrepr).strip().splitlines()[-1])


def _write(test: str, outcome: str, message: str) -> None:
    with open(os.environ["OUTCOMES"], "a") as file:
        file.write(json.dumps([test, outcome, message]) + "\n")


# ----- The environment --------------------------------------------------------------------------------------------------


def make_environment() -> None:
    if ENVIRONMENT.exists():
        return
    subprocess.run([sys.executable, "-m", "venv", ENVIRONMENT], check=True)
    packages = next(ENVIRONMENT.glob("lib/python*/site-packages"))
    (packages / "beneath.pth").write_text("\n".join(p for p in sys.path if p.endswith("site-packages")))
    install("pytest-timeout")


def install(*packages: str) -> None:
    from importlib.metadata import version

    constraints = PLACE / "constraints.txt"
    constraints.write_text("".join(f"{name}=={version(name)}\n" for name in SAME))
    command = [ENVIRONMENT / "bin" / "python", "-m", "pip", "install", "-q", "-c", constraints, *packages]
    subprocess.run(command, check=True)


def unpacked(library: Library) -> Path:
    """The folder of a library's source distribution or repository, without the library itself, which is installed."""
    place = PLACE / "sources" / library.name
    if not place.exists() and library.repository:
        address, tag = library.repository.split()
        command = ["git", "-c", "advice.detachedHead=false", "clone", "-q", "--depth", "1", "--branch", tag, address]
        subprocess.run([*command, place / library.name], check=True)
    elif not place.exists():
        with urllib.request.urlopen(f"https://pypi.org/pypi/{library.name}/json") as answer:
            files = json.load(answer)["releases"][library.version]
        address = next(file["url"] for file in files if file["packagetype"] == "sdist")
        answer = urllib.request.urlopen(urljoin(f"https://pypi.org/simple/{library.name}/", address))
        with answer, tarfile.open(fileobj=answer, mode="r|gz") as archive:
            archive.extractall(place, filter="data")
    folder = next(path for path in place.iterdir() if path.is_dir())
    (folder / "__init__.py").unlink(missing_ok=True)
    for inside in folder.glob("*/__init__.py"):
        installed = next(ENVIRONMENT.glob("lib/python*/site-packages")) / inside.parent.name
        if installed.exists() and inside.parent.name not in library.tests:
            shutil.rmtree(inside.parent)
    return folder


# ----- The runs ---------------------------------------------------------------------------------------------------------


def run(library: Library, seconds: float) -> None:
    """Run a library's tests on both sides at the same time; the outcomes stay in a file for each side."""
    install(f"{library.name}=={library.version}", *library.needs.split())
    folder = unpacked(library)
    running = []
    for side, start in SIDES.items():
        outcomes = outcomes_of(library, side)
        outcomes.parent.mkdir(parents=True, exist_ok=True)
        outcomes.write_text("")
        paths = os.pathsep.join([str(ROOT / "src"), str(ROOT / "tools")])
        command = [ENVIRONMENT / "bin" / "python", *start, "-p", "libraries", "-p", "no:cacheprovider", "-q"]
        command += ["-o", "addopts=", "--timeout", "60", "--continue-on-collection-errors", *library.tests.split()]
        with open(outcomes.with_suffix(".log"), "w") as log:
            surroundings = {**os.environ, **library.settings, "PYTHONPATH": paths, "OUTCOMES": str(outcomes)}
            surroundings["OMP_NUM_THREADS"] = "1"  # threads of two processes hold each other up
            running.append(
                subprocess.Popen(
                    command, cwd=folder, env=surroundings, stdout=log, stderr=log, stdin=subprocess.DEVNULL
                )
            )
    end = time.monotonic() + seconds
    for process in running:
        try:
            process.wait(max(0.0, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()


def outcomes_of(library: Library, side: str) -> Path:
    return PLACE / "outcomes" / side / f"{library.name}.jsonl"


class Count(NamedTuple):
    passed: int  # on PyTorch, of the tests that came to an end on both
    also: int  # of these, on Penlight
    errors: dict[str, str]  # of the others
    unfinished: int  # tests that passed on PyTorch, and were not reached on Penlight in the time


def count(library: Library) -> Count | None:
    files = [outcomes_of(library, side) for side in SIDES]
    if not all(file.exists() for file in files):
        return None
    theirs, ours = (
        {test: (outcome, message) for test, outcome, message in map(json.loads, file.read_text().splitlines())}
        for file in files
    )
    passed = {test for test, (outcome, _) in theirs.items() if outcome == "passed"}
    for test in passed - ours.keys():
        if (file := test.partition("::")[0]) in ours:  # it could not be imported
            ours[test] = ours[file]
    both = passed & ours.keys()
    errors = {test: ours[test][1] for test in both if ours[test][0] != "passed"}
    return Count(len(both), len(both) - len(errors), errors, len(passed - both))


def table() -> str:
    lines = ["| library | tests | passed on PyTorch | of these on Penlight | why not |", "|---|---|---|---|---|"]
    before = {line.split("|")[1].strip(): line for line in PAGE.read_text().splitlines() if line.count("|") == 6}
    sums = [0, 0]
    for library in sorted(LIBRARIES, key=lambda library: library.name.lower()):
        name = f"{library.name} {library.version}"
        tests = " ".join(f"`{part}`" for part in library.tests.split())
        if (counted := count(library)) and counted.passed:
            row = f"| {name} | {tests} | {counted.passed} | {counted.also} | {library.why} |"
        elif not (row := before.get(name, "")):  # run on another machine
            continue
        lines.append(row)
        passed, also = row.split("|")[3:5]
        sums[0] += int(passed)
        sums[1] += int(also)
    lines.append(f"| {len(lines) - 2} libraries | | {sums[0]} | {sums[1]} | |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="libraries; all of them, if none is named")
    parser.add_argument("--table", action="store_true", help="write the table, run nothing")
    parser.add_argument("--seconds", type=float, default=180, help="the most that the tests of one library may take")
    options = parser.parse_args()
    if options.table:
        before, _, rest = PAGE.read_text().partition(BEGIN)
        PAGE.write_text(f"{before}{BEGIN}\n\n{table()}\n\n{END}{rest.partition(END)[2]}")
        return
    make_environment()
    for library in LIBRARIES:
        if options.names and library.name not in options.names:
            continue
        try:
            run(library, options.seconds)
        except subprocess.CalledProcessError as error:
            print(f"{library.name}: not installed: {error}")
            continue
        counted = count(library)
        print(f"{library.name}: {counted.also} of {counted.passed}, {counted.unfinished} not reached", flush=True)
        for test, error in sorted(counted.errors.items()):
            print(f"    {test}: {' '.join(error.split())[:300]}")


if __name__ == "__main__":
    main()
