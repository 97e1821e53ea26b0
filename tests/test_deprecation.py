"""What users may have typed keeps working for a version, with a warning that names the new name."""

import importlib
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import scalinglab as sl
from scalinglab.cli import app
from scalinglab.cli.shared.renamed import new_names
from scalinglab.results.estimate import Estimate
from scalinglab.support.moved import MOVED

X = np.geomspace(10, 1e4, 12)
Y = 2 * X**-0.4 + 0.05


@pytest.fixture(scope="module")
def law():
    return sl.laws.fit("power_law", X, Y)


@pytest.fixture(scope="module")
def surface():
    n, d = (v.ravel() for v in np.meshgrid(np.geomspace(1e6, 1e9, 6), np.geomspace(1e8, 1e11, 6)))
    return n, d, 1.8 + 480 * n**-0.35 + 2100 * d**-0.37


@pytest.mark.parametrize(
    ("module", "old", "new"),
    [
        ("laws", "register", "register_form"), ("laws.forms", "register", "register_form"),
        ("laws.plan", "needed", "size_for"), ("laws.plan", "doubling", "gain_from"),
        ("laws.surface", "FLOPS", "FLOPS_PER_PARAM_EXAMPLE"), ("data", "NORMALISATIONS", "NORMALIZATIONS"),
    ],
)  # fmt: skip
def test_old_names_of_modules_warn_and_give_the_new_one(module, old, new):
    home = sl
    for part in module.split("."):
        home = getattr(home, part)
    with pytest.warns(DeprecationWarning, match=rf"{old} is now called {new}"):
        found = getattr(home, old)
    assert found is getattr(home, new)
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = home.no_such_name


@pytest.mark.parametrize(
    ("old", "new"), [("freedom", "dof"), ("scatter", "residual_std"), ("wave", "lack_of_fit_pvalue")]
)
def test_old_attributes_of_a_law(law, old, new):
    with pytest.warns(DeprecationWarning, match=rf"Law\.{old} is now called {new}"):
        assert getattr(law, old) == getattr(law, new)


def test_old_arguments_of_fits():
    broken = np.where(np.arange(12) == 3, np.nan, Y)
    with pytest.warns(DeprecationWarning, match=r"fit\(missing=\) is now called nan_policy="):
        old = sl.laws.fit("power_law", X, broken, missing="drop")
    assert old.parameters == sl.laws.fit("power_law", X, broken, nan_policy="drop").parameters
    with pytest.raises(TypeError, match="both missing= and nan_policy="):
        sl.laws.fit("power_law", X, Y, missing="drop", nan_policy="drop")


def test_old_arguments_of_surfaces_and_plans(surface):
    fitted = sl.laws.surface.fit(*surface)
    with pytest.warns(DeprecationWarning, match="flops_per_param_example"):
        old = fitted.compute_optimal(1e21, flops=8, intervals=False)
    new = fitted.compute_optimal(1e21, flops_per_param_example=8, intervals=False)
    assert old.n_params == new.n_params
    n, d, loss = surface
    with pytest.warns(DeprecationWarning, match="is now called") as seen:
        before = sl.laws.plan.sensitivity(n, d, loss, at=1e21, compute={"more": 7 * n * d})
    assert {str(w.message).split(" is ")[0] for w in seen} == {
        "sensitivity(compute={…})", "sensitivity(at=)"
    }  # fmt: skip
    after = sl.laws.plan.sensitivity(n, d, loss, compute=1e21, flop_counts={"more": 7 * n * d})
    assert before.table.equals(after.table)


def test_average_takes_the_column_as_on():
    curves = sl.Curves({"seed": [0, 1], "n_data": [5, 5], "norm": [1.0, 1.0], "test_error": [0.2, 0.4]})
    with pytest.warns(DeprecationWarning, match="on="):
        assert curves.average(at="norm")["test_error"] == pytest.approx([0.3])


