"""What a surface may miss: kriging against dense linear algebra, intervals that hold on published runs."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import scalinglab as sl
from scalinglab.laws import surface
from scalinglab.laws.form_error import MATERN_SLOPE, SLOPE_ERRORS, FormError, Quantities
from scalinglab.laws.optimum import best_split

N, D = (v.ravel() for v in np.meshgrid(np.geomspace(1e8, 1e10, 5), np.geomspace(2e9, 2e11, 4)))
FAR = np.array([[2e10, 3e9], [4e11, 1e12]])


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
    r = np.hypot(*(a[:, :, None] - b[:, None])) / reach
    return (1 + 5**0.5 * r + 5 / 3 * r**2) * np.exp(-(5**0.5) * r)


def slopes(law, x: np.ndarray) -> np.ndarray:
    """Root mean square of the two slopes of ln f, by the formula of the form."""
    p = law.parameters
    falls = p["alpha"] * p["A"] * x[0] ** -p["alpha"], p["beta"] * p["B"] * x[1] ** -p["beta"]
    return np.sqrt((falls[0] ** 2 + falls[1] ** 2) / 2) / law.predict(tuple(x))


def gradient(law, x: np.ndarray) -> np.ndarray:
    """d ln f/dθ of E, A, B, alpha, beta, by the formula of the form."""
    p, (n, d) = law.parameters, x
    big, many = n ** -p["alpha"], d ** -p["beta"]
    rows = [np.ones_like(n), big, many, -p["A"] * big * np.log(n), -p["B"] * many * np.log(d)]
    return np.array(rows).T / law.predict((n, d))[:, None]


def test_every_model_is_the_conditional_gaussian_with_free_parameters(law):
    """Against one dense Gaussian of runs and places in which the parameters have a very wide prior."""
    error = FormError(law)
    asked = Quantities.values(FAR)
    x = np.concatenate([law.points.x, FAR], axis=1)
    design = gradient(law, x)
    design = design @ np.linalg.inv(np.linalg.qr(design[: N.size], mode="r"))
    wide = 1e5 * design @ design.T
    r, likelihood = law.residuals, []
    for field in error.fields:
        middle, spread = error._predicted(asked, error._shares(asked), field, own=1.0)
        for k, ratio in enumerate(field.ratio):
            scaled = slopes(law, x)
            delta = matern(np.log(x), np.log(x), field.range) * np.outer(scaled, scaled)
            joint = np.eye(len(r) + 2) + ratio * delta + wide
            seen, cross = joint[: len(r), : len(r)], joint[len(r) :, : len(r)]
            inverse = np.linalg.inv(seen)
            assert middle[k] == pytest.approx(cross @ inverse @ r, rel=5e-3, abs=1e-5)
            rest = joint[len(r) :, len(r) :] - cross @ inverse @ cross.T
            assert spread[k] == pytest.approx(field.noise[k] * np.sqrt(np.diag(rest)), rel=2e-3)
            squares = r @ inverse @ r
            likelihood.append(-0.5 * np.linalg.slogdet(seen)[1] - error.dof / 2 * np.log(squares))
            likelihood[-1] += np.log(15) if ratio == 0 else 0.0  # three ranges of five, one prior of no error
    weight = np.exp(np.array(likelihood) - max(likelihood))
    assert np.concatenate([f.weight for f in error.fields]) == pytest.approx(weight / weight.sum(), abs=2e-3)
    # ρ is the slope of δ over that of ln f
    reach = error.fields[-1].range
    assert np.sqrt(error.fields[-1].ratio) * error.noise * MATERN_SLOPE / reach == pytest.approx(SLOPE_ERRORS)


def test_the_best_split_moves_as_a_search_on_the_changed_surface_finds(law):
    """ln L + s ln n_params has its minimum where −s/(d² ln f/dt²) says, for small s."""
    best = best_split(law.form, law.values[None], np.array([1e21, 1e23]))[0]
    asked = FormError(law).splits(best[:2])
    s = 1e-4
    linear = np.sum(asked.weight * s * np.log(asked.places[0]), axis=1)
    steps = np.linspace(-0.1, 0.1, 20001)[:, None]
    n = best[0] * np.exp(steps)
    changed = np.log(law.predict((n, best[0] * best[1] / n))) + s * np.log(n)
    assert linear == pytest.approx(steps[changed.argmin(axis=0), 0], rel=0.02)


def test_exact_runs_and_few_runs_are_not_widened():
    ends = [surface.fit(N, D, losses(N, D)).interval(*FAR, assume_form=a) for a in (True, False)]
    assert np.array(ends[0]) == pytest.approx(np.array(ends[1]), rel=1e-12)
    many = surface.fit(N, D, losses(N, D), space="raw")
    assert FormError(many.law).chance == 0


def test_runs_of_a_table_hold_in_forecasts_of_ten_times_the_compute():
    """Gemstones (McLeish et al. 2025): fitted to 1e20 FLOPs, every run from 1e21 on lies outside of the
    intervals that assume the form, and inside of those that count with its error."""
    table = pd.read_csv(Path(__file__).parent / "published" / "gemstones2025.csv")
    compute = 6.0 * table["n_params"] * table["n_data"]
    known, later = table[compute <= 1e20], table[compute >= 1e21]
    fitted = surface.fit(known["n_params"], known["n_data"], known["loss"])
    assert len(later) >= 5
    for assume, share in ((True, 0.0), (False, 1.0)):
        low, high = fitted.interval(
            later["n_params"].to_numpy(), later["n_data"].to_numpy(), of="measurement", assume_form=assume
        )
        assert np.mean((low <= later["loss"]) & (later["loss"] <= high)) == share
