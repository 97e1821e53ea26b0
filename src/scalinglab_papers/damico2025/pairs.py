"""Pairs of model and data set, analysed: from the curves that the authors published, and from our own runs.

The authors publish test error against norm; `scalinglab data get damico2025-curves` brings these curves. Our
own runs come from `study` and are analysed under two norms: "as published", what the authors' code computes,
which alone can be compared with their numbers, and "eq. 2", what the paper defines. The authors measured
after whole epochs, so laws are fitted to our checkpoints from the first epoch on: before it, test errors fall
more steeply. At scale smoke, where an epoch is a few steps, all checkpoints count, and a family with known
exponents, γ₁ = 0.5 and γ₂ = 1, stands beside networks trained on digits.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from scalinglab.curves import Curves
from scalinglab.data.tables import key_of, tables_of
from scalinglab.errors import BadInput
from scalinglab.laws.learning_curves.dynamical import Dynamical, laws_of
from scalinglab.laws.learning_curves.mean_curves import SizeCurve, size_curves
from scalinglab.studies import shared
from scalinglab.studies.trained import RunStorage
from scalinglab_papers.damico2025 import study
from scalinglab_papers.damico2025.published import CURVES, MAY_CURVES

STAND_IN = "planted γ₁ = 0.5, γ₂ = 1"
PUBLISHED, OURS = "published", "ours"
AS_PUBLISHED, EQ2 = "as published", "eq. 2"
# name -> column, and the column of its logarithm where it may overflow
NORMS: dict[str, tuple[str, str | None]] = {
    EQ2: ("norm", "norm_log"),
    AS_PUBLISHED: ("norm_as_published", "norm_as_published_log"),
    "eq. 2, average over columns": ("norm_column_average", "norm_column_average_log"),
    "ℓ1": ("norm_l1", None),
    "ℓ2": ("norm_l2", None),
    "G₂,₁, sum": ("norm_group21", None),
    "G₂,₁, average": ("norm_group21_average", None),
    "spectral": ("norm_spectral", None),
}
KEPT = ("run", "n_data", "seed", "epoch", "step", "train_loss", "train_error", "test_loss", "test_error")
LARGEST_LOG = 600.0  # of a norm that is kept as it is


@dataclass(frozen=True)
class Pair:
    """One model on one data set under one norm, analysed.

    Attributes:
        name: such as "CNN MNIST".
        origin: "published", "ours", or the stand-in's name.
        norm: under which it was analysed, a key of `NORMS`.
        curves: test error against `norm`.
        runs: one mean curve for each size.
        found: the dynamical laws; None where no falling part stands out of the noise.
        version: of the published curves: that of these, or the one whose settings our runs have.
        why: the reason why nothing was found.
    """

    name: str
    origin: str
    norm: str
    curves: Curves
    runs: list[SizeCurve]
    found: Dynamical | None
    version: str = MAY_CURVES.version
    why: str = ""

    @property
    def label(self) -> str:
        """Name, origin and norm."""
        return self.title if self.origin == STAND_IN else f"{self.title}, {self.norm}"

    @property
    def title(self) -> str:
        """Name and origin, where panels have one norm."""
        return self.name if self.origin == STAND_IN else f"{self.name}, {self.origin}"


@shared
def pairs(scale: str, storage: RunStorage, version: str = MAY_CURVES.version) -> tuple[Pair, ...]:
    """All pairs of a scale: the published ones of a version, and ours as far as they are trained."""
    first = (analysed(STAND_IN, STAND_IN, EQ2, planted()),) if scale == "smoke" else published(version)
    # at scale smoke the laws of the CNN alone stand out of the noise on every machine
    names = ["CNN digits"] if scale == "smoke" else study.pairs_of(scale)
    return (*first, *our_pairs(scale, storage, names))


def version_of(scale: str, pair: str) -> str:
    """The version of the published curves whose settings our runs of a pair have."""
    return CURVES.version if scale == "gpu" and pair in study.SEPTEMBER else MAY_CURVES.version


@shared
def published(version: str) -> tuple[Pair, ...]:
    """The published pairs; none where their tables are not here."""
    return tuple(
        analysed(n, PUBLISHED, AS_PUBLISHED, table, version) for n, table in published_tables(version).items()
    )


def published_tables(version: str) -> dict[str, pd.DataFrame]:
    """The published curves by the name of their pair, in the paper's order and spelling."""
    tables = tables_of(str(key_of(CURVES.name, version)))
    found = {f"{t['model'].iloc[0]} {t['dataset'].iloc[0]}".lower(): t for t in tables}
    return {name: found[name.lower()] for name in study.PAIRS if name.lower() in found}


