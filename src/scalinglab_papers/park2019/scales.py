"""Settings of every experiment of park2019 at four scales.

| scale | data and networks | seeds | time |
| --- | --- | --- | --- |
| smoke | digits; small perceptrons stand in for all families | 3 | 30 steps |
| laptop | digits; the same | 5 | 20 epochs or 300 steps, the longer |
| gpu | those of the paper, fewer widths and levels | 10 | a share of the paper's |
| paper | all | 20 | the paper's |

All runs share one training set (55,000 or 45,000 images; the rest was the paper's validation set), Nesterov
momentum 0.9, and the rule by which a run is given up: test accuracy below 0.2 after a fifth of its time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from scalinglab.errors import BadInput
from scalinglab.laws.noise.runs import TRAINED_ABOVE
from scalinglab.sgd_noise import MLP_UNITS
from scalinglab_papers.park2019.design import EXPERIMENTS, FAMILIES, PIXELS, Experiment
from scalinglab_papers.park2019.design import MLP_WIDTHS as MLP_PAPER_WIDTHS

Settings = list[dict[str, Any]]
COMMON = {
    "optimizer": "nesterov", "momentum": 0.9, "measure": [], "evaluate_at_most": 1000, "data_seed": 0,
    "checkpoints_per_decade": 10, "fail_below": 0.2, "fail_after": 0.2,
}  # fmt: skip
SEEDS = {"smoke": 3, "laptop": 5, "gpu": 10, "paper": 20}


# --- gpu: the paper's networks and data, less of them ----------------------------------------------------


@dataclass(frozen=True)
class Reduced:
    """The part of an experiment that scale gpu runs.

    Attributes:
        share: of the paper's training time.
        widths: w of the paper.
        batches: levels of the batch search.
        batch, rates: batch size and levels of the rate search; none without rates.
        near: range of w B in which batch sizes are searched, and rates by the batch size of equal noise.
        shared: batch sizes of every width, with less noise than is best for any.
        seeds: repetitions.
        rate_widths, rate_seeds: of the rate search, where they are others.
        precision: of products; convolutions take a third of the time in TF32.
    """

    share: float
    widths: tuple[int, ...]
    batches: tuple[int, ...]
    batch: int = 16
    rates: tuple[float, ...] = ()
    near: tuple[float, float] = (0.0, math.inf)
    shared: tuple[int, ...] = ()
    seeds: int = SEEDS["gpu"]
    rate_widths: tuple[int, ...] = ()
    rate_seeds: int = 0
    precision: str = "fp32"

    def batches_of(self, w: float) -> tuple[int, ...]:
        """Levels of the batch search for one width."""
        low, high = self.near
        return tuple(b for b in self.batches if low <= w * b <= high or b in self.shared)

    def rates_of(self, w: float, rate: float) -> tuple[float, ...]:
        """Levels of the rate search, next to a batch search at the given rate."""
        low, high = self.near
        return tuple(own for own in self.rates if low <= w * self.batch * rate / own <= high)


MLP_WIDTHS = (64, 128, 256, 512)
MLP_BATCHES = (6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024)
MLP_RATES = tuple(640 / batch for batch in MLP_BATCHES)  # at batch 64: the noise of those batches at rate 10
# at rate 0.02 a perceptron of 512 units has the noise of rate 10 in the NTK scheme
STANDARD_BATCHES = (6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)
GPU = {
    # an eighth of the time had its optima near w B = 18,000, half of it has them near 8,000
    "mnist 1LP ntk": Reduced(
        share=1 / 2, widths=(*MLP_WIDTHS, 1024), batches=MLP_BATCHES, batch=64, rates=MLP_RATES,
        near=(2048, 65_536), shared=(512,), seeds=8,
    ),
    # batches of 6 and 8, which 512 and 1,024 units alone would have, were cut off before all seeds had them
    "mnist 2LP ntk": Reduced(
        share=1 / 4, widths=(*MLP_WIDTHS, 1024), batches=(*MLP_BATCHES[2:], 1536), batch=64, rates=MLP_RATES,
        near=(4096, 65_536), shared=(1536,), seeds=8, rate_widths=MLP_WIDTHS, rate_seeds=4,
    ),
    # as long as in the NTK scheme, with which figure 16 compares
    "mnist 1LP standard": Reduced(
        share=1 / 2, widths=(*MLP_WIDTHS, 1024), batches=STANDARD_BATCHES, seeds=8,
    ),
    # the optimum of 1LP in this scheme goes as B ~ w^-0.5, so that large batches matter for few units; with
    # w B ≤ 65,536 and B ≤ 256 those of 64 and 128 units lay at the end of the search
    "mnist 2LP standard": Reduced(
        share=1 / 4, widths=(*MLP_WIDTHS, 1024), batches=(*STANDARD_BATCHES, 384, 512, 768),
        near=(2048, 98_304), seeds=8,
    ),
    # next to the optima of 512 units in the grid of appendix G; the paper's widths, since at 64 units a part
    # of the runs does not train
    "mnist 3LP ntk": Reduced(
        share=1 / 4, widths=MLP_PAPER_WIDTHS, batches=MLP_BATCHES, near=(8192, 65_536), shared=(1024,),
        seeds=8,
    ),
    "fashion-mnist 2LP ntk": Reduced(
        share=1 / 8, widths=MLP_WIDTHS, batches=(*MLP_BATCHES, 1536), near=(6144, 98_304), shared=(1536,),
        seeds=4,
    ),
    # a sixtieth of the time had its optima at the end of w B ≤ 2,048; longer training has them at less
    "fashion-mnist CNN ntk": Reduced(
        share=1 / 12, widths=(2, 4, 8), batches=(16, 32, 64, 128, 256, 512, 1024, 2048), near=(128, 4096),
        seeds=2, precision="tf32",
    ),
    "fashion-mnist CNN ntk bn": Reduced(
        share=1 / 240, widths=(2, 4, 8), batches=(32, 64, 128, 256, 512), batch=192,
        rates=(2.5, 5.0, 10.0, 20.0, 40.0), seeds=4, precision="tf32",
    ),
    **{  # 4 PFLOP a search
        f"cifar10 WRN {kind}": Reduced(
            share=1 / 120, widths=(2, 3, 4), batches=batches, batch=192, rates=rates, seeds=2,
            precision="tf32",
        )
        for kind, batches, rates in (
            ("ntk bn", (32, 64, 128, 256, 512, 1024), (7.5, 15.0, 30.0, 60.0)),
            ("standard bn", (16, 32, 64, 128, 256), ()),
            ("standard regularised", (32, 64, 128, 256), ()),
        )
    },
    **{
        f"mnist {family} {scheme}": Reduced(
            share=1 / 10, widths=(128, 256, 512), batches=(8, 16, 32, 64, 128, 256, 512), seeds=5,
        )
        for family in ("BH", "TH")
        for scheme in ("ntk", "standard")
    },
}  # fmt: skip


# --- smoke and laptop: digits ----------------------------------------------------------------------------

SMALL = ("smoke", "laptop")
SMALL_DATA = 1000
SMALL_WIDTHS = {"smoke": (16, 32, 64), "laptop": (8, 16, 32, 64)}
SMALL_BATCHES = {"smoke": (8, 32, 128), "laptop": (2, 4, 8, 16, 32, 64, 128)}
SMALL_RATE = {"ntk": 3.0, "standard": 0.1}
SMALL_FACTORS = {"smoke": (0.5, 2.0, 4.0), "laptop": (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)}
SMALL_BATCH = 16
SMALL_STEPS = {"smoke": 30, "laptop": 1250}
STAND_INS = {"CNN": "2LP", "WRN": "2LP"}  # images of 8 × 8 pixels are too small for these


def _small(experiment: Experiment, scale: str) -> dict[str, Any]:
    """Settings common to the runs of an experiment on digits."""
    family = FAMILIES[STAND_INS.get(experiment.family, experiment.family)]
    kept = {k: v for k, v in experiment.extra.items() if k != "augment"}
    own = {**COMMON, **family, **kept, "dataset": "digits", "n_data": SMALL_DATA, "checkpoints_per_decade": 4}
    own |= {"parameterization": experiment.scheme, "normalize": PIXELS["digits"]}
    if scale == "smoke":  # too short to give a run up
        own = {k: v for k, v in own.items() if k not in ("fail_below", "fail_after")}
        own |= {"checkpoints_per_decade": 1, "evaluate_at_most": 100}
    return own | ({"batch_norm": True} if experiment.batch_norm else {})


def _small_batch_search(experiment: Experiment, scale: str) -> Settings:
    own = _small(experiment, scale) | {"learning_rate": SMALL_RATE[experiment.scheme]}
    own |= {"steps": SMALL_STEPS[scale]} if scale == "smoke" else {"min_epochs": 20, "min_steps": 300}
    narrower = 4 if experiment.family in ("BH", "TH") else 1  # their widest layers have 4 w units
    return [
        {**own, "width": w / narrower / MLP_UNITS, "batch_size": batch, "seed": seed}
        for w in SMALL_WIDTHS[scale]
        for batch in SMALL_BATCHES[scale]
        for seed in range(SEEDS[scale])
    ]


def _small_rate_search(experiment: Experiment, scale: str) -> Settings:
    own = _small(experiment, scale) | {"batch_size": SMALL_BATCH}
    return [
        {**own, "width": w / MLP_UNITS, "learning_rate": SMALL_RATE[experiment.scheme] * factor, "seed": seed,
         "steps": math.ceil(SMALL_STEPS[scale] * (1.0 if scale == "smoke" else max(1.0, 1 / factor)))}
        for w in SMALL_WIDTHS[scale]
        for factor in SMALL_FACTORS[scale]
        for seed in range(SEEDS[scale])
    ]  # fmt: skip


# --- the paper's own -------------------------------------------------------------------------------------


def _own(experiment: Experiment, scale: str, key: str | None = None) -> dict[str, Any]:
    family = FAMILIES[experiment.family]
    own = {**COMMON, **family, **experiment.extra, "dataset": experiment.dataset, "n_data": experiment.n_data}
    own |= {"normalize": PIXELS[experiment.dataset], "parameterization": experiment.scheme}
    if experiment.batch_norm:
        own["batch_norm"] = True
    if scale == "gpu":
        own |= {"graphs": True, "precision": _reduced(key).precision if key else "fp32"}
    return own


def chance(scale: str) -> float:
    """Accuracy above which a run trained; at scale smoke all runs count that did not diverge."""
    return 0.0 if scale == "smoke" else TRAINED_ABOVE


def width_of(experiment: Experiment, w: float) -> float:
    """Our width of a network that the paper calls w."""
    return w / MLP_UNITS if FAMILIES[experiment.family]["model"] == "mlp" else float(w)


def batch_search(key: str, scale: str) -> Settings:
    """Batch sizes at a fixed learning rate, T by eq. 16."""
    experiment = EXPERIMENTS[key]
    if scale in SMALL:
        return _small_batch_search(experiment, scale)
    share, seeds = 1.0, SEEDS[scale]
    levels = dict.fromkeys(experiment.widths, experiment.batches)
    if scale == "gpu":
        reduced = _reduced(key)
        share, seeds = reduced.share, reduced.seeds
        levels = {w: reduced.batches_of(w) for w in reduced.widths}
    own = _own(experiment, scale, key) | {"learning_rate": experiment.rate}
    own |= {"min_epochs": share * experiment.min_epochs, "min_steps": round(share * experiment.min_steps)}
    return [
        {**own, "width": width_of(experiment, w), "batch_size": batch, "seed": seed}
        for w, batches in levels.items()
        for batch in batches
        for seed in range(seeds)
    ]


def rate_search(key: str, scale: str) -> Settings:
    """Learning rates at a fixed batch size, T by eq. 17 with the T0 of the table."""
    experiment = EXPERIMENTS[key]
    if experiment.batch is None:
        raise BadInput(f"the paper has no rate search of {experiment.name}")
    if scale in SMALL:
        return _small_rate_search(experiment, scale)
    assert experiment.reference_rate is not None
    assert experiment.reference_steps is not None
    rate0, batch, seeds = experiment.reference_rate, experiment.batch, SEEDS[scale]
    levels = dict.fromkeys(experiment.widths, tuple(rate0 * 2.0 ** (k / 2) for k in range(-4, 5)))
    steps = experiment.reference_steps
    if scale == "gpu":
        reduced = _reduced(key)
        batch, seeds = reduced.batch, reduced.rate_seeds or reduced.seeds
        levels = {w: reduced.rates_of(w, experiment.rate) for w in reduced.rate_widths or reduced.widths}
        steps = reduced.share * max(experiment.min_steps, experiment.min_epochs * experiment.n_data / batch)
    own = _own(experiment, scale, key) | {"batch_size": batch}
    return [
        {**own, "width": width_of(experiment, w), "learning_rate": rate, "seed": seed,
         "steps": math.ceil(steps * max(1.0, rate0 / rate))}
        for w, rates in levels.items()
        for rate in rates
        for seed in range(seeds)
    ]  # fmt: skip


def _reduced(key: str) -> Reduced:
    if key not in GPU:
        raise BadInput(f"{EXPERIMENTS[key].name} does not run at scale gpu, only: {', '.join(GPU)}")
    return GPU[key]


# --- appendices G and H ----------------------------------------------------------------------------------

GRID_BATCHES = (12, 16, 24, 32, 48, 64, 96, 128, 192)
GRID_RATES = (2.5, 5.0, 10.0, 20.0)  # the paper's are in the legend of figure 14 only
GRID_STEPS = 412_500  # T0 at ε0 = 10
GRID_GPU = (1 / 8, 4)  # share of the paper's time and seeds at scale gpu
STABILITY_RATES = {
    "ntk": tuple(2.0**k for k in range(-1, 12)),
    "standard": tuple(2.0**k for k in range(-13, 2)),
}
STABILITY = {"2LP": ("mnist", (1, 2, 4, 8, 16, 32)), "CNN": ("fashion-mnist", (6, 8, 12, 16, 24)),
             "WRN": ("cifar10", (2, 3, 4, 6, 8))}  # fmt: skip
STABILITY_BASE = 512  # units of 2LP at w = 1
# scale gpu: seeds by units of 2LP, rates, steps. Networks that diverge do so at once: those of 430 steps that
# were run before had all diverged by step 30
STABILITY_GPU = {1024: 6, 2048: 18, 4096: 12, 8192: 6}
# powers of two, and between them where networks from 2,048 units on begin to fail
STABILITY_GPU_RATES = {
    "ntk": tuple(2.0**k for k in (*range(6, 14), 8.25, 8.5, 8.75, 9.5)),
    "standard": tuple(2.0**k for k in (*range(-6, 4), -4.5, -3.5, -2.5, -1.5)),
}
STABILITY_GPU_STEPS = 100


def two_dimensional(scale: str) -> Settings:
    """Appendix G: a grid of rates and batches for one network, 3LP of 512 units."""
    experiment = EXPERIMENTS["mnist 3LP ntk"]
    if scale in SMALL:
        own = _small(experiment, scale) | {"width": 16 / MLP_UNITS}
        return [
            {**own, "learning_rate": rate, "batch_size": batch, "steps": SMALL_STEPS[scale],
             "seed": seed}
            for rate in (0.75, 1.5, 3.0)
            for batch in SMALL_BATCHES[scale]
            for seed in range(SEEDS[scale])
        ]  # fmt: skip
    share, seeds = GRID_GPU if scale == "gpu" else (1.0, SEEDS[scale])
    own = _own(experiment, scale) | {"width": 512 / MLP_UNITS}
    times = {
        (rate, batch): max(GRID_STEPS * 10.0 / rate, experiment.min_epochs * experiment.n_data / batch)
        for rate in GRID_RATES
        for batch in GRID_BATCHES
    }
    return [
        {**own, "learning_rate": rate, "batch_size": batch, "steps": math.ceil(share * steps), "seed": seed}
        for (rate, batch), steps in times.items()
        for seed in range(seeds)
    ]


def stability_search(family: str, scheme: str, scale: str) -> Settings:
    """Appendix H: many learning rates at batch size 64; which runs end in a numerical error."""
    dataset, widths = STABILITY[family]
    experiment = Experiment(dataset, family, widths, 1.0, 20, 0, scheme=scheme)
    rates = STABILITY_RATES[scheme]
    if scale in SMALL:
        own = _small(experiment, scale) | {"batch_size": 64, "steps": 12 if scale == "smoke" else 300}
        own["checkpoints_per_decade"] = 1
        small = {"smoke": (16, 32, 64), "laptop": (16, 64, 256, 1024)}[scale]
        seeds = dict.fromkeys((w / MLP_UNITS for w in small), SEEDS[scale])
        rates = rates[:: 3 if scale == "smoke" else 1]
    elif scale == "gpu":
        own = _own(experiment, scale) | {"batch_size": 64, "steps": STABILITY_GPU_STEPS, "test_size": 1000}
        own["checkpoints_per_decade"] = 1
        seeds = {w / MLP_UNITS: count for w, count in STABILITY_GPU.items()}
        rates = STABILITY_GPU_RATES[scheme]
    else:
        own = _own(experiment, scale) | {"batch_size": 64, "epochs": 20.0}
        base = STABILITY_BASE if family == "2LP" else 1
        seeds = dict.fromkeys((width_of(experiment, base * w) for w in widths), SEEDS[scale])
    own = {k: v for k, v in own.items() if k not in ("fail_below", "fail_after")}
    return [
        {**own, "width": width, "learning_rate": rate, "seed": seed}
        for width, count in seeds.items()
        for rate in rates
        for seed in range(count)
    ]
