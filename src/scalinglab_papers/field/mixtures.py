"""The loss of data mixtures, on RegMix's runs: 512 of 1M parameters, 256 of 60M, each on another mixture.

Protocol: the loss on Pile-CC, RegMix's own target, of the 60M runs is ranked by the 512 runs of 1M, and so is
that of the other twelve validation sets. Its authors' LightGBM has a rank correlation of 0.971 on their 1B
runs, which are not used here: 60M stands in for them. Proposals are judged on halves of the 1M runs: one half
chooses a mixture of the other, that with the lowest upper end of its interval, whose loss was measured.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import spearmanr

from scalinglab.curves import Curves
from scalinglab.figures import decisions
from scalinglab.laws.mixing.shares import Mixture, mixture
from scalinglab.studies import Number, Reproduction, Row, mean
from scalinglab_papers.field.tables import share, table

if TYPE_CHECKING:
    import pandas as pd

TARGET = "loss_pile_cc"
LIGHTGBM = 0.971  # rank correlation of RegMix's own regression on its 1B runs
HALVES = 4  # random halves of the 1M runs, for every validation set
HELD, HELD_WITHIN = 0.95, 0.03
DRAWS = 200  # resampled sets of runs behind the error of a rank correlation
WEIGHTS = {"share_web": -0.2, "share_code": -0.05, "share_books": -0.12}  # of the mixtures of scale smoke


def mixtures(scale: str) -> Reproduction:
    """RegMix's runs; "smoke": losses that were drawn from a law of three domains."""
    if scale == "smoke":
        runs, others = drawn(40, 0), drawn(40, 1)
        fitted = mixture(runs, [*WEIGHTS], y="loss")
        rows = _smoke_rows(fitted, others)
    else:
        runs, others = table("regmix2024", "train-1m.csv"), table("regmix2024", "test-60m.csv")
        domains = [name for name in runs if name.startswith("share_")]
        fitted = mixture(runs, domains, y=TARGET)
        rows = _rows(fitted, runs, others, domains)
    curves = Curves(runs, settings=fitted.shares, source="read", experiment="field/mixtures")
    return Reproduction(curves, decisions.mixture(fitted, others), tuple(rows))


def drawn(count: int, seed: int) -> pd.DataFrame:
    """Mixtures of three domains, whose ln loss is linear in the roots of the shares, with 0.2 % noise."""
    import pandas as pd

    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.ones(len(WEIGHTS)), count)
    log_loss = 1.2 + np.sqrt(shares) @ [*WEIGHTS.values()] + 0.002 * rng.standard_normal(count)
    return pd.DataFrame(shares, columns=[*WEIGHTS]).assign(loss=np.exp(log_loss))


def _ranked(predicted: np.ndarray, measured: np.ndarray) -> Number:
    """Spearman's correlation; its error by resampled runs."""
    rng, count = np.random.default_rng(0), len(measured)
    draws = [spearmanr(predicted[i], measured[i]).statistic for i in rng.integers(count, size=(DRAWS, count))]
    return Number(float(spearmanr(predicted, measured).statistic), float(np.std(draws, ddof=1)), count)


def _rows(fitted: Mixture, runs: pd.DataFrame, others: pd.DataFrame, domains: list[str]) -> list[Row]:
    losses = [name for name in runs if name.startswith("loss_")]
    predicted = fitted.predict(others)["mean"].to_numpy()
    turned = mixture(runs.iloc[::-1], domains[::-1], y=TARGET).predict(others)["mean"].to_numpy()
    ranks = [
        spearmanr(mixture(runs, domains, y=name).predict(others)["mean"], others[name]).statistic
        for name in losses
    ]
    return [
        _ranked(predicted, others[TARGET].to_numpy()).row(
            "rank correlation of the loss on Pile-CC, 60M runs from 1M runs", paper=LIGHTGBM,
            paper_stderr=0.0005, relation=">", note="the paper's is LightGBM's on 1B runs"),
        Number(float(np.abs(turned / predicted - 1).max()), 1e-9).row(
            "largest relative change with rows and columns in reverse order", expected=1e-6, relation="<"),
        Number(float(np.mean(ranks)), float(np.std(ranks, ddof=1) / np.sqrt(len(ranks))), len(ranks)).row(
            "mean rank correlation, thirteen validation sets", paper=LIGHTGBM, paper_stderr=0.0005,
            relation=">", note="the paper's is of Pile-CC"),
        _covered(runs, domains, losses),
    ]  # fmt: skip


def _covered(runs: pd.DataFrame, domains: list[str], losses: list[str]) -> Row:
    """The share of proposals whose measured loss lies inside the interval that the other half gave.

    Halves of one validation set often propose the same run: its error is that of sets, if that is larger.
    """
    inside: dict[str, list[bool]] = {name: [] for name in losses}
    for half in range(HALVES):
        order = np.random.default_rng(half).permutation(len(runs))
        one, other = runs.iloc[order[: len(runs) // 2]], runs.iloc[order[len(runs) // 2 :]]
        for name in losses:
            found = mixture(one, domains, y=name).predict(other)
            best = found["high"].idxmin()
            inside[name].append(bool(found["low"][best] <= other[name][best] <= found["high"][best]))
    overall, sets = (
        share(np.concatenate([*inside.values()])),
        mean([share(own).value for own in inside.values()]),
    )
    return Number(overall.value, max(overall.stderr, sets.stderr), len(losses)).row(
        "share of proposals measured inside the 95 % interval", expected=HELD, relation="in",
        resolution=HELD_WITHIN, note="the best of one half of the 1M runs by the other half")  # fmt: skip


def _smoke_rows(fitted: Mixture, others: pd.DataFrame) -> list[Row]:
    found = fitted.predict(others)
    inside = (found["low"] <= others["loss"]) & (others["loss"] <= found["high"])
    weights = np.array([*WEIGHTS.values()])
    least = float(np.exp(1.2 - np.sqrt((weights**2).sum())))  # by Cauchy and Schwarz
    best = fitted.best()
    return [
        _ranked(found["mean"].to_numpy(), others["loss"].to_numpy()).row(
            "rank correlation, drawn", expected=0.9, relation=">"),
        share(inside).row("share of runs inside the 95 % interval, drawn", expected=HELD,
                                    relation="in", resolution=0.15),
        Row("loss of the best mixture, drawn", best.loss.value, best.loss.stderr, expected=least,
            note="expected: the least of the law"),
    ]  # fmt: skip
