"""Tests of why claims of the papers disagree: the numbers behind `tested` in the files of claims.

    python benchmarks/causes.py [NAME …]

Each function tests one cause on records, runs and curves that are kept, or by a small simulation, and returns
numbers by name. A claim names its function with `check` and keeps its numbers in `found`; the tests compare.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from scalinglab.curves import Curves

MEASURED = Path(__file__).resolve().parents[1] / "docs" / "measured"
Numbers = dict[str, float]


# --- damico2025 ------------------------------------------------------------------------------------------


def plateau_of_guessing() -> Numbers:
    """Fig. 4, CNN on MNIST: do the published curves collapse where guessing has ended?

    Guessing ends at one norm for all sizes, the optimum grows with the size: rescaled by their optima, curves
    are cut at a share of the optimal norm, or not. Rms deviation of the three largest sizes from one curve.
    """
    from scalinglab.errors import BadInput
    from scalinglab.laws.learning_curves.collapse import collapse
    from scalinglab_papers.damico2025.pairs import published_tables

    found = {}
    for version in ("september", "may"):
        tables = published_tables(version)
        if "CNN MNIST" not in tables:
            raise BadInput(f"no published curves of {version}: scalinglab data get damico2025-curves")
        table = tables["CNN MNIST"]
        lowest = table.loc[table.groupby("n_data")["test_error"].idxmin()].set_index("n_data")["norm"]
        share = table["norm"] / table["n_data"].map(lowest)
        for name, part in (("whole", table), ("near", table[share > 0.03])):
            made = collapse(Curves(part.copy()), by="optimum")
            found[f"{version}_{name}"] = float(made.deviation[-3:].mean())
    return found


def optima_of_mean_curves() -> Numbers:
    """Table 2: of how many of the pairs at hand a reading of May's mean curves gives γ₂ as printed.

    The optimum is the minimum, that of curves smoothed over three norms, the first or last norm within 1 % of
    it, or the end; the law a line through logarithms, k P^γ, or k P^γ + q, the paper's words; the sizes those
    that the authors' notebooks name, or all. `plain` is the minimum and the line at the named sizes.
    """
    from scipy.ndimage import uniform_filter1d
    from scipy.optimize import curve_fit

    from scalinglab.errors import BadInput
    from scalinglab_papers.damico2025.pairs import published_tables
    from scalinglab_papers.damico2025.published import MAY_WINDOWS
    from scalinglab_papers.damico2025.tables import TABLE_2

    if not (tables := published_tables("may")):
        raise BadInput("no published curves of May: scalinglab data get damico2025-curves --version may")
    optima: dict[str, Callable[[np.ndarray, np.ndarray], float]] = {
        "minimum": lambda norm, error: norm[np.argmin(error)],
        "smoothed": lambda norm, error: norm[np.argmin(uniform_filter1d(error, 3))],
        "first": lambda norm, error: norm[error <= 1.01 * error.min()][0],
        "last": lambda norm, error: norm[error <= 1.01 * error.min()][-1],
        "end": lambda norm, error: norm[-1],
    }

    def power(x: np.ndarray, y: np.ndarray, *offset: float) -> float:
        start = (1.0, np.polyfit(np.log(x), np.log(y), 1)[0], *offset)
        try:
            return float(curve_fit(lambda x, k, g, q=0.0: k * x**g + q, x, y, p0=start, maxfev=5000)[0][1])
        except RuntimeError:  # no minimum was found
            return np.nan

    laws: dict[str, Callable[[np.ndarray, np.ndarray], float]] = {
        "line": lambda x, y: float(np.polyfit(np.log(x), np.log(y), 1)[0]),
        "power": power,
        "power and offset": lambda x, y: power(x, y, 0.0),
    }
    right = dict.fromkeys(((o, law, which) for o in optima for law in laws for which in ("named", "all")), 0)
    for name, table in tables.items():
        printed, window = TABLE_2[name][2], MAY_WINDOWS[name]
        groups = list(table.sort_values("norm").groupby("n_data"))
        curves = [
            (size, part["norm"].to_numpy(float), part["test_error"].to_numpy(float)) for size, part in groups
        ]
        digit = 0.1 if printed > 10 else 0.01  # of the table: 39.7, 0.50
        for optimum, law, which in right:
            kept = curves if which == "all" or window.all_optima else curves[window.first_size - 1 :]
            x = np.array([size for size, _, _ in kept], float)
            y = np.array([optima[optimum](norm, error) for _, norm, error in kept])
            with np.errstate(over="ignore"):
                found = laws[law](x / x[-1], y / y[-1])
            right[optimum, law, which] += abs(found - printed) <= 0.5001 * digit
    plain = right["minimum", "line", "named"]
    return {"pairs": float(len(tables)), "plain": float(plain), "most": float(max(right.values())),
            "readings": float(len(right))}  # fmt: skip


def margins_after_the_last_error() -> Numbers:
    """Fig. 6, right: growth of the mean normalised margin after the last training error.

    For P = 1,800 also from step 126 on, the first checkpoint after an epoch of P = 14,400.
    """
    runs = pd.read_parquet(MEASURED / "damico2025-runs" / "gpu.parquet")
    runs = runs[runs["margin_normalized_mean"].notna()].sort_values("step")
    found: Numbers = {}
    for size, run in runs.groupby("n_data"):
        wrong = run["train_error"].to_numpy() > 0
        mean = run["margin_normalized_mean"].to_numpy(float)
        after = mean[int(np.flatnonzero(wrong)[-1]) + 1 :]
        found[f"checkpoints_{size}"] = float(len(after))
        if len(after) > 1:
            found[f"growth_{size}"] = float(after[-1] / after[0] - 1)
    small = runs[(runs["n_data"] == 1800) & (runs["step"] >= 126)]["margin_normalized_mean"]
    found["growth_from_step_126"] = float(small.iloc[-1] / small.iloc[0] - 1)
    return found


def what_falls_in_resnets() -> Numbers:
    """Fig. 7: the largest relative falls of norms, mean over all ResNet runs without weight decay.

    Spectral norms of eq. 2 hold the batch norms after each layer, ℓ2 and (2,1) norms those of weights alone.
    And of a narrow ResNet in its first 64 steps: the fall of eq. 2 as it is, and with the running variances
    of its batch norms held at 1 (`held`) at the same weights.
    """
    from scalinglab_papers.damico2025.curves import largest_fall

    runs = pd.read_parquet(MEASURED / "damico2025-runs" / "gpu.parquet")
    runs = runs[(runs["model"] == "resnet") & runs["norm"].notna() & ~(runs["weight_decay"] > 0)].sort_values(
        "step"
    )
    groups = [run for _, run in runs.groupby("run")]
    found: Numbers = {"runs": float(len(groups))}
    for name in ("norm", "norm_spectral", "norm_l2", "norm_group21"):
        found[name] = float(np.mean([largest_fall(run[name].to_numpy(float)) for run in groups]))
    as_it_is, held = _with_and_without_running_variances((1, 4, 16, 64))
    return found | {"narrow": largest_fall(as_it_is), "narrow_held": largest_fall(held)}


def falls_of_first_steps() -> Numbers:
    """Fig. 7: falls of the norm as published in ResNets on MNIST, in whole runs and after three steps."""
    from scalinglab_papers.damico2025.curves import largest_fall

    runs = pd.read_parquet(MEASURED / "damico2025-runs" / "gpu.parquet").sort_values("step")
    runs = runs[(runs["model"] == "resnet") & (runs["dataset"] == "mnist") & (runs["batch_size"] == 1536)]
    parts = {"whole": runs, "after": runs[runs["step"] > 3]}
    return {
        name: float(
            part.groupby("run")["norm_as_published"].apply(lambda x: largest_fall(x.to_numpy())).mean()
        )
        for name, part in parts.items()
    }


def norms_under_weight_decay() -> Numbers:
    """Weight decay: do norms fall while networks learn, or once they have fitted what they train on?

    The largest relative fall of the norm as published in CNNs with L2, mean over runs: of whole runs, and up
    to the first checkpoint with 1 % of training errors. And training errors of ResNets after up to 30 epochs.
    """
    from scalinglab_papers.damico2025.curves import largest_fall

    runs = pd.read_parquet(MEASURED / "damico2025-runs" / "gpu.parquet").sort_values("step")
    runs = runs[(runs["dataset"] == "cifar10") & (runs["optimizer"] == "adam") & (runs["epoch"] >= 1)]
    decays = runs["weight_decay"] > 0
    whole, fitting = [], []
    for _, run in runs[decays & (runs["model"] == "cnn")].groupby("run"):
        norms, fitted = run["norm_as_published"].to_numpy(float), run["train_error"].to_numpy() <= 0.01
        whole.append(largest_fall(norms))
        fitting.append(largest_fall(norms[: int(np.argmax(fitted)) + 1] if fitted.any() else norms))
    resnets = (runs["model"] == "resnet") & (runs["learning_rate"] == 0.01) & (runs["epoch"] <= 30.1)
    resnets &= runs["augment_test"].fillna(0).astype(bool) & runs["n_data"].isin([6000, 11000, 21000, 46000])
    left = (
        runs[resnets]
        .assign(decays=decays)
        .groupby(["decays", "run"])["train_error"]
        .min()
        .groupby("decays")
        .mean()
    )
    return {
        "whole": float(np.mean(whole)), "fitting": float(np.mean(fitting)),
        "resnets": float(left[True]), "resnets_without": float(left[False]),
    }  # fmt: skip


def _with_and_without_running_variances(checkpoints: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Eq. 2 of a ResNet of an eighth of the width along a training on 1,500 images, Adam at rate 0.005."""
    import copy

    import torch
    from torch.nn.functional import cross_entropy

    from scalinglab import measure, nets
    from scalinglab.data import load

    data = load("mnist")
    x, y = torch.as_tensor(data.inputs("train")[:1500]), torch.as_tensor(data.train_y[:1500])
    model = nets.build("resnet", data.input_shape, 10, width=0.125, seed=0)
    optimizer, order = torch.optim.Adam(model.parameters(), lr=0.005), torch.Generator().manual_seed(0)
    found = []
    for step in range(1, max(checkpoints) + 1):
        batch = torch.randint(1500, (128,), generator=order)
        optimizer.zero_grad()
        cross_entropy(model.train()(x[batch]), y[batch]).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        if step in checkpoints:
            held = copy.deepcopy(model)
            for module in held.modules():
                if isinstance(module, torch.nn.BatchNorm2d):
                    module.running_var.fill_(1.0)  # type: ignore[union-attr]
            norms = [measure.norms(one.eval(), data.input_shape) for one in (model, held)]
            found.append([one["spectral_complexity"] for one in norms])
    as_it_is, at_one = np.array(found).T
    return as_it_is, at_one