def our_pairs(
    scale: str,
    storage: RunStorage,
    names: Iterable[str],
    norms: tuple[str, ...] = (AS_PUBLISHED, EQ2),
    from_epoch: float = 1.0,
    laws: bool = True,
) -> tuple[Pair, ...]:
    """Parts of the study under some norms; trained first, as far as `study.train` does that here.

    Checkpoints before `from_epoch` are left out, but at scale smoke. Without `laws` curves are not fitted.
    """
    names = list(names)
    study.train(scale, storage, names)
    made = []
    for name in names:
        if laws and (storage.store is None or storage.store.is_file()):
            changed = storage.store.stat().st_mtime_ns if storage.store is not None else 0
            made += [_once(scale, storage.store, changed, name, norm, from_epoch) for norm in norms]
        else:
            made += [_pair(scale, storage, name, norm, from_epoch, laws) for norm in norms]
    return tuple(pair for pair in made if pair is not None)


def _pair(
    scale: str, storage: RunStorage, name: str, norm: str, from_epoch: float, laws: bool
) -> Pair | None:
    """One part under one norm; None where there are no runs of it."""
    curves = study.trained(scale, storage, name)
    if curves is None:
        return None
    if scale != "smoke":
        curves = curves.select(epoch=slice(from_epoch * (1 - 1e-6), None))
    make = analysed if laws else _as_measured
    return make(name, OURS, norm, with_norm(curves, norm), version_of(scale, name))


@shared
def _once(
    scale: str, store: Path | None, changed: int, name: str, norm: str, from_epoch: float
) -> Pair | None:
    """A part of a table, as it was when it `changed`, or trained in memory: analysed once for all figures."""
    return _pair(scale, RunStorage(store), name, norm, from_epoch, laws=True)


def with_norm(curves: Curves, norm: str) -> pd.DataFrame:
    """The curves with `norm` as the column of that name; what would overflow is divided by a constant."""
    column, logarithm = NORMS[norm]
    frame = curves.frame
    kept = frame[[name for name in KEPT if name in frame]].copy()
    if logarithm is not None and logarithm in frame:
        logs = frame[logarithm].to_numpy(float)
        top = np.nanmax(logs)
        with np.errstate(over="ignore"):
            kept["norm"] = np.exp(logs - (0.0 if top < LARGEST_LOG else top - LARGEST_LOG))
    elif column in frame:
        kept["norm"] = frame[column].to_numpy(float)
    else:
        raise BadInput(f"the runs have no column {column!r}: train them with measure = {study.NORMS}")
    return kept


def analysed(
    name: str, origin: str, norm: str, table: pd.DataFrame, version: str = MAY_CURVES.version
) -> Pair:
    """The laws of one pair; a pair that does not determine them says why."""
    curves = Curves(table, source="read" if origin == PUBLISHED else "train")
    runs: list[SizeCurve] = []
    try:
        runs = size_curves(curves, "norm", "test_error", "n_data")
        return Pair(name, origin, norm, curves, runs, laws_of(runs), version)
    except BadInput as error:
        return Pair(name, origin, norm, curves, runs, None, version, str(error))


def _as_measured(name: str, origin: str, norm: str, table: pd.DataFrame, version: str) -> Pair:
    """A pair whose curves are not fitted."""
    return Pair(name, origin, norm, Curves(table, source="train"), [], None, version)


def planted(noise: float = 0.01) -> pd.DataFrame:
    """ε = 0.3 λ^−0.5 (1 + (λ/λ_opt)⁴)^0.15 with λ_opt ∝ P: γ₁ = 0.5, γ₂ = 1, γ = 0.5; seven sizes."""
    random = np.random.default_rng(0)
    made = []
    for size in 1000 * 2 ** np.arange(7):
        norm = np.geomspace(0.02, 30, 40) * size / 100
        error = 0.3 * norm**-0.5 * (1 + (norm * 100 / size) ** 4) ** 0.15
        error = np.minimum(error, 0.9) * np.exp(noise * random.standard_normal(40))
        columns = {"model": "planted", "dataset": "none", "n_data": size, "norm": norm, "test_error": error}
        made.append(pd.DataFrame(columns))
    return pd.concat(made, ignore_index=True)


def joined_curves(made: Iterable[Pair]) -> Curves:
    """The curves of several pairs in one table, each under its label."""
    frames = []
    for pair in made:
        frame = pair.curves.frame  # a run stands here once for every norm
        frames.append(frame.assign(experiment=pair.label, run=frame["run"] + f"-{pair.norm}"))
    return Curves(pd.concat(frames, ignore_index=True))
