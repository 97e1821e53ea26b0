"""Write docs/reference/results.schema.json from the documents that the tests of commands print with --json.

    SCALINGLAB_RECORD=/tmp/documents.jsonl python -m pytest tests/cli -q
    python tools/json_schema.py /tmp/documents.jsonl

A field is required where every document of its command has it. Values may be null: NaN and infinity are not
JSON. Fields may be added within a version of the schema; one that is removed or changes its type raises
`scalinglab.cli.output.SCHEMA`. The tests of commands check every document against the file.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from scalinglab.cli import app  # noqa: F401  registers the commands
from scalinglab.cli.registry import COMMANDS

PLACE = Path(__file__).parents[1] / "docs" / "reference" / "results.schema.json"
Schema = dict[str, Any]
_FIELD = re.compile(r"[a-z][a-z0-9_ ]*", re.IGNORECASE)  # what no path, number or column of a table is
# objects whose keys are data: names of parameters, columns, settings
ENOUGH = 3  # objects of which fields are required
OF_NAMES = 2  # keys beyond which an object that has others in every document is one of these
KEYED = ("weights",)  # fields that are such objects however many keys were seen: a weight for each form


def schema_of(values: list[Any]) -> Schema:
    """The schema that all of these values satisfy."""
    kinds = {_kind(value) for value in values} - {"null"}
    if not kinds:
        return {}  # of which only missing values were seen
    objects = [value for value in values if isinstance(value, dict)]
    lists = [value for value in values if isinstance(value, list)]
    found: Schema = {"type": sorted(kinds | {"null"})}
    if objects:
        found |= _of_objects(objects)
    if items := [item for value in lists for item in value]:
        found["items"] = schema_of(items)
    return found


def _kind(value: Any) -> str:
    names = {bool: "boolean", int: "number", float: "number", str: "string", list: "array", dict: "object"}
    return names.get(type(value), "null")


def _of_objects(objects: list[dict[str, Any]]) -> Schema:
    every = set.intersection(*({*each} for each in objects))
    union = {name for each in objects for name in each}
    values = [value for each in objects for value in each.values()]
    alike = len({_kind(v) for v in values} - {"null"}) == 1
    by_name = alike and len(union) - len(every) > OF_NAMES and not every & {"code", "name", "form"}
    if by_name or not all(map(_FIELD.fullmatch, union)):
        return {"additionalProperties": schema_of(values)}
    properties = {n: schema_of([each[n] for each in objects if n in each]) for n in sorted(union)}
    for name in union.intersection(KEYED):
        inside = [value for each in objects for value in (each.get(name) or {}).values()]
        properties[name] = {"type": ["null", "object"], "additionalProperties": schema_of(inside)}
    return {"properties": properties} | ({"required": sorted(every)} if len(objects) >= ENOUGH else {})


def write(lines: Iterable[str]) -> None:
    """Write the schema of every command of which there is a document."""
    documents: dict[str, list[Any]] = {}
    for line in lines:
        document = json.loads(line)
        if document["command"] not in COMMANDS:
            continue
        documents.setdefault(document["command"], []).append(document)
    version = next(iter(documents.values()))[0]["schema"]
    commands = {name: schema_of(found) for name, found in sorted(documents.items())}
    for name, schema in commands.items():
        schema["type"] = "object"
        schema["properties"] |= {"schema": {"const": version}, "command": {"const": name}}
        schema["required"] = sorted({"schema", "command", *schema.get("required", ())})
    of_error = {"kind": {"enum": ["not determined", "bad input", "failed"]}, "message": {"type": "string"}}
    of_error["reason"] = {"type": "object"}
    commands["error"] = {
        "type": "object", "required": ["schema", "command", "error"],
        "properties": {"schema": {"const": version}, "command": {"type": "string"}, "error": {
            "type": "object", "properties": of_error, "required": sorted(of_error)}},
    }  # fmt: skip
    whole = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "What scalinglab commands print with --json",
        "version": version,
        "oneOf": [{"$ref": f"#/$defs/{name.replace(' ', '%20')}"} for name in commands],
        "$defs": commands,
    }
    PLACE.write_text(json.dumps(whole, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"{len(commands)} commands, {PLACE.stat().st_size:,} bytes: {PLACE}")


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as recorded:
        write(recorded)
