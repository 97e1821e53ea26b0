"""Explain: the solved curve over runs whose answer is known."""

import numpy as np
import pytest
import torch

import scalinglab as sl
from scalinglab.errors import BadInput
from scalinglab.explanations import Explanation
from scalinglab.explanations.case import of_parts
from scalinglab.results import Reason
from scalinglab.theory import dmft
from tests.train.linearized_reference import solve_linearized

SETTING = {
    "model": "mlp", "dataset": "digits", "n_data": 48, "width": 1.0, "model_options": {"hidden": 256},
    "depth": 1, "loss": "mse", "parameterization": "ntk", "optimizer": "sgd", "learning_rate": 2.0,
    "full_batch": True, "steps": 300, "checkpoints_per_decade": 3, "measure": [], "evaluate_at_most": 100,
}  # fmt: skip


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """A run in a store, and its explanation."""
    path = tmp_path_factory.mktemp("runs")
    return path, sl.explain(SETTING, store=path, samples=400)


@pytest.mark.nightly
def test_solved_curve_lies_on_a_linearised_run():
    """For which the theory is exact but for the draw of 48 examples (their losses spread by 10 %)."""
    found = sl.explain(SETTING | {"linearized": True}, samples=400)
    np.testing.assert_allclose(found.ratio[2:], 1, atol=0.2)
    assert found.measured[-1] < 0.5 * found.measured[0]


@pytest.mark.slow
def test_wide_network_follows_its_kernel_and_is_data_limited_at_the_end(stored):
    found = stored[1]
    np.testing.assert_allclose(found.ratio[2:], 1, atol=0.2)
    assert found.bottleneck == "data"
    by_resource = {d.resource: d for d in found.doublings}
    assert by_resource["data"].factor < 0.9
    assert by_resource["data"].factor < by_resource["time"].factor < 1
    assert by_resource["time"].measured == pytest.approx(by_resource["time"].slope, abs=0.1)
    text = found.summary()
    assert "what limits the loss now: examples" in text
    assert "b, λ_k ~ k^-b" in text


@pytest.mark.slow
def test_stored_run_is_found_by_the_beginning_of_its_name_and_drawn(stored):
    path, found = stored
    again = sl.explain(found.name[:6], store=path, samples=400)
    np.testing.assert_array_equal(again.measured, found.measured)
    axes = again.plot()
    assert len(axes.lines) >= 1
    with pytest.raises(BadInput, match="0 runs of the store begin"):
        sl.explain("zz", store=path)
    with pytest.raises(BadInput, match="which store"):
        sl.explain("zz")


@pytest.mark.slow
def test_early_run_is_limited_by_time():
    found = sl.explain(SETTING | {"steps": 4, "learning_rate": 0.2}, samples=400)
    assert found.bottleneck == "time"


@pytest.mark.slow
def test_foreign_curves_with_a_model_and_data_give_the_same_curve(stored):
    digits = sl.data.load("digits")
    order = digits.order(0)[::-1][:400]
    model = sl.nets.build("mlp", (1, 8, 8), 10, hidden=256, depth=1, parameterization="ntk", seed=0)
    mine = stored[1]
    curves = sl.Curves({"step": mine.steps, "test_loss": mine.measured})
    data = torch.as_tensor(digits.inputs("train", order)), digits.train_y[order]
    found = sl.explain(curves, model, data, learning_rate=2.0, n_data=48, samples=400)
    np.testing.assert_allclose(found.theory, mine.theory, rtol=1e-6)
    with pytest.raises(BadInput, match="curves alone"):
        sl.explain(curves)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"loss": "cross_entropy"}, "other_loss"),
        ({"optimizer": "adam", "learning_rate": 1e-3}, "rescaled_gradients"),
        ({"batch_norm": True, "parameterization": "standard", "learning_rate": 0.01}, "batch_normalized"),
        ({"learning_rate": 500.0}, "large_steps"),
        ({"schedule": "cosine"}, "other_schedule"),
        ({"dropout": 0.2, "learning_rate": 500.0}, "left_out"),
    ],
)
def test_where_theory_does_not_apply_there_is_a_reason_in_place_of_a_number(change, code):
    found = sl.explain(SETTING | {"steps": 2} | change, samples=64)
    assert np.isnan(found.theory).all()
    assert found.doublings == ()
    assert code in codes(found.outside)
    assert ("left_out" in codes(found.outside)) == ("dropout" in change)
    assert codes(found.remarks).count("no_curve") == 1
    way_out = "no_solved_curve" if "batch_norm" in change else "solved_below_rate"
    assert way_out in codes(found.remarks)


