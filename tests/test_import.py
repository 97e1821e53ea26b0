"""`import scalinglab` is fast and light."""

import subprocess
import sys

import pytest

import scalinglab

HEAVY = ("torch", "matplotlib", "pandas", "scipy", "sklearn", "plotly", "typer")


def test_import_loads_no_heavy_package():
    code = f"import scalinglab, sys; print([m for m in {HEAVY!r} if m in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_import_takes_under_half_a_second():
    code = "import time; t=time.perf_counter(); import scalinglab; print(time.perf_counter()-t)"
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True) for _ in range(3)]
    assert min(float(run.stdout) for run in runs) < 0.5


def test_completion_offers_each_name_once():
    names = dir(scalinglab)
    assert {"laws", "theory", "Curves"} <= set(names)
    assert len(names) == len(set(names))
    assert not {"Any", "importlib", "annotations"} & set(names)


@pytest.mark.parametrize("room", ["board", "figures", "laws", "simulate", "sweep", "theory", "train"])
def test_completion_offers_what_a_room_loads_on_use(room: str):
    module = getattr(scalinglab, room)
    assert dir(module) == sorted(module.__all__)
    assert all(getattr(module, name) is not None for name in dir(module))
