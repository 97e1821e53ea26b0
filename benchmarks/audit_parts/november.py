"""Twenty-four scaling studies with one planted fault each and six without: what a reviewer meets in tables of language, image and score runs.

Its author had not read the audit's checks; committed before its first reading. Noise is 0.2–0.3 % of losses, 1.5 % of errors and
that of 1000 questions for scores; a fault shifts losses by 2 % or more, stands in a column, or in the rows that are there.
"""

# ruff: noqa: E501  tables as they are written

from __future__ import annotations

import numpy as np
import pandas as pd

from audit_parts.registry import Planted, Random, register

fault, clean = register("november")
VOCABULARY = 50304
LAYERS = np.array([8, 10, 12, 16, 20, 24, 24, 32])
WIDTHS = np.array([512, 640, 768, 1024, 1280, 1536, 2048, 2560])
TOTAL = 12 * LAYERS * WIDTHS**2 + VOCABULARY * WIDTHS


# fmt: off
def law(n: object, d: object) -> np.ndarray:
    """The loss of n parameters after d tokens, 1.72 + 390 n^-0.34 + 460 d^-0.285."""
    return 1.72 + 390 * np.asarray(n, float) ** -0.34 + 460 * np.asarray(d, float) ** -0.285


def noisy(values: object, r: Random, noise: float = 0.0025, digits: int = 4) -> np.ndarray:
    """Values with relative noise, rounded."""
    return np.round(values * np.exp(noise * r.standard_normal(np.shape(values))), digits)


def grid(r: Random, models: int = 5, tokens: tuple[float, ...] = (3e9, 9e9, 2.7e10, 8.1e10), noise: float = 0.0025) -> pd.DataFrame:
    """The first models of the family on every number of tokens."""
    d, k = np.tile(tokens, models), np.repeat(range(models), len(tokens))
    return pd.DataFrame({"run": [f"lm{i}-{v / 1e9:g}b" for i, v in zip(k, d, strict=True)], "n_params": TOTAL[k], "n_tokens": d.astype(int), "val_loss": noisy(law(TOTAL[k], d), r, noise)})


def ladder(r: Random) -> pd.DataFrame:
    """The whole family at twenty tokens a parameter, with its shapes."""
    return pd.DataFrame({"n_layers": LAYERS, "d_model": WIDTHS, "vocab_size": VOCABULARY, "n_params": TOTAL, "tokens": 20 * TOTAL, "val_loss": noisy(law(TOTAL, 20 * TOTAL), r, 0.002)})


def isoflops(r: Random, offsets: dict[float, object]) -> pd.DataFrame:
    """Runs of equal compute; of every budget the logarithms of the sizes over the best one."""
    rows = []
    for budget, around in offsets.items():
        tries = np.geomspace(1e6, 1e12, 20001)
        best = tries[np.argmin(law(tries, budget / 6 / tries))]
        rows += [(budget, n, round(budget / 6 / n)) for n in np.round(best * np.exp(np.asarray(around)), -4)]
    made = pd.DataFrame(rows, columns=["flops", "params", "tokens"])
    return made.assign(loss=noisy(law(made.params, made.tokens), r, 0.002))


def rates(r: Random, too_high: int = 0) -> pd.DataFrame:
    """A search of the learning rate in steps of two around the best one of every size; of the largest, so many steps higher."""
    rows = []
    for k, n in enumerate((4e7, 1.2e8, 3.6e8, 1.1e9)):
        lr = 3e-3 * 2.0 ** (np.arange(-3, 4) - k + (too_high if k == 3 else 0))
        best = 3.3e-3 * 2.0**-k
        loss = noisy(law(n, 20 * n) * (1 + 0.014 * np.log(lr / best) ** 2), r, 0.0008)
        rows += [(int(n), int(20 * n), v, y) for v, y in zip(lr, loss, strict=True)]
    return pd.DataFrame(rows, columns=["params", "tokens", "peak_lr", "final_loss"])


