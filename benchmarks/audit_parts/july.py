"""Twenty-four tables with one fault each and eight without: other layouts and other faults than June's.

Its author had not read the audit's checks; committed before its first reading. Six faults are of no kind that it is known to
have. Noise is 0.2–0.4 % of losses and 2 % of errors; faults shift them by 1.5 % or more, or stand in a column.
"""

# ruff: noqa: E501  tables as they are written

from __future__ import annotations

import numpy as np
import pandas as pd

from audit_parts.april import crossed, isoflops, law, shapes
from audit_parts.june import grid, scored, spoiled, swept
from audit_parts.registry import Planted, Random, register

fault, clean = register("july")
EIGHT = np.linspace(-1.5, 1.5, 8)
# total and non-embedding parameters, layers and width of a public family
FAMILY = {
    "70m": (70426624, 18915328, 6, 512), "160m": (162322944, 85056000, 12, 768), "410m": (405334016, 302311424, 24, 1024),
    "1b": (1011781632, 805736448, 16, 2048), "1.4b": (1414647808, 1208602624, 24, 2048), "2.8b": (2775208960, 2517652480, 32, 2560),
}  # fmt: skip


# fmt: off
def family(r: Random, without: tuple[str, ...] = ()) -> pd.DataFrame:
    """The family at four amounts of tokens; of some the parameters without embeddings."""
    rows = [(f"lm-{k}", layers, width, 50304, body if k in without else total, total, d) for k, (total, body, layers, width) in FAMILY.items() for d in (1e10, 3e10, 1e11, 3e11)]
    made = pd.DataFrame(rows, columns=["model", "n_layers", "hidden_size", "vocab_size", "params", "total", "tokens"])
    return made.assign(val_loss=law(made.total, made.tokens, r, 0.003).round(4)).drop(columns="total")


