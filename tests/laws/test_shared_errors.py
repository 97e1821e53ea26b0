"""Errors that runs of one size share: the average over them, and what it does to intervals."""

import numpy as np
import pytest
from scipy import integrate, stats

from scalinglab.laws import fit, forms, surface
from scalinglab.laws.fitting.uncertainty.shared_errors import RATIOS, SharedErrors

N, D = (v.ravel() for v in np.meshgrid(np.geomspace(5e7, 2e10, 8), np.geomspace(2e9, 4e11, 6)))
TRUE = (1.8, 480.0, 2100.0, 0.35, 0.37)


def fitted(offset: float, seed: int = 0, sizes: int = 8) -> surface.Surface:
    """Runs of a known surface with 0.3 % of noise and an offset of every size."""
    rng = np.random.default_rng(seed)
    kept = np.unique(N)[:sizes].max() >= N
    which = np.unique(N, return_inverse=True)[1]
    noise = 0.003 * rng.standard_normal(N.size) + offset * rng.standard_normal(8)[which]
    loss = forms.get("chinchilla")(np.array([N, D]), *TRUE) * np.exp(noise)
    return surface.fit(N[kept], D[kept], loss[kept], form="chinchilla", delta=np.inf)


@pytest.mark.slow
def test_parts_are_weighed_by_the_density_of_the_residuals():
    shared = SharedErrors(fitted(0.003).law)
    design, measured = shared.linear.design, shared.linear.measured
    n, p = design.shape
    contrasts = np.linalg.qr(design, mode="complete")[0][:, p:]
    same = np.abs(np.log(shared.law.points.x[0])[:, None] - np.log(shared.law.points.x[0])) < 1e-6
    seen = contrasts.T @ measured

    def density(ratio: float) -> float:
        """Of what no parameter moves, with σ integrated out by numbers."""
        spread = contrasts.T @ (np.eye(n) + ratio * same) @ contrasts

        def of(log_sigma: float) -> float:
            covariance = np.exp(2 * log_sigma) * spread
            return float(np.exp(stats.multivariate_normal.logpdf(seen, np.zeros(n - p), covariance) - 180))

        return integrate.quad(of, np.log(3e-4), np.log(3e-2), limit=200)[0]

    average = shared.average
    offsets = np.flatnonzero(average.correlation == 1)  # the largest, of next to no weight, are left out
    two = average.weight[offsets[3]] / average.weight[offsets[2]]
    assert two == pytest.approx(density(RATIOS[3]) / density(RATIOS[2]), rel=1e-3)


def test_an_offset_of_every_size_is_seen_and_widens_intervals():
    quiet, moved = fitted(0.0), fitted(0.01)
    assert quiet.sharing < 0.5
    assert moved.sharing > 0.95
    reasons = [getattr(each.details.get("of"), "code", "") for each in moved.remarks]
    assert "sizes_share_errors" in reasons
    widths = [np.diff(one.parameter_intervals()["alpha"])[0] for one in (quiet, moved)]
    assert widths[1] > 3 * widths[0]


@pytest.mark.parametrize("offset", [0.0, 0.02])
def test_the_summary_says_how_far_seeds_of_a_size_count_as_one_point(offset):
    rng = np.random.default_rng(0)
    x = np.repeat(np.geomspace(1e3, 1e5, 8), 3)
    noise = 0.003 * rng.standard_normal(24) + offset * np.repeat(rng.standard_normal(8), 3)
    law = fit("power_law_offset", x, (0.05 + 3 * x**-0.4) * np.exp(noise))
    chance = law.by_sizes[1][1]
    assert chance == pytest.approx(SharedErrors(law).chance)
    assert chance > 0.99 if offset else 0.05 < chance < 0.5
    said = [note.details["chance"] for note in law.notes if note.code == "seeds_as_one"]
    assert said == [pytest.approx(chance)]
    single = fit("power_law_offset", x[::3], 0.05 + 3 * x[::3] ** -0.4 * np.exp(noise[::3]))
    assert "seeds_as_one" not in [note.code for note in single.notes]


def test_independent_errors_keep_their_intervals_and_three_sizes_say_nothing():
    one = fitted(0.0, seed=1)
    ends = (np.full(1, -1.0), np.full(1, 1.0))
    low, high = SharedErrors(one.law).widened(lambda values: values[[3]], np.zeros(1), ends, 0.95)
    assert 0.9 < (high - low)[0] / 2 < 1.3
    three = SharedErrors(fitted(0.01, sizes=3).law)
    assert not three.shows
    assert three.chance == 0.0
    assert three.widened(lambda values: values[[3]], np.zeros(1), ends, 0.95) is ends


@pytest.mark.parametrize("seed", [5, pytest.param(10, marks=pytest.mark.slow)])
def test_the_median_is_in_the_middle_of_its_interval(seed):
    """What runs of one size share moves the interval to one side of the fit, and the median with it."""
    one, at = fitted(0.01, seed), {"n_params": 1e11, "n_data": 1e12}
    low, high = one.interval(at, assume_form=True)
    fit, middle = (
        np.log(value / low) / np.log(high / low)
        for value in (one.predict(at), one.median(at, assume_form=True))
    )
    assert abs(fit - 0.5) > 0.2
    assert abs(middle - 0.5) < 0.12


def test_numbers_to_quote_lie_within_their_intervals_and_stand_beside_the_fitted_ones():
    seed = 10
    one = fitted(0.01, seed)
    ends = one.parameter_intervals()
    where = {n: (one.quoted[n] - ends[n].low) / (ends[n].high - ends[n].low) for n in ("E", "alpha", "beta")}
    assert all(0.2 < place < 0.8 for place in where.values()), where
    quiet = fitted(0.0, seed)
    assert quiet.quoted["beta"] == quiet.beta
    said = [remark.details.get("of", remark) for remark in one.remarks]
    shown = {row.details["name"]: row.details for row in said if row.code.startswith("parameter")}
    assert {name: row.get("median", row["value"]) for name, row in shown.items()} == one.quoted
    assert {name: row["value"] for name, row in shown.items()} == one.parameters


def seeds_of_sizes(shared: float) -> tuple[np.ndarray, np.ndarray]:
    """Five seeds at each of eight sizes, with 0.3 % of noise and what a size shares."""
    rng = np.random.default_rng(1)
    x = np.repeat(np.geomspace(1e3, 1e5, 8), 5)
    together = np.repeat(shared * rng.standard_normal(8), 5)
    return x, (0.05 + 3 * x**-0.4) * np.exp(together + 0.003 * rng.standard_normal(x.size))


@pytest.mark.slow
def test_seeds_that_share_the_error_of_their_size_count_as_one_point_of_a_curve():
    at = np.array([[1e5, 2e5], [5e5, 1e6]])
    ratios = {}
    for shared in (0.0, 0.03):
        x, y = seeds_of_sizes(shared)
        law = fit(x, y)
        found = law.interval(at)
        means = fit(np.unique(x), y.reshape(8, 5).mean(axis=1)).interval(at)
        assert law.interval(1e6) == pytest.approx((found.low[1, 1], found.high[1, 1]))
        ratios[shared] = np.log(found.ratio) / np.log(means.ratio)
    assert ratios[0.0].max() < 0.8
    assert ratios[0.03] == pytest.approx(np.ones((2, 2)), rel=1e-3)
    exponents = law.parameter_intervals["exponent"]
    alone = fit(np.unique(x), y.reshape(8, 5).mean(axis=1)).parameter_intervals["exponent"]
    assert exponents == pytest.approx(alone, rel=1e-3)
