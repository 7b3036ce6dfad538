"""Sequence classification by a bidirectional GRU over packed sequences of different lengths, with a collate function."""

import argparse

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence
from torch.utils.data import DataLoader, Dataset


class Brackets(Dataset):
    """Strings of brackets: is every one closed?"""

    def __init__(self, n):
        self.items = []
        for _ in range(n):
            length = int(torch.randint(3, 15, (1,)))
            seq = torch.randint(0, 3, (length,))
            depth = (seq == 0).cumsum(0) - (seq == 1).cumsum(0)
            self.items.append((seq, float(depth[-1] > 0)))

    def __getitem__(self, i):
        return self.items[i]

    def __len__(self):
        return len(self.items)


def collate(batch):
    seqs, labels = zip(*batch)
    lengths = torch.as_tensor([len(s) for s in seqs])
    return pad_sequence(seqs, batch_first=True, padding_value=3), lengths, torch.tensor(labels)


class Classifier(nn.Module):
    def __init__(self, embed=8, hidden=16):
        super().__init__()
        self.embedding = nn.Embedding(4, embed, padding_idx=3)
        self.gru = nn.GRU(embed, hidden, num_layers=2, bidirectional=True, batch_first=True)
        self.head = nn.Sequential(nn.Linear(4 * hidden, hidden), nn.ELU(), nn.Linear(hidden, 1))

    def forward(self, x, lengths):
        packed = pack_padded_sequence(self.embedding(x), lengths, batch_first=True, enforce_sorted=False)
        output, h = self.gru(packed)
        output, lens = pad_packed_sequence(output, batch_first=True)
        mask = torch.arange(output.size(1))[None, :] < lens[:, None]
        pooled = (output * mask.unsqueeze(-1)).sum(1) / lens.unsqueeze(-1)
        last = torch.cat([h[-2], h[-1]], dim=-1)
        return self.head(torch.cat([pooled, last], dim=-1)).squeeze(-1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--double", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(3)
    if args.double:
        torch.set_default_dtype(torch.float64)
    loader = DataLoader(Brackets(200), batch_size=20, shuffle=True, collate_fn=collate)
    model = Classifier()
    criterion = nn.BCEWithLogitsLoss(pos_weight=torch.tensor(1.5))
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3, amsgrad=True)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=args.steps)
    iterator = iter(loader)
    for step in range(args.steps):
        try:
            x, lengths, y = next(iterator)
        except StopIteration:
            iterator = iter(loader)
            x, lengths, y = next(iterator)
        logits = model(x, lengths)
        loss = criterion(logits, y.to(logits.dtype))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()
        scheduler.step()
        print(f"step {step} loss {loss.item():.17g} norm {norm:.6f} lr {scheduler.get_last_lr()[0]:.6g}")


if __name__ == "__main__":
    main()
