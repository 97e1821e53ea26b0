"""The sentence of every reason and note, by its code.

A sentence is a template. Its fields are the details of the reason, written as Python's `format` does, and
with these formats as well:

    {size:count}    1.33B                       {runs:#run}     3 runs
    {share:%%}      4.2 % of 0.042              {width:two}     two digits
    {names}         a, b and c for a tuple; columns by the names that the caller gives them

Sentences begin with a small letter and have no full stop, so that they can stand after "Not determined: ".
"""

from __future__ import annotations

from collections.abc import Mapping
from string import Formatter
from typing import Any

from scalinglab.support.words import count, counted, two_digits


class Column(str):
    """The name of a column among the details of a reason; sentences call it by what it counts."""

    __slots__ = ()


REASONS = {
    "message": "{text}",  # an error that has only its sentence
}  # fmt: skip


def fill(template: str, details: Mapping[str, Any], names: Mapping[str, str] | None = None) -> str:
    """The sentence of a template.

    Args:
        details: values of its fields.
        names: what columns are called, such as {"n_data": "tokens"}.

    >>> fill("{runs:#run} at {size:count} {x}", {"runs": 1, "size": 2e9, "x": Column("n_data")},
    ...      {"n_data": "tokens"})
    '1 run at 2B tokens'
    >>> fill("no {lost}: ± {width:%%}", {"lost": ("E", "alpha", "beta"), "width": 0.042})
    'no E, alpha and beta: ± 4.2 %'
    """
    return _Sentences(names or {}).vformat(template, (), details)


class _Sentences(Formatter):
    def __init__(self, names: Mapping[str, str]) -> None:
        self.names = names

    def format_field(self, value: Any, spec: str) -> str:
        if isinstance(value, Column):
            value = self.names.get(value, str(value))
        if isinstance(value, (tuple, list)):
            words = [self.format_field(each, spec) for each in value]
            return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else "".join(words)
        if spec.startswith("#"):
            return counted(int(value), spec[1:])
        if spec == "%%":
            return f"{two_digits(100 * value)} %"
        formats = {"count": count, "two": two_digits}
        return formats[spec](value) if spec in formats else format(value, spec)
