"""Surfaces whose form is chosen: weights by backtests, one average of predictions, optimum and intervals."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from scalinglab.answers.surface import find_shape
from scalinglab.errors import BadInput
from scalinglab.laws import form_choice, forms, plan, surface, weighing
from scalinglab.laws.fitting.uncertainty.form_error import FormError
from scalinglab.results.distributions import Mixture, Student, interval
from scalinglab.results.types import Command

N, D = (v.ravel() for v in np.meshgrid(np.geomspace(1e8, 1e10, 6), np.geomspace(2e9, 2e11, 6)))
FAR = {"n_params": 2e10, "n_data": 2e12}
KNOWN = {
    "chinchilla": (1.8, 480.0, 2100.0, 0.35, 0.37),
    "coupled": (1.7, 4e3, 2e4, 0.45, 0.47, 0.7),
    "farseer": (0.55, 0.06, 0.1, 0.12, 0.12, 0.32, -0.06),
    "broken_params": (1.8, 480.0, 2100.0, 0.30, 0.37, 0.3, 1e9),
    "broken_data": (1.8, 480.0, 2100.0, 0.35, 0.30, 0.3, 2e10),
}


def measured(name: str, noise: float = 1e-3, seed: int = 0) -> np.ndarray:
    """Losses of a known surface at N and D, with noise."""
    truth = forms.get(name)(np.array([N, D]), *KNOWN[name])
    return np.asarray(truth * np.exp(noise * np.random.default_rng(seed).standard_normal(N.size)))


@pytest.mark.parametrize("name", [n for n in KNOWN if n != "chinchilla"])
def test_the_slopes_of_a_form_are_its_differences(name):
    form, x = forms.get(name), np.array([N, D])
    for j, slope in enumerate(form.gradient_at(x, *KNOWN[name])):
        step = np.zeros(len(form.names))
        step[j] = 1e-6 * KNOWN[name][j]
        up, down = (form(x, *(np.array(KNOWN[name]) + sign * step)) for sign in (1, -1))
        assert np.allclose((up - down) / (2 * step[j]), slope, rtol=1e-5, atol=1e-6 * np.max(np.abs(slope)))


def test_the_form_that_counts_most_leads():
    usual, other = (surface.fit(N, D, measured("chinchilla"), form=name) for name in ("chinchilla", "kaplan"))
    assert usual.leading is usual.alone
    parts = (0.3, usual.alone), (0.7, other.alone)
    for average in (parts, parts[::-1]):
        assert replace(usual, average=average).leading is other.alone


@pytest.mark.slow
@pytest.mark.parametrize("name", ["farseer", "broken_params"])
def test_a_form_recovers_known_parameters_from_noisy_runs(name):
    fitted = surface.fit(N, D, measured(name, 3e-4), form=name)
    ends = fitted.law.parameter_intervals
    inside = [ends[n].low <= true <= ends[n].high for n, true in zip(fitted.law.form.names, KNOWN[name])]
    assert np.mean(inside) > 0.8
    assert fitted.predict(n_params=1e10, n_data=2e12) == pytest.approx(
        float(forms.get(name)(np.array([1e10, 2e12]), *KNOWN[name])), rel=5e-3
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", ["broken_params", pytest.param("coupled", marks=pytest.mark.nightly)])
def test_the_form_that_the_runs_follow_outweighs_the_usual_one(name):
    fitted = surface.fit(N, D, measured(name))
    assert fitted.weights.get("chinchilla", 0.0) < 0.05
    assert fitted.leading.law.form.name != "chinchilla"
    assert fitted.law.form.name == "chinchilla"  # whose parameters are quoted
    truth = float(forms.get(name)(np.array([*FAR.values()]), *KNOWN[name]))
    usual = surface.fit(N, D, measured(name), form="chinchilla")
    assert abs(fitted.predict(FAR) / truth - 1) < 0.5 * abs(usual.predict(FAR) / truth - 1)
    shape = find_shape(fitted, Command("report"))
    assert shape.facts["verdict"] == "not quite"
    about = fitted.others_weigh[0].details
    if len(fitted.weights) > 1:
        assert {each.details["name"]: each.details["weight"] for each in about["weights"]} == fitted.weights
    else:
        assert {about["other"]: 1.0} == fitted.weights  # what predictions are an average of
    planned = plan.next_runs(fitted, budget=6e21, compute=6e21)
    assert planned.notes[-1:] == fitted.others_weigh


@pytest.mark.slow
def test_where_the_usual_form_is_right_it_leads_and_intervals_stay():
    runs = N, D, measured("chinchilla", 4e-3)
    fitted, usual = surface.fit(*runs), surface.fit(*runs, form="chinchilla")
    assert next(iter(fitted.weights)) == "chinchilla"
    assert sum(fitted.weights.values()) == pytest.approx(1)
    wide, narrow = (np.log(high / low) for low, high in (each.interval(FAR) for each in (fitted, usual)))
    assert narrow * 0.99 <= wide <= 1.3 * narrow
    assert fitted.alpha == usual.alpha


@pytest.mark.slow
def test_one_form_can_be_forced_and_several_named():
    assert surface.fit(N, D, measured("coupled"), form="kaplan").weights == {"kaplan": 1.0}
    both = surface.fit(N, D, measured("coupled"), form=("coupled", "kaplan"))
    assert next(iter(both.weights)) == "coupled"
    with pytest.raises(BadInput, match="'coupled', 'precision'"):
        surface.fit(N, D, measured("coupled"), form=("coupled", "precision"))


def test_few_runs_choose_nothing():
    rows = np.arange(0, 36, 4)
    assert surface.fit(N[rows], D[rows], measured("chinchilla")[rows]).weights == {"chinchilla": 1.0}


@pytest.mark.slow
def test_the_average_is_between_its_forms_and_its_interval_is_theirs():
    fitted = surface.fit(N, D, measured("chinchilla", 4e-3, seed=5), form=("chinchilla", "coupled"))
    parts = [each.law.predict(FAR) for _, each in fitted.average]
    assert min(parts) <= fitted.predict(FAR) <= max(parts)
    best = fitted.compute_optimal([1e22, 1e23])
    assert best.n_params_interval.low[1] < best.n_params[1] < best.n_params_interval.high[1]
    assert np.allclose(best.n_params * best.n_data * 6, best.compute)


def test_an_average_predicts_the_geometric_mean_of_its_forms():
    fitted = surface.fit(N, D, measured("chinchilla", 4e-3, seed=5), form=("chinchilla", "coupled"))
    assert 0.1 < fitted.weights["coupled"] < 0.5
    logs = sum(weight * np.log(each.law.predict(FAR)) for weight, each in fitted.average)
    assert fitted.predict(FAR) == pytest.approx(np.exp(logs), rel=1e-12)


def test_kaplan_is_coupled_without_a_floor_and_not_chosen_beside_it():
    """So what it says is in what `coupled` allows; chosen alone it would rule a floor out."""
    n_scale, d_scale, alpha, beta = 3e13, 5e13, 0.08, 0.1
    same = forms.get("coupled")((N, D), 0.0, n_scale ** (alpha / beta), d_scale, alpha / beta, 1.0, beta)
    assert forms.get("kaplan")((N, D), n_scale, d_scale, alpha, beta) == pytest.approx(same, rel=1e-12)
    assert {"coupled", "chinchilla"} <= {form.name for form in form_choice.candidates(("n_params", "n_data"))}
    assert "kaplan" not in {form.name for form in form_choice.candidates(("n_params", "n_data"))}


def test_the_ends_of_an_average_are_the_quantiles_of_the_mixture():
    middles, weight = np.array([[0.0], [1.0]]), np.array([0.7, 0.3])
    usual = stats.norm.ppf(0.975)
    ends = middles[:, None] + usual * np.array([[[-1.0], [1.0]], [[-0.5], [0.5]]])

    def average(ends):
        low, high = ends.swapaxes(0, 1)
        parts = Student.of_ends(middles, low, high, level=0.95)
        return interval(Mixture(parts, weight, open_parts=True))

    low, high = average(ends)
    drawn = np.random.default_rng(0).standard_normal((2, 400_000))
    both = np.r_[drawn[0, :280_000], 1 + 0.5 * drawn[1, :120_000]]
    assert [low[0], high[0]] == pytest.approx(np.quantile(both, [0.025, 0.975]), abs=0.02)
    ends[1] = [[-np.inf], [np.inf]]
    assert np.isinf(average(ends)).all()


def test_a_score_is_the_density_of_what_was_not_seen():
    """With one free level the density of later runs is that of a mean and its noise: Student's."""
    rng = np.random.default_rng(1)
    n, d = np.geomspace(1e8, 1e10, N.size), D * rng.uniform(0.9, 1.1, N.size)  # no two of one size
    order = np.argsort(n * d)
    noise = 0.01 * rng.standard_normal(n.size)
    noise[order[20:]] += 0.01  # a level that the cheaper runs do not have: one error that all share
    held = {"E": (0.0, 0.0), "alpha": (0.1, 0.1), "beta": (1.0, 1.0), "B": (0.0, 0.0)}
    law = surface.fit(n, d, 10 * n**-0.1 * np.exp(noise), bounds=held, form="chinchilla").law
    found = form_choice.log_density_of(law, law.points, 20, 26)
    early, late = noise[order[:20]], noise[order[20:26]]
    level, variance = early.mean(), early.var(ddof=1)
    spread = np.eye(6) + np.ones((6, 6)) / 20
    expected = stats.multivariate_t.logpdf(late, np.full(6, level), variance * spread, df=19)
    assert found == pytest.approx(expected, abs=1e-6)
    first = form_choice.log_density_of(law, law.points, 20, 20, first=True)
    deviation = np.sqrt(variance)
    levels = level + deviation * np.linspace(-2, 2, 201)
    sizes = np.log(deviation) + np.linspace(-1.5, 2.5, 401)
    each = stats.norm.logpdf(early[:, None, None], levels[:, None], np.exp(sizes)).sum(axis=0)
    whole = np.exp(each - each.max()).sum() * (levels[1] - levels[0]) * (sizes[1] - sizes[0])
    prior = stats.norm.logpdf(0.0, scale=deviation)  # one run tells a level to a deviation
    assert first == pytest.approx(each.max() + np.log(2 * whole) + prior, abs=2e-3)


