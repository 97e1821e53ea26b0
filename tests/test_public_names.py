"""The public names that users type: each exists, takes and returns what it is said to."""

import inspect

import numpy as np
import pytest

import scalinglab as sl

SPECTRUM = sl.Spectrum.power_law(task_exponent=1.5, spectral_exponent=1.25, n_modes=200)


def has(result: object, *names: str) -> None:
    missing = [name for name in names if not hasattr(result, name)]
    assert not missing, f"{type(result).__name__} lacks {missing}"


def test_perceptron_names():
    p = sl.theory.perceptron
    solution = p.fixed_norm(np.array([[1.0], [5.0]]), np.array([0.5, 1.0, 2.0]))
    has(solution, "overlap", "x", "error")
    assert solution.error.shape == (2, 3)
    for rule in (p.hebb, p.gibbs, p.bayes, p.max_stability):
        has(rule(2.0), "overlap", "error")
    has(p.optimal_sharpness(5.0), "sharpness", "error")
    margins = np.linspace(-1, 3, 5)
    assert p.margin_density(margins, 5.0, 2.0).shape == (5,)
    assert p.storage_margin_density(margins, 0.5, 2.0).shape == (5,)


def test_kernel_names():
    curve = sl.theory.kernel.learning_curve(SPECTRUM, np.array([8.0, 16.0]), ridge=0.0, noise=0.0)
    has(curve, "loss", "kappa", "gamma", "mode_loss")
    assert curve.loss.shape == (2,)


def test_dmft_names():
    dmft = sl.theory.dmft
    assert {"spectrum", "times", "n_params", "n_data", "noise", "dynamics", "ensemble", "bags"} <= set(
        inspect.signature(dmft.solve).parameters
    )
    solved = dmft.solve(
        SPECTRUM, [1.0, 10.0], n_params=16, n_data=32, noise=0.1, dynamics=dmft.GradientFlow()
    )
    has(solved, "test_loss", "train_loss", "bias", "transfer", "curves")
    assert isinstance(solved.curves(), sl.Curves)
    assert np.shape(solved.transfer(1)) == (2,)
    has(dmft.final(SPECTRUM, 16, 32, noise=0.1), "test_loss", "train_loss")
    (
        dmft.GradientFlow(momentum=0.9),
        dmft.GradientDescent(0.1, momentum=0.5),
        dmft.OnePassSGD(0.1, batch_size=4),
    )


def test_bottleneck_names():
    exponents = sl.theory.bottlenecks.exponents(1.5, 1.25)
    has(exponents, "time", "data", "params", "compute", "optimal_params", "optimal_time")
    assert exponents.compute == pytest.approx(0.5 / 2.25)


def test_laws_names():
    x = np.geomspace(10, 1e4, 12)
    law = sl.laws.fit("power_law_offset", x, 2 * x**-0.4 + 0.05)
    has(law, "parameters", "exponent", "predict", "interval", "summary")
    assert law.exponent == pytest.approx(0.4, abs=1e-8)
    for form in ("power_law", "m4", "broken_power_law"):
        assert np.all(np.isfinite(sl.laws.fit(form, x, 2 * x**-0.4 + 0.05).predict(x)))
    has(sl.laws.extrapolate(x, 2 * x**-0.4 + 0.05, at=[2e4]), "mean", "low", "high", "weights", "backtest")
    n, d = np.meshgrid(np.geomspace(1e6, 1e9, 6), np.geomspace(1e8, 1e11, 6))
    n, d = n.ravel(), d.ravel()
    surface = sl.laws.surface.fit(n, d, 1.8 + 480 * n**-0.35 + 2100 * d**-0.37)
    has(surface, "E", "A", "B", "alpha", "beta", "objective", "compute_optimal")


def test_collapse_and_dynamical_names():
    rows = []
    for n_data in (100, 200, 400, 800, 1600, 3200):
        norm = np.geomspace(1, 3 * n_data, 40)
        error = 0.9 * norm**-0.5 * (1 + (norm / n_data) ** 1.5)
        rows.append({"n_data": np.full(40, n_data), "norm": norm, "test_error": np.minimum(error, 0.9)})
    columns = {k: np.concatenate([row[k] for row in rows]) for k in rows[0]}
    curves = sl.Curves({**columns, "step": np.tile(np.arange(1, 41), len(rows))})
    dynamical = sl.laws.dynamical(curves, x="norm", y="test_error")
    for name in ("gamma_1", "gamma_2", "gamma_predicted", "gamma_measured"):
        has(getattr(dynamical, name), "value", "stderr", "low", "high")
    assert dynamical.gamma_2.value == pytest.approx(1.0, abs=0.1)
    assert dynamical.gamma_measured.value == pytest.approx(0.5, abs=0.05)
    assert sl.laws.collapse(curves, x="norm", y="test_error") is not None


