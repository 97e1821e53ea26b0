"""Thirty tables with a fault and ten without, of trackers' exports, laboratories' sheets and papers' tables.

Written without sight of the audit's code, together with `december`, and committed before its first reading.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from audit_parts.registry import Planted, Random, register

fault, clean = register("january")


def loss_of(n: object, d: object, r: Random, noise: float = 0.002) -> np.ndarray:
    """Losses 1.4 + 90 N^-0.28 + 400 D^-0.3 of runs, with noise."""
    n, d = np.asarray(n, float), np.asarray(d, float)
    return np.asarray((1.4 + 90 * n**-0.28 + 400 * d**-0.3) * np.exp(noise * r.standard_normal(n.shape)))


def export(r: Random, sizes: int = 6, repeats: int = 5, noise: float = 0.002) -> pd.DataFrame:
    """A tracker's export: a row a run, configuration and summary apart."""
    n, ratio = (v.ravel() for v in np.meshgrid(3e7 * 2.2 ** np.arange(sizes), 5 * 2.0 ** np.arange(repeats)))
    made = pd.DataFrame({"Name": [f"run-{k}" for k in range(len(n))], "config.model.params": n})
    loss = loss_of(n, n * ratio, r, noise)
    return made.assign(**{"config.train.tokens": n * ratio, "summary.eval/loss": loss})


def profile(r: Random, budgets: object, shifts: object, noise: float = 0.0015) -> pd.DataFrame:
    """Budgets, each with sizes that lie e^shift from its best one."""
    parts = []
    for c in np.asarray(budgets, float):
        tries = np.geomspace(1e6, 1e12, 6000)
        n = tries[np.argmin(90 * tries**-0.28 + 400 * (c / 6 / tries) ** -0.3)] * np.exp(np.asarray(shifts))
        parts.append(pd.DataFrame({"budget": c, "parameters": n, "training_tokens": c / 6 / n}))
    made = pd.concat(parts, ignore_index=True)
    return made.assign(final_val_loss=loss_of(made.parameters, made.training_tokens, r, noise))


def profiles(r: Random, each: dict[float, object], odd: float, noise: float = 0.0015) -> Planted:
    """Budgets with their own shifts, and the rows of the odd one."""
    parts = [profile(r, [c], shifts, noise) for c, shifts in each.items()]
    made = pd.concat(parts, ignore_index=True)
    return made, np.flatnonzero(np.isclose(made.budget, odd)).tolist()


WHOLE = np.linspace(-1.5, 1.5, 7)


def curves_of(r: Random, runs: int = 7) -> pd.DataFrame:
    """Losses along runs of one width each, to a horizon."""
    parts = []
    for k in range(runs):
        width, horizon = 128 * (k + 1), 4000 * (k + 2)
        step = np.linspace(horizon / 10, horizon, 10).round()
        loss = loss_of(12 * 8 * width**2, step * 2**19, r, 0.001)
        parts.append(pd.DataFrame({"run_name": f"w{width}", "n_embd": width, "iter": step,
                                   "max_iters": horizon, "val/loss": loss}))  # fmt: skip
    return pd.concat(parts, ignore_index=True)


def board(r: Random, rows: int = 26) -> pd.DataFrame:
    """A table of scores in percent beside the perplexity."""
    n = np.sort(np.exp(r.uniform(np.log(1e8), np.log(3e10), rows)))
    loss = loss_of(n, 40 * n, r)
    u = 1 / (1 + np.exp(14 * (loss - np.median(loss))))
    made = pd.DataFrame({"#params": n, "bits_per_byte": loss / 3})
    for name, chance, top in (("ARC-c", 0.25, 0.8), ("HumanEval", 0.0, 0.5), ("BoolQ", 0.5, 0.9)):
        made[name] = (100 * r.binomial(800, chance + (top - chance) * u) / 800).round(2)
    return made


@fault("counted_parameters")
def embedding_matrix_apart(r: Random) -> Planted:
    made = profile(r, 1e18 * 3.0 ** np.arange(5), WHOLE, 0.001)
    table = 50304 * (made.parameters / 150) ** (1 / 3)
    return made.rename(columns={"parameters": "transformer_params"}).assign(token_embedding_params=table), []


