"""accelerate and Lightning train on two ranks of Penlight: as one process does with the joint batch."""

from __future__ import annotations

import importlib.util

import pytest

import penlight as torch

from .ranks import needs_mpi
from .test_launch import LAUNCH, RUN, finish

COMMON = """
import sys
import torch
from torch.utils.data import DataLoader, TensorDataset
torch.set_num_threads(1)
model = torch.nn.Linear(4, 1)
for parameter in model.parameters():
    torch.nn.init.constant_(parameter, 0.1)
x = torch.arange(64.0).reshape(16, 4) / 64
data = DataLoader(TensorDataset(x, x.sum(1, keepdim=True)), batch_size=BATCH)
"""
ACCELERATE = """
from accelerate import Accelerator
accelerator = Accelerator(cpu=True)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model, optimizer, data = accelerator.prepare(model, optimizer, data)
for epoch in range(3):
    for a, b in data:
        accelerator.backward(torch.nn.functional.mse_loss(model(a), b))
        optimizer.step()
        optimizer.zero_grad()
seen = accelerator.gather(torch.tensor([accelerator.process_index]))
weights = accelerator.unwrap_model(model).weight.flatten().tolist()
sys.stdout.write(f"{seen.tolist()} {weights}\\n")
accelerator.end_training()
"""
LIGHTNING = """
import lightning

class Module(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.model = model

    def training_step(self, batch, index):
        loss = torch.nn.functional.mse_loss(self.model(batch[0]), batch[1])
        self.log("loss", loss, sync_dist=True)
        return loss

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)

    def train_dataloader(self):
        sampler = torch.utils.data.DistributedSampler(data.dataset, shuffle=False)
        return DataLoader(data.dataset, batch_size=BATCH, sampler=sampler)

if __name__ == "__main__":
    trainer = lightning.Trainer(
        accelerator="cpu", devices=2, strategy=sys.argv[1], max_epochs=3, logger=False, enable_progress_bar=False,
        enable_model_summary=False, use_distributed_sampler=False, default_root_dir=sys.argv[2],
    )
    trainer.fit(Module())
    seen = list(range(trainer.world_size))
    sys.stdout.write(f"{seen} {model.weight.flatten().tolist()}\\n")
"""


def alone():
    """The weights after the same training in one process."""
    names = {"BATCH": 8}
    exec(COMMON.replace("import torch\n", "import penlight as torch\n").replace("torch.utils", "penlight.utils"), names)
    model = names["model"]
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        for a, b in names["data"]:
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(model(a), b).backward()
            optimizer.step()
    return model.weight.flatten().tolist()


@needs_mpi
@pytest.mark.parametrize(
    ("package", "start", "arguments", "printing"),
    [("accelerate", LAUNCH, [], 2), ("lightning", LAUNCH, ["ddp"], 2), ("lightning", RUN, ["ddp_spawn"], 1)],
    ids=["accelerate", "lightning", "lightning spawns"],
)
def test_training(package, start, arguments, printing, tmp_path):
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"needs {package}")
    program = tmp_path / "program.py"
    program.write_text(f"BATCH = 4{COMMON}{ACCELERATE if package == 'accelerate' else LIGHTNING}")
    printed, errors = finish([*start, str(program), *arguments, str(tmp_path)], 0)
    lines = [line for line in printed.splitlines() if line.startswith("[0, 1] ")]
    assert len(lines) == printing, printed + errors
    for line in lines:
        weights = [float(word) for word in line.removeprefix("[0, 1] ").strip("[]").split(", ")]
        assert weights == pytest.approx(alone(), abs=1e-6)
