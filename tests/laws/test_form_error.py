"""What a surface may miss: kriging against dense linear algebra, intervals that hold on published runs."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.linalg import block_diag

import scalinglab as sl
from scalinglab.laws import surface
from scalinglab.laws.fitting.uncertainty.form_error import (
    LARGEST,
    LOWER,
    MATERN_SLOPE,
    MISSED,
    RULED_OUT,
    SLOPE_ERRORS,
    FormError,
    Places,
)
from scalinglab.laws.fitting.uncertainty.shared_errors import SharedErrors
from scalinglab.laws.optimum import best_split

N, D = (v.ravel() for v in np.meshgrid(np.geomspace(1e8, 1e10, 5), np.geomspace(2e9, 2e11, 4)))
FAR = np.array([[2e10, 3e9, 1e9], [4e11, 1e12, 1e10]])  # two beyond the runs, and one among them


def losses(n, d):
    return 1.8 + 480 * n**-0.35 + 2100 * d**-0.37


@pytest.fixture(scope="module")
def law():
    rng = np.random.default_rng(3)
    bend = np.exp(0.003 * np.log(N / 1e9) ** 2 + 0.002 * rng.standard_normal(N.size))
    fitted = sl.laws.fit("chinchilla", (N, D), losses(N, D) * bend, loss="squared")
    assert not fitted.certificate.at_bound
    return fitted


def matern(a: np.ndarray, b: np.ndarray, reach: float) -> np.ndarray:
    r = np.sqrt(np.sum((a[:, :, None] - b[:, None]) ** 2, axis=0)) / reach
    return (1 + 5**0.5 * r + 5 / 3 * r**2) * np.exp(-(5**0.5) * r)


def slopes(law, x: np.ndarray) -> np.ndarray:
    """d ln f/d ln size of n_params and n_data, by the formula of the form."""
    p = law.parameters
    falls = p["alpha"] * p["A"] * x[0] ** -p["alpha"], p["beta"] * p["B"] * x[1] ** -p["beta"]
    return -np.array(falls) / law.at(tuple(x))


def field_covariance(law, x: np.ndarray, field) -> np.ndarray:
    """Of δ at x, with the root mean square of the slopes of ln f that it moves."""
    moved = list(field.along)
    slope = np.sqrt(np.mean(np.square(slopes(law, x))[moved], axis=0))
    return matern(np.log(x[moved]), np.log(x[moved]), field.range) * np.outer(slope, slope)


def gradient(law, x: np.ndarray) -> np.ndarray:
    """d ln f/dθ of E, A, B, alpha, beta, by the formula of the form."""
    p, (n, d) = law.parameters, x
    big, many = n ** -p["alpha"], d ** -p["beta"]
    rows = [np.ones_like(n), big, many, -p["A"] * big * np.log(n), -p["B"] * many * np.log(d)]
    return np.array(rows).T / law.at((n, d))[:, None]


def fitted_spread(law, x: np.ndarray) -> np.ndarray:
    """Standard deviation of ln f over that of the noise, of the linearised fit."""
    runs, there = gradient(law, law.points.x), gradient(law, x)
    return np.sqrt(np.einsum("qp,pr,qr->q", there, np.linalg.inv(runs.T @ runs), there))


class Kriging:
    """The average over errors of the form by the textbook's formulas: parameters fitted anew with each δ."""

    def __init__(self, law, error, asked):
        x = np.concatenate([law.points.x, asked.sizes.reshape(2, -1)], axis=1)
        # sums over places, below the runs themselves
        sums = block_diag(np.eye(N.size), *asked.weight)
        design = sums @ gradient(law, x)
        design = design @ np.linalg.inv(np.linalg.qr(design[: N.size], mode="r"))
        design, there = design[: N.size], design[N.size :]
        r, dof = law.residuals, N.size - 5
        self.dof, self.fit = dof, np.sum(there**2, axis=1)  # variance of the fit alone
        rows = []
        for field in error.fields:
            logs = []
            for ratio in field.ratio:
                delta = ratio * sums @ field_covariance(law, x, field) @ sums.T
                seen, cross = np.eye(N.size) + delta[: N.size, : N.size], delta[N.size :, : N.size]
                inverse = np.linalg.inv(seen)
                information = design.T @ inverse @ design
                moved = np.linalg.solve(information, design.T @ inverse @ r)
                left = r - design @ moved
                squares = left @ inverse @ left
                free = there - cross @ inverse @ design
                rest = delta[N.size :, N.size :] - cross @ inverse @ cross.T
                rest += free @ np.linalg.solve(information, free.T)
                middle, variance = there @ moved + cross @ inverse @ left, np.diag(rest)
                logs.append(np.linalg.slogdet(seen)[1] + np.linalg.slogdet(information)[1])
                likelihood = -0.5 * logs[-1] - dof / 2 * np.log(squares)
                rho = np.sqrt(ratio * squares / dof) * MATERN_SLOPE / field.range
                prior = squares / dof * delta[N.size :, N.size :]
                rows.append((middle, variance - self.fit, np.sqrt(squares / dof), likelihood, rho, prior))
        self.middle, self.added, self.noise, likelihood, rho, self.delta = map(
            np.array, zip(*rows, strict=True)
        )
        # even in ln ρ up to the largest, of each the half step to either side; 5 % along each size alone, and
        # as much on a form that holds
        rho = self.rho = rho.reshape(len(error.fields), -1)
        logs, step = np.log(rho[:, 1:]), np.gradient(np.log(rho[:, 1:]), axis=1)
        prior = np.c_[np.zeros(len(rho)), np.clip(np.log(LARGEST) - (logs - step / 2), 0, step)]
        prior *= [[0.05 if len(field.along) == 1 else 0.9] for field in error.fields]
        prior[0, 0] = prior.sum()
        with np.errstate(divide="ignore"):
            weight = np.exp(likelihood - max(likelihood)) * prior.ravel()
        self.weight = weight / weight.sum()
        # where the form errs losses, not slopes, are less known and lower: by how many times the compute is
        falls = -np.mean(slopes(law, law.points.x), axis=1)
        spent = falls / np.mean(np.abs(falls)) @ np.log(x)
        most = np.max(spent[N.size :].reshape(asked.weight.shape), axis=1)
        beyond = (1 - np.exp(np.minimum(spent[: N.size].max() - most, 0))) * asked.weight.sum(axis=1)
        errs = (self.rho.ravel() > 0)[:, None]
        self.wider = np.where(errs, (1 + (MISSED - 1) * beyond) ** 2, 1.0)
        self.middle = self.middle - LOWER * beyond * self.noise[:, None] * np.sqrt(
            np.maximum(self.added * self.wider, 0)
        )

    def chance_below(self, values, stretch=1.0):
        """(quantities,) probability that each lies below, the fit being uncertain `stretch` times as much."""
        variance = self.wider * (stretch**2 * self.fit + min(stretch, 1) ** 2 * np.maximum(self.added, 0))
        standard = (values - self.middle) / (self.noise[:, None] * np.sqrt(variance))
        return self.weight @ stats.t.cdf(standard, self.dof)