def exponents_of_shorter_curves() -> Numbers:
    """Table 1: γ, the slope of the smallest error, of whole and of shorter trainings of two pairs.

    Of our ResNets on CIFAR-10 after 20 epochs and after all 60; of the published CNNs on CIFAR-10, whole and
    cut at our sizes and norms, and of ours, with the standard error of the difference from seeds.
    """
    from scalinglab.studies.trained import RunStorage, storing_in
    from scalinglab_papers.damico2025 import against_published
    from scalinglab_papers.damico2025.pairs import AS_PUBLISHED, our_pairs

    store = MEASURED / "damico2025-runs" / "gpu.parquet"
    with storing_in(store):
        resnet, cnn = (
            our_pairs("gpu", RunStorage(store), [pair], (AS_PUBLISHED,), laws=False)[0]
            for pair in ("ResNet CIFAR10", "CNN CIFAR10")
        )
    found: Numbers = {}
    frame = resnet.curves.frame
    for epochs in (20, 60):
        runs = frame[frame["epoch"] <= 1.01 * epochs].groupby(["n_data", "run"])["test_error"].min()
        smallest = runs.groupby("n_data").mean()
        found[f"resnet_{epochs}"] = float(-np.polyfit(np.log(smallest.index), np.log(smallest), 1)[0])
    theirs = against_published.published_curves("CNN CIFAR10", cnn.version)
    both = against_published.at_equal_norms(cnn.curves.frame, theirs)
    row = against_published.exponent_rows("CNN CIFAR10", cnn.version, cnn.curves.frame)[-1]
    whole = np.polyfit(np.log([c.size for c in theirs]), [c.y.min() for c in theirs], 1)[0]
    cut = np.polyfit(np.log([one.size for one in both]), [one.theirs.min() for one in both], 1)[0]
    assert row.measured is not None
    assert row.stderr is not None
    return found | {
        "cnn_whole": float(-whole), "cnn_cut": float(-cut), "cnn_ours": float(row.measured - cut),
        "cnn_error": row.stderr,
    }  # fmt: skip


