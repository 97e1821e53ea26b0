"""Twenty-four tables with one fault each and six without: ladders, isoFLOP curves, speech, vision, searches, scores.

Its author had read the list of doubts that an audit is asked for, the names of the faults of other sets and
the set of August for its form, and not the audit's checks; committed before its first reading. Eight
faults are of no kind in that list. Noise is 0.2–0.3 % of losses, 1.5 % of errors.
"""

# ruff: noqa: E501  tables as they are written

from __future__ import annotations

import numpy as np
import pandas as pd

from audit_parts.registry import Planted, Random, register

fault, clean = register("september")


# fmt: off
def law(n: object, d: object, r: Random, noise: float = 0.002) -> np.ndarray:
    """Losses 1.75 + 350 N^-0.33 + 900 D^-0.31 with noise."""
    n, d = np.asarray(n, float), np.asarray(d, float)
    return (1.75 + 350.0 * n**-0.33 + 900.0 * d**-0.31) * np.exp(noise * r.standard_normal(np.shape(n * d)))


def pairs(first: object, second: object) -> tuple[np.ndarray, np.ndarray]:
    """All pairs, the first slowest."""
    a, b = np.meshgrid(np.asarray(first, float), np.asarray(second, float), indexing="ij")
    return a.ravel(), b.ravel()


def ladder(r: Random, noise: float = 0.002) -> pd.DataFrame:
    """Five rungs at 1, 2, 5 and 10 times 20 tokens a parameter, named as ladders are."""
    n, times = pairs([60e6, 150e6, 300e6, 750e6, 1.3e9], [1, 2, 5, 10])
    made = pd.DataFrame({"run": [f"{a / 1e6:.0f}M-{b:.0f}xC" for a, b in zip(n, times)], "num_params": n, "train_tokens": 20 * n * times})
    return made.assign(global_batch=2**20, c4_en_val_ce=law(n, made.train_tokens, r, noise).round(4))


def grid(r: Random, noise: float = 0.002) -> pd.DataFrame:
    """Summaries of 24 runs of a tracker: six sizes, four lengths of training."""
    n, d = pairs([2.5e7, 5.2e7, 1.1e8, 2.4e8, 5.3e8, 1.15e9], [2.6e9, 7.9e9, 2.36e10, 7.1e10])
    made = pd.DataFrame({"id": [f"{(k + 11) * 7919:06x}" for k in range(24)], "model/n_params": n, "data/n_tokens": d, "optim/lr": np.repeat([1.6e-3, 1.2e-3, 9e-4, 7e-4, 5e-4, 4e-4], 4)})
    return made.assign(**{"val/loss": law(n, d, r, noise).round(4)})


def isoflops(r: Random, total: object = (3e18, 1e19, 3e19, 1e20, 3e20), sizes: int = 8, span: float = 6.0, noise: float = 0.0015) -> pd.DataFrame:
    """IsoFLOP curves, sizes even in the logarithm around the best of each."""
    tries, parts = np.geomspace(3e6, 1e11, 4000), []
    for c in total:
        best = tries[np.argmin(350.0 * tries**-0.33 + 900.0 * (c / 6 / tries) ** -0.31)]
        n = (best * np.geomspace(1 / span, span, sizes)).round(-4)
        parts.append(pd.DataFrame({"C": c, "N": n, "D": (c / 6 / n).round(-5)}))
    made = pd.concat(parts, ignore_index=True)
    return made.assign(val_loss=law(made.N, made.D, r, noise).round(4))


def decoders(r: Random, vocab: int = 32000) -> pd.DataFrame:
    """Nine decoders of which the head is not tied to the embedding, at 25 tokens a parameter."""
    layers = np.array([4, 6, 8, 10, 12, 16, 20, 24, 32])
    width = 80 * layers
    n = 12.0 * layers * width**2 + 2 * vocab * width
    return pd.DataFrame({"layers": layers, "d_model": width, "vocab_size": vocab, "params": n, "tokens": (25 * n).round(-6), "loss": law(n, 25 * n, r).round(4)})


def speech(r: Random, seeds: int = 3) -> pd.DataFrame:
    """Word error rates of one recogniser by hours of speech, three seeds each."""
    h = np.repeat([10, 25, 60, 150, 400, 960], seeds)
    wer = (0.024 + 0.62 * h**-0.6) * np.exp(0.015 * r.standard_normal(len(h)))
    return pd.DataFrame({"train_hours": h, "seed": np.tile(range(1, seeds + 1), 6), "updates": 150000, "test_wer": wer.round(4)})


def search(r: Random, best: object, values: object, name: str, sizes: object = (4e7, 1.2e8, 3.6e8, 1.1e9)) -> pd.DataFrame:
    """One search of a setting at each size, a valley in its logarithm."""
    n, v = pairs(sizes, values)
    away = np.log(v / np.repeat(np.asarray(best, float), len(np.asarray(values))))
    return pd.DataFrame({"n_params": n, "n_tokens": 20 * n, name: v, "eval_loss": (law(n, 20 * n, r, 4e-4) * (1 + 0.01 * away**2)).round(4)})


