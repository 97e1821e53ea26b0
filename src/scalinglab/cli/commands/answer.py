"""``scalinglab answer``, ``fit``, ``predict``, ``plot``, ``explain``, ``forecast``: questions to a table."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from scalinglab.cli.options import ARGUMENT, File, Sizes, Words, by_name
from scalinglab.cli.output import Output, say
from scalinglab.cli.registry import command
from scalinglab.cli.tables import Rows, Table
from scalinglab.errors import BadInput, MixedRows, ScalinglabError
from scalinglab.results.types import Reason

if TYPE_CHECKING:
    from scalinglab.answers import Fit
    from scalinglab.curves import Curves


@command("answer", figure="answer", draws_unasked=False)
def answer(rows: Rows, compute: float | None = None, x: Words | None = None, y: str | None = None) -> Output:
    """Say what ten times as much buys, which model is compute-optimal and which run is worth making next.

    scalinglab answer runs.csv --compute 1e22

    scalinglab answer logs/ --x n_data --y test_error --figure answer.png

    Args:
        compute: FLOPs of the compute-optimal model, e.g. 1e22. Default: 10 times the largest run.
        x: the column of the size, e.g. n_data, or n_params,n_data. Default: those that vary.
        y: the column to predict, e.g. test_error.
    """
    from scalinglab import answers

    curves = rows.curves(x or (), printed=False)
    try:
        found = answers.answer(curves, compute, x=x, y=y)
    except ScalinglabError:
        say(f"read {curves.understood}")
        raise
    given = [("--column", rows.column or {}), ("--where", rows.where or {})]
    words = [
        w for option, pairs in given for name, value in pairs.items() for w in (option, f"{name}={value}")
    ]
    found = replace(found, table=(str(rows.file), *words))
    shown = replace(found, notes=(Reason("read", text=curves.understood), *found.notes))
    return Output(
        {"understood": curves.understood, **found.to_dict()}, found.notebook_table(), shown.summary(),
        figure=lambda: found.plot().figure, status=0 if any(f.values for f in found.findings) else 3,
    )  # fmt: skip


@command("audit")
def audit(rows: Rows) -> Output:
    """Find rows that a reviewer would question, their effect on the answer, and how to fix them.

    scalinglab audit runs.csv

    scalinglab audit isoflops.csv --where experiment=llama_3 --column loss=val_loss
    """
    from scalinglab.answers.doubts import audit as find_doubts

    found = find_doubts(rows.curves())
    return Output(found.to_dict(), found.notebook_table(), found.summary())


@dataclass(frozen=True, kw_only=True)
class WantedLaw(Rows):
    """A table, and the law to fit to it.

    Args:
        x: the column of the size, e.g. n_data, or several, n_params,n_data. Default: those that vary.
        form: the form, e.g. power_law; 'laws forms' lists all.
    """

    x: Words | None = None
    y: str | None = None
    form: str = "auto"

    def fitted(self, curves: Curves | None = None) -> Fit:
        """The law of the table, or of these rows of it."""
        from scalinglab.answers.fitted import choose

        curves = self.curves(self.x or ()) if curves is None else curves
        return choose(curves, self.x, self.y, self.form).fit(self.form)


@command("fit", figure="fit")
def fit(wanted: WantedLaw) -> Output:
    """Fit a law to a table as answer does: parameters with intervals, and a figure.

    scalinglab fit runs.csv

    scalinglab fit runs/ --x n_data --y test_error --form power_law --no-figure
    """
    found = wanted.fitted()
    return Output(
        found.to_dict(), found.notebook_table(), found.summary(), figure=lambda: found.plot().figure
    )


@command("predict", figure="prediction", draws_unasked=False)
def predict(wanted: WantedLaw, at: Sizes, level: float = 0.95) -> Output:
    """Predict the results of further runs as answer does, with an interval.

    scalinglab predict runs.csv --at 7e9,6e10

    scalinglab predict runs.csv --at n_params=7B,n_data=60B,120B --level 0.9 --figure predicted.png

    scalinglab predict curves.csv --at planned.csv --x n_data --y test_error --form power_law_offset

    Args:
        at: where: 1e6; 7e9,6e10 (parameters, data); n_data=1e6; or a table with a row for each place.
    """
    from scalinglab import answers
    from scalinglab.answers.fitted import LINES

    found = wanted.fitted()
    together = {note.code for note in found.notes} & {*LINES}
    unnamed = not isinstance(at, (dict, Path))
    if together and unnamed and len(found.x) == 1 < len(at):  # sizes, or a size with its data?
        raise BadInput(
            "--at: data grow with n_params in these runs, so the law is of n_params alone: name it, as in "
            f"--at n_params={at[0]:g}"
        )
    made = found.predict(answers.sizes_from(by_name(at, found.x), found.x, found.chosen.curves), level=level)
    document = {"form": found.law.form.name, **made.to_dict()}
    return Output(document, made.notebook_table(), made.summary(), figure=lambda: made.plot().figure)


@command("plot", figure="plot", out=False)
def plot(wanted: WantedLaw) -> Output:
    """Draw a table with its fit and the extrapolation.

    scalinglab plot runs.csv

    scalinglab plot runs.csv --x n_params --y loss --form power_law --figure loss.pdf
    """
    from scalinglab import answers

    curves = wanted.curves(wanted.x or ())
    found: Any
    try:
        found = wanted.fitted(curves)
        x = list(found.x)
    except MixedRows:  # each kind in its colour, as in the figure of answer
        if wanted.form != "auto":
            raise
        found = answers.answer(curves, x=wanted.x, y=wanted.y)
        x = found.x.split(", ")
    return Output({"x": x, "y": found.y}, text="", figure=lambda: found.plot().figure)


@command("explain", figure="explain", draws_unasked=False)
def explain(run: Annotated[str, ARGUMENT], store: Path | None = None, samples: int = 1000) -> Output:
    """Compare a run with theory: the solved curve, what limits the loss, gains from doubling, lazy or rich.

    scalinglab explain 3f2a --store runs/

    scalinglab explain run.toml --figure explained.png --samples 500

    A page with it: scalinglab report runs/ --explain 3f2a

    Args:
        run: a run of the store, its name or the beginning of it; or a setting in TOML.
        store: the store (folder) with the run, or to save it in.
        samples: number of inputs on which the kernel is measured, e.g. 500.
    """
    from scalinglab import explanations
    from scalinglab.support.whole_files import read_toml

    path = Path(run)
    setting = read_toml(path, "a setting") if path.suffix == ".toml" else run
    found = explanations.explain(setting, store=store, samples=samples)
    return Output(found.to_dict(), found.table(), found.summary(), figure=lambda: found.plot().figure)


@command("forecast make")
def make(
    table: Table, at: float, seal: Path, x: str | None = None, y: str | None = None, level: float = 0.95
) -> Output:
    """Predict one more run and seal the prediction with the hash of its data.

    scalinglab forecast make curves.csv --x n_data --y test_error --at 1e6 --seal forecast.json

    Args:
        at: the size at which to predict, e.g. 1e6.
        seal: the file to write, such as forecast.json; never overwritten.
    """
    import scalinglab as sl
    from scalinglab.laws.extrapolation import sealed

    chosen = table.choose(x, y, sizes=1)
    found = sl.laws.extrapolate(chosen.table, at=at, level=level, **table.policy)
    document = sealed.make(found, seal, what=f"{chosen.y} at {chosen.x[0]} = {at:g}")
    row = {name: document[name] for name in ("at", "mean", "low", "high")}
    text = f"{found.summary()}\nsealed: {seal} (sha256 {document['sha256'][:12]})"
    return Output(document, [row], text)


@command("forecast score")
def score(forecast: File, measured: float, tally: Path = Path("tally.jsonl")) -> Output:
    """Compare a sealed forecast with its result, and keep the tally.

    scalinglab forecast score forecast.json --measured 0.0312 --tally tally.jsonl

    Args:
        forecast: a sealed forecast.
        measured: the measured value, e.g. 0.0312.
        tally: file of the scores, one line each, e.g. tally.jsonl.
    """
    from scalinglab.laws.extrapolation import sealed

    found = sealed.score(forecast, measured)
    kept = sealed.keep(found, forecast, tally)
    document: dict[str, Any] = {
        **vars(found), "scored": len(kept.scores), "calibration": kept.calibration,
        "sharpness": kept.sharpness, "rmsle": kept.rmsle,
    }  # fmt: skip
    verdict = "inside" if found.inside else "OUTSIDE"
    text = f"{found.what}: {verdict} the interval, error {found.error:+.3g} of ln y\n{kept.summary()}"
    return Output(document, [document], text)