def test_network_and_measurement_names():
    torch = pytest.importorskip("torch")
    model = sl.nets.build(
        "cnn", input_shape=(3, 32, 32), n_classes=10, width=0.25, parameterization="standard"
    )
    assert model(torch.zeros(2, 3, 32, 32)).shape == (2, 10)
    norms = sl.measure.norms(model, (3, 32, 32))
    assert {"spectral_complexity", "l1", "l2", "group21", "spectral"} <= set(norms)


# the names of the design as users type them, with the arguments that they may give by name
NAMES = {
    "Curves": (), "Spectrum": ("eigenvalues", "target_power"), "read": (), "Store": (),
    "Tracker": ("model", "n_data", "store"),
    "answer": ("table", "compute"), "explain": ("run", "model", "data"),
    "Spectrum.power_law": ("task_exponent", "spectral_exponent", "n_modes"),
    "theory.perceptron.fixed_norm": ("load", "sharpness"), "theory.perceptron.hebb": ("load",),
    "theory.perceptron.gibbs": ("load",), "theory.perceptron.bayes": ("load",),
    "theory.perceptron.max_stability": ("load",), "theory.perceptron.optimal_sharpness": ("load",),
    "theory.perceptron.margin_density": ("margins", "load", "sharpness"),
    "theory.perceptron.storage_margin_density": ("margins", "load", "sharpness"),
    "theory.kernel.learning_curve": ("spectrum", "n_data", "ridge", "noise"),
    "theory.dmft.solve": ("spectrum", "times", "n_params", "n_data", "noise", "dynamics", "ensemble", "bags"),
    "theory.dmft.final": ("spectrum", "n_params", "n_data", "noise"),
    "theory.dmft.GradientFlow": ("momentum",), "theory.dmft.GradientDescent": ("learning_rate", "momentum"),
    "theory.dmft.OnePassSGD": ("learning_rate", "batch_size"),
    "theory.bottlenecks.exponents": ("task_exponent", "spectral_exponent"),
    "laws.fit": ("form", "x", "y"), "laws.extrapolate": ("x", "y", "at"),
    "laws.surface.fit": ("n_params", "n_data", "loss"),
    "laws.collapse": ("curves", "x", "y"), "laws.dynamical": ("curves", "x", "y"),
    "laws.optimal_noise": ("curves",), "laws.speedup": ("a", "b"), "laws.schedule": (), "laws.plan": (),
    "nets.build": ("input_shape", "n_classes", "width", "parameterization"), "data.load": (),
    "data.teacher_student": ("dimension",), "measure.norms": ("model", "input_shape"),
    "measure.margins": ("model", "x", "y"), "measure.ntk": ("model", "x"), "measure.dimension": ("x",),
    "measure.noise_scale": (), "train.run": ("setting",), "sweep.run": ("grid", "store"),
    "sweep.execute": ("grid", "store", "engine"),
    "simulate.perceptron": (), "simulate.random_features": (), "report.write": ("curves", "path"),
    "board.serve": (), "studies.reproduce": (), "readers": (), "figures": (),
}  # fmt: skip


def test_names_of_the_design_take_their_arguments():
    for name, given in NAMES.items():
        found = sl
        for part in name.split("."):
            found = getattr(found, part)
        assert not given or set(given) <= set(inspect.signature(found).parameters), name


COMMANDS = """
demo · theory perceptron · theory kernel · theory dmft · simulate perceptron · sweep · laws fit
laws extrapolate · laws collapse · laws dynamical · laws surface · laws noise · plan next · plan size-for
reproduce · report · board · data list · data get · read · answer · explain · forecast make · forecast score
store verify · store compact · store export · train
"""


def test_commands_of_the_design_have_help():
    from typer.testing import CliRunner

    from scalinglab.cli import app

    for command in COMMANDS.replace("\n", " · ").strip(" ·").split(" · "):
        shown = CliRunner().invoke(app, [*command.split(), "--help"])
        assert shown.exit_code == 0, shown.output
        assert f"Usage: scalinglab {command}" in " ".join(shown.output.split()).replace("root", "scalinglab")
