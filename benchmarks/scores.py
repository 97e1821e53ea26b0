"""Scores of larger models from smaller ones: the largest size of two published studies is kept apart.

    SCALINGLAB_DATA=… python benchmarks/scores.py [--choices]

mlfoundations2024 (Gadre et al. 2024: three training sets, 46 tasks, loss on C4) and olmo-ladder2024 (Bhagia
et al. 2024: 8 tasks, loss of the right answer). A task of one training set counts as one. Printed are, by the
width of the 95 % interval up to which a score is answered, the tasks, their mean relative error and the share
inside. ``--choices``: the same on the sizes below the largest alone, those of the most compute from the
others (`predicted`): by it `laws.scores.STRAY` and `WIDEST` were chosen.
"""

from __future__ import annotations

import argparse

import pandas as pd

from scalinglab.laws import scores
from scalinglab_papers.field.scores import predicted, published

WIDTHS = (0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 1.0, 1e9)  # of the score
STRAYS = (0.06, 0.16, 0.4)
AHEAD = (3.0, 6.0)  # times the compute; the largest size is 3 and 7 times ahead of the next one


def told(table: pd.DataFrame, what: str) -> None:
    """Print tasks, error and share inside by the width of intervals."""
    width = (table.high - table.low) / table["mean"]
    for widest in WIDTHS:
        mine = table[width <= widest]
        by_task = mine.groupby(["study", "task"])["error"].mean()
        print(f"{what}up to {widest:g}: {len(by_task)} tasks, {len(mine)} scores, mean error "
              f"{by_task.mean():.2%} ± {by_task.sem():.2%}, held {mine['held'].mean():.1%}")  # fmt: skip


def main() -> None:
    """Print the numbers."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--choices", action="store_true")
    asked = published()
    if parser.parse_args().choices:
        for ahead in AHEAD:
            for scores.STRAY in STRAYS:
                told(predicted(asked, ahead), f"{ahead:g} times ahead, STRAY {scores.STRAY:g}, ")
        return
    table = predicted(asked)
    told(table, "")
    inside = bool((table.low >= 0).all() and (table.high <= 1).all())
    print(f"{len(asked)} tasks asked for; all intervals in [0, 1]: {inside}")


if __name__ == "__main__":
    main()
