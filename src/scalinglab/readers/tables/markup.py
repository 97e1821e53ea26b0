"""Tables in Markdown, LaTeX, HTML and lines of "name=value", as rows of cells."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from html.parser import HTMLParser

from scalinglab.curves.names import aliases, quantity

_COUNTS = {"n_params", "tokens", "n_data", "compute"}
# words are bounded and never given back, so that time grows with a text and not with its square
_WORD = r"[A-Za-z#][\w/.#()-]{0,80}+"
_NAME = rf"((?:{_WORD} ){{0,2}}{_WORD})"
_PAIR = re.compile(_NAME + r"\s*[=:]\s*([^\s,;|]+)")
# "val loss 3.2", without a mark: where the words are a known name
_SPACED = re.compile(_NAME + r" +([-+]?\d[\d.,]*(?:[eE][-+]?\d+)?[KMBTkmbt]?%?)(?![\w.])")
_RULE = re.compile(r"(?=.*(?:--|:-|-:))\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*")
_LATEX = (
    (r"(?<!\\)%.*", ""), (r"\\hline|\\cline\{[^}]*\}", ""),
    (r"\\(?:top|mid|bottom|c)rule(?:\[[^\]]*\])?(?:\([^)]*\))?(?:\{[^}]*\})?", ""),
    (r"\\multicolumn\{\d+\}\{[^}]*\}", ""), (r"\\multirow\{[^}]*\}\{[^}]*\}", ""), (r"\\pm", "±"),
    (r"\\(?:times|cdot)", "×"), (r"\\%", "%"), (r"\\[ ,;!~]", " "), (r"~", " "), (r"\\_", "_"),
    (r"\\&", " and "),
    (r"\\(?:textbf|textit|emph|mathbf|underline|text|bf|mathrm)\b", ""), (r"(?<=10)\^\{?(-?\d+)\}?", r"^\1"),
    (r"[{}$]", ""),
)  # fmt: skip


def rows_of_pairs(lines: Iterable[str]) -> list[dict[str, str]]:
    """Lines of "N=1e7 D=1e9 loss=3.2", "params: 19M, val loss: 3.2" or "step 10: val loss 3.2".

    The rows are the lines with the keys that most have, of those with a test or validation the most. What
    stands between the pairs, such as the time of a log, does not count. A name has the words in front of its
    mark that make it a known one. A size that other lines say, with one value, is that of all rows.

    >>> rows_of_pairs(["12:01 INFO N=1e7 D=1e9, val loss: 3.2", "no pairs"])
    [{'N': '1e7', 'D': '1e9', 'val loss': '3.2'}]
    >>> rows_of_pairs(["number of parameters: 10.65M", "step 0: val loss 4.2", "step 9: val loss 3.9"])[1]
    {'step': '9', 'val loss': '3.9', 'number of parameters': '10.65M'}
    """
    found = [_pairs(line) for line in lines]
    keys = Counter(tuple(row) for row in found if len(row) > 1)
    tested = {each for each in keys if any((q := quantity(n)) and q.split == "test" for n in each)}
    usual = {*max(keys, key=lambda each: (each in tested, keys[each], len(each)))} if keys else set()
    rows = [row for row in found if usual and {*row} >= usual]
    above = [(k, v) for row in found if not {*row} >= usual for k, v in row.items() if k not in usual]
    once = {k: v for k, v in above if len({w for j, w in above if j == k}) == 1 and _COUNTS & {*aliases([k])}}
    return [row | once for row in rows]


def _pairs(line: str) -> dict[str, str]:
    """The names and values of a line; a pair without a mark counts where its name is known."""
    marked = {_name(words): value for words, value in _PAIR.findall(line)}
    spaced = {name: value for words, value in _SPACED.findall(line) if _is_name(name := _name(words))}
    return {**{k: v.rstrip(".,") for k, v in spaced.items() if k not in marked}, **marked}


def _name(words: str) -> str:
    """The words before a mark that name something: "val loss" of "finished val loss"."""
    parts = words.split()
    return next((n for k in range(len(parts)) if _is_name(n := " ".join(parts[k:]))), parts[-1])


def _is_name(words: str) -> bool:
    return quantity(words) is not None or bool(aliases([words]))


def tables_of_markdown(text: str) -> list[list[list[str]]]:
    """The tables of a text with bars between cells, each below a line of names and one of dashes."""
    found: list[list[list[str]]] = []
    lines = text.splitlines()
    for k, line in enumerate(lines):
        if k and "-" in line and "|" in line + lines[k - 1] and _RULE.fullmatch(line) and "|" in lines[k - 1]:
            rows = [_cells_of_bars(lines[k - 1])]
            for below in lines[k + 1 :]:
                if "|" not in below:
                    break
                if not _RULE.fullmatch(below):
                    rows.append(_cells_of_bars(below))
            found.append(rows)
    return found


def _cells_of_bars(line: str) -> list[str]:
    inner = line.strip().removeprefix("|").removesuffix("|")
    cells = re.split(r"(?<!\\)\|", inner)
    return [re.sub(r"[*`]{1,2}", "", text).replace("\\|", "|").strip() for text in cells]


def tables_of_latex(text: str) -> list[list[list[str]]]:
    """The tables of a text in LaTeX."""
    bodies = re.findall(
        r"\\begin\{(?:tabular|longtable|tabularx)\*?\}(.*?)\\end\{(?:tabular|longtable|tabularx)", text, re.S
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

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "table":
            self.found.append([])
        elif tag == "tr" and self.found:
            self.found[-1].append([])
        elif tag in ("td", "th") and self.found and self.found[-1]:
            self._text = []
            span = dict(attrs).get("colspan") or "1"
            self.found[-1][-1] += [""] * (int(span) - 1 if span.isdigit() else 0)

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th") and self._text is not None:
            self.found[-1][-1].append("".join(self._text).strip())
            self._text = None

    def handle_data(self, data: str) -> None:
        if self._text is not None:
            self._text.append(data)


def tables_of_html(text: str) -> list[list[list[str]]]:
    """The tables of a page in HTML."""
    page = _Tables()
    page.feed(text)
    return page.found
