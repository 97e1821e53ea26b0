"""Perceptrons at finite size: minimisers are minimisers, and averages agree with the theory."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import optimize

import scalinglab as sl
from scalinglab.errors import BadInput, NotConverged

torch = pytest.importorskip("torch")

s = sl.simulate.perceptron
theory = sl.theory.perceptron


def column(curves, name, **conditions):
    return curves.select(**conditions)[name]


# --- data --------------------------------------------------------------------------------------------


def test_a_seed_gives_the_same_problem_alone_and_among_others():
    together, alone = s.draw(3.0, 40, seeds=[4, 9]), s.draw(3.0, 40, seeds=[9])
    assert torch.equal(together.examples[1], alone.examples[0])
    assert torch.equal(together.teacher[1], alone.teacher[0])
    assert not torch.equal(together.examples[0], together.examples[1])


@pytest.mark.parametrize("inputs", ["rademacher", "gaussian"])
def test_the_teacher_classifies_every_example_unless_labels_are_noisy(inputs):
    clean = s.draw(5.0, 200, 4, inputs=inputs, dtype="float64")
    assert bool((clean.margins(clean.teacher) > 0).all())
    noisy = s.draw(5.0, 200, 4, inputs=inputs, noise=0.2)
    wrong = (noisy.margins(noisy.teacher) < 0).double().mean().item()
    assert wrong == pytest.approx(0.2, abs=4 * np.sqrt(0.2 * 0.8 / 4000))
    assert clean.examples.double().var().item() == pytest.approx(1, abs=0.02)


def test_random_labels_have_no_teacher_to_agree_with():
    curves = s.fixed_norm(s.draw(0.5, 60, 2, labels="random"), 1.0)
    assert "test_error" not in curves.frame


# --- fixed norm --------------------------------------------------------------------------------------


@pytest.mark.parametrize("sharpness", [0.05, pytest.param(20.0, marks=pytest.mark.slow)])
def test_minimiser_on_the_sphere_matches_a_general_purpose_optimiser(sharpness):
    problem = s.draw(4.0, 15, seeds=[3], inputs="gaussian", dtype="float64")
    examples = problem.examples[0].numpy()
    teacher = problem.teacher[0].numpy()

    def loss(w):
        margins = examples @ w / np.linalg.norm(w)  # √N cancels
        return np.logaddexp(0, -2 * sharpness * margins).mean() / sharpness

    starts = [teacher, examples.sum(axis=0)]
    found = min((optimize.minimize(loss, start, tol=1e-12) for start in starts), key=lambda r: r.fun)
    overlap = found.x @ teacher / np.linalg.norm(found.x) / np.linalg.norm(teacher)
    curves = s.fixed_norm(problem, sharpness)
    assert curves["train_loss"][0] == pytest.approx(found.fun, rel=1e-7)
    assert curves["train_loss"][0] <= found.fun * (1 + 1e-12)
    assert curves["overlap"][0] == pytest.approx(overlap, abs=1e-4)
    assert curves["gradient"][0] < 1e-8


@pytest.mark.parametrize("sharpness", [0.2, 5.0, 300.0])
def test_single_precision_in_the_hessian_leaves_the_minimiser_where_it_is(sharpness):
    single = s.fixed_norm(s.draw(4.0, 60, seeds=3), sharpness).frame
    double = s.fixed_norm(s.draw(4.0, 60, seeds=3, dtype="float64"), sharpness).frame
    assert np.allclose(single["train_loss"], double["train_loss"], rtol=1e-12)
    assert np.allclose(single["overlap"], double["overlap"], rtol=1e-7)


def test_a_hessian_too_singular_for_single_precision_is_formed_in_double(monkeypatch):
    kinds = []
    original = torch.linalg.cholesky_ex

    def failing(matrix):
        kinds.append(matrix.dtype)
        factor, info = original(matrix)
        return factor, info + (matrix.dtype == torch.float32)

    monkeypatch.setattr(torch.linalg, "cholesky_ex", failing)
    curves = s.fixed_norm(s.draw(4.0, 30, seeds=2), 2.0)
    assert curves["gradient"].max() < 1e-8
    assert kinds[:2] == [torch.float32, torch.float64]


def test_large_students_are_solved_one_by_one_to_the_same_minimisers(monkeypatch):
    from scalinglab.simulate.perceptron import sphere

    problem = s.draw(4.0, 30, seeds=3)
    together = s.fixed_norm(problem, [0.5, 5.0]).frame
    monkeypatch.setattr(sphere, "BATCHED", 10)
    one_by_one = s.fixed_norm(problem, [0.5, 5.0]).frame
    assert np.allclose(together["test_error"], one_by_one["test_error"], rtol=1e-7)
    assert one_by_one["gradient"].max() < 1e-8


def test_sharp_limit_is_the_largest_margin_that_a_linear_program_can_reach():
    problem = s.draw(3.0, 20, seeds=[1], dtype="float64")
    curves = s.fixed_norm(problem, 3e3)
    examples = problem.examples[0].numpy()
    direction = optimize.minimize(
        lambda w: 0.5 * w @ w, examples.sum(axis=0) / 20, jac=lambda w: w, method="SLSQP",
        constraints={"type": "ineq", "fun": lambda w: examples @ w - 1, "jac": lambda w: examples},
        options={"maxiter": 500, "ftol": 1e-12},
    ).x  # fmt: skip
    largest = (examples @ direction / np.linalg.norm(direction)).min()
    assert curves["margin_min"][0] == pytest.approx(largest, rel=3e-3)
    assert curves["margin_min"][0] <= largest * (1 + 1e-9)


@pytest.mark.slow
def test_extrapolation_in_size_agrees_with_theory():
    sharpnesses = [0.3, 2.0, 12.0]
    parts = [
        s.fixed_norm(s.draw(3.0, n, seeds), sharpnesses) for n, seeds in ((40, 192), (80, 64), (160, 24))
    ]
    curves = sl.Curves.concat(parts)
    margins = theory.margin_distribution(3.0, sharpnesses)
    for y, exact, power in (
        ("test_error", theory.fixed_norm(3.0, sharpnesses).error, 0.02),
        ("margin_mean", margins.mean, 0.01),
        ("train_loss", margins.train_loss, 0.3),  # exponential in λκ, so it fluctuates at large λ
    ):
        found = s.infinite_size(curves, y)
        np.testing.assert_allclose(found.sharpness, sharpnesses)
        assert np.all(found.stderr < power * exact), y  # the test can see a difference of this size
        assert np.all(np.abs(found.value - exact) < 3.5 * found.stderr), (y, found.value, exact, found.stderr)


def test_gaussian_inputs_and_storage_margins_agree_with_theory():
    problem = s.draw(0.6, 150, 24, labels="random", inputs="gaussian")
    curves = s.fixed_norm(problem, [0.5, 3.0]).average("seed")
    exact = theory.storage_margin_distribution(0.6, [0.5, 3.0])
    median = exact.quantile(0.5)
    for name, value in (
        ("margin_mean", exact.mean),
        ("margin_median", median),
        ("train_loss", exact.train_loss),
    ):
        spread = 4 * curves[f"{name}_stderr"] + 0.01 * value  # 1/N corrections at N = 150
        assert np.all(np.abs(curves[name] - value) < spread), name


def test_failure_to_reach_the_tolerance_is_an_error():
    with pytest.raises(NotConverged, match=r"sharpness=0\.5"):
        s.fixed_norm(s.draw(3.0, 30, 1), 1.0, tolerance=1e-8, most=0)


# --- free norm ---------------------------------------------------------------------------------------


def test_gradient_descent_is_the_textbook_loop():
    problem = s.draw(4.0, 25, seeds=[2], dtype="float64")
    curves = s.free_norm(problem, 50, 0.2)
    x = problem.examples[0].numpy()
    w = np.zeros(25)
    for _ in range(50):
        margins = x @ w / 5
        w += 0.2 * (25 / 100) * (2 / (1 + np.exp(2 * margins))) @ x / 5
    last = curves.frame.iloc[-1]
    assert last["step"] == 50
    assert last["norm"] == pytest.approx(np.linalg.norm(w) / 5, rel=1e-12)
    assert last["train_loss"] == pytest.approx(np.log1p(np.exp(-2 * x @ w / 5)).mean(), rel=1e-12)
    assert last["time"] == pytest.approx(10.0)


def test_the_line_search_is_the_textbook_one():
    """A rate twice the last, a twentieth of the norm at most, halved until 3/4 of the slope show."""
    problem = s.draw(4.0, 25, seeds=[2], dtype="float64")
    curves = s.free_norm(problem, 160, method="line_search")
    x, w, rate, halved = problem.examples[0].numpy(), np.zeros(25), np.inf, 0

    def loss(w):
        return 25 * np.log1p(np.exp(-2 * x @ w / 5)).mean()

    for step in range(160):
        descent = (25 / 100) * (2 / (1 + np.exp(2 * x @ w / 5))) @ x / 5
        most = 0.05 * np.linalg.norm(w) if step else 0.01 * 5
        rate = min(2 * rate, most / np.linalg.norm(descent))
        while loss(w + rate * descent) > loss(w) - 0.75 * rate * descent @ descent:
            rate, halved = rate / 2, halved + 1
        w += rate * descent
    last = curves.frame.sort_values("step").iloc[-1]
    assert halved > 20
    assert last["norm"] == pytest.approx(np.linalg.norm(w) / 5, rel=2e-4)  # 1.5 % with a half
    assert last["train_loss"] == pytest.approx(loss(w) / 25, rel=1e-3)


def test_descent_begins_along_hebbs_rule_and_the_norm_only_grows():
    problem = s.draw(5.0, 100, 3)
    curves = s.free_norm(problem, 300, 0.1)
    hebb = problem.examples.double().sum(dim=1)
    overlap = torch.cosine_similarity(hebb, problem.teacher)
    np.testing.assert_allclose(column(curves, "overlap", step=1), overlap.numpy(), rtol=1e-6)
    for _, run in curves.frame.groupby("run"):
        assert run["norm"].is_monotonic_increasing


def errors_at(curves, norms):
    return np.mean(
        [np.interp(norms, run["norm"], run["test_error"]) for _, run in curves.frame.groupby("run")], axis=0
    )


@pytest.mark.slow
def test_both_methods_follow_the_same_curve_of_error_against_norm():
    problem = s.draw(5.0, 80, 10)
    norms = np.array([0.5, 1.0, 2.0, 3.0])
    reference = errors_at(s.free_norm(problem, 1250, 0.1, checkpoints=120), norms)
    curves = s.free_norm(problem, 250, method="line_search", checkpoints=120)
    assert column(curves, "norm").max() > 3.0
    np.testing.assert_allclose(errors_at(curves, norms), reference, rtol=0.03)


@pytest.mark.slow
def test_long_descent_approaches_the_minimiser_at_its_own_norm():
    problem = s.draw(2.0, 60, 2)
    curves = s.free_norm(problem, 3000, method="line_search", until=60.0)
    for seed in (0, 1):
        last = curves.select(seed=seed).frame.iloc[-1]
        single = s.draw(2.0, 60, seeds=[seed])
        fixed = s.fixed_norm(single, last["norm"])
        assert last["norm"] > 60
        assert last["overlap"] == pytest.approx(fixed["overlap"][0], abs=0.01)
        assert last["margin_min"] == pytest.approx(fixed["margin_min"][0], rel=0.05)


@pytest.mark.slow
def test_free_curve_lies_on_the_theory_at_both_ends_and_dips_below_hebb_between():
    curves = s.free_norm(s.draw(5.0, 200, 6), 1200, method="line_search", until=40.0)
    hebb, best = theory.hebb(5.0).error, theory.optimal_sharpness(5.0)
    spread = curves.select(step=1)["test_error"].std(ddof=1) / np.sqrt(6)
    assert abs(curves.select(step=1)["test_error"].mean() - hebb) < 4 * spread + 0.002
    at_optimum, far = errors_at(curves, [float(best.sharpness), 30.0])
    assert at_optimum == pytest.approx(float(best.error), rel=0.04)
    assert far == pytest.approx(float(theory.fixed_norm(5.0, 30.0).error), rel=0.04)
    assert at_optimum < far < hebb


def test_divergence_is_recorded_not_hidden():
    curves = s.free_norm(s.draw(2.0, 20, 1), 20, 1e308)
    assert set(curves["status"]) == {"diverged"}
    assert np.isfinite(curves["diverged_at"]).all()


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda: s.draw(5.0, 50, inputs="gausian"), "gaussian"),
        (lambda: s.draw(5.0, 50, labels="teachr"), "teacher"),
        (lambda: s.draw(5.0, 50, noise=0.7), "noise=0.7"),
        (lambda: s.draw(0.0, 50), "load=0"),
        (lambda: s.draw(1.0, 50, seeds=[1, 1]), "different seeds"),
        (lambda: s.fixed_norm(s.draw(1.0, 5), -1.0), "sharpness=-1"),
        (lambda: s.free_norm(s.draw(1.0, 5), method="adam"), "adam"),
        (lambda: s.free_norm(s.draw(1.0, 5), steps=0), "steps=0"),
        (lambda: s.infinite_size(s.fixed_norm(s.draw(1.0, 5, 2), 1.0)), "two sizes"),
    ],
)
def test_bad_input_is_refused_by_name(call, word):
    with pytest.raises(BadInput, match=word):
        call()


@pytest.mark.parametrize("sizes", [2, 3, 5])
def test_an_extrapolation_in_the_inverse_size_is_the_weighted_line_with_its_degrees_of_freedom(sizes: int):
    n = np.array([20, 40, 80, 160, 320])[:sizes]
    random = np.random.default_rng(0)
    rows = [
        {"run": f"{k}-{seed}", "load": 3.0, "sharpness": 1.0, "n_params": k, "seed": seed,
         "test_error": 0.2 + 1.5 / k + 0.01 * random.standard_normal()}
        for k in n for seed in range(6)
    ]  # fmt: skip
    frame = pd.DataFrame(rows)
    found = s.infinite_size(sl.Curves(frame))
    means = frame.groupby("n_params")["test_error"].agg(["mean", "sem"])
    slope, value = np.polyfit(1 / means.index.to_numpy(), means["mean"], 1, w=1 / means["sem"])
    assert found.value == pytest.approx([value])
    assert found.slope == pytest.approx([slope])
    assert found.dof == sizes - 2
