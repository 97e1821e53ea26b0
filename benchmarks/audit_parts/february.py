"""Thirty tables with a fault and ten without, of trackers, launchers' arguments, scoreboards and papers.

Its author had read the audit's checks; committed before its first reading.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from audit_parts.registry import Planted, Random, register

fault, clean = register("february")


def loss_at(n: object, d: object, r: Random, noise: float = 0.002) -> np.ndarray:
    """Losses 1.6 + 150 N^-0.31 + 250 D^-0.28 of runs, with noise."""
    n, d = np.asarray(n, float), np.asarray(d, float)
    return np.asarray((1.6 + 150 * n**-0.31 + 250 * d**-0.28) * np.exp(noise * r.standard_normal(n.shape)))


def tracked(r: Random, noise: float = 0.002) -> pd.DataFrame:
    """A tracker's export with slashes: seven sizes at four ratios."""
    n, ratio = (v.ravel() for v in np.meshgrid(5e7 * 2.0 ** np.arange(7), [5, 20, 80, 160]))
    return pd.DataFrame({
        "name": [f"scaling-{k:03d}" for k in range(len(n))], "parameter_count": n,
        "throughput/total_tokens": n * ratio, "eval/paloma/c4_en/loss": loss_at(n, n * ratio, r, noise),
    })  # fmt: skip


def launched(r: Random, rungs: int = 9, noise: float = 0.001) -> pd.DataFrame:
    """A launcher's arguments: layers, widths, iterations of a batch, and the last loss."""
    layers = np.arange(4, 4 + 3 * rungs, 3)
    hidden = 96 * layers
    n, batch = 12.0 * layers * hidden**2, 512
    iters = np.round(25 * n / batch / 2048).astype(int) + 1
    made = pd.DataFrame({"num_layers": layers, "hidden_size": hidden, "seq_length": 2048,
                         "global_batch_size": batch, "train_iters": iters, "params": n})  # fmt: skip
    return made.assign(tokens=iters * batch * 2048.0, lm_loss=loss_at(n, iters * batch * 2048.0, r, noise))


def around(r: Random, each: dict[float, object], noise: float = 0.0012) -> pd.DataFrame:
    """Budgets with sizes e^shift from their best one."""
    parts = []
    for c, shifts in each.items():
        tries = np.geomspace(1e6, 1e12, 6000)
        n = tries[np.argmin(150 * tries**-0.31 + 250 * (c / 6 / tries) ** -0.28)] * np.exp(np.asarray(shifts))
        parts.append(pd.DataFrame({"Training FLOPs": c, "Model size": n, "Training tokens": c / 6 / n}))
    made = pd.concat(parts, ignore_index=True)
    return made.assign(**{"Test loss": loss_at(made["Model size"], made["Training tokens"], r, noise)})


SEVEN = np.linspace(-1.6, 1.6, 7)


def budgets(first: float, factor: float, count: int, shifts: object = SEVEN) -> dict[float, object]:
    """The same shifts at every budget."""
    return {first * factor**k: shifts for k in range(count)}


def of_budget(made: pd.DataFrame, c: float) -> Planted:
    """The table and the rows of one budget."""
    return made, np.flatnonzero(np.isclose(made["Training FLOPs"], c)).tolist()


def harness(r: Random, models: int = 28) -> pd.DataFrame:
    """Models with a validation loss and scores as an evaluation harness names them."""
    n = np.geomspace(6e7, 2e10, models) * np.exp(0.2 * r.standard_normal(models))
    d = n * r.choice([20, 60, 200], models)
    loss = loss_at(n, d, r)
    made = pd.DataFrame({"model": [f"m{k}" for k in range(models)], "n_params": n, "n_tokens": d,
                         "val_loss": loss})  # fmt: skip
    for name, chance, shift in (
        ("arc_challenge/acc_norm,none", 0.25, -0.03),
        ("hellaswag/acc_norm,none", 0.25, 0.05),
        ("winogrande/acc,none", 0.5, -0.02),
    ):
        u = 1 / (1 + np.exp(6 * (loss - np.median(loss) - shift)))
        made[name] = r.binomial(1200, chance + (0.93 - chance) * u) / 1200
    return made


def searched(r: Random, sizes: list[float], values: object, best: dict[float, float], by: str) -> Planted:
    """A search of one setting at every size; wrong is the best run of sizes whose best lies outside."""
    values = np.asarray(values, float)
    rows = [(n, 20 * n, v, loss_at(n, 20 * n, r, 2e-4) * (1 + 0.009 * np.log(v / best[n]) ** 2))
            for n in sizes for v in values]  # fmt: skip
    made = pd.DataFrame(rows, columns=["n_params", "n_tokens", by, "val_loss"])
    outside = [n for n in sizes if not values.min() < best[n] < values.max()]
    return made, [int(made[made.n_params == n].val_loss.idxmin()) for n in outside]


