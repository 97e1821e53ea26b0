"""Learning rate and batch size at sizes that were not searched, on the Step Law's 42 searches.

Protocol: searches are ordered by 6 N D. The smallest ones, as many as 10 % of the compute of all runs pays
for, predict the eleven largest. The loss of the run nearest to the proposal, in logarithms of rate and batch,
is compared with the best run of the search. Intervals are judged on every search that can be predicted from
searches at most a third of its size. The published law, rate = 1.79 N^-0.713 D^0.307 and batch = 0.58 D^0.571
tokens, is counted the same way; its authors fitted it to all searches, and print 0.104 % for their own count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from scalinglab.curves import Curves
from scalinglab.errors import NotDetermined
from scalinglab.figures import decisions
from scalinglab.laws.tuning.transfer import Hyperparameters
from scalinglab.laws.tuning.transfer import hyperparameters as best_settings
from scalinglab.studies import Reproduction, Row, mean, rounded
from scalinglab_papers.field.tables import share, table

if TYPE_CHECKING:
    import pandas as pd

SHARE, LARGEST = 0.10, 11  # of the compute that is searched, and the sizes that are predicted
PUBLISHED_LOSS = 0.104  # percent above the best run, of the published law, fitted to all searches
RATE, BATCH = (1.79, -0.713, 0.307), (0.58, 0.571)  # of the published law
SEQUENCE = 2048  # tokens
FACTOR, FEWEST = 3.0, 5  # in size, over which intervals are judged; searches that it takes
HELD, HELD_WITHIN = 0.94, 0.04  # the share of intervals that should hold the best rate
SUBSETS, SEARCHES, RUNS = 8, 10, 20  # random parts of the small searches, each of so many searches and runs
SYNTHETIC = {"n_params": -0.7, "n_data": 0.3}  # exponents of the searches of scale smoke
NAMES = {
    "lr": "learning_rate", "bsz": "batch_size", "data_size": "n_data", "lm_loss": "loss",
    "non_embedding_param_size": "n_params",
}  # fmt: skip


def hyperparameters(scale: str) -> Reproduction:
    """The searches of the Step Law; "smoke": valleys that were drawn from a law."""
    runs = drawn() if scale == "smoke" else published()
    searches = [own for _, own in runs.groupby(["n_params", "n_data"])]
    searches.sort(key=_size)
    spent = np.cumsum([_size(s) * len(s) for s in searches])
    small = [s for s, total in zip(searches, spent, strict=True) if total <= SHARE * spent[-1]]
    found = _predict(small, searches[-1])
    rows = _smoke_rows(found) if scale == "smoke" else _rows(searches, small, found)
    curves = Curves(runs, source="read", experiment="field/hyperparameters")
    return Reproduction(curves, decisions.hyperparameters(found), tuple(rows))


def published() -> pd.DataFrame:
    """All runs of the searches."""
    import pandas as pd

    parts = [table("scalebench", f"lr_bsz-{part}.parquet") for part in ("train", "test")]
    return pd.concat(parts).rename(columns=NAMES).drop(columns="group").reset_index(drop=True)


def drawn() -> pd.DataFrame:
    """Searches whose optima follow the law of `SYNTHETIC`, with 0.1 % noise and a scatter of a tenth."""
    import pandas as pd

    rng, rows = np.random.default_rng(0), []
    for n in np.geomspace(5e7, 1e9, 5):
        for d in np.geomspace(2e9, 1e11, 5):
            optimum = np.log(2e-3) + _power(n, d) + 0.1 * rng.standard_normal()
            for z in np.log(2e-3) + _power(n, d) + np.log(2) * np.arange(-3, 4) / 1.5:
                loss = (1.7 + 8 * n**-0.1 + 20 * d**-0.15) * np.exp(0.01 * (z - optimum) ** 2)
                loss *= np.exp(0.001 * rng.standard_normal())
                rows.append({"n_params": n, "n_data": d, "learning_rate": np.exp(z), "loss": loss})
    return pd.DataFrame(rows)


def _power(n: float, d: float) -> float:
    return float(SYNTHETIC["n_params"] * np.log(n / 3e8) + SYNTHETIC["n_data"] * np.log(d / 1e10))


def _size(search: pd.DataFrame) -> float:
    return float(search["n_params"].iloc[0] * search["n_data"].iloc[0])


def _predict(small: list[pd.DataFrame], search: pd.DataFrame) -> Hyperparameters:
    import pandas as pd

    at = {name: float(search[name].iloc[0]) for name in ("n_params", "n_data")}
    return best_settings(pd.concat(small), at, y="loss", certify=False)


def _above(search: pd.DataFrame, rate: float, batch: float) -> float:
    """Percent by which the nearest run lies above the best."""
    far = np.log(search["learning_rate"] / rate) ** 2 + np.log(search["batch_size"] / batch) ** 2
    return float(100 * (search["loss"][far.idxmin()] / search["loss"].min() - 1))


def _by_the_published(search: pd.DataFrame) -> float:
    n, d = (float(search[name].iloc[0]) for name in ("n_params", "n_data"))
    return _above(search, RATE[0] * n ** RATE[1] * d ** RATE[2], BATCH[0] * d ** BATCH[1] / SEQUENCE)


def _by_the_law(search: pd.DataFrame, found: Hyperparameters) -> float:
    size = np.log([float(search[name].iloc[0]) for name in found.law_sizes])
    return _above(search, *np.exp(found.law.at(size)[0]))


def _rows(
    searches: list[pd.DataFrame], small: list[pd.DataFrame], found: Hyperparameters
) -> list[Row]:  # fmt: skip
    largest = searches[-LARGEST:]
    lost = mean([_by_the_law(s, found) for s in largest])
    share = sum(_size(s) * len(s) for s in small) / sum(_size(s) * len(s) for s in searches)
    rows = [
        lost.row(
            "percent above the best run, eleven largest sizes", paper=PUBLISHED_LOSS,
            paper_stderr=rounded(0.001), relation="<",
            note=f"from {100 * share:.1f} % of the compute; the paper's law was fitted to all searches"),
        mean([_by_the_published(s) for s in largest]).row(
            "the same of the published law", paper=PUBLISHED_LOSS, paper_stderr=rounded(0.001),
            resolution=0.05, note="counted as ours is: the nearest run of each search"),
        mean(_random_parts(small, largest)).row(
            "the same from random parts", paper=PUBLISHED_LOSS, paper_stderr=rounded(0.001), relation="<",
            note=f"{SEARCHES} of the small searches, {RUNS} runs of each; n counts the parts answered"),
    ]  # fmt: skip
    rows += [*_covered(searches), _certified(searches)]
    for quantity, name, size, paper in (
        ("exponent of n_params, learning rate", "learning_rate", "n_params", RATE[1]),
        ("exponent of n_data, learning rate", "learning_rate", "n_data", RATE[2]),
        ("exponent of n_data, batch size", "batch_size", "n_data", BATCH[1]),
    ):
        place = [*found.settings].index(name) * (1 + len(found.law_sizes)) + 1 + found.law_sizes.index(size)
        error = float(np.sqrt(found.law.covariance[place, place]))
        power = found.settings[name].exponents[size]
        rows.append(
            Row(quantity, power, error, len(small), paper=paper, paper_stderr=rounded(0.001),
                note="from the small searches alone")
        )  # fmt: skip
    line = np.array([[np.log(s[name].iloc[0]) for name in found.law_sizes] + [1.0] for s in searches])
    best = np.log([float(s["learning_rate"][s["loss"].idxmin()]) for s in searches])
    power, left = np.linalg.lstsq(line, best, rcond=None)[:2]
    error = np.sqrt(np.linalg.inv(line.T @ line)[0, 0] * left[0] / (len(best) - line.shape[1]))
    rows.append(
        Row("exponent of n_params, by a line through the best runs", float(power[0]), float(error), len(best),
            paper=RATE[1], paper_stderr=rounded(0.001), note="of all searches")
    )  # fmt: skip
    return rows


def _covered(searches: list[pd.DataFrame]) -> list[Row]:
    """The share of searches whose best run lies inside the interval, from searches a third of the size."""
    inside: dict[str, list[bool]] = {"learning_rate": [], "batch_size": []}
    for search in searches:
        below = [s for s in searches if _size(s) <= _size(search) / FACTOR * (1 + 1e-9)]
        if len(below) < FEWEST:
            continue
        try:
            found = _predict(below, search)
        except NotDetermined:
            continue
        for name, covered in inside.items():
            best, one = float(search[name][search["loss"].idxmin()]), found.settings[name]
            covered.append(one.low <= best <= one.high)
    rows = []
    for name, covered in inside.items():
        rows.append(share(covered).row(
            f"share of best {name.replace('_', ' ')}s inside the 95 % interval", expected=HELD,
            relation="in", resolution=HELD_WITHIN, note=f"from searches {FACTOR:g} times smaller"
        ))  # fmt: skip
    return rows


def _certified(searches: list[pd.DataFrame]) -> Row:
    """The share of wrong certificates at the largest sizes, each from all smaller searches."""
    import pandas as pd

    failed = []
    for count in range(len(searches) - LARGEST, len(searches)):
        at = {name: float(searches[count][name].iloc[0]) for name in ("n_params", "n_data")}
        failed.append(best_settings(pd.concat(searches[:count]), at, y="loss").transfers is False)
    return share(failed).row(
        "share of certificates that say 'does not transfer'", expected=0.05, relation="<",
        note="the eleven largest sizes, whose best settings do")  # fmt: skip


def _random_parts(small: list[pd.DataFrame], largest: list[pd.DataFrame]) -> list[float]:
    rng, means = np.random.default_rng(0), []
    for _ in range(SUBSETS):
        part = [small[i] for i in rng.choice(len(small), SEARCHES, replace=False)]
        part = [s.iloc[rng.choice(len(s), min(RUNS, len(s)), replace=False)] for s in part]
        try:
            found = _predict(part, largest[-1])
        except NotDetermined:  # an answer that is refused proposes nothing
            continue
        means.append(float(np.mean([_by_the_law(s, found) for s in largest])))
    return means


def _smoke_rows(found: Hyperparameters) -> list[Row]:
    one, errors = found.learning_rate, np.sqrt(np.diag(found.law.covariance))[1:]
    return [
        Row(f"exponent of {size}, drawn", one.exponents[size], float(error), len(found.valleys.cells),
            expected=expected, note="expected: what it was drawn from")
        for (size, expected), error in zip(SYNTHETIC.items(), errors, strict=True)
    ]  # fmt: skip
