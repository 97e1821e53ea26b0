"""What the figures of bordelon2024 claim of the theory holds at scale smoke."""

from collections.abc import Iterable
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from scalinglab.curves import Curves
from scalinglab.errors import BadInput
from scalinglab.simulate.random_features import train
from scalinglab.spectrum import Spectrum, TailExponent
from scalinglab.studies.registry import entry
from scalinglab.studies.verdict import Row
from scalinglab.theory import dmft
from scalinglab_papers.bordelon2024 import common, ensembles, frontier, networks, width_scans, widths
from scalinglab_papers.bordelon2024.bottlenecks import over_signs, power
from tests.papers.smoke_records import recorded

FIGURES = (
    "fig2b", "fig2c", "fig2d", "fig3", "fig4a", "fig4b", "fig4c", "fig5a", "fig5b", "fig7", "fig8",
    "exponents",
)  # fmt: skip


def test_every_setting_of_every_figure_has_a_seed_of_its_own():
    seeds = [common.seed_of(figure, place) for figure in range(1, 10) for place in range(100)]
    assert all(isinstance(seed, int) for seed in seeds)
    assert len({*seeds}) == len(seeds)


@pytest.mark.parametrize("key", FIGURES)
def test_the_record_says_that_simulations_agree_with_the_theory(key):
    assert_like_the_theory(recorded(f"bordelon2024/{key}").values())


def assert_like_the_theory(table: Iterable[Row]) -> None:
    assert all(row.stderr is not None for row in table)
    far = {row.quantity: row.sigmas for row in table if row.relation == "=" and abs(row.sigmas) > 3.5}
    assert not far
    assert all(row.verdict == "agrees" for row in table if row.relation != "=")


def test_a_slope_through_two_points_has_the_error_of_both():
    slope, error = common.log_slope(
        np.array([2.0, 2 * np.e]), np.array([3.0, 3 * np.exp(-0.7)]), np.array([0.03, 0.04])
    )
    assert slope == pytest.approx(-0.7)
    assert error == pytest.approx(np.hypot(0.01, 0.04 / 3 * np.exp(0.7)))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("key", "source"), [("fig2c", "theory"), pytest.param("fig1b", "train", marks=pytest.mark.nightly)]
)
def test_a_figure_has_its_curves_and_agrees_with_the_theory(key, source):
    made = entry(f"bordelon2024/{key}").function()("smoke")
    assert made.figure is not None
    assert source in set(made.curves["source"])
    if source == "theory":
        assert_like_the_theory(made.table)


@pytest.mark.slow
def test_every_size_and_figure_draws_anew():
    spectrum = common.power_law("smoke")
    settings = [{"n_params": 8}, {"n_params": 16}]
    at = np.array([1.0, 100.0])
    losses = {
        (figure, setting["n_params"]): common.theory_and_simulation(
            spectrum, settings, at, at, 400, figure
        ).select(source="simulate", time=100.0, **setting)["test_loss"]
        for figure in (1, 2)
        for setting in settings
    }
    pairs = [np.corrcoef(a, b)[0, 1] for a, b in combinations(losses.values(), 2)]
    assert max(map(abs, pairs)) < 4 / np.sqrt(400)
    shared = [train(spectrum, at, **s, draws=400, seed=0) for s in settings]  # what nested draws would give
    nested = np.corrcoef(*(c.select(time=100.0)["test_loss"] for c in shared))[0, 1]
    assert nested > 0.3


@pytest.mark.slow
def test_simulation_over_theory_has_its_error_over_draws():
    """Of 40 repeats of eight draws each, their 95 % intervals hold the mean of all as often as they say."""
    spectrum, at = common.power_law("smoke"), np.array([1.0, 10.0])
    solved = dmft.solve(spectrum, at, 32).curves()
    found = [
        common.relative(
            Curves.concat([solved, train(spectrum, at, 32, draws=8, seed=common.seed_of(figure, 0))]),
            "test_loss", n_params=32,
        )
        for figure in range(40)
    ]  # fmt: skip
    truth = np.mean([one.value for one in found])
    inside = [abs(one.value - truth) < 2.36 * one.stderr for one in found]
    assert all(one.n == 8 for one in found)
    assert np.mean(inside) >= 0.85


def test_exponents_are_judged_by_eq_14_and_the_talks_by_the_talk():
    assert frontier.printed_exponents(4.2, 1.4) == pytest.approx((3.2 / 1.4, 3.2, 3.2))
    made = entry("damico2025/talk-bottlenecks").function()("smoke")
    assert [row.paper for row in made.table] == [-2.8, -2.8]
    assert [row.verdict for row in made.table] == ["agrees", "disagrees"]


# --- ensembles --------------------------------------------------------------------------------------------


