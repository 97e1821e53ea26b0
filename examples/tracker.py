"""Two lines in a plain PyTorch loop: norms and losses at log-spaced steps, kept in a store."""

import torch

import scalinglab as sl

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.ReLU(), torch.nn.Linear(32, 2))
optimizer = torch.optim.Adam(model.parameters())
x = torch.randn(256, 8)
y = (x[:, 0] * x[:, 1] > 0).long()

tracker = sl.Tracker(model, n_data=len(x), store="tracked/", seed=0)
for step in range(1, 301):
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    tracker(step, loss=loss)
tracker.finish()

table = sl.Store("tracked/").curves().frame
print(table[["step", "train_loss", "norm"]].iloc[::4].to_string(index=False))
