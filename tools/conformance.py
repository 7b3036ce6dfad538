"""Writes the part of docs/conformance.md that comes from running code: which names exist, what has records, where results differ.

python tools/conformance.py          rewrites it
python tools/conformance.py --check  fails if it is stale
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests" / "ops")]
PAGE = ROOT / "docs" / "conformance.md"
BEGIN, END = "<!-- written by tools/conformance.py -->", "<!-- until here -->"

# Why names are missing, by the namespace and then by the name.
WHY = {
    "torch": {
        "chalf complex32": "complex numbers of half precision",
        "gru gru_cell lstm lstm_cell rnn_relu rnn_relu_cell rnn_tanh rnn_tanh_cell": "the functions behind `nn.GRU` and the like",
        "dsmm hsmm hspmm saddmm smm sspaddmm resize_as_sparse_ sparse_compressed_tensor sparse_coo_tensor": "sparse tensors",
        "qscheme": "quantization",
    },
    "Tensor": {"chalf": "complex numbers of half precision", "__cuda_array_interface__ __dlpack_c_exchange_api__ __torch_dispatch__ __torch_function__": "other libraries' hooks"},
    "random": {"thread_safe_generator": "threads of data loading"},
    "testing": {"FileCheck": "compiler tests"},
    "func": {"rearrange": "of einops, which accepts these tensors"},
    "utils.data": {"*": "data pipes, deprecated in PyTorch"},
    "nn.functional": {"*": "types for TorchScript"},
}  # fmt: skip


def reason(group: str, name: str) -> str:
    for names, why in WHY.get(group, {}).items():
        if names == "*" or name in names.split():
            return why
    return ""


def names_table() -> list[str]:
    from penlight import coverage

    found = coverage.survey()
    lines = ["| namespace | there | of | refused | missing |", "|---|---|---|---|---|"]
    for group, states in found.items():
        counts = [len(states[s]) for s in (coverage.PRESENT, coverage.REFUSED, coverage.MISSING)]
        lines.append(f"| `{group}` | {counts[0]} | {sum(counts)} | {counts[1] or ''} | {counts[2] or ''} |")
    lines += ["", "Missing, without the machinery:", ""]
    for group, states in found.items():
        if states[coverage.MISSING] and group != "torch (machinery)":
            by_reason: dict[str, list[str]] = {}
            for name in states[coverage.MISSING]:
                by_reason.setdefault(reason(group, name), []).append(f"`{name}`")
            parts = [", ".join(names) + (f" ({why})" if why else "") for why, names in by_reason.items()]
            lines.append(f"- `{group}`: " + "; ".join(parts))
    return lines


def records_part() -> list[str]:
    import known
    import records
    import surface

    import penlight
    from penlight.ops import OPS

    for table in ("nn.functional", "linalg", "fft", "special"):
        __import__("penlight." + table)
    assert penlight.__doc__
    have = set(records.RECORDS)

    def covered(name: str) -> bool:
        plain = name[:-1] if name.endswith("_") else name
        return bool({name, "Tensor." + name, plain, "Tensor." + plain} & have)

    lines = [
        f"{len(have)} functions and methods have a record: {sum(len(r.samples) for r in records.RECORDS.values())} sample calls and "
        f"{sum(len(r.errors) for r in records.RECORDS.values())} wrong ones, compared with PyTorch in values, dtypes, shapes, strides, gradients, second gradients, "
        "`grad_fn` names and error messages, and again in 11 dtypes, three memory layouts, without elements and without dimensions; under vmap with a loop; and with "
        "each argument replaced by things of other kinds.",
        f"{sum(bool(op.rules) for op in OPS.values())} declared ops have derivatives; gradcheck and gradgradcheck go over them in reverse and forward mode and batched.",
        "",
    ]  # fmt: skip
    for what, names in (("functions on tensors", surface.FUNCTIONS), ("methods", surface.METHODS)):
        count = sum(covered(n) for n in names)
        lines.append(f"Of the {len(names)} {what} that 106 public repositories use, {count} have a record.")
    lines += ["The others:", "", "| name | why, or where it is tested |", "|---|---|"]
    for why, names in surface.REASONS.items():
        lines.append(f"| {', '.join(f'`{n}`' for n in names.split(', '))} | {why} |")
    lines += [
        "",
        "Where results or refusals differ, in these variants of samples:",
        "",
        "| function | variants | why |",
        "|---|---|---|",
    ]
    for name, (variants, why) in sorted(known.KNOWN.items()):
        lines.append(f"| `{name}` | {variants.replace(' ', ', ') or 'several'} | {why} |")
    lines += ["", "And with `out=` of these dtypes:", "", "| function | dtypes | why |", "|---|---|---|"]
    for name, (kinds, why) in sorted(known.KNOWN_OUT.items()):
        lines.append(f"| `{name}` | {kinds.replace(' ', ', ')} | {why} |")
    return lines


def generated() -> str:
    parts: list[Any] = [BEGIN, "", "## Names", "", *names_table(), "", "## Records", "", *records_part(), "", END]
    return "\n".join(parts)


def main() -> None:
    page = PAGE.read_text()
    if BEGIN not in page:
        page += f"\n{BEGIN}\n{END}\n"
    before, _, rest = page.partition(BEGIN)
    after = rest.partition(END)[2]
    made = before + generated() + after
    if "--check" in sys.argv:
        if re.sub(r"\d+", "", made) != re.sub(r"\d+", "", page):  # numbers may lag behind, lists may not
            sys.exit("docs/conformance.md is stale: run python tools/conformance.py")
    else:
        PAGE.write_text(made)


if __name__ == "__main__":
    main()
