"""Batch size and learning rate for another width."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import scalinglab as sl
from scalinglab.cli import app
from scalinglab.errors import BadInput
from scalinglab.results.types import Reason

WIDTHS = (1.0, 2.0, 4.0)
KAPPA = 55_000 / 0.1 / 2  # N / ((1 − m) σ0²), NTK


def runs(
    scheme: str = "ntk", power: float = 1.0, scatter: float = 1e-4, seeds: int = 6, failing: float = 400.0
) -> sl.Curves:
    """Optimal noise 2e4 · width^power; best error 0.02 · width^−0.5; rates above `failing` do not train."""
    rng = np.random.default_rng(0)
    rows = []
    for width in WIDTHS:
        for batch in 2.0 ** np.arange(2, 11.5, 0.5):
            for rate in (10.0, 800.0) if batch == 1024 else (10.0,):
                noise = KAPPA * rate / batch * (width if scheme == "standard" else 1.0)
                off = np.log2(noise / (2e4 * width**power))
                own = rate / 128 if scheme == "standard" else rate
                for seed in range(seeds):
                    error = 0.02 * width**-0.5 + 0.001 * off**2 + scatter * rng.standard_normal()
                    rows.append((width, batch, own, seed, 0.9 if rate > failing else error))
    names = ["width", "batch_size", "learning_rate", "seed", "test_error"]
    columns = dict(zip(names, np.array(rows).T, strict=True))
    constant = {"model": "mlp", "optimizer": "nesterov", "momentum": 0.9, "n_data": 55_000}
    return sl.Curves({**columns, **constant, "parameterization": scheme})


@pytest.mark.parametrize("scheme", ["ntk", "standard"])
def test_advice_is_that_of_the_planted_law(scheme):
    """Known optimum at width 8: ḡ = 1.6e5, so B = κ ε/ḡ."""
    table = runs(scheme)
    found = sl.laws.plan.noise(table, 8)
    rate = table.frame["learning_rate"].min()
    kappa = KAPPA * (8 * 128 if scheme == "standard" else 1.0)
    assert found.noise.low < 1.6e5 < found.noise.high
    assert found.noise.value == pytest.approx(1.6e5, rel=0.25)
    assert found.batch_size_there.value == pytest.approx(kappa * rate / 1.6e5, rel=0.25)
    assert found.batch_size_there.low < kappa * rate / 1.6e5 < found.batch_size_there.high
    there = 1.6e5 * found.batch_size / kappa
    assert found.learning_rate_there.low < there < found.learning_rate_there.high
    assert (found.widening_factor, found.width) == (1024, 8)
    assert found.error.value == pytest.approx(0.02 * 8**-0.5, rel=0.1)
    assert found.gain.value == pytest.approx(0.02 * (4**-0.5 - 8**-0.5), rel=0.4)


def test_the_critical_width_is_that_of_batch_one_at_the_largest_rate_that_trained():
    found = sl.laws.plan.noise(runs(failing=400.0), 8)
    exact = KAPPA * 10 / 2e4  # ḡ at B = 1 and rate 10, over ḡ_opt at width 1
    assert found.rate_is_bound
    assert found.critical_width.low < exact < found.critical_width.high
    assert 0.5 < found.critical_width.value / exact < 2
    open_ended = sl.laws.plan.noise(runs(failing=1e9), 8)
    assert not open_ended.rate_is_bound
    assert 0.25 < open_ended.critical_width.value / (80 * exact) < 4
    assert "at least" in open_ended.summary()


def test_what_is_lost_without_retuning_follows_the_shape_of_the_search():
    """In NTK the optimum moves one octave from width 4 to 8: 0.001 of error; in the standard scheme none."""
    ntk = sl.laws.plan.noise(runs("ntk", scatter=1e-4), 8).retuning
    assert ntk is not None
    assert ntk.low < 0.001 < ntk.high
    assert ntk.value > 3e-4
    standard = sl.laws.plan.noise(runs("standard", scatter=1e-4), 8).retuning
    assert standard is not None
    assert standard.value < 3e-4


def test_a_batch_below_one_is_said():
    found = sl.laws.plan.noise(runs(power=2.0), 30)
    assert found.batch_size_there.value < 1
    assert "below one" in found.summary()
    assert [note.code for note in found.notes] == ["batch_below_one", "power_of_the_runs"]
    assert found.notes[1].details["verdict"] == "fails"


def test_refusals_name_the_reason():
    with pytest.raises(BadInput, match="width 8:"):
        sl.laws.plan.noise(runs(seeds=1), 8)
    with pytest.raises(BadInput, match=r"width 100: .* 4, .* 8 times"):
        sl.laws.plan.noise(runs(), 100)
    with pytest.raises(BadInput, match=r"width 8: .*(anywhere|inside the search)"):
        sl.laws.plan.noise(runs(scatter=0.05, seeds=2), 8)
    for width in (-1, 0):
        with pytest.raises(BadInput, match=f"width = {width}"):
            sl.laws.plan.noise(runs(), width)
    mixed = sl.Curves.concat([runs("ntk"), runs("standard")])
    with pytest.raises(BadInput, match="parameterization"):
        sl.laws.plan.noise(mixed, 8)


@pytest.mark.slow
def test_the_command_line_gives_the_same_numbers(tmp_path):
    table = runs()
    table.frame.drop(columns="run").to_csv(tmp_path / "runs.csv", index=False)
    words = ["plan", "noise", str(tmp_path / "runs.csv"), "--width", "8", "--figure", str(tmp_path / "a.png")]
    said = CliRunner().invoke(app, [*words, "--json"], catch_exceptions=False)
    document = json.loads(said.output)
    found = sl.laws.plan.noise(table, 8)
    assert document["batch_size_there"]["value"] == pytest.approx(found.batch_size_there.value)
    assert document["critical_width"]["low"] == pytest.approx(found.critical_width.low)
    assert (tmp_path / "a.png").stat().st_size > 10_000
    with pytest.raises(BadInput, match="width 1000"):
        CliRunner().invoke(app, [*words[:4], "1000"], catch_exceptions=False)


# --- the numbers, written out from the optima and their draws -------------------------------------------


@pytest.fixture(scope="module", params=["ntk", "standard"])
def advised(request):
    """A table, the advice for width 8, and what the optima of the runs are."""
    table = runs(request.param)
    return table, sl.laws.plan.noise(table, 8, draws=200)


def lines(found):
    """ln A and p of A w^p, of the measured optima and of every draw."""
    log = np.log(found.width[found.used])
    rows = np.vstack([found.noise[found.used], found.draws[:, found.used]])
    power, scale = np.array([np.polyfit(log, np.log(row), 1) for row in rows]).T
    return scale, power


def matches(number, values):
    """Whether an estimate is the first of these values, with the percentiles of the others."""
    expected = (values[0], *np.quantile(values[1:], (0.025, 0.975)))
    return (number.value, number.low, number.high) == pytest.approx(expected, rel=1e-6)


def test_the_optimum_is_a_line_through_the_measured_ones_and_turns_into_rate_and_batch(advised):
    table, advice = advised
    scale, power = lines(advice.found)
    optimum = np.exp(scale + power * np.log(1024))
    assert matches(advice.noise, optimum)
    rate = table.frame["learning_rate"].min()
    kappa = KAPPA * (1024 if advice.scheme == "standard" else 1)
    assert advice.learning_rate == rate
    assert matches(advice.batch_size_there, kappa * rate / optimum)
    assert matches(advice.learning_rate_there, advice.batch_size * optimum / kappa)
    tried = table.frame["batch_size"].unique()
    noise = KAPPA * rate / tried * (512 if advice.scheme == "standard" else 1)
    assert advice.batch_size == tried[np.argmin(np.abs(np.log(noise / advice.found.noise[-1])))]


def test_expected_error_is_a_power_law_of_the_best_errors(advised):
    _, advice = advised
    log, best = np.log(advice.found.width), 1 - np.vstack([advice.found.accuracy, advice.found.best_draws])
    slope, level = np.array([np.polyfit(log, np.log(row), 1) for row in best]).T
    there = np.exp(level + slope * np.log(1024))
    assert matches(advice.error, there)
    assert matches(advice.gain, best[:, -1] - there)


def test_expected_loss_is_that_of_the_same_numbers_as_an_error(advised):
    table, advice = advised
    frame = table.frame.drop(columns="run").rename(columns={"test_error": "test_loss"})
    as_loss = sl.laws.plan.noise(sl.Curves(frame), 8, y="test_loss", draws=200)
    assert as_loss.error.value == pytest.approx(advice.error.value, rel=0.02)
    assert as_loss.gain.value > 0


def test_what_is_lost_is_read_off_the_search_of_the_widest(advised):
    _, advice = advised
    scale, power = lines(advice.found)
    widest = advice.found.searches[-1]
    kept = advice.found.noise[-1] * (2 if advice.scheme == "standard" else 1)
    optimum, at_512 = (np.exp(scale[0] + power[0] * np.log(w)) for w in (1024, 512))
    use = widest.usable
    read = np.interp(np.log(at_512 * kept / optimum), np.log(widest.level[use]), widest.mean[use])
    assert advice.retuning.value == pytest.approx(widest.mean[use].max() - read)


def test_critical_width_is_where_the_optimum_takes_batch_one(advised):
    table, advice = advised
    trained = table.frame[table.frame["test_error"] < 0.5]
    rate = (trained["learning_rate"] * (trained["width"] if advice.scheme == "standard" else 1)).max()
    scale, power = lines(advice.found)
    largest = KAPPA * rate * (128 if advice.scheme == "standard" else 1)
    widths = np.exp((np.log(largest) - scale) / power) / 128
    assert advice.critical_width.value == pytest.approx(widths[0], rel=1e-6)
    ends = np.quantile(widths[1:], (0.025, 0.975))
    assert (advice.critical_width.low, advice.critical_width.high) == pytest.approx(tuple(ends), rel=1e-6)


def test_a_retuning_beyond_the_search_and_batch_norm_are_left_open():
    table = runs()
    short = table.frame.drop(columns="run").query("width < 4 or batch_size <= 128")
    assert sl.laws.plan.noise(sl.Curves(short), 32).retuning is None  # at an eighth of the noise: B = 275
    notes = sl.laws.plan.noise(sl.Curves({**table.frame.drop(columns="run"), "batch_norm": True}), 8).notes
    assert notes == (*sl.laws.plan.noise(table, 8).notes, Reason("noise_with_batch_norm"))
    with pytest.raises(BadInput, match="batch_size"):
        sl.laws.plan.noise(sl.Curves(table.frame.drop(columns=["run", "batch_size"])), 8)
