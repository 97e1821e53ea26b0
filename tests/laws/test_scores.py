"""Scores from losses in two stages: bounded, with the error of both, refused where the runs say nothing."""

import numpy as np
import pandas as pd
import pytest

import scalinglab as sl
from scalinglab.errors import BadInput, NotDetermined
from scalinglab.laws import scores
from tests.refusals import because

COMPUTE = np.geomspace(1e18, 1e22, 24)


def loss_at(compute):
    return 1.7 + 40 * compute**-0.09


def accuracy_at(loss, ceiling=0.9):
    return 0.25 + (ceiling - 0.25) / (1 + np.exp(5 * (loss - 2.3)))


def runs(seed: int = 0, noise: float = 0.004, ceiling: float = 0.9, compute=COMPUTE) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    loss = loss_at(compute) * np.exp(0.003 * random.standard_normal(len(compute)))
    score = accuracy_at(loss, ceiling) + noise * random.standard_normal(len(compute))
    return pd.DataFrame({"compute": compute, "loss": loss, "accuracy": score, "error": 1 - score})


@pytest.mark.slow
def test_a_known_score_lies_in_the_interval_and_every_interval_in_its_bounds():
    """A sigmoid between the grid's nodes, drawn six times; 95 % of six, within three standard deviations."""
    held = 0
    for seed in range(6):
        found = sl.laws.downstream(runs(seed), chance=0.25, at={"compute": 5e22})
        assert 0.25 <= found.low <= found.mean <= found.high <= 1
        random = np.random.default_rng(100 + seed)
        held += found.low <= accuracy_at(loss_at(5e22)) + 0.004 * random.standard_normal() <= found.high
        assert found.loss_low < loss_at(5e22) * 1.01
        assert found.high - found.low < 0.2
    assert held >= 4


def test_the_weights_of_curves_are_those_of_the_likelihood():
    """Against the product of normal densities, their multiple integrated out by quadrature, on a few curves.

    The variance of a run is that of a share of 1,000 questions, at the score that the curve gives.
    """
    table = runs(compute=COMPUTE[:8])
    share = (table.accuracy.to_numpy() - 0.25) / 0.75
    curve = scores.ScoreCurve("loss", table.loss.to_numpy(), share, 0.25, 1.0, 1000)
    weight, _, count = curve.weights()
    assert count == len(table) + scores.PRIOR_COUNT
    times, expected = np.geomspace(1e-3, 1e3, 20_000), []
    best = np.argsort(-weight)[:3]
    for one in best:
        score = 0.25 + 0.75 * curve.at(curve.places(curve.loss), one)
        variance = score * (1 - score) / 1000
        squares = np.sum((table.accuracy - score) ** 2 / variance) + scores.PRIOR_COUNT
        density = times ** -(count / 2 + 1) * np.exp(-squares / (2 * times)) / np.sqrt(variance.prod())
        expected.append(np.exp(curve.grid[-1][one]) * np.trapezoid(density, times))  # prior 1/multiple
    ratio = np.array(expected) / weight[best]
    assert ratio == pytest.approx(ratio[0], rel=1e-3)


def test_the_number_of_questions_is_read_off_the_scores():
    """Of shares in single precision, of any order; none of numbers that are no shares."""
    right = np.array([53, 61, 87, 152, 200])
    assert scores.questions((right / 273).astype(np.float32)) == 273
    assert scores.questions(right / 10_042) == 10_042
    assert scores.questions(np.random.default_rng(0).uniform(size=8)) is None


def test_few_questions_make_a_wide_interval_and_many_a_narrow_one():
    """The same curve: a model's score scatters by √(s (1 - s)/n), here 0.003 and 0.05."""
    widths = []
    for asked in (20_000, 100):
        exact = accuracy_at(runs().loss)
        right = np.random.default_rng(5).binomial(asked, exact)
        found = sl.laws.downstream(
            runs().assign(accuracy=right / asked), chance=0.25, at={"compute": 2e22}, widest=np.inf
        )
        assert found.low <= accuracy_at(loss_at(2e22)) <= found.high
        widths.append(found.high - found.low)
    assert widths[0] < 0.1 < 0.15 < widths[1]


def test_one_answer_to_all_questions_is_chance_even_if_it_is_right_often():
    """A model that always answers A scores the share of A among the right answers: 0.28 of 500, not 0.25."""
    table = runs().assign(accuracy=0.28)
    table.loc[::3, "accuracy"] = [0.282, 0.276, 0.288, 0.284] * 2
    with pytest.raises(NotDetermined) as refused:
        sl.laws.downstream(table, chance=0.25, at={"compute": 2e22})
    assert refused.value.args[0].code == "at_chance"


