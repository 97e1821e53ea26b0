"""The bootstrap over runs: what few runs cost."""

import numpy as np
import pytest
from scipy import stats

import scalinglab as sl
from scalinglab.laws.fitting.uncertainty.profile import leverage, redrawn


@pytest.mark.parametrize("runs", [4, 6, pytest.param(15, marks=pytest.mark.slow)])
def test_interval_of_a_mean_of_few_runs_is_students(runs: int):
    """A law with its exponent held at 0 is a mean of logarithms, and its interval mean ± t s/√G."""
    logs = 0.1 * np.random.default_rng(runs).standard_normal(runs)
    x, which = np.tile([10.0, 20.0], runs), np.repeat(np.arange(runs), 2)  # two sizes a run, one value
    law = sl.laws.fit(
        "power_law", x, np.exp(logs)[which], runs=which, bounds={"exponent": (0.0, 0.0)}, loss="squared"
    )
    found = sl.laws.bootstrap(law, draws=20_000, scheme="resample")
    low, high = np.log(found.interval(10.0, 0.9))
    half = stats.t.ppf(0.95, runs - 1) * np.std(logs, ddof=1) / np.sqrt(runs)
    # the percentiles of so few values are not exactly Gaussian; without the widening the ratio is
    # 0.60, 0.74 and 0.90 for 4, 6 and 15 runs
    assert (high - low) / (2 * half) == pytest.approx(1, abs=0.12 if runs < 10 else 0.05)


def test_neither_names_nor_rows_change_what_is_resampled():
    run = np.repeat(np.arange(8), 6)
    x = np.tile(np.geomspace(10, 1e4, 6), 8) * (1 + 0.01 * run)
    y = (0.1 + 2 * x**-0.5) * np.exp(0.02 * np.random.default_rng(0).standard_normal(x.size))
    y *= np.exp(0.05 * np.random.default_rng(1).standard_normal(8))[run]
    names, rows = np.array(list("hbgadfce"))[run], np.random.default_rng(2).permutation(x.size)
    ends = []
    for given in ((x, y, run), (x, y, names), (x[rows], y[rows], names[rows])):
        law = sl.laws.fit("power_law_offset", given[0], given[1], runs=given[2])
        ends.append(sl.laws.bootstrap(law, draws=20).interval(1e5))
    assert ends[0] == pytest.approx(ends[1], rel=1e-6)
    assert ends[0] == pytest.approx(ends[2], rel=1e-6)


def test_residuals_of_a_run_are_flipped_together():
    rng = np.random.default_rng(2)
    x = np.tile(np.geomspace(100, 1e5, 8), 3)
    y = 3 * x**-0.4 * np.exp(0.03 * rng.standard_normal(24))
    law = sl.laws.fit("power_law", x, y, runs=np.repeat([0, 1, 2], 8))
    moved, runs = np.log(redrawn(law, 60, rng) / law.predict(law.points.x)), law.points.runs
    signs = moved / (law.residuals / np.sqrt(1 - leverage(law)))
    assert np.abs(signs) == pytest.approx(1, abs=1e-6)
    assert all(np.ptp(signs[:, runs == run], axis=1).max() < 1e-6 for run in runs)
    assert len(np.unique(np.round(signs), axis=0)) == 8, "every choice of signs of three runs"
