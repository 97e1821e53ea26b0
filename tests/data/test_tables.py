"""Published learning curves: fetched, read from the authors' files or tables of a folder, and verified."""

import functools
import http.server
import json
import os
import pickle
import shutil
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from scalinglab.cli import app
from scalinglab.data import tables
from scalinglab.errors import BadInput, ScalinglabError
from scalinglab_papers.damico2025.published import TABLES, read_arrays

NAME = "damico2025-curves"
SIZES, NORMS = np.array([100, 200]), np.array([1.0, 10.0, 100.0])
ERRORS = np.array([[0.5, 0.25, np.nan], [np.nan, 0.25, 0.125]])


def arrays(**changed: object) -> dict[str, object]:
    """What one of the authors' files holds: two sizes, three norms, of which each size reaches two."""
    held = {"P_arr": SIZES, "seed_arr": [1, 2, 3], "log_x_grid": NORMS, "mean_val_error_arr": ERRORS}
    return {**held, "gamma_1": np.float64(0.3), **changed}


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone of the authors' repository with two pairs, one of which has a known sum; an empty data folder.

    What is fetched comes from that clone.
    """
    source = tmp_path / "source" / "analysis"
    source.mkdir(parents=True)
    for pair in ("CNN_MNIST", "ViT_MNIST"):
        np.save(source / f"{pair}.npy", arrays())
    known = {"CNN_MNIST": tables.numbers(read_arrays(source / "CNN_MNIST.npy")), "ViT_MNIST": ""}
    changed = {"pairs": known, "raw": source.as_uri() + "/{pair}.npy", "commits": ("one", "two")}
    monkeypatch.setitem(TABLES, NAME, replace(TABLES[NAME], **changed))
    monkeypatch.setenv("SCALINGLAB_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "source"


def test_the_authors_arrays_become_one_row_a_size_and_norm(own: Path) -> None:
    table = read_arrays(own / "analysis" / "CNN_MNIST.npy")
    assert table.to_dict("list") == {
        "model": ["CNN"] * 4, "dataset": ["MNIST"] * 4, "n_data": [100, 100, 200, 200],
        "norm": [1.0, 10.0, 10.0, 100.0], "test_error": [0.5, 0.25, 0.25, 0.125], "n_seeds": [3] * 4,
    }  # fmt: skip


def test_errors_in_percent_are_read_as_fractions(tmp_path: Path) -> None:
    np.save(tmp_path / "CNN_MNIST.npy", arrays(mean_val_error_arr=100 * ERRORS))
    assert np.allclose(read_arrays(tmp_path / "CNN_MNIST.npy")["test_error"], [0.5, 0.25, 0.25, 0.125])


class Harmful:
    """Runs a command where it is unpickled."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, ("touch harmed",)


@pytest.mark.parametrize(
    ("held", "message"),
    [
        (arrays(extra=Harmful()), r"no NumPy file with a dictionary of arrays: it holds (posix|nt)\.system"),
        ({"P_arr": SIZES}, "lacks log_x_grid, mean_val_error_arr, seed_arr"),
        (arrays(mean_val_error_arr=ERRORS[:1]), r"shape \(1, 3\), expected sizes × norms: \(2, 3\)"),
        (np.zeros(3), "holds a plain array"),
        ([1, "a"], "holds ndarray, not a dictionary"),
    ],
)
def test_files_of_another_form_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, held: object, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    value = np.array(held, dtype=object) if isinstance(held, list) else held
    np.save(tmp_path / "CNN_MNIST.npy", value)
    with pytest.raises(BadInput, match=message):
        read_arrays(tmp_path / "CNN_MNIST.npy")
    assert not (tmp_path / "harmed").exists()


def test_a_file_that_is_no_array_is_refused(tmp_path: Path) -> None:
    (tmp_path / "CNN_MNIST.npy").write_bytes(pickle.dumps(arrays()))
    with pytest.raises(BadInput, match="no NumPy file"):
        read_arrays(tmp_path / "CNN_MNIST.npy")


def test_curves_are_fetched_and_read(own: Path, tmp_path: Path) -> None:
    assert tables.tables_of(NAME) == []
    place = tables.get_tables(NAME)
    assert place == tmp_path / "data" / "learning-curves" / "damico2025"
    assert [table["model"].iloc[0] for table in tables.tables_of(NAME)] == ["CNN", "ViT"]
    assert tables.get_tables(NAME) == place


@pytest.fixture
def served(own: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Path, list[str]]]:
    """A web server with the two pairs at two commits, and what was asked of it with its answers."""
    base, asked = own / "web", []
    for commit in ("two", "one"):
        shutil.copytree(own / "analysis", base / commit / "analysis")

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_request(self, code: object = "-", size: object = "-") -> None:
            asked.append(f"{self.path} {int(code)}")  # type: ignore[call-overload]

        def log_message(self, *words: object) -> None:
            pass

    handler = functools.partial(Handler, directory=str(base))
    httpd = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=httpd.serve_forever, args=(0.02,), daemon=True).start()
    raw = f"http://127.0.0.1:{httpd.server_port}/{{commit}}/analysis/{{pair}}.npy"
    monkeypatch.setitem(TABLES, NAME, replace(TABLES[NAME], raw=raw))
    yield base, asked
    httpd.shutdown()
    httpd.server_close()


