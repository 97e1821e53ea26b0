"""The tracker: two lines in any loop, and the rows of the engine come out."""

from __future__ import annotations

import weakref
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


def loop(tracker: Tracker, model: nn.Module, steps: int = 60) -> None:
    torch.manual_seed(0)
    x, y = torch.randn(64, 6), torch.randint(0, 3, (64,))
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for step in range(1, steps + 1):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        tracker(step, loss=loss)


def small() -> nn.Module:
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))


def test_two_lines_give_norms_and_losses_at_log_spaced_steps(tmp_path) -> None:
    model = small()
    tracker = sl.Tracker(model, n_data=64, store=tmp_path, per_decade=5, batch_size=64, seed=3)
    loop(tracker, model)
    curves = tracker.finish()
    assert curves["step"].tolist() == [1, 2, 3, 4, 6, 10, 16, 25, 40, 60]
    assert curves["epoch"].tolist() == curves["step"].tolist()
    kept = sl.Store(tmp_path).curves()
    assert np.array_equal(kept["norm"], curves["norm"])
    assert set(kept.frame.status) == {"done"}
    assert kept.frame.seed.iloc[0] == 3
    exact = sl.measure.norms(model, (6,))
    fresh = Tracker(model, n_data=64, input_shape=(6,)).measure(1)
    assert fresh["norm"] == pytest.approx(exact["spectral_complexity"], rel=1e-3)


def test_the_network_trains_as_without_a_tracker() -> None:
    watched, alone = small(), small()
    loop(Tracker(watched, n_data=64), watched)
    loop(Tracker(alone, n_data=64, norms=False), alone)
    for a, b in zip(watched.parameters(), alone.parameters(), strict=True):
        assert torch.equal(a, b)
    assert watched.training


def test_evaluation_runs_at_checkpoints_only() -> None:
    calls = []
    model = small()

    def evaluate() -> dict[str, float]:
        calls.append(1)
        return {"test_error": 0.25, "val_accuracy": 0.75}

    tracker = Tracker(model, n_data=64, evaluate=evaluate, per_decade=2)
    loop(tracker, model)
    assert len(calls) == len(tracker.rows) == 4  # steps 1, 3, 10, 32
    assert set(tracker.curves()["test_error"]) == {0.25}


def test_a_killed_loop_goes_on_in_the_same_run(tmp_path) -> None:
    first = Tracker(small(), n_data=64, store=tmp_path)
    first(1, loss=2.0)
    first.writer.close()
    second = Tracker(small(), n_data=64, store=tmp_path)
    assert not second(1, loss=1.0)
    assert second(2, loss=1.0)
    assert second.finish()["train_loss"].tolist() == [2.0, 1.0]


def study(store: Path, trained: list[int]) -> None:
    """A loop over sizes as people write it."""
    for n_data in (16, 32, 64):
        model = small()
        with sl.Tracker(model, n_data=n_data, seed=0, store=store, norms=False) as tracker:
            if tracker.done:
                continue
            trained.append(n_data)
            loop(tracker, model, steps=27)
            if n_data == 32 and len(trained) == 2:
                raise KeyboardInterrupt


def test_a_study_started_again_trains_only_what_is_not_done(tmp_path: Path, recwarn) -> None:
    trained: list[int] = []
    with pytest.raises(KeyboardInterrupt):
        study(tmp_path, trained)
    study(tmp_path, trained)
    assert trained == [16, 32, 32, 64]
    study(tmp_path, trained)
    assert trained == [16, 32, 32, 64]
    store = sl.Store(tmp_path)
    assert store.done({"n_data": 16, "seed": 0})
    assert not store.done({"n_data": 16, "seed": 1})
    frame = store.curves().frame
    assert set(frame.status) == {"done"}
    assert set(frame.model) == {"Sequential"}
    assert set(frame.groupby("run").step.max()) == {27}  # no checkpoint falls on it
    store.compact()
    study(tmp_path, trained)
    assert len(trained) == 4
    assert not [w for w in recwarn if issubclass(w.category, TrackerWarning)]


