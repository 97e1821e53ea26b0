"""Documents for programs: one schema a command, and errors with their exit status."""

from __future__ import annotations

import json

import jsonschema
import pytest

from scalinglab import cli
from scalinglab.cli.registry import COMMANDS
from scalinglab.errors import BadInput, NotConverged, NotDetermined
from tests import fake_study
from tests.conftest import SCHEMA, validator


def test_every_command_with_a_document_has_a_schema():
    described = json.loads(SCHEMA.read_text(encoding="utf-8"))["$defs"]
    printing = {name for name, one in COMMANDS.items() if any(p.name == "json" for p in one.parameters)}
    assert printing == {*described} - {"error"}


def test_another_version_type_or_a_missing_field_is_noticed():
    document = {"schema": 1, "command": "store compact", "store": "runs", "runs_moved": 2, "runs": 9}
    validator("store compact").validate(document)
    for wrong in ({"schema": 2}, {"runs": "nine"}, {"command": "laws fit"}):
        with pytest.raises(jsonschema.ValidationError):
            validator("store compact").validate(document | wrong)
    with pytest.raises(jsonschema.ValidationError, match="schema"):
        validator("store compact").validate({k: v for k, v in document.items() if k != "schema"})


@pytest.mark.parametrize(
    ("error", "status", "kind"),
    [(NotDetermined("no"), 3, "not determined"), (BadInput("no"), 2, "bad input"),
     (NotConverged("no"), 1, "failed")],
)  # fmt: skip
def test_an_error_is_a_document_with_its_exit_status(
    monkeypatch, tmp_path, typed, capsys, error, status, kind
):
    def fails(scale: str) -> None:
        raise error

    fake_study.install(monkeypatch, tmp_path, make=fails)
    typed("reproduce", "paper/fig", "--json")
    with pytest.raises(SystemExit) as ended:
        cli.main()
    said = capsys.readouterr()
    assert ended.value.code == status
    validator("error").validate(json.loads(said.out))
    assert json.loads(said.out)["error"]["kind"] == kind
    assert said.err == "scalinglab: no\n"
