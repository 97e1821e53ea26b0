"""Find tables in Markdown, LaTeX, HTML and notebooks, and rows in lines such as "N=1e7 loss=3.2"."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from html.parser import HTMLParser
from itertools import chain
from typing import Any

from scalinglab.curves.names import KINDS, TEST, TRAIN, bare, likely_size, quantity
from scalinglab.curves.numbers import LATEX, cell
from scalinglab.errors import BadInput
from scalinglab.readers.tables.headers import (
    CHECKPOINT,
    OF_UNITS,
    is_name,
    is_size,
    model_sizes,
    role_of,
    roles,
)

# words are bounded and never given back, so that time grows with a text and not with its square
_WORD = r"[A-Za-z#][\w/.#()-]{0,80}+"
_NAME = rf"((?:{_WORD} ){{0,7}}{_WORD})"
_PAIR = re.compile(
    _NAME + r"\s*[=:]\s*(\d{1,3}(?:,\d{3})+(?!,?\d)|[\d.]+ (?:[mb]illions?|[MBT])\b"
    r"|(?![A-Za-z]\w*\s*[=:])[^\s,;|]+)"
)  # fmt: skip
# "val loss 3.2", without a mark: where the words are a known name
_SPACED = re.compile(_NAME + r" +([-+]?\d[\d.,]*(?:[eE][-+]?\d+)?[KMBTkmbt]?%?|[nN]a[nN])(?![\w.])")
# a number in a line of words: 19M, 3.2 ± 0.1, 71.3%; not that of gpt2, 10:32 or 2024-05-01
_SLOT = re.compile(
    r"(?<![\w.:/-])[~≈]?[-−]?(?:\d[\d,_']{0,40}(?:\.\d+)?|\.\d+)(?:e[-+]?\d+)?(?:\s?[KMBT](?![\w]))?(?:\s?%)?"
    r"(?:\s?(?:±|\+/-)\s?[\d.]+%?)?(?![\w/]|[.:-]\d)", re.IGNORECASE,
)  # fmt: skip
# "Training with 500 examples"
_COUNTED = re.compile(
    r"(?<![\w.,:/+-])((\d[\d,.]*(?:e\d+)?\s?[kKMBT]?)\s(?:(?:[Tt]rain(?:ing|able)?|[Tt]otal) )?[a-z]+)\b"
    r"(?!\s?(?:/|per\b))"
)
_BEFORE_A_SIZE = {"after", "at", "by", "for", "from", "in", "of", "on", "to", "with"}  # loss after 1B tokens
# of all parameters; FLOPs per token are no tokens
_NOT_THE_SAME = re.compile(r"non|frozen|(?:un)?decayed|embed|lora|adapter|expert|per$|/$", re.IGNORECASE)
# INFO | valid | epoch 001 | loss 3.2; validate step: 2000 loss: 3.2; validation loss at 100 | lm loss: 3.2
_SPLIT = re.compile(
    rf"\|\s*({'|'.join((*TRAIN, *TEST))})\s*\||(?:^|[\s\[(])(validat(?:e|ion)|eval(?:uation)?)\b(?![./:=-])",
    re.IGNORECASE,
)
_EACH_STEP = r"tok(?:en)?s?[ _]?(?:per|/)[ _]?(?:step|iter(?:ation)?|update|(?:global[ _])?batch)\b"
# 524,288 tokens per step; tokens per iteration will be: 491,520
_OF_A_STEP = re.compile(
    rf"(?<![\d,.])(?P<before>\d[\d,.]*[KMB]?) ?{_EACH_STEP}"  # from the first digit of a number alone
    rf"|{_EACH_STEP}[a-z ]{{0,20}}[=:]\s*(?P<after>\d[\d,.]*[KMB]?)",
    re.IGNORECASE,
)
PER_STEP = "tokens_per_step"
_OF_RANKS = re.compile(r"number of parameters on .*?rank \((?P<rank>[\d, ]+)\)\s*:\s*(?P<count>\d+)")
_LISTS = re.compile(  # also of R: n <- c(80L, 200L)
    r"(?:^|\()\s*[\"']?([A-Za-z]\w*)[\"']?\s*(?:[=:]|<-)\s*(?:c\(|(?:[\w.]+\()?[\[(])([^\])]*)[\])]",
    re.MULTILINE,
)
_LABELLED = re.compile(rf"[-*•]?\s*([\w./=-]+)\s*(?:[:=]|-+>|→)\s*({_SLOT.pattern})", re.IGNORECASE)
_QUOTES, _LEADER = re.compile(r"[*`\"'{}]+"), re.compile(r"\s*\.{4,}\s*")  # "tokens": 1e9; tokens ...... 1e9
# step:250/2500 time:40ms memory:40.1GiB(50.7%)
_PLAIN = re.compile(r"^(\d[\d.]*)(?:/\d+|ms|s|sec|min|h|[MG]i?B|(?:it|tok)/s)?(?:\([\d.]+%\))?$")
MOST_ROWS = 1000  # that a cell of a page goes over
FEWEST_ALIKE = 3  # lines that differ in their numbers alone before they are a table
_RULE = re.compile(r"(?=.*(?:--|:-|-:))\s*\|?\s*:?-+:?\s*(?:[|+]\s*:?-+:?\s*)*\|?\s*")
_BOX = str.maketrans(
    "│┃║┆┊┌┏╔├┡┝┠╠╞└┗╚┐┓╗┤┩┨╣╡┘┛╝─━═┬┳╦┼╇╋┿╬╪┴┻╩", "|" * 28 + "-" * 3 + "+" * 12
)  # lines of boxes
# under the names of a printed frame: i64, Float64?, double
_TYPE = re.compile(
    r"-{2,}|[iuf]\d{1,3}|u?int\d*|float\d*|double|bigint|str(ing)?\d*|bool|varchar|object|cat|<[a-z]{3,4}>",
    re.IGNORECASE,
)
_LATEX = (
    (r"(?<!\\)%.*", ""), (r"\\hline|\\cline\{[^}]*\}", ""),
    (r"\\(?:top|c?mid|bottom)rule(?:\[[^\]]*\])?(?:\([^)]*\))?(?:\{[^}]*\})?", ""),
    (r"\\multicolumn\{\d+\}\{[^}]*\}", ""), (r"\\multirow\{[^}]*\}\{[^}]*\}", ""), *LATEX,
)  # fmt: skip


_ITEM = re.compile(r"\s*[-*]\s+([A-Za-z][A-Za-z_ %:/()-]*?)\s*:\s+(\S+)\s*")
_OF_TIME = re.compile(r"\s+(?:seconds?|secs?|ms|minutes?|mins?|hours?)\b")
_AT_STEP = re.compile(r"\s*\[(\d+)\]\s")  # as gradient boosting prints its rounds
_FILE = re.compile(r"(?:\S*/)?([^\s/:]+)\.(?:log|txt|out|err|jsonl?|csv):(?:\d+:)?(?=\S)")


def rows_of_pairs(lines: Iterable[str]) -> list[dict[str, str]]:
    """Lines of "N=1e7 D=1e9 loss=3.2", "params: 19M, val loss: 3.2" or "step 10: val loss 3.2".

    The rows are the lines with the most common set of names; sets with a test or validation result come
    first. Text between the pairs, such as times, is ignored. A name consists of the words before its = or :
    that make a known name. A size with a single value in other lines applies to all rows.

    >>> rows_of_pairs(["12:01 INFO N=1e7 D=1e9, val loss: 3.2", "no pairs"])
    [{'N': '1e7', 'D': '1e9', 'val loss': '3.2'}]
    >>> rows_of_pairs(["number of parameters: 10.65M", "step 0: val loss 4.2", "step 9: val loss 3.9"])[1]
    {'step': '9', 'val loss': '3.9', 'number of parameters': '10.65M'}
    """
    found = [_pairs(_LEADER.sub(": ", _QUOTES.sub(" ", line))) for line in _of_all_ranks(lines)]
    named = {role for row in found for k in row if k[0] != "_" for role in roles(k)}
    found = [{k.lstrip("_"): v for k, v in row.items() if k[0] != "_" or k[1:] not in named} for row in found]
    counts = {(k, v) for row in found for k, v in row.items() if is_size(k) or k == "run"}
    varied = {k for k, v in counts if (k, v) != next(each for each in counts if each[0] == k)}
    whole = any({*row} & varied and any(map(quantity, row)) for row in found)
    apart = any(not any(k in row and any(map(quantity, row)) for row in found) for k in varied)
    times = Counter(k for row in found for k in row if k in varied or quantity(k))
    several = max(times.values(), default=0) > max((times[k] for k in varied), default=0)  # results of a size
    if apart and (whole or several or any({*CHECKPOINT} & {*roles(k)} for row in found for k in row)):
        found = _sections(found)
    elif max(map(len, found), default=0) == 1 or (varied and not whole):  # a size above its result
        found = _blocks(found)
    known = {name for row in found for name in row if is_name(name)}
    keys = Counter(tuple(k for k in row if k in known or not known) for row in found if len(row) > 1)
    splits = {each: [bare(n) for n in each if (q := quantity(n)) and q.split == "test"] for each in keys}
    of_test = {
        k: any("test" in n.split("_") for n in names) for k, names in splits.items()
    }  # not of validation
    usual = {*max(keys, key=lambda k: (bool(splits[k]), of_test[k], keys[k], len(k)))} if keys else set()
    rows = [row for row in found if usual and {*row} >= usual]
    if not any(map(quantity, usual)):  # a size and its result alone in their lines
        single = ({k: v for k, v in row.items() if is_size(k) or quantity(k)} for row in found)
        blocks = _blocks([*single])
        return [row for row in blocks if any(map(quantity, row))] or rows
    above = [(k, v) for row in found if not {*row} >= usual for k, v in row.items() if k not in usual]
    planned = {k for k, _ in above if k == PER_STEP or is_size(k) or likely_size(k, "tokens")}
    once = {k: v for k, v in above if k in planned and len({w for j, w in above if j == k}) == 1}
    often = {k for k, n in Counter(chain(*rows)).items() if 2 * n > len(rows)}  # no T09 of T09:30
    rows = [{k: v for k, v in row.items() if k in often} | once for row in rows]
    tests = {k: v for k, v in above if (q := quantity(k)) is not None and q.split == "test"}
    if len(tests) == 1 and not any((q := quantity(k)) and q.split == "test" for k in usual):
        rows[-1] |= tests  # "final validation loss: 3.25" below the lines of the training
    return rows


def _of_all_ranks(lines: Iterable[str]) -> Iterator[str]:
    """The lines, with parameters that are printed for each rank of a sharded model added up."""
    ranks: dict[str, int] = {}
    for line in lines:
        if (found := _OF_RANKS.search(line)) is None:
            if ranks:
                yield f"number of parameters: {sum(ranks.values())}"
                ranks = {}
            yield line
        else:
            ranks[found["rank"]] = int(found["count"])


def _sections(pairs: list[dict[str, str]]) -> list[dict[str, str]]:
    """Lines of results with the size and step from lines above them, as in logs of trainings."""
    rows, above = [], dict[str, str]()
    for pair in pairs:
        if any(map(quantity, pair)):
            rows.append(above | pair)
        else:
            above |= {k: v for k, v in pair.items() if is_size(k) or {*CHECKPOINT, "run"} & {*roles(k)}}
    return rows


def _blocks(pairs: list[dict[str, str]]) -> list[dict[str, str]]:
    """Join lines into rows: a new row begins when a name repeats, or at another file."""
    rows: list[dict[str, str]] = [{}]
    for pair in pairs:
        if any(name in rows[-1] and (name != "run" or rows[-1][name] != pair[name]) for name in pair):
            rows.append({})
        rows[-1] |= pair
    return rows


def lists_by_name(text: str) -> dict[str, list[str]]:
    """Lists of equal length in a script: "params = [1e7, 1e8]" above "loss = [3.2, 2.9]"; else nothing.

    >>> lists_by_name("N = [1e7, 1e8]\\nL = np.array([3.2, 2.9])\\nlr = 0.1")
    {'N': ['1e7', '1e8'], 'L': ['3.2', '2.9']}
    """
    lists = ((name, re.sub(r"(?<=\d)L\b", "", inside)) for name, inside in _LISTS.findall(text))
    found = {name: re.split(r"[\s,]+", inside.strip(" ,\n")) for name, inside in lists}
    numbers = {name: values for name, values in found.items() if len(values) > 1 and all(map(cell, values))}
    lengths = Counter(map(len, numbers.values()))
    usual = max(lengths, key=lambda n: lengths[n], default=0)
    several = {name: values for name, values in numbers.items() if len(values) == usual}
    return several if len(several) > 1 else {}


def _pairs(line: str) -> dict[str, str]:
    """The names and values of a line; a pair without = or : counts if its name is known.

    The name of a size known only by its unit begins with "_"; it is dropped if another line names that size.

    >>> _pairs("gpt-15M: val loss 3.2, optimizer: adam")
    {'run': 'gpt-15M', 'val loss': '3.2', 'optimizer': 'adam'}
    >>> _pairs("15M params on 1B tokens: val loss 3.2")
    {'val loss': '3.2', '_n_params': '15M', '_tokens': '1B'}
    >>> _pairs("step:250/2500 time:40ms acc:42/50")
    {'step': '250', 'time': '40', 'acc': '42/50'}
    """
    if (of_file := _FILE.match(line)) is not None:  # as grep prints lines of several files
        return {"run": of_file[1]} | _pairs(line[of_file.end() :])
    if (item := _ITEM.fullmatch(line)) is not None:  # of a list: its whole name
        return {item[1]: item[2]}
    if (each := _OF_A_STEP.search(line)) is not None:
        rest = line[: each.start()] + line[each.end() :]
        others = {k: v for k, v in _pairs(rest).items() if k[0] != "_"}  # sequences x tokens are of a step
        return {PER_STEP: (each["before"] or each["after"]).rstrip(",.")} | others
    counts = {}
    if (at := _AT_STEP.match(line)) is not None:
        return {"step": at[1]} | _pairs(line[at.end() :])
    for counted, value in _COUNTED.findall(line):
        of_pairs = re.search(rf"[:=]\s*{re.escape(counted)}\s*[:=]", line)  # params: 14M tokens: 1B
        if not of_pairs and (read := cell(counted)) is not None and read.unit in OF_UNITS:
            counts[f"_{OF_UNITS[read.unit]}"] = value
            line = re.sub(rf"{re.escape(counted)}\s*[:=]*", ", ", line)  # 1B tokens: val loss 3.2
    spaced = {_name(words): value for words, value in _SPACED.findall(line)}
    spaced = {k: v for k, v in spaced.items() if is_name(k) and k.split()[-1] not in _BEFORE_A_SIZE}
    begun = {name.split()[0] for name in spaced}  # a mark in front of a pair gives no value
    marked = {
        _name(m[1]): m[2]
        for m in _PAIR.finditer(line)
        if m[2] not in begun and m[2].strip("=-") and not _OF_TIME.match(line, m.end())
    }
    if not any(cell(value.rstrip(",.")) and not is_name(name) for name, value in marked.items()):
        spaced |= counts  # "Training with 500 examples", not "tensors: 26, with 3,227,400 parameters"
    found = {k: v.rstrip(".,:]" + ")" * ("(" not in v)) for k, v in (spaced | marked).items()}
    heading, sizes = not found and len(line.split()) < 4, {role for k in found for role in roles(k)}
    if heading or (any(map(quantity, found)) and not sizes & {"n_params", "n_data"}):  # gpt-19M: val loss 3.2
        words_of = re.sub(r"(?<!\S)\S{1,20}+ \w{1,20}+(?:/| per )\w+", "", line).split()  # no 1.2M tokens/s
        named = next((word for word in words_of if "=" not in word and model_sizes(word)), None)
        named = named or next(
            (word for word in words_of if "=" not in word and re.search(r"/.*\d.*/", word)), None
        )  # a path
        found = ({"run": named.strip("()[],:;")} if named else {}) | found
    if not any(map(quantity, found)) and {*re.split(r"\W+", line.lower())} & {*TEST}:
        found.pop("_n_data", None)  # loaded 3,760 examples from: data/valid
    found = {k: v for k, v in found.items() if not quantity(k) or cell(v) or holds_number(v)}  # no mean(loss)
    own = any((q := quantity(k)) and q.split for k in found)
    if not own and (split := _SPLIT.search(line)):
        of = split[1] or "validation"
        found = {f"{of} {k}" if (q := quantity(k)) and not q.split else k: v for k, v in found.items()}
    return {k: v if quantity(k) else _PLAIN.sub(r"\1", v) for k, v in found.items()}


def _name(words: str) -> str:
    """The last words before = or : that form a known name: "val loss" in "finished val loss"."""
    parts = words.rpartition(" at ")[2].split()  # loss at iteration
    known = (k for k in range(len(parts)) if is_name(" ".join(parts[k:])))
    first = next(known, len(parts) - 1)
    return words if first and _NOT_THE_SAME.match(parts[first - 1]) else " ".join(parts[first:])


def holds_number(text: str) -> bool:
    """Whether a number stands among the words of a text."""
    return _SLOT.search(text) is not None


def table_of_alike(lines: Iterable[str]) -> list[dict[str, str]]:
    """Rows from lines that differ only in their numbers, as in "19M -> 4.1"; empty if there are none.

    A number is named by the unit behind it or the words before it. Words before the first number that differ
    between lines name the run. A last number without a name is the one quantity that other lines mention.

    >>> table_of_alike(["perplexity:", "19M -> 41.2", "70M -> 30.1", "160M -> 25.3"])[0]
    {'size': '19M', 'perplexity': '41.2'}
    """
    found: dict[tuple[str, ...], list[str]] = {}
    for line in lines:
        words = [re.sub(r"\d+", "0", " ".join(part.split())) for part in _SLOT.sub("\0", line).split("\0")]
        found.setdefault(tuple(words[1:]), []).append(line)
    between = [k for k in found if len(k) > 1 and all(map(_is_worded, k[:-1]))]
    alike = max(between, key=lambda k: len(found[k]), default=())
    if not alike or len(found[alike]) < FEWEST_ALIKE:
        return _labelled([line for each in found.values() for line in each])
    labels = [_SLOT.split(line, maxsplit=1)[0].strip(" \t-*•:=,") for line in found[alike]]
    shared = labels[0] if len({*labels}) == 1 else ""
    names = [_name_of(before, behind) for before, behind in zip((shared, *alike), alike)]
    names[-1] = names[-1] or _spoken_of(line for k in found if k != alike for line in found[k])
    if len(names) == 2 and not names[0]:
        names[0] = "size"
    columns = [*zip(*([v.strip() for v in _SLOT.findall(line)] for line in found[alike]))]
    _refuse_corrections(found[alike], (line for k in found if k != alike for line in found[k]))
    counting = [[*map(str, range(first, first + len(labels)))] for first in (0, 1)]
    names = [name or ("index" if [*each] in counting else "") for name, each in zip(names, columns)]
    scaled = [all(re.search(r"[KMBT]\s*$", value, re.IGNORECASE) for value in each) for each in columns]
    if scaled[0] and not names[0] and any(role_of(name) in ("tokens", "n_data") for name in names):
        names[0] = "n_params"  # 500M / 10B tok
    keys = [name or f"Unnamed: {k}" for k, name in enumerate(names)]
    keys[-1] = names[-1] or "value"
    rows = [dict(zip(keys, (v.strip() for v in _SLOT.findall(line)))) for line in found[alike]]
    if len({*labels}) == 1 or all(re.fullmatch(r"\W*\d*\W*", each) for each in labels):
        return rows
    called = "run" if len({*labels}) == len(labels) else "label"
    return [{called: each} | row for each, row in zip(labels, rows)]


def _refuse_corrections(rows: Sequence[str], others: Iterable[str]) -> None:
    """Refuse a row that another line corrects: "typo, 500M is 2.892", "it is 2.892, not 3.482"."""
    for line in others:
        said = {value.strip() for value in _SLOT.findall(line)}
        wrong = {each.rstrip(".,") for each in re.findall(r"\b(?:not|instead of)\s+(\d[\d.,]*)", line)}
        typo = re.search(r"\b(?:typo|correct(?:ed|ion)|should (?:be|read))\b", line, re.IGNORECASE)
        for row in rows:
            *sizes, value = (each.strip() for each in _SLOT.findall(row))
            if value in wrong or (typo and said > {*sizes} and sizes):
                raise BadInput(
                    f"{line.strip()!r} corrects {row.strip()!r}: put the right value there and drop this line"
                )


def _labelled(lines: Sequence[str]) -> list[dict[str, str]]:
    """Lines of a name with numbers in it and a value, as in "35M/4B: 3.6", as rows."""
    found = {line: m for line in lines if (m := _LABELLED.fullmatch(line.strip())) and re.search(r"\d", m[1])}
    named = _spoken_of(line for line in lines if line not in found) or "value"
    return [{"run": m[1], named: m[2]} for m in found.values()] if len(found) >= FEWEST_ALIKE else []


def _spoken_of(lines: Iterable[str]) -> str:
    """The quantity that lines speak of, where it is one."""
    words = re.findall(r"[a-z]+", " ".join(lines).lower().replace("losses", "loss"))
    kinds = {word for word in words if word in KINDS}
    return min(kinds) if len({KINDS[word] for word in kinds}) == 1 else ""


def _is_worded(between: str) -> bool:
    """Whether more than a separator stands between two numbers of a line, and no part of a third."""
    return re.search(r"[^\s,;|]", between) is not None and re.search(r"\d", between) is None


def _unit_of(behind: str) -> str:
    """The word behind a number that says what it counts: a known one, or things, before a mark."""
    unit = re.match(r"\s*([A-Za-z]+)(\s*[:,;|=>→-])?", behind)
    counted = unit and (is_size(unit[1]) or (unit[2] and unit[1].endswith("s")))
    return unit[1] if unit and counted and quantity(unit[1]) is None else ""


def _name_of(before: str, behind: str) -> str:
    """What a number between these words is."""
    words = re.findall(_WORD, before.strip().removeprefix(_unit_of(before)))[-3:]
    named = (name for k in range(len(words)) if is_name(name := " ".join(words[k:])))
    return _unit_of(behind) or next(named, "")


def tables_of_markdown(text: str) -> list[list[list[str]]]:
    """The tables of a text with bars between cells, each below a line of names and one of dashes.

    The heading that stands above a table comes first, and then the line of text right above it.
    """
    found: list[list[list[str]]] = []
    lines, heading, end, above = text.translate(_BOX).splitlines(), "", 0, dict[int, str]()
    for k, line in enumerate(lines):
        if re.match(r"#+ |\*\*.*\*\*\s*$", line):
            level = len(line) - len(line.lstrip("#")) or len(line)
            above = {n: title for n, title in above.items() if 1 < n < level} | {level: line.strip("# *")}
            heading = " / ".join(above.values())
        if (
            k > end
            and "-" in line
            and ({*"|+"} & {*line} or lines[k - 1].count("|") < 2)  # not between lines of a log
            and _RULE.fullmatch(line)
            and "|" in lines[k - 1]
        ):
            first = k - 2 if k > 1 and are_types(_cells_of_bars(lines[k - 1])) else k - 1
            rows, end = [_cells_of_bars(lines[first])], k
            for below in lines[k + 1 :]:
                if "|" not in below:
                    break
                end += 1
                if not _RULE.fullmatch(below):
                    rows.append(_cells_of_bars(below))
            if {*map(len, rows[1:])} == {len(rows[0]) - 1}:  # a bar in the corner: "params | tokens"
                rows[0] = [" \\ ".join(rows[0][:2]), *rows[0][2:]]
            caption = next(filter(str.strip, reversed(lines[:first])), "").replace("**", "").strip("*_ ")
            caption = "" if re.match(r"#|\W*$", caption) or "|" in caption else caption
            titles = [[title] for title in dict.fromkeys((heading, caption)) if title]
            found.append([*titles, *rows])
            heading = ""
    return found


def are_types(row: Sequence[Any]) -> bool:
    """Whether a row has the types of columns, as printed frames do."""
    words = [value for value in row if value]
    return bool(words) and all(isinstance(word, str) and _TYPE.fullmatch(word.rstrip("?")) for word in words)


def _cells_of_bars(line: str) -> list[str]:
    inner = line.strip().removeprefix("|").removesuffix("|")
    cells = re.split(r"(?<!\\)\|", inner)
    return [re.sub(r"[*`]{1,2}", "", text).replace("\\|", "|").strip() for text in cells]


def tables_of_latex(text: str) -> list[list[list[str]]]:
    """The tables of a text in LaTeX."""
    bodies = re.findall(
        r"\\begin\{(?:tabular|longtable|tabularx|array)\*?\}(.*?)\\end\{(?:tabular|longtable|tabularx|array)",
        text,
        re.S,
    )
    return [
        [_cells_of_latex(row) for row in re.split(r"\\\\(?:\[[^\]]*\])?", body)]
        for body in map(_without_columns, bodies)
    ]


def _without_columns(body: str) -> str:
    """Without the specification of columns: {lrr}, {@{}lS[table-format=2.1]r@{}}."""
    depth, body = 0, re.sub(r"^\s*(?:\[[^\]]*\]|\{\\?\w*width\})*", "", body)
    for k, letter in enumerate(body):
        depth += (letter == "{") - (letter == "}")
        if depth == 0:
            return body[k + 1 :] if k else body
    return body


def _cells_of_latex(row: str) -> list[str]:
    for pattern, plain in _LATEX:
        row = re.sub(pattern, plain, row)
    return [text.strip() for text in row.split("&")]


class _Tables(HTMLParser):
    """The tables of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[list[list[str]]] = []
        self._text: list[str] | None = None
        self._down: dict[int, list[str]] = {}  # what goes on in the rows below, by column
        self._rows = 1

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "table":
            self.found.append([])
            self._down.clear()
        elif tag == "tr" and self.found:
            self.found[-1].append([])
        elif tag in ("td", "th") and self.found and self.found[-1]:
            self._text = []
            row = self.found[-1][-1]
            while self._down.get(len(row)):
                row.append(self._down[len(row)].pop())
            across, down = (dict(attrs).get(span) or "1" for span in ("colspan", "rowspan"))
            row += [""] * (int(across) - 1 if across.isdigit() else 0)
            self._rows = min(int(down), MOST_ROWS) if down.isdigit() else 1
        elif tag == "br":
            self.handle_data(" ")

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th") and self._text is not None:
            row = self.found[-1][-1]
            row.append("".join(self._text).strip())
            self._down[len(row) - 1] = [row[-1]] * (self._rows - 1)
            self._text = None

    def handle_data(self, data: str) -> None:
        if self._text is not None:
            self._text.append(data)


def tables_of_html(text: str) -> list[list[list[str]]]:
    """The tables of a page in HTML."""
    page = _Tables()
    page.feed(text)
    return page.found


def tables_of_notebook(text: str) -> list[list[list[str]]]:
    """The tables that cells of a notebook show, and those of its notes."""
    cells = json.loads(text).get("cells", [])
    shown = ["".join(out.get("data", {}).get("text/html", "")) for c in cells for out in c.get("outputs", ())]
    notes = ["".join(c.get("source", "")) for c in cells if c.get("cell_type") == "markdown"]
    found = [t for page in shown for t in tables_of_html(page)] + [
        t for n in notes for t in tables_of_markdown(n)
    ]
    parts = [t for t in found if any(t is not other and t == other[: len(t)] for other in found)]  # df.head()
    return [t for t in found if t not in parts] or parts[:1]
