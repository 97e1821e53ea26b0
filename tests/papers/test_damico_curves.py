import pytest

from scalinglab.errors import BadInput
from scalinglab.papers.damico2025 import curves


@pytest.mark.parametrize("name", ["fig4", "table1", "table2", "talk_table1"])
def test_planted_exponents_are_recovered_at_scale_smoke(name):
    made = getattr(curves, name)("smoke")
    assert made.table
    for row in made.table:  # of a stand-in: nothing stands in the paper's column
        assert row.paper is None
        assert row.relation == "<" or row.measured == pytest.approx(row.expected, abs=0.02)


@pytest.mark.parametrize("name", ["fig8", "fig9"])
def test_figures_of_numbers_that_a_table_holds_judge_nothing(name):
    made = getattr(curves, name)("smoke")
    assert made.figure is not None
    assert made.table == ()


def test_a_pair_without_public_curves_cannot_be_told():
    row = curves._row(None, "ViT MNIST", "γ₁", 0.14, 0.01)
    assert (row.measured, row.paper, row.verdict) == (None, 0.14, "cannot tell")


def test_absent_curves_are_asked_for(tmp_path, monkeypatch):
    monkeypatch.setattr(curves, "search_path", lambda: [tmp_path])
    with pytest.raises(BadInput, match="SCALINGLAB_DATA"):
        curves.pairs.__wrapped__("laptop")
