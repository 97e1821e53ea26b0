"""The experiments of park2019: what the paper prints, and what runs at each scale."""

import math
import time

import numpy as np
import pytest

from scalinglab.curves import Curves
from scalinglab.errors import BadInput
from scalinglab.laws.noise.runs import Search
from scalinglab.results.distributions import Estimate
from scalinglab.studies import entries
from scalinglab.studies.trained import counted, storing_in
from scalinglab.train import Setting
from scalinglab_papers.park2019 import appendices, rows, scales, searches
from scalinglab_papers.park2019.design import EXPERIMENTS, TABLE_1
from scalinglab_papers.park2019.rows import concat_unique, estimate_row


def steps(settings: list[dict]) -> dict[tuple[float, int], int]:
    found = {}
    for own in settings:
        one = Setting(**own)
        found[one.learning_rate, one.batch_size] = one.total_steps(own["n_data"])
    return found


def test_a_search_that_figures_share_is_trained_once_and_counts_in_each(monkeypatch):
    asked = []

    def runs(settings, experiment):
        asked.append(settings)
        time.sleep(0.02)
        return Curves({"step": [0], "test_loss": [1.0]})

    monkeypatch.setattr(rows, "runs", runs)
    settings = [{"width": 2.0, "seed": "of this test"}]
    for _ in range(2):
        with counted("a figure") as work:
            rows.trained(settings)
        assert work.seconds >= 0.02
    assert asked == [settings]


def test_every_entry_of_the_paper_is_built():
    own = [entry for entry in entries().values() if entry.paper == "park2019"]
    assert len(own) == 21
    assert all(entry.built for entry in own)


def test_batch_searches_take_the_time_of_equation_16():
    """MNIST, 1LP: E_min = 120 epochs of 55,000 or 80,000 steps."""
    search = scales.batch_search("mnist 1LP ntk", "paper")
    found = steps([one for one in search if one["seed"] == 0])
    assert found[10.0, 8] == 825_000
    assert found[10.0, 96] == 80_000
    assert {one["seed"] for one in search} == set(range(20))


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        # eq. 17: slower, longer
        ("mnist 1LP ntk", {(10.0, 8): 825_000, (2.5, 8): 3_300_000, (40.0, 8): 825_000}),
        # table 1, not the 320,000 of eq. 16
        pytest.param("cifar10 CNN ntk", {(10.0, 256): 160_000}, marks=pytest.mark.slow),
        # not 1,518,750
        pytest.param("cifar10 WRN ntk", {(1.0, 8): 1_500_000}, marks=pytest.mark.slow),
    ],
)
def test_rate_searches_take_the_printed_reference_time(key, expected):
    found = steps(scales.rate_search(key, "paper"))
    assert {place: found[place] for place in expected} == expected


def test_settings_are_those_of_section_3():
    for key, experiment in EXPERIMENTS.items():
        own = scales.batch_search(key, "paper")[0]
        assert (own["optimizer"], own["momentum"]) == ("nesterov", 0.9)
        assert (own["fail_below"], own["fail_after"]) == (0.2, 0.2)
        size, pixels = (45_000, "standard") if experiment.dataset == "cifar10" else (55_000, "centred")
        assert (own["n_data"], own["normalize"]) == (size, pixels)
        assert own.get("batch_norm", False) is experiment.batch_norm
        Setting(**own)  # every key is known


def test_widths_are_converted_to_ours():
    perceptrons = {one["width"] for one in scales.batch_search("mnist 1LP ntk", "paper")}
    assert perceptrons == {1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0}
    convolutional = {one["width"] for one in scales.batch_search("fashion-mnist CNN ntk", "paper")}
    assert convolutional == {2, 3, 4, 6, 8, 12}


def test_regularised_networks_have_all_three_regularisers():
    own = scales.batch_search("cifar10 WRN standard regularised", "paper")[0]
    assert (own["dropout"], own["label_smoothing"], own["augment"]) == (0.3, 0.1, "crop_flip")


