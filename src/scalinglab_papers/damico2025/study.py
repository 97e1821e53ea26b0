"""The trainings behind Sections 3 and 4: nine pairs of model and data set, and variants, at four scales.

A *part* is one grid of training sizes and seeds with a name: "CNN MNIST" is a pair of the paper,
"CNN CIFAR10, SGD" a variant of one. `parts` gives the grids of a scale, `train` continues a store with what
is missing in it, `trained` reads the runs of a part back, from a store or from a table of curves.

App. E: Adam (AdamW for ViTs) without weight decay, learning rate 0.001; 500 epochs for CNNs and 1000 for the
others; up to 30 repetitions, a month on nine V100s. Scale "gpu" keeps networks and optimizer, has the rates,
batches, initial scales and images behind the published curves, and fewer sizes, epochs and seeds; "laptop"
has the CNN of an eighth of the width on MNIST; "smoke" has small networks on 8 × 8 digits.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from scalinglab.curves import Curves
from scalinglab.errors import BadInput, nearest
from scalinglab.studies import shared
from scalinglab.studies.trained import RunStorage, on_gpu, run_storage
from scalinglab.sweep.grid import Grid

MODELS = {"CNN": "cnn", "ResNet": "resnet", "ViT": "vit"}
DATASETS = {"MNIST": "mnist", "CIFAR10": "cifar10", "CIFAR100": "cifar100"}
PAIRS = tuple(f"{model} {dataset}" for model in MODELS for dataset in DATASETS)
NORMS = ["norm", "norm_as_published"]
SETTING = {"initialization": "customary", "batch_size": 128, "learning_rate": 1e-3, "measure": NORMS}
FAST = {"precision": "bf16", "graphs": True, "compile": True}

MNIST_SIZES = [89, 188, 375, 750, 1500, 3000, 6000, 12000, 24000, 30000, 36000, 42000, 48000]
PAPER_EPOCHS = {"CNN": 500, "ResNet": 1000, "ViT": 1000}
PAPER_SEEDS = 30
# milliseconds of a step on one H200 in bf16, 8 runs at a time: docs/benchmarks/training.md and study.md;
# ResNets and ViTs that were not timed by themselves follow from the operations of a step
STEP_MS = {
    "CNN MNIST": 0.245, "CNN CIFAR10": 0.307, "CNN CIFAR100": 0.955, "ResNet MNIST": 0.7,
    "ResNet CIFAR10": 1.7, "ResNet CIFAR100": 3.2, "ViT MNIST": 0.6, "ViT CIFAR10": 2.0, "ViT CIFAR100": 2.6,
}  # fmt: skip

# norms and evaluations of ResNets and ViTs cost as much as hundreds of steps, so at scale gpu they are
# measured as the authors did, after the first epoch; compiling takes longer than it saves
SPARING: dict[str, Any] = {
    "evaluate_at_most": 2000, "checkpoints_per_decade": 6, "checkpoints_from": 1.0, "compile": False,
}  # fmt: skip
# what the authors do to training images they do to test images too
AFFINE: dict[str, Any] = {"augment": "affine", "augment_test": True}
CROPPED: dict[str, Any] = {"augment": "crop_flip", "augment_test": True, "checkpoint_unit": "epoch"}
SCALED_DOWN: dict[str, Any] = {"initialization_factor": 0.05, "normalize": "signed"}
# ResNets on MNIST: published norms after one epoch are those of few steps at a large rate, and published
# errors have none of the delay with which running statistics follow so few steps by a momentum of 0.1
FEW_STEPS: dict[str, Any] = {
    "learning_rate": 0.005, "batch_size": 1536, "model_options": {"norm_momentum": 0.5},
    "checkpoint_unit": "epoch", "checkpoints_per_decade": 8,
}  # fmt: skip
PUBLISHED_MNIST = MNIST_SIZES[2:]
# scale gpu: the runs of a pair, at the settings behind the published curves as far as training the authors'
# networks has shown them: sizes, epochs, seeds, what is changed in `SETTING`
GPU: dict[str, tuple[list[int], int, int, dict[str, Any]]] = {
    # seeds leave the plateau of guessing at different norms, and half of them never do: as many as published
    # have to be left
    "CNN MNIST": (PUBLISHED_MNIST, 100, 60, SCALED_DOWN | SPARING),
    "CNN CIFAR10": ([4000, 8000, 12000, 16000, 24000, 32000, 48000], 40, 5, {}),
    "CNN CIFAR100": ([1500, 3000, 6000, 9000, 12000, 18000, 24000, 48000], 20, 5, {}),
    "ResNet MNIST": (PUBLISHED_MNIST, 60, 20, AFFINE | SPARING | FEW_STEPS),
    "ResNet CIFAR10": ([6000, 11000, 16000, 21000, 31000, 46000], 60, 6,
                       {"learning_rate": 0.01} | CROPPED | SPARING),
    "ResNet CIFAR100": ([6000, 16000, 26000, 46000], 30, 9, {"learning_rate": 0.005} | CROPPED | SPARING),
    "ViT MNIST": (PUBLISHED_MNIST, 40, 5, AFFINE | SPARING),
    "ViT CIFAR10": ([1500, 3000, 6000, 11000, 21000], 16, 5, SPARING),
    "ViT CIFAR100": ([3000, 6000, 11000, 16000, 21000], 16, 5, SPARING),
}  # fmt: skip
# the version of the published curves whose settings these are: May's, to which the printed tables belong, or
# September's. ResNet and ViT on MNIST are the same in both
SEPTEMBER = ("CNN MNIST", "ResNet CIFAR100")
# what the authors' code does and their appendix leaves out: random crops and flips
AUGMENT = {"ResNet CIFAR10": "crop_flip", "ResNet CIFAR100": "crop_flip"}
# what a variant changes; the authors' weight decay is Adam's L2, of which their files do not say how much
VARIANTS: dict[str, dict[str, Any]] = {
    "SGD": {"optimizer": "sgd", "momentum": 0.9, "learning_rate": 0.01},
    "weight decay": {"optimizer": "adamw", "weight_decay": 0.1},
    "L2": {"optimizer": "adam", "weight_decay": 1e-4},
    "tf32": {"precision": "tf32", "compile": False, "checkpoints_from": 1.0},
    "margins": {"measure": ["norm", "margin_histogram"]},
}
# scale gpu: variants, sizes and epochs of a pair
VARIED: dict[str, tuple[tuple[str, ...], list[int], int]] = {
    "CNN CIFAR10": (("SGD", "weight decay", "L2"), [4000, 8000, 12000, 16000, 24000, 32000, 48000], 40),
    "ResNet CIFAR10": (("SGD", "L2"), [6000, 11000, 21000, 46000], 30),
    "ViT CIFAR10": (("SGD", "L2"), [1500, 3000, 6000, 11000, 16000, 21000], 16),
}
VARIED_SEEDS = {"CNN CIFAR10": 5}  # two of the others
# searches for the settings behind the published curves: sizes, axes beside them, what is changed, epochs,
# seeds. "App. E": rate, batch size and images as the paper prints them. "search": images of MNIST are
# shifted; the authors' code shifts and turns them
RATED: dict[str, Any] = {
    "measure": ["norm_as_published"],
    "checkpoint_unit": "epoch",
    "checkpoints_per_decade": 8,
}
SEARCHES: dict[str, tuple[list[int], dict[str, list[Any]], dict[str, Any], int, int]] = {
    "CNN MNIST, larger rate": (PUBLISHED_MNIST[-3:], {"learning_rate": [0.002]}, SCALED_DOWN, 100, 3),
    "ResNet MNIST, App. E": ([375, 750, 1500, 3000, 6000], {}, {}, 60, 2),
    "ResNet MNIST, search": (
        [12000, 24000, 48000],
        {"learning_rate": [0.0003, 0.001, 0.002, 0.004], "batch_size": [128, 512, 1024]},
        {"augment": "crop"} | RATED, 10, 2,
    ),
    "ResNet MNIST, larger rates": (
        PUBLISHED_MNIST, {"learning_rate": [0.003, 0.004, 0.005]}, {"batch_size": 512} | AFFINE, 100, 3,
    ),
    # the published norms begin at 1.3 for 6,000 images and grow with every size: few steps an epoch. (The
    # network that the authors' files of May name, of four times the channels, has a norm of 4 untrained.)
    "ResNet MNIST, larger batches": (
        [375, 1500, 6000], {"learning_rate": [0.002, 0.003, 0.005], "batch_size": [1024, 2048]},
        {"augment": "none"} | RATED, 60, 5,
    ),
    "ResNet MNIST, larger batches, turned": (
        PUBLISHED_MNIST,
        {"learning_rate": [0.002, 0.0022, 0.0025, 0.003, 0.005], "batch_size": [1024, 2048]},
        AFFINE | RATED, 60, 30,
    ),
    "ResNet CIFAR10, App. E": ([1500, 3000, 6000, 11000, 21000], {}, {}, 24, 2),
    "ResNet CIFAR10, search": (
        [6000, 21000], {"learning_rate": [0.001, 0.003, 0.005, 0.007, 0.01], "batch_size": [128, 512]},
        RATED, 6, 2,
    ),
    "ResNet CIFAR100, App. E": ([3000, 6000, 11000, 21000], {}, {}, 12, 2),
    "ViT MNIST, App. E": ([375, 750, 1500, 3000, 6000], {}, {}, 60, 2),
}  # fmt: skip
SMALL: dict[str, dict[str, Any]] = {  # scale smoke, on digits
    "CNN": {"model": "cnn", "width": 0.0625},
    "ResNet": {"model": "resnet", "model_options": {"stages": [1], "channels": [4]}},
    "ViT": {"model": "vit", "model_options": {"patch": 4, "dim": 16, "heads": 2}, "depth": 1},
}
LAPTOP_SIZES = [375, 750, 1500, 3000, 6000]


# --- grids -----------------------------------------------------------------------------------------------


def parts(scale: str) -> dict[str, Grid]:
    """The grids of a scale, by the name of the part; pairs first, then variants."""
    return {"smoke": _smoke, "laptop": _laptop, "gpu": _gpu, "paper": _paper}[scale]()


def _grid(own: dict[str, Any], sizes: list[int], seeds: int, **others: list[Any]) -> Grid:
    axes: dict[str, Any] = {"n_data": sizes, **others}
    setting = {name: value for name, value in {**SETTING, **own}.items() if name not in axes}
    return Grid(setting=setting, axes=axes, seeds=seeds, experiment="damico2025")


def _of_pair(pair: str) -> dict[str, Any]:
    model, dataset = pair.split(" ")
    own: dict[str, Any] = {"model": MODELS[model], "dataset": DATASETS[dataset]}
    if pair in AUGMENT:
        own["augment"] = AUGMENT[pair]
    return own | ({"optimizer": "adamw"} if model == "ViT" else {})


def _smoke() -> dict[str, Grid]:
    own = {
        "dataset": "digits", "epochs": 8, "batch_size": 32, "learning_rate": 1e-2,
        "checkpoints_per_decade": 7, "evaluate_at_most": 40, "test_size": 200,
    }  # fmt: skip
    sizes = [40, 80, 160, 320]
    made = {"CNN digits": _grid({**own, **SMALL["CNN"]}, sizes, 2)}
    for model in ("ResNet", "ViT"):  # for the course of their norms only
        made[f"{model} digits"] = _grid(
            {**own, **SMALL[model], "batch_size": 64, "epochs": 4}, sizes[1::2], 2
        )
    for pair, (names, _, _) in VARIED.items():
        base = made[f"{pair.split(' ')[0]} digits"]
        for name in names:
            change = {**base.setting, **VARIANTS[name]}
            if "learning_rate" in VARIANTS[name]:  # as that of Adam, ten times the rate of scale gpu
                change["learning_rate"] = 10 * VARIANTS[name]["learning_rate"]
            made[f"{pair.split(' ')[0]} digits, {name}"] = _grid(change, base.axes["n_data"], 2)
    margins = VARIANTS["margins"] | {"evaluate_at_most": 160}
    made["CNN digits, margins"] = _grid({**own, **SMALL["CNN"], **margins}, sizes[-2:], 1)
    return made


def _laptop() -> dict[str, Grid]:
    own = {
        "width": 0.125, "epochs": 30, "model": "cnn", "dataset": "mnist", "checkpoints_per_decade": 8,
        "checkpoints_from": 1.0, "test_size": 5000, "evaluate_at_most": 1000,
    }  # fmt: skip
    made = {"CNN MNIST": _grid(own, LAPTOP_SIZES, 3)}
    made["CNN MNIST, margins"] = _grid({**own, **VARIANTS["margins"]}, [1500], 1)
    return made


def _gpu() -> dict[str, Grid]:
    made = {
        pair: _grid({**FAST, **_of_pair(pair), "epochs": epochs, **change}, sizes, seeds)
        for pair, (sizes, epochs, seeds, change) in GPU.items()
    }
    for name, (searched, axes, change, length, seeds) in SEARCHES.items():
        own = {**FAST, **_of_pair(name.split(",")[0]), **SPARING, **change, "epochs": length}
        made[name] = _grid(own, searched, seeds, **axes)
    for pair, (names, sizes, length) in VARIED.items():
        for name in names:
            made[f"{pair}, {name}"] = _grid(
                {**made[pair].setting, **VARIANTS[name], "epochs": length}, sizes, VARIED_SEEDS.get(pair, 2)
            )
    exact = {**FAST, **_of_pair("CNN CIFAR10"), "epochs": 20, **VARIANTS["tf32"]}
    made["CNN CIFAR10, tf32"] = _grid(exact, VARIED["CNN CIFAR10"][1], 2)
    margins = {**FAST, **_of_pair("CNN MNIST"), "epochs": 20, **VARIANTS["margins"]}
    made["CNN MNIST, margins"] = _grid(margins, [1800, 14400, 57600], 1)
    return made


def _paper() -> dict[str, Grid]:
    made = {}
    for pair in PAIRS:
        own = {**FAST, **_of_pair(pair), "epochs": PAPER_EPOCHS[pair.split(" ")[0]]}
        made[pair] = _grid(own, paper_sizes(pair), PAPER_SEEDS)
    varied = [(pair, name) for pair, (names, _, _) in VARIED.items() for name in names]
    for pair, name in (*varied, ("CNN CIFAR10", "tf32"), ("CNN MNIST", "margins")):
        own = {**made[pair].setting, **VARIANTS[name]}
        made[f"{pair}, {name}"] = _grid(own, paper_sizes(pair), 1 if name == "margins" else PAPER_SEEDS)
    return made


def pairs_of(scale: str) -> list[str]:
    """The parts of a scale that are pairs, not variants or searches."""
    return [name for name in parts(scale) if "," not in name]


def paper_sizes(pair: str) -> list[int]:
    """Training sizes of App. E."""
    model, dataset = pair.split(" ")
    if dataset == "MNIST":
        return MNIST_SIZES
    return list(range(4000, 48001, 4000)) if model == "CNN" else list(range(6000, 46001, 5000))


def gpu_hours(scale: str) -> dict[str, float]:
    """Estimated hours of one H200 for every pair of a scale: steps times the time of a step."""
    hours = {}
    for name, grid in parts(scale).items():
        pair = name.split(",")[0]
        if pair in STEP_MS:
            steps = sum(s["epochs"] * s["n_data"] / s["batch_size"] for s in grid.settings())
            hours[name] = steps * STEP_MS[pair] / 3.6e6
    return hours


# --- training --------------------------------------------------------------------------------------------


def train(scale: str, storage: RunStorage, wanted: Iterable[str]) -> None:
    """Train what is missing of these parts into the store; scales gpu and paper only where there is a GPU.

    Args:
        scale: of the grids.
        storage: the store (a table of curves is only read), the parts to which training is restricted, and
            the minutes after which no other part begins.
        wanted: parts that an entry needs.
    """
    grids, start = parts(scale), time.monotonic()
    for name in storage.only:
        if name not in grids:
            raise BadInput(f"scale {scale!r} has no part {name!r}; {nearest(name, grids)}")
    if storage.store is None or storage.store.is_file() or (scale in ("gpu", "paper") and not on_gpu()):
        return
    for name in (name for name in wanted if name in grids and (not storage.only or name in storage.only)):
        if storage.minutes is None or time.monotonic() - start < 60 * storage.minutes:
            _train(grids[name], storage.store)


def _train(grid: Grid, store: Path) -> None:
    from scalinglab import sweep
    from scalinglab.train.engine import run_many

    if on_gpu() or grid.setting["dataset"] == "digits":
        # one process: what is compiled and captured serves all parts. Small sizes first: a training that is
        # cut off then has whole curves of them
        sizes = sorted(grid.axes["n_data"])
        for some in (sizes[: len(sizes) // 2], sizes[len(sizes) // 2 :]):
            settings = [s for s in grid.settings() if s["n_data"] in some]
            if settings:
                run_many(settings, store=store, experiment=grid.experiment)
    else:
        # a stack for each size: one of all sizes would leave a core idle while the other trains the largest
        sweep.run(grid, store, max_stacked=len(grid.settings()) // len(grid.axes["n_data"]))


@shared
def _in_memory(name: str) -> Curves:
    """A part of scale smoke, trained here and now and kept nowhere."""
    from scalinglab.train.engine import run_many

    return run_many(parts("smoke")[name].settings(), progress=False)


# --- reading ---------------------------------------------------------------------------------------------


def trained(scale: str, storage: RunStorage, name: str) -> Curves | None:
    """The runs of a part that learn; None where there are none.

    The learning rate is constant, so that a run that was cut off is a shorter run. CNNs that begin with small
    weights may stay at guessing for good: they say nothing of learning, and would move the means.
    """
    grids = parts(scale)
    if name not in grids:
        return None
    if storage.store is None:
        return _in_memory(name) if scale == "smoke" else None
    curves = _all(storage.store)
    found = None if curves is None else matching_runs(curves, grids[name])
    return None if found is None else learning_runs(found)


def required_runs(scale: str, name: str) -> Curves:
    """The runs of a part, trained first where that is done here; an error where there are none."""
    train(scale, run_storage(), [name])
    found = trained(scale, run_storage(), name)
    if found is None:
        raise missing_runs(scale, name)
    return found


def missing_runs(scale: str, name: str) -> BadInput:
    """The error of an entry without runs."""
    return BadInput(f"no runs of {name!r} at scale {scale!r}: train them, or give a store with --store")


STAYS = 0.95  # of its largest test error: what a run at guessing does not get below


def learning_runs(curves: Curves) -> Curves | None:
    """The runs whose test error falls; None where it does in none."""
    errors = curves.frame.groupby("run")["test_error"]
    falls = errors.min() < STAYS * errors.max()
    return curves.select(run=falls.index[falls].tolist()) if falls.any() else None


def _all(store: Path) -> Curves | None:
    """All curves of a store, or of a table of curves in a file."""
    from scalinglab.store import Store

    if store.is_file():
        return Curves.read(store)
    return Store(store).curves() if store.is_dir() else None


# of the settings that tell parts apart, where a grid or a table leaves them out
DEFAULTS: dict[str, Any] = {
    "width": 1.0, "optimizer": "adam", "weight_decay": 0.0, "precision": "fp32", "augment": "none",
    "augment_test": False, "initialization_factor": 1.0,
}  # fmt: skip


def matching_runs(curves: Curves, grid: Grid) -> Curves | None:
    """The runs whose settings are those of a grid, by what the grid names."""
    frame = curves.frame
    keep = np.ones(len(frame), bool)
    settings = grid.settings()
    for name in ("model", "dataset", "epochs", "measure", *DEFAULTS):
        keep &= _agrees(frame, name, settings[0].get(name))
    for name in ("n_data", "seed", "learning_rate", "batch_size"):
        if name in frame:
            keep &= frame[name].isin({s[name] for s in settings}).to_numpy(bool)
    return Curves(frame[keep].reset_index(drop=True), settings=curves.setting_columns) if keep.any() else None


def _agrees(frame: Any, name: str, value: Any) -> np.ndarray:
    """(rows,) whether a column holds a setting; what a grid leaves out has its default."""
    value = DEFAULTS.get(name) if value is None else value
    if name not in frame:
        return np.full(len(frame), name not in DEFAULTS or value == DEFAULTS[name])
    column = frame[name].fillna(DEFAULTS[name]) if name in DEFAULTS else frame[name]
    if name == "measure":
        with_margins = "margin_histogram" in (value or ())
        return column.astype(str).str.contains("margin_histogram").to_numpy(bool) == with_margins
    return (column == value).to_numpy(bool)
