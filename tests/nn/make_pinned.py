"""Writes pinned.json: what PyTorch prints and computes for every case, in short. Needs PyTorch.

python tests/nn/make_pinned.py
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import torch
from nn_cases import CASES
from nn_summary import summary

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    pinned = {name: summary(case, torch) for name, case in CASES.items()}
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(what)}" for name, what in pinned.items())
    Path(__file__).with_name("pinned.json").write_text("{\n" + lines + "\n}\n")
