"""A network inside Lightning's module, trained by plain gradient descent."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F


def lightning_module(inner: nn.Module) -> Any:
    """The module around `inner`; skips the test where Lightning is not installed."""
    lightning = pytest.importorskip("pytorch_lightning")

    class Module(lightning.LightningModule):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.inner = inner

        def training_step(self, batch, _):
            return F.cross_entropy(self.inner(batch[0]), batch[1])

        def validation_step(self, batch, _):
            self.log("val_loss", F.cross_entropy(self.inner(batch[0]), batch[1]))

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), 0.1)

    return Module()
