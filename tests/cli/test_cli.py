"""The command line: exit codes, one JSON document, no traceback for bad input."""

import json
import os
import re
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import numpy as np
import pandas as pd
import pytest
import typer
from typer.testing import CliRunner

from scalinglab.cli import app, main
from scalinglab.cli.options import numbers
from scalinglab.cli.output import Output, render
from scalinglab.errors import BadInput
from scalinglab.results.types import as_json


def emit(document, table=None, **where) -> None:
    render(lambda: Output(document, table), **where)


Scalinglab = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def scalinglab(typed: Callable[..., None], capsys: pytest.CaptureFixture[str]) -> Scalinglab:
    """The program within this process: its arguments, its exit status and what it printed."""

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        typed(*words)
        with pytest.raises(SystemExit) as ended:
            main()
        return subprocess.CompletedProcess(words, ended.value.code, *capsys.readouterr())

    return run


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["--version"], 0, "scalinglab 0.1.0"),
        (["reproduce", "list"], 0, "damico2025/fig1"),
        (["reproduce", "park2019/fgi1"], 2, "park2019/fig"),
        (["reproduce", "nothing"], 2, "'scalinglab reproduce list' shows all"),
        (["reproduce", "park2018"], 2, "did you mean 'park2019'?"),
        (["reproduce", "list", "--missing"], 0, " without a record"),
        (["reproduce", "claims", "--paper", "park2018"], 2, "no paper 'park2018'"),
        (["reproduce", "check", "--paper", "park2018"], 2, "no paper 'park2018'"),
        (["reproduce", "park2019/fig1", "--missing"], 2, "--missing goes with"),
        (["reproduce", "list", "--scale", "smoke"], 2, "--scale goes with a paper or a key"),
        (["reproduce", "hoffmann2022", "--scale", "huge"], 2, "no scale 'huge'"),
        (["reproduce", "hoffmann2022", "--scale", "paper"], 2, "no entry of hoffmann2022"),
        (["reproduce", "list", "--write"], 2, "scalinglab reproduce check"),
        (["report", "nowhere.csv"], 2, "nowhere.csv"),
        (["rpeort"], 2, "report"),
    ],
)
def test_exit_status_and_message(scalinglab: Scalinglab, words: list[str], status: int, said: str):
    result = scalinglab(*words)
    assert result.returncode == status
    assert said in result.stdout + result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("columns", "status"), [("n_params,optim,loss", 0), ("n_params,HellaSwag acc,ARC acc", 3)]
)
def test_kinds_of_runs_are_answered_and_a_choice_of_scores_is_a_refusal(
    scalinglab: Scalinglab, tmp_path: Path, columns: str, status: int
):
    rows = [[f"1e{k},adamw,{3.9 - k / 10}", f"1e{k},soap,{3.8 - k / 10}"] for k in (7, 8, 9)]
    if status == 3:
        rows = [[f"1e{k},{k / 10 - 0.4},{k / 10 - 0.3}"] for k in (7, 8, 9)]
    (tmp_path / "runs.csv").write_text("\n".join([columns, *(line for pair in rows for line in pair)]))
    assert scalinglab("answer", str(tmp_path / "runs.csv")).returncode == status


def test_debug_lets_the_error_through(typed: Callable[..., None]):
    typed("--debug", "report", "nowhere.csv")
    with pytest.raises(BadInput, match=r"nowhere\.csv"):
        main()


