"""Parts of commands, called directly: errors in one line, digits that fit, standard errors, orders."""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from scalinglab import cli
from scalinglab.cli.tables import Surface
from scalinglab.errors import BadInput, NotDetermined, ScalinglabError
from scalinglab.laws import forms
from scalinglab.spectrum import Spectrum
from scalinglab.theory import kernel
from tests import fake_study


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (MemoryError("8 GB"), 1, "scalinglab: out of memory (8 GB); ask for less at once\n"),
        (MemoryError(), 1, "scalinglab: out of memory\n"),
        (OSError(28, "Disk full", "runs"), 1, "scalinglab: cannot use runs: Disk full\n"),
        (OSError("broken pipe"), 1, "scalinglab: broken pipe\n"),
        (BadInput("no such column"), 2, "scalinglab: no such column\n"),
        (NotDetermined("add larger sizes"), 3, "scalinglab: add larger sizes\n"),
        (ScalinglabError("did not converge"), 1, "scalinglab: did not converge\n"),
    ],
)  # fmt: skip
def test_an_error_is_one_line_and_a_status(monkeypatch, tmp_path, typed, capsys, error, status, said):
    def fails(scale: str) -> None:
        raise error

    fake_study.install(monkeypatch, tmp_path, make=fails)
    typed("reproduce", "paper/fig")
    with warnings.catch_warnings(), pytest.raises(SystemExit) as ended:
        cli.main()
    assert (ended.value.code, capsys.readouterr().err) == (status, said)
    typed("--debug", "reproduce", "paper/fig")
    with warnings.catch_warnings(), pytest.raises(type(error)):
        cli.main()


@pytest.mark.parametrize("debug", [True, False])
def test_a_warning_is_one_line_without_debug(monkeypatch, tmp_path, typed, capsys, debug):
    def warns(scale: str) -> None:
        warnings.warn("two runs are lost", stacklevel=1)
        raise BadInput("and no more")

    fake_study.install(monkeypatch, tmp_path, make=warns)
    typed(*["--debug"] * debug, "reproduce", "paper/fig")
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        with pytest.raises(BadInput if debug else SystemExit):
            cli.main()
    line = "scalinglab: warning: two runs are lost\n"
    assert (line in capsys.readouterr().err) == (not debug)


def test_a_variable_that_a_form_does_not_have_is_refused():
    table = Surface(file=Path("runs.csv"))
    form = forms.get("chinchilla")
    assert table.columns_of(form, {"n_data": "tokens"}) == {"n_params": "n_params", "n_data": "tokens"}
    with pytest.raises(BadInput, match=r"--var n_experts: chinchilla.*n_params, n_data"):
        table.columns_of(form, {"n_experts": "E"})


def test_a_spectrum_is_read_from_a_table_of_any_kind(tmp_path: Path):
    path = tmp_path / "spectrum.txt"
    path.write_text("eigenvalues\ttarget_power\n1\t1\n0.5\t0.25\n0.25\t0.1\n")
    words = ["theory", "kernel", "--spectrum", str(path), "--n-data", "2", "--json"]
    document = json.loads(CliRunner().invoke(cli.app, words).stdout)
    spectrum = Spectrum(np.array([1, 0.5, 0.25]), np.array([1, 0.25, 0.1]))
    assert document["loss"] == pytest.approx(kernel.learning_curve(spectrum, [2.0]).loss)


def test_forms_of_one_variable_are_listed_first():
    listed = json.loads(CliRunner().invoke(cli.app, ["laws", "forms", "--json"]).stdout)["forms"]
    several = [", " in row["variables"] for row in listed]
    assert several == sorted(several)
    assert {row["form"] for row in listed} == set(forms.FORMS)


def test_reading_into_a_store_says_how_the_table_was_understood_in_json_too(tmp_path: Path):
    table = tmp_path / "their.csv"
    table.write_text("train_size,err\n1000,0.3\n2000,0.2\n", encoding="utf-8")
    words = ["read", str(table), "--store", str(tmp_path / "runs"), "--column", "n_data=train_size"]
    words += ["--column", "test_error=err"]
    found = json.loads(CliRunner().invoke(cli.app, [*words, "--json"]).stdout)
    assert (found["runs_added"], found["runs_already_there"]) == (2, 0)
    assert "n_data" in found["understood"]
    again = CliRunner().invoke(cli.app, words).stdout
    assert "runs_already_there: 2" in again
    assert "understood:" not in again


def test_a_table_is_explained_column_by_column_and_nothing_is_stored(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("their.csv").write_text(
        "Params (M),D,eval/loss,date\n19,1e9,3.5,2024-05-01\n125,2e9,3.1,2024-05-02\n"
    )
    found = json.loads(CliRunner().invoke(cli.app, ["read", "their.csv", "--explain", "--json"]).stdout)
    read = {column["theirs"]: column for column in found["columns"]}
    assert (read["Params (M)"]["ours"], read["Params (M)"]["change"]) == ("n_params", "times 1e+06")
    assert (read["D"]["ours"], read["eval/loss"]["role"]) == ("tokens", "measured")
    assert (read["date"]["ours"], read["date"]["role"]) == ("", "left out")
    shown = CliRunner().invoke(cli.app, ["read", "their.csv", "--explain"]).stdout
    assert found["line"].split()[0] in shown
    assert not Path("runs").exists()