def images(r: Random, seeds: int = 5) -> pd.DataFrame:
    """Errors of a classifier by training images, some seeds each."""
    n = np.repeat([500, 1500, 5000, 15000, 50000, 150000, 500000], seeds)
    return pd.DataFrame({"train_images": n, "seed": np.tile(range(seeds), 7), "test_error": noisy(0.04 + 4.1 * n**-0.42, r, 0.015)})


def scored(r: Random, models: int = 20) -> pd.DataFrame:
    """Models with a loss and two scores of 1000 questions, sigmoids of the loss."""
    n = np.geomspace(1e8, 1.3e10, models)
    d = n * r.choice([20, 40, 80], models)
    loss = noisy(law(n, d), r, 0.002)
    score = {name: r.binomial(1000, low + (0.93 - low) / (1 + np.exp(5 * (loss - middle)))) / 1000 for name, low, middle in (("arc_easy", 0.25, 2.45), ("hellaswag", 0.25, 2.35))}
    return pd.DataFrame({"model": [f"m{k:02d}" for k in range(models)], "params": n.round(-5), "tokens": d.round(-8), "val_loss": loss} | score)


def worse(made: pd.DataFrame, rows: list[int], factor: float) -> pd.DataFrame:
    """The losses of some rows times a factor."""
    made.loc[rows, "val_loss"] = (made.loc[rows, "val_loss"] * factor).round(4)
    return made


@fault("counted_parameters")
def two_rungs_without_embeddings(r: Random) -> Planted:
    made, wrong = ladder(r), [2, 5]
    made.loc[wrong, "n_params"] -= VOCABULARY * made.loc[wrong, "d_model"]
    return made, wrong


@fault("mixed_schedules")
def three_runs_at_a_constant_rate(r: Random) -> Planted:
    made, wrong = grid(r), [3, 9, 18]
    schedule = np.full(20, "cosine", dtype=object)
    schedule[wrong] = "constant"
    return worse(made.assign(lr_schedule=schedule), wrong, 1.03), wrong


@fault("mixed_schedules/unfinished")
def rates_that_had_not_come_down(r: Random) -> Planted:
    made, wrong = grid(r), [7, 14, 15]
    final = np.full(20, 0.1)  # of the peak
    final[wrong] = [0.55, 0.68, 0.6]
    return worse(made.assign(lr_schedule="cosine", final_lr_ratio=final), wrong, 1.035), wrong


@fault("unfinished")
def last_steps_before_the_planned_ones(r: Random) -> Planted:
    made, wrong = grid(r, 6), [11, 19]
    planned = (made.n_tokens / 2**20).round().astype(int)
    last = planned.copy()
    last[wrong] = (planned[wrong] * [0.58, 0.71]).astype(int)
    return worse(made.assign(max_steps=planned, last_step=last), wrong, 1.04), wrong


@fault("edge_of_grid")
def the_largest_size_wants_a_lower_rate(r: Random) -> Planted:
    made = rates(r, 4)
    return made, [int(made[made.params > 1e9].final_loss.idxmin())]


@fault("few_points")
def one_budget_of_three_sizes(r: Random) -> Planted:
    around = np.linspace(-1.4, 1.4, 8)
    return isoflops(r, {6e18: around, 2e19: around, 6e19: [-0.8, 0.1, 0.9], 2e20: around, 6e20: around}), [16, 17, 18]


@fault("off_centre")
def the_largest_budget_tried_only_small_models(r: Random) -> Planted:
    around = np.linspace(-1.4, 1.4, 8)
    return isoflops(r, {6e18: around, 2e19: around, 6e19: around, 2e20: around, 6e20: np.linspace(-2.6, -0.7, 7)}), [*range(32, 39)]


@fault("duplicates")
def runs_synced_twice(r: Random) -> Planted:
    made = grid(r).assign(created=[f"2025-09-{k + 1:02d}" for k in range(20)])
    again = made.iloc[[4, 11, 17]].assign(run=lambda t: t.run + "-1", created="2025-10-02")
    return pd.concat([made, again], ignore_index=True), [20, 21, 22]


