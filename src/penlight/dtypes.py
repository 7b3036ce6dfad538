"""Element types: PyTorch's names and promotion rules over NumPy's dtypes.

>>> import penlight as torch
>>> torch.promote_types(torch.int64, torch.float32)
torch.float32
"""

from __future__ import annotations

from typing import Any

import numpy as np

# A dtype's category decides promotion: a higher category always wins over a lower one.
BOOL, INTEGRAL, FLOATING, COMPLEX = range(4)


class dtype:
    """An element type, such as `torch.float32`. The instances are fixed; compare them with `is` or `==`.

    >>> torch.float32.is_floating_point, torch.float32.itemsize
    (True, 4)
    """

    __slots__ = ("_name", "_np", "category", "itemsize")

    def __init__(self, name: str, np_dtype: np.dtype[Any] | None, category: int, itemsize: int) -> None:
        self._name, self._np, self.category, self.itemsize = name, np_dtype, category, itemsize

    @property
    def np(self) -> np.dtype[Any]:
        """The NumPy dtype of its arrays; bfloat16 needs the `ml_dtypes` package."""
        if self._np is not None:
            return self._np
        if self is bfloat16:
            return _load_bfloat16()
        if self in FLOAT8:
            raise NotImplementedError(f"Penlight only stores {self}: make a tensor in float32, then x.to({self})")
        raise NotImplementedError(
            f"{self} can be named, but Penlight has no tensors of it. Use float16, bfloat16 or float32"
        )

    @property
    def is_floating_point(self) -> bool:
        """Whether numbers are floating point, not complex."""
        return self.category == FLOATING

    @property
    def is_complex(self) -> bool:
        """Whether numbers have an imaginary part."""
        return self.category == COMPLEX

    @property
    def is_signed(self) -> bool:
        """Whether numbers have a sign."""
        return (self.category >= FLOATING and self._name != "float8_e8m0fnu") or (
            self.category == INTEGRAL and not self._name.startswith("u")
        )

    def to_real(self) -> dtype:
        """The dtype of this one's real part."""
        return _REAL.get(self, self)

    def to_complex(self) -> dtype:
        """The complex dtype whose parts have this dtype."""
        if self in _COMPLEX:
            return _COMPLEX[self]
        raise RuntimeError(f"Cannot get the complex dtype of {self}")

    def __repr__(self) -> str:
        return "torch." + self._name

    def __reduce__(self) -> str | tuple[Any, ...]:
        return (_by_name, (self._name,))

    def __copy__(self) -> dtype:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> dtype:
        return self


def _make(name: str, category: int) -> dtype:
    np_dtype = np.dtype(name)
    return dtype(name, np_dtype, category, np_dtype.itemsize)


bool_ = _make("bool", BOOL)
uint8, uint16, uint32, uint64 = (_make(f"uint{n}", INTEGRAL) for n in (8, 16, 32, 64))
int8, int16, int32, int64 = (_make(f"int{n}", INTEGRAL) for n in (8, 16, 32, 64))
float16, float32, float64 = (_make(f"float{n}", FLOATING) for n in (16, 32, 64))
complex64, complex128 = (_make(f"complex{n}", COMPLEX) for n in (64, 128))
bfloat16 = dtype("bfloat16", None, FLOATING, 2)

# 8-bit floats, which can only be stored (see float8.py), and dtypes that programs name but no tensor has here.
float8_e4m3fn, float8_e4m3fnuz, float8_e5m2, float8_e5m2fnuz, float8_e8m0fnu, float4_e2m1fn_x2 = (
    dtype(name, None, FLOATING, 1)
    for name in (
        "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "float4_e2m1fn_x2",
    )
)  # fmt: skip
qint8, quint8, quint4x2, quint2x4 = (dtype(n, None, INTEGRAL, 1) for n in ("qint8", "quint8", "quint4x2", "quint2x4"))
qint32, complex32 = dtype("qint32", None, INTEGRAL, 4), dtype("complex32", None, COMPLEX, 4)
_NAMED_ONLY = (
    float8_e4m3fn, float8_e4m3fnuz, float8_e5m2, float8_e5m2fnuz, float8_e8m0fnu, float4_e2m1fn_x2, qint8, quint8, quint4x2,
    quint2x4, qint32, complex32,
)  # fmt: skip
FLOAT8 = frozenset((float8_e4m3fn, float8_e4m3fnuz, float8_e5m2, float8_e5m2fnuz, float8_e8m0fnu))
chalf = complex32

half, float_, double, cfloat, cdouble = float16, float32, float64, complex64, complex128
short, int_, long = int16, int32, int64

ALL = (
    bool_,
    uint8,
    uint16,
    uint32,
    uint64,
    int8,
    int16,
    int32,
    int64,
    float16,
    float32,
    float64,
    complex64,
    complex128,
)
BY_NP: dict[np.dtype[Any], dtype] = {d.np: d for d in ALL}
_NAMES = {d._name: d for d in (*ALL, bfloat16, *_NAMED_ONLY)}
_REAL = {complex64: float32, complex128: float64}
_COMPLEX = {float32: complex64, float64: complex128, complex64: complex64, complex128: complex128}