@fault("counted_parameters")
def launcher_with_a_padded_vocabulary(r: Random) -> Planted:
    made = launched(r)
    return made.assign(padded_vocab_size=50432), []


@fault("counted_parameters")
def trainable_and_without_embeddings(r: Random) -> Planted:
    made = around(r, budgets(1e18, 3, 5), 0.001)
    both = made["Model size"] + 2 * 50257 * (made["Model size"] / 100) ** (1 / 3)
    made["Params (w/ emb.)"] = both
    return made.rename(columns={"Model size": "Params (w/o emb.)"}), []


@fault("counted_parameters")
def untied_head_apart(r: Random) -> Planted:
    made = around(r, budgets(6e17, 4, 4), 0.001)
    table = 32000 * (made["Model size"] / 110) ** (1 / 3)
    return made.assign(n_embd_params=table, n_lm_head_params=table), []


@fault("mixed_schedules")
def decay_style_of_a_launcher(r: Random) -> Planted:
    made, wrong = launched(r), [2, 6]
    style = np.full(len(made), "cosine", dtype=object)
    style[wrong] = "WSD"
    return made.assign(lr_decay_style=style), wrong


@fault("mixed_schedules")
def tracked_schedule(r: Random) -> Planted:
    made, wrong = tracked(r), [0, 9, 13]
    kind = np.full(len(made), "linear", dtype=object)
    kind[wrong] = "constant"
    return made.assign(**{"optimizer/lr_schedule": kind}), wrong


@fault("mixed_schedules")
def annealed_yes_or_no(r: Random) -> Planted:
    made = around(r, budgets(1e19, 2, 5))
    wrong = [5, 18, 19, 30]
    kind = np.full(len(made), "yes", dtype=object)
    kind[wrong] = "no"
    return made.assign(**{"Annealed?": kind}), wrong


@fault("unfinished")
def iterations_behind_train_iters(r: Random) -> Planted:
    made, wrong = launched(r), [3, 7]
    done = made.train_iters.to_numpy().copy()
    done[wrong] = (0.7 * done[wrong]).astype(int)
    return made.assign(iteration=done), wrong


@fault("unfinished")
def epochs_of_a_trainer(r: Random) -> Planted:
    n, d = (v.ravel() for v in np.meshgrid(1e7 * 2.0 ** np.arange(6), 1e8 * 3.0 ** np.arange(4)))
    made, wrong = pd.DataFrame({"n_params": n, "tokens": d, "eval_loss": loss_at(n, d, r)}), [10, 15]
    epoch = np.full(len(made), 3.0)
    epoch[wrong] = [1.4, 2.2]
    return made.assign(epoch=epoch, num_train_epochs=3), wrong


@fault("unfinished")
def outcome_of_a_queue(r: Random) -> Planted:
    made, wrong = tracked(r), [4, 5, 21]
    outcome = np.full(len(made), "success", dtype=object)
    outcome[wrong] = ["oom", "success (partial)", "cancelled"]
    return made.assign(outcome=outcome), wrong


@fault("edge_of_grid")
def weight_decays(r: Random) -> Planted:
    sizes = [5e7, 1e8, 2e8, 4e8]
    best = dict(zip(sizes, (0.1, 0.09, 0.12, 2.0), strict=True))
    return searched(r, sizes, [0.01, 0.03, 0.1, 0.3, 1.0], best, "weight_decay")


@fault("edge_of_grid")
def adams_second_beta(r: Random) -> Planted:
    sizes = [5e7, 1e8, 2e8]
    rows = [(n, 20 * n, b, loss_at(n, 20 * n, r, 2e-4) * (1 + 0.004 * np.log((1 - b) / best) ** 2))
            for n, best in zip(sizes, (0.05, 0.04, 5e-4), strict=True)
            for b in (0.9, 0.95, 0.98, 0.99, 0.995)]  # fmt: skip
    made = pd.DataFrame(rows, columns=["params", "tokens", "adam_beta2", "loss"])
    return made, [int(made[made.params == 2e8].loss.idxmin())]


@fault("edge_of_grid")
def rates_in_powers_of_two(r: Random) -> Planted:
    sizes = [3e7, 9e7, 2.7e8, 8.1e8]
    best = dict(zip(sizes, (-9.3, -10.1, -14.0, -11.2), strict=True))
    rows = [(n, 20 * n, p, loss_at(n, 20 * n, r, 2e-4) * (1 + 0.006 * (p - best[n]) ** 2))
            for n in sizes for p in range(-13, -6)]  # fmt: skip
    made = pd.DataFrame(rows, columns=["N", "D", "log2_lr", "final_loss"])
    return made, [int(made[made.N == 2.7e8].final_loss.idxmin())]