def optima_of_unfinished_trainings() -> Numbers:
    """Eq. 4: γ₂ of the optima of our ViT on MNIST when its curves are cut after 20 and 40 epochs."""
    from scalinglab.studies.trained import RunStorage
    from scalinglab_papers.damico2025.beyond import optimum_in_time
    from scalinglab_papers.damico2025.pairs import AS_PUBLISHED, our_pairs

    store = RunStorage(MEASURED / "damico2025-runs" / "gpu.parquet")
    (made,) = our_pairs("gpu", store, ["ViT MNIST"], (AS_PUBLISHED,), laws=False)
    found: Numbers = {}
    for epochs in (20, 40):
        frame = made.curves.frame
        in_time = optimum_in_time(Curves(frame[frame["epoch"] <= 1.01 * epochs].copy()))
        found[f"vit_{epochs}"] = in_time.last().value
    last = in_time.table[in_time.table["time"] == in_time.table["time"].max()]
    return found | {"passed": float(last["counts"].sum())}


def optima_under_sgd() -> Numbers:
    """Talk: γ₂ of the optima (eq. 2) of CNNs on CIFAR-10 with SGD and with Adam, of curves that are cut.

    `passed`: the sizes whose error rises again after its smallest value.
    """
    from scalinglab.studies.trained import RunStorage
    from scalinglab_papers.damico2025.beyond import optimum_in_time
    from scalinglab_papers.damico2025.pairs import EQ2, our_pairs

    store = RunStorage(MEASURED / "damico2025-runs" / "gpu.parquet")
    found: Numbers = {}
    for name, part in (("sgd", "CNN CIFAR10, SGD"), ("adam", "CNN CIFAR10")):
        (made,) = our_pairs("gpu", store, [part], (EQ2,))
        assert made.found is not None
        frame = made.curves.frame
        for epochs in (20, 40):
            in_time = optimum_in_time(Curves(frame[frame["epoch"] <= 1.01 * epochs].copy()))
            found[f"{name}_{epochs}"] = in_time.last().value
        found[f"{name}_passed"] = float((made.found.table["kind"] == "overfits").sum())
    return found


