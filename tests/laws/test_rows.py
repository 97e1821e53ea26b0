"""Which rows of a table are fitted: the best of each run and size, no copies, sizes of one kind."""

import numpy as np
import pandas as pd
import pytest

from scalinglab.curves import Curves
from scalinglab.errors import BadInput
from scalinglab.laws.fitting.data import recipes
from scalinglab.laws.fitting.data.from_curves import points_of
from scalinglab.results import Reason

SIZES = np.geomspace(1e3, 1e5, 8)


def search(seed: int, *, curvature: float, shift: float = 0.0, noise: float = 0.03, repeats=lambda rate: 1):
    """Runs at seven learning rates a factor 2 apart; ln loss = -0.3 ln n + curvature (ln rate - optimum)²."""
    rng = np.random.default_rng(seed)
    rows = [
        {"n_data": n, "learning_rate": 2.0**rate, "seed": k, "depth_of_valley": (rate - shift * i) ** 2}
        for i, n in enumerate(SIZES) for rate in range(-3, 4) for k in range(repeats(rate))
    ]  # fmt: skip
    frame = pd.DataFrame(rows)
    log = -0.3 * np.log(frame["n_data"]) + curvature * frame.pop("depth_of_valley")
    return frame.assign(test_loss=np.exp(log + noise * rng.standard_normal(len(frame))))


def test_an_accuracy_and_its_error_are_those_of_the_same_rows():
    frame = pd.DataFrame(
        {"run": f"{n}-{rate}", "n_data": n, "learning_rate": rate, "step": step,
         "test_error": n**-0.3 * (1 + rate) * (1 + 1 / step + 0.01 * step)}
        for n in (100, 200, 400, 800) for rate in (0.1, 0.2) for step in (1, 5, 10, 50)
    ).assign(test_accuracy=lambda rows: 1 - rows["test_error"])  # fmt: skip
    error, accuracy = (points_of(frame, "n_data", y) for y in ("test_error", "test_accuracy"))
    assert list(accuracy.runs) == list(error.runs) == [f"{n}-0.1" for n in (100, 200, 400, 800)]
    assert accuracy.y == pytest.approx(1 - error.y)
    assert error.y == pytest.approx([n**-0.3 * 1.1 * 1.2 for n in (100, 200, 400, 800)])
    best = {"best": "highest", "y": "test_accuracy", "rows": 8, "of": 32, "by": ("run",)}
    assert accuracy.notes[0] == Reason("best_rows", **best)


@pytest.mark.parametrize(
    "repeats",
    [lambda rate: 1, pytest.param(lambda rate: 5 if rate == 0 else 1, marks=pytest.mark.slow)],
    ids=["1", "5 of one"],
)
def test_recipes_that_differ_by_noise_alone_are_not_chosen_from(repeats):
    """The best of seven would be too low by 1.35 standard deviations, 4 %, of a single run."""
    kept, bias = [], []
    for seed in range(10):
        frame = search(seed, curvature=0.0, repeats=repeats)
        found = points_of(frame, "n_data", "test_loss")
        kept.append(len(found.y) == len(frame))
        bias.append(np.mean(np.log(found.y) + 0.3 * np.log(found.x)))
    assert np.mean(kept) >= 0.8  # 95 % expected
    assert abs(np.mean(bias)) < 0.006
    assert ("recipes_alike" in {note.code for note in found.notes}) == kept[-1]


@pytest.mark.parametrize(
    ("count", "shift"), [(1, 0.0), (2, 0.4), pytest.param(2, 0.0, marks=pytest.mark.slow)]
)
def test_the_best_recipe_of_each_size_counts_where_recipes_differ(count, shift):
    frame = search(0, curvature=0.1, shift=shift, noise=0.001, repeats=lambda rate: count)
    found = points_of(frame, "n_data", "test_loss")
    best = {n: 2.0 ** round(shift * i) for i, n in enumerate(SIZES)}
    expected = frame[frame["learning_rate"] == frame["n_data"].map(best)]
    assert sorted(found.y) == sorted(expected["test_loss"])
    chosen = {"recipe": ("learning_rate",), "y": "test_loss", "runs": 8 * count, "of": 56 * count}
    assert Reason("best_recipe", **chosen) in found.notes
    assert len(points_of(frame, "n_data", "test_loss", mixed=True).y) == 56 * count
    for reduce in ("best", "last", "all"):  # about checkpoints
        assert sorted(points_of(frame, "n_data", "test_loss", reduce=reduce).y) == sorted(found.y)


