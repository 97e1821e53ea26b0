"""The tracker never stops a training: every part of it is broken on purpose, inside real training loops."""

from __future__ import annotations

import errno
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

import scalinglab as sl
from scalinglab.errors import BadInput
from scalinglab.train.tracker import Tracker, TrackerWarning, hugging_face_callback, lightning_callback
from tests.train.lightning_module import lightning_module
from tests.train.test_trainers import network, task

STEPS = 30


def full(*_: object, **__: object) -> int:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def broken(*_: object, **__: object) -> dict[str, float]:
    raise RuntimeError("broken on purpose")


def left_in_eval(model: nn.Module) -> Callable[[], dict[str, float]]:
    def evaluate() -> dict[str, float]:
        model.eval()
        raise RuntimeError("broken on purpose")

    return evaluate


class Bad:
    """A metric whose value cannot be read."""

    def __float__(self) -> float:
        raise ValueError("no number")


class BadTensor(torch.Tensor):
    def item(self) -> float:
        raise RuntimeError("device lost")


def dropout_network() -> nn.Module:
    """Trains otherwise where it is left in evaluation mode, or random numbers are drawn."""
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Dropout(0.3), nn.Linear(8, 2))


def train(
    model: nn.Module, tracker: Tracker | None, measured: Callable[[], dict[str, object]] = dict
) -> list:
    x, y = task()
    torch.manual_seed(2)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for step in range(1, STEPS + 1):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        if tracker is not None:
            tracker(step, loss=loss, **measured())
    if tracker is not None:
        tracker.finish()
    return [parameter.detach().clone() for parameter in model.parameters()]


def break_append(tracker: Tracker) -> None:
    tracker.writer.append = full


