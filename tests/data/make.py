"""How the files beside this one were written, with torch 2.13: `python tests/data/make.py`."""

from __future__ import annotations

import os
from collections import OrderedDict

import torch

HERE = os.path.dirname(os.path.abspath(__file__))


def save(obj: object, name: str, **options: object) -> None:
    torch.save(obj, os.path.join(HERE, name), **options)


def main() -> None:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
    for number, parameter in enumerate(model.parameters()):
        torch.nn.init.constant_(parameter, number + 0.5)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.25)
    model(torch.ones(2, 2)).sum().backward()
    optimizer.step()
    base = torch.arange(12.0).reshape(3, 4)
    save(model.state_dict(), "state_dict.pt")
    save({"epoch": 3, "optimizer": optimizer.state_dict(), "losses": [0.5, 0.25]}, "checkpoint.pt")
    save([base, base[1:, ::2], base.T, base[2, 3], base.expand(2, 3, 4)], "views.pt")
    names = (
        "float16 bfloat16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool complex64 complex128"
    )
    save({name: torch.arange(2).to(getattr(torch, name)) for name in names.split()}, "dtypes.pt")
    odds = OrderedDict(
        size=torch.Size([2, 3]), dtype=torch.float16, device=torch.device("cuda", 1), layout=torch.strided
    )
    odds.update(parameter=torch.nn.Parameter(torch.ones(1)), frozen=torch.nn.Parameter(torch.ones(1), False))
    odds.update(bytes=b"\x00\xff", array=bytearray(b"ab"), complex=1 + 2j, set={1, 2}, big=10**30, text="é", none=None)
    odds.update(conj=torch.tensor([1 + 2j]).conj(), empty=torch.empty(0, 3), scalar=torch.tensor(2.5))
    save(odds, "odds.pt")
    save(torch.nn.Sequential(torch.nn.Linear(2, 1), torch.nn.ReLU()).requires_grad_(False), "module.pt")
    save({"w": base, "v": base[1]}, "legacy.pt", _use_new_zipfile_serialization=False)
    tag = torch.serialization.location_tag
    torch.serialization.location_tag = lambda storage: "cuda:0"
    save(torch.arange(3), "cuda.pt")
    torch.serialization.location_tag = tag


if __name__ == "__main__":
    main()
