"""Twenty-four tables with one fault each and six without: image-text models, depths, proteins, potentials, searches, scores.

Its author had read the list of doubts that an audit is asked for, the names of the faults of other sets and
the set of August for its form and its own of September, and not the audit's checks; committed before its first reading. Seven
faults are of no kind in that list. Noise is 0.2 % of losses, 1 % of errors.
"""

# ruff: noqa: E501  tables as they are written

from __future__ import annotations

import numpy as np
import pandas as pd

from audit_parts.registry import Planted, Random, register

fault, clean = register("october")


# fmt: off
def law(n: object, d: object, r: Random, noise: float = 0.002) -> np.ndarray:
    """Losses 1.69 + 410 N^-0.34 + 620 D^-0.29 with noise."""
    n, d = np.asarray(n, float), np.asarray(d, float)
    return (1.69 + 410.0 * n**-0.34 + 620.0 * d**-0.29) * np.exp(noise * r.standard_normal(np.shape(n * d)))


def pairs(first: object, second: object) -> tuple[np.ndarray, np.ndarray]:
    """All pairs, the first slowest."""
    a, b = np.meshgrid(np.asarray(first, float), np.asarray(second, float), indexing="ij")
    return a.ravel(), b.ravel()


def contrastive(r: Random) -> pd.DataFrame:
    """Zero-shot errors of five image-text models after four numbers of samples."""
    k, seen = pairs(range(5), [3e8, 1e9, 3.2e9, 1.28e10])
    image, text = (np.array(v)[k.astype(int)] for v in ([22.1e6, 38.9e6, 86.2e6, 149.5e6, 303.9e6], [38.4e6, 50.1e6, 63.4e6, 91.2e6, 123.6e6]))
    error = (0.13 + 18.0 * (image + text) ** -0.28 + 240.0 * seen**-0.36) * np.exp(0.01 * r.standard_normal(20))
    names = np.array(["ViT-S-16", "ViT-M-16", "ViT-B-16", "ViT-SO-16", "ViT-L-16"])[k.astype(int)]
    return pd.DataFrame({"model": names, "image_params": image, "text_params": text, "params": image + text, "samples_seen": seen, "imagenet_zeroshot_error": error.round(4)})


def runs(r: Random) -> pd.DataFrame:
    """Final results of 24 language models: four sizes, six numbers of tokens."""
    n, d = pairs([4.4e7, 1.36e8, 4.2e8, 1.3e9], [1e9, 2.5e9, 6.3e9, 1.6e10, 4e10, 1e11])
    return pd.DataFrame({"run_name": [f"sw{k:02d}" for k in range(24)], "num_params": n, "tokens": d, "val_loss": law(n, d, r).round(4)})


def depths(r: Random, total: object = (2e18, 6e18, 2e19, 6e19), vocab: int = 65536) -> pd.DataFrame:
    """IsoFLOP curves of models told by their depth, bits per byte; embedding and head are not tied."""
    parts = []
    for k, c in enumerate(total):
        depth = np.arange(3 + 3 * k, 15 + 3 * k, 2)
        body = 12.0 * depth * (64 * depth) ** 2
        n = body + 2 * vocab * 64 * depth
        parts.append(pd.DataFrame({"flops": c, "depth": depth, "params_transformer": body, "params_total": n, "tokens": (c / 6 / n).round(-5)}))
    made = pd.concat(parts, ignore_index=True)
    return made.assign(val_bpb=(law(made.params_total, made.tokens, r, 0.001) / 3.2).round(5))


def isoflops(r: Random, total: object = (2e18, 6e18, 2e19, 6e19, 2e20, 6e20), sizes: int = 7, span: float = 5.0) -> pd.DataFrame:
    """IsoFLOP curves, sizes even in the logarithm around the best of each."""
    tries, parts = np.geomspace(3e6, 1e11, 4000), []
    for c in total:
        best = tries[np.argmin(410.0 * tries**-0.34 + 620.0 * (c / 6 / tries) ** -0.29)]
        n = (best * np.geomspace(1 / span, span, sizes)).round(-4)
        parts.append(pd.DataFrame({"train_flops": c, "n_params": n, "n_tokens": (c / 6 / n).round(-5)}))
    made = pd.concat(parts, ignore_index=True)
    return made.assign(eval_loss=law(made.n_params, made.n_tokens, r, 0.001).round(4))


def proteins(r: Random) -> pd.DataFrame:
    """Ten protein models, trained alike, with the loss of masked residues."""
    n = np.array([4e6, 8e6, 17e6, 35e6, 74e6, 150e6, 320e6, 650e6, 1.4e9, 3e9])
    return pd.DataFrame({"model": [f"plm-{a / 1e6:.0f}M" for a in n], "params": n, "updates": 500000, "max_updates": 500000, "val_mlm_loss": ((1.58 + 22.0 * n**-0.2) * np.exp(0.002 * r.standard_normal(10))).round(4)})


