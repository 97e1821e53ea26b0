"""Figures on images, on curves whose exponents are planted: what is read off them, and what is judged how."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from scalinglab.curves import Curves
from scalinglab.data import SOURCES
from scalinglab.errors import BadInput
from scalinglab.studies import trained
from scalinglab.train import Setting
from scalinglab_papers.bahri2021 import distributions, exponents, images, longer, students

SIZES = (128, 256, 512, 1024, 2048)


def planted(exponent: Callable[[dict[str, Any]], float], noise: float = 0.005) -> Callable[..., Curves]:
    """A stand-in for training: best loss n^-α, final loss half as steep, errors a tenth of the losses."""

    def runs(settings: list[dict[str, Any]], experiment: str, **_: Any) -> Curves:
        rng = np.random.default_rng(0)
        rows = []
        for one in settings:
            alpha, n = exponent(one), one["n_data"]
            first = 0.01 if one.get("loss") == "mse" else 0.1  # below what guessing gives
            losses = (9.0, first * n**-alpha, first * n ** (-alpha / 2))
            own = {"run": Setting.from_dict(one).run, **{k: one[k] for k in ("n_data", "seed", "dataset")}}
            rows += [{"step": k, "test_loss": loss, **own} for k, loss in enumerate(losses, 1)]
        frame = pd.DataFrame(rows).assign(train_loss=0.0)
        frame["test_loss"] *= np.exp(noise * rng.standard_normal(len(frame)))
        frame["test_error"] = frame["test_loss"] / 10
        return Curves(frame, source="train")

    return runs


TrainAs = Callable[[Callable[..., Curves]], None]


@pytest.fixture
def train_as(monkeypatch: pytest.MonkeyPatch) -> TrainAs:
    """Sets what stands in for training."""
    return lambda runs: monkeypatch.setattr(trained, "runs", runs)


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    from dataclasses import replace

    shared = images.in_data  # which a test may replace
    shared.cache_clear()
    monkeypatch.setitem(images.NETWORKS, "smoke", replace(images.NETWORKS["smoke"], sizes=SIZES, seeds=6))
    monkeypatch.setitem(distributions.CLASSES, "smoke", ("digits", (10, 5, 2), 0))
    monkeypatch.setattr(images, "BESIDE", (10, 0.25))
    yield
    shared.cache_clear()


def residual(monkeypatch: pytest.MonkeyPatch, **change: Any) -> None:
    """Changes the Wide ResNets of scale smoke."""
    from dataclasses import replace

    monkeypatch.setitem(images.RESIDUALS, "smoke", replace(images.RESIDUALS["smoke"], **change))


def verdicts(made: Any) -> dict[str, str | None]:
    return {row.quantity: row.verdict for row in made.table}


@pytest.mark.slow
def test_best_and_final_are_told_apart(train_as: TrainAs):
    train_as(planted(lambda one: 0.4))
    (scan,), curves = images.in_data("smoke")
    images.in_data.cache_clear()
    assert scan.exponent("best loss").value == pytest.approx(0.4, abs=0.01)
    assert scan.exponent("final error").value == pytest.approx(0.2, abs=0.01)
    assert len(curves) == len(SIZES) * 6
    found = verdicts(images.fig_s1("smoke"))
    assert found["digits, cross-entropy: exponent of final loss less that of best loss"] == "disagrees"
    assert found["digits, cross-entropy: exponent of best error less that of best loss"] == "agrees"


@pytest.mark.parametrize(
    ("alpha", "verdict"), [(1.2, "disagrees"), (0.4, "agrees"), (0.0, "cannot tell"), (-0.2, "disagrees")]
)
def test_resolution_limited_exponents_lie_between_0_and_1(train_as: TrainAs, alpha: float, verdict: str):
    train_as(planted(lambda one: alpha))
    found = verdicts(images.fig1_top_right("smoke"))
    assert found["digits, cross-entropy: α_D"] == verdict


@pytest.mark.slow
def test_a_residual_network_is_shown_on_every_set_that_it_has_with_every_loss(
    train_as: TrainAs,
    monkeypatch: pytest.MonkeyPatch,
):
    from dataclasses import replace

    def exponent(one: dict[str, Any]) -> float:
        return (0.4 if one["model"] == "mlp" else 1.2) / (2 if one.get("loss") == "mse" else 1)

    train_as(planted(exponent))
    residual(monkeypatch, sizes=SIZES, datasets=("digits", "mnist"), seeds=6)
    squared = replace(images.NETWORKS["smoke"], squared={"loss": "mse"})
    monkeypatch.setitem(images.NETWORKS, "smoke", squared)
    monkeypatch.setattr(images, "usable_datasets", list)
    found = verdicts(images.fig1_top_right("smoke"))
    final = {name: verdict for name, verdict in found.items() if "final" in name}
    assert len(final) == 4
    assert set(final.values()) == {"agrees"}  # half as steep
    assert {name: verdict for name, verdict in found.items() if name not in final} == {
        "digits, cross-entropy: α_D": "agrees", "digits, mse: α_D": "agrees",
        "digits, WRN-10-0.25: α_D": "disagrees", "mnist, WRN-10-0.25: α_D": "disagrees",
        "digits, WRN-10-0.25, mse: α_D": "agrees", "mnist, WRN-10-0.25, mse: α_D": "agrees",
    }  # fmt: skip


@pytest.mark.slow
def test_residual_networks_are_compared_among_themselves(train_as: TrainAs, monkeypatch: pytest.MonkeyPatch):
    from dataclasses import replace

    def exponent(one: dict[str, Any]) -> float:
        return 0.2 if one["model"] == "mlp" else 0.6 if "superclass" in one else 0.4

    train_as(planted(exponent))
    residual(monkeypatch, sizes=SIZES, datasets=("digits",))
    monkeypatch.setitem(images.NETWORKS, "smoke", replace(images.NETWORKS["smoke"], seeds=3))
    monkeypatch.setitem(distributions.CLASSES, "smoke", ("digits", (10, 2), 5))
    found = {row.quantity: row for row in distributions.fig5_left("smoke").table}
    plain = found["digits: α_D of 2 classes less that of 10 classes"]
    wide = found["digits: α_D of 2 classes, WRN-10-0.25 less that of 10 classes, WRN-10-0.25"]
    assert (plain.verdict, wide.verdict) == ("agrees", "disagrees")
    assert (plain.n, wide.n) == (3, 5)
    assert wide.measured == pytest.approx(0.2, abs=0.01)


@pytest.mark.slow
@pytest.mark.parametrize(("other", "verdict"), [(0.4, "agrees"), (0.6, "disagrees")])
def test_superclasses_leave_the_exponent_or_do_not(train_as: TrainAs, other: float, verdict: str):
    train_as(planted(lambda one: other if "superclass" in one else 0.4))
    found = verdicts(distributions.fig5_left("smoke"))
    assert found["digits: α_D of 2 classes less that of 10 classes"] == verdict


@pytest.mark.slow
def test_noise_changes_the_exponent(train_as: TrainAs):
    train_as(planted(lambda one: 0.4 / (1 + one["input_noise"])))
    assert (
        verdicts(distributions.fig5_right("smoke"))["digits: α_D without noise less that of noise 1"]
        == "agrees"
    )


def test_superclasses_are_neighbours_or_of_like_kind():
    assert distributions.superclasses("mnist", 10, 10) is None
    assert distributions.superclasses("mnist", 10, 5) == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    assert np.bincount(distributions.superclasses("mnist", 10, 2)).tolist() == [5, 5]
    assert np.bincount(distributions.COARSE).tolist() == [5] * 20
    five, two = (distributions.superclasses("cifar100", 100, groups) for groups in (5, 2))
    apple, bear, bed, bee, bus, lamp, oak, trout, whale = 0, 3, 5, 6, 13, 40, 52, 91, 95
    assert five[bear] == five[whale] != five[bee] == five[trout]
    assert five[apple] == five[oak]
    assert five[bed] == five[lamp] != five[bus]
    assert [two[k] for k in (apple, bear, bee, oak, bed, bus)] == [0, 0, 0, 0, 1, 1]


def test_superclasses_leave_the_network_but_for_its_last_layer():
    from scalinglab import nets

    base = images.setting_on("cifar100", images.NETWORKS["gpu"].base)

    def shapes(groups: int) -> list[tuple[int, ...]]:
        options = (base | distributions.grouped("cifar100", groups))["model_options"]
        model = nets.build("cnn", (3, 32, 32), groups, **options)
        return [tuple(p.shape) for p in model.parameters()][:-2]

    assert shapes(5) == shapes(20) == shapes(100)


def test_an_aspect_that_is_asked_for_alone_is_compared_with_nothing(train_as: TrainAs):
    train_as(planted(lambda one: 0.4))
    with trained.storing_in(None, only=["digits, WRN-10-0.25"]):
        assert list(verdicts(distributions.fig_s5("smoke"))) == ["digits, WRN-10-0.25: α_D"]


@pytest.mark.slow
def test_the_exponent_grows_with_width_and_is_fixed_beyond_a_saturating_one(
    train_as: TrainAs,
    monkeypatch: pytest.MonkeyPatch,
):
    by_width = {1.0: 0.2, 2.0: 0.4, 4.0: 0.4}
    train_as(planted(lambda one: by_width[one["width"]]))
    monkeypatch.setattr(images, "differences", lambda *given: [images.difference(*given)])  # one metric
    shapes = ((10, 1.0), (10, 4.0), (10, 2.0))
    residual(monkeypatch, sizes=SIZES)
    monkeypatch.setitem(distributions.SHAPES, "smoke", ("digits", shapes, 4))
    made = distributions.fig_s5("smoke")
    found = verdicts(made)
    assert {row.n for row in made.table} == {4}
    assert found["digits: α_D of WRN-10-4 less that of WRN-10-1"] == "agrees"
    assert found["digits: α_D of WRN-10-4 less that of WRN-10-2"] == "agrees"
    by_width[4.0] = 0.6
    again = verdicts(distributions.fig_s5("smoke"))
    assert again["digits: α_D of WRN-10-4 less that of WRN-10-2"] == "disagrees"


@pytest.mark.slow
def test_a_student_is_compared_with_the_teacher_of_its_own_data(
    train_as: TrainAs, monkeypatch: pytest.MonkeyPatch
):
    import torch

    from scalinglab.data.teacher import random_teacher

    def runs(settings: list[dict[str, Any]], experiment: str, extra: Any) -> Curves:
        (one,) = settings
        options = one["data_options"]
        seen = random_teacher(2, width=options["width"], seed=one["seed"] % options["teachers"])
        found = extra(lambda x: torch.as_tensor(seen(x.numpy())))
        return Curves(pd.DataFrame([{"run": "a", "step": 1, **found}]), source="train")

    train_as(runs)
    monkeypatch.setitem(students.BOUNDS, "smoke", (((16, 8), (20, 4)), 5, 1))
    assert (students.theorems_network("smoke").curves["error"] < 1e-5).all()


@pytest.fixture
def sets_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Has the files of these sets on the machine, empty ones, and of no others."""

    def put(*names: str) -> None:
        for variable in ("SCALINGLAB_DATA", "XDG_CACHE_HOME"):
            monkeypatch.setenv(variable, str(tmp_path))
        for name in names:
            (tmp_path / name).mkdir()
            for file in SOURCES[name].files:
                (tmp_path / name / file).touch()

    return put