def images(r: Random, sizes: object, seeds: int = 3, noise: float = 0.02) -> pd.DataFrame:
    """Errors of classifiers trained on parts of a data set."""
    n = np.repeat(np.asarray(sizes, float), seeds)
    error = (0.03 + 4.5 * n**-0.41) * np.exp(noise * r.standard_normal(len(n)))
    return pd.DataFrame({"n_train": n.astype(int), "seed": np.tile(range(seeds), len(n) // seeds), "test_error": error.round(4)})


def fixed(budgets: object, sizes: object, r: Random) -> pd.DataFrame:
    """The same sizes at every budget."""
    c, n = crossed(budgets, sizes)
    return pd.DataFrame({"flops": c, "params": n.round(), "tokens": (c / 6 / n).round(), "loss": law(n, c / 6 / n, r, 0.0025).round(4)})


@fault("counted_parameters")
def one_of_a_family_without_embeddings(r: Random) -> Planted:
    return family(r, ("410m",)), [8, 9, 10, 11]


@fault("counted_parameters")
def three_without_their_output_layer(r: Random) -> Planted:
    layers, width = shapes(13, 4)
    total, wrong = 12 * layers * width**2 + 2 * 151936 * width, [1, 4, 6]
    counted = total.copy()
    counted[wrong] -= 151936 * width[wrong]
    made = pd.DataFrame({"num_layers": layers, "hidden_size": width, "vocab_size": 151936, "tied": False, "n_params": counted, "n_tokens": 25 * total})
    return made.assign(eval_loss=law(total, 25 * total, r, 0.002).round(4)), wrong


@fault("unfinished")
def tokens_short_of_the_target(r: Random) -> Planted:
    made, wrong = grid(r, [4e7, 1.1e8, 3e8, 8e8], [3e9, 9e9, 2.7e10, 8.1e10, 2.43e11], n_tokens="target_tokens"), [6, 12, 19]
    seen = made.target_tokens.copy()
    seen[wrong] *= [0.66, 0.8, 0.52]
    return spoiled(made.assign(tokens_seen=seen.round()), wrong, 1.04), wrong


@fault("unfinished")
def images_of_two_crashed_runs(r: Random) -> Planted:
    made, wrong = images(r, [1000, 3000, 10000, 30000, 100000]), [7, 11]
    state = np.full(15, "finished", dtype=object)
    state[wrong] = "crashed"
    return spoiled(made.assign(epochs_done=np.where(np.isin(range(15), wrong), 23, 90), epochs=90, state=state), wrong, 1.6, "test_error"), wrong


@fault("mixed_schedules")
def one_size_with_a_linear_schedule(r: Random) -> Planted:
    made, wrong = grid(r, [5e7, 1.4e8, 4e8, 1.1e9, 3e9], 4e9 * 3.0 ** np.arange(4)), [8, 9, 10, 11]
    scheduler = np.full(20, "cosine", dtype=object)
    scheduler[wrong] = "linear"
    return spoiled(made.assign(optimizer="adamw", lr_scheduler_type=scheduler), wrong, 1.02), wrong


@fault("mixed_schedules/unfinished")
def stable_runs_that_never_decayed(r: Random) -> Planted:
    made, wrong = grid(r, [6e7, 1.8e8, 5.4e8, 1.6e9], 2e9 * 2.5 ** np.arange(6)), [3, 10, 17, 22]
    share = np.full(24, 0.2)
    share[wrong] = 0.0
    return spoiled(made.assign(schedule="wsd", decay_fraction=share), wrong, 1.035), wrong


@fault("duplicates")
def runs_from_two_trackers(r: Random) -> Planted:
    made = grid(r, [5.3e7, 1.62e8, 4.87e8, 1.43e9], [3.1e9, 1.24e10, 4.96e10, 1.984e11]).assign(source="wandb")
    again = made.iloc[[2, 7, 13]].assign(source="mlflow", val_loss=lambda t: t.val_loss.round(3))
    return pd.concat([made, again], ignore_index=True), [16, 17, 18]


@fault("duplicates/same_seeds")
def seeds_that_give_the_same_digits(r: Random) -> Planted:
    made = images(r, [500, 2000, 8000, 32000, 128000]).assign(test_loss=lambda t: (2.7 * t.test_error + 0.02).round(4))
    made.loc[[4, 11], ["test_error", "test_loss"]] = made.loc[[3, 10], ["test_error", "test_loss"]].to_numpy()
    return made, [3, 4, 10, 11]


@fault("edge_of_grid")
def rates_that_do_not_transfer(r: Random) -> Planted:
    sizes = [3e7, 1.2e8, 4.8e8, 1.9e9]
    made = swept(r, sizes, [2.0**-8.4, 2.0**-9.1, 2.0**-12.3, 2.0**-13], 2.0 ** np.arange(-11, -6), "log2_lr", "val_loss", 0.012)
    return made.assign(log2_lr=np.log2(made.log2_lr).round(1)), [int(made[made.params == n].val_loss.idxmin()) for n in sizes[2:]]


@fault("edge_of_grid")
def the_best_pair_in_a_corner(r: Random) -> Planted:
    rows = []
    for n, best, batch in ((1e8, 1.4e-3, 2.4e5), (4e8, 9e-4, 4.8e5), (1.6e9, 1.2e-4, 3.5e6)):
        lr, bs = crossed([2.5e-4, 5e-4, 1e-3, 2e-3], [131072, 262144, 524288, 1048576])
        loss = law(np.full(16, n), np.full(16, 20 * n), r, 0.0015) * (1 + 0.01 * np.log(lr / best) ** 2 + 0.006 * np.log(bs / batch) ** 2)
        rows += [*zip([n] * 16, [20 * n] * 16, lr, bs, loss.round(4), strict=True)]
    made = pd.DataFrame(rows, columns=["params", "tokens", "lr", "batch_size_tokens", "loss"])
    return made, [int(made[made.params == 1.6e9].loss.idxmin())]


@fault("few_points")
def two_budgets_of_two(r: Random) -> Planted:
    made = isoflops(r, {1e18: EIGHT, 3e18: [-0.5, 0.6], 9e18: EIGHT, 2.7e19: EIGHT, 8.1e19: [-0.3, 0.7]})
    return made.rename(columns={"budget": "train_flops", "N": "n_params", "D": "n_tokens", "loss": "val_loss"}), [8, 9, 26, 27]


@fault("few_points/edge_of_grid/undertuned")
def two_rates_at_the_largest_size(r: Random) -> Planted:
    made = swept(r, [8e7, 2.4e8, 7.2e8, 2.2e9], [2e-3, 1.4e-3, 1e-3, 7e-4], 2.5e-4 * 2.0 ** np.arange(6), "lr", strength=0.015)
    kept = made[(made.params < 2e9) | made.lr.isin([5e-4, 2.5e-4])].reset_index(drop=True)
    return kept, [18, 19]


@fault("off_centre")
def the_largest_budget_tried_only_large_models(r: Random) -> Planted:
    made = isoflops(r, {4e18: EIGHT, 1.2e19: EIGHT, 3.6e19: EIGHT, 1.1e20: EIGHT, 3.3e20: np.linspace(0.6, 2.4, 6)})
    return made.rename(columns={"budget": "C", "N": "N_total", "loss": "L"}), [*range(32, 38)]


@fault("off_centre")
def the_same_sizes_at_every_budget(r: Random) -> Planted:
    made = fixed([1.5e17, 6e18, 1.2e19, 2.4e19, 6e20], np.geomspace(4e7, 1e9, 8), r)
    return made, [*range(8), *range(32, 40)]


@fault("other_flops")
def recomputed_activations_counted(r: Random) -> Planted:
    made, wrong = grid(r, [1.25e8, 3.5e8, 7.6e8, 1.3e9, 2.7e9], 1e10 * 2.0 ** np.arange(4)), [4, 9, 14, 18]
    flops = 6 * made.n_params * made.n_tokens
    flops[wrong] *= 4 / 3
    return made.assign(total_flops=flops.map("{:.4e}".format).astype(float)), wrong


@fault("other_tokens")
def tokens_that_the_iterations_do_not_give(r: Random) -> Planted:
    made, wrong = grid(r, [6e7, 2e8, 6e8, 1.8e9], 1048576 * np.array([2000.0, 8000, 32000, 128000])), [5, 11, 12]
    iters = (made.n_tokens / 1048576).astype(int)
    iters[wrong] = (iters[wrong] / 2).astype(int)
    return spoiled(made.assign(iters=iters, batch_size=512, seq_len=2048), wrong, 1.03), wrong


@fault("undertuned")
def one_size_above_the_line_throughout(r: Random) -> Planted:
    made, wrong = grid(r, 3.5e7 * 2.6 ** np.arange(6), [2e9, 8e9, 3.2e10, 1.28e11], 0.0025), [12, 13, 14, 15]
    return spoiled(made, wrong, 1.03), wrong


@fault("odd_shape")
def one_size_flat_and_wide(r: Random) -> Planted:
    layers, width = np.array([8, 12, 2, 20, 24]), np.array([512, 768, 2560, 1280, 1536])
    body, wrong = 12 * layers * width**2, [8, 9, 10, 11]
    n, d = crossed(body + 50304 * width, [4e9, 1.6e10, 6.4e10, 2.56e11])
    made = pd.DataFrame({"n_layers": layers.repeat(4), "d_model": width.repeat(4), "vocab_size": 50304, "n_params": n, "n_tokens": d})
    return spoiled(made.assign(val_loss=law(n, d, r, 0.003)), wrong, 1.03), wrong


@fault("contaminated")
def three_models_ahead_of_their_loss(r: Random) -> Planted:
    made, wrong = scored(r, 20, 0.007), [6, 11, 13]
    made.loc[wrong, "hellaswag"] = (made.loc[wrong, "hellaswag"] + 0.15).round(4)
    return made.drop(columns=["params", "tokens"]), wrong


@fault("contaminated/below_the_floor")
def the_largest_subset_holds_test_images(r: Random) -> Planted:
    made, wrong = images(r, [600, 2000, 6000, 20000, 60000, 200000]), [15, 16, 17]
    return spoiled(made, wrong, 0.3, "test_error"), wrong


@fault("train_as_validation")
def the_training_loss_in_both_columns(r: Random) -> Planted:
    made, wrong = grid(r, [9e7, 2.7e8, 8.1e8], 3e9 * 2.0 ** np.arange(6)), [4, 8, 15]
    train = (made.val_loss * (0.975 + 0.002 * r.standard_normal(18))).round(4)
    val = made.val_loss.copy()
    val[wrong] = train[wrong]
    return made.assign(train_loss=train, val_loss=val), wrong


@fault("selected_runs")
def the_best_of_twenty_at_the_end(r: Random) -> Planted:
    made, wrong = grid(r, 5e7 * 2.5 ** np.arange(6), [5e9, 2e10, 8e10]), [15, 16, 17]
    return spoiled(made.assign(n_trials=np.where(np.isin(range(18), wrong), 20, 1)), wrong, 0.975), wrong


@fault("other_units")
def parameters_among_millions(r: Random) -> Planted:
    made, wrong = grid(r, [7e7, 1.6e8, 4.1e8, 1e9, 2.8e9], [1e10, 4e10, 1.6e11]), [5, 13]
    millions = made.n_params / 1e6
    millions[wrong] *= 1e6
    return made.drop(columns="n_params").assign(params_millions=millions, n_tokens=made.n_tokens), wrong


@fault("swapped_columns")
def parameters_and_tokens_exchanged(r: Random) -> Planted:
    made, wrong = grid(r, [6e7, 1.9e8, 5.8e8, 1.8e9], [6e9, 2e10, 6e10, 1.9e11]), [6, 10]
    made.loc[wrong, ["n_params", "n_tokens"]] = made.loc[wrong, ["n_tokens", "n_params"]].to_numpy()
    return made, wrong


@clean
def a_family_counted_in_full(r: Random) -> pd.DataFrame:
    return family(r)


@clean
def sizes_that_bracket_every_budget(r: Random) -> pd.DataFrame:
    return fixed([4e18, 8e18, 1.6e19, 3.2e19], np.geomspace(4e7, 1.2e9, 10), r)


@clean
def rates_in_powers_of_two(r: Random) -> pd.DataFrame:
    made = swept(r, [3e7, 1.2e8, 4.8e8, 1.9e9], [2.0**-8.4, 2.0**-8.8, 2.0**-9.1, 2.0**-9.5], 2.0 ** np.arange(-12, -5), "log2_lr", "val_loss", 0.012)
    return made.assign(log2_lr=np.log2(made.log2_lr).round(1))


@clean
def two_clusters_one_recipe(r: Random) -> pd.DataFrame:
    made = grid(r, [6e7, 2e8, 6e8, 2e9], 3e9 * 3.0 ** np.arange(5))
    gpu = np.where(np.arange(20) % 5 < 3, "A100", "H100")
    return made.assign(cluster=np.where(gpu == "A100", "old", "new"), gpu=gpu, gpu_hours=(6 * made.n_params * made.n_tokens / np.where(gpu == "A100", 5e17, 1.4e18)).round(1))


@clean
def images_of_three_seeds_all_finished(r: Random) -> pd.DataFrame:
    return images(r, [1000, 3000, 10000, 30000, 100000]).assign(epochs_done=90, epochs=90, state="finished")


@clean
def tokens_that_the_iterations_give(r: Random) -> pd.DataFrame:
    made = grid(r, [6e7, 2e8, 6e8, 1.8e9], 1048576 * np.array([2000.0, 8000, 32000, 128000]))
    return made.assign(iters=(made.n_tokens / 1048576).astype(int), batch_size=512, seq_len=2048, warmup_iters=200, min_lr_ratio=0.1)


@clean
def training_and_validation_losses(r: Random) -> pd.DataFrame:
    made = grid(r, [9e7, 2.7e8, 8.1e8, 2.4e9], 3e9 * 2.0 ** np.arange(6))
    return made.assign(train_loss=(made.val_loss * (0.98 + 0.002 * r.standard_normal(24))).round(4))


@clean
def scores_of_two_corpora(r: Random) -> pd.DataFrame:
    made = scored(r, 18)
    return made.assign(corpus=["web-v1", "web-v2"] * 9, notes=["", "rerun of eval only", *[""] * 16])
