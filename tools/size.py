"""How large the code is: lines by package, the share of comments, and the files that a command executes.

    python tools/size.py

A line counts as code where a token other than a comment or a docstring stands; a comment is one that says
something to a reader (no `noqa`, no `fmt`). A file is executed where a function of it runs, not where it is
imported only.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import tokenize
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NO_CODE = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING,
    tokenize.ENDMARKER,
}  # fmt: skip
FOR_TOOLS = ("noqa", "fmt:", "type:")
WATCHED = """
import sys
files = set()
def watch(frame, event, _):
    code = frame.f_code
    function = code.co_flags & 1  # CO_OPTIMIZED: the body of a function, not of a module or class
    if event == "call" and function and "/scalinglab/" in code.co_filename:
        files.add(code.co_filename)
from scalinglab.cli import main
sys.argv = ["scalinglab", "answer", "t.csv"]
sys.setprofile(watch)
try:
    main()
except SystemExit:
    pass
sys.setprofile(None)
print(len(files), file=sys.stderr)
"""


def counted(path: Path) -> tuple[int, int]:
    """Lines of code and of comments in a file."""
    code, comments = set[int](), set[int]()
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            docstring = token.type == tokenize.STRING and token.string.startswith('"""')
            if token.type == tokenize.COMMENT and not any(word in token.string for word in FOR_TOOLS):
                comments.add(token.start[0])
            if token.type not in NO_CODE and not docstring:
                code.update(range(token.start[0], token.end[0] + 1))
    return len(code), len(comments)


def executed() -> int:
    """How many files of the core `scalinglab answer` of a table of ten sizes executes."""
    with tempfile.TemporaryDirectory() as folder:
        rows = "".join(f"{n},{0.05 + 3 * n**-0.5:.6f}\n" for n in (100 * 2**k for k in range(10)))
        Path(folder, "t.csv").write_text(f"n_data,test_error\n{rows}", encoding="utf-8")
        done = subprocess.run([sys.executable, "-c", WATCHED], cwd=folder, capture_output=True, text=True)
    return int(done.stderr.split()[-1])


def main() -> None:
    """Print the table."""
    lines, code, comments = Counter[str](), Counter[str](), Counter[str]()
    for path in sorted(ROOT.glob("src/**/*.py")):
        package, inside = path.relative_to(ROOT / "src").parts[:2]
        name = "papers" if package == "scalinglab_papers" else inside.removesuffix(".py")
        lines[name] += len(path.read_text(encoding="utf-8").splitlines())
        found = counted(path)
        code[name] += found[0]
        comments[name] += found[1]
    print(f"{'':16}{'lines':>8}{'code':>8}{'comments':>10}")
    for name, count in lines.most_common():
        print(f"{name:16}{count:>8}{code[name]:>8}{comments[name] / max(code[name], 1):>10.1%}")
    print(f"{'all':16}{lines.total():>8}{code.total():>8}{comments.total() / code.total():>10.1%}")
    print(f"{'without papers':16}{lines.total() - lines['papers']:>8}")
    print(f"scalinglab answer t.csv executes {executed()} files")


if __name__ == "__main__":
    main()
