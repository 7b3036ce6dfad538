"""Recognising sequences without alignment: convolutions over time, a bidirectional LSTM, CTC loss, greedy decoding."""

import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

BLANK = 0


class Recogniser(nn.Module):
    def __init__(self, features, classes, hidden=16):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv1d(features, hidden, 3, stride=2, padding=1), nn.BatchNorm1d(hidden), nn.ReLU()
        )
        self.rnn = nn.LSTM(hidden, hidden, bidirectional=True, batch_first=True)
        self.fc = nn.Linear(2 * hidden, classes)

    def forward(self, x):
        h = self.conv(x.transpose(1, 2)).transpose(1, 2)
        self.rnn.flatten_parameters()
        h, (h_n, c_n) = self.rnn(h)
        return F.log_softmax(self.fc(h), dim=-1)


def make_batch(codes, size=6):
    frames, targets, lengths, target_lengths = [], [], [], []
    for _ in range(size):
        n = int(torch.randint(2, 5, ()).item())
        word = torch.randint(1, len(codes), (n,))
        repeats = torch.randint(4, 7, (n,))
        sound = codes[word].repeat_interleave(repeats, dim=0)
        frames.append(sound + 0.2 * torch.randn_like(sound))
        targets.append(word)
        lengths.append((len(sound) + 1) // 2)
        target_lengths.append(n)
    padded = nn.utils.rnn.pad_sequence(frames, batch_first=True)
    return padded, torch.cat(targets), torch.tensor(lengths), torch.tensor(target_lengths)


def greedy(log_probs):
    out = []
    for best in log_probs.argmax(-1):
        letters = torch.unique_consecutive(best)
        out.append(letters[letters != BLANK].tolist())
    return out


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--double", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(0)
    if args.double:
        torch.set_default_dtype(torch.float64)
    codes = torch.randn(6, 5)
    model = Recogniser(5, 6)
    criterion = nn.CTCLoss(blank=BLANK, zero_infinity=True)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(args.steps):
        x, targets, lengths, target_lengths = make_batch(codes)
        log_probs = model(x)
        loss = criterion(log_probs.permute(1, 0, 2), targets, lengths, target_lengths)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0, norm_type=2.0)
        optimizer.step()
        print(f"step {step} loss {loss.item():.17g}")
    model.eval()
    with torch.no_grad():
        x, targets, lengths, target_lengths = make_batch(codes, 2)
        print([len(word) for word in greedy(model(x))], target_lengths.sum().item())


if __name__ == "__main__":
    main()
