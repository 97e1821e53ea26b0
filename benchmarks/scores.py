"""Scores of larger models from smaller ones: the largest size of two published studies is kept apart.

    SCALINGLAB_DATA=… python benchmarks/scores.py [--choices]

mlfoundations2024 (Gadre et al. 2024: three training sets, 46 tasks, loss on C4) and olmo-ladder2024 (Bhagia
et al. 2024: 8 tasks, loss of the right answer). A task of one training set counts as one. Printed are, by the
width of the 95 % interval up to which a score is answered, the tasks, their mean relative error and the share
inside. ``--choices``: by which number `laws.scores.STRAY` was chosen, on the sizes below the largest alone.
"""

from __future__ import annotations

import argparse

from scalinglab.laws import scores
from scalinglab_papers.field.scores import choices, predicted, published

WIDTHS = (0.3, 0.4, 0.5, 0.7, 1.0, 1e9)  # of the score
STRAYS = (0.02, 0.06, 0.16, 0.4)
APART = (0.25, 0.4)  # of the runs, those of the lowest losses


def main() -> None:
    """Print the numbers."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--choices", action="store_true")
    asked = published()
    if parser.parse_args().choices:
        for apart in APART:
            for scores.STRAY in STRAYS:
                table = choices(asked, apart)
                error = table.groupby(["study", "task"])["error"].mean().median()
                told = table[table["answered"]].groupby(["study", "task"])["error"].mean()
                print(f"{apart:.0%} apart, STRAY {scores.STRAY:g}: median error {error:.2%}, held "
                      f"{table['held'].mean():.1%}; {len(told)} answered, mean error {told.mean():.2%}"
                )  # fmt: skip
        return
    table = predicted(asked)
    width = (table.high - table.low) / table["mean"]
    for widest in WIDTHS:
        mine = table[width <= widest]
        by_task = mine.groupby(["study", "task"])["error"].mean()
        print(f"up to {widest:g}: {len(by_task)} tasks, {len(mine)} scores, mean error {by_task.mean():.2%} "
              f"± {by_task.sem():.2%}, held {mine['held'].mean():.1%}")  # fmt: skip
    inside = bool((table.low >= 0).all() and (table.high <= 1).all())
    print(f"{len(asked)} tasks asked for; all intervals in [0, 1]: {inside}")


if __name__ == "__main__":
    main()