@fault("counted_parameters")
def two_counts_of_an_export(r: Random) -> Planted:
    made = profile(r, 1e18 * 3.0 ** np.arange(4), WHOLE, 0.001)
    both = made.parameters + 2 * 32768 * (made.parameters / 200) ** (1 / 3)
    made = made.assign(**{"config/params_all": both, "config/params_non_embedding": made.parameters})
    return made.drop(columns="parameters"), []


@fault("counted_parameters")
def vocabulary_of_a_sheet(r: Random) -> Planted:
    made = profile(r, 2e18 * 2.5 ** np.arange(5), WHOLE, 0.001)
    width = 64 * np.maximum(2, np.round((made.parameters / 120) ** (1 / 3) / 64))
    return made.assign(d_model=width, vocab=100_000), []


@fault("mixed_schedules")
def decay_fraction_of_export(r: Random) -> Planted:
    made, wrong = export(r), [3, 10, 28]
    share = np.full(len(made), 0.15)
    share[wrong] = 0.0
    return made.assign(**{"config.optim.decay_fraction": share}), wrong


@fault("mixed_schedules")
def words_of_schedules(r: Random) -> Planted:
    made, wrong = profile(r, 1e19 * 2.0 ** np.arange(5), WHOLE), [*range(14, 18)]
    kind = np.full(len(made), "cosine to 10 %", dtype=object)
    kind[wrong] = "constant, then linear"
    return made.assign(**{"LR schedule": kind}), wrong


@fault("mixed_schedules")
def cosine_lengths(r: Random) -> Planted:
    made, wrong = export(r), [8, 9]
    tokens = made["config.train.tokens"]
    cycle = tokens.copy()
    cycle[wrong] *= 4
    return made.assign(**{"config.train.cosine_cycle_tokens": cycle}), wrong


@fault("unfinished")
def failed_of_export(r: Random) -> Planted:
    made, wrong = export(r), [1, 12, 22]
    state = np.full(len(made), "finished", dtype=object)
    state[wrong] = "failed"
    return made.assign(State=state), wrong


@fault("unfinished")
def one_horizon_not_reached(r: Random) -> Planted:
    made = curves_of(r)
    gone = (made.run_name == "w640") & (made["iter"] > 0.7 * made.max_iters)
    made = made[~gone].reset_index(drop=True)
    return made, np.flatnonzero(made.run_name == "w640").tolist()


@fault("unfinished")
def percent_complete(r: Random) -> Planted:
    made, wrong = profile(r, 1e19 * 2.0 ** np.arange(5), WHOLE), [6, 20, 33]
    done = np.full(len(made), 100.0)
    done[wrong] = [62, 88, 45]
    return made.assign(pct_complete=done), wrong


@fault("edge_of_grid")
def peak_rates_of_a_sheet(r: Random) -> Planted:
    rows = [(d, lr, loss_of(1e8, d, r, 2e-4) * (1 + 0.009 * np.log(lr / (7e-4 if d > 2e9 else 9e-3)) ** 2))
            for d in (1e9, 3e9, 9e9, 2.7e10) for lr in (1e-4, 3e-4, 6e-4, 1e-3, 2e-3)]  # fmt: skip
    made = pd.DataFrame(rows, columns=["Dataset tokens", "Peak LR", "Eval loss"])
    return made, [int(made[made["Dataset tokens"] < 2e9]["Eval loss"].idxmin())]


@fault("edge_of_grid")
def rates_of_an_export(r: Random) -> Planted:
    rows = [(f"{w}-{lr:g}", w, lr, loss_of(3000 * w**2, 1e10, r, 2e-4)
             * (1 + 0.01 * np.log(lr * w / (1.0 if w < 1500 else 12.0)) ** 2))
            for w in (256, 512, 1024, 2048) for lr in 2.0 ** np.arange(-12, -7)]  # fmt: skip
    columns = ["Name", "config.d_model", "config.learning_rate", "summary.val_loss"]
    made = pd.DataFrame(rows, columns=columns)
    wide = made[made["config.d_model"] == 2048]
    small = made[made["config.d_model"] == 256]
    return made, [int(wide["summary.val_loss"].idxmin()), int(small["summary.val_loss"].idxmin())]


