"""Reversing sequences with an encoder, a decoder of GRU cells and additive attention; teacher forcing by a coin of `random`."""

import argparse
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

SOS, EOS, VOCAB = 0, 1, 12


class EncoderRNN(nn.Module):
    def __init__(self, input_size, hidden_size, dropout_p=0.1):
        super(EncoderRNN, self).__init__()
        self.hidden_size = hidden_size
        self.embedding = nn.Embedding(input_size, hidden_size)
        self.gru = nn.GRU(hidden_size, hidden_size, batch_first=True)
        self.dropout = nn.Dropout(dropout_p)

    def forward(self, input):
        embedded = self.dropout(self.embedding(input))
        output, hidden = self.gru(embedded)
        return output, hidden


class BahdanauAttention(nn.Module):
    def __init__(self, hidden_size):
        super(BahdanauAttention, self).__init__()
        self.Wa = nn.Linear(hidden_size, hidden_size)
        self.Ua = nn.Linear(hidden_size, hidden_size)
        self.Va = nn.Linear(hidden_size, 1)

    def forward(self, query, keys):
        scores = self.Va(torch.tanh(self.Wa(query) + self.Ua(keys)))
        scores = scores.squeeze(2).unsqueeze(1)
        weights = F.softmax(scores, dim=-1)
        context = torch.bmm(weights, keys)
        return context, weights


class AttnDecoderRNN(nn.Module):
    def __init__(self, hidden_size, output_size, dropout_p=0.1):
        super(AttnDecoderRNN, self).__init__()
        self.embedding = nn.Embedding(output_size, hidden_size)
        self.attention = BahdanauAttention(hidden_size)
        self.cell = nn.GRUCell(2 * hidden_size, hidden_size)
        self.out = nn.Linear(hidden_size, output_size)
        self.dropout = nn.Dropout(dropout_p)

    def forward(self, encoder_outputs, encoder_hidden, target=None, steps=None):
        batch = encoder_outputs.size(0)
        token = torch.empty(batch, dtype=torch.long).fill_(SOS)
        hidden = encoder_hidden.squeeze(0)
        outputs, attentions = [], []
        for i in range(steps):
            embedded = self.dropout(self.embedding(token))
            context, weights = self.attention(hidden.unsqueeze(1), encoder_outputs)
            hidden = self.cell(torch.cat((embedded, context.squeeze(1)), dim=1), hidden)
            output = self.out(hidden)
            outputs.append(output)
            attentions.append(weights)
            if target is not None:
                token = target[:, i]
            else:
                _, topi = output.topk(1)
                token = topi.squeeze(-1).detach()
        return F.log_softmax(torch.stack(outputs, dim=1), dim=-1), torch.cat(attentions, dim=1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--double", action="store_true")
    args = parser.parse_args()
    random.seed(5)
    torch.manual_seed(5)
    if args.double:
        torch.set_default_dtype(torch.float64)
    encoder, decoder = EncoderRNN(VOCAB, 24), AttnDecoderRNN(24, VOCAB)
    encoder_optimizer = torch.optim.Adam(encoder.parameters(), lr=0.01)
    decoder_optimizer = torch.optim.Adam(decoder.parameters(), lr=0.01)
    criterion = nn.NLLLoss(ignore_index=-100)
    for step in range(args.steps):
        source = torch.randint(2, VOCAB, (16, 6))
        target = torch.cat([source.flip(1), torch.full((16, 1), EOS)], dim=1)
        forced = random.random() < 0.7
        encoder_optimizer.zero_grad()
        decoder_optimizer.zero_grad()
        outputs, hidden = encoder(source)
        log_probs, _ = decoder(outputs, hidden, target if forced else None, steps=target.size(1))
        loss = criterion(log_probs.view(-1, VOCAB), target.view(-1))
        loss.backward()
        encoder_optimizer.step()
        decoder_optimizer.step()
        print(f"step {step} loss {loss.item():.17g}")


if __name__ == "__main__":
    main()
