"""The runs behind an optimal noise: which width, which level, how well they end, and whether they trained."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from scalinglab import sgd_noise
from scalinglab.curves import Curves
from scalinglab.errors import BadInput, nearest
from scalinglab.laws.noise.selection import Search, search

NORMALIZED = "normalized_noise_scale"
TRAINED_ABOVE = 0.2  # published: park2019, section 3.1; accuracy of ten classes
FACTORS = (
    "learning_rate", "batch_size", "n_data", "momentum", "optimizer", "parameterization", "initialization",
    "model", "width", "model_options",
)  # fmt: skip
UNITS = {
    "widening_factor": "that of park2019: units of a hidden layer of an mlp, width of lenet and wide_resnet",
    "width": "as the table counts it; in runs of scalinglab a multiple of the family's base width",
}
# published: park2019; the power of the optimum in w, by what was searched and by scheme, everything else
# being fixed: ḡ_opt ∝ w, and ḡ ∝ ε/B (NTK) or w ε/B (standard)
CLAIMS = {
    "normalized_noise_scale": {"ntk": 1.0, "standard": 1.0}, "noise_scale": {"ntk": 1.0, "standard": 0.0},
    "learning_rate": {"ntk": 1.0, "standard": 0.0}, "batch_size": {"ntk": -1.0, "standard": 0.0},
}  # fmt: skip


@dataclass(frozen=True)
class Ends:
    """One row a run.

    Attributes:
        frame: the last row of every run that counts.
        level: what was searched.
        width: in the units of `width_column`.
        score: larger is better.
        trained: whether the run trained.
        x, y, width_column: the columns.
        share: of the training time that counts.
    """

    frame: pd.DataFrame
    level: np.ndarray
    width: np.ndarray
    score: np.ndarray
    trained: np.ndarray
    x: str
    y: str
    width_column: str
    share: float = 1.0

    @property
    def is_loss(self) -> bool:
        """Whether the score is minus a loss, which is neither an accuracy nor judged by one."""
        return self.y.endswith("loss")

    @property
    def widths(self) -> np.ndarray:
        """The widths, increasing."""
        return np.unique(self.width)

    def claim(self) -> float:
        """The paper's power of the optimum in w; NaN where it depends on a scheme that is not known.

        A column of another name counts as a normalized noise scale.
        """
        own = (
            self.frame["parameterization"].unique()
            if "parameterization" in self.frame
            else CLAIMS[NORMALIZED]
        )
        claims = {CLAIMS.get(self.x, CLAIMS[NORMALIZED]).get(str(scheme), float("nan")) for scheme in own}
        return claims.pop() if len(claims) == 1 else float("nan")

    def multiple(self) -> np.ndarray:
        """Our `width` at each of `widths`; NaN where the table has none."""
        if "width" not in self.frame:
            return np.full(len(self.widths), np.nan)
        own = self.frame["width"].to_numpy(float)
        return np.array([own[self.width == w][0] for w in self.widths])

    def searches(self) -> list[Search]:
        """The runs of every width, by level."""
        found = []
        for value in self.widths:
            chosen = self.width == value
            one = search(self.level[chosen], self.score[chosen], self.trained[chosen])
            if not one.usable.any():
                raise BadInput(
                    f"no run of {self.width_column} = {value:g} trained: at no level do three quarters of "
                    f"the runs end at a {self.y} better than chance"
                )
            found.append(one)
        return found


def ends(
    curves: Curves,
    x: str = "normalized_noise_scale",
    y: str | None = None,
    width: str | None = None,
    trained_above: float = TRAINED_ABOVE,
    share: float = 1.0,
) -> Ends:
    """The end of every run, or its last checkpoint within a share of its training time.

    Args:
        curves: runs at several widths, levels and seeds.
        x: the column that was searched; noise scales are computed where the table has none.
        y: `test_accuracy`, or a column whose name ends in `error` or `loss`.
        width: by default `widening_factor`, and `width` in a table without it.
        trained_above: runs that end at or below this accuracy did not train. Not applied to losses.
        share: of the steps that a run takes.
    """
    if not 0 < share <= 1:
        raise BadInput(f"share = {share:g}: a part of the training time, more than 0 and at most 1")
    curves = completed(curves)
    column = y or next((c for c in ("test_accuracy", "test_error") if c in curves.frame), "test_error")
    w = width or ("widening_factor" if _known(curves.frame, "widening_factor") else "width")
    if x in sgd_noise.COLUMNS and not _known(curves.frame, x):
        raise BadInput(f"the runs have no {x}: {_why_missing(curves.frame)}")
    for name in (x, column, w):
        curves[name]  # raises with the missing column and the nearest name
    if not _known(curves.frame, x):
        raise BadInput(f"{x} is missing in every row")
    last = _last(curves, [x, w], share)
    last = last[last[x].notna() & last[w].notna()]
    if last.empty:
        raise BadInput(f"no run has a checkpoint within {share:g} of its training time")
    score = last[column].to_numpy(float)
    if column.endswith("error"):
        score = 1 - score
    elif column.endswith("loss"):
        score = -score
    trained = np.isfinite(score) & ~curves.has_diverged[last.index]
    if not column.endswith("loss"):
        trained &= score > trained_above
    level, breadth = last[x].to_numpy(float), last[w].to_numpy(float)
    if not np.all(level > 0) or not np.all(breadth > 0):
        wrong = x if not np.all(level > 0) else w
        raise BadInput(f"{wrong} has the value {last[wrong].min():g}: levels and widths must be positive")
    return Ends(last, level, breadth, score, trained, x, column, w, share)


def completed(curves: Curves) -> Curves:
    """The curves with noise scales and widening factors, computed from settings where they are missing."""
    missing = [name for name in sgd_noise.COLUMNS if not _known(curves.frame, name)]
    factors = [name for name in FACTORS if name in curves.frame]
    if not missing or not factors:
        return curves
    key = curves.frame.groupby(factors, dropna=False, sort=False).ngroup().to_numpy()
    _, first, index = np.unique(key, return_index=True, return_inverse=True)
    each = [sgd_noise.columns(own) for own in curves.frame[factors].iloc[first].to_dict("records")]
    added = {
        name: np.array([own.get(name, np.nan) for own in each])[index]
        for name in missing
        if any(name in own for own in each)
    }
    if not added:
        return curves
    return Curves(curves.frame.assign(**added), settings=curves.settings, names=curves.names)


def _known(frame: pd.DataFrame, column: str) -> bool:
    return column in frame and bool(frame[column].notna().any())


def _why_missing(frame: pd.DataFrame) -> str:
    if "optimizer" in frame and not frame["optimizer"].isin(sgd_noise.OPTIMIZERS).any():
        return "it is defined for sgd and nesterov alone; --x learning_rate or --x batch_size searches those"
    if absent := [name for name in ("learning_rate", "batch_size") if not _known(frame, name)]:
        return f"it takes a column {' and a column '.join(absent)}; --column {absent[0]}=NAME names yours"
    ways = {
        "n_data": "--n-data N (training examples)",
        "parameterization": "--parameterization standard (PyTorch's own) or ntk",
    }
    if absent := [name for name in ways if not _known(frame, name)]:
        return f"the table does not say {' and '.join(absent)}: give {' and '.join(ways[n] for n in absent)}"
    if not frame["parameterization"].isin(sgd_noise.SCHEMES).any():
        return (
            f"it is not defined for parameterization {frame['parameterization'].iloc[0]!r}; --x noise_scale, "
            "--x learning_rate and --x batch_size search those"
        )
    return "it takes one variance of the weights (initialization critical or torch) and a column width"


def assume(
    curves: Curves,
    *,
    n_data: float | None = None,
    parameterization: str | None = None,
    momentum: float | None = None,
) -> Curves:
    """The curves with what their table does not say, the same for all runs.

    Raises:
        BadInput: where the table says otherwise.
    """
    if parameterization is not None and parameterization not in sgd_noise.SCHEMES:
        raise BadInput(
            f"parameterization {parameterization!r}: {nearest(parameterization, sgd_noise.SCHEMES)}"
        )
    given = {"n_data": n_data, "parameterization": parameterization, "momentum": momentum}
    given = {name: value for name, value in given.items() if value is not None}
    for name, value in given.items():
        if _known(curves.frame, name) and not curves.frame[name].eq(value).all():
            own = curves.frame[name].dropna().unique()
            raise BadInput(f"{name} = {value}: the table has {', '.join(map(str, own[:4]))}; leave it out")
    if not given:
        return curves
    settings = [*curves.settings, *(name for name in given if name not in curves.settings)]
    return Curves(curves.frame.assign(**given), settings=settings, names=curves.names)


def _last(curves: Curves, settings: list[str], share: float) -> pd.DataFrame:
    """The last row of every run; without progress every row is the end of a run."""
    if not curves.progress_columns:
        return curves.frame
    progress = curves.progress_columns[0]
    frame = curves.frame.sort_values(progress, kind="stable")
    runs = ["run", *settings]  # settings of a foreign table are undeclared, perhaps
    if share < 1:
        total = frame.groupby(runs, sort=False)[progress].transform("max")
        frame = frame[frame[progress] <= share * total * (1 + 1e-9)]
    return frame.groupby(runs, sort=False).tail(1)
