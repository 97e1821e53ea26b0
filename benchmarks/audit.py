"""What an audit finds in tables of common shapes, with one fault in each, and what it says of clean ones.

    python benchmarks/audit.py [--rows] [--draws 3 --first 11] [--set march]

Thirty tables have a fault, three of each kind that issue trackers of large studies name; ten more, one of
each kind, were written after the audit was mended on the thirty; twenty have none.
Shapes and names of columns are those of sweeps, ladders, searches, logs and tables of scores as people keep
them; nanochat's two headers are those of its `runs/scaling_laws.sh`. A fault is found where a doubt of its
kind names at least half of the wrong rows (where no row is wrong, but all are: where there is such a doubt).
Every other row that is named counts as false, and every doubt about a clean table. ``--rows`` prints each.
``--set``: other tables, of `audit_parts`, thirty with a fault, ten without (April, August, September,
October, November: 24, 6; June, July: 24, 8).
A fault of two kinds, ``a/b``, is found by a doubt of either; a fault of a kind that the first set does not
have, by a doubt of any kind of which at least half of the rows are wrong ones.
"""

from __future__ import annotations

import argparse
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from audit_parts import (  # noqa: F401  (registers its tables)
    april,
    august,
    december,
    february,
    january,
    july,
    june,
    march,
    may,
    november,
    october,
    september,
)
from audit_parts.registry import CLEAN, FAULTS, Planted, Random, register

from scalinglab.answers.doubts import audit
from scalinglab.errors import ScalinglabError

fault, clean = register("first")


# --- shapes of tables -------------------------------------------------------------------------------------


def surface(n: Any, d: Any, r: Random, noise: float = 0.002) -> Any:
    """Losses 1.8 + 480 N^-0.35 + 1500 D^-0.33 of runs, with noise."""
    mean = 1.8 + 480 * np.asarray(n, float) ** -0.35 + 1500 * np.asarray(d, float) ** -0.33
    return mean * np.exp(noise * r.standard_normal(np.shape(mean)))


def sweep(
    r: Random, computes: int = 5, sizes: int = 8, span: float = 6, noise: float = 0.002
) -> pd.DataFrame:
    """IsoFLOP curves: budgets of 3e18 on, sizes around the best one that are even in the logarithm."""
    rows = []
    for c in 3e18 * 3.0 ** np.arange(computes):
        tries = np.geomspace(1e7, 1e11, 4000)
        best = tries[np.argmin(480 * tries**-0.35 + 1500 * (c / 6 / tries) ** -0.33)]
        for n in np.round(best * np.geomspace(1 / span, span, sizes), -5):
            rows.append((c, n, round(c / 6 / n)))
    made = pd.DataFrame(rows, columns=["flops", "n_params", "n_tokens"])
    return made.assign(eval_loss=surface(made.n_params, made.n_tokens, r, noise).round(5))


def ladder(r: Random, sizes: int = 10, noise: float = 0.002) -> pd.DataFrame:
    """One run of each depth at twenty tokens a parameter."""
    depth = np.arange(6, 6 + 2 * sizes, 2)
    n = 12 * depth * (64 * depth) ** 2
    return pd.DataFrame({"layers": depth, "d_model": 64 * depth, "params": n, "tokens": 20 * n,
                         "val_loss": surface(n, 20 * n, r, noise).round(4)})  # fmt: skip


def grid(r: Random, noise: float = 0.002) -> pd.DataFrame:
    """Six sizes by five amounts of data."""
    n, d = (v.ravel() for v in np.meshgrid(5e7 * 2.0 ** np.arange(6), 2e9 * 2.0 ** np.arange(5)))
    return pd.DataFrame({"model_size": n, "tokens": d, "loss": surface(n, d, r, noise)})


def rates(r: Random, points: int = 9) -> pd.DataFrame:
    """A search of the learning rate at five sizes, every optimum well inside."""
    rows = []
    for n in 3e7 * 2.5 ** np.arange(5):
        best = 4e-3 * (n / 3e7) ** -0.25
        for lr in 4e-3 * 2.0 ** np.arange(-points + 4, 4):
            loss = surface(n, 20 * n, r, 0.0005) * (1 + 0.012 * np.log(lr / best) ** 2)
            rows.append((f"{n / 1e6:.0f}M", n, 20 * n, lr, loss))
    return pd.DataFrame(rows, columns=["name", "N", "D", "lr", "final_loss"])


