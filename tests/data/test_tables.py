"""Published learning curves: copied from a folder, verified, and told of where they are missing."""

from pathlib import Path

import pytest

from scalinglab.data import tables
from scalinglab.errors import BadInput

NAME = "damico2025-curves"


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two small tables with their sums, in a folder of their own; an empty data folder."""
    import hashlib
    from dataclasses import replace

    source = tmp_path / "source"
    source.mkdir()
    sums = {}
    for name in ("a.csv", "b.csv"):
        (source / name).write_text(f"model,n_data,norm,test_error\n{name},10,1.0,0.5\n")
        sums[name] = hashlib.md5((source / name).read_bytes()).hexdigest()
    monkeypatch.setitem(tables.TABLES, NAME, replace(tables.TABLES[NAME], files=sums))
    monkeypatch.setattr(tables, "search_path", lambda: [tmp_path / "data"])
    monkeypatch.setattr(tables, "folder", lambda: tmp_path / "data")
    return source


def test_tables_are_copied_and_read(own: Path, tmp_path: Path):
    assert tables.tables_of(NAME) == []
    place = tables.get_tables(NAME, own)
    assert place == tmp_path / "data" / "learning-curves" / "damico2025"
    assert [table["model"].iloc[0] for table in tables.tables_of(NAME)] == ["a.csv", "b.csv"]
    assert tables.get_tables(NAME) == place


def test_without_a_folder_address_and_licence_are_told(own: Path):
    with pytest.raises(BadInput, match=r"github.com/Francill99/deep_norm.*licence: none stated"):
        tables.get_tables(NAME)


def test_a_changed_table_is_refused(own: Path):
    (own / "b.csv").write_text("model,n_data,norm,test_error\nb.csv,10,1.0,0.4\n")
    with pytest.raises(BadInput, match=r"b.csv is not the published table"):
        tables.get_tables(NAME, own)
    assert tables.tables_of(NAME) == []


def test_a_folder_without_the_tables_is_named(own: Path, tmp_path: Path):
    with pytest.raises(BadInput, match="does not hold damico2025-curves"):
        tables.get_tables(NAME, tmp_path)
