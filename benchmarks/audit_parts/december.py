"""Thirty tables with a fault and ten without, of vision, speech, diffusion, experts and language.

Written without sight of the audit's code, together with `january`, and committed before its first reading.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from audit_parts.registry import Planted, Random, register

fault, clean = register("december")


def law(n: object, d: object, r: Random, noise: float = 0.002, floor: float = 0.9) -> np.ndarray:
    """Losses floor + 30 N^-0.24 + 60 D^-0.26, with noise."""
    n, d = np.asarray(n, float), np.asarray(d, float)
    return np.asarray((floor + 30 * n**-0.24 + 60 * d**-0.26) * np.exp(noise * r.standard_normal(n.shape)))


def isoflops(r: Random, budgets: object, sizes: int, span: float, noise: float = 0.0015) -> pd.DataFrame:
    """Sizes around the best of every budget, even in the logarithm."""
    parts = []
    for c in np.asarray(budgets, float):
        tries = np.geomspace(1e6, 1e12, 6000)
        best = tries[np.argmin(30 * tries**-0.24 + 60 * (c / 6 / tries) ** -0.26)]
        n = best * np.geomspace(1 / span, span, sizes)
        parts.append(pd.DataFrame({"C": c, "N": n, "D": c / 6 / n}))
    made = pd.concat(parts, ignore_index=True)
    return made.assign(L=law(made.N, made.D, r, noise))


def without(made: pd.DataFrame, budget: float, kept: object) -> Planted:
    """Of one budget only the points at these places."""
    own = np.flatnonzero(np.isclose(made.C, budget))
    gone = [row for place, row in enumerate(own) if place not in set(kept)]  # type: ignore[call-overload]
    made = made.drop(index=gone).reset_index(drop=True)
    return made, np.flatnonzero(np.isclose(made.C, budget)).tolist()


def vits(r: Random, noise: float = 0.002) -> pd.DataFrame:
    """Seven sizes of vision transformers at four amounts of images."""
    sizes, images = [6e6, 1.2e7, 2.2e7, 4.5e7, 8.6e7, 1.7e8, 3e8], [3e8, 9e8, 3e9, 9e9]
    n, d = (v.ravel() for v in np.meshgrid(sizes, images))
    return pd.DataFrame({"params_M": n / 1e6, "images_seen": d, "val_nll": law(n, 30 * d, r, noise)})


def families(r: Random, count: int = 28) -> pd.DataFrame:
    """Public models with their loss on one text and three scores."""
    n = np.geomspace(7e7, 7e10, count)
    d = 3e11 * r.choice([0.5, 1, 2, 5], count)
    loss = law(n, d, r)
    made = pd.DataFrame({"model": [f"model-{k:02d}" for k in range(count)], "n_params": n, "n_tokens": d,
                         "pile_loss": loss})  # fmt: skip
    middle = float(np.median(loss))
    for name, chance, shift in (("mmlu", 0.25, -0.02), ("winogrande", 0.5, 0.0), ("triviaqa", 0.0, -0.01)):
        u = 1 / (1 + np.exp(30 * (loss - middle - shift)))
        made[name] = r.binomial(1500, np.clip(chance + (0.92 - chance) * u, 0, 1)) / 1500
    return made


@fault("counted_parameters")
def gpt_widths_with_vocabulary(r: Random) -> Planted:
    width = np.array([256, 384, 512, 768, 1024, 1536, 2048])
    layers = np.array([6, 8, 8, 12, 16, 20, 24])
    body = 12 * layers * width**2
    c, place = (v.ravel() for v in np.meshgrid([1e18, 4e18, 1.6e19, 6.4e19], np.arange(7)))
    n = body[place.astype(int)].astype(float)
    made = pd.DataFrame({"budget": c, "hidden_size": width[place.astype(int)],
                         "num_layers": layers[place.astype(int)], "vocab_size": 50257,
                         "non_emb_params": n, "tokens": c / 6 / n})  # fmt: skip
    return made.assign(loss=law(n, made.tokens, r, 0.001)), []


@fault("counted_parameters")
def embed_and_backbone(r: Random) -> Planted:
    made = isoflops(r, 1e18 * 4.0 ** np.arange(5), 8, 5, 0.001)
    return made.assign(N_embed=4e5 * made.N**0.33).rename(columns={"N": "N_backbone"}), []


@fault("counted_parameters")
def total_and_without_embedding(r: Random) -> Planted:
    made = isoflops(r, 6e17 * 3.0 ** np.arange(5), 9, 6, 0.001)
    made["params_total"] = made.N + 32000 * 2 * (made.N / 100) ** (1 / 3) * 5
    return made.rename(columns={"N": "params_no_embed", "C": "flops", "D": "toks", "L": "ce"}), []


@fault("mixed_schedules")
def schedulers_of_vits(r: Random) -> Planted:
    made, wrong = vits(r), [4, 9, 21, 25]
    kind = np.full(len(made), "rsqrt", dtype=object)
    kind[wrong] = "cosine"
    return made.assign(scheduler=kind), wrong


@fault("mixed_schedules")
def cooldown_steps_zero(r: Random) -> Planted:
    made, wrong = isoflops(r, 1e19 * 2.0 ** np.arange(4), 7, 4), [8, 13]
    steps = np.round(made.D / 5e5)
    cooldown = np.round(0.2 * steps)
    cooldown[wrong] = 0
    return made.assign(steps=steps, cooldown_steps=cooldown), wrong


@fault("mixed_schedules")
def final_rate_of_peak(r: Random) -> Planted:
    made, wrong = vits(r), [2, 3, 17]
    end = np.full(len(made), 3e-5)
    end[wrong] = 3e-4
    return made.assign(peak_lr=3e-4, final_lr=end), wrong


@fault("unfinished")
def steps_beside_target_steps(r: Random) -> Planted:
    made, wrong = isoflops(r, 1e19 * 2.0 ** np.arange(4), 7, 4), [3, 11, 20]
    target = np.round(made.D / 1e6) + 1
    step = target.copy()
    step[wrong] = np.round(0.55 * step[wrong])
    return made.assign(global_step=step, target_steps=target), wrong


@fault("unfinished")
def slurm_states(r: Random) -> Planted:
    made, wrong = vits(r), [0, 26]
    state = np.full(len(made), "COMPLETED", dtype=object)
    state[wrong] = ["TIMEOUT", "OUT_OF_MEMORY"]
    return made.assign(job_state=state), wrong


@fault("unfinished")
def finished_false(r: Random) -> Planted:
    made, wrong = families(r)[["n_params", "n_tokens", "pile_loss"]], [6, 7]
    done = np.full(len(made), True)
    done[wrong] = False
    return made.assign(finished=done), wrong


@fault("edge_of_grid")
def rates_of_speech_models(r: Random) -> Planted:
    rows = [(n, h, lr, law(n, h * 1e6, r, 2e-4)
             * (1 + 0.01 * np.log(lr / (1.5e-3 if n < 3e8 else 6e-5)) ** 2))
            for n, h in ((1e7, 1e3), (4e7, 4e3), (1.6e8, 1.6e4), (6.4e8, 6.4e4))
            for lr in (2e-4, 5e-4, 1e-3, 2e-3, 5e-3)]  # fmt: skip
    made = pd.DataFrame(rows, columns=["n_params", "hours", "max_lr", "dev_loss"])
    return made, [int(made[made.n_params > 3e8].dev_loss.idxmin())]


@fault("edge_of_grid")
def momenta_at_the_top(r: Random) -> Planted:
    rows = [(w, m, 0.3 + 12 / w + 0.03 * (np.log(1 - m) - np.log(1 - (0.95 if w > 100 else 0.999))) ** 2
             + 5e-4 * r.standard_normal())
            for w in (64, 128, 256, 512) for m in (0.8, 0.9, 0.95, 0.97, 0.98)]  # fmt: skip
    made = pd.DataFrame(rows, columns=["width", "momentum", "test_loss"])
    return made, [int(made[made.width == 64].test_loss.idxmin())]


@fault("edge_of_grid")
def batches_of_diffusion(r: Random) -> Planted:
    rows = [(n, 2**b, law(n, 1e9, r, 2e-4) * (1 + 0.004 * (b - (9 if n < 1e9 else 4)) ** 2))
            for n in (3e7, 1e8, 3e8, 1e9) for b in range(6, 13)]  # fmt: skip
    made = pd.DataFrame(rows, columns=["unet_params", "global_batch", "fid_loss"])
    return made, [int(made[made.unet_params >= 1e9].fid_loss.idxmin())]


@fault("few_points")
def two_of_a_budget(r: Random) -> Planted:
    return without(isoflops(r, 1e18 * 5.0 ** np.arange(5), 7, 5), 2.5e19, [2, 4])


@fault("few_points")
def three_of_the_largest(r: Random) -> Planted:
    made, wrong = without(isoflops(r, 2e19 * 3.0 ** np.arange(4), 6, 5), 5.4e20, [1, 3, 4])
    names = {"C": "Training FLOPs", "N": "Parameters", "D": "Tokens", "L": "Loss"}
    return made.rename(columns=names), wrong


@fault("few_points")
def three_of_experts(r: Random) -> Planted:
    made, wrong = without(isoflops(r, 1e20 * 2.0 ** np.arange(4), 8, 6), 4e20, [2, 3, 6])
    names = {"N": "n_active", "D": "n_data", "L": "loss"}
    return made.assign(n_total=8 * made.N).rename(columns=names), wrong


@fault("off_centre")
def all_too_large(r: Random) -> Planted:
    return without(isoflops(r, 1e18 * 3.0 ** np.arange(6), 12, 10), 8.1e19, range(6, 12))


@fault("off_centre")
def all_too_small(r: Random) -> Planted:
    made, wrong = without(isoflops(r, 1e21 * 2.0 ** np.arange(5), 11, 8), 1.6e22, range(5))
    names = {"C": "train_compute", "N": "size", "D": "n_tokens", "L": "validation_loss"}
    return made.rename(columns=names), wrong


@fault("off_centre")
def first_budget_with_one_below(r: Random) -> Planted:
    return without(isoflops(r, 3e18 * 4.0 ** np.arange(4), 13, 12, 0.001), 3e18, range(6, 13))


@fault("duplicates")
def copied_block(r: Random) -> Planted:
    made = vits(r).assign(seed=0)
    return pd.concat([made, made.iloc[12:18]], ignore_index=True), [*range(28, 34)]


@fault("duplicates")
def same_id_logged_again(r: Random) -> Planted:
    made = isoflops(r, 1e19 * 2.0 ** np.arange(4), 7, 4)
    made = made.assign(run_id=[f"{v:08x}" for v in r.integers(0, 2**32, len(made))])
    return pd.concat([made, made.iloc[[5, 16]].assign(L=lambda t: t.L.round(3))], ignore_index=True), [28, 29]


@fault("duplicates")
def seeds_that_are_copies(r: Random) -> Planted:
    made = pd.concat([vits(r).assign(seed=s) for s in (0, 1)], ignore_index=True)
    copied = [28, 33, 40]
    made.loc[copied, "val_nll"] = made.val_nll.to_numpy()[[0, 5, 12]]
    return made, copied


@fault("undertuned")
def one_vit(r: Random) -> Planted:
    made = vits(r, 0.001)
    wrong = np.isclose(made.params_M, 45)
    return made.assign(val_nll=made.val_nll * np.where(wrong, 1.02, 1)), np.flatnonzero(wrong).tolist()


@fault("undertuned")
def largest_but_one_of_a_family(r: Random) -> Planted:
    n = np.geomspace(2e7, 6e9, 11)
    made = pd.DataFrame({"params": n, "tokens": 3e11, "ppl": np.exp(law(n, 3e11, r, 0.001, 1.6))})
    made.loc[9, "ppl"] *= 1.08
    return made, [9]


@fault("undertuned")
def one_amount_of_data(r: Random) -> Planted:
    d = 1e4 * 2.0 ** np.arange(10)
    error = (0.03 + 9 * d**-0.4) * np.exp(0.004 * r.standard_normal(10))
    made = pd.DataFrame({"n_train": d, "test_err": error})
    made.loc[6, "test_err"] *= 1.12
    return made, [6]


@fault("contaminated")
def mmlu_of_one(r: Random) -> Planted:
    made = families(r)
    made.loc[9, "mmlu"] += 0.2
    return made, [9]


@fault("contaminated")
def trivia_of_three(r: Random) -> Planted:
    made = families(r, 36).rename(columns={"triviaqa": "TriviaQA (5-shot)"})
    made.loc[[4, 14, 16], "TriviaQA (5-shot)"] += 0.22
    return made, [4, 14, 16]


@fault("contaminated")
def winogrande_in_percent(r: Random) -> Planted:
    made = families(r, 24)[["model", "n_params", "pile_loss", "winogrande"]]
    made["winogrande"] *= 100
    made.loc[5, "winogrande"] += 14
    return made, [5]


@fault("other_flops")
def a_slip_of_ten(r: Random) -> Planted:
    made, wrong = isoflops(r, 1e19 * 2.0 ** np.arange(4), 7, 4), [2, 19]
    made.loc[wrong, "D"] /= 10
    return made.assign(L=law(made.N, 6e18 / made.N, r)), wrong


@fault("other_flops")
def two_instead_of_six(r: Random) -> Planted:
    made = families(r)[["n_params", "n_tokens", "pile_loss"]]
    return made.assign(train_flops=2 * made.n_params * made.n_tokens), []


@fault("other_flops")
def dense_counts_of_experts(r: Random) -> Planted:
    made = vits(r).assign(tokens=lambda t: 30 * t.images_seen, params=lambda t: 1e6 * t.params_M)
    made = made.drop(columns=["params_M", "images_seen"]).assign(gflops=lambda t: 6e-9 * t.params * t.tokens)
    wrong = [7, 8, 22]
    made.loc[wrong, "gflops"] *= 3
    return made, wrong


@clean
def vits_at_four_amounts(r: Random) -> pd.DataFrame:
    return vits(r)


@clean
def five_budgets(r: Random) -> pd.DataFrame:
    return isoflops(r, 1e18 * 4.0 ** np.arange(5), 8, 5)


@clean
def eight_wide_budgets(r: Random) -> pd.DataFrame:
    return isoflops(r, 1e18 * 3.0 ** np.arange(8), 9, 8, 0.004).rename(columns={"C": "flops", "L": "nll"})


@clean
def public_models(r: Random) -> pd.DataFrame:
    return families(r, 40)


@clean
def three_seeds_of_vits(r: Random) -> pd.DataFrame:
    return pd.concat([vits(r).assign(seed=s, status="done") for s in range(3)], ignore_index=True)


@clean
def measured_flops(r: Random) -> pd.DataFrame:
    made = isoflops(r, 1e19 * 2.0 ** np.arange(5), 7, 5)
    return made.assign(hw_flops=made.C * r.uniform(1.0, 1.06, len(made)))


@clean
def speech_hours(r: Random) -> pd.DataFrame:
    h = np.geomspace(100, 1e5, 9)
    return pd.DataFrame({"hours": h, "wer": (0.03 + 3 * h**-0.5) * np.exp(0.02 * r.standard_normal(9))})


@clean
def rates_inside(r: Random) -> pd.DataFrame:
    rows = [(n, lr, law(n, 1e10, r, 3e-4) * (1 + 0.01 * np.log(lr / (1e-3 * (n / 1e8) ** -0.3)) ** 2))
            for n in 1e7 * 3.0 ** np.arange(5) for lr in 1e-4 * 2.0 ** np.arange(8)]  # fmt: skip
    return pd.DataFrame(rows, columns=["params", "lr", "loss"])


@clean
def experts_active_and_total(r: Random) -> pd.DataFrame:
    made = isoflops(r, 1e20 * 2.0 ** np.arange(4), 8, 6)
    return made.assign(n_total=8 * made.N).rename(columns={"N": "n_active", "D": "n_data", "L": "loss"})


@clean
def two_corpora(r: Random) -> pd.DataFrame:
    parts = [isoflops(r, 1e19 * 2.0 ** np.arange(4), 7, 5).assign(corpus=c, L=lambda t, k=k: t.L + 0.3 * k)
             for k, c in enumerate(("web", "code"))]  # fmt: skip
    return pd.concat(parts, ignore_index=True)
