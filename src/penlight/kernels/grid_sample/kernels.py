"""Weighted sums of elements at computed places of planes, and their two transposes: what sampling at the places of a grid comes down to.

Images are (N, C, size), results (N, C, places). For each of an image's places there are a few taps: elements of a plane by their numbers, 32-bit and
negative for none, and a weight each. Arrays of taps are (N, taps, places) with the places filled up to whole vectors. The same in NumPy:
kernels/grid_sample/.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from .. import call, executable, waiting_threads
from ..native._table import count
from ..native._x86 import (
    BYTES,
    R8,
    R9,
    R10,
    R11,
    R12,
    R13,
    R14,
    R15,
    RAX,
    RBP,
    RBX,
    RCX,
    RDI,
    RDX,
    RSI,
    RSP,
    Address,
    Assembler,
    Pooled,
)

_SAVED = (RBX, RBP, R12, R13, R14, R15)
_SHARED_FROM = 1 << 16  # elements that are gathered
# What kernels are given: a range of images, four arrays, and sizes.
_ARRAYS = (RDX, RCX, R8, R9)
_CHANNELS, _TAPS, _PLACES, _SIZE = (Address(RSP, None, 8 * (len(_SAVED) + 1 + i)) for i in range(4))


def over_images(
    kernel: Callable[[], Any], images: int, channels: int, taps: int, places: int, size: int, *arrays: Any
) -> None:
    """Run one of the kernels on its four arrays; images are shared between threads if they are many."""
    grain = 1 if images * channels * taps * places >= _SHARED_FROM else images
    waiting_threads.over(kernel(), images, grain, *arrays, channels, taps, places, size)


_IMAGE, _TAPPED, _RESULT = (
    "[high * channels * size]",
    "[high * taps * ((places + 7) // 8 * 8)]",
    "[high * channels * places]",
)


def _load(write: Callable[[Assembler], None], arrays: str) -> Any:
    asm = Assembler()
    for register in _SAVED:
        asm.push(register)
    for pointer in _ARRAYS:
        asm.load_register(pointer, Address(pointer, None, executable.DATA_OFFSET))
    _lengths(asm)
    write(asm)
    asm.forget_upper()
    for register in reversed(_SAVED):
        asm.pop(register)
    asm.leave()
    return call.load(asm.finish(), f"low, high, {arrays}, channels, taps, places, size")


def _lengths(asm: Assembler) -> None:
    """Bytes: of a plane of the image `r12`, of the result `r13`, of its whole vectors `r11`, of a row of taps `r10`; register 15: a mask of the
    elements that fill no vector, 14: all bits set."""
    asm.load_register(R12, _SIZE)
    asm.shift_left(R12, 2)
    asm.load_register(R13, _PLACES)
    asm.shift_left(R13, 2)
    asm.copy_register(R11, R13)
    asm.and_number(R11, -BYTES)
    asm.copy_register(R10, R13)
    asm.add_number(R10, BYTES - 1)
    asm.and_number(R10, -BYTES)
    asm.copy_register(RAX, R13)
    asm.and_number(RAX, BYTES - 1)
    asm.negate(RAX)
    asm.address_of_lanes(RBX)
    asm.move(15, Address(RBX, RAX, BYTES))
    asm.move(14, Pooled(0xFFFFFFFF))


def _begin(asm: Assembler, pointer: int, length: int, rows: Address) -> None:
    """Move a pointer to the first image, which has so many rows of a length."""
    asm.copy_register(RAX, RDI)
    asm.multiply(RAX, length)
    asm.multiply(RAX, rows)
    asm.add(pointer, RAX)


def _next(asm: Assembler, pointer: int, length: int, rows: Address) -> None:
    """Move a pointer over an image's rows."""
    asm.copy_register(RAX, length)
    asm.multiply(RAX, rows)
    asm.add(pointer, RAX)


def _again(asm: Assembler) -> None:
    """The next image, while there is one."""
    asm.add_number(RDI, 1)
    asm.compare_numbers(RDI, RSI)
    asm.jump("image", "less")


def _gather(asm: Assembler, target: int, base: int, index: int, spare: int) -> None:
    """Elements of a plane, 0 for negative numbers."""
    asm.binary("vpcmpgtd", spare, index, 14)
    asm.binary("vxorps", target, target, target)
    asm.gather(target, base, index, spare)


@lru_cache(1)
def weighted() -> Any:
    """A kernel on images, numbers, weights and results: the sums over taps of weight times element."""
    arrays = f"image: f32{_IMAGE}, numbers: i32{_TAPPED}, weights: f32{_TAPPED}, out: written f32{_RESULT}"
    return _load(_weighted, arrays)


