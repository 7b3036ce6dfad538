"""A word language model with a two-layer LSTM, tied weights, clipped gradients, plain SGD by hand, annealed on a plateau."""

import argparse
import math

import torch
import torch.nn as nn


class RNNModel(nn.Module):
    def __init__(self, ntoken, ninp, nhid, nlayers, dropout=0.2, tie_weights=True):
        super().__init__()
        self.ntoken = ntoken
        self.drop = nn.Dropout(dropout)
        self.encoder = nn.Embedding(ntoken, ninp)
        self.rnn = nn.LSTM(ninp, nhid, nlayers, dropout=dropout)
        self.decoder = nn.Linear(nhid, ntoken)
        if tie_weights:
            if nhid != ninp:
                raise ValueError("When using the tied flag, nhid must be equal to emsize")
            self.decoder.weight = self.encoder.weight
        self.init_weights()
        self.nhid, self.nlayers = nhid, nlayers

    def init_weights(self):
        initrange = 0.1
        nn.init.uniform_(self.encoder.weight, -initrange, initrange)
        nn.init.zeros_(self.decoder.bias)

    def forward(self, input, hidden):
        emb = self.drop(self.encoder(input))
        output, hidden = self.rnn(emb, hidden)
        output = self.drop(output)
        decoded = self.decoder(output)
        decoded = decoded.view(-1, self.ntoken)
        return nn.functional.log_softmax(decoded, dim=1), hidden

    def init_hidden(self, bsz):
        weight = next(self.parameters())
        return (weight.new_zeros(self.nlayers, bsz, self.nhid), weight.new_zeros(self.nlayers, bsz, self.nhid))


def repackage_hidden(h):
    """Wraps hidden states in new Tensors, to detach them from their history."""
    if isinstance(h, torch.Tensor):
        return h.detach()
    return tuple(repackage_hidden(v) for v in h)


def batchify(data, bsz):
    nbatch = data.size(0) // bsz
    data = data.narrow(0, 0, nbatch * bsz)
    return data.view(bsz, -1).t().contiguous()


def get_batch(source, i, bptt):
    seq_len = min(bptt, len(source) - 1 - i)
    return source[i : i + seq_len], source[i + 1 : i + 1 + seq_len].view(-1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--double", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(1111)
    if args.double:
        torch.set_default_dtype(torch.float64)
    ntokens, bptt, lr = 30, 10, 5.0
    corpus = torch.zeros(1200, dtype=torch.int64)
    for i in range(2, len(corpus)):
        noise = int(torch.randint(3, ()))
        corpus[i] = (corpus[i - 1] * 3 + corpus[i - 2] + noise) % ntokens
    train_data, val_data = batchify(corpus[:1000], 5), batchify(corpus[1000:], 5)

    model = RNNModel(ntokens, 24, 24, 2)
    criterion = nn.NLLLoss()
    best, step = None, 0
    while step < args.steps:
        model.train()
        hidden = model.init_hidden(5)
        for i in range(0, train_data.size(0) - 1, bptt):
            data, targets = get_batch(train_data, i, bptt)
            model.zero_grad()
            hidden = repackage_hidden(hidden)
            output, hidden = model(data, hidden)
            loss = criterion(output, targets)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.25)
            for p in model.parameters():
                p.data.add_(p.grad, alpha=-lr)
            if step < args.steps:
                print(f"step {step} loss {loss.item():.17g}")
            step += 1
        model.eval()
        total = 0.0
        with torch.no_grad():
            hidden = model.init_hidden(5)
            for i in range(0, val_data.size(0) - 1, bptt):
                data, targets = get_batch(val_data, i, bptt)
                output, hidden = model(data, hidden)
                hidden = repackage_hidden(hidden)
                total += len(data) * criterion(output, targets).item()
        val_loss = total / (len(val_data) - 1)
        print(f"valid ppl {math.exp(val_loss):8.2f}")
        if not best or val_loss < best:
            best = val_loss
        else:
            lr /= 4.0


if __name__ == "__main__":
    main()
