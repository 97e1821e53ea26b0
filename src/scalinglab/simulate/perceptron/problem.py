"""Perceptron data at finite size: a batch of problems, one a seed, on CPU or GPU.

Inputs have independent entries of variance one; labels come from a teacher of norm √N, flipped with
probability `noise`, or are random (the storage problem). Margins are Δ = y w·x/√N, so the inputs are kept
multiplied by their labels.

From finite to infinite size: a weighted straight line in 1/N through averages over seeds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from scalinglab.errors import BadInput, nearest, require, usable_device
from scalinglab.support.validation import checked

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from scalinglab.curves import Curves


@dataclass(frozen=True)
class InfiniteSize:
    """A quantity at N → ∞, for each load and sharpness in order.

    Attributes:
        load: examples per weight.
        sharpness: λ.
        value: the intercept of y = value + slope/N.
        stderr: its standard error, from the spread over seeds.
        slope: the finite-size correction.
        chi2: Σ (residual/error)² of the line, over `dof` degrees of freedom.
        dof: number of sizes less two.
    """

    load: np.ndarray
    sharpness: np.ndarray
    value: np.ndarray
    stderr: np.ndarray
    slope: np.ndarray
    chi2: np.ndarray
    dof: int


@checked
def infinite_size(curves: Curves, y: str = "test_error") -> InfiniteSize:
    """Extrapolate fixed-norm simulations of several sizes to N → ∞.

    Args:
        curves: from `fixed_norm` at two sizes or more, with two seeds or more each, concatenated.
        y: the measurement.
    """
    frame = curves.frame
    groups = frame.groupby(["load", "sharpness", "n_params"])[y].agg(["mean", "sem"]).reset_index()
    sizes = np.unique(groups["n_params"])
    if len(sizes) < 2 or groups["sem"].isna().any():
        raise BadInput("an extrapolation in 1/N needs two sizes or more and two seeds or more of each")
    found = []
    for (load, sharpness), group in groups.groupby(["load", "sharpness"]):
        if len(group) != len(sizes):
            raise BadInput(f"load={load:g}, sharpness={sharpness:g} is missing at some of the sizes")
        design = np.stack([np.ones(len(sizes)), 1 / group["n_params"].to_numpy()], axis=1)
        weight = 1 / group["sem"].to_numpy()
        covariance = np.linalg.inv((design * weight[:, None] ** 2).T @ design)
        line = covariance @ (design.T @ (weight**2 * group["mean"].to_numpy()))
        chi2 = float(np.sum((weight * (group["mean"].to_numpy() - design @ line)) ** 2))
        found.append((load, sharpness, line[0], np.sqrt(covariance[0, 0]), line[1], chi2))
    load, sharpness, value, error, slope, chi2 = np.array(found).T
    return InfiniteSize(load, sharpness, value, error, slope, chi2, dof=len(sizes) - 2)


INPUTS = ("rademacher", "gaussian")
LABELS = ("teacher", "random")
QUANTILES = {"margin_q01": 0.01, "margin_median": 0.5, "margin_q99": 0.99}


@dataclass(frozen=True, eq=False)
class Problem:
    """Problems of one size, one a seed.

    Attributes:
        examples: inputs times labels, (seeds, n_data, n_params).
        teacher: the teachers' weights, (seeds, n_params), of norm √N; None for random labels.
        seeds: the seed of each problem.
        setting: what made them, for the table of curves.
    """

    examples: Tensor
    teacher: Tensor | None
    seeds: tuple[int, ...]
    setting: dict[str, Any]

    @property
    def n_data(self) -> int:
        """Examples of each problem, P."""
        return int(self.examples.shape[1])

    @property
    def n_params(self) -> int:
        """Weights of each problem, N."""
        return int(self.examples.shape[2])

    def to(self, *, dtype: torch.dtype | None = None, device: str | None = None) -> Problem:
        """The same problems in another precision or on another device."""
        teacher = None if self.teacher is None else self.teacher.to(dtype=dtype, device=device)
        return Problem(self.examples.to(dtype=dtype, device=device), teacher, self.seeds, self.setting)

    def margins(self, weights: Tensor) -> Tensor:
        """Δ of every example, (seeds, n_data)."""
        product = (self.examples @ weights.to(self.examples.dtype)[:, :, None])[:, :, 0]
        return product / math.sqrt(self.n_params)

    def pull(self, forces: Tensor) -> Tensor:
        """Σ_μ force_μ y x/√N, (seeds, n_params): the transpose of `margins`."""
        product = (forces.to(self.examples.dtype)[:, None, :] @ self.examples)[:, 0]
        return product / math.sqrt(self.n_params)


@checked
def draw(
    load: float,
    n_params: int = 1000,
    seeds: int | Iterable[int] = 1,
    *,
    inputs: str = "rademacher",
    labels: str = "teacher",
    noise: float = 0.0,
    device: str = "cpu",
    dtype: str = "float32",
) -> Problem:
    """Draw perceptron problems; a seed gives the same problem whatever the others are.

    Args:
        load: examples per weight; n_data is load·n_params, rounded.
        n_params: weights, N.
        seeds: how many problems, or the seeds themselves.
        inputs: "rademacher" (±1) or "gaussian".
        labels: "teacher", or "random" for the storage problem.
        noise: probability that a teacher's label is flipped.
        device: "cpu", "cuda", …
        dtype: of the inputs; "float32" halves the time of gradient descent, whose weights are double anyway.
    """
    torch = require("torch", "train", "simulating a perceptron")
    if inputs not in INPUTS:
        raise BadInput(f"no inputs {inputs!r}; {nearest(inputs, INPUTS)}")
    if labels not in LABELS:
        raise BadInput(f"no labels {labels!r}; {nearest(labels, LABELS)}")
    if dtype not in ("float32", "float64"):
        raise BadInput(f"dtype={dtype!r} must be 'float32' or 'float64'")
    if not 0 <= noise < 0.5:
        raise BadInput(f"noise={noise:g} must lie between 0 and 0.5: at 0.5 use labels='random'")
    if noise and labels == "random":
        raise BadInput("noise flips a teacher's labels; random labels have no teacher")
    n_data = round(load * n_params) if math.isfinite(load) else 0
    if n_params < 2 or n_data < 1:
        raise BadInput(f"load={load:g} with n_params={n_params}: needs two weights and one example or more")
    chosen = tuple(range(seeds)) if isinstance(seeds, int) else tuple(int(s) for s in seeds)
    if not chosen or len(set(chosen)) < len(chosen):
        raise BadInput(f"seeds={seeds!r} must be a positive number or a list of different seeds")
    usable_device(device)

    examples = torch.empty(len(chosen), n_data, n_params, dtype=getattr(torch, dtype), device=device)
    teachers = torch.empty(len(chosen), n_params, dtype=torch.float64, device=device)
    for index, seed in enumerate(chosen):
        generator = torch.Generator(device).manual_seed(seed)
        # drawn for random labels too, so that a seed has the same inputs under both
        teacher = torch.randn(n_params, generator=generator, dtype=torch.float64, device=device)
        teachers[index] = teacher * (math.sqrt(n_params) / teacher.norm())
        drawn = examples[index]
        if inputs == "gaussian":
            drawn.normal_(generator=generator)
        else:
            drawn.bernoulli_(0.5, generator=generator).mul_(2).sub_(1)
        if labels == "teacher":
            sign = torch.sign(drawn @ teachers[index].to(drawn.dtype))
            flip = torch.rand(n_data, generator=generator, device=device) < noise
            drawn *= torch.where(flip, -sign, sign)[:, None]
        else:
            coin = torch.rand(n_data, generator=generator, device=device) < 0.5
            drawn *= torch.where(coin, 1.0, -1.0).to(drawn.dtype)[:, None]
    setting = {"model": "perceptron", "n_data": n_data, "n_params": n_params, "load": n_data / n_params}
    setting |= {"inputs": inputs, "labels": labels} | ({"noise": noise} if labels == "teacher" else {})
    return Problem(examples, teachers if labels == "teacher" else None, chosen, setting)


def observe(problem: Problem, weights: Tensor, margins: Tensor) -> dict[str, np.ndarray]:
    """Norm, errors and margins of weights, each of shape (seeds,); margins are those of unit norm.

    `test_error` is arccos(R)/π, the exact chance of disagreeing with the teacher on a new Gaussian input.
    """
    import torch

    norm = weights.norm(dim=1) / math.sqrt(problem.n_params)
    unit = (margins.double() / norm[:, None]).sort(dim=1).values
    found = {
        "norm": norm,
        "train_error": (unit <= 0).double().mean(dim=1),
        "margin_min": unit[:, 0],
        "margin_mean": unit.mean(dim=1),
    }
    for name, share in QUANTILES.items():
        found[name] = unit[:, round(share * (problem.n_data - 1))]
    if problem.teacher is not None:
        overlap = (weights * problem.teacher).sum(dim=1) / (norm * problem.n_params)
        # not the arccos of the overlap, which loses half of the digits where the student is near its teacher
        cross = weights - overlap[:, None] * norm[:, None] * problem.teacher
        angle = torch.atan2(cross.norm(dim=1) / (norm * math.sqrt(problem.n_params)), overlap)
        found |= {"overlap": overlap, "test_error": angle / math.pi}
    return {name: value.cpu().numpy().copy() for name, value in found.items()}


def rows(problem: Problem, observed: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Columns of a table, one row a seed for each observation; scalars are repeated."""
    count = len(problem.seeds)
    columns: dict[str, Any] = {
        name: np.concatenate([np.broadcast_to(one[name], count) for one in observed]) for name in observed[0]
    }
    columns["seed"] = np.tile(problem.seeds, len(observed))
    return {**problem.setting, **columns}
