import pytest

from scalinglab.errors import BadInput
from scalinglab.papers.damico2025 import curves


@pytest.mark.parametrize("name", ["fig4", "fig8", "fig9", "table1", "table2", "talk_table1"])
def test_planted_exponents_are_recovered_at_scale_smoke(name):
    made = getattr(curves, name)("smoke")
    assert made.table
    assert all(row.agrees for row in made.table)
    assert (made.figure is not None) == name.startswith("fig")


def test_absent_curves_are_asked_for(tmp_path, monkeypatch):
    monkeypatch.setattr(curves, "search_path", lambda: [tmp_path])
    with pytest.raises(BadInput, match="SCALINGLAB_DATA"):
        curves.pairs.__wrapped__("laptop")