def test_the_command_fetches_over_http_from_the_latest_commit_that_has_a_file(
    served: tuple[Path, list[str]], tmp_path: Path
) -> None:
    base, asked = served
    (base / "one" / "analysis" / "CNN_MNIST.npy").unlink()
    said = CliRunner().invoke(app, ["data", "get", NAME, "--json"], catch_exceptions=False)
    answers = ["/one/analysis/CNN_MNIST.npy 404", "/two/analysis/CNN_MNIST.npy 200"]
    assert asked == [*answers, "/one/analysis/ViT_MNIST.npy 200"]
    assert [table["model"].iloc[0] for table in tables.tables_of(NAME)] == ["CNN", "ViT"]
    holds = json.loads(said.stdout)["holds"]
    assert "verified by sums: CNN MNIST" in holds
    assert "github.com/Francill99/deep_norm" in holds


@pytest.mark.parametrize("damage", ["changed", "cut", "page"])
def test_what_comes_over_http_and_is_not_the_published_file_is_refused(
    served: tuple[Path, list[str]], tmp_path: Path, damage: str
) -> None:
    base, asked = served
    for commit in ("one", "two"):
        file = base / commit / "analysis" / "CNN_MNIST.npy"
        if damage == "changed":
            np.save(file, arrays(mean_val_error_arr=ERRORS + 1e-8))
        else:
            file.write_bytes(file.read_bytes()[:-40] if damage == "cut" else b"<html>sign in</html>")
    message = "published curves" if damage == "changed" else "no NumPy file with a dictionary of arrays"
    with pytest.raises(ScalinglabError, match=message):
        tables.get_tables(NAME)
    assert [line[-3:] for line in asked[:2]] == ["200", "200"]
    assert not list((tmp_path / "data").glob("**/*.csv"))


def test_what_has_no_known_sum_may_be_missing(own: Path) -> None:
    (own / "analysis" / "ViT_MNIST.npy").unlink()
    tables.get_tables(NAME)
    assert [table["model"].iloc[0] for table in tables.tables_of(NAME)] == ["CNN"]


def test_without_a_network_address_and_licence_are_told(own: Path) -> None:
    (own / "analysis" / "CNN_MNIST.npy").unlink()
    with pytest.raises(ScalinglabError, match=r"(?s)github.com/Francill99/deep_norm.*licence: none"):
        tables.get_tables(NAME)


def test_a_clone_of_the_repository_is_read(own: Path) -> None:
    tables.get_tables(NAME, own)
    assert [table["model"].iloc[0] for table in tables.tables_of(NAME)] == ["CNN", "ViT"]


def test_tables_of_a_folder_are_copied(own: Path, tmp_path: Path) -> None:
    table = read_arrays(own / "analysis" / "CNN_MNIST.npy")
    (tmp_path / "tables").mkdir()
    table.to_csv(tmp_path / "tables" / "cnn-mnist.csv", index=False)
    tables.get_tables(NAME, tmp_path / "tables")
    pd.testing.assert_frame_equal(tables.tables_of(NAME)[0], table)


def test_changed_curves_are_refused(own: Path) -> None:
    np.save(own / "analysis" / "CNN_MNIST.npy", arrays(mean_val_error_arr=ERRORS + 1e-8))
    for origin in (own, None):
        with pytest.raises(ScalinglabError, match="does not hold the published curves"):
            tables.get_tables(NAME, origin)
    assert tables.tables_of(NAME) == []


def test_a_folder_without_the_tables_is_named(own: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"damico2025-curves.*CNN_MNIST.npy"):
        tables.get_tables(NAME, tmp_path)


def test_versions_of_a_set_are_kept_apart(own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    later = own / "analysis" / "CNN_MNIST.npy"
    earlier = tmp_path / "earlier"
    earlier.mkdir()
    np.save(earlier / "CNN_MNIST.npy", arrays(mean_val_error_arr=0.5 * ERRORS))
    known = {"CNN_MNIST": tables.numbers(read_arrays(earlier / "CNN_MNIST.npy")), "ViT_MNIST": ""}
    monkeypatch.setitem(TABLES, f"{NAME}-may", replace(TABLES[f"{NAME}-may"], pairs=known))
    for folder, version in ((own, "september"), (earlier, "may")):
        found = CliRunner().invoke(
            app, ["data", "get", NAME, "--version", version, "--from", str(folder), "--json"]
        )
        assert found.exit_code == 0, found.output
    first, second = (tables.tables_of(str(tables.key_of(NAME, v)))[0] for v in ("september", "may"))
    assert np.allclose(second["test_error"], 0.5 * first["test_error"])
    with pytest.raises(BadInput, match=r"may.*september"):
        tables.get_tables(f"{NAME}-may", later.parent)
    with pytest.raises(BadInput, match="september, may"):
        tables.key_of(NAME, "june")
