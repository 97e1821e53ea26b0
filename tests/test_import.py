"""`import scalinglab` is light: heavy packages are loaded when they are used."""

import subprocess
import sys

import pytest

import scalinglab

HEAVY = ("torch", "matplotlib", "pandas", "pyarrow", "scipy", "sklearn", "plotly", "typer", "rich")
TORCHLESS = ("curves", "store", "laws", "theory", "readers", "figures")


def loaded(code: str, names: tuple[str, ...]) -> list[str]:
    """Which of these packages a fresh interpreter has loaded after the code."""
    code += f"\nimport sys; print(*(name for name in {names!r} if name in sys.modules))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return result.stdout.split()


def test_import_loads_no_heavy_package():
    """How long it takes is measured by `benchmarks/imports.py`."""
    assert loaded("import scalinglab", HEAVY) == []
    assert loaded("import scalinglab, rich", HEAVY) == ["rich"]  # the check itself can fail


@pytest.mark.slow
def test_an_answer_loads_no_distributions():
    """scipy.stats takes a tenth of the time of an answer; its functions are in scipy.special."""
    table = "{'n_train': [1e3, 2e3, 4e3, 8e3, 16e3], 'test_error': [0.5, 0.4, 0.32, 0.26, 0.21]}"
    code = f"import scalinglab as sl; sl.answer({table})"
    assert loaded(code, ("scipy.stats", "scipy.special", "matplotlib")) == ["scipy.special"]


@pytest.mark.slow
def test_theory_laws_and_tables_never_load_torch():
    packages = ", ".join(f"scalinglab.{name}" for name in TORCHLESS)
    assert (
        loaded(f"import {packages}\nfor m in ({packages}): [getattr(m, n) for n in dir(m)]", ("torch",)) == []
    )


def test_completion_offers_each_name_once():
    names = dir(scalinglab)
    assert {"laws", "theory", "Curves"} <= set(names)
    assert len(names) == len(set(names))
    assert not {"Any", "importlib", "annotations"} & set(names)


def test_completion_offers_what_a_package_loads_on_use():
    for package in ("board", "figures", "laws", "simulate", "sweep", "theory", "train"):
        module = getattr(scalinglab, package)
        assert dir(module) == sorted(module.__all__), package
        assert all(getattr(module, name) is not None for name in dir(module)), package