@pytest.fixture(scope="module", params=["losses", "best split"])
def asked(request, law):
    if request.param == "losses":
        return Places.values(FAR)
    best = best_split(law.form, law.values[None], np.array([1e21, 1e24]))[0]
    return FormError(law).optimum(best[:2])


@pytest.fixture(scope="module")
def textbook(law, asked):
    return Kriging(law, FormError(law), asked)


def test_the_average_is_kriging_by_generalised_least_squares(law, asked, textbook):
    """Beyond the runs, and among them, where the form that errs makes losses no less known."""
    error = FormError(law)
    weight = textbook.weight.reshape(len(error.fields), -1)
    assert np.array([f.weight for f in error.fields]) == pytest.approx(weight, abs=2e-3)
    for share in (0.025, 0.3, 0.5, 0.975):
        (found,) = error.quantiles(asked, (share,))
        assert textbook.chance_below(found) == pytest.approx(share, abs=2e-3)
    if np.shape(asked.sizes) == (*FAR.shape, 1):
        prior = np.tensordot(textbook.weight, textbook.delta, 1)
        assert error.covariance(FAR, FAR) == pytest.approx(prior, rel=0.02)
        assert error.variance(FAR) == pytest.approx(np.diag(prior), rel=0.02)
    # ρ is the slope of δ over that of ln f
    units = error.noise * MATERN_SLOPE / error.fields[-1].range
    assert np.sqrt(error.fields[-1].ratio[1:]) * units == pytest.approx(SLOPE_ERRORS)


