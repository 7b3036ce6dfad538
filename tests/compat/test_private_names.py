"""Names of PyTorch's inside that packages import."""

from __future__ import annotations

import subprocess
import sys

import penlight

PROGRAM = """
import penlight.as_torch
import torch
from torch import _VF
from torch._C import Event, Future, Stream, default_generator, finfo, has_mkl, iinfo, _VariableFunctions, _add_docstr, _from_dlpack, _set_grad_enabled
from torch._C import _has_torch_function, _has_torch_function_unary, _has_torch_function_variadic, _len_torch_function_stack, _to_dlpack
from torch._C._nn import col2im, flatten_dense_tensors, im2col, unflatten_dense_tensors
from torch._jit_internal import BroadcastingList2, _copy_to_script_wrapper
from torch.multiprocessing.reductions import ForkingPickler
from torch.overrides import _get_current_function_mode, _get_current_function_mode_stack
from torch.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode

x = torch.arange(16.0).view(1, 1, 4, 4)
assert torch.equal(im2col(x, (2, 2), (1, 1), (0, 0), (1, 1)), torch.nn.functional.unfold(x, 2))
assert torch.equal(_VariableFunctions.tanh(x), x.tanh()) and finfo is torch.finfo and default_generator is torch.default_generator
assert _VF.lstm is torch.lstm and _len_torch_function_stack() == 0 and not _has_torch_function((x,))
with torch.overrides.BaseTorchFunctionMode() as mode:
    assert _get_current_function_mode() is mode and _get_current_function_mode_stack() == [mode]
flat = flatten_dense_tensors([x, x])
assert unflatten_dense_tensors(flat, [x, x])[1].shape == x.shape
assert not hasattr(torch._C, "_cuda_init") and _add_docstr(print, "x") is print and _from_dlpack(_to_dlpack(x)).shape == x.shape
"""


def test_they_can_be_imported_and_used():
    subprocess.run([sys.executable, "-c", PROGRAM], check=True)


def test_grad_mode_by_its_inner_name():
    try:
        penlight._C._set_grad_enabled(False)
        assert not penlight.is_grad_enabled()
    finally:
        penlight._C._set_grad_enabled(True)
