"""Setting: everything that defines one training run, as a frozen dataclass read from plain dictionaries.

A setting and its seed give the same curve on the same machine; its hash names the run. Unknown and
contradictory keys are errors that name the nearest right one.

Training time is set by exactly one of

- `epochs`: T = ⌈epochs · n_data / batch_size⌉ steps;
- `steps`: T itself;
- `min_epochs` with `min_steps`: T = max(min_steps, min_epochs · n_data / batch_size) (park2019 eq. 16),
  and with `reference_learning_rate` ε0 as well, T = max(T0, T0 · ε0/ε) (park2019 eq. 17).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from functools import cached_property
from typing import Any

import numpy as np

from scalinglab.curves import run_name
from scalinglab.data import NORMALIZATIONS, SOURCES, Dataset
from scalinglab.errors import BadInput, nearest
from scalinglab.train.own.references import KEYS, is_own, own_data, resolve, taken_in

# data that functions of `scalinglab.data` make of `data_options`, and examples of each by default
GENERATED = {"teacher_student": 10_000, "text": 4096}
CHOICES: dict[str, tuple[str, ...]] = {
    "dataset": (*SOURCES, *GENERATED),
    "normalize": tuple(NORMALIZATIONS),
    "optimizer": ("sgd", "nesterov", "adam", "adamw", "lion", "muon"),
    "loss": ("cross_entropy", "mse"),
    "schedule": ("constant", "cosine", "linear", "wsd"),
    "augment": ("none", "flip", "crop", "crop_flip", "affine"),
    "checkpoint_unit": ("step", "epoch"),
    "precision": ("fp32", "tf32", "bf16"),
    "parameterization": ("standard", "ntk", "mup"),
}
MEASURES = (
    "norm", "norm_as_published", "margin", "margin_histogram", "gradient_noise", "kernel",
)  # fmt: skip
POSITIVE = (
    "width", "depth", "learning_rate", "batch_size", "epochs", "steps", "min_epochs", "min_steps",
    "reference_learning_rate", "checkpoints_per_decade", "checkpoints_from", "pool", "n_data",
    "evaluate_at_most", "test_size", "initialization_factor", "warmup", "cooldown", "clip",
)  # fmt: skip
FRACTIONS = (
    "momentum", "label_smoothing", "label_noise", "dropout", "fail_below", "fail_after", "beta1", "beta2",
    "ema", "cooldown",
)  # fmt: skip
BELOW_ONE = ("momentum", "dropout", "beta1", "beta2", "ema")
# what a built-in family is made of; a network of one's own gets them as it gets any other option
OF_FAMILIES = (
    "width", "depth", "parameterization", "batch_norm", "dropout", "initialization", "initialization_factor",
)  # fmt: skip
SEEDS = ("seed", "init_seed", "order_seed", "data_seed")
# what may differ between runs that share a step
FREE = {
    *SEEDS, "data_block", "n_data", "learning_rate", "batch_size",
    "epochs", "steps", "min_epochs", "min_steps", "reference_learning_rate",
}  # fmt: skip


# defaults that are stored as None: giving one explicitly does not change the name of the run
UNNAMED: dict[str, Any] = {
    "linearized": False, "online": False, "augment_test": False, "initialization_factor": 1.0,
}  # fmt: skip
TORCH_OPTIMIZERS: dict[str, tuple[str, dict[str, Any]]] = {
    "Adam": ("adam", {}), "AdamW": ("adamw", {"weight_decay": 0.01}), "SGD": ("sgd", {}),
}  # fmt: skip
MISSPELT = 0.85  # how alike an option and a key are where one is taken for the other
SHORT = {"lr": "learning_rate", "wd": "weight_decay", "bs": "batch_size"}
MOST_ONLINE = 50_000_000  # examples of a teacher that a run may see online


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One run.

    Attributes:
        model, width, depth, parameterization, batch_norm, dropout, initialization, model_options: the
            network, as `scalinglab.nets.build` takes them; `model_options` is what only this family takes. Or
            a network of one's own, "module:name" (docs/your-own-network.md): further keys are its options.
        initialization_factor: factor on the initial weights, as `scalinglab.nets.build` takes it.
        linearized: train the network's linearisation at its initial weights in its place
            (`scalinglab.nets.Linearized`); give `measure` without norms, which are those of a network.
        dataset: a name that `scalinglab.data.load` knows, or "teacher_student" or "text" with `data_options`
            for the function of that name in `scalinglab.data`. Text goes with model "decoder". Or
            "module:function" of one's own, called with `data_options`.
        n_data: training examples; None takes all. Subsets of one seed contain each other.
        data_block: which block of `n_data` examples of the seed's permutation, counted from 0; the blocks of
            one seed do not overlap.
        normalize, pool, superclass, input_noise, label_noise, test_size: views of the data.
        augment: random flips, crops (4 pixels of padding), or both, or "affine" (turned by up to 10°, shifted
            by up to a tenth of each side); "none" unless asked for.
        augment_test: measure on test images that went through the same random transform, drawn once.
        optimizer, learning_rate, momentum, weight_decay: `momentum` is for sgd (0 unless given), nesterov
            (0.9) and muon (0.95); weight decay is decoupled in adamw, lion and muon and part of the gradient
            otherwise. Or "module:name" of one's own, a class as those of `torch.optim`, or a function of
            (parameters, setting).
        beta1, beta2: of adam and adamw (0.9, 0.999), lion (0.9, 0.99), and of muon's adamw (0.9, 0.95).
        clip: the largest length of a gradient, all parameters together; longer ones are shortened to it.
        schedule: "constant", "cosine" or "linear" (to zero), "wsd" (constant, then linear to zero over the
            last part `cooldown`, 0.2 unless given), or "module:function" of one's own, which takes
            (step, steps) and returns the factor on the learning rate.
        warmup: steps in which the learning rate rises linearly, or the fraction of all steps, if below 1.
        ema: decay of an exponential moving average of the weights, such as 0.999: its losses and errors are
            measured beside those of the weights, in columns that end in _ema; training does not see it.
        loss: "cross_entropy", or "mse" (mean over outputs; one-hot targets for classes), or "module:function"
            of one's own, which takes (outputs, targets) of a batch and returns its mean loss.
        metrics: further columns, "module:function" by name, of (outputs, targets) of the whole test set.
        code, version: what stands behind the names of one's own: fingerprints, which are found by
            themselves, or a version that the user gives in their place.
        label_smoothing: probability taken from the true class and spread over all.
        online: fresh examples at every step, each seen once: teacher_student without end, text while it
            lasts, or images under random augmentation, which stand in for fresh ones (then `augment` must be
            set). `n_data` is the pool that images are drawn from.
        batch_size: examples a step; smaller sets are taken whole. Batches run through random permutations
            of the data, one after another, so a batch may end one epoch and begin the next.
        full_batch: gradient descent on all of the data at every step.
        epochs, steps, min_epochs, min_steps, reference_learning_rate: training time, see the module.
        checkpoints_per_decade, checkpoint_unit: checkpoints at 10^(k/…) steps (or epochs), and the last.
        checkpoints_from: epochs before which there are no checkpoints; default: they begin with step 1.
        evaluate_at_most: training loss and error are read on this many training examples at most.
        measure: what else to read at checkpoints: "norm" (spectral complexity and the cheap norms),
            "norm_as_published" (what the code of damico2025 computes), "margin", "margin_histogram" and
            "gradient_noise" (on at most `evaluate_at_most` training examples), "kernel" (the tangent kernel
            on 250 test inputs: alignment, drift, exponents, spectra).
        fail_below, fail_after: give up a run whose test accuracy is below `fail_below` at a checkpoint
            later than this fraction of its time (park2019: 0.2 and 0.2).
        precision, compile, graphs: full fp32 unless asked for; recorded with every run.
        seed: of everything; `init_seed`, `order_seed` and `data_seed` override it for initial weights,
            order of batches (with augmentation and dropout), and subset. Label and input noise make one noisy
            set, from which every seed takes its subset: they follow `data_seed` alone (default 0).
    """

    model: str
    dataset: str
    n_data: int | None = None
    data_block: int = 0
    width: float = 1.0
    depth: int | None = None
    parameterization: str = "standard"
    batch_norm: bool | None = None
    dropout: float | None = None
    initialization: str = "critical"
    initialization_factor: float | None = None
    model_options: Mapping[str, Any] = field(default_factory=dict)
    linearized: bool | None = None
    data_options: Mapping[str, Any] = field(default_factory=dict)
    normalize: str = "channel"
    pool: int = 1
    superclass: str | Sequence[int] | None = None
    input_noise: float = 0.0
    label_noise: float = 0.0
    test_size: int | None = None
    augment: str = "none"
    augment_test: bool | None = None
    optimizer: str = "adam"
    learning_rate: float = 1e-3
    momentum: float | None = None
    beta1: float | None = None
    beta2: float | None = None
    weight_decay: float = 0.0
    clip: float | None = None
    schedule: str = "constant"
    warmup: float | None = None
    cooldown: float | None = None
    ema: float | None = None
    loss: str = "cross_entropy"
    metrics: Mapping[str, str] | None = None
    code: Mapping[str, str] = field(default_factory=dict)
    version: str | None = None
    label_smoothing: float = 0.0
    batch_size: int | None = None
    full_batch: bool = False
    online: bool | None = None
    epochs: float | None = None
    steps: int | None = None
    min_epochs: float | None = None
    min_steps: int | None = None
    reference_learning_rate: float | None = None
    checkpoints_per_decade: int = 10
    checkpoint_unit: str = "step"
    checkpoints_from: float | None = None
    evaluate_at_most: int = 10_000
    measure: Sequence[str] = ("norm",)
    fail_below: float | None = None
    fail_after: float = 0.2
    precision: str = "fp32"
    compile: bool = False
    graphs: bool = False
    seed: int = 0
    init_seed: int | None = None
    order_seed: int | None = None
    data_seed: int | None = None

    def __post_init__(self) -> None:
        if isinstance(self.measure, str):
            object.__setattr__(self, "measure", (self.measure,))
        for item in fields(self):
            value = getattr(self, item.name)
            _check_kind(item.name, value, str(item.type))
            if isinstance(value, (int, float, np.number)) and not isinstance(value, bool):
                whole = "int" in str(item.type) and "float" not in str(item.type)
                object.__setattr__(self, item.name, int(value) if whole else float(value))
        for name, known in CHOICES.items():
            if (value := getattr(self, name)) is not None and value not in known and not self.owns(name):
                raise BadInput(f"{name}={value!r} is not known; {nearest(str(value), known)}")
        _check_ranges(self)
        _check_agreement(self)
        for name, default in UNNAMED.items():
            if getattr(self, name) == default:
                object.__setattr__(self, name, None)
        if self.online and self.dataset in GENERATED:
            _size_online_data(self)
        if self.n_data is None:
            object.__setattr__(self, "n_data", self._all_data())
        if self.batch_size is None and not self.full_batch:
            object.__setattr__(self, "batch_size", 128)
        if self.momentum is None and self.optimizer in MOMENTUM:
            object.__setattr__(self, "momentum", MOMENTUM[self.optimizer])

    def _all_data(self) -> int:
        """Training examples that there are."""
        if self.owns("dataset"):
            return self.own_data().n_data
        source = SOURCES.get(self.dataset)
        return int(source.n_train if source else self.data_options.get("n_data", GENERATED[self.dataset]))

    @staticmethod
    def from_dict(values: Mapping[str, Any]) -> Setting:
        """A setting from a dictionary, as TOML gives it.

        >>> Setting.from_dict({"model": "cnn", "dataset": "digits", "epochs": 3}).batch_size
        128
        """
        every = [f.name for f in fields(Setting)]
        for name in ("model", "dataset"):
            if values.get(name) is None:
                if slips := [v for v in values if v not in every and name in get_close_matches(v, every, 1)]:
                    raise BadInput(f"a setting has no {slips[0]!r}; {nearest(slips[0], every)}")
                raise BadInput(f"a setting needs {name!r}, for example {name} = {_EXAMPLE[name]}")
        values = taken_in(with_torch_optimizer(values))
        if is_own(values["model"]):
            values = _split_options(values, every)
        for name in values:
            if name not in every:
                raise BadInput(f"a setting has no {name!r}; {nearest(name, every)}")
        return Setting(**values)

    # --- what is the user's own ------------------------------------------------------------------

    def owns(self, key: str) -> bool:
        """Whether the user's own network, data, optimizer, loss or schedule stands under this key."""
        return key in KEYS and key != "metrics" and is_own(getattr(self, key))

    def own(self, key: str, name: str | None = None, place: str = "") -> Any:
        """The object that a key names: a function, class, network or data set of the user."""
        return resolve(key, name or getattr(self, key), self.code, self.version, place)

    def own_data(self) -> Dataset:
        """The user's own data, loaded once."""
        stamp = self.code.get("dataset", self.version)
        return own_data(self.dataset, stamp, self.data_options, lambda: self.own("dataset"))

    def as_given(self) -> dict[str, Any]:
        """The setting as the user's functions get it."""
        identity = self.identity()
        return {name: value for name, value in identity.items() if name not in ("code", "version")}

    # --- what follows from it --------------------------------------------------------------------

    def batch(self, n_data: int) -> int:
        """Examples a step, for a training set of this size."""
        return n_data if self.full_batch or self.batch_size is None else min(self.batch_size, n_data)

    def total_steps(self, n_data: int) -> int:
        """Training time T in steps, for a training set of this size."""
        per_epoch = n_data / self.batch(n_data)
        if self.steps is not None:
            return self.steps
        if self.epochs is not None:
            return max(1, math.ceil(self.epochs * per_epoch - 1e-9))
        assert self.min_epochs is not None
        assert self.min_steps is not None
        steps = max(float(self.min_steps), self.min_epochs * per_epoch)
        if self.reference_learning_rate is not None:
            steps = max(steps, steps * self.reference_learning_rate / self.learning_rate)
        return math.ceil(steps - 1e-9)

    def checkpoints(self, n_data: int) -> np.ndarray:
        """The steps at which the run is measured, evenly spaced in the log, the last one included.

        Runs of any length share the grid, so their curves can be averaged and run side by side.
        """
        total = self.total_steps(n_data)
        unit = 1.0 if self.checkpoint_unit == "step" else n_data / self.batch(n_data)
        first = -math.floor(self.checkpoints_per_decade * math.log10(unit))
        last = math.ceil(self.checkpoints_per_decade * math.log10(total / unit))
        grid = unit * 10.0 ** (np.arange(first, last + 1) / self.checkpoints_per_decade)
        steps = np.unique(np.rint(grid).astype(np.int64))
        earliest = max(1.0, (self.checkpoints_from or 0.0) * n_data / self.batch(n_data))
        return np.append(steps[(steps >= earliest) & (steps < total)], total)

    def seed_of(self, what: str) -> int:
        """The seed of "init", "order" or "data"."""
        own = getattr(self, f"{what}_seed")
        return int(self.seed if own is None else own)

    def identity(self) -> dict[str, Any]:
        """Everything that defines the run, without what was left out; its hash is the run's name."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        if self.owns("model"):  # options have columns of their own
            values = {k: v for k, v in values.items() if k not in (*OF_FAMILIES, "model_options")}
            values |= self.model_options
        if self.owns("dataset"):
            values = {k: v for k, v in values.items() if k not in ("normalize", "pool")}
        kept = {k: v for k, v in values.items() if v is not None and v != {}}
        if not self.data_block:
            del kept["data_block"]  # the first block is the subset that every run has
        return {k: list(v) if isinstance(v, tuple) else v for k, v in kept.items()}

    def kind(self, batch: int | str | None = None) -> str:
        """Equal for settings whose runs can share a step.

        Args:
            batch: what counts as the batch size; default: the batch size itself.
        """
        assert self.n_data is not None
        shared = {k: v for k, v in self.identity().items() if k not in FREE}
        noisy = self.data_seed if self.input_noise or self.label_noise else None
        return run_name({**shared, "batch": batch or self.batch(self.n_data), "noisy": noisy})

    @cached_property
    def run(self) -> str:
        """The run's name."""
        return run_name(self.identity())


