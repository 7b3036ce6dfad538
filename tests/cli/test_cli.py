"""The commands of `penlight`."""

from __future__ import annotations

import io
import mmap
import os
import subprocess
import sys
import xml.etree.ElementTree as xml
from types import SimpleNamespace

import pytest

import penlight as torch
from penlight.__main__ import main
from penlight._cli import demo, digits, doctor
from penlight._cli.svg import line_chart, nice_steps
from penlight.kernels import executable as machine_code


def test_help_and_version(capsys):
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert all(command in shown for command in ("run", "demo", "doctor"))
    assert main([]) == 0 and main(["--version"]) == 0
    assert "behaves like PyTorch 2.13.0" in capsys.readouterr().out
    assert main(["nonsense"]) == 2
    for command in ("demo", "doctor"):
        with pytest.raises(SystemExit) as end:
            main([command, "--help"])
        assert end.value.code == 0


def test_digits():
    images, labels = digits.load()
    assert images.shape == (1797, 1, 8, 8) and images.min() == 0 and images.max() == 1
    assert labels.bincount().tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
    assert (images[0, 0] * 16).long()[1].tolist() == [0, 0, 13, 15, 10, 15, 5, 0]


def test_demo_learns_and_draws(tmp_path, capsys):
    assert main(["demo", "--epochs", "4", "--out", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    lines = [line for line in shown.splitlines() if line.startswith("epoch")]
    assert len(lines) == 4 and "\r" not in shown  # no terminal: plain lines
    accuracy = float(lines[-1].split("digits")[1].split("%")[0])
    assert accuracy > 85
    chart = xml.parse(tmp_path / "loss.svg").getroot()
    assert len([e for e in chart.iter() if e.tag.endswith("polyline")]) == 2
    assert str(tmp_path / "loss.svg") in shown and "read as" in shown
    for graph in (tmp_path / "graph.svg", tmp_path / "graph.html"):
        assert "AddmmBackward0" in graph.read_text() and str(graph) in shown


def test_demo_is_reproducible():
    def losses():
        torch.manual_seed(3)
        images, labels = digits.load()
        return demo.train(demo.make_network(), images[:1600], labels[:1600], 1, io.StringIO())["while learning"]

    assert losses() == losses()


def test_demo_on_a_terminal_writes_over_its_line():
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    out = Terminal()
    progress = demo.Progress(2, 4, out)
    progress.step(0, 2, 1.25)
    assert out.getvalue() == f"\repoch  1/2 [{'█' * 6:<24}]  25%  loss 1.250"
    progress.epoch(0, 1.0, 0.5)
    assert out.getvalue().endswith("\n") and "50.0%" in out.getvalue()


@pytest.mark.parametrize("command", [["doctor"], ["demo", "--epochs", "1"]])
def test_a_reader_that_leaves_and_an_ascii_terminal(command, tmp_path):
    """`penlight demo | head -1` ends quietly, and nothing is written that the output can't take."""
    more = ["--out", str(tmp_path)] if command[0] == "demo" else []
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen(
        [sys.executable, "-m", "penlight", *command, *more],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment,
    )  # fmt: skip
    assert process.stdout is not None and process.stderr is not None
    assert process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == b""
    process.wait()


def test_demo_stops_cleanly(tmp_path, capsys, monkeypatch):
    def interrupted(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(demo, "train", interrupted)
    assert main(["demo", "--out", str(tmp_path)]) == 130
    assert capsys.readouterr().err == "\nstopped\n"


def test_demo_refuses_what_it_cannot_do(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert main(["demo", "--out", str(tmp_path / "file")]) == 1
    assert "cannot write to" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["demo", "--epochs", "0"])


def test_doctor(capsys):
    assert main(["doctor"]) == 0
    shown = capsys.readouterr().out
    assert "all is well" in shown and "NumPy" in shown and "BLAS" in shown and "FAILED" not in shown


@pytest.mark.parametrize(
    ("system", "machine", "maxsize", "words"),
    [
        ("darwin", "arm64", 2**63 - 1, "it needs Linux on x86-64, and this is Darwin on arm64"),
        (
            "win32",
            "AMD64",
            2**63 - 1,
            "this is Windows on AMD64, so install the Windows Subsystem for Linux (wsl --install)",
        ),
        ("linux", "aarch64", 2**63 - 1, "it needs Linux on x86-64, and this is Linux on aarch64"),
        ("emscripten", "wasm32", 2**31 - 1, "programs in WebAssembly cannot write any"),
        ("linux", "i686", 2**31 - 1, "it needs a 64 bit Python, and this one has 32; install another"),
    ],
)
def test_doctor_says_why_there_is_no_machine_code(system, machine, maxsize, words, monkeypatch):
    names = {"darwin": "Darwin", "win32": "Windows", "linux": "Linux", "emscripten": "Emscripten"}
    monkeypatch.delenv("PENLIGHT_NATIVE", raising=False)
    monkeypatch.setattr(
        machine_code, "sys", SimpleNamespace(platform=system, maxsize=maxsize, implementation=sys.implementation)
    )
    monkeypatch.setattr(
        machine_code, "platform", SimpleNamespace(machine=lambda: machine, system=lambda: names[system])
    )
    monkeypatch.setattr(doctor, "llvm_obstacle", lambda: "it needs llvmlite")
    monkeypatch.setattr(doctor, "find_spec", lambda name: name)
    reason = machine_code.obstacle()
    assert (
        doctor._backend()
        == f"NumPy for everything, without machine code: {reason}; or let LLVM write it: it needs llvmlite"
    )
    assert words in doctor._backend()
    monkeypatch.setattr(doctor, "find_spec", lambda name: None)
    assert doctor._backend().endswith(
        "it needs llvmlite; special functions of few elements are faster with pip install 'penlight[scipy]'"
    )
    monkeypatch.setattr(doctor, "llvm_obstacle", lambda: None)
    assert (
        doctor._backend()
        == f"machine code of LLVM's for loops, NumPy for the rest; Penlight's own does more, but {reason}"
    )


def test_doctor_knows_the_switch_and_the_processor(monkeypatch):
    monkeypatch.setenv("PENLIGHT_NATIVE", "0")
    monkeypatch.setattr(doctor, "find_spec", lambda name: name)
    assert doctor._backend().endswith("PENLIGHT_NATIVE=0 turns it off; unset it")
    monkeypatch.delenv("PENLIGHT_NATIVE")
    if machine_code.obstacle() is None:
        assert doctor._backend().startswith("machine code where it is faster")
        monkeypatch.setattr(doctor, "llvm_obstacle", machine_code.obstacle)
        monkeypatch.setattr(machine_code, "_NEEDED", ("AVX2", "AVX9"))
        assert doctor._backend().endswith("it needs a processor with AVX2, AVX9, and this one lacks AVX9")
        monkeypatch.setattr(machine_code, "_NEEDED", ())
        monkeypatch.setattr(machine_code, "_trial", lambda: False)
        assert "the system refuses executable memory" in doctor._backend()


def test_doctor_says_once_that_executable_memory_is_refused(monkeypatch):
    def refused(*arguments, **options):
        raise OSError

    monkeypatch.delenv("PENLIGHT_NATIVE", raising=False)
    monkeypatch.setattr(doctor, "obstacle", lambda: machine_code._REFUSED)
    monkeypatch.setitem(sys.modules, "llvmlite", SimpleNamespace(__version__="0.50.0"))
    monkeypatch.setattr(mmap, "mmap", refused)
    monkeypatch.setattr(machine_code, "_python_obstacle", lambda: None)
    assert doctor._backend().count("refuses executable memory") == 1


def test_doctor_finds_a_wrong_gradient(capsys, monkeypatch):
    def wrong():
        raise RuntimeError("Jacobian mismatch\nmore")

    monkeypatch.setattr(doctor, "_checks", lambda: {"arithmetic": wrong})
    assert not doctor.self_test()
    assert "FAILED: RuntimeError: Jacobian mismatch\n" in capsys.readouterr().out


def test_line_chart():
    chart = xml.fromstring(line_chart("A < B", "x", "y", {"one": [(0, 1.0), (1, float("nan")), (2, 3.0)], "none": []}))
    lines = [e for e in chart.iter() if e.tag.endswith("polyline")]
    assert len(lines[0].attrib["points"].split()) == 2
    assert nice_steps(0, 2.3) == [0.0, 0.5, 1.0, 1.5, 2.0] and nice_steps(0, 20, 8)[:3] == [0.0, 5.0, 10.0]