def test_a_form_at_a_bound_is_judged_by_what_it_can_be():
    """Runs that ask for a negative floor: a form whose floor ends at 0 predicts as one that has none."""
    rng = np.random.default_rng(1)
    n, d = np.geomspace(1e8, 1e10, N.size), D * rng.uniform(0.9, 1.1, N.size)
    loss = (10 * n**-0.1 - 0.5) * np.exp(0.001 * rng.standard_normal(n.size))
    held = {"alpha": (0.1, 0.1), "beta": (1.0, 1.0), "B": (0.0, 0.0)}
    free, none = (
        surface.fit(n, d, loss, bounds=held | floor, form="chinchilla").law
        for floor in ({}, {"E": (0.0, 0.0)})
    )
    assert free.certificate.at_bound == ("E",)
    for first, until, price in ((True, 20, np.log(20) / 2), (False, 26, 0.0)):  # of the floor, paid once
        scores = [form_choice.log_density_of(law, law.points, 20, until, first=first) for law in (free, none)]
        assert scores[0] + price == pytest.approx(scores[1], abs=1e-6)


def test_a_parameter_that_is_told_costs_nothing():
    """As much as one that is held, where a free one costs half of ln 20 and more."""
    loss = measured("chinchilla", 2e-3, seed=4)
    held = surface.fit(N, D, loss, form="chinchilla", bounds={"alpha": (0.35, 0.35)}).law
    told = surface.fit(N, D, loss, form="chinchilla", priors={"alpha": (0.35, 1e-5)}).law
    assert told.form.unknown == held.form.unknown == 4
    for first in (True, False):
        scores = [
            form_choice.log_density_of(law, law.points, 20, N.size, first=first) for law in (held, told)
        ]
        assert scores[1] == pytest.approx(scores[0], abs=0.02)