def test_a_done_run_that_is_trained_all_the_same_is_said_once_and_stays(tmp_path: Path) -> None:
    def train_once(loss: float) -> sl.Curves:
        tracker = sl.Tracker(small(), n_data=64, store=tmp_path, norms=False)
        for step in range(1, 5):
            tracker(step, loss=loss)
        return tracker.finish()

    train_once(1.0)
    with pytest.warns(TrackerWarning, match="done") as told:
        again = train_once(2.0)
    assert len(told) == 1
    assert set(again["train_loss"]) == {1.0}


def test_another_network_under_the_same_name_is_refused(tmp_path: Path) -> None:
    def tracker(size: int, **setting: int) -> sl.Tracker:
        return sl.Tracker(nn.Linear(6, size), n_data=64, store=tmp_path, norms=False, **setting)

    first = tracker(8)
    first(1, loss=1.0)
    first.writer.close()
    with pytest.raises(BadInput, match="n_params 63"):
        tracker(9)  # of a run that has begun
    second = tracker(8)
    second(2, loss=1.0)
    second.finish()
    with pytest.raises(BadInput, match="n_params 63"):
        tracker(9)  # of a run that is done
    assert tracker(8).done
    with tracker(9, width=9) as other:
        assert not other.done


def test_the_last_step_is_measured_with_what_the_loop_gave_and_no_graph_is_kept() -> None:
    model = small()
    tracker = Tracker(model, n_data=64, norms=False, per_decade=1)
    for step in range(1, 13):
        loss = model(torch.ones(1, 6)).sum() * 0 + step
        tracker(step, loss=loss)
    graph = weakref.ref(loss)  # with which its graph goes
    del loss
    assert graph() is None
    curves = tracker.finish()
    assert curves["step"].tolist() == [1, 10, 12]
    assert curves["train_loss"].tolist() == [1, 10, 12]
    assert len(tracker.finish()) == 3


def test_a_misspelt_argument_is_no_setting() -> None:
    with pytest.raises(BadInput, match="'store'"):
        Tracker(small(), n_data=64, stor="runs/")


def test_a_block_in_which_nothing_was_trained_does_not_finish_the_run(tmp_path: Path) -> None:
    with sl.Tracker(small(), n_data=64, store=tmp_path, norms=False):
        pass
    assert not sl.Store(tmp_path).done({"n_data": 64})


