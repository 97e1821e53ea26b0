"""``scalinglab laws noise`` and ``scalinglab plan noise``: the best SGD noise by width, and advice."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from scalinglab.cli.shared.option_sets import Drawing, Rows, takes
from scalinglab.errors import BadInput

if TYPE_CHECKING:
    import pandas as pd

    from scalinglab.curves import Curves
    from scalinglab.laws.noise import OptimalNoise, OverTime

Searched = Annotated[str, typer.Option("--x", help="The column that was searched, e.g. batch_size.")]
Scored = Annotated[str | None, typer.Option("--y", help="test_accuracy, test_error or a loss.")]
WidthColumn = Annotated[
    str | None,
    typer.Option(
        "--width-column",
        help="The column of the width. Default: widening_factor (units of a hidden layer of an mlp, the "
        "paper's w), else width (a multiple of the family's base).",
    ),
]
Kind = Annotated[
    str,
    typer.Option(
        help="'all' runs by their noise, only the 'batch' or the 'rate' search, or 'both', compared."
    ),
]


@dataclass(frozen=True, kw_only=True)
class Searches(Rows):
    """Runs of searches, and settings that their table leaves out."""

    n_data: Annotated[
        float | None, typer.Option("--n-data", help="Training examples, where the table has no n_data.")
    ] = None
    parameterization: Annotated[
        str | None,
        typer.Option(
            help="'standard' (PyTorch's own) or 'ntk', where the table does not give it.", show_default=False
        ),
    ] = None
    momentum: Annotated[
        float | None, typer.Option(help="Momentum, where the table has none. Default: 0.", show_default=False)
    ] = None

    def searched(self, which: str, settings: tuple[str, ...], known: tuple[str, ...]) -> Curves:
        """The runs, or those of one search."""
        from scalinglab.laws import noise

        if which not in known:
            raise BadInput(f"--search {which}: choose from {', '.join(known)}")
        curves = noise.assume(
            self.curves(settings), n_data=self.n_data, parameterization=self.parameterization,
            momentum=self.momentum,
        )  # fmt: skip
        if which not in ("batch", "rate"):
            return curves
        both = noise.searches(curves)
        if which not in both:
            raise BadInput(f"--search {which}: the runs hold a search over {' and '.join(both)} only")
        return both[which]


@takes(rows=Searches, drawing=Drawing)
def laws_noise(
    rows: Searches,
    drawing: Drawing,
    x: Searched = "normalized_noise_scale",
    y: Scored = None,
    width_column: WidthColumn = None,
    search: Kind = "all",
    times: Annotated[
        bool, typer.Option("--times", help="Also find the optimum at fractions of the training time.")
    ] = False,
    rise: Annotated[
        float | None,
        typer.Option(
            help="Also find the noise at which the error is this fraction above its best, e.g. 0.25."
        ),
    ] = None,
) -> None:
    """Find the optimal SGD noise of every width, and whether it grows in proportion to width.

    Intervals come from resampling runs, within width and level, through the whole selection.

    scalinglab laws noise runs/

    scalinglab laws noise runs/ --search both --times

    scalinglab laws noise runs.csv --n-data 50000 --parameterization standard

    scalinglab laws noise runs.csv --x learning_rate --y test_accuracy --where batch_size=96
    """
    from scalinglab.laws import noise

    settings = (x, *((width_column,) if width_column else ("width", "widening_factor")))
    curves = rows.searched(search, settings, ("all", "batch", "rate", "both"))
    asked: dict[str, Any] = {"x": x, "y": y, "width": width_column}
    if search == "both":
        compared = noise.compare(curves, **asked)
        rows.say(compared.summary())
        found = compared.batch
        by_rate = summary_of(compared.rate)
        document = summary_of(found) | {"by_rate": by_rate, "ratio": asdict(compared.ratio)}
        document["best_difference"] = asdict(compared.best_difference)
        parts = noise.searches(curves)
        wanted = {"\nbatch search\n": (parts["batch"], document), "\nrate search\n": (parts["rate"], by_rate)}
    else:
        found = noise.optimal_noise(curves, **asked)
        rows.say(found.summary())
        document = summary_of(found)
        wanted = {"\n": (curves, document)}
    for heading, (part, into) in wanted.items():
        if times:
            along = noise.over_time(part, **asked)
            rows.say(heading + along.summary())
            into["times"] = times_of(along)
        if rise is not None:
            most = noise.tolerance(part, rise=rise, **asked)
            rows.say(heading + most.summary())
            into["tolerance"] = {"rise": rise, "noise": most.noise, "interval": most.interval,
                                 "exponent": asdict(most.exponent)}  # fmt: skip

    def figure() -> Any:
        from scalinglab.figures import noise as figures

        return figures.noise(found)

    document |= drawing.draw(figure, rows.file, "noise")
    rows.finish(document, table_of(found))


def table_of(found: OptimalNoise) -> pd.DataFrame:
    """One row a width."""
    import pandas as pd

    low, high = found.noise_interval
    multiple = {} if found.width_column == "width" else {"width": found.multiple}
    return pd.DataFrame({
        found.width_column: found.width, **multiple, "noise": found.noise, "noise_low": low,
        "noise_high": high, "low": found.low, "high": found.high, "accuracy": found.accuracy,
        "stderr": found.stderr, "edge": found.edge, "failed": found.failed, "used": found.used,
    })  # fmt: skip


def summary_of(found: OptimalNoise) -> dict[str, Any]:
    """The whole result as a document."""
    columns = {name: values.to_numpy() for name, values in table_of(found).items()}
    return {
        **{str(name): values for name, values in columns.items()}, "width_column": found.width_column,
        "x": found.x, "y": found.y, "runs": found.n_runs, "slope": found.slope,
        "slope_error": found.proportionality.stderr,
        "a": asdict(found.proportionality), "p": asdict(found.power),
        "r_squared": found.r_squared, "verdict": found.verdict, "reason": found.reason,
    }  # fmt: skip


def times_of(along: OverTime) -> dict[str, Any]:
    """Optima at shares of the training time as a document."""
    return {
        "shares": along.shares, "ratio": [asdict(r) for r in along.ratio], "verdict": along.verdict,
        "power": [asdict(one.power) for one in along.found], "noise": [one.noise for one in along.found],
    }  # fmt: skip


@takes(rows=Searches, drawing=Drawing)
def plan_noise(
    rows: Searches,
    drawing: Drawing,
    width: Annotated[
        float,
        typer.Option(
            help="The width to plan for, as the runs count theirs: a multiple of the base width in runs of "
            "scalinglab, e.g. 8."
        ),
    ],
    y: Scored = None,
    search: Annotated[
        str, typer.Option(help="Use 'all' runs, or only those of the 'batch' or of the 'rate' search.")
    ] = "all",
) -> None:
    """Batch size and learning rate for another width, the expected gain, and the critical width.

    Needs runs at three widths or more, each with a search over batch sizes or learning rates and two seeds or
    more. Stops with the reason where the runs do not determine it.

    scalinglab plan noise runs/ --width 8

    scalinglab plan noise runs/ --width 8 --search batch --json
    """
    import pandas as pd

    from scalinglab.laws.planning import sgd_noise_advice as advising

    settings = ("normalized_noise_scale", "width", "widening_factor")
    advice = advising.noise(rows.searched(search, settings, ("all", "batch", "rate")), width, y=y)
    rows.say(advice.summary())
    document = advising.record(advice)
    quantities = [
        {"quantity": name, **{k: v for k, v in value.items() if k != "stderr"}}
        for name, value in document.items()
        if isinstance(value, dict)
    ]

    def figure() -> Any:
        from scalinglab.figures import noise as figures

        return figures.advice(advice)

    document |= drawing.draw(figure, rows.file, "noise-plan")
    rows.finish(document, pd.DataFrame(quantities))