def slopes_by_learning_rate(sizes: tuple[int, ...] = (42_000, 48_000)) -> Numbers:
    """Table 2: our early slopes less the published ones, CNN on MNIST in the authors' window, by rate.

    And our error and the published one of ResNets on MNIST, 48,000 images, at a norm of 50.
    """
    from scalinglab.studies import trained
    from scalinglab_papers.damico2025 import against_published, pairs, study
    from scalinglab_papers.damico2025.published import WINDOWS

    theirs = against_published.published_curves("CNN MNIST", "september")
    window = WINDOWS["september"]["CNN MNIST"]
    low, high = np.log([window.low, window.high])
    optima = {curve.size: curve.x[np.argmin(curve.y)] for curve in theirs}
    found = {}
    with trained.storing_in(MEASURED / "damico2025-runs" / "gpu.parquet"):
        for name, part in (("rate_1", "CNN MNIST"), ("rate_2", "CNN MNIST, larger rate")):
            runs = study.trained("gpu", trained.run_storage(), part)
            assert runs is not None
            frame = pairs.with_norm(runs, pairs.AS_PUBLISHED)
            slopes = []
            for one in against_published.at_equal_norms(frame, theirs):
                if one.size in sizes:
                    near = one.inside(optima[one.size] + low, optima[one.size] + high)
                    ours = np.log(np.nanmean(near.runs, 0))
                    slopes.append(-np.polyfit(near.x, ours - near.theirs, 1)[0])
            found[name] = float(np.mean(slopes))
        runs = study.trained("gpu", trained.run_storage(), "ResNet MNIST")
    assert runs is not None
    theirs = against_published.published_curves("ResNet MNIST", "september")
    frame = pairs.with_norm(runs, pairs.AS_PUBLISHED)
    largest = against_published.at_equal_norms(frame, theirs)[-1]
    at_50 = int(np.argmin(np.abs(largest.x - np.log(50))))
    return found | {
        "resnet": float(np.nanmean(largest.runs[:, at_50])),
        "resnet_published": float(np.exp(largest.theirs[at_50])),
    }


def exponents_by_domain() -> Numbers:
    """Talk: the curves of alabdulmohsin2022 with 0.05 ≤ γ ≤ 0.5, by what was learned."""
    from scalinglab.data.tables import published_table
    from scalinglab.results.distributions import slope

    table, inside = published_table("alabdulmohsin2022/curves.csv", "arXiv 2209.06640"), []
    for (domain, _, _), curve in table.groupby(["domain", "task", "model"]):
        mean = curve.groupby("n_data")["loss"].mean()
        exponent = -slope(np.log(mean.index.to_numpy(float)), np.log(mean.to_numpy())).value
        inside.append((domain in ("LM", "BB"), 0.05 <= exponent <= 0.5, exponent < 0.05))
    language, holds, below = np.array(inside).T
    return {
        "language": float(language.sum()), "language_inside": float((language & holds).sum()),
        "language_below": float((language & below).sum()),
        "others": float((~language).sum()), "others_inside": float((~language & holds).sum()),
    }  # fmt: skip


# --- bahri2021 -------------------------------------------------------------------------------------------


def local_interpolation(sizes: tuple[int, ...] = (128, 512, 2048, 8192), seeds: int = 6) -> Numbers:
    """Fig. S2: the exponent in D of local linear interpolation of the same teachers, with no network.

    Each test point gets the value of the plane through its 3(d + 1) neighbours, by least squares. Its loss
    falls as D^-4/d for smooth targets and as D^-3/d for those with kinks, as teachers of ReLUs have: planes
    are off by r² in a share r = D^-1/d of the volume there.
    """
    from scipy.spatial import KDTree

    from scalinglab.data.teacher import random_teacher

    found = {}
    for d in (2, 8, 9):
        losses = np.zeros((seeds, len(sizes)))
        for seed in range(seeds):
            rng, teacher = np.random.default_rng(seed), random_teacher(d, width=96, seed=seed)
            x, tests = (rng.uniform(-0.5, 0.5, (n, d)) for n in (max(sizes), 800))
            y, truth = teacher(x)[:, 0], teacher(tests)[:, 0]
            for place, n in enumerate(sizes):
                near = KDTree(x[:n]).query(tests, k=3 * (d + 1))[1]
                plane = np.concatenate([np.ones((*near.shape, 1)), x[near] - tests[:, None]], axis=-1)
                turned = plane.swapaxes(1, 2)
                gram = turned @ plane + 1e-9 * np.eye(d + 1)
                value = np.linalg.solve(gram, turned @ y[near][..., None])[:, 0, 0]
                losses[seed, place] = np.mean((value - truth) ** 2)
        found[f"d{d}"] = float(-np.polyfit(np.log(sizes), np.log(losses).mean(0), 1)[0])
    return found