def commands(
    group: click.Command, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    inside = getattr(group, "commands", None)
    if inside is None:
        yield path, group
    for name, command in (inside or {}).items():
        yield from commands(command, (*path, name))


@pytest.mark.slow
def test_every_command_teaches_by_example():
    """Each help shows a command line to copy; ':100:' inside one must not turn into a picture."""
    every = list(commands(typer.main.get_command(app)))
    assert len(every) > 25
    for path, command in every:
        example = " ".join(("scalinglab", *path))
        assert example in (command.help or ""), f"{example} --help has no example"
        texts = (command.help, *(getattr(option, "help", None) for option in command.params))
        if not any(re.search(r":\w+:", text) for text in texts if text):
            continue  # nothing that could be a picture's name
        words = CliRunner().invoke(app, [*path, "--help"], prog_name="scalinglab", terminal_width=200).output
        assert words.count(example) >= 2  # the first is the usage line
        pictures = [letter for letter in words if ord(letter) >= 0x1F000]
        assert not pictures, f"{example} --help shows {pictures}"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["laws", "fit", "head.csv"], "head.csv has no rows"),
        (["laws", "fit", "one.csv"], "no size varies"),
        (["laws", "fit", "one.csv", "--x", "n_data"], "a law needs several sizes"),
        (["laws", "fit", "store"], "store holds no runs"),
        (["read", "head.csv"], "head.csv has no rows"),
        (["read", "store", "--store", "another"], "store holds no runs"),
        (["report", "store"], "store holds no runs"),
        (["report", "good.csv", "--where", "n_data"], "--where 'n_data': write COLUMN=VALUE"),
        (["report", "good.csv", "--where", "model=cnn"], "no column 'model' to select by"),
        (["report", "good.csv", "--where", "n_data=123"], "no row has n_data = 123"),
        (["laws", "fit", "good.csv", "--level", "2"], "level=2.0"),
        (["laws", "fit", "good.csv", "--at", "-5", "--no-figure"], "at=-5"),
        (["report", "nowhere"], "does not exist"),
        (["theory", "kernel", "--spectrum", "empty.csv"], "is empty"),
        (["train", "--n-data", "2.5"], "--n-data 2.5 must be a whole number"),
        (["train", "--n-data", "40", "--device", "nonsense"], "device='nonsense'"),
        (["laws", "fit", "good.csv", "--form", "chinchilla"], "'laws surface'"),
        (["laws", "fit", "good.csv", "--figure", "law.docx"], "unknown ending '.docx'"),
        (["theory", "perceptron", "--load", "5", "--out", "x.txt"], "use .csv or .parquet or .json"),
        (["laws", "surface", "good.csv", "--compute", "-1"], "compute=-1 must be positive"),
        (["plan", "next", "good.csv", "--x", "n_data", "--y", "test_error", "--budget", "1"], "no candidate"),
        (["plan", "approaches", "surface.csv", "--compute", "-1"], "compute=-1 must be positive"),
        (
            ["plan", "approaches", "surface.csv", "--compute", "1", "--flops-per-param-example", "0"],
            "flops_per_param_example=0 must be positive",
        ),
        (["read", "good.csv", "--store", "good.csv"], "good.csv is a file"),
        (["report", "good.csv", "-o", "store"], "store is a folder"),
        (["sweep", "store"], "store is a folder; a grid is a TOML file"),
        (["board", "good.csv"], "good.csv is a file"),
        (["board", "store", "--port", "70000"], "port=70000"),
    ],
)
def test_wrong_input_is_told_in_one_line(
    words: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "head.csv").write_text("n_data,test_error\n")
    (tmp_path / "one.csv").write_text("n_data,test_error\n100,0.5\n")
    (tmp_path / "store" / "sealed").mkdir(parents=True)
    rows = "".join(f"{n},{0.05 + 3 * n**-0.5}\n" for n in (100, 200, 400, 800, 1600))
    (tmp_path / "good.csv").write_text("n_data,test_error\n" + rows)
    (tmp_path / "surface.csv").write_text("n_params,n_data,loss\n1e6,1e8,4\n1e7,1e9,3\n1e8,1e10,2\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadInput, match=re.escape(said)) as told:
        CliRunner().invoke(app, words, catch_exceptions=False)
    assert "\n" not in str(told.value)


def test_errors_of_the_machine_are_told_in_one_line(scalinglab: Scalinglab):
    """More than the memory holds is bad input: one line that says so."""
    result = scalinglab(
        "simulate", "perceptron", "--load", "5", "--sharpness", "1", "--n-params", "100000000"
    )
    assert result.returncode == 2
    assert "memory" in result.stderr
    assert result.stderr.count("\n") == 1
    result = scalinglab("theory", "bottlenecks", "--out", "/dev/null/result.csv")
    assert result.returncode == 1
    assert result.stderr == "scalinglab: cannot use /dev/null: File exists\n"


def test_warnings_are_told_in_one_line(scalinglab: Scalinglab, tmp_path: Path):
    """A damaged file is left out and named, once, on stderr."""
    (tmp_path / "store" / "sealed").mkdir(parents=True)
    (tmp_path / "store" / "sealed" / "damaged.parquet").write_text("no table at all")
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        result = scalinglab("report", str(tmp_path / "store"))
    first, second = result.stderr.splitlines()
    assert first.startswith(f"scalinglab: warning: {tmp_path}/store/sealed/damaged.parquet is damaged")
    assert second == f"scalinglab: the store {tmp_path}/store holds no runs with a checkpoint yet"


def test_tables_show_long_and_bracketed_text_whole(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    path = "/a/long/path/that/does/not/fit/into/a/narrow/terminal/[bold]:100:"
    emit({}, pd.DataFrame({"where": [path]}))
    shown = "".join(line.strip("│ ") for line in capsys.readouterr().out.splitlines())
    assert path in shown


def test_a_wide_table_rounds_numbers_and_never_cuts_them(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    names = ("step", "norm", "test_error", "test_error_stderr", "theory", "train_loss", "margin_min")
    values = np.array([[1.0, -0.01234567, 0.1553671, 2.867912e-5, 0.1616724, 5.796831e-21, -0.9764752]])
    emit({}, pd.DataFrame(values, columns=names))
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    shown = [float(text) for text in lines[-2].strip("│").split("│")]
    assert shown == pytest.approx(values[0].tolist(), rel=1e-3)
    heads = [
        "".join(parts).replace(" ", "") for parts in zip(*(line.split("┃")[1:-1] for line in lines[1:3]))
    ]
    assert heads == list(names)
    monkeypatch.setenv("COLUMNS", "30")  # nothing helps here: rather wider than wrong
    emit({}, pd.DataFrame(values, columns=names))
    assert "5.8e-21" in capsys.readouterr().out


@pytest.mark.parametrize(("rows", "step"), [(50, 1), (51, 2), (300, 6)])
def test_a_long_table_is_thinned_evenly_and_keeps_its_ends(rows: int, step: int, capsys):
    emit({}, pd.DataFrame({"place": range(rows)}))
    said = capsys.readouterr().out
    shown = [int(number) for number in re.findall(r"│ +(\d+) │", said)]
    assert shown[0] == 0
    assert shown[-1] == rows - 1
    assert set(np.diff(shown[:-1])) == {step}
    assert ("--out FILE" in said) == (step > 1)


def test_long_lines_go_on_indented_and_break_no_word(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    emit({"spectrum": "PowerLaw(task_exponent=1.5, n_modes=1000000000)", "folder": "/a" * 30})
    first, second, *folder = capsys.readouterr().out.splitlines()
    assert (first, second) == ("spectrum: PowerLaw(task_exponent=1.5,", "  n_modes=1000000000)")
    assert "/a" * 30 in "\n".join(folder)


def test_json_is_one_document_and_nothing_else(scalinglab: Scalinglab):
    document = json.loads(scalinglab("reproduce", "list", "--json").stdout)
    keys = {entry["key"] for entry in document["entries"]}
    assert {"damico2025/fig1", "bahri2021/fig3", "bordelon2024/fig2a", "park2019/fig1"} <= keys


def test_a_paper_lists_its_own_figures_with_claims_and_scales(scalinglab: Scalinglab):
    document = json.loads(scalinglab("reproduce", "hoffmann2022", "--json").stdout)
    (entry,) = document["entries"]
    assert entry["key"] == "hoffmann2022/refit"
    assert "surface" in entry["claim"]
    assert entry["scales"] == ["smoke", "laptop"]
    said = scalinglab("reproduce", "damico2025/").stdout
    assert "damico2025/fig1 " in said
    assert "bahri2021" not in said


def test_interrupt_ends_with_130(tmp_path: Path):
    code = (
        "import os, signal, threading, scalinglab.cli as c\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it\n"
        "@c.app.command('wait')\n"
        "def wait() -> None:\n"
        "    threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()\n"
        "    threading.Event().wait(20)\n"
        "import sys; sys.argv = ['scalinglab', 'wait']; c.main()"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=os.environ)
    assert result.returncode == 130
    assert signal.SIGINT.name not in result.stderr
    assert "Traceback" not in result.stderr


def test_grid_reads_numbers_lists_and_log_ranges():
    assert numbers("--at", "5").tolist() == [5.0]
    assert numbers("--at", "1,2,4").tolist() == [1.0, 2.0, 4.0]
    assert numbers("--at", "0.1:10:3") == pytest.approx([0.1, 1.0, 10.0])


@pytest.mark.parametrize("text", ["", "a", "1:2", "10:1:5", "0:1:5", "1:10:1", "1,b"])
def test_grid_refuses_what_it_cannot_read(text: str):
    with pytest.raises(BadInput, match="log range"):
        numbers("--at", text)


def test_plain_has_no_nan():
    assert as_json({"a": np.array([1.0, np.nan]), "b": np.float32(np.inf), "c": (np.int64(2), "x")}) == {
        "a": [1.0, None], "b": None, "c": [2, "x"],
    }  # fmt: skip


@pytest.mark.parametrize("ending", ["csv", "parquet", "json"])
def test_out_writes_the_table_by_its_ending(tmp_path: Path, ending: str):
    out = tmp_path / f"result.{ending}"
    emit({"x": np.array([1.0, 2.0]), "name": "law"}, as_json=True, out=out)
    readers = {"csv": pd.read_csv, "parquet": pd.read_parquet}
    if ending == "json":
        assert json.loads(out.read_text()) == {"x": [1.0, 2.0], "name": "law"}
    else:
        assert readers[ending](out)["x"].tolist() == [1.0, 2.0]


def test_out_refuses_an_unknown_ending(tmp_path: Path):
    with pytest.raises(BadInput, match="xlsx"):
        emit({"x": [1]}, out=tmp_path / "result.xlsx")