def potentials(r: Random, seeds: int = 3) -> pd.DataFrame:
    """Force errors of one potential by its structures, some seeds each."""
    n = np.repeat([100, 300, 900, 2700, 8100, 24300], seeds)
    error = (9.0 + 1900.0 * n**-0.55) * np.exp(0.01 * r.standard_normal(len(n)))
    return pd.DataFrame({"n_structures": n, "seed": np.tile(range(seeds), 6), "force_mae_mev_per_A": error.round(2)})


def search(r: Random, best: object, values: object, name: str, sizes: object = (3e7, 1e8, 3e8, 1e9)) -> pd.DataFrame:
    """One search of a setting at each size, a valley in its logarithm."""
    n, v = pairs(sizes, values)
    away = np.log(v / np.repeat(np.asarray(best, float), len(np.asarray(values))))
    return pd.DataFrame({"size": n, "train_tokens": 20 * n, name: v, "final_loss": (law(n, 20 * n, r, 4e-4) * (1 + 0.008 * away**2)).round(4)})


def scored(r: Random) -> pd.DataFrame:
    """Fifteen checkpoints with their loss and three scores, each a function of the loss."""
    n, d = pairs([4e8, 1e9, 2.6e9, 6.7e9, 1.7e10], [1e11, 3e11, 9e11])
    loss = law(n, d, r)
    made = pd.DataFrame({"checkpoint": [f"{a / 1e9:.1f}B-{b / 1e9:.0f}BT" for a, b in zip(n, d)], "params": n, "tokens": d, "c4_loss": loss.round(4)})
    for task, middle, chance, items in (("arc_challenge", 2.28, 0.25, 1172), ("mmlu", 2.17, 0.25, 14042), ("lambada", 2.35, 0.0, 5153)):
        made[task] = (r.binomial(items, chance + (0.9 - chance) / (1 + np.exp(8 * (loss - middle)))) / items).round(4)
    return made


def worse(made: pd.DataFrame, rows: list[int], y: str, factor: float) -> None:
    """Multiply some values, to as many digits as the others have."""
    made.loc[rows, y] = (made.loc[rows, y] * factor).round(4)


def marked(rows: list[int], made: pd.DataFrame, yes: object, no: object) -> np.ndarray:
    """One word in these rows, another in the others."""
    return np.where(np.isin(range(len(made)), rows), yes, no)


@fault("counted_parameters")
def two_models_without_their_text_tower(r: Random) -> Planted:
    made, wrong = contrastive(r), [*range(4, 8), *range(16, 20)]
    made.loc[wrong, "params"] = made.image_params[wrong]
    return made, wrong


@fault("counted_parameters")
def depths_with_two_counts(r: Random) -> Planted:
    return depths(r), []


@fault("unfinished")
def updates_below_the_last(r: Random) -> Planted:
    made, wrong = proteins(r), [7, 9]
    made.loc[wrong, "updates"] = [310000, 270000]
    worse(made, wrong, "val_mlm_loss", 1.025)
    return made, wrong


@fault("unfinished")
def tokens_short_of_their_target(r: Random) -> Planted:
    made, wrong = runs(r), [11, 17, 23]
    made = made.assign(target_tokens=made.tokens)
    made.loc[wrong, "tokens"] *= [0.62, 0.55, 0.71]
    worse(made, wrong, "val_loss", 1.03)
    return made, wrong


@fault("mixed_schedules")
def rates_that_had_not_come_down(r: Random) -> Planted:
    made, wrong = runs(r), [3, 8, 15, 20]
    worse(made, wrong, "val_loss", 1.03)
    return made.assign(peak_lr=8e-4, final_lr=marked(wrong, made, 5e-4, 8e-5)), wrong


@fault("mixed_schedules")
def potentials_on_a_plateau_schedule(r: Random) -> Planted:
    made, wrong = potentials(r), [6, 7, 8]
    worse(made, wrong, "force_mae_mev_per_A", 1.15)
    return made.round(2).assign(lr_schedule=marked(wrong, made, "reduce_on_plateau", "cosine")), wrong


@fault("other_checkpoint")
def averaged_weights_of_some(r: Random) -> Planted:
    made, wrong = runs(r), [5, 12, 19]
    worse(made, wrong, "val_loss", 0.97)
    return made.assign(weights=marked(wrong, made, "ema", "raw")), wrong


@fault("duplicates")
def a_join_repeats_four_models(r: Random) -> Planted:
    made = contrastive(r).drop(columns=["image_params", "text_params"]).assign(eval_date="2026-09-30")
    return pd.concat([made, made.iloc[[1, 6, 11, 18]].assign(eval_date="2026-10-02")], ignore_index=True), [20, 21, 22, 23]


@fault("duplicates/same_seeds")
def the_second_seed_repeats_the_first(r: Random) -> Planted:
    made = potentials(r)
    made.loc[made.seed == 1, "force_mae_mev_per_A"] = made.force_mae_mev_per_A[made.seed == 0].to_numpy()
    return made, np.flatnonzero(made.seed < 2).tolist()


