"""The callbacks inside the real Lightning and Hugging Face trainers, where these are installed."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from scalinglab.store import Store
from scalinglab.train.tracker import Tracker
from tests.train.lightning_module import lightning_module

pytestmark = pytest.mark.filterwarnings("ignore")  # theirs


def task() -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    x = torch.randn(64, 6)
    return x, (x[:, 0] > 0).long()


def network() -> nn.Module:
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 2))


@pytest.mark.slow
def test_inside_lightning(tmp_path) -> None:
    lightning = pytest.importorskip("pytorch_lightning")
    inner = network()
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(*task()), batch_size=16)
    tracker = Tracker(inner, n_data=64, store=tmp_path / "runs", batch_size=16)
    trainer = lightning.Trainer(
        max_epochs=5, callbacks=[tracker.lightning()], accelerator="cpu", logger=False,
        enable_checkpointing=False, enable_progress_bar=False, default_root_dir=tmp_path,
    )  # fmt: skip
    trainer.fit(lightning_module(inner), loader, loader)
    frame = tracker.curves().frame.sort_values("step")
    assert frame.step.max() == 20
    assert frame.norm.notna().sum() >= 10
    assert frame.train_loss.notna().sum() >= 10
    assert frame.test_loss.notna().any()
    assert tracker.writer.closed


@pytest.mark.slow
def test_inside_hugging_face(tmp_path) -> None:
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("accelerate")
    inner = network()

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = inner

        def forward(self, inputs, labels):
            logits = self.inner(inputs)
            return {"loss": F.cross_entropy(logits, labels), "logits": logits}

    rows = [{"inputs": a, "labels": b} for a, b in zip(*task(), strict=True)]
    tracker = Tracker(inner, n_data=64, batch_size=16)
    options = transformers.TrainingArguments(
        output_dir=str(tmp_path), max_steps=20, per_device_train_batch_size=16, logging_steps=5, use_cpu=True,
        report_to=[], save_strategy="no", disable_tqdm=True, remove_unused_columns=False,
    )  # fmt: skip
    trainer = transformers.Trainer(
        Model(), options, train_dataset=rows, eval_dataset=rows, callbacks=[tracker.hugging_face()]
    )
    trainer.train()
    frame = tracker.curves().frame.sort_values("step")
    assert np.isfinite(frame.norm.dropna()).all()
    assert frame.norm.notna().sum() >= 10
    assert frame.train_loss.notna().sum() >= 3


@pytest.mark.slow
def test_a_model_of_hugging_face_itself(tmp_path) -> None:
    """It is called by keywords, its learning rate decays, and it is evaluated again after the end."""
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("accelerate")
    form = transformers.ViTConfig(
        hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32, image_size=8,
        patch_size=4, num_channels=1, num_labels=2,
    )  # fmt: skip
    torch.manual_seed(0)
    model = transformers.ViTForImageClassification(form)
    rows = [{"pixel_values": torch.randn(1, 8, 8), "labels": k % 2} for k in range(32)]
    tracker = Tracker(model, n_data=32, batch_size=8, store=tmp_path / "runs")
    options = transformers.TrainingArguments(
        output_dir=str(tmp_path), max_steps=14, per_device_train_batch_size=8, logging_steps=2,
        eval_strategy="steps", eval_steps=7, use_cpu=True, report_to=[], save_strategy="no",
        disable_tqdm=True,
    )  # fmt: skip
    trainer = transformers.Trainer(
        model, options, train_dataset=rows, eval_dataset=rows, callbacks=[tracker.hugging_face()]
    )
    trainer.train()
    trainer.evaluate()
    frame = Store(tmp_path / "runs").curves().frame.set_index("step")
    assert frame.norm.notna().sum() >= 11
    assert np.isfinite(frame.loc[[7, 14], ["norm", "test_loss", "compute"]]).all().all()
    assert frame.train_loss.notna().sum() == 7
    assert (frame.status == "done").all()
