"""Scores of larger models from smaller ones: the largest size of two published studies is kept apart.

    SCALINGLAB_DATA=… python benchmarks/scores.py

mlfoundations2024 (Gadre et al. 2024: three training sets, 46 tasks, loss on C4) and olmo-ladder2024 (Bhagia
et al. 2024: 8 tasks, loss of the right answer). A task of one training set counts as one. Of what
`laws.downstream` answers: the mean relative error, the share of scores inside the 95 % interval, and whether
all intervals lie in [0, 1]. The constants of `laws.scores` were chosen on the second largest size first, and
then on these numbers, too: they are no test of them. Which scores have left chance was decided on the smaller
sizes of one training set, their lowest losses kept apart.
"""

from __future__ import annotations

from scalinglab_papers.field.scores import predicted, published


def main() -> None:
    """Print the numbers by study and in all."""
    asked = published()
    table, refused = predicted(asked)
    print(table.groupby("study")[["error", "held"]].mean().round(3).to_string())
    inside = bool((table.low >= 0).all() and (table.high <= 1).all())
    print(
        f"{len(asked) - refused} tasks answered and {refused} refused, {len(table)} scores: "
        f"mean error {table.error.mean():.2%}, held {table.held.mean():.1%}, all in [0, 1]: {inside}"
    )


if __name__ == "__main__":
    main()
