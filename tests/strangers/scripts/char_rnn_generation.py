import torch, random, string
import torch.nn as nn

torch.manual_seed(5)
random.seed(5)
all_letters = string.ascii_lowercase
n_letters = len(all_letters) + 1
n_categories = 2


class RNN(nn.Module):
    def __init__(self, input_size, hidden_size, output_size):
        super(RNN, self).__init__()
        self.hidden_size = hidden_size
        self.i2h = nn.Linear(n_categories + input_size + hidden_size, hidden_size)
        self.i2o = nn.Linear(n_categories + input_size + hidden_size, output_size)
        self.o2o = nn.Linear(hidden_size + output_size, output_size)
        self.dropout = nn.Dropout(0.1)
        self.softmax = nn.LogSoftmax(dim=1)

    def forward(self, category, input, hidden):
        input_combined = torch.cat((category, input, hidden), 1)
        hidden = self.i2h(input_combined)
        output = self.i2o(input_combined)
        output_combined = torch.cat((hidden, output), 1)
        output = self.softmax(self.dropout(self.o2o(output_combined)))
        return output, hidden

    def initHidden(self):
        return torch.zeros(1, self.hidden_size)


def inputTensor(line):
    tensor = torch.zeros(len(line), 1, n_letters)
    for li in range(len(line)):
        tensor[li][0][all_letters.find(line[li])] = 1
    return tensor


def targetTensor(line):
    li = [all_letters.find(line[i]) for i in range(1, len(line))]
    li.append(n_letters - 1)
    return torch.LongTensor(li)


criterion = nn.NLLLoss()
rnn = RNN(n_letters, 64, n_letters)
learning_rate = 0.005


def train(category_tensor, input_line_tensor, target_line_tensor):
    target_line_tensor.unsqueeze_(-1)
    hidden = rnn.initHidden()
    rnn.zero_grad()
    loss = torch.Tensor([0])
    for i in range(input_line_tensor.size(0)):
        output, hidden = rnn(category_tensor, input_line_tensor[i], hidden)
        l = criterion(output, target_line_tensor[i])
        loss += l
    loss.backward()
    for p in rnn.parameters():
        p.data.add_(p.grad.data, alpha=-learning_rate)
    return output, loss.item() / input_line_tensor.size(0)


names = ["anna", "otto", "mia", "paul"]
for it in range(8):
    w = names[it % 4]
    cat = torch.zeros(1, n_categories)
    cat[0][it % 2] = 1
    out, loss = train(cat, inputTensor(w), targetTensor(w))
    print("%d %.4f" % (it, loss))
with torch.no_grad():
    rnn.eval()
    hidden = rnn.initHidden()
    inp = inputTensor("a")
    name = "a"
    for i in range(8):
        output, hidden = rnn(cat, inp[0], hidden)
        topv, topi = output.topk(1)
        topi = topi[0][0]
        if topi == n_letters - 1:
            break
        letter = all_letters[topi]
        name += letter
        inp = inputTensor(letter)
    print(name, topv)
