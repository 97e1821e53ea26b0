"""Figs. S6 and S7: linear models on the features that a trained network has learned.

No pretrained weights are taken from elsewhere: a network is trained here to tell the first five classes of an
image set apart (an mlp, at scale gpu a Wide ResNet), and linear models on its penultimate layer then learn
the other five, on images the network has never seen. Random subsets of features and of images, real labels;
once with a low ridge and once with the ridge that is best on the test set, as in the paper.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from scalinglab.curves import Curves
from scalinglab.data import Dataset, load
from scalinglab.figures import style
from scalinglab.simulate import random_features as simulate
from scalinglab.studies import Reproduction, by_draw, draw_means, draw_power, shared, verdict
from scalinglab_papers.bahri2021 import linear

if TYPE_CHECKING:
    from scalinglab.nets import Network

KNOWN = 5  # classes that the network learns; the linear models learn the rest


@dataclass(frozen=True, kw_only=True)
class Scale:
    """One scale.

    Attributes:
        network: as `scalinglab.nets.build` takes it, trained for so many epochs.
        n_train: images of new classes of which draws are made.
        small: the size kept fixed in the variance-limited regimes.
        sizes: D or P in the resolution-limited regimes.
        large: D or P in the variance-limited regimes.
        dual: D or P in the figure on duality, the other fixed at `meeting`.
    """

    dataset: str
    network: dict[str, Any]
    epochs: int
    n_train: int = 6000
    small: int = 24
    sizes: tuple[int, ...] = (16, 32, 64, 128, 256, 512)
    large: tuple[int, ...] = (48, 96, 192, 384, 768)
    dual: tuple[int, ...] = (12, 24, 48, 96, 144, 192, 256, 384, 600)
    meeting: int = 192
    draws: int = 8


SCALES = {
    "smoke": Scale(
        dataset="digits", network={"name": "mlp", "depth": 2, "hidden": 256}, epochs=40, n_train=560,
        small=12, sizes=(8, 16, 32, 64, 128), large=(24, 48, 96, 192), dual=(8, 16, 32, 48, 64, 96, 128, 192),
        meeting=64, draws=10,
    ),
    "laptop": Scale(dataset="mnist", network={"name": "mlp", "depth": 2, "hidden": 768}, epochs=3),
    "gpu": Scale(
        dataset="cifar10", network={"name": "wide_resnet", "depth": 10, "width": 12.0}, epochs=6,
    ),
}  # fmt: skip
RIDGES = np.geomspace(1e-5, 1.0, 16)  # in units of the kernel's mean diagonal; the first is "low"
LOW, TUNED = "low ridge", "tuned ridge"


# --- the network and its features ----------------------------------------------------------------------


def trained_network(data: Dataset, s: Scale) -> Network:
    """A network of this scale, trained with Adam on the first classes of the set."""
    import torch
    from torch.nn.functional import cross_entropy

    from scalinglab import nets

    known, device = data.train_y < KNOWN, "cuda" if torch.cuda.is_available() else "cpu"
    x = torch.as_tensor(data.inputs("train")[known], device=device)
    y = torch.as_tensor(data.train_y[known], device=device)
    model = nets.build(input_shape=data.input_shape, n_classes=KNOWN, **s.network)
    nets.initialize(model, 0)
    model.to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    order = torch.Generator().manual_seed(0)
    for _ in range(s.epochs):
        for batch in torch.split(torch.randperm(len(x), generator=order).to(device), 64):
            optimizer.zero_grad()
            cross_entropy(model(x[batch]), y[batch]).backward()  # type: ignore[no-untyped-call]
            optimizer.step()
    return model.eval()


def penultimate(model: Network, x: np.ndarray) -> np.ndarray:
    """Inputs of the last layer, (n, features)."""
    import torch

    found: list[np.ndarray] = []
    layers = [m for m in model.modules() if isinstance(m, torch.nn.Linear)]
    hook = layers[-1].register_forward_pre_hook(
        lambda _, given: found.append(np.asarray(given[0].float().cpu()))
    )
    device = next(model.parameters()).device
    with torch.no_grad():
        for batch in torch.split(torch.as_tensor(x), 1024):
            model(batch.to(device))
    hook.remove()
    return np.concatenate(found).astype(float)


@shared
def learned_pool(scale: str) -> tuple[simulate.FeaturePool, float]:
    """Features of the images of unseen classes with their labels; and the mean of the kernel's diagonal."""
    s = SCALES[scale]
    data = load(s.dataset)
    model = trained_network(data, s)
    tables = {}
    for split, labels in (("train", data.train_y), ("test", data.test_y)):
        new = np.flatnonzero(labels >= KNOWN)
        features = penultimate(model, data.inputs(split)[new])
        tables[split] = features, np.eye(10 - KNOWN)[labels[new] - KNOWN]
    features, targets = tables["train"]
    alive = features[:, :].std(0) > 0
    mean, centre = features[:, alive].mean(0), targets.mean(0)
    pool = simulate.FeaturePool(
        features[: s.n_train, alive] - mean,
        tables["test"][0][:, alive] - mean,
        targets[: s.n_train] - centre,
        tables["test"][1] - centre,
        name="linear model on learned features",
    )
    return pool, float(np.mean(pool.train**2))


