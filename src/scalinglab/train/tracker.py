"""Tracker: the engine's measurements inside any training loop.

    tracker = scalinglab.Tracker(model, n_data=len(train_set), store="runs/")
    for step, (x, y) in enumerate(loader, 1):
        …                                     # the loop as it was
        tracker(step, loss=loss)              # norms at log-spaced steps, nothing in between

A study is a loop over such trainings. Started again it trains nothing that is done:

    for n_data in (100, 1000, 10_000):
        model = …
        with scalinglab.Tracker(model, n_data=n_data, seed=0, store="runs/") as tracker:
            if tracker.done:
                continue
            …                                 # the last step is measured at the end of the block

A run is identified by what the tracker is given: `n_data`, `batch_size` and the settings. So
``Store("runs/").done({"n_data": 100, "seed": 0})`` asks for the first of these. The network's class and its
number of parameters are columns. A tracker of another network with the same settings is refused: add the
setting that differs.

For Lightning pass ``tracker.lightning()`` and for the Hugging Face Trainer ``tracker.hugging_face()`` among
the callbacks. The rows go into a store as those of the engine do, so laws, figures and reports read them.

The tracker never stops a training: an error inside it (a full disk, a metric, the store) is reported once, as
a `TrackerWarning`. Rows that could not be written are written later, together with the next one. Only wrong
arguments raise an error, before the training begins.
"""

from __future__ import annotations

import contextlib
import difflib
import importlib.util
import inspect
import math
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, distributed, nn

from scalinglab.curves import Curves
from scalinglab.curves.columns import SETTING, run_name
from scalinglab.curves.names import ACCURACY, bare, measurement
from scalinglab.errors import BadInput, require
from scalinglab.laws.schedule import Schedule
from scalinglab.measure import NormTracker, flops
from scalinglab.measure.evaluation import evaluating, modes_kept, unwrapped
from scalinglab.store import RunWriter, Store
from scalinglab.train.checkpoints.extra_measurements import Reading, without_arrays
from scalinglab.train.checkpoints.measuring import NORMS
from scalinglab.train.outlook import Outlook, planned
from scalinglab.train.setting import MISSPELT

Evaluation = Callable[[], Mapping[str, float]]


class TrackerWarning(UserWarning):
    """Something failed inside a tracker; the training went on."""


