"""The functions that PyTorch's files call to make tensors, under PyTorch's names."""

from __future__ import annotations

from pickle import UnpicklingError
from typing import Any

import numpy as np

import penlight
from penlight import dtypes
from penlight._serialization.tensors import tensor_from_array, view_of_storage
from penlight.storage import TypedStorage

from ..kernels.lazy import lazy_import
from ..ops.machinery import subclasses

_meta = lazy_import(globals(), "_meta", "penlight._meta")


def _rebuild_tensor(storage: Any, storage_offset: Any, size: Any, stride: Any) -> Any:
    if not isinstance(storage, TypedStorage):
        raise UnpicklingError(f"a tensor's storage must be a storage, but got {type(storage)}")
    return _view(storage, storage._dtype, storage_offset, _sizes(size), _sizes(stride))


def _sizes(given: Any) -> tuple[Any, ...]:
    if not isinstance(given, (tuple, list)):
        raise UnpicklingError(f"the sizes of a tensor must be a tuple, but got {type(given)}")
    return tuple(given)


def _view(storage: Any, dtype: Any, offset: int, size: Any, stride: Any) -> Any:
    """A view of a storage as a tensor; on the meta device if `map_location` moved the storage there."""
    if dtype in dtypes.FLOAT8:
        return _view(storage, dtypes.uint8, offset, size, stride).view(dtype)
    tensor = tensor_from_array(view_of_storage(storage, dtype, offset, size, stride))
    return tensor.to("meta") if getattr(storage._untyped_storage, "_without_data", False) else tensor


def _rebuild_tensor_v2(
    storage: Any, storage_offset: Any, size: Any, stride: Any, requires_grad: bool, backward_hooks: Any,
    metadata: Any = None,
) -> Any:  # fmt: skip
    tensor = _rebuild_tensor(storage, storage_offset, size, stride)
    return _completed(tensor, requires_grad, metadata)


def _rebuild_tensor_v3(
    storage: Any, storage_offset: Any, size: Any, stride: Any, requires_grad: bool, backward_hooks: Any, dtype: Any,
    metadata: Any = None,
) -> Any:  # fmt: skip
    if not isinstance(storage, TypedStorage) or not isinstance(dtype, penlight.dtype):
        raise UnpicklingError(f"expected a storage and a dtype, but got {type(storage)} and {type(dtype)}")
    return _completed(_view(storage, dtype, storage_offset, _sizes(size), _sizes(stride)), requires_grad, metadata)


def _completed(tensor: Any, requires_grad: bool, metadata: Any) -> Any:
    """Apply a saved tensor's lazy conjugation and negation, and its requires_grad."""
    if metadata is not None and not isinstance(metadata, dict):
        raise UnpicklingError(f"the metadata of a tensor must be a dict, but got {type(metadata)}")
    if metadata and tensor.numel() * tensor.element_size() > tensor.untyped_storage().nbytes():
        raise UnpicklingError("the file has a tensor that is larger than its storage and to be negated")
    if metadata and metadata.get("conj"):
        tensor = tensor.conj().clone()
    if metadata and metadata.get("neg"):
        tensor = tensor.neg()
    return tensor._require_grad_() if requires_grad else tensor


def _rebuild_parameter(data: Any, requires_grad: bool, backward_hooks: Any) -> Any:
    return penlight.nn.Parameter(_tensor(data), bool(requires_grad))


def _rebuild_parameter_with_state(data: Any, requires_grad: bool, backward_hooks: Any, state: Any) -> Any:
    return _with_state(penlight.nn.Parameter(_tensor(data), bool(requires_grad)), state)


def _tensor(data: Any) -> Any:
    if not isinstance(data, penlight.Tensor):
        raise UnpicklingError(f"expected a tensor, but got {type(data)}")
    return data


def _rebuild_from_type_v2(func: Any, new_type: Any, args: Any, state: Any) -> Any:
    if func not in _TENSOR_FUNCTIONS:
        raise UnpicklingError(f"Trying to rebuild a tensor by {func}")
    if not isinstance(new_type, type) or not issubclass(new_type, penlight.Tensor):
        raise UnpicklingError(f"Trying to rebuild a tensor as a {new_type}")
    if func is _rebuild_wrapper_subclass and args[0] is not new_type:
        raise UnpicklingError(f"Trying to rebuild a {args[0]} as a {new_type}")
    made = func(*args)
    if type(made) is not new_type:
        made = made.as_subclass(new_type)
    own_setstate = getattr(new_type, "__setstate__", None)
    if (
        state is not None
        and own_setstate is not None
        and own_setstate is not getattr(penlight.Tensor, "__setstate__", None)
    ):
        made.__setstate__(state)
        return made
    return _with_state(made, state)


def _with_state(tensor: Any, state: Any) -> Any:
    """Set a tensor's saved attributes: a dict, or a pair of dicts, the second for slots."""
    attributes, slots = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
    for given in (attributes, slots):
        if given and (not isinstance(given, dict) or not all(isinstance(name, str) for name in given)):
            raise UnpicklingError(f"the attributes of a tensor must be a dict of names, but got {type(given)}")
    if attributes:
        tensor.__dict__.update(attributes)
    for name, value in (slots or {}).items():
        if not name.startswith("_"):
            setattr(tensor, name, value)
    return tensor