@pytest.mark.slow
@pytest.mark.parametrize("diverged", [False, True])
def test_the_best_of_single_runs_is_not_too_good_by_chance(diverged):
    """In a shallow valley whose bottom moves the lowest of seven runs is 0.6 standard deviations low."""
    bias, lowest = [], []
    for seed in range(12):
        frame = search(seed, curvature=0.01, shift=0.2, noise=0.02)
        if diverged:  # at three of the sizes, where the rate is high
            frame.loc[(frame["learning_rate"] > 2) & (frame["n_data"] > 5e3), "test_loss"] = 10.0
        found = points_of(frame, "n_data", "test_loss")
        assert len(found.y) == 8
        bias.append(np.mean(np.log(found.y) + 0.3 * np.log(found.x)))
        best = frame.groupby("n_data")["test_loss"].min()
        lowest.append(np.mean(np.log(best) + 0.3 * np.log(best.index)))
    assert np.mean(lowest) < -0.009  # a standard error is 0.002
    assert -0.004 < np.mean(bias) < 0.008


def test_where_every_size_shows_the_whole_valley_its_lowest_counts():
    """A valley whose bottom moves at some sizes only, which no power of the size follows."""
    rows = [
        {"n_params": n, "learning_rate": 3.0**k, "test_loss": n**-0.1 * (1 + 0.004 * abs(k - best))}
        for n, best in zip((1e7, 3e7, 9e7, 3e8, 9e8, 3e9), (3, 3, 3, 2, 1, 1)) for k in range(5)
    ]  # fmt: skip
    frame = pd.DataFrame(rows)
    found = points_of(frame, "n_params", "test_loss")
    assert found.y == pytest.approx(found.x**-0.1)
    assert "lowest_recipe" in {note.code for note in found.notes}
    # at one size the lowest two lie apart, as noise alone would draw them
    frame.loc[frame.index[:5], "test_loss"] *= [1.0, 1.02, 1.03, 1.0, 1.02]
    assert "lowest_recipe" not in {note.code for note in points_of(frame, "n_params", "test_loss").notes}


def test_the_choice_at_a_size_does_not_depend_on_its_own_runs():
    rng = np.random.default_rng(0)
    size, recipe = (v.ravel() for v in np.meshgrid(range(5), range(4), indexing="ij"))
    terms = np.column_stack([recipe, recipe**2, recipe * size]).astype(float)
    value, better = rng.standard_normal(20), np.ones(20, bool)
    before = recipes.by_other_sizes(value, size, recipe, terms, better)
    after = recipes.by_other_sizes(np.where(size == 2, -value, value), size, recipe, terms, better)
    assert np.array_equal(before[size == 2], after[size == 2])
    assert not np.isclose(before[size != 2], after[size != 2]).any()
    # least squares written out, with one constant of each size
    others = size != 2
    design = np.column_stack([np.eye(5)[size], terms])
    effect = np.linalg.lstsq(design[others], value[others], rcond=None)[0][5:]
    expected = terms[size == 2] @ effect
    assert before[size == 2] - before[size == 2].mean() == pytest.approx(expected - expected.mean())


def test_its_own_runs_tell_only_which_half_of_its_recipes_is_the_better_one():
    size, recipe = (v.ravel() for v in np.meshgrid(range(5), range(7), indexing="ij"))
    terms = np.column_stack([recipe, recipe**2]).astype(float)
    value = (recipe - 3.0) ** 2 + np.random.default_rng(0).standard_normal(35)

    def chosen(own: list[float]) -> int:
        values = np.where(size == 2, np.tile(own, 5), value)
        rank = pd.Series(values).groupby(size).rank().to_numpy()
        found, judged = recipes.chosen_recipes(rank, values, size, recipe, terms)
        assert judged.all()
        return int(recipe[found & (size == 2)].item())

    # the others find the bottom at recipe 3: whether it is the best or the fourth of its size
    assert chosen([9, 8, 1, 0, 2, 3, 9]) == chosen([9, 8, 0, 3, 1, 2, 9]) == 3
    assert chosen([9, 8, 0, 4, 1, 2, 3]) != 3  # the fifth is not chosen


def test_where_no_run_is_left_to_tell_the_best_recipe_counts():
    frame = pd.DataFrame(
        {"n_data": [100, 200, 200, 400], "learning_rate": [1, 1, 2, 1], "loss": [4, 3, 2.9, 2]}
    )
    assert list(points_of(frame, "n_data", "loss").y) == [4, 2.9, 2]


def test_a_rate_that_decays_within_a_run_is_no_recipe():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"run": f"{n}-{seed}", "n_data": n, "seed": seed, "step": step, "learning_rate": 0.1 * 0.5**step,
         "current_learning_rate": 0.1 * 0.5**step, "test_loss": n**-0.3 * (1 + 0.1 * rng.standard_normal())}
        for n in (100, 200, 400, 800) for seed in range(5) for step in range(4)
    )  # fmt: skip
    found = points_of(frame, "n_data", "test_loss")
    assert len(found.y) == 20
    assert "learning_rate" not in " ".join(map(str, found.notes))


