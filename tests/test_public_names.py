"""The public names that users type: each exists and takes what it is said to."""

import inspect

import scalinglab as sl

# the names of the design as users type them, with the arguments that they may give by name
NAMES = {
    "Curves": (), "Spectrum": ("eigenvalues", "target_power"), "read": (), "Store": (),
    "Tracker": ("model", "n_data", "store"),
    "answer": ("table", "compute"), "explain": ("run", "model", "data"),
    "Spectrum.power_law": ("task_exponent", "spectral_exponent", "n_modes"),
    "theory.perceptron.fixed_norm": ("load", "sharpness"), "theory.perceptron.hebb": ("load",),
    "theory.perceptron.gibbs": ("load",), "theory.perceptron.bayes": ("load",),
    "theory.perceptron.max_stability": ("load",), "theory.perceptron.optimal_sharpness": ("load",),
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
