"""Exponents of curves whose exponents are known, and of runs that are read from a store or a table."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import scalinglab as sl
from scalinglab.errors import BadInput
from scalinglab.studies import entry
from scalinglab.studies.trained import RunStorage, storing_in
from scalinglab.studies.verdict import jackknife
from scalinglab_papers.damico2025 import (
    against_published,
    curves,
    margins,
    pairs,
    study,
    tables,
)
from scalinglab_papers.damico2025.published import Windows, authors_exponents


def planted_pair() -> pairs.Pair:
    return pairs.analysed(pairs.STAND_IN, pairs.STAND_IN, pairs.EQ2, pairs.planted())


Analysed = Callable[..., None]


@pytest.fixture
def analysed(monkeypatch: pytest.MonkeyPatch) -> Analysed:
    """Sets the pairs that figures and tables are made of."""

    def put(*made: pairs.Pair) -> None:
        for module in (curves, tables):
            monkeypatch.setattr(module, "analysed", lambda *_: made)

    return put


@pytest.fixture
def only_planted(analysed: Analysed) -> None:
    analysed(planted_pair())


@pytest.fixture
def published_are(monkeypatch: pytest.MonkeyPatch) -> Callable[[pd.DataFrame], None]:
    """Sets the curves that the authors have published of their ResNets on CIFAR-10."""
    return lambda theirs: monkeypatch.setattr(
        against_published, "published_tables", lambda version: {"ResNet CIFAR10": theirs}
    )


@pytest.mark.usefixtures("only_planted")
@pytest.mark.parametrize(
    "make",
    [
        curves.fig3,
        tables.table1,
        *(pytest.param(m, marks=pytest.mark.slow) for m in (curves.fig4, tables.table2, tables.talk_table1)),
    ],
)
def test_planted_exponents_are_recovered(make):
    made = make("smoke")
    assert made.table
    for row in made.table:  # of a stand-in: nothing stands in the paper's column
        assert row.paper is None
        assert row.relation == "<" or row.measured == pytest.approx(row.expected, abs=0.03)


@pytest.mark.usefixtures("only_planted")
def test_every_table_of_gamma_2_has_it_from_the_optima_and_from_the_collapse():
    quantities = " ".join(row.quantity for row in tables.table2("smoke").table)
    assert "γ₂, optima" in quantities
    assert "γ₂, collapse" in quantities
    differences = [row for row in tables.table1("smoke").table if "− γ" in row.quantity]
    assert len(differences) == 2
    assert all(row.expected == 0.0 and row.paper is None for row in differences)


@pytest.mark.usefixtures("only_planted")
@pytest.mark.parametrize("make", [curves.fig8, curves.fig9])
def test_figures_of_numbers_that_a_table_holds_judge_nothing(make):
    made = make("smoke")
    assert made.figure is not None
    assert made.table == ()


def test_a_pair_that_is_nowhere_cannot_be_told(analysed: Analysed):
    analysed(pairs.analysed("CNN MNIST", pairs.PUBLISHED, pairs.AS_PUBLISHED, pairs.planted()))
    rows = {row.quantity: row for row in tables.table1("laptop").table}
    assert rows["ViT MNIST: γ"].verdict == "cannot tell"
    assert rows["CNN MNIST, published, as published: γ measured"].paper == 0.52


def test_without_any_curves_the_ways_to_get_them_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(pairs, "tables_of", lambda name: [])
    pairs.published.cache_clear()
    pairs.pairs.cache_clear()
    try:
        with storing_in(tmp_path / "nothing"), pytest.raises(BadInput, match="data get damico2025-curves"):
            curves.fig4("gpu")
    finally:
        pairs.published.cache_clear()
        pairs.pairs.cache_clear()


def test_the_early_spread_sees_curves_that_differ():
    table = pairs.planted()
    apart = table.assign(test_error=table["test_error"] * (table["n_data"] / 1000) ** 0.1)
    same, differ = (
        curves.early_spread(pairs.analysed("x", pairs.OURS, pairs.EQ2, t)) for t in (table, apart)
    )
    assert same is not None
    assert differ is not None
    assert same[0] < 0.03
    assert differ[0] > 0.05


def test_the_largest_fall_of_a_norm():
    assert curves.largest_fall(np.array([1.0, 2.0, 3.0])) == 0
    assert curves.largest_fall(np.array([1.0, 4.0, 3.0, 5.0])) == pytest.approx(0.25)


# --- the study -------------------------------------------------------------------------------------------


def test_the_grids_of_the_paper_are_those_of_appendix_e():
    grids = study.parts("paper")
    assert set(study.PAIRS) <= set(grids)
    settings = grids["ResNet CIFAR10"].settings()
    assert {s["epochs"] for s in settings} == {1000}
    assert sorted({s["n_data"] for s in settings}) == list(range(6000, 46001, 5000))
    assert {s["n_data"] for s in grids["CNN MNIST"].settings()} == set(study.MNIST_SIZES)
    assert {s["optimizer"] for s in grids["ViT CIFAR100"].settings()} == {"adamw"}
    assert all("optimizer" not in s for s in grids["CNN CIFAR100"].settings())


def test_hours_follow_from_steps_and_the_time_of_a_step():
    steps = 500 * sum(study.MNIST_SIZES) / 128 * 30
    hours = study.gpu_hours("paper")
    assert hours["CNN MNIST"] == pytest.approx(steps * 0.245e-3 / 3600)
    pairs_alone = sum(hours[pair] for pair in study.PAIRS)
    assert entry("damico2025/fig3").gpu_hours == pytest.approx(pairs_alone, rel=0.01)


def own_table() -> sl.Curves:
    grid = study.parts("gpu")["CNN CIFAR10"]
    rows = [
        {"model": "cnn", "dataset": "cifar10", "n_data": s["n_data"], "seed": s["seed"], "epoch": epoch,
         "epochs": 40, "precision": "bf16", "status": "done", "norm": s["n_data"] * epoch, "norm_log": 1.0,
         "test_error": 1 / (s["n_data"] * epoch)}
        for s in grid.settings()
        for epoch in (1, 2, 4)
    ]  # fmt: skip
    return sl.Curves(pd.DataFrame(rows), source="train")


def test_runs_of_a_part_are_found_in_a_table_by_their_settings(tmp_path: Path):
    whole = own_table()
    whole = sl.Curves(whole.frame.assign(learning_rate=1e-3), source="train")
    other = whole.frame.assign(precision="tf32", run=whole.frame["run"] + "x")
    faster = whole.frame.assign(learning_rate=1e-2, run=whole.frame["run"] + "z")
    smaller = whole.frame.assign(initialization_factor=0.05, run=whole.frame["run"] + "s")
    unplanned = whole.frame.assign(seed=9, run=whole.frame["run"] + "y")
    cut_off = whole.frame[whole.frame["epoch"] < 4].assign(status="running", run=whole.frame["run"] + "c")
    guessing = whole.frame.assign(test_error=0.9 - 0.01 * whole.frame["epoch"], run=whole.frame["run"] + "g")
    path = tmp_path / "curves.parquet"
    sl.Curves(pd.concat([whole.frame, other, unplanned, faster, smaller, cut_off, guessing])).write(path)
    found = study.trained("gpu", RunStorage(path), "CNN CIFAR10")
    assert found is not None
    assert sorted(found.runs) == sorted({*whole.runs, *cut_off["run"]})  # cut off: a shorter run
    assert study.trained("gpu", RunStorage(path), "CNN MNIST") is None


def test_a_norm_that_would_overflow_is_divided_by_a_constant():
    table = own_table().frame
    table = table.assign(norm_log=np.linspace(700, 900, len(table)), norm=np.inf)
    found = np.log(pairs.with_norm(sl.Curves(table), pairs.EQ2)["norm"])
    assert np.isfinite(found).all()
    assert np.ptp(found) == pytest.approx(200)


def test_an_unknown_part_is_named(tmp_path: Path):
    with pytest.raises(BadInput, match="CNN MNIS"):
        study.train("gpu", RunStorage(tmp_path, ("CNN MNIS",)), ["CNN MNIST"])


# --- margins, variants, beyond ---------------------------------------------------------------------------


def margin_run(mean, minimum) -> pd.DataFrame:
    """Four checkpoints of 100 examples, half of their margins in each half of the range."""
    columns = {"train_error": [0.4, 0.9, 0.1, 0.0], "epoch": [0.5, 1.0, 2.0, 4.0], "step": [1, 2, 4, 8]}
    margin = {"margin_normalized_mean": mean, "margin_normalized_min": minimum, "margin_normalized_max": 4.0}
    return pd.DataFrame({**columns, **margin, "n_data": 100, "margin_bin_00": 0.5, "margin_bin_01": 0.5})


def test_margins_are_followed_after_the_first_epoch_where_half_of_the_examples_are_right():
    runs = [margin_run([9.0, 5.0, 2.0, 1.0], [-9.0, -5.0, -4.0, d]) for d in (0.0, 0.1)]
    first, second, smallest = margins.rows(runs)
    assert first.measured == second.measured == pytest.approx(-0.5)  # from 2 to 1, in units of 2
    # widths 8 and 4 in two bins: spreads 2 and 1, over the root of 100 examples, in units of 2
    assert first.stderr == pytest.approx(np.hypot(0.2, 0.1) / 2)
    assert first.verdict == "agrees"
    assert smallest.measured == pytest.approx((4.0 + 4.1) / 2 / 2)
    assert smallest.verdict == "agrees"


def test_the_density_of_margins_integrates_to_one():
    row = pd.Series({"margin_bin_00": 0.25, "margin_bin_01": 0.75, "margin_normalized_min": -1e-5,
                     "margin_normalized_max": 3e-5})  # fmt: skip
    values, edges = margins.density(row)
    assert (values * np.diff(edges)).sum() == pytest.approx(1.0)
    np.testing.assert_allclose(edges, [-1e-5, 1e-5, 3e-5])


@pytest.mark.slow
def test_rates_are_judged_by_the_first_norm_and_the_curve(tmp_path: Path, published_are: Callable):
    grid = study.parts("gpu")["ResNet CIFAR10, search"]
    epochs = np.array([1.25, 2.0, 4.0])
    named = ("n_data", "seed", "learning_rate", "batch_size", "precision", "augment", "epochs")
    rows = []
    for s in grid.settings():
        for norm, epoch in zip(s["learning_rate"] * s["n_data"] * 128 / s["batch_size"] * epochs, epochs):
            own = {name: s[name] for name in named} | {"model": "resnet", "dataset": "cifar10"}
            progress = {"status": "done", "step": int(10 * epoch), "epoch": epoch}
            rows.append({**own, **progress, "norm_as_published": norm, "test_error": 1 / norm})
    sl.Curves(pd.DataFrame(rows), source="train").write(tmp_path / "curves.parquet")
    theirs = pd.DataFrame([  # what a rate of 0.005 gives
        {"model": "ResNet", "dataset": "CIFAR10", "n_data": n, "norm": x, "test_error": 1 / x}
        for n in (6000, 11000, 21000) for x in np.geomspace(1, 40, 30) * 0.005 * n
    ])  # fmt: skip
    published_are(theirs.assign(n_seeds=10))
    with storing_in(tmp_path / "curves.parquet"):
        made = against_published.published_settings("gpu")
    found = {row.quantity: row.measured for row in made.table}
    for rate in study.SEARCHES["ResNet CIFAR10, search"][1]["learning_rate"]:
        for batch, label in ((128, ""), (512, ", batch 512")):
            first = f"rate {rate:g}{label}: ln of the norm after one epoch, ours over published"
            expected = np.log(rate / 0.005 * 128 / batch)
            assert found[f"ResNet CIFAR10, search, {first}"] == pytest.approx(expected, abs=1e-9)
    same = "our test error less the published one at equal norm, rms over the curve"
    assert found[f"ResNet CIFAR10, search, rate 0.005: {same}"] < 5e-3
    single = pd.DataFrame(rows[:1]).assign(
        norm=lambda frame: frame["norm_as_published"]
    )  # a run cut off early
    assert (
        against_published.against_published(
            [single], against_published.published_curves("ResNet CIFAR10", "may")[0]
        )
        is None
    )
    assert (
        found[f"ResNet CIFAR10, search, rate 0.001: {same}"] is None
    )  # its norms stay below the published ones


def planted_runs(slope: float, exponent: float, seeds: int = 4, noise: float = 0.0) -> pd.DataFrame:
    """ε = P^−exponent λ^−slope up to λ = P, and rising after it; seeds scatter around it."""
    random, made = np.random.default_rng(0), []
    for size in (6000, 11000, 16000, 21000):
        norm = np.geomspace(1e-4 * size, 3 * size, 60)
        error = size**-exponent * np.minimum(norm, size) ** -slope * np.maximum(norm / size, 1.0)
        for seed in range(seeds):
            drawn = error * np.exp(noise * random.standard_normal())
            columns = {"run": f"{size}-{seed}", "n_data": size, "norm": norm, "test_error": drawn}
            made.append(pd.DataFrame(columns))
    return pd.concat(made, ignore_index=True)


def test_exponents_are_compared_with_the_published_at_equal_sizes_and_norms(published_are: Callable):
    """γ₁ is the slope in λ, γ that of the smallest error: exponent + slope, as λ_opt = P."""
    theirs = planted_runs(0.3, 0.1, seeds=1).assign(n_seeds=10)
    published_are(theirs)

    def rows(ours: pd.DataFrame) -> list:
        return against_published.exponent_rows("ResNet CIFAR10", "may", ours)

    one, two = rows(planted_runs(0.35, 0.1))
    assert one.measured == pytest.approx(0.05, abs=1e-6)
    assert two.measured == pytest.approx(0.05, abs=1e-3)
    assert (one.resolution, two.resolution) == pytest.approx((0.03, 0.04), abs=1e-3)
    shorter = planted_runs(0.3, 0.1)
    shorter = shorter[(shorter["norm"] < 0.1 * shorter["n_data"]) & (shorter["n_data"] > 6000)]
    one, two = rows(shorter)  # a shorter training on fewer sizes is no difference
    assert (one.measured, two.measured) == pytest.approx((0.0, 0.0), abs=1e-6)
    one, two = rows(planted_runs(0.3, 0.1, seeds=30, noise=0.1))
    assert one.stderr == pytest.approx(0.0, abs=1e-6)  # whole curves that are shifted keep their slope
    logs = np.log([6000, 11000, 16000, 21000])
    expected = 0.1 * np.sqrt(1 / 30 + 1 / 10) / np.linalg.norm(logs - logs.mean())
    assert two.stderr == pytest.approx(expected, rel=0.25)
    assert two.n == 4 * 29 + 1
    assert rows(planted_runs(0.3, 0.1, seeds=1)) == []  # one seed has no error


def test_our_runs_are_compared_with_the_printed_numbers_of_the_version_whose_settings_they_have(
    analysed: Analysed, monkeypatch: pytest.MonkeyPatch
):
    made = tuple(
        pairs.analysed(name, pairs.OURS, pairs.AS_PUBLISHED, pairs.planted(), version)
        for name, version in (("CNN MNIST", "september"), ("ResNet CIFAR10", "may"))
    )
    analysed(*made)
    monkeypatch.setattr(tables, "_like_for_like", lambda scale: [])
    printed = {
        row.quantity: row.paper for make in (tables.table1, tables.table2) for row in make("gpu").table
    }
    assert printed["CNN MNIST, ours, as published: γ measured"] == tables.TALK_TABLE_1["CNN MNIST"][1]
    assert printed["ResNet CIFAR10, ours, as published: γ measured"] == tables.TABLE_1["ResNet CIFAR10"][1]
    assert printed["CNN MNIST, ours, as published: γ₁"] is None  # of September no γ₁ is printed
    assert printed["ResNet CIFAR10, ours, as published: γ₁"] == tables.TABLE_2["ResNet CIFAR10"][0]


def test_leaving_out_one_value_gives_the_standard_error_of_a_mean():
    values = np.random.default_rng(0).standard_normal(12)
    left_out = [float(np.delete(values, k).mean()) for k in range(len(values))]
    assert jackknife(left_out) == pytest.approx(values.std(ddof=1) / np.sqrt(12))


@pytest.mark.parametrize("name", tables.TABLE_2)
def test_the_printed_tables_agree_with_each_other(name: str):
    """Table 1 predicts γ₁γ₂ of Table 2, with the error that follows from theirs, to the digits printed."""
    predicted, _, sigma = tables.TABLE_1[name]
    gamma_1, error_1, gamma_2, error_2 = tables.TABLE_2[name]
    assert predicted == pytest.approx(gamma_1 * gamma_2, abs=0.0125)
    assert sigma == pytest.approx(predicted * np.hypot(error_1 / gamma_1, error_2 / gamma_2), abs=0.01)


def test_slopes_in_the_authors_windows_are_those_of_planted_curves():
    """ε = λ^−0.5 below λ_opt = P/100 and rising above it: γ₁ = 0.5, γ₂ = 1, also from the third size on."""
    made = []
    for size in (1000, 2000, 4000, 8000):
        norm = np.geomspace(size * 1e-6, size, 200)
        best = norm[np.argmin(np.abs(norm - size / 100))]
        error = np.where(norm <= best, norm**-0.5, best**-0.5 * norm / best)
        made.append(pd.DataFrame({"n_data": size, "norm": norm, "test_error": error}))
    table = pd.concat(made)
    for windows in (Windows(1, 0.0, 0.5), Windows(3, 1e-2, 0.5), Windows(3, 0.0, 0.5, all_optima=True)):
        assert authors_exponents(table, windows) == pytest.approx((0.5, 1.0), abs=1e-9)
    # in a window beyond the optimum errors rise
    assert authors_exponents(table, Windows(1, 2.0, 50.0))[0] == pytest.approx(-1.0)


def test_the_printed_gamma_1_comes_out_of_mays_curves_to_its_last_digit():
    if not pairs.published_tables("may"):
        pytest.skip("no curves of May 2025 here: scalinglab data get damico2025-curves --version may")
    rows = [row for row in tables.authors_windows("laptop").table if row.quantity.endswith("γ₁")]
    assert len(rows) >= 5
    for row in rows:
        assert f"{row.measured:.{len(str(row.paper).partition('.')[2])}f}" == str(row.paper)


def test_runs_of_one_size_are_averaged_before_they_are_compared():
    """Errors 0.1 above and below the published ones average out; half of the seeds must reach a norm."""
    norm = np.geomspace(1, 100, 21)
    table = pd.DataFrame({"n_data": 1000, "norm": norm, "test_error": 0.5 * norm**-0.1})
    tables_of_sizes = pd.concat([table.assign(n_data=n) for n in (1000, 2000, 4000)])
    curve = pairs.analysed("x", pairs.PUBLISHED, pairs.AS_PUBLISHED, tables_of_sizes).runs[0]
    above, below = (table.assign(test_error=table["test_error"] + d) for d in (0.1, -0.1))
    assert against_published.against_published([above, below], curve) == pytest.approx(0.0, abs=1e-6)
    assert against_published.against_published([above], curve) == pytest.approx(0.1, abs=1e-6)
    short = above[above["norm"] < 3]
    assert against_published.against_published([below, below, short], curve) == pytest.approx(0.1, abs=0.03)
    assert against_published.against_published([short, short, table], curve) == pytest.approx(
        0.0667, abs=1e-3
    )


def test_norms_are_compared_at_equal_error():
    """Errors norm^−0.1 up to a minimum at 50: the same errors at norms 1.2 times as large, and back."""
    norm = np.geomspace(1, 100, 41)
    error = np.where(norm <= 50, 0.5 * norm**-0.1, 0.5 * 50**-0.1 * norm / 50)
    curve = against_published.PublishedCurve(1000, np.log(norm), np.log(error))
    for factor in (1.2, 1 / 1.2):
        run = pd.DataFrame({"norm": factor * norm, "test_error": error})
        assert against_published.norm_at_equal_error([run], curve) == pytest.approx(np.log(factor), abs=0.02)
    far = pd.DataFrame({"norm": norm, "test_error": 0.1 * error})
    assert against_published.norm_at_equal_error([far], curve) is None


@pytest.mark.slow
def test_the_authors_weight_decay_lowers_the_norm_and_sgd_trains():
    """At scale smoke they train on a CPU: L2 goes into Adam's gradient, and the whole norm falls behind."""
    norms = [column for column, _ in pairs.NORMS.values()]
    ends = {}
    for name in ("", ", L2", ", SGD"):
        part = study.trained("smoke", RunStorage(None), f"ViT digits{name}")
        assert part is not None
        ends[name] = part.frame.groupby("run").tail(1)
        assert np.isfinite(ends[name][norms].to_numpy()).all()
    assert (ends[", L2"]["norm_l2"].to_numpy() < ends[""]["norm_l2"].to_numpy()).all()


def test_the_authors_weight_decay_and_sgd_are_parts_of_every_kind_of_network():
    grids = study.parts("smoke")
    assert grids["ViT digits, L2"].setting["optimizer"] == "adam"
    assert grids["ViT digits, SGD"].setting["optimizer"] == "sgd"
    for pair in ("CNN CIFAR10", "ResNet CIFAR10", "ViT CIFAR10"):
        plain, decayed = (study.parts("gpu")[name].setting for name in (pair, f"{pair}, L2"))
        assert decayed["weight_decay"] > 0
        assert decayed["learning_rate"] == plain["learning_rate"]


def test_settings_that_no_run_shares_with_the_published_curves_are_refused(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(against_published, "published_curves", lambda name, version: [])
    with storing_in(tmp_path / "nothing"), pytest.raises(BadInput, match="data get damico2025-curves"):
        against_published.published_settings("gpu")
