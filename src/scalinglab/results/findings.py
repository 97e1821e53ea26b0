"""Finding: the result of one question, and its one renderer, into words and JSON.

The sentence of a finding is made here, by its question (`SENTENCES`), from its values, facts and reasons.
Most questions are asked of a curve (one size) or of a surface (parameters and data) alike.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from scalinglab.results.distributions import Estimate
from scalinglab.results.sentences import fill, in_words, listed, spoken
from scalinglab.results.types import SOME_TABLE, Command, Reason, Remark, Status, TableRows, noted
from scalinglab.support.words import count, counted, flops, two_digits, without_nan

LEAST_MORE = 5e-4  # relative difference in loss below which two models count as equally good
MOST_APART = 1e4  # convention: ratio of the ends of a best size beyond which they are not printed
SHORT = 16  # letters of a kind's name in a table: with its other columns it fits on 80
MOST_NAMED = 3  # runs of a plan that a sentence names
WHOLE = ("parameters", "examples", "tokens", "steps")  # units of counts
ADD_UP = ("examples", "tokens", "FLOPs", "steps", "epochs")  # units of costs; sizes of networks do not add up


@dataclass(frozen=True)
class Finding:
    """The result of one question.

    Attributes:
        question: its name, such as "exponent".
        status: how far the data answer it.
        values: the numbers that answer it, each with its interval and unit.
        reasons: why there is no number, or what to know about it.
        facts: what else the sentence says: counts, p-values, names of columns; "kind", the rows that it is
            about, if a table has several kinds.
        command: what shows more.
        names: what columns are called in sentences, such as {"n_data": "tokens"}.
    """

    question: str
    status: Status
    values: Mapping[str, Estimate] = field(default_factory=dict)
    reasons: tuple[Reason, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    command: Command | None = None
    names: Mapping[str, str] = field(default_factory=dict)

    @property
    def sentence(self) -> tuple[str, str]:
        """In words: the subject, which a page shows in bold and may be empty, and the statement."""
        subject, statement = map(without_nan, SENTENCES.get(self.question, _plain)(self))
        kind = self.facts.get("kind")
        if kind:
            subject = ", ".join(filter(None, [kind, subject[:1].lower() + subject[1:]]))
        return subject, statement

    @property
    def text(self) -> str:
        """In words."""
        return ": ".join(filter(None, self.sentence))

    def __post_init__(self) -> None:
        """Drop values that are NaN; without any left the question is not determined, with a reason."""
        known = {name: value for name, value in self.values.items() if not math.isnan(value.value)}
        if len(known) == len(self.values):
            return
        object.__setattr__(self, "values", known)
        if not known:
            lost = tuple(name for name in self.values if name not in known)
            object.__setattr__(self, "status", Status.NOT_DETERMINED)
            object.__setattr__(self, "reasons", (*self.reasons, Reason("no_number", of=lost)))

    def __str__(self) -> str:
        return self.text

    def to_dict(self, table: Sequence[str] = SOME_TABLE) -> dict[str, Any]:
        """As plain values, for JSON.

        Args:
            table: that the command names, as in `Command.line`.
        """
        return {
            "question": self.question,
            "status": str(self.status),
            "text": self.text,
            "values": {name: value.to_dict() for name, value in self.values.items()},
            "reasons": [reason.to_dict() for reason in self.reasons],
            "facts": dict(self.facts),
            "command": None if self.command is None else self.command.line(table),
        }


def by_kind(card: Sequence[Finding]) -> TableRows:
    """What ten times as much gives each of several kinds of rows, and its best model; a row each.

    Args:
        card: with an answer on ten times for one kind at least.
    """
    tenfold = {f.facts["kind"]: f for f in card if f.question == "ten times" and f.values}
    best = {f.facts["kind"]: f for f in card if f.question == "compute-optimal" and f.values}
    rows = []
    write = "{:.3g}" if max(v.high for f in tenfold.values() for v in f.values.values()) < 1 else "{:.4g}"
    for kind, found in tenfold.items():
        f, (value,) = found.facts, found.values.values()
        if f.get("score"):  # of which y is the complement
            value = Estimate(1 - value.value, low=1 - value.high, high=1 - value.low)
        at = flops(f["compute"], unit="") if "compute" in f else count(f["at"])
        row = {"kind": kind, "at": at, "y": _with_ends(value, write.format)}
        row |= dict.fromkeys(("n_params", "n_data"), "")
        row |= {name: f"at {count(size)}" for name, size in f.get("sizes", {}).items()}
        if kind in best:
            row |= {name: _best_size(best[kind], name) for name in ("n_params", "n_data")}
        rows.append(row)
    first = next(iter(tenfold.values()))
    (y,) = first.values
    heads = {"at": "FLOPs" if "compute" in first.facts else first.facts["unit"]}
    heads["y"] = first.facts.get("score") or spoken(y, first.names)
    if not any(row["n_params"] for row in rows):
        return TableRows("kinds", rows, heads)
    unit = next((found.values["n_data"].unit for found in best.values()), "data")
    return TableRows("kinds_of_models", rows, {**heads, "n_params": "best parameters", "n_data": unit})


def _best_size(found: Finding, name: str) -> str:
    """A size of the best model; if it is not determined, that if the form holds, or a narrow range."""
    value = found.values[name]
    if found.status is not Status.NOT_DETERMINED:
        return _with_ends(value, count)
    if (fixed := found.values.get(f"{name}_if_the_form_holds")) is not None:
        return f"{count(fixed.value)} if the form holds"
    return "not determined" if _is_open(found) else f"{count(value.low)} to {count(value.high)}"


def _is_open(found: Finding) -> bool:
    """Whether the interval of the best size is too wide to be printed."""
    return found.values["n_params"].interval.ratio > MOST_APART


def _with_ends(value: Estimate, write: Callable[[float], str]) -> str:
    return f"{write(value.value)} [{write(value.low)}, {write(value.high)}]"


def _short(names: Sequence[str]) -> dict[str, str]:
    """Names for a column of a table: without their middle where they are long and can still be told apart."""
    half = SHORT // 2
    cut = {n: n if len(n) <= SHORT else f"{n[: half - 1]}…{n[-half:]}" for n in names}
    return cut if len({*cut.values()}) == len(cut) else dict(zip(names, names, strict=True))


def remarks_of(
    card: Sequence[Finding], others: Sequence[Finding], notes: Sequence[Reason],
    table: Sequence[str] = SOME_TABLE,
) -> Iterator[Remark]:  # fmt: skip
    """Findings, those of the card first, then notes, then the commands that show more."""
    if any("kind" in f.facts and f.question == "ten times" and f.values for f in card):
        rows = by_kind(card)
        told, short = {row["kind"] for row in rows.rows}, _short([row["kind"] for row in rows.rows])
        yield Reason("by_kind")
        # without the interval of n_data, which follows from compute and n_params
        cut = [(row, row["n_data"].partition(" [")[0]) for row in rows.rows]
        yield replace(rows, rows=[{**row, "kind": short[row["kind"]], "n_data": data} for row, data in cut])
        yield from (Reason("name", of=f.text) for f in card if f.facts["kind"] not in told)
    else:
        yield from (Reason("name", of=f.text) for f in card)
    if card:
        yield Reason("blank")
    yield from (note for note in notes if note.code == "read")
    yield from (Reason("name", of=f.text) for f in others)
    yield from noted(note for note in notes if note.code != "read")
    commands = dict.fromkeys(f.command.line(table) for f in (*card, *others) if f.command is not None)
    if commands:
        yield Reason("more")
        begun = {line for line in commands for other in commands if other.startswith(f"{line} -")}
        yield from (Reason("more_command", line=line) for line in commands if line not in begun)


def paragraph(*sentences: object) -> str:
    """Sentences, or reasons, with a capital and a full stop each."""
    return " ".join(f"{s[0].upper()}{s[1:]}." for s in map(str, sentences) if s)


def _reasons(found: Finding) -> list[str]:
    return [reason.sentence(found.names) for reason in found.reasons]


def _why(found: Finding) -> str:
    return "; ".join(_reasons(found))


def _plain(found: Finding) -> tuple[str, str]:
    """The sentence of any other question: its values, then its reasons."""
    values = "; ".join(f"{name} = {value}{f' {value.unit}'.rstrip()}" for name, value in found.values.items())
    return "", paragraph(": ".join(filter(None, [values or f"{found.status}", _why(found)])))


def _read(found: Finding) -> tuple[str, str]:
    """facts: runs, checkpoints (if they are points), sizes and units by column, y and its ends.

    Of one size its values, of parameters and data compute.
    """
    f = found.facts
    y = f"{spoken(f['y'], found.names)} from {f['ends'][0]:.4g} to {f['ends'][1]:.4g}"
    ranges = {
        x: " to ".join(flops(end, unit="") if f["units"][x] == "FLOPs" else count(end) for end in ends)
        for x, ends in f["sizes"].items()
    }
    if "compute" not in f and len(ranges) > 1:
        sizes = listed([f"{x} {ends}" for x, ends in ranges.items()])
        point = "checkpoint" if f["checkpoints"] else "run"
        runs = f"{counted(f['checkpoints'] or f['runs'], point)} of {sizes}"
    elif "compute" not in f:
        ((x, ends),) = ranges.items()
        sizes = f"sizes, {ends} {f['units'][x]}" if f["units"][x] != x else f"values of {x}, {ends}"
        runs = f"{counted(f['runs'], 'run')} at {f['values']} {sizes}"
    else:
        sizes = " on ".join(f"{ends} {f['units'][x]}" for x, ends in ranges.items())
        one_pass = " in one pass over them" if f["units"]["n_data"] == "examples" else ""
        spent = f"{flops(f['compute'][0], unit='')} to {flops(f['compute'][1])}{one_pass}"
        runs = f"{counted(f['runs'], 'run')} of {sizes}, {spent}"
        if f["checkpoints"]:
            runs = f"{counted(f['checkpoints'], 'checkpoint')} of {runs}"
    return "", " ".join([f"{runs}; {y}.", *filter(None, [paragraph(*_reasons(found))])])


def _exponent(found: Finding) -> tuple[str, str]:
    """facts: y, the column of each exponent (`along`) and the name of the floor."""
    f = found.facts
    if not found.values:
        refused = paragraph(*_reasons(found))
        return ("", refused) if f.get("y") else ("Not determined", f"{_why(found)}.")
    powers = [
        f"{value.value:.3f} in {spoken(x, found.names)} (95 %: {value.low:.3f} to {value.high:.3f})"
        for name, x in f["along"].items()
        if (value := found.values.get(name)) is not None
    ]
    y = spoken(f["y"], found.names)
    begun = y.capitalize() if y.replace(" ", "").isalpha() else y  # words, but not the name of a column
    text = f"{begun} falls with exponent {' and '.join(powers)}"
    if (floor := found.values.get(f["floor"])) is not None:
        text += f", towards {_floor(floor)}, if the form holds"
    return "", " ".join([f"{text}.", *filter(None, [paragraph(*_reasons(found))])])


def _floor(floor: Estimate) -> str:
    if not floor.high - floor.low < floor.value:
        return f"a floor of at most {floor.high:.3g}"
    low, value, high = (f"{v:.3g}" for v in (floor.low, floor.value, floor.high))
    return f"a floor of {value}" if low == high else f"a floor of {value} (95 %: {low} to {high})"


VERDICTS = {
    "yes": "yes", "not quite": "not quite", "no": "no", "unknown": "cannot tell",
    "with a floor": "with a floor, yes; without one, no",
    "perhaps with a floor": "with a floor, yes; without one, probably not",
}  # fmt: skip


def _power_law(found: Finding) -> tuple[str, str]:
    """facts: the verdict, one of `VERDICTS`."""
    verdict = VERDICTS[found.facts["verdict"]]
    return "", f"A power law? {paragraph(verdict, _why(found))}"


def _ten_times(found: Finding) -> tuple[str, str]:
    """values: y; facts: x, its unit and where (`at`) of one size; of two compute, y now, and which sizes.

    `average`: whether the interval is that of the mean of runs, and not of one.

    Without sizes it is the best y of this compute.

    Also whether the table has the accuracy of which y is the complement, and the name of another score.
    """
    f = found.facts
    if not found.values:
        return "Ten times as much", f"not determined. {paragraph(_why(found))}"
    ((y, value),) = found.values.items()
    result, ends, accuracy = _expected(found, y, value)
    if "compute" in f:
        sizes = [f"{count(size)} {found.names.get(name, name)}" for name, size in f.get("sizes", {}).items()]
        subject = (
            f"Ten times the compute, {flops(f['compute'])}{', as ' if sizes else ''}{' on '.join(sizes)}"
        )
        before = f"up from {1 - f['now']:.3g}" if f.get("score") else f"down from {f['now']:.4g}"
        down = f"{before} at the {'largest run' if sizes else 'compute of the largest run'}."
        return subject, f"{result} (95 %: {ends}){accuracy or ','} {down}"
    more = {"n_data": "data", "n_params": "parameters", "step": "steps"}.get(f["x"], f["x"])
    of = "95 %" if f.get("average") else "95 % of runs"
    text = f"{result} ({of}: {ends}){accuracy} if the trend continues."
    text = " ".join([text, *filter(None, [paragraph(*_reasons(found))])])
    at = sized(f["at"], f["unit"], f["x"]).removesuffix(f" {more}")  # parameters are said once
    return f"Ten times the {more}, {at}", text


def _expected(found: Finding, y: str, value: Estimate) -> tuple[str, str, str]:
    """A result that is expected: its name and value, its ends, and the accuracy of an error."""
    f = found.facts
    middle, low, high = (type(value.value)(1 - v) for v in (value.value, value.high, value.low))
    if f.get("score"):
        return f"{f['score']} {middle:.3g}", f"{low:.3g} to {high:.3g}", ""
    unit = "" if value.unit == "fraction" else f" {value.unit}".rstrip()
    accuracy = f", an accuracy of {middle:.3g} ({low:.3g} to {high:.3g})," if f.get("of_accuracy") else ""
    result = f"{spoken(y, found.names)} {value.value:.4g}{unit}"
    return result, f"{value.low:.4g} to {value.high:.4g}", accuracy


def _compute_optimal(found: Finding) -> tuple[str, str]:
    """values: n_params, n_data and their ratio, also if the form holds; facts: compute, how far, the form.

    Also the result (`y`) of this model, where no other sentence says it.
    """
    f = found.facts
    if found.status is Status.REFUSED:
        return "Best model", f"{_why(found)}."
    refused = f"not determined. {paragraph(_why(found))}" if found.reasons else ""
    if not found.values:
        return "Best model", refused
    n, d, ratio = (found.values[name] for name in ("n_params", "n_data", "data_per_param"))
    far = f", {f['beyond']:.3g} times the largest run" if f["beyond"] > 1 else ""
    if f["below"] > 1:
        far = f", {f['below']:.3g} times less than the smallest run"
    subject = f"Best model for {flops(f['compute'])}{far}"
    if found.status is Status.NOT_DETERMINED and not refused:
        ends = [f"{count(v.low)} to {count(v.high)} {v.unit}" for v in (n, d)]
        text = "not determined" + ("" if _is_open(found) else f", {' on '.join(ends)} are likely (95 %)")
    else:
        on = f"on {count(d.value)} {d.unit} ({count(d.low)} to {count(d.high)})"
        text = f"{count(n.value)} parameters (95 %: {count(n.low)} to {count(n.high)}) {on}"
    if (fixed := found.values.get("n_params_if_the_form_holds")) is not None:
        data = found.values["n_data_if_the_form_holds"]
        form = in_words(f["form"])
        text += (
            f"; {form}, which does not fit these runs, gives" if f["contradicted"] else f"; if {form} holds,"
        )
        text += f" {count(fixed.value)} ({count(fixed.low)} to {count(fixed.high)}) on {count(data.value)}"
        more = fill("{more:%%}", {"more": f["more_loss"]})
        text += f" {data.unit}, at {f'{more} more' if f['more_loss'] >= LEAST_MORE else 'the same'} loss."
    elif found.status is Status.NOT_DETERMINED:
        text += "."
    else:
        per = f"{two_digits(ratio.value)} {ratio.unit} ({two_digits(ratio.low)} to {two_digits(ratio.high)})"
        text += f", {per}."
    if (y := f.get("y")) is not None:
        result, interval, accuracy = _expected(found, y, found.values[y])
        text += f" Expected {result} (95 %: {interval}){accuracy.rstrip(',')}."
    return ("Best model", f"{refused} {subject}: {text}") if refused else (subject, text)


def _next_run(found: Finding) -> tuple[str, str]:
    """facts: runs (sizes and seeds), whether they are worth it; reasons: what they narrow, or why none."""
    f = found.facts
    why = paragraph(*_reasons(found))
    if found.status is not Status.DETERMINED:
        return "Next run", f"not determined. {why}"
    if not f["worth_it"]:
        return "Next run", f"none is worth it. {why}"
    named = [
        " on ".join(sized(float(f"{v:.3g}"), f["units"][x], x) for x, v in run.items() if x != "seeds")
        + (f" ({run['seeds']} seeds)" if run["seeds"] > 1 else "")
        for run in sorted(f["runs"], key=_size, reverse=True)[:MOST_NAMED]  # the costliest decide
    ]
    left = len(f["runs"]) - len(named)
    runs = listed([*named, *([counted(left, "more run")] if left else [])])
    return f"Next run{'s' if len(f['runs']) > 1 else ''}", f"{runs}. {paragraph(f'worth it: {_why(found)}')}"


def _size(run: Mapping[str, Any]) -> float:
    return math.prod(run.values())


def sized(value: float, unit: str, name: str) -> str:
    """A size in its unit, or after its name.

    >>> sized(2e7, "parameters", "n_params"), sized(128.0, "width", "width")
    ('20M parameters', 'width 128')
    """
    if unit == "FLOPs":
        return flops(value)
    shown = count(round(value) if value > 10 or (unit in WHOLE and value >= 1) else value)
    return f"{name} {shown}" if unit == name and unit not in ADD_UP else f"{shown} {unit}"


SENTENCES: dict[str, Callable[[Finding], tuple[str, str]]] = {
    "read": _read, "exponent": _exponent, "power law": _power_law, "ten times": _ten_times,
    "compute-optimal": _compute_optimal, "next run": _next_run,
}  # fmt: skip
