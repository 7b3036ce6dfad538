import string, unicodedata, random, math, torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(2)
random.seed(2)
allowed_characters = string.ascii_letters + " .,;'" + "_"
n_letters = len(allowed_characters)


def unicodeToAscii(s):
    return "".join(
        c for c in unicodedata.normalize("NFD", s) if unicodedata.category(c) != "Mn" and c in allowed_characters
    )


print(unicodeToAscii("Ślusàrski"))


def letterToIndex(letter):
    return allowed_characters.find(letter) if letter in allowed_characters else allowed_characters.find("_")


def lineToTensor(line):
    tensor = torch.zeros(len(line), 1, n_letters)
    for li, letter in enumerate(line):
        tensor[li][0][letterToIndex(letter)] = 1
    return tensor


print(lineToTensor("Jones").size())


class CharRNN(nn.Module):
    def __init__(self, input_size, hidden_size, output_size):
        super().__init__()
        self.rnn = nn.RNN(input_size, hidden_size)
        self.h2o = nn.Linear(hidden_size, output_size)
        self.softmax = nn.LogSoftmax(dim=1)

    def forward(self, line_tensor):
        rnn_out, hidden = self.rnn(line_tensor)
        output = self.h2o(hidden[0])
        return self.softmax(output)


labels = ["English", "Italian", "Dutch"]
data = [
    ("Smith", "English"),
    ("Rossi", "Italian"),
    ("Bakker", "Dutch"),
    ("Jones", "English"),
    ("Russo", "Italian"),
    ("Visser", "Dutch"),
    ("Taylor", "English"),
    ("Esposito", "Italian"),
    ("Mulder", "Dutch"),
]
rnn = CharRNN(n_letters, 32, len(labels))
print(rnn)


def label_from_output(output, output_labels):
    top_n, top_i = output.topk(1)
    label_i = top_i[0].item()
    return output_labels[label_i], label_i


optimizer = torch.optim.SGD(rnn.parameters(), lr=0.15)
criterion = nn.NLLLoss()
for it in range(6):
    rnn.zero_grad()
    batch_loss = 0
    order = list(range(len(data)))
    random.shuffle(order)
    for i in order:
        text, label = data[i]
        batch_loss += criterion(rnn(lineToTensor(text)), torch.tensor([labels.index(label)], dtype=torch.long))
    batch_loss.backward()
    nn.utils.clip_grad_norm_(rnn.parameters(), 3)
    optimizer.step()
    optimizer.zero_grad()
    print(f"{it} ({it / 6:.0%}): average batch loss = {batch_loss.item() / len(data):.4f}")
confusion = torch.zeros(3, 3)
rnn.eval()
with torch.no_grad():
    for text, label in data:
        guess, guess_i = label_from_output(rnn(lineToTensor(text)), labels)
        confusion[labels.index(label)][guess_i] += 1
for i in range(3):
    denom = confusion[i].sum()
    if denom > 0:
        confusion[i] = confusion[i] / denom
print(confusion, confusion.cpu().numpy())