@fault("edge_of_grid")
def the_largest_wants_a_smaller_batch_than_was_tried(r: Random) -> Planted:
    return search(r, [1.6e5, 2.5e5, 4e5, 3.2e4], 6.5536e4 * 2.0 ** np.arange(5), "batch_tokens"), [15]


@fault("edge_of_grid")
def two_rates_at_the_lower_end(r: Random) -> Planted:
    return search(r, [2.4e-2, 1.6e-2, 3.5e-3, 2.5e-3], 5e-3 * 2.0 ** np.arange(5), "muon_lr"), [10, 15]


@fault("few_points")
def the_smallest_budget_has_two_runs(r: Random) -> Planted:
    return isoflops(r).drop(index=[0, 2, 4, 5, 6]).reset_index(drop=True), [0, 1]


@fault("off_centre")
def the_largest_budget_tried_large_models_only(r: Random) -> Planted:
    return isoflops(r, sizes=9, span=6.0).drop(index=[*range(45, 50)]).reset_index(drop=True), [45, 46, 47, 48]


@fault("undertuned")
def one_image_model_behind_at_every_length(r: Random) -> Planted:
    made, wrong = contrastive(r), [8, 9, 10, 11]
    worse(made, wrong, "imagenet_zeroshot_error", 1.12)
    return made.drop(columns=["image_params", "text_params"]), wrong


@fault("undertuned")
def one_protein_model_off_the_line(r: Random) -> Planted:
    made, wrong = proteins(r).drop(columns=["updates", "max_updates"]), [5]
    worse(made, wrong, "val_mlm_loss", 1.03)
    return made, wrong


@fault("contaminated")
def one_checkpoint_knows_the_questions(r: Random) -> Planted:
    return scored(r).assign(arc_challenge=lambda t: (t.arc_challenge + np.where(t.index == 4, 0.22, 0)).round(4)), [4]


@fault("contaminated")
def one_size_saw_the_exam(r: Random) -> Planted:
    made, wrong = scored(r), [6, 7, 8]
    made.loc[wrong, "mmlu"] = (made.loc[wrong, "mmlu"] + [0.21, 0.24, 0.22]).round(4)
    return made, wrong


@fault("other_flops")
def forward_passes_of_four(r: Random) -> Planted:
    made, wrong = runs(r), [2, 9, 13, 22]
    return made.assign(flops=6 * made.num_params * made.tokens * marked(wrong, made, 1 / 3, 1.0)), wrong


@fault("more_than_the_peak")
def tokens_a_second_that_no_chip_gives(r: Random) -> Planted:
    made, wrong = runs(r), [7, 16]
    speed = 8 * 989e12 * r.uniform(0.36, 0.44, 24) / (6 * made.num_params)
    speed[wrong] *= 4
    return made.assign(gpu="H100", n_gpus=8, tokens_per_second=speed.round(-2)), wrong


@fault("other_units")
def two_perplexities_among_the_losses(r: Random) -> Planted:
    made, wrong = proteins(r), [2, 6]
    made.loc[wrong, "val_mlm_loss"] = np.exp(made.val_mlm_loss[wrong]).round(4)
    return made, wrong


@fault("swapped_columns")
def one_row_with_its_sizes_exchanged(r: Random) -> Planted:
    made, wrong = runs(r), [9]
    made.loc[wrong, ["num_params", "tokens"]] = made.loc[wrong, ["tokens", "num_params"]].to_numpy()
    return made, wrong


@fault("beyond_critical_batch")
def short_runs_of_very_large_batches(r: Random) -> Planted:
    made, wrong = runs(r), [0, 6, 12, 18]
    worse(made, wrong, "val_loss", 1.05)
    return made.assign(batch_tokens=marked(wrong, made, 8388608, 524288)), wrong


@fault("train_as_validation")
def the_training_loss_in_both_columns_of_three(r: Random) -> Planted:
    made, wrong = runs(r), [4, 10, 21]
    made = made.assign(train_loss=(made.val_loss * (1 - np.abs(0.02 + 0.002 * r.standard_normal(24)))).round(4))
    made.loc[wrong, "val_loss"] = made.train_loss[wrong]
    return made, wrong


@fault("other_evaluation")
def three_evaluated_with_a_shorter_context(r: Random) -> Planted:
    made, wrong = runs(r), [1, 14, 18]
    worse(made, wrong, "val_loss", 1.04)
    return made.assign(train_context=4096, eval_context=marked(wrong, made, 512, 4096)), wrong


@clean
def potentials_with_five_seeds(r: Random) -> pd.DataFrame:
    return potentials(r, seeds=5)


@clean
def batches_bracketed_at_every_size(r: Random) -> pd.DataFrame:
    return search(r, [1.6e5, 2.5e5, 4e5, 6e5], 6.5536e4 * 2.0 ** np.arange(6), "batch_tokens")


for whole in (contrastive, runs, isoflops, scored):  # the shapes as they are
    clean(whole)