def features_to_choose_from(draws: int = 30) -> Numbers:
    """Fig. S6: loss at 144 examples and 192 features over that at 192 and 144, low ridge, simulated.

    Gaussian features with eigenvalues i^-1.5 in random directions, of which some are chosen, as examples are
    among 6,000; a linear target with 30 % of its variance replaced by noise, which stands for what labels
    have beyond the features, and without.
    """
    found = {}
    for name, count, noise in (("of_768", 768, 0.0), ("of_768_noise", 768, 0.3), ("of_3000", 3000, 0.0)):
        rng = np.random.default_rng(0)
        turn = np.linalg.qr(rng.standard_normal((count, count)))[0]
        x = (rng.standard_normal((7000, count)) * np.arange(1, count + 1) ** -0.75) @ turn
        y = x @ (turn.T @ rng.standard_normal(count))
        y = np.sqrt(1 - noise) * y / y.std() + np.sqrt(noise) * rng.standard_normal(len(y))
        losses = {}
        for n_data, n_params in ((144, 192), (192, 144)):
            drawn = []
            for draw in range(draws):
                own = np.random.default_rng([1, draw])
                rows, columns = own.choice(6000, n_data, False), own.choice(count, n_params, False)
                drawn.append(_ridge(x, y, rows, columns, 1e-5 * n_params * float(np.mean(x**2))))
            losses[n_data] = np.array(drawn)
        one, other = losses[144], losses[192]
        found[name] = float(one.mean() / other.mean())
        spread = np.hypot(one.std() / one.mean(), other.std() / other.mean()) / np.sqrt(draws)
        found[f"{name}_error"] = float(found[name] * spread)
    return found


def _ridge(x: np.ndarray, y: np.ndarray, rows: np.ndarray, columns: np.ndarray, ridge: float) -> float:
    """Test loss, on the rows from 6,000 on, of ridge regression on some features and examples."""
    a = x[np.ix_(rows, columns)]
    weights = np.linalg.solve(a.T @ a + ridge * np.eye(len(columns)), a.T @ y[rows])
    return float(np.mean((x[6000:, columns] @ weights - y[6000:]) ** 2))


def exponents_of_groupings_by_size() -> Numbers:
    """Fig. 5 left: exponent of the error between neighbouring sizes, 5 classes less 100, after 20,000 steps.

    Means over seeds of the best error of Wide ResNets on CIFAR-100; `error` is the largest standard error.
    """
    runs = Curves.read(MEASURED / "bahri2021" / "longer-training.parquet").frame
    runs = runs[runs["dataset"] == "cifar100"]
    best = (
        runs.assign(grouped=runs["superclass"].notna())
        .groupby(["grouped", "seed", "n_data"])["test_error"]
        .min()
    )
    logs = np.log(best.unstack("n_data"))
    slopes = -logs.diff(axis=1).iloc[:, 1:] / np.diff(np.log(logs.columns))
    of_5, of_100 = slopes.loc[True], slopes.loc[False]
    found = {f"at_{n}": float(of_5[n].mean() - of_100[n].mean()) for n in slopes.columns}
    return found | {"error": float(np.sqrt((of_5.var() + of_100.var()) / len(of_5)).max())}


def sizes_next_to_the_features(draws: int = 200) -> Numbers:
    """Fig. S7: exponent of the excess loss in D of 24 features with the best ridge, near and far from D = 24.

    Gaussian features of unit variance, linear target with as much noise as signal, and three times as much:
    the excess loss over the best weights is |w − w*|², the best ridge the noise over a weight's variance.
    """
    sizes, features, found = (48, 96, 192, 384, 768, 1536, 3072, 6144), 24, {}
    for noise in (1, 3):
        rng, losses = np.random.default_rng(0), []
        for n in sizes:
            drawn = []
            for _ in range(draws):
                truth = rng.standard_normal(features) / np.sqrt(features)
                x = rng.standard_normal((n, features))
                y = x @ truth + np.sqrt(noise) * rng.standard_normal(n)
                weights = np.linalg.solve(x.T @ x + noise * features * np.eye(features), x.T @ y)
                drawn.append(np.sum((weights - truth) ** 2))
            losses.append(np.mean(drawn))
        for name, part in (("near", slice(0, 5)), ("far", slice(4, None))):
            slope = np.polyfit(np.log(sizes[part]), np.log(losses[part]), 1)[0]
            found[f"{name}_{noise}"] = float(-slope)
    return found


