"""Tables in Markdown, LaTeX, HTML and lines of "name=value", as rows of cells."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from html.parser import HTMLParser

from scalinglab.curves.names import aliases, quantity

_PAIR = re.compile(r"((?:[A-Za-z#][\w/.#()-]* ){0,2}[A-Za-z#][\w/.#()-]*)\s*[=:]\s*([^\s,;|]+)")
_RULE = re.compile(r"\s*\|?\s*:?-{2,}:?\s*(?:\|\s*:?-{2,}:?\s*)*\|?\s*")
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
    """Lines of "N=1e7 D=1e9 loss=3.2" or "params: 19M, val loss: 3.2": those with the keys that most have.

    What stands between the pairs, such as the time of a log, does not count. A name has the words in front of
    its mark that make it a known one.

    >>> rows_of_pairs(["12:01 INFO N=1e7 D=1e9, val loss: 3.2", "no pairs"])
    [{'N': '1e7', 'D': '1e9', 'val loss': '3.2'}]
    """
    found = [{_name(words): value for words, value in _PAIR.findall(line)} for line in lines]
    keys = Counter(tuple(row) for row in found if len(row) > 1)
    usual = {*max(keys, key=lambda each: (keys[each], len(each)))} if keys else set()
    return [row for row in found if usual and {*row} >= usual]


def _name(words: str) -> str:
    """The words before a mark that name something: "val loss" of "finished val loss"."""
    parts = words.split()
    known = (" ".join(parts[k:]) for k in range(len(parts)))
    return next((n for n in known if quantity(n) is not None or aliases([n])), parts[-1])


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