@fault("edge_of_grid")
def batches_at_the_top(r: Random) -> Planted:
    rows = [(n, b, loss_of(n, 3e9, r, 2e-4) * (1 + 0.006 * np.log(b / (64 if n < 2e8 else 2048)) ** 2))
            for n in (3e7, 6e7, 1.2e8, 2.4e8) for b in (16, 32, 64, 128, 256)]  # fmt: skip
    made = pd.DataFrame(rows, columns=["n_params", "batch", "loss"])
    return made, [int(made[made.n_params > 2e8].loss.idxmin())]


@fault("few_points")
def three_around_the_best(r: Random) -> Planted:
    each = {1e18 * 4.0**k: WHOLE for k in range(5)} | {1.6e19: [-0.6, 0.1, 0.7]}
    return profiles(r, each, 1.6e19)


@fault("few_points")
def largest_of_two(r: Random) -> Planted:
    each = {1e19 * 3.0**k: WHOLE for k in range(4)} | {8.1e20: [-0.5, 0.4]}
    return profiles(r, each, 8.1e20)


@fault("few_points")
def three_beside_tens(r: Random) -> Planted:
    each = {5e18 * 2.0**k: np.linspace(-2, 2, 12) for k in range(5)} | {4e19: [-1.0, 0.0, 1.2]}
    made, wrong = profiles(r, each, 4e19)
    return made.drop(columns="training_tokens"), wrong


@fault("off_centre")
def largest_budget_from_below(r: Random) -> Planted:
    each = {1e18 * 4.0**k: np.linspace(-2, 2, 9) for k in range(4)} | {2.56e20: np.linspace(-2.2, -0.3, 6)}
    return profiles(r, each, 2.56e20, 0.001)


@fault("off_centre")
def smallest_budget_from_above(r: Random) -> Planted:
    each = {1e18: np.linspace(0.4, 2.6, 7)} | {1e18 * 3.0**k: np.linspace(-2, 2, 9) for k in range(1, 5)}
    made, wrong = profiles(r, each, 1e18, 0.001)
    return made.assign(series="a"), wrong


@fault("off_centre")
def one_series_of_two(r: Random) -> Planted:
    whole = profile(r, 1e19 * 2.0 ** np.arange(4), np.linspace(-1.8, 1.8, 8)).assign(series="web")
    each = {1e19 * 2.0**k: np.linspace(-1.8, 1.8, 8) for k in range(4)} | {4e19: np.linspace(0.3, 2.4, 7)}
    made, _ = profiles(r, each, 4e19)
    made = pd.concat([whole, made.assign(series="books")], ignore_index=True)
    wrong = np.isclose(made.budget, 4e19) & (made.series == "books")
    return made, np.flatnonzero(wrong).tolist()


@fault("duplicates")
def retried_runs(r: Random) -> Planted:
    made = export(r)
    again = made.iloc[[6, 25]].assign(Name=["run-6-retry", "run-25-retry"])
    return pd.concat([made, again], ignore_index=True), [30, 31]


@fault("duplicates")
def points_of_two_figures(r: Random) -> Planted:
    made = profile(r, 1e19 * 2.0 ** np.arange(4), WHOLE).assign(figure="2a")
    again = made.iloc[[0, 7, 14, 21]].assign(figure="3b")
    return pd.concat([made, again], ignore_index=True), [28, 29, 30, 31]


@fault("duplicates")
def digitised_twice(r: Random) -> Planted:
    made = profile(r, 1e19 * 2.0 ** np.arange(4), WHOLE)
    again = made.iloc[[4, 19]] * (1 + 1e-7)
    return pd.concat([made, again], ignore_index=True), [28, 29]


@fault("undertuned")
def one_size_of_an_export(r: Random) -> Planted:
    made = export(r, noise=0.001)
    wrong = np.isclose(made["config.model.params"], 3e7 * 2.2**3)
    made["summary.eval/loss"] *= np.where(wrong, 1.02, 1.0)
    return made, np.flatnonzero(wrong).tolist()


@fault("undertuned")
def smallest_of_a_ladder(r: Random) -> Planted:
    n = np.array([1.4e8, 3e8, 6e8, 1.2e9, 2.5e9, 5e9, 1e10, 2e10])
    made = pd.DataFrame({"size": ["140M", "300M", "600M", "1.2B", "2.5B", "5B", "10B", "20B"], "params": n,
                         "loss": loss_of(n, 20 * n, r, 0.0008)})  # fmt: skip
    made.loc[3, "loss"] *= 1.025
    return made, [3]