def of_ensembles(shift: dict[int, float], scatter: float) -> Curves:
    """L = 0.2 + 0.6/E, and 0.25 of one model four times as wide; two draws at L + shift ± scatter."""
    frames = [
        pd.DataFrame(
            {"model": "random features", "n_params": n, "ensemble": e, "time": [10.0, 10.0, 1e3, 1e3],
             "seed": [0, 1, 0, 1], "source": "simulate",
             "test_loss": loss + shift.get(e, 0) + scatter * np.array([-1, 1, -1, 1])}
        )
        for n, e, loss in [*((16, e, 0.2 + 0.6 / e) for e in (1, 2, 4)), (64, 1, 0.25)]
    ]  # fmt: skip
    simulated = pd.concat(frames)
    theory = simulated[simulated["seed"] == 0].assign(source="theory", seed=np.nan)
    return Curves(pd.concat([simulated, theory]), settings=["ensemble"])


def fall(shift: dict[int, float], scatter: float) -> Row:
    return ensembles.judged(of_ensembles(shift, scatter), 16, (1, 2, 4))[1]


@pytest.mark.slow
def test_a_loss_that_is_a_bias_and_a_variance_over_e_falls_as_expected():
    ratio, fallen, *_ = ensembles.judged(of_ensembles({}, 0), 16, (1, 2, 4))
    assert ratio.measured == pytest.approx(0.35 / 0.25)
    assert fallen.measured == fallen.expected == pytest.approx(1 / 3)
    assert fallen.stderr == 0
    # the error is what losses moved by one standard error do, added in squares
    moved = [fall({e: 1e-4}, 0).measured - fallen.measured for e in (1, 2, 4)]
    assert fall({}, 1e-4).stderr == pytest.approx(np.hypot.reduce(moved), rel=1e-3)


def test_spectra_of_networks_are_of_two_classes_of_held_out_images():
    x, y = networks.examples("smoke")
    assert len(x) == len(y) == networks.SCALES["smoke"].inputs
    assert len(np.unique(y.round(6))) == 2
    assert y.mean() == pytest.approx(0, abs=1e-9)


# --- width scans ------------------------------------------------------------------------------------------


def made_up(exponent_t: float, exponent_n: float, sizes=(100, 400, 1600), steps=1000) -> pd.DataFrame:
    """Curves t^-α + N^-β, whose best size at compute C is known."""
    step = np.unique(np.geomspace(1, steps, 200).astype(int)).astype(float)
    frames = [
        pd.DataFrame({"n_params": n, "step": step, "budget": n * step,
                      "test_loss": step**-exponent_t + 3 * n**-exponent_n, "seed": 0})
        for n in sizes
    ]  # fmt: skip
    return pd.concat(frames)


def test_frontier_is_the_lowest_curve_where_all_widths_were_trained():
    frame = made_up(0.5, 0.5)
    found = width_scans.frontier(frame)
    assert found.budgets[0] == pytest.approx(1600)
    assert found.budgets[-1] == pytest.approx(100 * 1000)
    for budget, loss, size in zip(found.budgets, found.loss, found.n_params):
        all_losses = {n: (budget / n) ** -0.5 + 3 * n**-0.5 for n in (100, 400, 1600)}
        assert loss == pytest.approx(min(all_losses.values()), rel=2e-3)
        assert size == min(all_losses, key=all_losses.get) or loss == pytest.approx(
            all_losses[size], rel=2e-3
        )
    assert found.exponent("n_params") > 0.2


def test_frontier_of_a_size_that_is_always_best_has_exponent_zero():
    frame = made_up(0.5, 0.0)
    assert width_scans.frontier(frame).exponent("n_params") == 0.0
    assert width_scans.frontier(frame).exponent("loss") < 0


def test_ensemble_is_judged_by_the_mean_of_its_members_log_odds():
    scan = width_scans.SCANS["smoke"]
    runs = [f"run{k}" for k in range(3)]
    labels = width_scans.held_out_labels(scan)
    frame = pd.DataFrame(
        {"width": np.repeat(scan.widths[-2:], 3), "seed": [0, 1, 2] * 2, "run": [*runs, "a", "b", "c"],
         "step": 1, "test_loss": [9.0] * 3 + [0.1, 0.2, 0.3]}
    )  # fmt: skip
    odds = (2.0 * labels - 1) * np.array([[1.0], [2.0], [3.0]])
    row = width_scans.ensemble_row(scan, Curves(frame), dict(zip(runs, odds)))
    assert row.measured == pytest.approx(np.log1p(np.exp(-2.0)) / 0.2)
    assert row.stderr > 0


def test_compute_exponent_of_a_kernel_is_that_of_equation_16():
    class Known:
        def tail_exponent(self, of):
            return TailExponent({"target_power": 1.15, "eigenvalues": 2.0}[of], 0, 0, 0)

    assert width_scans.predicted_exponent(Known()) == pytest.approx(0.05)  # the paper's numbers


@pytest.mark.parametrize("key", ["fig1a", "fig1b", "fig1c", "fig1d", "fig6c", "fig9c"])
def test_the_records_of_networks_say_what_stands_in_for_what(key):
    for row in recorded(f"bordelon2024/{key}").values():
        assert "stand-in" in row.note
        assert row.measured is None or row.stderr is not None


