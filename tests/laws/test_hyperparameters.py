"""The best settings at the next size: against surfaces whose optimum is known, and where they must refuse."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from typer.testing import CliRunner

import scalinglab as sl
from scalinglab.cli import app
from scalinglab.errors import BadInput, NotDetermined
from scalinglab.laws.tuning import movement
from tests.refusals import because

SIZES = [(n, d) for n in (1e7, 4e7, 1.6e8) for d in (1e9, 4e9, 1.6e10)]
AT = {"n_params": 1e9, "n_data": 6e10}


def optimum(n, d, bend=0.0):
    """ln of the best rate and batch."""
    far = np.maximum(np.log(n * d / 1e17), 0)
    return np.array([np.log(3e-3) - 0.6 * np.log(n / 4e7) + 0.3 * np.log(d / 4e9) + bend * far,
                     np.log(128.0) + 0.5 * np.log(d / 4e9)])  # fmt: skip


def excess(z, best):
    u, v = z - best
    return 0.01 * u**2 + 0.006 * v**2 - 0.006 * u * v + 0.001 * u**3


def searches(noise=0.0, seed=0, offset=0.0, settings=2, bend=0.0, sizes=SIZES, scatter=0.0):
    rng, rows = np.random.default_rng(seed), []
    for n, d in sizes:
        best = optimum(n, d, bend) + scatter * rng.standard_normal(2)
        for i in range(-3, 4):
            for j in range(-2, 3) if settings == 2 else (0,):
                z = optimum(n, d, bend) + np.log(2) * np.array([i * 0.75 + offset, j])
                moved = best if settings == 2 else np.array([best[0], z[1]])
                loss = (1.8 + 400 * n**-0.35 + 600 * d**-0.3) * np.exp(excess(z, moved))
                rows.append({"n_params": n, "n_data": d, "learning_rate": np.exp(z[0]),
                             "batch_size": np.exp(z[1]) if settings == 2 else 64.0,
                             "loss": loss * np.exp(noise * rng.standard_normal())})  # fmt: skip
    return pd.DataFrame(rows)


def test_experts_have_an_optimum_by_active_and_by_all_parameters():
    """The best rate follows the active parameters, at two shares of them: both exponents are found."""
    runs = searches(noise=1e-5)
    share = np.where(runs.n_data == 4e9, 4.0, 16.0)  # of all to active parameters
    runs = runs.rename(columns={"n_params": "active_params"}).assign(total_params=share * runs.n_params)
    at = {"active_params": 1e9, "total_params": 8e9, "n_data": 6e10}
    found = sl.laws.hyperparameters(runs, at=at, certify=False)
    best = minimize(lambda z: excess(z, optimum(*AT.values())), optimum(*AT.values()) + 0.3).x
    assert np.log(found.learning_rate.value) == pytest.approx(best[0], abs=0.05)
    expected = {"active_params": -0.6, "total_params": 0.0, "n_data": 0.3}
    assert found.learning_rate.exponents == pytest.approx(expected, abs=0.03)


@pytest.mark.slow
def test_of_active_and_all_parameters_none_is_chosen_unasked(tmp_path):
    """n_params may be either, in a frame and in a file; each is taken where it is asked for by name."""
    runs = searches(noise=1e-5, settings=1).drop(columns="batch_size")
    share = np.where(runs.n_data == 4e9, 4.0, 16.0)
    runs = runs.rename(columns={"n_params": "n_active"}).assign(n_total=share * runs.n_params)
    with pytest.raises(BadInput, match=r"n_active and n_total"):
        sl.laws.hyperparameters(runs, at=AT)
    named = {"n_active": 1e9, "n_data": 6e10}
    asked = sl.laws.hyperparameters(runs, at=named, certify=False).learning_rate
    runs.to_csv(tmp_path / "runs.csv", index=False)
    plan = ["plan", "hyperparameters", str(tmp_path / "runs.csv"), "--json", "--at"]
    assert isinstance(CliRunner().invoke(app, [*plan, "1e9,6e10"]).exception, BadInput)
    done = CliRunner().invoke(app, [*plan, "n_active=1e9,n_data=6e10"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["settings"][0]["value"] == pytest.approx(asked.value)
    assert asked.exponents == pytest.approx({"n_active": -0.6, "n_data": 0.3}, abs=0.03)


def test_the_optimum_of_a_known_surface_is_found():
    found = sl.laws.hyperparameters(searches(noise=1e-5), at=AT)
    best = minimize(lambda z: excess(z, optimum(*AT.values())), optimum(*AT.values()) + 0.3).x
    assert np.log([found.learning_rate.value, found.batch_size.value]) == pytest.approx(best, abs=0.05)
    assert found.learning_rate.exponents == pytest.approx({"n_params": -0.6, "n_data": 0.3}, abs=0.02)
    step = np.array([np.log(2), 0.0])
    assert found.learning_rate.twice == pytest.approx(np.expm1(excess(step, 0)), rel=0.1)
    assert found.learning_rate.half == pytest.approx(np.expm1(excess(-step, 0)), rel=0.1)
    assert found.learning_rate.low < found.learning_rate.value < found.learning_rate.high
    assert 0 <= found.regret.low <= found.regret.value <= found.regret.high < 0.02
    assert found.transfers is True
    assert found.beyond == pytest.approx(1e9 * 6e10 / (1.6e8 * 1.6e10))
    said = {remark.code: remark for remark in found.remarks}
    row = said["settings"].rows[0]
    assert (row["half"], row["twice"]) == (
        100 * found.learning_rate.half, 100 * found.learning_rate.twice
    )  # fmt: skip
    regret, certified = said["regret"].details, said["certified"].details
    assert [regret[end] for end in ("value", "low", "high")] == pytest.approx(
        100 * np.array([found.regret.value, found.regret.low, found.regret.high])
    )
    c = found.certificate
    held = [one for one in c.rows if one["low"] <= one["best"] <= one["high"]]
    assert (certified["covered"], certified["values"]) == (len(held), len(c.rows))
    assert certified["regret"] == pytest.approx(100 * np.mean(c.regret))
    assert certified["copied"] == pytest.approx(100 * np.mean(c.copied))
    assert said["settings_at"].details["far"].details["times"] == found.beyond
    written = {"n_params": "params", "n_data": "tokens", "learning_rate": "lr", "batch_size": "bsz"}
    theirs = sl.laws.hyperparameters(searches(noise=1e-5).rename(columns=written), at=AT)
    assert theirs.learning_rate.value == found.learning_rate.value


@pytest.mark.slow
def test_order_and_units_do_not_matter():
    runs = searches(noise=5e-4)
    plain = sl.laws.hyperparameters(runs, at=AT, certify=False)
    other = runs.sample(frac=1, random_state=1).assign(learning_rate=1e3 * runs.learning_rate)
    mixed = sl.laws.hyperparameters(other, at={"n_data": 6e10, "n_params": 1e9}, certify=False)
    assert mixed.learning_rate.value == pytest.approx(1e3 * plain.learning_rate.value, rel=1e-6)
    assert mixed.batch_size.low == pytest.approx(plain.batch_size.low, rel=1e-6)


def test_searches_with_their_best_run_at_the_edge_are_left_out_or_refused():
    runs = searches(noise=1e-4)
    cut = runs[(runs.n_data != 1e9) | (runs.n_params != 1e7) | (runs.learning_rate < 4e-3)]
    found = sl.laws.hyperparameters(cut, at=AT, certify=False)
    assert [(one["n_params"], one["n_data"]) for one in found.edge] == [pytest.approx((1e7, 1e9))]
    with pytest.raises(NotDetermined, check=because("few_searches", edge=9)):
        sl.laws.hyperparameters(searches(noise=1e-4, offset=4.0), at=AT)


@pytest.mark.slow
def test_an_optimum_that_leaves_its_law_does_not_transfer():
    sizes = [(n, d) for n in np.geomspace(1e6, 1e9, 7) for d in (1e9, 4e9)]
    at = {"n_params": 2e9, "n_data": 4e9}
    runs = searches(noise=1e-4, settings=1, bend=0.5, sizes=sizes)
    found = sl.laws.hyperparameters(runs, at=at)
    assert found.transfers is False
    straight = searches(noise=1e-4, settings=1, sizes=sizes)
    assert sl.laws.hyperparameters(straight, at=at).transfers is True


@pytest.mark.slow
def test_a_ladder_whose_best_rate_leaps_at_its_largest_sizes_does_not_transfer():
    """Four sizes are tested; the first two after a leap by a factor of five are missed."""
    size, rate = (v.ravel() for v in np.meshgrid(np.geomspace(1e7, 1e9, 9), np.geomspace(1e-4, 1e-1, 13)))
    best, noise = 2e-3 * (size / 1e8) ** -0.2, np.random.default_rng(0).standard_normal(len(size))
    for leap, transfers in ((1.0, True), (5.0, False)):
        off = np.log(rate / (best * np.where(size > 2.5e8, leap, 1.0)))
        loss = (1.8 + 400 * size**-0.35) * np.exp(0.01 * off**2 + 5e-4 * noise)
        runs = pd.DataFrame({"n_params": size, "learning_rate": rate, "loss": loss})
        assert sl.laws.hyperparameters(runs, at={"n_params": 2e9}).transfers is transfers


@pytest.mark.slow
def test_a_leap_along_one_size_of_a_grid_does_not_transfer():
    sizes = [(n, d) for n in np.geomspace(3e7, 1e9, 4) for d in np.geomspace(2e9, 5e10, 4)]
    runs, at = searches(noise=5e-4, settings=1, sizes=sizes), {"n_params": 2e9, "n_data": 1e11}
    leaps = runs.assign(learning_rate=runs.learning_rate * np.where(runs.n_params > 2.5e8, 5.0, 1.0))
    found = sl.laws.hyperparameters(leaps, at=at)
    assert (found.transfers, found.certificate.along) == (False, ("n_params",))
    plain = sl.laws.hyperparameters(runs, at=at)
    assert (plain.transfers, plain.certificate.along) == (True, ("n_params", "n_data"))


@pytest.mark.nightly
def test_intervals_hold_the_best_run_of_a_search_at_the_next_size():
    held = []
    for seed in range(40):
        runs = searches(noise=1e-3, seed=seed, scatter=0.15, settings=1, sizes=[*SIZES, (1e9, 6e10)])
        next_size = runs.n_params == 1e9
        found = sl.laws.hyperparameters(runs[~next_size], at=AT, certify=False).learning_rate
        there = runs[next_size]
        held.append(found.low <= there.learning_rate[there.loss.idxmin()] <= found.high)
    assert np.mean(held) >= 0.85  # 95 % of 40, less three standard errors


def test_the_law_is_that_of_generalised_least_squares_where_errors_are_known():
    """Against the closed form, with T held by errors that are far larger than the scatter."""
    rng = np.random.default_rng(0)
    x, optima = rng.normal(size=(12, 1)), np.zeros((12, 1))
    optima[:, 0] = 0.5 * x[:, 0] + 0.01 * rng.standard_normal(12)
    errors = np.where(np.arange(12) < 6, 0.01, 10.0)
    found = movement.fit(x, optima, 1 / errors[:, None, None] ** 2)
    good = np.arange(12) < 6
    slope = np.polyfit(x[good, 0], optima[good, 0], 1)[0]
    assert found.coefficients[0, 1] == pytest.approx(slope, abs=2e-3)


def test_what_was_not_searched_is_refused():
    runs = searches(noise=1e-4, settings=1)
    with pytest.raises(NotDetermined, check=because("one_size_searched", size="n_data", at=6e10)):
        sl.laws.hyperparameters(runs[runs.n_data == 4e9], at=AT)
    with pytest.raises(NotDetermined, check=because("nothing_searched")):
        sl.laws.hyperparameters(runs.assign(learning_rate=1e-3), at=AT)
    with pytest.raises(BadInput, match="settings="):
        sl.laws.hyperparameters(runs.drop(columns=["learning_rate", "batch_size"]), at=AT)
    with pytest.raises(BadInput, match="1 - accuracy"):
        sl.laws.hyperparameters(runs.assign(accuracy=0.5), at=AT, y="accuracy")
    with pytest.raises(BadInput, match="positive"):
        sl.laws.hyperparameters(runs, at={"n_params": -1.0})


@pytest.mark.slow
def test_the_command_prints_what_the_function_gives(tmp_path):
    runs = searches(noise=5e-4, settings=1)
    runs.to_csv(tmp_path / "runs.csv", index=False)
    words = ["plan", "hyperparameters", str(tmp_path / "runs.csv"), "--at", "1e9,6e10", "--json"]
    more = ["--level", "0.9", "--settings", "learning_rate", "--y", "loss"]
    done = CliRunner().invoke(app, [*words, *more, "--figure", str(tmp_path / "h.png")])
    assert done.exit_code == 0, done.output
    same = sl.laws.hyperparameters(runs, at=AT, level=0.9)
    assert same.plot().get_ylabel() == "best learning_rate"
    found = same.learning_rate
    (row,) = json.loads(done.stdout)["settings"]
    assert (row["value"], row["low"], row["high"]) == pytest.approx((found.value, found.low, found.high))
    assert (tmp_path / "h.png").stat().st_size > 10_000


def of_sizes(count, kinds=(1.0,), **columns):
    """Rates at some sizes, 20 tokens a parameter, for every kind of runs, whose losses differ by a factor."""
    n, rate, kind = (
        v.ravel() for v in np.meshgrid(3e7 * 2.0 ** np.arange(count), np.geomspace(3e-4, 3e-2, 8), kinds)
    )
    noise = np.exp(3e-4 * np.random.default_rng(0).standard_normal(len(n)))
    loss = kind * (1.8 + 900 * n**-0.35) * (1 + 0.01 * np.log(rate / 3e-3 * (n / 1e8) ** 0.2) ** 2) * noise
    return pd.DataFrame({"n_params": n, "n_data": 20 * n, "learning_rate": rate, "loss": loss, **columns})


def test_sizes_on_one_line_need_no_more_searches_than_one_size():
    both, one = {"n_params": 1e9, "n_data": 2e10}, {"n_params": 1e9}
    found = sl.laws.hyperparameters(of_sizes(4), at=both)
    alone = sl.laws.hyperparameters(of_sizes(4).drop(columns="n_data"), at=one)
    assert found.learning_rate.value == pytest.approx(alone.learning_rate.value, rel=0.02)
    assert found.learning_rate.low < 3e-3 * 0.1**0.2 < found.learning_rate.high
    with pytest.raises(NotDetermined, check=because("few_searches", searches=3, needed=4)):
        sl.laws.hyperparameters(of_sizes(3), at=both)


def test_logarithms_of_settings_are_refused():
    table = of_sizes(5).assign(log2_lr=lambda t: np.log2(t.learning_rate))
    with pytest.raises(BadInput, match="log2_lr"):
        sl.laws.hyperparameters(table, at={"n_params": 1e9}, settings=["log2_lr"])


def test_a_setting_that_follows_the_size_is_not_searched():
    table = of_sizes(5).assign(warmup_steps=lambda t: t.n_data // 5e7)
    assert {*sl.laws.hyperparameters(table, at={"n_params": 1e9}).settings} == {"learning_rate"}


def test_runs_of_other_kinds_have_searches_of_their_own():
    """Of two schedules each has its own losses, and rates that the other has not."""
    table = of_sizes(5, kinds=(1.0, 1.2))
    table["schedule"] = np.where(np.arange(len(table)) % 2, "constant", "cosine")
    left_out = (table.schedule == "cosine") & (table.learning_rate > 9e-3)
    mixed = sl.laws.hyperparameters(table[~left_out], at={"n_params": 1e9})
    assert len(mixed.valleys.cells) == 10
    assert mixed.valleys.noise < 1e-3
    assert mixed.learning_rate.low < 3e-3 * 0.1**0.2 < mixed.learning_rate.high