def test_ends_are_those_of_the_average_of_student_distributions(law, asked, textbook):
    """Of an interval twice the linearised one the fit counts twice, of one half as wide the error of the form
    counts half, too; none is nearer than that of the form."""
    error = FormError(law)
    assert error.chance < RULED_OUT
    usual = stats.t.ppf(0.975, error.dof) * error.noise * np.sqrt(textbook.fit)
    for stretch in (0.5, 1.0, 2.0):
        below, above = error.ends(asked, 0.95, np.array([stretch * usual] * 2))
        for end, of_form, share in ((-below, -stretch * usual, 0.025), (above, stretch * usual, 0.975)):
            chance = textbook.chance_below(of_form, stretch)
            expected = np.minimum(chance, share) if share < 0.5 else np.maximum(chance, share)
            assert textbook.chance_below(end, stretch) == pytest.approx(expected, abs=2e-3)
    _, above = error.ends(asked, 0.95, np.array([usual, np.full_like(usual, np.inf)]))
    assert np.isinf(above).all(), "an open end stays open"


def test_the_best_split_moves_as_a_search_on_the_changed_surface_finds(law):
    """ln L + s ln n_params has its minimum where −s/(d² ln f/dt²) says, for small s."""
    best = best_split(law.form, law.values[None], np.array([1e21, 1e23]))[0]
    asked = FormError(law).optimum(best[:2])
    s = 1e-4
    linear = np.sum(asked.weight * s * np.log(asked.sizes[0]), axis=1)[:2]
    there = np.log(law.at(tuple(asked.sizes[:, 2:])))
    assert np.sum(asked.weight[2:] * there, axis=1) == pytest.approx(np.log(best[2])), "and the loss there"
    steps = np.linspace(-0.1, 0.1, 20001)[:, None]
    n = best[0] * np.exp(steps)
    changed = np.log(law.at((n, best[0] * best[1] / n))) + s * np.log(n)
    assert linear == pytest.approx(steps[changed.argmin(axis=0), 0], rel=0.02)


def test_an_end_that_shared_errors_moved_to_the_fit_leaves_room_for_the_error_of_the_form():
    """Sizes that share errors move the law beyond the runs up, until the interval that assumes the form
    begins at the fitted value: what the form may miss is as wide below the median as it is elsewhere."""
    rng = np.random.default_rng(4)
    n, d = np.repeat(np.geomspace(1e7, 1e9, 7), 6), np.tile(np.geomspace(3e8, 3e10, 6), 7)
    errors = np.repeat(0.02 * rng.standard_normal(7), 6) + 0.02 * np.sin(np.log(d / 1e10))
    loss = (1.7 + 400 * n**-0.34 + 410 * d**-0.28) * np.exp(errors + 0.003 * rng.standard_normal(42))
    law = sl.laws.fit("chinchilla", (n, d), loss, loss="squared")
    error, asked = FormError(law, SharedErrors(law)), Places.values(np.array([[5e9], [2e11]]))
    assert error.chance < RULED_OUT
    assert error.shared > 0.95
    assert error.quantiles(asked, (0.5,)) > 0.02
    below, above = error.ends(asked, 0.95, np.array([[0.001], [0.1]]))
    assert 0.3 * above < below < 3 * above


@pytest.mark.slow
def test_the_last_digits_of_a_fit_decide_nothing():
    """Errors are shared but for less than the last digit of 1, unless the form errs, which explains them."""
    n, d = (v.ravel() for v in np.meshgrid(np.geomspace(5e7, 2e10, 14), np.geomspace(2e9, 4e11, 9)))
    wave = 0.02 * np.sin(0.7 * np.log(n / 1e8)) * np.cos(0.6 * np.log(d / 1e10))
    noise = 0.001 * np.random.default_rng(0).standard_normal(n.size)
    law = surface.fit(
        n, d, (1.8 + 482 * n**-0.348 + 2085 * d**-0.366) * np.exp(wave + noise), form="chinchilla"
    ).law
    middles = []
    for moved in (0.0, 1e-9, 1e-8, 1e-7):
        same = replace(law, parameters={name: value * (1 + moved) for name, value in law.parameters.items()})
        error = FormError(same, SharedErrors(same))
        assert error.shared == pytest.approx(1.0, abs=1e-15)
        middles.append(error.quantiles(Places.values(np.array([[1e11], [1e12]])), (0.5,))[0, 0])
    assert np.ptp(middles) < 1e-6


def test_a_parameter_at_its_bound_does_not_move_with_errors_that_runs_share():
    """Without a floor, of sizes near each other: linearised, one below zero would follow their offsets."""
    n, d = (v.ravel() for v in np.meshgrid(np.geomspace(2e8, 5e8, 6), np.geomspace(1e9, 1e10, 5)))
    offset = 0.02 * np.array([-1, 1, -1, 1, 0, -2])[np.unique(n, return_inverse=True)[1]]
    noise = 0.001 * np.random.default_rng(1).standard_normal(n.size)
    loss = 16 * n**-0.1 + 2100 * d**-0.37
    fitted = surface.fit(n, d, loss * np.exp(offset + noise), form="chinchilla")
    assert fitted.law.certificate.at_bound == ("E",)
    assert fitted.sharing > 0.95
    assert fitted.median(n_params=5e9, n_data=1e11) == pytest.approx(
        16 * 5e9**-0.1 + 2100 * 1e11**-0.37, rel=0.1
    )