def test_the_largest_rate_that_is_named_is_where_descent_on_the_kernel_becomes_unstable():
    found = sl.explain(SETTING | {"steps": 2, "learning_rate": 500.0}, samples=64)
    matrix, n = found.kernel.matrix, len(found.kernel.matrix)
    for factor, grows in ((0.98, False), (1.02, True)):
        rate = factor * found.largest_rate
        residual = found.kernel.residual.copy()
        for _ in range(400):  # f ← f − (2 η/(O n)) Θ (f − y) on the sample itself
            residual -= 2 * rate / residual.shape[1] / n * matrix @ residual
        assert (np.abs(residual).max() > np.abs(found.kernel.residual).max()) == grows


@pytest.mark.slow
def test_a_rate_that_is_unstable_at_twice_the_width_is_said_in_words():
    wide = SETTING | {"parameterization": "standard", "steps": 2, "learning_rate": 1e-3}
    largest = sl.explain(wide, samples=64).largest_rate  # falls as one over the width
    few = sl.explain(wide | {"learning_rate": 0.95 * largest}, samples=64)
    assert np.isnan(few.theory).all()
    unstable = next(reason for reason in few.outside if reason.code == "large_steps_few_examples")
    assert (unstable.details["n_data"], unstable.details["largest"]) == (48, pytest.approx(largest))
    found = sl.explain(wide | {"learning_rate": 0.6 * largest}, samples=64)
    assert np.isfinite(found.theory).all()
    assert found.doublings[-1].factor == np.inf
    assert "doubling_unstable" in codes(found.remarks)
    assert found.bottleneck in ("time", "data")


def codes(reasons) -> list[str]:
    return [reason.code for reason in reasons]


def explained(measured: list[float], solved: list[float] | None = None, **fields) -> Explanation:
    """A run with these losses at steps 1, 10, …; the solved loss is 1 by default."""
    solved = [1.0] * len(measured) if solved is None else solved
    losses = np.array(measured), np.array(solved)
    return Explanation(
        "run", 10.0 ** np.arange(len(measured)), *losses, 8, None, "time", (), 0.0, {}, (), **fields
    )


def parted(ratio: list[float]) -> tuple[Reason, ...]:
    """The remarks on a run whose measured loss is so many times the solved one."""
    found = explained(ratio)
    assert found.remarks[2].code == f"regime_{found.regime}"
    return found.remarks[2:-2]


@pytest.mark.parametrize(
    ("ratio", "regime", "parting"),
    [
        ([1.0, 1.05, 0.95], "lazy", {}),
        ([1.0, 0.8, 0.95], "lazy", {"distance": pytest.approx(0.2), "step": 10}),
        ([0.8, 1.0, 0.85, 0.7], "rich", {"close": 0.1, "step": 100}),
        ([1.3, 1.2], "worse", {"close": 0.1, "step": 1}),
    ],
)
def test_when_a_run_parts_from_its_kernel(ratio, regime, parting):
    first, *others = parted(ratio)
    assert first == Reason(f"regime_{regime}", close=0.1)
    assert [reason.details for reason in others] == [parting] * bool(parting)


def case_of_one_output(n_data: int):
    """A network of one output on the teacher's inputs, and its kernel."""
    from scalinglab.explanations import case as cases
    from scalinglab.explanations import theory

    data = sl.data.teacher_student(dimension=3, n_data=120, n_test=10)
    model = sl.nets.build("mlp", (3,), 1, hidden=24, depth=1, parameterization="ntk", seed=0)
    curves = sl.Curves({"step": [1.0, 20.0], "test_loss": [1.0, 0.5]})
    found = cases.of_parts(
        curves, model, (torch.as_tensor(data.train_x), data.train_y), 0.5, n_data, 0.3, None, 120
    )
    return found, theory.kernel_of(found), theory


def test_kernel_descent_on_chosen_inputs_is_that_of_the_linearised_network():
    case, kernel, theory = case_of_one_output(20)
    chosen = np.arange(20) * 5
    left = np.setdiff1d(np.arange(120), chosen)
    exact = solve_linearized(
        case.model, (case.x[chosen], case.y[chosen]), (case.x[left], case.y[left]), steps=[3, 20],
        learning_rate=0.5, momentum=0.3,
    )  # fmt: skip
    np.testing.assert_allclose(
        theory.descended(case, kernel, chosen, np.array([3.0, 20.0])), exact.frame["test_loss"], rtol=1e-6
    )


def test_scatter_is_that_of_draws_and_shrinks_with_their_size():
    few, kernel, theory = case_of_one_output(6)
    steps = np.array([1.0, 20.0])
    rng = np.random.default_rng(5)
    other = np.array([theory.descended(few, kernel, rng.permutation(120)[:6], steps) for _ in range(200)])
    found = theory.redrawn(few, kernel, steps)
    assert np.std(np.log(found[:, 1])) == pytest.approx(np.std(np.log(other[:, 1])), rel=0.6)
    np.testing.assert_allclose(found.mean(0), other.mean(0), atol=4 * other.std(0).max() / 12**0.5)
    many, kernel, _ = case_of_one_output(60)
    assert np.std(np.log(theory.redrawn(many, kernel, steps)[:, 1])) < 0.7 * np.std(np.log(found[:, 1]))
    assert theory.redrawn(case_of_one_output(61)[0], kernel, steps).shape == (0, 2)


