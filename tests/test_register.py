"""What users and installed packages add: each kind by its decorator, all of them by the template."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import scalinglab as sl
from scalinglab.errors import BadInput
from scalinglab.studies import registry
from scalinglab.support import extensions

ROOT = Path(__file__).parents[1]
PLUGIN = ROOT / "examples" / "plugin"


@pytest.fixture(autouse=True)
def nothing_stays(monkeypatch):
    monkeypatch.setattr(extensions, "_ADDED", {kind: {} for kind in extensions.KINDS})


@pytest.mark.slow
def test_training_takes_registered_names() -> None:
    torch = pytest.importorskip("torch")

    @sl.register.network("pair")
    def pair(s):
        return torch.nn.Linear(2, s.get("outputs", 2))

    @sl.register.dataset("halves")
    def halves(n: int = 40):
        x = torch.linspace(-1, 1, 2 * n * 2).view(2 * n, 2)
        return x[:n], (x[:n, 0] > -0.5).long(), x[n:], (x[n:, 0] > 0.5).long()

    @sl.register.optimizer("plain")
    def plain(parameters, setting):
        return torch.optim.SGD(parameters, lr=setting["learning_rate"])

    setting = {"model": "pair", "dataset": "halves", "optimizer": "plain", "steps": 5, "measure": []}
    frame = sl.train.run({**setting, "data_options": {"n": 30}}, progress=False).frame
    assert set(frame["model"]) == {"pair"}
    assert set(frame["n_data"]) == {30}
    assert set(frame["n_params"]) == {6}
    with pytest.raises(BadInput, match="'plain'"):
        sl.train.run({**setting, "optimizer": "plian"})


def test_reading_and_fitting_take_registered_names(tmp_path) -> None:
    @sl.register.reader("columns")
    def columns(path):
        rows = [line.split() for line in Path(path).read_text().splitlines()]
        return {"n_data": [int(a) for a, _ in rows], "test_loss": [float(b) for _, b in rows]}

    @sl.register.form("reciprocal")
    def reciprocal():
        return sl.laws.Form(
            "reciprocal", "a/x", (sl.laws.Parameter("a", linear=True),), lambda x, a: a / np.asarray(x)
        )

    file = tmp_path / "log.txt"
    file.write_text("10 0.3\n20 0.15\n40 0.075\n80 0.0375\n")
    curves = sl.read(file, kind="columns")
    assert curves["test_loss"].tolist() == [0.3, 0.15, 0.075, 0.0375]
    law = sl.laws.fit("reciprocal", curves["n_data"], curves["test_loss"])
    assert law.parameters["a"] == pytest.approx(3.0)
    with pytest.raises(BadInput, match="'columns'"):
        sl.read(tmp_path, kind="colums")
    with pytest.raises(BadInput, match="'reciprocal'"):
        sl.laws.fit("reciprocl", [1.0, 2.0, 3.0], [3.0, 2.0, 1.0])


def figure(scale: str):
    raise NotImplementedError


def test_a_figure_of_a_paper_is_registered() -> None:
    sl.register.paper("somebody2026/figure1", "the loss falls")(figure)
    entry = registry.entry("somebody2026/figure1")
    assert entry.claim == "the loss falls"
    with pytest.raises(NotImplementedError):
        entry.function()("smoke")


USED = """
import sys
import scalinglab as sl
from scalinglab.studies import registry
frame = sl.train.run({"model": "gated", "dataset": "circles", "optimizer": "signs", "steps": 300,
                      "width": 12, "learning_rate": 0.01, "measure": []}, progress=False).frame
assert frame["test_error"].iloc[-1] < 0.25 < frame["test_error"].iloc[0] + 0.2, frame["test_error"].tolist()
lines = [f"n_data={10**k} test_loss={0.5 - k / 10}" for k in (1, 2, 3)]
open("log.txt", "w").write("\\n".join(lines))
curves = sl.read("log.txt", kind="pairs")
law = sl.laws.fit("logarithm", curves["n_data"], curves["test_loss"])
assert abs(law.parameters["offset"] - 0.5) < 1e-6, law.parameters
found = registry.entry("example2026/figure1").function()("smoke")
assert abs(found.table[0].measured - 0.5) < 1e-3, found.table
print("all six")
"""


@pytest.mark.nightly
def test_the_template_installs_and_adds_all_kinds(tmp_path) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("setuptools")
    target, source = tmp_path / "site", tmp_path / "source"
    shutil.copytree(PLUGIN, source)
    options = ("--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--target", str(target))
    command = [sys.executable, "-m", "pip", "install", *options, str(source)]
    built = subprocess.run(command, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    path = f"{target}:{ROOT / 'src'}"
    used = subprocess.run([sys.executable, "-c", USED], cwd=tmp_path, capture_output=True, text=True,
                          env={"PYTHONPATH": path, "PATH": ""})  # fmt: skip
    assert used.returncode == 0, used.stderr
    assert used.stdout.strip() == "all six"