def test_sets_that_are_not_here_are_left_out(sets_here: Callable[..., None]):
    sets_here()
    assert images.usable_datasets(["svhn", "digits"]) == ["digits"]
    with pytest.raises(BadInput, match="scalinglab data get svhn"):
        images.usable_datasets(["svhn"])


@pytest.mark.slow
def test_sizes_at_which_a_network_guesses_do_not_count(train_as: TrainAs):
    def runs(settings: list[dict[str, Any]], experiment: str, **_: Any) -> Curves:
        frame = planted(lambda one: 0.4)(settings, experiment).frame
        frame["test_loss"] *= 10 * first * SIZES[0] ** 0.4  # one power law over all sizes
        return Curves(frame, source="train")

    train_as(runs)
    first = 2.4  # above ln 10, and 1.8 at the next size
    (scan,), _ = images.in_data("smoke")
    images.in_data.cache_clear()
    assert scan.exponent("best error").first == 1
    first = 9.0  # 3.0 at the last size
    made = images.fig1_top_right("smoke")
    images.in_data.cache_clear()
    (row,) = made.table
    assert (row.measured, row.verdict) == (None, "cannot tell")
    assert row.note.endswith("better than guessing at 0 of 5 sizes")
    (axis,) = made.figure.axes
    assert axis.get_legend().get_texts()[0].get_text().endswith("0 of 5 sizes")
    (row,) = images.fig_s3("smoke").table
    images.in_data.cache_clear()
    assert row.measured is None
    found = distributions.fig5_left("smoke").table[:3]  # of 10, 5 and 2 classes
    assert [row.measured is None for row in found] == [True] * 3