def test_settings_take_the_old_spelling_and_keep_their_names():
    pytest.importorskip("torch")
    from scalinglab.train.setting import Setting

    values = {"model": "mlp", "dataset": "digits", "epochs": 1}
    with pytest.warns(DeprecationWarning, match="normalize="):
        old = Setting.from_dict({**values, "normalise": "unit"})
    new = Setting.from_dict({**values, "normalize": "unit"})
    assert old == new
    # a run stored before the key was renamed is found again
    assert new.run == sl.curves.run_name({**new.identity(), "normalize": None, "normalise": "unit"})


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("plan needed t.csv --target 1", "plan size-for t.csv --target 1"),
        ("plan doubling t.csv", "plan gain-from t.csv"),
        ("plan next t --flops=8", "plan next t --flops-per-param-example=8"),
        ("plan approaches t.csv --at 1e23", "plan approaches t.csv --compute 1e23"),
        ("plan sensitivity t --at 1 --compute a,b", "plan sensitivity t --compute 1 --flop-counts a,b"),
        ("sweep grid.toml --together 3", "sweep grid.toml --max-stacked 3"),
    ],
)  # fmt: skip
def test_old_command_lines_mean_the_new_ones(old, new):
    with pytest.warns(DeprecationWarning, match="is now called"):
        assert new_names(old.split()) == new.split()


@pytest.mark.parametrize(
    "words", ["plan sensitivity t.csv --compute 1e23", "laws fit t.csv --at 1e6", "plan next t.csv --at 1e6"]
)
def test_names_of_today_do_not_warn(words):
    assert new_names(words.split()) == words.split()


def test_an_old_command_still_answers(tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("n_data,test_error\n" + "\n".join(f"{x},{y}" for x, y in zip(X, Y, strict=True)))
    with pytest.warns(DeprecationWarning, match="plan needed is now called plan size-for"):
        result = CliRunner().invoke(app, ["plan", "needed", str(table), "--target", "0.1"])
    assert result.exit_code == 0
    assert "test_error = 0.1" in result.output


def test_error_of_an_estimate_is_its_standard_error():
    with pytest.warns(DeprecationWarning, match="Estimate.error is now called stderr"):
        assert Estimate(1.0, 0.25).error == 0.25


def test_the_step_of_a_divergence_is_diverged_at(tmp_path):
    store = sl.Store(tmp_path)
    run = store.start({"seed": 0, "n_data": 5})
    run.append(step=0, test_error=0.5)
    with pytest.warns(DeprecationWarning, match="diverged_at="):
        run.seal("diverged", at=0)
    record = store.records()[run.run]
    with pytest.warns(DeprecationWarning, match="Record.diverged is now called diverged_at"):
        assert record.diverged == record.diverged_at == 0


@pytest.mark.parametrize(
    ("old", "steps"), [([np.nan, np.nan, 0.0, 0.0], [0]), ([False, False, False, True], [])]
)
def test_tables_with_the_old_column_tell_which_runs_diverged(old, steps):
    columns = {"n_data": [5, 5, 9, 9], "step": [0, 1, 0, 1], "test_error": 0.5, "diverged": old}
    curves = sl.Curves(columns)
    assert curves["status"].tolist() == ["done", "done", "diverged", "diverged"]
    assert curves.has_diverged.tolist() == [False, False, True, True]
    if steps:
        assert curves.frame["diverged_at"].dropna().unique().tolist() == steps


def old_path(name: str) -> tuple[object, list[str]]:
    """The module and what was warned, as the first import in a process."""
    full = f"scalinglab.{name}"
    sys.modules.pop(full, None)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        module = importlib.import_module(full)
    return module, [str(warning.message) for warning in seen if warning.category is DeprecationWarning]


@pytest.mark.parametrize("old", [old for old in MOVED if "triton" not in old])
def test_an_old_path_gives_the_module_of_the_new_one(old):
    module, warned = old_path(old)
    assert module is importlib.import_module(f"scalinglab.{MOVED[old]}")
    assert module.__spec__.name == f"scalinglab.{MOVED[old]}", "the module still knows its own path"
    if old in ("laws.plan", "laws.uncertainty"):
        assert not warned, "a public name of the package"
    else:
        assert warned == [
            f"scalinglab.{old} is now called scalinglab.{MOVED[old]}; the old name will be removed in 0.3"
        ]


def test_an_old_path_has_no_file_and_its_warning_points_at_the_import():
    source = Path(sl.__file__).parent
    for old in MOVED:
        path = source / old.replace(".", "/")
        assert not path.with_suffix(".py").exists()
        assert not path.is_dir()
    sys.modules.pop("scalinglab.words", None)
    with pytest.warns(DeprecationWarning, match=r"support\.words") as seen:
        import scalinglab.words  # noqa: F401
    assert seen[0].filename == __file__
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        importlib.import_module("scalinglab.no_such_module")
