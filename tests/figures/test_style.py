"""The style reaches whatever is drawn on its panels, at any time, and nothing else."""

import io

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.image import imread

from scalinglab.figures.style import STYLE, headroom, loglog, panels, sparse


def test_what_is_drawn_later_has_the_style():
    _, axes = panels()
    axis = axes[0, 0]
    (line,) = axis.plot([1, 10], [1, 0.1], "o-", label="a law")
    axis.set_title("a title")
    note, legend = axis.text(2, 0.5, "a note"), axis.legend(title="sizes")
    assert line.get_linewidth() == STYLE["lines.linewidth"]
    assert line.get_markersize() == STYLE["lines.markersize"]
    assert note.get_fontsize() == STYLE["font.size"]
    assert axis.get_title("left") == "a title"
    assert not legend.get_frame_on()
    assert {t.get_fontsize() for t in (*legend.get_texts(), legend.get_title())} == {STYLE["legend.fontsize"]}


def test_every_kind_of_plot_has_the_style():
    figure, axes = panels()
    axis = axes[0, 0]
    (step,) = axis.step([1, 2, 3], [1, 2, 1])
    vertical = axis.vlines([1.5], 0, 1)
    dots = axis.stem([1.0], [1.0]).markerline
    assert step.get_linewidth() == STYLE["lines.linewidth"]
    assert vertical.get_linewidth()[0] == STYLE["lines.linewidth"]
    assert dots.get_markersize() == STYLE["lines.markersize"]
    assert figure.supxlabel("size").get_fontfamily() == [STYLE["font.family"]]


def test_the_settings_of_others_stay_as_they_are():
    before = dict(mpl.rcParams)
    figure, axes = panels(1, 2)
    loglog(axes[0, 0], "n_data", "error", "title").plot([1, 10], [1, 0.1])
    figure.savefig(io.BytesIO())
    assert dict(mpl.rcParams) == before


def test_ticks_have_the_style_when_a_figure_is_saved():
    figure, axes = panels()
    axes[0, 0].plot([0, 1], [0, 1])
    figure.savefig(io.BytesIO())
    assert {label.get_fontsize() for label in axes[0, 0].get_xticklabels()} == {STYLE["font.size"]}


def test_a_title_wider_than_its_panel_is_saved_whole():
    widths = []
    for title in ("short", "a title that is much wider than the narrow panel it stands on"):
        figure, axes = panels(size=(2.0, 2.0))
        axes[0, 0].set_title(title)
        file = io.BytesIO()
        figure.savefig(file, dpi=100)
        file.seek(0)
        ink = (imread(file)[..., :3] < 0.5).all(axis=-1)
        assert not ink[:, -2:].any(), "the title runs into the edge of the picture"
        widths.append(ink.shape[1])
    assert widths[1] > 1.5 * widths[0]


def test_headroom_frees_the_upper_part_of_log_axes():
    _, axes = panels()
    axis = loglog(axes[0, 0], "x", "y")
    axis.set_ylim(0.01, 1.0)
    headroom(axis, 0.25)
    low, high = np.log(axis.get_ylim())
    assert np.isclose((np.log(1.0) - low) / (high - low), 0.75)
    axis.set_ylim(0.01, 1.0)
    headroom(axis, 1.2)  # as many lines as would fill the panel
    low, high = np.log(axis.get_ylim())
    assert np.isclose((np.log(1.0) - low) / (high - low), 0.6)


def labels(ruler):
    """The labels of an axis that are in view, from its lower end up."""
    low, high = ruler.get_view_interval()
    ticks = {
        float(place): ruler.get_major_formatter()(place) or "" for place in ruler.get_majorticklocs()
    } | {float(place): ruler.get_minor_formatter()(place) or "" for place in ruler.get_minorticklocs()}
    return [text for place, text in sorted(ticks.items()) if low <= place <= high and text]


@pytest.mark.parametrize(
    ("ends", "all_of_them", "few"),
    [
        ((100, 2e4), ["100", "1000", "10000"], ["100", "300", "1000", "3000", "10000"]),
        ((150, 1200), ["200", "500", "1000"], ["200", "500", "1000"]),
        (
            (1e3, 2e5), ["$10^{3}$", "$10^{4}$", "$10^{5}$"],
            ["$10^{3}$", r"$3\times10^{3}$", "$10^{4}$", r"$3\times10^{4}$", "$10^{5}$"],
        ),
        ((4e7, 6e8), *[["50M", "100M", "200M", "500M"]] * 2),
        ((4e18, 6e19), *[[r"$5\times10^{18}$", "$10^{19}$", r"$2\times10^{19}$", r"$5\times10^{19}$"]] * 2),
        ((1.5e-5, 6e-5), *[[r"$2\times10^{-5}$", r"$5\times10^{-5}$"]] * 2),
    ],
)  # fmt: skip
def test_the_numbers_of_a_log_axis_are_all_of_one_kind(ends, all_of_them, few):
    _, axes = panels()
    axis = loglog(axes[0, 0], "x", "y")
    axis.set(xlim=ends, ylim=ends)
    assert labels(axis.xaxis) == all_of_them
    sparse(axis.xaxis)
    assert labels(axis.xaxis) == few
    kinds = {"$" in text for text in labels(axis.yaxis)}
    assert kinds == {"$" in few[0]}
