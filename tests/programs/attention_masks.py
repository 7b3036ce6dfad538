"""Translation with nn.Transformer: causal and padding masks of all kinds, greedy decoding, label smoothing, shared embeddings."""

import argparse
import math

import torch
import torch.nn as nn
from torch.nn import Transformer


class Seq2SeqTransformer(nn.Module):
    def __init__(self, vocab, emb=16):
        super().__init__()
        self.transformer = Transformer(
            d_model=emb, nhead=4, num_encoder_layers=1, num_decoder_layers=2, dim_feedforward=32, dropout=0.1,
            batch_first=True, norm_first=True,
        )  # fmt: skip
        self.tok = nn.Embedding(vocab, emb, padding_idx=0)
        self.pos = nn.Parameter(torch.zeros(1, 20, emb))
        self.generator = nn.Linear(emb, vocab)
        for p in self.parameters():
            if p.dim() > 1:
                nn.init.xavier_uniform_(p)

    def embed(self, tokens):
        return self.tok(tokens) * math.sqrt(self.tok.embedding_dim) + self.pos[:, : tokens.size(1)]

    def forward(self, src, trg, boolean):
        if boolean:
            tgt_mask = torch.triu(torch.ones(trg.size(1), trg.size(1), dtype=torch.bool), diagonal=1)
            src_mask = torch.zeros(src.size(1), src.size(1), dtype=torch.bool)
            src_pad, tgt_pad = src == 0, trg == 0
        else:
            tgt_mask = Transformer.generate_square_subsequent_mask(trg.size(1))
            src_mask = torch.zeros(src.size(1), src.size(1))
            src_pad = torch.zeros(src.shape).masked_fill(src == 0, float("-inf"))
            tgt_pad = torch.zeros(trg.shape).masked_fill(trg == 0, float("-inf"))
        outs = self.transformer(
            self.embed(src), self.embed(trg), src_mask=src_mask, tgt_mask=tgt_mask, src_key_padding_mask=src_pad,
            tgt_key_padding_mask=tgt_pad, memory_key_padding_mask=src_pad, tgt_is_causal=boolean,
        )  # fmt: skip
        return self.generator(outs)


class Banded(nn.Module):
    """Attention of different sizes for keys and values, per-head masks, learnt bias for the keys."""

    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, dropout=0.1, kdim=5, vdim=6, add_bias_kv=True, add_zero_attn=True)

    def forward(self, q, k, v):
        length, batch = q.size(0), q.size(1)
        band = (torch.arange(length)[:, None] - torch.arange(k.size(0))[None, :]).abs() > 2
        mask = band.unsqueeze(0).repeat(batch * 2, 1, 1)
        out, weights = self.attention(q, k, v, attn_mask=mask, need_weights=True, average_attn_weights=False)
        return out, weights


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--double", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(0)
    if args.double:
        torch.set_default_dtype(torch.float64)
    vocab, bos, eos = 12, 1, 2
    model, banded = Seq2SeqTransformer(vocab), Banded()
    loss_fn = nn.CrossEntropyLoss(ignore_index=0, label_smoothing=0.1)
    optimizer = torch.optim.Adam([*model.parameters(), *banded.parameters()], lr=3e-3, betas=(0.9, 0.98), eps=1e-9)
    for step in range(args.steps):
        lengths = torch.randint(3, 7, (8,))
        src = torch.randint(3, vocab, (8, 6)).masked_fill(torch.arange(6) >= lengths[:, None], 0)
        trg = torch.zeros(8, 8, dtype=torch.long)
        trg[:, 0] = bos
        for i, n in enumerate(lengths.tolist()):
            trg[i, 1 : n + 1] = src[i, :n].flip(0)
            trg[i, n + 1] = eos
        logits = model(src, trg[:, :-1], boolean=step % 2 == 0)
        loss = loss_fn(logits.reshape(-1, vocab), trg[:, 1:].reshape(-1))
        q, k, v = torch.randn(4, 3, 8), torch.randn(5, 3, 5), torch.randn(5, 3, 6)
        out, weights = banded(q, k, v)
        loss = loss + 0.1 * (out - q.tanh()).pow(2).mean() + 0.01 * weights.pow(2).sum(-1).mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        print(f"step {step} loss {loss.item():.17g}")
    model.eval()
    with torch.no_grad():
        src = torch.tensor([[3, 4, 5, 6]])
        memory = model.transformer.encoder(model.embed(src))
        ys = torch.ones(1, 1).fill_(bos).type_as(src)
        for _ in range(6):
            mask = Transformer.generate_square_subsequent_mask(ys.size(1)).type(torch.bool)
            out = model.generator(model.transformer.decoder(model.embed(ys), memory, mask)[:, -1])
            ys = torch.cat([ys, out.max(dim=1)[1].view(1, 1)], dim=1)
        print(ys.tolist())


if __name__ == "__main__":
    main()