@fault("undertuned")
def one_width_of_a_log(r: Random) -> Planted:
    width = np.array([96, 144, 192, 288, 384, 576, 768, 1152, 1536])
    error = (0.05 + 6 / width**0.7) * np.exp(0.003 * r.standard_normal(9))
    error[4] *= 1.06
    return pd.DataFrame({"width": width, "test_error": error}), [4]


@fault("contaminated")
def humaneval_of_one(r: Random) -> Planted:
    made = board(r)
    made.loc[10, "HumanEval"] += 16
    return made, [10]


@fault("contaminated")
def arc_of_two(r: Random) -> Planted:
    made = board(r, 34)
    made.loc[[7, 20], "ARC-c"] += 17
    return made, [7, 20]


@fault("contaminated")
def boolq_of_a_fraction(r: Random) -> Planted:
    made = board(r)[["#params", "bits_per_byte", "BoolQ"]]
    made["BoolQ"] /= 100
    made.loc[3, "BoolQ"] += 0.15
    return made, [3]


@fault("other_flops")
def one_budget_counts_forward_alone(r: Random) -> Planted:
    made = profile(r, 1e19 * 2.0 ** np.arange(5), WHOLE)
    wrong = np.isclose(made.budget, 4e19)
    made = made.rename(columns={"budget": "train_flops"})
    made.loc[wrong, "train_flops"] /= 3
    return made, np.flatnonzero(wrong).tolist()


@fault("other_flops")
def total_counts_of_an_export(r: Random) -> Planted:
    made, wrong = export(r), [5, 11, 17]
    flops = 6 * made["config.model.params"] * made["config.train.tokens"]
    flops[wrong] *= 1.6
    return made.assign(**{"config.train.total_flops": flops}), wrong


@fault("other_flops")
def activation_recomputed_everywhere(r: Random) -> Planted:
    made = profile(r, 1e19 * 2.0 ** np.arange(5), WHOLE).drop(columns="budget")
    return made.assign(flop=8 * made.parameters * made.training_tokens), []


@clean
def plain_export(r: Random) -> pd.DataFrame:
    return export(r).assign(State="finished")


@clean
def noisy_export(r: Random) -> pd.DataFrame:
    return export(r, noise=0.006)


@clean
def plain_profiles(r: Random) -> pd.DataFrame:
    return profile(r, 1e18 * 4.0 ** np.arange(5), WHOLE)


@clean
def shifted_a_little(r: Random) -> pd.DataFrame:
    parts = [profile(r, [1e18 * 3.0**k], WHOLE + 0.15 * (-1) ** k) for k in range(6)]
    return pd.concat(parts, ignore_index=True)


@clean
def plain_board(r: Random) -> pd.DataFrame:
    return board(r)


@clean
def finished_curves(r: Random) -> pd.DataFrame:
    return curves_of(r)


@clean
def rates_with_valleys(r: Random) -> pd.DataFrame:
    rows = [(w, lr, loss_of(3000 * w**2, 1e10, r, 2e-4) * (1 + 0.01 * np.log(lr * w) ** 2))
            for w in (256, 512, 1024, 2048) for lr in 2.0 ** np.arange(-14, -5)]  # fmt: skip
    return pd.DataFrame(rows, columns=["d_model", "lr", "loss"])


@clean
def a_ladder_of_words(r: Random) -> pd.DataFrame:
    n = np.array([1.4e8, 3e8, 6e8, 1.2e9, 2.5e9, 5e9, 1e10])
    return pd.DataFrame({"size": ["140M", "300M", "600M", "1.2B", "2.5B", "5B", "10B"], "params": n,
                         "schedule": "cosine", "loss": loss_of(n, 20 * n, r)})  # fmt: skip


@clean
def seeds_of_widths(r: Random) -> pd.DataFrame:
    width = np.repeat([64, 128, 256, 512, 1024], 4)
    error = (0.05 + 6 / width**0.7) * np.exp(0.02 * r.standard_normal(20))
    return pd.DataFrame({"width": width, "seed": np.tile(range(4), 5), "test_error": error})


@clean
def cycle_equal_to_tokens(r: Random) -> pd.DataFrame:
    made = export(r)
    return made.assign(**{"config.train.cosine_cycle_tokens": made["config.train.tokens"]})