def _weighted(asm: Assembler) -> None:
    image, index, weight, out = _ARRAYS
    for pointer, length, rows in (
        (image, R12, _CHANNELS),
        (index, R10, _TAPS),
        (weight, R10, _TAPS),
        (out, R13, _CHANNELS),
    ):
        _begin(asm, pointer, length, rows)
    asm.label("image")
    asm.load_register(RBX, _CHANNELS)
    asm.label("plane")
    asm.zero(RAX)
    asm.label("vector")
    asm.binary("vxorps", 0, 0, 0)
    asm.copy_register(R14, index)
    asm.add(R14, RAX)
    asm.copy_register(R15, weight)
    asm.add(R15, RAX)
    asm.load_register(RBP, _TAPS)
    asm.label("tap")
    asm.move(1, Address(R14))
    _gather(asm, 3, image, 1, 2)
    asm.binary("vfmadd231ps", 0, 3, Address(R15))
    asm.add(R14, R10)
    asm.add(R15, R10)
    count(asm, RBP, "tap")
    asm.compare_numbers(RAX, R11)
    asm.jump("last", "not less")
    asm.store(Address(out, RAX), 0)
    asm.add_number(RAX, BYTES)
    asm.compare_numbers(RAX, R13)
    asm.jump("vector", "less")
    asm.jump("next plane")
    asm.label("last")
    asm.store_some(Address(out, RAX), 15, 0)
    asm.label("next plane")
    asm.add(image, R12)
    asm.add(out, R13)
    count(asm, RBX, "plane")
    _next(asm, index, R10, _TAPS)
    _next(asm, weight, R10, _TAPS)
    _again(asm)


@lru_cache(1)
def products() -> Any:
    """A kernel on images, numbers, gradients of results and what it makes for each tap: the sums over channels of element times gradient."""
    arrays = f"image: f32{_IMAGE}, numbers: i32{_TAPPED}, grad: f32{_RESULT}, out: written f32{_TAPPED}"
    return _load(_products, arrays)


def _products(asm: Assembler) -> None:
    image, index, grad, out = _ARRAYS
    for pointer, length, rows in (
        (image, R12, _CHANNELS),
        (index, R10, _TAPS),
        (grad, R13, _CHANNELS),
        (out, R10, _TAPS),
    ):
        _begin(asm, pointer, length, rows)
    asm.label("image")
    asm.load_register(RBP, _TAPS)
    asm.label("tap")
    asm.zero(RAX)
    asm.label("vector")
    asm.move(13, 14)
    asm.compare_numbers(RAX, R11)
    asm.jump("whole", "less")
    asm.move(13, 15)
    asm.label("whole")
    asm.binary("vxorps", 0, 0, 0)
    asm.move(1, Address(index, RAX))
    asm.copy_register(R14, image)
    asm.copy_register(R15, grad)
    asm.add(R15, RAX)
    asm.load_register(RBX, _CHANNELS)
    asm.label("channel")
    _gather(asm, 3, R14, 1, 2)
    asm.load_some(4, 13, Address(R15))
    asm.binary("vfmadd231ps", 0, 3, 4)
    asm.add(R14, R12)
    asm.add(R15, R13)
    count(asm, RBX, "channel")
    asm.store(Address(out, RAX), 0)
    asm.add_number(RAX, BYTES)
    asm.compare_numbers(RAX, R10)
    asm.jump("vector", "less")
    asm.add(index, R10)
    asm.add(out, R10)
    count(asm, RBP, "tap")
    _next(asm, image, R12, _CHANNELS)
    _next(asm, grad, R13, _CHANNELS)
    _again(asm)


@lru_cache(1)
def spread() -> Any:
    """A kernel on images, numbers, weights and gradients of results: weight times gradient is added to the image's element of each tap."""
    arrays = f"image: written f32{_IMAGE}, numbers: i32{_TAPPED}, weights: f32{_TAPPED}, grad: f32{_RESULT}"
    return _load(_spread, arrays)


def _spread(asm: Assembler) -> None:
    image, index, weight, grad = _ARRAYS
    for pointer, length, rows in (
        (image, R12, _CHANNELS),
        (index, R10, _TAPS),
        (weight, R10, _TAPS),
        (grad, R13, _CHANNELS),
    ):
        _begin(asm, pointer, length, rows)
    asm.label("image")
    asm.load_register(RBP, _TAPS)
    asm.label("tap")
    asm.zero(RAX)
    asm.label("place")
    asm.load_short(R14, Address(index, RAX))
    asm.compare_numbers(R14, _SIZE)
    asm.jump("next place", "outside")
    asm.shift_left(R14, 2)
    asm.add(R14, image)
    asm.copy_register(R15, grad)
    asm.add(R15, RAX)
    asm.broadcast(0, Address(weight, RAX))
    asm.load_register(RBX, _CHANNELS)
    asm.label("channel")
    asm.broadcast(1, Address(R14))
    asm.broadcast(2, Address(R15))
    asm.binary("vfmadd231ps", 1, 2, 0)
    asm.store_one(Address(R14), 1)
    asm.add(R14, R12)
    asm.add(R15, R13)
    count(asm, RBX, "channel")
    asm.label("next place")
    asm.add_number(RAX, 4)
    asm.compare_numbers(RAX, R13)
    asm.jump("place", "less")
    asm.add(index, R10)
    asm.add(weight, R10)
    count(asm, RBP, "tap")
    _next(asm, image, R12, _CHANNELS)
    _next(asm, grad, R13, _CHANNELS)
    _again(asm)
