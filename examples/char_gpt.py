"""A small GPT learns a text letter by letter, and then writes on its own.

python examples/char_gpt.py
"""

import argparse
import math

import penlight as torch
from penlight import nn
from penlight.nn import functional as F

ANIMALS = ["cow", "dog", "cat", "duck", "pig", "hen", "horse", "sheep", "goose", "owl"]
SOUNDS = ["moo", "woof", "meow", "quack", "oink", "cluck", "neigh", "baa", "honk", "hoot"]


def song():
    """Old MacDonald's farm, with all of its animals."""
    lines = []
    for animal, sound in zip(ANIMALS, SOUNDS):
        lines += [
            "old macdonald had a farm, e-i-e-i-o,",
            f"and on his farm he had a {animal}, e-i-e-i-o,",
            f"with a {sound}-{sound} here, and a {sound}-{sound} there,",
            f"here a {sound}, there a {sound}, everywhere a {sound}-{sound}.",
            "",
        ]
    return "\n".join(lines)


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(attended.transpose(1, 2).reshape(batch, length, width))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    def __init__(self, letters, context, width=64, heads=4, layers=2):
        super().__init__()
        self.context = context
        self.letter, self.place = nn.Embedding(letters, width), nn.Embedding(context, width)
        self.blocks = nn.Sequential(*[Block(width, heads) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, letters, bias=False)
        for name, p in self.named_parameters():
            if p.dim() > 1:
                nn.init.normal_(p, std=0.02 / math.sqrt(2 * layers) if name.endswith("out.weight") else 0.02)

    def forward(self, index):
        x = self.letter(index) + self.place(torch.arange(index.shape[1]))
        return self.head(self.norm(self.blocks(x)))

    @torch.no_grad()
    def write(self, index, count, temperature=0.8):
        for _ in range(count):
            logits = self(index[:, -self.context :])[:, -1] / temperature
            index = torch.cat([index, torch.multinomial(F.softmax(logits, -1), 1)], dim=1)
        return index


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--letters", type=int, default=300, help="how many to write at the end")
    args = parser.parse_args()
    torch.manual_seed(0)
    text = song()
    letters = sorted(set(text))
    data = torch.tensor([letters.index(c) for c in text])
    model = GPT(len(letters), context=64)
    print(
        f"{len(text)} letters of text, {len(letters)} different; {sum(p.numel() for p in model.parameters())} parameters"
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, betas=(0.9, 0.95))
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, total_steps=args.steps)
    start = torch.tensor([[letters.index("o")]])
    for step in range(args.steps):
        at = torch.randint(len(data) - model.context, (16, 1)) + torch.arange(model.context + 1)
        batch = data[at.clamp(max=len(data) - 1)]
        loss = F.cross_entropy(model(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if step % max(1, args.steps // 5) == 0 or step == args.steps - 1:
            sample = "".join(letters[i] for i in model.write(start, 40)[0].tolist())
            print(f"step {step:4}  loss {loss.item():.3f}  {sample!r}")
    print()
    print("".join(letters[i] for i in model.write(start, args.letters)[0].tolist()))


if __name__ == "__main__":
    main()
