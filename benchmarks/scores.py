"""Scores of larger models from smaller ones: the largest size of two published studies is kept apart.

    SCALINGLAB_DATA=… python benchmarks/scores.py [--choices [--of STRAY] | --floor | --refused]

mlfoundations2024 (Gadre et al. 2024: three training sets, 46 tasks, loss on C4) and olmo-ladder2024 (Bhagia
et al. 2024: 8 tasks, loss of the right answer). A task of one training set counts as one. Printed are, by the
width of the 95 % interval up to which a score is answered, the tasks, their mean relative error and the share
inside. ``--choices``: the same on the sizes below the largest alone, those of the most compute from the
others (`predicted`), with other values of constants of `laws.scores`: by it `STRAY` was chosen. ``--floor``:
how far scores scatter: each of the largest size from all other runs, its loss known; the mean error of the
`MOST` tasks that err least. ``--refused``: what would be said of the tasks that are refused as at chance.
"""

from __future__ import annotations

import argparse
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd

from scalinglab.laws import scores
from scalinglab_papers.field.scores import CHANCE, ScoreTask, predicted, published

WIDTHS = (0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 1.0, 1e9)  # of the score
EVEN = {name: dict.fromkeys(getattr(scores, name), 1.0) for name in ("CEILINGS", "PLATEAUS")}
CHOICES: dict[str, tuple[Any, ...]] = {
    "STRAY": (0.06, 0.16, 0.4), "PRIOR_COUNT": (2.0, 4.0, 8.0), "BENT": (0.25, 0.5, 1.0),
    "QUESTIONS": (300, 1000, 3000), "ABOVE": (0.01, 0.02, 0.05), "FARTHEST": (0.5, 1.0, 2.0),
    "CEILINGS": (scores.CEILINGS, EVEN["CEILINGS"]), "PLATEAUS": (scores.PLATEAUS, EVEN["PLATEAUS"]),
}  # fmt: skip
MOST = 50  # tasks
AHEAD = (3.0, 6.0)  # times the compute; the largest size is 3 and 7 times ahead of the next one


def told(table: pd.DataFrame, what: str) -> None:
    """Print tasks, error and share inside by the width of intervals."""
    width = (table.high - table.low) / table["mean"]
    for widest in WIDTHS:
        mine = table[width <= widest]
        by_task = mine.groupby(["study", "task"])["error"].mean()
        print(f"{what}up to {widest:g}: {len(by_task)} tasks, {len(mine)} scores, mean error "
              f"{by_task.mean():.2%} ± {by_task.sem():.2%}, held {mine['held'].mean():.1%}")  # fmt: skip


def curve_of(kept: pd.Series, known: pd.DataFrame, chance: float, count: int) -> scores.ScoreCurve:
    """The curve of some runs."""
    share = (known["score"][kept] - chance) / (1 - chance)
    return scores.ScoreCurve("loss", known["loss"][kept].to_numpy(), share.to_numpy(), chance, 1.0, count)


def floor(asked: list[ScoreTask]) -> None:
    """Print how far scores of the tasks that have left chance scatter around their own curve."""
    errors = []
    for _, task, rows, loss, score in asked:
        known, chance = rows.dropna(subset=[loss, score]), CHANCE.get(task, 0.25)
        count = scores.questions(known[score].to_numpy()) or scores.QUESTIONS
        points = known[[loss, score]].set_axis(["loss", "score"], axis=1), chance, count
        largest = known["n_params"] == known["n_params"].max()
        if scores.left_chance(curve_of(~largest, *points), score) is not None:
            continue
        own = []
        for place in known.index[largest & (known[score] > 0)]:
            told = curve_of(known.index.to_series() != place, *points).expected(
                np.array([known[loss][place]])
            )[0]
            own.append(abs((chance + (1 - chance) * told) / known[score][place] - 1))
        errors.append(float(np.mean(own)) if own else np.inf)
    best = sorted(errors)[:MOST]
    print(f"{len(errors)} tasks have left chance; the {len(best)} best err by {np.mean(best):.2%}")


def main() -> None:
    """Print the numbers."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--choices", action="store_true")
    parser.add_argument("--of", choices=CHOICES, help="the choices of one constant alone")
    parser.add_argument("--floor", action="store_true")
    parser.add_argument("--refused", action="store_true")
    asked, options = published(), parser.parse_args()
    if options.floor:
        floor(asked)
        return
    if options.refused:
        left = {*predicted(asked)[["study", "task"]].itertuples(index=False, name=None)}
        with mock.patch.object(scores, "left_chance", return_value=None):
            every = predicted(asked)
        told(every[[pair not in left for pair in zip(every.study, every.task, strict=True)]], "at chance, ")
        return
    if options.choices:
        for ahead in AHEAD:
            for name, value in [(n, v) for n, values in CHOICES.items() for v in values]:
                if options.of in (None, name):
                    with mock.patch.object(scores, name, value):
                        told(predicted(asked, ahead), f"{ahead:g} times ahead, {name} {value}, ")
        return
    table = predicted(asked)
    told(table, "")
    inside = bool((table.low >= 0).all() and (table.high <= 1).all())
    print(f"{len(asked)} tasks asked for; all intervals in [0, 1]: {inside}")


if __name__ == "__main__":
    main()
