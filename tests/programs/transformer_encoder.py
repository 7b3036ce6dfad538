"""Sequence tagging with nn.TransformerEncoder: positional encoding in a buffer, padding mask, warm-up by LambdaLR."""

import argparse
import math

import torch
from torch import nn, Tensor
from torch.nn import TransformerEncoder, TransformerEncoderLayer


class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, dropout: float = 0.1, max_len: int = 50):
        super().__init__()
        self.dropout = nn.Dropout(p=dropout)
        position = torch.arange(max_len).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(max_len, 1, d_model)
        pe[:, 0, 0::2] = torch.sin(position * div_term)
        pe[:, 0, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.pe[: x.size(0)]
        return self.dropout(x)


class TransformerModel(nn.Module):
    def __init__(self, ntoken: int, d_model: int, nhead: int, d_hid: int, nlayers: int, dropout: float = 0.1):
        super().__init__()
        self.model_type = "Transformer"
        self.embedding = nn.Embedding(ntoken, d_model)
        self.pos_encoder = PositionalEncoding(d_model, dropout)
        encoder_layers = TransformerEncoderLayer(d_model, nhead, d_hid, dropout, activation="gelu")
        self.transformer_encoder = TransformerEncoder(encoder_layers, nlayers)
        self.d_model = d_model
        self.linear = nn.Linear(d_model, ntoken)
        self.init_weights()

    def init_weights(self) -> None:
        initrange = 0.1
        self.embedding.weight.data.uniform_(-initrange, initrange)
        self.linear.bias.data.zero_()
        self.linear.weight.data.uniform_(-initrange, initrange)

    def forward(self, src: Tensor, src_key_padding_mask: Tensor = None) -> Tensor:
        src = self.embedding(src) * math.sqrt(self.d_model)
        src = self.pos_encoder(src)
        output = self.transformer_encoder(src, src_key_padding_mask=src_key_padding_mask)
        return self.linear(output)


def batch(size, length, vocab):
    tokens = torch.randint(1, vocab, (length, size))
    lengths = torch.randint(length // 2, length + 1, (size,))
    padding = torch.arange(length).unsqueeze(0) >= lengths.unsqueeze(1)
    tokens = tokens.masked_fill(padding.t(), 0)
    target = tokens.cummax(0).values
    return tokens, target.masked_fill(padding.t(), -100), padding


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--double", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(0)
    if args.double:
        torch.set_default_dtype(torch.float64)
    vocab = 10
    model = TransformerModel(vocab, 16, 4, 32, 2).to("cpu")
    criterion = nn.CrossEntropyLoss(ignore_index=-100)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, betas=(0.9, 0.98), eps=1e-9)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: min((s + 1) ** -0.5, (s + 1) * 10**-1.5) * 3)
    model.train()
    for step in range(args.steps):
        tokens, target, padding = batch(8, 10, vocab)
        output = model(tokens, src_key_padding_mask=padding)
        loss = criterion(output.view(-1, vocab), target.view(-1))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        scheduler.step()
        print(f"step {step} loss {loss.item():.17g}")
    model.eval()
    with torch.no_grad():
        tokens, target, padding = batch(16, 10, vocab)
        guess = model(tokens, src_key_padding_mask=padding).argmax(-1)
        valid = target != -100
        print(f"accuracy {(guess == target)[valid].float().mean():.4f}")


if __name__ == "__main__":
    main()