def test_a_wide_interval_is_refused_unless_it_is_asked_for():
    noisy = runs(noise=0.1, compute=COMPUTE[:16]).assign(accuracy=lambda t: t.accuracy.clip(0.05, 1))
    with pytest.raises(NotDetermined) as refused:
        sl.laws.downstream(noisy, chance=0.25, at={"compute": 1e22})
    assert refused.value.args[0].code == "score_too_wide"
    found = sl.laws.downstream(noisy, chance=0.25, at={"compute": 1e22}, widest=np.inf)
    assert found.low <= accuracy_at(loss_at(1e22)) <= found.high
    assert found.high - found.low > scores.WIDEST * found.mean


def test_scores_at_chance_are_refused_whatever_comes_after():
    small = COMPUTE[:12]
    random = np.random.default_rng(1)
    table = runs(compute=small).assign(accuracy=0.25 + 0.01 * random.standard_normal(12))
    with pytest.raises(NotDetermined, check=because("at_chance")) as refused:
        sl.laws.downstream(table, chance=0.25, at={"compute": 1e23})
    assert refused.value.args[0].code == "at_chance"


def test_a_score_that_stands_still_above_chance_is_answered_and_one_that_falls_is_refused():
    """Models that answer in the right format guess, at a half: it may stay there, and may begin to rise."""
    random = np.random.default_rng(2)
    table = runs()
    steps = 0.5 / (1 + np.exp(20 * (table.loss - 2.55))) + 0.01 * random.standard_normal(len(table))
    found = sl.laws.downstream(table.assign(accuracy=steps.clip(0, 1)), at={"compute": 2e22}, widest=0.5)
    assert found.low <= 0.5 <= found.high
    falls = 0.6 - 0.3 * (loss_at(COMPUTE[0]) - table.loss) / np.ptp(table.loss)
    with pytest.raises(NotDetermined) as refused:
        sl.laws.downstream(table.assign(accuracy=falls), chance=0.25, at={"compute": 2e22})
    assert refused.value.args[0].code == "at_chance"


def test_a_loss_far_below_the_runs_is_refused_and_the_nearer_places_are_answered():
    known = scores.fit(runs(), chance=0.25)
    lowest, highest = known.curves[0].loss.min(), known.curves[0].loss.max()
    found = known.predict({"loss": [lowest, lowest - 1.5 * (highest - lowest)]})
    assert [why and why.code for why in found.refused] == [None, "score_too_far"]
    assert np.isnan(found.mean[1])
    assert found.low[0] <= accuracy_at(lowest) <= found.high[0]


def test_an_error_is_a_score_read_from_the_other_side():
    """The same draws: the intervals of 1 - accuracy are those of the accuracy, mirrored."""
    table = runs()
    right = sl.laws.downstream(table, chance=0.25, at={"compute": 5e22})
    wrong = sl.laws.downstream(table, score="error", chance=0.75, at={"compute": 5e22})
    assert (1 - wrong.mean, 1 - wrong.high, 1 - wrong.low) == pytest.approx(
        (right.mean, right.low, right.high), abs=1e-9
    )


def test_the_loss_that_explains_the_scores_counts_most():
    table = runs()
    other = table.loss * np.exp(0.1 * np.random.default_rng(3).standard_normal(len(table)))
    known = scores.fit(table.assign(other=other), loss=["other", "loss"], chance=0.25)
    assert known.weights["loss"] > 0.9
    assert sum(known.weights.values()) == pytest.approx(1)
    alone = sl.laws.downstream(table, chance=0.25, at={"compute": 5e22})
    assert known.predict(compute=5e22).mean == pytest.approx(alone.mean, abs=0.01)


def test_the_uncertain_loss_of_stage_one_widens_the_interval():
    known = scores.fit(runs(), chance=0.25)
    ahead = known.predict(compute=1e23)
    exact = known.predict(loss=ahead.loss_mean)
    assert ahead.loss_low < ahead.loss_mean < ahead.loss_high
    assert ahead.high - ahead.low > exact.high - exact.low
    assert ahead.beyond == pytest.approx(10)
    (said,) = (one.details for one in ahead.remarks if one.code == "score_at")
    assert said["answer"].details["value"] == ahead.mean
    assert said["loss"].details["value"] == ahead.loss_mean
    assert said["far"].details["times"] == ahead.beyond
    (inside,) = (one.details for one in exact.remarks if one.code == "score_at")
    assert (inside["loss"], inside["far"]) == ("", "")
    of_curve = next(one.details for one in known.remarks if one.code == "score_curve")
    assert (of_curve["first"], of_curve["last"]) == (runs().loss.min(), runs().loss.max())
    assert of_curve["low"] < 0.9 < of_curve["high"], "the ceiling"