# Legacy names (`torch.FloatTensor`) as they appear in error messages and in `Tensor.type()`.
LEGACY = {
    float16: "Half", float32: "Float", float64: "Double", bfloat16: "BFloat16", complex64: "ComplexFloat",
    complex128: "ComplexDouble", bool_: "Bool", uint8: "Byte", int8: "Char", int16: "Short", int32: "Int",
    int64: "Long", uint16: "UInt16", uint32: "UInt32", uint64: "UInt64", **{d: d._name.capitalize() for d in FLOAT8},
}  # fmt: skip


def _by_name(name: str) -> dtype:
    return _NAMES[name]


def _load_bfloat16() -> np.dtype[Any]:
    try:
        import ml_dtypes
    except ImportError:
        raise ImportError(
            "torch.bfloat16 needs the ml_dtypes package: pip install 'penlight[bfloat16]' (or use float16/float32)"
        ) from None
    bfloat16._np = np.dtype(ml_dtypes.bfloat16)
    BY_NP[bfloat16._np] = bfloat16
    return bfloat16._np


def from_np(np_dtype: Any) -> dtype:
    """The dtype that stores a NumPy dtype, or PyTorch's TypeError."""
    found = BY_NP.get(np_dtype)
    if found is not None:
        return found
    np_dtype = np.dtype(np_dtype)
    if np_dtype.name == "bfloat16":
        _load_bfloat16()
        return bfloat16
    native = BY_NP.get(np_dtype.newbyteorder("="))
    if native is not None and np_dtype.kind != "O":
        return native
    raise TypeError(
        f"can't convert np.ndarray of type {np_dtype.type.__module__}.{np_dtype.type.__name__}. The only supported types "
        "are: float64, float32, float16, complex64, complex128, int64, int32, int16, int8, uint64, uint32, uint16, "
        "uint8, and bool."
    )