def test_the_grid_of_appendix_g_and_the_rates_of_appendix_h():
    grid = steps(scales.two_dimensional("paper"))
    assert grid[10.0, 192] == 412_500
    assert grid[20.0, 12] == math.ceil(120 * 55_000 / 12)
    assert grid[2.5, 12] == 1_650_000
    runs = scales.stability_search("2LP", "standard", "paper")
    assert {one["width"] * 128 for one in runs} == {512.0 * w for w in (1, 2, 4, 8, 16, 32)}
    assert "fail_below" not in runs[0]  # a failure is a numerical error, not an early stop


def test_printed_times_disagree_with_equation_16_where_they_do():
    told = {row.quantity: row.verdict for row in appendices.times("smoke", "ntk").table}
    wrong = [name for name, verdict in told.items() if verdict == "disagrees"]
    assert len(told) == len(TABLE_1)
    assert [name.split(",")[0] for name in wrong] == ["CNN on CIFAR-10", "WRN on CIFAR-10"]
    assert {row.verdict for row in appendices.times("smoke", "bn").table} == {"agrees"}


def test_parts_of_a_figure_are_chosen_by_name():
    with storing_in(None, ["mnist 1LP ntk"]):
        assert searches.keys("ntk", "gpu") == ("mnist 1LP ntk",)
    with storing_in(None, ["mnist 1LP ntc"]), pytest.raises(BadInput, match="mnist 1LP ntk"):
        searches.keys("ntk", "gpu")
    assert searches.keys("ntk", "paper") == tuple(TABLE_1)


def test_a_run_of_two_searches_is_taken_once():
    one = Curves({"run": ["a", "b"], "seed": [0, 1], "test_error": [0.1, 0.2]})
    other = Curves({"run": ["b", "c"], "seed": [1, 2], "test_error": [0.2, 0.3]})
    assert concat_unique([one, other]).runs == ["a", "b", "c"]


def test_the_gain_at_fixed_noise_is_told_from_that_at_the_optima():
    """Two widths with one accuracy at low noise, the wider one better at more noise."""
    from types import SimpleNamespace

    from scalinglab_papers.park2019.rows import share_at_fixed_noise

    level = np.array([1.0, 2.0, 4.0, 8.0])
    spread = 1e-4 * np.arange(-2.0, 3.0)
    narrow = Search(level, tuple(m + spread for m in (0.90, 0.92, 0.91, 0.80)), np.full(4, 5))
    wide = Search(level, tuple(m + spread for m in (0.902, 0.925, 0.94, 0.92)), np.full(4, 5))
    found = SimpleNamespace(
        searches=(narrow, wide), noise=np.array([2.0, 4.0]), accuracy=np.array([0.92, 0.94])
    )
    share = share_at_fixed_noise(found)
    assert share is not None
    assert share.value == pytest.approx(0.002 / 0.02)  # at noise 1, half of the smallest optimum
    assert share.low < 0.1 < share.high < 0.2


@pytest.mark.parametrize(
    ("low", "high", "relation", "verdict"),
    [(-1.1, 1.1, "=", "cannot tell"), (-1.6, 0.9, "=", "disagrees"), (-1.6, 0.9, "<", "agrees"),
     (-1.1, 1.1, "<", "cannot tell"), (0.75, 1.3, "=", "agrees"), (0.7, 1.6, "=", "cannot tell")],
)  # fmt: skip
def test_a_verdict_is_that_of_a_skewed_interval(low: float, high: float, relation: str, verdict: str):
    """And that of its mirror image."""
    value = low + 0.3 * (high - low)
    found = Estimate(value, low=low, high=high), Estimate(-value, low=-high, high=-low)
    mirrored = {"<": ">", "=": "="}[relation]
    for one, expected, how in zip(found, (1.0, -1.0), (relation, mirrored), strict=True):
        row = estimate_row("p", one, 40, expected=expected, relation=how, resolution=0.5)
        assert row.verdict == verdict


def test_rates_are_searched_where_the_paper_gives_a_batch_and_the_scale_keeps_them():
    kept = {("mnist CNN ntk", "gpu"), ("mnist 3LP ntk", "paper"), ("mnist 1LP ntk", "gpu")}
    left = {("mnist 3LP ntk", "gpu"), ("mnist 3LP standard", "gpu"), ("mnist 1LP standard", "paper")}
    assert {one for one in kept | left if searches.has_rates(*one)} == kept
