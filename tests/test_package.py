"""A package beside scalinglab: what it brings is named as "module:attribute", its paper by an entry point."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PLUGIN = ROOT / "examples" / "plugin"
USED = """
import scalinglab as sl
from scalinglab.studies import registry
from scalinglab_example.tables import read_pairs
names = {key: f"scalinglab_example.training:{name}"
         for key, name in (("model", "Gated"), ("dataset", "circles"), ("optimizer", "Signs"))}
frame = sl.train.run({**names, "steps": 300, "width": 12, "learning_rate": 0.01, "measure": []},
                     progress=False).frame
assert frame["test_error"].iloc[-1] < 0.25 < frame["test_error"].iloc[0] + 0.2, frame["test_error"].tolist()
lines = [f"n_data={10**k} test_loss={0.5 - k / 10}" for k in (1, 2, 3)]
open("log.txt", "w").write("\\n".join(lines))
curves = sl.read(read_pairs("log.txt"))
law = sl.laws.fit("scalinglab_example.tables:logarithm", curves["n_data"], curves["test_loss"])
assert abs(law.parameters["offset"] - 0.5) < 1e-6, law.parameters
found = registry.entry("example2026/figure1").function()("smoke")
assert abs(found.table[0].measured - 0.5) < 1e-3, found.table
print("all")
"""


@pytest.mark.nightly
def test_the_template_installs_and_its_parts_are_used(tmp_path) -> None:
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
    assert used.stdout.strip() == "all"