def test_sizes_are_found_under_the_names_that_people_write():
    params, tokens = "model_size", "n_tokens"
    n, d = (v.ravel() for v in np.meshgrid(np.geomspace(1e8, 1e9, 4), np.geomspace(2e9, 5e10, 4)))
    loss = 1.7 + 400 * n**-0.35 + 600 * d**-0.3
    ours = pd.DataFrame({"n_params": n, "n_data": d, "loss": loss, "accuracy": accuracy_at(loss - 0.8)})
    theirs = ours.rename(columns={"n_params": params, "n_data": tokens})
    at = {"n_params": 2e9, "n_data": 1e11}
    expected = sl.laws.downstream(ours, chance=0.25, at=at)
    assert sl.laws.downstream(theirs, chance=0.25, at=at).mean == expected.mean
    again = scores.fit(theirs, chance=0.25).predict(pd.DataFrame({params: [2e9], tokens: [1e11]}))
    assert again.mean[0] == expected.mean


def test_percent_and_models_without_a_score_are_read():
    table = runs().assign(accuracy=lambda t: 100 * t.accuracy)
    table.loc[:3, "accuracy"] = np.nan
    known = scores.fit(table, chance=0.25)
    assert (len(known.tables[0].y), len(known.curves[0].loss)) == (24, 20)
    assert "percent" in {note.code for note in known.notes}
    assert 0.25 < known.predict(compute=2e22).mean < 1


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"chance": 1.5}, "chance=1.5 must lie between 0 and 1"),
        ({"score": "acuracy"}, "did you mean 'accuracy'"),
        ({"loss": []}, "name the column of the loss"),
        ({"at": {"n_params": 1e9}}, "give compute, or the losses themselves"),
        ({"level": 95}, "between 0 and 1"),
        ({"x": ["compute", "loss", "error"]}, "of one column of sizes, or of two"),
    ],
)
def test_wrong_input_is_refused_with_the_way_out(options, told):
    with pytest.raises(BadInput, match=told):
        sl.laws.downstream(runs(), **{"at": {"compute": 1e23}, **options})


def test_few_scored_runs_are_refused():
    with pytest.raises(NotDetermined, check=because("few_scores", runs=5, needed=6)):
        sl.laws.downstream(runs(compute=COMPUTE[-5:]), at={"compute": 1e23})


def test_scores_and_predictions_are_drawn_against_the_loss():
    known = scores.fit(runs(), chance=0.25)
    found = known.predict(compute=[2e22, 5e22])
    axes = found.plot()
    star = next(line for line in axes.lines if line.get_marker() == "*")
    assert star.get_xdata() == pytest.approx(found.loss_mean)
    assert star.get_ydata() == pytest.approx(found.mean)
    ends = np.array([segment[:, 1] for segment in axes.collections[-1].get_segments()]).T
    assert ends == pytest.approx(np.array([found.low, found.high]))
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("loss", "accuracy")
    assert known.plot().get_legend() is not None


@pytest.mark.slow
def test_runs_at_one_ratio_of_data_to_parameters_tell_scores_at_that_ratio_alone():
    size = np.geomspace(1e8, 3e9, 12)
    table = pd.DataFrame({"n_params": size, "n_data": 20 * size})
    loss = 1.7 + 400 * size**-0.34 + 410 * (20 * size) ** -0.28
    table["loss"] = loss * np.exp(1e-3 * np.random.default_rng(0).standard_normal(12))
    table["accuracy"] = 0.25 + 0.6 / (1 + np.exp(5 * (loss - 2.5)))
    asked = {"n_params": 6e9, "n_data": 1.2e11}
    found = scores.downstream(table, at=asked, chance=0.25)
    true = 0.25 + 0.6 / (1 + np.exp(5 * (1.7 + 400 * 6e9**-0.34 + 410 * 1.2e11**-0.28 - 2.5)))
    assert found.low <= true <= found.high
    with pytest.raises(BadInput, match="20"):
        scores.downstream(table, at=asked | {"n_data": 6e11}, chance=0.25)