def test_repeats_that_measure_the_same_are_no_copies():
    rng = np.random.default_rng(0)
    n = np.repeat([100, 200, 400, 800], 20)
    frame = pd.DataFrame({"n_data": n, "test_error": rng.binomial(700, 3 * n**-0.5) / 700})
    found = points_of(frame, "n_data", "test_error")
    assert len(found.y) == 80
    assert found.notes[0].code == "copies_counted_twice"
    assert len(points_of(frame.astype("float32").round(3), "n_data", "test_error").y) == 80


@pytest.mark.parametrize("second", ["seed", "run", "train_error", None])
def test_rows_that_no_two_runs_share_count_once(second):
    n = 100 * 2 ** np.arange(8)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"n_data": n, "test_error": n**-0.5 * np.exp(0.1 * rng.standard_normal(8))})
    if second:
        frame[second] = rng.random(8) if second == "train_error" else np.arange(8)
    copied = pd.concat([frame, frame[:1] if second else frame])  # a row, or the whole table twice
    found = points_of(copied, "n_data", "test_error")
    assert len(found.y) == 8
    assert found.notes[0] == Reason("copies_counted_once", rows=1 if second else 8)


def test_sizes_within_some_percent_are_one():
    n, d = (v.ravel() for v in np.meshgrid(np.geomspace(1e6, 1e8, 4), np.geomspace(1e8, 1e10, 4)))
    grid = pd.DataFrame({"n_params": n * (1 + 1e-4 * np.arange(16)), "n_data": d, "loss": n**-0.1 + d**-0.1})
    with pytest.raises(BadInput, match="points of one n_params differ in n_data"):
        points_of(grid, "n_params", "loss")
    line = grid[::5].assign(compute=6 * grid["n_params"] * grid["n_data"])
    for x in ("n_params", "n_data", "compute"):  # both grow together
        assert Reason("both_vary", x=x) in points_of(line, x, "loss").notes
    nearly = pd.DataFrame(
        {"n_params": [1e6, 1e6, 2e6, 4e6], "n_data": [1000, 1001, 1000, 1000], "loss": [4, 4, 3, 2]}
    )
    assert len(points_of(nearly, "n_params", "loss").y) == 4
    assert "both_vary" not in {note.code for note in points_of(nearly, "n_params", "loss").notes}


def test_models_each_at_a_size_of_data_of_its_own_are_a_mixture():
    frame = pd.DataFrame(
        {"model": ["resnet", "vit", "mlp"], "n_data": [100, 200, 400], "loss": [3.0, 2.0, 1.5]}
    )
    with pytest.raises(BadInput, match="3 values of model"):
        points_of(frame, "n_data", "loss")


def test_two_models_are_sizes_of_one_where_both_names_say_a_size():
    frame = pd.DataFrame({"n_params": [1e6, 1e7], "loss": [3.0, 2.0]})
    assert len(points_of(frame.assign(model=["small", "large"]), "n_params", "loss").y) == 2
    for other in (["resnet", "vit"], ["resnet", "vit-large"]):
        with pytest.raises(BadInput, match="2 values of model"):
            points_of(frame.assign(model=other), "n_params", "loss")


@pytest.mark.parametrize("steps", [(-1, 0, 1), (-2, -1, 0, 1, 2)])
def test_a_valley_that_moves_is_followed_where_sizes_share_only_the_ends_of_their_grids(steps):
    draw, rows = np.random.default_rng(0), []
    for k, n in enumerate(np.geomspace(1e3, 1e6, 7)):
        for step in steps:  # half decades around a best rate that falls tenfold from size to size
            rate = float(f"{10.0 ** (step / 2 - k):.6g}")
            off = 0.15 * (step / 2 * np.log(10)) ** 2 + 0.01 * draw.standard_normal()
            rows.append((n, rate, 3 * n**-0.3 * np.exp(off)))
    frame = pd.DataFrame(rows, columns=["n_data", "learning_rate", "test_loss"])
    kept, _ = recipes.best_recipes(frame, ["n_data"], "test_loss", ["learning_rate"])
    assert kept.learning_rate.tolist() == [10.0**-k for k in range(7)]


def test_a_run_that_stopped_is_left_out_where_another_of_its_settings_went_on():
    def run(name: str, n_params: float, last: int) -> list[dict]:
        return [
            {"run": name, "n_params": n_params, "step": k, "test_loss": 5 - k / 10} for k in range(1, last)
        ]

    rows = [*run("a", 1e6, 11), *run("crashed", 1e7, 4), *run("again", 1e7, 11), *run("short", 1e8, 4)]
    found = points_of(Curves(pd.DataFrame(rows), source="read"), "n_params", "test_loss")
    assert list(found.runs) == ["a", "again", "short"]
    assert Reason("left_out_stopped", runs=1) in found.notes
