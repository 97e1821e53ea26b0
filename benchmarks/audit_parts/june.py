"""Twenty-four tables with one fault each and eight without, as a reviewer of scaling studies would name them.

Its author had not read the audit's checks; committed before its first reading. Five faults are of no kind that it is known
to have. Noise is 0.2–0.4 %; faults shift losses by 1.5 % or more, or stand in a column.
"""

# ruff: noqa: E501  tables as they are written

from __future__ import annotations

import numpy as np
import pandas as pd

from audit_parts.april import crossed, isoflops, law, shapes, short, worse
from audit_parts.registry import Planted, Random, register

fault, clean = register("june")
NINE = np.linspace(-1.6, 1.6, 9)
SEVEN = np.linspace(-1.4, 1.4, 7)


# fmt: off
def grid(r: Random, sizes: object, tokens: object, noise: float = 0.003, **names: str) -> pd.DataFrame:
    """Losses of every size on every amount of tokens."""
    n, d = crossed(sizes, tokens)
    made = pd.DataFrame({"n_params": n.round(), "n_tokens": d, "val_loss": law(n, d, r, noise).round(4)})
    return made.rename(columns=names)


def spoiled(made: pd.DataFrame, rows: list[int], factor: float, y: str = "val_loss") -> pd.DataFrame:
    """The table with the losses of some rows times a factor."""
    return made.assign(**{y: worse(made[y].to_numpy(), rows, factor).round(4)})


def swept(r: Random, sizes: list[float], best: list[float], values: object, name: str, y: str = "loss", strength: float = 0.006) -> pd.DataFrame:
    """A sweep of one setting at every size, with its best value given."""
    rows = []
    for n, at in zip(sizes, best, strict=True):
        tried = np.asarray(values, float)
        loss = law(np.full(len(tried), n), np.full(len(tried), 20 * n), r, 0.0015) * (
            1 + strength * np.log(tried / at) ** 2
        )
        rows += [(n, 20 * n, v, round(z, 4)) for v, z in zip(tried, loss, strict=True)]
    return pd.DataFrame(rows, columns=["params", "tokens", name, y])


def scored(r: Random, count: int = 14, noise: float = 0.006) -> pd.DataFrame:
    """Models with a loss and four tasks whose scores follow it."""
    n = np.geomspace(1.2e8, 1.3e10, count)
    d = n * r.choice([20, 50, 120], count)
    made = pd.DataFrame({"model": [f"lm-{short(v)}" for v in n], "params": n.round(-6), "tokens": d.round(-9)})
    made["val_loss"] = law(n, d, r, 0.002).round(4)
    for task, chance, middle in (
        ("hellaswag", 0.25, 2.35),
        ("arc_easy", 0.25, 2.5),
        ("piqa", 0.5, 2.45),
        ("boolq", 0.5, 2.2),
    ):
        share = 1 / (1 + np.exp(5 * (made.val_loss - middle)))
        made[task] = (chance + (0.93 - chance) * share + noise * r.standard_normal(count)).round(4)
    return made


@fault("counted_parameters")
def three_small_rungs_without_embeddings(r: Random) -> Planted:
    layers, width = shapes(16, 3)
    body, wrong = 12 * layers * width**2, [0, 1, 2]
    total = body + 100352 * width
    counted = np.where(np.isin(np.arange(16), wrong), body, total)
    made = pd.DataFrame({"n_layers": layers, "d_model": width, "n_heads": layers, "vocab_size": 100352, "params": counted, "tokens": 40 * total})
    return made.assign(loss=law(total, 40 * total, r, 0.002).round(4)), wrong


@fault("counted_parameters/other_flops")
def experts_counted_in_full(r: Random) -> Planted:
    n, d = crossed([1e8, 2.5e8, 6e8, 1.5e9], [5e9, 1.5e10, 4.5e10, 1.35e11])
    wrong, params = [6, 9, 15], n.copy()
    params[wrong] *= 5.8
    made = pd.DataFrame({"name": [f"moe-{short(v)}-8e" for v in n], "n_experts": 8, "top_k": 1, "params": params, "tokens": d, "train_flops": 6 * n * d})
    return made.assign(val_loss=(0.97 * law(n, d, r)).round(4)), wrong