@pytest.mark.parametrize(
    ("since", "count", "learns"), [(0, 2, True), (1, 2, False), (2, 4, False), (1, 5, True)]
)
def test_an_exponent_needs_as_many_sizes_as_a_range(since: int, count: int, learns: bool):
    assert images.Scan("a", np.arange(1.0, count + 1), {}, since).learns == learns


def test_a_residual_network_that_is_asked_for_alone_has_the_dimension_of_its_set(
    monkeypatch: pytest.MonkeyPatch,
):
    from scalinglab.measure import Dimension

    sizes, noise = np.array(SIZES, float), np.random.default_rng(0).normal(0.0, 0.01, (3, len(SIZES)))
    wide = images.Scan("digits, WRN-10-4", sizes, {"best loss": sizes**-0.5 * np.exp(noise)})
    methods = {method: Dimension(8.0, 0.1, method=method, n=10) for method in distributions.METHODS}
    monkeypatch.setattr(distributions.students, "in_data", lambda scale: None)
    monkeypatch.setattr(
        distributions.students, "by_dimension",
        lambda *_: {4: (None, None, exponents.of_losses(wide.sizes, wide.values["best loss"]))},
    )  # fmt: skip
    curves = Curves(pd.DataFrame([{"run": "a", "step": 1, "test_loss": 1.0}]), source="train")
    monkeypatch.setattr(images, "in_data", lambda *_, **__: ([wide], curves))
    monkeypatch.setattr(distributions, "data_dimensions", lambda *_: {"inputs": methods})
    rows = distributions.fig2_right("smoke").table
    assert [row.measured for row in rows[1:]] == pytest.approx([1.0, 1.0], abs=0.02)  # 4/α_D = 8