@fault("duplicates/same_seeds")
def a_seed_copied_from_another(r: Random) -> Planted:
    n = np.repeat(TOTAL[:6], 3)
    made = pd.DataFrame({"n_params": n, "tokens": 20_000_000_000, "seed": np.tile([1, 2, 3], 6), "val_loss": noisy(law(n, 2e10), r, 0.003, 5)})
    made["train_loss"] = noisy(0.985 * made.val_loss, r, 0.002, 5)
    made.loc[[5, 14], ["val_loss", "train_loss"]] = made.loc[[4, 12], ["val_loss", "train_loss"]].to_numpy()
    return made, [4, 5, 12, 14]


@fault("undertuned")
def one_model_above_the_others(r: Random) -> Planted:
    made, wrong = grid(r, 7), [12, 13, 14, 15]
    return worse(made.assign(optimizer="adamw", hours=(made.n_params * 1.0 * made.n_tokens / 2.4e17).round(1)), wrong, 1.03), wrong


@fault("contaminated")
def two_models_that_knew_the_questions(r: Random) -> Planted:
    made, wrong = scored(r), [8, 13]
    made.loc[wrong, "arc_easy"] = (made.loc[wrong, "arc_easy"] + 0.14).round(3)
    return made, wrong


@fault("other_flops")
def forward_passes_alone_in_three_rows(r: Random) -> Planted:
    made, wrong = grid(r, 6), [2, 10, 21]
    factor = np.full(24, 6.0)
    factor[wrong] = 2.0
    return made.assign(train_flops=[float(f"{v:.3e}") for v in factor * made.n_params * made.n_tokens]), wrong


@fault("other_units")
def millions_of_tokens_among_billions(r: Random) -> Planted:
    made, wrong = grid(r), [6, 7, 16]
    billions = made.n_tokens / 1e9
    billions[wrong] *= 1000
    return made.drop(columns=["run", "n_tokens"]).assign(tokens_b=billions), wrong


