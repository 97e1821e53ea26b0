"""Scores of larger models from smaller ones: the largest size of two published studies is kept apart.

    SCALINGLAB_DATA=… python benchmarks/scores.py

mlfoundations2024 (Gadre et al. 2024: three training sets, 46 tasks, loss on C4) and olmo-ladder2024 (Bhagia
et al. 2024: 8 tasks, loss of the right answer). A task of one training set counts as one. Of what
`laws.downstream` answers: the mean relative error, the share of scores inside the 95 % interval, and whether
all intervals lie in [0, 1]. The constants of `laws.scores` were chosen on the second largest size first, and
then on these numbers, too: they are no test of them.
"""

from __future__ import annotations

import sys

import pandas as pd

from scalinglab.data.sources import search_path
from scalinglab.errors import NotDetermined
from scalinglab.laws import scores

HALF, THIRD, FIFTH = (
    "bbq boolq copa piqa winogender_mc_female winogender_mc_male winograd winogrande "
    "bigbench_misconceptions bigbench_strange_stories bigbench_strategy_qa enterprise_pii_classification",
    "siqa socialiqa",
    "commonsense_qa csqa math_qa",
)
NONE = (
    "bigbench_conlang_translation bigbench_cs_algorithms bigbench_dyck_languages bigbench_operators "
    "bigbench_repeat_copy_logic bigbench_qa_wikidata coqa jeopardy lambada_openai pubmed_qa_labeled "
    "simple_arithmetic_nospaces simple_arithmetic_withspaces squad"
)
CHANCE = {
    task: chance
    for tasks, chance in ((HALF, 0.5), (THIRD, 1 / 3), (FIFTH, 0.2), (NONE, 0.0))
    for task in tasks.split()
}  # of all others a quarter


def read(folder: str, file: str) -> pd.DataFrame:
    """A table of learning-curves/ under the data folders."""
    places = [p / "learning-curves" / folder / file for p in search_path()]
    found = next((p for p in places if p.exists()), None)
    if found is None:
        sys.exit(f"set SCALINGLAB_DATA to the folder that holds learning-curves/{folder}/{file}")
    return pd.read_csv(found)


def main() -> None:
    """Print the numbers by study and in all."""
    many = read("mlfoundations2024", "runs.csv")
    ladder = read("olmo-ladder2024", "points.csv").rename(columns={"n": "n_params", "D": "n_data"})
    tasks = [c for c in many if c.startswith("acc:")]
    asked = [(name, c[4:], rows, "loss:c4_val", c) for name, rows in many.groupby("train_set") for c in tasks]
    asked += [("olmo", str(task), rows, "bpb", "acc") for task, rows in ladder.groupby("task")]
    found = []
    for study, task, rows, loss, score in asked:
        largest = rows.n_params == rows.n_params.max()
        apart = rows[largest]
        try:
            fitted = scores.fit(rows[~largest], loss=loss, score=score, chance=CHANCE.get(task, 0.25))
            ahead = fitted.predict(apart[["n_params", "n_data"]])
        except NotDetermined:
            continue
        ends = {"mean": ahead.mean, "low": ahead.low, "high": ahead.high}
        found.append(pd.DataFrame({"study": study, "task": task, "true": apart[score].to_numpy(), **ends}))
    table = pd.concat(found, ignore_index=True).dropna()
    table["error"] = (table["mean"] / table.true - 1).abs()
    table["held"] = (table.low <= table.true) & (table.true <= table.high)
    print(table.groupby("study")[["error", "held"]].mean().round(3).to_string())
    answered = table.groupby(["study", "task"]).ngroups
    inside = bool((table.low >= 0).all() and (table.high <= 1).all())
    print(
        f"{answered} tasks answered and {len(asked) - answered} refused, {len(table)} scores: "
        f"mean error {table.error.mean():.2%}, held {table.held.mean():.1%}, all in [0, 1]: {inside}"
    )


if __name__ == "__main__":
    main()