@pytest.mark.slow
def test_an_exponent_at_the_bound_of_its_fit_is_no_number():
    from scalinglab.laws import surface

    step = np.geomspace(10, 1000, 8)
    sizes, times = (part.ravel() for part in np.meshgrid([100.0, 400.0, 1600.0, 6400.0], step))
    rng = np.random.default_rng(0)
    noisy = times**-0.5 * np.exp(0.01 * rng.standard_normal(32))
    known = 2 * [surface.fit(sizes, times, times**-0.5 + 3 * sizes**-0.4 + 0.1)]
    flat = 2 * [surface.fit(sizes, times, noisy + 50 * sizes**-5.0)]
    assert width_scans.exponent_row("β", known, "alpha", "stand-in").measured == pytest.approx(0.4, abs=1e-3)
    row = width_scans.exponent_row("β", flat, "alpha", "stand-in")
    assert max(fit.alpha for fit in flat) > 4.9
    assert row.measured is None
    assert "not determined" in row.note


def probe(rate, width, losses, steps=(10, 50, 75, 100)):
    run = f"{rate} {width}"
    return pd.DataFrame({"run": run, "learning_rate": rate, "step": steps, "train_loss": losses})


def test_learning_rate_has_the_lowest_late_training_loss_over_all_runs():
    frame = pd.concat(
        [
            probe(0.3, 1.0, [0.1, 0.9, 0.9, 0.9]),  # lowest early, which does not count
            probe(0.3, 8.0, [0.1, 0.9, 0.9, 0.9]),
            probe(0.1, 1.0, [0.9, 0.5, 0.4, 0.3]),
            probe(0.1, 8.0, [0.9, 0.5, 0.4, 0.3]),
            probe(0.03, 1.0, [0.9, 0.6, 0.5, 0.2]),  # lowest at the end alone
            probe(0.03, 8.0, [0.9, 0.6, 0.5, 0.3]),
        ]
    )
    assert widths.lowest_loss(Curves(frame), 100) == 0.1


def test_learning_rate_at_which_one_run_diverges_is_out():
    kept = [probe(0.1, width, [0.9, 0.8, 0.8, 0.8]) for width in (1.0, 8.0)]
    bad = [probe(0.3, 1.0, [0.9, 0.1, 0.1, 0.1]), probe(0.3, 8.0, [0.9, 0.1, np.nan, np.nan])]
    assert widths.lowest_loss(Curves(pd.concat(kept + bad)), 100) == 0.1
    with pytest.raises(BadInput, match=r"diverges at all rates, 0\.3"):
        widths.lowest_loss(Curves(pd.concat(bad)), 100)
    cut = [probe(0.3, 1.0, [0.9, 0.1, 0.1, 0.1]), probe(0.3, 8.0, [0.9], steps=(10,))]  # one stopped early
    assert widths.lowest_loss(Curves(pd.concat(kept + cut)), 100) == 0.1


def test_kernels_along_training_are_those_of_runs_that_came_to_the_end():
    ended = [probe(0.1, width, [1.0] * 4).assign(test_loss=[1.0] * 4) for width in (1.0, 2.0)]
    nan = probe(0.1, 3.0, [1.0] * 4).assign(test_loss=[1.0, 1.0, 1.0, np.nan])
    cut = probe(0.1, 4.0, [1.0], steps=(10,)).assign(test_loss=1.0)
    kept = networks.completed_runs(Curves(pd.concat([*ended, nan, cut])), 100)
    assert set(kept.frame["run"]) == {"0.1 1.0", "0.1 2.0"}
    with pytest.raises(BadInput, match="1 of 3 runs did not diverge"):
        networks.completed_runs(Curves(pd.concat([ended[0], nan, cut])), 100)


def test_the_exponent_of_an_excess_is_that_of_its_first_order():
    """0.6/N + 3/N²: with four sizes the next order is no other exponent, with three it cannot be told."""
    sizes, error = np.array([12.0, 24.0, 48.0, 96.0]), np.full(4, 4e-4)
    random, excess = np.random.default_rng(0), 0.6 / sizes + 3 / sizes**2
    found = [power(sizes, excess + error * random.normal(size=4), error) for _ in range(200)]
    inside = np.mean([abs(value + 1) < 1.96 * stderr for value, stderr in found])
    assert inside == pytest.approx(0.95, abs=0.047)  # three standard errors
    assert power(sizes[:3], excess[:3], error[:3])[0] < -1.05


def test_the_mean_over_signs_of_the_target_is_that_of_one_target():
    spectrum, times = Spectrum.power_law(1.5, 1.25, 60), np.array([20.0, 200.0])
    plain = train(spectrum, times, 8, 16, draws=1000, seed=1).average("seed").frame
    losses = over_signs(spectrum, times, 8, 1000, seed=2)
    error = losses.std(0, ddof=1) / np.sqrt(1000)
    assert np.all(error < plain["test_loss_stderr"] / 2)
    difference = losses.mean(0) - plain["test_loss"].to_numpy()
    assert np.all(np.abs(difference) < 3.5 * np.hypot(error, plain["test_loss_stderr"]))
