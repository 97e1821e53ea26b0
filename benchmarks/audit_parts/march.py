"""Thirty tables with a fault and ten without: proteins, speech, forecasts, scoreboards, sheets with units.

Its author had read the audit's checks; committed before its first reading.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from audit_parts.registry import Planted, Random, register

fault, clean = register("march")


def law(n: object, d: object, r: Random, noise: float = 0.002) -> np.ndarray:
    """Losses 2.1 + 60 N^-0.27 + 700 D^-0.34 of runs, with noise."""
    n, d = np.asarray(n, float), np.asarray(d, float)
    return np.asarray((2.1 + 60 * n**-0.27 + 700 * d**-0.34) * np.exp(noise * r.standard_normal(n.shape)))


def proteins(r: Random, noise: float = 0.0012) -> pd.DataFrame:
    """Eight sizes of masked protein models at four amounts of residues."""
    n, d = (v.ravel() for v in np.meshgrid(8e6 * 2.1 ** np.arange(8), 2e9 * 3.0 ** np.arange(4)))
    return pd.DataFrame({"arch": "esm", "n_parameters": n, "residues_seen (tokens)": d,
                         "valid_mlm_loss": law(n, d, r, noise)})  # fmt: skip


def sheet(r: Random, each: dict[float, object], noise: float = 0.0012) -> pd.DataFrame:
    """Budgets in a sheet with units in its headers, sizes e^shift from the best."""
    rows = []
    for c, shifts in each.items():
        tries = np.geomspace(1e6, 1e12, 5000)
        best = tries[np.argmin(60 * tries**-0.27 + 700 * (c / 6 / tries) ** -0.34)]
        rows += [(c / 1e18, best * np.exp(s) / 1e6, c / 6 / best / np.exp(s) / 1e9) for s in np.ravel(shifts)]
    made = pd.DataFrame(rows, columns=["Compute (EFLOP)", "Params [M]", "Tokens [B]"])
    return made.assign(Loss=law(1e6 * made["Params [M]"], 1e9 * made["Tokens [B]"], r, noise).round(5))


NINE = np.linspace(-1.8, 1.8, 9)


def even(count: int, first: float = 2e18, factor: float = 3.0) -> dict[float, object]:
    """Nine sizes at every budget."""
    return {first * factor**k: NINE for k in range(count)}


def at(made: pd.DataFrame, c: float) -> Planted:
    """The table and the rows of one budget."""
    return made, np.flatnonzero(np.isclose(made["Compute (EFLOP)"], c / 1e18)).tolist()


def forecasts(r: Random, noise: float = 0.001) -> pd.DataFrame:
    """Time-series models of a ladder, each at thirty points a parameter."""
    n = 1e6 * 2.4 ** np.arange(11)
    return pd.DataFrame({"model": [f"ts-{k}" for k in range(11)], "total_params": n, "train_tokens": 30 * n,
                         "val_nll": law(n, 30 * n, r, noise)})  # fmt: skip


def scoreboard(r: Random, rows: int = 30) -> pd.DataFrame:
    """Checkpoints with a loss and three scores from 0 to 1."""
    n = np.geomspace(1e8, 4e10, rows)
    d = n * r.choice([15, 40, 150], rows)
    loss = law(n, d, r)
    middle = float(np.median(loss))
    made = pd.DataFrame({"params": n, "tokens": d, "loss": loss})
    for name, chance, shift in (
        ("mmlu_5shot", 0.25, -0.02),
        ("gsm8k_em", 0.0, -0.04),
        ("PIQA acc", 0.5, 0.03),
    ):
        u = 1 / (1 + np.exp(12 * (loss - middle - shift)))
        made[name] = r.binomial(1400, chance + (0.9 - chance) * u) / 1400
    return made


def tuned(
    r: Random, best: list[float], values: object, by: str, sizes: object = (2e7, 6e7, 1.8e8, 5.4e8)
) -> Planted:
    """A search over one setting at every size; wrong are best runs of sizes whose best lies outside."""
    values, rows = np.asarray(values, float), []
    for n, own in zip(np.ravel(sizes), best, strict=True):
        loss = law(n, 20 * n, r, 0.0) * (1 + 0.01 * np.log(values / own) ** 2)
        loss *= np.exp(2e-4 * r.standard_normal(len(values)))
        rows += [(n, 20 * n, v, y) for v, y in zip(values, loss, strict=True)]
    made = pd.DataFrame(rows, columns=["params", "tokens", by, "eval/loss"])
    out = [n for n, own in zip(np.ravel(sizes), best, strict=True) if not values.min() < own < values.max()]
    return made, [int(made[made.params == n]["eval/loss"].idxmin()) for n in out]


@fault("counted_parameters")
def body_and_everything_of_proteins(r: Random) -> Planted:
    n = 2e6 * 2.3 ** np.arange(9)
    made = pd.DataFrame({"params_excl_embedding": n, "params_incl_embedding": n + 33 * 4e4 * n**0.33 / 10,
                         "tokens": 20 * n, "loss": law(n, 20 * n, r, 0.0005)})  # fmt: skip
    return made, []


@fault("counted_parameters")
def lookup_table_of_a_ladder(r: Random) -> Planted:
    made = forecasts(r, 0.0005)
    return made.assign(embedding_table_params=8e3 * made.total_params**0.4), []


@fault("counted_parameters")
def vocabulary_and_width_of_a_sweep(r: Random) -> Planted:
    width = np.repeat(64 * np.array([2, 3, 4, 6, 8, 12, 16, 24]), 4)
    n = 12 * (width / 64) * width**2.0
    c = np.tile([1e17, 4e17, 1.6e18, 6.4e18], 8)
    made = pd.DataFrame({"flops": c, "embed_dim": width, "vocab": 64_000, "non_embedding_parameters": n})
    return made.assign(tokens=c / 6 / n, loss=law(n, c / 6 / n, r, 0.0005)), []


@fault("mixed_schedules")
def last_rate_is_not_zero(r: Random) -> Planted:
    made, wrong = proteins(r), [1, 12, 25]
    end = np.zeros(len(made))
    end[wrong] = 4e-4
    return made.assign(lr=4e-4, end_lr=end), wrong


@fault("mixed_schedules")
def warm_restarts_in_a_sheet(r: Random) -> Planted:
    made, wrong = sheet(r, even(4)), [7, 8, 30]
    kind = np.full(len(made), "Cosine", dtype=object)
    kind[wrong] = "Cosine w/ restarts"
    return made.assign(**{"LR scheduler": kind}), wrong


@fault("mixed_schedules")
def averaged_weights_in_place_of_a_decay(r: Random) -> Planted:
    made, wrong = forecasts(r), [3, 9]
    share = np.full(len(made), 0.1)
    share[wrong] = 0.0
    return made.assign(cooldown_frac=share), wrong


@fault("unfinished")
def updates_of_a_fairseq_log(r: Random) -> Planted:
    made, wrong = proteins(r), [2, 17]
    done = np.full(len(made), 500_000)
    done[wrong] = [310_000, 150_000]
    return made.assign(num_updates=done, max_update=500_000), wrong


@fault("unfinished")
def exit_codes_in_words(r: Random) -> Planted:
    made, wrong = sheet(r, even(4)), [0, 20]
    state = np.full(len(made), "Completed", dtype=object)
    state[wrong] = ["Node failure", "Timeout"]
    return made.assign(Job=state), wrong


@fault("unfinished")
def hours_of_speech_left(r: Random) -> Planted:
    n, hours = (v.ravel() for v in np.meshgrid(1e7 * 2.0 ** np.arange(6), 1e3 * 4.0 ** np.arange(4)))
    made = pd.DataFrame({"n_params": n, "n_data": hours * 9e4, "loss": law(n, hours * 9e4, r)})
    target, wrong = np.round(hours * 45), [5, 14]
    done = target.copy()
    done[wrong] = np.round(0.6 * done[wrong])
    return made.assign(optimizer_steps=done, scheduled_steps=target), wrong


@fault("edge_of_grid")
def dropouts(r: Random) -> Planted:
    return tuned(r, [0.11, 0.09, 0.1, 0.9], [0.02, 0.05, 0.1, 0.2, 0.4], "dropout")


@fault("edge_of_grid")
def rates_of_a_sheet(r: Random) -> Planted:
    return tuned(r, [3e-3, 2e-3, 1.1e-3, 5e-5], [1e-4, 3e-4, 1e-3, 3e-3, 1e-2], "max learning rate")


@fault("edge_of_grid")
def clips_and_temperatures(r: Random) -> Planted:
    return tuned(r, [0.5, 0.6, 9.0, 0.7], [0.1, 0.2, 0.5, 1.0, 2.0], "grad_clip")


@fault("few_points")
def a_budget_of_three(r: Random) -> Planted:
    return at(sheet(r, even(5) | {1.8e19: [-0.9, 0.1, 0.8]}), 1.8e19)


@fault("few_points")
def the_first_budget_of_two(r: Random) -> Planted:
    made, wrong = at(sheet(r, {5e17: [-0.3, 0.5]} | even(5)), 5e17)
    return made.assign(Date="2026-02-01"), wrong


@fault("few_points")
def a_budget_whose_others_were_lost(r: Random) -> Planted:
    made, wrong = at(sheet(r, even(5)), 5.4e19)
    made.loc[wrong[:5], "Loss"] = np.nan
    kept = made.dropna().reset_index(drop=True)
    return at(kept, 5.4e19)


@fault("off_centre")
def the_top_budget_without_large_models(r: Random) -> Planted:
    return at(sheet(r, even(5) | {4.86e20: np.linspace(-2.4, -0.4, 7)}, 0.0008), 4.86e20)


@fault("off_centre")
def a_middle_budget_without_small_models(r: Random) -> Planted:
    return at(sheet(r, even(5) | {1.8e19: np.linspace(0.4, 2.5, 8)}, 0.0008), 1.8e19)


@fault("off_centre")
def one_of_two_data_sets(r: Random) -> Planted:
    a = sheet(r, even(4), 0.0008).assign(dataset="a")
    b, _ = at(sheet(r, even(4) | {1.8e19: np.linspace(-2.5, -0.4, 8)}, 0.0008), 1.8e19)
    made = pd.concat([a, b.assign(dataset="b")], ignore_index=True)
    wrong = np.isclose(made["Compute (EFLOP)"], 18) & (made.dataset == "b")
    return made, np.flatnonzero(wrong).tolist()


@fault("duplicates")
def the_same_checkpoint_by_two_teams(r: Random) -> Planted:
    made = scoreboard(r).assign(team="north")
    again = made.iloc[[4, 21]].assign(team="south")
    return pd.concat([made, again], ignore_index=True), [30, 31]


@fault("duplicates")
def rows_pasted_below(r: Random) -> Planted:
    made = sheet(r, even(4))
    return pd.concat([made, made.iloc[10:15]], ignore_index=True), [*range(36, 41)]


@fault("duplicates")
def a_run_logged_under_two_ids(r: Random) -> Planted:
    made = proteins(r).assign(run_id=[f"{k:04x}" for k in range(40000, 40032)])
    again = made.iloc[[9, 30]].assign(run_id=["beef", "cafe"])
    return pd.concat([made, again], ignore_index=True), [32, 33]


@fault("undertuned")
def one_size_of_proteins(r: Random) -> Planted:
    made = proteins(r)
    wrong = np.isclose(made.n_parameters, 8e6 * 2.1**5)
    made["valid_mlm_loss"] *= np.where(wrong, 1.02, 1.0)
    return made, np.flatnonzero(wrong).tolist()


@fault("undertuned")
def one_model_of_forecasts(r: Random) -> Planted:
    made = forecasts(r, 0.0008)
    made.loc[6, "val_nll"] *= 1.025
    return made, [6]


@fault("undertuned")
def one_size_of_a_sheet(r: Random) -> Planted:
    c, n = (v.ravel() for v in np.meshgrid(1e19 * 2.5 ** np.arange(5), 5e7 * 1.7 ** np.arange(9)))
    made = pd.DataFrame({"Compute (EFLOP)": c / 1e18, "Params [M]": n / 1e6, "Tokens [B]": c / 6e9 / n})
    wrong = np.isclose(n, 5e7 * 1.7**4)
    return made.assign(Loss=law(n, c / 6 / n, r, 0.001) * np.where(wrong, 1.02, 1.0)), np.flatnonzero(
        wrong
    ).tolist()


@fault("contaminated")
def one_checkpoint_on_mmlu(r: Random) -> Planted:
    made = scoreboard(r)
    made.loc[14, "mmlu_5shot"] += 0.15
    return made, [14]


@fault("contaminated")
def two_checkpoints_on_gsm(r: Random) -> Planted:
    made = scoreboard(r, 36)
    made.loc[[8, 15], "gsm8k_em"] += 0.17
    return made, [8, 15]


@fault("contaminated")
def one_on_a_private_test(r: Random) -> Planted:
    made = scoreboard(r)[["params", "tokens", "loss", "mmlu_5shot"]]
    made = made.rename(columns={"mmlu_5shot": "exam_accuracy"})
    made.loc[11, "exam_accuracy"] += 0.15
    return made, [11]


@fault("other_flops")
def a_third_in_a_sheet(r: Random) -> Planted:
    made, wrong = sheet(r, even(5)), [3, 22, 40]
    made.loc[wrong, "Tokens [B]"] /= 3
    return made, wrong


@fault("other_flops")
def petaflop_days(r: Random) -> Planted:
    made, wrong = proteins(r), [6, 19]
    flops = 6 * made.n_parameters * made["residues_seen (tokens)"]
    flops.loc[wrong] *= 1.7
    return made.assign(train_flops=flops), wrong


@fault("other_flops")
def forward_and_backward_twice(r: Random) -> Planted:
    made = forecasts(r)
    return made.assign(flops=12 * made.total_params * made.train_tokens), []


@clean
def plain_proteins(r: Random) -> pd.DataFrame:
    return proteins(r)


@clean
def plain_sheet(r: Random) -> pd.DataFrame:
    return sheet(r, even(5)).assign(**{"LR scheduler": "Cosine", "Job": "Completed"})


@clean
def noisy_sheet(r: Random) -> pd.DataFrame:
    return sheet(r, even(6), 0.005)


@clean
def plain_forecasts(r: Random) -> pd.DataFrame:
    return forecasts(r)


@clean
def plain_scoreboard(r: Random) -> pd.DataFrame:
    return scoreboard(r)


@clean
def dropouts_inside(r: Random) -> pd.DataFrame:
    return tuned(r, [0.11, 0.09, 0.1, 0.12], [0.02, 0.05, 0.1, 0.2, 0.4], "dropout")[0]


@clean
def updates_that_all_end(r: Random) -> pd.DataFrame:
    return proteins(r).assign(num_updates=500_000, max_update=500_000, best_update=480_000)


@clean
def best_checkpoints(r: Random) -> pd.DataFrame:
    made = forecasts(r)
    steps = np.round(made.train_tokens / 2e5)
    best = steps * np.where(r.random(len(made)) < 0.7, 1.0, 0.9)
    return made.assign(steps=steps, best_step=best, eval_every=500)


@clean
def several_epochs_of_little_data(r: Random) -> pd.DataFrame:
    n, epochs = (v.ravel() for v in np.meshgrid(1e7 * 3.0 ** np.arange(5), [1, 2, 4, 8]))
    made = pd.DataFrame({"n_params": n, "unique_tokens": 2e9, "epochs": epochs.astype(int)})
    return made.assign(tokens=2e9 * made.epochs, loss=law(n, 2e9 * made.epochs, r))


@clean
def scores_of_few_questions(r: Random) -> pd.DataFrame:
    made = scoreboard(r, 40)[["params", "tokens", "loss"]]
    u = 1 / (1 + np.exp(12 * (made.loss - made.loss.median())))
    return made.assign(winograd_acc=r.binomial(273, 0.5 + 0.4 * u) / 273)
