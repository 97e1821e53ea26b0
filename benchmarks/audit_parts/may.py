"""Forty-four tables with a fault and eighteen without, of what reviewers doubt, by the author of the checks.

No honest test: the checks were mended until they find these. They keep what was mended.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from audit_parts.april import crossed, isoflops, law, shapes, short, worse
from audit_parts.registry import Planted, Random, register

fault, clean = register("may")
SEVEN = np.linspace(-1.6, 1.6, 7)


def grid(r: Random, noise: float = 0.003) -> pd.DataFrame:
    """Six sizes by five amounts of data."""
    n, d = crossed(5e7 * 2.0 ** np.arange(6), 2e9 * 2.0 ** np.arange(5))
    return pd.DataFrame({"n_params": n, "n_tokens": d, "val_loss": law(n, d, r, noise).round(4)})


def ladder(r: Random, count: int = 12, noise: float = 0.003) -> pd.DataFrame:
    """One run a size at twenty tokens a parameter."""
    layers, width = shapes(count)
    n = 12 * layers * width**2 + 50304 * width
    made = pd.DataFrame({"layers": layers, "d_model": width, "params": n, "tokens": 20 * n})
    return made.assign(val_loss=law(n, 20 * n, r, noise).round(4))


def rates(r: Random, sizes: object = (5e7, 1.3e8, 3.5e8, 9e8), points: int = 6) -> pd.DataFrame:
    """Valleys of the rate, each best value inside."""
    rows = []
    for n in np.ravel(np.asarray(sizes, float)):
        best = 2.2e-3 * (n / 5e7) ** -0.22
        for lr in best * 2.0 ** (np.arange(points) - points // 2 + 0.3):
            loss = float(law(n, 20 * n, r, 0.001)) * (1 + 0.012 * np.log(lr / best) ** 2)
            rows.append((n, 20 * n, float(f"{lr:.2g}"), round(loss, 4)))
    return pd.DataFrame(rows, columns=["n_params", "n_tokens", "learning_rate", "eval_loss"])


def marked(made: pd.DataFrame, column: str, usual: object, other: object, wrong: list[int]) -> pd.DataFrame:
    """The table with a column that has another value in some rows."""
    values = np.full(len(made), usual, dtype=object)
    values[wrong] = other
    return made.assign(**{column: pd.Series(values).infer_objects()})


def scaled(made: pd.DataFrame, column: str, wrong: list[int], factor: float) -> pd.DataFrame:
    """The table with some values of a column times a factor."""
    return made.assign(**{column: worse(made[column].to_numpy(float), wrong, factor).round(4)})


# --- measured otherwise -----------------------------------------------------------------------------------


@fault("other_evaluation")
def tokenizer_of_two_rungs(r: Random) -> Planted:
    wrong = [4, 7]
    return marked(scaled(ladder(r), "val_loss", wrong, 1.02), "tokenizer", "gpt2", "llama3", wrong), wrong


@fault("other_evaluation")
def vocabulary_of_the_largest(r: Random) -> Planted:
    wrong = [10, 11]
    return marked(scaled(ladder(r), "val_loss", wrong, 1.01), "vocab_size", 50304, 128256, wrong), wrong


@fault("other_evaluation")
def validation_set_changed_midway(r: Random) -> Planted:
    wrong = [*range(20, 30)]
    return marked(scaled(grid(r), "val_loss", wrong, 1.03), "eval_set", "val-v1", "val-v2", wrong), wrong


@fault("other_evaluation")
def length_of_the_context_at_test(r: Random) -> Planted:
    wrong = [3, 9, 14, 22]
    return marked(scaled(grid(r), "val_loss", wrong, 0.99), "eval_seq_len", 2048, 8192, wrong), wrong


@fault("other_evaluation")
def training_loss_in_some(r: Random) -> Planted:
    wrong = [2, 5]
    return marked(scaled(ladder(r), "val_loss", wrong, 0.985), "split", "validation", "train", wrong), wrong


@fault("other_evaluation")
def shots_of_a_benchmark(r: Random) -> Planted:
    n = np.geomspace(1e8, 2e10, 24)
    loss = law(n, 40 * n, r)
    share = 0.25 + 0.65 / (1 + np.exp(7 * (loss - 2.2)))
    made = pd.DataFrame({"params": n, "tokens": 40 * n, "loss": loss.round(4)})
    made["mmlu"], wrong = (r.binomial(2000, share) / 2000).round(4), [15, 18, 20]
    made.loc[wrong, "mmlu"] += 0.04
    return marked(made, "num_fewshot", 0, 5, wrong), wrong


@fault("selected")
def best_checkpoint_of_some(r: Random) -> Planted:
    wrong = [4, 11, 12, 25]
    return marked(scaled(grid(r), "val_loss", wrong, 0.99), "checkpoint", "last", "best", wrong), wrong


@fault("selected")
def step_of_the_lowest_loss(r: Random) -> Planted:
    made, wrong = ladder(r), [3, 6, 8]
    steps = (made.tokens / 524288).round()
    at = steps.copy()
    at[wrong] = (0.7 * steps[wrong]).round()
    return scaled(made, "val_loss", wrong, 0.99).assign(total_steps=steps, best_step=at), wrong


@fault("smoothed")
def smoothed_in_some(r: Random) -> Planted:
    wrong = [1, 6, 19]
    return marked(scaled(grid(r), "val_loss", wrong, 1.01), "smoothing", 0.0, 0.99, wrong), wrong


@fault("smoothed")
def window_of_an_average(r: Random) -> Planted:
    wrong = [5, 9]
    made = scaled(ladder(r), "val_loss", wrong, 1.015)
    return marked(made, "loss_kind", "final", "ema 0.999", wrong), wrong


@fault("other_units")
def nats_and_bits_by_column(r: Random) -> Planted:
    wrong = [8, 9]
    made = scaled(ladder(r), "val_loss", wrong, 1 / np.log(2))
    return marked(made, "loss_unit", "nats", "bits", wrong), wrong


@fault("other_units")
def tokens_in_billions_in_some(r: Random) -> Planted:
    made, wrong = grid(r), [5, 6, 7, 8, 9]
    return made.assign(n_tokens=np.where(made.index.isin(wrong), made.n_tokens / 1e9, made.n_tokens)), wrong


@fault("other_units")
def parameters_in_millions_in_a_ladder(r: Random) -> Planted:
    made, wrong = ladder(r), [10, 11]
    return made.assign(params=np.where(made.index.isin(wrong), made.params / 1e6, made.params)), wrong


@fault("other_units")
def a_ladder_of_which_two_are_in_bits(r: Random) -> Planted:
    wrong = [3, 4]
    return scaled(ladder(r), "val_loss", wrong, 1 / np.log(2)), wrong


@fault("other_units")
def percent_beside_shares(r: Random) -> Planted:
    n = np.geomspace(1e8, 2e10, 20)
    loss = law(n, 40 * n, r)
    share = 0.25 + 0.65 / (1 + np.exp(7 * (loss - 2.2)))
    made = pd.DataFrame({"params": n, "tokens": 40 * n, "loss": loss.round(4)})
    made["arc_acc"], wrong = (r.binomial(2000, share) / 2000).round(3), [12, 13, 14]
    made.loc[wrong, "arc_acc"] *= 100
    return made, wrong


# --- trained otherwise ------------------------------------------------------------------------------------


@fault("warm_up")
def warm_up_of_short_runs(r: Random) -> Planted:
    made = grid(r)
    steps = (made.n_tokens / 2**21).round()
    wrong = np.flatnonzero(steps < 1500).tolist()
    made = scaled(made, "val_loss", wrong, 1.02)
    return made.assign(train_steps=steps, warmup_steps=330), wrong


@fault("warm_up")
def warm_up_tokens_of_a_sweep(r: Random) -> Planted:
    made = isoflops(r, {1e18 * 4.0**k: SEVEN for k in range(5)})
    wrong = np.flatnonzero(made.D < 1.2e9).tolist()
    return scaled(made, "loss", wrong, 1.02).assign(warmup_tokens=3.75e8), wrong


@fault("beyond_critical_batch")
def few_steps_in_some(r: Random) -> Planted:
    made, batch = ladder(r), np.full(12, 2**19)
    wrong = [2, 5]
    batch[wrong] = 2**23
    made = scaled(made, "val_loss", wrong, 1.03)
    return made.assign(batch_tokens=batch, steps=(made.tokens / batch).round()), wrong


@fault("repeated_data")
def epochs_of_the_largest(r: Random) -> Planted:
    made, wrong = ladder(r), [10, 11]
    epochs = np.where(made.index.isin(wrong), 16.0, 1.0)
    return scaled(made, "val_loss", wrong, 1.015).assign(epochs=epochs), wrong


@fault("repeated_data")
def unique_tokens(r: Random) -> Planted:
    made, wrong = grid(r), [4, 9, 14, 19, 24, 29]
    unique = np.minimum(made.n_tokens, 4e9)
    made = made.assign(n_tokens=made.n_tokens.where(made.n_tokens < 2e10, 1.2e11))
    loss = law(made.n_params, np.where(made.index.isin(wrong), 3e10, made.n_tokens), r, 0.003)
    return made.assign(
        unique_tokens=unique.where(made.index.isin(wrong), made.n_tokens), val_loss=loss.round(4)
    ), wrong


@fault("other_training")
def precision_of_the_small(r: Random) -> Planted:
    wrong = [0, 1]
    return marked(scaled(ladder(r), "val_loss", wrong, 1.01), "precision", "bf16", "fp32", wrong), wrong


@fault("other_training")
def optimizer_of_the_largest(r: Random) -> Planted:
    wrong = [10, 11]
    return marked(scaled(ladder(r), "val_loss", wrong, 0.985), "optimizer", "adamw", "muon", wrong), wrong


@fault("other_training")
def context_of_one_size(r: Random) -> Planted:
    wrong = [*range(15, 20)]
    return marked(scaled(grid(r), "val_loss", wrong, 0.985), "seq_len", 2048, 4096, wrong), wrong


@fault("other_training")
def architecture_of_some(r: Random) -> Planted:
    wrong = [7, 8]
    return marked(scaled(ladder(r), "val_loss", wrong, 0.98), "activation", "swiglu", "gelu", wrong), wrong


@fault("other_training")
def data_of_the_larger_half(r: Random) -> Planted:
    wrong = [*range(8, 12)]
    return marked(scaled(ladder(r), "val_loss", wrong, 0.97), "train_data", "c4", "fineweb", wrong), wrong


@fault("untuned")
def the_largest_has_one_rate(r: Random) -> Planted:
    made = rates(r)
    n = 2.4e9
    loss = round(float(law(n, 20 * n, r, 0.001)) * 1.015, 4)
    one = pd.DataFrame({"n_params": [n], "n_tokens": 20 * n, "learning_rate": 2.2e-3, "eval_loss": loss})
    return pd.concat([made, one], ignore_index=True), [24]


@fault("untuned")
def two_sizes_with_two_rates(r: Random) -> Planted:
    made = rates(r, (5e7, 1.3e8, 3.5e8, 9e8, 2.4e9, 6e9))
    keep = (made.n_params < 1e9) | made.groupby("n_params").cumcount().isin([4, 5])
    made = made[keep].reset_index(drop=True)
    return made, np.flatnonzero(made.n_params > 1e9).tolist()


@fault("dropped")
def highest_rates_of_the_largest_are_empty(r: Random) -> Planted:
    made = rates(r)
    wrong = np.flatnonzero((made.n_params > 8e8) & (made.groupby("n_params").cumcount() > 2)).tolist()
    made.loc[wrong, "eval_loss"] = np.nan
    best = made[made.n_params > 8e8].eval_loss.idxmin()
    return made, [int(best)]


@fault("same_seeds")
def seeds_with_rounding(r: Random) -> Planted:
    n = np.repeat(np.round(3e7 * 2.2 ** np.arange(9), -5), 3)
    loss = law(n, 20 * n, r)
    wrong = [10, 11, 22]
    for row in wrong:
        loss[row] = loss[row - row % 3] * (1 + 1e-9 * row)
    return pd.DataFrame({"N": n, "D": 20 * n, "seed": np.tile([0, 1, 2], 9), "val_loss": loss}), wrong


@fault("same_seeds")
def checkpoints_as_runs(r: Random) -> Planted:
    made = ladder(r, 12)
    half = made.iloc[[6, 7, 9]].assign(tokens=lambda t: t.tokens / 2)
    half["val_loss"] = (law(half.params, half.tokens, r, 0.002) * 1.03).round(4)
    made = pd.concat([made, half], ignore_index=True)
    made["lr_decay_tokens"] = 20 * made.params
    return made, [12, 13, 14]


@fault("mixed_schedules")
def cosine_longer_than_the_run(r: Random) -> Planted:
    made = isoflops(r, {1e18 * 3.0**k: SEVEN for k in range(5)})
    made["steps"] = (made.D / 2**18).round()
    wrong = [4, 16, 30]
    cycle = made.steps.copy()
    cycle[wrong] *= 3
    return scaled(made, "loss", wrong, 1.02).assign(cosine_cycle_steps=cycle), wrong


@fault("mixed_schedules")
def final_rate_of_some(r: Random) -> Planted:
    made = ladder(r)
    peak = 3e-3 * (made.params / made.params.min()) ** -0.25
    wrong, ratio = [5, 8], np.full(12, 0.1)
    ratio[wrong] = 1.0
    return scaled(made, "val_loss", wrong, 1.02).assign(peak_lr=peak, min_lr=ratio * peak), wrong


@fault("unfinished")
def planned_tokens_a_parameter(r: Random) -> Planted:
    made, wrong = ladder(r), [9, 10]
    tokens = made.tokens.to_numpy(float)
    tokens[wrong] *= [0.6, 0.4]
    loss = law(made.params, tokens, r, 0.003)
    return made.assign(tokens=tokens, planned_tokens=20.0 * made.params, val_loss=loss.round(4)), wrong


@fault("unfinished")
def walltime_in_exit_codes(r: Random) -> Planted:
    wrong = [6, 13]
    return marked(
        scaled(grid(r), "val_loss", wrong, 1.03), "exit_reason", "max_steps", "walltime", wrong
    ), wrong


@fault("other_flops")
def two_n_d_throughout(r: Random) -> Planted:
    made = grid(r)
    return made.assign(flops=2.0 * made.n_params * made.n_tokens), []


@fault("other_flops")
def embeddings_in_the_flops_of_some(r: Random) -> Planted:
    made, wrong = ladder(r), [6, 9]
    flops = 6.0 * made.params * made.tokens
    flops[wrong] *= 1.3
    return made.assign(compute=flops), wrong


@fault("off_centre")
def two_curves_of_six_at_the_edge(r: Random) -> Planted:
    each = {1e18 * 3.0**k: SEVEN for k in range(6)} | {
        1e18: np.linspace(-0.1, 2.4, 7),
        2.43e20: np.linspace(-2.4, 0.1, 7),
    }
    made = isoflops(r, dict(sorted(each.items())))
    return made, [*range(7), *range(35, 42)]


@fault("edge_of_grid")
def smallest_clip(r: Random) -> Planted:
    rows = []
    for n in (5e7, 1.3e8, 3.5e8, 9e8):
        for clip in (0.03, 0.1, 0.3, 1.0, 3.0):
            best = 0.3 if n < 9e8 else 0.01
            loss = float(law(n, 20 * n, r, 0.0005)) * (1 + 0.005 * np.log(clip / best) ** 2)
            rows.append((n, 20 * n, clip, round(loss, 4)))
    made = pd.DataFrame(rows, columns=["n_params", "n_tokens", "grad_clip", "eval_loss"])
    return made, [int(made[made.n_params == 9e8].eval_loss.idxmin())]


@fault("undertuned")
def one_rung_of_eight(r: Random) -> Planted:
    wrong = [4]
    return scaled(ladder(r, 8, 0.002), "val_loss", wrong, 1.03), wrong


@fault("contaminated")
def one_model_on_two_tasks(r: Random) -> Planted:
    n = np.geomspace(1e8, 2e10, 24)
    loss = law(n, 40 * n, r)
    made = pd.DataFrame(
        {"model": [short(v) for v in n], "params": n, "tokens": 40 * n, "loss": loss.round(4)}
    )
    for task, middle in (("gsm8k", 2.0), ("humaneval", 2.05)):
        share = 0.8 / (1 + np.exp(9 * (loss - middle)))
        made[task] = (r.binomial(1000, share) / 1000).round(3)
        made.loc[14, task] += 0.12
    return made, [14]


@fault("inconsistent")
def tokens_that_are_not_steps_times_batch(r: Random) -> Planted:
    made, wrong = grid(r), [7, 18]
    batch = np.where(made.n_params < 3e8, 2**19, 2**20)
    steps = (made.n_tokens / batch).round().to_numpy(copy=True)
    steps[wrong] = (steps[wrong] * [0.7, 1.5]).round()
    return made.assign(batch_tokens=batch, num_updates=steps), wrong


@fault("inconsistent")
def another_ratio_of_two_rungs(r: Random) -> Planted:
    made, wrong = ladder(r), [4, 7]
    tokens = made.tokens.to_numpy(float, copy=True)
    tokens[wrong] *= 0.4
    return made.assign(tokens=tokens, val_loss=law(made.params, tokens, r, 0.003).round(4)), wrong


@fault("training_gap")
def validation_data_seen_in_training(r: Random) -> Planted:
    made, wrong = ladder(r), [3, 9]
    train = (made.val_loss * np.exp(-0.01 + 0.002 * r.standard_normal(12))).round(4)
    return scaled(made, "val_loss", wrong, 0.96).assign(train_loss=train), wrong


@fault("noted")
def notes_of_what_went_wrong(r: Random) -> Planted:
    made, wrong = grid(r), [8, 21]
    notes = np.full(30, "", dtype=object)
    notes[[3, 15]] = ["reran on the new nodes", "same recipe as before"]
    notes[wrong] = ["used the wrong validation shard", "lr not tuned for this one"]
    return scaled(made, "val_loss", wrong, 1.015).assign(comment=notes), wrong


# --- no fault ---------------------------------------------------------------------------------------------


@clean
def a_plain_grid(r: Random) -> pd.DataFrame:
    return grid(r).assign(tokenizer="gpt2", eval_set="c4", warmup_steps=100, optimizer="adamw")


@clean
def training_and_test_losses_of_little_data(r: Random) -> pd.DataFrame:
    n, d = crossed(2e6 * 3.0 ** np.arange(5), 1e6 * 3.0 ** np.arange(5))
    test = law(n, d, r, 0.004)
    return pd.DataFrame({"params": n, "tokens": d, "train_loss": test - 2e4 / d, "test_loss": test})


@clean
def a_sheet_of_products(r: Random) -> pd.DataFrame:
    made = isoflops(r, {1e18 * 4.0**k: SEVEN for k in range(5)})
    batch = np.where(made.D > 4e9, 1024, 512)
    hours = made.budget / 1e18 * r.uniform(0.9, 1.2, 35)
    steps = (made.D / batch / 1024).round()
    return made.assign(
        tok_per_param=(made.D / made.N).round(1), batch=batch, seq_len=1024, steps=steps,
        hours=hours.round(1), mfu=(0.4 / hours).round(3),
    )  # fmt: skip


@clean
def a_ladder_with_all_its_settings(r: Random) -> pd.DataFrame:
    made = ladder(r)
    steps = (made.tokens / 2**19).round()
    return made.assign(
        n_heads=made.layers, lr=3e-3 * (made.params / made.params.min()) ** -0.3, steps=steps,
        warmup_steps=(0.02 * steps).round(), batch_size=512, seq_len=1024, seed=np.arange(12) + 40,
        gpus=np.where(made.params > 5e8, 64, 8), run_id=[f"x{k:03d}" for k in range(12)],
    )  # fmt: skip


@clean
def clusters_and_hosts(r: Random) -> pd.DataFrame:
    return marked(marked(grid(r), "cluster", "east", "west", [3, 8, 9]), "gpu", "A100", "H100", [25, 26, 29])


@clean
def batches_that_grow(r: Random) -> pd.DataFrame:
    made = ladder(r)
    batch = 2**18 * 2.0 ** np.floor(np.log2(made.params / made.params.min()) / 2)
    return made.assign(batch_tokens=batch, steps=(made.tokens / batch).round())


@clean
def warm_up_short_everywhere(r: Random) -> pd.DataFrame:
    made = isoflops(r, {1e18 * 4.0**k: SEVEN for k in range(5)})
    return made.assign(steps=(made.D / 2**17).round(), warmup_steps=200)


@clean
def rates_and_one_seed_more(r: Random) -> pd.DataFrame:
    made = rates(r, points=7)
    again = made[made.n_params == 1.3e8]
    loss = (again.eval_loss * np.exp(0.001 * r.standard_normal(7))).round(4)
    return pd.concat([made.assign(seed=0), again.assign(seed=1, eval_loss=loss)], ignore_index=True)


@clean
def rates_of_which_some_are_empty(r: Random) -> pd.DataFrame:
    made = rates(r, points=8)
    made.loc[made.groupby("n_params").cumcount() == 7, "eval_loss"] = np.nan
    return made


@clean
def few_epochs(r: Random) -> pd.DataFrame:
    made = grid(r)
    return made.assign(epochs=(made.n_tokens / 1e10).clip(lower=1).round(2))


@clean
def best_steps_near_the_end(r: Random) -> pd.DataFrame:
    made = ladder(r)
    steps = (made.tokens / 2**19).round()
    return made.assign(total_steps=steps, best_step=(steps * r.uniform(0.985, 1, 12)).round())


@clean
def two_tokenizers_each_with_a_grid(r: Random) -> pd.DataFrame:
    other = grid(r)
    parts = [
        grid(r).assign(tokenizer="gpt2"),
        other.assign(tokenizer="llama3", val_loss=(1.05 * other.val_loss).round(4)),
    ]
    return pd.concat(parts, ignore_index=True)


@clean
def numbers_of_heads(r: Random) -> pd.DataFrame:
    made = ladder(r, 14)
    return made.assign(n_kv_heads=np.where(made.layers > 24, 8, 4), head_dim=64, mlp_ratio=4.0)


@clean
def exits_of_all_kinds(r: Random) -> pd.DataFrame:
    return grid(r).assign(exit_reason="max_steps", status="completed")


@clean
def checkpoints_of_wsd(r: Random) -> pd.DataFrame:
    n, d = crossed([7e7, 1.6e8, 4.1e8, 1e9], 2e9 * 2.0 ** np.arange(8))
    made = pd.DataFrame({"n_params": n, "tokens": d, "cooldown_tokens": (0.2 * d).round(-6)})
    return made.assign(loss=law(n, d, r, 0.003).round(4))


@clean
def many_seeds(r: Random) -> pd.DataFrame:
    n = np.repeat(np.round(3e7 * 2.2 ** np.arange(7), -5), 5)
    return pd.DataFrame(
        {"N": n, "D": 20 * n, "seed": np.tile(np.arange(5), 7), "val_loss": law(n, 20 * n, r, 0.002).round(4)}
    )


@clean
def scores_in_percent(r: Random) -> pd.DataFrame:
    n = np.geomspace(5e7, 2e10, 30)
    loss = law(n, 40 * n, r)
    share = 0.9 / (1 + np.exp(7 * (loss - 2.1)))
    return pd.DataFrame(
        {
            "params": n,
            "tokens": 40 * n,
            "loss": loss.round(4),
            "gsm8k": (100 * r.binomial(1319, share) / 1319).round(2),
        }
    )


@clean
def a_sweep_by_hand(r: Random) -> pd.DataFrame:
    made = isoflops(
        r, {6e18: SEVEN, 2e19: np.linspace(-1.4, 1.8, 8), 6e19: np.linspace(-1.7, 1.5, 6), 2e20: SEVEN}, 0.004
    )
    return made.assign(
        who=r.choice(["ab", "cd"], len(made)), date=[f"2026-03-{k % 28 + 1:02d}" for k in range(len(made))]
    )
