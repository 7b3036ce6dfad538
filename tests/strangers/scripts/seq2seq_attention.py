import torch, random
import torch.nn as nn
from torch import optim
import torch.nn.functional as F

torch.manual_seed(11)
random.seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
MAX_LENGTH = 6
SOS, EOS = 0, 1


class EncoderRNN(nn.Module):
    def __init__(self, input_size, hidden_size, dropout_p=0.1):
        super().__init__()
        self.embedding = nn.Embedding(input_size, hidden_size)
        self.gru = nn.GRU(hidden_size, hidden_size, batch_first=True)
        self.dropout = nn.Dropout(dropout_p)

    def forward(self, input):
        return self.gru(self.dropout(self.embedding(input)))


class BahdanauAttention(nn.Module):
    def __init__(self, hidden_size):
        super().__init__()
        self.Wa = nn.Linear(hidden_size, hidden_size)
        self.Ua = nn.Linear(hidden_size, hidden_size)
        self.Va = nn.Linear(hidden_size, 1)

    def forward(self, query, keys):
        scores = self.Va(torch.tanh(self.Wa(query) + self.Ua(keys)))
        scores = scores.squeeze(2).unsqueeze(1)
        weights = F.softmax(scores, dim=-1)
        return torch.bmm(weights, keys), weights


class AttnDecoderRNN(nn.Module):
    def __init__(self, hidden_size, output_size, dropout_p=0.1):
        super().__init__()
        self.embedding = nn.Embedding(output_size, hidden_size)
        self.attention = BahdanauAttention(hidden_size)
        self.gru = nn.GRU(2 * hidden_size, hidden_size, batch_first=True)
        self.out = nn.Linear(hidden_size, output_size)
        self.dropout = nn.Dropout(dropout_p)

    def forward(self, encoder_outputs, encoder_hidden, target_tensor=None):
        batch_size = encoder_outputs.size(0)
        decoder_input = torch.empty(batch_size, 1, dtype=torch.long, device=device).fill_(SOS)
        decoder_hidden = encoder_hidden
        outs, atts = [], []
        for i in range(MAX_LENGTH):
            out, decoder_hidden, att = self.forward_step(decoder_input, decoder_hidden, encoder_outputs)
            outs.append(out)
            atts.append(att)
            if target_tensor is not None:
                decoder_input = target_tensor[:, i].unsqueeze(1)
            else:
                _, topi = out.topk(1)
                decoder_input = topi.squeeze(-1).detach()
        return F.log_softmax(torch.cat(outs, dim=1), dim=-1), decoder_hidden, torch.cat(atts, dim=1)

    def forward_step(self, input, hidden, encoder_outputs):
        embedded = self.dropout(self.embedding(input))
        query = hidden.permute(1, 0, 2)
        context, attn = self.attention(query, encoder_outputs)
        output, hidden = self.gru(torch.cat((embedded, context), dim=2), hidden)
        return self.out(output), hidden, attn


enc = EncoderRNN(20, 16).to(device)
dec = AttnDecoderRNN(16, 20).to(device)
eo, do = optim.Adam(enc.parameters(), lr=0.01), optim.Adam(dec.parameters(), lr=0.01)
criterion = nn.NLLLoss()
src = torch.randint(2, 20, (8, MAX_LENGTH))
tgt = src.flip(1)
for e in range(10):
    eo.zero_grad()
    do.zero_grad()
    o, h = enc(src)
    d, _, _ = dec(o, h, tgt)
    loss = criterion(d.view(-1, d.size(-1)), tgt.view(-1))
    loss.backward()
    eo.step()
    do.step()
    print(e, f"{loss.item():.4f}")
enc.eval()
dec.eval()
with torch.no_grad():
    o, h = enc(src[:1])
    d, _, att = dec(o, h)
    _, topi = d.topk(1)
    print(topi.squeeze().tolist(), att.shape, att.sum(-1))
print(enc, dec)
