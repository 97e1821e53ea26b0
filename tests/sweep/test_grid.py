"""Grids expand to the settings that they describe, and say what is wrong with them."""

import json
from pathlib import Path

import numpy as np
import pytest

from scalinglab.errors import BadInput
from scalinglab.sweep import Grid

TOML = """
experiment = "digits"
seeds = 2

[setting]
model = "cnn"

[axes]
n_data = { largest = 1280, ratio = 2, count = 3 }
learning_rate = { from = 1e-3, to = 1e-1, points = 3 }

[[zip]]
width = [0.5, 1]
batch_size = [32, 64]
"""


def test_a_toml_grid_is_every_combination(tmp_path):
    path = tmp_path / "grid.toml"
    path.write_text(TOML)
    grid = Grid.read(path)
    settings = grid.settings()
    expected = []
    for n_data in (320, 640, 1280):
        for learning_rate in (1e-3, 1e-2, 1e-1):
            for width, batch_size in ((0.5, 32), (1, 64)):
                for seed in (0, 1):
                    expected.append({
                        "model": "cnn", "n_data": n_data, "learning_rate": learning_rate, "width": width,
                        "batch_size": batch_size, "seed": seed,
                    })  # fmt: skip
    assert settings == expected
    assert grid.experiment == "digits"
    assert Grid.from_dict(grid.to_dict()).settings() == settings


def test_parts_put_their_own_axes_over_the_common_ones():
    grid = Grid(
        {"model": "mlp", "epochs": 5},
        axes={"width": [1, 2]},
        parts=[{"setting": {"model": "cnn"}}, {"setting": {"width": 9}, "axes": {"depth": [2, 3]}}],
        seeds=[7],
    )
    assert grid.settings() == [
        {"model": "cnn", "epochs": 5, "width": 1, "seed": 7},
        {"model": "cnn", "epochs": 5, "width": 2, "seed": 7},
        {"model": "mlp", "epochs": 5, "width": 9, "depth": 2, "seed": 7},
        {"model": "mlp", "epochs": 5, "width": 9, "depth": 3, "seed": 7},
    ]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"from": 10, "to": 1000, "points": 3}, [10, 100, 1000]),
        ({"from": 1.0, "to": 0.01, "points": 3}, [1.0, 0.1, 0.01]),
        ({"largest": 1000, "ratio": 10, "count": 3}, [10, 100, 1000]),
    ],
)
def test_ranges_are_spaced_in_the_log(values, expected):
    assert [s["x"] for s in Grid(axes={"x": values}).settings()] == expected


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        ({"axis": {}}, "no 'axis'; did you mean 'axes'"),
        ({"axes": {"width": 3}}, "must be a list or a range; a fixed value belongs to"),
        ({"axes": {"width": []}}, "axis width is empty"),
        ({"axes": {"width": [1, 2, 1]}}, "axis width has 1 twice"),
        ({"setting": {"width": 1}, "axes": {"width": [1, 2]}}, "'width' is given twice"),
        ({"axes": {"seed": [1, 2]}, "seeds": 2}, "'seed' is given twice"),
        ({"zip": [{"width": [1, 2], "depth": [1, 2, 3]}]}, "width has 2, depth has 3"),
        ({"axes": {"n": {"from": 1, "too": 9, "points": 3}}}, "no 'too'; did you mean 'to'"),
        ({"axes": {"n": {"from": 1, "to": 9}}}, "a range is"),
        ({"axes": {"n": {"from": 0, "to": 9, "points": 3}}}, "needs from > 0"),
        ({"axes": {"n": {"from": 9, "to": 0, "points": 3}}}, "needs from > 0, to > 0"),
        ({"axes": {"n": {"from": 9, "to": 9, "points": 2}}}, "from ≠ to"),
        ({"axes": {"n": {"from": 1, "to": 9, "points": 1}}}, "two points or more"),
        ({"axes": {"n": {"from": 1, "to": 9, "points": 2.5}}}, "points and count are whole numbers"),
        ({"axes": {"n": {"largest": 9, "ratio": 2, "count": 1.5}}}, "points and count are whole numbers"),
        ({"axes": {"n": {"from": 1, "to": 3, "points": 9}}}, "not all different"),
        ({"parts": [{"axis": {}}]}, "a part of a grid has no 'axis'"),
        ({"parts": [{"setting": 3}]}, "setting is a table of names and values, not 3"),
        ({"parts": [{"zip": {"n": [1]}}]}, r"written under \[\[zip\]\]"),
        ({"parts": {"setting": {"n": 1}}}, r"written under \[\[parts\]\]"),
        ({"setting": 3}, "setting is a table"),
        ({"axes": [1, 2]}, r"axes is a table of names and values, not \[1, 2\]"),
        ({"zip": {"n": [1, 2]}}, r"written under \[\[zip\]\]"),
        ({"runner": 3}, "runner = 3 must be text"),
        ({"experiment": 3}, "experiment = 3 must be text"),
        ({"seeds": 3.5}, "seeds = 3.5 must be a number of seeds"),
        ({"seeds": "3"}, "seeds = '3' must be"),
        ({"seeds": True}, "seeds = True must be"),
        ({"seeds": -1}, "seeds = -1 must be"),
        ({"seeds": [0, 1, 0]}, "list of different whole numbers"),
        ({"seeds": {"from": 1, "to": 3}}, "seeds = .* must be"),
        ({"axes": {"n": [1.0, float("nan")]}}, "NaN cannot identify a run"),
        ({"axes": {"n": {"from": "a", "to": 9, "points": 3}}}, "a range holds numbers"),
        ({"axes": {"n": {"from": 1, "to": 9, "points": 2.5}}}, "points and count are whole"),
        ({"axes": {"n": {"largest": 8, "ratio": 2, "count": 2.5}}}, "points and count are whole"),
    ],
)
def test_a_wrong_grid_is_refused_with_the_reason(grid, message):
    with pytest.raises(BadInput, match=message):
        Grid.from_dict(grid).settings()


def test_a_grid_takes_arrays_and_ranges_and_is_kept_as_what_they_hold():
    grid = Grid(setting={"width": np.float64(2)}, axes={"n": np.array([1, 2]), "m": range(2)}, seeds=range(3))
    assert len(grid.settings()) == 12
    assert Grid.from_dict(json.loads(json.dumps(grid.to_dict()))) == grid


def test_a_wrong_file_is_named(tmp_path):
    with pytest.raises(BadInput, match="does not exist"):
        Grid.read(tmp_path / "none.toml")
    path = tmp_path / "bad.toml"
    path.write_text("axes = [")
    with pytest.raises(BadInput, match=r"bad\.toml.*TOML"):
        Grid.read(path)
    path.write_text("sedes = 3")
    with pytest.raises(BadInput, match=r"bad\.toml: .*'sedes'.*'seeds'"):
        Grid.read(path)


GALLERY = sorted((Path(__file__).parents[2] / "examples" / "grids").glob("*.toml"))


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, marks=[pytest.mark.slow] * path.stem.startswith("park2019")) for path in GALLERY],
    ids=lambda path: path.stem,
)
def test_every_grid_of_the_gallery_gives_settings_that_can_be_trained(path):
    pytest.importorskip("torch")
    from scalinglab.curves import run_name
    from scalinglab.sweep import training

    grid = Grid.read(path)
    runs = {run_name(training.identity(setting)) for setting in grid.settings()}
    assert len(runs) == len(grid.settings())
    assert grid.experiment == path.stem