_EXAMPLE = {"model": "'cnn'", "dataset": "'mnist' (`data` of run_many)"}
MOMENTUM = {"sgd": 0.0, "nesterov": 0.9, "muon": 0.95}  # where none is given


def _split_options(values: Mapping[str, Any], known: Sequence[str]) -> dict[str, Any]:
    """Move the keys that are options of the user's own network into `model_options`."""
    options = dict(values.get("model_options") or {})
    for name, value in values.items():
        if name in OF_FAMILIES or name not in known:
            whole = isinstance(value, float) and value.is_integer()  # 32.0 of the command line
            options[name] = int(value) if whole else value
    for name in options:
        near = (
            [] if name in OF_FAMILIES else get_close_matches(str(SHORT.get(name, name)), known, 1, MISSPELT)
        )
        if near and near[0] not in values:
            raise BadInput(
                f"{name} = {options[name]!r}: did you mean {near[0]!r}? An option needs another name"
            )
    return {
        **{k: v for k, v in values.items() if k in known and k not in OF_FAMILIES},
        "model_options": options,
    }


def with_torch_optimizer(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Adam, AdamW and SGD of `torch.optim` by their names here, with PyTorch's own weight decay."""
    optimizer = values.get("optimizer")
    if optimizer is None or isinstance(optimizer, str):
        module, _, name = str(optimizer).partition(":")
    else:
        module, name = str(getattr(optimizer, "__module__", "")), str(getattr(optimizer, "__name__", ""))
    if not module.startswith("torch.optim") or name not in TORCH_OPTIMIZERS:
        return values
    ours, own = TORCH_OPTIMIZERS[name]
    return {**own, **values, "optimizer": ours}


def _check_kind(name: str, value: Any, kind: str) -> None:
    """A value of the wrong type, as a TOML file easily has one."""
    if value is None and "None" in kind:
        return
    numeric = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    right = {
        "str": isinstance(value, str),
        "bool": isinstance(value, bool),
        "int": numeric and float(value).is_integer(),
        "float": numeric and math.isfinite(float(value)),
        "Mapping": isinstance(value, Mapping),
        "Sequence": isinstance(value, Sequence) and not isinstance(value, str),
    }
    wanted = [k for k in right if k in kind]
    if not any(right[k] for k in wanted):
        if numeric and not math.isfinite(float(value)):
            raise BadInput(f"{name}={value!r} must be finite")
        raise BadInput(f"{name}={value!r} must be {' or '.join(wanted)}, not {type(value).__name__}")


def _check_ranges(s: Setting) -> None:
    for name in POSITIVE:
        if (value := getattr(s, name)) is not None and not value > 0:
            raise BadInput(f"{name}={value} must be positive")
    for name in ("weight_decay", "input_noise", "data_block"):
        if getattr(s, name) < 0:
            raise BadInput(f"{name}={getattr(s, name)} must not be negative")
    for name in FRACTIONS:
        if (value := getattr(s, name)) is not None and not 0 <= value <= 1:
            raise BadInput(f"{name}={value} must lie between 0 and 1")
        if value == 1 and name in BELOW_ONE:
            raise BadInput(f"{name}={value} must be less than 1")
    for name in SEEDS:
        if (value := getattr(s, name)) is not None and not 0 <= value < 1 << 63:
            raise BadInput(f"{name}={value} must be a whole number from 0 to 2^63 − 1")
    for name in s.measure:
        if name not in MEASURES:
            raise BadInput(f"measure={name!r} is not known; {nearest(name, MEASURES)}")


def _check_agreement(s: Setting) -> None:
    """Keys that contradict each other."""
    rules = {
        "epochs": s.epochs is not None,
        "steps": s.steps is not None,
        "min_epochs with min_steps": s.min_epochs is not None or s.min_steps is not None,
    }
    given = [name for name, is_given in rules.items() if is_given]
    if len(given) != 1:
        raise BadInput(
            f"training time is set by {' and '.join(given) if given else 'nothing'}: "
            f"give exactly one of {', '.join(rules)}"
        )
    if given == ["min_epochs with min_steps"] and (s.min_epochs is None or s.min_steps is None):
        raise BadInput("min_epochs and min_steps go together (park2019 eq. 16): give both")
    if s.reference_learning_rate is not None and s.min_epochs is None:
        raise BadInput(
            "reference_learning_rate scales min_epochs and min_steps (park2019 eq. 17): give those"
        )
    if s.momentum is not None and s.optimizer in ("adam", "adamw", "lion"):
        raise BadInput(f"momentum={s.momentum} is for sgd and nesterov; {s.optimizer} has its own")
    _check_optimizer(s)
    if s.linearized:
        _check_linearized(s)
    if s.online:
        _check_online(s)
    if s.full_batch and s.batch_size is not None:
        raise BadInput(f"full_batch and batch_size={s.batch_size} contradict each other: leave one out")
    if s.label_smoothing and s.loss == "mse":
        raise BadInput("label_smoothing goes with loss='cross_entropy'")
    if s.data_options and s.dataset not in GENERATED and not s.owns("dataset"):
        raise BadInput(f"data_options are for dataset={' or '.join(map(repr, GENERATED))}, not {s.dataset!r}")
    if s.dataset in GENERATED and (s.pool != 1 or s.normalize != "channel"):
        key = "pool" if s.pool != 1 else "normalize"
        raise BadInput(
            f"{key}={getattr(s, key)!r} is for images, and dataset={s.dataset!r} has none: leave it out"
        )
    if (s.dataset == "text") != (s.model == "decoder") and not (s.owns("dataset") or s.owns("model")):
        raise BadInput(
            f"model={s.model!r} with dataset={s.dataset!r}: a decoder takes text, and text takes a decoder"
        )
    if s.dataset == "text":
        _check_text(s)
    if s.augment_test and s.augment == "none":
        raise BadInput("augment_test puts test images through the transform of `augment`: give it as well")
    if s.graphs and s.full_batch:
        raise BadInput("graphs need batches of one fixed size: leave out full_batch or graphs")


def _check_optimizer(s: Setting) -> None:
    if (s.beta1 is not None or s.beta2 is not None) and s.optimizer in ("sgd", "nesterov"):
        raise BadInput(f"beta1 and beta2 are for adam, adamw, lion and muon; {s.optimizer} has momentum")
    if s.cooldown is not None and s.schedule != "wsd":
        raise BadInput(f"cooldown={s.cooldown} is the last part of schedule='wsd', not of {s.schedule!r}")
    if s.owns("model") and s.linearized:
        raise BadInput(f"linearized=True is for built-in networks, not for {s.model!r}: leave it out")
    if s.owns("dataset"):
        usual = {"superclass": None, "pool": 1, "online": None, "augment": "none", "normalize": "channel"}
        for name, default in usual.items():
            if (found := getattr(s, name)) != default:
                raise BadInput(f"{name}={found!r} is for built-in data; do it in {s.dataset!r} itself")


def _check_text(s: Setting) -> None:
    """Refuse keys that need one target an example, or real-valued inputs."""
    alone = [name for name in s.measure if not name.startswith("norm")]
    given = {
        "loss": s.loss if s.loss != "cross_entropy" else None, "superclass": s.superclass,
        "input_noise": s.input_noise, "label_noise": s.label_noise, "fail_below": s.fail_below,
        "measure": alone,
    }  # fmt: skip
    for name, value in given.items():
        if value:
            raise BadInput(f"{name}={value!r} is not for text, with a target at every byte: leave it out")


def _check_linearized(s: Setting) -> None:
    norms = [name for name in s.measure if name.startswith("norm")]
    if norms:
        raise BadInput(
            f"measure={list(s.measure)}: a linearised network is no product of layers and has no norms; "
            "leave them out, for example measure = []"
        )
    if s.compile or s.precision == "bf16" or s.dropout or s.batch_norm:
        given = {
            "compile": s.compile,
            "precision": s.precision,
            "dropout": s.dropout,
            "batch_norm": s.batch_norm,
        }
        raise BadInput(
            f"linearized with {given}: linearised networks train without compilation, bf16, dropout and "
            "batch normalisation"
        )


def _size_online_data(s: Setting) -> None:
    """Set n_data of an online run on generated data to steps × batch size: no example is seen twice."""
    assert s.steps is not None
    seen = s.steps * (s.batch_size or 128)
    if seen > MOST_ONLINE:
        raise BadInput(
            f"online for {s.steps} steps of {s.batch_size or 128}: {seen} examples do not fit into memory; "
            f"up to {MOST_ONLINE} do, take fewer steps or smaller batches"
        )
    if s.n_data not in (None, seen):
        raise BadInput(f"online with n_data={s.n_data}: {seen} examples are seen, one pass; leave n_data out")
    object.__setattr__(s, "n_data", seen)
    object.__setattr__(s, "data_options", {**s.data_options, "n_data": seen})


def _check_online(s: Setting) -> None:
    if s.dataset in GENERATED and s.steps is None:
        raise BadInput(f"online with dataset={s.dataset!r}: give steps; data that come once have no epochs")
    if s.full_batch:
        raise BadInput("online and full_batch contradict each other: give batch_size")
    if s.dataset not in GENERATED and s.augment == "none":
        raise BadInput(
            f"online with dataset={s.dataset!r}: a set of images ends; set augment, whose random views stand "
            "in for fresh images, or take dataset='teacher_student'"
        )