@pytest.mark.slow
def test_a_rich_run_gets_the_curve_of_trained_features():
    """Losses of a network that trains its features, made by that theory: their richness is found again."""
    from scalinglab.theory import feature_learning

    case, kernel, _ = case_of_one_output(40)
    steps = np.round(np.geomspace(1, 60, 7))
    times = 2 * 0.5 / (1 - 0.3) * steps
    richness = 30.0
    losses = feature_learning.solve(kernel.spectrum, times, richness, n_data=40).test_loss
    curves = sl.Curves({"step": steps, "test_loss": losses})
    data = case.x, case.y[:, 0]
    found = sl.explain(curves, case.model, data, learning_rate=0.5, momentum=0.3, n_data=40)
    assert found.regime == "rich"
    assert found.richness == pytest.approx(richness, rel=0.3)
    np.testing.assert_allclose(found.trained_features[2:], losses[2:], rtol=0.1)
    assert np.abs(np.log(found.ratio[-1])) > np.abs(np.log(losses[-1] / found.trained_features[-1])) + 0.05
    assert "trained_features" in codes(found.remarks)
    assert "trained_features" in found.table()
    assert found.to_dict()["richness"] == found.richness
    assert len(found.plot().lines) > 1


def test_a_network_is_judged_by_descent_with_its_kernel_where_that_is_known():
    for redrawn, regime in ((None, "worse"), (np.full(2, 1.3), "lazy"), (np.full(2, 1.6), "rich")):
        found = explained([1.3, 1.3], scatter=0.01, redrawn=redrawn)
        assert found.regime == regime
        assert ("other_draws" in codes(found.remarks)) == (redrawn is not None)
        assert found.ratio[-1] == 1.3


def test_the_theorys_own_error_is_that_at_the_end():
    found = explained([1.0, 0.8], [1.0, 0.8], scatter=0.04, redrawn=np.array([1.1, 1.0]))
    draws = Reason("other_draws", n_data=8, loss=1.0, scatter=0.04, ratio=1.25)
    assert draws in found.remarks


def test_a_deviation_within_the_scatter_of_draws_is_no_feature_learning():
    for scatter, regime in ((np.nan, "rich"), (0.02, "rich"), (0.15, "lazy")):
        assert explained([1.0, 0.8], scatter=scatter).regime == regime


def test_doublings_compare_with_the_loss_of_the_run_as_it_is():
    case, kernel, theory = case_of_one_output(20)
    rule = dmft.GradientDescent(2 * case.learning_rate, case.momentum)  # one output

    def loss(step: float, n_data: int) -> float:
        return float(dmft.solve(kernel.spectrum, [step], n_data=n_data, dynamics=rule).test_loss[0])

    found = {d.resource: d for d in theory.doublings(case, kernel, 12.0)}
    assert found["time"].factor == pytest.approx(loss(24.0, 20) / loss(12.0, 20))
    assert found["data"].factor == pytest.approx(loss(12.0, 40) / loss(12.0, 20))
    assert 2 ** found["data"].slope == pytest.approx(found["data"].factor)
    assert set(found) == {"time", "data"}  # nothing is known of other widths


def test_class_numbers_of_foreign_data_become_vectors_and_vectors_stay():
    from scalinglab.explanations import case as cases

    model = sl.nets.build("mlp", (2,), 3, hidden=4, depth=1)
    curves = sl.Curves({"step": [1.0], "test_loss": [1.0]})
    x, classes = torch.zeros(5, 2), np.array([0, 2, 1, 1, 0])
    for targets in (classes, np.eye(3, dtype=int)[classes], np.eye(3)[classes]):
        found = cases.of_parts(curves, model, (x, targets), 0.1, None, 0.0, None, 5)
        np.testing.assert_array_equal(found.y, np.eye(3)[classes])


@pytest.mark.parametrize(("batch", "kept"), [(None, None), (8, 8), (15, 15), (16, None), (99, None)])
def test_batches_of_all_examples_have_no_noise(batch: int | None, kept: int | None) -> None:
    curves = sl.Curves({"step": [1, 2], "test_loss": [1.0, 0.9]})
    data = torch.randn(40, 4), torch.randn(40).numpy()
    case = of_parts(curves, torch.nn.Linear(4, 1), data, 0.01, 16, 0.0, batch, 30)
    assert (case.batch_size, case.n_data, len(case.x)) == (kept, 16, 30)
    noise = [reason for reason in case.outside if reason.code == "batch_noise"]
    assert [reason.details for reason in noise] == ([] if kept is None else [{"batch": kept, "n_data": 16}])