@fault("other_units")
def bits_among_nats(r: Random) -> Planted:
    made, wrong = grid(r, 6), [8, 9, 10, 11]
    return worse(made.assign(framework=np.where(np.arange(24) // 4 == 2, "jax", "torch")), wrong, 1 / np.log(2)), wrong


@fault("mixed_batch")
def a_larger_batch_for_the_last_runs(r: Random) -> Planted:
    made, wrong = grid(r, 6), [*range(16, 24)]
    batch = np.where(np.arange(24) < 16, 524288, 4194304)
    return worse(made.assign(started=[f"2025-0{5 + (k > 15)}-{k % 16 + 3:02d}" for k in range(24)], batch_tokens=batch), wrong, 1.03), wrong


@fault("other_tokenizer")
def another_tokenizer_for_the_largest_models(r: Random) -> Planted:
    made, wrong = grid(r, 6), [*range(16, 24)]
    name = np.where(np.arange(24) < 16, "gpt2", "cl100k")
    return worse(made.assign(tokenizer=name), wrong, 1.08), wrong


@fault("other_evaluation")
def a_new_validation_split(r: Random) -> Planted:
    made, wrong = grid(r, 6), [5, 6, 7, 13, 14, 15]
    split = np.full(24, "val-2024-06", dtype=object)
    split[wrong] = "val-2025-02"
    return worse(made.assign(eval_split=split), wrong, 0.955), wrong


@fault("long_warmup")
def short_runs_that_warm_up_for_half_of_it(r: Random) -> Planted:
    made, wrong = grid(r, 5, (3e9, 1.2e10, 4.8e10, 1.92e11)), [0, 4, 8, 12, 16]
    return worse(made.assign(steps=(made.n_tokens / 524288).astype(int), warmup_steps=3000), wrong, 1.045), wrong


@fault("repeated_data")
def forty_epochs_of_the_corpus(r: Random) -> Planted:
    made = grid(r, 5, (4e9, 8e9, 1.6e10, 3.2e10, 3.2e11))
    epochs = made.n_tokens / 8e9
    worth = 8e9 * (1 + 15.4 * (1 - np.exp(-(epochs - 1) / 15.4)))  # what repeated tokens are worth (Muennighoff et al. 2023)
    loss = noisy(law(made.n_params, np.where(epochs > 1, worth, made.n_tokens)), r)
    return made.assign(val_loss=loss, unique_tokens=np.minimum(made.n_tokens, 8_000_000_000), epochs=epochs), [4, 9, 14, 19, 24]


@fault("mislabelled")
def a_name_of_the_next_size(r: Random) -> Planted:
    made = grid(r, 6, (5e9, 2e10, 8e10))
    k, wrong = np.repeat(range(6), 3), [9, 10, 11]
    own = np.where(k == 3, 2, k)  # the runs that are called lm3 are of lm2's shape
    return made.assign(n_layers=LAYERS[own], d_model=WIDTHS[own], vocab_size=VOCABULARY, val_loss=noisy(law(TOTAL[own], made.n_tokens), r)), wrong


@fault("selected_runs")
def the_best_of_five_seeds_at_two_sizes(r: Random) -> Planted:
    made, wrong = images(r, 1).drop(columns="seed"), [3, 5]
    reported = np.full(7, "mean of 5", dtype=object)
    reported[wrong] = "best of 5"
    made.loc[wrong, "test_error"] = (0.9 * made.loc[wrong, "test_error"]).round(4)
    return made.assign(seeds=5, reported=reported), wrong


@fault("missing_runs")
def seeds_that_diverged_left_out(r: Random) -> Planted:
    n, seed = np.repeat(TOTAL[:7], 5), np.tile(range(5), 7)
    made = pd.DataFrame({"params": n, "tokens": 30_000_000_000, "seed": seed, "seeds_launched": 5, "val_loss": noisy(law(n, 3e10), r)})
    left = [*range(25), 26, 29, 33]
    return made.iloc[left].reset_index(drop=True), [25, 26, 27]


@fault("rounding")
def a_few_losses_to_one_digit(r: Random) -> Planted:
    made, wrong = grid(r, 6), [1, 6, 12, 22]
    made.loc[wrong, "val_loss"] = made.loc[wrong, "val_loss"].round(1)
    return made, wrong


@fault("swapped_columns")
def training_and_validation_exchanged(r: Random) -> Planted:
    made, wrong = grid(r, 5), [3, 8, 13]
    made["train_loss"] = noisy(0.965 * made.val_loss, r, 0.003)
    made.loc[wrong, ["train_loss", "val_loss"]] = made.loc[wrong, ["val_loss", "train_loss"]].to_numpy()
    return made, wrong


@clean
def a_ladder_with_its_shapes_and_compute(r: Random) -> pd.DataFrame:
    made = ladder(r)
    return made.assign(flops=[float(f"{v:.3e}") for v in 6.0 * made.n_params * made.tokens], schedule="cosine", warmup_ratio=0.02)


@clean
def five_budgets_around_their_optima(r: Random) -> pd.DataFrame:
    return isoflops(r, dict.fromkeys((6e18, 2e19, 6e19, 2e20, 6e20), np.linspace(-1.5, 1.4, 8)))


@clean
def rates_with_diverged_runs_written_down(r: Random) -> pd.DataFrame:
    made = rates(r)
    fast = np.arange(28) % 7 == 6
    return made.assign(status=np.where(fast, "diverged", "ok"), final_loss=made.final_loss.where(~fast))


@clean
def every_seed_of_every_size(r: Random) -> pd.DataFrame:
    return images(r).assign(epochs=100, best_epoch=lambda t: r.integers(80, 100, len(t)))


@clean
def a_grid_with_everything_constant(r: Random) -> pd.DataFrame:
    made = grid(r, 6)
    steps = (made.n_tokens / 524288).astype(int)
    return made.assign(steps=steps, max_steps=steps, batch_tokens=524288, warmup_ratio=0.01, lr_schedule="cosine", final_lr_ratio=0.1, tokenizer="gpt2", epochs=(made.n_tokens / 2e11).round(3), eval_split="val-2024-06", train_loss=noisy(0.985 * made.val_loss, r, 0.002))


@clean
def models_with_two_scores(r: Random) -> pd.DataFrame:
    return scored(r, 24).assign(shots=0, date=[f"2025-{k // 4 + 3:02d}-{k % 4 * 7 + 1:02d}" for k in range(24)])