@fault("unfinished")
def steps_short_of_the_last(r: Random) -> Planted:
    made, wrong = grid(r, [5e7, 1.3e8, 3.5e8, 9e8], 2e9 * 2.5 ** np.arange(5)), [7, 13, 14]
    steps = (made.n_tokens / 1048576).round().astype(int)
    reached = steps.copy()
    reached[wrong] = (steps[wrong] * np.array([0.62, 0.71, 0.48])).astype(int)
    return spoiled(made.assign(step=reached, max_steps=steps), wrong, 1.04), wrong


@fault("unfinished")
def jobs_that_ran_out_of_time(r: Random) -> Planted:
    made, wrong = isoflops(r, {3e18 * 3.0**k: NINE for k in range(4)}), [8, 17, 26]
    state = np.full(36, "COMPLETED", dtype=object)
    state[wrong] = "TIMEOUT"
    made = made.assign(slurm_job=np.arange(772100, 772136), slurm_state=state)
    return spoiled(made, wrong, 1.05, "loss"), wrong


@fault("mixed_schedules")
def four_runs_at_a_constant_rate(r: Random) -> Planted:
    made, wrong = grid(r, [6e7, 2e8, 7e8], 1.5e9 * 2.0 ** np.arange(7)), [3, 8, 12, 19]
    schedule = np.full(21, "cosine", dtype=object)
    schedule[wrong] = "constant"
    return spoiled(made.assign(lr=6e-4, lr_schedule=schedule), wrong, 1.03), wrong


@fault("mixed_schedules")
def some_rates_fall_to_nothing(r: Random) -> Planted:
    made, wrong = grid(r, 4e7 * 2.3 ** np.arange(6), [4e9, 1.2e10, 3.6e10, 1.08e11]), [2, 9, 10, 20]
    last = np.full(24, 0.1)
    last[wrong] = 0.0
    return spoiled(made.assign(schedule="cosine", peak_lr=8e-4, final_lr_fraction=last), wrong, 0.985), wrong


@fault("duplicates")
def appended_again_after_a_resume(r: Random) -> Planted:
    made = grid(r, [3e7, 1e8, 3e8, 1e9], 1e9 * 3.0 ** np.arange(5))
    made = made.assign(
        run_id=[f"x{7 * k + 1013}" for k in range(20)],
        logged_at=[f"2026-05-{k + 3:02d} 14:20" for k in range(20)],
    )
    again = made.iloc[[4, 11]].assign(logged_at=["2026-05-29 09:01", "2026-05-29 09:02"])
    return pd.concat([made, again], ignore_index=True), [20, 21]


@fault("duplicates")
def a_row_copied_under_another_name(r: Random) -> Planted:
    made = scored(r, 15)
    made.loc[15] = made.loc[9]
    made.loc[15, "model"] = "lm-base-v2"
    return made, [15]


@fault("edge_of_grid")
def the_largest_batch_is_the_best(r: Random) -> Planted:
    made = swept(
        r, [1e8, 3e8, 1e9, 3e9], [1.3e5, 2.2e5, 4e5, 4e6], 32768 * 2.0 ** np.arange(6), "batch_tokens"
    )
    return made, [int(made[made.params == 3e9].loss.idxmin())]


@fault("edge_of_grid")
def the_largest_decay_is_the_best(r: Random) -> Planted:
    made = swept(
        r,
        [5e7, 1.5e8, 5e8, 1.5e9],
        [1.6, 0.16, 0.09, 0.05],
        [0.01, 0.03, 0.1, 0.3, 0.5],
        "weight_decay",
        "eval/loss",
    )
    return made, [int(made[made.params == 5e7]["eval/loss"].idxmin())]


@fault("few_points")
def a_budget_of_two_runs(r: Random) -> Planted:
    made = isoflops(r, {1e18: SEVEN, 4e18: SEVEN, 1.6e19: SEVEN, 6.4e19: SEVEN, 2.56e20: [-0.4, 0.5]})
    return made.rename(columns={"budget": "flops", "N": "params", "D": "tokens"}), [28, 29]