def sweep(scale: str, n_data: np.ndarray, n_params: np.ndarray) -> pd.DataFrame:
    """Losses at every pair of sizes, for the low and for the best ridge of each size and draw."""
    pool, diagonal = learned_pool(scale)
    s = SCALES[scale]
    frame = simulate.sweep(pool, n_data, n_params, ridge=RIDGES * diagonal, draws=s.draws).frame
    keys = ["n_data", "n_params", "seed"]
    low = frame[frame["ridge"] == frame["ridge"].min()][[*keys, "ridge", "test_loss"]].assign(fit=LOW)
    # one ridge for a pair of sizes: the best for the mean over draws
    means = frame.groupby(["n_data", "n_params", "ridge"], as_index=False)["test_loss"].mean()
    best = means.loc[
        means.groupby(["n_data", "n_params"])["test_loss"].idxmin(), ["n_data", "n_params", "ridge"]
    ]
    tuned = frame.merge(best, on=["n_data", "n_params", "ridge"])[[*keys, "ridge", "test_loss"]].assign(
        fit=TUNED
    )
    both = pd.concat([low, tuned], ignore_index=True)
    return both.assign(dataset=s.dataset, model=pool.name, test_loss=both["test_loss"] * (10 - KNOWN))


def losses(frame: pd.DataFrame, fit: str, along: str, **fixed: int) -> tuple[np.ndarray, np.ndarray]:
    """Sizes, and losses (draws, sizes), along one of the two sizes."""
    part = frame[frame["fit"] == fit]
    for name, value in fixed.items():
        part = part[part[name] == value]
    return by_draw(part, along)


# --- Fig. S6 -------------------------------------------------------------------------------------------