# --- bordelon2024 ----------------------------------------------------------------------------------------


def scatter_between_checkpoints() -> Numbers:
    """Fig. 1a: rms deviation in ln L of the sum of powers from the curves of one seed, and from their mean.

    And the scatter between seeds, which a rate that stays constant leaves in a single run.
    """
    from scalinglab.laws import surface

    curves = pd.read_csv(MEASURED / "bordelon2024" / "fig1a.csv")
    curves = curves[curves["step"] >= curves["step"].max() / 30]
    mean = curves.groupby(["n_params", "step"], as_index=False)["test_loss"].mean()
    found = {}
    for name, parts in (("single", [part for _, part in curves.groupby("seed")]), ("mean", [mean])):
        deviations = []
        for part in parts:
            fit = surface.fit(part["n_params"], part["step"], part["test_loss"], form="chinchilla")
            off = np.log(part["test_loss"] / fit.predict(n_params=part["n_params"], n_data=part["step"]))
            deviations.append(float(np.sqrt(np.mean(off**2))))
        found[name] = float(np.mean(deviations))
    spread = np.log(curves["test_loss"]).groupby([curves["n_params"], curves["step"]]).var()
    return found | {"scatter": float(np.sqrt(spread.mean()))}


CNN_DECAYS = (1.8787, 1.6429)  # b of these CNNs at widths 2 and 8: record fig6a of commit 3ae1e1ca


def frontier_of_one_width() -> Numbers:
    """Fig. 6c: what the kernel says where one width is best at every compute, (a − 1)/b in place of /(1 + b).

    From (a − 1)/(1 + b) of fig6c and the smallest and largest b of its networks.
    """
    table = json.loads((MEASURED / "bordelon2024" / "fig6c.json").read_text())["table"]
    values = {row["quantity"]: row for row in table}
    kernel = values["(a − 1)/(1 + b) of the kernel before training"]["measured"]
    lazy = values["compute exponent of linearised networks"]
    in_time = [kernel * (1 + b) / b for b in CNN_DECAYS]
    return {
        "frontier": lazy["measured"], "error": lazy["stderr"], "kernel": kernel,
        "in_time_low": min(in_time), "in_time_high": max(in_time),
    }  # fmt: skip


def excess_by_spectrum(draws: int = 6000) -> Numbers:
    """finite-size: the exponent of the excess in N at t = 20, at N = 12, 24 and 48, for two decays b."""
    from scalinglab.spectrum import Spectrum
    from scalinglab.theory import dmft
    from scalinglab_papers.bordelon2024.bottlenecks import over_signs, power

    sizes, time, found = (12, 24, 48), np.array([20.0]), {}
    for name, decay in (("slow", 1.25), ("fast", 3.0)):
        spectrum = Spectrum.power_law(1.5, decay, 200)
        above = np.array([
            over_signs(spectrum, time, n, draws, n)[:, 0] / dmft.solve(spectrum, time, n, 2 * n).test_loss - 1
            for n in sizes
        ])  # fmt: skip
        error = above.std(1, ddof=1) / np.sqrt(draws)
        found[name], found[f"{name}_error"] = power(np.array(sizes), above.mean(1), error)
    return found


def norm_by_initial_weights(inputs: int = 100, seeds: int = 2) -> Numbers:
    """Fig. 9e: norm of the tangent kernel over that after the first step, at the end and where it is lowest.

    Digits, even against odd, Wide ResNets without normalisation, with He's initial weights as in the record
    and with PyTorch's, which are smaller, each at a rate and for as long as it needs to learn.
    """
    import torch

    from scalinglab import measure
    from scalinglab.data import load
    from scalinglab.studies import trained

    data, found = load("digits"), {}
    x, y = torch.as_tensor(data.inputs("test")[:inputs]), 2.0 * (data.test_y[:inputs] % 2) - 1
    for name, own in (
        ("he", {"learning_rate": 0.005, "steps": 100}),
        ("pytorch", {"learning_rate": 0.05, "steps": 300, "initialization": "torch"}),
    ):
        ends, lowest = [], []
        for seed in range(seeds):
            setting = {
                "dataset": "digits", "superclass": [k % 2 for k in range(10)], "loss": "mse",
                "optimizer": "sgd", "momentum": 0.9, "batch_size": 64, "checkpoints_per_decade": 2,
                "measure": [], "seed": seed, "test_size": inputs, "evaluate_at_most": 100,
                "model": "wide_resnet", "width": 0.5, "depth": 10, "batch_norm": False, **own,
            }  # fmt: skip
            reading = measure.KernelReading(x, y - y.mean())
            frame = trained.runs([setting], "after-kernels", extra=reading).frame.sort_values("step")
            norms = frame["kernel_norm"].to_numpy(float)
            ends.append(norms[-1] / norms[0])
            lowest.append(norms.min() / norms[0])
        found[name], found[f"{name}_lowest"] = float(np.mean(ends)), float(np.mean(lowest))
    return found