class Tracker:
    """Follows a network through its training.

    Args:
        model: the network; it is read, never changed.
        n_data: training examples, for the laws in data.
        store: a folder (or `Store`) to keep the rows in; None keeps them in memory. Of the processes that
            train one network together only the first writes.
        input_shape: shape of one input, without the batch axis, for norms and operations; read off the first
            call of the model where it is not given, and norms are measured.
        batch_size: examples a step, for `epoch`, `examples` and `compute` (with norms=False: where
            `input_shape` is given).
        per_decade: checkpoints in each factor of ten of steps.
        evaluate: called at checkpoints; returns measurements by name, such as ``{"test_error": 0.1}``.
        norms: measure norms. A bound that depends on the size of the inputs holds for the inputs so far:
            `norm_radius` is the largest ℓ2 length of one. Unknown norms are NaN, with the reason in
            `norm_missing`.
        extra: called with the network, in evaluation mode, at checkpoints, as in `scalinglab.train.run`; for
            example ``scalinglab.measure.KernelReading(x, y)``.
        schedule: the learning rate of the whole run, such as ``sl.laws.schedule.cosine(…)``. With it, rows
            from a tenth of the run on have a forecast of the final loss (`final_loss`, its 95 % interval
            `final_loss_low` and `final_loss_high`) and `seconds_left`; a warning is given once if the loss
            leaves its expected range. The callbacks read it from the trainer's scheduler.
        setting: whatever else defines the run: `model`, `dataset`, `learning_rate`, `seed`, ….

    Attributes:
        outlook: the latest estimate of the final loss, or why there is none; None without a schedule.
        done: whether the store has this run, done or diverged; then nothing is measured or written.
    """

    def __init__(
        self,
        model: nn.Module,
        *,
        n_data: int,
        store: Store | str | Path | None = None,
        input_shape: tuple[int, ...] | None = None,
        batch_size: int | None = None,
        per_decade: int = 10,
        evaluate: Evaluation | None = None,
        norms: bool = True,
        experiment: str | None = None,
        extra: Reading | None = None,
        schedule: Schedule | None = None,
        **setting: Any,
    ) -> None:
        if not isinstance(model, nn.Module):
            raise BadInput(f"model={model!r} must be a torch.nn.Module: the network that you train")
        known = [*inspect.signature(Tracker).parameters]
        for name in setting:
            if close := difflib.get_close_matches(name, known, 1, MISSPELT):
                raise BadInput(
                    f"{name}={setting[name]!r} would be a setting of the run: did you mean {close[0]!r}? "
                    "A setting needs another name"
                )
        for name, number in {
            "n_data": n_data,
            "per_decade": per_decade,
            "batch_size": batch_size or 1,
        }.items():
            if not isinstance(number, Real) or not number >= 1:
                raise BadInput(f"{name}={number!r} must be a number, at least 1")
        self.model, self.evaluate, self.per_decade = model, evaluate, per_decade
        self.wants_norms, self.extra = norms, extra
        self.norms: NormTracker | None = None
        self.flops: int | None = None  # of a step
        self.batch_size = batch_size
        self.setting = {**setting, "n_data": n_data} | ({"batch_size": batch_size} if batch_size else {})
        self.n_data, self.experiment = n_data, experiment
        self.rows: list[dict[str, Any]] = []
        self.diverged_at: int | None = None
        self._input_hook: Any = None
        self._radius: Tensor | None = None  # the largest length of an input, on its device
        self._reported: set[str] = set()
        self._unwritten: list[dict[str, Any]] = []
        self._unmeasured: tuple[int, dict[str, Any]] | None = None  # the last step, with what the loop gave
        self.writer: RunWriter | None = None
        self.outlook: Outlook | None = None
        self.done = False
        self._store: Store | None = None
        with self._never_raising("the store"):
            kept = None if store is None else Store.of(store)
            self._store = kept
            self.done = kept is not None and kept.done(self.setting)
            if kept is not None and not self.done and _is_main_process():
                self.writer, self.rows = kept.resume(
                    self.setting, experiment=experiment, network=self._network()
                )
        self._refuse_another_network()
        self._next = self._after(self.rows[-1]["step"] if self.rows else 0)
        if self.done:
            return
        if schedule is not None:
            self.plan(schedule)
        if norms:
            self._input_hook = model.register_forward_pre_hook(self._read_inputs, with_kwargs=True)
        if input_shape is not None:
            self._begin_measuring(tuple(input_shape))

    def plan(self, schedule: Schedule | None) -> None:
        """Set the learning-rate schedule, where it was not known when the tracker was made."""
        if schedule is None or self.outlook is not None or self.done:
            return
        self.outlook = Outlook(schedule, self._store)
        if self.writer is not None:
            knots = {"step": schedule.step.tolist(), "rate": schedule.rate.tolist()}
            meta = {**self.writer.record.meta, "schedule": knots}  # kept when the run is sealed
            self.writer.record = replace(self.writer.record, meta=meta)

    def _network(self) -> dict[str, Any]:
        """The class of the network and its number of parameters, which lazy layers do not have yet."""
        lazy = any(isinstance(p, nn.parameter.UninitializedParameter) for p in self.model.parameters())
        return {"class": type(self.model).__name__} | ({} if lazy else {"n_params": self.n_params})

    def _refuse_another_network(self) -> None:
        """Raise where the run of this name, done or begun, is of another network."""
        before: Mapping[str, Any] = {}
        with self._never_raising("the store"):
            if self.done and self._store is not None:
                before = self._store.record(run_name(self.setting)).meta.get("network", {})
            elif self.writer is not None:
                before = self.writer.record.meta.get("network", {})
        now = self._network()
        differ = [name for name in now if name in before and before[name] != now[name]]
        if not differ:
            return
        if self.writer is not None:
            self.writer.close()
        then, here = (", ".join(f"{name} {network[name]}" for name in differ) for network in (before, now))
        given = ", ".join(f"{name}={value!r}" for name, value in self.setting.items())
        raise BadInput(
            f"the run of {given} is in {self._place} with another network ({then}; this one: {here}). A run "
            "is named by what the tracker is given: add what differs, such as width= or model="
        )

    @contextlib.contextmanager
    def _never_raising(self, what: str) -> Iterator[None]:
        """Report an error inside the block, once, instead of raising it."""
        try:
            yield
        except Exception as error:
            self._report(what, error)

    def _report(self, what: str, error: object) -> None:
        kind = f"{type(error).__name__}: " if isinstance(error, Exception) else ""
        self._warn(what, f"{what} failed, and the training goes on without it: {kind}{error} (reported once)")

    def _warn(self, what: str, message: str) -> None:
        if what in self._reported:
            return
        self._reported.add(what)
        try:
            warnings.warn(message, TrackerWarning, stacklevel=5)
        except Exception:  # warnings are errors here: they would stop the training
            with contextlib.suppress(Exception):
                print(f"scalinglab: {message}", file=sys.stderr)

    def _read_inputs(self, module: nn.Module, inputs: tuple[Any, ...], named: dict[str, Any]) -> None:
        """Take the input shape from the first call; follow the largest input where norms depend on it."""
        with self._never_raising("measuring norms"):
            tensors = [value for value in (*inputs, *named.values()) if isinstance(value, Tensor)]
            if not tensors or self._input_hook is None:
                return
            first = next((x for x in tensors if x.is_floating_point()), tensors[0])
            if self.norms is None:
                self._begin_measuring(tuple(first.shape[1:]))
            if self.norms is not None and self.norms.needs_radius and first.is_floating_point():
                largest = torch.linalg.vector_norm(first.detach().flatten(1).float(), dim=1).max()
                # compared on the device: reading it would make every call of the network wait
                self._radius = largest if self._radius is None else torch.maximum(self._radius, largest)

    def _begin_measuring(self, input_shape: tuple[int, ...]) -> None:
        """Count the operations of a step and prepare the norms; either may fail without the other."""
        network = unwrapped(self.model)
        watch, self._input_hook = self._input_hook, None  # the network is called to be read
        if self.batch_size:
            with self._never_raising("counting operations"):
                self.flops = flops(network, input_shape, self.batch_size).step
        if self.wants_norms:
            with self._never_raising("measuring norms"):
                self.norms = self._norms_of(network, input_shape)
        if self.norms is not None and self.norms.needs_radius:
            self._input_hook = watch
        elif watch is not None:
            watch.remove()

    def _norms_of(self, network: nn.Module, input_shape: tuple[int, ...]) -> NormTracker:
        try:
            return NormTracker(network, input_shape)
        except BadInput as error:
            raise BadInput(
                f"{error}. Give the tracker the network inside that maps inputs to outputs, or norms=False"
            ) from error

    def _after(self, step: int) -> int:
        """The next checkpoint after a step."""
        # the checkpoint at the step or before it; the loop corrects what a logarithm rounds
        k = math.floor(self.per_decade * math.log10(step)) if step else 0
        while (due := round(10 ** (k / self.per_decade))) <= step:
            k += 1
        return due

    # --- while it trains -------------------------------------------------------------------------

    @property
    def n_params(self) -> int:
        """Parameters of the network; those of lazy layers are there after its first call."""
        return sum(p.numel() for p in self.model.parameters())

    def due(self, step: int) -> bool:
        """Whether this step is a checkpoint; `measure` is for those."""
        return step >= self._next and not self.done

    def __call__(self, step: int, **measured: Any) -> bool:
        """Report a finished step; at a checkpoint, measure and write a row.

        The last step is a checkpoint too: `finish` measures it.

        Args:
            step: steps done, from 1.
            measured: numbers that the loop has at hand: `loss`, `train_loss`, `test_error`, …; they are
                read only at checkpoints, so that the device is not waited for in between.

        Returns:
            Whether it was a checkpoint.
        """
        try:  # as `_never_raising`, which takes a third of the time of a step that is no checkpoint
            if self.done:
                self._warn_done()
                return False
            if self.outlook is not None and step >= self.outlook.due and "loss" in measured:
                self.outlook.add(step, measured["loss"])
            if step >= self._next:
                self.measure(step, **measured)
                return True
            # detached, since graphs keep activations
            numbers = {k: v.detach() if isinstance(v, Tensor) else v for k, v in measured.items()}
            self._unmeasured = step, numbers
        except Exception as error:
            self._report("a checkpoint", error)
        return False

    def _warn_done(self) -> None:
        self._warn(
            "done",
            f"this run is done in {self._place}: its rows stay as they are, and what is trained now is not "
            "measured (`if tracker.done: continue` skips it; with another seed or setting it is another run)",
        )

    @property
    def _place(self) -> str:
        return "memory" if self._store is None else str(self._store.path)

    def measure(self, step: int, **measured: Any) -> dict[str, Any]:
        """Measure now and write a row, checkpoint or not; what fails is not in it."""
        row: dict[str, Any] = {}
        with self._never_raising("a checkpoint"):
            if self.done:
                self._warn_done()
                return row
            row = self._row(step)
            self._unmeasured = None
            # before what may fail: an evaluation that fails is not tried again at every step
            self._next = self._after(int(step))
            if self.evaluate is not None:
                with self._never_raising("evaluate()"), modes_kept(self.model):
                    row |= self._columns(self.evaluate())
            row |= self._columns(measured)
            row |= self._norms()
            row |= self._extra(int(step))
            row |= self._outlook_columns(int(step))
            losses = [v for k, v in row.items() if k.endswith("_loss")]
            if self.diverged_at is None and any(not math.isfinite(v) for v in losses):
                self.diverged_at = int(step)
            self._write(row)
        return row

    def note(self, step: int, **measured: Any) -> None:
        """Add later measurements to the row of a step, with the norms where they are test results."""
        with self._never_raising("a note"):
            columns = self._columns(measured)
            if not columns or self.done:
                return
            row = self._row(step)
            if "norm" not in row and {"test_loss", "test_error"} & set(columns):
                row = {**row, **self._norms()}
            self._write({**row, **columns})

    def _row(self, step: int) -> dict[str, Any]:
        """The row of a step as far as it is known."""
        for row in reversed(self.rows):
            if row["step"] == step:
                return dict(row)
        row = {"step": int(step), "n_params": self.n_params}
        if "model" not in self.setting:
            row["model"] = type(self.model).__name__
        if self.batch_size:
            row |= {"examples": step * self.batch_size, "epoch": step * self.batch_size / self.n_data}
        if self.flops is not None:
            row["compute"] = float(step) * self.flops
        return row

    def _write(self, row: dict[str, Any]) -> None:
        self.rows = [r for r in self.rows if r["step"] != row["step"]] + [row]
        if self.writer is None or self.writer.closed:  # trainers evaluate again after the end
            return
        self._unwritten.append(row)
        with self._never_raising("the store"):
            self._write_waiting()

    def _write_waiting(self) -> None:
        """Write the rows that the store has not taken; one that it refuses for good is left out."""
        while self.writer is not None and self._unwritten:
            try:
                self.writer.append(self._unwritten[0])
            except BadInput as error:
                self._report("a row for the store", error)
            del self._unwritten[0]

    def _norms(self) -> dict[str, Any]:
        """The norms; with the radius of the ball on which the bound holds, or the reason where one is NaN."""
        if self.norms is None:
            return {}
        with self._never_raising("measuring norms"):
            if self._radius is not None:
                self.norms.radius = float(self._radius)
            with evaluating(self.model):
                found = self.norms.measure()
            row: dict[str, Any] = {
                NORMS[name]: float(value) for name, value in found.items() if name in NORMS
            }
            if self.norms.needs_radius and self.norms.radius is not None:
                row["norm_radius"] = self.norms.radius
            return row | ({} if self.norms.missing is None else {"norm_missing": self.norms.missing})
        return {}

    def _extra(self, step: int) -> dict[str, float]:
        """What `extra` reads off the network; arrays go into the store beside the curves."""
        if self.extra is None:
            return {}
        with self._never_raising("extra()"):
            with evaluating(self.model):
                numbers, arrays = without_arrays(self.extra(self.model))
            if arrays and self._store is not None and self.writer is not None:
                with self._never_raising("the store"):
                    self._store.keep_arrays(self.writer.run, step, arrays)
            return {name: float(value) for name, value in numbers.items()}
        return {}

    def _outlook_columns(self, step: int) -> dict[str, float]:
        """The forecast of the final loss; warns once if the loss has left its expected range."""
        if self.outlook is None:
            return {}
        with self._never_raising("the estimate of the final loss"):
            found = self.outlook.columns(step)
            if found.get("on_track") == 0.0 and self.outlook.latest is not None:
                low, high = self.outlook.latest.expected
                self._warn(
                    "alarm",
                    f"at step {step} the loss has left the band {low:.4g} … {high:.4g} that the run's "
                    "beginning and earlier runs gave: look at the learning rate and the data",
                )
            return found
        return {}

    def _columns(self, measured: Mapping[str, Any]) -> dict[str, float]:
        """Numbers under the table's names; a metric that cannot be used is reported and left out."""
        columns: dict[str, float] = {}
        for name, value in measured.items():
            with self._never_raising(f"the metric {name}"):
                columns |= _column(name, value)
        return columns

    # --- at the end ------------------------------------------------------------------------------

    def finish(self) -> Curves:
        """Measure the last step, seal the run and return its curves; without rows where nothing was measured.

        Of a run that was done before, these are the curves in the store.
        """
        self._end()
        if self.rows or self.done or not self._reported:  # else the reason was reported
            with self._never_raising("the curves"):
                return self.curves()
        return Curves({})

    def _end(self) -> None:
        if self._unmeasured is not None:
            step, measured = self._unmeasured
            self.measure(int(step), **measured)
        with self._never_raising("the store"):
            if self._input_hook is not None:
                self._input_hook.remove()
            if self.writer is not None and not self.writer.closed:
                with contextlib.closing(self.writer):  # what cannot be sealed stays, unfinished
                    self._write_waiting()
                    if not self.rows:
                        return  # nothing was trained: the run is not done
                    if self.diverged_at is None:
                        self.writer.seal("done")
                    else:
                        self.writer.seal("diverged", diverged_at=self.diverged_at)

    def curves(self) -> Curves:
        """What has been measured so far."""
        if self.done and self._store is not None:
            return self._store.curves().select(run=run_name(self.setting))
        if not self.rows:
            raise BadInput("nothing was measured yet: call the tracker with the number of steps done")
        import pandas as pd

        frame = pd.DataFrame(self.rows).assign(**self.setting)
        if self.diverged_at is not None:
            frame = frame.assign(status="diverged", diverged_at=self.diverged_at)
        return Curves(frame, settings=list(self.setting), source="train", experiment=self.experiment)

    def __enter__(self) -> Tracker:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: object) -> None:
        if kind is None:
            self._end()
        # a training that raised is not done: the run stays unfinished, to be resumed
        elif self.writer is not None:
            with self._never_raising("the store"):
                self.writer.close()

    # --- other people's trainers -----------------------------------------------------------------

    def lightning(self) -> Any:
        """A callback for Lightning: ``Trainer(callbacks=[tracker.lightning()])``."""
        old = importlib.util.find_spec("pytorch_lightning") and not importlib.util.find_spec("lightning")
        home = "pytorch_lightning.callbacks" if old else "lightning.pytorch.callbacks"
        return lightning_callback(self, require(home, None, "the Lightning callback").Callback)

    def hugging_face(self) -> Any:
        """A callback for the Hugging Face Trainer: ``Trainer(…, callbacks=[tracker.hugging_face()])``."""
        base = require("transformers", None, "the Hugging Face callback").TrainerCallback
        return hugging_face_callback(self, base)