@pytest.mark.slow
def test_residuals_that_the_error_of_the_form_explains_are_no_noise():
    """Runs of another form without noise: intervals that take the misfit for noise are wider."""
    truth = 1.5 + (1.2 * (N / 1e8) ** -0.6 + 0.9 * (D / 2e9) ** -0.5) ** 0.5
    noise = np.exp(1e-4 * np.random.default_rng(0).standard_normal(N.size))
    fitted = surface.fit(N, D, truth * noise, form="chinchilla")
    assumed, averaged = (
        np.log(np.divide(*fitted.interval(n_params=3e9, n_data=6e10, assume_form=a)[::-1]))
        for a in (True, False)
    )
    assert averaged < 0.5 * assumed
    low, high = fitted.interval(n_params=3e9, n_data=6e10)
    assert low <= 1.5 + (1.2 * 30**-0.6 + 0.9 * 30**-0.5) ** 0.5 <= high


@pytest.mark.parametrize(("power", "ruled_out"), [(0.92, False), (0.85, True)])
def test_the_level_asked_for_does_not_decide_whether_the_form_is_ruled_out(power, ruled_out):
    """A form that errs more likely than not, but not surely, keeps the width that takes misfit for noise."""
    noise = np.exp(0.002 * np.random.default_rng(0).standard_normal(N.size))
    truth = 1.5 + (1.2 * (N / 1e8) ** (-0.3 / power) + 0.9 * (D / 2e9) ** (-0.25 / power)) ** power
    law = sl.laws.fit("chinchilla", (N, D), truth * noise, loss="squared")
    error = FormError(law)
    assert error.chance > 0.5
    assert (error.chance > 0.95) == ruled_out
    asked = Places.values(np.array([[1e9, 2e10], [2e10, 4e11]]))
    for level in (0.5, 0.8, 0.95):
        usual = stats.t.ppf(0.5 + level / 2, error.dof) * error.noise
        halves = np.tile(usual * fitted_spread(law, asked.sizes[..., 0]), (2, 1))
        assert (error.ends(asked, level, halves) / halves < 0.9).any() == ruled_out


@pytest.mark.slow
def test_an_outlier_is_no_error_of_the_form_and_a_bend_is_no_outlier():
    """The noise around δ is found beside one run that is far off, and beside a bend far above the noise."""
    noise = np.exp(0.002 * np.random.default_rng(4).standard_normal(N.size))
    spoilt = losses(N, D) * noise * np.where(np.arange(N.size) == 7, 1.3, 1.0)
    bent = (1.5 + (1.2 * (N / 1e8) ** -0.6 + 0.9 * (D / 2e9) ** -0.5) ** 0.5) * noise
    found = {}
    for name, y, loss in (
        ("spoilt", spoilt, "huber"),
        ("squares", spoilt, "squared"),
        ("bent", bent, "huber"),
    ):
        error = FormError(sl.laws.fit("chinchilla", (N, D), y, loss=loss))
        found[name] = np.sqrt(error.run_variance)
        assert (error.chance > RULED_OUT) == (name == "bent")
    assert found["bent"] == pytest.approx(0.002, rel=0.35)
    assert found["spoilt"] < 0.004 < 0.03 < found["squares"]


def test_exact_runs_and_few_runs_are_not_widened():
    exact, far = surface.fit(N, D, losses(N, D)), dict(zip(("n_params", "n_data"), FAR, strict=True))
    ends = [exact.interval(far, assume_form=a) for a in (True, False)]
    assert np.array(ends[0]) == pytest.approx(np.array(ends[1]), rel=1e-12)
    nearly = surface.fit(
        N, D, losses(N, D) * np.exp(1e-12 * np.random.default_rng(1).standard_normal(N.size))
    )
    assert FormError(nearly.law).chance == 0, "rounding is no noise"
    many = surface.fit(N, D, losses(N, D), space="raw")
    assert FormError(many.law).chance == 0


