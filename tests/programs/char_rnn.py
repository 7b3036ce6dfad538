"""A character RNN with nn.RNN: one-hot letters, hidden state carried from chunk to chunk, sampling with multinomial."""

import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

TEXT = (
    "the quick brown fox jumps over the lazy dog. pack my box with five dozen liquor jugs. "
    "how vexingly quick daft zebras jump! sphinx of black quartz, judge my vow. "
) * 4


class CharRNN(nn.Module):
    def __init__(self, vocab, hidden_size, num_layers):
        super().__init__()
        self.hidden_size, self.num_layers = hidden_size, num_layers
        self.rnn = nn.RNN(vocab, hidden_size, num_layers, nonlinearity="tanh", batch_first=True)
        self.fc = nn.Linear(hidden_size, vocab)

    def forward(self, x, hidden):
        out, hidden = self.rnn(x, hidden)
        return self.fc(out), hidden

    def init_hidden(self, batch):
        weight = next(self.parameters())
        return weight.new_zeros(self.num_layers, batch, self.hidden_size)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--double", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(7)
    if args.double:
        torch.set_default_dtype(torch.double)
    chars = sorted(set(TEXT))
    stoi = {c: i for i, c in enumerate(chars)}
    data = torch.tensor([stoi[c] for c in TEXT], dtype=torch.long)
    batch, chunk = 4, 12
    rows = data[: len(data) // batch * batch].view(batch, -1)

    model = CharRNN(len(chars), 32, 2)
    optimizer = torch.optim.RMSprop(model.parameters(), lr=5e-4, momentum=0.5)
    hidden = model.init_hidden(batch)
    position = 0
    for step in range(args.steps):
        if position + chunk + 1 > rows.size(1):
            position, hidden = 0, model.init_hidden(batch)
        x = F.one_hot(rows[:, position : position + chunk], len(chars)).to(torch.get_default_dtype())
        y = rows[:, position + 1 : position + chunk + 1]
        position += chunk
        hidden = hidden.detach()
        model.zero_grad()
        logits, hidden = model(x, hidden)
        loss = F.cross_entropy(logits.reshape(-1, len(chars)), y.reshape(-1))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        print("step %d loss %.17g" % (step, loss.item()))

    model.eval()
    with torch.no_grad():
        hidden, letter, text = model.init_hidden(1), "t", "t"
        for _ in range(20):
            x = F.one_hot(torch.tensor([[stoi[letter]]]), len(chars)).to(torch.get_default_dtype())
            logits, hidden = model(x, hidden)
            p = F.softmax(logits[0, -1] / 0.8, dim=-1)
            letter = chars[torch.multinomial(p, 1).item()]
            text += letter
    print(text)


if __name__ == "__main__":
    main()