@fault("few_points")
def parabolas_through_three_points_twice(r: Random) -> Planted:
    made = isoflops(r, {6e18: NINE, 2e19: [-0.7, 0.0, 0.7], 6e19: NINE, 2e20: NINE, 6e20: [-0.6, 0.1, 0.8]})
    return made.rename(columns={"budget": "C", "loss": "test_loss"}), [9, 10, 11, 30, 31, 32]


@fault("off_centre")
def every_size_of_the_smallest_budget_too_large(r: Random) -> Planted:
    made = isoflops(
        r, {1e18: np.linspace(0.5, 2.6, 7), 5e18: SEVEN, 2.5e19: SEVEN, 1.25e20: SEVEN, 6.25e20: SEVEN}
    )
    return made.rename(columns={"budget": "compute", "N": "n_params", "D": "n_tokens"}), [*range(7)]


@fault("off_centre")
def two_curves_end_before_their_minimum(r: Random) -> Planted:
    short_of = np.linspace(-2.5, -0.5, 6)
    made = isoflops(r, {2e18: SEVEN, 6e18: SEVEN, 2e19: SEVEN, 6e19: SEVEN, 2e20: short_of, 6e20: short_of})
    return made.rename(columns={"budget": "budget_flops", "loss": "final_loss"}), [*range(28, 40)]


@fault("other_flops")
def forward_passes_only(r: Random) -> Planted:
    made, wrong = grid(r, [7e7, 1.6e8, 4.1e8, 1e9], [5e9, 1.5e10, 4.5e10, 1.35e11, 4e11]), [5, 6, 17]
    flops = 6 * made.n_params * made.n_tokens
    flops[wrong] /= 3
    return made.assign(training_flops=flops.map("{:.3e}".format).astype(float)), wrong


@fault("other_flops")
def an_exponent_off_by_one(r: Random) -> Planted:
    n = np.round(np.geomspace(4e7, 6e9, 18), -5)
    made = pd.DataFrame({"Params": n, "Tokens": 20 * n, "FLOPs": 120 * n**2, "Loss": law(n, 20 * n, r).round(3)})
    made.loc[[4, 13], "FLOPs"] *= [10, 0.1]
    return made, [4, 13]


@fault("undertuned")
def one_size_kept_the_rate_of_the_largest(r: Random) -> Planted:
    made, wrong = grid(r, [5e7, 1.2e8, 3e8, 7.5e8, 1.9e9], [3e9, 9e9, 2.7e10, 8.1e10]), [4, 5, 6, 7]
    rate = (0.003 * (made.n_params / 5e7) ** -0.4).round(5)
    rate[wrong] = rate[16]
    return spoiled(made.assign(lr=rate), wrong, 1.035), wrong


@fault("long_warmup")
def warm_up_longer_than_half_the_run(r: Random) -> Planted:
    made = grid(r, [4e7, 1.2e8, 3.6e8, 1e9], [1e9, 4e9, 1.6e10, 6.4e10, 2.56e11])
    wrong = [0, 5, 10, 15]
    steps = (made.n_tokens / 524288).round().astype(int)
    return spoiled(made.assign(steps=steps, warmup_steps=1200, lr=1e-3), wrong, 1.06), wrong


@fault("contaminated")
def two_models_that_know_one_task(r: Random) -> Planted:
    made, wrong = scored(r), [5, 8]
    made.loc[wrong, "arc_easy"] = (made.loc[wrong, "arc_easy"] + 0.17).round(4)
    return made, wrong


@fault("contaminated")
def a_new_corpus_with_answers_in_it(r: Random) -> Planted:
    made, wrong = scored(r, 18), [14, 15, 16, 17]
    made["corpus"] = ["web-v1"] * 14 + ["web-v2"] * 4
    made.loc[wrong, "boolq"] = (made.loc[wrong, "boolq"] + 0.14).clip(upper=0.985).round(4)
    return made, wrong


@fault("typo")
def one_digit_typed_wrong(r: Random) -> Planted:
    made = grid(r, [6e7, 2e8, 6e8, 2e9], 2e9 * 3.0 ** np.arange(5), 0.002)
    made.loc[12, "val_loss"] = round(made.loc[12, "val_loss"] + 0.5, 4)
    return made, [12]


