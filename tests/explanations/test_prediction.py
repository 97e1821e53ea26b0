"""Predictions of sizes that were not run, on linearised networks: there descent with the kernel is exact."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import scalinglab as sl
from scalinglab.errors import BadInput, NotDetermined
from scalinglab.explanations import theory
from scalinglab.explanations.prediction import LEAST
from scalinglab.store import Store

SETTING = {
    "model": "mlp", "dataset": "digits", "n_data": 48, "width": 1.0, "model_options": {"hidden": 64},
    "depth": 1, "loss": "mse", "parameterization": "ntk", "optimizer": "sgd", "learning_rate": 2.0,
    "full_batch": True, "steps": 60, "checkpoints_per_decade": 3, "measure": [], "evaluate_at_most": 200,
    "linearized": True,
}  # fmt: skip


@pytest.fixture(scope="module")
def explained() -> sl.explanations.Explanation:
    return sl.explain(SETTING, samples=240)


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


def test_without_a_correction_it_is_descent_with_the_kernel_on_drawn_examples(explained) -> None:
    told = explained.predict(n_data=100, steps=30)
    case, kernel = explained.case, explained.kernel
    rng = np.random.default_rng(5)
    losses = []
    for _ in range(12):  # gradient descent written out, on other draws
        chosen = rng.permutation(240)[:100]
        left = np.setdiff1d(np.arange(240), chosen)
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


def test_the_runs_own_size_is_what_was_measured_up_to_the_scatter_of_a_draw(explained) -> None:
    told = explained.predict()
    measured = explained.measured[-1]
    assert told.low[0] <= measured <= told.high[0]
    assert told.n_data.tolist() == [48]
    assert told.steps.tolist() == [60]
    assert told.width.tolist() == [1.0]


def test_another_width_takes_the_kernels_of_networks_of_that_width(explained) -> None:
    told = explained.predict(width=[0.5, 1.0])
    assert told.kernel[0] != told.kernel[1]
    assert told.high[0] / told.low[0] > told.high[1] / told.low[1]


def test_beyond_the_sample_the_loss_is_solved(explained) -> None:
    told = explained.predict(n_data=400)
    solved = theory.solve(explained.case, explained.kernel, np.array([60.0]), 400)
    assert told.kernel[0] == pytest.approx(float(solved[0]))


def test_runs_of_other_sizes_give_the_correction_its_slope(explained) -> None:
    """Losses that leave the kernel's by a power of the examples, the more the longer; as ridge regression."""
    steps, asked = explained.case.steps, np.array([16, 110])

    def apart(n_data: float | np.ndarray, when: np.ndarray = steps) -> np.ndarray:
        return (np.log(0.5) + 0.2 * np.log(n_data / 48)) * np.log(when) / np.log(60)

    def drawn(n_data: int) -> np.ndarray:
        return theory.redrawn(replace(explained.case, n_data=n_data), explained.kernel, steps)

    runs = {n: (n, steps, drawn(n).mean(0) * np.exp(apart(n))) for n in (48, 24, 34, 68, 96)}
    case = replace(explained.case, test_loss=runs[48][2])
    alone = replace(explained, case=case).predict(n_data=asked)
    told = replace(explained, case=replace(case, beside=tuple(list(runs.values())[1:]))).predict(n_data=asked)
    np.testing.assert_allclose(alone.mean / alone.kernel, 0.5, rtol=0.02)  # of one run: the same everywhere
    missed, missed_alone = (np.log(one.mean / one.kernel) - apart(asked, 60.0) for one in (told, alone))
    assert (np.abs(missed) < np.abs(missed_alone) / 2).all()
    assert (told.high / told.low < alone.high / alone.low).all()

    sizes, ends = np.array(list(runs)), np.array([apart(n)[-1] for n in runs])
    scatter = {n: np.std(np.log(drawn(n)), axis=0, ddof=1) for n in (*runs, *asked)}
    own = apart(48)[2:]
    slope = np.ptp(own**3 / (own**2 + scatter[48][2:] ** 2)) / 2
    noise = np.array([scatter[n][-1] for n in runs])
    level = np.sqrt(np.mean(ends**2))
    rows = np.column_stack([np.ones(5), np.log(sizes / 48)]) / noise[:, None]
    rows = np.vstack([rows, np.diag([1 / level, 1 / slope])])  # each prior as one more row
    found = np.linalg.lstsq(rows, np.append(ends / noise, [0, 0]))[0]
    at = np.column_stack([np.ones(2), np.log(asked / 48)])
    np.testing.assert_allclose(np.log(told.mean / told.kernel), at @ found, rtol=1e-6)
    variance = np.einsum("ni,ij,nj->n", at, np.linalg.inv(rows.T @ rows), at)
    variance += [scatter[n][-1] ** 2 + LEAST**2 for n in asked]
    np.testing.assert_allclose(np.log(told.high / told.mean), 1.959964 * np.sqrt(variance), rtol=1e-6)


def _perceptron(setting) -> torch.nn.Module:
    units = setting["width"]
    return torch.nn.Sequential(torch.nn.Linear(5, units), torch.nn.ReLU(), torch.nn.Linear(units, 1))


@pytest.mark.slow
def test_a_network_and_data_of_ones_own(tmp_path) -> None:
    """By its setting and the store, or by its curves: the same prediction, and nothing is trained again."""
    random = torch.Generator().manual_seed(3)
    x = torch.randn(300, 5, generator=random)
    y = torch.sin(2 * x[:, :1]) + x[:, 1:2]
    own = {"model": _perceptron, "data": (x[:200], y[:200], x[200:], y[200:])}
    shared = {"width": 24, "learning_rate": 0.05, "steps": 40, "full_batch": True, "optimizer": "sgd"}
    shared |= {"checkpoints_per_decade": 3, "measure": [], "loss": "mse"}
    sizes = (20, 40, 80)
    settings = [shared | {"n_data": n, "seed": seed} for n in sizes for seed in (0, 1)]
    curves = sl.train.run_many(settings, **own, store=tmp_path, progress=False)
    found = sl.explain(shared | {"n_data": 40, "seed": 0}, **own, store=tmp_path, samples=170)
    assert len(Store(tmp_path).records()) == len(settings)
    assert [run[0] for run in found.case.beside] == [20, 80]  # of the same initial weights
    told = found.predict(n_data=(30, 60))
    assert (told.low < told.mean).all()
    assert (told.mean < told.high).all()
    torch.manual_seed(0)
    rows = sl.data.given.as_dataset(own["data"], "mine").order(0)[::-1][:170].copy()
    parts = sl.explain(
        curves.select(seed=0), _perceptron({"width": 24}), (x[rows], y[rows].numpy()), learning_rate=0.05,
        n_data=40,
    )  # fmt: skip
    np.testing.assert_allclose(parts.predict(n_data=(30, 60)).mean, told.mean, rtol=1e-5)
    wider = found.predict(width=48)
    assert wider.width.tolist() == [48]
    assert wider.kernel[0] != pytest.approx(found.predict().kernel[0], rel=1e-6)
    with pytest.raises(NotDetermined, match="unstable"):
        found.predict(width=2000)  # in standard parameterization the kernel grows with width


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
