"""The next run per FLOP: what choosing experiments buys, on the public benchmark of Li et al. 2026.

    python benchmarks/next_run.py [--quick] [--task lr_bsz] [--forms 0:3] [--out rows.csv]
    python benchmarks/next_run.py --join rows1.csv rows2.csv  # [--figure FILE] several parts

Four tasks of "Spend Less, Fit Better" (arXiv 2604.22753, CC BY 4.0): a pool of experiments with costs and a
costly target region. Score: R² in the target, clipped to [−1, 1], all groups and outputs together. For each
form the same fit follows three ways to choose: at random (mean of several draws), cheapest first, and
`pool_in_batches.sequence`. Published: means over ten forms a task; "all" is the fit to the whole pool.
"""

from __future__ import annotations

import argparse
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pool_in_batches import sequence

from scalinglab.errors import ScalinglabError
from scalinglab.laws import fit, forms

DATA = Path(os.environ.get("SCALINGLAB_DATA", Path(__file__).parents[2] / "shared" / "data"))
SHARES = [f"proportion_domain_{i}" for i in range(1, 6)]


@dataclass(frozen=True)
class Task:
    """One task of the benchmark; budgets are shares of the pool's cost."""

    name: str
    columns: list[str]
    outputs: list[str]
    cost: list[str]
    budgets: tuple[float, ...]
    forms: dict[str, dict[str, Any]]
    random: tuple[float, ...]
    best: tuple[float, ...]
    everything: float


LOW = (0.01, 0.05, 0.1)


def held(**values: float) -> dict[str, tuple[float, float]]:
    """Bounds that hold parameters at values."""
    return {name: (value, value) for name, value in values.items()}


# ten forms a task: the whole form, and it with terms left out, held or tied
RATE_BATCH: dict[str, dict[str, Any]] = {
    "learning_rate_batch": {},
    "learning_rate_batch, no N x D": {"bounds": held(both=0.0)},
    "learning_rate_batch, alpha = beta": {"tie": {"beta": "alpha"}},
    "learning_rate_batch, no rate x batch": {"bounds": held(bend_both=0.0)},
    "learning_rate_batch, rate of N": {"bounds": held(rate_data=0.0)},
    "learning_rate_batch, rate of D": {"bounds": held(rate_params=0.0)},
    "learning_rate_batch, one batch": {"bounds": held(batch_data=0.0)},
    "learning_rate_batch, step law": {"bounds": held(rate_params=-0.713, rate_data=0.307, batch_data=0.571)},
    "learning_rate_batch, sum alone": {"bounds": held(both=0.0, bend_both=0.0)},
    "learning_rate_batch, no floor": {"bounds": held(E=0.0)},
}
MIXTURES: dict[str, dict[str, Any]] = {
    "data_mixing_5": {},
    "data_mixing_5, no floor": {"bounds": held(c=0.0)},
    "data_mixing_5, floor 1": {"bounds": held(c=1.0)},
    "data_mixing_5, gentle": {"priors": {f"t_{i}": (0.0, 1.0) for i in range(1, 5)}},
    "data_mixing_5, free": {"priors": {f"t_{i}": (0.0, 10.0) for i in range(1, 5)}},
    "mixture_power_5": {},
    "mixture_power_5, no floor": {"bounds": held(c=0.0)},
    "mixture_power_5, floor 1": {"bounds": held(c=1.0)},
    "mixture_power_5, gamma 0.1": {"bounds": held(gamma=0.1)},
    "mixture_power_5, gamma 0.3": {"bounds": held(gamma=0.3)},
}
RAW: dict[str, Any] = {"space": "raw"}
VOCABULARIES: dict[str, dict[str, Any]] = {
    "vocabulary_size": RAW,
    "vocabulary_size, no V x D": {**RAW, "bounds": held(both=0.0)},
    "vocabulary_size, no V alone": {**RAW, "bounds": held(A_vocab=0.0)},
    "vocabulary_size, alpha = beta": {**RAW, "tie": {"beta": "alpha"}},
    "vocabulary_size, one exponent": {**RAW, "tie": {"beta": "alpha", "alpha_vocab": "alpha"}},
    "vocabulary_size, D alone": {**RAW, "bounds": held(A=0.0)},
    "vocabulary_size, alpha 1/2": {**RAW, "bounds": held(alpha=0.5)},
    "vocabulary_size, beta 1/2": {**RAW, "bounds": held(beta=0.5)},
    "vocabulary_size, no N, no V x D": {**RAW, "bounds": held(A=0.0, both=0.0)},
    "vocabulary_size, tied, no V x D": {**RAW, "tie": {"beta": "alpha"}, "bounds": held(both=0.0)},
}
REPEATS: dict[str, dict[str, Any]] = {
    "data_constrained": {},
    "data_constrained, alpha = beta": {"tie": {"beta": "alpha"}},
    "data_constrained, R_N free of cost": {"bounds": held(repeat_params=1e4)},
    "data_constrained, R_D = R_N": {"tie": {"repeat_params": "repeat_data"}},
    "data_constrained, R_D = 15": {"bounds": held(repeat_data=15.0)},
    "data_constrained, R_D = 30": {"bounds": held(repeat_data=30.0)},
    "data_constrained, R_D = 60": {"bounds": held(repeat_data=60.0)},
    "data_constrained, tied, R_D = R_N": {"tie": {"beta": "alpha", "repeat_params": "repeat_data"}},
    "data_constrained, tied, R_N free": {"tie": {"beta": "alpha"}, "bounds": held(repeat_params=1e4)},
    "data_constrained, no floor": {"bounds": held(E=0.0)},
}
TASKS = {
    task.name: task
    for task in (
        Task("lr_bsz", ["lr", "bsz", "non_embedding_param_size", "data_size"], ["lm_loss"],
             ["non_embedding_param_size", "data_size"], LOW, RATE_BATCH,
             (-0.65, -0.45, -0.33), (-0.65, 0.00, 0.22), 0.04),
        Task("domain_mixture", SHARES, [f"loss_domain_{i}" for i in range(1, 6)], [], (0.2, 0.35, 0.5),
             MIXTURES, (-0.36, 0.41, 0.70), (0.64, 0.91, 0.95), 0.81),
        Task("vocab", ["non_vocab_parameters", "vocab_size", "num_characters"], ["unigram_normalized_loss"],
             ["non_vocab_parameters", "num_characters"], LOW, VOCABULARIES,
             (0.54, 0.53, 0.59), (0.96, 0.98, 0.98), 0.93),
        Task("data_constrained", ["params", "tokens", "unique_tokens"], ["loss"], ["params", "tokens"], LOW,
             REPEATS,
             (-0.74, -0.36, 0.12), (0.73, 0.85, 0.86), 0.79),
    )
}  # fmt: skip