def logs(r: Random) -> pd.DataFrame:
    """Losses along nine runs, each of its own number of steps."""
    parts = []
    for k, n in enumerate(2e7 * 1.8 ** np.arange(9)):
        total = 2000 + 500 * k
        step = np.arange(total // 8, total + 1, total // 8)
        loss = surface(n, 5e5 * step, r, 0.001)
        parts.append(pd.DataFrame({"run": f"run-{k}", "params": n, "step": step, "max_steps": total,
                                   "tokens": 5e5 * step, "loss": loss}))  # fmt: skip
    return pd.concat(parts, ignore_index=True)


def scored(r: Random, runs: int = 24, questions: int = 1000) -> pd.DataFrame:
    """Models with a loss and three accuracies, sigmoids of the loss."""
    n = np.geomspace(3e7, 7e9, runs)
    d = n * r.choice([10, 20, 40, 80], runs)
    loss = surface(n, d, r)
    made = pd.DataFrame({"params": n, "tokens": d, "c4_loss": loss.round(4)})
    for task, (middle, chance) in {
        "arc_easy": (2.9, 0.25),
        "hellaswag": (2.7, 0.25),
        "piqa": (3.1, 0.5),
    }.items():
        mean = chance + (0.95 - chance) / (1 + np.exp(3.5 * (loss - middle)))
        made[f"{task}_acc"] = r.binomial(questions, mean) / questions
    return made


def nanochat(r: Random, old: bool = False) -> pd.DataFrame:
    """nanochat's results.csv; the best N, transformer and head, grows as C^0.54."""
    rows = []
    for c in (1e18, 2.15e18, 4.64e18, 1e19):
        for depth in range(8, 23, 2):
            width = 64 * depth
            head, body, scalars = 32768 * width, 12 * depth * width**2, 2 * depth
            total, counted = body + 2 * head + head * (depth // 2) + scalars, body + head
            tokens = c / (6 * counted + 12 * depth * width * 2048 * 0.4)
            bpb = 0.72 + 0.24 * (c / 1e18) ** -0.07 * (
                1 + 0.05 * np.log(counted / 1.1e8 / (c / 1e18) ** 0.54) ** 2
            )
            bpb = round(bpb * np.exp(4e-4 * r.standard_normal()), 6)
            steps, ends = round(tokens / 524288), {"val_bpb": bpb, "core_score": round(0.9 - 0.95 * bpb, 4),
                                                   "train_time_sec": round(c / 4e15)}  # fmt: skip
            row = {"flops_budget": c, "depth": depth, "model_dim": width}
            done = {"num_iterations": steps, "tokens_trained": 524288 * steps}
            if old:
                row |= {"num_params": total, "num_scaling_params": counted} | done
                rows.append(row | {"param_data_ratio": done["tokens_trained"] / counted} | ends)
            else:
                row |= {
                    "params_wte": head,
                    "params_value_embeds": head * (depth // 2),
                    "params_lm_head": head,
                }
                row |= {"params_transformer": body, "params_scalars": scalars, "params_total": total}
                rows.append(row | done | ends)
    return pd.DataFrame(rows)


# --- ten kinds of faults, three tables of each ------------------------------------------------------------


@fault("counted_parameters")
def nanochats_header(r: Random) -> Planted:
    return nanochat(r), []


@fault("counted_parameters")
def nanochats_old_header(r: Random) -> Planted:
    return nanochat(r, old=True), []


@fault("counted_parameters")
def ladder_with_embedding_params(r: Random) -> Planted:
    made = ladder(r, noise=0.001)
    return made.assign(embedding_params=2 * 50304 * made.d_model), []


@fault("mixed_schedules")
def schedule_column(r: Random) -> Planted:
    made, kind = sweep(r), np.full(40, "wsd", dtype=object)
    kind[[3, 12, 30]] = "cosine"
    return made.assign(lr_schedule=kind), [3, 12, 30]


@fault("mixed_schedules")
def no_decay_in_some(r: Random) -> Planted:
    made, share = grid(r), np.full(30, 0.2)
    share[20:26] = 0.0
    return made.assign(warmdown_ratio=share), [*range(20, 26)]


@fault("mixed_schedules")
def lr_scheduler_type(r: Random) -> Planted:
    made, kind = ladder(r), np.full(10, "cosine", dtype=object)
    kind[[7, 8]] = "linear"
    return made.assign(lr_scheduler_type=kind, weight_decay=0.1), [7, 8]


@fault("unfinished")
def wandb_state(r: Random) -> Planted:
    made, state = sweep(r), np.full(40, "finished", dtype=object)
    state[[5, 22]] = ["crashed", "running"]
    return made.assign(State=state), [5, 22]


@fault("unfinished")
def steps_of_planned(r: Random) -> Planted:
    made = logs(r)
    wrong = (made.run == "run-6") & (made.step > 0.6 * made.max_steps)
    made = made[~wrong].reset_index(drop=True)
    return made, np.flatnonzero(made.run == "run-6").tolist()


@fault("unfinished")
def progress_column(r: Random) -> Planted:
    made, progress = grid(r), np.ones(30)
    progress[[4, 17]] = [0.71, 0.38]
    return made.assign(progress=progress), [4, 17]


@fault("edge_of_grid")
def rate_at_the_top(r: Random) -> Planted:
    made = rates(r)
    made = made[~((made.name == "188M") & (made.lr > 1.5e-3))].reset_index(drop=True)
    own = made[made.name == "188M"]
    return made, [int(own.final_loss.idxmin())]


@fault("edge_of_grid")
def batch_at_the_bottom(r: Random) -> Planted:
    rows = []
    for n in 1e8 * 2.0 ** np.arange(4):
        best = 2**18 * (n / 1e8) ** 0.5
        for batch in (2.0 ** np.arange(16, 23)) if n < 7e8 else 2.0 ** np.arange(20, 23):
            rows.append(
                (n, 20 * n, batch, surface(n, 20 * n, r, 3e-4) * (1 + 0.01 * np.log(batch / best) ** 2))
            )
    made = pd.DataFrame(rows, columns=["params", "tokens", "batch_size", "loss"])
    return made, [int(made[made.params > 7e8].loss.idxmin())]


@fault("edge_of_grid")
def widths_of_a_transfer_sweep(r: Random) -> Planted:
    rows = []
    for width in (256, 512, 1024, 2048):
        for power in range(-12, -5):
            best = -9.0 if width < 2048 else -12.5
            loss = 2.6 + 300 / width + 0.02 * (power - best) ** 2 + 0.001 * r.standard_normal()
            rows.append((width, 2.0**power, loss))
    made = pd.DataFrame(rows, columns=["width", "learning_rate", "val_loss"])
    return made, [int(made[made.width == 2048].val_loss.idxmin())]


def _thinned(made: pd.DataFrame, budget: float, kept: list[int]) -> Planted:
    own = np.flatnonzero(np.isclose(made.flops, budget))
    made = made.drop(index=[own[i] for i in range(len(own)) if i not in kept]).reset_index(drop=True)
    return made, np.flatnonzero(np.isclose(made.flops, budget)).tolist()


@fault("few_points")
def three_sizes(r: Random) -> Planted:
    return _thinned(sweep(r), 2.7e19, [2, 4, 6])


@fault("few_points")
def four_sizes_of_seven(r: Random) -> Planted:
    return _thinned(sweep(r, computes=4, sizes=7), 8.1e19, [1, 2, 4, 5])


@fault("few_points")
def three_sizes_without_a_budget(r: Random) -> Planted:
    made, rows = _thinned(sweep(r, sizes=9), 9e18, [3, 4, 6])
    return made.drop(columns="flops"), rows


@fault("off_centre")
def only_small_sizes(r: Random) -> Planted:
    return _thinned(sweep(r, sizes=11), 2.43e20, [0, 1, 2, 3, 4])


@fault("off_centre")
def only_large_sizes(r: Random) -> Planted:
    return _thinned(sweep(r, sizes=12, noise=0.001), 3e18, [6, 7, 8, 9, 10, 11])


@fault("off_centre")
def one_of_four_curves(r: Random) -> Planted:
    return _thinned(sweep(r, computes=4, sizes=11), 9e18, [5, 6, 7, 8, 9, 10])


@fault("duplicates")
def copied_rows(r: Random) -> Planted:
    made = sweep(r)
    return pd.concat([made, made.iloc[[8, 9, 31]]], ignore_index=True), [40, 41, 42]


@fault("duplicates")
def same_run_by_two_names(r: Random) -> Planted:
    made = ladder(r).assign(run_name=[f"ladder-{k}" for k in range(10)])
    again = made.iloc[[4]].assign(run_name="ladder-4-rerun")
    return pd.concat([made, again], ignore_index=True), [10]


@fault("duplicates")
def same_run_merged_from_two_exports(r: Random) -> Planted:
    made = grid(r).assign(source_file="march.csv", wall_hours=r.uniform(2, 90, 30))
    again = made.iloc[[2, 11, 19, 26]].assign(source_file="april.csv")
    return pd.concat([made, again], ignore_index=True), [30, 31, 32, 33]


@fault("undertuned")
def one_rung(r: Random) -> Planted:
    made = ladder(r, sizes=12)
    made.loc[7, "val_loss"] *= 1.03
    return made, [7]


@fault("undertuned")
def one_row_of_a_grid(r: Random) -> Planted:
    made = grid(r)
    wrong = np.isclose(made.model_size, 4e8)
    return made.assign(loss=made.loss * np.where(wrong, 1.025, 1.0)), np.flatnonzero(wrong).tolist()


@fault("undertuned")
def one_size_of_a_sweep(r: Random) -> Planted:
    sizes = 4e7 * 1.6 ** np.arange(10)
    c, n = (v.ravel() for v in np.meshgrid([1e19, 2.5e19, 6e19, 1.5e20], sizes))
    made = pd.DataFrame({"compute": c, "params": n, "tokens": c / 6 / n})
    made["loss"] = surface(made.params, made.tokens, r, 0.001)
    wrong = np.isclose(made.params, sizes[6])
    return made.assign(loss=made.loss * np.where(wrong, 1.02, 1.0)), np.flatnonzero(wrong).tolist()


@fault("contaminated")
def one_task_of_one_model(r: Random) -> Planted:
    made = scored(r)
    made.loc[15, "hellaswag_acc"] += 0.15
    return made, [15]


@fault("contaminated")
def a_family_in_percent(r: Random) -> Planted:
    made = scored(r, runs=40)
    scores = [c for c in made if c.endswith("_acc")]
    made.loc[[20, 21, 22], "arc_easy_acc"] += 0.14
    return made.assign(**{c: 100 * made[c] for c in scores}), [20, 21, 22]


@fault("contaminated")
def a_small_model(r: Random) -> Planted:
    made = scored(r, runs=30)[["params", "c4_loss", "arc_easy_acc"]].rename(columns={"arc_easy_acc": "mmlu"})
    made.loc[4, "mmlu"] += 0.12
    return made, [4]


@fault("other_flops")
def twice_the_tokens(r: Random) -> Planted:
    made, wrong = sweep(r), [6, 18, 33]
    made.loc[wrong, "n_tokens"] *= 2
    return made, wrong


@fault("other_flops")
def rematerialised(r: Random) -> Planted:
    made = grid(r)
    return made.assign(total_flops=8 * made.model_size * made.tokens), []


@fault("other_flops")
def forward_only_in_a_ladder(r: Random) -> Planted:
    made = ladder(r, sizes=12)
    factor = np.where(np.arange(12) == 5, 2.0, 6.0)
    return made.assign(compute=factor * made.params * made.tokens), [5]


# --- ten more, written after the audit was mended on those above ------------------------------------------


@fault("counted_parameters")
def wte_and_total(r: Random) -> Planted:
    made = sweep(r, noise=0.001)
    body = made.pop("n_params")
    return made.assign(total_params=body + 2e6 * body ** (1 / 3), non_embedding_params=body), []


@fault("mixed_schedules")
def rate_schedule_of_logs(r: Random) -> Planted:
    made = logs(r)
    wrong = made.run.isin(["run-1", "run-2"])
    return made.assign(annealing=np.where(wrong, "none", "linear")), np.flatnonzero(wrong).tolist()


@fault("unfinished")
def tokens_seen_of_budgeted(r: Random) -> Planted:
    made, wrong = ladder(r), [8, 9]
    made["token_budget"] = made.tokens
    made.loc[wrong, "tokens"] *= 0.6
    made["val_loss"] = surface(made.params, made.tokens, r)
    return made, wrong


@fault("edge_of_grid")
def weight_decay_at_the_top(r: Random) -> Planted:
    rows = []
    for n in 1e8 * 3.0 ** np.arange(4):
        for wd in (0.01, 0.03, 0.1, 0.3):
            best = 0.06 if n < 2e9 else 0.9
            rows.append((n, 20 * n, wd, surface(n, 20 * n, r, 3e-4) * (1 + 0.008 * np.log(wd / best) ** 2)))
    made = pd.DataFrame(rows, columns=["Parameters", "Tokens", "wd", "Validation loss"])
    return made, [15]


@fault("few_points")
def two_curves_of_two_and_three(r: Random) -> Planted:
    made, _ = _thinned(sweep(r, computes=6), 3e18, [3, 5])
    made, _ = _thinned(made, 9e18, [2, 4, 5])
    made = made.rename(columns={"flops": "C", "n_params": "N", "n_tokens": "D", "eval_loss": "L"})
    return made, [0, 1, 2, 3, 4]


@fault("off_centre")
def smallest_of_seven_without_budget(r: Random) -> Planted:
    made, rows = _thinned(sweep(r, computes=7, sizes=12, noise=0.001), 3e18 * 3.0**5, [7, 8, 9, 10, 11])
    return made.drop(columns="flops"), rows


@fault("duplicates")
def copies_printed_shorter(r: Random) -> Planted:
    made = ladder(r).assign(val_loss=lambda t: t.val_loss + 1e-6 * r.standard_normal(len(t)))
    return pd.concat([made, made.iloc[[1, 6]].round({"val_loss": 4})], ignore_index=True), [10, 11]


@fault("undertuned")
def one_width(r: Random) -> Planted:
    width = np.array([128, 192, 256, 384, 512, 768, 1024, 1536])
    loss = (2.1 + 90 / width**0.8) * np.exp(0.002 * r.standard_normal(8))
    loss[5] *= 1.03
    return pd.DataFrame({"d_model": width, "final_train_loss": loss}), [5]


@fault("contaminated")
def gsm8k_of_two(r: Random) -> Planted:
    made = scored(r, runs=20)[["params", "tokens", "c4_loss", "piqa_acc"]].rename(
        columns={"piqa_acc": "gsm8k"}
    )
    made["gsm8k"] = 2 * (made.gsm8k - 0.5).clip(0) * 0.8
    made.loc[[11, 13], "gsm8k"] += 0.2
    return made, [11, 13]


@fault("other_flops")
def active_parameters_in_some(r: Random) -> Planted:
    made, wrong = grid(r), [3, 14, 28]
    compute = 6 * made.model_size * made.tokens
    compute[wrong] /= 4
    return made.assign(train_flops=compute), wrong


# --- twenty clean tables ----------------------------------------------------------------------------------


@clean
def plain_sweep(r: Random) -> pd.DataFrame:
    return sweep(r)


@clean
def wide_sweep(r: Random) -> pd.DataFrame:
    return sweep(r, computes=7, sizes=12, span=10)


@clean
def noisy_sweep(r: Random) -> pd.DataFrame:
    return sweep(r, sizes=11, noise=0.005)


@clean
def sweep_with_attention_flops(r: Random) -> pd.DataFrame:
    made = sweep(r)
    return made.assign(flops=made.flops, n_tokens=(made.n_tokens * r.uniform(0.95, 1.0, len(made))).round())


@clean
def sweep_with_seeds(r: Random) -> pd.DataFrame:
    made = pd.concat([sweep(r).assign(seed=s) for s in range(3)], ignore_index=True)
    return made.assign(state="finished", schedule="cosine")


@clean
def sweep_without_budget(r: Random) -> pd.DataFrame:
    return sweep(r, computes=4, sizes=9).drop(columns="flops")


@clean
def two_experiments_of_two_schedules(r: Random) -> pd.DataFrame:
    parts = [sweep(r).assign(experiment=f"e-{s}", lr_schedule=s) for s in ("cosine", "wsd")]
    return pd.concat(parts, ignore_index=True)


@clean
def plain_ladder(r: Random) -> pd.DataFrame:
    return ladder(r)


@clean
def long_ladder(r: Random) -> pd.DataFrame:
    return ladder(r, sizes=14, noise=0.004)


@clean
def ladder_of_equal_exponents(r: Random) -> pd.DataFrame:
    made = ladder(r)
    return made.assign(params_with_embeddings=made.params * 1.08)


@clean
def plain_grid(r: Random) -> pd.DataFrame:
    return grid(r)


@clean
def grid_with_compute(r: Random) -> pd.DataFrame:
    made = grid(r, noise=0.005)
    return made.assign(compute=6.05 * made.model_size * made.tokens, weight_decay=0.1, warmup_steps=2000)


@clean
def grid_in_many_units(r: Random) -> pd.DataFrame:
    made = grid(r).rename(columns={"model_size": "n_params", "loss": "val_bpb"})
    return made.assign(val_bpb=made.val_bpb / 3.2, status="completed", decay=0.2)


@clean
def plain_rates(r: Random) -> pd.DataFrame:
    return rates(r)


@clean
def widths_and_rates(r: Random) -> pd.DataFrame:
    rows = []
    for width in (128, 256, 512, 1024, 2048):
        for power in range(-12, -5):
            loss = 2.6 + 300 / width + 0.02 * (power + 9) ** 2 + 0.002 * r.standard_normal()
            rows.append((width, 2.0**power, 0, loss))
    return pd.DataFrame(rows, columns=["width", "learning_rate", "diverged", "val_loss"])


@clean
def whole_logs(r: Random) -> pd.DataFrame:
    return logs(r)


@clean
def last_rows_of_logs(r: Random) -> pd.DataFrame:
    return logs(r).groupby("run", as_index=False).last().assign(state="finished")


@clean
def plain_scores(r: Random) -> pd.DataFrame:
    return scored(r)


@clean
def few_questions(r: Random) -> pd.DataFrame:
    return scored(r, runs=50, questions=120)


@clean
def amounts_of_data(r: Random) -> pd.DataFrame:
    d = np.repeat(1000 * 2.0 ** np.arange(9), 3)
    error = (3 * d**-0.35 + 0.02) * np.exp(0.02 * r.standard_normal(27))
    return pd.DataFrame({"train_examples": d, "seed": np.tile(range(3), 9), "test_error": error})


def random_of(made: Callable[..., Any], draw: int) -> Random:
    """Numbers that a table's name and the draw alone decide."""
    return np.random.default_rng([zlib.crc32(made.__name__.encode()), draw])


def judged(made: Callable[[Random], Any], kind: str, draw: int) -> dict[str, Any]:
    """One table: whether its fault is found, and the other rows that are named."""
    table, wrong = made(random_of(made, draw)) if kind else (made(random_of(made, draw)), [])
    row = {"kind": kind or "clean", "table": made.__name__, "rows": len(table) - len(wrong)}
    try:
        doubts = audit(table).doubts
    except ScalinglabError as error:
        return {**row, "found": False, "false": 0, "doubts": type(error).__name__}
    own, known = {*wrong}, {each for each, _ in FAULTS["first"]}
    kinds = {*kind.split("/")}
    if kinds <= known:
        mine = [d for d in doubts if d.kind in kinds]
    else:
        mine = [d for d in doubts if 2 * len(own & {*d.rows}) >= len({*d.rows}) > 0]
    named = {place for d in mine for place in d.rows}
    others = {place for d in doubts for place in d.rows} - own
    found = bool(mine) if not wrong else 2 * len(named & own) >= len(wrong)
    return {
        **row,
        "found": found,
        "false": len(others),
        "doubts": " ".join(f"{d.kind}:{len(d.rows)}" for d in doubts),
    }


def main() -> None:
    """Print the numbers."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", action="store_true", help="every table")
    parser.add_argument("--set", choices=FAULTS, default="first", help="of tables")
    parser.add_argument("--draws", type=int, default=1, help="of the noise of every table")
    parser.add_argument("--first", type=int, default=0, help="of these draws")
    asked = parser.parse_args()
    draws = range(asked.first, asked.first + asked.draws)
    cases = [*FAULTS[asked.set], *(("", made) for made in CLEAN[asked.set])]
    found = pd.DataFrame([judged(made, kind, draw) for draw in draws for kind, made in cases])
    if asked.rows:
        print(found.to_string(index=False))
    wrong, right = found[found["kind"] != "clean"], found[found["kind"] == "clean"]
    print(wrong.groupby("kind", sort=False)["found"].agg(["sum", "count"]).to_string())
    others, named = (int(wrong[c].sum()) for c in ("rows", "false"))
    print(f"found {wrong['found'].sum()} of {len(wrong)}; other rows named: {named} of {others}")
    doubted = (right["doubts"] != "").sum()
    print(f"doubts about {doubted} of {len(right)} clean tables, {right['false'].sum()} rows")


if __name__ == "__main__":
    main()