@pytest.mark.parametrize(
    ("change", "loss"),
    [({}, np.log(100)), ({"superclass": "coarse"}, np.log(20)), ({"loss": "mse"}, 0.0099),
     ({"superclass": [0] * 50 + [1] * 25 + [2] * 25}, 1.5 * np.log(2))],
)  # fmt: skip
def test_guessing_knows_how_frequent_classes_are(change: dict[str, Any], loss: float):
    assert exponents.guessing({"dataset": "cifar100", **change}) == pytest.approx(loss)


def test_svhn_is_trained_where_it_is_here_with_its_own_cnn(sets_here: Callable[..., None]):
    sets_here("svhn", "mnist")
    s = images.NETWORKS["gpu"]
    found = {name: one["model_options"]["channels"] for name, one in images.by_loss(s, s.base).items()}
    assert found == {
        "mnist, cross-entropy": [50, 100, 100], "svhn, cross-entropy": [64, 64],
        "mnist, mse": [50, 100, 100], "svhn, mse": [64, 64],
    }  # fmt: skip


def test_the_cnns_have_the_widths_of_table_1():
    rows = distributions.table1("smoke").table
    assert len(rows) == 14
    assert {row.verdict for row in rows} == {"agrees"}


def test_a_part_of_a_study_can_be_asked_for(train_as: TrainAs):
    train_as(planted(lambda one: 0.4))
    named = {"a": {**images.NETWORKS["smoke"].base, "dataset": "digits"}}
    named["b"] = {**named["a"], "loss": "mse"}
    with trained.storing_in(None, only=["b"]):
        found, _ = images.scans("x", images.Part(named, "n_data", SIZES, 3))
    assert [scan.name for scan in found] == ["b"]