@dataclass(frozen=True)
class Group:
    """Pool and target of one group of a task."""

    x: np.ndarray
    y: np.ndarray
    cost: np.ndarray
    target: np.ndarray
    truth: np.ndarray


def groups(task: Task) -> list[Group]:
    """The groups of a task; each is chosen from and fitted on its own."""
    folder = DATA / "learning-curves" / "scalebench"
    train, test = (pd.read_parquet(folder / f"{task.name}-{part}.parquet") for part in ("train", "test"))
    found = []
    for name in train["group"].unique():
        a, b = train[train["group"] == name], test[test["group"] == name]
        cost = a[task.cost].prod(axis=1).to_numpy(float) if task.cost else np.ones(len(a))
        found.append(Group(
            a[task.columns].to_numpy(float), a[task.outputs].to_numpy(float), cost,
            b[task.columns].to_numpy(float), b[task.outputs].to_numpy(float),
        ))  # fmt: skip
    return found


def predictions(form: str, options: dict[str, Any], group: Group, index: np.ndarray) -> np.ndarray:
    """The laws fitted to some experiments, at the target: (points, outputs); NaN where no fit is possible."""
    chosen = forms.get(form.split(",")[0])
    columns = []
    for output in group.y[index].T:
        try:
            law = fit(chosen, tuple(group.x[index].T), output, starts=STARTS, **options)
            columns.append(law.at(tuple(group.target.T)))
        except ScalinglabError:
            columns.append(np.full(len(group.target), np.nan))
    return np.stack(columns, axis=1)


STARTS = 3
rng = np.random.default_rng


def score(truth: list[np.ndarray], predicted: list[np.ndarray]) -> float:
    """R² over everything, clipped; −1 where a fit failed."""
    y, p = np.concatenate([v.ravel() for v in truth]), np.concatenate([v.ravel() for v in predicted])
    if not np.isfinite(p).all():
        return -1.0
    return float(np.clip(1 - np.sum((y - p) ** 2) / np.sum((y - y.mean()) ** 2), -1, 1))


def prefix(order: np.ndarray, cost: np.ndarray, budget: float) -> np.ndarray:
    """Experiments taken in order as long as the next one fits into the budget."""
    return order[: int(np.sum(np.cumsum(cost[order]) <= budget * (1 + 1e-9)))]


def judged(task: Task, form: str, budget: float, data: list[Group], orders: list[np.ndarray]) -> float:
    """The score of experiments taken in these orders, one a group."""
    predicted = [
        predictions(form, task.forms[form], g, prefix(order, g.cost, budget * g.cost.sum()))
        for order, g in zip(orders, data, strict=True)
    ]
    return score([g.truth for g in data], predicted)