def lightning_callback(tracker: Tracker, base: type) -> Any:
    """The callback as a subclass of Lightning's `Callback`."""

    class TrackerCallback(base):
        def on_train_start(self, trainer: Any, module: Any) -> None:
            with tracker._never_raising("the callback"):
                total = trainer.estimated_stepping_batches
                for one in trainer.lr_scheduler_configs[:1] if np.isfinite(total) else ():
                    if one.interval == "step":
                        tracker.plan(planned(one.scheduler, int(total)))

        def on_train_batch_end(self, trainer: Any, module: Any, outputs: Any, *_: Any) -> None:
            with tracker._never_raising("the callback"):
                loss = outputs.get("loss") if isinstance(outputs, Mapping) else outputs
                tracker(trainer.global_step, **({} if loss is None else {"loss": loss}))

        def on_validation_end(self, trainer: Any, module: Any) -> None:
            with tracker._never_raising("the callback"):
                if not trainer.sanity_checking and trainer.global_step:
                    tracker.note(trainer.global_step, **dict(trainer.callback_metrics))

        def on_train_end(self, trainer: Any, module: Any) -> None:
            tracker.finish()

    return TrackerCallback()


def hugging_face_callback(tracker: Tracker, base: type) -> Any:
    """The callback as a subclass of the Trainer's `TrainerCallback`."""

    class TrackerCallback(base):
        def on_train_begin(self, args: Any, state: Any, control: Any, **given: Any) -> None:
            with tracker._never_raising("the callback"):
                if state.max_steps > 0 and given.get("lr_scheduler") is not None:
                    tracker.plan(planned(given["lr_scheduler"], int(state.max_steps)))

        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            with tracker._never_raising("the callback"):
                tracker(state.global_step)

        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
            # the last log is a summary: its train_loss is the mean over the whole training
            with tracker._never_raising("the callback"):
                if state.global_step and logs and "train_runtime" not in logs:
                    if tracker.outlook is not None and "loss" in logs:
                        tracker.outlook.add(state.global_step, logs["loss"])
                    tracker.note(state.global_step, **logs)

        def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            tracker.finish()

    return TrackerCallback()


def _is_main_process() -> bool:
    """Whether this is the first of the processes that train together, or the only one."""
    if distributed.is_available() and distributed.is_initialized():
        return distributed.get_rank() == 0
    # torchrun and Lightning tell the processes that they start, before they know each other
    return int(os.environ.get("RANK") or os.environ.get("LOCAL_RANK") or 0) == 0


def _column(name: str, value: Any) -> dict[str, float]:
    """A number under the table's name; an accuracy becomes an error.

    What is not a number is left out, and so is what the table knows as a setting: trainers log the learning
    rate as it decays.
    """
    if isinstance(value, (Tensor, np.ndarray, np.generic)):
        if math.prod(value.shape) != 1:
            return {}
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, (int, float)) or name in SETTING:
        return {}
    short = bare(name)
    ours = (
        "train_loss"
        if short == "loss"
        else "train_accuracy"
        if short in ACCURACY
        else measurement(name) or name
    )
    if ours in ("train_accuracy", "test_accuracy"):
        # a mean in float32 may come out just above 1
        if value > 1 + 1e-6:
            raise BadInput(f"{name}={value:g}: accuracies are fractions; divide percent by 100")
        return {ours.replace("accuracy", "error"): 1.0 - float(value)}
    return {ours: float(value)}