def fig_s6(scale: str) -> Reproduction:
    """Duality: the loss against data at fixed features, and against features at fixed data."""
    s = SCALES[scale]
    whole, sizes = s.meeting, np.array(s.dual)
    frame = pd.concat(
        [sweep(scale, sizes, np.array([whole])), sweep(scale, np.array([whole]), sizes)], ignore_index=True
    ).drop_duplicates(["n_data", "n_params", "seed", "fit"])
    figure, axes = style.panels(1, 2, size=(4.2, 3.4))
    rows = []
    for axis, fit in zip(axes[0], (LOW, TUNED)):
        style.loglog(axis, "size", "test loss", f"{s.dataset}, learned features: {fit}")
        x, by_data = losses(frame, fit, "n_data", n_params=whole)
        _, by_features = losses(frame, fit, "n_params", n_data=whole)
        draw_means(axis, x, by_data, color=style.PALETTE[0], label=f"examples D, at P = {whole}", fmt="o-")
        draw_means(
            axis, x, by_features, color=style.PALETTE[1], label=f"features P, at D = {whole}", fmt="s--"
        )
        style.legend(axis)
        for size in (x[x < whole].max(), x[x > whole].min()):  # at D = P both are the same model
            at = int(np.flatnonzero(x == size)[0])
            found = verdict.ratio(verdict.mean(by_data[:, at]), verdict.mean(by_features[:, at]))
            rows.append(
                found.row(
                    f"loss at {size:g} examples over that at {size:g} features, {fit}", expected=1.0,
                    note=f"the other is {whole}; the paper: identical",
                )
            )  # fmt: skip
        if fit == TUNED:  # without double descent both are power laws
            early = x <= whole / 2
            data, features = (linear.exponent(x[early], v[:, early]) for v in (by_data, by_features))
            rows.append(
                verdict.difference(features, data).row(
                    f"exponent in features less that in data, {fit}", expected=0.0,
                    resolution=0.1 * data.value, note="sizes up to half of D = P; the paper: identical",
                )
            )  # fmt: skip
    curves = Curves(frame, settings=["fit"], source="simulate")
    return Reproduction(curves, figure, tuple(rows))


# --- Fig. S7 -------------------------------------------------------------------------------------------


def fig_s7(scale: str) -> Reproduction:
    """Four regimes on learned features with real labels, for a low and for the best ridge."""
    s = SCALES[scale]
    pool, _ = learned_pool(scale)
    most, all_features = len(pool.train), pool.train.shape[1]
    sizes, large = np.array(s.sizes), np.array(s.large)
    # (name, along, sizes, the other size, the limit that is subtracted)
    regimes = (
        ("variance-limited in data", "n_data", large, s.small, (most, s.small)),
        ("resolution-limited in data", "n_data", sizes, all_features, None),
        ("resolution-limited in features", "n_params", sizes, most, None),
        ("variance-limited in features", "n_params", large, s.small, (s.small, all_features)),
    )
    figure, axes = style.panels(2, 4, size=(3.2, 2.9))
    rows, frames = [], []
    for column, (name, along, grid, other, limit) in enumerate(regimes):
        grid = grid[grid < (all_features if along == "n_params" else most) // (2 if limit else 1)]
        fixed = "n_params" if along == "n_data" else "n_data"
        ends = [] if limit is None else [limit[0] if along == "n_data" else limit[1]]
        both = {along: np.append(grid, ends).astype(int), fixed: np.array([other])}
        frame = sweep(scale, both["n_data"], both["n_params"]).assign(regime=name)
        frames.append(frame)
        for row, fit in enumerate((LOW, TUNED)):
            x, values = losses(frame, fit, along)
            if limit is not None:
                x, values = x[:-1], values[:, :-1] - values[:, -1:]
            found = linear.exponent(x, values)
            what = "examples D" if along == "n_data" else "features P"
            axis = style.loglog(
                axes[row, column], what, "excess loss" if limit else "test loss", f"{name}\n{fit}"
            )
            fixed_at = f"{'P' if along == 'n_data' else 'D'} = {other}"
            draw_power(axis, x, values, found.value, style.PALETTE[row], f"{found} ({fixed_at})")
            style.legend(axis)
            judged = {"paper": 1.0} if limit is not None and fit == TUNED else {}
            note = "EfficientNet there"
            if limit is not None:
                note += "; the paper: 1" if fit == TUNED else "; the paper: not 1, double descent interferes"
            rows.append(found.row(f"{name}, {fit}", note=note, **judged))
    curves = Curves(pd.concat(frames, ignore_index=True), settings=["fit", "regime"], source="simulate")
    return Reproduction(curves, figure, tuple(rows))
