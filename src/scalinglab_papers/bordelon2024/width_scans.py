"""Figures 1a, 1b and 6c: networks of several widths trained online, rich and lazy, and their ensembles.

The paper trains residual CNNs on CIFAR-5M, five million images. Stand-ins: at scales laptop and gpu plain
CNNs on CIFAR-10, animate against inanimate, 50,000 images that come again under random crops and flips; at
scale smoke perceptrons on a teacher's data, which never repeat. Their exponents are those of another task:
the paper's numbers are noted beside ours, and claims about direction are judged.

Rich networks have the maximal-update parameterization, in which features are learnt alike at all widths. Lazy
ones are linearised at their initial weights, in NTK parameterization. Compute is C = N t, parameters times
steps, as in the paper. Where a scale names several learning rates, `rate` chooses one by the training loss of
networks that are in no figure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from scalinglab.curves import Curves
from scalinglab.figures import style
from scalinglab.results.distributions import slope
from scalinglab.spectrum import MeasuredSpectrum
from scalinglab.studies import Number, Reproduction, Row, loglog_figure, shared, trained, verdict
from scalinglab_papers.bordelon2024 import widths
from scalinglab_papers.bordelon2024.networks import ANIMATE
from scalinglab_papers.bordelon2024.widths import APART

if TYPE_CHECKING:
    from scalinglab.laws.surface import Surface

BUDGETS = 25  # values of compute at which widths are compared
CLOSE = 0.05  # deviation, in the log of the loss, of a fit that describes the curves well
OPTIMIZER = {"optimizer": "sgd", "online": True, "measure": [], "checkpoints_per_decade": 5}
KINDS: dict[str, dict[str, Any]] = {
    "classify": {"loss": "cross_entropy", "parameterization": "mup"},
    "rich": {"loss": "mse", "parameterization": "mup"},
    "lazy": {"loss": "mse", "parameterization": "ntk", "linearized": True},
}


@dataclass(frozen=True)
class Scan:
    """One scale.

    Attributes:
        stand_in: what is trained here, in words.
        setting: network, data and time.
        widths: factors on the network's width.
        seeds: independent networks of each width; the members of an ensemble.
        longer: steps and seeds of a kind of training that needs more of them.
        inputs: on which kernels are measured.
        rates: learning rates of each kind of training, of which `rate` chooses one.
        gpu: precision and captured steps, where a GPU trains.
    """

    stand_in: str
    setting: Mapping[str, Any]
    widths: tuple[float, ...]
    seeds: int
    inputs: int
    rates: Mapping[str, tuple[float, ...]]
    gpu: Mapping[str, Any] = field(default_factory=dict)
    longer: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    def length(self, kind: str) -> tuple[int, int]:
        """Steps and seeds of one kind of training."""
        return self.longer.get(kind, (self.setting["steps"], self.seeds))


IMAGES = {
    "model": "myrtle", "dataset": "cifar10", "superclass": ANIMATE, "augment": "crop_flip",
    "test_size": 2000, "evaluate_at_most": 500,
}  # fmt: skip
CNNS = "stand-in: CNNs of 5 layers on CIFAR-10 under random crops and flips, animate against inanimate"
RATES = {"classify": (0.3, 0.1, 0.03), "rich": (0.15, 0.05, 0.015), "lazy": (0.6, 0.2)}
SCANS = {
    "smoke": Scan(
        stand_in="stand-in: perceptrons of one hidden layer on fresh data of a teacher in 4 dimensions, "
        "2 classes",
        setting={"model": "mlp", "depth": 1, "model_options": {"hidden": 8}, "dataset": "teacher_student",
                 "data_options": {"dimension": 4, "classes": True, "outputs": 2, "n_test": 1000},
                 "batch_size": 64, "steps": 80, "evaluate_at_most": 100},
        widths=(1.0, 2.0, 4.0), seeds=3, inputs=400,
        rates={"classify": (0.5,), "rich": (0.3,), "lazy": (1.0,)},
    ),
    "laptop": Scan(
        stand_in=CNNS + ", averaged to 16 × 16 pixels",
        setting={**IMAGES, "pool": 2, "batch_size": 64, "steps": 300, "test_size": 1000,
                 "model_options": {"channels": 4}},
        widths=(1.0, 2.0, 4.0), seeds=3, inputs=1000,
        # the rich rate of scale gpu, and the lazy one at which no seed of the narrowest width diverges
        rates={"classify": RATES["classify"], "rich": (0.05,), "lazy": (0.2,)},
    ),
    "gpu": Scan(
        stand_in=CNNS, setting=IMAGES | {"batch_size": 128, "steps": 1000}, widths=(1.0, 2.0, 4.0, 8.0),
        seeds=4, inputs=2000, rates=RATES, gpu={"precision": "tf32", "graphs": True},
        # after 1,000 steps the widest of four networks was better than the narrowest by 2.4 standard errors
        longer={"classify": (4000, 8)},
    ),
}  # fmt: skip


def _shared(s: Scan, kind: str) -> dict[str, Any]:
    own = {**s.setting, **OPTIMIZER, **KINDS[kind], **(s.gpu if trained.on_gpu() else {})}
    return own | {"steps": s.length(kind)[0]}


@shared
def rate(scale: str, kind: str) -> float:
    """The learning rate of one kind of training; of several, the one with the lowest training loss.

    They are compared on one network each of the narrowest and the widest width, with a seed that is in no
    figure: the mean of the log of their training loss over the second half of the steps. A rate at which one
    of the two diverges is out.
    """
    s = SCANS[scale]
    ends = [{**_shared(s, kind), "width": width, "seed": APART} for width in (s.widths[0], s.widths[-1])]
    return widths.best_rate(
        s.rates[kind], lambda eta: [{**one, "learning_rate": eta} for one in ends], s.length(kind)[0]
    )


def settings(scale: str, kind: str) -> list[dict[str, Any]]:
    """The runs of one kind of training: "classify", "rich" or "lazy"."""
    s = SCANS[scale]
    common = {**_shared(s, kind), "learning_rate": rate(scale, kind)}
    return [{**common, "width": w, "seed": seed} for w in s.widths for seed in range(s.length(kind)[1])]


@shared
def trained_widths(scale: str, kind: str) -> tuple[Curves, dict[str, np.ndarray]]:
    """Curves of all widths and seeds with the column `budget` = N t, and each run's outputs at the end.

    Outputs are log odds of the second class for the test inputs.
    """
    from scalinglab.train.batches import dataset_of
    from scalinglab.train.engine import as_setting

    chosen = settings(scale, kind)
    x = dataset_of(as_setting(chosen[0])).inputs("test") if kind == "classify" else None
    curves, arrays = trained.runs_and_arrays(chosen, "fig1", None if x is None else LogOdds(x))
    frame = curves.frame.assign(budget=curves.frame["n_params"] * curves.frame["step"])
    return Curves(frame), {run: kept[max(kept)]["log_odds"] for run, kept in arrays.items() if kept}


@dataclass
class LogOdds:
    """Reads the log odds of the second of two classes for some inputs off a network."""

    x: np.ndarray

    def __call__(self, model: Any) -> dict[str, np.ndarray]:
        """The array `log_odds`, (inputs,)."""
        import torch

        device = next(model.parameters()).device
        with torch.no_grad():
            outputs = model(torch.as_tensor(self.x, device=device)).float().cpu().numpy()
        return {"log_odds": outputs[:, 1] - outputs[:, 0]}


def _by_seed(curves: Curves) -> list[pd.DataFrame]:
    return [part for _, part in curves.frame.sort_values("step").groupby("seed")]


# --- Figure 1a ---------------------------------------------------------------------------------------------


def fig1a(scale: str) -> Reproduction:
    """Test loss against time for several widths, with the fit L0 + A t^-α + B N^-β, and ensembles."""
    from scalinglab.laws import surface

    s = SCANS[scale]
    curves, outputs = trained_widths(scale, "classify")
    late = curves.frame[curves.frame["step"] >= s.length("classify")[0] / 30]  # after the first few steps
    fits, deviations = [], []
    for part in _by_seed(Curves(late)):
        columns = (part["n_params"], part["step"], part["test_loss"])
        fit = surface.fit(*columns, form="chinchilla", runs=part["width"])
        fits.append(fit)
        off = np.log(part["test_loss"] / fit.predict(n_params=part["n_params"], n_data=part["step"]))
        deviations.append(float(np.sqrt(np.mean(off**2))))
    close = verdict.mean(deviations).row(
        "deviation of L0 + A t^-α + B N^-β from the curves, root mean square in ln L", expected=CLOSE,
        relation="<", note=f"one fit a seed; {s.stand_in}; the paper: well described",
    )  # fmt: skip
    wider = widths.ratio(curves, s.widths[-1], s.widths[0]).row(
        "final test loss, widest over narrowest network", expected=1.0, relation="<",
        note=f"{s.stand_in}; the paper: wider is better online",
    )  # fmt: skip
    shown = close.verdict == wider.verdict == verdict.AGREES
    title = f"online, {s.setting['dataset']}" + ("" if shown else ": not yet the paper's sum of powers")
    figure, axis = loglog_figure("step t", "test loss", title, size=(5.6, 4.2))
    widths.draw(axis, curves, "step")
    steps = np.unique(late["step"])
    for place, n_params in enumerate(np.unique(late["n_params"])):
        fitted = np.mean([fit.predict(n_params=n_params, n_data=steps) for fit in fits], axis=0)
        label = "fit L0 + A t^-α + B N^-β" if not place else None
        axis.plot(steps, fitted, ":", color=style.INK, label=label)
    style.legend(axis, fontsize=7)
    rows = [
        *_rate_rows(scale, "classify"),
        close,
        exponent_row("time exponent α", fits, "beta", s.stand_in),
        exponent_row("width exponent β", fits, "alpha", s.stand_in),
        wider,
        ensemble_row(s, curves, outputs),
    ]  # fmt: skip
    return Reproduction(curves, figure, tuple(rows))


def _rate_rows(scale: str, *kinds: str) -> list[Row]:
    """The learning rates that were chosen among several."""
    return [
        row for kind in kinds for row in widths.rate_rows(kind, SCANS[scale].rates[kind], rate(scale, kind))
    ]


def exponent_row(quantity: str, fits: list[Surface], name: str, stand_in: str) -> Row:
    """The mean exponent of the fits; no number where a fit ends at the bound of what is allowed."""
    bound = next(p.high for p in fits[0].law.form.parameters if p.name == name)
    values = [getattr(fit, name) for fit in fits]
    if max(values) > 0.98 * bound:
        return Row(quantity, None, note=f"not determined by these curves; {stand_in}; no number printed")
    found = verdict.mean(values)
    return found.row(quantity, note=f"{stand_in}; no number printed")


def held_out_labels(s: Scan) -> np.ndarray:
    """The class, 0 or 1, of every test input."""
    from scalinglab.train.batches import dataset_of
    from scalinglab.train.engine import as_setting

    return dataset_of(as_setting({**s.setting, **OPTIMIZER, **KINDS["classify"]})).test_y


def ensemble_row(s: Scan, curves: Curves, outputs: Mapping[str, np.ndarray]) -> Row:
    """Ensembles of the second widest networks against the widest, which has as many parameters as one.

    The mean is over all ensembles that the networks allow, its error a jackknife over networks.
    """
    width, wider = s.widths[-2:]
    size = round((wider / width) ** 2)
    runs = curves.frame[curves.frame["width"] == width].groupby("seed")["run"].first()
    members = np.array([outputs[run] for run in runs])
    together = min(size, len(members))
    sign = 2.0 * held_out_labels(s) - 1

    def loss(chosen: np.ndarray) -> float:
        ensembles = combinations(chosen, min(together, len(chosen)))
        return float(np.mean([np.logaddexp(0.0, -sign * np.mean(one, axis=0)) for one in ensembles]))

    left_out = [loss(np.delete(members, k, axis=0)) for k in range(len(members))]
    wide = verdict.mean(widths.losses(curves, wider))
    value = loss(members) / wide.value
    error = value * float(np.hypot(verdict.jackknife(left_out) / loss(members), wide.stderr / wide.value))
    return Number(value, error, len(members)).row(
        f"final loss, {together} networks of width {width:g} together over one of width {wider:g}",
        expected=1.0, relation=">",
        note=f"mean log odds of the members; the wide network has about {size} times the parameters of a "
        f"member; {s.stand_in}; the paper: ensembling is not the same as going wider",
    )  # fmt: skip


# --- Figures 1b and 6c: against compute --------------------------------------------------------------------


@dataclass(frozen=True)
class Frontier:
    """The lowest loss at every compute that all widths of one seed were trained for.

    Attributes:
        budgets: N t.
        loss, n_params: of the best width there.
    """

    budgets: np.ndarray
    loss: np.ndarray
    n_params: np.ndarray

    def exponent(self, of: str) -> float:
        """Slope of the log of "loss" or "n_params" against that of compute."""
        found = slope(np.log(self.budgets), np.log(getattr(self, of))).value
        return float(np.round(found, 9))  # a size that stays is an exponent of zero, without rounding


def frontier(frame: pd.DataFrame, after: float = 1.0) -> Frontier:
    """The frontier of one seed's curves of several widths.

    Args:
        frame: with the columns `n_params`, `step`, `budget` and `test_loss`.
        after: steps of the largest network at the smallest compute.
    """
    sizes = np.unique(frame["n_params"])
    budgets = np.geomspace(after * sizes[-1], sizes[0] * frame["step"].max(), BUDGETS)
    table = np.empty((len(sizes), BUDGETS))
    for losses, size in zip(table, sizes):
        part = frame[frame["n_params"] == size].sort_values("budget")
        losses[:] = np.interp(np.log(budgets), np.log(part["budget"]), np.log(part["test_loss"]))
    best = table.argmin(0)
    return Frontier(budgets, np.exp(table.min(0)), sizes[best].astype(float))


def _exponents(curves: Curves, of: str) -> np.ndarray:
    return np.array([frontier(part).exponent(of) for part in _by_seed(curves)])


def fig1b(scale: str) -> Reproduction:
    """Test loss against compute for several widths, and the width that is best at each compute."""
    s = SCANS[scale]
    curves, _ = trained_widths(scale, "classify")
    figure, axis = loglog_figure(
        "compute C = N t", "test loss", f"online, {s.setting['dataset']}", size=(5.6, 4.2)
    )
    widths.draw(axis, curves, "budget")
    found = [frontier(part) for part in _by_seed(curves)]
    mean = np.mean([one.loss for one in found], axis=0)
    axis.plot(found[0].budgets, mean, color=style.INK, linewidth=2.0, label="best width at each C")
    style.legend(axis, fontsize=7)
    size = _exponents(curves, "n_params")
    grows = {
        "expected": 0.0, "relation": ">",
        "note": f"over compute that every width was trained for; {s.stand_in}; the paper: both grow",
    }  # fmt: skip
    falls = verdict.mean(-_exponents(curves, "loss"))
    rows = (
        verdict.mean(size).row("exponent of the best size, N ~ C^x", **grows),
        verdict.mean(1 - size).row("exponent of the best time, t ~ C^x", **grows),
        falls.row("compute exponent of the best loss, L ~ C^-x", note=f"{s.stand_in}; no number printed"),
    )  # fmt: skip
    return Reproduction(curves, figure, rows)


@shared
def lazy_spectra(scale: str) -> list[MeasuredSpectrum]:
    """Kernels of the linearised networks of the largest width, one a seed, on held-out inputs."""
    from scalinglab.train.batches import dataset_of
    from scalinglab.train.engine import as_setting

    s = SCANS[scale]
    chosen = [as_setting(one) for one in settings(scale, "lazy") if one["width"] == s.widths[-1]]
    data = dataset_of(chosen[0])
    x, y = data.inputs("test")[: s.inputs], np.eye(2)[data.test_y[: s.inputs]]
    return [
        widths.kernel_spectrum(
            x, y - y.mean(0), name=one.model, width=one.width, depth=one.depth, parameterization="ntk",
            seed=one.seed, **one.model_options,
        )
        for one in chosen
    ]  # fmt: skip


def predicted_exponent(spectrum: MeasuredSpectrum) -> float:
    """(a − 1)/(1 + b), the compute-optimal exponent of a linearised network (eq. 16)."""
    a, b = (spectrum.tail_exponent(of).value for of in ("target_power", "eigenvalues"))
    return (a - 1) / (1 + b)


def fig6c(scale: str) -> Reproduction:
    """Test loss against compute, lazy and rich, with the exponent that the kernel predicts."""
    s = SCANS[scale]
    lazy, rich = (trained_widths(scale, kind)[0] for kind in ("lazy", "rich"))
    figure, axes = style.panels(size=(5.6, 4.2))
    found = [frontier(part) for part in _by_seed(lazy)]
    alone = all(len(set(one.n_params)) == 1 for one in found)
    title = "linearised (lines), rich (dashed)" + (": no frontier, one width is best" if alone else "")
    axis = style.loglog(axes[0, 0], "compute C = N t", "test loss", title)
    widths.draw(axis, lazy, "budget")
    widths.draw(axis, rich, "budget", dashed=True)
    predicted = np.array([predicted_exponent(one) for one in lazy_spectra(scale)])
    slopes = {name: -_exponents(curves, "loss") for name, curves in (("lazy", lazy), ("rich", rich))}
    edge = found[0]
    guide = float(edge.loss[0]) * 0.9 * (edge.budgets / edge.budgets[0]) ** -predicted.mean()
    axis.plot(edge.budgets, guide, color=style.INK, label=f"kernel predicts C^-{predicted.mean():.2f}")
    style.legend(axis, fontsize=7)
    means = {name: verdict.mean(values) for name, values in (*slopes.items(), ("kernel", predicted))}
    note = f"{s.stand_in}; the paper, wide ResNets on CIFAR-5M: 0.05"
    rows = (
        *_rate_rows(scale, "rich", "lazy"),
        means['kernel'].row("(a − 1)/(1 + b) of the kernel before training", note=note),
        means['lazy'].row("compute exponent of linearised networks", note=note),
        verdict.mean(slopes["lazy"] - predicted).row(
            "compute exponent of linearised networks less that of their kernel", expected=0.0,
            resolution=0.02, note=f"{s.stand_in}; the paper: excellent agreement",
        ),
        verdict.mean(slopes["rich"] - slopes["lazy"]).row(
            "compute exponent of rich networks less that of linearised ones", expected=0.0, relation=">",
            note=f"{s.stand_in}; the paper: feature learning improves the curves substantially",
        ),
    )  # fmt: skip
    return Reproduction(Curves.concat([lazy, rich]), figure, rows)
