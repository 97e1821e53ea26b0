"""``scalinglab forecast make | score``: forecasts that are sealed now and scored when the result is there."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from scalinglab.cli.shared import options as option
from scalinglab.cli.shared.option_sets import Table, takes
from scalinglab.cli.shared.tables import finish

app = typer.Typer(help="Seal a forecast in a file, and score it later.", no_args_is_help=True)


@app.command()
@takes(table=Table)
def make(
    table: Table,
    at: Annotated[float, typer.Option(help="The size at which to predict, e.g. 1e6.")],
    seal: Annotated[Path, typer.Option(help="The file to write, such as forecast.json; never overwritten.")],
    x: option.X = "n_data",
    y: option.Y = None,
    level: Annotated[float, typer.Option(help="Confidence level of the interval, e.g. 0.95.")] = 0.95,
) -> None:
    """Predict one more run and seal the prediction with the hash of its data.

    scalinglab forecast make curves.csv --x n_data --y test_error --at 1e6 --seal forecast.json
    """
    import pandas as pd

    import scalinglab as sl
    from scalinglab.laws.extrapolation import sealed

    asked = table.ask(x, y)
    found = sl.laws.extrapolate(asked.frame, at=at, level=level, **asked.points)
    document = sealed.make(found, seal, what=f"{asked.y} at {x} = {at:g}")
    table.say(found.summary() + f"\nsealed: {seal} (sha256 {document['sha256'][:12]})")
    table.finish(document, pd.DataFrame([{k: document[k] for k in ("at", "mean", "low", "high")}]))


@app.command()
def score(
    forecast: Annotated[Path, typer.Argument(help="A sealed forecast.", exists=True, dir_okay=False)],
    measured: Annotated[float, typer.Option(help="The measured value, e.g. 0.0312.")],
    tally: Annotated[Path, typer.Option(help="File of the scores, one line each, e.g. tally.jsonl.")] = Path(
        "tally.jsonl"
    ),
    as_json: option.Json = False,
    out: option.Out = None,
) -> None:
    """Compare a sealed forecast with its result, and keep the tally.

    scalinglab forecast score forecast.json --measured 0.0312
    """
    import pandas as pd

    from scalinglab.laws.extrapolation import sealed

    found = sealed.score(forecast, measured)
    kept = sealed.keep(found, forecast, tally)
    document = {
        **vars(found),
        "scored": len(kept.scores),
        "calibration": kept.calibration,
        "sharpness": kept.sharpness,
        "rmsle": kept.rmsle,
    }
    if not as_json:
        verdict = "inside" if found.held else "OUTSIDE"
        print(f"{found.what}: {verdict} the interval, error {found.error:+.3g} of ln y")
        print(kept.summary())
    finish(document, pd.DataFrame([document]), as_json, out)