def initial_decay_by_setting(inputs: int = 200, seeds: int = 2) -> Numbers:
    """Fig. 9a: b of the tangent kernel before training, which is 2.0 in the paper and 1.4 in our networks.

    Digits, even against odd, Wide ResNets: with He's initial weights as in the record, with PyTorch's, and
    with batch normalisation by running statistics.
    """
    import torch

    from scalinglab import measure, nets
    from scalinglab.data import load
    from scalinglab.spectrum import Spectrum

    data, found = load("digits"), {}
    x, y = torch.as_tensor(data.inputs("test")[:inputs]), 2.0 * (data.test_y[:inputs] % 2) - 1
    for name, own in (
        ("he", {"batch_norm": False}),
        ("pytorch", {"batch_norm": False, "initialization": "torch"}),
        ("batch_norm", {"batch_norm": True}),
    ):
        decays = []
        for seed in range(seeds):
            model = nets.build(
                "wide_resnet", input_shape=data.input_shape, n_classes=2, depth=10, seed=seed, **own
            )
            with torch.no_grad():
                for _ in range(20):  # which bring the running statistics to those of the inputs
                    model.train()(x)
            kernel = measure.ntk(model.eval(), x)
            spectrum = Spectrum.from_kernel(kernel, y - y.mean(), measure.eigh)
            decays.append(spectrum.tail_exponent("eigenvalues").value)
        found[name] = float(np.mean(decays))
    return found


def task_power_of_mean_kernels(inputs: int = 200, seeds: int = 16) -> Numbers:
    """Fig. 6b: the exponent of 1 − C(k) at 8 and 32 channels, of single kernels and of means over four.

    Digits, even against odd, Wide ResNets before training. Kernels are divided by their trace.
    """
    import torch

    from scalinglab import measure, nets
    from scalinglab.data import load
    from scalinglab.spectrum import Spectrum

    data, found = load("digits"), {}
    x, y = torch.as_tensor(data.inputs("test")[:inputs]), 2.0 * (data.test_y[:inputs] % 2) - 1
    y = y - y.mean()

    def exponents(kernels: list[np.ndarray]) -> np.ndarray:
        spectra = [Spectrum.from_kernel(kernel, y, measure.eigh) for kernel in kernels]
        return np.array([one.tail_exponent("target_power").value - 1 for one in spectra])

    for name, width in (("narrow", 0.5), ("wide", 2.0)):
        kernels = []
        for seed in range(seeds):
            model = nets.build(
                "wide_resnet", input_shape=data.input_shape, n_classes=2, width=width, depth=10,
                batch_norm=False, seed=seed,
            )  # fmt: skip
            kernel = np.asarray(measure.ntk(model, x))
            kernels.append(kernel / np.trace(kernel))
        means = [np.mean(kernels[k::4], axis=0) for k in range(4)]
        for kind, values in (("single", exponents(kernels)), ("mean", exponents(means))):
            found[f"{name}_{kind}"] = float(values.mean())
            found[f"{name}_{kind}_error"] = float(values.std(ddof=1) / np.sqrt(len(values)))
    return found


# --- park2019 --------------------------------------------------------------------------------------------


def _searches(name: str) -> pd.DataFrame:
    with gzip.open(MEASURED / "park2019" / f"{name}.csv.gz") as file:
        table = pd.read_csv(file)
    return table[table["experiment"] == "batch"]


def narrow_perceptrons() -> Numbers:
    """Fig. 4: the power p from widths of 64, 128 or 256 units on, and at a half of the training time.

    One hidden layer, and "deep" two.
    """
    from scalinglab.laws.noise import optimal_noise

    every = pd.read_parquet(MEASURED / "park2019" / "schemes.parquet")
    every = every[every["parameterization"] == "standard"]
    found = {}
    for depth, deep in ((1, ""), (2, "_deep")):
        runs = every[every["depth"] == depth]
        for narrowest in (64, 128, 256):
            power = optimal_noise(Curves(runs[runs["widening_factor"] >= narrowest].copy())).power
            found[f"from_{narrowest}{deep}"] = power.value
            found[f"from_{narrowest}{deep}_low"] = power.low
            found[f"from_{narrowest}{deep}_high"] = power.high
        found[f"half_time{deep}"] = optimal_noise(Curves(runs.copy()), share=0.5).power.value
    return found


