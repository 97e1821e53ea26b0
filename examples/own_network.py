"""Your own network, data and loss: a grid of data sizes and seeds, a law through them, a small GPT."""

import torch
from torch import nn
from torch.nn import functional as F

import scalinglab as sl


class Mixer(nn.Module):
    """Mixes the features of eight tokens, then the tokens."""

    def __init__(self, width):
        super().__init__()
        self.within, self.across = nn.Linear(4, width), nn.Linear(8, 8)
        self.head = nn.Linear(width, 3)

    def forward(self, x):
        h = F.gelu(self.within(x.unflatten(1, (8, 4))))
        h = h + self.across(h.transpose(1, 2)).transpose(1, 2)
        return self.head(h.mean(1))


def brier(outputs, targets):
    return (outputs.softmax(-1) - F.one_hot(targets, 3)).square().sum(-1).mean()


def loss(outputs, targets):
    return F.cross_entropy(outputs, targets, label_smoothing=0.05)


generator = torch.Generator().manual_seed(0)
x = torch.randn(2000, 32, generator=generator)
y = (x @ torch.randn(32, 3, generator=generator)).argmax(1)

curves = sl.train.run_many(
    sl.grid(n_data=[50, 100, 200, 400, 800], seed=range(3), epochs=20, batch_size=32, learning_rate=3e-3,
            checkpoints_per_decade=4),
    model=lambda s: Mixer(s.get("width", 16)),
    data=(x[:1000], y[:1000], x[1000:], y[1000:]),
    loss=loss, optimizer=torch.optim.AdamW, schedule="cosine", metrics={"brier": brier}, store="runs",
)  # fmt: skip
best = curves.best("test_loss").average("seed").frame.sort_values("n_data")
for row in best.itertuples():
    print(f"n_data {row.n_data:4d}   test loss {row.test_loss:.3f}   brier {row.brier:.3f}")
law = sl.laws.fit("power_law", best["n_data"], best["test_error"])
print(f"test error ~ n_data^-{law.exponent:.2f}")

# A small GPT: tokens in, logits at every position out. Beyond the model it takes what follows.


class GPT(nn.Module):
    """One causal block."""

    def __init__(self, dim=16):
        super().__init__()
        self.tokens, self.qkv, self.head = nn.Embedding(16, dim), nn.Linear(dim, 3 * dim), nn.Linear(dim, 16)

    def forward(self, tokens):
        h = self.tokens(tokens)
        q, k, v = self.qkv(h).chunk(3, -1)
        return self.head(h + F.scaled_dot_product_attention(q, k, v, is_causal=True))


first, stride = torch.randint(0, 16, (2, 300, 1), generator=generator)
text = (first + stride * torch.arange(13)) % 16
curves = sl.train.run_many(
    sl.grid(
        n_data=[50, 200],
        steps=200,
        batch_size=16,
        learning_rate=0.01,
        optimizer="muon",
        warmup=0.1,
        measure=[],
    ),  # no norms
    model=GPT,
    data=(text[:200, :-1], text[:200, 1:], text[200:, :-1], text[200:, 1:]),
)
print(curves.frame.groupby("n_data")["test_loss"].last().round(3).to_dict())