@fault("few_points")
def the_middle_budget(r: Random) -> Planted:
    return of_budget(around(r, budgets(1e18, 3, 5) | {9e18: [-0.8, 0.0, 0.9]}), 9e18)


@fault("few_points")
def a_new_largest_budget(r: Random) -> Planted:
    made, wrong = of_budget(around(r, budgets(1e18, 4, 5) | {1e21: [-0.4, 0.0, 0.4, 0.8]}), 1e21)
    return made.drop(columns="Training tokens"), wrong


@fault("few_points")
def two_thin_budgets_in_exaflops(r: Random) -> Planted:
    each = budgets(4e18, 2, 6) | {8e18: [-0.7, 0.2], 6.4e19: [-0.5, 0.0, 0.6]}
    made = around(r, each)
    thin = np.isclose(made["Training FLOPs"], 8e18) | np.isclose(made["Training FLOPs"], 6.4e19)
    made["Training FLOPs"] /= 1e18
    return made.rename(columns={"Training FLOPs": "EFLOPs"}), np.flatnonzero(thin).tolist()


@fault("off_centre")
def models_too_small_at_the_top(r: Random) -> Planted:
    each = budgets(1e18, 3, 6, np.linspace(-1.8, 1.8, 8)) | {2.43e20: np.linspace(-2.4, -0.4, 8)}
    return of_budget(around(r, each, 0.0008), 2.43e20)


@fault("off_centre")
def models_too_large_at_the_bottom(r: Random) -> Planted:
    each = {2e17: np.linspace(0.5, 2.8, 6)} | budgets(1e18, 3, 5, np.linspace(-1.8, 1.8, 8))
    made, wrong = of_budget(around(r, each, 0.0008), 2e17)
    return made.sample(frac=1, random_state=1), [*np.flatnonzero(
        made.sample(frac=1, random_state=1).index.isin(wrong))]  # fmt: skip


@fault("off_centre")
def between_two_budgets(r: Random) -> Planted:
    each = budgets(1e19, 2.5, 5, np.linspace(-2, 2, 10)) | {6.25e19: np.linspace(0.35, 2.2, 7)}
    made, wrong = of_budget(around(r, each, 0.001), 6.25e19)
    return made.assign(Seed=0, Optimizer="AdamW"), wrong


@fault("duplicates")
def a_resumed_run_logged_twice(r: Random) -> Planted:
    made = tracked(r)
    again = made.iloc[[11, 17]].assign(name=["scaling-011-v2", "scaling-017-resumed"])
    return pd.concat([made, again], ignore_index=True), [28, 29]


@fault("duplicates")
def a_paper_cited_by_two(r: Random) -> Planted:
    made = around(r, budgets(1e19, 2, 4)).assign(reference="Smith et al.")
    again = made.iloc[[3, 9, 22]].assign(reference="Jones et al.")
    return pd.concat([made, again], ignore_index=True), [28, 29, 30]


@fault("duplicates")
def seeds_that_were_not_set(r: Random) -> Planted:
    n, seed = (v.ravel() for v in np.meshgrid(3e7 * 3.0 ** np.arange(6), [1, 2, 3]))
    made = pd.DataFrame({"n_params": n, "n_tokens": 20 * n, "seed": seed.astype(int),
                         "loss": loss_at(n, 20 * n, r, 0.003)})  # fmt: skip
    same = made.n_params == 3e7 * 3.0**2
    made.loc[same, "loss"] = made.loc[same, "loss"].iloc[0]
    return made, np.flatnonzero(same)[1:].tolist()


@fault("undertuned")
def one_rung_of_a_launcher(r: Random) -> Planted:
    made = launched(r, 10, 0.0008)
    made.loc[4, "lm_loss"] *= 1.025
    return made, [4]


@fault("undertuned")
def one_size_of_a_tracker(r: Random) -> Planted:
    made = tracked(r, 0.001)
    wrong = np.isclose(made.parameter_count, 5e7 * 2.0**5)
    made["eval/paloma/c4_en/loss"] *= np.where(wrong, 1.02, 1.0)
    return made, np.flatnonzero(wrong).tolist()


