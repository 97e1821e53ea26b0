"""Follow the spectral complexity of a network through a plain PyTorch training.

The norm grows, and the small margins, measured in units of the norm, grow too.
"""

import torch
from torch.nn import functional as F

import scalinglab as sl

digits = sl.data.load("digits")
x = torch.tensor(digits.train_x, dtype=torch.float32) / 8.0 - 1.0
y = torch.tensor(digits.train_y)
test_x = torch.tensor(digits.test_x, dtype=torch.float32) / 8.0 - 1.0
test_y = torch.tensor(digits.test_y)

torch.manual_seed(0)
model = sl.nets.build("mlp", input_shape=(1, 8, 8), n_classes=10, seed=0)
tracker = sl.measure.NormTracker(model, (1, 8, 8))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

print("margins are divided by norm × input scale")
print(f"{'step':>6s}{'norm':>12s}{'test error':>12s}{'5 % margin':>12s}{'median':>10s}")
checkpoints = [0, 10, 30, 100, 300]
for step in range(checkpoints[-1] + 1):
    if step in checkpoints:
        found = tracker.measure()
        margins = sl.measure.margins(model, x, y, log_complexity=float(found["log_spectral_complexity"]))
        quantiles = margins.quantiles((0.05, 0.5))
        with torch.no_grad():
            error = float((model(test_x).argmax(1) != test_y).float().mean())
        norm = float(found["spectral_complexity"])
        print(f"{step:6d}{norm:12.4g}{error:12.4f}{quantiles[0.05]:12.2e}{quantiles[0.5]:10.2e}")
    batch = torch.randint(len(x), (128,))
    optimizer.zero_grad()
    F.cross_entropy(model(x[batch]), y[batch]).backward()
    optimizer.step()
