"""The command line: exit codes, one JSON document, no traceback for bad input."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from scalinglab.cli.output import emit, grid, plain
from scalinglab.errors import BadInput


def scalinglab(*words: str, **kwargs) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "scalinglab", *words], capture_output=True, text=True, **kwargs
    )


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["--version"], 0, "scalinglab 0.1.0"),
        (["reproduce", "list"], 0, "damico2025/fig1"),
        (["reproduce", "park2019/fig1"], 2, "not built yet"),
        (["reproduce", "park2019/fgi1"], 2, "park2019/fig"),
        (["report", "nowhere.csv"], 2, "nowhere.csv"),
        (["rpeort"], 2, "report"),
    ],
)
def test_exit_status_and_message(words: list[str], status: int, said: str):
    result = scalinglab(*words)
    assert result.returncode == status
    assert said in result.stdout + result.stderr
    assert "Traceback" not in result.stderr


def test_debug_shows_the_traceback():
    result = scalinglab("--debug", "report", "nowhere.csv")
    assert result.returncode != 0
    assert "Traceback" in result.stderr


def test_every_command_teaches_by_example():
    help_text = scalinglab("--help").stdout
    for command in ("demo", "theory", "simulate", "laws", "plan", "reproduce", "report", "data"):
        assert command in help_text


def test_json_is_one_document_and_nothing_else():
    document = json.loads(scalinglab("reproduce", "list", "--json").stdout)
    keys = {entry["key"] for entry in document["entries"]}
    assert {"damico2025/fig1", "bahri2021/fig3", "bordelon2024/fig2a", "park2019/fig1"} <= keys


def test_interrupt_ends_with_130(tmp_path: Path):
    code = (
        "import os, signal, threading, scalinglab.cli as c\n"
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
    assert grid("5").tolist() == [5.0]
    assert grid("1,2,4").tolist() == [1.0, 2.0, 4.0]
    assert grid("0.1:10:3") == pytest.approx([0.1, 1.0, 10.0])


@pytest.mark.parametrize("text", ["", "a", "1:2", "10:1:5", "0:1:5", "1:10:1", "1,b"])
def test_grid_refuses_what_it_cannot_read(text: str):
    with pytest.raises(BadInput, match="log range"):
        grid(text)


def test_plain_has_no_nan():
    assert plain({"a": np.array([1.0, np.nan]), "b": np.float32(np.inf), "c": (np.int64(2), "x")}) == {
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