FAULTS = {
    "evaluate": {"evaluate": broken},
    "metric": {"measured": lambda: {"val_acc": 93.0}},
    "unreadable metric": {"measured": lambda: {"odd": torch.zeros(1).as_subclass(BadTensor), "more": Bad()}},
    "reserved name": {"measured": lambda: {"status": 3.0}},
    "disk": {"prepare": break_append},
    "norms": {"prepare": lambda tracker: setattr(tracker, "norms", SimpleNamespace(measure=broken))},
    "disk, to the end": {
        "prepare": lambda tracker: (break_append(tracker), setattr(tracker.writer, "seal", full))
    },
    "seal": {"prepare": lambda tracker: setattr(tracker.writer, "seal", full)},
    "progress": {"prepare": lambda tracker: setattr(tracker, "batch_size", "many")},
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_loop_trains_on_to_the_same_weights_and_reports_the_fault_once(tmp_path: Path, fault: str) -> None:
    alone = train(dropout_network(), None)
    model = dropout_network()
    chosen = dict(FAULTS[fault])
    if fault == "evaluate":
        chosen["evaluate"] = left_in_eval(model)
    tracker = Tracker(
        model, n_data=64, input_shape=(6,), store=tmp_path / "runs", evaluate=chosen.get("evaluate")
    )
    chosen.get("prepare", lambda tracker: None)(tracker)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        watched = train(model, tracker, chosen.get("measured", dict))
    assert all(torch.equal(a, b) for a, b in zip(watched, alone, strict=True))
    assert all(module.training for module in model.modules())
    messages = [str(w.message) for w in told if issubclass(w.category, TrackerWarning)]
    assert len(messages) == 1
    assert "the training goes on" in messages[0]
    if fault != "progress":
        frame = tracker.curves().frame
        assert len(frame) > 10
        assert frame["train_loss"].notna().all()  # what does not fail is measured


def test_a_store_that_cannot_be_used_is_reported_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    with pytest.warns(TrackerWarning, match="the store failed, and the training goes on"):
        tracker = Tracker(network(), n_data=64, store=tmp_path / "file", norms=False)
    assert len(tracker.rows) == 0
    train(network(), tracker)
    assert len(tracker.curves()) > 10
    first = Tracker(network(), n_data=64, store=tmp_path / "runs", norms=False)
    with pytest.warns(TrackerWarning, match="RunBusy"):
        Tracker(network(), n_data=64, store=tmp_path / "runs", norms=False)
    first(1, loss=1.0)
    first.finish()
    assert Tracker(network(), n_data=64, store=tmp_path / "runs", norms=False).done


def test_a_full_disk_is_told_once_whether_rows_or_arrays_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = network()
    tracker = Tracker(
        model, n_data=64, store=tmp_path, norms=False, extra=lambda _: {"number": 2.0, "kernel": np.ones(3)}
    )
    monkeypatch.setattr(sl.Store, "keep_arrays", full)
    break_append(tracker)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        tracker(1, loss=1.0)
        tracker(2, loss=1.0)
    assert len([w for w in told if issubclass(w.category, TrackerWarning)]) == 1
    assert tracker.rows[0]["number"] == 2.0  # what does not fail is measured
    tracker.writer.close()


def test_a_disk_that_has_space_again_gets_all_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tracker = Tracker(network(), n_data=64, store=tmp_path, norms=False)
    tracker(1, loss=1.0)
    append, tracker.writer.append = tracker.writer.append, full
    with pytest.warns(TrackerWarning, match="the store failed"):
        tracker(2, loss=2.0)
    tracker(3, loss=3.0)
    tracker.writer.append = append
    tracker(4, loss=4.0)
    tracker.finish()
    assert sl.Store(tmp_path).curves()["train_loss"].tolist() == [1.0, 2.0, 3.0, 4.0]


def test_networks_without_norms_train_on() -> None:
    layerless = nn.Sequential(nn.LayerNorm(4))
    tracker = Tracker(layerless, n_data=64)
    with pytest.warns(TrackerWarning, match=r"norms=False"):
        layerless(torch.zeros(5, 4))
    layerless(torch.zeros(5, 4))
    assert tracker.measure(1, loss=2.0)["train_loss"] == 2.0
    with pytest.warns(TrackerWarning, match="divide percent by 100"):
        row = Tracker(network(), n_data=64, norms=False).measure(1, val_acc=93.0, loss=1.0)
    assert row["train_loss"] == 1.0
    assert "test_error" not in row


def test_lazy_layers_and_sizes_of_numpy_are_taken(recwarn: pytest.WarningsRecorder) -> None:
    lazy = nn.Sequential(nn.LazyLinear(3), nn.ReLU(), nn.LazyLinear(1))
    tracker = Tracker(lazy, n_data=np.int64(64))
    lazy(torch.ones(2, 4))
    tracker(1, loss=1.0)
    assert tracker.rows[0]["n_params"] == 4 * 3 + 3 + 3 + 1
    assert not [w for w in recwarn if issubclass(w.category, TrackerWarning)]
    with pytest.raises(BadInput, match="n_data=nan"):
        Tracker(lazy, n_data=float("nan"))


def test_warnings_that_are_errors_do_not_stop_it_either(capsys: pytest.CaptureFixture) -> None:
    tracker = Tracker(network(), n_data=64, norms=False, evaluate=broken)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        train(network(), tracker)
    assert capsys.readouterr().err.count("evaluate() failed, and the training goes on") == 1


def test_the_user_may_still_stop_it() -> None:
    def interrupt() -> dict[str, float]:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Tracker(network(), n_data=64, norms=False, evaluate=interrupt)(1, loss=1.0)


def test_a_training_without_a_checkpoint_ends_without_an_error() -> None:
    with pytest.warns(TrackerWarning, match="nothing was measured"):
        assert len(Tracker(network(), n_data=64, norms=False).finish()) == 0


def test_callbacks_take_whatever_a_trainer_gives() -> None:
    for make in (lightning_callback, hugging_face_callback):
        tracker = Tracker(network(), n_data=64, norms=False)
        callback = make(tracker, object)
        odd = SimpleNamespace()  # no attribute that a callback asks for
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            if make is lightning_callback:
                callback.on_train_batch_end(odd, None, 3)
                callback.on_validation_end(odd, None)
                callback.on_train_end(odd, None)
            else:
                callback.on_log(None, odd, None, logs={"loss": 1})
                callback.on_step_end(None, odd, None)
                callback.on_train_end(None, odd, None)
        assert ["goes on" in str(w.message) for w in told] == [True]  # once


# --- the real trainers -----------------------------------------------------------------------------


def every_fault(model: nn.Module, folder: Path) -> Tracker:
    """A tracker in which nothing works."""
    tracker = Tracker(model, n_data=64, batch_size=16, store=folder, evaluate=left_in_eval(model))
    break_append(tracker)
    tracker.writer.seal = full
    tracker.norms = SimpleNamespace(measure=broken)
    return tracker


FAILED = {"evaluate()", "measuring norms", "the store"}


def failures(caught: list[warnings.WarningMessage]) -> set[str]:
    """What the tracker reported."""
    ours = [str(w.message) for w in caught if issubclass(w.category, TrackerWarning)]
    return {message.partition(" failed, ")[0] for message in ours}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_lightning_trains_on(tmp_path: Path) -> None:
    lightning = pytest.importorskip("pytorch_lightning")
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(*task()), batch_size=16)
    weights = []
    for watched in (False, True):
        inner = network()
        tracker = every_fault(inner, tmp_path / str(watched))
        callbacks = [tracker.lightning()] if watched else []
        trainer = lightning.Trainer(
            max_epochs=3, callbacks=callbacks, accelerator="cpu", logger=False, enable_checkpointing=False,
            enable_progress_bar=False, enable_model_summary=False, default_root_dir=tmp_path,
        )  # fmt: skip
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            trainer.fit(lightning_module(inner), loader, loader)
        assert trainer.global_step == 12
        weights.append([p.detach().clone() for p in inner.parameters()])
    assert failures(caught) == FAILED
    assert all(torch.equal(a, b) for a, b in zip(*weights, strict=True))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_hugging_face_trains_on(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("accelerate")

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = network()

        def forward(self, inputs, labels):
            logits = self.inner(inputs)
            return {"loss": F.cross_entropy(logits, labels), "logits": logits}

    rows = [{"inputs": a, "labels": b} for a, b in zip(*task(), strict=True)]
    weights = []
    for watched in (False, True):
        model = Model()
        tracker = every_fault(model.inner, tmp_path / str(watched))
        callbacks = [tracker.hugging_face()] if watched else []
        options = transformers.TrainingArguments(
            output_dir=str(tmp_path), max_steps=12, per_device_train_batch_size=16, logging_steps=3,
            eval_strategy="steps", eval_steps=6, use_cpu=True, report_to=[], save_strategy="no",
            disable_tqdm=True, remove_unused_columns=False,
        )  # fmt: skip
        trainer = transformers.Trainer(
            model, options, train_dataset=rows, eval_dataset=rows, callbacks=callbacks
        )
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            trainer.train()
        assert trainer.state.global_step == 12
        weights.append([p.detach().clone() for p in model.parameters()])
    assert failures(caught) == FAILED
    assert all(torch.equal(a, b) for a, b in zip(*weights, strict=True))