@pytest.mark.parametrize(
    ("figure", "parts"),
    [(distributions.fig5_left, "10 classes; 5 classes; 2 classes; 10 classes, WRN-10-0.25; "),
     (images.fig1_top_right, "digits, cross-entropy; digits, WRN-10-0.25"),
     (images.fig1_bottom_left, "digits, cross-entropy; digits, WRN-10-k")],
)  # fmt: skip
def test_a_part_that_is_not_there_is_answered_by_all_that_are(
    monkeypatch: pytest.MonkeyPatch, figure: Callable[[str], Any], parts: str
):
    residual(monkeypatch, datasets=("digits",))
    monkeypatch.setitem(images.RESIDUAL_WIDTHS, "smoke", (1.0,))
    with trained.storing_in(None, only=["b"]), pytest.raises(BadInput, match=f"only b .* it has: {parts}"):
        figure("smoke")


def test_the_legend_names_the_range_of_each_exponent(train_as: TrainAs):
    train_as(planted(lambda one: 0.4))
    (axis,) = images.fig_s3("smoke").figure.axes
    (told,) = [text.get_text() for text in axis.get_legend().get_texts()]
    assert told.endswith("(128 to 2048)")


@pytest.mark.slow
def test_exponents_that_are_compared_are_drawn_on_one_range(train_as: TrainAs):
    def runs(settings: list[dict[str, Any]], experiment: str, **_: Any) -> Curves:
        frame = planted(lambda one: 0.4)(settings, experiment).frame
        bent = frame["run"].isin({Setting.from_dict(one).run for one in settings if "superclass" in one})
        frame.loc[bent & (frame["n_data"] == SIZES[0]), "test_loss"] *= 0.5
        return Curves(frame, source="train")

    train_as(runs)
    made = distributions.fig5_left("smoke")
    (axis,) = made.figure.axes
    legend = [text.get_text() for text in axis.get_legend().get_texts()]
    assert [one[-13:] for one in legend] == ["(256 to 2048)"] * 3
    assert [row.measured for row in made.table[:3]] == pytest.approx([0.4] * 3, abs=0.01)
    hollow = [line for line in axis.lines if line.get_markerfacecolor() == "white"]
    assert [line.get_xdata().tolist() for line in hollow] == [[SIZES[0]]] * 3


@pytest.mark.slow
def test_longer_training_judges_classes_shapes_and_metrics(
    train_as: TrainAs, monkeypatch: pytest.MonkeyPatch
):
    shapes = (10, 0.25), (10, 0.5), (16, 0.25)
    own = {"STEPS": 40, "SIZES": SIZES, "SHAPE": (10, 0.5), "GROUPINGS": (5, 2), "SEEDS": 6, "SHAPES": shapes}
    for name, value in own.items():
        monkeypatch.setattr(longer, name, value)
    steps = set()

    def alpha(one: dict[str, Any]) -> float:
        steps.add(one["steps"])
        return 0.5 if max(one.get("superclass", [0])) == 1 or one["depth"] == 16 else 0.4

    train_as(planted(alpha))
    found = verdicts(longer.longer_training("smoke"))
    assert steps == {40}
    assert found["digits: α_D of 2 classes, WRN-10-0.5 less that of 5 classes, WRN-10-0.5"] == "disagrees"
    assert found["digits: α_D of WRN-10-0.5 less that of WRN-16-0.25"] == "disagrees"
    assert found["digits: α_D of WRN-10-0.5 less that of WRN-10-0.25"] == "cannot tell"
    for name in ("5 classes, WRN-10-0.5", "digits, WRN-10-0.5, 40 steps"):
        assert found[f"{name}: exponent of final loss less that of best loss"] == "disagrees"
        assert found[f"{name}: exponent of best error less that of best loss"] == "agrees"


@pytest.mark.slow
def test_shapes_are_compared_where_the_smallest_network_is_missing(train_as: TrainAs):
    train_as(planted(lambda one: 0.5 if one["depth"] == 16 else 0.4))
    shapes = (10, 0.5), (16, 0.25)
    named = images.residual_settings("smoke", shapes, ["digits"])
    scans, _ = images.scans("shapes", images.Part(named, "n_data", SIZES, 4))
    found = distributions.shape_rows(distributions.by_shape(shapes, named, scans), "digits")
    assert {row.quantity: row.verdict for row in found if "of the" not in row.quantity} == {
        "digits: α_D of WRN-10-0.5 less that of WRN-16-0.25": "disagrees"
    }
