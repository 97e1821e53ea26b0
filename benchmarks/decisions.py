"""What searches of settings and runs on mixtures tell of the next run, on made-up ones whose truth is known.

    python benchmarks/decisions.py searches|mixtures [--count 40] [--first 0]

`searches`: best rates (and batches) that move as power laws of N and D, each size 0.1 off them; exponents,
widths of valleys, their lopsidedness, noise between seeds, sizes and grids are drawn. By kind of study:
what is answered, the share of 95 % intervals that hold the best rate of a search at the next size and the
true optimum, how far the loss at the proposal lies above the least one, the share of searches left out at
the edge of their grid, and of verdicts "does not transfer". At a leap the optimum changes fivefold from
the larger sizes on.

`mixtures`: losses by three laws of the shares that are none of the model's. The proposal of `.best` is
trained: the share of 95 % intervals that hold its loss, how far it lies below the best run and above the
best of many mixtures between the runs.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import pandas as pd

from scalinglab.errors import NotDetermined
from scalinglab.laws.mixing.shares import mixture
from scalinglab.laws.tuning.transfer import hyperparameters

STUDIES = ("grid", "ladder", "few rates", "uneven", "rate and batch", "fixed grid", "leap")
MIXTURES = (
    "plain",
    "few runs",
    "collinear",
    "missing domain",
    "many domains",
    "with N and D",
    "bounded, repeated",
)
FAR = (3.0, 10.0)  # times the largest N, at the same tokens a parameter
OFF = 0.1  # of the optimum of a size from its law, in ln rate


class Search:
    """One study, and the search at the next size."""

    def __init__(self, kind: str, seed: int) -> None:
        self.random, self.kind = np.random.default_rng([seed, STUDIES.index(kind)]), kind
        r = self.random
        self.powers = np.array([[r.normal(-0.4, 0.2), r.normal(0.25, 0.15)], [0.1, r.normal(0.5, 0.1)]])
        self.bend, self.lop = np.exp(r.uniform(np.log(0.005), np.log(0.03))), r.uniform(-0.1, 0.3)
        self.noise = np.exp(r.uniform(np.log(2e-4), np.log(2e-3)))
        self.points, self.step = int(r.integers(6, 10)), np.log(r.choice([1.5, 2.0, 3.0]))
        if kind == "few rates":
            self.points, self.step = 4, np.log(2.5)
        count = 5 if kind == "few rates" else int(r.integers(6, 9))
        n = 2e7 * np.exp(np.cumsum(r.uniform(0.4, 1.0, count)))
        self.sizes = [(v, 20 * v) for v in n]
        if kind not in ("ladder", "fixed grid", "leap"):
            self.sizes = [(v, t * v) for v in n[:: 2 if count > 6 else 1] for t in (8, 40)]
        if kind == "leap":
            self.sizes = [(v, 20 * v) for v in 2e7 * 1.8 ** np.arange(9)]
        largest = max(v for v, _ in self.sizes)
        self.target = largest * r.uniform(*FAR), 20 * largest * FAR[0]
        self.after = self.sizes[-3][0] if kind == "leap" else np.inf

    def optimum(self, n: float, d: float) -> np.ndarray:
        """ln of the best rate and batch of the law."""
        leap = np.array([np.log(5.0) if n >= self.after else 0.0, 0.0])
        return np.log([3e-3, 2**18]) + self.powers @ np.log([n / 2e8, d / 4e9]) - leap

    def excess(self, off: np.ndarray) -> np.ndarray:
        """ln loss above the least one."""
        u, v = off[..., 0], off[..., 1]
        return self.bend * np.maximum(
            u**2 + 0.5 * v**2 - 0.5 * u * v + self.lop * u**3 / 3, 0.5 * u**2 + 0.2 * v**2
        )

    def at(self, n: float, d: float) -> tuple[pd.DataFrame, np.ndarray]:
        """The runs of a size, and its true optimum."""
        r, both = self.random, self.kind == "rate and batch"
        law = self.optimum(n, d)
        best = law + OFF * r.standard_normal(2)
        middle = np.log(3e-3) if self.kind == "fixed grid" else law[0] + self.step * r.uniform(-0.7, 0.7)
        rate = middle + self.step * (np.arange(self.points) - (self.points - 1) / 2)
        batch = np.array([-1, 0, 1]) * np.log(2) + law[1] if both else law[1:]
        z = np.stack([v.ravel() for v in np.meshgrid(rate, batch)], axis=1)
        if self.kind == "uneven":
            z = z[r.random(len(z)) > 0.3] + 0.3 * r.standard_normal((1, 2)) * [1, 0]
        off = z - (best if both else np.array([best[0], law[1]]))
        loss = (1.8 + 480 * n**-0.35 + 1500 * d**-0.33) * np.exp(self.excess(off))
        loss *= np.exp(self.noise * r.standard_normal(len(z)))
        rows = {"n_params": n, "n_data": d, "learning_rate": np.exp(z[:, 0]), "loss": loss}
        return pd.DataFrame(rows | ({"batch_size": np.exp(z[:, 1])} if both else {})), best


def searched(kind: str, seed: int) -> dict[str, Any]:
    """One study, judged."""
    study = Search(kind, seed)
    table = pd.concat([study.at(*size)[0] for size in study.sizes], ignore_index=True)
    at = dict(zip(("n_params", "n_data"), study.target, strict=True))
    row: dict[str, Any] = {"kind": kind, "answered": 0.0}
    try:
        found = hyperparameters(table, at=at, certify=kind in ("grid", "ladder", "leap"))
    except NotDetermined as refused:
        return {**row, "why": refused.args[0].code}
    runs, best = study.at(*study.target)
    rate, off = found.learning_rate, np.zeros(2)
    off[0] = np.log(rate.value) - best[0]
    if kind == "rate and batch":
        off[1] = np.log(found.batch_size.value) - best[1]
    taken = runs["learning_rate"][runs["loss"].idxmin()]
    lost = float(np.expm1(study.excess(off)))
    row |= {
        "answered": 1.0, "holds best": rate.low <= taken <= rate.high,
        "holds optimum": rate.low <= np.exp(best[0]) <= rate.high, "ratio": rate.high / rate.low,
        "regret, %": 100 * lost, "edge": len(found.edge) / len(study.sizes),
        "not transferred": np.nan if found.transfers is None else not found.transfers,
    }  # fmt: skip
    if study.kind == "fixed grid":  # its search there may not reach the optimum
        row["holds best"] = np.nan
    return row


def loss_of(form: int, shares: np.ndarray, r: np.random.Generator, k: int) -> np.ndarray:
    """Laws of mixtures: an exponential (Ye et al. 2024), powers of each share, pairs that help each other."""
    weights = r.dirichlet(np.ones(k))
    if form == 0:
        return np.asarray(2.2 + 0.9 * np.exp(shares @ r.uniform(-1.5, 0.7, k)))
    powers = (weights * (shares + 0.02) ** -r.uniform(0.1, 0.35, k)).sum(axis=1)
    if form == 1:
        return np.asarray(1.5 + powers)
    pairs = np.sqrt(shares[:, 0] * shares[:, 1])
    return np.asarray(1.5 + powers - r.uniform(0.1, 0.4) * pairs)


def mixed(kind: str, seed: int) -> dict[str, Any]:
    """One study of mixtures, its proposal trained."""
    r = np.random.default_rng([seed, 100 + MIXTURES.index(kind)])
    k = {"many domains": 12, "few runs": 4}.get(kind, int(r.integers(3, 7)))
    count = {"many domains": 80, "few runs": 16}.get(kind, int(r.integers(28, 64)))
    noise, form = np.exp(r.uniform(np.log(3e-4), np.log(3e-3))), int(r.integers(3))
    runs = r.dirichlet(np.full(k, 1.5), count)
    if kind == "collinear":
        runs[:, 1] = 0.5 * runs[:, 0]
    if kind == "missing domain":
        runs[r.random((count, k)) < 0.25] = 1e-12
    runs /= runs.sum(axis=1, keepdims=True)
    sizes = np.exp(r.uniform(0, np.log(20), (count, 2))) * [5e7, 2e9] if kind == "with N and D" else None
    state = r.bit_generator.state

    def true(shares: np.ndarray, at: np.ndarray | None) -> np.ndarray:
        fixed = np.random.default_rng()
        fixed.bit_generator.state = state
        base = loss_of(form, shares, fixed, k)
        return base if at is None else base * (0.8 + 40 * at[:, 0] ** -0.3 + 90 * at[:, 1] ** -0.3)

    names = [f"share_{j}" for j in range(k)]
    table = pd.DataFrame(runs, columns=names).where(lambda t: t > 1e-9)  # a missing domain is an empty cell
    if sizes is not None:
        table = table.assign(n_params=sizes[:, 0], n_data=sizes[:, 1])
    table["loss"] = true(runs, sizes) * np.exp(noise * r.standard_normal(count))
    asked: dict[str, Any] = {}
    if kind == "bounded, repeated":
        asked = {"constraints": {names[0]: (0.1, 0.5)}, "like": {"n_data": 1e11}, "repeat": {names[1]: 5e9}}
    try:
        best = mixture(table, shares=names, y="loss").best(**asked)
    except NotDetermined as refused:
        return {"kind": kind, "answered": 0.0, "why": refused.args[0].code}
    proposal = np.array([[best.shares[name] for name in names]])
    at = None if sizes is None else np.array([[best.sizes["n_params"], best.sizes["n_data"]]])
    truth = float(true(proposal, at)[0])
    trained = truth * np.exp(noise * np.random.default_rng([seed, 7]).standard_normal())
    between = np.random.default_rng([seed, 8]).dirichlet(np.full(count, 0.1), 4000) @ runs
    if asked:
        between = between[(between[:, 0] >= 0.1) & (between[:, 0] <= 0.5) & (between[:, 1] <= 0.2)]
    many = between if at is None else np.vstack([between, runs])
    reached = true(many, None if at is None else np.repeat(at, len(many), axis=0)).min()
    own = true(runs, None if at is None else np.repeat(at, count, axis=0)).min()
    return {
        "kind": kind, "answered": 1.0, "held": best.loss.low <= trained <= best.loss.high,
        "width, %": 100 * (best.loss.high / best.loss.low - 1), "below best run, %": 100 * (1 - truth / own),
        "above best, %": 100 * (truth / reached - 1),
    }  # fmt: skip


def main() -> None:
    """Print the means by kind."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=["searches", "mixtures"])
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--first", type=int, default=0)
    asked = parser.parse_args()
    one, kinds = (searched, STUDIES) if asked.what == "searches" else (mixed, MIXTURES)
    seeds = range(asked.first, asked.first + asked.count)
    found = pd.DataFrame([one(kind, seed) for kind in kinds for seed in seeds])
    if "why" in found:
        print(found.groupby("kind", sort=False)["why"].value_counts().to_string())
    numbers = found.drop(columns="why", errors="ignore").set_index("kind").astype(float)
    print(numbers.groupby("kind", sort=False).mean().to_string(float_format="%.3f"))
    print(numbers.mean().rename("all").to_frame().T.to_string(float_format="%.3f"))


if __name__ == "__main__":
    main()
