"""Types, limits of dtypes, legacy constructors, settings; with PyTorch's answers where it is installed."""

from __future__ import annotations

import pytest

import penlight

QUESTIONS = [
    "repr(torch.finfo(torch.float32))", "repr(torch.finfo(torch.float64))", "repr(torch.finfo(torch.float16))", "repr(torch.finfo(torch.bfloat16))",
    "repr(torch.finfo())", "repr(torch.finfo(torch.complex64))", "repr(torch.iinfo(torch.int8))", "repr(torch.iinfo(torch.uint8))",
    "torch.iinfo(torch.int64).max", "torch.finfo(torch.float32).tiny", "torch.finfo(torch.float32).bits", "torch.finfo(torch.float64).eps",
    "torch.finfo(torch.int32)", "torch.iinfo(torch.float32)", "torch.finfo(torch.float32) == torch.finfo(torch.float32)",
    "repr(torch.FloatTensor)", "torch.FloatTensor.__module__", "repr(torch.FloatTensor.dtype)", "repr(type(torch.FloatTensor))",
    "torch.FloatTensor(2, 3).shape", "torch.FloatTensor([1, 2]).tolist()", "torch.LongTensor([1.5, 2]).tolist()", "torch.FloatTensor((2, 3)).tolist()",
    "torch.FloatTensor(torch.Size([2, 3])).shape", "torch.FloatTensor(2.5)", "torch.FloatTensor('a')", "torch.FloatTensor().shape",
    "torch.FloatTensor(size=(2,)).shape", "torch.ByteTensor(3).dtype is torch.uint8", "torch.HalfTensor(2).dtype is torch.float16",
    "isinstance(torch.zeros(1), torch.FloatTensor)", "isinstance(torch.zeros(1), torch.LongTensor)", "isinstance(torch.zeros(1).long(), torch.LongTensor)",
    "issubclass(torch.FloatTensor, torch.Tensor)", "torch.zeros(2).type(torch.LongTensor).dtype is torch.int64", "torch.zeros(1).type()",
    "torch.typename(torch.zeros(1))", "torch.typename([])", "torch.typename('a')", "torch.typename(torch.FloatTensor)",
    "torch.is_tensor(torch.zeros(1)), torch.is_tensor([])", "torch.is_floating_point(torch.zeros(1))", "torch.is_floating_point([])",
    "torch.is_complex(torch.zeros(1))", "torch.is_signed(torch.zeros(1).byte())", "torch.numel(torch.zeros(2, 3))", "torch.numel([1])",
    "torch.is_storage(torch.zeros(1).untyped_storage())", "str(torch.result_type(torch.zeros(1), 1.0))", "str(torch.result_type(torch.tensor([1]), 1.5))",
    "str(torch.result_type(1, 2.0))", "torch.get_device(torch.zeros(1))", "repr(torch.get_default_device())", "torch.set_default_device('cpu')",
    "torch.set_default_tensor_type(torch.LongTensor)", "torch.set_default_tensor_type(torch.FloatTensor)", "torch.is_nonzero(torch.tensor([]))",
    "torch.get_float32_matmul_precision()", "torch.set_num_threads(0)", "torch.are_deterministic_algorithms_enabled()",
    "torch.set_deterministic_debug_mode('foo')", "torch.get_deterministic_debug_mode()", "torch.is_warn_always_enabled()",
]  # fmt: skip


def answer(lib, question: str) -> str:
    try:
        return repr(eval(question, {"torch": lib}))
    except Exception as error:
        return f"{type(error).__name__}: {error}"


@pytest.mark.parity
@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.filterwarnings("ignore")
def test_same_answer_as_pytorch(question):
    torch = pytest.importorskip("torch")
    assert answer(penlight, question) == answer(torch, question)


def test_limits():
    info = penlight.finfo(penlight.float32)
    assert (info.eps, info.bits, info.dtype) == (2.0**-23, 32, "float32")
    assert penlight.iinfo(penlight.int16).min == -32768


def test_legacy_types():
    x = penlight.LongTensor([1, 2])
    assert x.dtype is penlight.int64 and isinstance(x, penlight.LongTensor) and not isinstance(x, penlight.FloatTensor)
    with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"):
        penlight.set_default_tensor_type("torch.cuda.FloatTensor")


def test_default_tensor_type_sets_the_dtype():
    penlight.set_default_tensor_type("torch.DoubleTensor")
    try:
        assert penlight.zeros(1).dtype is penlight.float64
    finally:
        penlight.set_default_tensor_type(penlight.FloatTensor)
    assert penlight.zeros(1).dtype is penlight.float32


def test_other_devices_are_refused():
    with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"):
        penlight.set_default_device("cuda")
    assert penlight.get_default_device() == penlight.device("cpu")


def test_settings_are_remembered():
    penlight.use_deterministic_algorithms(True, warn_only=True)
    assert penlight.are_deterministic_algorithms_enabled() and penlight.is_deterministic_algorithms_warn_only_enabled()
    penlight.use_deterministic_algorithms(False)
    assert not penlight.are_deterministic_algorithms_enabled()
    with pytest.warns(UserWarning, match="is not one of 'highest', 'high', or 'medium'"):
        penlight.set_float32_matmul_precision("foo")
    assert penlight.get_num_threads() >= 1


def test_coverage_runs():
    from penlight import coverage

    found = coverage.survey()
    assert len(found["torch"]["present"]) > 600 and "exp" in found["Tensor"]["present"]
    assert "Names of PyTorch" in coverage.report(found)
