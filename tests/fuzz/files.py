"""Fuzz files: `python -m tests.fuzz.files --files 5000 --seed 0` loads damaged and crafted `.pt` and safetensors files.

Whatever a file says: nothing of it runs, no tensor reaches outside of its storage, memory stays near the file's size, and an error names what
is wrong. A child process loads the files, and says which of them breaks a rule; when it dies, it was of the file that it had begun.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import itertools
import json
import pickle
import pickletools
import random
import struct
import subprocess
import sys
import tempfile
import warnings
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data"
# Memory that loading may take: a byte of a pickle can be an empty list, which Python needs 80 bytes for.
TIMES, SLACK = 100, 24 << 20
# Errors that say what is wrong. Others come from Python's own parts, and say nothing about the file.
GOOD = {"RuntimeError", "UnpicklingError", "SafetensorError", "EOFError", "ValueError", "NotImplementedError"}
UNHELPFUL = (
    "zip()",
    "unpack requires",
    "not subscriptable",
    "object is not",
    "has no attribute",
    "positional argument",
    "unhashable",
    "list index",
    "pop from",
)
NAMED = ("the file calls ", "the pickle is damaged")
EVENTS = (
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "os.fork",
    "subprocess.Popen",
    "socket.connect",
    "shutil.",
    "os.remove",
    "os.rename",
    "ctypes.dlopen",
    "exec",
    "import",
)


# ----- Making files -------------------------------------------------------------------------------------------------


def text(value: str) -> bytes:
    return b"X" + len(value.encode()).to_bytes(4, "little") + value.encode()


def number(value: int) -> bytes:
    if 0 <= value < 256:
        return b"K" + bytes([value])
    if -(2**31) <= value < 2**31:
        return b"J" + struct.pack("<i", value)
    return b"\x8a" + bytes([len(pickle.encode_long(value))]) + pickle.encode_long(value)


def numbers(values: list[int]) -> bytes:
    return b"(" + b"".join([number(v) for v in values]) + b"t"


def archive(records: dict[str, bytes] | list[tuple[str, bytes]], compressed: bool = False) -> bytes:
    """A zip file of these records."""
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED) as target:
            for name, content in records.items() if isinstance(records, dict) else records:
                target.writestr(f"archive/{name}", content)
    return buffer.getvalue()


def crafted(pickled: bytes, *storages: bytes) -> bytes:
    """A file of torch.save around a pickle."""
    return archive({"data.pkl": pickled, "version": b"3\n", **{f"data/{i}": s for i, s in enumerate(storages)}})


SIZES = [
    0,
    1,
    2,
    3,
    4,
    5,
    12,
    255,
    -1,
    -2,
    2**16,
    2**31 - 1,
    2**31,
    2**40,
    2**62,
    2**63 - 1,
    2**63,
    2**64,
    2**70,
    -(2**63),
]
GLOBALS = [
    "torch._utils _rebuild_tensor_v2", "torch._utils _rebuild_tensor", "torch._utils _rebuild_tensor_v3", "torch._utils _rebuild_parameter",
    "torch._utils _rebuild_parameter_with_state", "torch._tensor _rebuild_from_type_v2", "torch._utils _rebuild_meta_tensor_no_storage",
    "torch._utils _rebuild_device_tensor_from_numpy", "torch._utils _rebuild_device_tensor_from_cpu_tensor", "torch._utils _rebuild_sparse_tensor", "torch._utils _rebuild_qtensor",
    "torch FloatStorage", "torch LongStorage", "torch.storage UntypedStorage", "torch Tensor", "torch Size", "torch device", "torch float32", "torch.nn.parameter Parameter",
    "collections OrderedDict", "collections Counter", "__builtin__ set", "__builtin__ bytearray", "__builtin__ complex", "_codecs encode",
    "torch.serialization _get_layout", "os system", "builtins eval", "builtins exec", "builtins getattr", "posix system", "subprocess Popen", "torch load", "sys exit", "penlight load",
    "numpy._core.multiarray _reconstruct", "numpy dtype", "operator attrgetter", "functools partial", "torch.jit load",
]  # fmt: skip


def a_storage(choice: random.Random) -> bytes:
    kind = choice.choice(["FloatStorage", "FloatStorage", "LongStorage", "ByteStorage", "BoolStorage", "DoubleStorage"])
    key = choice.choice([text("0"), text("0"), text("0"), text("1"), text("../x"), number(0), b")", b"]", b"N"])
    count = number(choice.choice([3, 3, 3, *SIZES]))
    return b"(" + text("storage") + f"ctorch\n{kind}\n".encode() + key + text("cpu") + count + b"tQ"


def a_value(choice: random.Random, depth: int = 0) -> bytes:
    """The pickle of something: data, a tensor of any geometry, a call of anything with anything."""
    kind = choice.random()
    if depth > 3 or kind < 0.25:
        return choice.choice(
            [
                b"N",
                b"\x88",
                b"\x89",
                b")",
                b"]",
                b"}",
                b"\x8f",
                text("x"),
                text("torch.strided"),
                number(choice.choice(SIZES)),
                b"G" + struct.pack(">d", choice.choice([0.5, float("nan")])),
                b"U\x03a\xffc",
            ]
        )
    if kind < 0.45:
        sizes = [
            choice.choice(SIZES if choice.random() < 0.4 else [0, 1, 2, 3])
            for _ in range(choice.choice([0, 1, 1, 2, 3, 70]))
        ]
        strides = [
            choice.choice(SIZES if choice.random() < 0.4 else [0, 1, 2])
            for _ in range(len(sizes) if choice.random() < 0.9 else 2)
        ]
        offset = number(choice.choice([0, 0, 1, *SIZES]))
        extra = choice.choice([b"", b"", b"}" + text("conj") + b"\x88s", b"}" + text("neg") + b"\x88s", b"K\x05"])
        return (
            b"ctorch._utils\n_rebuild_tensor_v2\n("
            + a_storage(choice)
            + offset
            + numbers(sizes)
            + numbers(strides)
            + choice.choice([b"\x89", b"\x88"])
            + b"ccollections\nOrderedDict\n)R"
            + extra
            + b"tR"
        )
    parts = [a_value(choice, depth + 1) for _ in range(choice.choice([0, 1, 2, 3, 4]))]
    if kind < 0.55:
        return b"(" + b"".join(parts) + b"t"
    if kind < 0.62:
        return b"](" + b"".join(parts) + b"e"
    if kind < 0.7:
        return b"}(" + b"".join(parts) + b"u"
    name = "c" + choice.choice(GLOBALS).replace(" ", "\n") + "\n"
    call = name.encode() + b"(" + b"".join(parts) + b"t" + choice.choice([b"R", b"R", b"R", b"\x81", b"b"])
    return call + (b"}" + text("a") + a_value(choice, depth + 1) + b"sb" if choice.random() < 0.15 else b"")


def crafted_pickle(choice: random.Random) -> bytes:
    return crafted(b"\x80\x02" + a_value(choice) + b".", *([bytes(range(12))] * choice.choice([0, 1, 1, 1, 2])))


def bomb(choice: random.Random) -> bytes:
    """A small file that asks for much: memory, depth, or time."""
    n = choice.choice([10_000, 200_000])
    deep_key = b"\x80\x02})" + b"\x85" * n + b"K\x01s."
    doubled = b"\x80\x02]q\x00" + b"".join([b"h%ch%c\x86q%c" % (i, i, i + 1) for i in range(60)])
    kinds: list[Callable[[], bytes]] = [
        lambda: crafted(deep_key),
        lambda: crafted(b"\x80\x02" + b"]" * n + b"a" * (n - 1) + b"."),
        lambda: crafted(b"\x80\x02c__builtin__\nset\n](" + b")" + b"\x85" * n + b"e\x85R."),
        lambda: crafted(b"\x80\x02" + b"(" * n + b"t" * n + b"."),
        lambda: crafted(doubled + b"."),
        lambda: crafted(doubled.replace(b"]q\x00", b")q\x00", 1) + b"}h\x3cK\x01s."),
        lambda: crafted(b"\x80\x02c__builtin__\nbytearray\n" + number(2**36) + b"\x85R."),
        lambda: crafted(b"\x80\x02ctorch\nTensor\n" + number(2**34) + b"\x85R."),
        lambda: crafted(b"\x80\x02ctorch.storage\nUntypedStorage\n" + number(2**36) + b"\x85R."),
        lambda: crafted(b"\x80\x02ctorch._utils\n_rebuild_meta_tensor_no_storage\n(ctorch\nfloat32\n" + numbers([2**20, 2**20]) + numbers([2**20, 1]) + b"\x89tR."),
        lambda: crafted(b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n((" + text("storage") + b"ctorch\nFloatStorage\n" + text("0") + text("cpu") + b"K\x03tQK\x00" + numbers([2**30]) + numbers([0]) + b"\x89}}" + text("neg") + b"\x88stR.", bytes(12)),
        lambda: archive({"data.pkl": b"\x80\x02N." + bytes(60 << 20), "version": b"3\n"}, compressed=True),
        lambda: legacy(2**choice.choice([30, 40, 62])),
        lambda: overlapped(choice),
        lambda: json_bomb(n),
    ]  # fmt: skip
    return choice.choice(kinds)()


def legacy(count: int) -> bytes:
    """A file of the old format that announces a storage of `count` floats."""
    body = (
        b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n(("
        + text("storage")
        + b"ctorch\nFloatStorage\n"
        + text("0")
        + text("cpu")
        + number(count)
        + b"NtQK\x00"
        + numbers([3])
        + numbers([1])
        + b"\x89}tR."
    )
    return (
        b"".join([pickle.dumps(p, 2) for p in (0x1950A86A20F9469CFC6C, 1001, {})])
        + body
        + pickle.dumps(["0"], 2)
        + struct.pack("<q", 3)
        + bytes(12)
    )


def overlapped(choice: random.Random) -> bytes:
    """A zip file whose directory has the same data many times."""
    content = bytes(1 << 18)
    data = bytearray(archive([("data.pkl", b""), ("version", b"3\n"), ("data/0", content)]))
    end = data.rfind(b"PK\5\6")
    start = struct.unpack_from("<I", data, end + 16)[0]
    last = data.rfind(b"PK\1\2", start, end)
    entry, copies = bytes(data[last:end]), 400
    more = b"".join([entry[:46] + entry[46:].replace(b"data/0", b"d%05d" % i) for i in range(copies)])
    data[end:end] = more
    end += len(more)
    struct.pack_into("<2H", data, end + 8, 3 + copies, 3 + copies)
    struct.pack_into("<I", data, end + 12, end - start)
    return bytes(data)


def json_bomb(n: int) -> bytes:
    header = b'{"a":' + b"[" * n + b"]" * n + b"}"
    return struct.pack("<Q", len(header)) + header


def damaged(choice: random.Random, data: bytes) -> bytes:
    """Bytes with flips, cuts, repeats and zeros."""
    made = bytearray(data)
    for _ in range(choice.choice([1, 1, 1, 2, 5, 20])):
        if not made:
            break
        at = choice.randrange(len(made))
        kind = choice.random()
        if kind < 0.5:
            made[at] ^= 1 << choice.randrange(8)
        elif kind < 0.6:
            made[at] = choice.choice([0, 255, 127, 128, ord("."), ord("(")])
        elif kind < 0.7:
            del made[at:]
        elif kind < 0.8:
            del made[at : at + choice.randrange(1, 40)]
        elif kind < 0.9:
            made[at:at] = made[at : at + choice.randrange(1, 60)]
        else:
            made[at : at + 8] = struct.pack("<q", choice.choice(SIZES[:13]))
    return bytes(made)


def records_of(data: bytes) -> list[tuple[str, bytes]]:
    with zipfile.ZipFile(io.BytesIO(data)) as source:
        return [(name.partition("/")[2], source.read(name)) for name in source.namelist()]


def rewritten(choice: random.Random, data: bytes) -> bytes:
    """The records of a file with damage inside of them, so that checksums fit; missing, doubled, misnamed records."""
    records = records_of(data)
    kind = choice.random()
    at = choice.randrange(len(records))
    name, content = records[at]
    if kind < 0.5:
        at = next(i for i, r in enumerate(records) if r[0] == "data.pkl")
        records[at] = "data.pkl", damaged(choice, records[at][1])
    elif kind < 0.6:
        records[at] = name, damaged(choice, content)
    elif kind < 0.7:
        del records[at]
    elif kind < 0.8:
        records.append((name, choice.choice([content, b"", bytes(5)])))
    elif kind < 0.9:
        records[at] = choice.choice(["../evil", "/abs", "data/", "", "version", "data.pkl", "x" * 300]), content
    else:
        records = [
            (n, c) if n != "version" else (n, choice.choice([b"", b"99", b"9" * 5000, b"x", b"-1"])) for n, c in records
        ]
    return archive(records, compressed=choice.random() < 0.2)


def reordered(choice: random.Random, data: bytes) -> bytes:
    """The pickle of a file with instructions swapped, left out and doubled."""
    records = dict(records_of(data))
    pickled = records["data.pkl"]
    try:
        places = [place for _, _, place in pickletools.genops(pickled) if place is not None] + [len(pickled)]
    except Exception:
        return data
    parts = [pickled[a:b] for a, b in itertools.pairwise(places)]
    for _ in range(choice.choice([1, 1, 2, 4])):
        a, b = choice.randrange(len(parts)), choice.randrange(len(parts))
        kind = choice.random()
        if kind < 0.35:
            parts[a], parts[b] = parts[b], parts[a]
        elif kind < 0.6 and len(parts) > 1:
            del parts[a]
        elif kind < 0.8:
            parts.insert(a, parts[b])
        else:
            parts.insert(
                a,
                choice.choice(
                    [
                        number(choice.choice(SIZES)),
                        b"N",
                        b")",
                        b"]",
                        b"}",
                        text("x"),
                        b"0",
                        b"2",
                        b"\x93",
                        b"i\n\n",
                        b"o",
                    ]
                ),
            )
    records["data.pkl"] = b"".join(parts)
    return archive(records)


def safetensors_file(choice: random.Random) -> bytes:
    """A safetensors file of a header that is nearly right."""

    def entry() -> Any:
        shape: Any = [
            choice.choice([1, 2, 3, *SIZES]) if choice.random() < 0.3 else 3
            for _ in range(choice.choice([0, 1, 1, 2, 70]))
        ]
        end = choice.choice([12, 12, 12, 24, 0, -1, 2**63])
        return {
            "dtype": choice.choice(["F32", "F32", "F32", "BF16", "F9", None, 5]), "shape": choice.choice([shape, shape, shape, "33", None, {}, [1.5]]),
            "data_offsets": choice.choice([[0, end], [0, end], [12, end], [0], "ab", None, [0, 12, 3]]),
        }  # fmt: skip

    table: Any = {n: entry() for n in choice.choice([["a"], ["a"], ["a", "b"], []])}
    if choice.random() < 0.3:
        table["__metadata__"] = choice.choice([{"format": "pt"}, {"n": 5}, [], "x", None])
    header = json.dumps(choice.choice([table, table, table, table, [], 5, None])).encode()
    if choice.random() < 0.15:
        header = header.replace(b'"b"', b'"a"')
    if choice.random() < 0.15:
        header = damaged(choice, header)
    size = choice.choice([len(header)] * 6 + [0, 2**62, len(header) + 100, 100_000_001])
    return struct.pack("<Q", size) + header + bytes(choice.choice([12, 12, 24, 0]))


def samples() -> list[bytes]:
    return [path.read_bytes() for path in sorted(DATA.glob("*.pt"))]


def file_of(seed: int) -> tuple[str, bytes]:
    """What the file of a seed is, and its bytes."""
    choice = random.Random(seed)
    kind = choice.choice(
        [
            "damaged",
            "damaged",
            "rewritten",
            "rewritten",
            "reordered",
            "reordered",
            "crafted",
            "crafted",
            "crafted",
            "safetensors",
            "safetensors",
            "damaged safetensors",
            "bomb",
        ]
    )
    if kind == "crafted":
        return kind, crafted_pickle(choice)
    if kind == "safetensors":
        return kind, safetensors_file(choice)
    if kind == "bomb":
        return kind, bomb(choice)
    if kind == "damaged safetensors":
        header = b'{"w":{"dtype":"F32","shape":[3,2],"data_offsets":[0,24]},"v":{"dtype":"I64","shape":[2],"data_offsets":[24,40]}} '
        return kind, damaged(choice, struct.pack("<Q", len(header)) + header + bytes(40))
    data = choice.choice(samples())
    if kind == "damaged" or not data.startswith(b"PK"):
        return "damaged", damaged(choice, data)
    return kind, (rewritten if kind == "rewritten" else reordered)(choice, data)


# ----- Loading them, in a child -------------------------------------------------------------------------------------


def breaches(seeds: Iterator[int]) -> Iterator[tuple[int, str]]:
    """Seeds of files that break a rule, and how. Before each file its seed is printed, for the parent of a process that dies."""
    import faulthandler
    import resource
    import tracemalloc

    import numpy as np

    import penlight
    from penlight import safetensors

    happened: list[str] = []
    watching = [False]

    def watch(event: str, arguments: Any) -> None:
        if (
            watching[0]
            and event.startswith(EVENTS)
            and not (event in ("exec", "import") and "penlight" in repr(arguments))
        ):
            happened.append(f"{event} {arguments!r}"[:200])

    sys.dont_write_bytecode = True  # modules of our own that a file's kind imports would be renamed into place
    penlight.empty(1, device="meta")  # what is compiled at its first use should not happen while a file is loaded
    for data in samples():
        with contextlib.suppress(Exception):
            penlight.load(io.BytesIO(data), map_location="cpu")
    sys.addaudithook(watch)
    limit = 3 << 30
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    tracemalloc.start()
    for seed in seeds:
        kind, data = file_of(seed)
        print(seed, kind, flush=True)
        faulthandler.dump_traceback_later(20, exit=True)  # a file that takes so long has a loop in it
        happened.clear()
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        result = said = None
        with warnings.catch_warnings(), tempfile.NamedTemporaryFile() as file:
            warnings.simplefilter("ignore")
            file.write(data)
            file.flush()
            watching[0] = True
            try:
                result = load(penlight, safetensors, seed, kind, data, file.name)
                check(penlight, np, result)
            except BaseException as error:
                said = error
            watching[0] = False
        peak = tracemalloc.get_traced_memory()[1] - before
        if happened:
            yield seed, f"{kind}: the file made {happened[0]} happen"
        if said is not None and not helpful(said):
            yield seed, f"{kind}: {type(said).__name__}: {str(said)[-200:]}"
        if peak > TIMES * len(data) + SLACK:
            yield seed, f"{kind}: {peak >> 20} MB of memory for a file of {len(data)} bytes"
        del result, said


def helpful(error: BaseException) -> bool:
    """Whether an error names what is wrong: the kind of its own, with words about the file."""
    words = str(error)
    named = any(w in words for w in NAMED)
    return type(error).__name__ in GOOD and bool(words) and (named or not any(u in words for u in UNHELPFUL))


def load(penlight: Any, safetensors: Any, seed: int, kind: str, data: bytes, path: str) -> Any:
    """By one of the ways in which the kind of file is read."""
    if "safetensors" in kind or data[8:9] == b"{":
        return safetensors.load(data) if seed % 2 else safetensors.load_file(path)
    if seed % 5 == 0:
        return penlight.load(path, map_location="cpu", mmap=data.startswith(b"PK"))
    if seed % 11 == 0:
        penlight.serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(data))
    return penlight.load(io.BytesIO(data), map_location="cpu")


def check(penlight: Any, np: Any, result: Any) -> None:
    """No tensor of a result reaches outside of the memory that it is in."""
    seen: set[int] = set()
    stack = [result]
    while stack:
        value = stack.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, dict):
            stack += [*value.keys(), *value.values()]
        elif isinstance(value, (list, tuple, set)):
            stack += list(value)
        elif isinstance(value, penlight.Tensor) and not value.is_meta:
            array = (
                value.detach().numpy()
                if value.dtype is not penlight.bfloat16
                else value.detach().view(penlight.int16).numpy()
            )
            if array.size:
                low, high = np.lib.array_utils.byte_bounds(array)
                owner = array
                while isinstance(owner.base, np.ndarray):
                    owner = owner.base
                start = owner.__array_interface__["data"][0]
                assert start <= low <= high <= start + owner.nbytes, "a tensor that reaches outside of its memory"
                assert high - low < 1 << 30
                int(
                    np.frombuffer(
                        array.data
                        if array.flags.c_contiguous
                        else array[..., :1].tobytes()[:64]
                        if array.size < 1 << 20
                        else b"\0",
                        np.uint8,
                    ).max()
                )


# ----- The parent ---------------------------------------------------------------------------------------------------


def run(first: int, count: int) -> list[str]:
    """What is wrong with the files of these seeds."""
    found = []
    start, end = first, first + count
    while start < end:
        result = subprocess.run(
            [sys.executable, "-c", f"import sys; sys.path[:0] = [{str(ROOT / 'src')!r}, {str(ROOT)!r}]; from tests.fuzz.files import child; child({start}, {end})"],
            capture_output=True, text=True, cwd=ROOT,
        )  # fmt: skip
        lines = result.stdout.splitlines()
        found += [line[2:] for line in lines if line.startswith("! ")]
        begun = [line for line in lines if not line.startswith("! ")]
        if result.returncode == 0 and begun and begun[-1] == "all":
            break
        found.append(f"{begun[-1] if begun else start}: died ({result.returncode}): {result.stderr[-300:]}")
        start = int(begun[-1].split()[0]) + 1 if begun else end
    return found


def child(start: int, end: int) -> None:
    for seed, what in breaches(iter(range(start, end))):
        print(f"! {seed}: {what}".replace("\n", " "), flush=True)
    print("all", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    found = run(given.seed, given.files)
    print("\n".join(found))
    print(f"{given.files} files, {len(found)} broke a rule")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