@fault("other_units")
def bits_among_nats(r: Random) -> Planted:
    made, wrong = grid(r, [8e7, 2.4e8, 7.2e8], 2e9 * 2.0 ** np.arange(7)), [2, 11, 18]
    return spoiled(made, wrong, 1 / np.log(2)), wrong


@fault("other_evaluation")
def some_on_the_new_held_out_shard(r: Random) -> Planted:
    made, wrong = grid(r, [5e7, 1.5e8, 4.5e8, 1.35e9], [2e9, 8e9, 3.2e10, 1.28e11, 5e11]), [1, 8, 16, 17]
    held_out = np.full(20, "val_2024", dtype=object)
    held_out[wrong] = "val_2025"
    return spoiled(made.assign(eval_set=held_out), wrong, 0.965), wrong


@fault("repeated_data")
def small_corpora_seen_many_times(r: Random) -> Planted:
    made = grid(r, [1e8, 3e8, 9e8], 4e9 * 2.0 ** np.arange(6))
    wrong = [5, 11, 16, 17]
    epochs = np.ones(18, int)
    epochs[wrong] = [32, 32, 16, 32]
    made = made.assign(unique_tokens=made.n_tokens / epochs, epochs=epochs)
    return spoiled(made, wrong, 1.05), wrong


@clean
def six_budgets_of_nine(r: Random) -> pd.DataFrame:
    made = isoflops(r, {1e18 * 3.0**k: NINE for k in range(6)}, 0.002)
    return made.rename(columns={"budget": "flops", "N": "params", "D": "tokens"})


@clean
def three_seeds_of_every_cell(r: Random) -> pd.DataFrame:
    n, d = crossed([5e7, 1.5e8, 5e8, 1.5e9], [2e9, 8e9, 3.2e10])
    n, d = np.repeat(n, 3), np.repeat(d, 3)
    return pd.DataFrame({"params": n, "tokens": d, "seed": np.tile([0, 1, 2], 12), "val_loss": law(n, d, r, 0.002).round(4)})


@clean
def rates_with_their_best_inside(r: Random) -> pd.DataFrame:
    return swept(r, [6e7, 2e8, 6e8, 2e9], [2.3e-3, 1.6e-3, 1.2e-3, 8e-4], 1.25e-4 * 2.0 ** np.arange(8), "lr")


@clean
def scores_that_follow_the_loss(r: Random) -> pd.DataFrame:
    return scored(r, 16)


@clean
def rungs_with_all_their_parameters(r: Random) -> pd.DataFrame:
    layers, width = shapes(14, 4)
    total = 12 * layers * width**2 + 2 * 50304 * width
    made = pd.DataFrame({"n_layer": layers, "n_embd": width, "vocab_size": 50304, "n_params": total, "tokens": 20 * total, "train_flops": 120 * total.astype(float) ** 2})
    return made.assign(val_loss=law(total, 20 * total, r, 0.002).round(4))


@clean
def every_run_annealed_to_its_end(r: Random) -> pd.DataFrame:
    made = grid(r, [7e7, 1.6e8, 4.1e8, 1e9], 4e9 * 2.0 ** np.arange(6))
    steps = (made.n_tokens / 2097152).round().astype(int)
    return made.assign(
        schedule="wsd",
        steps=steps,
        max_steps=steps,
        decay_steps=(steps * 0.2).round().astype(int),
        state="finished",
    )


@clean
def experts_counted_as_active(r: Random) -> pd.DataFrame:
    n, d = crossed([1e8, 2.5e8, 6e8, 1.5e9], [5e9, 1.5e10, 4.5e10, 1.35e11])
    made = pd.DataFrame({"n_experts": 16, "top_k": 2, "active_params": n, "total_params": (6.4 * n).round(), "tokens": d, "flops": 6 * n * d})
    return made.assign(loss=(0.96 * law(n, d, r)).round(4))


@clean
def images_and_their_errors(r: Random) -> pd.DataFrame:
    n = np.repeat([500, 1500, 5000, 15000, 50000], 4)
    error = (0.04 + 5.0 * n**-0.42) * np.exp(0.02 * r.standard_normal(20))
    return pd.DataFrame({"n_train": n, "seed": np.tile(range(4), 5), "lr": 0.1, "test_error": error.round(4)})
