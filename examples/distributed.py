"""The small GPT of char_gpt.py learns on several ranks: each takes a part of the batch, gradients are averaged.

penlight launch --standalone --nproc-per-node 2 examples/distributed.py
python examples/distributed.py --compare         one rank and two, and how much faster two are
"""

import argparse
import os
import subprocess
import sys
import time

import penlight as torch
import penlight.distributed as dist
from penlight.nn import functional as F
from penlight.nn.parallel import DistributedDataParallel

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from char_gpt import GPT, song


def train(steps, batch, context):
    """Train on this rank's part of each batch; the last loss over all ranks, and the seconds that a step took."""
    text = song()
    letters = sorted(set(text))
    data = torch.tensor([letters.index(letter) for letter in text])
    torch.manual_seed(0)
    model = DistributedDataParallel(GPT(len(letters), context))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    mine = batch // dist.get_world_size()
    torch.manual_seed(1 + dist.get_rank())  # each rank sees other parts of the text
    start = time.perf_counter()
    for _ in range(steps):
        offsets = torch.randint(len(data) - context, (mine,)).tolist()
        x = torch.stack([data[offset : offset + context] for offset in offsets])
        y = torch.stack([data[offset + 1 : offset + context + 1] for offset in offsets])
        loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    seconds = (time.perf_counter() - start) / steps
    mean = loss.detach()
    dist.all_reduce(mean, dist.ReduceOp.AVG)
    return mean.item(), seconds


def compare(arguments):
    """Start one rank, then two; print the time of a step and the speed-up as bars."""
    times = {}
    for ranks in (1, 2):
        command = [sys.executable, "-m", "penlight", "launch", "--standalone", "--nproc-per-node", str(ranks)]
        env = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        printed = subprocess.run([*command, __file__, *arguments], env=env, check=True, capture_output=True, text=True)
        times[ranks] = float(printed.stdout.split()[-4])  # "... 12.3 ms a step"
    for ranks, seconds in times.items():
        speed = times[1] / seconds
        print(f"{ranks} rank{'s' * (ranks > 1)}: {seconds:.1f} ms a step  {'#' * round(20 * speed)} {speed:.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--batch", type=int, default=32, help="over all ranks")
    parser.add_argument("--context", type=int, default=64)
    parser.add_argument("--compare", action="store_true", help="one rank and two")
    options = parser.parse_args()
    if options.compare:
        compare([argument for argument in sys.argv[1:] if argument != "--compare"])
        return
    if "RANK" in os.environ or "PMI_RANK" in os.environ:  # penlight launch or mpiexec started it
        dist.init_process_group("gloo")
    else:
        dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    loss, seconds = train(options.steps, options.batch, options.context)
    if dist.get_rank() == 0:
        print(f"{dist.get_world_size()} ranks: loss {loss:.3f}, {seconds * 1000:.1f} ms a step")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