def _get_layout(name: str) -> Any:
    layout = getattr(penlight, name.removeprefix("torch."), None) if isinstance(name, str) else None
    if not isinstance(layout, penlight.layout):
        raise UnpicklingError(f"penlight has no layout {name}")
    return layout


def _refuse(name: str, what: str) -> Any:
    def function(*args: Any, **kwargs: Any) -> Any:
        raise UnpicklingError(f"the file holds {what}, which penlight does not have")

    function.__name__ = function.__qualname__ = name
    return function


_rebuild_qtensor = _refuse("_rebuild_qtensor", "a quantized tensor")
_rebuild_nested_tensor = _refuse("_rebuild_nested_tensor", "a nested tensor")


def _rebuild_wrapper_subclass(
    cls: Any, dtype: Any, size: Any, stride: Any, storage_offset: Any, layout: Any, device: Any, requires_grad: bool
) -> Any:
    if not isinstance(cls, type) or not issubclass(cls, penlight.Tensor):
        raise UnpicklingError(f"Trying to rebuild a tensor as a {cls}")
    return subclasses.wrapper(
        cls, _sizes(size), _sizes(stride), storage_offset, dtype=dtype, layout=layout, device=device,
        requires_grad=requires_grad,
    )  # fmt: skip


def reduce_wrapper(tensor: Any) -> tuple[Any, ...]:
    """The reduction of a wrapper subclass: its description and its attributes."""
    if type(tensor._array) is not subclasses.WrapperOutline:
        tensor._array._refuse()
    described = (type(tensor), tensor.dtype, tuple(tensor.shape), tensor.stride(), tensor.storage_offset(),
                 tensor.layout, tensor.device, tensor.requires_grad)  # fmt: skip
    slots = subclasses.slots_of(tensor)
    state = (dict(tensor.__dict__), slots) if slots else dict(tensor.__dict__)
    return _rebuild_from_type_v2, (_rebuild_wrapper_subclass, type(tensor), described, state)


def _rebuild_sparse_tensor(layout: Any, data: Any) -> Any:
    """Rebuild a sparse tensor. Its indices are always checked, even if the file says that they are valid."""
    if not isinstance(layout, penlight.layout) or layout is penlight.strided or layout is penlight.jagged:
        raise UnpicklingError(f"expected a sparse layout, but got {layout}")
    if not isinstance(data, tuple) or len(data) not in (3, 4):
        raise UnpicklingError(f"expected the parts of a sparse tensor, but got {type(data)}")
    if layout is penlight.sparse_coo:
        indices, values, size, *coalesced = data
        return penlight.sparse_coo_tensor(
            _tensor(indices), _tensor(values), _sizes(size), is_coalesced=coalesced == [True]
        )
    starts, lines, values, size = (*data, None)[:4]
    return penlight.sparse_compressed_tensor(
        _tensor(starts), _tensor(lines), _tensor(values), _sizes(size), layout=layout
    )


_rebuild_sparse_tensor.__module__ = "penlight._utils"  # where PyTorch's files look for it


def _rebuild_meta_tensor_no_storage(dtype: Any, size: Any, stride: Any, requires_grad: bool) -> Any:
    if not isinstance(dtype, penlight.dtype):
        raise UnpicklingError(f"a tensor's dtype must be a dtype, but got {type(dtype)}")
    return _meta.rebuild(dtype, _sizes(size), _sizes(stride), bool(requires_grad))


def _rebuild_device_tensor_from_numpy(data: Any, dtype: Any, device: Any, requires_grad: bool) -> Any:
    if not isinstance(data, np.ndarray) or not isinstance(dtype, penlight.dtype):
        raise UnpicklingError(f"expected an array and a dtype, but got {type(data)} and {type(dtype)}")
    tensor = penlight.from_numpy(data).to(dtype)
    return tensor._require_grad_() if requires_grad else tensor


def _rebuild_device_tensor_from_cpu_tensor(data: Any, dtype: Any, device: Any, requires_grad: bool) -> Any:
    tensor = _tensor(data).to(dtype)
    return tensor._require_grad_() if requires_grad else tensor


_TENSOR_FUNCTIONS = frozenset(
    {
        _rebuild_tensor,
        _rebuild_tensor_v2,
        _rebuild_tensor_v3,
        _rebuild_parameter,
        _rebuild_parameter_with_state,
        _rebuild_wrapper_subclass,
    }
)

# By name in `torch._utils`.
FUNCTIONS = {
    function.__name__: function
    for function in (
        *_TENSOR_FUNCTIONS,
        _rebuild_qtensor,
        _rebuild_sparse_tensor,
        _rebuild_nested_tensor,
        _rebuild_meta_tensor_no_storage,
        _rebuild_device_tensor_from_numpy,
        _rebuild_device_tensor_from_cpu_tensor,
    )
}
