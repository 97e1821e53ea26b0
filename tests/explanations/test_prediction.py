"""Predictions of sizes that were not run, on linearised networks: there descent with the kernel is exact."""

import numpy as np
import pytest
import torch

import scalinglab as sl
from scalinglab.errors import BadInput, NotDetermined
from scalinglab.explanations import theory

SETTING = {
    "model": "mlp", "dataset": "digits", "n_data": 48, "width": 1.0, "model_options": {"hidden": 64},
    "depth": 1, "loss": "mse", "parameterization": "ntk", "optimizer": "sgd", "learning_rate": 2.0,
    "full_batch": True, "steps": 60, "checkpoints_per_decade": 3, "measure": [], "evaluate_at_most": 200,
    "linearized": True,
}  # fmt: skip


@pytest.fixture(scope="module")
def explained() -> sl.explanations.Explanation:
    return sl.explain(SETTING, samples=300)


@pytest.mark.slow
def test_other_sizes_of_a_linearised_network_lie_in_their_band(explained) -> None:
    sizes = (24, 96, 140)
    told = explained.predict(n_data=sizes)
    assert told.n_data.tolist() == list(sizes)
    assert (told.low < told.mean).all()
    assert (told.mean < told.high).all()
    assert (np.diff(told.mean) < 0).all()
    runs = sl.train.run_many([SETTING | {"n_data": n, "seed": 7} for n in sizes], progress=False).frame
    losses = runs[runs.step == 60].sort_values("n_data").test_loss.to_numpy()
    wide = explained.predict(n_data=sizes, level=0.99)
    assert ((wide.low <= losses) & (losses <= wide.high)).all()
    assert (wide.high > told.high).all()


@pytest.mark.slow
def test_without_a_correction_it_is_descent_with_the_kernel_on_drawn_examples(explained) -> None:
    told = explained.predict(n_data=100, steps=30)
    case, kernel = explained.case, explained.kernel
    rng = np.random.default_rng(5)
    losses = []
    for _ in range(12):  # gradient descent written out, on other draws
        chosen = rng.permutation(300)[:100]
        left = np.setdiff1d(np.arange(300), chosen)
        function = np.zeros_like(kernel.residual)
        for _ in range(30):
            error = function[chosen] - kernel.residual[chosen]
            function = (
                function - 2 * case.learning_rate / case.n_outputs / 100 * kernel.matrix[:, chosen] @ error
            )
        losses.append(np.mean((kernel.residual[left] - function[left]) ** 2))
    assert told.kernel[0] == pytest.approx(
        np.mean(losses), rel=4 * np.std(losses) / np.mean(losses) / np.sqrt(6)
    )


@pytest.mark.slow
def test_the_runs_own_size_is_what_was_measured_up_to_the_scatter_of_a_draw(explained) -> None:
    told = explained.predict()
    measured = explained.measured[-1]
    assert told.low[0] <= measured <= told.high[0]
    assert told.n_data.tolist() == [48]
    assert told.steps.tolist() == [60]
    assert told.width.tolist() == [1.0]


@pytest.mark.slow
def test_another_width_takes_the_kernels_of_networks_of_that_width(explained) -> None:
    told = explained.predict(width=[0.5, 1.0])
    assert told.kernel[0] != told.kernel[1]
    assert told.high[0] / told.low[0] > told.high[1] / told.low[1]


@pytest.mark.slow
def test_beyond_the_sample_the_loss_is_solved(explained) -> None:
    told = explained.predict(n_data=400)
    solved = theory.solve(explained.case, explained.kernel, np.array([60.0]), 400)
    assert told.kernel[0] == pytest.approx(float(solved[0]))


@pytest.mark.slow
def test_what_cannot_be_predicted_is_refused(explained) -> None:
    for arguments in ({"n_data": 0}, {"steps": 1.5}, {"width": -1}, {"level": 1.0}):
        with pytest.raises(BadInput, match=next(iter(arguments))):
            explained.predict(**arguments)
    model = torch.nn.Linear(4, 1)
    curves = sl.Curves({"step": [1, 2], "test_loss": [1.0, 0.9]})
    rough = sl.explain(
        curves, model, (torch.randn(40, 4), torch.randn(40).numpy()), learning_rate=1e3, n_data=16
    )
    with pytest.raises(NotDetermined, match="nothing can be predicted"):
        rough.predict(n_data=32)
    gentle = sl.explain(
        curves, model, (torch.randn(40, 4), torch.randn(40).numpy()), learning_rate=1e-2, n_data=16
    )
    with pytest.raises(BadInput, match="width"):
        gentle.predict(width=2)
    assert np.isfinite(gentle.predict(n_data=20).mean).all()


@pytest.mark.slow
def test_predictions_draw_themselves(explained) -> None:
    axes = explained.predict(n_data=(24, 96)).plot()
    assert axes.get_xlabel() == "n_data"


def test_solutions_and_curves_draw_themselves() -> None:
    spectrum = sl.Spectrum.power_law(task_exponent=1.5, spectral_exponent=1.25, n_modes=100)
    solution = sl.theory.dmft.solve(spectrum, np.array([1.0, 10.0, 100.0]), n_params=50, n_data=50)
    assert len(solution.plot().lines) == 3
    curves = sl.Curves(
        {
            "n_data": [10, 10, 20, 20],
            "step": [1, 2, 1, 2],
            "test_loss": [1.0, 0.5, 0.8, 0.3],
            "seed": [0, 0, 0, 0],
        }
    )
    axes = curves.plot()
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("step", "test_loss")
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["n_data 10", "n_data 20"]
    assert len(axes.lines) == 2
    sizes = sl.Curves({"n_data": [10, 20, 40], "test_loss": [1.0, 0.5, 0.3]})
    assert sizes.plot().get_xlabel() == "n_data"
    with pytest.raises(BadInput, match="wall"):
        curves.plot(x="wall")