def test_shares_are_bayes_rule_and_leave_out_the_negligible():
    log = np.log([0.2, 0.1, 0.001]) - 2000.0
    assert weighing.shares(log) == pytest.approx(np.array([0.2, 0.1, 0.001]) / 0.301)
    assert weighing.shares(log, 0.01) == pytest.approx([2 / 3, 1 / 3, 0.0])
    assert weighing.shares(np.array([np.nan, -np.inf])).tolist() == [0.0, 0.0]
    small = np.linspace(0.01, 0.09, 81)  # fades: no share comes or goes at once
    faded = np.array([weighing.shares(np.log([1 - share, share]), 0.05)[1] for share in small])
    assert np.max(np.abs(np.diff(faded))) < 0.005
    assert faded[[0, -1]] == pytest.approx([0.0, 0.09])
    assert weighing.shares(np.array([np.nan, -5.0])).tolist() == [0.0, 1.0]


def test_a_candidate_that_is_far_behind_is_not_asked_again():
    gains, asked = {0: [1.0, 2.0, 0.0], 1: [2.0, 0.5, 0.3], 2: [-9.0, 99.0, 99.0]}, []

    def density(one: int, seen: int, until: int) -> float:
        asked.append((one, seen, until))
        return gains[one][[5, 7, 8].index(seen)]

    cuts = weighing.cuts(10)
    assert cuts.tolist() == [5, 6, 8, 10]
    found = weighing.by_backtests(np.array([0.0, 0.5, 0.0]), density, np.array([5, 7, 8, 10]))
    assert found[:2] == pytest.approx(np.exp([3.0, 3.3]) / np.exp([3.0, 3.3]).sum())
    assert found[2] == 0.0
    assert [each for each in asked if each[0] == 2] == [(2, 5, 7)]


@pytest.mark.slow
def test_an_error_that_both_forms_may_have_does_not_choose_between_them():
    """A smooth wave on a sum of two powers: taken for exact, a form that follows more of it counts alone."""
    wave = 0.004 * np.sin(1.1 * np.log(N / 1e8)) * np.cos(0.9 * np.log(D / 1e10))
    rng = np.random.default_rng(3)
    loss = measured("chinchilla", 0) * np.exp(wave + 5e-4 * rng.standard_normal(N.size))
    laws = {name: surface.fit(N, D, loss, form=name).law for name in ("chinchilla", "coupled", "farseer")}
    data, count = laws["chinchilla"].points, N.size
    missed = {count: FormError(replace(laws["chinchilla"], points=data.keep(data.by_size)))}
    ahead = {}
    for errors in (None, missed):
        score = {
            name: form_choice.log_density_of(law, data, count, count, errors, first=True)
            for name, law in laws.items()
        }
        ahead[errors is None] = score["farseer"] - score["chinchilla"]
    assert ahead[True] > 4
    assert abs(ahead[False]) < 1.5


@pytest.mark.slow
def test_outliers_do_not_choose_a_form():
    loss = measured("chinchilla", 1e-3, seed=2)
    loss[np.argsort(N * D)[[1, 4, 7]]] *= 1.1
    assert surface.fit(N, D, loss).weights["chinchilla"] > 0.95