def scored(r: Random, models: int = 16) -> pd.DataFrame:
    """Checkpoints of one family with their loss and four scores, each a function of the loss."""
    n = np.geomspace(1.5e8, 1.2e10, models).round(-6)
    d = n * np.tile([20, 60, 160, 400], models // 4)
    loss = law(n, d, r, 0.002)
    made = pd.DataFrame({"model": [f"base-{a / 1e6:.0f}m" for a in n], "params": n, "tokens": d, "val_loss": loss.round(4)})
    for task, middle, chance, top, items in (("mmlu", 2.28, 0.25, 0.8, 14042), ("hellaswag", 2.55, 0.25, 0.9, 10042), ("gsm8k", 2.24, 0.0, 0.7, 1319), ("humaneval", 2.22, 0.0, 0.6, 820)):
        made[task] = (r.binomial(items, chance + (top - chance) / (1 + np.exp(9 * (loss - middle)))) / items).round(4)
    return made


def times(made: pd.DataFrame, rows: list[int], y: str, factor: float) -> None:
    """Multiply some values, to as many digits as the others have."""
    made.loc[rows, y] = (made.loc[rows, y] * factor).round(4)


@fault("counted_parameters")
def the_untied_head_of_three_is_not_counted(r: Random) -> Planted:
    made, wrong = decoders(r), [0, 1, 2]
    made.loc[wrong, "params"] -= made.vocab_size[wrong] * made.d_model[wrong]
    return made, wrong


@fault("counted_parameters")
def a_column_says_which_count(r: Random) -> Planted:
    made, wrong = decoders(r), [4, 6, 7]
    said = np.where(np.isin(range(9), wrong), "non-embedding", "total")
    made.loc[wrong, "params"] -= 2 * made.vocab_size[wrong] * made.d_model[wrong]
    return made.drop(columns=["layers", "d_model", "vocab_size"]).assign(counted=said), wrong


@fault("unfinished")
def epochs_of_a_trainer_below_one(r: Random) -> Planted:
    made, wrong = grid(r).assign(epoch=1.0), [6, 17]
    made.loc[wrong, "epoch"] = [0.58, 0.81]
    times(made, wrong, "val/loss", 1.03)
    return made, wrong


@fault("unfinished")
def two_crashed_and_one_still_running(r: Random) -> Planted:
    made, wrong = ladder(r).assign(State="finished"), [7, 11, 19]
    made.loc[wrong, "State"] = ["crashed", "crashed", "running"]
    times(made, wrong, "c4_en_val_ce", 1.035)
    return made, wrong


@fault("unfinished")
def decoding_of_an_early_checkpoint(r: Random) -> Planted:
    made, wrong = speech(r), [10, 16]
    made.loc[wrong, "updates"] = [42000, 60000]
    times(made, wrong, "test_wer", 1.25)
    return made, wrong


@fault("mixed_schedules")
def a_constant_rate_for_the_second_size(r: Random) -> Planted:
    made, wrong = grid(r), [4, 5, 6, 7]
    times(made, wrong, "val/loss", 1.03)
    return made.assign(lr_scheduler_type=np.where(np.isin(range(24), wrong), "constant_with_warmup", "cosine")), wrong


@fault("mixed_schedules")
def cosines_of_the_first_stage_are_longer(r: Random) -> Planted:
    made, wrong = ladder(r), [1, 5, 9, 13, 17]
    steps = (made.train_tokens / 2**20).round()
    times(made, wrong, "c4_en_val_ce", 1.025)
    return made.assign(max_steps=steps, cosine_t_max=np.where(np.isin(range(20), wrong), 2.5 * steps, steps).round()), wrong


@fault("duplicates")
def runs_copied_into_a_second_project(r: Random) -> Planted:
    made = grid(r).assign(project="scaling-v1")
    return pd.concat([made, made.iloc[[2, 9, 10, 20]].assign(project="scaling-v2")], ignore_index=True), [24, 25, 26, 27]


@fault("means_among_runs")
def rows_of_means_below_their_seeds(r: Random) -> Planted:
    made = speech(r).drop(columns="updates")
    means = made.groupby("train_hours", as_index=False).test_wer.mean().round(4).assign(seed="mean")
    table = pd.concat([made.astype({"seed": object}), means]).sort_values("train_hours", kind="stable").reset_index(drop=True)
    return table, np.flatnonzero(table.seed == "mean").tolist()


@fault("edge_of_grid")
def two_small_models_want_a_higher_rate(r: Random) -> Planted:
    made = search(r, [2e-2, 9e-3, 2.3e-3, 1.5e-3], 5e-4 * 2.0 ** np.arange(5), "peak_lr")
    return made, [4, 9]


@fault("edge_of_grid")
def masking_more_is_always_better(r: Random) -> Planted:
    n, share = pairs([2.2e7, 8.6e7, 3.04e8], [0.3, 0.45, 0.6, 0.75])
    error = (0.13 + 40.0 * n**-0.33) * (1 + 0.4 * (share - 0.9) ** 2) * np.exp(0.002 * r.standard_normal(12))
    return pd.DataFrame({"params": n, "mask_ratio": share, "pretrain_epochs": 800, "in1k_top1_error": error.round(4)}), [3, 7, 11]


@fault("few_points")
def three_runs_at_the_largest_budget(r: Random) -> Planted:
    made = isoflops(r, noise=0.001).drop(index=[32, 33, 35, 37, 39]).reset_index(drop=True)
    return made, [32, 33, 34]


@fault("off_centre")
def only_small_models_at_two_budgets(r: Random) -> Planted:
    made = isoflops(r, sizes=10, span=8.0, noise=0.001).drop(index=[*range(5, 10), *range(15, 20)]).reset_index(drop=True)
    return made, [*range(10)]


@fault("undertuned")
def one_rung_is_worse_at_every_length(r: Random) -> Planted:
    made, wrong = ladder(r), [8, 9, 10, 11]
    times(made, wrong, "c4_en_val_ce", 1.03)
    return made, wrong


@fault("contaminated")
def arithmetic_before_its_loss(r: Random) -> Planted:
    made, wrong = scored(r), [4, 6]
    made.loc[wrong, "gsm8k"] = (made.loc[wrong, "gsm8k"] + 0.25).round(4)
    return made, wrong


@fault("other_flops")
def recomputation_at_one_budget(r: Random) -> Planted:
    made, wrong = isoflops(r).drop(columns="C"), [*range(24, 32)]
    flops = 6 * made.N * made.D
    flops[wrong] *= 4 / 3
    return made.assign(train_flops=flops.map("{:.3e}".format).astype(float)), wrong


@fault("other_flops")
def two_computes_a_thousand_times_too_small(r: Random) -> Planted:
    made, wrong = grid(r), [15, 22]
    zetta = 6 * made["model/n_params"] * made["data/n_tokens"] / 1e21
    zetta[wrong] /= 1000
    return made.assign(compute_zflop=zetta.round(8)), wrong


@fault("other_evaluation")
def three_on_the_second_version_of_the_held_out_set(r: Random) -> Planted:
    made, wrong = ladder(r), [2, 14, 18]
    times(made, wrong, "c4_en_val_ce", 0.955)
    return made.assign(val_set=np.where(np.isin(range(20), wrong), "c4_en_v2", "c4_en_v1")), wrong


@fault("repeated_data")
def a_small_corpus_seen_twenty_times(r: Random) -> Planted:
    made, wrong = grid(r), [3, 11, 19]
    unique = made["data/n_tokens"].copy()
    unique[wrong] = (unique[wrong] / 20).round(-6)
    times(made, wrong, "val/loss", 1.05)
    return made.assign(**{"data/unique_tokens": unique}), wrong


@fault("typo")
def the_first_decimal_mistyped(r: Random) -> Planted:
    made = ladder(r).round({"c4_en_val_ce": 3})
    made.loc[13, "c4_en_val_ce"] += 0.3
    return made.round({"c4_en_val_ce": 3}), [13]


@fault("same_seeds")
def two_seeds_agree_to_the_last_digit(r: Random) -> Planted:
    made = speech(r)
    made.loc[[4, 13], "test_wer"] = made.loc[[3, 12], "test_wer"].to_numpy()
    made.loc[[5, 14], "test_wer"] = made.loc[[3, 12], "test_wer"].to_numpy()
    return made, [3, 4, 5, 12, 13, 14]


@fault("long_warmup")
def the_shortest_runs_are_mostly_warm_up(r: Random) -> Planted:
    made, wrong = grid(r).assign(warmup_tokens=2e9), [0, 4, 8, 12, 16, 20]
    times(made, wrong, "val/loss", 1.03)
    return made, wrong


@fault("diverged")
def two_rates_too_high(r: Random) -> Planted:
    made, wrong = grid(r), [18, 21]
    made.loc[wrong, "val/loss"] = [6.8812, 7.6349]
    return made, wrong


@fault("placeholder")
def error_rates_of_one_where_decoding_failed(r: Random) -> Planted:
    made, wrong = speech(r), [8, 15]
    made.loc[wrong, "test_wer"] = 1.0
    return made, wrong


@clean
def a_ladder_with_restarts_that_ended(r: Random) -> pd.DataFrame:
    return ladder(r).assign(State="finished", restarts=r.integers(0, 3, 20), cluster=np.tile(["east", "west"], 10))


@clean
def valleys_with_two_sides(r: Random) -> pd.DataFrame:
    return search(r, [6e-3, 4e-3, 2.3e-3, 1.5e-3], 5e-4 * 2.0 ** np.arange(6), "peak_lr")


for whole in (isoflops, decoders, speech, scored):  # the shapes as they are
    clean(whole)