@pytest.mark.slow
def test_runs_of_a_table_hold_in_forecasts_of_ten_times_the_compute():
    """Gemstones (McLeish et al. 2025): fitted to 1e20 FLOPs, every run from 1e21 on lies outside of the
    intervals that assume the form, and inside of those that count with its error."""
    table = pd.read_csv(Path(__file__).parent / "published" / "gemstones2025.csv")
    compute = 6.0 * table["n_params"] * table["n_data"]
    known, later = table[compute <= 1e20], table[compute >= 1e21]
    columns = (known["n_params"], known["n_data"], known["loss"])
    fitted = surface.fit(*columns, form="chinchilla")
    assert len(later) >= 5
    for assume, share in ((True, 0.0), (False, 1.0)):
        low, high = fitted.interval(later[["n_params", "n_data"]], of="measurement", assume_form=assume)
        assert np.mean((low <= later["loss"]) & (later["loss"] <= high)) == share


@pytest.mark.slow
def test_the_median_lies_within_the_interval_and_moves_with_what_the_form_misses():
    """A smooth error of the form on one side: half of the average lies on that side of the fitted value."""
    far = {"n_params": np.array([1e9, 1e11]), "n_data": np.array([2e10, 2e12])}
    exact = surface.fit(N, D, losses(N, D))
    assert exact.median(far) == pytest.approx(exact.predict(far))
    bent = surface.fit(N, D, losses(N, D) * np.exp(0.02 * np.cos(np.log(N * D) / 4)))
    low, high = bent.interval(far)
    middle = bent.median(far)
    assert ((low < middle) & (middle < high)).all()
    assert bent.median(far, assume_form=True) == pytest.approx(bent.predict(far), rel=0.02)
    best = bent.compute_optimal([1e20, 1e23])
    for name in ("n_params", "n_data", "loss"):
        low, high = getattr(best, f"{name}_interval")
        assert ((low < getattr(best, f"{name}_median")) & (getattr(best, f"{name}_median") < high)).all()


EIGHT = tuple(v.ravel() for v in np.meshgrid(np.geomspace(5e7, 2e10, 8), np.geomspace(2e9, 4e11, 7)))


def bent(n, d):
    """The exponent of n_params is 0.30 below 1e9 and 0.42 above."""
    size = n / 1e9
    return 1.8 + 0.4 * size**-0.3 * (1 + size**4) ** -0.03 + 0.45 * (d / 1e10) ** -0.36


@pytest.mark.slow
def test_a_bend_along_one_size_is_in_more_intervals_of_the_optimum():
    """Chinchilla's form alone, which lacks it; `benchmarks/surfaces.py` counts more draws, of all forms."""
    n, d = EIGHT
    compute = 60 * np.max(n * d)
    sizes = np.geomspace(1e8, 1e13, 20001)
    exact = sizes[np.argmin(bent(sizes, compute / 6 / sizes))]
    held, assumed = [], []
    for seed in range(4):
        noise = np.exp(0.003 * np.random.default_rng(seed).standard_normal(n.size))
        fitted = surface.fit(n, d, bent(n, d) * noise, form="chinchilla")
        low, high = fitted.compute_optimal(compute).n_params_interval
        held.append(low < exact < high)
        low, high = fitted.compute_optimal(compute, assume_form=True).n_params_interval
        assumed.append(low < exact < high)
    assert sum(held) > sum(assumed)


def test_offsets_of_sizes_are_no_error_of_the_form():
    n, d = EIGHT
    rng = np.random.default_rng(6)
    offsets = np.repeat(0.01 * rng.standard_normal(8)[None], 7, axis=0).ravel()
    noisy = losses(n, d) * np.exp(0.002 * rng.standard_normal(n.size) + offsets)
    fitted = surface.fit(n, d, noisy, form="chinchilla")
    assert fitted.sharing > 0.95
    solution = fitted.law
    assert FormError(solution).chance > 0.9, "which a smooth error would explain, too"
    assert FormError(solution, SharedErrors(solution)).chance < 0.6


def test_an_outlier_counts_the_same_however_far_off_it_is():
    """Huber's loss grows evenly beyond its threshold: only the side on which a run lies is left of it."""
    rng = np.random.default_rng(0)
    n, d = 10 ** rng.uniform(8, 10, 64), 10 ** rng.uniform(9, 11, 64)
    loss = (1.8 + 482 * n**-0.348 + 2085 * d**-0.366) * np.exp(
        0.003 * rng.standard_normal(64) + 0.02 * np.sin(np.log(n))
    )
    near, far = (
        FormError(surface.fit(n, d, np.r_[off * loss[:6], loss[6:]], form="chinchilla").law)
        for off in (1.1, 3.0)
    )
    for sizes in FAR.T:
        asked = Places.values(sizes[:, None])
        shares = (0.025, 0.5, 0.975)
        assert far.quantiles(asked, shares) == pytest.approx(near.quantiles(asked, shares), abs=1e-5)
