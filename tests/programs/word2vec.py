"""Skip-gram with negative sampling: embeddings, logsigmoid, a weighted sampler, and a bag-of-words classifier by EmbeddingBag."""

import argparse
from collections import Counter

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset, WeightedRandomSampler

TEXT = """the king rules the land and the queen rules the land the man works the field and the woman works the field
the king is a man and the queen is a woman a prince is the son of a king and a princess is the daughter of a queen""".split()


class SkipGram(Dataset):
    def __init__(self, words, window=2):
        self.vocab = sorted(set(words))
        index = {w: i for i, w in enumerate(self.vocab)}
        ids = [index[w] for w in words]
        self.counts = Counter(ids)
        self.pairs = [
            (ids[i], ids[j])
            for i in range(len(ids))
            for j in range(max(0, i - window), min(len(ids), i + window + 1))
            if i != j
        ]

    def __len__(self):
        return len(self.pairs)

    def __getitem__(self, i):
        return self.pairs[i]


class Model(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.input_embeddings = nn.Embedding(vocab, dim, max_norm=2.0)
        self.output_embeddings = nn.Embedding(vocab, dim, scale_grad_by_freq=True)
        self.output_embeddings.weight.data.zero_()

    def forward(self, centre, context, negative):
        v = self.input_embeddings(centre)
        u = self.output_embeddings(context)
        n = self.output_embeddings(negative)
        positive = F.logsigmoid((u * v).sum(dim=1))
        negatives = F.logsigmoid(-torch.bmm(n, v.unsqueeze(2)).squeeze(2)).sum(dim=1)
        return -(positive + negatives).mean()


class Bag(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.embedding = nn.EmbeddingBag(vocab, dim, mode="mean", sparse=False)
        self.fc = nn.Linear(dim, 2)

    def forward(self, text, offsets):
        return self.fc(self.embedding(text, offsets))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--double", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(8)
    if args.double:
        torch.set_default_dtype(torch.float64)
    data = SkipGram(TEXT)
    vocab = len(data.vocab)
    frequency = torch.tensor([data.counts[i] for i in range(vocab)], dtype=torch.double)
    noise = frequency.pow(0.75) / frequency.pow(0.75).sum()
    weights = [1.0 / data.counts[c] ** 0.5 for c, _ in data.pairs]
    loader = DataLoader(data, batch_size=16, sampler=WeightedRandomSampler(weights, len(data)), drop_last=True)
    model, bag = Model(vocab, 12), Bag(vocab, 8)
    optimizer = torch.optim.SGD([*model.parameters(), *bag.parameters()], lr=0.3, momentum=0.5, dampening=0.1)
    step = 0
    while step < args.steps:
        for centre, context in loader:
            if step == args.steps:
                break
            negative = torch.multinomial(noise, len(centre) * 4, replacement=True).view(len(centre), 4)
            offsets = torch.arange(0, len(context), 4)
            label = (centre[::4] > vocab // 2).long()
            loss = model(centre, context, negative) + F.cross_entropy(bag(context, offsets), label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            print(f"step {step} loss {loss.item():.17g}")
            step += 1
    with torch.no_grad():
        e = F.normalize(model.input_embeddings.weight, dim=1)
        king = data.vocab.index("king")
        print([data.vocab[i] for i in (e @ e[king]).topk(3).indices.tolist()])


if __name__ == "__main__":
    main()