def gain_at_fixed_noise_in_time() -> Numbers:
    """Fig. 6: the gain of width at fixed noise over that at the optima, after shares of the training time.

    One hidden layer; and the training loss at the fixed noise at a quarter of the time, narrow and wide.
    """
    from scalinglab.laws.noise import optimal_noise
    from scalinglab_papers.park2019.rows import share_at_fixed_noise

    runs = _searches("one-layer-mnist")
    found = {}
    for share, name in ((0.25, "quarter"), (0.5, "half"), (1.0, "whole")):
        gain = share_at_fixed_noise(optimal_noise(Curves(runs.copy()), share=share))
        assert gain is not None
        found[name] = gain.value
    early = runs[runs["step"] <= 0.2501 * runs.groupby("run")["step"].transform("max")]
    last = early[early["batch_size"] == 512].sort_values("step").groupby("run").last()
    loss = last.groupby("widening_factor")["train_loss"].mean()
    return found | {"loss_128": float(loss[128.0]), "loss_1024": float(loss[1024.0])}


def schemes_in_time() -> Numbers:
    """Fig. 17: best accuracy of top-heavy perceptrons, standard less NTK, after shares of the time."""
    from scalinglab.laws.noise import optimal_noise

    runs = pd.read_parquet(MEASURED / "park2019" / "schemes.parquet")
    runs = runs[runs["model_options"].fillna("").str.contains("top_heavy")]
    found = {}
    for share, name in ((0.125, "eighth"), (0.25, "quarter"), (0.5, "half"), (1.0, "whole")):
        ntk, standard = (
            optimal_noise(Curves(runs[runs["parameterization"] == scheme].copy()), share=share).accuracy
            for scheme in ("ntk", "standard")
        )
        found[name] = float(np.mean(standard - ntk))
    return found


def curvature_and_failures(widths: tuple[int, ...] = (256, 512, 1024, 2048)) -> Numbers:
    """Fig. 15: the exponent in w of one over the loss's largest curvature at the start, standard and NTK.

    A rate is stable on a quadratic where it is below 2(1 + m)/curvature for momentum m. By power iteration on
    128 random inputs of MNIST's size and scale, two hidden layers; and the share of runs of width 8,192 at
    rate 0.088 that failed, with their test error after 100 steps.
    """
    import torch
    from torch.nn.functional import cross_entropy

    from scalinglab import nets

    found: Numbers = {}
    x = torch.as_tensor(np.random.default_rng(0).uniform(-1, 1, (128, 1, 28, 28)), dtype=torch.float32)
    y = torch.arange(128) % 10
    for scheme in ("standard", "ntk"):
        curvatures = []
        for width in widths:
            model = nets.build("mlp", (1, 28, 28), 10, depth=2, hidden=width, parameterization=scheme, seed=0)
            weights = [w for w in model.parameters() if w.requires_grad]
            gradient = torch.autograd.grad(cross_entropy(model(x), y), weights, create_graph=True)
            vector, value = (
                [torch.randn(w.shape, generator=torch.Generator().manual_seed(1)) for w in weights],
                0.0,
            )
            for _ in range(12):
                size = float(torch.sqrt(sum((v**2).sum() for v in vector)))  # type: ignore[arg-type]
                vector = [v / size for v in vector]
                vector = list(torch.autograd.grad(gradient, weights, vector, retain_graph=True))
                value = float(torch.sqrt(sum((v**2).sum() for v in vector)))  # type: ignore[arg-type]
            curvatures.append(value)
        found[scheme] = float(-np.polyfit(np.log(widths), np.log(curvatures), 1)[0])
    with gzip.open(MEASURED / "park2019" / "stability.csv.gz") as file:
        runs = pd.read_csv(file).sort_values("step").groupby("run").last()
    wide = runs[(runs["parameterization"] == "standard") & (runs["widening_factor"] == 8192)]
    wide = wide[np.isclose(wide["learning_rate"], 0.0884, atol=1e-3)]
    return found | {
        "failed": float((wide["status"] != "done").mean()),
        "test_error": float(wide["test_error"].mean()),
    }


CHECKS: dict[str, Callable[[], Numbers]] = {
    function.__name__: function
    for function in (
        exponents_of_shorter_curves, optima_of_unfinished_trainings, optima_under_sgd,
        slopes_by_learning_rate,
        plateau_of_guessing,
        optima_of_mean_curves, margins_after_the_last_error, what_falls_in_resnets, falls_of_first_steps,
        norms_under_weight_decay,
        exponents_by_domain,
        exponents_of_groupings_by_size,
        local_interpolation, features_to_choose_from, sizes_next_to_the_features, scatter_between_checkpoints,
        frontier_of_one_width, excess_by_spectrum, task_power_of_mean_kernels, norm_by_initial_weights,
        initial_decay_by_setting, narrow_perceptrons,
        gain_at_fixed_noise_in_time, schemes_in_time, curvature_and_failures,
    )
}  # fmt: skip


if __name__ == "__main__":
    for wanted in sys.argv[1:] or CHECKS:
        print(wanted, json.dumps({name: round(value, 4) for name, value in CHECKS[wanted]().items()}))
