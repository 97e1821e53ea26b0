"""``scalinglab report`` and ``scalinglab board``: pages on a store or a file of curves."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from scalinglab.cli.options import ARGUMENT, Typed, folder
from scalinglab.cli.output import Output, for_programs
from scalinglab.cli.registry import command
from scalinglab.cli.tables import Rows


@command("report", out=False)
def report(
    rows: Rows,
    out: Path = Path("report.html"),
    title: str | None = None,
    explain: str | None = None,
) -> Output:
    """Write one self-contained HTML page with interactive figures, tables and a summary in words.

    scalinglab report runs/ -o report.html

    scalinglab report runs/ --explain 3f2a

    scalinglab report curves.csv --title "Our sweep" --column n_data=train_size --where model=cnn

    Args:
        out: file of the page, e.g. report.html.
        title: the page's title. Default: the name of the file or folder.
        explain: begin with this run of the store beside its theory: its name, or the beginning.
    """
    import scalinglab as sl

    curves = rows.curves()
    opening = []
    if explain is not None:
        from scalinglab.report.sections import explained_run

        opening = [explained_run(sl.explain(explain, store=rows.file))]
    path = sl.report.write(curves, out, title or rows.file.resolve().name, opening)
    document = {"report": str(path), "runs": len(curves.runs), "checkpoints": len(curves)}
    understood = {"understood": curves.understood} if for_programs() else {}  # printed already
    return Output(document | understood)


@command("board")
def board(
    store: Annotated[Path, ARGUMENT, Typed(Path, folder)] = Path("runs"),
    host: str = "127.0.0.1",
    port: int = 8000,
    refresh: float = 5.0,
    allow: list[str] | None = None,
) -> None:
    """Serve a live page of a running sweep; Ctrl-C stops it.

    scalinglab board runs/

    scalinglab board runs/ --host 0.0.0.0 --port 8080 --refresh 10 --allow lab.example.org

    Args:
        store: the store to show, e.g. runs/.
        host: address to listen on; 0.0.0.0 also admits other machines, with a printed token.
        port: port to listen on, e.g. 8000.
        refresh: seconds between updates of the page, e.g. 5.
        allow: a further accepted host name, e.g. lab.example.org. Repeatable.
    """
    from scalinglab.board import serve

    serve(store, host=host, port=port, refresh=refresh, allow=allow or [])