def with_canonical_dtype(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A foreign array as a plain ndarray with NumPy's canonical dtype object.

    The dtype object of an unpickled array is equal to NumPy's but not identical. Checks by identity would then choose the slow path, also
    for all results computed from the array.
    """
    own = from_np(array.dtype).np
    if type(array) is not np.ndarray:
        array = array.view(np.ndarray)
    return array if array.dtype is own else array.view(own)


_default = [float32]


def get_default_dtype() -> dtype:
    """The dtype of float tensors made from Python numbers.

    >>> torch.get_default_dtype()
    torch.float32
    """
    return _default[0]


def set_default_dtype(d: dtype) -> None:
    """Set the dtype of float tensors made from Python numbers: one of the floating dtypes.

    >>> torch.set_default_dtype(torch.float64); print(torch.tensor(1.5).dtype); torch.set_default_dtype(torch.float32)
    torch.float64
    """
    if not isinstance(d, dtype):
        raise TypeError(f"invalid dtype object: only floating-point types are supported as the default type, got {d!r}")
    if d.category != FLOATING:
        raise TypeError("only floating-point types are supported as the default type")
    if d in FLOAT8:
        raise TypeError(f"couldn't find storage object {LEGACY[d]}Storage")
    _default[0] = d


def default_complex() -> dtype:
    return complex128 if _default[0] is float64 else complex64


# ----- Promotion ----------------------------------------------------------------------------------------------------


_OF_TYPE: dict[Any, Any] = {float: float64, int: int64, bool: bool_, complex: complex128}
_DTYPE = dtype


def given(dtype: Any, name: str = "") -> Any:
    """Check a `dtype` argument: Python's number types stand for the widest dtype of their kind; other objects are refused."""
    if dtype.__class__ is type:
        dtype = _OF_TYPE.get(dtype, dtype)
    if dtype.__class__ is not _DTYPE and dtype is not None:
        raise TypeError(f"{name}argument 'dtype' must be torch.dtype, not {dtype.__class__.__name__}")
    return dtype


def promote_types(type1: dtype, type2: dtype) -> dtype:
    """The smallest dtype that both convert to by PyTorch's rules.

    >>> torch.promote_types(torch.uint8, torch.int8), torch.promote_types(torch.float16, torch.bfloat16)
    (torch.int16, torch.float32)
    """
    type1, type2 = given(type1), given(type2)
    if type1 is type2:
        return type1
    if type1.itemsize == 1 or type2.itemsize == 1:
        if type1 in FLOAT8 or type2 in FLOAT8:
            raise no_float8_promotion(type1, type2)
    low, high = (type1, type2) if type1.category <= type2.category else (type2, type1)
    if high.category == COMPLEX:
        return complex128 if complex128 in (low, high) or low is float64 else complex64
    if high.category == FLOATING:
        if low.category != FLOATING:
            return high
        if low.itemsize != high.itemsize:
            return low if low.itemsize > high.itemsize else high
        return float32  # float16 with bfloat16
    if low.category == BOOL:
        return high
    wide = low._name[0] + high._name[0]
    if "u" in wide and "i" in wide and max(low.itemsize if low._name[0] == "u" else high.itemsize, 1) > 1:
        raise RuntimeError(
            f"Promotion for uint16, uint32, uint64 types is not supported, attempted to promote "
            f"{LEGACY[type1]} and {LEGACY[type2]}"
        )
    return BY_NP[np.promote_types(low.np, high.np)]


def no_float8_promotion(type1: dtype, type2: dtype) -> RuntimeError:
    """PyTorch's error for the promotion of an 8-bit float with another dtype."""
    names = f"{LEGACY[type1]} and {LEGACY[type2]}"
    return RuntimeError(f"Promotion for Float8 Types is not supported, attempted to promote {names}")


def _combine(higher: dtype | None, lower: dtype | None) -> dtype | None:
    """One step of PyTorch's rule: `higher` has more dimensions, so `lower` only counts if its category is higher."""
    if higher is None:
        return lower
    if lower is None or higher.category >= lower.category:
        return higher
    if higher.category == FLOATING:
        return _COMPLEX.get(higher, complex64)
    return promote_types(higher, lower)


def of_number(value: Any) -> dtype:
    """The dtype that a Python number would have as a tensor."""
    if isinstance(value, bool):
        return bool_
    if isinstance(value, (int, np.integer)):
        return int64
    return default_complex() if isinstance(value, complex) else get_default_dtype()


def result_dtype(arrays: Any, numbers: Any = ()) -> dtype:
    """The dtype of an op on these arrays and Python numbers: arrays with dimensions take precedence over 0-d ones, and
    these over numbers, unless the latter have a higher category.

    # Note [Dimension categories]
    PyTorch does not let a 0-d tensor or a number widen a tensor with dimensions within the same category: a float32
    vector times a float64 scalar stays float32, an int64 vector times 2.5 becomes the default float dtype.
    """
    groups: list[dtype | None] = [None, None, None]
    for a in arrays:
        group, d = (0 if a.ndim else 1), from_np(a.dtype)
        present = groups[group]
        groups[group] = d if present is None else promote_types(present, d)
    for n in numbers:
        present, d = groups[2], of_number(n)
        groups[2] = d if present is None else promote_types(present, d)
    result = _combine(groups[0], _combine(groups[1], groups[2]))
    assert result is not None
    return result


def can_cast(from_: dtype, to: dtype) -> bool:
    """Whether values of one dtype may be written to a tensor of another: not to a lower category, such as floats to integers.

    >>> torch.can_cast(torch.float64, torch.float32), torch.can_cast(torch.float32, torch.int64)
    (True, False)
    """
    from_, to = given(from_), given(to)
    if from_.category == COMPLEX and to.category != COMPLEX:
        return False
    if from_.category == FLOATING and to.category < FLOATING:
        return False
    return not (from_.category == INTEGRAL and to.category == BOOL)


# PyTorch's names of dtypes in the error for a number out of range.
_RANGE_NAMES = {
    "uint8": "uint8_t", "int8": "int8_t", "int16": "int16_t", "int32": "int", "int64": "int64_t", "uint16": "uint16_t",
    "uint32": "uint32_t", "uint64": "uint64_t", "float16": "c10::Half", "bfloat16": "c10::BFloat16", "float32": "float",
    "float64": "double", "complex64": "c10::complex<float>", "complex128": "c10::complex<double>",
}  # fmt: skip


def number_for(value: Any, to: dtype, single: bool = False) -> Any:
    """Convert a Python number to a number of a dtype; raises PyTorch's error if it is out of range.

    Floats are truncated to integers, and negative integers wrap around to unsigned ones. With `single`, the number is for one element:
    there PyTorch accepts any number for 16-bit floats, and large ones become infinity.
    """
    if to.category >= FLOATING and type(value) in (float, int) and -65504 <= value <= 65504:
        return value  # the common case: in the range of all floats
    if to.category == BOOL:
        return bool(value)
    half = to.category == FLOATING and to.itemsize == 2
    if isinstance(value, complex) and to.category != COMPLEX:
        if value.imag:
            raise _does_not_fit(float64 if half and single else to)
        value = value.real
    if to.category == INTEGRAL:
        return _integer_for(value, to)
    limit = _largest(to)
    if not (half and single) and any(limit < abs(v) < np.inf for v in (value.real, value.imag)):
        raise _does_not_fit(to)
    return value


def _largest(to: dtype) -> float:
    """The largest finite number of a floating or complex dtype."""
    return float.fromhex("0x1.fep+127") if to is bfloat16 else float(np.finfo(to.np).max)


def _integer_for(value: Any, to: dtype) -> int:
    limits = np.iinfo(to.np)
    low, high = int(limits.min), int(limits.max)
    if isinstance(value, float):
        if not low <= value <= high:
            raise _does_not_fit(to)
        return int(value)
    if low == 0 and -high <= value < 0:
        return int(value) + high + 1
    if not low <= value <= high:
        raise _does_not_fit(to)
    return int(value)


def _does_not_fit(to: dtype) -> RuntimeError:
    return RuntimeError(f"value cannot be converted to type {_RANGE_NAMES[to._name]} without overflow")