def run(
    task: Task, draws: int, which: slice, only: tuple[float, ...] | None, out: Path | None
) -> pd.DataFrame:
    """R² by form, strategy and budget; every row is added to `out` as soon as it is known.

    Without draws only `ours` is run, and the other columns are NaN.
    """
    data = groups(task)
    rows = []
    for form, options in list(task.forms.items())[which]:
        truth = [g.truth for g in data]
        everything = [np.arange(len(g.x)) for g in data]
        whole = judged(task, form, 1.0, data, everything) if draws else np.nan
        ours: list[Any] = [None] * len(data)
        for budget in only or task.budgets:
            started = time.perf_counter()
            for place, g in enumerate(data):
                before = ours[place]
                ours[place] = sequence(
                    form.split(",")[0], g.x, g.cost, g.target, lambda i, g=g: g.y[i],
                    budget=budget * g.cost.sum(), options={"starts": STARTS, **options},
                    start=None if before is None else (before.index, before.values),
                )  # fmt: skip
            mine = score(truth, [
                np.stack([law.at(tuple(g.target.T)) for law in s.laws], axis=1) if s.laws
                else np.full(g.truth.shape, np.nan) for s, g in zip(ours, data, strict=True)
            ])  # fmt: skip
            seconds = time.perf_counter() - started
            random = [
                judged(
                    task,
                    form,
                    budget,
                    data,
                    [np.random.default_rng(seed).permutation(len(g.x)) for g in data],
                )
                for seed in range(draws)
            ]
            ordered = [np.argsort(g.cost, kind="stable") for g in data]
            cheapest = judged(task, form, budget, data, ordered) if draws else np.nan
            rows.append({
                "task": task.name, "form": form, "budget": budget,
                "random": np.mean(random) if draws else np.nan,
                "cheapest": cheapest, "ours": mine, "all": whole,
                "runs": int(sum(len(s.index) for s in ours)), "stopped": ours[0].stopped, "s": seconds,
            })  # fmt: skip
            print(rows[-1], flush=True)
            if out is not None:
                pd.DataFrame(rows[-1:]).to_csv(out, mode="a", header=not out.exists(), index=False)
    return pd.DataFrame(rows)


def table(results: pd.DataFrame) -> str:
    """Markdown: one row a task and budget, means over forms, beside the published means."""
    lines = [
        "| task | forms | budget | random | cheapest | ours | all | their random | best | all | verdict |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name, part in results.groupby("task", sort=False):
        task = TASKS[str(name)]
        for place, budget in enumerate(task.budgets):
            if budget not in part["budget"].to_numpy():
                continue
            mean = part[part["budget"] == budget][["random", "cheapest", "ours", "all"]].mean()
            verdict = "holds" if round(mean["ours"], 2) >= task.best[place] else "does not hold"
            cells = " | ".join(f"{v:.2f}" for v in mean)
            lines.append(
                f"| {name} | {part['form'].nunique()} | {budget:.0%} | {cells} "
                f"| {task.random[place]:.2f} | {task.best[place]:.2f} | {task.everything:.2f} | {verdict} |"
            )
    return "\n".join(lines)


TITLES = {"lr_bsz": "learning rate and batch", "vocab": "vocabulary", "data_constrained": "repeated data",
          "domain_mixture": "mixtures of data"}  # fmt: skip


def draw(results: pd.DataFrame, file: Path) -> None:
    """R² against the budget, a panel a task: ways to choose with the same forms, and the best published."""
    from scalinglab.figures.style import INK, MUTED, PALETTE, panels

    figure, axes = panels(1, len(TITLES), size=(2.7, 2.9))
    for axis, (name, title) in zip(axes[0], TITLES.items(), strict=True):
        task, part = TASKS[name], results[results["task"] == name]
        mean = part.groupby("budget")[["ours", "random", "cheapest", "all"]].mean()
        for column, label, color in zip(
            mean.columns, ("ours", "random", "cheapest first"), PALETTE, strict=False
        ):
            axis.plot(100 * mean.index, mean[column], "o-", color=color, label=label, markersize=4)
        axis.plot(
            100 * np.array(task.budgets), task.best, "*", color=INK, label="best published", markersize=8
        )
        axis.axhline(mean["all"].mean(), color=MUTED, linewidth=1, label="whole pool")
        axis.set(title=title, xlabel="budget / % of the pool", ylim=(-1.05, 1.05), ylabel="")
    axes[0, 0].set_ylabel("R² in the target region")
    axes[0, 1].legend(fontsize="x-small", loc="center")
    figure.savefig(file, dpi=150)


def main() -> None:
    """Run the tasks and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--task", choices=list(TASKS), action="append")
    parser.add_argument("--quick", action="store_true", help="one random draw")
    parser.add_argument("--ours", action="store_true", help="without random choice and cheapest first")
    parser.add_argument("--forms", default="0:10", help="which of the ten forms a task, as in 0:3")
    parser.add_argument("--budgets", help="only these shares, as in 0.35,0.5")
    parser.add_argument("--join", nargs="+", type=Path, help="rows of earlier runs, instead of a run")
    parser.add_argument("--out", type=Path, help="add the rows to this file (.csv)")
    parser.add_argument(
        "--figure", type=Path, help="with --join: draw the table, e.g. docs/images/next-run.png"
    )
    asked = parser.parse_args()
    if asked.join:
        joined = pd.concat([pd.read_csv(path) for path in asked.join])
        print(table(joined))
        if asked.figure:
            draw(joined, asked.figure)
        return
    which, draws = slice(*map(int, asked.forms.split(":"))), 0 if asked.ours else 1 if asked.quick else 5
    only = None if asked.budgets is None else tuple(map(float, asked.budgets.split(",")))
    results = pd.concat([run(TASKS[name], draws, which, only, asked.out) for name in asked.task or TASKS])
    print(table(results))


if __name__ == "__main__":
    main()