class Gated(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(6, 3), nn.Linear(6, 3)

    def forward(self, x):
        return self.a(x) * self.b(x)


def test_the_ball_of_a_bound_or_the_reason_why_there_is_none_stands_in_the_same_row(tmp_path: Path) -> None:
    def rows(model: nn.Module, seed: int):
        with sl.Tracker(model, n_data=64, store=tmp_path, seed=seed) as tracker:
            for step in range(1, 4):
                model(step * torch.ones(2, 6))
                tracker(step, loss=1.0)
        frame = sl.Store(tmp_path).curves().frame
        return frame[frame.seed == seed]

    gated = rows(Gated(), 0)
    radii = [step * np.sqrt(6) for step in (1, 2, 3)]
    assert gated.norm_radius.tolist() == pytest.approx(radii, rel=1e-6)
    assert gated.norm_spectral.is_monotonic_increasing
    assert gated.norm_spectral.iloc[0] < gated.norm_spectral.iloc[2]
    recurrent = rows(nn.Sequential(nn.Linear(6, 6), nn.Unflatten(1, (1, 6)), Last()), 1)
    assert recurrent.norm_spectral.isna().all()
    assert recurrent.norm.isna().all()
    assert recurrent.norm_l2.notna().all()
    assert recurrent.norm_missing.str.contains("lstm").all()
    assert "norm_missing" not in sl.Store(tmp_path).curves().measurement_columns


class Last(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.rnn = nn.LSTM(6, 3, batch_first=True)

    def forward(self, x):
        return self.rnn(x)[0][:, -1]


def test_divergence_is_recorded(tmp_path) -> None:
    with Tracker(small(), n_data=64, store=tmp_path) as tracker:
        tracker(1, loss=1.0)
        tracker(2, loss=float("nan"))
    frame = sl.Store(tmp_path).curves().frame
    assert set(frame.status) == {"diverged"}
    assert set(frame.diverged_at) == {2}


def test_the_lightning_callback_follows_the_trainer() -> None:
    model = small()
    tracker = Tracker(model, n_data=64, input_shape=(6,))
    callback = lightning_callback(tracker, object)
    trainer = SimpleNamespace(global_step=1, sanity_checking=False, callback_metrics={})
    callback.on_train_batch_end(trainer, model, {"loss": torch.tensor(0.5)}, None, 0)
    trainer.callback_metrics = {"val_loss": torch.tensor(0.7), "val_acc": torch.tensor(0.9)}
    callback.on_validation_end(trainer, model)
    callback.on_train_end(trainer, model)
    (row,) = tracker.rows
    assert row["train_loss"] == 0.5
    assert row["test_loss"] == pytest.approx(0.7)
    assert row["test_error"] == pytest.approx(0.1)
    assert row["norm"] > 0


def test_the_hugging_face_callback_follows_the_trainer() -> None:
    tracker = Tracker(small(), n_data=64, input_shape=(6,))
    callback = hugging_face_callback(tracker, object)
    state = SimpleNamespace(global_step=1)
    callback.on_step_end(None, state, None)
    callback.on_log(None, state, None, logs={"loss": 1.5, "note": "text"})
    callback.on_log(None, state, None, logs={"eval_loss": 1.6, "eval_accuracy": 0.5})
    callback.on_train_end(None, state, None)
    (row,) = tracker.rows
    assert (row["train_loss"], row["test_loss"], row["test_error"]) == (1.5, 1.6, 0.5)


class Keywords(nn.Module):
    """A network that is called with keywords, as the Hugging Face Trainer does."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = small()

    def forward(self, pixels, labels=None):
        logits = self.inner(pixels)
        return {"logits": logits} | ({} if labels is None else {"loss": F.cross_entropy(logits, labels)})


def test_the_shape_of_inputs_is_read_off_keywords() -> None:
    model = Keywords()
    tracker = Tracker(model, n_data=64)
    model(labels=torch.zeros(4, dtype=torch.int64), pixels=torch.randn(4, 6))
    exact = sl.measure.norms(model.inner, (6,))["spectral_complexity"]
    assert tracker.measure(1)["norm"] == pytest.approx(exact, rel=1e-3)


def test_an_evaluation_between_checkpoints_gets_norms_beside_it() -> None:
    model = small()
    tracker = Tracker(model, n_data=64, input_shape=(6,), batch_size=8)
    tracker.note(77, loss=1.0)
    assert "norm" not in tracker.rows[-1]
    tracker.note(77, eval_loss=2.0)
    (row,) = tracker.rows
    assert row["norm"] == pytest.approx(sl.measure.norms(model, (6,))["spectral_complexity"], rel=1e-3)
    assert (row["train_loss"], row["test_loss"], row["examples"]) == (1.0, 2.0, 616)
    assert row["compute"] == 77 * sl.measure.flops(model, (6,), batch_size=8).step


def test_a_learning_rate_that_decays_does_not_disturb_the_store(tmp_path) -> None:
    tracker = Tracker(small(), n_data=64, input_shape=(6,), store=tmp_path)
    callback = hugging_face_callback(tracker, object)
    for step in (1, 2):
        state = SimpleNamespace(global_step=step)
        callback.on_step_end(None, state, None)
        callback.on_log(None, state, None, logs={"loss": 1.0 / step, "learning_rate": 0.1 / step})
    summary = {"train_runtime": 3.0, "train_loss": 0.75}  # the mean over all steps
    callback.on_log(None, SimpleNamespace(global_step=2), None, logs=summary)
    callback.on_train_end(None, state, None)
    assert sl.Store(tmp_path).curves()["train_loss"].tolist() == [1.0, 0.5]


def test_an_evaluation_after_the_end_does_not_disturb(tmp_path) -> None:
    tracker = Tracker(small(), n_data=64, input_shape=(6,), store=tmp_path)
    tracker(1, loss=1.0)
    callback = hugging_face_callback(tracker, object)
    callback.on_train_end(None, None, None)
    callback.on_log(None, SimpleNamespace(global_step=1), None, logs={"eval_loss": 2.0})
    assert tracker.curves()["test_loss"].tolist() == [2.0]
    assert sl.Store(tmp_path).curves()["train_loss"].tolist() == [1.0]  # sealed as it was


@pytest.mark.slow
def test_the_network_inside_a_compiled_one_is_followed() -> None:
    model = small()
    compiled = torch.compile(model, backend="eager")
    tracker = Tracker(compiled, n_data=64)
    loop(tracker, compiled, steps=5)
    assert tracker.rows[-1]["norm"] == pytest.approx(
        sl.measure.norms(model, (6,))["spectral_complexity"], rel=1e-3
    )


def test_numbers_of_numpy_count_and_other_peoples_names_are_known() -> None:
    tracker = Tracker(small(), n_data=64, norms=False)
    row = tracker.measure(1, loss=np.float32(0.5), valid_loss=np.array(0.7), test_accuracy=0.9)
    assert row["train_loss"] == 0.5
    assert row["test_loss"] == pytest.approx(0.7)
    assert row["test_error"] == pytest.approx(0.1)


def test_of_processes_that_train_together_the_first_writes(tmp_path, monkeypatch) -> None:
    trackers = []
    for rank in range(2):
        monkeypatch.setenv("RANK", str(rank))
        trackers.append(Tracker(small(), n_data=64, store=tmp_path, norms=False))
    for tracker in trackers:
        tracker(1, loss=1.0)
        assert tracker.finish()["train_loss"].tolist() == [1.0]
    assert len(sl.Store(tmp_path).curves().frame) == 1


def test_refusals() -> None:
    with pytest.raises(BadInput, match="at least 1"):
        Tracker(small(), n_data=0)
    with pytest.raises(BadInput, match="n_data='64'"):
        Tracker(small(), n_data="64")  # type: ignore[arg-type]
    with pytest.raises(BadInput, match=r"torch\.nn\.Module"):
        Tracker(None, n_data=5)  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="nothing was measured"):
        Tracker(small(), n_data=5).curves()


def test_the_first_divergence_is_the_one_that_counts_and_a_healthy_run_has_none() -> None:
    lost = Tracker(small(), n_data=64, norms=False)
    for step, loss in ((1, 1.0), (2, float("inf")), (3, 1.0), (4, float("nan"))):
        lost(step, loss=loss)
    assert set(lost.finish().frame["diverged_at"]) == {2}
    healthy = Tracker(small(), n_data=64, norms=False)
    healthy(1, loss=1.0)
    assert healthy.diverged_at is None
    assert "diverged_at" not in healthy.finish().frame


def test_compute_is_counted_without_norms() -> None:
    """A network without dense layers lost its compute with its norms, as did every one with norms=False."""
    model = small()
    quiet = Tracker(model, n_data=64, batch_size=8, norms=False, input_shape=(6,))
    assert quiet.measure(3)["compute"] == 3 * sl.measure.flops(model, (6,), batch_size=8).step

    class Scaled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = nn.EmbeddingBag(9, 4)

        def forward(self, tokens):
            return self.table(tokens) @ torch.ones(4, 2)

    words = Scaled()
    tracker = Tracker(words, n_data=64, batch_size=8)
    with pytest.warns(TrackerWarning, match="no dense or convolution layer"):
        words(torch.zeros(8, 5, dtype=torch.int64))
    forward = 2 * 8 * 4 * 2
    assert tracker.measure(1)["compute"] == 2 * forward  # back into the table, not into the ones