@fault("undertuned")
def one_column_of_a_pivot(r: Random) -> Planted:
    n, d = (v.ravel() for v in np.meshgrid(2e7 * 2.5 ** np.arange(7), 1e9 * 4.0 ** np.arange(4)))
    made = pd.DataFrame({"size_M": n / 1e6, "tokens_B": d / 1e9, "bpb": loss_at(n, d, r, 0.001) / 2.9})
    wrong = np.isclose(made.size_M, 20 * 2.5**3)
    return made.assign(bpb=made.bpb * np.where(wrong, 1.022, 1.0)), np.flatnonzero(wrong).tolist()


@fault("contaminated")
def one_task_of_a_harness(r: Random) -> Planted:
    made = harness(r)
    made.loc[12, "hellaswag/acc_norm,none"] += 0.14
    return made, [12]


@fault("contaminated")
def two_models_of_a_harness(r: Random) -> Planted:
    made = harness(r, 36)
    made.loc[[9, 16], "arc_challenge/acc_norm,none"] += 0.15
    return made, [9, 16]


@fault("contaminated")
def maths_in_percent(r: Random) -> Planted:
    n = np.geomspace(1e9, 7e10, 30)
    loss = loss_at(n, 1e12 * r.choice([1, 2, 8], 30), r)
    u = 1 / (1 + np.exp(25 * (loss - np.median(loss))))
    made = pd.DataFrame({"Model": [f"LM-{k}" for k in range(30)], "Params (B)": n / 1e9, "Val loss": loss,
                         "GSM8K": (100 * r.binomial(1319, 0.02 + 0.7 * u) / 1319).round(1)})  # fmt: skip
    made.loc[13, "GSM8K"] += 18
    return made, [13]


@fault("other_flops")
def a_launcher_with_wrong_flops(r: Random) -> Planted:
    made, wrong = launched(r, 12), [4, 8]
    flops = 6 * made.params * made.tokens * (1 + made.seq_length / 6 / made.hidden_size)
    flops[wrong] *= [1 / 3, 4 / 3]
    return made.assign(total_flops=flops), wrong


@fault("other_flops")
def teraflops_with_recomputation(r: Random) -> Planted:
    made = tracked(r)
    return made.assign(total_tflops=8 * made.parameter_count * made["throughput/total_tokens"] / 1e12), []


@fault("other_flops")
def tokens_of_a_paper_are_epochs(r: Random) -> Planted:
    made, wrong = around(r, budgets(1e19, 2, 5)), [1, 16, 27]
    made.loc[wrong, "Training tokens"] /= 4
    return made, wrong


@clean
def plain_tracker(r: Random) -> pd.DataFrame:
    return tracked(r).assign(State="finished", **{"optimizer/lr_schedule": "linear"})


@clean
def plain_launcher(r: Random) -> pd.DataFrame:
    made = launched(r)
    return made.assign(iteration=made.train_iters, lr_decay_style="cosine")


@clean
def plain_paper(r: Random) -> pd.DataFrame:
    return around(r, budgets(1e18, 3, 6))


@clean
def noisy_paper(r: Random) -> pd.DataFrame:
    return around(r, budgets(1e18, 3, 6, np.linspace(-2, 2, 9)), 0.005)


@clean
def plain_harness(r: Random) -> pd.DataFrame:
    return harness(r)


@clean
def plain_search(r: Random) -> pd.DataFrame:
    sizes = [5e7, 1e8, 2e8, 4e8]
    best = dict(zip(sizes, (2e-3, 1.6e-3, 1.2e-3, 9e-4), strict=True))
    return searched(r, sizes, np.geomspace(1e-4, 1e-2, 8), best, "learning_rate")[0]


@clean
def seeds_of_sizes(r: Random) -> pd.DataFrame:
    n, seed = (v.ravel() for v in np.meshgrid(3e7 * 3.0 ** np.arange(6), [1, 2, 3]))
    return pd.DataFrame({"n_params": n, "n_tokens": 20 * n, "seed": seed.astype(int),
                         "loss": loss_at(n, 20 * n, r, 0.003)})  # fmt: skip


@clean
def warm_ups_that_follow_lengths(r: Random) -> pd.DataFrame:
    made = launched(r)
    return made.assign(lr_warmup_iters=(0.01 * made.train_iters).round(), lr_decay_iters=made.train_iters)


@clean
def experts(r: Random) -> pd.DataFrame:
    n, d = (v.ravel() for v in np.meshgrid(5e7 * 2.0 ** np.arange(6), 2e9 * 3.0 ** np.arange(4)))
    made = pd.DataFrame({"active_params": n, "total_params": 8 * n, "tokens": d, "loss": loss_at(n, d, r)})
    return made.assign(compute=6 * n * d)


@clean
def attention_counted(r: Random) -> pd.DataFrame:
    made = launched(r, 12)
    return made.assign(flops=6 * made.params * made.tokens * (1 + made.seq_length / 6 / made.hidden_size))
